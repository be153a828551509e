// What is carried over a node, all that the steps from there on depend on, as numbers in a row.
//
// Its first part is the motion: poses, momenta, angles. The second is what earlier steps have taught, and the inputs:
// nothing in it alters the motion by more than the tolerance, but a run that goes on from it is the same to the last
// bit.
#pragma once

#include <algorithm>
#include <type_traits>

#include "simulate/error.hpp"
#include "simulate/spring_stability.hpp"
#include "simulate/step.hpp"

namespace catena::CATENA_ISA {

// numbers to a row and from it
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

template <class Solver>
struct Carried {
  Node<Solver>& node;
  Rest<Solver>& rest;
  Step<Solver>& step;
  Springs<Solver>& springs;
  Estimator<Solver>& estimator;
  Progress& progress;
  History* history;  // (part), and those of reactions
  int history_count;
  Wrench<double>* acting;  // (link) loads at the node where another run has ended
  const Layout& layout = node.layout;
  RunArgs& args = node.args;
  Solver& solver = node.solver;
  Newton<Solver>& newton = step.newton;

  static long motion_size(const Layout& layout) {
    return Solver::state_size(layout) + 3L * layout.law_count + layout.counter_count +
           static_cast<long>(most_terms) * Solver::memory_count(layout) + 4;
  }
  static int histories_of(const Composition& parts, int order) { return parts.count > 1 ? parts.count + order : 1; }
  static long differences_of(const Layout& layout) {
    return static_cast<long>(Newton<Solver>::points_of(layout)) * padded(Solver::motion_count(layout));
  }
  static constexpr int history_scalars = 7, scalars = 11;
  static long size(const Layout& layout, int order, int signal_count, int input_count) {
    return motion_size(layout) + scalars + 6L * layout.link_count + 2L * layout.law_count + input_count + signal_count +
           Estimator<Solver>::past_size(layout, order) +
           histories_of(composition_of(order), order) * (history_scalars + differences_of(layout));
  }

  void exchange_motion(Exchange& exchange) {
    if (exchange.save)
      solver.save(exchange.at);
    else
      solver.restore(exchange.at);
    exchange.at += Solver::state_size(layout);
    exchange(node.law_momentum, layout.law_count);
    exchange(node.law_angle, layout.law_count);
    exchange(node.law_force, layout.law_count);
    exchange(node.turns.counted, layout.counter_count);
    for (int k = 0; k < Solver::memory_count(layout); ++k) exchange(solver.memory_at(k).angle, most_terms);
    exchange(node.half);
    exchange(node.turns.wound);
    exchange(node.leaving);
    exchange(node.now);
  }
  void exchange_all(double* carried, bool save) {
    Exchange exchange{carried, save};
    exchange_motion(exchange);
    exchange(progress.origin);
    exchange(progress.base);
    exchange(progress.usual);
    exchange(newton.extent);
    exchange(progress.spent);
    exchange(progress.next_stiff_check);
    exchange(springs.has_mode);
    exchange(step.flat_joint);
    exchange(step.flat_time);
    exchange(node.signals.has_end);
    exchange(node.signals.end_time);
    exchange(springs.mode, layout.law_count);
    exchange(rest.momentum, layout.law_count);
    for (int i = 0; i < layout.link_count; ++i) exchange(acting[i].f), exchange(acting[i].t);
    for (int k = 0; k < args.input_count; ++k) exchange(numbers_of(args.laws[args.input[k].law])[args.input[k].number]);
    exchange(node.signals.at_end(), args.signal_count);
    if (args.order == 2) exchange_past(exchange);
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

  // of the errors of plain steps
  void exchange_past(Exchange& exchange) {
    exchange(estimator.length);
    exchange(estimator.second2);
    exchange(estimator.equal);
    for (int i = 0; i < layout.link_count; ++i) {
      const Past<double>& past = estimator.past;
      exchange(past.motion[i].f), exchange(past.motion[i].t), exchange(past.change[i].f), exchange(past.change[i].t);
    }
  }

  // at a node that has been placed, so many steps after the first of this run; loads are those of their row `load`
  void save(double* carried, long steps, long load) {
    const Progress before = progress;
    if (node.now == progress.time_of(steps))
      progress.base += steps;
    else
      progress.restart(node.now);
    node.signals.end_at(node.now);
    node.applied.sum(load, acting);
    exchange_all(carried, true);
    progress = before;
    node.signals.has_end = false;
  }
  void resume(const double* carried) {
    exchange_all(const_cast<double*>(carried), false);
    // numbers from a file must not lead astray
    for (int k = 0; k < history_count; ++k) {
      History& h = history[k];
      h.count = std::clamp(h.count, 0, newton.points);
      h.order = std::clamp(h.order, 0, h.count);
    }
    if (step.flat_joint >= layout.joint_count) step.flat_joint = -1;
    node.has_gravity = false;
    // steps of another length are counted from here
    if (progress.usual != args.dt) progress.restart(node.now);
    progress.usual = args.dt;
    node.signals.doubted = true;
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

  // What acted on the interval before a node where another run has ended gives its second half there; `Node::forces`
  // would take what acts from the node on for both.
  void reconcile() {
    if (!args.resumed || node.arriving() == 0) return;
    Wrench<double>* owed = rest.owed;
    node.applied.sum(0, owed);
    for (int i = 0; i < layout.link_count; ++i) {
      const Wrench<double> less = {acting[i].f - owed[i].f, acting[i].t - owed[i].t};
      if (norm2(less.f) + norm2(less.t) > 0) node.add_impulse(i, less, node.arriving());
    }
  }
};

}  // namespace catena::CATENA_ISA
