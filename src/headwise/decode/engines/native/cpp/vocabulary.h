// The likeliest tokens and their log-probabilities, without a table of all of them.
//
// Logits are computed for one chunk of the vocabulary at a time; only the largest few, the maximum and the sum of
// exponentials of a chunk are kept. Chunks do not depend on the number of threads and are combined in order, so neither
// do the results. With a shortlist, all its logits are computed first.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "kernels.h"
#include "matrix.h"
#include "shortlist.h"
#include "storage.h"
#include "threads.h"

namespace headwise {

inline bool before(const Candidate& one, const Candidate& other) {
  return one.logit > other.logit || (one.logit == other.logit && one.token < other.token);
}

// The wanted results of a step, and where they are written.
struct Ranking {
  int count;  // likeliest tokens per row
  const int64_t* banned;
  int banned_count;
  float* log_probabilities;  // [rows][count]
  int64_t* tokens;           // [rows][count]
  float* table;              // [rows][vocabulary], log-probabilities of all tokens, or null
};

class Vocabulary {
 public:
  explicit Vocabulary(const Kernels& kernels) : kernels_(kernels) {}

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
          const int end_panel = first_panel + panels;
          kernels_.multiply(part(x, first), last - first, matrix.weights(), first_panel, end_panel, logits, kStride,
                            Write::kStore);
          for (int row = first; row < last; row++) {
            float* of_row = logits + size_t(row - first) * kStride;
            const float top = add_chunk(of_row, panels * kPanel, row, chunk);
            if (ranking.table) {
              const int begins = first_panel * kPanel;
              const int real = std::min(panels * kPanel, matrix.outputs() - begins);
              std::copy_n(of_row, real, ranking.table + size_t(row) * matrix.outputs() + begins);
            }
            keep_best(of_row, panels * kPanel, top, first_panel * kPanel, ranking, best + size_t(row) * ranking.count);
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

  // Ranks the shortlisted tokens of each row's sentence, `sentence_of(row)`; the others have a log-probability of minus
  // infinity. A row in which no listed token is likely is ranked among all tokens.
  template <class SentenceOf>
  void rank_within(Threads& threads, const Matrix& matrix, const Shortlist& list, SentenceOf&& sentence_of,
                   const QuantisedRows& x, int rows, const Ranking& ranking) {
    tops_.make_room(rows);
    rank_listed(threads, list, sentence_of, x, rows, matrix.outputs(), ranking);
    std::vector<int> unsure;
    for (int row = 0; row < rows; row++) {
      if (!(tops_[row] >= list.sure())) {
        unsure.push_back(row);
      }
    }
    if (!unsure.empty()) {
      rank_again(threads, matrix, x, unsure, ranking);
    }
  }

 private:
  // The rows from `first` on.
  static QuantisedRows part(const QuantisedRows& x, int first) {
    return {x.values + first * x.stride, x.stride, x.scales + first, x.sums + first};
  }

  // Ranks the rows of `unsure` among all tokens.
  void rank_again(Threads& threads, const Matrix& matrix, const QuantisedRows& x, const std::vector<int>& unsure,
                  const Ranking& ranking) {
    const int rows = int(unsure.size());
    const size_t count = ranking.count;
    again_values_.make_room(rows * x.stride);
    again_scales_.make_room(rows);
    again_sums_.make_room(rows);
    const QuantisedRows some{again_values_.data(), x.stride, again_scales_.data(), again_sums_.data()};
    for (int i = 0; i < rows; i++) {
      std::copy_n(x.values + unsure[i] * x.stride, x.stride, some.values + i * x.stride);
      some.scales[i] = x.scales[unsure[i]];
      some.sums[i] = x.sums[unsure[i]];
    }
    std::vector<float> log_probabilities(rows * count);
    std::vector<int64_t> tokens(rows * count);
    std::vector<float> table(ranking.table ? size_t(rows) * matrix.outputs() : 0);
    rank(threads, matrix, some, rows,
         {ranking.count, ranking.banned, ranking.banned_count, log_probabilities.data(), tokens.data(),
          ranking.table ? table.data() : nullptr});
    for (int i = 0; i < rows; i++) {
      std::copy_n(log_probabilities.data() + i * count, count, ranking.log_probabilities + unsure[i] * count);
      std::copy_n(tokens.data() + i * count, count, ranking.tokens + unsure[i] * count);
      if (ranking.table) {
        std::copy_n(table.data() + size_t(i) * matrix.outputs(), matrix.outputs(),
                    ranking.table + size_t(unsure[i]) * matrix.outputs());
      }
    }
  }

  template <class SentenceOf>
  void rank_listed(Threads& threads, const Shortlist& list, SentenceOf&& sentence_of, const QuantisedRows& x, int rows,
                   int vocabulary, const Ranking& ranking) {
    const Selection& common = list.common();
    const Selection& others = list.others();
    const size_t stride = row_stride(common.width() + others.width());
    const size_t longest = round_up(int(list.longest()), kLanes);
    logits_.make_room(std::min(rows, kListedRows) * stride);
    gathered_.make_room(threads.count() * longest);
    candidates_.make_room(size_t(threads.count()) * ranking.count);
    for (int first = 0; first < rows; first += kListedRows) {
      const int some = std::min(kListedRows, rows - first);
      threads.for_ranges(common.panels() + others.panels(), [&](int begin, int end, int) {
        multiply_listed(part(x, first), some, common, begin, end, 0, stride);
        multiply_listed(part(x, first), some, others, begin, end, common.panels(), stride);
      });
      threads.for_ranges(some, [&](int begin, int end, int thread) {
        float* own = gathered_.data() + thread * longest;
        Candidate* best = candidates_.data() + size_t(thread) * ranking.count;
        for (int row = begin; row < end; row++) {
          const Shortlist::Own& chosen = list.own(sentence_of(first + row));
          float* logits = logits_.data() + row * stride;
          gather(logits + common.width(), chosen.columns, own);
          tops_[first + row] = finish_within(first + row, {logits, common.width(), common.tokens},
                                             {own, padded(chosen), chosen.tokens}, vocabulary, ranking, best);
        }
      });
    }
  }

  // Computes the logits of those panels of a selection that lie in [begin, end), where its first one is `offset`.
  void multiply_listed(const QuantisedRows& x, int rows, const Selection& selection, int begin, int end, int offset,
                       size_t stride) {
    begin = std::max(begin, offset);
    end = std::min(end, offset + selection.panels());
    if (begin < end) {
      kernels_.multiply(x, rows, selection.matrix.weights(), begin - offset, end - offset,
                        logits_.data() + size_t(begin) * kPanel, stride, Write::kStore);
    }
  }

  static constexpr int kListedRows = 64;  // rows whose logits are computed together
  static constexpr int kChunkPanels = 8;
  static constexpr int kStride = kChunkPanels * kPanel + kLanes;  // from row to row, see row_stride
  static constexpr int kRows = 32;  // rows whose logits of a chunk stay in the first-level cache

  // Logits, padded to whole vectors with minus infinity, and their tokens.
  struct Listed {
    float* logits;
    int width;
    const std::vector<int32_t>& tokens;
  };

  static int padded(const Shortlist::Own& own) { return round_up(int(own.columns.size()), kLanes); }

  static void gather(const float* logits, const std::vector<int32_t>& columns, float* to) {
    const int count = int(columns.size());
    for (int i = 0; i < count; i++) {
      to[i] = logits[columns[i]];
    }
    std::fill(to + count, to + round_up(count, kLanes), -kInfinity);
  }

  float sum_of(const float* logits, int width, float top) const {
    return kernels_.sum_of_exponentials(logits, nullptr, width, top);
  }

  // The logarithm in double precision: rounded to float, it is the same with any C library.
  static float logarithm(float x) { return float(std::log(double(x))); }

  // Adds the logits of a chunk to the softmax of a row, and returns the largest one.
  float add_chunk(const float* logits, int width, int row, int chunk) {
    const float top = kernels_.largest(logits, width);
    maxima_[size_t(row) * stride_ + chunk] = top;
    sums_[size_t(row) * stride_ + chunk] = sum_of(logits, width, top);
    return top;
  }

  // Clips a log-probability that rounding has put above 0; this order of the comparison keeps NaN.
  static float at_most_certain(float log_probability) { return log_probability > 0.0f ? 0.0f : log_probability; }

  // Ranks the listed tokens of a row; returns the log-probability of the likeliest one, banned or not.
  float finish_within(int row, const Listed& common, const Listed& own, int vocabulary, const Ranking& ranking,
                      Candidate* best) const {
    const float top =
        std::max(kernels_.largest(common.logits, common.width), kernels_.largest(own.logits, own.width));
    const float sum = sum_of(common.logits, common.width, top) + sum_of(own.logits, own.width, top);
    const float normaliser = top + logarithm(sum);
    if (ranking.table) {
      float* table = ranking.table + size_t(row) * vocabulary;
      std::fill_n(table, vocabulary, -kInfinity);
      for (const Listed& part : {common, own}) {
        for (size_t i = 0; i < part.tokens.size(); i++) {
          table[part.tokens[i]] = at_most_certain(part.logits[i] - normaliser);
        }
      }
    }
    std::fill_n(best, ranking.count, Candidate{-kInfinity, 0});
    for (const Listed& part : {common, own}) {
      for (int i = 0; i < ranking.banned_count; i++) {
        const auto found = std::lower_bound(part.tokens.begin(), part.tokens.end(), ranking.banned[i]);
        if (found != part.tokens.end() && *found == ranking.banned[i]) {
          part.logits[found - part.tokens.begin()] = -kInfinity;
        }
      }
      keep_largest(part.logits, part.width, part.tokens.data(), 0, ranking.count, best);
    }
    for (int i = 0; i < ranking.count; i++) {
      ranking.log_probabilities[size_t(row) * ranking.count + i] = at_most_certain(best[i].logit - normaliser);
      ranking.tokens[size_t(row) * ranking.count + i] = best[i].token;
    }
    return top - normaliser;
  }

  // Merges the logits [width] of the tokens from `first` on, the largest of which is `top`, into the best ones so far.
  void keep_best(float* logits, int width, float top, int first, const Ranking& ranking, Candidate* best) const {
    if (!ranking.count || top < best[ranking.count - 1].logit) {
      return;
    }
    for (int i = 0; i < ranking.banned_count; i++) {
      const int64_t place = ranking.banned[i] - first;
      if (place >= 0 && place < width) {
        logits[place] = -kInfinity;
      }
    }
    keep_largest(logits, width, nullptr, first, ranking.count, best);
  }

  void keep_largest(const float* logits, int width, const int32_t* tokens, int first, int count,
                    Candidate* best) const {
    if (count) {
      kernels_.keep_largest(logits, width, tokens, first, count, best);
    }
  }

  static void insert(const Candidate& candidate, Candidate* best, Candidate* last) {
    Candidate* place = last;
    for (; place > best && before(candidate, place[-1]); place--) {
      *place = place[-1];
    }
    *place = candidate;
  }

  float log_of_sum(int row) const {
    const float* maxima = maxima_.data() + size_t(row) * stride_;
    const float* sums = sums_.data() + size_t(row) * stride_;
    const float top = kernels_.largest(maxima, stride_);
    return top + logarithm(kernels_.sum_of_exponentials(maxima, sums, stride_, top));
  }

  void finish_row(int row, int rows, int threads, int vocabulary, const Ranking& ranking) {
    const float normaliser = log_of_sum(row);
    if (ranking.count) {
      // Merge the other threads' best tokens into the first one's.
      Candidate* best = candidates_.data() + size_t(row) * ranking.count;
      for (int thread = 1; thread < threads; thread++) {
        const Candidate* others = candidates_.data() + (size_t(thread) * rows + row) * ranking.count;
        for (int i = 0; i < ranking.count && before(others[i], best[ranking.count - 1]); i++) {
          insert(others[i], best, best + ranking.count - 1);
        }
      }
      for (int i = 0; i < ranking.count; i++) {
        ranking.log_probabilities[size_t(row) * ranking.count + i] = at_most_certain(best[i].logit - normaliser);
        ranking.tokens[size_t(row) * ranking.count + i] = best[i].token;
      }
    }
    if (ranking.table) {
      float* table = ranking.table + size_t(row) * vocabulary;
      for (int token = 0; token < vocabulary; token++) {
        table[token] = at_most_certain(table[token] - normaliser);
      }
    }
  }

  const Kernels& kernels_;
  int stride_ = 0;
  Array<float> maxima_;
  Array<float> sums_;
  Array<float> logits_;
  Array<float> gathered_;
  Array<float> tops_;
  Array<int8_t> again_values_;
  Array<float> again_scales_;
  Array<int32_t> again_sums_;
  Array<Candidate> candidates_;
};

}  // namespace headwise
