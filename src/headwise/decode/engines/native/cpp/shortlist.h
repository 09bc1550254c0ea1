// A vocabulary shortlist: the tokens that each sentence of a search may use.
//
// The matrix rows of the tokens that all sentences may use are packed once; those of the other tokens are packed per
// search, for all its sentences together. Each sentence then gathers its own logits in its own order, so that its
// result does not depend on the other sentences.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "matrix.h"
#include "threads.h"

namespace headwise {

// Some outputs of a matrix, packed like it.
struct Selection {
  Selection(Threads& threads, const Matrix& whole, std::vector<int32_t> chosen)
      : tokens(std::move(chosen)), matrix(whole.layout(), int(tokens.size()), whole.inputs()) {
    threads.for_ranges(int(tokens.size()), [&](int begin, int end, int) {
      for (int output = begin; output < end; output++) {
        matrix.take(output, whole, tokens[output]);
      }
    });
  }

  int panels() const { return matrix.panels(); }
  int width() const { return matrix.panels() * kPanel; }

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
  Shortlist(Threads& threads, const Matrix& whole, std::shared_ptr<const Selection> common, const int64_t* tokens,
            const int64_t* counts, int sentences, float sure)
      : sure_(sure),
        common_(std::move(common)),
        sentences_(sentences),
        others_(threads, whole, union_of(whole, tokens, counts, sentences)) {
    std::vector<int32_t> place(whole.outputs());
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
