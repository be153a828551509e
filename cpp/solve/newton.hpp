// Newton's method on one step: guess, direction, step length, stop.
//
// The size of an increment is the 2-norm of the velocity change it makes, sqrt(sum |dx|^2 + |phi|^2) / dt, in m/s
// and rad/s: multipliers do not count, since those of redundant rows are not unique and those of long chains have a
// rounding floor far above any useful tolerance.
//
// Guess: the motions of the last steps, extrapolated by the sum of their backward differences, as many of them as would
// have guessed the last step best: the error of a guess by k differences is the k-th difference of the solution.
//
// Stop: when an increment is below the tolerance, or when the next one is certain to be: Newton converges
// quadratically, |next| <= kappa |this|^2, with kappa watched from step to step and taken several times too large.
// Where one more increment with the matrix of the last one is certain to do, that is solved for again instead of a new
// one being made: to an error e such an increment leaves 2 kappa |last move| e, and |last move| kappa is the ratio of
// the two increments; its directions are old as well, off by as much as the last move has turned the bodies.
//
// Step length: full steps, halved while a body would turn too far or while the increment found at the end of the step
// is larger than the one that led there.
//
// Which solution: a step too long for its motion has several, and the guess decides which one is found. That is for the
// caller to judge (`Step::accepted`), who may have Newton begin again at the node's own velocity.
#pragma once

#include <algorithm>

#include "physics/rows/constraint.hpp"
#include "solve/loops/regularised_inverse.hpp"
#include "solve/policy.hpp"
#include "solve/stops.hpp"

namespace catena::CATENA_ISA {

// of steps that were solved, `inaccurate` is what errs too much, and `passed` what goes beyond a stop
enum class Outcome { converged, diverged, too_far, singular, locked, exhausted, flat, inaccurate, passed };

// Times that the set of stops may change in a solve, and a few more for every stop.
constexpr int most_changes = 100, changes_of_each = 4;

constexpr int most_points = 12;

// what is remembered of the steps of one length, for the guess and the stop
struct History {
  double* differences = nullptr;  // backward ones of the solutions, the 0-th is the last one itself
  int count = 0;                  // of them that are known
  int order = 0;                  // of them that the guess sums
  double dt = 0;                  // their step
  double kappa = unknown;         // largest |next| / |this|^2 seen lately
  double calm = 0;                // first increment of the last step that took a second one, or needed none
  int unchecked = 0;              // steps accepted in a row without a second increment
  double miss = 1e300;            // how far (m, rad) the guess of the last step was from its solution
};

template <class Solver>
struct Newton {
  Solver& solver;
  int count;        // unknowns
  int motions;      // of them, first; the rest are multipliers, which start from zero: the step is linear in them
  int points;       // see points_of
  double* last_dz;  // increment of the last move
  double tolerance;
  int iteration_limit;
  double extent;  // typical coordinate (m): sets the rounding floor of the increments

  // On the branch that begins at dt = 0 pivots are positive, or most of them: where no better judge is there, a
  // solution at which one is not counts as another one. So does one that leaves a joint half a turn off, where its rows
  // vanish as well: one of its bodies has turned by a quarter or more, by an angle at which its momentum, J sin(angle),
  // no longer grows, which makes its pivot negative.
  bool by_sign = false;

  int iterations = 0;          // of the last solve
  double newton_residual = 0;  // that it may have left: what one more increment would be
  double* trace = nullptr;     // (iteration limit) increments of the last start, if they are wanted
  int traced = 0;              // how many
  double size = 0;             // last increment

  // The articulated solver measures an increment and evaluates where it leads while it finds it, and can do so with the
  // matrix of the last one; the others do one after the other.
  static constexpr bool looks_ahead = requires(Solver& s) { s.ahead; };

  static constexpr double shortest = 1.0 / 64;
  static constexpr double small_miss = 1e-2;

  Stops<Solver>* stops = nullptr;
  History* history = nullptr;
  const double* rates = nullptr;  // of the unknowns at the first node, from which the first steps are guessed

  void select(History& chosen) { history = &chosen; }

  // The differences of a block of unknowns, which begins with the k-th, stand together. Those of more unknowns than
  // `long_history` would leave the cache, and their steps are short: few will do. Loops want few as well: at a singular
  // pose many differences lead to another solution.
  static constexpr int all_points = Solver::guess_points + 1, few_points = 5, long_history = 1024;
  static constexpr int loop_points = 2;  // in violent motion
  static int points_of(const Layout& layout) {
    return has_loops(layout) || Solver::motion_count(layout) > long_history ? few_points : all_points;
  }
  CATENA_INLINE Block& difference(int k, int d) const {
    return block(history->differences + points * k + block_size * d);
  }
  double& last_solution(int k) const { return history->differences[points * (k - k % block_size) + k % block_size]; }

