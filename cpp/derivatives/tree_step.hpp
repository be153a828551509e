// A step of a tree from the current node of a run, linearized: the derivatives of coordinates and rates at its end with
// respect to those at its beginning, and to efforts that are held during the step. They are exact; subtree_sums.hpp has
// the equations. For a composed step, the matrices of its plain steps are multiplied.
//
// Freedoms are first those of the solver: rotations and translations along joint axes, rotations of ball joints along
// the axes of the parent, and motions of floating links along world axes. `Coordinates::write` converts the result to
// the user's coordinates.
#pragma once

#include "args/linear.hpp"
#include "derivatives/columns.hpp"
#include "derivatives/coordinates.hpp"
#include "derivatives/subtree_sums.hpp"
#include "simulate/run.hpp"

namespace catena::CATENA_ISA {

// slopes of the force of a law by its measure: on the interval, by the values at both ends; and at the node
struct LawSlopes {
  double begin, end, node;
};
inline LawSlopes slopes_of(const LawInfo& law, double phi2, double phi3, const Stage<double>& stage) {
  LawSlopes s = {0, 0, 0};
  stage_force<double>(law, phi2, phi3, stage, s.end);
  const double middle = 0.5 * (phi2 + phi3), v = (phi3 - phi2) * stage.per_dt;
  // a force that depends on the difference alone has opposite slopes at both ends
  double together = 0;
  if (law.side == 0 || s.end != 0)
    if (law.implicit > 0) together -= law.stiffness;
  if (std::fabs(law.kp * (stage.target - middle) + law.kd * (stage.rate - v)) < law.limit) together -= law.kp;
  if (law.stop_stiffness > 0 && (phi3 > law.upper || phi3 < law.lower)) together -= law.stop_stiffness;
  s.begin = together - s.end;
  if (!(law.implicit > 0) && !is_slack<double>(law, phi2)) s.node = -law.stiffness;
  return s;
}

// working arrays
struct StepRoom {
  Six *old_motion, *new_motion;          // (link) velocities of the center
  Vec3<double>*moved, *half_spin;        // (link) over the step
  Mat3<double>* H;                       // (link) rotational inertia over the step
  Motions s2, s3, change, a2, a3;        // directions, their changes over the step, and V x s
  double *lower, *upper, *full, *above;  // (freedom, pad)
  double* effort;                        // (input) effort on its freedom per unit of the input
  int* input_freedom;
  double *by_begin, *by_end, *by_node, *rotor;  // (freedom) sums over the laws that act on it
  double *X, *Y;                                // (freedom, stride): derivatives by positions, rates and inputs
};

struct TreeStep : StepRoom {
  Runner<Articulated<double>>& run;
  FreedomTable& freedom;
  SubtreeSums& sums;
  ColumnSolver& columns;
  Vec3<double>& origin;
  const Layout& layout = run.layout;
  Articulated<double>& solver = run.solver;
  const int n = freedom.count;
  const long pad = freedom.pad;
  double h = 0;

  static int column_count(const Layout& layout, int inputs) { return 2 * layout.variable_count + inputs; }
  static long stride_of(const Layout& layout, int inputs) {
    return (column_count(layout, inputs) + wide_width - 1) / wide_width * wide_width;
  }
  int inputs() const { return run.args.input_count; }
  long stride() const { return stride_of(layout, inputs()); }

  // writes A and B, and takes the run to the next node; `room` has the size of A twice and of B once
  LinearOutcome find(const Coordinates& coordinates, double* A, double* B, double* room) {
    freedom.fill();
    const long size = 2L * n, a = size * size, b = size * inputs();
    double *const part_A = room, *const part_B = part_A + a, *const before = part_B + b;
    for (int k = 0; k < run.parts.count; ++k) {
      run.newton.select(run.history[k]);
      h = run.parts.part[k] * run.args.dt;
      if (k == 0) {
        if (const auto outcome = find_part(coordinates, k, A, B); outcome != LinearOutcome::found) return outcome;
        continue;
      }
      if (const auto outcome = find_part(coordinates, k, part_A, part_B); outcome != LinearOutcome::found)
        return outcome;
      __builtin_memcpy(before, A, sizeof(double) * static_cast<std::size_t>(a));
      __builtin_memset(A, 0, sizeof(double) * static_cast<std::size_t>(a));
      follow(part_A, before, A, size);
      // B' = A_k B + B_k
      follow(part_A, B, part_B, inputs());
      __builtin_memcpy(B, part_B, sizeof(double) * static_cast<std::size_t>(b));
    }
    return LinearOutcome::found;
  }

