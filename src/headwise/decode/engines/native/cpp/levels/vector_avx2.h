// Vectors of eight floats, for AVX2 with FMA and F16C. vector_avx512.h explains the functions.
#pragma once

#include <immintrin.h>

#include "../kernels.h"
#include "compiler.h"

namespace headwise {
namespace {

using Vector = __m256;
using Whole = __m256i;
constexpr int kWidth = 8;
constexpr int kTogether = 2;

inline Vector all(float x) { return _mm256_set1_ps(x); }
inline Vector load(const float* from) { return _mm256_loadu_ps(from); }
inline void store(float* to, Vector x) { _mm256_storeu_ps(to, x); }
inline Vector add(Vector a, Vector b) { return _mm256_add_ps(a, b); }
inline Vector subtract(Vector a, Vector b) { return _mm256_sub_ps(a, b); }
inline Vector multiply(Vector a, Vector b) { return _mm256_mul_ps(a, b); }
inline Vector divide(Vector a, Vector b) { return _mm256_div_ps(a, b); }
inline Vector fused(Vector a, Vector b, Vector c) { return _mm256_fmadd_ps(a, b, c); }
inline Vector fused_negative(Vector a, Vector b, Vector c) { return _mm256_fnmadd_ps(a, b, c); }
inline Vector larger(Vector a, Vector b) { return _mm256_max_ps(a, b); }
inline Vector smaller(Vector a, Vector b) { return _mm256_min_ps(a, b); }
inline Vector absolute(Vector a) { return _mm256_andnot_ps(all(-0.0f), a); }
inline Vector with_sign_of(Vector a, Vector b) { return _mm256_or_ps(a, _mm256_and_ps(b, all(-0.0f))); }
inline Vector rounded(Vector a) { return _mm256_round_ps(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC); }
inline Vector times_power_of_two(Vector a, Vector n) {
  const __m256i exponent = _mm256_slli_epi32(_mm256_cvtps_epi32(n), 23);  // 0 for NaN
  return _mm256_castsi256_ps(_mm256_add_epi32(_mm256_castps_si256(a), exponent));
}

inline Vector choose(unsigned bits, Vector a, Vector b) {
  const __m256i lanes = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128);
  const __m256i chosen = _mm256_cmpeq_epi32(_mm256_and_si256(_mm256_set1_epi32(int(bits)), lanes), lanes);
  return _mm256_blendv_ps(b, a, _mm256_castsi256_ps(chosen));
}
inline unsigned at_least(Vector a, Vector b) { return unsigned(_mm256_movemask_ps(_mm256_cmp_ps(a, b, _CMP_GE_OQ))); }

inline Vector from_half(const Cached* from) {
  return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
}
inline void to_half(Vector a, Cached* to) {
  const __m128i half = _mm256_cvtps_ph(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
  _mm_storeu_si128(reinterpret_cast<__m128i*>(to), half);
}

inline Whole all_whole(int32_t x) { return _mm256_set1_epi32(x); }
inline Whole to_whole(Vector a) { return _mm256_cvtps_epi32(a); }
inline Vector from_whole(Whole a) { return _mm256_cvtepi32_ps(a); }
inline Whole add(Whole a, Whole b) { return _mm256_add_epi32(a, b); }
inline Whole subtract(Whole a, Whole b) { return _mm256_sub_epi32(a, b); }

struct Lanes {
  Vector part[2];
};
struct WholeLanes {
  Whole part[2];
};

inline float total(const Lanes& lanes) {
  const __m256 eight = _mm256_add_ps(lanes.part[0], lanes.part[1]);
  const __m128 four = _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
  const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
}
inline float greatest(const Lanes& lanes) {
  const __m256 eight = _mm256_max_ps(lanes.part[0], lanes.part[1]);
  const __m128 four = _mm_max_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
  const __m128 two = _mm_max_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_max_ss(two, _mm_movehdup_ps(two)));
}
inline int32_t total(const WholeLanes& lanes) {
  const __m256i eight = _mm256_add_epi32(lanes.part[0], lanes.part[1]);
  const __m128i four = _mm_add_epi32(_mm256_castsi256_si128(eight), _mm256_extracti128_si256(eight, 1));
  const __m128i two = _mm_add_epi32(four, _mm_shuffle_epi32(four, 0x4e));
  return _mm_cvtsi128_si32(_mm_add_epi32(two, _mm_shuffle_epi32(two, 0xb1)));
}

inline __m256i narrowed(const WholeLanes& lanes) {  // to 16 bits; the instruction works on halves
  return _mm256_permute4x64_epi64(_mm256_packs_epi32(lanes.part[0], lanes.part[1]), 0xd8);
}
inline void store_inputs(const WholeLanes& lanes, int16_t* to) {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), narrowed(lanes));
}
inline void store_inputs(const WholeLanes& lanes, int8_t* to) {
  const __m256i sixteen = narrowed(lanes);
  const __m128i bytes = _mm_packs_epi16(_mm256_castsi256_si128(sixteen), _mm256_extracti128_si256(sixteen, 1));
  _mm_storeu_si128(reinterpret_cast<__m128i*>(to), bytes);
}

}  // namespace
}  // namespace headwise
