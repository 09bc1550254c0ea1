// Vectors of four floats in plain C++, for any CPU. vector_avx512.h explains the functions.
#pragma once

#include <cmath>
#include <cstring>

#include "../kernels.h"
#include "compiler.h"

namespace headwise {
namespace {

constexpr int kWidth = 4;
constexpr int kTogether = 2;

struct Vector {
  float lane[kWidth];
};
struct Whole {
  int32_t lane[kWidth];
};

inline uint32_t bits_of(float x) {
  uint32_t bits;
  std::memcpy(&bits, &x, sizeof bits);
  return bits;
}
inline float float_of(uint32_t bits) {
  float x;
  std::memcpy(&x, &bits, sizeof x);
  return x;
}

// Applies a function to each lane.
template <class Function>
HEADWISE_INLINE Vector lanes_of(Function&& function) {
  Vector made;
  HEADWISE_UNROLL
  for (int i = 0; i < kWidth; i++) {
    made.lane[i] = function(i);
  }
  return made;
}
template <class Function>
HEADWISE_INLINE Whole whole_lanes_of(Function&& function) {
  Whole made;
  HEADWISE_UNROLL
  for (int i = 0; i < kWidth; i++) {
    made.lane[i] = function(i);
  }
  return made;
}

// a * b + c, rounded once. Without an instruction: the product is exact in double precision; their sum is rounded to an
// odd last bit where it is not exact, so that rounding it again to single precision cannot make another result.
inline float fused(float a, float b, float c) {
#if defined(__FP_FAST_FMAF)
  return fmaf(a, b, c);
#else
  const double product = double(a) * double(b);
  const double sum = product + double(c);
  const double added = sum - product;
  const double error = (product - (sum - added)) + (double(c) - added);
  uint64_t bits;
  std::memcpy(&bits, &sum, sizeof bits);
  const bool inexact = error > 0.0 || error < 0.0;  // false for NaN
  const uint64_t step = (error > 0.0) == (sum > 0.0) ? uint64_t(1) : ~uint64_t(0);
  bits += inexact && !(bits & 1) ? step : uint64_t(0);
  double odd;
  std::memcpy(&odd, &bits, sizeof odd);
  return float(odd);
#endif
}

inline Vector all(float x) {
  return lanes_of([&](int) { return x; });
}
inline Vector load(const float* from) {
  return lanes_of([&](int i) { return from[i]; });
}
inline void store(float* to, const Vector& x) { std::memcpy(to, x.lane, sizeof x.lane); }
inline Vector add(const Vector& a, const Vector& b) {
  return lanes_of([&](int i) { return a.lane[i] + b.lane[i]; });
}
inline Vector subtract(const Vector& a, const Vector& b) {
  return lanes_of([&](int i) { return a.lane[i] - b.lane[i]; });
}
inline Vector multiply(const Vector& a, const Vector& b) {
  return lanes_of([&](int i) { return a.lane[i] * b.lane[i]; });
}
inline Vector divide(const Vector& a, const Vector& b) {
  return lanes_of([&](int i) { return a.lane[i] / b.lane[i]; });
}
inline Vector fused(const Vector& a, const Vector& b, const Vector& c) {
  return lanes_of([&](int i) { return fused(a.lane[i], b.lane[i], c.lane[i]); });
}
inline Vector fused_negative(const Vector& a, const Vector& b, const Vector& c) {
  return lanes_of([&](int i) { return fused(-a.lane[i], b.lane[i], c.lane[i]); });
}
inline float larger(float a, float b) { return a > b ? a : b; }
inline Vector larger(const Vector& a, const Vector& b) {
  return lanes_of([&](int i) { return larger(a.lane[i], b.lane[i]); });
}
inline Vector smaller(const Vector& a, const Vector& b) {
  return lanes_of([&](int i) { return a.lane[i] < b.lane[i] ? a.lane[i] : b.lane[i]; });
}
inline Vector absolute(const Vector& a) {
  return lanes_of([&](int i) { return float_of(bits_of(a.lane[i]) & 0x7fffffffu); });
}
inline Vector with_sign_of(const Vector& a, const Vector& b) {
  return lanes_of([&](int i) { return float_of(bits_of(a.lane[i]) | (bits_of(b.lane[i]) & 0x80000000u)); });
}

// Adding it leaves no bits for a fraction: rounds numbers below 2^22 to the nearest whole one, of two to the even one.
constexpr float kRounder = 12582912.0f;
inline Vector rounded(const Vector& a) {
  return lanes_of([&](int i) { return (a.lane[i] + kRounder) - kRounder; });
}
inline Whole to_whole(const Vector& a) {
  return whole_lanes_of([&](int i) { return int32_t(bits_of(a.lane[i] + kRounder) - bits_of(kRounder)); });
}
inline Vector times_power_of_two(const Vector& a, const Vector& n) {
  return lanes_of([&](int i) {
    const uint32_t exponent = (bits_of(n.lane[i] + kRounder) - bits_of(kRounder)) << 23;
    return a.lane[i] != a.lane[i] ? a.lane[i] : float_of(bits_of(a.lane[i]) + exponent);
  });
}

inline Vector choose(unsigned bits, const Vector& a, const Vector& b) {
  return lanes_of([&](int i) { return bits >> i & 1 ? a.lane[i] : b.lane[i]; });
}
inline unsigned at_least(const Vector& a, const Vector& b) {
  unsigned bits = 0;
  for (int i = 0; i < kWidth; i++) {
    bits |= unsigned(a.lane[i] >= b.lane[i]) << i;
  }
  return bits;
}

inline float from_half(Cached half) {
  const uint32_t exponent = half & 0x7c00u;
  const uint32_t magnitude = uint32_t(half & 0x7fffu) << 13;
  const float small = float_of(0x38800000u + magnitude) - float_of(0x38800000u);  // subnormal
  const uint32_t large = magnitude + (exponent == 0x7c00u ? 224u << 23 : 112u << 23);
  return float_of((exponent == 0 ? bits_of(small) : large) | uint32_t(half & 0x8000u) << 16);
}
inline Vector from_half(const Cached* from) {
  return lanes_of([&](int i) { return from_half(from[i]); });
}

// To the nearest float16, of two to the even one; |x| <= 65504 or NaN.
inline Cached to_half(float x) {
  const uint32_t sign = bits_of(x) >> 16 & 0x8000u;
  const uint32_t magnitude = bits_of(x) & 0x7fffffffu;
  const uint32_t small = bits_of(float_of(magnitude) + 0.5f) - bits_of(0.5f);  // a unit of 0.5's last bit is 2^-24
  const uint32_t normal = (magnitude - (112u << 23) + 0xfffu + (magnitude >> 13 & 1u)) >> 13;
  const uint32_t number = magnitude < (113u << 23) ? small : normal;
  return Cached(sign | (magnitude > 0x7f800000u ? 0x7e00u : number));
}
inline void to_half(const Vector& a, Cached* to) {
  for (int i = 0; i < kWidth; i++) {
    to[i] = to_half(a.lane[i]);
  }
}

inline Whole all_whole(int32_t x) {
  return whole_lanes_of([&](int) { return x; });
}
inline Vector from_whole(const Whole& a) {
  return lanes_of([&](int i) { return float(a.lane[i]); });
}
inline Whole add(const Whole& a, const Whole& b) {
  return whole_lanes_of([&](int i) { return int32_t(uint32_t(a.lane[i]) + uint32_t(b.lane[i])); });
}
inline Whole subtract(const Whole& a, const Whole& b) {
  return whole_lanes_of([&](int i) { return int32_t(uint32_t(a.lane[i]) - uint32_t(b.lane[i])); });
}

struct Lanes {
  Vector part[4];
};
struct WholeLanes {
  Whole part[4];
};

inline float total(const Lanes& lanes) {
  const Vector four = add(add(lanes.part[0], lanes.part[2]), add(lanes.part[1], lanes.part[3]));
  return (four.lane[0] + four.lane[2]) + (four.lane[1] + four.lane[3]);
}
inline float greatest(const Lanes& lanes) {
  const Vector four = larger(larger(lanes.part[0], lanes.part[2]), larger(lanes.part[1], lanes.part[3]));
  return larger(larger(four.lane[0], four.lane[2]), larger(four.lane[1], four.lane[3]));
}
inline int32_t total(const WholeLanes& lanes) {
  const Whole four = add(add(lanes.part[0], lanes.part[1]), add(lanes.part[2], lanes.part[3]));
  return four.lane[0] + four.lane[1] + four.lane[2] + four.lane[3];
}

inline void store_inputs(const WholeLanes& lanes, int16_t* to) {
  for (int i = 0; i < kLanes; i++) {
    to[i] = int16_t(lanes.part[i / kWidth].lane[i % kWidth]);
  }
}

}  // namespace
}  // namespace headwise
