// One plain step from a node to the next: solved, judged, and taken.
#pragma once

#include <algorithm>

#include "physics/drag.hpp"
#include "simulate/projection.hpp"
#include "solve/freedoms.hpp"

namespace catena::CATENA_ISA {

// How far a step may turn a body (rad). Its momentum is the sine of the turn: beyond it other solutions begin,
// and long before them the energy that the step keeps is another; not so where a rotor spins about its own axis.
// Where errors of steps are kept small they judge that, and all that remains is to be on the right root.
constexpr double most_turn = 0.25, most_spin = 1, most_watched_turn = 0.5;
inline const double farthest_cosine = std::cos(0.5 * most_turn), farthest_spin_cosine = std::cos(0.5 * most_spin),
                    farthest_watched_cosine = std::cos(0.5 * most_watched_turn);

// A rotor that turns about its axis by more than this in a step spins, and its momentum is looked after (rad).
constexpr double least_spin = 0.005;
inline const double spinning_cosine = std::cos(0.5 * least_spin);

template <class Solver>
struct Step {
  Node<Solver>& node;
  Projection<Solver>& projection;
  Newton<Solver>& newton;
  Stops<Solver>& stops = projection.stops;
  const Layout& layout = node.layout;
  const RunArgs& args = node.args;
  Solver& solver = node.solver;
  double newton_residual = 0;  // the largest of solutions that were kept since it was set to zero
  double least = 1;            // cosine of half the turn of the body that turns most in the step
  int flat_joint = -1;         // whose wheel lay flat in the last step that was refused for it
  double flat_time = 0;        // of the node before that
  bool floats = false;         // some tree has no hold on the world
  bool rubs = false;           // there is friction
  bool plain = false;          // nothing but joints of trees, gravity and loads acts, and all bodies have a mass

  void enter() {
    for (int i = 0; i < layout.link_count; ++i) {
      newton.extent += std::sqrt(norm2(solver.body[i].x)) / layout.link_count;
      floats |= layout.link[i].keeper == i;
    }
    plain = layout.loop_count == 0 && layout.law_count == layout.stop_count && layout.rotary_count == 0 && !layout.drag;
    for (int i = 0; i < layout.link_count; ++i) plain &= layout.link[i].mass > 0;
    newton.by_sign = args.rescue_depth == 0;
    for (int l = 0; l < layout.law_count; ++l) rubs |= layout.law[l].friction > 0;
  }

