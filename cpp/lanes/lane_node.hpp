// The node of several members in lanes: what simulate/node.hpp is for one.
//
// What belongs to all lanes alike is done in registers; what asks for a pose of its own, forces that are no freedom's
// and loads, is done one by one.
#pragma once

#include "args/run.hpp"
#include "lanes/lane_loops.hpp"
#include "simulate/loads.hpp"
#include "simulate/spring_stability.hpp"
#include "simulate/unwrap.hpp"
#include "solve/tree/articulated.hpp"

namespace catena::CATENA_ISA {

// a member's numbers, to its lane and from it
CATENA_INLINE void put(Vec3<Lane>& to, int k, const double* from) {
  to.x.set(k, from[0]);
  to.y.set(k, from[1]);
  to.z.set(k, from[2]);
}
CATENA_INLINE Vec3<double> at(const Vec3<Lane>& v, int k) { return {v.x[k], v.y[k], v.z[k]}; }
CATENA_INLINE void put(Vec3<Lane>& to, int k, Vec3<double> from) {
  const double p[3] = {from.x, from.y, from.z};
  put(to, k, p);
}

struct LaneNode {
  using T = Lane;
  using Mask = Lane::Mask;
  static constexpr int width = lane_width;

  const Layout& layout;  // of any member
  LaneTree& tree;
  LaneLoops& loops;
  double* counted;                         // (lane, counter)
  const Layout* const* layouts = nullptr;  // (lane)
  RunArgs* args = nullptr;                 // (lane)
  int members = 0;                         // lanes in use; the rest repeat the last member
  bool knows_numbers = false;              // those of the members are in the lanes, the same for all groups of members
  bool has_springs = true;                 // that may be too stiff
  bool has_gravity = false;                // see Node
  T half = T(0);                           // see Node
  T wound = T(at_start);                   // no counted angle has turned further since it was counted

  const RunArgs& common() const { return args[0]; }
  int member(int k) const { return k < members ? k : members - 1; }

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
  // the caller's inputs
  void enter(int k) {
    const RunArgs& own = args[member(k)];
    for (int j = 0; j < own.input_count; ++j) {
      const InputInfo& input = own.input[j];
      numbers_of(tree.law[input.law])[input.number].set(k, numbers_of(own.laws[input.law])[input.number]);
    }
  }

  // geometry and forces, so many steps after the first of the group
  void place(long taken) {
    tree.place();
    if (has_loops(layout)) loops.place();
    forces(taken);
    const Mask due = wound > T(count_after);
    for (int k = 0; any(due) && k < members; ++k)
      if (holds(due, k)) count_turns(k);
  }
  void count_turns(int k) {
    const bool fast = wound[k] > fast_turn;
    wound.set(k, 0);
    count_angles(
        layout, common().counter_count, fast, [&](const ConstraintInfo& m, int e) { return pose(m.end[e], k); },
        [&](int i) { return at(tree.body[i].w.v, k); }, counted + static_cast<long>(k) * common().counter_count);
  }

  Pose<double> pose(int i, int k) const {
    if (i < 0) return world_pose();
    const Body<T>& b = tree.body[i];
    return {at(b.x, k), {at(b.R.i, k), at(b.R.j, k), at(b.R.k, k)}};
  }
  // of a law that is no freedom's
  JointRows measured(int l, int k) const {
    const ConstraintInfo& m = layouts[k]->law[l].measure;
    JointRows rows;
    rows.angle[0] = tree.law[l].measured[k];
    joint_rows(m, pose(m.end[0], k), pose(m.end[1], k), rows.angle[0], rows);
    return rows;
  }

  // gravity, laws and loads
  void forces(long taken) {
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
        const JointRows rows = measured(l, k);
        tree.law[l].measured.set(k, rows.angle[0]);
        const double f = node_force(law, rows.g[0], {});
        for (int e = 0; e < 2; ++e)
          if (law.measure.end[e] >= 0) add(law.measure.end[e], k, {f * rows.w[e].f, f * rows.w[e].t});
      }
      const Loads& loads = args[k].loads;
      const double* row = loads.values + (loads.rows == 1 ? 0 : 6L * loads.count * taken);
      for (int j = 0; j < loads.count; ++j, row += 6) {
        const int i = layout.body_link[loads.body[j]];
        add(i, k, at_centre(pose(i, k).R, row, loads.point + 3 * j, loads.in_body_frame[j]));
      }
    }
  }
  void add(int i, int k, const Wrench<double>& w) {
    Body<T>& b = tree.body[i];
    put(b.f, k, at(b.f, k) + (1 / tree.link[i].unit[k]) * w.f);
    put(b.tau, k, at(b.tau, k) + w.t);
  }

  // see Node::push
  void push(T kick) {
    for (int n = 0; n < layout.axis_count && layout.axis_law_count > 0; ++n) {
      tree.pushed[n] = T(0);
      for (int at = layout.first_axis_law[n]; at < layout.first_axis_law[n + 1]; ++at) {
        const LaneLaw& law = tree.law[layout.axis_law[at]];
        const T impulse = kick * spring_and_motor<T>(law, law.force, law.measured) + half * law.before;
        tree.pushed[n] += T(layout.law[layout.axis_law[at]].sign) * tree.dt * impulse;
      }
    }
  }

  // see Node::change_inputs
  void change_inputs(long taken) {
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
    forces(taken);
  }
  // an impulse along the measure of a law
  void apply(int l, int k, double impulse) {
    if (impulse == 0) return;
    const ConstraintInfo& m = layouts[k]->law[l].measure;
    const JointRows rows = measured(l, k);
    for (int e = 0; e < 2; ++e) {
      const int i = m.end[e];
      if (i < 0) continue;
      Body<T>& b = tree.body[i];
      put(b.v, k, at(b.v, k) + (impulse / tree.link[i].unit[k]) * rows.w[e].f);
      put(b.L, k, at(b.L, k) + impulse * rows.w[e].t);
    }
  }
  // for the single solver
  void hand_over_inputs(int k) {
    for (int j = 0; j < common().input_count; ++j) {
      const InputInfo& input = common().input[j];
      numbers_of(args[k].laws[input.law])[input.number] = numbers_of(tree.law[input.law])[input.number][k];
    }
  }
};

}  // namespace catena::CATENA_ISA
