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
// the smaller one; not a number wins
CATENA_INLINE Lane least(Lane a, Lane b) { return b.v > a.v ? a.v : b.v; }

}  // namespace catena::CATENA_ISA
