// The hyperbolic tangent, for one number and for lanes alike, without a call of the library:
//
//     tanh |x| = -m / (2 + m),   m = exp(-2 |x|) - 1 = 2^k (exp(r) - 1) + (2^k - 1),   -2 |x| = k log 2 + r,
//
// with |r| <= log(2) / 2, where the series up to r^13 has all digits. Where x is small k is zero, and nothing cancels;
// beyond 20 the result is 1 to the last digit.
#pragma once

#include <cstdint>

#include "base/lane.hpp"

namespace catena::CATENA_ISA {

// added to a number, rounds it to an integer that stands in the last bits of the sum
constexpr double rounder = 6755399441055744.0;

// two to the power of the integer in such a sum: it becomes the exponent
CATENA_INLINE double power_of_two(double sum) {
  std::uint64_t bits;
  __builtin_memcpy(&bits, &sum, sizeof bits);
  bits = (bits + 1023) << 52;
  __builtin_memcpy(&sum, &bits, sizeof bits);
  return sum;
}
CATENA_INLINE Lane power_of_two(Lane sum) { return Lane((Lane::Register)(((Lane::Mask)sum.v + 1023) << 52)); }

template <class T>
CATENA_INLINE T tangent(T x) {
  const auto below = x < T(0);
  T far = choose(below, -x, x);
  far = choose(far > T(20), T(20), far);
  const T y = T(-2) * far, sum = y * T(1.4426950408889634) + T(rounder), k = sum - T(rounder);
  // the first part of log 2 has so few bits that its product is exact
  const T r = (y - k * T(6.93147180369123816490e-01)) - k * T(1.90821492927058770002e-10), r2 = r * r;
  const T even = T(1.0 / 2) +
                 r2 * (T(1.0 / 24) +
                       r2 * (T(1.0 / 720) + r2 * (T(1.0 / 40320) + r2 * (T(1.0 / 3628800) + r2 * T(1.0 / 479001600)))));
  const T odd =
      T(1.0 / 6) +
      r2 * (T(1.0 / 120) +
            r2 * (T(1.0 / 5040) + r2 * (T(1.0 / 362880) + r2 * (T(1.0 / 39916800) + r2 * T(1.0 / 6227020800)))));
  const T scale = power_of_two(sum), m = scale * (r + r2 * (even + r * odd)) + (scale - T(1));
  const T t = -m / (T(2) + m);
  return choose(below, -t, t);
}

}  // namespace catena::CATENA_ISA
