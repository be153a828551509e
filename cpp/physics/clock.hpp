// The step to be solved, and the functions of time at its two ends and in its middle.
#pragma once

#include "base/isa.hpp"

namespace catena::CATENA_ISA {

struct Stop;
struct Touch;

// In a projection of velocities (`resting`) dt is 1 and `rate` holds the derivatives at the node; where poses are put
// together time stands still too (`frozen`).
struct Clock {
  double dt = 1, per_dt = 1;
  bool resting = false, frozen = false;
  double soft = 1;  // by so much friction begins more gently than it should, on the way to a solution
  const double *now = nullptr, *middle = nullptr, *end = nullptr, *rate = nullptr;
  const Stop* stop = nullptr;  // (hard stop)
  Touch* touch = nullptr;      // (contact with friction)
  bool rubs = false;           // some of these take part
  void last(double interval) { dt = interval, per_dt = 1 / interval; }
};

}  // namespace catena::CATENA_ISA
