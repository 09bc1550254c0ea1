// AVX2 with FMA and F16C.
//
// The instruction that multiplies bytes adds two products in 16 bits and saturates. So bytes are widened to 16 bits
// first, weights as they are loaded and inputs as they are quantised: their products add up exactly in 32 bits.
#include <cstring>

#include "vector_avx2.h"

namespace headwise {
namespace {

using Input = int16_t;
constexpr Layout kLayout = {16, 2, 0, sizeof(Input)};
constexpr int kTile = 6;

// Adds two products to each sum. In assembler, because GCC copies the sums of the intrinsics between registers, and
// has none left.
inline void multiply_and_add(__m256i& sums, __m256i weights, __m256i inputs) {
#if defined(__GNUC__)
  __m256i products;
  asm("vpmaddwd %3, %2, %1\n\tvpaddd %1, %0, %0" : "+x"(sums), "=&x"(products) : "x"(weights), "x"(inputs));
#else
  sums = _mm256_add_epi32(sums, _mm256_madd_epi16(weights, inputs));
#endif
}

template <int Rows>
HEADWISE_INLINE void accumulate(const int8_t* rows, size_t stride, const uint8_t* weights, int inputs,
                                __m256i (&sums)[Rows][2]) {
  HEADWISE_UNROLL
  for (int r = 0; r < Rows; r++) {
    sums[r][0] = sums[r][1] = _mm256_setzero_si256();
  }
  for (int k = 0; k < inputs; k += kLayout.group) {
    const __m128i* at = reinterpret_cast<const __m128i*>(weights + size_t(k) * kLayout.strip);
    const __m256i left = _mm256_cvtepi8_epi16(_mm_loadu_si128(at));
    const __m256i right = _mm256_cvtepi8_epi16(_mm_loadu_si128(at + 1));
    HEADWISE_UNROLL
    for (int r = 0; r < Rows; r++) {
      int32_t pair;
      std::memcpy(&pair, rows + size_t(r) * stride + size_t(k) * sizeof(Input), sizeof pair);
      const __m256i repeated = _mm256_set1_epi32(pair);
      multiply_and_add(sums[r][0], left, repeated);
      multiply_and_add(sums[r][1], right, repeated);
    }
  }
}

}  // namespace
}  // namespace headwise

#include "level.h"

namespace headwise {
const Kernels* avx2_kernels() { return &kKernels; }
}  // namespace headwise
