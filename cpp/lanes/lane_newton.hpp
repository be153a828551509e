// Newton's method on one step of several members in lockstep: what solve/newton.hpp does for one, deciding lane by lane
// by the same rules (solve/policy.hpp).
//
// Lanes must not wait for each other, so there is no line search and no second start: a lane that does not come closer
// is unsolved, and left to the solver that has them. Most increments take the matrix of an earlier one, by a rule that
// no lane's neighbours can change.
#pragma once

#include "lanes/lane_loops.hpp"
#include "solve/tree/articulated.hpp"

namespace catena::CATENA_ISA {

// what lanes remember of their convergence (struct History)
struct LaneMemory {
  Lane count = Lane(0), order = Lane(0);  // of differences that are known, and that the guess sums
  Lane kappa = Lane(unknown), calm = Lane(0), unchecked = Lane(0);

  // with so many solutions that are known
  void restart(int k, int known) {
    count.set(k, known);
    order.set(k, known);
    kappa.set(k, unknown);
    calm.set(k, 0);
    unchecked.set(k, 0);
  }
};

struct LaneNewton {
  using T = Lane;
  using Mask = Lane::Mask;
  using Single = Newton<Articulated<double>>;
  static constexpr int points = Single::all_points;
  static constexpr double caution = Articulated<double>::caution;
  static constexpr int matrix_life = 4;  // increments from one to the next

  const Layout& layout;
  LaneTree& tree;
  LaneLoops& loops;
  T* difference;  // (unknown, points) backward differences of the solutions, of which the 0-th is the last one itself
  double tolerance = 0;
  int iteration_limit = 0;
  T extent = T(0);
  LaneMemory memory = {};
  T iterations = T(0), newton_residual = T(0);  // of the last solve

  T& last_solution(int e) const { return difference[points * e]; }
  // nothing is known of a lane
  void enter(int k) {
    for (long e = 0; e < static_cast<long>(points) * layout.variable_count; ++e) difference[e].set(k, 0);
    memory.restart(k, 0);
  }

  // The sum of as many differences as each lane trusts; the first step is what the velocities say. Lanes trust
  // different numbers of them: all are read, and most count as nothing.
  void guess(double dt) {
    const Mask first = memory.count < T(1);
    T trust[points];
    for (int d = 0; d < points; ++d) trust[d] = choose(T(d) < memory.order, T(1), T(0));
    for (int e = 0; e < layout.variable_count; ++e) {
      const T* known = difference + points * e;
      T sum = known[0];
      for (int d = 1; d < points; ++d) sum += trust[d] * known[d];
      tree.z[e] = choose(first, T(dt) * tree.dz[e], sum);
    }
  }

  // Differences of the new solution, and how many to trust: one more or one less where that would have been better. As
  // in Newton::learn, but a lane cannot ask for the squares of two differences: all are summed on the way.
  void learn(Mask unsolved) {
    T squares[points];
    for (T& t : squares) t = T(0);
    for (int e = 0; e < layout.variable_count; ++e) {
      T* known = difference + points * e;
      T value = choose(unsolved, known[0], tree.z[e]);
      for (int d = 0; d < points; ++d) {
        const T before = known[d];
        known[d] = value;
        squares[d] += value * value;
        value -= before;
      }
    }
    const LaneMemory m = memory;
    const T best = choose(m.count < T(3), m.count, m.order), count = least(m.count + T(1), T(points));
    T fewer = T(0), same = T(0), more = T(0);
    for (int d = 0; d < points; ++d) {
      fewer = choose(best.v == T(d + 1).v, squares[d], fewer);
      same = choose(best.v == T(d).v, squares[d], same);
      more = choose(best.v == T(d - 1).v, squares[d], more);
    }
    const Mask up = (best + T(1) < count) & (more < same), down = (best > T(1)) & (fewer < same);
    const T order = choose(up, best + T(1), choose(down, best - T(1), best));
    // see Newton::points_of
    const T most = T(has_loops(layout) ? Single::few_points - 1 : points);
    memory.order = choose(unsolved, m.order, least(choose(order < T(1), T(1), order), most));
    memory.count = choose(unsolved, m.count, count);
  }

