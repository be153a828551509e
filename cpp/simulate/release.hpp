// Where in a composed step a stop lets go.
//
// A composed step keeps the stops that are held in its first part over all parts, because some of these go backwards.
// What a stop presses with at a node follows from the multiplier of the part that begins there, l: with h the length of
// that part and `half` of the one before,
//
//     press = -l / (h (half + h/2)),
//
// which errs by O(h^2) where both are as long as each other, as they are between two composed steps. So the end of a
// step is looked at by the first part of another one of its length, which is not taken. Where something pulls there,
// the step is cut where the least that any stop presses with vanishes. That time errs by O(dt^2),
// and the speed after it by the square of that: order 4 is kept.
#pragma once

#include "simulate/bracket.hpp"
#include "simulate/step.hpp"

namespace catena::CATENA_ISA {

template <class Solver>
struct Release {
  Node<Solver>& node;
  Step<Solver>& step;
  Stops<Solver>& stops = step.stops;
  Newton<Solver>& newton = step.newton;
  bool found = false;
  Bracket bracket;             // of lengths, by the least press there
  double scale = 0, most = 0;  // of the press, and what counts as none

  // per multiplier of a part that begins at the node
  double weight_of(double part) const { return 1 / (part * (node.half + 0.5 * part)); }
  // how the stops press at the end of a step that has just been taken; false if that cannot be found
  bool look_at_end(long at, double part) {
    node.place(at);
    History aside;
    History* const before = newton.history;
    newton.select(aside);
    step.aim(part);
    stops.fixed = true;
    stops.arm();
    for (int k = newton.motions; k < newton.count; ++k) step.solver.z[k] = 0;
    const bool fine = newton.iterate(part) == Outcome::converged;
    if (fine) stops.weigh(weight_of(part), &Stop::press_ahead);
    stops.fixed = false;
    newton.select(*before);
    return fine;
  }
  // a step of that length has been taken: whether a stop lets go within
  bool begin(long at, double length, double part) {
    const double here = stops.least_press(&Stop::press);
    if (!look_at_end(at, part * length)) return false;
    const double there = stops.least_press(&Stop::press_ahead);
    if (!(there < 0)) return false;
    bracket = {};
    bracket.begin(here > 0 ? 1e-12 * length : 0, here, length, there);
    scale = std::fabs(here) + std::fabs(there);
    most = 1e-4 * scale;
    return true;
  }
  // whether it presses at the node
  bool presses() const { return bracket.low > 0; }
  // a step of that length has been taken: whether another one is to be tried
  bool look(long at, double length, double part) {
    if (!look_at_end(at, part * length)) return false;
    const double press = stops.least_press(&Stop::press_ahead);
    if (std::fabs(press) <= 1e-7 * scale || bracket.looks == 20) return false;
    bracket.see(length, press);
    return true;
  }
};

}  // namespace catena::CATENA_ISA
