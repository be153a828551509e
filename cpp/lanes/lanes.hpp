// The loop over time for a group of members in lanes (lanes/lane_tree.hpp): what simulate/run.hpp does for one.
//
// All take the same steps together, though they may have begun at different ones. A lane that cannot take a step hands
// it to the single-mechanism solver, which may halve it, and comes back at the next node; one that fails there too is
// finished, and its numbers are no longer looked at.
#pragma once

#include <limits>

#include "args/run.hpp"
#include "lanes/lane_error.hpp"
#include "lanes/lane_step.hpp"
#include "simulate/run.hpp"

namespace catena::CATENA_ISA {

// whether a batch can run in lanes
inline bool lanes_fit(const Layout& layout, const RunArgs& args) {
  return args.solver == SolverKind::articulated && args.order == 2 && !args.paper_start && args.signal_count == 0 &&
         args.error_rate == 0 && LaneLoops::can_run(layout) && LaneStops::can_run(layout);
}

// a number or vector of a member from the single solver to its lane, and back
struct ToLane {
  int k;
  void operator()(Lane& lane, double one) const { lane.set(k, one); }
  void operator()(Vec3<Lane>& lane, const Vec3<double>& one) const { put(lane, k, one); }
  void operator()(Quat<Lane>& lane, const Quat<double>& one) const {
    lane.w.set(k, one.w);
    put(lane.v, k, vector_part(one));
  }
  void operator()(double& lane, double one) const { lane = one; }
};
struct FromLane {
  int k;
  template <class Number>
  void operator()(const Lane& lane, Number& one) const {
    one = static_cast<Number>(lane[k]);
  }
  void operator()(const Vec3<Lane>& lane, Vec3<double>& one) const { one = at(lane, k); }
  void operator()(const Quat<Lane>& lane, Quat<double>& one) const { one = {lane.w[k], at(lane.v, k)}; }
  void operator()(double lane, double& one) const { one = lane; }
};
// a function of every number of what lanes hold
template <class F>
struct LaneNumbers {
  F use;
  void operator()(Lane& value) { use(value); }
  void operator()(Vec3<Lane>& v) { use(v.x), use(v.y), use(v.z); }
  void operator()(Quat<Lane>& q) { use(q.w), (*this)(q.v); }
  void operator()(Wrench<Lane>& w) { (*this)(w.f), (*this)(w.t); }
};
template <class F>
LaneNumbers(F) -> LaneNumbers<F>;

// `WithSingle` builds the single-mechanism runner of a lane and hands it to a function
template <class WithSingle>
struct LaneRunner {
  using T = Lane;
  using Mask = Lane::Mask;
  using Single = Runner<Articulated<double>>;
  static constexpr int width = lane_width;

  const Layout& layout;  // of any member
  LaneTree& tree;
  LaneLoops& loops;
  LaneStops& stops;
  LaneNode& node;
  LaneNewton& newton;
  LaneEstimator& estimator;
  WithSingle with_single;
  LaneStep step = {node, newton, stops};
  long taken = 0;                 // steps of the group
  T began = T(0), origin = T(0);  // the one at which the member came, and its time
  T extra = T(0);                 // substeps that rescued steps took more than one
  long next_stiff_check = 0;
  Mask alive = {};  // still running

  // members of a group: what each is, and what it is to do
  void seat(const Layout* const* layouts, RunArgs* args, int members) {
    node.layouts = layouts;
    node.args = args;
    node.members = members;
    newton.tolerance = args->tolerance;
    newton.iteration_limit = args->iteration_limit;
  }
  const RunArgs& common() const { return node.common(); }

  // a member's steps, and where they have taken it
  long steps_of(int k) const { return taken - static_cast<long>(began[k]); }
  double time_of(int k) const { return origin[k] + static_cast<double>(steps_of(k)) * common().dt; }

  //---- lanes and the single solver ----

  // the caller's arrays -> a lane
  void enter(int k) {
    const int member = node.member(k);
    alive[k] = k < node.members && !node.args[member].absent ? -1 : 0;
    RunArgs own = node.args[member];
    with_single(*node.layouts[member], own, [&](Single& one) {
      one.enter();
      newton.extent.set(k, one.newton.extent);
      if (stops.count() > 0 && alive[k] != 0 && !begin_at_stops(one)) {
        node.args[member].status = own.status;
        alive[k] = 0;
      }
      take(k, one);
    });
    node.enter(k);
    newton.enter(k);
    extra.set(k, 0);
    began.set(k, static_cast<double>(taken));
    origin.set(k, node.args[member].start_time);
    next_stiff_check = taken;
  }

