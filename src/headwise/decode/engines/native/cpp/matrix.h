// Matrices in int8, packed in the layout of a level.
//
//   y[m][n] = (sum_k x[m][k] * (w[n][k] + shift) - shift * sum_k x[m][k]) * row_scale[m] * scale[n] + bias[n]
// Integers add up exactly, so the result of a row does not depend on the rows that are computed with it.
#pragma once

#include <algorithm>
#include <cstring>

#include "kernels.h"
#include "storage.h"

namespace headwise {

class Matrix {
 public:
  // Packs int8 weights [outputs, inputs]. The outputs that pad the last panel are `filler` for any input.
  Matrix(const Layout& layout, const int8_t* weight, const float* scales, const float* bias, int outputs, int inputs,
         float filler)
      : Matrix(layout, outputs, inputs, filler) {
    for (int output = 0; output < outputs; output++) {
      scales_[output] = scales[output];
      bias_[output] = bias ? bias[output] : 0.0f;
      const auto* from = reinterpret_cast<const uint8_t*>(weight) + size_t(output) * inputs;
      copy_groups(from, layout.group, groups(output), step());
      if (layout.shift) {
        shift_groups(groups(output));
      }
    }
  }

  // An empty matrix, to be filled with outputs of other matrices; the rest is `filler`, by default minus infinity.
  Matrix(const Layout& layout, int outputs, int inputs, float filler = -kInfinity)
      : layout_(layout), inputs_(inputs), outputs_(outputs), panels_(round_up(outputs, kPanel) / kPanel) {
    const size_t padded = size_t(panels_) * kPanel;
    weights_ = Array<uint8_t>(padded * inputs);
    scales_ = Array<float>(padded);
    bias_ = Array<float>(padded);
    std::memset(weights_.data(), layout.shift, padded * inputs);
    std::fill_n(scales_.data(), padded, 0.0f);
    std::fill_n(bias_.data(), padded, filler);
  }

  // Copies an output (row) of another matrix with as many inputs and the same layout; `values` are its weights.
  void take(int output, const Matrix& other, int row, const uint8_t* values) {
    copy_groups(values, layout_.group, groups(output), step());
    scales_[output] = other.scales_[row];
    bias_[output] = other.bias_[row];
  }

  // Copies the weights of one output, [inputs], in the form that `take` expects.
  void copy_output(int output, uint8_t* to) const { copy_groups(groups(output), step(), to, layout_.group); }

  const Layout& layout() const { return layout_; }
  int inputs() const { return inputs_; }
  int outputs() const { return outputs_; }
  int panels() const { return panels_; }
  Weights weights() const { return {weights_.data(), scales_.data(), bias_.data(), inputs_}; }

  // The weights of one output as floats, times a factor: an embedding that is tied to the output projection.
  void row(int output, float factor, float* to) const {
    const uint8_t* from = groups(output);
    const float scale = scales_[output] * factor;
    for (int input = 0; input < inputs_; input += layout_.group, from += step()) {
      for (int i = 0; i < layout_.group; i++) {
        to[input + i] = float(int8_t(from[i] - layout_.shift)) * scale;
      }
    }
  }

 private:
  uint8_t* groups(int output) const {
    const size_t strip = size_t(output / layout_.strip) * layout_.strip * inputs_;
    return weights_.data() + strip + size_t(output % layout_.strip) * layout_.group;
  }
  int step() const { return layout_.strip * layout_.group; }

  // Copies the groups of one output, at these distances.
  void copy_groups(const uint8_t* from, int from_step, uint8_t* to, int to_step) const {
    switch (layout_.group) {  // copies of a known size are single instructions
      case 2: return copy_groups_of<2>(from, from_step, to, to_step);
      case 4: return copy_groups_of<4>(from, from_step, to, to_step);
      case 8: return copy_groups_of<8>(from, from_step, to, to_step);
    }
  }
  template <int Group>
  void copy_groups_of(const uint8_t* from, int from_step, uint8_t* to, int to_step) const {
    for (int input = 0; input < inputs_; input += Group, from += from_step, to += to_step) {
      std::memcpy(to, from, Group);
    }
  }

  void shift_groups(uint8_t* at) {
    for (int input = 0; input < inputs_; input += layout_.group, at += step()) {
      for (int i = 0; i < layout_.group; i++) {
        at[i] = uint8_t(at[i] + layout_.shift);
      }
    }
  }

  Layout layout_;
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

}  // namespace headwise
