// The C interface that library.py calls. Functions that can fail return an error code; none throws.
#include <memory>
#include <mutex>
#include <new>

#include "engine.h"
#include "levels.h"
#include "search.h"

namespace {

using namespace headwise;

enum Error : int { kNone = 0, kNoMemory = 1, kBadToken = 2, kBadRow = 3, kNoNextToken = 4, kNoLevel = 5, kOther = 6 };

// A search keeps its engine alive.
struct Search {
  std::shared_ptr<Engine> engine;
  Caches caches;
};

using EngineHandle = std::shared_ptr<Engine>;
using SelectionHandle = std::shared_ptr<const Selection>;

template <class Body>
int guarded(Body&& body) {
  try {
    return body();
  } catch (const std::bad_alloc&) {
    return kNoMemory;
  } catch (const NoNextToken&) {
    return kNoNextToken;
  } catch (...) {
    return kOther;
  }
}

bool all_below(const int64_t* numbers, int64_t count, int64_t limit) {
  for (int64_t i = 0; i < count; i++) {
    if (numbers[i] < 0 || numbers[i] >= limit) {
      return false;
    }
  }
  return true;
}

Side& side_of(Engine& engine, int is_target) {
  return is_target ? engine.model().target : engine.model().source;
}

}  // namespace

#if defined(_WIN32)
#define HEADWISE_PUBLIC extern "C" __declspec(dllexport)
#else
#define HEADWISE_PUBLIC extern "C" __attribute__((visibility("default")))
#endif

// The digest of the sources that this library was compiled from, as compile.py computes it.
HEADWISE_PUBLIC
const char* headwise_sources() { return HEADWISE_SOURCES; }

// The sizes of the structs that Python declares too (library.py), which compares them when it loads the library.
HEADWISE_PUBLIC
void headwise_struct_sizes(int* sizes) {
  sizes[0] = sizeof(SublayerDescription);
  sizes[1] = sizeof(SideDescription);
  sizes[2] = sizeof(SearchSettings);
}

// Levels by number, best first: their names, null after the last one, and whether they can run here.
HEADWISE_PUBLIC
const char* headwise_level_name(int level) {
  return level >= 0 && level < kLevelCount ? kLevels[level].name : nullptr;
}

HEADWISE_PUBLIC
int headwise_level_runs(int level) { return kernels_of(level) != nullptr; }

// Multiplies int8 numbers in registers with the instructions of a level, for benchmarks: `count` receives how many
// multiplications `times` repetitions were, `sum` a number that depends on them.
HEADWISE_PUBLIC
int headwise_peak(int level, int64_t times, int64_t* count, int32_t* sum) {
  return guarded([&]() -> int {
    const Kernels* kernels = kernels_of(level);
    if (!kernels) {
      return kNoLevel;
    }
    *count = kernels->repeat_dot(times, int32_t(times), sum);
    return kNone;
  });
}

HEADWISE_PUBLIC
int headwise_engine_new(int level, int threads, EngineHandle** engine) {
  return guarded([&]() -> int {
    const Kernels* kernels = kernels_of(level);
    if (!kernels) {
      return kNoLevel;
    }
    *engine = new EngineHandle(std::make_shared<Engine>(*kernels, threads));
    return kNone;
  });
}

HEADWISE_PUBLIC
void headwise_engine_free(EngineHandle* engine) { delete engine; }

// Weights are copied.
HEADWISE_PUBLIC
int headwise_add_matrix(EngineHandle* engine, const int8_t* weight, const float* scales, const float* bias, int outputs,
                        int inputs, float filler, int* number) {
  return guarded([&] {
    auto& matrices = (*engine)->model().matrices;
    const Layout& layout = (*engine)->kernels().layout;
    matrices.push_back(std::make_unique<Matrix>(layout, weight, scales, bias, outputs, inputs, filler));
    *number = int(matrices.size()) - 1;
    return kNone;
  });
}

HEADWISE_PUBLIC
int headwise_add_norm(EngineHandle* engine, const float* weight, const float* bias, int width, float epsilon,
                      int centred, int* number) {
  return guarded([&] {
    auto& norms = (*engine)->model().norms;
    auto norm = std::make_unique<Norm>();
    norm->weight.assign(weight, weight + width);
    norm->bias.assign(bias, bias + width);
    norm->epsilon = epsilon;
    norm->centred = centred != 0;
    norms.push_back(std::move(norm));
    *number = int(norms.size()) - 1;
    return kNone;
  });
}

