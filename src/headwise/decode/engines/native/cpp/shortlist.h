// A vocabulary shortlist: the tokens that each sentence of a search may use.
//
// The matrix rows of the tokens that all sentences may use are packed once; those of the other tokens are packed per
// search, for all its sentences together. Each sentence then gathers its own logits in its own order, so that its
// result does not depend on the other sentences.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "levels/compiler.h"
#include "matrix.h"
#include "threads.h"

namespace headwise {

// A matrix with a second copy of its weights, one output after the other. In the matrix each group of an output is in
// another cache line, so packing selected outputs from there takes as long as some steps.
class SelectableMatrix {
 public:
  SelectableMatrix(Threads& threads, const Matrix& matrix)
      : matrix_(matrix), rows_(size_t(matrix.outputs()) * matrix.inputs()) {
    threads.for_ranges(matrix.outputs(), [&](int begin, int end, int) {
      for (int output = begin; output < end; output++) {
        matrix.copy_output(output, row(output));
      }
    });
  }

  const Matrix& matrix() const { return matrix_; }
  uint8_t* row(int output) const { return rows_.data() + size_t(output) * matrix_.inputs(); }
  void prefetch(int output) const {
    for (int input = 0; input < matrix_.inputs(); input += 64) {
      HEADWISE_PREFETCH(row(output) + input);
    }
  }

 private:
  const Matrix& matrix_;
  Array<uint8_t> rows_;
};

// Some outputs of a matrix, packed like it.
struct Selection {
  Selection(Threads& threads, const SelectableMatrix& whole, std::vector<int32_t> chosen)
      : tokens(std::move(chosen)), matrix(whole.matrix().layout(), int(tokens.size()), whole.matrix().inputs()) {
    threads.for_ranges(int(tokens.size()), [&](int begin, int end, int) {
      for (int output = begin; output < end; output++) {
        whole.prefetch(tokens[std::min(output + kAhead, end - 1)]);
        matrix.take(output, whole.matrix(), tokens[output], whole.row(tokens[output]));
      }
    });
  }

  int panels() const { return matrix.panels(); }
  int width() const { return matrix.panels() * kPanel; }

  static constexpr int kAhead = 8;  // outputs that are prefetched: the selected ones lie anywhere in memory

  std::vector<int32_t> tokens;  // ascending
  Matrix matrix;
};

class Shortlist {
 public:
  // The tokens that a sentence may use besides the common ones.
  struct Own {
    std::vector<int32_t> tokens;  // ascending
    std::vector<int32_t> columns;  // indices of their logits among those of all sentences
  };

  // `tokens` of all sentences one after the other, `counts` per sentence; ascending in a sentence, none in `common`.
  Shortlist(Threads& threads, const SelectableMatrix& whole, std::shared_ptr<const Selection> common,
            const int64_t* tokens, const int64_t* counts, int sentences, float sure)
      : sure_(sure),
        common_(std::move(common)),
        sentences_(sentences),
        others_(threads, whole, union_of(whole.matrix(), tokens, counts, sentences)) {
    std::vector<int32_t> place(whole.matrix().outputs());
    for (size_t i = 0; i < others_.tokens.size(); i++) {
      place[others_.tokens[i]] = int32_t(i);
    }
    for (int sentence = 0; sentence < sentences; tokens += counts[sentence++]) {
      Own& own = sentences_[sentence];
      own.tokens.assign(tokens, tokens + counts[sentence]);
      for (int32_t token : own.tokens) {
        own.columns.push_back(place[token]);
      }
      longest_ = std::max(longest_, own.tokens.size());
    }
  }

  const Selection& common() const { return *common_; }
  const Selection& others() const { return others_; }
  const Own& own(int sentence) const { return sentences_[sentence]; }
  size_t longest() const { return longest_; }
  // The log-probability that the likeliest listed token must have; below it, all tokens are scored.
  float sure() const { return sure_; }

 private:
  // The union of the sentences' tokens, ascending.
  static std::vector<int32_t> union_of(const Matrix& whole, const int64_t* tokens, const int64_t* counts,
                                       int sentences) {
    std::vector<bool> listed(whole.outputs());
    for (int sentence = 0; sentence < sentences; tokens += counts[sentence++]) {
      for (int64_t i = 0; i < counts[sentence]; i++) {
        listed[tokens[i]] = true;
      }
    }
    std::vector<int32_t> found;
    for (size_t token = 0; token < listed.size(); token++) {
      if (listed[token]) {
        found.push_back(int32_t(token));
      }
    }
    return found;
  }

  float sure_;
  std::shared_ptr<const Selection> common_;
  std::vector<Own> sentences_;
  Selection others_;
  size_t longest_ = 0;
};

}  // namespace headwise
