// The peak of a level: how fast its dot products are on registers alone. Benchmarks compare translations with it.
#pragma once

#include "compiler.h"

namespace headwise {
namespace {

// `Dot` is two operands and their dot product, which `add_to` adds to sums: `kMultiplyAdds` multiplications each time.
// `kChains` sums take turns, enough of them to hide the latency of the instruction.
template <class Dot>
int64_t repeat_dot(int64_t times, int32_t seed, int32_t* sum) {
  const Dot dot(seed);
  Whole sums[Dot::kChains];
  HEADWISE_UNROLL
  for (int chain = 0; chain < Dot::kChains; chain++) {
    sums[chain] = all_whole(chain);
  }
  for (int64_t i = 0; i < times; i++) {
    HEADWISE_UNROLL
    for (int chain = 0; chain < Dot::kChains; chain++) {
      dot.add_to(sums[chain]);
    }
  }
  WholeLanes lanes;
  HEADWISE_UNROLL
  for (int part = 0; part < kLanes / kWidth; part++) {
    lanes.part[part] = sums[part];
  }
  HEADWISE_UNROLL
  for (int chain = kLanes / kWidth; chain < Dot::kChains; chain++) {
    lanes.part[0] = add(lanes.part[0], sums[chain]);
  }
  *sum = total(lanes);
  return times * Dot::kChains * Dot::kMultiplyAdds;
}

}  // namespace
}  // namespace headwise
