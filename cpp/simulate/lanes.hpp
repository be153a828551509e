// The loop over time for a group of members in lanes (solve/lanes.hpp): what simulate/run.hpp does for one.
//
// All take the same steps together, though they may have begun at different ones. A lane that cannot take a step hands
// it to the single-mechanism solver, which may halve it, and comes back at the next node; one that fails there too is
// finished, and its numbers are no longer looked at. Newton's decisions are those of solve/newton.hpp, taken lane by
// lane.
#pragma once

#include <limits>
#include <numbers>

#include "kernel.hpp"
#include "simulate/run.hpp"
#include "solve/articulated.hpp"
#include "solve/lane_loops.hpp"

namespace catena::CATENA_ISA {

// whether a batch can run in lanes
inline bool lanes_fit(const Layout& layout, const RunArgs& args) {
  return args.solver == SolverKind::articulated && args.order == 2 && !args.paper_start && args.signal_count == 0 &&
         LaneLoops::fit(layout);
}

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

// `WithSingle` builds the single-mechanism runner of a lane and hands it to a function
template <class WithSingle>
struct LaneRunner {
  using T = Lane;
  using Mask = Lane::Mask;
  using Single = Runner<Articulated<double>>;
  static constexpr int width = lane_width, points = most_points + 1;
  static constexpr double caution = Articulated<double>::caution;
  static constexpr int matrix_life = 4;  // increments from one to the next

  const Layout& layout;  // of any member
  LaneTree& tree;
  LaneLoops& loops;
  WithSingle with_single;
  T* difference;                           // (unknown, points) backward differences of the solutions, of which the
                                           // 0-th is the last one itself
  double* counted;                         // (lane, counter)
  const Layout* const* layouts = nullptr;  // (lane)
  RunArgs* args = nullptr;                 // (lane)
  int members = 0;                         // lanes in use; the rest repeat the last member
  bool knows_numbers = false;              // those of the members are in the lanes, the same for all groups of members
  long taken = 0;                          // steps of the group
  T began = T(0), origin = T(0);           // the one at which the member came, and its time
  LaneMemory memory = {};
  T half = T(0), extent = T(0), iterations = T(0), remainder = T(0);
  T extra = T(0);         // pieces that rescued steps took more than one
  T wound = T(at_start);  // no counted angle has turned further since it was counted
  Mask poor = {};         // near a singular pose
  long next_stiff_check = 0;
  bool has_springs = true;      // that may be too stiff
  bool has_gravity = false;     // see Runner
  Mask alive = {}, tired = {};  // still running; could not take this step

  const RunArgs& common() const { return args[0]; }
  int member(int k) const { return k < members ? k : members - 1; }
  static CATENA_INLINE void put(Vec3<T>& to, int k, const double* from) {
    to.x.set(k, from[0]);
    to.y.set(k, from[1]);
    to.z.set(k, from[2]);
  }
  static CATENA_INLINE Vec3<double> at(const Vec3<T>& v, int k) { return {v.x[k], v.y[k], v.z[k]}; }
  static CATENA_INLINE void put(Vec3<T>& to, int k, Vec3<double> from) {
    const double p[3] = {from.x, from.y, from.z};
    put(to, k, p);
  }

  // a member's steps, and where they have taken it
  long steps_of(int k) const { return taken - static_cast<long>(began[k]); }
  double time_of(int k) const { return origin[k] + static_cast<double>(steps_of(k)) * common().dt; }

