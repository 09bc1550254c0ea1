// 64-bit ARM with the dot-product instructions of ARMv8.2 (Cortex-A76, Neoverse N1, Apple M1 and later ones).
#include <cstring>

#include "vector_neon.h"

#include "peak.h"
#include "rows.h"

namespace headwise {
namespace {

using Input = int8_t;
constexpr Layout kLayout = {16, 4, 0, sizeof(Input)};
constexpr auto kQuantise = quantise<Input, kLayout.shift != 0>;
constexpr int kTile = 6;

template <int Rows>
HEADWISE_INLINE void accumulate(const int8_t* rows, size_t stride, const uint8_t* weights, int inputs,
                                int32x4_t (&sums)[Rows][4]) {
  HEADWISE_UNROLL
  for (int r = 0; r < Rows; r++) {
    HEADWISE_UNROLL
    for (int part = 0; part < 4; part++) {
      sums[r][part] = vdupq_n_s32(0);
    }
  }
  for (int k = 0; k < inputs; k += kLayout.group) {
    const int8_t* at = reinterpret_cast<const int8_t*>(weights) + size_t(k) * kLayout.strip;
    const int8x16_t some[4] = {vld1q_s8(at), vld1q_s8(at + 16), vld1q_s8(at + 32), vld1q_s8(at + 48)};
    HEADWISE_UNROLL
    for (int r = 0; r < Rows; r++) {
      int32_t quad;
      std::memcpy(&quad, rows + size_t(r) * stride + k, sizeof quad);
      const int8x16_t repeated = vreinterpretq_s8_s32(vdupq_n_s32(quad));
      HEADWISE_UNROLL
      for (int part = 0; part < 4; part++) {
        sums[r][part] = vdotq_s32(sums[r][part], some[part], repeated);
      }
    }
  }
}

// See peak.h.
struct Dot {
  static constexpr int kChains = 16;
  static constexpr int kMultiplyAdds = 16;
  int8x16_t one, other;

  explicit Dot(int32_t seed) : one(vreinterpretq_s8_s32(vdupq_n_s32(seed))), other(vreinterpretq_s8_s32(vdupq_n_s32(seed + 1))) {}
  HEADWISE_INLINE void add_to(Whole& sums) const { sums = vdotq_s32(sums, one, other); }
};
constexpr auto kRepeatDot = repeat_dot<Dot>;

}  // namespace
}  // namespace headwise

#include "level.h"

namespace headwise {
const Kernels* neon_dotprod_kernels() { return &kKernels; }
}  // namespace headwise
