// A node: where the bodies are, the momenta that arrive there, and what acts.
//
// A node's velocity is that of the momentum arriving from the left, p = m v1 + half f (half: half of the interval
// before), projected onto the joints (simulate/projection.hpp); by the symmetry of the scheme the momentum leaving to
// the right differs from it only by joint impulses, so going on from the projected one gives the same trajectory.
#pragma once

#include "physics/rows/constraint.hpp"
#include "simulate/loads.hpp"
#include "simulate/signals.hpp"
#include "simulate/unwrap.hpp"

namespace catena::CATENA_ISA {

template <class Solver>
struct Node {
  const Layout& layout;
  RunArgs& args;
  Solver& solver;
  double* law_angle;     // (law) angles, turns counted; of laws on freedoms of the tree, the measure
  double* law_force;     // (law) on the interval before the node
  double* law_momentum;  // (law) of its rotor there
  double* pushed;        // (axis) impulses of laws on freedoms at the node, times dt
  double* counted;       // (counter) see Turns
  Signals signals = {layout, args};
  Turns turns = {layout, args, counted};
  Applied applied = {layout, args, signals, solver.body};
  double half = 0;           // half of the interval before the node
  double now = 0;            // time of the node
  bool leaving = false;      // a step has been taken, its end not yet seen
  bool struck = false;       // its momenta are those after an impact
  bool has_gravity = false;  // the bodies' forces are set, and nothing changes them

  // the caller's arrays -> state
  void enter() {
    for (int i = 0; i < layout.link_count; ++i) {
      Body<double>& b = solver.body[i];
      const int k = layout.link[i].body;
      b.x = load3(args.position + 3 * k);
      b.q = load_quat(args.orientation + 4 * k);
      place_body(b, layout.link[i]);
      b.v = layout.link[i].share * load3(args.velocity + 3 * k);
      b.L = b.J * load3(args.angular_velocity + 3 * k);
    }
    solver.span = layout.span;
    solver.momentum = law_momentum;
    if constexpr (Solver::acts_on_axes) solver.measured = law_angle, solver.pushed = pushed;
    solver.clock.now = signals.at_node();
    solver.clock.middle = signals.in_middle();
    solver.clock.end = signals.at_end();
    solver.clock.rate = signals.rates();
    solver.enter();
    count_from_start();
    now = args.start_time;
    if (!args.paper_start) return;
    // the given velocities are those of the first interval, and no force acts before its end
    half = -0.5 * args.dt;
    for (int i = 0; i < layout.link_count; ++i) {
      Body<double>& b = solver.body[i];
      b.w.v = (0.5 * args.dt) * load3(args.angular_velocity + 3 * layout.link[i].body);
      b.w.w = std::sqrt(1 - norm2(b.w.v));
      b.L = (2 / args.dt) * half_turn_momentum(b);
    }
  }
  // where every angle stands at the first node, and the momentum of every rotor
  void count_from_start() {
    for (int l = 0; l < layout.law_count; ++l) {
      law_angle[l] = args.law_start[l];
      law_force[l] = 0;
      const LawInfo& law = layout.law[l];
      if (on_axis(l))
        law_angle[l] = measured(law.measure, law_angle[l]).g[0];
      else if (law.constraint >= 0) {
        RowMemory& rows = solver.rows_of(layout.constraint[law.constraint]);
        rows.angle[0] = law_angle[l];
        count_terms(law.measure, args.term_start, rows);
      }
      law_momentum[l] = rotor_momentum(l, [&](int i) {
        const int k = layout.link[i].body;
        return Wrench<double>{load3(args.velocity + 3 * k), load3(args.angular_velocity + 3 * k)};
      });
    }
    for (int j = 0; j < layout.constraint_count; ++j)
      if (layout.constraint[j].loop >= 0)
        count_terms(layout.constraint[j], args.term_start, solver.rows_of(layout.constraint[j]));
    turns.enter();
  }

  // geometry and forces
  void place(long node) {
    signals.enter_node(now);
    solver.place();
    if (leaving && free_law_count() > 0) arrive();
    leaving = false;
    if (!has_gravity) forces(node);
    if (turns.are_due()) turns.count(solver.body, solver.clock);
  }

  double arriving() const { return half > 0 ? half : 0; }

  //---- laws ----

  // whether the solver has the law in a pivot
  bool on_axis(int l) const { return Solver::acts_on_axes && layout.law[l].axis >= 0; }
  bool is_stop(int l) const { return layout.law[l].stop >= 0; }
  int free_law_count() const { return Solver::acts_on_axes ? layout.free_law_count : layout.law_count; }

  JointRows measured(const ConstraintInfo& m, double recent) const {
    JointRows rows;
    rows.angle[0] = recent;
    joint_rows(m, old_pose(solver.body, m.end[0]), old_pose(solver.body, m.end[1]), recent, rows);
    return rows;
  }

