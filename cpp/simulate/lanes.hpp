// The loop over time for a group of members in lanes (solve/lanes.hpp): what simulate/run.hpp does for one.
//
// All take the same steps together. A lane that cannot take a step hands it to the single-mechanism solver, which may
// halve it, and comes back at the next node; one that fails there too is finished, and its numbers are no longer looked
// at. Newton's decisions are those of solve/newton.hpp, taken lane by lane.
#pragma once

#include "kernel.hpp"
#include "simulate/run.hpp"
#include "solve/articulated.hpp"
#include "solve/lanes.hpp"

namespace catena::CATENA_ISA {

// whether a batch can run in lanes
inline bool lanes_fit(const Layout& layout, const RunArgs& args) {
  return args.solver == SolverKind::articulated && args.order == 2 && !args.paper_start && args.signal_count == 0 &&
         LaneTree::fits(layout);
}

// what a lane remembers of its convergence (struct History)
struct LaneMemory {
  int count = 0, order = 0;  // of differences that are known, and that the guess sums
  double kappa = 1e300, calm = 0;
  int unchecked = 0;
};

// `WithSingle` builds the single-mechanism runner of a lane and hands it to a function
template <class WithSingle>
struct LaneRunner {
  using T = Lane;
  using Single = Runner<Articulated<double>>;
  static constexpr int width = lane_width;
  static constexpr int check_every = Newton<Articulated<double>>::check_every;
  static constexpr double caution = Articulated<double>::caution;

  const Layout& layout;          // of any member
  const Layout* const* layouts;  // (lane)
  RunArgs* args;                 // (lane)
  int members;                   // lanes in use; the rest repeat the last member
  LaneTree& tree;
  WithSingle& with_single;
  T* difference[most_points + 1];  // backward differences of the solutions, the 0-th is the last one itself
  T *trial, *dz;
  double* angle;    // (lane, law)
  double* counted;  // (lane, counter)
  LaneMemory memory[width] = {};
  double half[width] = {}, wound[width] = {}, last_turn[width] = {}, extent[width] = {};
  bool alive[width] = {}, tired[width] = {};  // still running; could not take this step
  int iterations[width] = {};

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

  // the callers' arrays -> lanes
  void enter() {
    for (int k = 0; k < width; ++k) {
      half[k] = wound[k] = 0;
      alive[k] = k < members;
      tired[k] = false;
      const Layout& own = *layouts[member(k)];
      for (int i = 0; i < layout.link_count; ++i) {
        const LinkInfo& info = own.link[i];
        LaneLink<T>& l = tree.link[i];
        l.mass.set(k, info.mass);
        for (int e = 0; e < 6; ++e) l.inertia[e].set(k, info.inertia[e]);
        put(l.gravity, k, info.gravity);
      }
      with_single(own, args[member(k)], [&](Single& one) {
        one.enter();
        extent[k] = one.newton.extent;
        take(k, one);
      });
      const RunArgs& from = args[member(k)];
      for (int l = 0; l < layout.law_count; ++l) angle[k * layout.law_count + l] = from.law_start[l];
      for (int c = 0; c < from.counter_count; ++c) counted[k * from.counter_count + c] = from.counter_start[c];
    }
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
    for (int l = 0; l < layout.law_count; ++l) one.law_angle[l] = angle[k * layout.law_count + l];
    one.half = half[k];
    one.leaving = false;
  }

  Pose<double> pose(int i, int k) const {
    if (i < 0) return world_pose();
    const Body<T>& b = tree.body[i];
    return {at(b.x, k), {at(b.R.i, k), at(b.R.j, k), at(b.R.k, k)}};
  }

