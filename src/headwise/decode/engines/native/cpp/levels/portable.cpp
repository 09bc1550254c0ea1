// Plain C++, for any CPU.
#include <cstring>

#include "vector_portable.h"

namespace headwise {
namespace {

using Input = int16_t;
constexpr Layout kLayout = {16, 2, 0, sizeof(Input)};
constexpr int kTile = 4;

template <int Rows>
HEADWISE_INLINE void accumulate(const int8_t* rows, size_t stride, const uint8_t* weights, int inputs,
                                Whole (&sums)[Rows][4]) {
  int32_t found[Rows][16] = {};
  for (int k = 0; k < inputs; k += 2) {
    const int8_t* at = reinterpret_cast<const int8_t*>(weights) + size_t(k) * kLayout.strip;
    for (int r = 0; r < Rows; r++) {
      Input pair[2];
      std::memcpy(pair, rows + size_t(r) * stride + size_t(k) * sizeof(Input), sizeof pair);
      for (int output = 0; output < 16; output++) {
        found[r][output] += at[2 * output] * pair[0] + at[2 * output + 1] * pair[1];
      }
    }
  }
  std::memcpy(sums, found, sizeof found);
}

}  // namespace
}  // namespace headwise

#include "level.h"

namespace headwise {
const Kernels* portable_kernels() { return &kKernels; }
}  // namespace headwise
