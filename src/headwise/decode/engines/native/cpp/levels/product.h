// Matrix products, around what each level defines before it includes this header:
//
//   kLayout, kQuantise           of weights and inputs
//   kTile                        rows at a time
//   accumulate<Rows>(...)        the integer sums of some rows and one strip of outputs
#pragma once

#include "finish.h"
#include "rows.h"

namespace headwise {
namespace {

template <int Rows, Write write>
void multiply_tile(const QuantisedRows& x, int first, const Weights& weights, int strip, float* out, size_t stride) {
  Whole sums[Rows][kStripParts];
  const uint8_t* values = weights.values + size_t(strip) * kLayout.strip * weights.inputs;
  accumulate<Rows>(x.values + size_t(first) * x.stride, x.stride, values, weights.inputs, sums);
  HEADWISE_UNROLL
  for (int r = 0; r < Rows; r++) {
    finish_row<write>(sums[r], x, first + r, weights, strip, out + r * stride);
  }
}

// Fewer than `Rows` + 1 rows.
template <int Rows, Write write>
inline void multiply_rest(const QuantisedRows& x, int first, int count, const Weights& weights, int strip, float* out,
                          size_t stride) {
  if constexpr (Rows > 0) {
    if (count == Rows) {
      multiply_tile<Rows, write>(x, first, weights, strip, out, stride);
    } else {
      multiply_rest<Rows - 1, write>(x, first, count, weights, strip, out, stride);
    }
  }
}

template <Write write>
void multiply_as(const QuantisedRows& x, int rows, const Weights& weights, int begin, int end, float* out,
                 size_t stride) {
  constexpr int kRowBytes = 128 * 1024;  // as many rows at a time as stay in the second-level cache
  constexpr int kStrips = kPanel / kLayout.strip;
  const int fitting = kRowBytes / (weights.inputs * kLayout.input_bytes) / kTile * kTile;
  const int block = fitting > kTile ? fitting : kTile;
  for (int begun = 0; begun < rows; begun += block) {
    const int last = rows - begun < block ? rows : begun + block;
    for (int strip = begin * kStrips; strip < end * kStrips; strip++) {
      float* to = out + begun * stride + size_t(strip - begin * kStrips) * kLayout.strip;
      int first = begun;
      for (; first + kTile <= last; first += kTile, to += kTile * stride) {
        multiply_tile<kTile, write>(x, first, weights, strip, to, stride);
      }
      multiply_rest<kTile - 1, write>(x, first, last - first, weights, strip, to, stride);
    }
  }
}

void multiply_rows(const QuantisedRows& x, int rows, const Weights& weights, int begin, int end, float* out,
                   size_t stride, Write write) {
  if (write == Write::kAdd) {
    multiply_as<Write::kAdd>(x, rows, weights, begin, end, out, stride);
  } else {
    multiply_as<Write::kStore>(x, rows, weights, begin, end, out, stride);
  }
}

}  // namespace
}  // namespace headwise