  // of a law's rotor, if it has one, where links have the given velocities
  template <class Velocity>
  double rotor_momentum(int l, Velocity&& velocity) const {
    const LawInfo& law = layout.law[l];
    if (law.inertia == 0) return 0;
    const JointRows rows = measured(law.measure, law_angle[l]);
    double sum = 0;
    for (int e = 0; e < 2; ++e) {
      const int i = law.measure.end[e];
      if (i < 0) continue;
      const Wrench<double> v = velocity(i);
      sum += law.inertia * (dot(rows.w[e].f, v.f) + dot(rows.w[e].t, v.t));
    }
    return sum;
  }
  // that goes with the node's velocities
  double rotor_momentum(int l) const {
    return rotor_momentum(l, [&](int i) { return Wrench<double>{solver.body[i].dx, solver.body[i].phi}; });
  }
  // momenta are those of the node's velocities
  void take_velocities() {
    for (int i = 0; i < layout.link_count; ++i) {
      Body<double>& b = solver.body[i];
      b.v = layout.link[i].share * b.dx;
      b.L = b.J * b.phi;
    }
    find_rotor_momenta();
  }
  void find_rotor_momenta() {
    for (int l = 0; l < layout.law_count; ++l) law_momentum[l] = rotor_momentum(l);
  }

  // the second half of what laws did on the interval that has just ended, along the directions of its end
  void arrive() {
    for (int l = 0; l < layout.law_count; ++l) {
      if (layout.law[l].constraint < 0 || layout.law[l].inertia != 0 || on_axis(l) || is_stop(l)) continue;
      const ConstraintInfo& m = layout.law[l].measure;
      apply(m, measured(m, law_angle[l]), half * law_force[l]);
    }
  }
  // an impulse along a measure
  void apply(const ConstraintInfo& m, const JointRows& rows, double impulse) {
    for (int e = 0; e < 2; ++e) {
      const int i = m.end[e];
      if (i < 0) continue;
      solver.body[i].v += (impulse / layout.link[i].unit) * rows.w[e].f;
      solver.body[i].L += impulse * rows.w[e].t;
    }
  }
  // Impulses of laws on freedoms of the tree: what acts at the node over the time `kick`, and the second half of what
  // did on the interval before; for the balance of a step, which is multiplied by dt.
  void push(double dt, double kick) {
    if (!Solver::acts_on_axes || layout.axis_law_count == 0) return;
    for (int k = 0; k < layout.axis_count; ++k) {
      pushed[k] = 0;
      for (int at = layout.first_axis_law[k]; at < layout.first_axis_law[k + 1]; ++at) {
        const int l = layout.axis_law[at];
        const LawInfo& law = layout.law[l];
        pushed[k] += law.sign * dt * (kick * node_force(law, law_angle[l], solver.clock) + half * law_force[l]);
      }
    }
  }

  //---- all that acts at the node ----

  // gravity, laws and loads
  void forces(long node) {
    has_gravity = free_law_count() == 0 && args.loads.count == 0 && args.held.count == 0;
    for (int i = 0; i < layout.link_count; ++i) {
      solver.body[i].f = load3(layout.link[i].gravity);
      solver.body[i].tau = {0, 0, 0};
    }
    for (int l = 0; l < layout.law_count && free_law_count() > 0; ++l) {
      if (on_axis(l) || is_stop(l)) continue;
      const LawInfo& law = layout.law[l];
      const JointRows rows = measured(law.measure, law_angle[l]);
      law_angle[l] = rows.angle[0];
      const double f = node_force(law, rows.g[0], solver.clock);
      for (int e = 0; e < 2; ++e) {
        const int i = law.measure.end[e];
        if (i < 0) continue;
        solver.body[i].f += (f / layout.link[i].unit) * rows.w[e].f;
        solver.body[i].tau += f * rows.w[e].t;
      }
    }
    const auto add = [&](int i, const Wrench<double>& w) { load(i, w, 1, solver.body[i].f, solver.body[i].tau); };
    applied.each_load(node, add);
    applied.each_held(add);
  }
  // so much of a force and torque on a link to what is kept over the unit and as it is
  void load(int i, const Wrench<double>& w, double part, Vec3<double>& per_unit, Vec3<double>& whole) const {
    per_unit += (part / layout.link[i].unit) * w.f;
    whole += part * w.t;
  }
  // for so long, at the momenta that arrive
  void add_impulse(int i, const Wrench<double>& w, double time) {
    load(i, w, time, solver.body[i].v, solver.body[i].L);
  }

  // Half of the impulse of what is held over a step acts at either end of it: at this node the second half of what was
  // held over the last one, and the first half of what the caller wants held from here on. `forces` takes what is held
  // now for both intervals: the momentum that arrives makes up for the one before.
  void change_inputs(long node) {
    if (args.held.count > 0 && args.wants) {
      make_up(arriving());
      args.held.copy(args.wanted);
      make_up(-arriving());
      has_gravity = false;
    }
    for (int k = 0; k < args.input_count; ++k) {
      const int l = args.input[k].law;
      LawInfo& law = args.laws[l];
      const double before = law.force;
      numbers_of(law)[args.input[k].number] = args.input_value[k];
      const double less = before - law.force;
      if (less == 0) continue;
      if (on_axis(l))
        law_force[l] += half > 0 ? less : 0;
      else
        apply(law.measure, measured(law.measure, law_angle[l]), arriving() * less);
      has_gravity = false;
    }
    if (!has_gravity) forces(node);
  }
  void make_up(double part) {
    applied.each_held([&](int i, const Wrench<double>& w) { add_impulse(i, w, part); });
  }
};

}  // namespace catena::CATENA_ISA