  // gravity, laws and loads at the node
  void forces(long node) {
    for (int i = 0; i < layout.link_count; ++i) {
      tree.body[i].f = tree.link[i].gravity;
      tree.body[i].tau = {T(0), T(0), T(0)};
    }
    for (int k = 0; k < members; ++k) {
      const Layout& own = *layouts[k];
      for (int l = 0; l < layout.law_count; ++l) {
        const LawInfo& law = own.law[l];
        double& recent = angle[k * layout.law_count + l];
        JointRows rows;
        rows.angle[0] = recent;
        joint_rows(law.measure, pose(law.measure.end[0], k), pose(law.measure.end[1], k), recent, rows);
        recent = rows.angle[0];
        const double f = node_force(law, rows.g[0], {});
        for (int e = 0; e < 2; ++e)
          if (law.measure.end[e] >= 0) push(law.measure.end[e], k, f * rows.w[e].f, f * rows.w[e].t);
      }
      const Loads& loads = args[k].loads;
      const double* row = loads.values + (loads.rows == 1 ? 0 : 6L * loads.count * node);
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
    put(b.f, k, at(b.f, k) + (1 / tree.link[i].mass[k]) * f);
    put(b.tau, k, at(b.tau, k) + t);
  }

  void place(long node) {
    tree.place();
    forces(node);
    for (int k = 0; k < members; ++k)
      if (time_to_count(wound[k], last_turn[k])) count_turns(k);
  }

  void count_turns(int k) {
    const bool fast = wound[k] > fast_turn && last_turn[k] > fast_turn;
    wound[k] = 0;
    const auto turned = [&](int i) { return i < 0 ? Vec3<double>{0, 0, 0} : at(tree.body[i].w.v, k); };
    for (int c = 0; c < common().counter_count; ++c) {
      const ConstraintInfo& m = layout.counter[c];
      const Pose<double> a = pose(m.end[0], k);
      double& recent = counted[k * common().counter_count + c];
      const double since = fast ? angle_turned(m, a, turned(m.end[0]), turned(m.end[1])) : 0;
      recent = angle_near(m, a, pose(m.end[1], k), recent + since);
    }
  }

  // node velocities into body.dx and body.phi, and rates of the unknowns into dz
  void project() {
    T arriving = T(0);
    for (int k = 0; k < width; ++k) arriving.set(k, half[k]);
    for (int i = 0; i < layout.link_count; ++i) aim_body(tree.body[i], T(1), arriving);
    for (int e = 0; e < layout.variable_count; ++e) trial[e] = T(0);
    tree.z = trial;
    tree.evaluate<true>();
    tree.factor();
    tree.substitute();
  }

  void record(double time) {
    project();
    for (int k = 0; k < members; ++k) {
      if (!alive[k]) continue;
      RunArgs& own = args[k];
      const long r = own.status.records++, n = r * layout.link_count;
      own.out_time[r] = time;
      if (common().counter_count > 0) count_turns(k);
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
    T trust[most_points + 1];
    bool first = false;
    int most = 1;
    for (T& t : trust) t = T(0);
    for (int k = 0; k < width; ++k) {
      first |= alive[k] && memory[k].count == 0;
      for (int d = 0; d < memory[k].order; ++d) trust[d].set(k, 1);
      if (memory[k].order > most) most = memory[k].order;
    }
    const T dt = T(common().dt);
    for (int e = 0; e < layout.variable_count; ++e) {
      T sum = first ? dt * dz[e] : difference[0][e];
      for (int d = 1; d < most && !first; ++d) sum += trust[d] * difference[d][e];
      trial[e] = sum;
    }
  }

  // differences of the new solution, and how many to trust: one more or one less where that would have been better
  void learn() {
    T squares[most_points + 1];
    int known = 0;
    for (T& t : squares) t = T(0);
    for (int k = 0; k < width; ++k)
      if (memory[k].count > known) known = memory[k].count;
    for (int e = 0; e < layout.variable_count; ++e) {
      T value = trial[e];
      for (int d = 0; d < known; ++d) {
        const T before = difference[d][e];
        difference[d][e] = value;
        squares[d] += value * value;
        value -= before;
      }
      if (known > most_points) continue;
      difference[known][e] = value;
      squares[known] += value * value;
    }
    for (int k = 0; k < width; ++k) {
      LaneMemory& m = memory[k];
      if (tired[k]) continue;
      const int best = m.count < 3 ? m.count : m.order;
      if (m.count <= most_points) ++m.count;
      m.order = best + 1 < m.count && squares[best + 1][k] < squares[best][k] ? best + 1
                : best > 1 && squares[best - 1][k] < squares[best][k]         ? best - 1
                                                                              : best;
      if (m.order < 1) m.order = 1;
    }
  }

  // by what the next increment is smaller: Newton's own, or with an earlier matrix and its directions, which are off by
  // as much as the increment that belongs to them has moved the bodies
  double rate(bool fresh, double kappa, double size, double before, double origin) const {
    return fresh ? kappa * size : 2 * size / before + origin * std::fabs(common().dt);
  }

  // one step of all lanes that are alive; those that cannot take it are tired
  void solve() {
    const double dt = common().dt, tolerance = common().tolerance;
    T kick = T(0);
    for (int k = 0; k < width; ++k) kick.set(k, half[k] + 0.5 * dt);
    for (int i = 0; i < layout.link_count; ++i) aim_body(tree.body[i], T(dt), kick);
    guess();
    tree.z = trial;
    bool active[width];
    double size[width] = {}, last[width], origin[width] = {};
    T room = tree.evaluate<true>();
    int waiting = 0;
    for (int k = 0; k < width; ++k) {
      tired[k] = alive[k] && !(room[k] > 0);
      active[k] = alive[k] && !tired[k];
      waiting += active[k];
      last[k] = 1e300;
      iterations[k] = 0;
    }
    const double floors = 256 * 2.2e-16 / std::fabs(dt);
    for (int pass = 0; waiting > 0 && pass < common().iteration_limit; ++pass) {
      // two in three increments take the matrix of an earlier one: a rule that no lane's neighbours can change
      const bool fresh = pass % 3 == 0;
      if (fresh && pass > 0) tree.evaluate<true>();
      T pivot = T(1);
      if (fresh)
        pivot = tree.factor();
      else
        tree.again();
      const T square = tree.substitute();
      bool moving[width];
      for (int k = 0; k < width; ++k) {
        moving[k] = false;
        if (!active[k]) continue;
        ++iterations[k];
        size[k] = pivot[k] > 0 ? std::sqrt(square[k]) / std::fabs(dt) : 1e300;
        const double floor = floors * (1 + extent[k]);
        const auto end = [&](bool solved) {
          active[k] = false;
          tired[k] = !solved;
          --waiting;
        };
        // rounding: nothing more can be gained; early on it is the old matrix that gains little
        if (pass > 3 && last[k] < floor && size[k] > 0.25 * last[k] && size[k] < 4 * floor) {
          memory[k].unchecked = 1;
          end(true);
        } else if (!fresh && !(size[k] < 0.5 * last[k])) {
          // the old matrix is no good here: wait for the next
        } else if (!(size[k] < last[k])) {
          // a lane in trouble is left to the solver that has a line search and a rescue
          end(false);
        } else {
          if (pass % 3 == 1 && last[k] < 1e300) {
            const double seen = size[k] / (last[k] * last[k]);
            double& kappa = memory[k].kappa;
            kappa = kappa == 1e300 || seen > 0.8 * kappa ? seen : 0.8 * kappa;
          }
          moving[k] = true;
        }
      }
      // z += dz in the lanes that move
      T step = T(0);
      for (int k = 0; k < width; ++k) step.set(k, moving[k] ? 1 : 0);
      for (int e = 0; e < layout.variable_count; ++e) {
        // a lane that rests may hold anything but must not move
        const T next = trial[e] + step * dz[e];
        trial[e] = step.v > 0.5 ? next.v : trial[e].v;
      }
      room = tree.evaluate<false>();
      for (int k = 0; k < width; ++k) {
        if (!moving[k]) continue;
        LaneMemory& m = memory[k];
        const auto end = [&](bool solved, int unchecked) {
          active[k] = false;
          tired[k] = !solved;
          if (solved) m.unchecked = unchecked;
          --waiting;
        };
        const double before = last[k];
        last[k] = size[k];
        if (fresh) origin[k] = size[k];
        if (!(room[k] > 0)) {
          end(false, 0);
        } else if (size[k] < tolerance) {
          if (iterations[k] == 1) m.calm = size[k];
          end(true, 0);
        } else if (iterations[k] > 1 &&
                   caution * rate(fresh, m.kappa, size[k], before, origin[k]) * size[k] < tolerance) {
          end(true, 0);
        } else if (iterations[k] == 1) {
          const bool calm = caution * m.kappa * size[k] * size[k] < tolerance;
          if (calm && m.unchecked < check_every && size[k] <= 2 * m.calm)
            end(true, m.unchecked + 1);
          else if (calm)
            m.calm = size[k];
        }
      }
    }
    for (int k = 0; k < width; ++k)
      if (active[k]) tired[k] = true;
  }

  // the step has been solved: its momenta become state, the bodies move on
  void commit(long step) {
    const double dt = common().dt;
    const T inverse = T(1 / dt), twice = T(2 / dt);
    T keep = T(0);
    for (int k = 0; k < width; ++k) keep.set(k, tired[k] ? 1 : 0);
    const auto chosen = [&](T fresh, T old) { return T(keep.v > 0.5 ? old.v : fresh.v); };
    const auto choose = [&](Vec3<T> fresh, Vec3<T> old) {
      return Vec3<T>{chosen(fresh.x, old.x), chosen(fresh.y, old.y), chosen(fresh.z, old.z)};
    };
    for (int e = 0; e < layout.variable_count; ++e) trial[e] = chosen(trial[e], difference[0][e]);
    learn();
    for (int i = 0; i < layout.link_count; ++i) {
      Body<T>& b = tree.body[i];
      b.v = choose(inverse * b.d, b.v);
      b.L = choose(twice * half_turn_momentum(b), b.L);
      const Quat<T> q = renormalised(b.w * b.q);
      b.q = {chosen(q.w, b.q.w), choose(q.v, b.q.v)};
      if (layout.link[i].kind == JointKind::prismatic) {
        const Vec3<T> slide = trial[layout.link[i].variable] * LaneTree::wide(layout.link[i].parent_axes + 6);
        tree.link[i].offset = choose(tree.link[i].offset + slide, tree.link[i].offset);
      }
    }
    balance(keep);
    T widest = T(1);
    for (int i = 0; i < layout.link_count; ++i) {
      Body<T>& b = tree.body[i];
      widest = least(widest, b.w.w);
      b.x = choose(b.x + b.d, b.x);
    }
    for (int k = 0; k < width; ++k) {
      if (tired[k]) continue;
      half[k] = 0.5 * dt;
      if (common().counter_count > 0) last_turn[k] = turn_bound(widest[k]), wound[k] += last_turn[k];
      if (!alive[k]) continue;
      args[k].out_iterations[step] = iterations[k];
      args[k].out_pieces[step] = 1;
    }
  }

  // momentum that Newton leaves, as in Runner::balance; trees do not meet here, so every floating root keeps its own
  void balance(T keep) {
    const T inverse = T(1 / common().dt);
    for (int i = 0; i < layout.link_count; i = layout.link[i].tree_end) {
      if (layout.link[i].joint >= 0 || layout.link[i].parent >= 0) continue;
      Body<T>& root = tree.body[i];
      Vec3<T> force = {T(0), T(0), T(0)}, torque = force;
      for (int j = i; j < layout.link[i].tree_end; ++j) {
        const Body<T>& b = tree.body[j];
        const Vec3<T> f = tree.link[j].mass * force_residual(b);
        force += f;
        torque += torque_residual(b) + cross(b.x - root.x, f);
      }
      const T moved = T(keep.v > 0.5 ? Lane::Register{} : inverse.v);
      root.v -= (moved / tree.link[i].mass) * force;
      root.L -= moved * (torque - cross(root.d, force));
    }
  }

  // a tired lane's step by the single solver, which may end the member
  void rescue(int k, long step, double time) {
    // records are kept here
    RunArgs own = args[k];
    own.record_every = own.steps + 1;
    with_single(*layouts[k], own, [&](Single& one) {
      one.enter();
      give(k, one);
      // its guess is the last step as it was, or what the velocities say
      History& history = *one.newton.history;
      for (int e = 0; e < layout.variable_count; ++e) one.newton.last_solution(e) = difference[0][e][k];
      history.count = history.order = memory[k].count > 0 ? 1 : 0;
      history.dt = own.dt;
      one.newton.rates = one.scratch;
      one.now = time;
      one.place(step);
      if (memory[k].count == 0) one.project(one.arriving());
      if (!one.advance(step, time)) {
        own.status.records = args[k].status.records;
        one.now = time;
        one.place(step);
        if (one.record(time)) ++own.status.records;
        args[k].status = own.status;
        alive[k] = false;
        return;
      }
      take(k, one);
      half[k] = one.half;
      // its pieces have to be counted, and no step's turn is known
      wound[k] = fast_turn;
      last_turn[k] = 0;
      memory[k] = {};
      memory[k].count = memory[k].order = 1;
      const double ratio = own.dt / history.dt;
      for (int e = 0; e < layout.variable_count; ++e) difference[0][e].set(k, ratio * one.newton.last_solution(e));
    });
  }

  void run() {
    enter();
    for (long step = 0;; ++step) {
      double time = common().start_time + static_cast<double>(step) * common().dt;
      place(step);
      if (step == common().steps || step % common().record_every == 0) record(time);
      for (int k = 0; k < members; ++k) {
        if (!alive[k]) continue;
        args[k].status.step = step;
        args[k].status.time = time;
      }
      if (step == common().steps) return;
      bool any = false;
      for (int k = 0; k < members; ++k) any |= alive[k];
      if (!any) return;
      solve();
      for (int k = 0; k < width; ++k)
        if (!alive[k]) tired[k] = true;
      commit(step);
      for (int k = 0; k < members; ++k)
        if (alive[k] && tired[k]) rescue(k, step, time);
    }
  }
};

}  // namespace catena::CATENA_ISA
