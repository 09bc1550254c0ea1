// Greedy and beam search over an engine, without Python between tokens.
//
// The same rules as in search/beam.py: tests compare both, hypotheses and scores, to the last bit. Repeated n-grams and
// sampling are left to Python.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <stdexcept>
#include <utility>
#include <vector>

#include "engine.h"

namespace headwise {

// As Python passes it: library.py declares the same fields, and compares the size.
struct SearchSettings {
  int32_t sos;
  int32_t beam;
  int32_t nbest;
  int32_t kept;  // finished hypotheses of a sentence that decide when it is done
  int32_t min_length;
  int32_t unscored;  // leading tokens of a prefix that count neither in log-probability nor in length
  int32_t exact;  // if 0, stops once the best live hypothesis is no better than the finished ones
  double length_penalty;
};

// Thrown if a model leaves no possible next token: its log-probabilities are NaN or minus infinity.
struct NoNextToken : std::runtime_error {
  NoNextToken() : std::runtime_error("no possible next token") {}
};

// A result; its tokens are read from the last node back to the first.
struct Ended {
  int32_t node;
  int32_t length;  // including the end token
  float log_probability;
  double score;
  bool finished;  // by an end token, not by the length limit
};

class BeamSearch {
 public:
  BeamSearch(const SearchSettings& settings, std::vector<int64_t> ends, std::vector<int64_t> forbidden,
             std::vector<int64_t> limits, std::vector<std::vector<int64_t>> prefixes)
      : settings_(settings), ends_(std::move(ends)), forbidden_(std::move(forbidden)), prefixes_(std::move(prefixes)) {
    for (size_t sentence = 0; sentence < limits.size(); sentence++) {
      targets_.push_back({limits[sentence], {}});
      rows_.push_back({int(sentence), kRoot, 0.0f});
    }
    for (const std::vector<int64_t>& prefix : prefixes_) {
      longest_prefix_ = std::max(longest_prefix_, prefix.size());
    }
  }

  // Continues the search up to length `limit`, for which the table has positions; true once all sentences are done.
  bool run(Engine& engine, Caches& caches, const Positions& table, int limit) {
    const int width = engine.model().target.width;
    while (!rows_.empty() && length_ < limit) {
      Positions here = table;
      if (here.rows) {
        here.rows += size_t(length_) * width;
      }
      if (here.rotation.pairs) {
        here.rotation.cosine += size_t(length_) * here.rotation.pairs;
        here.rotation.sine += size_t(length_) * here.rotation.pairs;
      }
      find_likeliest(engine, caches, here);
      length_++;
      if (settings_.beam == 1) {
        take_likeliest(caches);
      } else {
        take_beam(caches);
      }
    }
    return rows_.empty();
  }

  int sentences() const { return int(targets_.size()); }
  // The n-best of a sentence, best first.
  std::vector<Ended> best(int sentence) const {
    const std::vector<Ended>& found = targets_[sentence].best;
    return {found.begin(), found.begin() + std::min(found.size(), size_t(settings_.nbest))};
  }

  // Writes the tokens of a result, [length].
  void write_tokens(const Ended& ended, int64_t* tokens) const {
    int32_t node = ended.node;
    for (int position = ended.length - 1; position >= 0; position--) {
      tokens[position] = nodes_[node].token;
      node = nodes_[node].parent;
    }
  }

 private:
  static constexpr int32_t kRoot = -1;

  // The last token of a hypothesis. Hypotheses with a common prefix share its nodes.
  struct Node {
    int32_t parent;
    int32_t token;
  };

  // A live hypothesis; those of a sentence are neighbours, likeliest first.
  struct Row {
    int sentence;
    int32_t node;
    float total;
  };

  struct Target {
    int64_t limit;
    std::vector<Ended> best;
  };

  struct Continuation {
    int row;
    int32_t token;
    float total;
  };

  bool ends(int64_t token) const { return std::find(ends_.begin(), ends_.end(), token) != ends_.end(); }

  // The ranking score, as in hypothesis.py.
  double score(double log_probability, int64_t length) const {
    const double counted = double(std::max<int64_t>(length - settings_.unscored, 1));
    return log_probability / std::pow(counted, settings_.length_penalty);
  }

  bool admits(const Target& target, double score, int count) const {
    return int(target.best.size()) < count || score > target.best[count - 1].score;
  }

  int32_t add_node(const Continuation& made) {
    nodes_.push_back({rows_[made.row].node, made.token});
    return int32_t(nodes_.size()) - 1;
  }

  Ended ended(const Continuation& made) {
    return {add_node(made), length_, made.total, score(made.total, length_), ends(made.token)};
  }

  // Finds the likeliest next tokens of each row, `count_` of them, within the constraints.
  void find_likeliest(Engine& engine, Caches& caches, const Positions& positions) {
    const int rows = int(rows_.size());
    const int vocabulary = engine.model().output->outputs();
    const int wanted = settings_.beam == 1 ? 1 : (1 + int(ends_.size())) * settings_.beam;
    count_ = std::min(wanted, vocabulary);
    tokens_.resize(rows);
    for (int row = 0; row < rows; row++) {
      tokens_[row] = rows_[row].node == kRoot ? settings_.sos : nodes_[rows_[row].node].token;
    }
    banned_ = forbidden_;
    if (length_ < settings_.min_length) {
      banned_.insert(banned_.end(), ends_.begin(), ends_.end());
    }
    values_.resize(size_t(rows) * count_);
    found_.resize(size_t(rows) * count_);
    const bool forcing = size_t(length_) < longest_prefix_;
    table_ = forcing ? Array<float>(size_t(rows) * vocabulary) : Array<float>();
    engine.step(caches, tokens_.data(), positions,
                {count_, banned_.data(), int(banned_.size()), values_.data(), found_.data(), table_.data()});
    for (int row = 0; forcing && row < rows; row++) {
      const std::vector<int64_t>& prefix = prefixes_[rows_[row].sentence];
      if (size_t(length_) < prefix.size()) {
        const int64_t token = prefix[length_];
        std::fill_n(values_.data() + size_t(row) * count_, count_, -kInfinity);
        values_[size_t(row) * count_] = length_ < settings_.unscored ? 0 : table_[size_t(row) * vocabulary + token];
        found_[size_t(row) * count_] = token;
      }
    }
  }

