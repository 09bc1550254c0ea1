// Operations on single rows between matrix products: norms, quantisation, activations. Included after a vector header.
#pragma once

#include <math.h>

#include "functions.h"

namespace headwise {
namespace {

constexpr int kParts = kLanes / kWidth;  // vectors that make up sixteen lanes

HEADWISE_INLINE Lanes all_lanes(float x) {
  Lanes made;
  HEADWISE_UNROLL
  for (int part = 0; part < kParts; part++) {
    made.part[part] = all(x);
  }
  return made;
}

void normalise(const float* x, const NormWeights& norm, int width, float* y) {
  float mean = 0.0f;
  if (norm.centred) {
    Lanes sum = all_lanes(0.0f);
    for (int k = 0; k < width; k += kLanes) {
      HEADWISE_UNROLL
      for (int part = 0; part < kParts; part++) {
        sum.part[part] = add(sum.part[part], load(x + k + part * kWidth));
      }
    }
    mean = total(sum) / float(width);
  }
  const Vector middle = all(mean);
  Lanes squares = all_lanes(0.0f);
  for (int k = 0; k < width; k += kLanes) {
    HEADWISE_UNROLL
    for (int part = 0; part < kParts; part++) {
      const Vector distance = subtract(load(x + k + part * kWidth), middle);
      squares.part[part] = fused(distance, distance, squares.part[part]);
    }
  }
  const Vector factor = all(1.0f / sqrtf(total(squares) / float(width) + norm.epsilon));
  for (int k = 0; k < width; k += kWidth) {
    const Vector unit = multiply(subtract(load(x + k), middle), factor);
    store(y + k, fused(unit, load(norm.weight + k), load(norm.bias + k)));
  }
}

// `Input` is the type of quantised inputs.
template <class Input, bool summed>
void quantise(const float* x, int width, const QuantisedRows& rows, int row) {
  Lanes largest = all_lanes(0.0f);
  for (int k = 0; k < width; k += kLanes) {
    HEADWISE_UNROLL
    for (int part = 0; part < kParts; part++) {
      largest.part[part] = larger(largest.part[part], absolute(load(x + k + part * kWidth)));
    }
  }
  constexpr float kTiny = 1e-35f;  // smaller rows are all zero: 127 / size would be infinite
  const float size = greatest(largest);
  const Vector levels = all(size < kTiny ? 0.0f : 127.0f / size);
  WholeLanes sum;
  HEADWISE_UNROLL
  for (int part = 0; part < kParts; part++) {
    sum.part[part] = all_whole(0);
  }
  Input* to = reinterpret_cast<Input*>(rows.values + size_t(row) * rows.stride);
  for (int k = 0; k < width; k += kLanes) {
    WholeLanes whole;
    HEADWISE_UNROLL
    for (int part = 0; part < kParts; part++) {
      whole.part[part] = to_whole(multiply(load(x + k + part * kWidth), levels));
      if (summed) {
        sum.part[part] = add(sum.part[part], whole.part[part]);
      }
    }
    store_inputs(whole, to + k);
  }
  rows.scales[row] = size / 127.0f;
  rows.sums[row] = summed ? total(sum) : 0;
}

template <Activation kind>
inline Vector activated(Vector x) {
  switch (kind) {
    case Activation::kRelu:
      return larger(all(0.0f), x);
    case Activation::kGelu: {
      const Vector error = error_function(multiply(x, all(0.70710678f)));
      return multiply(multiply(all(0.5f), x), add(all(1.0f), error));
    }
    case Activation::kGeluTanh: {
      // (1 + tanh(u)) / 2 is the sigmoid of 2u.
      const Vector cube = multiply(multiply(x, x), x);
      const Vector inner = fused(all(0.044715f), cube, x);
      return multiply(x, sigmoid(multiply(inner, all(2 * 0.79788456f))));
    }
    case Activation::kSilu:
      return multiply(x, sigmoid(x));
  }
  return x;
}

template <Activation kind>
inline void activate_as(float* x, int width, const float* gated) {
  for (int k = 0; k < width; k += kWidth) {
    Vector y = activated<kind>(load(x + k));
    if (gated) {
      y = multiply(y, load(gated + k));
    }
    store(x + k, y);
  }
}

void activate(float* x, int width, Activation kind, const float* gated) {
  switch (kind) {
    case Activation::kRelu: return activate_as<Activation::kRelu>(x, width, gated);
    case Activation::kGelu: return activate_as<Activation::kGelu>(x, width, gated);
    case Activation::kGeluTanh: return activate_as<Activation::kGeluTanh>(x, width, gated);
    case Activation::kSilu: return activate_as<Activation::kSilu>(x, width, gated);
  }
}

}  // namespace
}  // namespace headwise
