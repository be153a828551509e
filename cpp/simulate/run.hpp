// The loop over time.
//
// At a node (simulate/node.hpp): geometry, forces, perhaps a record, perhaps the user's control; then the step to the
// next node (simulate/rescue.hpp).
#pragma once

#include "simulate/rescue.hpp"

namespace catena::CATENA_ISA {

// arrays that a run works in, each explained where it is used
struct Room {
  // Node
  double *law_angle, *law_force, *law_momentum, *pushed, *counted;
  // Stops
  Stop* stop;
  int *near, *freedom;
  // Projection
  double *zeros, *rates, *scratch, *momentum;
  Wrench<double>* owed;
  // Springs
  double* law_mode;
  // Checkpoint
  Wrench<double>* acting;
  // Reactions; Rescue has the first
  double *saved, *before, *motor_before;
  Wrench<double>* acted;
  // Estimator
  Past<double> past;
  Wrench<double>* sum;
  // Rescue
  Place* end;
};

// A start that is further beyond a stop than this (rad or m) is refused.
constexpr double start_rounding = 1e-9;

template <class Solver>
struct Runner {
  const Layout& layout;
  RunArgs& args;
  Solver& solver;
  Newton<Solver>& newton;
  const Composition& parts;
  History* history;
  int history_count;
  Room room;
  Progress progress = {};
  Node<Solver> node = {.layout = layout,
                       .args = args,
                       .solver = solver,
                       .law_angle = room.law_angle,
                       .law_force = room.law_force,
                       .law_momentum = room.law_momentum,
                       .pushed = room.pushed,
                       .counted = room.counted};
  Stops<Solver> stops = {solver, room.stop, room.near, room.freedom, room.law_angle};
  Projection<Solver> projection = {.node = node,
                                   .newton = newton,
                                   .stops = stops,
                                   .zeros = room.zeros,
                                   .rates = room.rates,
                                   .scratch = room.scratch,
                                   .momentum = room.momentum,
                                   .owed = room.owed};
  Step<Solver> step = {node, projection, newton};
  Springs<Solver> springs = {node, projection, progress, parts, room.law_mode};
  Estimator<Solver> estimator = {node, parts, room.past, room.sum};
  Checkpoint<Solver> checkpoint = {node,     projection, step,          springs,    estimator,
                                   progress, history,    history_count, room.acting};
  Reactions<Solver> reactions = {.node = node,
                                 .projection = projection,
                                 .step = step,
                                 .parts = parts,
                                 .history = history,
                                 .saved = room.saved,
                                 .before = room.before,
                                 .motor_before = room.motor_before,
                                 .acted = room.acted};
  Recorder<Solver> recorder = {node, projection, reactions};
  Rescue<Solver> rescue = {node,      step,  checkpoint, recorder,   reactions, progress,
                           estimator, parts, history,    room.saved, room.end};
  long here = 0;   // steps from the first node of this run to the node
  long taken = 0;  // the same, step by step
  long seen = 0;   // of the times that are asked for

  // the caller's arrays -> state
  void enter() {
    newton.stops = &stops;
    solver.clock.stop = room.stop;
    node.enter();
    stops.enter();
    stops.horizon = std::fabs(args.dt);
    step.enter();
    progress.origin = args.start_time;
    progress.usual = args.dt;
  }
  // at the first node of the run: that of the caller's arrays, or where another run has been
  void open() {
    enter();
    if (args.checkpoint) checkpoint.resume(args.checkpoint);
    newton.rates = projection.rates;
    args.status = Status{};
  }
  // one step from a node; if it fails, the state is the last one that was reached
  bool leave(long at, double& time) {
    reactions.look_back();
    // after an impact a step is guessed from the node's velocities, whether they have been asked for or not
    if (stops.count() > 0 && (history[0].count == 0 || history[parts.count - 1].count == 0))
      projection.project(node.arriving());
    if (args.poll && at % args.poll_every == 0 && !args.poll(args.context, at)) return interrupt(args, at, time);
    if (rescue.advance(at, time)) return true;
    node.now = time;
    node.place(at);
    return false;
  }