  // false if it starts beyond one
  bool begin_at_stops(Single& one) {
    RunArgs& own = one.args;
    own.status = {};
    one.node.now = own.start_time;
    one.node.place(0);
    if (one.begin_at_stops()) return true;
    if (one.recorder.record(own.start_time)) ++own.status.records;
    return false;
  }

  // what a member is, in its lane and by itself
  template <class F>
  void visit_member(int k, Single& one, F&& visit) {
    for (int i = 0; i < layout.link_count; ++i) {
      visit_body(visit, tree.body[i], one.solver.body[i]);
      visit(tree.link[i].offset, one.solver.link[i].offset);
    }
    for (int l = 0; l < layout.law_count; ++l) {
      visit(tree.law[l].measured, one.node.law_angle[l]);
      visit(tree.law[l].momentum, one.node.law_momentum[l]);
      visit(tree.law[l].before, one.node.law_force[l]);
    }
    for (int c = 0; c < common().counter_count && k < node.members; ++c)
      visit(node.counted[k * common().counter_count + c], one.node.turns.counted[c]);
    for (int s = 0; s < stops.count(); ++s) {
      Stop& own = one.stops.stop[s];
      visit(stops.stop[s].held, own.held), visit(stops.stop[s].at, own.at), visit(stops.stop[s].left, own.left);
    }
    visit(node.wound, one.node.turns.wound), visit(node.half, one.node.half);
    visit(estimator.length, one.estimator.length), visit(estimator.second2, one.estimator.second2);
    visit(estimator.equal, one.estimator.equal);
    for (int i = 0; i < layout.link_count; ++i) {
      visit(estimator.past.motion[i].f, one.estimator.past.motion[i].f);
      visit(estimator.past.motion[i].t, one.estimator.past.motion[i].t);
      visit(estimator.past.change[i].f, one.estimator.past.change[i].f);
      visit(estimator.past.change[i].t, one.estimator.past.change[i].t);
    }
  }
  void take(int k, Single& one) {
    if (stops.count() > 0) {
      one.stops.meet();
      for (int s = 0; s < stops.count(); ++s) one.stops.look(one.stops.stop[s]);
    }
    visit_member(k, one, ToLane{k});
  }
  void give(int k, Single& one) {
    visit_member(k, one, FromLane{k});
    one.node.leaving = false;
  }

  // the single solver at a lane's node
  template <class F>
  void alone(int k, RunArgs& own, F&& use) {
    with_single(*node.layouts[k], own, [&](Single& one) {
      one.enter();
      give(k, one);
      one.newton.extent = newton.extent[k];
      one.node.now = time_of(k);
      one.node.place(taken);
      use(one);
    });
  }
  // an unsolved lane's step by the single solver, which may end the member
  void rescue(int k) {
    // records are kept here
    RunArgs own = node.args[k];
    const long steps = steps_of(k);
    const double start = time_of(k);
    double time = start;
    alone(k, own, [&](Single& one) {
      one.progress.spent = steps + static_cast<long>(extra[k]);
      // its guess is the last step as it was, or what the velocities say
      History& history = *one.newton.history;
      for (int e = 0; e < layout.variable_count; ++e) one.newton.last_solution(e) = newton.last_solution(e)[k];
      history.count = history.order = newton.memory.count[k] > 0 ? 1 : 0;
      history.dt = own.dt;
      one.newton.rates = one.projection.rates;
      if (newton.memory.count[k] == 0) one.projection.project(one.node.arriving());
      if (!one.rescue.advance(steps, time)) {
        own.status.records = node.args[k].status.records;
        one.node.now = time;
        one.node.place(steps);
        const bool recorded = time == start && steps % own.record_every == 0;
        if (!recorded && one.recorder.record(time)) ++own.status.records;
        node.args[k].status = own.status;
        alive[k] = 0;
        return;
      }
      extra.set(k, static_cast<double>(one.progress.spent - steps - 1));
      node.args[k].tally = own.tally;
      // turns are counted where its last piece is still known
      one.solver.place();
      one.node.turns.count(one.solver.body, one.solver.clock);
      take(k, one);
      // after an impact at its end nothing is known of the motion
      newton.memory.restart(k, history.count > 0 ? 1 : 0);
      const double ratio = own.dt / history.dt;
      for (int e = 0; e < layout.variable_count; ++e)
        newton.last_solution(e).set(k, ratio * one.newton.last_solution(e));
    });
  }

  //---- at a node ----

