// Attention over blocks of keys and values (see cache.h): several queries at a time, so that each key is read once for
// the hypotheses of a beam, for heads that share keys, and for neighbouring positions of a source.
#pragma once

#include <algorithm>

#include "cache.h"
#include "vectors.h"

namespace headwise {

constexpr int kQueries = 4;  // queries at a time: their sums just fit into the registers

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

// Scores of sixteen keys together, in four partial sums: in one, every addition would wait for the one before it.
// The key/value cache is larger than the CPU's caches: the values and the `next` keys are prefetched meanwhile.
template <int Rows>
inline void score_block(
    const Query* queries, const Cached* keys, const Cached* values, const Cached* next, int head_width,
    __m512* scores) {
  __m512 sums[Rows][4];
#pragma GCC unroll 4
  for (int r = 0; r < Rows; r++) {
#pragma GCC unroll 4
    for (int part = 0; part < 4; part++) {
      sums[r][part] = _mm512_setzero_ps();
    }
  }
  for (int k = 0; k < head_width; k += 4) {
    for (int line = k * kSlots; line < (k + 4) * kSlots; line += 64 / int(sizeof(Cached))) {
      _mm_prefetch(reinterpret_cast<const char*>(values + line), _MM_HINT_T0);
      _mm_prefetch(reinterpret_cast<const char*>(next + line), _MM_HINT_T0);
    }
#pragma GCC unroll 4
    for (int part = 0; part < 4; part++) {
      const __m512 key = from_cache(keys + (k + part) * kSlots);
#pragma GCC unroll 4
      for (int r = 0; r < Rows; r++) {
        sums[r][part] = _mm512_fmadd_ps(_mm512_set1_ps(queries[r].vector[k + part]), key, sums[r][part]);
      }
    }
  }
#pragma GCC unroll 4
  for (int r = 0; r < Rows; r++) {
    scores[r] = _mm512_add_ps(_mm512_add_ps(sums[r][0], sums[r][1]), _mm512_add_ps(sums[r][2], sums[r][3]));
  }
}

// The weighted mean of `Vectors` * 16 elements of the values, from `first` on.
template <int Rows, int Vectors>
inline void mix_values(
    const Query* queries, const Past& past, int first, const float* weights, size_t stride, const float* factors) {
  __m512 sums[Rows][Vectors];
#pragma GCC unroll 4
  for (int r = 0; r < Rows; r++) {
#pragma GCC unroll 4
    for (int v = 0; v < Vectors; v++) {
      sums[r][v] = _mm512_setzero_ps();
    }
  }
  for (int block = 0; block < past.count; block++) {
    const Cached* values = values_of(past.blocks[block] + past.offset, past.head_width) + first;
    unsigned open = 0;
#pragma GCC unroll 4
    for (int r = 0; r < Rows; r++) {
      open |= queries[r].mask[block];
    }
    for (; open; open &= open - 1) {  // only slots that were written: others may hold anything, NaN included
      const int slot = __builtin_ctz(open);
      const Cached* value = values + size_t(slot) * past.head_width;
#pragma GCC unroll 4
      for (int v = 0; v < Vectors; v++) {
        const __m512 part = from_cache(value + v * kLanes);
#pragma GCC unroll 4
        for (int r = 0; r < Rows; r++) {
          const __m512 weight = _mm512_set1_ps(weights[r * stride + block * kSlots + slot]);
          sums[r][v] = _mm512_fmadd_ps(weight, part, sums[r][v]);
        }
      }
    }
  }
#pragma GCC unroll 4
  for (int r = 0; r < Rows; r++) {
#pragma GCC unroll 4
    for (int v = 0; v < Vectors; v++) {
      _mm512_storeu_ps(queries[r].output + first + v * kLanes, _mm512_mul_ps(sums[r][v], _mm512_set1_ps(factors[r])));
    }
  }
}

// Attention of `Rows` queries over the same keys and values. `weights` has room for one float per slot and query.
template <int Rows>
void attend_together(const Query* queries, const Past& past, float* weights) {
  const size_t stride = size_t(past.count) * kSlots;
  __m512 largest[Rows];
#pragma GCC unroll 4
  for (int r = 0; r < Rows; r++) {
    largest[r] = _mm512_set1_ps(-kInfinity);
  }
  for (int block = 0; block < past.count; block++) {
    __m512 scores[Rows];
    const Cached* head = past.blocks[block] + past.offset;
    // After the last block come, most likely, the keys of the next head in the first block.
    const bool last = block + 1 == past.count;
    const Cached* next = past.blocks[last ? 0 : block + 1] + past.offset + (last ? head_size(past.head_width) : 0);
    score_block<Rows>(queries, keys_of(head), values_of(head, past.head_width), next, past.head_width, scores);
#pragma GCC unroll 4
    for (int r = 0; r < Rows; r++) {
      const __m512 open = _mm512_mask_mov_ps(_mm512_set1_ps(-kInfinity), queries[r].mask[block], scores[r]);
      largest[r] = _mm512_max_ps(largest[r], open);
      _mm512_storeu_ps(weights + r * stride + block * kSlots, open);
    }
  }
  float factors[Rows];
#pragma GCC unroll 4
  for (int r = 0; r < Rows; r++) {
    const __m512 top = _mm512_set1_ps(_mm512_reduce_max_ps(largest[r]));
    __m512 sum = _mm512_setzero_ps();
    for (int block = 0; block < past.count; block++) {
      float* at = weights + r * stride + block * kSlots;
      const __m512 weight = exponential(_mm512_sub_ps(_mm512_loadu_ps(at), top));
      const __m512 open = _mm512_maskz_mov_ps(queries[r].mask[block], weight);
      sum = _mm512_add_ps(sum, open);
      _mm512_storeu_ps(at, open);
    }
    const float total = _mm512_reduce_add_ps(sum);
    factors[r] = total == 0.0f ? 0.0f : 1.0f / total;  // 0 for an empty source
    for (size_t slot = 0; queries[r].weights && slot < stride; slot++) {
      queries[r].weights[slot] = weights[r * stride + slot] * factors[r];
    }
  }
  int first = 0;
  for (; first + 4 * kLanes <= past.head_width; first += 4 * kLanes) {
    mix_values<Rows, 4>(queries, past, first, weights, stride, factors);
  }
  switch ((past.head_width - first) / kLanes) {
    case 1: return mix_values<Rows, 1>(queries, past, first, weights, stride, factors);
    case 2: return mix_values<Rows, 2>(queries, past, first, weights, stride, factors);
    case 3: return mix_values<Rows, 3>(queries, past, first, weights, stride, factors);
  }
}

inline void attend(const Query* queries, int count, const Past& past, float* weights) {
  for (; count >= kQueries; count -= kQueries, queries += kQueries) {
    attend_together<kQueries>(queries, past, weights);
  }
  switch (count) {
    case 1: return attend_together<1>(queries, past, weights);
    case 2: return attend_together<2>(queries, past, weights);
    case 3: return attend_together<3>(queries, past, weights);
  }
}

}  // namespace headwise
