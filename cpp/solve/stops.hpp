// Hard stops: measures that must not leave their bounds. Above 450 lines, as who is held is one state.
//
// A stop that is open has no part in the equations of a step; one that is held has its measure end at the bound. On a
// freedom of the tree that takes no row (solve/tree/articulation.hpp), elsewhere a row of its own
// (physics/rows/stop.hpp). Which are held is found on the way, by an active set: after every increment one whose effort
// pulls is let go, and one that takes part and has passed its bound is held.
//
// Which take part is decided at the node (`meet`, `watch`): those that stand at a bound and have not just bounced off.
// All others are looked at when the step has been solved (`least_gap`); the caller cuts the step where the first of
// them touches (simulate/rescue.hpp), or has them caught: they take part and end the step at their bound.
//
// Most stops are far from their bounds most of the time. Those have one number together, `room`, the smallest of their
// distances when they were last looked at, and one for how far any of them can have gone since, `travel`. Only those
// that are `near` are followed one by one.
#pragma once

#include <utility>

#include "physics/rows/constraint.hpp"
#include "physics/stop.hpp"
#include "solve/freedoms.hpp"
#include "solve/pivoting.hpp"
#include "solve/shape_stops.hpp"

namespace catena::CATENA_ISA {

template <class Solver>
struct Stops {
  Solver& solver;
  Stop* stop;            // (hard stop)
  int* near;             // those that are
  int* freedom;          // unknowns that stops measure
  double* recent;        // (law) measures, from which turns are counted
  bool fixed = false;    // the set must not change: parts of a composed step after the first
  bool catches = false;  // those that have touched in the user's step take part
  bool catches_all = false;
  bool struck = false;  // some gave back their speed, or lost it, when velocities last arrived
  int near_count = 0, freedom_count = 0;
  double room = 0, travel = 0;  // of those that are far
  Pivoting pivoting;
  double pace = 0, still = 0;  // travel of the last step; rates that rounding makes, where velocities arrive
  int due = 0;                 // steps until it is found anew which are near
  bool stale = true;           // features of shapes are those of another node
  double horizon = 0;          // time for which they are chosen
  const Layout& layout = solver.layout;

  int count() const { return layout.stop_count; }
  const LawInfo& law_of(const Stop& s) const { return layout.law[s.law]; }
  template <class F>
  CATENA_INLINE void each_near(F&& use) {
    for (int n = 0; n < near_count; ++n) use(stop[near[n]]);
  }

  //---- measures ----

  // rows of poses, turns counted on from a recent measure, or of a sum from those that its row knows
  void measure(const Stop& s, double from, bool at_end, JointRows& rows) const {
    const LawInfo& law = law_of(s);
    RowMemory before;
    before.angle[0] = from;
    if (law.measure.kind == JointKind::coupling) before = solver.rows_of(layout.constraint[law.constraint]);
    const RowSite of = {layout, law.measure, solver.body, solver.clock};
    if (s.shaped) return StopRows::shape_rows(of, s, at_end, rows);
    if (at_end) return StopRows::measure_after(of, before, rows);
    static_cast<RowMemory&>(rows) = before;
    StopRows::measure_before(of, rows);
  }
  double measure(const Stop& s, double from, bool at_end) const {
    JointRows rows;
    measure(s, from, at_end, rows);
    return rows.g[0];
  }
  CATENA_INLINE double at_end(const Stop& s) const {
    if (s.axis < 0) return measure(s, s.phi, true);
    const double z = solver.z[s.variable];
    return s.phi + s.sign * (s.turns ? turned_angle(z) : z);
  }
  // at most so far does the step take a freedom
  double reach() const {
    double most = 0;
    for (int n = 0; n < freedom_count; ++n) most = larger(most, std::fabs(solver.z[freedom[n]]));
    return 3.2 * most;
  }
  bool has_room(double more) const { return room - travel - more > stop_rounding; }
  void look(Stop& s) {
    if (s.near && s.age < most_age) return;
    s.phi = recent[s.law] = measure(s, s.near ? s.phi : recent[s.law], false);
    s.age = 0;
  }
  // which are near, and the room of all others, at the node
  void look_at_all() {
    const double margin = larger(least_near, near_steps * pace);
    room = most_room;
    travel = 0;
    due = stop_period;
    for (int k = 0; k < count(); ++k) {
      Stop& s = stop[k];
      look(s);
      const double gap = s.gap(s.phi);
      s.near = s.axis < 0 || gap < margin || s.held != 0 || s.left;
      if (!s.near && gap < room) room = gap;
    }
    list_near();
  }
  void list_near() {
    near_count = 0;
    [[maybe_unused]] bool changed = false;
    for (int k = 0; k < count(); ++k) {
      Stop& s = stop[k];
      if (s.near) {
        near[near_count++] = k;
        continue;
      }
      s.at = s.held = 0;
      s.takes = s.left = false;
      if constexpr (Solver::acts_on_axes)
        if (s.axis >= 0) changed |= std::exchange(solver.stopped[s.axis].held, false);
    }
    if constexpr (Solver::acts_on_axes)
      if (changed) solver.hold_stops();
  }

