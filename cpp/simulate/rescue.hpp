// A step of the user's dt: its parts, its substeps if it cannot be taken whole, and as many equal steps as an accuracy
// asks for.
//
// Rescue: a step that cannot be solved, or that errs by more than the caller allows, is replaced by two of half the
// length, again and again, and the full length is taken up again where the halves fit together. Momenta are state and
// `kick` knows both neighbouring lengths, so this is consistent; that it happened is counted. No piece is left out
// because an earlier one makes it look hopeless: what is tried depends on the state alone, so that runs stay
// reversible.
//
// Accuracy of plain steps: they have no estimate without memory, and where something dissipates the compositions that
// have one step backwards, where a damper feeds energy. So the time is covered by n, 2 n, 4 n, ... equal steps, each
// time from the same state, until the end moves by so little, d, that d / 3, which the finer one of two runs of second
// order errs by, is small enough. The finest is kept as it is: nothing is combined, so stiff laws and kinks do no harm.
// A run whose steps had to be halved is not coarser than the next and says nothing.
#pragma once

#include "simulate/checkpoint.hpp"
#include "simulate/failure.hpp"
#include "simulate/record.hpp"

namespace catena::CATENA_ISA {

// Of a step that has taken another solution (parts of the mechanism's size, rad).
constexpr double absurd_error = 0.01;

// Pieces that a run may take: a step now and then may need many, one after the other may not.
constexpr long first_budget = 1L << 14, step_budget = 128;

// Equal steps that a step may be made of.
constexpr long most_refined = 1024;

// where a link is
struct Place {
  Vec3<double> x;
  Quat<double> q;
};

template <class Solver>
struct Rescue {
  Node<Solver>& node;
  Step<Solver>& step;
  Checkpoint<Solver>& checkpoint;
  Recorder<Solver>& recorder;
  Reactions<Solver>& reactions;
  Progress& progress;
  Estimator<Solver>& estimator;
  const Composition& parts;
  History* history;  // (part)
  double* saved;     // room for the motion
  Place* end;        // (link) of plain steps that were taken back
  RunArgs& args = node.args;
  Newton<Solver>& newton = step.newton;
  int iterations = 0, longest = 0;      // of the step, over all its solves
  double error = 0, largest_error = 0;  // of the step, over its substeps: together, and the largest
  int errs = 0;                         // the link to blame for that

  // one step of the usual length, in substeps if need be; `time` follows
  bool advance(long at, double& time) {
    const double start = time;
    int substeps = 1;
    if (!cover(args.dt, at, time, substeps)) return false;
    // substeps that are short to be exact are not spent in vain
    progress.spent += args.error_rate > 0 ? 1 : substeps;
    args.tally.iterations += iterations;
    args.tally.substeps += substeps;
    args.tally.newton_residual = std::fmax(args.tally.newton_residual, step.newton_residual);
    if (args.estimates) args.tally.count_error(error, start, node.layout.link[errs].body);
    if (args.out.iterations) args.out.iterations[at] = iterations;
    if (args.out.substeps) args.out.substeps[at] = substeps;
    if (args.out.newton_residual) args.out.newton_residual[at] = step.newton_residual;
    if (args.out.error) args.out.error[at] = error;
    newton.trace = nullptr;
    return true;
  }

  // so much time from the node on
  bool cover(double length, long at, double& time, int& substeps) {
    iterations = longest = 0;
    step.newton_residual = error = largest_error = 0;
    newton.trace = args.out_increments ? args.out_increments + args.iteration_limit * args.steps : nullptr;
    if (parts.count == 1 && args.error_rate > 0) return refine(length, at, time, substeps);
    return take(length, at, true, time, substeps);
  }
  // in one step, or in its halves; the first from a node completes the node's record
  bool take(double length, long at, bool first, double& time, int& substeps) {
    const long records = args.status.records;
    node.now = time;
    Outcome outcome = compose(at, length, first, false);
    if (outcome != Outcome::converged) {
      // far from where it began a mechanism has coarser numbers
      const double before = newton.extent;
      newton.measure_extent();
      if (newton.extent > 1.5 * before) {
        args.status.records = records;
        outcome = compose(at, length, first, false);
      }
    }
    if (outcome != Outcome::converged) return halve(length, outcome, at, first, records, time, substeps);
    time += length;
    return true;
  }
  // in equal plain steps, twice as many until their end moves by little enough
  bool refine(double length, long at, double& time, int& substeps) {
    const double start = time, allowed = args.error_rate * length;
    const long records = args.status.records;
    checkpoint.save_motion(saved);
    for (long count = 1, before = 0;; count *= 2) {
      time = start;
      substeps = 0;
      error = largest_error = 0;
      for (long k = 0; k < count; ++k) {
        int taken = 1;
        if (k > 0) node.place(at);
        if (!take(length / static_cast<double>(count), at, k == 0, time, taken)) return false;
        substeps += taken;
      }
      node.now = time = start + length;
      const bool equal = substeps == count, compared = equal && before > 0;
      if (compared) error = largest_error = moved() / 3;
      const bool reached = compared && error <= allowed;
      if (reached || count == most_refined) {
        args.tally.missed += !reached;
        return true;
      }
      before = equal ? count : 0;
      for (int i = 0; i < node.layout.link_count; ++i) end[i] = {node.solver.body[i].x, node.solver.body[i].q};
      args.status.records = records;
      undo(at);
    }
  }
  // how far the links are from where the steps before had led, parts of the mechanism's size or rad
  double moved() {
    double most = 0;
    for (int i = 0; i < node.layout.link_count; ++i) {
      const Body<double>& b = node.solver.body[i];
      const double by2 = motion2(b.x - end[i].x, vector_part(b.q * Quat<double>{end[i].q.w, -vector_part(end[i].q)}),
                                 estimator.per_size2());
      if (by2 > most) most = by2, errs = i;
    }
    return std::sqrt(most);
  }

