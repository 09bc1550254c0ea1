// Operations on single rows between matrix products: norms, activations, quantisation, rotation.
#pragma once

#include <vector>

#include "product.h"
#include "vectors.h"

namespace headwise {

struct Norm {
  std::vector<float> weight;
  std::vector<float> bias;
  float epsilon;
  bool centred;  // LayerNorm subtracts the mean first, RMSNorm does not
};

// LayerNorm or RMSNorm of x; y may be x.
inline void normalise(const float* x, const Norm& norm, int width, float* y) {
  float mean = 0.0f;
  if (norm.centred) {
    __m512 sum = _mm512_setzero_ps();
    for (int k = 0; k < width; k += kLanes) {
      sum = _mm512_add_ps(sum, _mm512_loadu_ps(x + k));
    }
    mean = _mm512_reduce_add_ps(sum) / width;
  }
  const __m512 middle = _mm512_set1_ps(mean);
  __m512 squares = _mm512_setzero_ps();
  for (int k = 0; k < width; k += kLanes) {
    const __m512 distance = _mm512_sub_ps(_mm512_loadu_ps(x + k), middle);
    squares = _mm512_fmadd_ps(distance, distance, squares);
  }
  const float scale = 1.0f / std::sqrt(_mm512_reduce_add_ps(squares) / width + norm.epsilon);
  const __m512 factor = _mm512_set1_ps(scale);
  for (int k = 0; k < width; k += kLanes) {
    const __m512 unit = _mm512_mul_ps(_mm512_sub_ps(_mm512_loadu_ps(x + k), middle), factor);
    const __m512 weight = _mm512_loadu_ps(norm.weight.data() + k);
    _mm512_storeu_ps(y + k, _mm512_fmadd_ps(unit, weight, _mm512_loadu_ps(norm.bias.data() + k)));
  }
}

// Quantises x [width] to row `row` of `rows`; the scale is a 127th of its largest value.
inline void quantise(const float* x, int width, const QuantisedRows& rows, int row) {
  __m512 largest = _mm512_setzero_ps();
  for (int k = 0; k < width; k += kLanes) {
    largest = _mm512_max_ps(largest, _mm512_abs_ps(_mm512_loadu_ps(x + k)));
  }
  const float size = _mm512_reduce_max_ps(largest);
  const __m512 levels = _mm512_set1_ps(size == 0.0f ? 0.0f : 127.0f / size);
  __m512i sum = _mm512_setzero_si512();
  int8_t* to = rows.values + size_t(row) * rows.stride;
  for (int k = 0; k < width; k += kLanes) {
    const __m512i whole = _mm512_cvtps_epi32(_mm512_mul_ps(_mm512_loadu_ps(x + k), levels));
    sum = _mm512_add_epi32(sum, whole);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to + k), _mm512_cvtsepi32_epi8(whole));
  }
  rows.scales[row] = size / 127.0f;
  rows.sums[row] = _mm512_reduce_add_epi32(sum);
}

enum class Activation : int32_t { kRelu = 0, kGelu = 1, kGeluTanh = 2, kSilu = 3 };

template <Activation kind>
inline __m512 activated(__m512 x) {
  const __m512 half = _mm512_set1_ps(0.5f);
  const __m512 one = _mm512_set1_ps(1.0f);
  switch (kind) {
    case Activation::kRelu:
      return _mm512_max_ps(_mm512_setzero_ps(), x);
    case Activation::kGelu: {
      const __m512 error = error_function(_mm512_mul_ps(x, _mm512_set1_ps(0.70710678f)));
      return _mm512_mul_ps(_mm512_mul_ps(half, x), _mm512_add_ps(one, error));
    }
    case Activation::kGeluTanh: {
      // (1 + tanh(u)) / 2 is the sigmoid of 2u.
      const __m512 cube = _mm512_mul_ps(_mm512_mul_ps(x, x), x);
      const __m512 inner = _mm512_fmadd_ps(_mm512_set1_ps(0.044715f), cube, x);
      return _mm512_mul_ps(x, sigmoid(_mm512_mul_ps(inner, _mm512_set1_ps(2 * 0.79788456f))));
    }
    case Activation::kSilu:
      return _mm512_mul_ps(x, sigmoid(x));
  }
  return x;
}

template <Activation kind>
inline void activate_as(float* x, int width, const float* gated) {
  for (int k = 0; k < width; k += kLanes) {
    __m512 y = activated<kind>(_mm512_loadu_ps(x + k));
    if (gated) {
      y = _mm512_mul_ps(y, _mm512_loadu_ps(gated + k));
    }
    _mm512_storeu_ps(x + k, y);
  }
}

// Applies an activation to x [width] in place, and multiplies by `gated`, unless that is null.
inline void activate(float* x, int width, Activation kind, const float* gated) {
  switch (kind) {
    case Activation::kRelu: return activate_as<Activation::kRelu>(x, width, gated);
    case Activation::kGelu: return activate_as<Activation::kGelu>(x, width, gated);
    case Activation::kGeluTanh: return activate_as<Activation::kGeluTanh>(x, width, gated);
    case Activation::kSilu: return activate_as<Activation::kSilu>(x, width, gated);
  }
}

// Rotary encoding: cosines and sines of positions, [positions][pairs]; no pairs, no rotation.
struct Rotation {
  const float* cosine;
  const float* sine;
  int pairs;

  // Rotates the pairs (first half, second half) of the first values of a head.
  void apply(float* head, int position) const {
    const float* c = cosine + size_t(position) * pairs;
    const float* s = sine + size_t(position) * pairs;
    for (int i = 0; i < pairs; i++) {
      const float first = head[i];
      const float second = head[pairs + i];
      head[i] = first * c[i] - second * s[i];
      head[pairs + i] = second * c[i] + first * s[i];
    }
  }
};

}  // namespace headwise