  // node velocities into body.dx and body.phi, and rates of the unknowns into dz
  void project() {
    for (int e = 0; e < layout.variable_count; ++e) tree.z[e] = T(0);
    tree.resting = true;
    tree.last(1);
    node.push(node.half);
    if (stops.count() > 0) stops.arm();
    tree.evaluate(node.half);
    if (has_loops(layout)) {
      loops.begin();
      loops.look(true);
    }
    tree.factor();
    Mask poor = {};
    if (has_loops(layout)) {
      poor = ~(loops.factor() > T(0));
      tree.again();
      loops.close(alive);
    }
    tree.substitute();
    if (stops.count() > 0) poor |= stops.meet_at_rest();
    tree.resting = false;
    for (int k = 0; any(poor & alive) && k < node.members; ++k)
      if (holds(poor & alive, k)) project_alone(k);
  }
  // near a singular pose it takes the solver that looks for the order of rows, and refines
  void project_alone(int k) {
    RunArgs own = node.args[k];
    alone(k, own, [&](Single& one) {
      one.projection.project(one.node.arriving());
      for (int i = 0; i < layout.link_count; ++i) {
        put(tree.body[i].dx, k, one.solver.body[i].dx);
        put(tree.body[i].phi, k, one.solver.body[i].phi);
      }
      for (int e = 0; e < layout.variable_count; ++e) tree.dz[e].set(k, one.projection.rates[e]);
    });
  }

  void record() {
    project();
    for (int k = 0; k < node.members; ++k) {
      if (!holds(alive, k)) continue;
      RunArgs& own = node.args[k];
      const long r = own.status.records++, n = r * layout.link_count;
      own.out.time[r] = time_of(k);
      for (int c = 0; c < common().counter_count; ++c)
        own.out.counted[r * common().counter_count + c] = node.counted[k * common().counter_count + c];
      for (int i = 0; i < layout.link_count; ++i) {
        const Body<T>& b = tree.body[i];
        const long row = n + layout.link[i].body;
        store3(own.out.position + 3 * row, at(b.x, k));
        store_quat(own.out.orientation + 4 * row, {b.q.w[k], at(b.q.v, k)});
        store3(own.out.velocity + 3 * row, at(b.dx, k));
        store3(own.out.angular_velocity + 3 * row, at(b.phi, k));
      }
    }
  }

  // members whose springs cannot be followed end here
  void refuse_stiff() {
    if (!node.has_springs || taken < next_stiff_check) return;
    next_stiff_check = std::numeric_limits<long>::max();
    for (int k = 0; k < node.members; ++k) {
      if (!holds(alive, k)) continue;
      RunArgs own = node.args[k];
      alone(k, own, [&](Single& one) {
        const bool fine = one.springs.follow(steps_of(k), time_of(k));
        next_stiff_check = std::min(next_stiff_check, taken - steps_of(k) + one.progress.next_stiff_check);
        if (fine) return;
        own.status.records = node.args[k].status.records;
        if (one.recorder.record(time_of(k))) ++own.status.records;
        node.args[k].status = own.status;
        alive[k] = 0;
      });
    }
  }

  // how those fare that are still running
  void tell(StatusCode code) {
    for (int k = 0; k < node.members; ++k) {
      if (!holds(alive, k)) continue;
      node.args[k].status.code = code;
      node.args[k].status.step = steps_of(k);
      node.args[k].status.time = time_of(k);
    }
  }
  bool goes_on() const { return !common().poll || common().poll(common().context, taken); }

  //---- a run ----

  // from a node that has been placed
  void advance() {
    if (stops.count() > 0 && any(alive & (newton.memory.count < T(1)))) project();
    step.solve(alive);
    if (common().estimates) estimator.see(step.unsolved);
    step.commit();
    for (int k = 0; k < node.members; ++k)
      if (!holds(step.unsolved, k)) count(k);
    const Mask rescued = step.unsolved & alive;
    for (int k = 0; any(rescued) && k < node.members; ++k)
      if (holds(rescued, k)) rescue(k);
    ++taken;
    arrive();
  }
  // at a node
  void arrive() {
    node.place(taken);
    if (stops.count() == 0) return;
    // measures that are summed up are taken from poses now and then
    for (int k = 0; k < node.members; ++k)
      for (int s = 0; s < stops.count() && holds(alive, k) && steps_of(k) % most_age == 0; ++s)
        if (stops.stop[s].held[k] == 0) {
          const int l = stops.stop[s].law;
          tree.law[l].measured.set(k, node.measured(l, k).g[0]);
        }
  }