  // masses and laws of the members
  void take_numbers() {
    knows_numbers = true;
    has_springs = has_gravity = false;
    for (int k = 0; k < width; ++k) {
      const Layout& own = *layouts[member(k)];
      for (int i = 0; i < layout.link_count; ++i) {
        const LinkInfo& info = own.link[i];
        LaneLink<T>& l = tree.link[i];
        l.mass.set(k, info.mass);
        l.unit.set(k, info.unit);
        l.share.set(k, info.share);
        for (int e = 0; e < 6; ++e) l.inertia[e].set(k, info.inertia[e]);
        put(l.gravity, k, info.gravity);
        put(l.spin, k, info.spin);
      }
      for (int l = 0; l < layout.law_count; ++l) {
        const double* from = numbers_of(own.law[l]);
        for (int e = 0; e < law_size; ++e) numbers_of(tree.law[l])[e].set(k, from[e]);
        has_springs |= StiffModes<Articulated<double>>::acts(own.law[l]);
      }
    }
  }
  // the caller's arrays -> a lane
  void enter(int k) {
    RunArgs& own = args[member(k)];
    alive[k] = k < members ? -1 : 0;
    with_single(*layouts[member(k)], own, [&](Single& one) {
      one.enter();
      extent.set(k, one.newton.extent);
      take(k, one);
    });
    for (int c = 0; c < own.counter_count && k < members; ++c)
      counted[k * own.counter_count + c] = own.counter_start[c];
    for (int j = 0; j < own.input_count; ++j) {
      const InputInfo& input = own.input[j];
      numbers_of(tree.law[input.law])[input.number].set(k, numbers_of(own.laws[input.law])[input.number]);
    }
    for (long e = 0; e < static_cast<long>(points) * layout.variable_count; ++e) difference[e].set(k, 0);
    memory.restart(k, 0);
    half.set(k, 0);
    extra.set(k, 0);
    wound.set(k, at_start);
    began.set(k, static_cast<double>(taken));
    origin.set(k, own.start_time);
    next_stiff_check = taken;
  }

  // a lane's state from the single solver, and to it
  void take(int k, const Single& one) {
    for (int i = 0; i < layout.link_count; ++i) {
      const Body<double>& from = one.solver.body[i];
      Body<T>& b = tree.body[i];
      put(b.x, k, from.x);
      b.q.w.set(k, from.q.w);
      put(b.q.v, k, from.q.v);
      put(b.v, k, from.v);
      put(b.L, k, from.L);
      put(tree.link[i].offset, k, one.solver.link[i].offset);
    }
    for (int l = 0; l < layout.law_count; ++l) {
      tree.law[l].measured.set(k, one.node.law_angle[l]);
      tree.law[l].momentum.set(k, one.node.law_momentum[l]);
      tree.law[l].before.set(k, one.node.law_force[l]);
    }
  }
  void give(int k, Single& one) const {
    for (int i = 0; i < layout.link_count; ++i) {
      Body<double>& to = one.solver.body[i];
      const Body<T>& b = tree.body[i];
      to.x = at(b.x, k);
      to.q = {b.q.w[k], at(b.q.v, k)};
      to.v = at(b.v, k);
      to.L = at(b.L, k);
      one.solver.link[i].offset = at(tree.link[i].offset, k);
    }
    for (int l = 0; l < layout.law_count; ++l) {
      one.node.law_angle[l] = tree.law[l].measured[k];
      one.node.law_momentum[l] = tree.law[l].momentum[k];
      one.node.law_force[l] = tree.law[l].before[k];
    }
    for (int c = 0; c < common().counter_count; ++c)
      one.node.turns.counted[c] = counted[k * common().counter_count + c];
    one.node.turns.wound = wound[k];
    one.node.half = half[k];
    one.node.leaving = false;
  }

  Pose<double> pose(int i, int k) const {
    if (i < 0) return world_pose();
    const Body<T>& b = tree.body[i];
    return {at(b.x, k), {at(b.R.i, k), at(b.R.j, k), at(b.R.k, k)}};
  }

  // gravity, laws and loads at the node
  void forces() {
    if (has_gravity) return;
    has_gravity = layout.free_law_count == 0 && common().loads.count == 0;
    for (int i = 0; i < layout.link_count; ++i) {
      tree.body[i].f = tree.link[i].gravity;
      tree.body[i].tau = {T(0), T(0), T(0)};
    }
    for (int k = 0; k < members; ++k) {
      const Layout& own = *layouts[k];
      for (int l = 0; l < layout.law_count && layout.free_law_count > 0; ++l) {
        const LawInfo& law = own.law[l];
        if (law.axis >= 0) continue;
        JointRows rows;
        rows.angle[0] = tree.law[l].measured[k];
        joint_rows(law.measure, pose(law.measure.end[0], k), pose(law.measure.end[1], k), rows.angle[0], rows);
        tree.law[l].measured.set(k, rows.angle[0]);
        const double f = node_force(law, rows.g[0], {});
        for (int e = 0; e < 2; ++e)
          if (law.measure.end[e] >= 0) push(law.measure.end[e], k, f * rows.w[e].f, f * rows.w[e].t);
      }
      const Loads& loads = args[k].loads;
      const double* row = loads.values + (loads.rows == 1 ? 0 : 6L * loads.count * taken);
      for (int j = 0; j < loads.count; ++j, row += 6) {
        const int i = layout.body_link[loads.body[j]];
        const Mat3<double> R = pose(i, k).R;
        Vec3<double> f = load3(row), t = load3(row + 3);
        if (loads.in_body_frame[j]) f = R * f, t = R * t;
        push(i, k, f, t + cross(R * load3(loads.point + 3 * j), f));
      }
    }
  }
  void push(int i, int k, Vec3<double> f, Vec3<double> t) {
    Body<T>& b = tree.body[i];
    put(b.f, k, at(b.f, k) + (1 / tree.link[i].unit[k]) * f);
    put(b.tau, k, at(b.tau, k) + t);
  }

