// Vectors of sixteen floats: aligned storage, and functions that the instruction set lacks.
#pragma once

#include <immintrin.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <new>

namespace headwise {

constexpr int kLanes = 16;
constexpr float kInfinity = std::numeric_limits<float>::infinity();

inline int round_up(int value, int unit) { return (value + unit - 1) / unit * unit; }

// Uninitialised memory on a cache-line boundary.
template <class T>
class Array {
 public:
  Array() = default;
  explicit Array(size_t size)
      : size_(size), data_(static_cast<T*>(::operator new(size * sizeof(T), std::align_val_t{64}))) {}

  // Makes the array at least this large; its content is lost.
  void make_room(size_t size) {
    if (size > size_) {
      *this = Array(size);
    }
  }

  T* data() const { return data_.get(); }
  T& operator[](size_t index) const { return data_.get()[index]; }

 private:
  struct Free {
    void operator()(T* data) const { ::operator delete(data, std::align_val_t{64}); }
  };
  size_t size_ = 0;
  std::unique_ptr<T, Free> data_;
};

// e^x to a relative error of about 1e-7: 2^n times a polynomial of the rest. NaN stays NaN.
inline __m512 exponential(__m512 x) {
  x = _mm512_max_ps(_mm512_set1_ps(-104.0f), x);  // the order keeps NaN
  x = _mm512_min_ps(_mm512_set1_ps(88.7f), x);
  const __m512 whole = _mm512_roundscale_ps(_mm512_mul_ps(x, _mm512_set1_ps(1.44269504f)), _MM_FROUND_TO_NEAREST_INT);
  __m512 rest = _mm512_fnmadd_ps(whole, _mm512_set1_ps(0.693359375f), x);  // ln 2 in two parts
  rest = _mm512_fnmadd_ps(whole, _mm512_set1_ps(-2.12194440e-4f), rest);
  __m512 sum = _mm512_set1_ps(1.0f / 720);
  sum = _mm512_fmadd_ps(sum, rest, _mm512_set1_ps(1.0f / 120));
  sum = _mm512_fmadd_ps(sum, rest, _mm512_set1_ps(1.0f / 24));
  sum = _mm512_fmadd_ps(sum, rest, _mm512_set1_ps(1.0f / 6));
  sum = _mm512_fmadd_ps(sum, rest, _mm512_set1_ps(0.5f));
  sum = _mm512_fmadd_ps(sum, rest, _mm512_set1_ps(1.0f));
  sum = _mm512_fmadd_ps(sum, rest, _mm512_set1_ps(1.0f));
  return _mm512_scalef_ps(sum, whole);
}

inline __m512 sigmoid(__m512 x) {
  const __m512 one = _mm512_set1_ps(1.0f);
  return _mm512_div_ps(one, _mm512_add_ps(one, exponential(_mm512_sub_ps(_mm512_setzero_ps(), x))));
}

// The error function to 1.5e-7 (Abramowitz and Stegun 7.1.26), far below the quantisation error that follows.
inline __m512 error_function(__m512 x) {
  const __m512 one = _mm512_set1_ps(1.0f);
  const __m512 size = _mm512_abs_ps(x);
  const __m512 t = _mm512_div_ps(one, _mm512_fmadd_ps(_mm512_set1_ps(0.3275911f), size, one));
  __m512 sum = _mm512_set1_ps(1.061405429f);
  sum = _mm512_fmadd_ps(sum, t, _mm512_set1_ps(-1.453152027f));
  sum = _mm512_fmadd_ps(sum, t, _mm512_set1_ps(1.421413741f));
  sum = _mm512_fmadd_ps(sum, t, _mm512_set1_ps(-0.284496736f));
  sum = _mm512_fmadd_ps(sum, t, _mm512_set1_ps(0.254829592f));
  const __m512 tail = exponential(_mm512_fnmadd_ps(size, size, _mm512_setzero_ps()));
  const __m512 positive = _mm512_fnmadd_ps(_mm512_mul_ps(sum, t), tail, one);
  const __m512 sign = _mm512_and_ps(x, _mm512_set1_ps(-0.0f));
  return _mm512_or_ps(positive, sign);
}

}  // namespace headwise
