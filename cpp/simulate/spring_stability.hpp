// Springs that are too stiff for the step.
//
// A spring that acts at the nodes is stable as long as no motion of it is too fast for the step: with w^2 the largest
// eigenvalue of K^(1/2) G M^-1 G^T K^(1/2), G the directions of all such springs and M^-1 what the joints leave of the
// bodies' compliance, plain steps grow for ever where w dt > 2. What the joints leave is an increment from rest, which
// takes linear time, so the eigenvalue is found by the power method. Its trace, with the compliance of free bodies, is
// a bound that most mechanisms are far below, and all that they pay for.
#pragma once

#include "simulate/compose.hpp"
#include "simulate/progress.hpp"
#include "simulate/projection.hpp"

namespace catena::CATENA_ISA {

// whether an oscillator with (w dt)^2 = square grows under the steps
inline bool grows(const Composition& parts, double square) {
  double q[2] = {1, 0}, p[2] = {0, 1};
  for (int k = 0; k < parts.count; ++k)
    for (int e = 0; e < 2; ++e) {
      const double h = parts.part[k];
      p[e] -= 0.5 * h * square * q[e];
      q[e] += h * p[e];
      p[e] -= 0.5 * h * square * q[e];
    }
  // a thousandth in a step, or more
  return std::fabs(q[0] + p[1]) > 2 + 1e-6;
}

template <class Solver>
struct StiffModes {
  const Layout& layout;
  Solver& solver;  // its unknowns are zero
  double* mode;    // (law)

  static constexpr double harmless = 1;  // of (w dt)^2, for all orders
  static constexpr int most_rounds = 40;

  // nodes until the next look, for poses change: a weight that slides in along an arm is thrown out again by an arm
  // that has become too light for its spring
  static int pause(double bound) { return bound < harmless / 16 ? 64 : 8; }

  static bool acts(const LawInfo& law) { return law.stiffness > 0 && !law.implicit; }

  JointRows rows(int l, const double* angle) const {
    const ConstraintInfo& m = layout.law[l].measure;
    JointRows r;
    r.angle[0] = angle[l];
    joint_rows(m, old_pose(solver.body, m.end[0]), old_pose(solver.body, m.end[1]), angle[l], r);
    return r;
  }

  // the sum of all eigenvalues, or more
  double bound(const double* angle) const {
    double sum = 0;
    for (int l = 0; l < layout.law_count; ++l) {
      const LawInfo& law = layout.law[l];
      if (!acts(law)) continue;
      const JointRows r = rows(l, angle);
      for (int e = 0; e < 2; ++e)
        sum += law.stiffness * free_compliance(solver.body, layout.link, law.measure.end[e], r.w[e]);
    }
    return sum;
  }

  // the largest eigenvalue from below, and into `mode` how much of it every spring has, begun where that was found last
  // if it was; 0 if there is none to be found
  double largest(const double* angle, bool known) {
    for (int l = 0; l < layout.law_count && !known; ++l) mode[l] = acts(layout.law[l]) ? 1.0 / (1 + l % 7) : 0;
    double found = 0;
    for (int round = 0; round < most_rounds; ++round) {
      const double length = normalise();
      if (round > 0 && std::fabs(length - found) < 1e-3 * length) return length;
      if (round > 0) found = length;
      if (!(length > 0) || !respond(angle)) return 0;
    }
    return found;
  }
  double normalise() {
    double sum = 0;
    for (int l = 0; l < layout.law_count; ++l) sum += mode[l] * mode[l];
    const double length = std::sqrt(sum);
    for (int l = 0; l < layout.law_count && length > 0; ++l) mode[l] /= length;
    return length;
  }
  // mode -> K^(1/2) G M^-1 G^T K^(1/2) mode
  bool respond(const double* angle) {
    for (int i = 0; i < layout.link_count; ++i) solver.body[i].target_d = solver.body[i].target_L = {0, 0, 0};
    each(angle, [&](int l, double root, int i, const Wrench<double>& w) {
      solver.body[i].target_d += (root * mode[l] / layout.link[i].unit) * w.f;
      solver.body[i].target_L += (root * mode[l]) * w.t;
    });
    solver.rest();
    if (!solver.direction()) return false;
    for (int l = 0; l < layout.law_count; ++l) mode[l] = 0;
    each(angle, [&](int l, double root, int i, const Wrench<double>& w) {
      mode[l] += root * (dot(w.f, solver.body[i].dx) + dot(w.t, solver.body[i].phi));
    });
    return true;
  }
  template <class F>
  void each(const double* angle, F&& use) const {
    for (int l = 0; l < layout.law_count; ++l) {
      const LawInfo& law = layout.law[l];
      if (!acts(law)) continue;
      const JointRows r = rows(l, angle);
      for (int e = 0; e < 2; ++e)
        if (law.measure.end[e] >= 0) use(l, std::sqrt(law.stiffness), law.measure.end[e], r.w[e]);
    }
  }
};

// whether the springs of a run can be followed by its steps, looked at now and then
template <class Solver>
struct Springs {
  Node<Solver>& node;
  Projection<Solver>& projection;
  Progress& progress;
  const Composition& parts;
  double* mode;           // (law) see StiffModes
  bool has_mode = false;  // it is known

  // a failure if not
  bool follow(long step, double time) {
    const Layout& layout = node.layout;
    // where errors are kept small, what grows is halved
    if (layout.law_count == 0 || node.args.error_rate > 0) return true;
    if (progress.base + step < progress.next_stiff_check) return true;
    StiffModes<Solver> modes{layout, node.solver, mode};
    const double dt = node.args.dt, square = dt * dt, bound = modes.bound(node.law_angle) * square;
    progress.next_stiff_check = progress.base + step + modes.pause(bound);
    if (bound <= modes.harmless) return true;
    const double largest = projection.frozen([&] { return modes.largest(node.law_angle, has_mode); });
    // massless bodies have no bound
    if (std::isinf(bound)) progress.next_stiff_check = progress.base + step + modes.pause(largest * square);
    has_mode = largest > 0;
    if (!grows(parts, largest * square)) return true;
    Status& status = node.args.status;
    status.code = StatusCode::stiff;
    status.step = step;
    status.time = time;
    status.size = std::sqrt(largest) * std::fabs(dt);
    status.body = 0;
    status.law = 0;
    for (int l = 0; l < layout.law_count; ++l)
      if (std::fabs(mode[l]) > std::fabs(mode[status.law])) status.law = l;
    return false;
  }
};

}  // namespace catena::CATENA_ISA
