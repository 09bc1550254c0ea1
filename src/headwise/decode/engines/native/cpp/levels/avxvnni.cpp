// AVX-VNNI: AVX2 with the VNNI instructions for vectors of 256 bits, on CPUs that may lack AVX-512.
#include <cstring>

#include "vector_avx2.h"

#include "peak.h"
#include "rows.h"

namespace headwise {
namespace {

using Input = int8_t;
constexpr Layout kLayout = {16, 4, 128, sizeof(Input)};
constexpr auto kQuantise = quantise<Input, kLayout.shift != 0>;
constexpr int kTile = 6;

// Adds four products of unsigned and signed bytes to each sum.
inline void multiply_and_add(__m256i& sums, __m256i weights, __m256i inputs) {
#if defined(HEADWISE_EMULATE_AVXVNNI)  // for tests: the same instruction in the encoding of AVX-512
  asm("%{evex%} vpdpbusd %2, %1, %0" : "+x"(sums) : "x"(weights), "x"(inputs));
#elif defined(__GNUC__)  // in assembler, as for AVX-512
  asm("%{vex%} vpdpbusd %2, %1, %0" : "+x"(sums) : "x"(weights), "x"(inputs));
#else
  sums = _mm256_dpbusd_avx_epi32(sums, weights, inputs);
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
    const __m256i* at = reinterpret_cast<const __m256i*>(weights + size_t(k) * kLayout.strip);
    const __m256i left = _mm256_loadu_si256(at);
    const __m256i right = _mm256_loadu_si256(at + 1);
    HEADWISE_UNROLL
    for (int r = 0; r < Rows; r++) {
      int32_t quad;
      std::memcpy(&quad, rows + size_t(r) * stride + k, sizeof quad);
      const __m256i repeated = _mm256_set1_epi32(quad);
      multiply_and_add(sums[r][0], left, repeated);
      multiply_and_add(sums[r][1], right, repeated);
    }
  }
}

// See peak.h.
struct Dot {
  static constexpr int kChains = 12;
  static constexpr int kMultiplyAdds = 32;
  __m256i one, other;

  explicit Dot(int32_t seed) : one(_mm256_set1_epi32(seed)), other(_mm256_set1_epi32(seed + 1)) {}
  HEADWISE_INLINE void add_to(Whole& sums) const { multiply_and_add(sums, one, other); }
};
constexpr auto kRepeatDot = repeat_dot<Dot>;

}  // namespace
}  // namespace headwise

#include "level.h"

namespace headwise {
const Kernels* avxvnni_kernels() { return &kKernels; }
}  // namespace headwise
