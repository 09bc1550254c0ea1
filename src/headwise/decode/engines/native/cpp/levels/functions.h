// Functions of floats that instruction sets lack. Included after a vector header.
#pragma once

#include <limits>

namespace headwise {
namespace {

constexpr float kLowest = -std::numeric_limits<float>::infinity();

// e^x to a relative error of about 1e-7: 2^n times a polynomial of the rest. NaN stays NaN; below e^-87 the result does
// not get smaller, so that it is never subnormal: some CPUs are slow then.
inline Vector exponential(Vector x) {
  x = larger(all(-87.0f), x);  // the order keeps NaN
  x = smaller(all(88.7f), x);
  const Vector whole = rounded(multiply(x, all(1.44269504f)));
  Vector rest = fused_negative(whole, all(0.693359375f), x);  // ln 2 in two parts
  rest = fused_negative(whole, all(-2.12194440e-4f), rest);
  Vector sum = all(1.0f / 720);
  sum = fused(sum, rest, all(1.0f / 120));
  sum = fused(sum, rest, all(1.0f / 24));
  sum = fused(sum, rest, all(1.0f / 6));
  sum = fused(sum, rest, all(0.5f));
  sum = fused(sum, rest, all(1.0f));
  sum = fused(sum, rest, all(1.0f));
  return times_power_of_two(sum, whole);
}

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
  const Vector tail = exponential(fused_negative(size, size, all(0.0f)));
  return with_sign_of(fused_negative(multiply(sum, t), tail, one), x);
}

}  // namespace
}  // namespace headwise