  double measure(double dt) const {
    Vec3<double> sum = {0, 0, 0};
    if constexpr (looks_ahead) sum = solver.moved;
    for (int i = 0; i < solver.layout.link_count && !looks_ahead; ++i) {
      const Body<double>& b = solver.body[i];
      sum += squares(b.dx) + squares(b.phi);
    }
    return std::sqrt(sum.x + sum.y + sum.z) / std::fabs(dt);
  }

  // fill solver.z with the guess
  void guess(double dt) {
    double* z = solver.z;
    if (history->count == 0) {
      for (int k = 0; k < motions; ++k) z[k] = dt * rates[k];
    } else if (dt != history->dt) {
      // another step length: same velocities
      const double ratio = dt / history->dt;
      for (int k = 0; k < motions; ++k) z[k] = ratio * last_solution(k);
    } else {
      const int violent = has_loops(solver.layout) ? loop_points : Solver::violent_guess_points;
      const int most = history->miss < small_miss ? Solver::guess_points : violent;
      const int order = history->order < most ? history->order : most;
      for (int k = 0; k < motions; k += block_size) {
        Block sum = difference(k, 0);
        for (int d = 1; d < order; ++d) sum += difference(k, d);
        block(z + k) = sum;
      }
    }
    for (int k = motions; k < count; ++k) z[k] = 0;
  }

  // the step has been solved: differences of the new solution, and how many to trust
  void learn(double dt) {
    History& h = *history;
    if (dt != h.dt) h.count = 0;
    h.dt = dt;
    // of the last block, what belongs to the motions
    typedef long long Mask __attribute__((vector_size(sizeof(Block))));
    static constexpr long long masks[2 * block_size] = {-1, -1, -1, -1};
    Mask kept;
    __builtin_memcpy(&kept, masks + (block_size - motions % block_size) % block_size, sizeof kept);
    const int known = h.count;
    if (h.count < points) ++h.count;
    for (int k = 0; k < motions; k += block_size) {
      Block value = block(solver.z + k);
      if (k + block_size > motions) value = (Block)((Mask)value & kept);
      const auto exchange = [&](int d) {
        const Block before = difference(k, d);
        difference(k, d) = value;
        value -= before;
      };
      // once all are known the compiler may unroll
      if (known == all_points)
        for (int d = 0; d < all_points; ++d) exchange(d);
      else
        for (int d = 0; d < known; ++d) exchange(d);
      if (known < h.count) difference(k, known) = value;
    }
    // one more or one less where that would have been better; while there are few, all of them
    const int best = known < 3 ? known : h.order;
    h.order = best + 1 < h.count && squares_of(best + 1) < squares_of(best) ? best + 1
              : best > 1 && squares_of(best - 1) < squares_of(best)         ? best - 1
                                                                            : best;
    if (h.order < 1) h.order = 1;
  }
  double squares_of(int d) const {
    Block sum = {};
    for (int k = 0; k < motions; k += block_size) {
      const Block value = difference(k, d);
      sum += value * value;
    }
    return (sum[0] + sum[1]) + (sum[2] + sum[3]);
  }

  void forget_convergence() {
    history->kappa = unknown;
    history->calm = 0;
    history->unchecked = most_unchecked;
  }
  // after a failure: the last solution alone, as it was, and no trust in what was seen of convergence
  void forget() {
    forget_convergence();
    for (int k = motions; k < count; ++k) solver.z[k] = 0;
    if (history->count == 0) return;
    for (int k = 0; k < motions; ++k) solver.z[k] = last_solution(k);
    history->count = history->order = 1;
  }

  // from `done` parts of the increment on to `alpha` parts, shortened until no body turns too far
  bool move(double& alpha, double done) {
    for (; alpha >= shortest; done = alpha, alpha *= 0.5) {
      for (int k = 0; k < count; ++k) solver.z[k] += (alpha - done) * solver.dz[k];
      if (solver.evaluate()) return true;
    }
    return false;
  }

