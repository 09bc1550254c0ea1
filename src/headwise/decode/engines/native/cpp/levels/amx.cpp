// AMX: products of many rows in tiles of 16 rows by 64 inputs; all else as at the level of AVX-512 VNNI, whose layout of
// weights is that of tiles, too.
#include "vector_avx512.h"

namespace headwise {
namespace {
constexpr Layout kLayout = {32, 4, 128, sizeof(int8_t)};
}
}  // namespace headwise

#include "finish.h"

namespace headwise {

const Kernels* avx512vnni_kernels();

namespace {

constexpr int kTileRows = 16;
constexpr int kTileInputs = 64;
constexpr int kSumTiles = 2;  // of rows at a time: with two of outputs, four tiles of sums
constexpr int kStep = kLayout.strip * kLayout.group;

// The form of each of the eight tiles, as the instruction wants it.
struct alignas(64) TileForms {
  uint8_t palette;
  uint8_t reserved[15];
  uint16_t bytes[16];
  uint8_t rows[16];
};
constexpr TileForms kForms = {1, {}, {64, 64, 64, 64, 64, 64, 64, 64}, {16, 16, 16, 16, 16, 16, 16, 16}};

// Tiles in use: while a thread has some, each switch to another one costs more.
class Tiles {
 public:
  Tiles() { _tile_loadconfig(&kForms); }
  ~Tiles() { _tile_release(); }
  Tiles(const Tiles&) = delete;
  Tiles& operator=(const Tiles&) = delete;
};

// The sums of 16 or 32 rows and one strip of outputs. A row of the weights' tile is a group of inputs of 16 outputs.
template <int Count>
HEADWISE_INLINE void accumulate(const int8_t* rows, size_t stride, const uint8_t* weights, int inputs,
                                Whole (*sums)[2]) {
  _tile_zero(0);
  _tile_zero(1);
  if constexpr (Count == 2) {
    _tile_zero(2);
    _tile_zero(3);
  }
  for (int k = 0; k < inputs; k += kTileInputs) {
    const uint8_t* at = weights + size_t(k) * kLayout.strip;
    _tile_loadd(4, rows + k, stride);
    _tile_loadd(6, at, kStep);
    _tile_dpbsud(0, 4, 6);
    _tile_loadd(7, at + 64, kStep);
    _tile_dpbsud(1, 4, 7);
    if constexpr (Count == 2) {
      _tile_loadd(5, rows + kTileRows * stride + k, stride);
      _tile_dpbsud(2, 5, 6);
      _tile_dpbsud(3, 5, 7);
    }
  }
  _tile_stored(0, &sums[0][0], sizeof *sums);
  _tile_stored(1, &sums[0][1], sizeof *sums);
  if constexpr (Count == 2) {
    _tile_stored(2, &sums[kTileRows][0], sizeof *sums);
    _tile_stored(3, &sums[kTileRows][1], sizeof *sums);
  }
}

// Rows from `first` on; those before `wanted` were written already.
template <int Count, Write write>
void multiply_tiles(const QuantisedRows& x, int first, int wanted, const Weights& weights, int strip, float* out,
                    size_t stride) {
  Whole sums[Count * kTileRows][2];
  const uint8_t* values = weights.values + size_t(strip) * kLayout.strip * weights.inputs;
  accumulate<Count>(x.values + size_t(first) * x.stride, x.stride, values, weights.inputs, sums);
  for (int r = wanted - first; r < Count * kTileRows; r++) {
    finish_row<write>(sums[r], x, first + r, weights, strip, out + size_t(first + r) * stride);
  }
}

template <Write write>
void multiply_as(const QuantisedRows& x, int rows, const Weights& weights, int begin, int end, float* out,
                 size_t stride) {
  constexpr int kRowBytes = 128 * 1024;  // as many rows at a time as stay in the second-level cache
  constexpr int kStrips = kPanel / kLayout.strip;
  constexpr int kMost = kSumTiles * kTileRows;
  const int fitting = kRowBytes / weights.inputs / kMost * kMost;
  const int block = fitting > kMost ? fitting : kMost;
  const Tiles tiles;
  for (int begun = 0; begun < rows; begun += block) {
    const int last = rows - begun < block ? rows : begun + block;
    for (int strip = begin * kStrips; strip < end * kStrips; strip++) {
      float* to = out + size_t(strip - begin * kStrips) * kLayout.strip;
      int first = begun;
      for (; first + kMost <= last; first += kMost) {
        multiply_tiles<2, write>(x, first, first, weights, strip, to, stride);
      }
      if (first + kTileRows <= last) {
        multiply_tiles<1, write>(x, first, first, weights, strip, to, stride);
        first += kTileRows;
      }
      if (first < last) {  // again the rows before them, to fill a tile
        multiply_tiles<1, write>(x, last - kTileRows, first, weights, strip, to, stride);
      }
    }
  }
}

void multiply_rows(const QuantisedRows& x, int rows, const Weights& weights, int begin, int end, float* out,
                   size_t stride, Write write) {
  if (rows < kTileRows || weights.inputs % kTileInputs) {
    avx512vnni_kernels()->multiply(x, rows, weights, begin, end, out, stride, write);
  } else if (write == Write::kAdd) {
    multiply_as<Write::kAdd>(x, rows, weights, begin, end, out, stride);
  } else {
    multiply_as<Write::kStore>(x, rows, weights, begin, end, out, stride);
  }
}

// See peak.h. Four tiles of sums take turns.
int64_t repeat_dot(int64_t times, int32_t seed, int32_t* sum) {
  const Tiles tiles;
  _tile_zero(0);
  _tile_zero(1);
  _tile_zero(2);
  _tile_zero(3);
  _tile_loadd(4, &kForms, 0);  // any numbers will do
  _tile_loadd(6, &kForms, 0);
  for (int64_t i = 0; i < times; i++) {
    _tile_dpbsud(0, 4, 6);
    _tile_dpbsud(1, 4, 6);
    _tile_dpbsud(2, 4, 6);
    _tile_dpbsud(3, 4, 6);
  }
  Whole sums[4][kTileRows];
  _tile_stored(0, sums[0], sizeof(Whole));
  _tile_stored(1, sums[1], sizeof(Whole));
  _tile_stored(2, sums[2], sizeof(Whole));
  _tile_stored(3, sums[3], sizeof(Whole));
  *sum = seed + total(WholeLanes{{add(add(sums[0][0], sums[1][0]), add(sums[2][0], sums[3][0]))}});
  return times * 4 * kTileRows * kTileRows * kTileInputs;
}

Kernels with_tiles(Kernels kernels) {
  kernels.multiply = multiply_rows;
  kernels.repeat_dot = repeat_dot;
  return kernels;
}

}  // namespace

const Kernels* amx_kernels() {
  static const Kernels kernels = with_tiles(*avx512vnni_kernels());
  return &kernels;
}

}  // namespace headwise
