// Repeats recorded calls of the native library on another CPU, and prints the results of its searches.
//
//   replay              the levels of the library, and whether they run here
//   replay FILE LEVEL   the calls in a file that recorded_calls.py wrote, at a level
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <string>
#include <vector>

extern "C" {
const char* headwise_level_name(int level);
int headwise_level_runs(int level);
int headwise_engine_new(int level, int threads, void** engine);
int headwise_add_matrix(void*, const void*, const void*, const void*, int, int, float, int*);
int headwise_add_norm(void*, const void*, const void*, int, float, int, int*);
int headwise_describe_side(void*, int, const void*);
int headwise_add_sublayer(void*, int, const void*);
int headwise_set_output(void*, int);
int headwise_search_new(void*, const void*, const void*, const void*, int, const void*, const void*, const void*, int,
                        void**);
int headwise_selection_new(void*, const void*, int, void**);
int headwise_search_restrict(void*, const void*, const void*, const void*, float);
int headwise_beam_new(void*, const void*, const void*, int, const void*, int, const void*, const void*, const void*,
                      void**);
int headwise_beam_run(void*, void*, const void*, const void*, const void*, int, int, int*);
int headwise_beam_sizes(const void*, int64_t*, int64_t*);
int headwise_beam_results(const void*, int64_t*, int64_t*, float*, double*, int64_t*);
}

namespace {

// An argument: a number, or the bytes of an array or struct; handles and null are empty.
struct Argument {
  double number = 0;
  std::vector<char> bytes;
  operator const void*() const { return bytes.empty() ? nullptr : bytes.data(); }
  int whole() const { return static_cast<int>(number); }
};

template <class T>
T read(std::ifstream& file) {
  T value{};
  file.read(reinterpret_cast<char*>(&value), sizeof value);
  return value;
}

Argument read_argument(std::ifstream& file) {
  Argument argument;
  argument.number = read<double>(file);
  argument.bytes.resize(static_cast<size_t>(read<int64_t>(file)));
  file.read(argument.bytes.data(), static_cast<std::streamsize>(argument.bytes.size()));
  return argument;
}

void print_results(const void* beam, int sentences) {
  std::vector<int64_t> counts(sentences);
  int64_t total = 0;
  headwise_beam_sizes(beam, counts.data(), &total);
  int64_t found = 0;
  for (int64_t count : counts) {
    found += count;
  }
  std::vector<int64_t> lengths(found), finished(found), tokens(total);
  std::vector<float> log_probabilities(found);
  std::vector<double> scores(found);
  headwise_beam_results(beam, lengths.data(), finished.data(), log_probabilities.data(), scores.data(), tokens.data());
  const int64_t* token = tokens.data();
  for (int64_t i = 0; i < found; i++) {
    std::printf("%a", log_probabilities[i]);
    for (int64_t k = 0; k < lengths[i]; k++) {
      std::printf(" %d", static_cast<int>(*token++));
    }
    std::printf("\n");
  }
}

}  // namespace

int main(int count, char** arguments) {
  int level = -1;
  for (int i = 0; headwise_level_name(i); i++) {
    if (count == 1) {
      std::printf("%s %d\n", headwise_level_name(i), headwise_level_runs(i));
    } else if (!std::strcmp(headwise_level_name(i), arguments[2])) {
      level = i;
    }
  }
  if (count == 1) {
    return 0;
  }
  std::ifstream file(arguments[1], std::ios::binary);
  void *engine = nullptr, *search = nullptr, *selection = nullptr, *beam = nullptr;
  int number = 0, sentences = 0;
  while (file.peek() != EOF) {
    std::string name(read<int32_t>(file), ' ');
    file.read(&name[0], static_cast<std::streamsize>(name.size()));
    std::vector<Argument> a(read<int32_t>(file));
    for (Argument& argument : a) {
      argument = read_argument(file);
    }
    int error = 0;
    if (name == "engine_new") {
      error = headwise_engine_new(level, a[1].whole(), &engine);
    } else if (name == "add_matrix") {
      error = headwise_add_matrix(engine, a[1], a[2], a[3], a[4].whole(), a[5].whole(), float(a[6].number), &number);
    } else if (name == "add_norm") {
      error = headwise_add_norm(engine, a[1], a[2], a[3].whole(), float(a[4].number), a[5].whole(), &number);
    } else if (name == "describe_side") {
      error = headwise_describe_side(engine, a[1].whole(), a[2]);
    } else if (name == "add_sublayer") {
      error = headwise_add_sublayer(engine, a[1].whole(), a[2]);
    } else if (name == "set_output") {
      error = headwise_set_output(engine, a[1].whole());
    } else if (name == "search_new") {
      sentences = a[4].whole();
      error = headwise_search_new(engine, a[1], a[2], a[3], sentences, a[5], a[6], a[7], a[8].whole(), &search);
    } else if (name == "selection_new") {
      error = headwise_selection_new(engine, a[1], a[2].whole(), &selection);
    } else if (name == "search_restrict") {
      error = headwise_search_restrict(search, selection, a[2], a[3], float(a[4].number));
    } else if (name == "beam_new") {
      error = headwise_beam_new(search, a[1], a[2], a[3].whole(), a[4], a[5].whole(), a[6], a[7], a[8], &beam);
    } else if (name == "beam_run") {
      error = headwise_beam_run(beam, search, a[2], a[3], a[4], a[5].whole(), a[6].whole(), &number);
    } else if (name == "beam_results") {
      print_results(beam, sentences);
    } else if (name != "beam_sizes") {
      error = -1;
    }
    if (error) {
      std::fprintf(stderr, "%s failed: %d\n", name.c_str(), error);
      return 1;
    }
  }
  return 0;
}