  void place() {
    tree.place();
    if (has_loops()) loops.place();
    forces();
    const Mask due = wound > T(count_after);
    for (int k = 0; any(due) && k < members; ++k)
      if (holds(due, k)) count_turns(k);
  }

  void count_turns(int k) {
    const bool fast = wound[k] > fast_turn;
    wound.set(k, 0);
    const auto turned = [&](int i) { return i < 0 ? Vec3<double>{0, 0, 0} : at(tree.body[i].w.v, k); };
    for (int c = 0; c < common().counter_count; ++c) {
      const ConstraintInfo& m = layout.counter[c];
      const Pose<double> a = pose(m.end[0], k);
      double& recent = counted[k * common().counter_count + c];
      const double since = fast ? angle_turned(m, a, turned(m.end[0]), turned(m.end[1])) : 0;
      recent = angle_near(m, a, pose(m.end[1], k), recent + since);
    }
  }

  bool has_loops() const { return layout.loop_count + layout.idle_count > 0; }

  // the open tree's increment is known: with loops their multipliers follow, and the increment that goes with them
  void close(Mask moving) {
    if (!has_loops()) return;
    tree.substitute();
    loops.correct(moving);
    tree.again();
  }

  // see Node::push
  void push(T kick) {
    for (int n = 0; n < layout.axis_count && layout.free_law_count < layout.law_count; ++n) {
      tree.pushed[n] = T(0);
      for (int at = layout.first_axis_law[n]; at < layout.first_axis_law[n + 1]; ++at) {
        const LaneLaw& law = tree.law[layout.axis_law[at]];
        const T impulse = kick * spring_and_motor<T>(law, law.force, law.measured) + half * law.before;
        tree.pushed[n] += T(layout.law[layout.axis_law[at]].sign) * tree.dt * impulse;
      }
    }
  }

  // node velocities into body.dx and body.phi, and rates of the unknowns into dz
  void project() {
    for (int e = 0; e < layout.variable_count; ++e) tree.z[e] = T(0);
    tree.resting = true;
    tree.last(1);
    push(half);
    tree.evaluate(half);
    if (has_loops()) {
      loops.begin();
      loops.look(true);
    }
    tree.factor();
    poor = Mask{};
    if (has_loops()) {
      poor = ~(loops.factor() > T(0));
      tree.again();
      close(alive);
    }
    tree.substitute();
    tree.resting = false;
    for (int k = 0; any(poor & alive) && k < members; ++k)
      if (holds(poor & alive, k)) project_alone(k);
  }
  // the single solver at a lane's node
  template <class F>
  void alone(int k, RunArgs& own, F&& use) {
    with_single(*layouts[k], own, [&](Single& one) {
      one.enter();
      give(k, one);
      one.newton.extent = extent[k];
      one.node.now = time_of(k);
      one.node.place(taken);
      use(one);
    });
  }
  // near a singular pose it takes the solver that looks for the order of rows, and refines
  void project_alone(int k) {
    RunArgs own = args[k];
    alone(k, own, [&](Single& one) {
      one.rest.project(one.node.arriving());
      for (int i = 0; i < layout.link_count; ++i) {
        put(tree.body[i].dx, k, one.solver.body[i].dx);
        put(tree.body[i].phi, k, one.solver.body[i].phi);
      }
      for (int e = 0; e < layout.variable_count; ++e) tree.dz[e].set(k, one.rest.scratch[e]);
    });
  }