 private:
  // adds the product of A (2 freedom, 2 freedom) and X (2 freedom, columns)
  void follow(const double* A, const double* X, double* to, long columns) const {
    for (int i = 0; i < 2 * n; ++i)
      for (int j = 0; j < 2 * n; ++j)
        for (long k = 0; k < columns; ++k) to[i * columns + k] += A[i * 2L * n + j] * X[j * columns + k];
  }
  LinearOutcome find_part(const Coordinates& coordinates, int part, double* A, double* B) {
    if (!run.projection.project(run.node.arriving())) return LinearOutcome::unsolved;
    origin = solver.body[0].x;
    note_velocities(old_motion);
    find_directions(false, old_motion, run.projection.rates, s2, &a2);
    coordinates.find(coordinates.old, solver.body, old_motion);
    if (run.step.solve(h) != Outcome::converged) return LinearOutcome::unsolved;
    if (run.stops.holds() || (part == run.parts.count - 1 && reaches_stop())) return LinearOutcome::held;
    solver.evaluate();
    if (!solver.factor()) return LinearOutcome::unsolved;
    find_directions(true, old_motion, nullptr, s3, nullptr);
    find_changes();
    find_law_slopes();
    lead_to_positions();
    columns.solve(X, stride(), column_count(layout, inputs()));
    run.step.commit(h);
    run.node.place(0);
    if (!run.projection.project(run.node.arriving())) return LinearOutcome::unsolved;
    note_velocities(new_motion);
    find_directions(false, new_motion, run.projection.rates, s3, &a3);
    lead_to_rates();
    columns.solve(Y, stride(), column_count(layout, inputs()));
    for (int f = 0; f < n; ++f) X[f * stride() + f] += 1;
    coordinates.find(coordinates.now, solver.body, new_motion);
    coordinates.write(X, Y, stride(), inputs(), A, B);
    return LinearOutcome::found;
  }

  // whether a stop that is open is touched or passed where the step ends
  bool reaches_stop() const {
    int whose = -1;
    return run.stops.count() > 0 && run.stops.least_gap(whose) < stop_rounding;
  }

  void note_velocities(Six* motion) const {
    for (int i = 0; i < layout.link_count; ++i) motion[i] = {solver.body[i].dx, solver.body[i].phi};
  }

