// Newton's method on one step: guess, direction, step length, stop.
//
// The size of an increment is the 2-norm of the velocity change it makes, sqrt(sum |dx|^2 + |phi|^2) / dt, in m/s
// and rad/s: multipliers do not count, since those of redundant rows are not unique and those of long chains have a
// rounding floor far above any useful tolerance.
//
// Guess: the motions of the last four steps, extrapolated by a cubic. Stop: when an increment is below the tolerance,
// or when the next one is certain to be: Newton converges quadratically, |next| <= kappa |this|^2, with kappa watched
// from step to step and taken several times too large. Step length: full steps, halved while a body would turn too far
// or while the increment found at the end of the step is larger than the one that led there.
#pragma once

#include "physics/body.hpp"
#include "solve/loop.hpp"

namespace catena::CATENA_ISA {

enum class Outcome { converged, diverged, too_far, singular, locked };

// what is remembered of the steps of one length, for the guess and the stop
struct History {
  double* z;             // the last solution; the solver works in it
  double* past[3];       // earlier ones, newest first
  int count = 0;         // usable solutions, z included
  double dt = 0;         // their step
  double kappa = 1e300;  // largest |next| / |this|^2 seen lately
  double calm = 0;       // first increment of the last step that took a second one, or needed none
  int unchecked = 0;     // steps accepted in a row without a second increment
  double reach = 1e300;  // how far (m, rad) the guess of the last step was from its solution
};

template <class Solver>
struct Newton {
  Solver& solver;
  int count;     // unknowns
  int motions;   // of them, first; the rest are multipliers, which start from zero: the step is linear in them
  double* base;  // iterate and increment before the last move
  double* base_dz;
  double tolerance;
  int iteration_limit;
  double extent;  // typical coordinate (m): sets the rounding floor of the increments

  int iterations = 0;  // of the last solve
  double size = 0;     // last increment

  static constexpr int check_every = 16;
  static constexpr double shortest = 1.0 / 64;
  static constexpr double calm_reach = 1e-2;

  History* history = nullptr;
  const double* rates = nullptr;  // of the unknowns at the first node, from which the first steps are guessed

  void select(History& chosen) {
    history = &chosen;
    solver.z = chosen.z;
  }

  double measure(double dt) const {
    double sum = 0;
    for (int i = 0; i < solver.layout.link_count; ++i) {
      const Body<double>& b = solver.body[i];
      sum += norm2(b.dx) + norm2(b.phi);
    }
    return std::sqrt(sum) / std::fabs(dt);
  }

  // fill solver.z with the guess and remember what it was made of
  void guess(double dt) {
    double* z = solver.z;
    for (int k = motions; k < count; ++k) z[k] = 0;
    if (history->count == 0) {
      for (int k = 0; k < motions; ++k) z[k] = dt * rates[k];
    } else if (dt != history->dt) {
      // another step length: same velocities
      const double ratio = dt / history->dt;
      for (int k = 0; k < motions; ++k) history->past[0][k] = z[k], z[k] *= ratio;
      history->count = 1;
    } else {
      static constexpr double weights[4][4] = {{1, 0, 0, 0}, {2, -1, 0, 0}, {3, -3, 1, 0}, {4, -6, 4, -1}};
      const int most = history->reach < calm_reach ? 4 : Solver::guess_points;
      const double* w = weights[(history->count < most ? history->count : most) - 1];
      const double w0 = w[0], w1 = w[1], w2 = w[2], w3 = w[3];
      double *p0 = history->past[0], *p1 = history->past[1], *p2 = history->past[2];
      for (int k = 0; k < motions; ++k) {
        const double now = z[k], a = p0[k], b = p1[k], c = p2[k];
        z[k] = w0 * now + w1 * a + w2 * b + w3 * c;
        p2[k] = b;
        p1[k] = a;
        p0[k] = now;
      }
    }
  }

  // after a failure: the last solution alone, as it was, and no trust in what was seen of convergence
  void forget() {
    history->kappa = 1e300;
    for (int k = motions; k < count; ++k) solver.z[k] = 0;
    if (history->count == 0) return;
    for (int k = 0; k < motions; ++k) solver.z[k] = history->past[0][k];
    history->count = 1;
  }