  //---- a run ----

  void run() {
    open();
    for (long at = 0;; ++at) {
      double time = progress.time_of(at);
      arrive(at, time);
      if (at == 0 && !begin_at_stops()) return fall_short(at, time);
      if (!springs.follow(at, time)) return fall_short(at, time);
      if (!look_at(at, time)) return;
      args.status.step = at;
      args.status.time = time;
      if (at == args.steps) {
        reactions.look_back();
        if (recorder.recorded) end();
        return;
      }
      if (!look_between(at) || !leave(at, time)) return fall_short(at, time);
    }
  }
  // what starts at a stop and moves against it bounces; false if one is passed
  bool begin_at_stops() {
    if (stops.count() == 0 || args.checkpoint) return true;
    int whose = -1;
    const double over = stops.find_passed(whose);
    if (whose >= 0 && over > start_rounding) {
      args.status = {
          .code = StatusCode::beyond, .time = node.now, .body = 0, .law = stops.stop[whose].law, .size = over};
      return false;
    }
    if (whose < 0 || args.paper_start) return true;
    if (!projection.strike()) return fail(step, Outcome::singular, 0, node.now);
    // where nothing has bounced the motion before is that after
    node.struck = stops.struck;
    return true;
  }
  // a run that cannot go on from a node has recorded it
  void fall_short(long at, double time) {
    const Status failure = args.status;
    keep_checkpoint(at, true);
    if (recorder.record(time)) {
      recorder.record_control();
      reactions.weigh(at, false);
      end();
    }
    const long records = args.status.records;
    args.status = failure;
    args.status.records = records;
  }
  // at a node
  void arrive(long at, double time) {
    node.now = time;
    here = at;
    node.place(at);
    if (at == 0) checkpoint.reconcile();
    keep_checkpoint(at, at == args.steps);
  }
  // its record, and the user's control
  bool look_at(long at, double time) {
    recorder.recorded = is_recorded(at, time);
    // from the first node's velocities a first step is guessed
    if (recorder.recorded ? !recorder.record(time) : (args.control || at == 0) && !projection.project(node.arriving()))
      return fail(step, Outcome::singular, at, time);
    if (args.control && !control(at, time)) return false;
    if (recorder.recorded) reactions.weigh(at, args.control && at > 0);
    return true;
  }
  bool is_recorded(long at, double time) {
    if (args.times) {
      const bool due = seen < args.time_count && args.times[seen] <= time + same_time();
      seen += due;
      return due;
    }
    if (at != args.steps && at != recorder.next) return false;
    recorder.next += args.record_every;
    return true;
  }
  // the user sees the node as it is recorded; what the last step held has arrived, what comes back holds from here on
  bool control(long at, double time) {
    recorder.show_control();
    reactions.keep_acting();
    args.wants = true;
    if (!args.control(args.context, at, time)) return interrupt(args, at, time);
    node.change_inputs(at);
    if (recorder.recorded) recorder.record_inputs(), recorder.record_control();
    return stops.stand_as_told() || rebound();
  }
  // of every record, or of the last one
  void keep_checkpoint(long at, bool last) {
    if (!args.out_checkpoint || !(last || (args.checkpoint_of_each && at == recorder.next))) return;
    checkpoint.save(args.out_checkpoint + (args.checkpoint_of_each ? args.status.records * args.checkpoint_size : 0),
                    at, at);
  }
  void end() {
    reactions.peek();
    args.has_checkpoint = args.out_checkpoint != nullptr;
  }

  //---- times that are asked for between nodes ----

