// What the status says of a run that cannot go on: a code, a time, and the body, joint or law to blame.
#pragma once

#include "simulate/step.hpp"

namespace catena::CATENA_ISA {

inline StatusCode code_of(Outcome outcome) {
  switch (outcome) {
    case Outcome::diverged: return StatusCode::diverged;
    case Outcome::too_far: return StatusCode::too_far;
    case Outcome::locked: return StatusCode::locked;
    case Outcome::exhausted: return StatusCode::exhausted;
    case Outcome::flat: return StatusCode::flat;
    default: return StatusCode::singular;
  }
}

// for whoever returns it
inline bool interrupt(RunArgs& args, long step, double time) {
  args.status.code = StatusCode::interrupted;
  args.status.step = step;
  args.status.time = time;
  return false;
}

// the same of a step that has no solution
template <class Solver>
bool fail(Step<Solver>& of, Outcome outcome, long step, double time) {
  const Layout& layout = of.layout;
  const Solver& solver = of.solver;
  Status& status = of.node.args.status;
  // near the flat pose Newton fails as well
  const bool flat = of.flat_joint >= 0 && std::fabs(time - of.flat_time) <= std::fabs(of.args.dt);
  if (flat) outcome = Outcome::flat;
  status.code = code_of(outcome);
  status.step = step;
  status.time = time;
  status.size = outcome == Outcome::locked ? solver.widest_gap : of.newton.size;
  for (int l = 0; l < layout.law_count && status.law < 0; ++l)
    if (outcome == Outcome::singular && of.refuses(l)) status.law = l;
  const Touches<Solver>& touches = of.stops.touches;
  const int rubs = outcome == Outcome::diverged || outcome == Outcome::singular ? touches.worst() : -1;
  if (rubs >= 0 && status.law < 0) {
    const Touch& t = touches.touch[rubs];
    status.law = t.law;
    status.gap = t.gap_at(solver.body, false);
    status.speed = std::hypot(t.value[1], t.value[2]) / std::fabs(solver.clock.dt);
  }
  if (solver.widest_constraint >= 0) {
    const ConstraintInfo& widest = layout.constraint[solver.widest_constraint];
    status.joint = widest.joint;
    if (outcome == Outcome::locked && widest.rows == RowKind::stop) status.law = widest.item;
  }
  if (outcome == Outcome::locked && solver.loop_mismatch.size > layout.loop_tolerance) {
    status.joint = solver.loop_mismatch.joint;
    status.size = solver.loop_mismatch.size;
  }
  if (flat) status.joint = of.flat_joint;
  // name the body that turns too far, or else the one whose increment is largest; NaN wins
  double worst = -1;
  for (int i = 0; i < layout.link_count; ++i) {
    const Body<double>& b = solver.body[i];
    const double measure = outcome == Outcome::too_far ? norm2(b.w.v) : norm2(b.dx) + norm2(b.phi);
    if (measure <= worst) continue;
    worst = measure == measure ? measure : 1e300;
    status.body = layout.link[i].body;
  }
  return false;
}

}  // namespace catena::CATENA_ISA