  // from the guess in solver.z to the solution in solver.z
  Outcome iterate(double dt) {
    double alpha = 1, last = 1e300;
    bool again = false;  // with the matrix of the last increment
    bool fresh = false;  // the last move was made with its own
    int changes = 0;     // of the set of stops
    iterations = 0;
    if (!solver.evaluate()) return Outcome::too_far;
    while (iterations < iteration_limit + changes) {
      ++iterations;
      swap(solver.dz, last_dz);
      const bool fine = look(again);
      size = fine ? measure(dt) : 1e300;
      if (!(size < 1e300)) size = 1e300;
      if (trace && iterations <= iteration_limit) trace[(traced = iterations) - 1] = size;
      if (iterations == 1) history->miss = size * std::fabs(dt);
      const double floor = rounding() / std::fabs(dt);

      // at the rounding floor increments stop falling: nothing more can be gained; but a shortened move leaves
      // multipliers behind
      if (alpha == 1 && at_floor(size, last, floor)) return closed(dt) ? accept(1, size) : Outcome::locked;

      // the move was too long
      if (!(size < last)) {
        if (last == 1e300) return Outcome::singular;
        swap(solver.dz, last_dz);
        again = false;
        const double done = alpha;
        alpha *= 0.5;
        if (!move(alpha, done)) return fine ? Outcome::diverged : Outcome::singular;
        continue;
      }

      double& kappa = history->kappa;
      if (fresh && alpha == 1) kappa = watched(kappa, size, last, floor);
      const double left = Solver::caution * (again ? 2 * size / last + last * std::fabs(dt) : kappa * size) * size;
      fresh = !again;
      again = false;
      alpha = 1;
      last = size;
      if (!go()) {
        alpha = 0.5;
        if (!move(alpha, 1)) return Outcome::too_far;
        continue;
      }
      // another set is another problem: what was seen of the last one says nothing
      if (stops->count() > 0 && stops->settle(changes == 0)) {
        if (++changes > most_changes + changes_of_each * stops->count()) return Outcome::diverged;
        last = 1e300;
        fresh = false;
        continue;
      }
      if (size < tolerance) {
        if (iterations == 1) history->calm = size;
        return closed(dt) ? accept(0, left) : Outcome::locked;
      }
      // large increments prove nothing about the next
      if (left < tolerance && size * std::fabs(dt) < small_miss) {
        if (iterations > 1 && closed(dt)) return accept(0, left);
        // the first increment is trusted alone while the motion stays as calm as when kappa was last seen
        if (iterations == 1 && history->unchecked < most_unchecked && size <= 2 * history->calm && closed(dt))
          return accept(history->unchecked + 1, left);
        if (iterations == 1) history->calm = size;
      }
      again = looks_ahead && fresh && (2 * kappa + std::fabs(dt)) * size * left < tolerance;
    }
    return Outcome::diverged;
  }

  static void swap(double*& a, double*& b) {
    double* other = a;
    a = b;
    b = other;
  }
  bool look(bool again) {
    if constexpr (looks_ahead) return solver.advance(again);
    return solver.direction();
  }
  // false if a body would turn too far
  bool go() {
    if constexpr (looks_ahead) {
      swap(solver.z, solver.ahead);
      return solver.in_range;
    }
    for (int k = 0; k < count; ++k) solver.z[k] += solver.dz[k];
    return solver.evaluate();
  }

  Outcome accept(int unchecked_now, double left) {
    if (by_sign && !solver.positive) return Outcome::diverged;
    history->unchecked = unchecked_now;
    newton_residual = left < size ? left : size;
    return Outcome::converged;
  }

  // Rounding of the poses (m), and what loops make of it that are nearly singular: a gap in the direction of a pivot
  // is as wrong as the root of the pivot is small.
  double rounding() const {
    double amplified = plain_amplification;
    if (has_loops(solver.layout)) {
      const double pivot = solver.smallest() > smallest_pivot ? solver.smallest() : smallest_pivot;
      amplified = std::fmax(amplified, 4 / std::sqrt(pivot));
    }
    return rounding_of(extent, amplified);
  }

  // Small increments alone do not prove a solution of a loop: a gap may be left that no motion closes. Where joints are
  // not closed by construction, an increment leaves gaps of the order of its square.
  bool closed(double dt) {
    const auto limit = [&] { return closing_limit(extent, solver.span, tolerance); };
    if (!has_loops(solver.layout) && !stops->holds_rows()) {
      if (looks_ahead || (size * dt) * (size * dt) < limit()) return true;
    }
    solver.find_gap();
    if (solver.loop_mismatch.size > solver.layout.loop_tolerance) return false;
    if (solver.widest_gap < limit()) return true;
    // the mechanism may be far from where it was
    measure_extent();
    return solver.widest_gap < limit();
  }

  // a typical coordinate, at the end of the step
  void measure_extent() {
    extent = 0;
    for (int i = 0; i < solver.layout.link_count; ++i) {
      const Body<double>& b = solver.body[i];
      const double far = std::sqrt(norm2(b.x)) + std::sqrt(norm2(b.d));
      if (far < 1e300) extent += far / solver.layout.link_count;
    }
  }

  // guess and iterate
  Outcome solve(double dt) {
    guess(dt);
    return iterate(dt);
  }
  // from the given rates of the unknowns
  Outcome solve_from(double dt, const double* given) {
    for (int k = 0; k < count; ++k) solver.z[k] = k < motions ? dt * given[k] : 0;
    return iterate(dt);
  }
};

}  // namespace catena::CATENA_ISA
