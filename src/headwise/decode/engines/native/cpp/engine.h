// The encoder and one step of the decoder, over packed rows: there is no padding.
#pragma once

#include <algorithm>
#include <memory>
#include <mutex>
#include <vector>

#include "cache.h"
#include "kernels.h"
#include "matrix.h"
#include "model.h"
#include "shortlist.h"
#include "threads.h"
#include "vocabulary.h"

namespace headwise {

// A position table: rows to add to embeddings (or null), and rotary angles.
struct Positions {
  const float* rows;
  Rotation rotation;
};

// The tokens of all sentences without padding, one sentence after the other.
struct Sources {
  const int64_t* tokens;
  const int64_t* positions;  // of the tokens in their sentences
  const int64_t* lengths;    // of the sentences
  int sentences;
};

// Where to write the cross-attention weights [rows][heads][width] of one layer of the decoder.
struct Capture {
  float* weights;  // or null
  int width;       // at least as many as there are slots in the blocks of the longest source
  int layer;
};

class Engine {
 public:
  Engine(const Kernels& kernels, int threads)
      : kernels_(kernels), vocabulary_(kernels), threads_(std::make_unique<Threads>(threads)), scratch_(threads) {}

  ~Engine() {
    if (!threads_->belong_to_this_process()) {
      threads_.release();  // in a forked process there are no threads to join
    }
  }

  const Kernels& kernels() const { return kernels_; }
  Model& model() { return model_; }
  BlockStore& store() { return store_; }
  std::mutex& mutex() { return mutex_; }

  // Must be called before the first search, once the model is complete.
  void model_is_complete() { store_.set_size(std::max(model_.past_size, model_.memory_size)); }

  void start(Caches& caches, const Sources& sources, const Positions& positions) {
    restart_after_fork();
    for (int sentence = 0; sentence < sources.sentences; sentence++) {
      caches.add_sentence(int(sources.lengths[sentence]));
    }
    // A few sentences at a time, so that intermediate rows stay in the CPU's caches.
    std::vector<Sentence>& sentences = caches.sentences();
    const int64_t* tokens = sources.tokens;
    const int64_t* token_positions = sources.positions;
    for (size_t first = 0; first < sentences.size();) {
      size_t last = first;
      int rows = 0;
      do {
        rows += sentences[last++].length;
      } while (last < sentences.size() && rows + sentences[last].length <= kEncodedRows);
      encode(sentences.data() + first, int(last - first), rows, tokens, token_positions, positions);
      tokens += rows;
      token_positions += rows;
      first = last;
    }
  }

  // Decodes the next token of each row, all at the same position: extends the caches, and ranks the tokens that may
  // follow, if `ranking` has room for them.
  void step(Caches& caches, const int64_t* tokens, const Positions& positions, const Ranking& ranking,
            const Capture& capture = {}) {
    restart_after_fork();
    const int rows = caches.rows();
    caches.assign_slots();
    const std::vector<const Sentence*> living = caches.living();
    make_room(model_.target, rows);
    size_t blocks = 0;
    size_t hypotheses = 0;
    for (const Sentence* sentence : living) {
      blocks = std::max({blocks, sentence->past.size(), sentence->memory.size()});
      hypotheses = std::max(hypotheses, sentence->rows.size());
    }
    make_attention_room(model_.target, hypotheses, blocks, 0);

    expect_inputs(model_.target.width);
    threads_->for_ranges(rows, [&](int begin, int end, int) {
      for (int row = begin; row < end; row++) {
        embed_token(model_.target, row, int(tokens[row]), positions.rows);
      }
    });
    int layer = -1;  // counts the layers with cross-attention
    run(model_.target, rows, [&](const Sublayer& sublayer) {
      layer += sublayer.kind == Kind::kCrossAttention;
      const bool captured = capture.weights && layer == capture.layer;
      const int items = int(living.size()) * sublayer.key_heads;
      threads_->for_ranges(items, [&](int begin, int end, int thread) {
        for (int item = begin; item < end; item++) {
          const Sentence& sentence = *living[item / sublayer.key_heads];
          const int head = item % sublayer.key_heads;
          if (sublayer.kind == Kind::kSelfAttention) {
            attend_past(caches, sentence, sublayer, head, positions.rotation, thread);
          } else {
            attend_memory(sentence, sublayer, head, thread, captured ? capture : Capture{});
          }
        }
      });
    });
    if (!ranking.count && !ranking.table) {
      return;
    }
    if (!caches.shortlist) {
      vocabulary_.rank(*threads_, *model_.output, quantised_, rows, ranking);
      return;
    }
    const auto sentence_of = [&](int row) { return caches.hypothesis(row).sentence; };
    vocabulary_.rank_within(*threads_, *model_.output, *caches.shortlist, sentence_of, quantised_, rows, ranking);
  }