  double same_time() const { return 1e-9 * args.dt; }
  // each by a step of its own from the node, which is then taken back; false if one has no solution
  bool look_between(long at) {
    const double end = progress.time_of(at + 1) - same_time();
    if (seen == args.time_count || args.times[seen] >= end) return true;
    const Progress before = progress;
    const Tally tally = args.tally;
    const double start = node.now;
    checkpoint.save(args.scratch, at, at);
    const auto back = [&] {
      go_back(args.scratch);
      aim_first();
      progress = before;
      args.tally = tally;
    };
    if (recorder.recorded) {
      // the node's record is complete with its reactions
      reactions.look_back();
      reactions.peek();
      recorder.recorded = false;
      back();
    }
    bool fine = true;
    for (; fine && seen < args.time_count && args.times[seen] < end; ++seen) {
      double time = start;
      int substeps = 1;
      fine = rescue.cover(args.times[seen] - start, at, time, substeps);
      if (fine) {
        node.now = args.times[seen];
        node.place(at);
        fine = recorder.record(node.now);
        if (!fine) fail(step, Outcome::singular, at, start);
      }
      if (fine) {
        recorder.record_control();
        reactions.weigh(at, false);
        reactions.peek();
      }
      back();
    }
    return fine;
  }

  //---- step by step: `args.steps` from the node of the last call on ----

  // to the first node; false if it cannot be
  bool start() {
    open();
    node.now = progress.time_of(0);
    node.place(0);
    checkpoint.reconcile();
    return begin_at_stops() && springs.follow(0, node.now) && show();
  }
  // at a node where another seat has been
  void wake() {
    enter();
    newton.rates = projection.rates;
    args.status = Status{};
    go_back(args.checkpoint);
    aim_first();
  }
  // where no step is known yet, one is guessed from the node's velocities
  void aim_first() {
    if (history[0].count == 0) projection.project(node.arriving());
  }
  // the node's poses and velocities into the first record
  bool show() {
    args.status.records = 0;
    recorder.record_pose(node.now);
    return show_velocities();
  }
  // nothing that steps depend on is changed, so that these may be asked for at any time
  bool show_velocities() {
    args.status.records = 0;
    return recorder.record_velocities() || fail(step, Outcome::singular, args.status.step, node.now);
  }
  // on with what is held
  void go_on() {
    args.status = {};
    args.tally = {};
    node.change_inputs(taken);
    args.wants = false;
    for (long at = 0; at < args.steps; ++at) {
      double time = node.now;
      if (!leave(at, time)) return stop();
      args.status.step = at + 1;
      args.status.time = node.now = progress.time_of(at + 1);
      node.place(++taken);
      if (!springs.follow(at + 1, node.now)) return stop();
    }
    progress.base += args.steps;
    args.status.records = 0;
    recorder.record_pose(node.now);
    if (!args.velocities_later) show_velocities();
  }
  // the bounds of stops have been moved: what stands at one now and goes against it bounces
  bool rebound() {
    int whose = -1;
    rescue.forget();
    // one that has held until here has had its part in the last interval
    bool fine = !stops.holds() || projection.strike();
    if (stops.follow_bounds()) stops.find_passed(whose);
    if (whose >= 0) fine = fine && projection.strike();
    return fine || fail(step, Outcome::singular, 0, node.now);
  }
  // where a step has failed
  void stop() {
    const Status failure = args.status;
    args.status.records = 0;
    recorder.record(node.now);
    args.status = failure;
    progress.restart(node.now);
  }
  // the node's reactions into the first record; what is found on the way is forgotten
  void react(double* row) {
    const Status status = args.status;
    checkpoint.save(row, 0, taken);
    args.status.records = 0;
    if (recorder.record(node.now)) {
      reactions.weigh(0, false);
      reactions.look_back();
      reactions.peek();
    }
    args.status = status;
    go_back(row);
  }
  // of the node, in a run or step by step
  void save(double* row) { checkpoint.save(row, here, here + taken); }
  void go_back(const double* row) {
    checkpoint.resume(row);
    node.signals.looks_behind = node.signals.doubted = false;
    node.place(here + taken);
  }
};

}  // namespace catena::CATENA_ISA
