// Attention over blocks of keys and values (see cache.h): several queries at a time, so that each key is read once for
// the hypotheses of a beam, for heads that share keys, and for neighbouring positions of a source. Included after a
// vector header.
#pragma once

#include "functions.h"
#include "rows.h"

namespace headwise {
namespace {

static_assert(kSlots == kLanes && kTogether <= kQueries, "a block is one vector of lanes");

template <class Head>
inline Head values_of(Head head, int head_width) {
  return head + size_t(kSlots) * head_width;
}

inline Vector within_half(Vector x) {
  constexpr float kLargest = 65504.0f;  // the largest float16; min and max in this operand order keep NaN
  return smaller(all(kLargest), larger(all(-kLargest), x));
}

void store_entry(Cached* head, int head_width, int slot, const float* key, const float* value) {
  Cached* keys = head + slot;
  Cached* values = values_of(head, head_width) + size_t(slot) * head_width;
  Cached some[kWidth];
  for (int first = 0; first < head_width; first += kWidth) {
    to_half(within_half(load(value + first)), values + first);
    to_half(within_half(load(key + first)), some);
    for (int k = 0; k < kWidth; k++) {
      keys[(first + k) * kSlots] = some[k];
    }
  }
}

// Scores of a vector of keys, in four partial sums: in one, every addition would wait for the one before it.
// The key/value cache is larger than the CPU's caches: `values` and `next`, unless null, are prefetched meanwhile.
template <int Rows>
HEADWISE_INLINE void score_keys(const Query* queries, const Cached* keys, const Cached* values, const Cached* next,
                                int head_width, Vector (&scores)[Rows]) {
  Vector sums[Rows][4];
  HEADWISE_UNROLL
  for (int r = 0; r < Rows; r++) {
    HEADWISE_UNROLL
    for (int part = 0; part < 4; part++) {
      sums[r][part] = all(0.0f);
    }
  }
  for (int k = 0; k < head_width; k += 4) {
    if (values) {
      HEADWISE_UNROLL
      for (int line = 0; line < 4 * kSlots; line += 64 / int(sizeof(Cached))) {
        HEADWISE_PREFETCH(values + k * kSlots + line);
        HEADWISE_PREFETCH(next + k * kSlots + line);
      }
    }
    HEADWISE_UNROLL
    for (int part = 0; part < 4; part++) {
      const Vector key = from_half(keys + (k + part) * kSlots);
      HEADWISE_UNROLL
      for (int r = 0; r < Rows; r++) {
        sums[r][part] = fused(all(queries[r].vector[k + part]), key, sums[r][part]);
      }
    }
  }
  HEADWISE_UNROLL
  for (int r = 0; r < Rows; r++) {
    scores[r] = add(add(sums[r][0], sums[r][1]), add(sums[r][2], sums[r][3]));
  }
}

// The weighted mean of `Vectors` vectors of the values, from `first` on.
template <int Rows, int Vectors>
inline void mix_values(const Query* queries, const Past& past, int first, const float* weights, size_t stride,
                       const float* factors) {
  Vector sums[Rows][Vectors];
  HEADWISE_UNROLL
  for (int r = 0; r < Rows; r++) {
    HEADWISE_UNROLL
    for (int v = 0; v < Vectors; v++) {
      sums[r][v] = all(0.0f);
    }
  }
  for (int block = 0; block < past.count; block++) {
    const Cached* values = values_of(past.blocks[block] + past.offset, past.head_width) + first;
    unsigned open = 0;
    HEADWISE_UNROLL
    for (int r = 0; r < Rows; r++) {
      open |= queries[r].mask[block];
    }
    for (; open; open &= open - 1) {  // only slots that were written: others may hold anything, NaN included
      const int slot = lowest_bit(open);
      const Cached* value = values + size_t(slot) * past.head_width;
      HEADWISE_UNROLL
      for (int v = 0; v < Vectors; v++) {
        const Vector part = from_half(value + v * kWidth);
        HEADWISE_UNROLL
        for (int r = 0; r < Rows; r++) {
          sums[r][v] = fused(all(weights[r * stride + block * kSlots + slot]), part, sums[r][v]);
        }
      }
    }
  }
  HEADWISE_UNROLL
  for (int r = 0; r < Rows; r++) {
    HEADWISE_UNROLL
    for (int v = 0; v < Vectors; v++) {
      store(queries[r].output + first + v * kWidth, multiply(sums[r][v], all(factors[r])));
    }
  }
}

// Attention of `Rows` queries over the same keys and values. `weights` has room for one float per slot and query.
template <int Rows>
void attend_together(const Query* queries, const Past& past, float* weights) {
  const size_t stride = size_t(past.count) * kSlots;
  Lanes largest[Rows];
  HEADWISE_UNROLL
  for (int r = 0; r < Rows; r++) {
    largest[r] = all_lanes(kLowest);
  }
  for (int block = 0; block < past.count; block++) {
    const Cached* head = past.blocks[block] + past.offset;
    const Cached* values = values_of(head, past.head_width);
    // After the last block come, most likely, the keys of the next head in the first block.
    const bool last = block + 1 == past.count;
    const Cached* next = past.blocks[last ? 0 : block + 1] + past.offset + (last ? values - head + (values - head) : 0);
    HEADWISE_UNROLL
    for (int part = 0; part < kParts; part++) {
      Vector scores[Rows];
      score_keys<Rows>(queries, head + part * kWidth, part ? nullptr : values, next, past.head_width, scores);
      HEADWISE_UNROLL
      for (int r = 0; r < Rows; r++) {
        const Vector open = choose(queries[r].mask[block] >> part * kWidth, scores[r], all(kLowest));
        largest[r].part[part] = larger(largest[r].part[part], open);
        store(weights + r * stride + block * kSlots + part * kWidth, open);
      }
    }
  }
  float factors[Rows];
  HEADWISE_UNROLL
  for (int r = 0; r < Rows; r++) {
    const Vector top = all(greatest(largest[r]));
    Lanes sum = all_lanes(0.0f);
    for (int block = 0; block < past.count; block++) {
      float* at = weights + r * stride + block * kSlots;
      HEADWISE_UNROLL
      for (int part = 0; part < kParts; part++, at += kWidth) {
        const Vector weight = bounded_exponential(subtract(load(at), top));
        const Vector open = choose(queries[r].mask[block] >> part * kWidth, weight, all(0.0f));
        sum.part[part] = add(sum.part[part], open);
        store(at, open);
      }
    }
    const float whole = total(sum);
    factors[r] = whole == 0.0f ? 0.0f : 1.0f / whole;  // 0 for an empty source
    for (size_t slot = 0; queries[r].weights && slot < stride; slot++) {
      queries[r].weights[slot] = weights[r * stride + slot] * factors[r];
    }
  }
  int first = 0;
  for (; first + 4 * kWidth <= past.head_width; first += 4 * kWidth) {
    mix_values<Rows, 4>(queries, past, first, weights, stride, factors);
  }
  switch ((past.head_width - first) / kWidth) {
    case 1: return mix_values<Rows, 1>(queries, past, first, weights, stride, factors);
    case 2: return mix_values<Rows, 2>(queries, past, first, weights, stride, factors);
    case 3: return mix_values<Rows, 3>(queries, past, first, weights, stride, factors);
  }
}

// Fewer than `Rows` + 1 queries.
template <int Rows>
inline void attend_rest(const Query* queries, int count, const Past& past, float* weights) {
  if constexpr (Rows > 0) {
    if (count == Rows) {
      attend_together<Rows>(queries, past, weights);
    } else {
      attend_rest<Rows - 1>(queries, count, past, weights);
    }
  }
}

void attend(const Query* queries, int count, const Past& past, float* weights) {
  for (; count >= kTogether; count -= kTogether, queries += kTogether) {
    attend_together<kTogether>(queries, past, weights);
  }
  attend_rest<kTogether - 1>(queries, count, past, weights);
}

}  // namespace
}  // namespace headwise