HEADWISE_PUBLIC
int headwise_describe_side(EngineHandle* engine, int is_target, const SideDescription* side) {
  return guarded([&] {
    (*engine)->model().describe_side(side_of(**engine, is_target), *side);
    return kNone;
  });
}

HEADWISE_PUBLIC
int headwise_add_sublayer(EngineHandle* engine, int is_target, const SublayerDescription* sublayer) {
  return guarded([&] {
    (*engine)->model().add_sublayer(side_of(**engine, is_target), *sublayer);
    return kNone;
  });
}

HEADWISE_PUBLIC
int headwise_set_output(EngineHandle* engine, int matrix) {
  return guarded([&] {
    (*engine)->model().output = (*engine)->model().matrix(matrix);
    (*engine)->model_is_complete();
    return kNone;
  });
}

// The tokens of all sentences one after the other, their positions, and the sentences' lengths.
HEADWISE_PUBLIC
int headwise_search_new(EngineHandle* engine, const int64_t* tokens, const int64_t* positions, const int64_t* lengths,
                        int sentences, const float* position_rows, const float* cosine, const float* sine, int pairs,
                        Search** search) {
  return guarded([&]() -> int {
    std::lock_guard<std::mutex> guard((*engine)->mutex());
    int64_t count = 0;
    for (int sentence = 0; sentence < sentences; sentence++) {
      count += lengths[sentence];
    }
    if (!all_below(tokens, count, (*engine)->model().source.embedding->outputs())) {
      return kBadToken;
    }
    std::unique_ptr<Search> made(new Search{*engine, Caches((*engine)->store())});
    const Sources sources{tokens, positions, lengths, sentences};
    (*engine)->start(made->caches, sources, Positions{position_rows, Rotation{cosine, sine, pairs}});
    *search = made.release();
    return kNone;
  });
}

HEADWISE_PUBLIC
void headwise_search_free(Search* search) {
  // The blocks of the caches are returned while the engine is alive, and nobody else uses it.
  std::shared_ptr<Engine> engine = search->engine;
  std::lock_guard<std::mutex> guard(engine->mutex());
  delete search;
}

// Tokens that all sentences may use, ascending; for `headwise_search_restrict`.
HEADWISE_PUBLIC
int headwise_selection_new(EngineHandle* engine, const int64_t* tokens, int count, SelectionHandle** selection) {
  return guarded([&]() -> int {
    std::lock_guard<std::mutex> guard((*engine)->mutex());
    if (!all_below(tokens, count, (*engine)->model().output->outputs())) {
      return kBadToken;
    }
    *selection = new SelectionHandle((*engine)->select(tokens, count));
    return kNone;
  });
}

HEADWISE_PUBLIC
void headwise_selection_free(SelectionHandle* selection) { delete selection; }

// Before the first step: the tokens that each sentence may use besides the common ones, ascending, one sentence after
// the other, and their counts. At a step where none has at least the log-probability `sure`, all tokens are allowed.
HEADWISE_PUBLIC
int headwise_search_restrict(Search* search, const SelectionHandle* common, const int64_t* tokens,
                             const int64_t* counts, float sure) {
  return guarded([&]() -> int {
    std::lock_guard<std::mutex> guard(search->engine->mutex());
    int64_t total = 0;
    for (size_t sentence = 0; sentence < search->caches.sentences().size(); sentence++) {
      total += counts[sentence];
    }
    if (!all_below(tokens, total, search->engine->model().output->outputs())) {
      return kBadToken;
    }
    search->engine->restrict(search->caches, *common, tokens, counts, sure);
    return kNone;
  });
}

HEADWISE_PUBLIC
int headwise_search_select(Search* search, const int64_t* rows, int count) {
  return guarded([&]() -> int {
    std::lock_guard<std::mutex> guard(search->engine->mutex());
    if (!all_below(rows, count, search->caches.rows())) {
      return kBadRow;
    }
    search->caches.select(rows, count);
    return kNone;
  });
}

