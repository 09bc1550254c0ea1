// Matrix products in int8.
//
// A weight is stored as its int8 value + 128, unsigned, because the instruction multiplies unsigned by signed bytes;
// the sum of the inputs corrects for the 128:
//   y[m][n] = (sum_k x[m][k] * w[n][k] - 128 * sum_k x[m][k]) * row_scale[m] * scale[n] + bias[n]
// Integers add up exactly, so the result of a row does not depend on the rows that are computed with it.
#pragma once

#include <algorithm>
#include <cstring>

#include "vectors.h"

namespace headwise {

constexpr int kPanel = 32;  // outputs per panel: two vectors of sums
constexpr int kQuad = 4;    // inputs that one instruction multiplies and adds
constexpr int kShift = 128;

// Rows of inputs in int8, each with its own quantisation scale.
struct QuantisedRows {
  int8_t* values;
  size_t stride;
  float* scales;
  int32_t* sums;
};

class Matrix {
 public:
  // Packs int8 weights [outputs, inputs]. The outputs that pad the last panel are `filler` for any input.
  Matrix(const int8_t* weight, const float* scales, const float* bias, int outputs, int inputs, float filler)
      : Matrix(outputs, inputs, filler) {
    for (int output = 0; output < outputs; output++) {
      scales_[output] = scales[output];
      bias_[output] = bias ? bias[output] : 0.0f;
      const int8_t* from = weight + size_t(output) * inputs;
      uint8_t* to = quads(output);
      for (int input = 0; input < inputs; input += kQuad, to += kPanel * kQuad) {
        uint32_t quad;
        std::memcpy(&quad, from + input, sizeof quad);
        quad ^= 0x80808080u;  // adds 128 to each of the four bytes
        std::memcpy(to, &quad, sizeof quad);
      }
    }
  }

  // An empty matrix, to be filled with outputs of other matrices; the rest is `filler`, by default minus infinity.
  Matrix(int outputs, int inputs, float filler = -kInfinity)
      : inputs_(inputs), outputs_(outputs), panels_(round_up(outputs, kPanel) / kPanel) {
    const size_t padded = size_t(panels_) * kPanel;
    weights_ = Array<uint8_t>(padded * inputs);
    scales_ = Array<float>(padded);
    bias_ = Array<float>(padded);
    std::memset(weights_.data(), kShift, padded * inputs);
    std::fill_n(scales_.data(), padded, 0.0f);
    std::fill_n(bias_.data(), padded, filler);
  }

  // Copies an output (row) of another matrix with as many inputs.
  void take(int output, const Matrix& other, int row) {
    const uint8_t* from = other.quads(row);
    uint8_t* to = quads(output);
    for (int input = 0; input < inputs_; input += kQuad, from += kPanel * kQuad, to += kPanel * kQuad) {
      std::memcpy(to, from, kQuad);
    }
    scales_[output] = other.scales_[row];
    bias_[output] = other.bias_[row];
  }

  int inputs() const { return inputs_; }
  int outputs() const { return outputs_; }
  int panels() const { return panels_; }
  const uint8_t* panel(int index) const { return weights_.data() + size_t(index) * kPanel * inputs_; }
  const float* scales(int panel) const { return scales_.data() + size_t(panel) * kPanel; }
  const float* bias(int panel) const { return bias_.data() + size_t(panel) * kPanel; }

  // The weights of one output as floats, times a factor: an embedding that is tied to the output projection.
  void row(int output, float factor, float* to) const {
    const uint8_t* from = quads(output);
    const float scale = scales_[output] * factor;
    for (int input = 0; input < inputs_; input += kQuad, from += kPanel * kQuad) {
      for (int i = 0; i < kQuad; i++) {
        to[input + i] = float(int(from[i]) - kShift) * scale;
      }
    }
  }

 private:
  // Panels [inputs / 4][32 outputs][4 inputs]: the order in which the inner loop reads them.
  uint8_t* quads(int output) const {
    return weights_.data() + size_t(output / kPanel) * kPanel * inputs_ + output % kPanel * kQuad;
  }

