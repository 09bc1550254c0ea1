// Functions of floats that instruction sets lack. Included after a vector header.
#pragma once

#include <limits>

namespace headwise {
namespace {

constexpr float kLowest = -std::numeric_limits<float>::infinity();

// e^x for x of at most 88, as 2^n times a polynomial of the rest, whose relative error is 1e-7. NaN stays NaN; below
// e^-86 the result does not get smaller, so that it is never subnormal: some CPUs are slow then.
inline Vector bounded_exponential(Vector x) {
  const Vector power = larger(all(-125.0f), multiply(x, all(1.44269504f)));  // of two; the order keeps NaN
  const Vector whole = rounded(power);
  const Vector rest = subtract(power, whole);
  Vector sum = all(0.0013264727f);
  sum = fused(sum, rest, all(0.009671513f));
  sum = fused(sum, rest, all(0.055507336f));
  sum = fused(sum, rest, all(0.24022242f));
  sum = fused(sum, rest, all(0.693147f));
  sum = fused(sum, rest, all(1.0f));
  return times_power_of_two(sum, whole);
}

inline Vector exponential(Vector x) { return bounded_exponential(smaller(all(88.0f), x)); }  // the order keeps NaN

inline Vector sigmoid(Vector x) {
  const Vector one = all(1.0f);
  return divide(one, add(one, exponential(subtract(all(0.0f), x))));
}

// The error function to 1.5e-7 (Abramowitz and Stegun 7.1.26), far below the quantisation error that follows.
inline Vector error_function(Vector x) {
  const Vector one = all(1.0f);
  const Vector size = absolute(x);
  const Vector t = divide(one, fused(all(0.3275911f), size, one));
  Vector sum = all(1.061405429f);
  sum = fused(sum, t, all(-1.453152027f));
  sum = fused(sum, t, all(1.421413741f));
  sum = fused(sum, t, all(-0.284496736f));
  sum = fused(sum, t, all(0.254829592f));
  const Vector tail = bounded_exponential(fused_negative(size, size, all(0.0f)));
  return with_sign_of(fused_negative(multiply(sum, t), tail, one), x);
}

}  // namespace
}  // namespace headwise
