// A model as the engine sees it: two sides, each a list of sublayers.
#pragma once

#include <memory>
#include <vector>

#include "cache.h"
#include "matrix.h"

namespace headwise {

enum class Kind : int32_t { kSelfAttention = 0, kCrossAttention = 1, kFeedForward = 2 };

struct Norm {
  std::vector<float> weight;
  std::vector<float> bias;
  float epsilon;
  bool centred;

  NormWeights weights() const { return {weight.data(), bias.data(), epsilon, centred}; }
};

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

// As Python passes it: library.py declares the same fields, and compares the size. Norms and matrices are numbers, -1:
// none.
struct SublayerDescription {
  Kind kind;
  int32_t norm_before;
  int32_t norm_after;
  int32_t project;  // query, key and value; query alone; or the expansion, after the gate if there is one
  int32_t memory;   // keys and values of the source, for cross-attention
  int32_t output;
  int32_t heads;
  int32_t key_heads;
  int32_t head_width;
  int32_t hidden;  // inner width of a feed-forward
  Activation activation;
  int32_t gated;
};

struct SideDescription {
  int32_t width;
  int32_t embedding;
  float embedding_factor;
  int32_t embedding_norm;
  int32_t final_norm;
};

// x + sublayer(x), with a norm before the sublayer or after the sum.
struct Sublayer {
  Kind kind;
  const Norm* norm_before;
  const Norm* norm_after;
  const Matrix* project;
  const Matrix* memory;
  const Matrix* output;
  int heads;
  int key_heads;
  int head_width;
  int hidden;
  Activation activation;
  bool gated;
  size_t offset;  // where its heads begin in a block of the cache

  int group() const { return heads / key_heads; }
};

struct Side {
  int width = 0;
  const Matrix* embedding = nullptr;
  float embedding_factor = 1.0f;
  const Norm* embedding_norm = nullptr;
  const Norm* final_norm = nullptr;
  std::vector<Sublayer> sublayers;

  // The norm before sublayer `index`, or the final norm after the last one.
  const Norm* norm_before(size_t index) const {
    return index < sublayers.size() ? sublayers[index].norm_before : final_norm;
  }
};

struct Model {
  std::vector<std::unique_ptr<Matrix>> matrices;
  std::vector<std::unique_ptr<Norm>> norms;
  Side source;
  Side target;
  const Matrix* output = nullptr;
  size_t past_size = 0;    // size of a block of the target
  size_t memory_size = 0;  // size of a block of the source

  const Matrix* matrix(int index) const { return index < 0 ? nullptr : matrices.at(index).get(); }
  const Norm* norm(int index) const { return index < 0 ? nullptr : norms.at(index).get(); }

  void describe_side(Side& side, const SideDescription& given) {
    side.width = given.width;
    side.embedding = matrix(given.embedding);
    side.embedding_factor = given.embedding_factor;
    side.embedding_norm = norm(given.embedding_norm);
    side.final_norm = norm(given.final_norm);
  }

  void add_sublayer(Side& side, const SublayerDescription& given) {
    Sublayer sublayer{};
    sublayer.kind = given.kind;
    sublayer.norm_before = norm(given.norm_before);
    sublayer.norm_after = norm(given.norm_after);
    sublayer.project = matrix(given.project);
    sublayer.memory = matrix(given.memory);
    sublayer.output = matrix(given.output);
    sublayer.heads = given.heads;
    sublayer.key_heads = given.key_heads;
    sublayer.head_width = given.head_width;
    sublayer.hidden = given.hidden;
    sublayer.activation = given.activation;
    sublayer.gated = given.gated != 0;
    const bool cached = &side == &target && given.kind != Kind::kFeedForward;
    if (cached) {
      size_t& size = given.kind == Kind::kCrossAttention ? memory_size : past_size;
      sublayer.offset = size;
      size += head_size(given.head_width) * given.key_heads;
    }
    side.sublayers.push_back(sublayer);
  }
};

}  // namespace headwise
