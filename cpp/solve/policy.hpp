// What Newton's method decides by, for one mechanism and for lanes (solve/newton.hpp, lane_newton.hpp).
#pragma once

#include "base/lane.hpp"
#include "model/layout.hpp"

namespace catena::CATENA_ISA {

// Steps in a row that may be accepted by their first increment alone.
constexpr int most_unchecked = 16;
constexpr double unknown = 1e300;  // of a number that has not been seen yet

// closed by more than rows of laws
inline bool has_loops(const Layout& layout) {
  return layout.loop_count + layout.inactive_count > layout.law_loop_count;
}

// Rounding of poses of so many metres (m), as amplified by what is solved.
constexpr double plain_amplification = 256;
template <class T>
CATENA_INLINE T rounding_of(T extent, T amplification) {
  return amplification * T(2.2e-16) * (T(1) + extent);
}
// Whether increments have stopped falling because of it: nothing more can be gained.
template <class T>
CATENA_INLINE auto at_floor(T size, T last, T floor) {
  return (last < floor) & (size > T(0.25) * last) & (size < T(4) * floor);
}

// The largest |next| / |this|^2 seen lately, after an increment with its own matrix: it falls slowly, rises at once,
// and below the floor the ratio says nothing but that it is no larger than this.
template <class T>
CATENA_INLINE T watched(T kappa, T size, T last, T floor) {
  const T seen = choose(size > floor, size, floor) / (last * last), calmer = T(0.8) * kappa;
  const T next = choose((kappa < T(unknown)) & (seen < calmer), calmer, seen);
  return choose((size > floor) | (seen < kappa), next, kappa);
}

// How far a loop may be open at a solution (parts of the span, rad): rounding, and what the tolerance leaves.
template <class T>
CATENA_INLINE T closing_limit(T extent, double span, double tolerance) {
  return T(1e-11) * (T(1) + extent / T(span)) + T(1e-2) * T(tolerance);
}

}  // namespace catena::CATENA_ISA