  // Packs tokens for `restrict`.
  std::shared_ptr<const Selection> select(const int64_t* tokens, int count) {
    restart_after_fork();
    return std::make_shared<Selection>(*threads_, selectable(), std::vector<int32_t>(tokens, tokens + count));
  }

  // Restricts the sentences of a search to the `common` tokens and their own (see shortlist.h).
  void restrict(Caches& caches, std::shared_ptr<const Selection> common, const int64_t* tokens, const int64_t* counts,
                float sure) {
    restart_after_fork();
    caches.shortlist = std::make_shared<Shortlist>(*threads_, selectable(), std::move(common), tokens, counts,
                                                   int(caches.sentences().size()), sure);
  }

 private:
  static constexpr int kEncodedRows = 512;

  // Buffers of a thread for attention.
  struct Scratch {
    Array<float> weights;
    Array<Cached> entries;  // keys and values of one head of a source
    std::vector<Cached*> blocks;
    std::vector<Query> queries;
  };

  void restart_after_fork() {
    if (!threads_->belong_to_this_process()) {
      const int count = threads_->count();
      threads_.release();
      threads_ = std::make_unique<Threads>(count);
    }
  }

  // The output matrix as shortlists need it; most models have none.
  const SelectableMatrix& selectable() {
    if (!selectable_) {
      selectable_ = std::make_unique<SelectableMatrix>(*threads_, *model_.output);
    }
    return *selectable_;
  }

  void make_room(const Side& side, int rows) {
    int projected = 0;
    int inputs = side.width;
    width_ = row_stride(side.width);
    context_width_ = side.width;
    for (const Sublayer& sublayer : side.sublayers) {
      projected = std::max(projected, sublayer.project->outputs());
      inputs = std::max({inputs, sublayer.hidden, sublayer.heads * sublayer.head_width});
      context_width_ = std::max(context_width_, sublayer.heads * sublayer.head_width);
    }
    for (const Sublayer& sublayer : model_.target.sublayers) {
      if (sublayer.memory) {
        projected = std::max(projected, sublayer.memory->outputs());
      }
    }
    states_.make_room(rows * width_);
    projected_.make_room(rows * row_stride(projected));
    context_.make_room(size_t(rows) * context_width_);
    quantised_values_.make_room(rows * quantised_stride(inputs));
    quantised_scales_.make_room(rows);
    quantised_sums_.make_room(rows);
    quantised_ = {quantised_values_.data(), 0, quantised_scales_.data(), quantised_sums_.data()};
  }

  // Sizes the buffers for rows per sentence and blocks of its cache; `tokens`: length of a source in self-attention.
  void make_attention_room(const Side& side, size_t rows, size_t blocks, size_t tokens) {
    size_t queries = 0;
    size_t entries = 0;
    for (const Sublayer& sublayer : side.sublayers) {
      if (sublayer.kind != Kind::kFeedForward) {
        queries = std::max(queries, rows * sublayer.group());
        entries = std::max(entries, head_size(sublayer.head_width));
      }
    }
    for (Scratch& scratch : scratch_) {
      scratch.weights.make_room(blocks * kSlots * kQueries);
      scratch.queries.resize(queries);
      if (tokens) {
        scratch.entries.make_room(blocks * entries);
        scratch.blocks.resize(blocks);
      }
    }
  }