  // a step that a lane has taken
  void count(int k) {
    RunArgs& own = node.args[k];
    const int iterations = static_cast<int>(newton.iterations[k]);
    own.tally.iterations += iterations;
    own.tally.substeps += 1;
    own.tally.newton_residual = larger(own.tally.newton_residual, newton.newton_residual[k]);
    if (own.out.iterations) own.out.iterations[taken] = iterations;
    if (own.out.substeps) own.out.substeps[taken] = 1;
    if (own.out.newton_residual) own.out.newton_residual[taken] = newton.newton_residual[k];
    if (!own.estimates) return;
    if (own.out.error) own.out.error[taken] = estimator.error[k];
    // a name is asked for where it is coarse
    const double error = estimator.error[k];
    own.tally.count_error(error, time_of(k),
                          error > inaccurate_above && error > own.tally.worst ? estimator.body(k) : 0);
  }

  void run() {
    taken = 0;
    node.take_numbers();
    for (int k = 0; k < width; ++k) enter(k);
    node.place(taken);
    while (true) {
      refuse_stiff();
      const bool last = taken == common().steps;
      if (last || taken % common().record_every == 0) record();
      if (last || !any(alive)) return tell(StatusCode::done);
      if (!goes_on()) return tell(StatusCode::interrupted);
      advance();
    }
  }

  //---- step by step: between two calls the lanes are for other members, and their state stands in a row ----

  template <class F>
  void visit_state(F&& visit) {
    for (int i = 0; i < layout.link_count; ++i) {
      Body<T>& b = tree.body[i];
      const int branch = layout.link[i].branch;
      // carried links are placed anew
      if (manner_of(branch) == floating_manner) visit(b.x);
      visit(b.q), visit(b.v), visit(b.L);
      if (slides(branch)) visit(tree.link[i].offset);
    }
    for (int l = 0; l < layout.law_count; ++l)
      visit(tree.law[l].measured), visit(tree.law[l].momentum), visit(tree.law[l].before);
    for (int s = 0; s < stops.count(); ++s)
      visit(stops.stop[s].held), visit(stops.stop[s].at), visit(stops.stop[s].left);
    for (int j = 0; j < common().input_count; ++j)
      visit(numbers_of(tree.law[common().input[j].law])[common().input[j].number]);
    for (long e = 0; e < static_cast<long>(LaneNewton::points) * layout.variable_count; ++e)
      visit(newton.difference[e]);
    if (common().estimates) {
      visit(estimator.length), visit(estimator.second2), visit(estimator.equal);
      for (int i = 0; i < layout.link_count; ++i) visit(estimator.past.motion[i]), visit(estimator.past.change[i]);
    }
    LaneMemory& m = newton.memory;
    visit(m.count), visit(m.order), visit(m.kappa), visit(m.calm), visit(m.unchecked);
    visit(node.half), visit(newton.extent), visit(extra), visit(node.wound), visit(began), visit(origin);
    T is_alive = choose(alive, T(1), T(0)), steps = T(static_cast<double>(taken)),
      check = T(static_cast<double>(next_stiff_check));
    visit(is_alive), visit(steps), visit(check);
    alive = is_alive > T(0);
    taken = static_cast<long>(steps[0]);
    next_stiff_check = static_cast<long>(check[0]);
  }

  // Steps from the node of the last call on; lanes whose bit is set in `entering` begin where their arrays say.
  void go_on(T* row, unsigned entering, bool own_numbers) {
    node.counted = node.args[0].out.counted;
    if (own_numbers || !node.knows_numbers) node.take_numbers();
    const bool all = entering == (1U << width) - 1;
    if (all)
      taken = 0;
    else
      visit_state(LaneNumbers{[at = row](T& value) mutable { value = *at++; }});
    for (int k = 0; k < width; ++k)
      if (entering >> k & 1)
        enter(k);
      else if (k < node.members)
        node.hand_over_inputs(k);
    node.place(taken);
    if (common().steps > 0) node.change_inputs(taken);
    // a lane's first guess is what its velocities say
    if (common().steps > 0 && any(alive & (newton.memory.count < T(1)))) project();
    refuse_stiff();
    StatusCode code = StatusCode::done;
    for (long end = taken + common().steps; taken < end && any(alive);) {
      if (!goes_on()) {
        code = StatusCode::interrupted;
        break;
      }
      advance();
      refuse_stiff();
    }
    tell(code);
    record();
    visit_state(LaneNumbers{[at = row](T& value) mutable { *at++ = value; }});
  }
};

}  // namespace catena::CATENA_ISA
