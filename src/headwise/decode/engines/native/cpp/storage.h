// Aligned storage.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <new>

#include "kernels.h"

namespace headwise {

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

}  // namespace headwise
