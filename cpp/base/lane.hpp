// A number for each of several members of a batch, in one register: the scalar of the lane solver. As many as the
// instruction set holds.
#pragma once

#include <cmath>

#include "base/isa.hpp"

namespace catena::CATENA_ISA {

#if defined(__AVX512F__)
constexpr int lane_width = 8;
#elif defined(__AVX__)
constexpr int lane_width = 4;
#else
constexpr int lane_width = 2;
#endif

struct Lane {
  typedef double Register __attribute__((vector_size(8 * lane_width)));
  typedef long long Mask __attribute__((vector_size(8 * lane_width)));  // all bits where something holds
  Register v;

  Lane() = default;
  CATENA_INLINE Lane(Register r) : v(r) {}
  CATENA_INLINE explicit Lane(double s) : v(Register{} + s) {}
  CATENA_INLINE double operator[](int k) const { return v[k]; }
  CATENA_INLINE void set(int k, double s) { v[k] = s; }
};
CATENA_INLINE Lane operator+(Lane a, Lane b) { return a.v + b.v; }
CATENA_INLINE Lane operator-(Lane a, Lane b) { return a.v - b.v; }
CATENA_INLINE Lane operator-(Lane a) { return -a.v; }
CATENA_INLINE Lane operator*(Lane a, Lane b) { return a.v * b.v; }
CATENA_INLINE Lane operator/(Lane a, Lane b) { return a.v / b.v; }
CATENA_INLINE Lane& operator+=(Lane& a, Lane b) { return a = a + b; }
CATENA_INLINE Lane& operator-=(Lane& a, Lane b) { return a = a - b; }
CATENA_INLINE Lane& operator*=(Lane& a, Lane b) { return a = a * b; }
CATENA_INLINE Lane sqrt(Lane a) {
  Lane r;
  for (int k = 0; k < lane_width; ++k) r.v[k] = std::sqrt(a.v[k]);
  return r;
}
CATENA_INLINE Lane::Mask operator<(Lane a, Lane b) { return a.v < b.v; }
CATENA_INLINE Lane::Mask operator>(Lane a, Lane b) { return a.v > b.v; }
CATENA_INLINE Lane::Mask operator!=(Lane a, Lane b) { return a.v != b.v; }
CATENA_INLINE Lane choose(Lane::Mask m, Lane a, Lane b) { return m ? a.v : b.v; }
// through memory: single numbers of a wide register are not worth asking for
CATENA_INLINE bool holds(Lane::Mask m, int k) {
  long long lanes[lane_width];
  __builtin_memcpy(lanes, &m, sizeof m);
  return lanes[k] != 0;
}
CATENA_INLINE bool any(Lane::Mask m) {
  bool found = false;
  for (int k = 0; k < lane_width; ++k) found |= holds(m, k);
  return found;
}
CATENA_INLINE Lane least(Lane a, Lane b) { return choose(a < b, a, b); }
CATENA_INLINE Lane larger(Lane a, Lane b) { return choose(a > b, a, b); }
template <class F>
CATENA_INLINE Lane each_lane(Lane a, F f) {
  Lane r;
  for (int k = 0; k < lane_width; ++k) r.v[k] = f(a.v[k]);
  return r;
}

// the same words for one number
CATENA_INLINE double choose(bool m, double a, double b) { return m ? a : b; }
CATENA_INLINE bool any(bool m) { return m; }

}  // namespace catena::CATENA_ISA