  void record() {
    project();
    for (int k = 0; k < members; ++k) {
      if (!holds(alive, k)) continue;
      RunArgs& own = args[k];
      const long r = own.status.records++, n = r * layout.link_count;
      own.out_time[r] = time_of(k);
      for (int c = 0; c < common().counter_count; ++c)
        own.out_counted[r * common().counter_count + c] = counted[k * common().counter_count + c];
      for (int i = 0; i < layout.link_count; ++i) {
        const Body<T>& b = tree.body[i];
        const long row = n + layout.link[i].body;
        store3(own.out_position + 3 * row, at(b.x, k));
        store_quat(own.out_orientation + 4 * row, {b.q.w[k], at(b.q.v, k)});
        store3(own.out_velocity + 3 * row, at(b.dx, k));
        store3(own.out_angular_velocity + 3 * row, at(b.phi, k));
      }
    }
  }

  // the sum of as many differences as each lane trusts; the first step is what the velocities say
  void guess() {
    const Mask first = memory.count < T(1);
    T trust[points];
    for (int d = 0; d < points; ++d) trust[d] = choose(T(d) < memory.order, T(1), T(0));
    for (int e = 0; e < layout.variable_count; ++e) {
      const T* known = difference + points * e;
      T sum = known[0];
      for (int d = 1; d < points; ++d) sum += trust[d] * known[d];
      tree.z[e] = choose(first, T(common().dt) * tree.dz[e], sum);
    }
  }