  // directions of all freedoms, and V x s
  void find_directions(bool at_end, const Six* velocity, const double* rates, Motions s, const Motions* a) const {
    for (int i = 0; i < layout.link_count; ++i) {
      const LinkInfo& info = layout.link[i];
      const Body<double>& b = solver.body[i];
      const Vec3<double> x = (at_end ? b.x + b.d : b.x) - origin;
      const Six own = {velocity[i].v - cross(velocity[i].w, x), velocity[i].w};
      if (!FreedomTable::has_swivel(info)) {
        const Axis<double>* const axis = solver.axis + info.first_axis;
        Six V = own;
        for (int k = info.axis_count - 1; k >= 0; --k) {
          const Vec3<double> turn = at_end ? axis[k].turn3 : axis[k].turn,
                             slide = at_end ? axis[k].slide3 : axis[k].slide;
          const Six found = {slide - cross(turn, x), turn};
          s.put(info.variable + k, found);
          if (!a) continue;
          a->put(info.variable + k, motion_cross(V, found));
          V = V - (rates[info.variable + k] / axis[k].gain) * found;
        }
        continue;
      }
      const bool floats = FreedomTable::is_floating(info);
      const Vec3<double> point = floats ? x : x - (at_end ? solver.link[i].c3 : solver.link[i].c);
      const Mat3<double> R = at_end ? columns.turned_frame_above(i) : columns.frame_above(i);
      const Vec3<double> axes[3] = {R.i, R.j, R.k};
      for (int k = 0; k < 3; ++k) {
        const int turn = FreedomTable::first_turn(info) + k;
        s.put(turn, {-cross(axes[k], point), axes[k]});
        if (a) a->put(turn, motion_cross(own, s.get(turn)));
        if (!floats) continue;
        s.put(info.variable + k, {axes[k], {0, 0, 0}});
        // with the velocity of the shift alone
        if (a) a->put(info.variable + k, motion_cross({velocity[i].v, {0, 0, 0}}, s.get(info.variable + k)));
      }
    }
  }
  // s' - s, without cancellation for the first axis of a joint
  void find_changes() const {
    for (int i = 0; i < layout.link_count; ++i) {
      const LinkInfo& info = layout.link[i];
      const Body<double>& b = solver.body[i];
      const Link<double>& l = solver.link[i];
      const Quat<double> above = info.parent >= 0 ? solver.body[info.parent].w : Quat<double>{1, {0, 0, 0}};
      for (int k = 0; k < freedoms(info.branch); ++k) {
        const int f = info.variable + k;
        if (FreedomTable::has_swivel(info) || k > 0) {
          change.put(f, s3.get(f) - s2.get(f));
          continue;
        }
        const Axis<double>& e = solver.axis[info.first_axis];
        const bool turning = turns(info.branch, 0);
        const Vec3<double> by = turning ? turn(above, e.turn) : Vec3<double>{0, 0, 0};
        Vec3<double> slide = turning ? cross(by, l.c3) + cross(e.turn, l.c3 - l.c) : turn(above, e.slide);
        if (branch_at(info.branch).motion[0] == Motion::helix) slide += info.parameter * by;
        change.put(f, {slide - cross(by, b.x - origin + b.d) - cross(e.turn, b.d), by});
      }
    }
  }
  void find_law_slopes() const {
    for (int f = 0; f < n; ++f) by_begin[f] = by_end[f] = by_node[f] = rotor[f] = 0;
    for (int l = 0; l < layout.law_count; ++l) {
      const LawInfo& law = layout.law[l];
      if (law.axis < 0 || law.stop >= 0) continue;
      const int f = freedom_of(law);
      const double phi = run.node.law_angle[l];
      const LawSlopes s =
          slopes_of(law, phi, phi + law.sign * moved_by(layout, law, solver.z), stage_of(law, solver.clock));
      by_begin[f] += s.begin, by_end[f] += s.end, by_node[f] += s.node, rotor[f] += law.inertia;
    }
    for (int k = 0; k < inputs(); ++k) {
      const LawInfo& law = layout.law[run.args.input[k].law];
      const double* const number = numbers_of<double>(law) + run.args.input[k].number;
      input_freedom[k] = freedom_of(law);
      effort[k] = number == &law.force               ? law.sign
                  : is_within(run.args.input[k].law) ? law.sign * servo_part(law, number)
                                                     : 0;
    }
  }
  int freedom_of(const LawInfo& law) const {
    return layout.link[law.link].variable + law.axis - layout.link[law.link].first_axis;
  }
  static double servo_part(const LawInfo& law, const double* number) {
    return number == &law.target ? law.kp : number == &law.target_rate ? law.kd : 0;
  }
  // whether a servo stays below its effort limit over the step
  bool is_within(int l) const {
    const LawInfo& law = layout.law[l];
    const double by = law.sign * moved_by(layout, law, solver.z);
    const Stage<double> stage = stage_of(law, solver.clock);
    return std::fabs(law.kp * (stage.target - run.node.law_angle[l] - 0.5 * by) +
                     law.kd * (stage.rate - by * stage.per_dt)) < law.limit;
  }

