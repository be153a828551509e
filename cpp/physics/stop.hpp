// A hard stop: a law whose measure must not leave its bounds (solve/stops.hpp), from step to step.
#pragma once

#include "base/isa.hpp"
#include "physics/shapes/slots.hpp"

namespace catena::CATENA_ISA {

// what is solved for besides steps: steps that are only tried, and velocities
enum class Besides : int { trial, projection };

// How near to a bound (rad or m) is at it; a stop is located twice as finely, or it would be open again.
constexpr double stop_rounding = 1e-12;

struct Stop {
  // what the equations of a step, or of a projection of velocities, see of it
  int held = 0;                 // at the lower bound -1, at the upper one 1, nowhere 0
  double bound = 0;             // that it is held at
  double rate = 0;              // that its measure is to have, where velocities are projected
  double push = 0;              // its multiplier, along the measure
  int wanted = 0;               // where it is to be held
  double excess = 0, kept = 0;  // by how much it is passed; what it presses with while a set is built up
  int released = 0;             // how often it has been let go in this solve
  // the node
  double phi = 0;      // its measure, if it is near a bound
  int at = 0;          // the bound at which it stands
  bool left = false;   // it has bounced off and not yet been away
  bool takes = false;  // it takes part in the equations
  bool near = false;   // it is looked at in every step
  int age = 0;         // steps since the measure was taken from poses
  // the user's step
  bool touched = false;  // it has stood at a bound in it
  int bounces = 0;
  bool spent = false;   // it had bounced before the last impact
  double approach = 0;  // rate of its measure before the last impact
  // what it presses with while it is held: at the node, at the end of a step that is looked at, and at the node before,
  // so much time ago, 0 if that is not known
  double press = 0, press_ahead = 0, press_before = 0, since = 0;
  // put aside while something else is solved for
  struct Aside {
    int held;
    bool takes, touched;
  } aside[2] = {};
  // what the layout says of it: the law, its bounds, and the freedom that it measures, if the solver has that
  int law = 0, axis = -1, variable = -1;
  bool turns = false;
  // of shapes: the features whose gap it measures, none while its slot is empty
  bool shaped = false, seen = false;
  Slot slot;
  Feature feature;
  double sign = 1, lower = 0, upper = 0;

  // One that has been let go must be passed by more, or rounding, which is as large as bodies are fast, would have it
  // held and let go in turn.
  double must_pass(double least, double most) const {
    for (int k = 0; k < released && least < most; ++k) least *= 10;
    return least;
  }
  // whether both bounds are the same: it is never let go
  bool is_locked() const { return upper - lower < 2 * stop_rounding; }
  double gap(double of) const { return of - lower < upper - of ? of - lower : upper - of; }
};

// By so much (rad or m, per s at rest) an open one is passed that must be held.
constexpr double least_passing = 1e-14, least_speed = 1e-13;
// Away from its bound, or against it once more after an impact (rad/s or m/s), is faster than that.
constexpr double free_to_leave = 1e-9;
// Parts of the fastest velocity that rounding leaves of none: who takes part in an impact must not hang on them.
constexpr double rounded_speed = 1e-12;
// Where there is none (rad or m), as checkpoints hold finite numbers.
constexpr double no_bound = 1e300;
// The gap of features that there are not (m).
constexpr double no_gap = 1e3;
// A measure is looked at before it can have made half a turn (rad or m).
constexpr double most_room = 2.5;
// Steps over which a measure near its bound is summed up before it is taken from poses again.
constexpr int most_age = 256;
// Steps after which it is found anew which are near, and how many steps away that is; or at least so much (rad or m).
constexpr int stop_period = 64;
constexpr double near_steps = 16, least_near = 1e-3;

}  // namespace catena::CATENA_ISA
