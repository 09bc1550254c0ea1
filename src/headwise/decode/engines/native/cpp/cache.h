// The key/value cache: blocks of sixteen entries that the hypotheses of a beam share.
//
// A block holds its entries for all layers. The keys of a head are transposed, [head width][16], so that one run of
// multiply-adds gives sixteen scores; its values are [16][head width].
// A cache grows by blocks, and entries never move. All hypotheses of a sentence share its blocks. Each step assigns
// every hypothesis a slot for its new entry, and a bit mask marks the slots that belong to the past of a hypothesis:
// reordering a beam copies masks only. A slot that no live hypothesis has in its past is free for the next entry.
#pragma once

#include <cstdint>
#include <memory>
#include <new>
#include <vector>

#include "kernels.h"
#include "levels/compiler.h"
#include "storage.h"

namespace headwise {

inline SlotMask first_slots(int count) { return count >= kSlots ? SlotMask(-1) : SlotMask((1u << count) - 1); }

// One head of one layer in a block: keys, then values.
inline size_t head_size(int head_width) { return size_t(2) * kSlots * head_width; }

// Allocates blocks, and keeps freed ones for the next search, up to a limit.
class BlockStore {
 public:
  ~BlockStore() {
    for (Cached* block : free_) {
      release(block);
    }
  }

  void set_size(size_t size) { size_ = size; }

  Cached* take() {
    if (free_.empty()) {
      return static_cast<Cached*>(::operator new(size_ * sizeof(Cached), std::align_val_t{64}));
    }
    Cached* block = free_.back();
    free_.pop_back();
    return block;
  }

  void give_back(std::vector<Cached*>& blocks) {
    for (Cached* block : blocks) {
      if ((free_.size() + 1) * size_ * sizeof(Cached) <= kKeptBytes) {
        free_.push_back(block);
      } else {
        release(block);
      }
    }
    blocks.clear();
  }

 private:
  static constexpr size_t kKeptBytes = size_t(64) << 20;

  static void release(Cached* block) { ::operator delete(block, std::align_val_t{64}); }

  size_t size_ = 0;
  std::vector<Cached*> free_;
};

struct Hypothesis {
  int sentence;
  int slot = -1;                // the slot of the entry that this step adds
  std::vector<SlotMask> stems;  // the slots of its past: one mask per block of its sentence
};

struct Sentence {
  int length;                  // of the source
  std::vector<Cached*> memory;  // blocks of the source
  std::vector<SlotMask> memory_mask;
  std::vector<Cached*> past;  // blocks of the target
  std::vector<int> rows;     // its hypotheses
};

class Shortlist;

// The caches of a running search.
class Caches {
 public:
  explicit Caches(BlockStore& store) : store_(store) {}
  Caches(const Caches&) = delete;
  Caches& operator=(const Caches&) = delete;

  ~Caches() {
    for (Sentence& sentence : sentences_) {
      release_blocks(sentence);
    }
  }

  // Adds a sentence with a source of `length` tokens and one hypothesis.
  void add_sentence(int length) {
    Sentence& sentence = sentences_.emplace_back();
    sentence.length = length;
    sentence.rows.push_back(rows());
    for (int first = 0; first < length; first += kSlots) {
      sentence.memory.push_back(store_.take());
      sentence.memory_mask.push_back(first_slots(length - first));
    }
    Hypothesis& hypothesis = hypotheses_.emplace_back();
    hypothesis.sentence = int(sentences_.size()) - 1;
  }

  // Selects the hypotheses that the next rows continue; sentences without any are removed.
  void select(const int64_t* rows, int count) {
    std::vector<Hypothesis> chosen;
    chosen.reserve(count);
    for (int row = 0; row < count; row++) {
      chosen.push_back(hypotheses_[rows[row]]);
    }
    hypotheses_ = std::move(chosen);
    group();
    for (Sentence& sentence : sentences_) {
      if (sentence.rows.empty()) {
        release_blocks(sentence);
      }
    }
  }

  // Assigns each hypothesis a slot for its new entry.
  void assign_slots() {
    std::vector<SlotMask> taken;
    for (Sentence& sentence : sentences_) {
      taken.assign(sentence.past.size(), 0);
      for (int row : sentence.rows) {
        Hypothesis& hypothesis = hypotheses_[row];
        hypothesis.stems.resize(sentence.past.size(), 0);
        for (size_t block = 0; block < taken.size(); block++) {
          taken[block] |= hypothesis.stems[block];
        }
      }
      size_t block = 0;
      for (int row : sentence.rows) {
        while (block < taken.size() && taken[block] == SlotMask(-1)) {
          block++;
        }
        if (block == taken.size()) {
          sentence.past.push_back(store_.take());
          taken.push_back(0);
        }
        const int slot = lowest_bit(~unsigned(taken[block]));
        taken[block] |= SlotMask(1u << slot);
        hypotheses_[row].slot = int(block) * kSlots + slot;
      }
      for (int row : sentence.rows) {
        Hypothesis& hypothesis = hypotheses_[row];
        hypothesis.stems.resize(sentence.past.size(), 0);
        hypothesis.stems[hypothesis.slot / kSlots] |= SlotMask(1u << hypothesis.slot % kSlots);
      }
    }
  }

  int rows() const { return int(hypotheses_.size()); }
  std::vector<Sentence>& sentences() { return sentences_; }
  const Hypothesis& hypothesis(int row) const { return hypotheses_[row]; }

  // The sentences that are still being searched.
  std::vector<const Sentence*> living() const {
    std::vector<const Sentence*> found;
    for (const Sentence& sentence : sentences_) {
      if (!sentence.rows.empty()) {
        found.push_back(&sentence);
      }
    }
    return found;
  }

  std::shared_ptr<const Shortlist> shortlist;  // null: the whole vocabulary

 private:
  void group() {
    for (Sentence& sentence : sentences_) {
      sentence.rows.clear();
    }
    for (int row = 0; row < rows(); row++) {
      sentences_[hypotheses_[row].sentence].rows.push_back(row);
    }
  }

  void release_blocks(Sentence& sentence) {
    store_.give_back(sentence.memory);
    store_.give_back(sentence.past);
  }

  BlockStore& store_;
  std::vector<Sentence> sentences_;
  std::vector<Hypothesis> hypotheses_;
};

}  // namespace headwise