  void multiply_rows(int rows, const Matrix& matrix, float* out, size_t stride, Write write) {
    threads_->for_ranges(matrix.panels(), [&](int begin, int end, int) {
      float* to = out + size_t(begin) * kPanel;
      kernels_.multiply(quantised_, rows, matrix.weights(), begin, end, to, stride, write);
    });
  }

  // Rows of inputs are packed, but not at a power of two (see `row_stride`).
  size_t quantised_stride(int inputs) const {
    return size_t(round_up(inputs * kernels_.layout.input_bytes, 64)) + 64;
  }
  void expect_inputs(int inputs) { quantised_.stride = quantised_stride(inputs); }

  // Embeds a token as a row of the states.
  void embed_token(const Side& side, int row, int token, const float* position) {
    float* x = states_.data() + row * width_;
    side.embedding->row(token, side.embedding_factor, x);
    std::fill(x + side.width, x + width_, 0.0f);
    if (position) {
      for (int k = 0; k < side.width; k++) {
        x[k] += position[k];
      }
    }
    normalise_and_quantise(side, row, side.embedding_norm, side.norm_before(0));
  }

  // Between two sublayers: the norm after one and the norm before the next, whose input is quantised.
  void normalise_and_quantise(const Side& side, int row, const Norm* after, const Norm* before) {
    float* x = states_.data() + row * width_;
    if (after) {
      kernels_.normalise(x, after->weights(), side.width, x);
    }
    if (before) {
      float* y = context_.data() + size_t(row) * context_width_;
      kernels_.normalise(x, before->weights(), side.width, y);
      x = y;
    }
    kernels_.quantise(x, side.width, quantised_, row);
  }

  // Computes all sublayers; `attend(sublayer)` computes the attention contexts from the projections.
  template <class Attend>
  void run(const Side& side, int rows, Attend&& attend) {
    for (size_t index = 0; index < side.sublayers.size(); index++) {
      const Sublayer& sublayer = side.sublayers[index];
      stride_ = row_stride(sublayer.project->outputs());
      multiply_rows(rows, *sublayer.project, projected_.data(), stride_, Write::kStore);
      expect_inputs(sublayer.output->inputs());
      if (sublayer.kind == Kind::kFeedForward) {
        threads_->for_ranges(rows, [&](int begin, int end, int) {
          for (int row = begin; row < end; row++) {
            float* inner = projected_.data() + size_t(row) * stride_;
            const float* gated = sublayer.gated ? inner + sublayer.hidden : nullptr;
            kernels_.activate(inner, sublayer.hidden, sublayer.activation, gated);
            kernels_.quantise(inner, sublayer.hidden, quantised_, row);
          }
        });
      } else {
        attend(sublayer);
        threads_->for_ranges(rows, [&](int begin, int end, int) {
          for (int row = begin; row < end; row++) {
            const float* context = context_.data() + size_t(row) * context_width_;
            kernels_.quantise(context, sublayer.heads * sublayer.head_width, quantised_, row);
          }
        });
      }
      multiply_rows(rows, *sublayer.output, states_.data(), width_, Write::kAdd);
      expect_inputs(side.width);
      threads_->for_ranges(rows, [&](int begin, int end, int) {
        for (int row = begin; row < end; row++) {
          normalise_and_quantise(side, row, sublayer.norm_after, side.norm_before(index + 1));
        }
      });
    }
  }

