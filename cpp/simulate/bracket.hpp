// Where a smooth function passes from positive to negative, by as few of its values as possible.
//
// The next place to look at is where the parabola through the last three values vanishes (Muller), as long as that lies
// between the ends that are known to have opposite signs. A gap or a force, over the length of a step, is nearly a
// parabola.
#pragma once

#include <cmath>

#include "base/isa.hpp"

namespace catena::CATENA_ISA {

struct Bracket {
  double low = 0, high = 0;          // where it is positive, and where it is not
  double at[3] = {}, value[3] = {};  // the last ones, the newest first
  int known = 0, looks = 0;

  // a value, if it is not known
  void remember(double x, double f) {
    for (int k = 0; k < known; ++k)
      if (at[k] == x) return;
    for (int k = 2; k > 0; --k) at[k] = at[k - 1], value[k] = value[k - 1];
    at[0] = x, value[0] = f;
    known += known < 3;
  }
  void begin(double positive_at, double positive, double negative_at, double negative) {
    low = positive_at, high = negative_at;
    remember(high, negative);
    remember(low, positive);
  }
  void see(double x, double f) {
    (f > 0 ? low : high) = x;
    remember(x, f);
    ++looks;
  }
  double next() const {
    // the least of several functions has kinks
    if (looks > 6 && looks % 2 == 1) return 0.5 * (low + high);
    if (known < 3) return between(at[0] - value[0] * (at[0] - at[1]) / (value[0] - value[1]));
    const double slope = steepness() + curve() * (at[0] - at[1]);
    const double root = std::copysign(std::sqrt(slope * slope - 4 * curve() * value[0]), slope);
    const double near = at[0] - 2 * value[0] / (slope + root);
    return near > low && near < high ? near : between(at[0] - 2 * value[0] / (slope - root));
  }
  // The same function begins at zero: where its parabola through here and the newest value is zero again, and here if
  // that is not before.
  double comes_back(double x, double f) const {
    const double curved = (f / x - value[0] / at[0]) / (x - at[0]), back = x - f / (x * curved);
    return back > 0 && back < x ? back : x;
  }

 private:
  double between(double x) const { return x > low && x < high ? x : 0.5 * (low + high); }
  double steepness() const { return (value[0] - value[1]) / (at[0] - at[1]); }
  double curve() const { return (steepness() - (value[1] - value[2]) / (at[1] - at[2])) / (at[0] - at[2]); }
};

}  // namespace catena::CATENA_ISA