// Decodes one token per row. Writes all log-probabilities to `table`, and the cross-attention of one layer to
// `attention`; either may be null.
HEADWISE_PUBLIC
int headwise_search_step(Search* search, const int64_t* tokens, int rows, const float* position_row,
                         const float* cosine, const float* sine, int pairs, float* table, float* attention,
                         int attention_width, int layer) {
  return guarded([&]() -> int {
    std::lock_guard<std::mutex> guard(search->engine->mutex());
    if (rows != search->caches.rows()) {
      return kBadRow;
    }
    if (!all_below(tokens, rows, search->engine->model().target.embedding->outputs())) {
      return kBadToken;
    }
    const Ranking ranking{0, nullptr, 0, nullptr, nullptr, table};
    const Capture capture{attention, attention_width, layer};
    for (const Sentence* sentence : search->caches.living()) {
      if (attention && attention_width < int(sentence->memory.size()) * kSlots) {
        return kBadRow;
      }
    }
    search->engine->step(search->caches, tokens, Positions{position_row, Rotation{cosine, sine, pairs}}, ranking,
                         capture);
    return kNone;
  });
}

// A whole search, from a `Search` before its first step. `prefixes`: of all sentences one after the other.
HEADWISE_PUBLIC
int headwise_beam_new(Search* search, const SearchSettings* settings, const int64_t* ends, int ends_count,
                      const int64_t* forbidden, int forbidden_count, const int64_t* limits, const int64_t* prefixes,
                      const int64_t* prefix_lengths, BeamSearch** beam) {
  return guarded([&]() -> int {
    const int64_t vocabulary = search->engine->model().output->outputs();
    const int sentences = search->caches.rows();
    std::vector<std::vector<int64_t>> given;
    for (int sentence = 0; sentence < sentences; prefixes += prefix_lengths[sentence++]) {
      given.emplace_back(prefixes, prefixes + prefix_lengths[sentence]);
      if (!all_below(prefixes, prefix_lengths[sentence], vocabulary)) {
        return kBadToken;
      }
    }
    const int64_t start = settings->sos;
    if (!all_below(&start, 1, search->engine->model().target.embedding->outputs())) {
      return kBadToken;
    }
    *beam = new BeamSearch(*settings, {ends, ends + ends_count}, {forbidden, forbidden + forbidden_count},
                           {limits, limits + sentences}, std::move(given));
    return kNone;
  });
}

HEADWISE_PUBLIC
void headwise_beam_free(BeamSearch* beam) { delete beam; }

// Continues the search up to length `limit`, for which the table has positions; `done`: all sentences are finished.
HEADWISE_PUBLIC
int headwise_beam_run(BeamSearch* beam, Search* search, const float* position_rows, const float* cosine,
                      const float* sine, int pairs, int limit, int* done) {
  return guarded([&]() -> int {
    std::lock_guard<std::mutex> guard(search->engine->mutex());
    const Positions table{position_rows, Rotation{cosine, sine, pairs}};
    *done = beam->run(*search->engine, search->caches, table, limit);
    return kNone;
  });
}

// The number of results of each sentence, and the number of tokens of all of them.
HEADWISE_PUBLIC
int headwise_beam_sizes(const BeamSearch* beam, int64_t* counts, int64_t* tokens) {
  return guarded([&] {
    *tokens = 0;
    for (int sentence = 0; sentence < beam->sentences(); sentence++) {
      const std::vector<Ended> found = beam->best(sentence);
      counts[sentence] = int64_t(found.size());
      for (const Ended& one : found) {
        *tokens += one.length;
      }
    }
    return kNone;
  });
}

// All results, sentence by sentence and best first: one number per result, and their tokens one after the other.
HEADWISE_PUBLIC
int headwise_beam_results(const BeamSearch* beam, int64_t* lengths, int64_t* finished, float* log_probabilities,
                          double* scores, int64_t* tokens) {
  return guarded([&] {
    for (int sentence = 0; sentence < beam->sentences(); sentence++) {
      for (const Ended& one : beam->best(sentence)) {
        *lengths++ = one.length;
        *finished++ = one.finished;
        *log_probabilities++ = one.log_probability;
        *scores++ = one.score;
        beam->write_tokens(one, tokens);
        tokens += one.length;
      }
    }
    return kNone;
  });
}
