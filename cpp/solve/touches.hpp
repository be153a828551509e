// Contacts with friction in Newton's method.
//
// Each of them is also a stop, and solve/stops.hpp decides which of them touch, bounce or are caught. This file has
// Coulomb's law of those that take part. It is evaluated after every increment; a change of grip counts as a change of
// the active set. A contact with the world is eliminated with its link, if the solver can do so (`Solver::takes_lone`);
// any other contact is rows (physics/rows/touch.hpp).
//
// In a projection of velocities, an increment gives the velocities as a whole, not their change. The iterate of the
// law, its rates and impulses, is therefore stored here.
#pragma once

#include "physics/stop.hpp"
#include "physics/touch.hpp"

namespace catena::CATENA_ISA {

// Allowed violation of a law in a step (m) or of velocities (m/s): absolute, and relative to what moves.
constexpr double most_misfit = 1e-13, least_misfit = 1e-15;
// Changes of grip after which increments are shortened, and number of increments of velocities before giving up.
constexpr int changes_at_length = 5, most_looks = 60;

template <class Solver>
struct Touches {
  Solver& solver;
  Touch* touch;        // (contact with friction)
  bool stuck = false;  // the next evaluation lets all contacts stick
  double eps = usual_eps;
  double scale = 1;     // multipliers of the step per force
  double over = 0;      // length of a step whose guess is the impulses of velocities, else 0
  double misfit = 0;    // the largest violation in the last evaluation
  int looks = 0;        // evaluations at velocities in this solve
  bool failed = false;  // velocities have not converged
  double damped = 1;    // fraction of an increment of velocities that is applied
  const Layout& layout = solver.layout;

  int count() const { return layout.touch_count; }
  bool rub() const { return solver.clock.rubs; }
  Touch& of(const Stop& s) const { return touch[s.touch]; }
  double* multipliers(const Touch& t) const { return solver.z + t.row; }
  template <class F>
  CATENA_INLINE void each(F&& use) {
    for (int k = 0; k < count(); ++k)
      if (touch[k].takes) use(touch[k]);
  }

  void enter() {
    for (int k = 0; k < count(); ++k) {
      touch[k].enter(layout, k);
      touch[k].row = solver.touch_row(layout.constraint[layout.law[touch[k].law].constraint]);
    }
    solver.clock.rubs = false;
  }
  void place(const Stop& s) { of(s).place(layout, solver.body); }
  // notes which contacts take part
  void watch(const Stop* stop) {
    solver.clock.rubs = false;
    for (int k = 0; k < count(); ++k) {
      touch[k].takes = stop[touch[k].stop].takes;
      solver.clock.rubs |= touch[k].takes;
      if (!touch[k].takes) touch[k].grip = Grip::open;
    }
  }

  //---- a step ----

  // the forces of the step before are the first guess
  void begin() {
    if (!rub()) return;
    for (int k = 0; k < count(); ++k) {
      double* const lambda = multipliers(touch[k]);
      if (touch[k].takes) touch[k].begin(layout, solver.clock.dt, scale);
      for (int e = 0; e < 3; ++e) {
        const double guess =
            over > 0 ? over * touch[k].impulse[e] : scale * dot(touch[k].pressed, touch[k].direction[e]);
        lambda[e] = touch[k].takes ? guess : 0;
      }
    }
  }
  // evaluates the law at the iterate; true if the grip of any contact changes
  bool look() {
    if (!rub()) return false;
    bool changed = false;
    misfit = 0;
    each([&](Touch& t) {
      const Grip before = t.grip;
      const bool pulled = t.law_there.pulls;
      t.look(layout, solver.body, multipliers(t), eps, stuck);
      const double open = t.misfit();
      // if the law holds with either grip, it is no change
      changed |= (t.grip != before || t.law_there.pulls != pulled) && open > most_misfit;
      misfit = larger(misfit, open);
    });
    stuck = false;
    return changed;
  }
  bool fits(double extent) const { return !rub() || misfit < most_misfit + least_misfit * extent; }

  //---- velocities ----

