// Plain C++, for any CPU. Its loops are written so that compilers find the vector instructions that every CPU of an
// architecture has.
#include <cstring>

#include "vector_portable.h"

#include "rows.h"

namespace headwise {
namespace {

using Input = int16_t;
constexpr Layout kLayout = {4, 8, 0, sizeof(Input)};
constexpr auto kQuantise = quantise<Input, kLayout.shift != 0>;
constexpr int kTile = 8;
constexpr int kChunk = 512;  // inputs whose weights are widened at a time

// Adds the products of a row with the weights of four outputs.
inline void add_products(const int16_t (&weights)[4][kChunk], const Input* row, int count, Whole& sums) {
  int32_t found[4] = {};
  for (int i = 0; i < count; i++) {
    found[0] += weights[0][i] * row[i];
    found[1] += weights[1][i] * row[i];
    found[2] += weights[2][i] * row[i];
    found[3] += weights[3][i] * row[i];
  }
  for (int output = 0; output < 4; output++) {
    sums.lane[output] += found[output];
  }
}

template <int Rows>
inline void accumulate(const int8_t* rows, size_t stride, const uint8_t* weights, int inputs, Whole (&sums)[Rows][1]) {
  for (int r = 0; r < Rows; r++) {
    sums[r][0] = all_whole(0);
  }
  int16_t widened[4][kChunk];
  for (int begin = 0; begin < inputs; begin += kChunk) {
    const int count = inputs - begin < kChunk ? inputs - begin : kChunk;
    const int8_t* from = reinterpret_cast<const int8_t*>(weights) + size_t(begin) * kLayout.strip;
    for (int k = 0; k < count; k += kLayout.group) {
      for (int output = 0; output < kLayout.strip; output++, from += kLayout.group) {
        for (int i = 0; i < kLayout.group; i++) {
          widened[output][k + i] = from[i];
        }
      }
    }
    for (int r = 0; r < Rows; r++) {
      add_products(widened, reinterpret_cast<const Input*>(rows + size_t(r) * stride) + begin, count, sums[r][0]);
    }
  }
}

// Plain C++ has no dot product: a row of `kChunk` inputs from the first-level cache stands for it.
int64_t repeat_row(int64_t times, int32_t seed, int32_t* sum) {
  int16_t weights[4][kChunk];
  Input row[kChunk];
  for (int i = 0; i < kChunk; i++) {
    row[i] = Input(seed + i & 127);
    weights[0][i] = weights[1][i] = weights[2][i] = weights[3][i] = Input(i & 127);
  }
  Whole whole = all_whole(0);
  for (int64_t i = 0; i < times; i++) {
    row[i % kChunk] = Input(i & 127);  // so that no product is the same as the one before
    Whole sums = all_whole(0);
    add_products(weights, row, kChunk, sums);
    whole = add(whole, sums);
  }
  *sum = whole.lane[0];
  return times * 4 * kChunk;
}
constexpr auto kRepeatDot = repeat_row;

}  // namespace
}  // namespace headwise

#include "level.h"

namespace headwise {
const Kernels* portable_kernels() { return &kKernels; }
}  // namespace headwise