  //---- the set ----

  // a trajectory begins
  void enter() {
    near_count = freedom_count = 0;
    for (int k = 0; k < count(); ++k) {
      Stop& s = stop[k] = {};
      s.law = layout.stop[k];
      const LawInfo& law = law_of(s);
      s.sign = law.sign;
      if (!Solver::acts_on_axes || law.axis < 0) continue;
      const LinkInfo& info = layout.link[law.link];
      s.axis = law.axis;
      s.variable = info.variable + law.axis - info.first_axis;
      s.turns = turns(info.branch, law.axis - info.first_axis);
      freedom[freedom_count++] = s.variable;
    }
    for (int p = 0; p < layout.shapes.pair_count; ++p)
      for (int k = 0; k < layout.shapes.slot_count[p]; ++k) stop[layout.shapes.first_stop[p] + k].shaped = true;
    stale = true;
    follow_bounds();
    room = travel = pace = 0;
  }
  // the bounds are those of the layout, or far away
  double lower_of(const Stop& s) const { return larger(law_of(s).lower, -no_bound); }
  double upper_of(const Stop& s) const { return -larger(-law_of(s).upper, -no_bound); }
  bool stand_as_told() const {
    for (int k = 0; k < count(); ++k)
      if (stop[k].lower != lower_of(stop[k]) || stop[k].upper != upper_of(stop[k])) return false;
    return true;
  }
  // true if they were others before
  bool follow_bounds() {
    if (stand_as_told()) return false;
    for (int k = 0; k < count(); ++k) stop[k].lower = lower_of(stop[k]), stop[k].upper = upper_of(stop[k]);
    room = travel = 0, due = 0;
    return true;
  }
  // where all stand at the node
  void meet() {
    if (layout.shapes.pair_count > 0 && stale && !fixed) {
      refresh_shape_stops(layout, solver.body, horizon, stop);
      stale = false;
      // rows at the node are those of the new features
      solver.place();
    }
    if (!has_room(0) || due <= 0) look_at_all();
    each_near([&](Stop& s) {
      look(s);
      s.at = s.gap(s.phi) >= stop_rounding ? 0 : s.phi - s.lower < s.upper - s.phi ? -1 : 1;
      if (s.at == 0) s.left = false, s.held = 0;
    });
  }
  // the stop that is passed most at the first node, and by how much; -1 if none is even touched
  double find_passed(int& whose) {
    meet();
    double most = -stop_rounding;
    each_near([&](const Stop& s) {
      if (-s.gap(s.phi) <= most) return;
      most = -s.gap(s.phi);
      whose = static_cast<int>(&s - stop);
    });
    return most;
  }
  // who takes part in the step
  void watch() {
    if (catches_all && near_count < count()) {
      for (int k = 0; k < count(); ++k) {
        look(stop[k]);
        stop[k].near = true;
      }
      list_near();
    }
    each_near([&](Stop& s) {
      s.touched |= s.at != 0 && !s.left;
      s.released = 0;
      s.takes = (s.at != 0 && !s.left) || (catches && (s.touched || catches_all));
      if (catches_all) s.left = false;
      if (!s.takes) s.held = 0, s.push = 0;
      if (s.takes && s.is_locked()) s.held = s.at != 0 ? s.at : 1;
    });
    arm();
  }
  // where velocities are projected: those that stand at a bound, or that have stood there over the step before
  void stand(bool before) {
    each_near([&](Stop& s) {
      s.rate = 0;
      s.released = 0;
      s.takes = s.at != 0 && !s.left && (!before || s.held != 0);
      s.held = s.takes && s.held != 0 ? s.at : 0;
    });
    arm();
  }
  // those that are held need no more than they have
  void rest() {
    each_near([](Stop& s) { s.rate = 0; });
    if (near_count > 0) arm();
  }
  // Velocities have arrived: those that approach a bound give back a part of their speed, the second time in a step of
  // the user's nothing. What gives back takes part only while it approaches, so one may push the next: again, with the
  // velocities after it, until none gives back any more, or as what gives back nothing at last. True if any hits.
  bool strike(bool again, bool last) {
    bool any = false;
    each_near([&](Stop& s) {
      if (s.at == 0) return;
      if (!again) s.spent = s.bounces > 0;
      s.approach = rate_of(s);
      const bool hits = s.at * s.approach > larger(again ? free_to_leave : least_speed, still);
      if (gives_back(s) && !last) {
        s.takes = hits;
        s.held = hits ? s.at : 0;
        s.rate = -law_of(s).restitution * s.approach;
        s.bounces += hits;
        any |= hits;
        return;
      }
      // what moves away would be held back by what it was hit for, and gain energy
      const bool anew = hits && (last || !s.takes), part = last || -s.at * s.approach <= larger(free_to_leave, still);
      any |= anew;
      s.bounces += anew;
      s.held = anew ? s.at : part ? s.held : 0;
      s.takes = part;
      s.rate = 0;
    });
    struck = any || again;
    if (any) arm();
    return any;
  }
  bool gives_back(const Stop& s) const { return law_of(s).restitution > 0 && !s.spent && !s.is_locked(); }
  // impacts that one may bring about
  int most_impacts() {
    int touching = 0;
    each_near([&](const Stop& s) { touching += s.at != 0; });
    return 4 + 2 * touching;
  }
  // after an impact some move away from their bound, and shapes as they move then
  void leave() {
    stale = true;
    each_near([&](Stop& s) {
      if (s.at == 0) return;
      s.left = -s.at * rate_of(s) > larger(free_to_leave, still);
      if (s.left) s.held = 0;
      s.rate = 0;
    });
  }
  // those that have bounced off and cannot get away; false if there are none
  bool stay() {
    bool any = false;
    each_near([&](Stop& s) {
      if (!s.left) return;
      s.left = false;
      s.bounces = 1;
      s.held = s.at;
      any = true;
    });
    return any;
  }
  // what those that are held press with, where a multiplier is so many impulses
  void weigh(double per_multiplier, double Stop::* press) {
    each_near([&](Stop& s) {
      if (s.held) s.*press = -s.held * push_of(s) * per_multiplier;
    });
  }
  // whether one may let go within so much time: by what it has lost since the node before, twice as fast
  bool may_let_go(double time) const {
    bool may = false;
    for (int n = 0; n < near_count; ++n) {
      const Stop& s = stop[near[n]];
      if (s.held == 0 || s.is_locked()) continue;
      may |= s.since == 0 || s.press - 2 * larger(s.press_before - s.press, 0.0) * time / s.since <= 0;
    }
    return may;
  }
  // the least that any of them presses with
  double least_press(double Stop::* press) {
    double least = 1e300;
    each_near([&](const Stop& s) {
      if (s.held != 0 && !s.is_locked() && s.*press < least) least = s.*press;
    });
    return least;
  }
  // so much time has been taken; with none, nothing is known of what they press with
  void remember_press(double time) {
    each_near([&](Stop& s) { s.press_before = s.press, s.since = s.held ? time : 0; });
  }
  // those that press with no more than that are open from here on
  void let_go(double most, double Stop::* press) {
    each_near([&](Stop& s) {
      if (s.held == 0 || s.is_locked() || s.*press > most) return;
      s.left = true;
      s.held = 0;
    });
  }
  bool holds() const {
    for (int n = 0; n < near_count; ++n)
      if (stop[near[n]].held) return true;
    return false;
  }
  // whether rows other than those of joints must be closed
  bool holds_rows() const {
    for (int n = 0; n < near_count; ++n)
      if (stop[near[n]].held && stop[near[n]].axis < 0) return true;
    return false;
  }
  // while something else is solved for
  template <class F>
  auto besides(Besides what, F&& solve) {
    const int slot = static_cast<int>(what);
    each_near([&](Stop& s) { s.aside[slot] = {s.held, s.takes, s.touched}; });
    const int before = near_count;
    const auto result = solve();
    // others that have been looked at meanwhile are open
    each_near([&](Stop& s) {
      const Stop::Aside& old = s.aside[slot];
      s.held = old.held, s.takes = old.takes, s.touched = old.touched;
      s.aside[slot] = {};
    });
    if (before > 0 || near_count > 0) arm();
    return result;
  }
  // the equations follow the set
  void arm() {
    const bool resting = solver.clock.resting;
    [[maybe_unused]] bool changed = false;
    for (int n = 0; n < near_count; ++n) {
      Stop& s = stop[near[n]];
      s.bound = s.held < 0 ? s.lower : s.upper;
      if constexpr (Solver::acts_on_axes) {
        if (s.axis < 0) continue;
        auto& at = solver.stopped[s.axis];
        changed |= at.held != (s.held != 0);
        at.held = s.held != 0;
        if (!at.held) continue;
        const double by = s.sign * (resting ? s.rate : s.bound - s.phi);
        at.target = !s.turns ? by : resting || by == 0 ? 0.5 * by : std::sin(0.5 * by);
      }
    }
    if constexpr (Solver::acts_on_axes)
      if (changed) solver.hold_stops();
  }
  // what a multiplier is measured by
  double resistance(const Stop& s) const {
    if constexpr (Solver::acts_on_axes)
      if (s.axis >= 0) return std::fabs(solver.stopped[s.axis].pivot);
    JointRows rows;
    measure(s, s.phi, false, rows);
    const double root = row_compliance(law_of(s).measure, solver.body, layout.link, rows, 0);
    return 1 / (root * root);
  }
  // at rest all unknowns are zero, and the increment is what there is
  double push_of(const Stop& s) const {
    return s.axis < 0 && solver.clock.resting ? solver.row_multiplier(s.law, solver.dz) : solver.multiplier_of(s.law);
  }
  // where it is to be held, after an increment
  int wants(Stop& s) {
    if (!s.takes) return s.held;
    const double rounding = solver.clock.resting ? still : 0;
    if (s.held) {
      s.push = push_of(s);
      return s.held * s.push > larger(1e-14, rounding) * resistance(s) && !s.is_locked() ? 0 : s.held;
    }
    if (solver.clock.resting) {
      s.excess = s.at * rate_of(s);
      return s.excess > larger(s.must_pass(least_speed, 1e-9), rounding) ? s.at : 0;
    }
    const double phi = at_end(s);
    s.excess = -s.gap(phi);
    return s.excess > s.must_pass(least_passing, stop_rounding) ? (phi < s.lower ? -1 : 1) : 0;
  }
  // after an increment, the first one for a problem or a later one: true if others are held than before
  bool settle(bool first) {
    if (fixed) return false;
    if (first) pivoting.begin(count());
    int wrong = 0;
    each_near([&](Stop& s) { wrong += (s.wanted = wants(s)) != s.held; });
    if (wrong == 0) return false;
    pivoting.change(wrong, [&](auto&& use) { each_near(use); });
    arm();
    return true;
  }
  // of its measure, after a projection
  double rate_of(const Stop& s) const {
    const ConstraintInfo& m = law_of(s).measure;
    JointRows rows;
    measure(s, s.phi, false, rows);
    double rate = 0;
    for (int e = 0; e < m.end_count; ++e)
      if (m.end[e] >= 0)
        rate += dot(rows.w[e].f, solver.body[m.end[e]].dx) + dot(rows.w[e].t, solver.body[m.end[e]].phi);
    return rate;
  }

