// A hard stop: a law whose measure must not leave its bounds (solve/stops.hpp), from step to step.
#pragma once

#include "base/isa.hpp"

namespace catena::CATENA_ISA {

// what is solved for besides steps: steps that are only tried, and velocities
enum class Besides : int { trial, projection };

struct Stop {
  // what the equations of a step, or of a projection of velocities, see of it
  int held = 0;      // at the lower bound -1, at the upper one 1, nowhere 0
  double bound = 0;  // that it is held at
  double rate = 0;   // that its measure is to have, where velocities are projected
  double push = 0;   // its multiplier, along the measure
  // the node
  int at = 0;          // the bound at which it stands
  bool left = false;   // it has bounced off and not yet been away
  bool takes = false;  // it takes part in the equations
  // the user's step
  bool touched = false;  // it has stood at a bound in it
  int bounces = 0;
  double approach = 0;  // rate of its measure before the last impact
  // Where the measure is: `room` is its distance to the nearest bound when it was last looked at, `travel` at most how
  // far it has gone since. While there is room nothing else need be known of it.
  double room = 0, travel = 0;
  int age = 0;  // steps since the measure was taken from poses
  // put aside while something else is solved for
  struct Aside {
    int held;
    bool takes, touched;
  } aside[2];
};

// How near to a bound (rad or m) is at it; a stop is located twice as finely, or it would be open again.
constexpr double stop_rounding = 1e-12;
// A measure is looked at before it can have made half a turn (rad or m).
constexpr double most_room = 2.5;
// Steps over which a measure near its bound is summed up before it is taken from poses again.
constexpr int most_age = 256;

}  // namespace catena::CATENA_ISA
