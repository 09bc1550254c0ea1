// Vectors of four floats, for 64-bit ARM. vector_avx512.h explains the functions.
#pragma once

#include <arm_neon.h>

#include "../kernels.h"
#include "compiler.h"

namespace headwise {
namespace {

using Vector = float32x4_t;
using Whole = int32x4_t;
constexpr int kWidth = 4;
constexpr int kTogether = 4;

inline Vector all(float x) { return vdupq_n_f32(x); }
inline Vector load(const float* from) { return vld1q_f32(from); }
inline void store(float* to, Vector x) { vst1q_f32(to, x); }
inline Vector add(Vector a, Vector b) { return vaddq_f32(a, b); }
inline Vector subtract(Vector a, Vector b) { return vsubq_f32(a, b); }
inline Vector multiply(Vector a, Vector b) { return vmulq_f32(a, b); }
inline Vector divide(Vector a, Vector b) { return vdivq_f32(a, b); }
inline Vector fused(Vector a, Vector b, Vector c) { return vfmaq_f32(c, a, b); }
inline Vector fused_negative(Vector a, Vector b, Vector c) { return vfmsq_f32(c, a, b); }
inline Vector larger(Vector a, Vector b) { return vbslq_f32(vcgtq_f32(a, b), a, b); }
inline Vector smaller(Vector a, Vector b) { return vbslq_f32(vcltq_f32(a, b), a, b); }
inline Vector absolute(Vector a) { return vabsq_f32(a); }
inline Vector with_sign_of(Vector a, Vector b) { return vbslq_f32(vdupq_n_u32(0x80000000u), b, a); }
inline Vector rounded(Vector a) { return vrndnq_f32(a); }
inline Vector times_power_of_two(Vector a, Vector n) {
  const int32x4_t exponent = vshlq_n_s32(vcvtnq_s32_f32(n), 23);  // 0 for NaN
  return vreinterpretq_f32_s32(vaddq_s32(vreinterpretq_s32_f32(a), exponent));
}

inline uint32x4_t bits_of_lanes() {
  const uint32_t bits[4] = {1, 2, 4, 8};
  return vld1q_u32(bits);
}
inline Vector choose(unsigned bits, Vector a, Vector b) {
  return vbslq_f32(vtstq_u32(vdupq_n_u32(bits), bits_of_lanes()), a, b);
}
inline unsigned at_least(Vector a, Vector b) { return vaddvq_u32(vandq_u32(vcgeq_f32(a, b), bits_of_lanes())); }

inline Vector from_half(const Cached* from) { return vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(from))); }
inline void to_half(Vector a, Cached* to) { vst1_u16(to, vreinterpret_u16_f16(vcvt_f16_f32(a))); }

inline Whole all_whole(int32_t x) { return vdupq_n_s32(x); }
inline Whole to_whole(Vector a) { return vcvtnq_s32_f32(a); }
inline Vector from_whole(Whole a) { return vcvtq_f32_s32(a); }
inline Whole add(Whole a, Whole b) { return vaddq_s32(a, b); }
inline Whole subtract(Whole a, Whole b) { return vsubq_s32(a, b); }

struct Lanes {
  Vector part[4];
};
struct WholeLanes {
  Whole part[4];
};

inline float total(const Lanes& lanes) {
  const Vector four = add(add(lanes.part[0], lanes.part[2]), add(lanes.part[1], lanes.part[3]));
  const float32x2_t two = vadd_f32(vget_low_f32(four), vget_high_f32(four));
  return vget_lane_f32(two, 0) + vget_lane_f32(two, 1);
}
inline float greatest(const Lanes& lanes) {
  const Vector four = larger(larger(lanes.part[0], lanes.part[2]), larger(lanes.part[1], lanes.part[3]));
  const Vector two = larger(four, vextq_f32(four, four, 2));
  return vgetq_lane_f32(larger(two, vextq_f32(two, two, 1)), 0);
}
inline int32_t total(const WholeLanes& lanes) {
  return vaddvq_s32(add(add(lanes.part[0], lanes.part[1]), add(lanes.part[2], lanes.part[3])));
}

inline void store_inputs(const WholeLanes& lanes, int8_t* to) {
  const int16x8_t low = vcombine_s16(vqmovn_s32(lanes.part[0]), vqmovn_s32(lanes.part[1]));
  const int16x8_t high = vcombine_s16(vqmovn_s32(lanes.part[2]), vqmovn_s32(lanes.part[3]));
  vst1q_s8(to, vcombine_s8(vqmovn_s16(low), vqmovn_s16(high)));
}

}  // namespace
}  // namespace headwise
