// AVX-512 with VNNI.
#include <cstring>

#include "vector_avx512.h"

#include "peak.h"
#include "rows.h"

namespace headwise {
namespace {

using Input = int8_t;
constexpr Layout kLayout = {32, 4, 128, sizeof(Input)};
constexpr auto kQuantise = quantise<Input, kLayout.shift != 0>;
constexpr int kTile = 8;
constexpr int kPrefetchRows = 4;  // from so many on, a strip takes long enough to prefetch the next one

// Adds four products of unsigned and signed bytes to each sum. In assembler, because GCC copies the sums of the
// intrinsic between registers.
inline void multiply_and_add(__m512i& sums, __m512i weights, __m512i inputs) {
#if defined(__GNUC__)
  asm("vpdpbusd %2, %1, %0" : "+v"(sums) : "v"(weights), "v"(inputs));
#else
  sums = _mm512_dpbusd_epi32(sums, weights, inputs);
#endif
}

template <int Rows>
HEADWISE_INLINE void accumulate(const int8_t* rows, size_t stride, const uint8_t* weights, int inputs,
                                __m512i (&sums)[Rows][2]) {
  HEADWISE_UNROLL
  for (int r = 0; r < Rows; r++) {
    sums[r][0] = sums[r][1] = _mm512_setzero_si512();
  }
  for (int k = 0; k < inputs; k += kLayout.group) {
    const uint8_t* at = weights + size_t(k) * kLayout.strip;
    const __m512i left = _mm512_loadu_si512(at);
    const __m512i right = _mm512_loadu_si512(at + 64);
    if (Rows >= kPrefetchRows) {
      const uint8_t* next = at + size_t(inputs) * kLayout.strip;
      HEADWISE_PREFETCH_FAR(next);
      HEADWISE_PREFETCH_FAR(next + 64);
    }
    HEADWISE_UNROLL
    for (int r = 0; r < Rows; r++) {
      int32_t quad;
      std::memcpy(&quad, rows + size_t(r) * stride + k, sizeof quad);
      const __m512i repeated = _mm512_set1_epi32(quad);
      multiply_and_add(sums[r][0], left, repeated);
      multiply_and_add(sums[r][1], right, repeated);
    }
  }
}

// See peak.h.
struct Dot {
  static constexpr int kChains = 16;
  static constexpr int kMultiplyAdds = 64;
  __m512i one, other;

  explicit Dot(int32_t seed) : one(_mm512_set1_epi32(seed)), other(_mm512_set1_epi32(seed + 1)) {}
  HEADWISE_INLINE void add_to(Whole& sums) const { multiply_and_add(sums, one, other); }
};
constexpr auto kRepeatDot = repeat_dot<Dot>;

}  // namespace
}  // namespace headwise

#include "level.h"

namespace headwise {
const Kernels* avx512vnni_kernels() { return &kKernels; }
}  // namespace headwise
