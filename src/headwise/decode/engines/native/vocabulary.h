// The likeliest tokens and their log-probabilities, without a table of all of them.
//
// Logits are made a chunk of the vocabulary at a time, and of a chunk only the largest few, its maximum and its sum of
// exponentials are kept. Chunks are the same however many threads there are, and are put together in their order: so
// are the results.
#pragma once

#include <algorithm>
#include <cstring>
#include <vector>

#include "product.h"
#include "threads.h"
#include "vectors.h"

namespace headwise {

struct Candidate {
  float logit;
  int32_t token;

  bool before(const Candidate& other) const {
    return logit > other.logit || (logit == other.logit && token < other.token);
  }
};

// What is asked for, and where it goes.
struct Ranking {
  int count;  // of the likeliest tokens of a row
  const int64_t* banned;
  int banned_count;
  float* log_probabilities;  // [rows][count]
  int64_t* tokens;           // [rows][count]
  float* table;              // [rows][vocabulary], of all tokens, or none
};

class Vocabulary {
 public:
  void rank(Threads& threads, const Matrix& matrix, const QuantisedRows& x, int rows, const Ranking& ranking) {
    const int chunks = (matrix.panels() + kChunkPanels - 1) / kChunkPanels;
    stride_ = round_up(chunks, kLanes);
    maxima_.make_room(size_t(rows) * stride_);
    sums_.make_room(size_t(rows) * stride_);
    std::fill_n(maxima_.data(), size_t(rows) * stride_, -kInfinity);
    std::fill_n(sums_.data(), size_t(rows) * stride_, 0.0f);
    logits_.make_room(size_t(threads.count()) * kRows * kStride);
    const size_t found = size_t(threads.count()) * rows * ranking.count;
    candidates_.make_room(found);
    std::fill_n(candidates_.data(), found, Candidate{-kInfinity, 0});

    threads.for_ranges(chunks, [&](int begin, int end, int thread) {
      float* logits = logits_.data() + size_t(thread) * kRows * kStride;
      Candidate* best = candidates_.data() + size_t(thread) * rows * ranking.count;
      for (int chunk = begin; chunk < end; chunk++) {
        const int first_panel = chunk * kChunkPanels;
        const int panels = std::min(kChunkPanels, matrix.panels() - first_panel);
        for (int first = 0; first < rows; first += kRows) {
          const int last = std::min(rows, first + kRows);
          for (int panel = 0; panel < panels; panel++) {
            float* out = logits + size_t(panel) * kPanel;
            multiply_panel<Write::kStore>(x, first, last, matrix, first_panel + panel, out, kStride);
          }
          for (int row = first; row < last; row++) {
            float* of_row = logits + size_t(row - first) * kStride;
            add_up(of_row, panels * kPanel, row, chunk);
            if (ranking.table) {
              const int begins = first_panel * kPanel;
              const int real = std::min(panels * kPanel, matrix.outputs() - begins);
              std::copy_n(of_row, real, ranking.table + size_t(row) * matrix.outputs() + begins);
            }
            keep_best(of_row, panels * kPanel, first_panel * kPanel, ranking, best + size_t(row) * ranking.count);
          }
        }
      }
    });

    threads.for_ranges(rows, [&](int begin, int end, int) {
      for (int row = begin; row < end; row++) {
        finish_row(row, rows, threads.count(), matrix.outputs(), ranking);
      }
    });
  }

 private:
  static constexpr int kChunkPanels = 8;
  static constexpr int kStride = kChunkPanels * kPanel + kLanes;  // from row to row, see row_stride
  static constexpr int kRows = 32;  // whose logits of a chunk stay in the first-level cache