  // differences of the new solution, and how many to trust: one more or one less where that would have been better
  void learn() {
    T squares[points];
    for (T& t : squares) t = T(0);
    for (int e = 0; e < layout.variable_count; ++e) {
      T* known = difference + points * e;
      T value = choose(tired, known[0], tree.z[e]);
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
    // loops want few: at a singular pose many differences lead to another root
    const T most = T(has_loops() ? Newton<Articulated<double>>::few_points - 1 : points);
    memory.order = choose(tired, m.order, least(choose(order < T(1), T(1), order), most));
    memory.count = choose(tired, m.count, count);
  }

  // one step of all lanes that are alive; those that cannot take it are tired
  void solve() {
    const T dt = T(std::fabs(common().dt)), tolerance = T(common().tolerance);
    guess();
    const T kick = half + T(0.5 * common().dt);
    tree.last(common().dt);
    push(kick);
    const T floor = rounding_of(extent, T(plain_amplification)) / dt;
    T last = T(1e300), origin = T(0);
    LaneMemory& m = memory;
    Mask active = alive, waiting = {};
    tired = Mask{};
    iterations = remainder = T(0);
    for (int pass = 0; any(active) && pass < common().iteration_limit; ++pass) {
      // most increments take the matrix of an earlier one: a rule that no lane's neighbours can change
      const int age = pass % matrix_life;
      T fine = T(1), room, square;
      if (age == 0) {
        fine = tree.evaluate(kick);
        if (has_loops()) {
          if (pass == 0) loops.begin();
          loops.look(true);
        }
        fine = choose(tree.factor() > T(0), fine, T(0));
        if (has_loops()) {
          fine = choose(loops.factor() > T(0), fine, T(0));
          tree.again();
        }
        waiting = Mask{};
      } else {
        if (has_loops()) loops.look(false);
        tree.again();
      }
      const Mask trying = active & ~waiting;
      close(trying);
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
      // a lane in trouble is left to the solver that has a line search and a rescue
      const Mask well = moved & (size < last) & (room > T(0));
      if (age == 1) m.kappa = choose(well, watched(m.kappa, size, last, floor), m.kappa);
      // by what the next increment is smaller: Newton's own, or with an earlier matrix and its directions, which are
      // off by as much as the increment that belongs to them has moved the bodies
      if (age == 0) origin = choose(well, size, origin);
      const T rate = age == 0 ? m.kappa * size : T(age == 1 ? 2 : 1) * size / last + origin * dt;
      const Mask below = well & (size < tolerance), sure = well & (T(caution) * rate * size < tolerance);
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
      remainder = choose(settled, size, choose(solved, least(size, T(caution) * rate * size), remainder));
      last = choose(well, size, last);
      tired |= moved & ~well;
      active &= ~(solved | settled | tired);
    }
    tired |= active;
    if (has_loops()) {
      // small increments alone do not prove a solution of a loop
      const Mask shut = loops.widest() < closing_limit(extent, layout.reach, common().tolerance);
      tired |= alive & ~(shut & ~(loops.misfit > T(layout.fit)));
    }
    // fast ones are for the solver that judges their roots
    if (common().rescue_depth == 0) return;
    T least_cosine = T(1);
    for (int i = 0; i < layout.link_count; ++i) least_cosine = least(least_cosine, tree.body[i].w.w);
    const Mask fast = alive & ~(least_cosine > T(farthest_cosine));
    if (!any(fast)) return;
    Mask close = least_cosine > T(farthest_spin_cosine);
    for (int i = 0; i < layout.link_count; ++i)
      close &= swing_cosine2(tree.body[i], tree.link[i].spin) > T(farthest_cosine * farthest_cosine);
    tired |= fast & ~close;
  }

  // the step has been solved: its momenta become state, the bodies move on
  void commit() {
    const double dt = common().dt;
    const T inverse = T(1 / dt), twice = T(2 / dt);
    learn();
    for (int i = 0; i < layout.link_count; ++i) {
      Body<T>& b = tree.body[i];
      b.v = keep(b.v, (inverse * tree.link[i].share) * b.d);
      b.L = keep(b.L, twice * half_turn_momentum(b));
      const Quat<T> q = renormalised(b.w * b.q);
      b.q = {choose(tired, b.q.w, q.w), keep(b.q.v, q.v)};
      if (slides(layout.link[i].branch)) {
        Vec3<T> way = LaneTree::zero();
        add_slides(layout.link[i], tree.z, way);
        tree.link[i].offset = keep(tree.link[i].offset, tree.link[i].offset + way);
      }
    }
    for (int l = 0; l < layout.law_count; ++l)
      if (layout.law[l].axis >= 0) commit_law(l, inverse);
    balance();
    // carried links are placed anew
    for (int i = 0; i < layout.link_count; i = layout.link[i].tree_end)
      if (form_of(layout.link[i].branch) == floating_form)
        tree.body[i].x = keep(tree.body[i].x, tree.body[i].x + tree.body[i].d);
    if (common().counter_count > 0) wind();
    half = choose(tired, half, T(0.5 * dt));
    for (int k = 0; k < members; ++k) {
      if (holds(tired, k) || !args[k].out_iterations) continue;
      args[k].out_iterations[taken] = static_cast<int>(iterations[k]);
      args[k].out_pieces[taken] = 1;
      args[k].out_remainder[taken] = remainder[k];
    }
  }

  void commit_law(int l, T inverse) {
    T slope;
    LaneLaw& law = tree.law[l];
    const T by = moved_by(layout, layout.law[l], tree.z), lambda = tree.wanted(l, by, slope);
    const auto rotor = law.inertia > T(0);
    law.before = choose(tired, law.before, choose(rotor, T(0), T(2) * inverse * inverse * lambda));
    law.momentum = choose(tired, law.momentum, choose(rotor, law.momentum - inverse * lambda, T(0)));
    law.measured = choose(tired, law.measured, law.measured + T(layout.law[l].sign) * by);
  }

  // how far the ends of any counted angle have turned against each other, or a little more: with c the cosine of half
  // of it, acos c <= pi/2 sqrt(1 - c), or where c < 0 pi sqrt((1 - c)/2)
  void wind() {
    const Quat<T> still = {T(1), LaneTree::zero()};
    T least_cosine = T(1);
    for (int c = 0; c < common().counter_count; ++c) {
      const int *end = layout.counter[c].end, a = end[0], b = end[1];
      const Quat<T>&p = a < 0 ? still : tree.body[a].w, &q = b < 0 ? still : tree.body[b].w;
      least_cosine = least(least_cosine, p.w * q.w + dot(p.v, q.v));
    }
    const T turn = choose(least_cosine > T(0), T(std::numbers::pi), T(std::numbers::pi * std::numbers::sqrt2)) *
                   sqrt(T(1) - least_cosine);
    wound = choose(tired, wound, wound + turn);
  }

  // the old value in lanes that are tired
  CATENA_INLINE Vec3<T> keep(Vec3<T> old, Vec3<T> fresh) const {
    return {choose(tired, old.x, fresh.x), choose(tired, old.y, fresh.y), choose(tired, old.z, fresh.z)};
  }

  // momentum that Newton leaves, as in Step::balance; trees do not meet here, so every floating root keeps its own
  void balance() {
    const T inverse = T(1 / common().dt);
    for (int i = 0; i < layout.link_count; i = layout.link[i].tree_end) {
      if (layout.link[i].keeper != i) continue;
      Body<T>& root = tree.body[i];
      Vec3<T> force = {T(0), T(0), T(0)}, torque = force;
      for (int j = i; j < layout.link[i].tree_end; ++j) {
        const Body<T>& b = tree.body[j];
        const Vec3<T> f = tree.link[j].unit * force_residual(b, tree.link[j].share);
        force += f;
        torque += torque_residual(b) + cross(b.x - root.x, f);
      }
      root.v = keep(root.v, root.v - (inverse / tree.link[i].unit) * force);
      root.L = keep(root.L, root.L - inverse * (torque - cross(root.d, force)));
    }
  }

  // a tired lane's step by the single solver, which may end the member
  void rescue(int k) {
    // records are kept here
    RunArgs own = args[k];
    const long step = steps_of(k);
    const double node = time_of(k);
    double time = node;
    alone(k, own, [&](Single& one) {
      one.progress.spent = step + static_cast<long>(extra[k]);
      // its guess is the last step as it was, or what the velocities say
      History& history = *one.newton.history;
      for (int e = 0; e < layout.variable_count; ++e) one.newton.last_solution(e) = difference[points * e][k];
      history.count = history.order = memory.count[k] > 0 ? 1 : 0;
      history.dt = own.dt;
      one.newton.rates = one.rest.scratch;
      if (memory.count[k] == 0) one.rest.project(one.node.arriving());
      if (!one.rescue.advance(step, time)) {
        own.status.records = args[k].status.records;
        one.node.now = time;
        one.node.place(step);
        const bool recorded = time == node && step % own.record_every == 0;
        if (!recorded && one.recorder.record(time)) ++own.status.records;
        args[k].status = own.status;
        alive[k] = 0;
        return;
      }
      extra.set(k, static_cast<double>(one.progress.spent - step - 1));
      take(k, one);
      half.set(k, one.node.half);
      // turns are counted where its last piece is still known
      one.solver.place();
      one.node.turns.count(one.solver.body, one.solver.clock);
      for (int c = 0; c < common().counter_count; ++c)
        counted[k * common().counter_count + c] = one.node.turns.counted[c];
      wound.set(k, 0);
      memory.restart(k, 1);
      const double ratio = own.dt / history.dt;
      for (int e = 0; e < layout.variable_count; ++e)
        difference[points * e].set(k, ratio * one.newton.last_solution(e));
    });
  }

  // members whose springs cannot be followed end here
  void refuse_stiff() {
    if (!has_springs || taken < next_stiff_check) return;
    next_stiff_check = std::numeric_limits<long>::max();
    for (int k = 0; k < members; ++k) {
      if (!holds(alive, k)) continue;
      RunArgs own = args[k];
      alone(k, own, [&](Single& one) {
        const bool fine = one.springs.follow(steps_of(k), time_of(k));
        next_stiff_check = std::min(next_stiff_check, taken - steps_of(k) + one.progress.next_stiff_check);
        if (fine) return;
        own.status.records = args[k].status.records;
        args[k].status = own.status;
        alive[k] = 0;
      });
    }
  }

  // how those fare that are still running
  void tell(StatusCode code) {
    for (int k = 0; k < members; ++k) {
      if (!holds(alive, k)) continue;
      args[k].status.code = code;
      args[k].status.step = steps_of(k);
      args[k].status.time = time_of(k);
    }
  }
  bool goes_on() const { return !common().poll || common().poll(common().context, taken); }

  // from a node that has been placed
  void step() {
    solve();
    tired |= ~alive;
    commit();
    const Mask rescued = tired & alive;
    for (int k = 0; any(rescued) && k < members; ++k)
      if (holds(rescued, k)) rescue(k);
    ++taken;
  }

  // members of a group: what each is, and what it is to do
  void seat(const Layout* const* own, RunArgs* run, int count) {
    layouts = own;
    args = run;
    members = count;
  }

  void run() {
    taken = 0;
    take_numbers();
    for (int k = 0; k < width; ++k) enter(k);
    while (true) {
      place();
      refuse_stiff();
      const bool last = taken == common().steps;
      if (last || taken % common().record_every == 0) record();
      if (last || !any(alive)) return tell(StatusCode::done);
      if (!goes_on()) return tell(StatusCode::interrupted);
      step();
    }
  }

  //---- step by step: between two calls the lanes are for other members, and what is carried over stands in a row ----

  template <class F>
  void each_carried(F&& use) {
    const auto use3 = [&](Vec3<T>& v) { use(v.x), use(v.y), use(v.z); };
    for (int i = 0; i < layout.link_count; ++i) {
      Body<T>& b = tree.body[i];
      const int branch = layout.link[i].branch;
      // carried links are placed anew
      if (form_of(branch) == floating_form) use3(b.x);
      use(b.q.w), use3(b.q.v), use3(b.v), use3(b.L);
      if (slides(branch)) use3(tree.link[i].offset);
    }
    for (int l = 0; l < layout.law_count; ++l)
      use(tree.law[l].measured), use(tree.law[l].momentum), use(tree.law[l].before);
    for (int j = 0; j < common().input_count; ++j)
      use(numbers_of(tree.law[common().input[j].law])[common().input[j].number]);
    for (long e = 0; e < static_cast<long>(points) * layout.variable_count; ++e) use(difference[e]);
    use(memory.count), use(memory.order), use(memory.kappa), use(memory.calm), use(memory.unchecked);
    use(half), use(extent), use(extra), use(wound), use(began), use(origin);
    T is_alive = choose(alive, T(1), T(0)), steps = T(static_cast<double>(taken)),
      check = T(static_cast<double>(next_stiff_check));
    use(is_alive), use(steps), use(check);
    alive = is_alive > T(0);
    taken = static_cast<long>(steps[0]);
    next_stiff_check = static_cast<long>(check[0]);
  }

  // Steps from the node of the last call on; lanes whose bit is set in `entering` begin where their arrays say.
  void go_on(T* row, unsigned entering, bool own_numbers) {
    counted = args[0].out_counted;
    if (own_numbers || !knows_numbers) take_numbers();
    const bool all = entering == (1U << width) - 1;
    if (all)
      taken = 0;
    else
      each_carried([at = row](T& value) mutable { value = *at++; });
    for (int k = 0; k < width; ++k)
      if (entering >> k & 1)
        enter(k);
      else if (k < members)
        hand_over_inputs(k);
    place();
    if (common().steps > 0) change_inputs();
    // a lane's first guess is what its velocities say
    if (common().steps > 0 && any(alive & (memory.count < T(1)))) project();
    refuse_stiff();
    StatusCode code = StatusCode::done;
    for (long end = taken + common().steps; taken < end && any(alive);) {
      if (!goes_on()) {
        code = StatusCode::interrupted;
        break;
      }
      step();
      place();
      refuse_stiff();
    }
    tell(code);
    record();
    each_carried([at = row](T& value) mutable { *at++ = value; });
  }
  // for the single solver
  void hand_over_inputs(int k) {
    for (int j = 0; j < common().input_count; ++j) {
      const InputInfo& input = common().input[j];
      numbers_of(args[k].laws[input.law])[input.number] = numbers_of(tree.law[input.law])[input.number][k];
    }
  }
  // see Runner
  void change_inputs() {
    for (int j = 0; j < common().input_count; ++j) {
      const int l = common().input[j].law;
      LaneLaw& law = tree.law[l];
      const T before = law.force;
      for (int k = 0; k < width; ++k) numbers_of(law)[common().input[j].number].set(k, args[member(k)].input_value[j]);
      const T less = before - law.force;
      if (layout.law[l].axis >= 0) {
        law.before += choose(half > T(0), less, T(0));
      } else {
        for (int k = 0; k < members; ++k) apply(l, k, half[k] * less[k]);
        has_gravity = false;
      }
    }
    for (int k = 0; k < members; ++k) hand_over_inputs(k);
    forces();
  }
  // an impulse along the measure of a law
  void apply(int l, int k, double impulse) {
    if (impulse == 0) return;
    const ConstraintInfo& m = layouts[k]->law[l].measure;
    JointRows rows;
    rows.angle[0] = tree.law[l].measured[k];
    joint_rows(m, pose(m.end[0], k), pose(m.end[1], k), rows.angle[0], rows);
    for (int e = 0; e < 2; ++e) {
      const int i = m.end[e];
      if (i < 0) continue;
      Body<T>& b = tree.body[i];
      put(b.v, k, at(b.v, k) + (impulse / tree.link[i].unit[k]) * rows.w[e].f);
      put(b.L, k, at(b.L, k) + impulse * rows.w[e].t);
    }
  }
};

}  // namespace catena::CATENA_ISA