  void encode(Sentence* sentences, int count, int rows, const int64_t* tokens, const int64_t* token_positions,
              const Positions& positions) {
    const Side& side = model_.source;
    make_room(side, rows);
    std::vector<int> firsts(count, 0);  // the first row of each sentence
    int longest = 0;
    for (int sentence = 0, first = 0; sentence < count; first += sentences[sentence++].length) {
      firsts[sentence] = first;
      longest = std::max(longest, sentences[sentence].length);
    }
    make_attention_room(side, longest, round_up(longest, kSlots) / kSlots, longest);

    expect_inputs(side.width);
    threads_->for_ranges(rows, [&](int begin, int end, int) {
      for (int row = begin; row < end; row++) {
        const float* position = positions.rows ? positions.rows + size_t(token_positions[row]) * side.width : nullptr;
        embed_token(side, row, int(tokens[row]), position);
      }
    });
    run(side, rows, [&](const Sublayer& sublayer) {
      threads_->for_ranges(count * sublayer.key_heads, [&](int begin, int end, int thread) {
        for (int item = begin; item < end; item++) {
          const int sentence = item / sublayer.key_heads;
          const int first = firsts[sentence];
          attend_source(sentences[sentence], first, token_positions + first, sublayer, item % sublayer.key_heads,
                        positions.rotation, thread);
        }
      });
    });
    for (const Sublayer& sublayer : model_.target.sublayers) {
      if (sublayer.kind == Kind::kCrossAttention) {
        store_memory(sentences, count, rows, firsts, sublayer);
      }
    }
  }

  // Stores the keys and values of the encoded rows for one layer of the decoder.
  void store_memory(Sentence* sentences, int count, int rows, const std::vector<int>& firsts,
                    const Sublayer& sublayer) {
    const size_t stride = row_stride(sublayer.memory->outputs());
    const int width = sublayer.head_width;
    multiply_rows(rows, *sublayer.memory, projected_.data(), stride, Write::kStore);
    threads_->for_ranges(count * sublayer.key_heads, [&](int begin, int end, int) {
      for (int item = begin; item < end; item++) {
        const Sentence& sentence = sentences[item / sublayer.key_heads];
        const int head = item % sublayer.key_heads;
        for (int place = 0; place < sentence.length; place++) {
          const float* row = projected_.data() + (firsts[item / sublayer.key_heads] + place) * stride;
          const float* key = row + size_t(head) * width;
          const float* value = key + size_t(sublayer.key_heads) * width;
          Cached* block = sentence.memory[place / kSlots];
          kernels_.store_entry(block + head_offset(sublayer, head), width, place % kSlots, key, value);
        }
      }
    });
  }

  static size_t head_offset(const Sublayer& sublayer, int head) {
    return sublayer.offset + head_size(sublayer.head_width) * head;
  }

  // The projections of a row are the queries of all heads, then the keys, then the values.
  float* query_of(const Sublayer& sublayer, int row, int head) {
    return projected_.data() + row * stride_ + size_t(head) * sublayer.head_width;
  }
  float* key_of(const Sublayer& sublayer, int row, int key_head) {
    return query_of(sublayer, row, sublayer.heads + key_head);
  }
  const float* value_of(const Sublayer& sublayer, int row, int key_head) {
    return query_of(sublayer, row, sublayer.heads + sublayer.key_heads + key_head);
  }

  // Adds the queries of the heads that share a key head.
  Query* add_queries(const Sublayer& sublayer, int row, int key_head, const SlotMask* mask, Query* to) {
    for (int head = key_head * sublayer.group(); head < (key_head + 1) * sublayer.group(); head++) {
      float* context = context_.data() + size_t(row) * context_width_ + size_t(head) * sublayer.head_width;
      *to++ = {query_of(sublayer, row, head), mask, context, nullptr};
    }
    return to;
  }

  void rotate(const Sublayer& sublayer, int row, int key_head, const Rotation& rotation, int position) {
    if (!rotation.pairs) {
      return;
    }
    for (int head = key_head * sublayer.group(); head < (key_head + 1) * sublayer.group(); head++) {
      rotation.apply(query_of(sublayer, row, head), position);
    }
    rotation.apply(key_of(sublayer, row, key_head), position);
  }

