// From the integer sums of a product to its outputs. Included after a vector header and the level's `kLayout`.
#pragma once

#include "functions.h"

namespace headwise {
namespace {

constexpr int kStripParts = kLayout.strip / kWidth;

// Writes a vector of outputs of a row from their integer sums.
template <Write write>
HEADWISE_INLINE void finish(Whole sum, Whole shift, Vector row_scale, const float* scales, const float* bias,
                            float* to) {
  const Vector whole = from_whole(kLayout.shift ? subtract(sum, shift) : sum);
  const Vector scaled = multiply(whole, load(scales));
  Vector y = fused(scaled, row_scale, load(bias));
  if (write == Write::kAdd) {
    y = add(y, load(to));
  }
  store(to, y);
}

// Writes one strip of outputs of a row of `x`.
template <Write write>
HEADWISE_INLINE void finish_row(const Whole (&sums)[kStripParts], const QuantisedRows& x, int row,
                                const Weights& weights, int strip, float* to) {
  const float* scales = weights.scales + size_t(strip) * kLayout.strip;
  const float* bias = weights.bias + size_t(strip) * kLayout.strip;
  const Whole shift = all_whole(kLayout.shift * x.sums[row]);
  const Vector row_scale = all(x.scales[row]);
  HEADWISE_UNROLL
  for (int part = 0; part < kStripParts; part++) {
    const int at = part * kWidth;
    finish<write>(sums[part], shift, row_scale, scales + at, bias + at, to + at);
  }
}

}  // namespace
}  // namespace headwise