  void take_likeliest(Caches& caches) {
    std::vector<Row> next;
    std::vector<int64_t> kept;
    for (int row = 0; row < int(rows_.size()); row++) {
      const float value = values_[row];
      if (!(value > -kInfinity)) {  // minus infinity or NaN
        throw NoNextToken();
      }
      Target& target = targets_[rows_[row].sentence];
      const Continuation made{row, int32_t(found_[row]), rows_[row].total + value};
      if (ends(made.token) || length_ == target.limit) {
        target.best.push_back(ended(made));
      } else {
        next.push_back({rows_[row].sentence, add_node(made), made.total});
        kept.push_back(row);
      }
    }
    continue_with(caches, std::move(next), kept);
  }

  void take_beam(Caches& caches) {
    std::vector<Row> next;
    std::vector<int64_t> kept;
    for (int first = 0, last = 0; first < int(rows_.size()); first = last) {
      const int sentence = rows_[first].sentence;
      while (last < int(rows_.size()) && rows_[last].sentence == sentence) {
        last++;
      }
      rank(first, last);
      Target& target = targets_[sentence];
      take_ends(target);
      if (goes_on(target)) {
        for (const Continuation& made : living_) {
          next.push_back({sentence, add_node(made), made.total});
          kept.push_back(made.row);
        }
      }
    }
    continue_with(caches, std::move(next), kept);
  }

  // Sorts the likeliest continuations of a sentence's rows into those that end and those that live on. An end token
  // counts only at one of the first `beam` ranks, where it would have been followed.
  void rank(int first, int last) {
    ranked_.clear();
    for (int row = first; row < last; row++) {
      for (int i = 0; i < count_; i++) {
        const size_t at = size_t(row) * count_ + i;
        const float total = rows_[row].total + values_[at];
        if (total > -kInfinity) {
          ranked_.push_back({row, int32_t(found_[at]), total});
        }
      }
    }
    std::stable_sort(ranked_.begin(), ranked_.end(),
                     [](const Continuation& one, const Continuation& other) { return one.total > other.total; });
    ending_.clear();
    living_.clear();
    const int ranks = std::min(int(ranked_.size()), (1 + int(ends_.size())) * settings_.beam);
    for (int index = 0; index < ranks; index++) {
      if (ends(ranked_[index].token)) {
        if (index < settings_.beam) {
          ending_.push_back(ranked_[index]);
        }
      } else if (int(living_.size()) < settings_.beam) {
        living_.push_back(ranked_[index]);
      }
    }
  }

  // Finished hypotheses that are good enough become results; at the length limit live ones fill the gaps.
  void take_ends(Target& target) {
    const int gaps = settings_.nbest - int(target.best.size()) - int(ending_.size());
    std::vector<Ended> picked;
    for (const Continuation& made : ending_) {
      if (admits(target, score(made.total, length_), settings_.kept)) {
        picked.push_back(ended(made));
      }
    }
    if (length_ == target.limit) {
      for (int i = 0; i < std::min(gaps, int(living_.size())); i++) {
        picked.push_back(ended(living_[i]));
      }
    }
    for (const Ended& one : picked) {
      // Of equal scores the first found comes first; unfinished ones come after all finished ones.
      const auto behind = [&one](const Ended& other) {
        return one.finished != other.finished ? one.finished : one.score > other.score;
      };
      target.best.insert(std::find_if(target.best.begin(), target.best.end(), behind), one);
      if (int(target.best.size()) > settings_.kept) {
        target.best.pop_back();
      }
    }
  }

  // Whether a live hypothesis may still embed_token the n-best; search/beam.py has the proof.
  bool goes_on(const Target& target) const {
    if (living_.empty() && target.best.empty()) {
      throw NoNextToken();
    }
    if (living_.empty() || length_ == target.limit) {
      return false;
    }
    const float best = living_.front().total;
    const int64_t last = settings_.length_penalty >= 0 ? target.limit : length_ + 1;
    if (!admits(target, score(best, last), settings_.nbest)) {
      return false;
    }
    return settings_.exact || admits(target, score(best, length_), settings_.kept);
  }

  void continue_with(Caches& caches, std::vector<Row>&& next, const std::vector<int64_t>& kept) {
    const bool all = settings_.beam == 1 && next.size() == rows_.size();
    rows_ = std::move(next);
    if (!all) {
      caches.select(kept.data(), int(kept.size()));
    }
  }

  const SearchSettings settings_;
  const std::vector<int64_t> ends_;
  const std::vector<int64_t> forbidden_;
  const std::vector<std::vector<int64_t>> prefixes_;
  size_t longest_prefix_ = 0;
  int length_ = 0;  // tokens so far
  std::vector<Target> targets_;
  std::vector<Row> rows_;
  std::vector<Node> nodes_;
  // Buffers of the current step.
  int count_ = 0;
  std::vector<int64_t> tokens_;
  std::vector<int64_t> banned_;
  std::vector<float> values_;
  std::vector<int64_t> found_;
  Array<float> table_;
  std::vector<Continuation> ranked_;
  std::vector<Continuation> ending_;
  std::vector<Continuation> living_;
};

}  // namespace headwise