  Outcome solve(double dt) {
    aim(dt);
    const bool guessed = newton.history->count > 0, rescues = args.rescue_depth > 0;
    face_stops(dt);
    Outcome outcome = accepted(newton.solve(dt));
    if (outcome != Outcome::converged && (guessed || rubs || stops.touches.rub())) {
      newton.forget();
      int before = newton.iterations;
      if (projection.project(node.half)) {
        aim(dt);
        if (guessed) outcome = accepted(newton.solve_from(dt, projection.rates));
      }
      if (outcome != Outcome::converged && stops.touches.rub()) outcome = rub_again(dt, before);
      if (outcome != Outcome::converged && rubs) {
        before += newton.iterations;
        outcome = soften(dt);
      }
      // where nothing else can be done any solution is better than none
      if (outcome != Outcome::converged && !rescues) {
        before += newton.iterations;
        aim(dt);
        outcome = newton.solve_from(dt, projection.zeros);
      }
      newton.iterations += before;
    }
    if (outcome == Outcome::converged)
      newton.learn(dt);
    else
      newton.forget();
    return outcome == Outcome::converged && has_flat_wheel() ? Outcome::flat : outcome;
  }
  // Where no force is found that obeys Coulomb's law: from that of velocities over the step, and as if all stuck, both
  // once more with a matrix that is more regular.
  Outcome rub_again(double dt, int& before) {
    Touches<Solver>& touches = stops.touches;
    Outcome outcome = Outcome::diverged;
    for (int k = 0; k < 4 && outcome != Outcome::converged; ++k) {
      before += newton.iterations;
      newton.iterations = 0;
      newton.forget_convergence();
      const bool whole = k % 2 == 0, fine = projection.project(whole ? node.half + 0.5 * dt : node.half);
      aim(dt);
      if (!fine) continue;
      touches.stuck = !whole;
      touches.over = whole ? dt : 0;
      touches.eps = k < 2 ? usual_eps : coarse_eps;
      outcome = accepted(newton.solve_from(dt, projection.rates));
      touches.over = 0;
      touches.eps = usual_eps;
    }
    return outcome;
  }
  // who takes part in the step; in a part of a composed one, those who did in the first
  void face_stops(double dt) {
    if (stops.count() == 0) return;
    stops.touches.scale = dt * (node.half + 0.5 * dt);
    if (stops.fixed) return stops.arm();
    stops.meet();
    stops.watch();
  }
  void aim(double dt) {
    const double kick = node.half + 0.5 * dt;
    for (int i = 0; i < layout.link_count; ++i) aim_body(solver.body[i], dt, kick);
    solver.clock.last(dt);
    node.push(dt, kick);
    node.signals.read_step(node.now, dt);
    if constexpr (Solver::acts_on_axes) solver.find_lines();
  }
  // Friction bends sharply where the motion turns round, and Newton's method goes to and fro there: with a gentle bend,
  // then sharper ones, each from the last one's solution.
  Outcome soften(double dt) {
    Outcome outcome = Outcome::converged;
    aim(dt);
    for (int k = 0; k < newton.count; ++k) solver.z[k] = k < newton.motions ? dt * projection.rates[k] : 0;
    int spent = 0;
    for (double soft = 4096; soft >= 1 && outcome == Outcome::converged; soft /= 8) {
      solver.clock.soft = soft;
      if constexpr (Solver::acts_on_axes) solver.find_lines();
      outcome = newton.iterate(dt);
      spent += newton.iterations;
      newton.forget_convergence();
    }
    solver.clock.soft = 1;
    newton.iterations = spent;
    return accepted(outcome);
  }

