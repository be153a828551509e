// Higher order by composition: a step of length dt as several of lengths c_k dt, some of them backwards.
//
// The plain step is symmetric, so symmetric compositions whose coefficients satisfy the order conditions reach any even
// order, with every joint closed at every substep. No projection is needed in between: the multipliers that a
// projection would add act along the same directions as those of the next substep and are absorbed by them.
#pragma once

#include "base/isa.hpp"

namespace catena::CATENA_ISA {

constexpr int most_parts = 17, most_order = 8;

struct Composition {
  int count;
  double part[most_parts];
};

inline Composition composition_of(int order) {
  if (order <= 2) return {1, {1}};
  if (order == 4) {
    // Suzuki: s, s, 1 - 4 s, s, s with s = 1 / (4 - 4^(1/3))
    const double s = 0.41449077179437573714;
    return {5, {s, s, 1 - 4 * s, s, s}};
  }
  // Kahan and Li, nine and seventeen substeps
  if (order == 8) {
    const double a = 0.13020248308889008088, b = 0.56116298177510838456, c = -0.38947496264484728641,
                 d = 0.15884190655515560090, e = -0.39590389413323757734, f = 0.18453964097831570709,
                 g = 0.25837438768632204729, h = 0.29501172360931029887, i = 1 - 2 * (a + b + c + d + e + f + g + h);
    return {17, {a, b, c, d, e, f, g, h, i, h, g, f, e, d, c, b, a}};
  }
  const double a = 0.39216144400731413928, b = 0.33259913678935943860, c = -0.70624617255763935981,
               d = 0.08221359629355080023, e = 1 - 2 * (a + b + c + d);
  return {9, {a, b, c, d, e, d, c, b, a}};
}

}  // namespace catena::CATENA_ISA
