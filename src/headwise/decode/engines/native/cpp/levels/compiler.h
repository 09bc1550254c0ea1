// What compilers spell differently: unrolling, inlining, prefetching, counting bits.
#pragma once

#if defined(__clang__)
#define HEADWISE_UNROLL _Pragma("unroll")
#elif defined(__GNUC__)
#define HEADWISE_UNROLL _Pragma("GCC unroll 16")
#else
#define HEADWISE_UNROLL
#endif

// Arrays of sums stay in registers only if they never cross the border of a function.
#if defined(__GNUC__)
#define HEADWISE_INLINE inline __attribute__((always_inline))
#elif defined(_MSC_VER)
#define HEADWISE_INLINE __forceinline
#else
#define HEADWISE_INLINE inline
#endif

// Loads a cache line ahead of its use, into all caches or (FAR) all but the first.
#if defined(__GNUC__)
#define HEADWISE_PREFETCH(address) __builtin_prefetch(address, 0, 3)
#define HEADWISE_PREFETCH_FAR(address) __builtin_prefetch(address, 0, 2)
#else
#define HEADWISE_PREFETCH(address) static_cast<void>(address)
#define HEADWISE_PREFETCH_FAR(address) static_cast<void>(address)
#endif

#if defined(_MSC_VER) && !defined(__clang__)
#include <intrin.h>
#endif

namespace headwise {
namespace {

// The index of the lowest bit that is set; at least one is.
inline int lowest_bit(unsigned bits) {
#if defined(_MSC_VER) && !defined(__clang__)
  unsigned long index;
  _BitScanForward(&index, bits);
  return int(index);
#else
  return __builtin_ctz(bits);
#endif
}

}  // namespace
}  // namespace headwise
