// The interface between the engine and its kernels, which exist once per level: a set of CPU instructions.
//
// The engine is compiled for any CPU and calls kernels through a table. The files of a level are compiled with its
// instructions; nothing in them but the table has external linkage, so that a linker cannot take an inline function of
// one level for another. For the same reason this header, which both sides include, has no functions.
//
// All levels give the same results, bit for bit: integers add up exactly, sums of floats run over sixteen lanes that
// are added in a fixed order (vector headers, `total`), and multiply-add is fused everywhere.
#pragma once

#include <cstddef>
#include <cstdint>

namespace headwise {

constexpr int kLanes = 16;  // floats that vectors, or parts of sums, are padded to
constexpr int kPanel = 32;  // outputs that matrices are padded to
constexpr int kSlots = 16;  // entries per block of the key/value cache

using Cached = uint16_t;    // float16: half the memory traffic of float32, and 16 times as exact as int8
using SlotMask = uint16_t;  // one bit per slot of a block

// How a level wants weights and inputs.
struct Layout {
  int strip;        // outputs that lie together: strips are [inputs / group][strip][group]
  int group;        // neighbouring inputs of an output
  int shift;        // is added to weights, to make them unsigned; the sum of the inputs corrects for it
  int input_bytes;  // of an input
};

// Rows of inputs, each with its own quantisation scale. The stride is in bytes.
struct QuantisedRows {
  int8_t* values;
  size_t stride;
  float* scales;
  int32_t* sums;  // of the inputs, for levels with a shift
};

// The weights of a matrix, all panels.
struct Weights {
  const uint8_t* values;
  const float* scales;
  const float* bias;
  int inputs;
};

enum class Write : int32_t { kStore, kAdd };

enum class Activation : int32_t { kRelu = 0, kGelu = 1, kGeluTanh = 2, kSilu = 3 };

struct NormWeights {
  const float* weight;
  const float* bias;
  float epsilon;
  bool centred;  // LayerNorm subtracts the mean first, RMSNorm does not
};

// One head's keys and values: blocks[b] + offset.
struct Past {
  Cached* const* blocks;
  int count;
  size_t offset;
  int head_width;
};

struct Query {
  const float* vector;
  const SlotMask* mask;  // one mask per block; at least one slot is open
  float* output;
  float* weights;  // receives the attention weights of all slots of all blocks, or null
};

struct Candidate {
  float logit;
  int32_t token;
};

// Widths are multiples of `kLanes`.
struct Kernels {
  Layout layout;

  // Multiplies `rows` rows by panels [begin, end), to out[row * stride + output], from the first output of `begin` on.
  void (*multiply)(const QuantisedRows& x, int rows, const Weights& weights, int begin, int end, float* out,
                   size_t stride, Write write);

  // LayerNorm or RMSNorm of x [width]; y may be x.
  void (*normalise)(const float* x, const NormWeights& norm, int width, float* y);

  // Quantises x [width] to row `row` of `rows`; the scale is a 127th of its largest value.
  void (*quantise)(const float* x, int width, const QuantisedRows& rows, int row);

  // Applies an activation to x [width] in place, and multiplies by `gated`, unless that is null.
  void (*activate)(float* x, int width, Activation kind, const float* gated);

  // Writes a key and a value to a slot of a block (see cache.h).
  void (*store_entry)(Cached* head, int head_width, int slot, const float* key, const float* value);

  // Attention of queries over the same keys and values. `weights`: room for one float per slot of kQueries queries.
  void (*attend)(const Query* queries, int count, const Past& past, float* weights);

  float (*largest)(const float* values, int width);

  // The sum of factors[i] * e^(values[i] - top); without `factors`, they are 1.
  float (*sum_of_exponentials)(const float* values, const float* factors, int width, float top);

  // Merges logits into the `count` best ones so far, likeliest first; the token of logits[i] is tokens[i], or first + i
  // if `tokens` is null. Of equal ones the smaller token comes first. Minus infinity is never taken.
  void (*keep_largest)(const float* logits, int width, const int32_t* tokens, int first, int count, Candidate* best);

  // Repeats the dot product of the level on registers, and returns how many multiplications that were: the peak of the
  // CPU. `sum` receives a number that depends on all of them, so that none can be left out.
  int64_t (*repeat_dot)(int64_t times, int32_t seed, int32_t* sum);
};

constexpr int kQueries = 4;  // the most queries that a level takes at a time

}  // namespace headwise
