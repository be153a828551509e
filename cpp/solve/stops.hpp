// Hard stops: measures that must not leave their bounds.
//
// A stop that is open has no part in the equations of a step; one that is held has its measure end at the bound. On a
// freedom of the tree that takes no row (solve/tree/articulation.hpp), elsewhere a row of its own
// (physics/rows/stop.hpp). Which are held is found on the way, by an active set: after every increment one whose effort
// pulls is let go, and one that takes part and has passed its bound is held.
//
// Which take part is decided at the node (`meet`, `watch`): those that stand at a bound and have not just bounced off.
// All others are looked at when the step has been solved (`least_gap`); the caller cuts the step where the first of
// them touches (simulate/rescue.hpp), or has them caught: they take part and end the step at their bound.
#pragma once

#include "physics/rows/constraint.hpp"
#include "physics/stop.hpp"
#include "solve/freedoms.hpp"

namespace catena::CATENA_ISA {

template <class Solver>
struct Stops {
  Solver& solver;
  Stop* stop;             // (hard stop)
  double* measured;       // (law) at the node
  bool fixed = false;     // the set must not change: parts of a composed step after the first
  bool catches = false;   // those that have touched in the user's step take part
  bool catches_all = false;
  const Layout& layout = solver.layout;

  int count() const { return layout.stop_count; }
  const LawInfo& law_of(int k) const { return layout.law[layout.stop[k]]; }
  bool on_axis(const LawInfo& law) const { return Solver::acts_on_axes && law.axis >= 0; }
  // whether both bounds are the same: it is never let go
  static bool is_locked(const LawInfo& law) { return law.upper - law.lower < 2 * stop_rounding; }
  static double gap_of(const LawInfo& law, double phi) { return std::fmin(phi - law.lower, law.upper - phi); }

  //---- measures ----

  // of poses, turns counted on from a recent one
  double measure(const LawInfo& law, double recent, bool at_end) const {
    const ConstraintInfo& m = law.measure;
    JointRows rows;
    if (at_end)
      joint_rows(m, new_pose(solver.body, m.end[0]), new_pose(solver.body, m.end[1]), recent, rows);
    else
      joint_rows(m, old_pose(solver.body, m.end[0]), old_pose(solver.body, m.end[1]), recent, rows);
    return rows.g[0];
  }
  double at_end(int k) const {
    const LawInfo& law = law_of(k);
    const double phi = measured[layout.stop[k]];
    return on_axis(law) ? phi + law.sign * moved_by(layout, law, solver.z) : measure(law, phi, true);
  }
  // at most so far does the step take a measure
  double travel_of(const LawInfo& law) const {
    if (!on_axis(law)) return 1e300;
    const LinkInfo& info = layout.link[law.link];
    const int j = law.axis - info.first_axis;
    return (turns(info.branch, j) ? 3.2 : 1.0) * std::fabs(solver.z[info.variable + j]);
  }
  static bool is_far(const Stop& s, double travel) { return s.room - s.travel - travel > stop_rounding; }
  // the measure at the node, if it is not known
  void look(int k) {
    Stop& s = stop[k];
    if (s.travel == 0 && s.age < most_age) return;
    const LawInfo& law = law_of(k);
    double& phi = measured[layout.stop[k]];
    phi = measure(law, phi, false);
    s.room = std::fmin(gap_of(law, phi), most_room);
    s.travel = s.age = 0;
  }

  //---- the set ----

