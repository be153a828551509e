// Reactions of a recorded node: what the joints do over the step that leaves it.
#pragma once

#include <utility>

#include "simulate/compose.hpp"
#include "simulate/step.hpp"

namespace catena::CATENA_ISA {

template <class Solver>
struct Reactions {
  Node<Solver>& node;
  Projection<Solver>& projection;
  Step<Solver>& step;
  const Composition& parts;
  History* history;       // (part), and two for each level of extrapolation
  double* saved;          // room for momenta
  double* before;         // (row) the first node's reaction from the other side
  double* motor_before;   // (law) what it was on the interval before, where a control has changed it
  Wrench<double>* acted;  // (link) what acted on the bodies then
  const Layout& layout = node.layout;
  RunArgs& args = node.args;
  Solver& solver = node.solver;
  Newton<Solver>& newton = step.newton;
  bool has_before = false;
  bool weighed = false;  // the node's are known before the step that leaves it

  double* row() const { return args.out.multipliers + args.status.records * layout.recorded_count; }

  // the reaction is the impulse of the step over the time it stands for
  void write(double dt, double* out) {
    const double kick = node.half + 0.5 * dt;
    for (int k = 0; k < layout.recorded_count && layout.has_inactive_rows; ++k) out[k] = 0;
    solver.multipliers(1 / (dt * (kick != 0 ? kick : dt)), out);
  }
  // those of the step that has been solved: the record is complete
  void record(double dt) {
    if (!args.out.multipliers || weighed) {
      ++args.status.records;
      return;
    }
    // the first node has no interval before it; its mirror image makes the impulse a full one
    write(dt, row());
    if (has_before)
      for (int k = 0; k < layout.recorded_count; ++k) row()[k] = 0.5 * (row()[k] + before[k]);
    ++args.status.records;
  }

  // a step that is solved, looked at, and not taken
  template <class F>
  bool try_step(double dt, F&& look) {
    return step.stops.besides(Besides::trial, [&] {
      const bool fine = step.solve(dt) == Outcome::converged;
      if (fine) look();
      return fine;
    });
  }
  // the first node's reaction seen from the other side: one step backwards
  void look_back() {
    // friction has no backward step
    if (node.half != 0 || node.struck || step.stops.rubs()) return;
    const double dt = -parts.part[0] * args.dt;
    newton.select(history[0]);
    // its motion, backwards, is also the best guess for the first step
    has_before = try_step(dt, [&] {
      if (args.out.multipliers && !weighed) write(dt, before);
    });
  }
  // the reaction at the last node needs the step after it; a short one will do, or else one backwards from its
  // velocities
  void peek() {
    if (!args.out.multipliers || weighed) return record(args.dt);
    double dt = parts.part[0] * args.dt;
    newton.select(history[0]);
    const auto look = [&] { record(dt); };
    bool fine = try_step(dt, look);
    for (int k = 0; k < 10 && !fine; ++k) {
      dt *= 0.5;
      fine = try_step(dt, look);
    }
    node.signals.looks_behind = true;
    if (!fine && node.half > 0 && projection.project(node.half)) {
      node.take_velocities();
      dt = -2 * node.half;
      node.half = 0;
      newton.forget();
      fine = try_step(dt, look);
    }
    if (fine) return;
    for (int k = 0; k < layout.recorded_count; ++k) row()[k] = 0;
    ++args.status.records;
  }

  // what acts before a control changes it
  void keep_acting() {
    for (int i = 0; i < layout.link_count; ++i) acted[i] = {solver.body[i].f, solver.body[i].tau};
    for (int l = 0; l < layout.law_count; ++l) motor_before[l] = layout.law[l].force;
  }
  // The impulses of a composition's substeps are as far off as those of steps of second order. Where a node's reactions
  // are to be as good as its pose they are those of short steps from the node, forwards and backwards: their mean is
  // even in the length h of the step, and what it tends to is found from h = H, H/2, H/3, ... (Richardson). Where a
  // control has changed what acts on the bodies, half of what did before the node counts.
  void weigh(long at, bool changed) {
    if (parts.count == 1 || !args.out.multipliers || step.stops.rubs()) return;
    const int links = layout.link_count;
    const double before_half = node.half;
    for (int i = 0; i < links; ++i) {
      Body<double>& b = solver.body[i];
      store3(saved + 6L * i, b.v);
      store3(saved + 6L * i + 3, b.L);
      if (!changed) continue;
      b.f = 0.5 * (b.f + acted[i].f);
      b.tau = 0.5 * (b.tau + acted[i].t);
    }
    double* momentum = saved + 6L * links;
    for (int l = 0; l < layout.law_count; ++l) momentum[l] = node.law_momentum[l];
    node.take_velocities();
    node.half = 0;
    for (int l = 0; l < layout.law_count && changed; ++l) std::swap(args.laws[l].force, motor_before[l]);
    for (int l = 0; l < layout.law_count && changed; ++l)
      args.laws[l].force = 0.5 * (args.laws[l].force + motor_before[l]);
    weighed = extrapolate();
    for (int l = 0; l < layout.law_count && changed; ++l) args.laws[l].force = motor_before[l];
    node.half = before_half;
    for (int i = 0; i < links; ++i) {
      solver.body[i].v = load3(saved + 6L * i);
      solver.body[i].L = load3(saved + 6L * i + 3);
    }
    for (int l = 0; l < layout.law_count; ++l) node.law_momentum[l] = momentum[l];
    if (changed) node.forces(at);
    // a short step that failed has left other rates than those that a first step is guessed from
    if (!weighed && history[0].count == 0) projection.project(node.arriving());
  }
  // the limit of short steps from a node at which the bodies' velocities are those of the node; false if one fails
  bool extrapolate() {
    const int levels = args.order / 2;
    // where an accuracy decides on the step it is as long as the motion allows, and that is too long here
    const double longest = (args.error_rate > 0 ? 0.125 : 0.5) * args.dt;
    double* const sum = row();
    // rows that are not asked for have no reactions
    for (int r = 0; r < layout.recorded_count; ++r) sum[r] = before[r] = 0;
    for (int n = 1; n <= levels; ++n) {
      double weight = 0.5;
      for (int m = 1; m <= levels; ++m)
        if (m != n) weight *= static_cast<double>(n * n) / (n * n - m * m);
      for (const double h : {longest / n, -longest / n}) {
        newton.select(history[parts.count + 2 * (n - 1) + (h < 0)]);
        if (!try_step(h, [&] { solver.multipliers(2 / (h * h), before); })) return false;
        for (int r = 0; r < layout.recorded_count; ++r) sum[r] += weight * before[r];
      }
    }
    return true;
  }
};

}  // namespace catena::CATENA_ISA