  //---- a step that has been solved ----

  // the smallest gap that those which have no part in it have at its end, and whose it is
  double least_gap(int& whose) {
    // how near is near depends on how fast this step is, not the last one
    const double way = reach();
    if (!has_room(way)) pace = larger(pace, way), look_at_all();
    double least = 1e300;
    each_near([&](const Stop& s) {
      if (s.held || (s.takes && !fixed)) return;
      const double gap = s.gap(at_end(s));
      if (gap < least) least = gap, whose = static_cast<int>(&s - stop);
    });
    return least;
  }
  double gap_at_node(int k) {
    look(stop[k]);
    return stop[k].gap(stop[k].phi);
  }
  // on to the next node, before the poses go there
  void commit() {
    pace = reach();
    if (!has_room(pace)) look_at_all();
    travel += pace;
    --due;
    stale = true;
    each_near([&](Stop& s) {
      s.phi = s.held ? s.bound : at_end(s);
      recent[s.law] = s.phi;
      // one that had bounced off may have been caught
      if (s.held) s.left = false;
      ++s.age;
    });
  }

  // the state between steps
  template <class F>
  void visit_state(F&& visit) {
    visit.each(stop, count(), [](auto& to, Stop& s) {
      to(s.held), to(s.at), to(s.left), to(s.near), to(s.touched), to(s.bounces), to(s.phi), to(s.age);
      to(s.press_before), to(s.since), to(s.lower), to(s.upper);
      to(s.slot.present), to(s.slot.kind), to(s.slot.flipped), to(s.slot.key[0]), to(s.slot.key[1]);
    });
    visit(room), visit(travel), visit(pace), visit(due);
    stale = true;
  }
};

}  // namespace catena::CATENA_ISA