  // A step too long for its motion has several solutions, and invents energy: what turns a body too far is not taken.
  // That depends on the solution alone, which is the same from either end: all solvers halve the same steps, and so do
  // runs that begin at any node or go backwards, which is what keeps energy from drifting where lengths change.
  Outcome accepted(Outcome outcome) {
    if (outcome != Outcome::converged) return outcome;
    for (int l = 0; l < layout.law_count && solver.clock.dt < 0; ++l)
      if (refuses(l)) return Outcome::singular;
    for (int i = 0; i < layout.link_count && layout.drag && solver.clock.dt < 0; ++i)
      if (drag_misleads(solver.body, layout.link, i, layout.drag + 6L * i, solver.clock.dt)) return Outcome::singular;
    for (int k = 0; k < layout.rotary_count && solver.clock.dt < 0; ++k)
      if (rotary_misleads(solver.body, layout.link, layout.constraint[layout.rotary[k]], solver.clock.dt))
        return Outcome::singular;
    least = 1;
    for (int i = 0; i < layout.link_count; ++i) least = std::min(least, solver.body[i].w.w);
    if (args.rescue_depth == 0) return outcome;
    const double farthest = args.error_rate > 0 ? farthest_watched_cosine : farthest_cosine;
    if (least >= farthest) return outcome;
    bool close = least >= farthest_spin_cosine;
    for (int i = 0; i < layout.link_count && close; ++i)
      close = swing_cosine2(solver.body[i], load3(layout.link[i].spin)) >= farthest * farthest;
    return close ? outcome : Outcome::too_far;
  }
  // whether a step backwards cannot be trusted with a law
  bool refuses(int l) {
    if (solver.clock.dt >= 0 || layout.law[l].constraint < 0 || node.is_stop(l)) return false;
    const ConstraintInfo& m = layout.law[l].measure;
    const JointRows before = node.measured(m, node.law_angle[l]);
    JointRows after;
    joint_rows(m, new_pose(solver.body, m.end[0]), new_pose(solver.body, m.end[1]), before.angle[0], after);
    const auto too_much = [&](double compliance) {
      return misleads(layout.law[l], before.g[0], after.g[0] - before.g[0], solver.clock, compliance);
    };
    // free bodies give way most
    double most = 0;
    bool bounded = true;
    for (int e = 0; e < 2; ++e) {
      most += compliance(solver.body, layout.link, m.end[e], before.w[e]);
      bounded &= m.end[e] < 0 || layout.link[m.end[e]].mass > 0;
    }
    return (!bounded || too_much(most)) && too_much(compliance_of(l));
  }
  // by how much a unit of a law's multiplier moves its measure at the node, as far as the joints let it
  double compliance_of(int l) {
    const double dt = solver.clock.dt;
    const ConstraintInfo& m = layout.law[l].measure;
    const JointRows rows = node.measured(m, node.law_angle[l]);
    double sum = 0;
    projection.frozen([&] {
      for (int i = 0; i < layout.link_count; ++i) solver.body[i].target_d = solver.body[i].target_L = {0, 0, 0};
      for (int e = 0; e < 2; ++e) {
        const int i = m.end[e];
        if (i < 0) continue;
        solver.body[i].target_d += (1 / layout.link[i].unit) * rows.w[e].f;
        solver.body[i].target_L += rows.w[e].t;
      }
      solver.rest();
      const bool fine = solver.direction();
      for (int e = 0; e < 2; ++e)
        if (m.end[e] >= 0)
          sum += dot(rows.w[e].f, solver.body[m.end[e]].dx) + dot(rows.w[e].t, solver.body[m.end[e]].phi);
      return fine;
    });
    aim(dt);
    solver.evaluate();
    return sum;
  }
  // whether the step lays a wheel flat, or has turned it over
  bool has_flat_wheel() {
    const Clock& clock = solver.clock;
    for (int k = 0; k < layout.loop_count; ++k) {
      const ConstraintInfo& c = layout.constraint[layout.loop[k]];
      if (c.kind != JointKind::rolling_disk) continue;
      if (!falls_flat(c, pose_before(c, 0, solver.body, clock), pose_before(c, 1, solver.body, clock),
                      pose_after(c, 0, solver.body, clock), pose_after(c, 1, solver.body, clock)))
        continue;
      flat_joint = c.joint;
      flat_time = node.now;
      return true;
    }
    return false;
  }

