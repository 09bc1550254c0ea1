// Vectors of sixteen floats, for AVX-512.
#pragma once

#include <immintrin.h>

#include "../kernels.h"
#include "compiler.h"

namespace headwise {
namespace {

using Vector = __m512;
using Whole = __m512i;  // of 32 bits
constexpr int kWidth = 16;
constexpr int kTogether = 4;  // queries: their sums just fit into the registers

inline Vector all(float x) { return _mm512_set1_ps(x); }
inline Vector load(const float* from) { return _mm512_loadu_ps(from); }
inline void store(float* to, Vector x) { _mm512_storeu_ps(to, x); }
inline Vector add(Vector a, Vector b) { return _mm512_add_ps(a, b); }
inline Vector subtract(Vector a, Vector b) { return _mm512_sub_ps(a, b); }
inline Vector multiply(Vector a, Vector b) { return _mm512_mul_ps(a, b); }
inline Vector divide(Vector a, Vector b) { return _mm512_div_ps(a, b); }
inline Vector fused(Vector a, Vector b, Vector c) { return _mm512_fmadd_ps(a, b, c); }            // a * b + c
inline Vector fused_negative(Vector a, Vector b, Vector c) { return _mm512_fnmadd_ps(a, b, c); }  // c - a * b
inline Vector larger(Vector a, Vector b) { return _mm512_max_ps(a, b); }    // b, if one is NaN
inline Vector smaller(Vector a, Vector b) { return _mm512_min_ps(a, b); }  // b, if one is NaN
inline Vector absolute(Vector a) { return _mm512_abs_ps(a); }
inline Vector with_sign_of(Vector a, Vector b) { return _mm512_or_ps(a, _mm512_and_ps(b, all(-0.0f))); }  // a >= 0
inline Vector rounded(Vector a) { return _mm512_roundscale_ps(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC); }
// a * 2^n, for a whole n; neither a nor the result may be subnormal.
inline Vector times_power_of_two(Vector a, Vector n) { return _mm512_scalef_ps(a, n); }

// The lanes of a whose bits are set, and else those of b.
inline Vector choose(unsigned bits, Vector a, Vector b) { return _mm512_mask_mov_ps(b, __mmask16(bits), a); }
inline unsigned at_least(Vector a, Vector b) { return _mm512_cmp_ps_mask(a, b, _CMP_GE_OQ); }

inline Vector from_half(const Cached* from) {
  return _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(from)));
}
inline void to_half(Vector a, Cached* to) {
  const __m256i half = _mm512_cvtps_ph(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), half);
}

inline Whole all_whole(int32_t x) { return _mm512_set1_epi32(x); }
inline Whole to_whole(Vector a) { return _mm512_cvtps_epi32(a); }  // to the nearest, of two the even one
inline Vector from_whole(Whole a) { return _mm512_cvtepi32_ps(a); }
inline Whole add(Whole a, Whole b) { return _mm512_add_epi32(a, b); }
inline Whole subtract(Whole a, Whole b) { return _mm512_sub_epi32(a, b); }

struct Lanes {
  Vector part[1];
};
struct WholeLanes {
  Whole part[1];
};

// The sum of sixteen lanes: i + (i + 8), then i + (i + 4), i + (i + 2), i + (i + 1), at every level.
inline float total(const Lanes& lanes) {
  const __m256 upper = _mm256_castpd_ps(_mm512_extractf64x4_pd(_mm512_castps_pd(lanes.part[0]), 1));
  const __m256 eight = _mm256_add_ps(_mm512_castps512_ps256(lanes.part[0]), upper);
  const __m128 four = _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
  const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
}
inline float greatest(const Lanes& lanes) {
  const __m256 upper = _mm256_castpd_ps(_mm512_extractf64x4_pd(_mm512_castps_pd(lanes.part[0]), 1));
  const __m256 eight = _mm256_max_ps(_mm512_castps512_ps256(lanes.part[0]), upper);
  const __m128 four = _mm_max_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
  const __m128 two = _mm_max_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_max_ss(two, _mm_movehdup_ps(two)));
}
inline int32_t total(const WholeLanes& lanes) { return _mm512_reduce_add_epi32(lanes.part[0]); }

// Narrows sixteen numbers.
inline void store_inputs(const WholeLanes& lanes, int8_t* to) {
  _mm_storeu_si128(reinterpret_cast<__m128i*>(to), _mm512_cvtsepi32_epi8(lanes.part[0]));
}

}  // namespace
}  // namespace headwise