  void add_up(const float* logits, int width, int row, int chunk) {
    __m512 largest = _mm512_set1_ps(-kInfinity);
    for (int k = 0; k < width; k += kLanes) {
      largest = _mm512_max_ps(largest, _mm512_load_ps(logits + k));
    }
    const float top = _mm512_reduce_max_ps(largest);
    __m512 sum = _mm512_setzero_ps();
    for (int k = 0; k < width; k += kLanes) {
      sum = _mm512_add_ps(sum, exponential(_mm512_sub_ps(_mm512_load_ps(logits + k), _mm512_set1_ps(top))));
    }
    maxima_[size_t(row) * stride_ + chunk] = top;
    sums_[size_t(row) * stride_ + chunk] = _mm512_reduce_add_ps(sum);
  }

  // The logits [width] of the tokens from `first` on, into the best ones so far.
  static void keep_best(float* logits, int width, int first, const Ranking& ranking, Candidate* best) {
    if (!ranking.count) {
      return;
    }
    for (int i = 0; i < ranking.banned_count; i++) {
      const int64_t place = ranking.banned[i] - first;
      if (place >= 0 && place < width) {
        logits[place] = -kInfinity;
      }
    }
    Candidate* last = best + ranking.count - 1;
    for (int k = 0; k < width; k += kLanes) {
      const __m512 some = _mm512_load_ps(logits + k);
      unsigned hits = _mm512_cmp_ps_mask(some, _mm512_set1_ps(last->logit), _CMP_GE_OQ);
      for (; hits; hits &= hits - 1) {
        const int place = k + __builtin_ctz(hits);
        const Candidate candidate{logits[place], first + place};
        if (candidate.logit > -kInfinity && candidate.before(*last)) {
          insert(candidate, best, last);
        }
      }
    }
  }

  static void insert(const Candidate& candidate, Candidate* best, Candidate* last) {
    Candidate* place = last;
    for (; place > best && candidate.before(place[-1]); place--) {
      *place = place[-1];
    }
    *place = candidate;
  }

  float log_of_sum(int row) const {
    const float* maxima = maxima_.data() + size_t(row) * stride_;
    const float* sums = sums_.data() + size_t(row) * stride_;
    __m512 largest = _mm512_set1_ps(-kInfinity);
    for (int k = 0; k < stride_; k += kLanes) {
      largest = _mm512_max_ps(largest, _mm512_load_ps(maxima + k));
    }
    const float top = _mm512_reduce_max_ps(largest);
    __m512 sum = _mm512_setzero_ps();
    for (int k = 0; k < stride_; k += kLanes) {
      const __m512 share = exponential(_mm512_sub_ps(_mm512_load_ps(maxima + k), _mm512_set1_ps(top)));
      sum = _mm512_fmadd_ps(share, _mm512_load_ps(sums + k), sum);
    }
    return top + std::log(_mm512_reduce_add_ps(sum));
  }

  void finish_row(int row, int rows, int threads, int vocabulary, const Ranking& ranking) {
    const float normaliser = log_of_sum(row);
    if (ranking.count) {
      // The other threads' best are put among the first one's.
      Candidate* best = candidates_.data() + size_t(row) * ranking.count;
      for (int thread = 1; thread < threads; thread++) {
        const Candidate* others = candidates_.data() + (size_t(thread) * rows + row) * ranking.count;
        for (int i = 0; i < ranking.count && others[i].before(best[ranking.count - 1]); i++) {
          insert(others[i], best, best + ranking.count - 1);
        }
      }
      for (int i = 0; i < ranking.count; i++) {
        // Rounding must not make a probability of more than 1; a comparison this way round keeps NaN.
        const float log_probability = best[i].logit - normaliser;
        ranking.log_probabilities[size_t(row) * ranking.count + i] = log_probability > 0.0f ? 0.0f : log_probability;
        ranking.tokens[size_t(row) * ranking.count + i] = best[i].token;
      }
    }
    if (ranking.table) {
      float* table = ranking.table + size_t(row) * vocabulary;
      for (int token = 0; token < vocabulary; token++) {
        const float log_probability = table[token] - normaliser;
        table[token] = log_probability > 0.0f ? 0.0f : log_probability;
      }
    }
  }

  int stride_ = 0;
  Array<float> maxima_;
  Array<float> sums_;
  Array<float> logits_;
  Array<Candidate> candidates_;
};

}  // namespace headwise