  // one composed step, which may not err by more than is allowed unless it is as short as can be; a failure leaves the
  // state as it was
  Outcome compose(long at, double dt, bool first, bool shortest) {
    const double start = node.now;
    if (args.estimates) estimator.begin();
    if (parts.count > 1) checkpoint.save_motion(saved);
    for (int k = 0; k < parts.count; ++k) {
      if (k > 0) node.place(at);
      newton.select(history[k]);
      const Outcome outcome = step.solve(parts.part[k] * dt);
      iterations += newton.iterations;
      if (newton.trace) keep_trace(at);
      if (outcome != Outcome::converged) {
        if (k > 0) undo(at);
        return outcome;
      }
      if (args.estimates) estimator.see(k, parts.part[k] * dt, step.least);
      if (k == 0 && first && recorder.recorded) reactions.record(parts.part[0] * dt);
      step.commit(parts.part[k] * dt);
      reactions.has_before = false;
    }
    node.now = start + dt;
    if (!args.estimates) return Outcome::converged;
    estimator.end(dt);
    if (parts.count > 1 && args.error_rate > 0 && estimator.error > args.error_rate * std::fabs(dt)) {
      if (!shortest) {
        undo(at);
        if (estimator.error > absurd_error) unlearn();
        return Outcome::inaccurate;
      }
      ++args.tally.missed;
    }
    error += estimator.error;
    if (estimator.error > largest_error) largest_error = estimator.error, errs = estimator.link;
    return Outcome::converged;
  }
  // another solution than the right one is no guess for what comes
  void unlearn() {
    for (int k = 0; k < parts.count; ++k) {
      newton.select(history[k]);
      newton.forget();
      history[k].count = history[k].order = 0;
    }
    step.projection.project(node.arriving());
  }
  // back to where the step began
  void undo(long at) {
    checkpoint.restore_motion(saved);
    node.place(at);
  }
  // the increments of the slowest solve of the step
  void keep_trace(long at) {
    if (newton.traced <= longest) return;
    longest = newton.traced;
    double* row = args.out_increments + args.iteration_limit * at;
    for (int k = 0; k < longest; ++k) row[k] = newton.trace[k];
  }

  // a step that could not be taken whole
  bool halve(double length, Outcome outcome, long at, bool first, long records, double& time, int& substeps) {
    const long whole = 1L << args.rescue_depth;
    const double start = time;
    long done = 0, piece = whole;
    substeps = 0;
    while (true) {
      if (outcome != Outcome::converged) {
        // the node's record is complete once a piece from it is
        if (done == 0) args.status.records = records;
        if (piece == 1) return fail(step, outcome, at, time);
        piece /= 2;
        if (outcome != Outcome::inaccurate &&
            progress.spent + substeps > first_budget + (progress.base + at) * step_budget)
          return fail(step, Outcome::exhausted, at, time);
      } else {
        done += piece;
        ++substeps;
        time = start + length * (static_cast<double>(done) / static_cast<double>(whole));
        if (done == whole) return true;
        // as long again as fits
        while (done % (2 * piece) == 0) piece *= 2;
      }
      if (args.poll && !args.poll(args.context, at)) return interrupt(args, at, time);
      node.now = time;
      if (done > 0) node.place(at);
      outcome = compose(at, length * (static_cast<double>(piece) / static_cast<double>(whole)), first && done == 0,
                        piece == 1);
    }
  }
};

}  // namespace catena::CATENA_ISA