  // z = base + alpha base_dz, shortened until no body turns too far
  bool move(double& alpha) {
    for (; alpha >= shortest; alpha *= 0.5) {
      for (int k = 0; k < count; ++k) solver.z[k] = base[k] + alpha * base_dz[k];
      if (solver.evaluate()) return true;
    }
    return false;
  }

  // from the guess in solver.z to the solution in solver.z
  Outcome iterate(double dt) {
    // rounding of the poses, and what near-singular loops make of the rounding in their gaps
    const double amplified =
        solver.layout.loop_count > solver.layout.law_row_count ? 4 / std::sqrt(smallest_pivot) : 256;
    const double floor = amplified * 2.2e-16 * (1 + extent) / std::fabs(dt);
    double alpha = 1, last = 1e300;
    iterations = 0;
    if (!solver.evaluate()) return Outcome::too_far;
    while (iterations < iteration_limit) {
      ++iterations;
      const bool fine = solver.direction();
      size = fine ? measure(dt) : 1e300;
      if (!(size < 1e300)) size = 1e300;
      if (iterations == 1) history->reach = size * std::fabs(dt);

      // at the rounding floor increments stop falling: nothing more can be gained
      if (last < floor && size > 0.25 * last && size < 4 * floor) return closed() ? accept(1) : Outcome::locked;

      // the move was too long
      if (!(size < last)) {
        if (last == 1e300) return Outcome::singular;
        alpha *= 0.5;
        if (!move(alpha)) return fine ? Outcome::diverged : Outcome::singular;
        continue;
      }

      if (last < 1e300 && alpha == 1) {
        // below the floor the ratio says nothing but that kappa is no larger
        const double seen = size / (last * last);
        double& kappa = history->kappa;
        kappa = kappa == 1e300 || seen > 0.8 * kappa ? seen : 0.8 * kappa;
      }
      double* z = solver.z;
      for (int k = 0; k < count; ++k) base[k] = z[k], base_dz[k] = solver.dz[k];
      const double full = alpha = 1;
      last = size;
      if (!move(alpha)) return Outcome::too_far;
      if (alpha < full) continue;
      if (size < tolerance) {
        if (iterations == 1) history->calm = size;
        return closed() ? accept(0) : Outcome::locked;
      }
      if (Solver::caution * history->kappa * size * size < tolerance) {
        if (iterations > 1 && closed()) return accept(0);
        // the first increment is trusted alone while the motion stays as calm as when kappa was last seen
        if (iterations == 1 && history->unchecked < check_every && size <= 2 * history->calm && closed())
          return accept(history->unchecked + 1);
        if (iterations == 1) history->calm = size;
      }
    }
    return Outcome::diverged;
  }

  Outcome accept(int unchecked_now) {
    history->unchecked = unchecked_now;
    return Outcome::converged;
  }

  // Small increments alone do not prove a solution of a loop: a gap may be left that no motion closes.
  bool closed() {
    if (solver.layout.loop_count == solver.layout.law_row_count) return true;
    solver.find_gap();
    return solver.widest_gap < 1e-11 * (1 + extent / solver.reach) + 1e-2 * tolerance;
  }

  // guess and iterate; a bad extrapolation is tried again from the last step's motion, and then from rest
  Outcome solve(double dt) {
    const bool extrapolates = history->count > 1 && dt == history->dt;
    guess(dt);
    Outcome outcome = iterate(dt);
    if (outcome != Outcome::converged && extrapolates) {
      forget();
      outcome = iterate(dt);
    }
    if (outcome != Outcome::converged && history->count > 0) {
      for (int k = 0; k < count; ++k) solver.z[k] = 0;
      outcome = iterate(dt);
    }
    if (outcome != Outcome::converged) {
      forget();
      return outcome;
    }
    history->count = dt == history->dt && history->count > 0 ? (history->count < 4 ? history->count + 1 : 4) : 1;
    history->dt = dt;
    return outcome;
  }
};

}  // namespace catena::CATENA_ISA