  // Self-attention of a source.
  void attend_source(const Sentence& sentence, int first, const int64_t* positions, const Sublayer& sublayer, int head,
                     const Rotation& rotation, int thread) {
    Scratch& scratch = scratch_[thread];
    const int width = sublayer.head_width;
    const int blocks = int(sentence.memory.size());
    for (int block = 0; block < blocks; block++) {
      scratch.blocks[block] = scratch.entries.data() + head_size(width) * block;
    }
    Query* end = scratch.queries.data();
    for (int place = 0; place < sentence.length; place++) {
      const int row = first + place;
      rotate(sublayer, row, head, rotation, int(positions[place]));
      const float* value = value_of(sublayer, row, head);
      kernels_.store_entry(scratch.blocks[place / kSlots], width, place % kSlots, key_of(sublayer, row, head), value);
      end = add_queries(sublayer, row, head, sentence.memory_mask.data(), end);
    }
    const Past past{scratch.blocks.data(), blocks, 0, width};
    kernels_.attend(scratch.queries.data(), int(end - scratch.queries.data()), past, scratch.weights.data());
  }

  // Causal self-attention: the hypotheses of a sentence attend to their past and to their new entries.
  void attend_past(const Caches& caches, const Sentence& sentence, const Sublayer& sublayer, int head,
                   const Rotation& rotation, int thread) {
    Scratch& scratch = scratch_[thread];
    const size_t offset = head_offset(sublayer, head);
    Query* end = scratch.queries.data();
    for (int row : sentence.rows) {
      const Hypothesis& hypothesis = caches.hypothesis(row);
      rotate(sublayer, row, head, rotation, 0);
      Cached* block = sentence.past[hypothesis.slot / kSlots] + offset;
      const float* value = value_of(sublayer, row, head);
      kernels_.store_entry(block, sublayer.head_width, hypothesis.slot % kSlots, key_of(sublayer, row, head), value);
      end = add_queries(sublayer, row, head, hypothesis.stems.data(), end);
    }
    const Past past{sentence.past.data(), int(sentence.past.size()), offset, sublayer.head_width};
    kernels_.attend(scratch.queries.data(), int(end - scratch.queries.data()), past, scratch.weights.data());
  }

  // Cross-attention: the hypotheses of a sentence attend to its source.
  void attend_memory(const Sentence& sentence, const Sublayer& sublayer, int key_head, int thread,
                     const Capture& capture) {
    Scratch& scratch = scratch_[thread];
    Query* end = scratch.queries.data();
    for (int row : sentence.rows) {
      Query* first = end;
      end = add_queries(sublayer, row, key_head, sentence.memory_mask.data(), end);
      for (int i = 0; capture.weights && i < sublayer.group(); i++) {
        const size_t head = size_t(row) * sublayer.heads + key_head * sublayer.group() + i;
        first[i].weights = capture.weights + head * capture.width;
      }
    }
    const Past past{sentence.memory.data(), int(sentence.memory.size()), head_offset(sublayer, key_head),
                    sublayer.head_width};
    kernels_.attend(scratch.queries.data(), int(end - scratch.queries.data()), past, scratch.weights.data());
  }

  const Kernels& kernels_;
  Model model_;
  BlockStore store_;
  Vocabulary vocabulary_;
  std::unique_ptr<SelectableMatrix> selectable_;
  std::mutex mutex_;
  std::unique_ptr<Threads> threads_;
  std::vector<Scratch> scratch_;
  size_t width_ = 0;       // stride of the rows of the states
  size_t stride_ = 0;      // ... of the projections
  int context_width_ = 0;  // ... of the contexts
  Array<float> states_;
  Array<float> projected_;
  Array<float> context_;
  Array<int8_t> quantised_values_;
  Array<float> quantised_scales_;
  Array<int32_t> quantised_sums_;
  QuantisedRows quantised_{};
};

}  // namespace headwise
