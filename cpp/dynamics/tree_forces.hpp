// What acts on the links at one pose and velocity: the forces of a run in the limit of short steps, of hard stops none.
#pragma once

#include "dynamics/tree_motion.hpp"
#include "physics/drag.hpp"
#include "physics/law.hpp"

namespace catena::CATENA_ISA {

struct TreeForces {
  const Layout& layout;
  TreeMotion& tree;
  Law* law;  // (law) numbers at this pose

  // into the loads of the links
  void find(const DynamicsArgs& args, long pose) {
    for (int i = 0; i < layout.link_count; ++i) {
      tree.link[i].load = {{0, 0, 0}, {0, 0, 0}};
      if (args.loads) {
        const double* const on = args.loads + 6 * (pose * layout.link_count + layout.link[i].body);
        tree.link[i].load = {load3(on), load3(on + 3)};
      }
      if (args.gravity) tree.link[i].load.f += layout.link[i].mass * load3(layout.link[i].gravity);
      if (args.passive && layout.drag) resist_air(i, layout.drag + 6L * i);
    }
    for (int k = 0; args.passive && k < layout.rotary_count; ++k) resist_turns(layout.constraint[layout.rotary[k]]);
    if (!args.passive && !args.actuators) return;
    for (int l = 0; l < layout.law_count; ++l) law[l] = layout.law[l];
    for (int k = 0; args.inputs && k < args.input_count; ++k)
      numbers_of(law[args.input_place[2 * k]])[args.input_place[2 * k + 1]] = args.inputs[pose * args.input_count + k];
    for (int l = 0; l < layout.law_count; ++l)
      if (layout.law[l].stop < 0) exert(args, pose, l);
  }

 private:
  void resist_air(int i, const double* drag) {
    TreeLink& l = tree.link[i];
    l.load.f -= resistance(l.pose.R, drag) * l.velocity.f;
    l.load.t -= resistance(l.pose.R, drag + 3) * l.velocity.t;
  }
  void resist_turns(const ConstraintInfo& c) {
    const Vec3<double> lost = c.parameter * (tree.velocity_of(c.end[1]).t - tree.velocity_of(c.end[0]).t);
    tree.link[c.end[1]].load.t -= lost;
    tree.link[c.end[0]].load.t += lost;
  }
  void exert(const DynamicsArgs& args, long pose, int l) {
    const LawInfo& info = layout.law[l];
    Law& own = law[l];
    const double* signal = args.signals + pose * instant_count * layout.signal_count;
    const double* change = args.signal_rates + pose * instant_count * layout.signal_count;
    double motor = info.force_signal >= 0 ? signal[info.force_signal] : own.force;
    if (!args.actuators) own.kp = own.kd = motor = 0;
    if (!args.passive) own.stiffness = own.damping = own.friction = own.stop_stiffness = own.stop_damping = 0;
    const ConstraintInfo& measure = info.measure;
    JointRows rows;
    joint_rows(measure, tree.above(measure.end[0]), tree.above(measure.end[1]),
               args.law_start[pose * layout.law_count + l], rows);
    double rate = 0;
    for (int e = 0; e < 2; ++e) {
      const Wrench<double> v = tree.velocity_of(measure.end[e]);
      rate += dot(rows.w[e].f, v.f, rows.w[e].t, v.t);
    }
    const int target = info.target_signal;
    const Stage<double> stage = {1, 1, false, target >= 0 ? signal[target] : own.target,
                                 target >= 0 ? change[target] : own.target_rate};
    const double phi = rows.g[0];
    double slope;
    const double effort = force_between<double>(own, rate, phi, phi, stage, slope) + spring_and_motor(own, motor, phi);
    for (int e = 0; e < 2; ++e) {
      if (measure.end[e] < 0) continue;
      Wrench<double>& load = tree.link[measure.end[e]].load;
      load.f += effort * rows.w[e].f;
      load.t += effort * rows.w[e].t;
    }
  }
};

}  // namespace catena::CATENA_ISA