  // the step has been solved: on to the next node
  void commit(double dt) {
    newton_residual = std::fmax(newton_residual, newton.newton_residual);
    const bool steadies = plain && !stops.holds() && least < spinning_cosine && has_spinning_rotor();
    for (int i = 0; i < layout.link_count && steadies; ++i) projection.owed[i] = {solver.body[i].v, solver.body[i].L};
    if (stops.count() > 0) stops.commit();
    solver.commit(dt);
    if (steadies) steady(node.half + 0.5 * dt);
    balance(dt);
    const double per_dt = 1 / dt;
    const auto keep = [&](int l, double lambda) {
      if (layout.law[l].inertia != 0)
        node.law_momentum[l] -= lambda * per_dt;
      else
        node.law_force[l] = 2 * lambda * per_dt * per_dt;
    };
    for (int l = 0; l < layout.law_count && node.free_law_count() > 0; ++l)
      if (!node.on_axis(l) && !node.is_stop(l)) keep(l, layout.law[l].constraint >= 0 ? solver.multiplier_of(l) : 0);
    if constexpr (Solver::acts_on_axes) {
      // one freedom's laws after the other's
      double by = 0;
      for (int at = 0, axis = -1; at < layout.axis_law_count; ++at) {
        const int l = layout.axis_law[at];
        const LawInfo& law = layout.law[l];
        if (law.axis != axis) by = moved_by(layout, law, solver.z);
        axis = law.axis;
        double slope;
        keep(l, law.constraint >= 0 ? law.sign * solver.effort_of(at, by, slope) : 0);
        node.law_angle[l] += law.sign * by;
      }
    }
    node.turns.wind(solver.body);
    node.half = 0.5 * dt;
    node.now += dt;
    node.leaving = true;
  }
  bool has_spinning_rotor() const {
    for (int i = 0; i < layout.link_count; ++i) {
      const Body<double>& b = solver.body[i];
      const double spun = b.w.w < spinning_cosine ? dot(b.w.v, b.R * load3(layout.link[i].spin)) : 0;
      if (std::fabs(spun) > 0.5 * least_spin) return true;
    }
    return false;
  }
  // The momentum of a step is made anew from its motion, with a rounding that has a sign where a body spins, and adds
  // up over a million steps. About its joint a subtree gains what forces give it over the time `kick` and nothing
  // else: the rest, found from differences of momenta that are exact, is taken from the link along the freedoms of
  // its joint, from the leaves on.
  void steady(double kick) {
    Wrench<double>* gained = projection.owed;
    for (int i = 0; i < layout.link_count; ++i) {
      const Body<double>& b = solver.body[i];
      gained[i] = {layout.link[i].unit * ((b.v - gained[i].f) - kick * b.f), (b.L - gained[i].t) - kick * b.tau};
    }
    for (int i = layout.link_count - 1; i >= 0; --i) {
      const LinkInfo& info = layout.link[i];
      Body<double>& b = solver.body[i];
      Wrench<double>& g = gained[i];
      if (info.kind == JointKind::ball || info.kind == JointKind::revolute) {
        Vec3<double> rounding = g.t - cross(b.R * load3(info.anchor), g.f);
        if (info.kind == JointKind::revolute) {
          const bool own = branch_at(info.branch).own[0];
          const Vec3<double> axis = load3(info.direction);
          const Vec3<double> a = own ? b.R * axis : info.parent < 0 ? axis : solver.body[info.parent].R * axis;
          rounding = dot(a, rounding) * a;
        }
        const Vec3<double> before = b.L;
        b.L -= rounding;
        g.t += b.L - before;
      }
      if (info.parent < 0) continue;
      const Body<double>& parent = solver.body[info.parent];
      gained[info.parent].f += g.f;
      gained[info.parent].t += g.t + cross((b.x - b.d) - (parent.x - parent.d), g.f);
    }
  }
  // apart, as it is rare
  [[gnu::noinline]] Wrench<double> drag_on(int i, double dt) const {
    return drag_residual(solver.body[i], layout.drag + 6L * i, dt);
  }
  // What Newton leaves of a floating system's balance, far below the tolerance, would add up over a million steps: one
  // of its roots takes it over into the next step, so that momentum is kept to rounding whatever the tolerance.
  void balance(double dt) {
    if (!floats) return;
    Wrench<double>* owed = projection.owed;
    for (int i = 0; i < layout.link_count; i = layout.link[i].tree_end) owed[i] = {{0, 0, 0}, {0, 0, 0}};
    for (int i = 0; i < layout.link_count; i = layout.link[i].tree_end) {
      const int keeper = layout.link[i].keeper;
      if (keeper < 0) continue;
      // from where the keeper was to where every body was
      const Vec3<double> origin = solver.body[keeper].x - solver.body[keeper].d;
      for (int k = i; k < layout.link[i].tree_end; ++k) {
        const Body<double>& b = solver.body[k];
        Vec3<double> force = layout.link[k].unit * force_residual(b, layout.link[k].share), torque = torque_residual(b);
        if (layout.drag) {
          const Wrench<double> w = drag_on(k, dt);
          force += w.f;
          torque += w.t;
        }
        owed[keeper].f += force;
        owed[keeper].t += torque + cross((b.x - b.d) - origin, force);
      }
    }
    for (int i = 0; i < layout.link_count; i = layout.link[i].tree_end) {
      if (layout.link[i].keeper != i) continue;
      Body<double>& root = solver.body[i];
      root.v -= (1 / (dt * layout.link[i].unit)) * owed[i].f;
      // the impulse acts where the root will be
      root.L -= (1 / dt) * (owed[i].t - cross(root.d, owed[i].f));
    }
  }
};

}  // namespace catena::CATENA_ISA
