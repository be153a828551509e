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
//
// Stops (solve/stops.hpp): a step at whose end one is passed is cut where the first of them is touched, by its length
// (simulate/bracket.hpp), and goes on from there after the impact. After
// `cuts` of them, and where a stop is touched for a second time, stops are caught: they take part in the equations, and
// the rest is taken in plain steps. A composed step is also cut where a stop lets go (simulate/release.hpp).
#pragma once

#include <algorithm>

#include "simulate/bracket.hpp"
#include "simulate/checkpoint.hpp"
#include "simulate/failure.hpp"
#include "simulate/record.hpp"
#include "simulate/release.hpp"

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
  double residual = 0;                  // that Newton's method had left before the piece that is tried
  Stops<Solver>& stops = step.stops;
  Composition plain = composition_of(2);
  const Composition* composed = &parts;  // `plain` where stops are caught
  int cuts = 0;                          // of the step
  // of the piece that is tried: what its end is for, gaps of the stop that is passed first, and how long it was
  enum class Aim { whole, touch, look, part } aim = Aim::whole;
  double start_gap = 0, end_gap = 0, covered = 0;
  bool touches = false;                    // it ends at a stop, which is touched
  Release<Solver> release = {node, step};  // or lets go

  // one step of the usual length, in substeps if need be; `time` follows
  bool advance(long at, double& time) {
    const double start = time;
    const long cut = args.tally.cut;
    int substeps = 1;
    if (!cover(args.dt, at, time, substeps)) return false;
    // what was cut at a stop was not halved; the last cut may be where the step ends
    substeps = std::max(substeps - static_cast<int>(args.tally.cut - cut), 1);
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
    begin_stops();
    if (parts.count == 1 && args.error_rate > 0) return refine(length, at, time, substeps);
    return take(length, at, true, time, substeps);
  }
  void begin_stops() {
    if (stops.count() == 0) return;
    for (int k = 0; k < stops.count(); ++k) stops.stop[k].bounces = 0, stops.stop[k].touched = false;
    stops.catches = parts.count == 1;
    stops.catches_all = false;
    composed = &parts;
    cuts = 0;
  }
  CATENA_INLINE bool take(double length, long at, bool first, double& time, int& substeps) {
    if (stops.count() > 0) return take_to_stops(length, at, first, time, substeps);
    return go(length, at, first, time, substeps);
  }
  // from stop to stop; the first piece from a node completes the node's record
  bool take_to_stops(double length, long at, bool first, double& time, int& substeps) {
    const double end = time + length, piece = length / parts.count;
    substeps = 0;
    for (double left = length;; left = end - time, first = false) {
      const bool whole = !rubs(left, piece);
      int some = 1;
      if (!go(whole ? left : piece, at, first, time, some)) return false;
      substeps += some;
      if (whole && !touches) break;
      node.now = time;
      node.place(at);
      if (touches && !strike()) return fail(step, Outcome::singular, at, time);
      if (end - time <= 1e-9 * length) break;
      substeps -= !touches;
    }
    time = end;
    return true;
  }
  // Friction has no backward step: while it acts, a composed step is taken as that many equal plain ones.
  bool rubs(double left, double piece) {
    if (parts.count == 1 || stops.touches.count() == 0) return false;
    const bool here = stops.rubs();
    composed = here || stops.catches_all ? &plain : &parts;
    return here && left > (1 + 1e-9) * piece;
  }
  // an accuracy makes steps as long as the motion allows
  int most_cuts() const { return args.error_rate > 0 ? 8 * args.cuts : args.cuts; }
  // a stop is touched
  bool strike() {
    ++args.tally.cut;
    if (++cuts == most_cuts()) catch_all();
    forget();
    return release.found ? step.projection.release(release.most) : step.projection.strike();
  }
  // what was learnt is of another motion
  void forget() {
    stops.remember_press(0);
    for (int k = 0; k < parts.count; ++k) {
      history[k].count = history[k].order = 0;
      history[k].kappa = unknown;
    }
    estimator.length = 0;
  }
  // up to the next stop in one step, or in its halves
  bool go(double length, long at, bool first, double& time, int& substeps) {
    const long records = args.status.records;
    node.now = time;
    Outcome outcome = reach(at, length, first, false);
    if (outcome != Outcome::converged) {
      // far from where it began a mechanism has coarser numbers
      const double before = newton.extent;
      newton.measure_extent();
      if (newton.extent > 1.5 * before) {
        args.status.records = records;
        outcome = reach(at, length, first, false);
      }
    }
    if (outcome != Outcome::converged) return halve(length, outcome, at, first, records, time, substeps);
    time += covered;
    return true;
  }
  CATENA_INLINE Outcome reach(long at, double dt, bool first, bool shortest) {
    if (stops.count() > 0) return reach_stop(at, dt, first, shortest);
    covered = dt;
    return compose(at, dt, first, shortest);
  }
  // a step, or as much of it as there is before a stop is touched or lets go
  Outcome reach_stop(long at, double dt, bool first, bool shortest) {
    release.found = false;
    const long records = args.status.records;
    const double before = error, largest_before = largest_error;
    const Outcome outcome = touch(at, dt, first, shortest);
    if (outcome != Outcome::converged || composed->count == 1 || !stops.holds()) return outcome;
    const double part = composed->part[0];
    if (!stops.may_let_go(covered) || !release.begin(at, covered, part)) {
      stops.remember_press(covered);
      return outcome;
    }
    const auto back = [&] {
      undo(at);
      args.status.records = records;
      error = before, largest_error = largest_before;
    };
    for (bool more = release.presses(); more;) {
      back();
      aim = Aim::part;
      covered = release.bracket.next();
      const Outcome cut = compose(at, covered, first, shortest);
      if (cut != Outcome::converged) return cut;
      more = release.look(at, covered, part);
    }
    if (covered > 1e-6 * dt && release.presses()) {
      release.found = touches = true;
      return Outcome::converged;
    }
    // it lets go at once
    back();
    stops.let_go(release.most, release.presses() ? &Stop::press_ahead : &Stop::press);
    return touch(at, dt, first, shortest);
  }
  // a step, or as much of it as there is before a stop is touched
  Outcome touch(long at, double dt, bool first, bool shortest) {
    const long records = args.status.records;
    covered = dt;
    touches = false;
    aim = Aim::whole;
    long tries = 1;
    const auto attempt = [&](double length, Aim for_what) {
      aim = for_what;
      ++tries;
      args.status.records = records;
      return compose(at, length, first, shortest);
    };
    Outcome outcome = compose(at, dt, first, shortest);
    // one may be touched just where the step ends
    touches = outcome == Outcome::converged && stops.count() > 0 && end_gap < stop_rounding;
    if (outcome != Outcome::passed) return outcome;
    double low = 0, high = dt, low_gap = start_gap, high_gap = end_gap;
    Bracket bracket;
    if (!(low_gap > 0.1 * stop_rounding)) {
      // it has just left: somewhere in between it is away
      bracket.remember(low, low_gap);
      for (int k = 0; k < 12 && low == 0; ++k) {
        const double half = 0.5 * bracket.comes_back(high, high_gap);
        bracket.remember(high, high_gap);
        outcome = attempt(half, Aim::look);
        if (outcome != Outcome::passed) return outcome;
        if (end_gap > 0)
          low = half, low_gap = end_gap;
        else
          high = half, high_gap = end_gap;
      }
      if (low == 0) {
        // it comes back at once: it stays, or is held to the end of the step
        if (!stops.stay()) return caught(dt, attempt);
        args.status.records = records;
        return touch(at, dt, first, shortest);
      }
    }
    bracket.begin(low, low_gap, high, high_gap);
    while (bracket.looks < 60) {
      const double length = bracket.next();
      outcome = attempt(length, Aim::touch);
      if (outcome == Outcome::converged) {
        touches = true;
        covered = length;
        ++args.tally.located;
        args.tally.tries += tries;
      }
      if (outcome != Outcome::passed) return outcome;
      bracket.see(length, end_gap);
    }
    // several at once, nearly
    return caught(dt, attempt);
  }
  template <class F>
  Outcome caught(double dt, F&& attempt) {
    catch_all();
    return attempt(dt, Aim::whole);
  }
  // what is touched on the way takes part, to the end of the user's step
  void catch_all() {
    stops.catches = stops.catches_all = true;
    composed = &plain;
    ++args.tally.caught;
  }
  // whether the step that has been solved does not end where it should
  bool misses() {
    int whose = -1;
    end_gap = stops.least_gap(whose);
    if (aim == Aim::look) return true;
    if (aim == Aim::part) return false;
    if (aim == Aim::touch) return !(std::fabs(end_gap) < 0.5 * stop_rounding);
    if (!(end_gap < -0.5 * stop_rounding)) return false;
    passing = whose;
    return true;
  }
  int passing = -1;  // the stop that is passed first
  // in equal plain steps, twice as many until their end moves by little enough
  bool refine(double length, long at, double& time, int& substeps) {
    const double start = time, allowed = args.error_rate * length;
    const long records = args.status.records;
    const Tally tally = args.tally;
    checkpoint.save_motion(saved);
    for (long count = 1, before = 0;; count *= 2) {
      time = start;
      substeps = 0;
      step.newton_residual = error = largest_error = 0;
      for (long k = 0; k < count; ++k) {
        int taken = 1;
        if (k > 0) node.place(at);
        begin_stops();
        if (!take(length / static_cast<double>(count), at, k == 0, time, taken)) return false;
        substeps += taken;
      }
      node.now = time = start + length;
      const bool equal = substeps == count + (args.tally.cut - tally.cut), compared = equal && before > 0;
      if (compared) error = largest_error = moved() / 3;
      const bool reached = compared && error <= allowed;
      if (reached || count == most_refined) {
        args.tally.missed += !reached;
        return true;
      }
      before = equal ? count : 0;
      for (int i = 0; i < node.layout.link_count; ++i) end[i] = {node.solver.body[i].x, node.solver.body[i].q};
      args.status.records = records;
      args.tally = tally;
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
    const Composition& parts = *composed;
    residual = step.newton_residual;
    if (args.estimates) estimator.begin();
    if (parts.count > 1) checkpoint.save_motion(saved);
    for (int k = 0; k < parts.count; ++k) {
      if (k > 0) node.place(at);
      newton.select(history[k]);
      stops.fixed = k > 0;
      const Outcome outcome = step.solve(parts.part[k] * dt);
      // what the first part has let go has no part in the others, and may be passed in them
      const bool passes = outcome == Outcome::converged && k == parts.count - 1 && stops.count() > 0 && misses();
      stops.fixed = false;
      iterations += newton.iterations;
      if (newton.trace) keep_trace(at);
      if (outcome != Outcome::converged) {
        if (k > 0) undo(at);
        return outcome;
      }
      if (k == 0 && parts.count > 1 && stops.holds()) stops.weigh(release.weight_of(parts.part[0] * dt), &Stop::press);
      if (passes) {
        if (k > 0) undo(at);
        if (aim == Aim::whole) start_gap = stops.gap_at_node(passing);
        return Outcome::passed;
      }
      if (args.estimates) estimator.see(k, parts.part[k] * dt, step.least);
      if (k == 0 && first && recorder.recorded) reactions.record(parts.part[0] * dt);
      step.commit(parts.part[k] * dt);
      node.struck = false;
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
    step.newton_residual = residual;
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
        ++substeps;
        if (touches) {
          time = start + length * (static_cast<double>(done) / static_cast<double>(whole)) + covered;
          return true;
        }
        done += piece;
        time = start + length * (static_cast<double>(done) / static_cast<double>(whole));
        if (done == whole) return true;
        // as long again as fits
        while (done % (2 * piece) == 0) piece *= 2;
      }
      if (args.poll && !args.poll(args.context, at)) return interrupt(args, at, time);
      node.now = time;
      if (done > 0) node.place(at);
      outcome =
          reach(at, length * (static_cast<double>(piece) / static_cast<double>(whole)), first && done == 0, piece == 1);
    }
  }
};

}  // namespace catena::CATENA_ISA