  // from the guess to the solution in all lanes that are alive; those that do not get there are unsolved
  Mask iterate(double interval, T kick, Mask alive) {
    const T dt = T(std::fabs(interval)), tolerated = T(tolerance);
    const T floor = rounding_of(extent, T(plain_amplification)) / dt;
    T last = T(1e300), origin = T(0);
    LaneMemory& m = memory;
    Mask active = alive, waiting = {}, unsolved = {};
    iterations = newton_residual = T(0);
    for (int pass = 0; any(active) && pass < iteration_limit; ++pass) {
      const int age = pass % matrix_life;
      T fine = T(1), room, square;
      if (age == 0) {
        fine = tree.evaluate(kick);
        if (has_loops(layout)) {
          if (pass == 0) loops.begin();
          loops.look(true);
        }
        fine = choose(tree.factor() > T(0), fine, T(0));
        if (has_loops(layout)) {
          fine = choose(loops.factor() > T(0), fine, T(0));
          tree.again();
        }
        waiting = Mask{};
      } else {
        if (has_loops(layout)) loops.look(false);
        tree.again();
      }
      const Mask trying = active & ~waiting;
      if (has_loops(layout)) loops.close(trying);
      tree.advance(trying, square, room);
      iterations = choose(active, iterations + T(1), iterations);
      const T size = choose(fine > T(0), sqrt(square) / dt, T(1e300));

      // rounding: nothing more can be gained; early on it is the old matrix that gains little
      Mask settled = {};
      if (pass >= matrix_life) settled = trying & at_floor(size, last, floor);
      // where the old matrix is no good: wait for the next
      if (age > 0) {
        const Mask poor = trying & ~settled & ~(size < T(0.5) * last);
        if (any(poor)) {
          waiting |= poor;
          for (int e = 0; e < layout.variable_count; ++e) tree.ahead[e] = choose(poor, tree.z[e], tree.ahead[e]);
        }
      }
      T* const next = tree.ahead;
      tree.ahead = tree.z;
      tree.z = next;
      const Mask moved = trying & ~settled & ~waiting;
      const Mask well = moved & (size < last) & (room > T(0));
      if (age == 1) m.kappa = choose(well, watched(m.kappa, size, last, floor), m.kappa);
      // by what the next increment is smaller: Newton's own, or with an earlier matrix and its directions, which are
      // off by as much as the increment that belongs to them has moved the bodies
      if (age == 0) origin = choose(well, size, origin);
      const T rate = age == 0 ? m.kappa * size : T(age == 1 ? 2 : 1) * size / last + origin * dt;
      const Mask below = well & (size < tolerated), sure = well & (T(caution) * rate * size < tolerated);
      Mask solved = below | sure;
      T unchecked = T(0);
      if (pass == 0) {
        // the first increment is trusted alone while the motion stays as calm as when kappa was last seen
        const Mask trusted = sure & ~below & (m.unchecked < T(most_unchecked)) & ~(size > m.calm + m.calm);
        unchecked = choose(trusted, m.unchecked + T(1), T(0));
        m.calm = choose((sure | below) & ~trusted, size, m.calm);
        solved = below | trusted;
      }
      m.unchecked = choose(settled, T(1), choose(solved, unchecked, m.unchecked));
      newton_residual = choose(settled, size, choose(solved, least(size, T(caution) * rate * size), newton_residual));
      last = choose(well, size, last);
      unsolved |= moved & ~well;
      active &= ~(solved | settled | unsolved);
    }
    unsolved |= active;
    if (has_loops(layout)) {
      // small increments alone do not prove a solution of a loop
      const Mask shut = loops.widest() < closing_limit(extent, layout.span, tolerance);
      unsolved |= alive & ~(shut & ~(loops.loop_mismatch > T(layout.loop_tolerance)));
    }
    return unsolved;
  }
};

}  // namespace catena::CATENA_ISA
