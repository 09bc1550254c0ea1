// 64-bit ARM with the matrix instructions for int8 of ARMv8.6 (Neoverse V1 and N2, Apple M2 and later ones).
//
// An instruction multiplies two rows of eight inputs by two outputs, and so gives four sums.
#include "vector_neon.h"

#include "peak.h"
#include "rows.h"

namespace headwise {
namespace {

using Input = int8_t;
constexpr Layout kLayout = {16, 8, 0, sizeof(Input)};
constexpr auto kQuantise = quantise<Input, kLayout.shift != 0>;
constexpr int kTile = 6;

template <int Rows>
HEADWISE_INLINE void accumulate(const int8_t* rows, size_t stride, const uint8_t* weights, int inputs,
                                int32x4_t (&sums)[Rows][4]) {
  constexpr int kPairs = (Rows + 1) / 2;  // a single row is paired with itself
  int32x4_t found[kPairs][8];             // row 0 and outputs 0, 1; row 1 and outputs 0, 1
  HEADWISE_UNROLL
  for (int pair = 0; pair < kPairs; pair++) {
    HEADWISE_UNROLL
    for (int part = 0; part < 8; part++) {
      found[pair][part] = vdupq_n_s32(0);
    }
  }
  for (int k = 0; k < inputs; k += kLayout.group) {
    const int8_t* at = reinterpret_cast<const int8_t*>(weights) + size_t(k) * kLayout.strip;
    int8x16_t both[kPairs];
    HEADWISE_UNROLL
    for (int pair = 0; pair < kPairs; pair++) {
      const int8_t* first = rows + size_t(2 * pair) * stride + k;
      const int8x8_t one = vld1_s8(first);
      both[pair] = vcombine_s8(one, 2 * pair + 1 < Rows ? vld1_s8(first + stride) : one);
    }
    HEADWISE_UNROLL
    for (int part = 0; part < 8; part++) {
      const int8x16_t some = vld1q_s8(at + part * 16);
      HEADWISE_UNROLL
      for (int pair = 0; pair < kPairs; pair++) {
        found[pair][part] = vmmlaq_s32(found[pair][part], both[pair], some);
      }
    }
  }
  HEADWISE_UNROLL
  for (int r = 0; r < Rows; r++) {
    HEADWISE_UNROLL
    for (int part = 0; part < 4; part++) {
      const int32x4_t left = found[r / 2][2 * part];
      const int32x4_t right = found[r / 2][2 * part + 1];
      sums[r][part] = r % 2 ? vcombine_s32(vget_high_s32(left), vget_high_s32(right))
                            : vcombine_s32(vget_low_s32(left), vget_low_s32(right));
    }
  }
}

// See peak.h.
struct Dot {
  static constexpr int kChains = 16;
  static constexpr int kMultiplyAdds = 32;
  int8x16_t one, other;

  explicit Dot(int32_t seed) : one(vreinterpretq_s8_s32(vdupq_n_s32(seed))), other(vreinterpretq_s8_s32(vdupq_n_s32(seed + 1))) {}
  HEADWISE_INLINE void add_to(Whole& sums) const { sums = vmmlaq_s32(sums, one, other); }
};
constexpr auto kRepeatDot = repeat_dot<Dot>;

}  // namespace
}  // namespace headwise

#include "level.h"

namespace headwise {
const Kernels* neon_i8mm_kernels() { return &kKernels; }
}  // namespace headwise