  // a trajectory begins
  void enter() {
    for (int k = 0; k < count(); ++k) {
      stop[k] = {};
      stop[k].age = most_age;
    }
  }
  // where all stand at the node
  void meet() {
    for (int k = 0; k < count(); ++k) {
      Stop& s = stop[k];
      int at = 0;
      if (!is_far(s, 0)) {
        look(k);
        const LawInfo& law = law_of(k);
        const double phi = measured[layout.stop[k]], below = phi - law.lower, above = law.upper - phi;
        if (std::fmin(below, above) < stop_rounding) at = below < above ? -1 : 1;
      }
      s.at = at;
      if (at == 0) s.left = false, s.held = 0;
    }
  }
  // who takes part in the step
  void watch() {
    for (int k = 0; k < count(); ++k) {
      Stop& s = stop[k];
      s.touched |= s.at != 0 && !s.left;
      s.takes = (s.at != 0 && !s.left) || (catches && (s.touched || catches_all));
      if (catches_all) s.left = false;
      if (s.takes) look(k);
      if (!s.takes) s.held = 0, s.push = 0;
      if (s.takes && is_locked(law_of(k))) hold(k, s.at != 0 ? s.at : 1);
    }
    arm();
  }
  // where velocities are projected: those that stand at a bound, or that have stood there over the step before
  void stand(bool before) {
    for (int k = 0; k < count(); ++k) {
      Stop& s = stop[k];
      s.rate = 0;
      s.takes = s.at != 0 && !s.left && (!before || s.held != 0);
      if (!s.takes)
        s.held = 0;
      else if (s.held)
        hold(k, s.at);
    }
    arm();
  }
  // those that are held need no more than they have
  void rest() {
    for (int k = 0; k < count(); ++k) stop[k].rate = 0;
    if (count() > 0) arm();
  }
  // after an impact some move away from their bound
  void leave() {
    for (int k = 0; k < count(); ++k) {
      Stop& s = stop[k];
      if (s.at == 0) continue;
      s.left = -s.at * rate_of(k) > 1e-9;
      if (s.left) s.held = 0;
      s.rate = 0;
    }
  }
  // those that have bounced off and cannot get away
  void stay() {
    for (int k = 0; k < count(); ++k) {
      Stop& s = stop[k];
      if (!s.left) continue;
      s.left = false;
      s.bounces = 1;
      hold(k, s.at);
    }
  }
  // Velocities have arrived: those that approach a bound give back a part of their speed, the second time in a step of
  // the user's nothing. True if any does.
  bool strike() {
    bool any = false;
    for (int k = 0; k < count(); ++k) {
      Stop& s = stop[k];
      if (s.at == 0) continue;
      s.approach = rate_of(k);
      if (!s.takes && s.at * s.approach > 1e-13) {
        hold(k, s.at);
        s.rate = s.bounces > 0 ? 0 : -law_of(k).restitution * s.approach;
        ++s.bounces;
        any = true;
      }
      s.takes = true;
    }
    if (any) arm();
    return any;
  }
  void hold(int k, int side) { stop[k].held = side; }
  void let_go(int k) { stop[k].held = 0, stop[k].push = 0; }
  // whether rows other than those of joints must be closed
  bool holds_rows() const {
    for (int k = 0; k < count(); ++k)
      if (stop[k].held && !on_axis(law_of(k))) return true;
    return false;
  }
  // while something else is solved for
  template <class F>
  auto besides(Besides what, F&& solve) {
    const int slot = static_cast<int>(what);
    for (int k = 0; k < count(); ++k) stop[k].aside[slot] = {stop[k].held, stop[k].takes, stop[k].touched};
    const auto result = solve();
    for (int k = 0; k < count(); ++k) {
      const Stop::Aside& s = stop[k].aside[slot];
      stop[k].held = s.held, stop[k].takes = s.takes, stop[k].touched = s.touched;
    }
    if (count() > 0) arm();
    return result;
  }
  // the equations follow the set
  void arm() {
    for (int k = 0; k < count(); ++k) stop[k].bound = stop[k].held < 0 ? law_of(k).lower : law_of(k).upper;
    if constexpr (Solver::acts_on_axes) {
      for (int k = 0; k < count(); ++k) {
        const LawInfo& law = law_of(k);
        if (law.axis < 0) continue;
        const Stop& s = stop[k];
        auto& hold = solver.hold[law.axis];
        hold.held = s.held != 0;
        if (!hold.held) continue;
        const LinkInfo& info = layout.link[law.link];
        const bool turning = turns(info.branch, law.axis - info.first_axis);
        const double by = law.sign * (solver.clock.resting ? s.rate : s.bound - measured[layout.stop[k]]);
        hold.target = turning ? (solver.clock.resting ? 0.5 * by : std::sin(0.5 * by)) : by;
      }
      solver.hold_stops();
    }
  }
  // what a unit of a stop's multiplier weighs against
  double resistance(const LawInfo& law) const {
    if constexpr (Solver::acts_on_axes)
      if (law.axis >= 0) return std::fabs(solver.hold[law.axis].pivot);
    const ConstraintInfo& c = layout.constraint[law.constraint];
    JointRows rows;
    joint_rows(law.measure, old_pose(solver.body, c.end[0]), old_pose(solver.body, c.end[1]),
               measured[c.item], rows);
    const double root = row_compliance(c, solver.body, layout.link, rows, 0);
    return 1 / (root * root);
  }
  // after an increment: true if others are held than before
  bool settle() {
    if (fixed) return false;
    bool changed = false;
    for (int k = 0; k < count(); ++k) {
      Stop& s = stop[k];
      if (!s.takes) continue;
      const LawInfo& law = law_of(k);
      if (s.held) {
        s.push = solver.multiplier_of(layout.stop[k]);
        if (is_locked(law) || !(s.held * s.push > 1e-14 * resistance(law))) continue;
        let_go(k);
        changed = true;
      } else if (solver.clock.resting) {
        if (!(s.at * rate_of(k) > 1e-13)) continue;
        hold(k, s.at);
        changed = true;
      } else {
        const double phi = at_end(k);
        if (phi >= law.lower - 1e-14 && phi <= law.upper + 1e-14) continue;
        hold(k, phi < law.lower ? -1 : 1);
        changed = true;
      }
    }
    if (changed) arm();
    return changed;
  }
  // of its measure, after a projection
  double rate_of(int k) const {
    const LawInfo& law = law_of(k);
    const ConstraintInfo& m = law.measure;
    JointRows rows;
    joint_rows(m, old_pose(solver.body, m.end[0]), old_pose(solver.body, m.end[1]), measured[layout.stop[k]], rows);
    double rate = 0;
    for (int e = 0; e < 2; ++e)
      if (m.end[e] >= 0)
        rate += dot(rows.w[e].f, solver.body[m.end[e]].dx) + dot(rows.w[e].t, solver.body[m.end[e]].phi);
    return rate;
  }

  //---- a step that has been solved ----

  // the smallest gap that those which have no part in it have at its end, and whose it is
  double least_gap(int& whose) {
    double least = 1e300;
    for (int k = 0; k < count(); ++k) {
      Stop& s = stop[k];
      if (s.held || (s.takes && !fixed) || is_far(s, travel_of(law_of(k)))) continue;
      look(k);
      const double gap = gap_of(law_of(k), at_end(k));
      if (gap < least) least = gap, whose = k;
    }
    return least;
  }
  double gap_at_node(int k) {
    look(k);
    return gap_of(law_of(k), measured[layout.stop[k]]);
  }
  // on to the next node, before the poses go there
  void commit() {
    for (int k = 0; k < count(); ++k) {
      Stop& s = stop[k];
      const LawInfo& law = law_of(k);
      const double travel = travel_of(law);
      if (!s.held && is_far(s, travel)) {
        s.travel += travel;
        continue;
      }
      look(k);
      double& phi = measured[layout.stop[k]];
      phi = s.held ? s.bound : at_end(k);
      s.room = std::fmin(gap_of(law, phi), most_room);
      s.travel = 0;
      ++s.age;
    }
  }
};

}  // namespace catena::CATENA_ISA
