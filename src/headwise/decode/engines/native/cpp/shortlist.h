// The tokens that the sentences of a search may say, where these are not all.
//
// What any sentence may say is packed once; what the sentences of a search may say beside it is packed for them all
// together. Each sentence then picks its own logits out of those that were made for all, in an order of its own: so what
// comes out for it does not depend on the others.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "product.h"
#include "threads.h"

namespace headwise {

// Some outputs of a matrix, packed like it.
struct Selection {
  Selection(Threads& threads, const Matrix& whole, std::vector<int32_t> chosen)
      : tokens(std::move(chosen)), matrix(int(tokens.size()), whole.inputs()) {
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
  // What a sentence may say beside what all may.
  struct Own {
    std::vector<int32_t> tokens;  // ascending
    std::vector<int32_t> places;  // of their logits, among those of all sentences
  };

  // `tokens` of all sentences one after the other, `counts` of each; of a sentence ascending, and none of `common`.
  Shortlist(Threads& threads, const Matrix& whole, std::shared_ptr<const Selection> common, const int64_t* tokens,
            const int64_t* counts, int sentences, float sure)
      : sure_(sure), common_(std::move(common)), sentences_(sentences), others_(threads, whole, any(whole, tokens, counts, sentences)) {
    std::vector<int32_t> place(whole.outputs());
    for (size_t i = 0; i < others_.tokens.size(); i++) {
      place[others_.tokens[i]] = int32_t(i);
    }
    for (int sentence = 0; sentence < sentences; tokens += counts[sentence++]) {
      Own& own = sentences_[sentence];
      own.tokens.assign(tokens, tokens + counts[sentence]);
      for (int32_t token : own.tokens) {
        own.places.push_back(place[token]);
      }
      longest_ = std::max(longest_, own.tokens.size());
    }
  }

  const Selection& common() const { return *common_; }
  const Selection& others() const { return others_; }
  const Own& own(int sentence) const { return sentences_[sentence]; }
  size_t longest() const { return longest_; }
  // The log-probability of the likeliest token from which on it is believed that none that is left out is likelier.
  float sure() const { return sure_; }

 private:
  // The tokens that any of the sentences has, ascending.
  static std::vector<int32_t> any(const Matrix& whole, const int64_t* tokens, const int64_t* counts, int sentences) {
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
