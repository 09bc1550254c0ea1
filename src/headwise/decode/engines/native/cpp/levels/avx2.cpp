// AVX2 with FMA and F16C.
//
// Its instruction for bytes adds two products of an unsigned and a signed byte in 16 bits, and saturates. Weights are 0
// to 255 here, so two inputs are safe if their sum is -128 to 128: 255 * 128 < 2^15, and products of inputs of opposite
// signs are never further from 0 than the larger of them. Of other inputs, which are rare, half is multiplied with all
// others and the rest after them. So all sums are exact.
#include <cstring>

#include "vector_avx2.h"

#include "peak.h"
#include "rows.h"

namespace headwise {
namespace {

constexpr Layout kLayout = {16, 4, 128, 3};
constexpr int kTile = 6;
constexpr int kPrefetchRows = 4;  // from so many on, a strip takes long enough to prefetch the next one
constexpr int kSafe = 128;

// Four inputs to multiply after the others.
struct Rest {
  int32_t input;  // the first of them
  int32_t quad;
};

// A row has its inputs, a count in 16 bytes, and that many rests.
inline int8_t* count_of(int8_t* row, int inputs) { return row + inputs; }
inline int8_t* rests_of(int8_t* row, int inputs) { return row + inputs + 16; }

void quantise_safely(const float* x, int width, const QuantisedRows& rows, int row) {
  quantise<int8_t, true>(x, width, rows, row);
  int8_t* values = rows.values + size_t(row) * rows.stride;
  int8_t* rests = rests_of(values, width);
  int32_t count = 0;
  for (int k = 0; k < width; k += kLanes) {
    __m128i* at = reinterpret_cast<__m128i*>(values + k);
    const __m128i pairs = _mm_maddubs_epi16(_mm_set1_epi8(1), _mm_loadu_si128(at));
    const int large = _mm_movemask_epi8(_mm_cmpgt_epi16(_mm_abs_epi16(pairs), _mm_set1_epi16(kSafe)));
    for (int quad = 0; large >> 4 * quad; quad++) {
      if (large >> 4 * quad & 15) {
        int8_t rest[4];
        for (int i = 0; i < 4; i++) {
          int8_t& value = values[k + 4 * quad + i];
          rest[i] = int8_t(value - value / 2);
          value = int8_t(value / 2);
        }
        Rest made{k + 4 * quad, 0};
        std::memcpy(&made.quad, rest, sizeof rest);
        std::memcpy(rests + size_t(count++) * sizeof made, &made, sizeof made);
      }
    }
  }
  std::memcpy(count_of(values, width), &count, sizeof count);
}

constexpr auto kQuantise = quantise_safely;

// Adds four products of unsigned and signed bytes to each sum. In assembler, because GCC copies the sums of the
// intrinsics between registers, and has none left.
inline void multiply_and_add(__m256i& sums, __m256i weights, __m256i inputs, __m256i ones) {
#if defined(__GNUC__)
  __m256i products;
  asm("vpmaddubsw %3, %2, %1\n\tvpmaddwd %4, %1, %1\n\tvpaddd %1, %0, %0"
      : "+x"(sums), "=&x"(products)
      : "x"(weights), "x"(inputs), "x"(ones));
#else
  sums = _mm256_add_epi32(sums, _mm256_madd_epi16(_mm256_maddubs_epi16(weights, inputs), ones));
#endif
}

template <int Rows>
HEADWISE_INLINE void accumulate(const int8_t* rows, size_t stride, const uint8_t* weights, int inputs,
                                __m256i (&sums)[Rows][2]) {
  const __m256i ones = _mm256_set1_epi16(1);
  HEADWISE_UNROLL
  for (int r = 0; r < Rows; r++) {
    sums[r][0] = sums[r][1] = _mm256_setzero_si256();
  }
  for (int k = 0; k < inputs; k += kLayout.group) {
    const __m256i* at = reinterpret_cast<const __m256i*>(weights + size_t(k) * kLayout.strip);
    const __m256i left = _mm256_loadu_si256(at);
    const __m256i right = _mm256_loadu_si256(at + 1);
    if (Rows >= kPrefetchRows) {
      HEADWISE_PREFETCH_FAR(at + size_t(inputs) / kLayout.group * 2);
    }
    HEADWISE_UNROLL
    for (int r = 0; r < Rows; r++) {
      int32_t quad;
      std::memcpy(&quad, rows + size_t(r) * stride + k, sizeof quad);
      const __m256i repeated = _mm256_set1_epi32(quad);
      multiply_and_add(sums[r][0], left, repeated, ones);
      multiply_and_add(sums[r][1], right, repeated, ones);
    }
  }
  HEADWISE_UNROLL
  for (int r = 0; r < Rows; r++) {
    int8_t* row = const_cast<int8_t*>(rows) + size_t(r) * stride;
    int32_t count;
    std::memcpy(&count, count_of(row, inputs), sizeof count);
    const int8_t* rests = rests_of(row, inputs);
    for (int32_t i = 0; i < count; i++) {
      Rest rest;
      std::memcpy(&rest, rests + size_t(i) * sizeof rest, sizeof rest);
      const __m256i* at = reinterpret_cast<const __m256i*>(weights + size_t(rest.input) * kLayout.strip);
      const __m256i repeated = _mm256_set1_epi32(rest.quad);
      multiply_and_add(sums[r][0], _mm256_loadu_si256(at), repeated, ones);
      multiply_and_add(sums[r][1], _mm256_loadu_si256(at + 1), repeated, ones);
    }
  }
}

// See peak.h.
struct Dot {
  static constexpr int kChains = 12;
  static constexpr int kMultiplyAdds = 32;
  __m256i one, other;

  explicit Dot(int32_t seed) : one(_mm256_set1_epi32(seed)), other(_mm256_set1_epi32(seed + 1)) {}
  HEADWISE_INLINE void add_to(Whole& sums) const { multiply_and_add(sums, one, other, _mm256_set1_epi16(1)); }
};
constexpr auto kRepeatDot = repeat_dot<Dot>;

}  // namespace
}  // namespace headwise

#include "level.h"

namespace headwise {
const Kernels* avx2_kernels() { return &kKernels; }
}  // namespace headwise