  // lets closed contacts stick
  void rest() {
    each([&](Touch& t) {
      for (int k = 0; k < 3; ++k) t.value[k] = t.impulse[k] = 0;
      t.want = 0;
      const Grip before = t.grip;
      t.look_at_rates(layout, eps, before != Grip::open);
      t.grip = before;
    });
  }
  // begins with arriving velocities, and with the forces of the last interval
  void begin_rates(double half) {
    if (!rub()) return;
    each([&](Touch& t) {
      t.want = 0;
      for (int k = 0; k < 3; ++k) {
        t.impulse[k] = half * dot(t.pressed, t.direction[k]);
        t.value[k] = 0;
        for (int e = 0; e < 2; ++e) t.value[k] += arriving(t, e, k);
      }
    });
    begin_looks(false);
  }
  // rate of an end that follows from the momenta of the balance
  double arriving(const Touch& t, int e, int k) const {
    const int i = t.end[e];
    if (i < 0 || layout.link[i].mass == 0) return 0;
    const Body<double>& b = solver.body[i];
    double det;
    const Mat3<double> cofactors = adjugate(b.J, det);
    return dot(t.force[e][k].f, b.target_d) + dot(t.force[e][k].t, cofactors * b.target_L) / det;
  }
  void begin_strike(const Stop* stop) {
    each([&](Touch& t) {
      t.want = stop[t.stop].rate;
      t.slipped = {0, 0, 0};
      for (int k = 0; k < 3; ++k) t.impulse[k] = 0, t.approach[k] = t.value[k] = t.rate(solver.body, k);
    });
    begin_looks(true);
  }
  void begin_looks(bool all_stick) {
    eps = usual_eps;
    failed = false;
    look_first(all_stick);
  }
  void look_first(bool all_stick) {
    looks = 0;
    damped = 1;
    stuck = all_stick;
    look_at_rates();
  }
  bool look_at_rates() {
    bool changed = false;
    misfit = 0;
    each([&](Touch& t) {
      const Grip before = t.grip;
      t.look_at_rates(layout, eps, stuck);
      const double open = t.misfit();
      changed |= t.grip != before && open > most_misfit;
      misfit = larger(misfit, open);
    });
    stuck = false;
    return changed;
  }
  // evaluates the law after an increment; true if another increment is needed
  bool settle_rates() {
    double fastest = 0;
    each([&](Touch& t) {
      const double* const now = solver.dz + t.row;
      for (int k = 0; k < 3; ++k) {
        const double rate = t.rate(solver.body, k);
        fastest = larger(fastest, std::fabs(rate));
        t.value[k] += damped * (rate - t.value[k]);
        t.impulse[k] += damped * (now[k] - t.impulse[k]);
      }
    });
    const double before = misfit;
    const bool changed = look_at_rates();
    if (++looks == most_looks) {
      failed = eps != usual_eps;
      if (failed) return false;
      // again, with all contacts sticking and a more regular matrix
      eps = coarse_eps;
      each([](Touch& t) { t.impulse[0] = t.impulse[1] = t.impulse[2] = 0; });
      look_first(true);
      return true;
    }
    damped = changed && looks > 8 ? (looks % 3 == 0 ? 0.25 : 0.5) : 1;
    if (changed || damped < 1) return true;
    const double enough = most_misfit + 10 * least_misfit * fastest;
    // rounding divided by eps limits the accuracy
    const bool more = !(misfit < enough || (looks > 3 && misfit > 0.3 * before && misfit < 1e3 * enough));
    if (!more) eps = usual_eps;
    return more;
  }
  bool settle(Stop* stop) {
    if (!rub()) return false;
    const bool changed = solver.clock.resting ? settle_rates() : look();
    each([&](Touch& t) {
      Stop& s = stop[t.stop];
      s.held = t.grip == Grip::open ? 0 : -1;
      s.push = solver.clock.resting ? t.impulse[0] : multipliers(t)[0];
    });
    return changed;
  }

  // energy lost to friction in an impact
  double rubbed(const Touch& t) const {
    double sum = 0;
    for (int k = 1; k < 3; ++k) sum -= 0.5 * t.impulse[k] * (t.approach[k] + t.rate(solver.body, k));
    return sum;
  }
  // begins an impact without restitution
  void begin_plastic() {
    each([](Touch& t) {
      t.want = 0;
      for (int k = 0; k < 3; ++k) t.bounced[k] = t.impulse[k], t.impulse[k] = 0;
    });
    begin_looks(true);
  }
  // adds to it a part of the difference to the impact with restitution
  void mix(double part) {
    each([&](Touch& t) {
      for (int k = 0; k < 3; ++k) t.impulse[k] += part * (t.bounced[k] - t.impulse[k]);
    });
  }
  // the contact with the largest violation of its law, -1 if none takes part
  int worst() const {
    int found = -1;
    for (int k = 0; k < count(); ++k)
      if (touch[k].takes && (found < 0 || touch[k].misfit() > touch[found].misfit())) found = k;
    return found;
  }

  //---- between steps ----

  void commit() {
    const Vec3<double> none = {0, 0, 0};
    for (int k = 0; k < count(); ++k) {
      Touch& t = touch[k];
      t.pressed = t.takes && scale != 0 ? (1 / scale) * t.along_directions(multipliers(t)) : none;
      const bool slips = t.takes && t.grip == Grip::slips;
      t.slipped = slips ? (1 / solver.clock.dt) * (t.value[1] * t.direction[1] + t.value[2] * t.direction[2]) : none;
    }
  }
  void put_aside(int slot) {
    for (int k = 0; k < count(); ++k) touch[k].aside[slot] = touch[k].grip;
  }
  void take_back(int slot) {
    for (int k = 0; k < count(); ++k) touch[k].grip = touch[k].aside[slot];
  }
  template <class F>
  void visit_state(F&& visit) {
    visit.each(touch, count(), [](auto& to, Touch& t) { to(t.pressed), to(t.slipped), to(t.grip); });
  }
};

}  // namespace catena::CATENA_ISA