  // right-hand sides of K e: N2 - K, h M2 and h^2/2
  void lead_to_positions() const {
    for (int i = 0; i < layout.link_count; ++i) {
      const LinkInfo& info = layout.link[i];
      const Body<double>& b = solver.body[i];
      const Vec3<double> x = b.x - origin, x3 = x + b.d, w = old_motion[i].w, spin = b.J * w;
      Subtree& c = sums.subtree[i];
      H[i] = solver.link[i].H, moved[i] = b.d, half_spin[i] = 2.0 * half_turn_momentum(b);
      c.mass = info.mass;
      c.moment = c.moment2 = info.mass * x, c.moment3 = info.mass * x3, c.shift = info.mass * b.d;
      c.inertia = b.J - info.mass * skews(x, x);
      c.momentum = info.mass * old_motion[i].v, c.spin = spin + cross(x, c.momentum);
      c.push = c.shift - (0.5 * h * h * info.unit) * b.f;
      c.pushed = skews(c.push, x);
      c.D = H[i] - info.mass * skews(x, x3);
      c.Q = turned_points(x, c.shift, half_spin[i]);
      c.force = c.push - h * c.momentum;
      c.torque = cross(x, c.force) + half_spin[i] - h * spin - (0.5 * h * h) * b.tau;
    }
    sums.gather();
    sums.find_slopes(s2, a2, h, -1, lower, upper, full, h);
    sums.add_masses(s2, change, &s2, -1, lower, upper);
    for (int f = 0; f < n; ++f) {
      lower[f * pad + f] += 0.5 * h * h * (by_node[f] + by_begin[f] + by_end[f]);
      full[f * pad + f] += h * rotor[f];
    }
    for (int f = 0; f < n; ++f) {
      double* const to = X + f * stride();
      __builtin_memset(to, 0, sizeof(double) * static_cast<std::size_t>(stride()));
      for (int j = 0; j <= f; ++j) to[j] = lower[f * pad + j], to[n + j] = full[f * pad + j];
      for (int j = 0; j < f; ++j) X[j * stride() + f] = upper[f * pad + j], X[j * stride() + n + f] = full[f * pad + j];
    }
    for (int k = 0; k < inputs(); ++k) X[input_freedom[k] * stride() + 2 * n + k] = 0.5 * h * h * effort[k];
  }
  // right-hand sides of M3 dr3: (N3 - K^T/h) dq2 + N3 e + h/2 du
  void lead_to_rates() const {
    for (int i = 0; i < layout.link_count; ++i) {
      const LinkInfo& info = layout.link[i];
      const Body<double>& b = solver.body[i];
      const Vec3<double> x = b.x - origin, w = new_motion[i].w, spin = b.J * w;
      Subtree& c = sums.subtree[i];
      c.mass = info.mass;
      c.moment = c.moment2 = c.moment3 = info.mass * x, c.shift = info.mass * moved[i];
      c.inertia = b.J - info.mass * skews(x, x);
      c.momentum = info.mass * new_motion[i].v, c.spin = spin + cross(x, c.momentum);
      c.push = info.unit * (b.v + (0.5 * h) * b.f);
      c.pushed = skews(c.push, x);
      c.D = H[i] - info.mass * skews(x, x);
      c.Q = turned_points(x, c.shift, half_spin[i]);
      c.force = c.push - c.momentum;
      c.torque = cross(x, c.force) + (b.L + (0.5 * h) * b.tau) - spin;
    }
    sums.gather();
    sums.find_slopes(s3, a3, 1, 1, lower, upper, nullptr, 0);
    const std::size_t size = sizeof(double) * static_cast<std::size_t>(n * pad);
    __builtin_memcpy(full, lower, size), __builtin_memcpy(above, upper, size);
    sums.add_masses(s3, s3, nullptr, 1 / h, lower, upper);
    sums.add_masses(s3, change, &s2, 1 / h, full, above);
    for (int f = 0; f < n; ++f)
      __builtin_memset(Y + f * stride(), 0, sizeof(double) * static_cast<std::size_t>(stride()));
    for (int f = 0; f < n; ++f) {
      double* const to = Y + f * stride();
      for (int j = 0; j <= f; ++j) to[j] = full[f * pad + j];
      for (int j = 0; j < f; ++j) Y[j * stride() + f] = above[f * pad + j], lower[j * pad + f] = upper[f * pad + j];
      to[f] += 0.5 * h * (by_node[f] + by_begin[f] + by_end[f]);
      lower[f * pad + f] += 0.5 * h * (by_node[f] + by_end[f]) + rotor[f] / h;
    }
    for (int k = 0; k < inputs(); ++k) Y[input_freedom[k] * stride() + 2 * n + k] = 0.5 * h * effort[k];
    Product{lower, pad, X, Y, stride(), n}.add(column_count(layout, inputs()));
  }
};

}  // namespace catena::CATENA_ISA
