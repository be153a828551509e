// The loop over time.
//
// At a node: geometry, forces, perhaps a record, perhaps the user's control; then the step to the next node. A node's
// velocity is that of the momentum arriving from the left, p = m v1 + half f (half: half of the interval before),
// projected onto the joints; by the symmetry of the scheme the momentum leaving to the right differs from it only by
// joint impulses, so going on from the projected one gives the same trajectory. The projection is one Newton increment
// from a body at rest: there the matrix is the mass matrix with the joints of the node on both sides.
//
// Rescue: a step that cannot be solved is replaced by two of half the length, again and again, and the full length is
// taken up again where the halves fit together. Momenta are state and `kick` knows both neighbouring lengths, so
// this is consistent; that it happened is counted.
#pragma once

#include <algorithm>

#include "kernel.hpp"
#include "simulate/compose.hpp"
#include "simulate/stiff.hpp"
#include "solve/newton.hpp"

namespace catena::CATENA_ISA {

// Pieces that a run may take: a step now and then may need many, one after the other may not.
constexpr long first_budget = 1L << 14, step_budget = 128;

// How far a step may turn a body (rad). Its momentum is the sine of the turn: beyond a quarter turn other roots begin,
// and long before them the energy that the step keeps is another; not so where a rotor spins about its own axis.
constexpr double most_turn = 0.25, most_spin = 1;
inline const double farthest_cosine = std::cos(0.5 * most_turn), farthest_spin_cosine = std::cos(0.5 * most_spin);

constexpr int most_refinements = 20;  // of a node's velocities
constexpr double safe_pivot = 1e-6;   // that needs none

template <class Solver>
struct Runner {
  const Layout& layout;
  RunArgs& args;
  Solver& solver;
  Newton<Solver>& newton;
  const Composition& parts;
  History* history;  // (part), and those of weigh
  int history_count;
  double* saved;  // room for the solver's state, where a step has several parts
  double* zeros;  // unknowns of a body at rest, and room for their increment
  double* scratch;
  Wrench<double>* owed;    // (link) see balance
  Wrench<double>* acting;  // (link) loads at the node where another run has ended
  double* before;          // (row) the first node's reaction from the other side
  bool has_before = false;
  double* law_angle;     // (law) angles, turns counted; of laws on freedoms of the tree, the measure
  double* law_force;     // (law) on the interval before the node
  double* law_momentum;  // (law) of its rotor there
  double* motor_before;  // (law) what it was on the interval before, where a control has changed it
  double* law_mode;      // (law, 2) see StiffModes, and room for momenta
  double* pushed;        // (axis) impulses of laws on freedoms at the node, times dt
  double* counted;       // (counter) angles, turns counted
  double wound = 0;      // no two bodies have turned further against each other since then
  bool leaving = false;  // a step has been taken, its end not yet seen
  double half = 0;       // half of the interval before the node
  double now = 0;        // time of the node
  double origin = 0;     // time of step 0, which a run that goes on has long left behind
  long base = 0;         // steps from there to the first node of this run
  long here = 0;         // steps from that to the node, in a run
  long taken = 0;        // the same, step by step
  double usual = 0;      // length of those steps
  double end_time = 0;   // for which the signals at the end of the step hold
  bool has_end = false;
  bool doubts_signals = false;  // they were read by another run
  bool looks_behind = false;    // functions of time are not to be asked for what comes after the node
  // of the step, over all its solves
  int iterations = 0, longest = 0;
  double remainder = 0;
  long spent = 0;  // pieces of all steps
  long next_stiff_check = 0;
  bool has_mode = false;     // law_mode is known
  int flat_joint = -1;       // whose wheel lay flat in the last step that was refused for it
  double flat_time = 0;      // of the node before that
  long next_record = 0;      // step whose node is the next to be recorded
  bool recorded = false;     // the node has been
  bool weighed = false;      // its reactions are known before the step that leaves it
  bool has_gravity = false;  // the bodies' forces are set, and nothing changes them
  bool floats = false;       // some tree has no hold on the world
  bool rubs = false;         // there is friction

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
      newton.extent += std::sqrt(norm2(b.x)) / layout.link_count;
      floats |= layout.link[i].keeper == i;
    }
    solver.reach = layout.reach;
    newton.by_sign = args.rescue_depth == 0;
    for (int l = 0; l < layout.law_count; ++l) rubs |= layout.law[l].friction > 0;
    solver.momentum = law_momentum;
    if constexpr (Solver::acts_on_axes) solver.measured = law_angle, solver.pushed = pushed;
    solver.clock.now = signals(0);
    solver.clock.middle = signals(1);
    solver.clock.end = signals(2);
    solver.clock.rate = signals(3);
    solver.enter();
    count_from_start();
    origin = now = args.start_time;
    usual = args.dt;
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
      else if (law.constraint >= 0)
        solver.rows_of(layout.constraint[law.constraint]).angle[0] = law_angle[l];
      law_momentum[l] = rotor_momentum(l, [&](int i) {
        const int k = layout.link[i].body;
        return Wrench<double>{load3(args.velocity + 3 * k), load3(args.angular_velocity + 3 * k)};
      });
    }
    for (int j = 0; j < layout.constraint_count; ++j)
      if (layout.constraint[j].loop >= 0)
        count_terms(layout.constraint[j], args.term_start, solver.rows_of(layout.constraint[j]));
    for (int k = 0; k < layout.counter_count; ++k) counted[k] = k < args.counter_count ? args.counter_start[k] : 0;
    wound = at_start;
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

  // those that go with the node's velocities
  void find_rotor_momenta() {
    for (int l = 0; l < layout.law_count; ++l)
      law_momentum[l] = rotor_momentum(l, [&](int i) { return Wrench<double>{solver.body[i].dx, solver.body[i].phi}; });
  }

  // whether the solver has the law in a pivot
  bool on_axis(int l) const { return Solver::acts_on_axes && layout.law[l].axis >= 0; }
  int free_law_count() const { return Solver::acts_on_axes ? layout.free_law_count : layout.law_count; }

  JointRows measured(const ConstraintInfo& m, double recent) const {
    JointRows rows;
    rows.angle[0] = recent;
    joint_rows(m, old_pose(solver.body, m.end[0]), old_pose(solver.body, m.end[1]), recent, rows);
    return rows;
  }

  // functions of time: at the node, in the middle of the step, at its end; derivatives at the node
  double* signals(int which) const { return args.signals + static_cast<long>(which) * args.signal_count; }
  void read_signals(double time, int which) {
    if (args.signal_count > 0) args.read_signals(args.context, time, signals(which));
  }
  void read_signal_rates() {
    const int n = args.signal_count;
    if (n == 0) return;
    // fourth order, in the room of the middle and the end
    const double h = std::fabs(args.dt) / 32;
    double *rate = signals(3), *one = signals(1);
    has_end = false;
    for (int k = 0; k < n; ++k) rate[k] = 0;
    struct Term {
      double offset, weight;
    };
    static constexpr Term around[] = {{-2, 1. / 12}, {-1, -8. / 12}, {1, 8. / 12}, {2, -1. / 12}, {0, 0}};
    static constexpr Term behind[] = {{0, 25. / 12}, {-1, -4}, {-2, 3}, {-3, -4. / 3}, {-4, 1. / 4}};
    for (const Term& term : looks_behind ? behind : around) {
      if (term.weight == 0) continue;
      read_signals(now + term.offset * h, 1);
      align_grounds(one);
      for (int k = 0; k < n; ++k) rate[k] += (term.weight / h) * one[k];
    }
  }
  // a quaternion and its opposite are the same turn: take the one nearest to the node's
  void align_grounds(double* values) const {
    for (int k = 0; k < layout.loop_count; ++k) {
      const int first = layout.constraint[layout.loop[k]].ground;
      if (first < 0) continue;
      const double *near = signals(0) + first + 3, *q = values + first + 3;
      if (near[0] * q[0] + near[1] * q[1] + near[2] * q[2] + near[3] * q[3] > 0) continue;
      for (int e = 3; e < 7; ++e) values[first + e] = -values[first + e];
    }
  }
  // at a node; the end of the last step often is the same instant
  void enter_node() {
    if (args.signal_count == 0) return;
    if (doubts_signals) return check_signals();
    if (!has_end || std::fabs(end_time - now) > 1e-9 * std::fabs(args.dt)) return read_signals(now, 0);
    for (int k = 0; k < args.signal_count; ++k) signals(0)[k] = signals(2)[k];
  }

  // Where another run has ended the functions' values are those that it had there, if the functions are the same.
  void check_signals() {
    doubts_signals = false;
    read_signals(now, 0);
    bool same = has_end;
    for (int k = 0; k < args.signal_count; ++k)
      same &= std::fabs(signals(2)[k] - signals(0)[k]) <= 1e-9 * (1 + std::fabs(signals(0)[k]));
    for (int k = 0; k < args.signal_count && same; ++k) signals(0)[k] = signals(2)[k];
  }

  // gravity, laws and loads at the node
  void forces(long node) {
    has_gravity = free_law_count() == 0 && args.loads.count == 0 && args.held.count == 0;
    for (int i = 0; i < layout.link_count; ++i) {
      solver.body[i].f = load3(layout.link[i].gravity);
      solver.body[i].tau = {0, 0, 0};
    }
    for (int l = 0; l < layout.law_count && free_law_count() > 0; ++l) {
      if (on_axis(l)) continue;
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
    for (int k = 0; k < args.loads.count; ++k) {
      const int i = layout.body_link[args.loads.body[k]];
      load(i, load_on(i, k, node), 1, solver.body[i].f, solver.body[i].tau);
    }
    for (int k = 0; k < args.held.count; ++k) {
      const int i = layout.body_link[k];
      load(i, held_on(i, k), 1, solver.body[i].f, solver.body[i].tau);
    }
  }
  // so much of a force and torque on a link to what is kept over the unit and as it is
  void load(int i, const Wrench<double>& w, double part, Vec3<double>& per_unit, Vec3<double>& whole) const {
    per_unit += (part / layout.link[i].unit) * w.f;
    whole += part * w.t;
  }

  // force and torque on the centre of mass of a link, in its pose
  Wrench<double> load_on(int i, int k, long node) const {
    const Loads& loads = args.loads;
    const double* row = loads.signal[k] >= 0 ? signals(0) + loads.signal[k]
                                             : loads.values + 6L * (k + (loads.rows == 1 ? 0 : loads.count * node));
    return at_centre(i, row, loads.point + 3 * k, loads.in_body_frame[k]);
  }
  Wrench<double> held_on(int i, int k) const {
    return at_centre(i, args.held.values + 6 * k, args.held.point + 3 * k, args.held.in_body_frame[k]);
  }
  Wrench<double> at_centre(int i, const double* row, const double* point, bool in_body_frame) const {
    const Mat3<double>& R = solver.body[i].R;
    Vec3<double> f = load3(row), t = load3(row + 3);
    if (in_body_frame) f = R * f, t = R * t;
    return {f, t + cross(R * load3(point), f)};
  }

  // What is held over a step gives half of its impulse at either end, along the directions there. At a node `forces`
  // takes what is held now for both intervals: the momentum that arrives makes up for the one before.
  void make_up(double part) {
    for (int k = 0; k < args.held.count; ++k) {
      const int i = layout.body_link[k];
      load(i, held_on(i, k), part, solver.body[i].v, solver.body[i].L);
    }
  }

  // the second half of what laws did on the interval that has just ended, along the directions of its end
  void arrive() {
    for (int l = 0; l < layout.law_count; ++l) {
      if (layout.law[l].constraint < 0 || layout.law[l].inertia != 0 || on_axis(l)) continue;
      const ConstraintInfo& m = layout.law[l].measure;
      apply(m, measured(m, law_angle[l]), half * law_force[l]);
    }
  }

  // geometry and forces of a node
  void place(long node) {
    enter_node();
    solver.place();
    if (leaving && free_law_count() > 0) arrive();
    leaving = false;
    if (!has_gravity) forces(node);
    if (wound > count_after) count_turns();
  }

  // angles of joints are followed as often as is needed to count their turns
  void count_turns() {
    const bool fast = wound > fast_turn;
    wound = 0;
    const auto turned = [&](int i) { return i < 0 ? Vec3<double>{0, 0, 0} : vector_part(solver.body[i].w); };
    for (int k = 0; k < args.counter_count; ++k) {
      const ConstraintInfo& m = layout.counter[k];
      const Pose<double> a = pose_before(m, 0, solver.body, solver.clock);
      const double since = fast ? angle_turned(m, a, turned(m.end[0]), turned(m.end[1])) : 0;
      counted[k] = angle_near(m, a, pose_before(m, 1, solver.body, solver.clock), counted[k] + since);
    }
  }

  // Impulses of laws on freedoms of the tree: what acts at the node over the time `kick`, and the second half of what
  // did on the interval before; for the balance of a step, which is multiplied by dt.
  void push(double dt, double kick) {
    if (!Solver::acts_on_axes || layout.law_count == layout.free_law_count) return;
    for (int k = 0; k < layout.axis_count; ++k) {
      pushed[k] = 0;
      for (int at = layout.first_axis_law[k]; at < layout.first_axis_law[k + 1]; ++at) {
        const int l = layout.axis_law[at];
        const LawInfo& law = layout.law[l];
        pushed[k] += law.sign * dt * (kick * node_force(law, law_angle[l], solver.clock) + half * law_force[l]);
      }
    }
  }

  // node velocities into body.dx and body.phi
  bool project(double arriving) {
    read_signal_rates();
    return at_rest([&] {
      for (int i = 0; i < layout.link_count; ++i) aim_body(solver.body[i], 1.0, arriving);
      push(1, arriving);
      solver.rest();
      if (!solver.direction()) return false;
      if (Newton<Solver>::has_loops(layout)) return solver.smallest() >= safe_pivot || refine();
      if constexpr (Newton<Solver>::looks_ahead)
        if (layout.loop_count == 0 && solver.slid_far()) return correct(arriving) && correct(arriving);
      return true;
    });
  }
  // what is left of the momenta, projected, is what the velocities are wrong by
  bool correct(double arriving) {
    double* momentum = law_mode + layout.law_count;
    for (int l = 0; l < layout.law_count; ++l)
      law_momentum[l] = (momentum[l] = law_momentum[l]) -
                        rotor_momentum(l, [&](int i) { return Wrench<double>{solver.body[i].dx, solver.body[i].phi}; });
    for (int k = 0; k < newton.motions; ++k) newton.last_dz[k] = solver.dz[k];
    for (int i = 0; i < layout.link_count; ++i) {
      Body<double>& b = solver.body[i];
      owed[i] = {b.dx, b.phi};
      aim_body(b, 1.0, arriving);
      b.target_d -= layout.link[i].share * b.dx;
      b.target_L -= b.J * b.phi;
    }
    solver.rest();
    const bool fine = solver.direction();
    for (int l = 0; l < layout.law_count; ++l) law_momentum[l] = momentum[l];
    if (!fine) return false;
    for (int k = 0; k < newton.motions; ++k) solver.dz[k] += newton.last_dz[k];
    for (int i = 0; i < layout.link_count; ++i) {
      solver.body[i].dx += owed[i].f;
      solver.body[i].phi += owed[i].t;
    }
    return true;
  }
  // Where rows nearly say the same, one increment takes away only a part of what they forbid, and rounding is as large
  // as the pivot is small: the same again from its velocities, as long as that goes on at a pace.
  bool refine() {
    double* momentum = law_mode + layout.law_count;
    for (int l = 0; l < layout.law_count; ++l) momentum[l] = law_momentum[l];
    // laws on freedoms are in the velocities
    if constexpr (Solver::acts_on_axes) solver.pushed = zeros;
    const bool fine = repeat_projection();
    if constexpr (Solver::acts_on_axes) solver.pushed = pushed;
    for (int l = 0; l < layout.law_count; ++l) law_momentum[l] = momentum[l];
    return fine;
  }
  bool repeat_projection() {
    double last = 0;
    for (int k = 0; k < most_refinements; ++k) {
      find_rotor_momenta();
      double change = 0, speed = 0;
      for (int i = 0; i < layout.link_count; ++i) {
        Body<double>& b = solver.body[i];
        owed[i] = {b.dx, b.phi};
        b.target_d = layout.link[i].share * b.dx;
        b.target_L = b.J * b.phi;
      }
      solver.rest();
      if (!solver.direction()) return false;
      for (int i = 0; i < layout.link_count; ++i) {
        const Body<double>& b = solver.body[i];
        change += norm2(b.dx - owed[i].f) + layout.reach * layout.reach * norm2(b.phi - owed[i].t);
        speed += norm2(b.dx) + layout.reach * layout.reach * norm2(b.phi);
      }
      if (!(change > 1e-28 * speed) || (k > 0 && change > 0.9 * last)) return true;
      last = change;
    }
    return true;
  }
  // what is solved for bodies that stand still
  template <class F>
  auto at_rest(F&& solve) {
    double *z = solver.z, *dz = solver.dz;
    solver.z = zeros;
    solver.dz = scratch;
    solver.clock.resting = true;
    solver.clock.last(1);
    const auto result = solve();
    solver.clock.resting = false;
    solver.z = z;
    solver.dz = dz;
    return result;
  }

  // the same where rotors and functions of time stand still too
  template <class F>
  auto where_all_stands(F&& solve) {
    double* momentum = law_mode + layout.law_count;
    for (int l = 0; l < layout.law_count; ++l) std::swap(momentum[l] = 0, law_momentum[l]);
    solver.clock.frozen = true;
    if constexpr (Solver::acts_on_axes) solver.pushed = zeros;
    const auto result = at_rest(solve);
    solver.clock.frozen = false;
    if constexpr (Solver::acts_on_axes) solver.pushed = pushed;
    for (int l = 0; l < layout.law_count; ++l) law_momentum[l] = momentum[l];
    return result;
  }

  // whether the springs of the mechanism can be followed by steps of this length; a failure if not
  bool follows_springs(long step, double time) {
    if (layout.law_count == 0 || base + step < next_stiff_check) return true;
    StiffModes<Solver> modes{layout, solver, law_mode};
    const double square = args.dt * args.dt, bound = modes.bound(law_angle) * square;
    next_stiff_check = base + step + modes.pause(bound);
    if (bound <= modes.harmless) return true;
    const double largest = where_all_stands([&] { return modes.largest(law_angle, has_mode); });
    // massless bodies have no bound
    if (std::isinf(bound)) next_stiff_check = base + step + modes.pause(largest * square);
    has_mode = largest > 0;
    if (!grows(parts, largest * square)) return true;
    args.status.code = StatusCode::stiff;
    args.status.step = step;
    args.status.time = time;
    args.status.size = std::sqrt(largest) * std::fabs(args.dt);
    args.status.body = 0;
    args.status.law = 0;
    for (int l = 0; l < layout.law_count; ++l)
      if (std::fabs(law_mode[l]) > std::fabs(law_mode[args.status.law])) args.status.law = l;
    return false;
  }

  void write(double* position, double* orientation, double* velocity, double* angular_velocity) const {
    for (int i = 0; i < layout.link_count; ++i) {
      const Body<double>& b = solver.body[i];
      const int k = layout.link[i].body;
      store3(position + 3 * k, b.x);
      store_quat(orientation + 4 * k, b.q);
      store3(velocity + 3 * k, b.dx);
      store3(angular_velocity + 3 * k, b.phi);
    }
  }

  Outcome solve(double dt) {
    aim(dt);
    const bool guessed = newton.history->count > 0, rescues = args.rescue_depth > 0;
    Outcome outcome = judged(newton.solve(dt));
    if (outcome != Outcome::converged && (guessed || rubs)) {
      newton.forget();
      int before = newton.iterations;
      if (project(half)) {
        aim(dt);
        if (guessed) outcome = judged(newton.solve_from(dt, scratch));
      }
      if (outcome != Outcome::converged && rubs) {
        before += newton.iterations;
        outcome = soften(dt);
      }
      // where nothing else can be done any root is better than none
      if (outcome != Outcome::converged && !rescues) {
        before += newton.iterations;
        aim(dt);
        outcome = newton.solve_from(dt, zeros);
      }
      newton.iterations += before;
    }
    if (outcome == Outcome::converged)
      newton.learn(dt);
    else
      newton.forget();
    remainder = std::fmax(remainder, newton.remainder);
    return outcome == Outcome::converged && has_flat_wheel() ? Outcome::flat : outcome;
  }
  // Friction bends sharply where the motion turns round, and Newton's method goes to and fro there: with a gentle bend,
  // then sharper ones, each from the last one's solution.
  Outcome soften(double dt) {
    Outcome outcome = Outcome::converged;
    aim(dt);
    for (int k = 0; k < newton.count; ++k) solver.z[k] = k < newton.motions ? dt * scratch[k] : 0;
    int spent = 0;
    for (double soft = 4096; soft >= 1 && outcome == Outcome::converged; soft /= 8) {
      solver.clock.soft = soft;
      outcome = newton.iterate(dt);
      spent += newton.iterations;
      newton.forget_convergence();
    }
    solver.clock.soft = 1;
    newton.iterations = spent;
    return judged(outcome);
  }

  // A step too long for its motion has several solutions, and invents energy: what turns a body too far is not taken.
  // That depends on the solution alone, which is the same from either end: all solvers halve the same steps, and so do
  // runs that begin at any node or go backwards, which is what keeps energy from drifting where lengths change.
  Outcome judged(Outcome outcome) {
    if (outcome != Outcome::converged) return outcome;
    for (int l = 0; l < layout.law_count && solver.clock.dt < 0; ++l)
      if (refuses(l)) return Outcome::singular;
    if (args.rescue_depth == 0) return outcome;
    double least = 1;
    for (int i = 0; i < layout.link_count; ++i) least = std::min(least, solver.body[i].w.w);
    if (least >= farthest_cosine) return outcome;
    bool close = least >= farthest_spin_cosine;
    for (int i = 0; i < layout.link_count && close; ++i)
      close = swing_cosine2(solver.body[i], load3(layout.link[i].spin)) >= farthest_cosine * farthest_cosine;
    return close ? outcome : Outcome::too_far;
  }
  void aim(double dt) {
    const double kick = half + 0.5 * dt;
    for (int i = 0; i < layout.link_count; ++i) aim_body(solver.body[i], dt, kick);
    solver.clock.last(dt);
    push(dt, kick);
    read_signals(now + 0.5 * dt, 1);
    read_signals(now + dt, 2);
    end_time = now + dt;
    has_end = true;
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
      flat_time = now;
      return true;
    }
    return false;
  }

  // What Newton leaves of a floating system's balance, far below the tolerance, would add up over a million steps: one
  // of its roots takes it over into the next step, so that momentum is kept to rounding whatever the tolerance.
  void balance(double dt) {
    if (!floats) return;
    for (int i = 0; i < layout.link_count; i = layout.link[i].tree_end) owed[i] = {{0, 0, 0}, {0, 0, 0}};
    for (int i = 0; i < layout.link_count; i = layout.link[i].tree_end) {
      const int keeper = layout.link[i].keeper;
      if (keeper < 0) continue;
      // from where the keeper was to where every body was
      const Vec3<double> origin = solver.body[keeper].x - solver.body[keeper].d;
      for (int k = i; k < layout.link[i].tree_end; ++k) {
        const Body<double>& b = solver.body[k];
        const Vec3<double> force = layout.link[k].unit * force_residual(b, layout.link[k].share);
        owed[keeper].f += force;
        owed[keeper].t += torque_residual(b) + cross((b.x - b.d) - origin, force);
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

  // the step has been solved: on to the next node
  void commit(double dt) {
    solver.commit(dt);
    balance(dt);
    const double per_dt = 1 / dt;
    for (int l = 0; l < layout.law_count; ++l) {
      const LawInfo& law = layout.law[l];
      double lambda = 0;
      if (law.constraint >= 0 && !on_axis(l)) lambda = solver.multiplier_of(l);
      if constexpr (Solver::acts_on_axes)
        if (on_axis(l)) {
          const double by = solver.moved_by(law);
          double slope;
          if (law.constraint >= 0) lambda = solver.wanted(l, by, slope);
          law_angle[l] += law.sign * by;
        }
      if (law.inertia != 0)
        law_momentum[l] -= lambda * per_dt;
      else
        law_force[l] = 2 * lambda * per_dt * per_dt;
    }
    if (args.counter_count > 0) {
      double least = 1;
      for (int i = 0; i < layout.link_count; ++i) least = std::min(least, solver.body[i].w.w);
      wound += turn_bound(least);
    }
    half = 0.5 * dt;
    now += dt;
    leaving = true;
    has_before = false;
  }

  // whether a step backwards cannot be trusted with a law
  bool refuses(int l) {
    if (solver.clock.dt >= 0 || layout.law[l].constraint < 0) return false;
    const ConstraintInfo& m = layout.law[l].measure;
    const JointRows before = measured(m, law_angle[l]);
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
    const JointRows rows = measured(m, law_angle[l]);
    double sum = 0;
    where_all_stands([&] {
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

  bool fail(Outcome outcome, long step, double time) {
    Status& status = args.status;
    // near the flat pose Newton fails as well
    const bool flat = flat_joint >= 0 && std::fabs(time - flat_time) <= std::fabs(args.dt);
    if (flat) outcome = Outcome::flat;
    status.code = outcome == Outcome::diverged    ? StatusCode::diverged
                  : outcome == Outcome::too_far   ? StatusCode::too_far
                  : outcome == Outcome::locked    ? StatusCode::locked
                  : outcome == Outcome::exhausted ? StatusCode::exhausted
                  : outcome == Outcome::flat      ? StatusCode::flat
                                                  : StatusCode::singular;
    status.step = step;
    status.time = time;
    status.size = outcome == Outcome::locked ? solver.widest_gap : newton.size;
    for (int l = 0; l < layout.law_count && status.law < 0; ++l)
      if (outcome == Outcome::singular && refuses(l)) status.law = l;
    if (solver.widest_constraint >= 0) status.joint = layout.constraint[solver.widest_constraint].joint;
    if (outcome == Outcome::locked && solver.misfit.size > layout.fit) {
      status.joint = solver.misfit.joint;
      status.size = solver.misfit.size;
    }
    if (flat) status.joint = flat_joint;
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

  // What is carried over a node, all that the steps from there on depend on, as numbers in a row. Its first part is the
  // motion: poses, momenta, angles.
  static long motion_size(const Layout& layout) {
    return Solver::state_size(layout) + 3L * layout.law_count + layout.counter_count +
           static_cast<long>(most_terms) * Solver::memory_count(layout) + 4;
  }
  // The second is what earlier steps have taught, and the inputs: nothing in it alters the motion by more than the
  // tolerance, but a run that goes on from it is the same to the last bit.
  static int histories_of(const Composition& parts, int order) { return parts.count > 1 ? parts.count + order : 1; }
  static long differences_of(const Layout& layout) {
    return static_cast<long>(Newton<Solver>::points_of(layout)) * padded(Solver::motion_count(layout));
  }
  static constexpr int history_scalars = 7, scalars = 11;
  static long carried_size(const Layout& layout, int order, int signal_count, int input_count) {
    return motion_size(layout) + scalars + 6L * layout.link_count + 2L * layout.law_count + input_count + signal_count +
           histories_of(composition_of(order), order) * (history_scalars + differences_of(layout));
  }

  // to and fro
  struct Exchange {
    double* at;
    bool save;
    template <class T>
    void operator()(T& value) {
      if (save)
        *at = static_cast<double>(value);
      else if constexpr (std::is_same_v<T, double>)
        value = *at;
      else
        value = static_cast<T>(std::fabs(*at) < (sizeof(T) > 4 ? 9e15 : 2e9) ? *at : 0);  // a file may have anything
      ++at;
    }
    void operator()(Vec3<double>& value) {
      if (save)
        store3(at, value);
      else
        value = load3(at);
      at += 3;
    }
    void operator()(double* values, long count) {
      for (long k = 0; k < count; ++k) (*this)(values[k]);
    }
  };
  void exchange_motion(Exchange& exchange) {
    if (exchange.save)
      solver.save(exchange.at);
    else
      solver.restore(exchange.at);
    exchange.at += Solver::state_size(layout);
    exchange(law_momentum, layout.law_count);
    exchange(law_angle, layout.law_count);
    exchange(law_force, layout.law_count);
    exchange(counted, layout.counter_count);
    for (int k = 0; k < Solver::memory_count(layout); ++k) exchange(solver.memory_at(k).angle, most_terms);
    exchange(half);
    exchange(wound);
    exchange(leaving);
    exchange(now);
  }
  void exchange_carried(double* carried, bool save) {
    Exchange exchange{carried, save};
    exchange_motion(exchange);
    exchange(origin);
    exchange(base);
    exchange(usual);
    exchange(newton.extent);
    exchange(spent);
    exchange(next_stiff_check);
    exchange(has_mode);
    exchange(flat_joint);
    exchange(flat_time);
    exchange(has_end);
    exchange(end_time);
    exchange(law_mode, 2L * layout.law_count);
    for (int i = 0; i < layout.link_count; ++i) exchange(acting[i].f), exchange(acting[i].t);
    for (int k = 0; k < args.input_count; ++k) exchange(numbers_of(args.laws[args.input[k].law])[args.input[k].number]);
    exchange(signals(2), args.signal_count);
    for (int k = 0; k < history_count; ++k) {
      History& h = history[k];
      exchange(h.count);
      exchange(h.order);
      exchange(h.dt);
      exchange(h.kappa);
      exchange(h.calm);
      exchange(h.unchecked);
      exchange(h.miss);
      exchange(h.differences, differences_of(layout));
    }
  }
  // the node is the first of all
  void count_anew() {
    origin = now;
    base = spent = next_stiff_check = 0;
  }
  // whether what was carried over belongs to a pose; what is recorded of it may have been normalised
  static bool belongs(const Layout& layout, const double* carried, const double* position, const double* orientation) {
    const long stride = Solver::state_size(layout) / layout.link_count;
    for (int i = 0; i < layout.link_count; ++i, carried += stride) {
      const int k = layout.link[i].body;
      const Vec3<double> off = load3(carried) - load3(position + 3 * k);
      if (!(norm2(off) <= 1e-18 * (1 + norm2(load3(carried))))) return false;
      for (int e = 0; e < 4; ++e)
        if (!(std::fabs(carried[3 + e] - orientation[4 * k + e]) < 1e-9)) return false;
    }
    return true;
  }
  // at a node that has been placed, `step` steps after the first of this run
  void save(double* carried, long step) {
    const long before = base;
    const double until = end_time, start = origin;
    const long pieces = spent, check = next_stiff_check;
    if (now == time_of(step))
      base += step;
    else
      count_anew();
    // the values at the node are those at the end of the step that led here
    for (int k = 0; k < args.signal_count; ++k) signals(2)[k] = signals(0)[k];
    has_end = true;
    end_time = now;
    find_acting(step + taken, acting);
    exchange_carried(carried, true);
    base = before;
    spent = pieces;
    next_stiff_check = check;
    origin = start;
    end_time = until;
    has_end = false;
  }
  void resume(const double* carried) {
    exchange_carried(const_cast<double*>(carried), false);
    // numbers from a file must not lead astray
    for (int k = 0; k < history_count; ++k) {
      History& h = history[k];
      h.count = std::clamp(h.count, 0, newton.points);
      h.order = std::clamp(h.order, 0, h.count);
    }
    if (flat_joint >= layout.joint_count) flat_joint = -1;
    has_gravity = false;
    // steps of another length are counted from here
    if (usual != args.dt) count_anew();
    usual = args.dt;
    doubts_signals = true;
  }

  // one composed step; a failure leaves the state as it was
  Outcome compose(long step, double dt, bool first) {
    const double start = now;
    if (parts.count > 1) {
      Exchange exchange{saved, true};
      exchange_motion(exchange);
    }
    for (int k = 0; k < parts.count; ++k) {
      if (k > 0) place(step);
      newton.select(history[k]);
      const Outcome outcome = solve(parts.part[k] * dt);
      iterations += newton.iterations;
      if (newton.trace) keep_trace(step);
      if (outcome != Outcome::converged) {
        if (k > 0) {
          Exchange exchange{saved, false};
          exchange_motion(exchange);
          place(step);
        }
        return outcome;
      }
      if (k == 0 && first && recorded) record_multipliers(parts.part[0] * dt);
      commit(parts.part[k] * dt);
    }
    now = start + dt;
    return Outcome::converged;
  }

  // the increments of the slowest solve of the step
  void keep_trace(long step) {
    if (newton.traced <= longest) return;
    longest = newton.traced;
    double* row = args.out_increments + args.iteration_limit * step;
    for (int k = 0; k < longest; ++k) row[k] = newton.trace[k];
  }

  // one step of the user's dt, in pieces if need be; `time` follows
  bool advance(long step, double& time) {
    const long records = args.status.records;
    int pieces = 1;
    iterations = longest = 0;
    remainder = 0;
    newton.trace = args.out_increments ? args.out_increments + args.iteration_limit * args.steps : nullptr;
    now = time;
    Outcome outcome = compose(step, args.dt, true);
    if (outcome != Outcome::converged) {
      // far from where it began a mechanism has coarser numbers
      const double before = newton.extent;
      newton.measure_extent();
      if (newton.extent > 1.5 * before) {
        args.status.records = records;
        outcome = compose(step, args.dt, true);
      }
    }
    if (outcome == Outcome::converged)
      time += args.dt;
    else if (!halve(outcome, step, records, time, pieces))
      return false;
    spent += pieces;
    args.tally.iterations += iterations;
    args.tally.pieces += pieces;
    args.tally.remainder = std::fmax(args.tally.remainder, remainder);
    if (args.out_iterations) {
      args.out_iterations[step] = iterations;
      args.out_pieces[step] = pieces;
      args.out_remainder[step] = remainder;
    }
    newton.trace = nullptr;
    return true;
  }

  // a step that could not be taken whole
  bool halve(Outcome outcome, long step, long records, double& time, int& pieces) {
    const long whole = 1L << args.rescue_depth;
    const double start = time;
    long done = 0, piece = whole;
    pieces = 0;
    while (true) {
      if (outcome != Outcome::converged) {
        // the node's record is complete once a piece from it is
        if (done == 0) args.status.records = records;
        if (piece == 1) return fail(outcome, step, time);
        piece /= 2;
        if (spent + pieces > first_budget + (base + step) * step_budget) return fail(Outcome::exhausted, step, time);
      } else {
        done += piece;
        ++pieces;
        time = start + args.dt * (static_cast<double>(done) / static_cast<double>(whole));
        if (done == whole) return true;
        // as long again as fits
        while (done % (2 * piece) == 0) piece *= 2;
      }
      if (args.poll && !args.poll(args.context, step)) return interrupt(step, time);
      now = time;
      if (done > 0) place(step);
      outcome = compose(step, args.dt * (static_cast<double>(piece) / static_cast<double>(whole)), done == 0);
    }
  }

  // the next record: everything but the multipliers, which come with the step that leaves the node
  bool record(double time) {
    if (!project(arriving())) return false;
    weighed = false;
    const long k = args.status.records;
    const long n = k * layout.link_count;
    args.out_time[k] = time;
    record_inputs();
    for (int c = 0; c < args.counter_count; ++c) args.out_counted[k * args.counter_count + c] = counted[c];
    write(args.out_position + 3 * n, args.out_orientation + 4 * n, args.out_velocity + 3 * n,
          args.out_angular_velocity + 3 * n);
    return true;
  }
  // the reaction is the impulse of the step over the time it stands for
  void write_multipliers(double dt, double* out) {
    const double kick = half + 0.5 * dt;
    for (int k = 0; k < layout.recorded_count && layout.has_idle_rows; ++k) out[k] = 0;
    solver.multipliers(1 / (dt * (kick != 0 ? kick : dt)), out);
  }
  double* reactions() const { return args.out_multipliers + args.status.records * layout.recorded_count; }

  // The impulses of a composition's substeps are as far off as those of steps of second order. Where a node's reactions
  // are to be as good as its pose they are those of short steps from the node, forwards and backwards: their mean is
  // even in the length h of the step, and what it tends to is found from h = H, H/2, H/3, ... (Richardson). Where a
  // control has changed what acts on the bodies, `owed` holds what did before the node: half of that counts.
  void weigh(long step, bool changed) {
    if (parts.count == 1 || !args.out_multipliers) return;
    const int links = layout.link_count;
    const double before_half = half;
    for (int i = 0; i < links; ++i) {
      Body<double>& b = solver.body[i];
      store3(saved + 6L * i, b.v);
      store3(saved + 6L * i + 3, b.L);
      b.v = layout.link[i].share * b.dx;
      b.L = b.J * b.phi;
      if (!changed) continue;
      b.f = 0.5 * (b.f + owed[i].f);
      b.tau = 0.5 * (b.tau + owed[i].t);
    }
    double* momentum = saved + 6L * links;
    for (int l = 0; l < layout.law_count; ++l) momentum[l] = law_momentum[l];
    find_rotor_momenta();
    half = 0;
    for (int l = 0; l < layout.law_count && changed; ++l) std::swap(args.laws[l].force, motor_before[l]);
    for (int l = 0; l < layout.law_count && changed; ++l)
      args.laws[l].force = 0.5 * (args.laws[l].force + motor_before[l]);
    weighed = extrapolate();
    for (int l = 0; l < layout.law_count && changed; ++l) args.laws[l].force = motor_before[l];
    half = before_half;
    for (int i = 0; i < links; ++i) {
      solver.body[i].v = load3(saved + 6L * i);
      solver.body[i].L = load3(saved + 6L * i + 3);
    }
    for (int l = 0; l < layout.law_count; ++l) law_momentum[l] = momentum[l];
    if (changed) forces(step);
  }

  // the limit of short steps from a node at which the bodies' velocities are those of the node; false if one fails
  bool extrapolate() {
    const int levels = args.order / 2;
    const double longest = 0.5 * args.dt;
    double* const sum = reactions();
    // rows that are not asked for have no reactions
    for (int r = 0; r < layout.recorded_count; ++r) sum[r] = before[r] = 0;
    for (int n = 1; n <= levels; ++n) {
      double weight = 0.5;
      for (int m = 1; m <= levels; ++m)
        if (m != n) weight *= static_cast<double>(n * n) / (n * n - m * m);
      for (const double h : {longest / n, -longest / n}) {
        newton.select(history[parts.count + 2 * (n - 1) + (h < 0)]);
        if (solve(h) != Outcome::converged) return false;
        solver.multipliers(2 / (h * h), before);
        for (int r = 0; r < layout.recorded_count; ++r) sum[r] += weight * before[r];
      }
    }
    return true;
  }

  void record_multipliers(double dt) {
    if (!args.out_multipliers || weighed) {
      ++args.status.records;
      return;
    }
    // the first node has no interval before it; its mirror image makes the impulse a full one
    write_multipliers(dt, reactions());
    if (has_before)
      for (int k = 0; k < layout.recorded_count; ++k) reactions()[k] = 0.5 * (reactions()[k] + before[k]);
    ++args.status.records;
  }

  // the first node's reaction seen from the other side: one step backwards
  void look_back() {
    if (half != 0) return;
    const double dt = -parts.part[0] * args.dt;
    newton.select(history[0]);
    // its motion, backwards, is also the best guess for the first step
    has_before = solve(dt) == Outcome::converged;
    if (has_before && args.out_multipliers && !weighed) write_multipliers(dt, before);
  }

  // the reaction at the last node needs the step after it; a short one will do, or else one backwards from its
  // velocities
  void peek() {
    if (!args.out_multipliers || weighed) return record_multipliers(args.dt);
    double dt = parts.part[0] * args.dt;
    newton.select(history[0]);
    Outcome outcome = solve(dt);
    for (int k = 0; k < 10 && outcome != Outcome::converged; ++k) outcome = solve(dt *= 0.5);
    looks_behind = true;
    if (outcome != Outcome::converged && half > 0 && project(half)) {
      for (int i = 0; i < layout.link_count; ++i) {
        Body<double>& b = solver.body[i];
        b.v = layout.link[i].share * b.dx;
        b.L = b.J * b.phi;
      }
      find_rotor_momenta();
      dt = -2 * half;
      half = 0;
      newton.forget();
      outcome = solve(dt);
    }
    if (outcome == Outcome::converged) return record_multipliers(dt);
    for (int k = 0; k < layout.recorded_count; ++k) reactions()[k] = 0;
    ++args.status.records;
  }

  bool interrupt(long step, double time) {
    args.status.code = StatusCode::interrupted;
    args.status.step = step;
    args.status.time = time;
    return false;
  }

  double arriving() const { return half > 0 ? half : 0; }

  bool node(long step, double time) {
    now = time;
    here = step;
    place(step);
    if (step == 0) reconcile();
    keep_carried(step, step == args.steps);
    if (!follows_springs(step, time)) return false;
    recorded = step == args.steps || step == next_record;
    if (recorded) next_record += args.record_every;
    if (recorded ? !record(time) : args.control && !project(arriving())) return fail(Outcome::singular, step, time);
    if (args.control && !control(step, time)) return false;
    if (recorded) weigh(step, args.control && step > 0);
    return true;
  }

  // the user sees the node as it is recorded; what the last step held has arrived, what comes back holds from here on
  bool control(long step, double time) {
    for (int k = 0; k < args.counter_count; ++k) args.control_counted[k] = counted[k];
    write(args.control_position, args.control_orientation, args.control_velocity, args.control_angular_velocity);
    for (int i = 0; i < layout.link_count; ++i) owed[i] = {solver.body[i].f, solver.body[i].tau};
    for (int l = 0; l < layout.law_count; ++l) motor_before[l] = layout.law[l].force;
    args.wants = true;
    if (!args.control(args.context, step, time)) return interrupt(step, time);
    change_inputs(step);
    if (recorded) record_inputs(), record_control();
    return true;
  }
  // that hold from the node on
  void record_inputs() {
    for (int k = 0; k < args.input_count && args.out_inputs; ++k)
      args.out_inputs[args.status.records * args.input_count + k] =
          numbers_of(args.laws[args.input[k].law])[args.input[k].number];
  }
  // what is held on bodies from the node on, at their centres of mass
  void record_control() {
    if (!args.out_control) return;
    for (int k = 0; k < args.held.count; ++k) {
      const Wrench<double> w = held_on(layout.body_link[k], k);
      double* row = args.out_control + 6L * (args.status.records * args.held.count + k);
      store3(row, w.f);
      store3(row + 3, w.t);
    }
  }

  // Half of the impulse of what is held over a step acts at either end of it: at this node the second half of what was
  // held over the last one, and the first half of what the caller wants held from here on.
  void change_inputs(long step) {
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
    if (!has_gravity) forces(step);
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

  // loads and what is held, by link
  void find_acting(long node, Wrench<double>* on) const {
    for (int i = 0; i < layout.link_count; ++i) on[i] = {{0, 0, 0}, {0, 0, 0}};
    const auto add = [&](int i, const Wrench<double>& w) { on[i] = {on[i].f + w.f, on[i].t + w.t}; };
    for (int k = 0; k < args.loads.count; ++k) {
      const int i = layout.body_link[args.loads.body[k]];
      add(i, load_on(i, k, node));
    }
    for (int k = 0; k < args.held.count; ++k) add(layout.body_link[k], held_on(layout.body_link[k], k));
  }
  // What acted on the interval before a node where another run has ended gives its second half there; `forces` would
  // take what acts from the node on for both.
  void reconcile() {
    if (!args.resumed || arriving() == 0) return;
    find_acting(0, owed);
    for (int i = 0; i < layout.link_count; ++i) {
      const Wrench<double> less = {acting[i].f - owed[i].f, acting[i].t - owed[i].t};
      if (norm2(less.f) + norm2(less.t) > 0) load(i, less, arriving(), solver.body[i].v, solver.body[i].L);
    }
  }

  // at the first node of the run: that of the caller's arrays, or where another run has been
  void open() {
    enter();
    if (args.resumed) resume(args.resumed);
    newton.rates = scratch;
    args.status = Status{};
  }
  double time_of(long step) const { return origin + static_cast<double>(base + step) * args.dt; }

  // one step from a node; if it fails, the state is the last one that was reached
  bool leave(long step, double& time) {
    look_back();
    if (args.poll && step % args.poll_every == 0 && !args.poll(args.context, step)) return interrupt(step, time);
    if (advance(step, time)) return true;
    now = time;
    place(step);
    return false;
  }

  void run() {
    open();
    for (long step = 0;; ++step) {
      double time = time_of(step);
      if (!node(step, time)) return;
      args.status.step = step;
      args.status.time = time;
      if (step == args.steps) {
        look_back();
        return end();
      }
      if (leave(step, time)) continue;
      const Status failure = args.status;
      keep_carried(step, true);
      if (record(time)) {
        record_control();
        weigh(step, false);
        end();
      }
      const long records = args.status.records;
      args.status = failure;
      args.status.records = records;
      return;
    }
  }
  void end() {
    peek();
    args.has_carried = args.out_carried != nullptr;
  }
  // of every record, or of the last one
  void keep_carried(long step, bool last) {
    if (!args.out_carried || !(last || (args.carried_of_each && step == next_record))) return;
    save(args.out_carried + (args.carried_of_each ? args.status.records * args.carried_size : 0), step);
  }

  //---- step by step: `args.steps` from the node of the last call on ----

  // the node's poses and velocities into the first record
  bool show() {
    args.status.records = 0;
    return record(now) || fail(Outcome::singular, args.status.step, now);
  }
  // to the first node; false if it cannot be
  bool start() {
    open();
    now = time_of(0);
    place(0);
    reconcile();
    return follows_springs(0, now) && show();
  }
  // the node's reactions into the first record; what is found on the way is forgotten
  void react(double* carried) {
    const Status status = args.status;
    save(carried, 0);
    args.status.records = 0;
    if (record(now)) {
      weigh(0, false);
      look_back();
      peek();
    }
    args.status = status;
    go_back(carried);
  }
  void go_back(const double* carried) {
    resume(carried);
    looks_behind = doubts_signals = false;
    place(taken);
  }
  // on with what is held
  void go_on() {
    args.status = {};
    args.tally = {};
    change_inputs(taken);
    args.wants = false;
    for (long step = 0; step < args.steps; ++step) {
      double time = now;
      if (!leave(step, time)) return stop();
      args.status.step = step + 1;
      args.status.time = now = time_of(step + 1);
      place(++taken);
      if (!follows_springs(step + 1, now)) return stop();
    }
    base += args.steps;
    show();
  }
  // where a step has failed
  void stop() {
    const Status failure = args.status;
    args.status.records = 0;
    record(now);
    args.status = failure;
    count_anew();
  }
};

}  // namespace catena::CATENA_ISA
