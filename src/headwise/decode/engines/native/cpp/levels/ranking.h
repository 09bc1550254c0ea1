// Softmax and the likeliest tokens, over rows of logits. Included after a vector header.
#pragma once

#include "functions.h"
#include "rows.h"

namespace headwise {
namespace {

float largest(const float* values, int width) {
  Lanes found = all_lanes(kLowest);
  for (int k = 0; k < width; k += kLanes) {
    HEADWISE_UNROLL
    for (int part = 0; part < kParts; part++) {
      found.part[part] = larger(found.part[part], load(values + k + part * kWidth));
    }
  }
  return greatest(found);
}

float sum_of_exponentials(const float* values, const float* factors, int width, float top) {
  Lanes sum = all_lanes(0.0f);
  for (int k = 0; k < width; k += kLanes) {
    HEADWISE_UNROLL
    for (int part = 0; part < kParts; part++) {
      const int at = k + part * kWidth;
      const Vector share = bounded_exponential(subtract(load(values + at), all(top)));
      sum.part[part] = factors ? fused(share, load(factors + at), sum.part[part]) : add(sum.part[part], share);
    }
  }
  return total(sum);
}

inline bool comes_before(const Candidate& one, const Candidate& other) {
  return one.logit > other.logit || (one.logit == other.logit && one.token < other.token);
}

void keep_largest(const float* logits, int width, const int32_t* tokens, int first, int count, Candidate* best) {
  Candidate* last = best + count - 1;
  for (int k = 0; k < width; k += kWidth) {
    unsigned hits = at_least(load(logits + k), all(last->logit));
    for (; hits; hits &= hits - 1) {
      const int place = k + lowest_bit(hits);
      if (!(logits[place] > kLowest)) {  // padding has no token
        continue;
      }
      const Candidate candidate{logits[place], tokens ? tokens[place] : first + place};
      if (comes_before(candidate, *last)) {
        Candidate* at = last;
        for (; at > best && comes_before(candidate, at[-1]); at--) {
          *at = at[-1];
        }
        *at = candidate;
      }
    }
  }
}

}  // namespace
}  // namespace headwise