  int inputs_;
  int outputs_;
  int panels_;
  Array<uint8_t> weights_;
  Array<float> scales_;
  Array<float> bias_;
};

// The stride of the rows that a product writes. The extra line keeps the rows of a tile apart in the CPU's caches: at
// distances of a power of two they would all map to the same sets.
inline size_t row_stride(int outputs) { return size_t(round_up(outputs, kPanel)) + kLanes; }

enum class Write { kStore, kAdd };

// Adds four products to each sum. In assembler, because GCC copies the sums of the intrinsic between registers.
inline void multiply_and_add(__m512i& sums, __m512i weights, __m512i inputs) {
  asm("vpdpbusd %2, %1, %0" : "+v"(sums) : "v"(weights), "v"(inputs));
}

// Writes sixteen outputs of a row from their integer sums.
template <Write write>
inline void finish(__m512i sum, __m512i shift, __m512 row_scale, const float* scales, const float* bias, float* to) {
  const __m512 whole = _mm512_cvtepi32_ps(_mm512_sub_epi32(sum, shift));
  const __m512 scaled = _mm512_mul_ps(whole, _mm512_load_ps(scales));
  __m512 y = _mm512_fmadd_ps(scaled, row_scale, _mm512_load_ps(bias));
  if (write == Write::kAdd) {
    y = _mm512_add_ps(y, _mm512_loadu_ps(to));
  }
  _mm512_storeu_ps(to, y);
}

// From this many rows on, a panel takes long enough to prefetch the next one; a single row only waits for memory.
constexpr int kPrefetchRows = 4;

// Multiplies `Rows` rows by one panel. The loops over rows must be unrolled to keep the sums in registers.
template <int Rows, Write write>
void multiply_tile(const QuantisedRows& x, int first, const Matrix& matrix, int panel, float* out, size_t stride) {
  const int inputs = matrix.inputs();
  const uint8_t* weights = matrix.panel(panel);
  const int8_t* row = x.values + size_t(first) * x.stride;
  __m512i low[Rows];
  __m512i high[Rows];
#pragma GCC unroll 8
  for (int r = 0; r < Rows; r++) {
    low[r] = high[r] = _mm512_setzero_si512();
  }
  for (int k = 0; k < inputs; k += kQuad) {
    const __m512i left = _mm512_load_si512(weights + size_t(k) * kPanel);
    const __m512i right = _mm512_load_si512(weights + size_t(k) * kPanel + 64);
    if (Rows >= kPrefetchRows) {
      const char* next = reinterpret_cast<const char*>(weights + size_t(inputs + k) * kPanel);
      _mm_prefetch(next, _MM_HINT_T1);
      _mm_prefetch(next + 64, _MM_HINT_T1);
    }
#pragma GCC unroll 8
    for (int r = 0; r < Rows; r++) {
      int32_t quad;
      std::memcpy(&quad, row + size_t(r) * x.stride + k, sizeof quad);
      const __m512i repeated = _mm512_set1_epi32(quad);
      multiply_and_add(low[r], left, repeated);
      multiply_and_add(high[r], right, repeated);
    }
  }
  const float* scales = matrix.scales(panel);
  const float* bias = matrix.bias(panel);
#pragma GCC unroll 8
  for (int r = 0; r < Rows; r++) {
    const __m512i shift = _mm512_set1_epi32(kShift * x.sums[first + r]);
    const __m512 row_scale = _mm512_set1_ps(x.scales[first + r]);
    finish<write>(low[r], shift, row_scale, scales, bias, out + r * stride);
    finish<write>(high[r], shift, row_scale, scales + kLanes, bias + kLanes, out + r * stride + kLanes);
  }
}

// Multiplies rows [first, last) by one panel; `out` receives the first of them.
template <Write write>
inline void multiply_panel(
    const QuantisedRows& x, int first, int last, const Matrix& matrix, int panel, float* out, size_t stride) {
  constexpr int kTile = 8;
  for (; first + kTile <= last; first += kTile, out += kTile * stride) {
    multiply_tile<kTile, write>(x, first, matrix, panel, out, stride);
  }
  switch (last - first) {
    case 1: return multiply_tile<1, write>(x, first, matrix, panel, out, stride);
    case 2: return multiply_tile<2, write>(x, first, matrix, panel, out, stride);
    case 3: return multiply_tile<3, write>(x, first, matrix, panel, out, stride);
    case 4: return multiply_tile<4, write>(x, first, matrix, panel, out, stride);
    case 5: return multiply_tile<5, write>(x, first, matrix, panel, out, stride);
    case 6: return multiply_tile<6, write>(x, first, matrix, panel, out, stride);
    case 7: return multiply_tile<7, write>(x, first, matrix, panel, out, stride);
  }
}

// Multiplies `rows` rows by panels [begin, end), to out[row * stride + output].
template <Write write>
void multiply(const QuantisedRows& x, int rows, const Matrix& matrix, int begin, int end, float* out, size_t stride) {
  constexpr int kRowBytes = 128 * 1024;  // as many rows at a time as stay in the second-level cache
  const int block = std::max(8, kRowBytes / matrix.inputs() / 8 * 8);
  for (int first = 0; first < rows; first += block) {
    const int last = std::min(rows, first + block);
    for (int panel = begin; panel < end; panel++) {
      multiply_panel<write>(x, first, last, matrix, panel, out + first * stride + size_t(panel) * kPanel, stride);
    }
  }
}

}  // namespace headwise
