// All that the steps from a node on depend on, as numbers in a row.
//
// Its first part is the motion: poses, momenta, angles. The second is what earlier steps have taught, and the inputs:
// nothing in it alters the motion by more than the tolerance, but a run that goes on from it is the same to the last
// bit. `visit_motion` and `visit_state` list it, once: sizes, saving and going back follow.
#pragma once

#include <algorithm>
#include <type_traits>

#include "simulate/error.hpp"
#include "simulate/spring_stability.hpp"
#include "simulate/step.hpp"

namespace catena::CATENA_ISA {

// numbers to a row and from it
template <bool saves>
struct Exchange {
  std::conditional_t<saves, double*, const double*> at;

  template <class T>
  CATENA_INLINE void operator()(T& value) {
    if constexpr (saves)
      *at = static_cast<double>(value);
    else if constexpr (std::is_same_v<T, double>)
      value = *at;
    else
      value = static_cast<T>(std::fabs(*at) < (sizeof(T) > 4 ? 9e15 : 2e9) ? *at : 0);  // a file may have anything
    ++at;
  }
  CATENA_INLINE void operator()(Vec3<double>& value) {
    if constexpr (saves)
      store3(at, value);
    else
      value = load3(at);
    at += 3;
  }
  CATENA_INLINE void operator()(Quat<double>& value) {
    if constexpr (saves)
      store_quat(at, value);
    else
      value = load_quat(at);
    at += 4;
  }
  CATENA_INLINE void operator()(Wrench<double>& value) { (*this)(value.f), (*this)(value.t); }
  // `visit(exchange, item)` for so many items that stand together
  template <class T, class F>
  CATENA_INLINE void each(T* items, long count, F&& visit) {
    for (long k = 0; k < count; ++k) visit(*this, items[k]);
  }
  template <class T>
  CATENA_INLINE void each(T* items, long count) {
    each(items, count, [](auto& to, T& item) { to(item); });
  }
};
// so many they are; items are not looked at, and need not be there
struct Count {
  long total = 0;

  template <class T>
  void operator()(T&) {
    ++total;
  }
  void operator()(Vec3<double>&) { total += 3; }
  void operator()(Quat<double>&) { total += 4; }
  void operator()(Wrench<double>&) { total += 6; }
  template <class T, class F>
  void each(T*, long count, F&& visit) {
    Count of_one;
    T one{};
    visit(of_one, one);
    total += count * of_one.total;
  }
  template <class T>
  void each(T* items, long count) {
    each(items, count, [](auto& to, T& item) { to(item); });
  }
};

template <class Solver>
struct Checkpoint {
  Node<Solver>& node;
  Projection<Solver>& projection;
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

  static int histories_of(const Composition& parts, int order) { return parts.count > 1 ? parts.count + order : 1; }
  static long differences_of(const Layout& layout) {
    return static_cast<long>(Newton<Solver>::points_of(layout)) * padded(Solver::motion_count(layout));
  }

  template <class F>
  void visit_motion(F&& visit) {
    solver.visit_state(visit);
    visit.each(node.law_momentum, layout.law_count);
    visit.each(node.law_angle, layout.law_count);
    visit.each(node.law_force, layout.law_count);
    visit.each(node.turns.counted, layout.counter_count);
    visit.each(solver.memories(), Solver::memory_count(layout),
               [](auto& to, auto& rows) { to.each(rows.angle, most_terms); });
    projection.stops.visit_state(visit);
    visit(node.half), visit(node.turns.wound), visit(node.leaving), visit(node.struck), visit(node.now);
  }
  template <class F>
  void visit_state(F&& visit) {
    visit_motion(visit);
    visit(progress.origin), visit(progress.base), visit(progress.usual), visit(progress.spent);
    visit(newton.extent);
    visit(progress.next_stiff_check), visit(springs.has_mode);
    visit(step.flat_joint), visit(step.flat_time);
    visit(node.signals.has_end), visit(node.signals.end_time);
    visit.each(springs.mode, layout.law_count);
    visit.each(projection.momentum, layout.law_count);
    visit.each(acting, layout.link_count);
    visit.each(args.input, args.input_count,
               [&](auto& to, const InputInfo& input) { to(numbers_of(args.laws[input.law])[input.number]); });
    visit.each(node.signals.at_end(), args.signal_count);
    if (args.order == 2) {
      visit(estimator.length), visit(estimator.second2), visit(estimator.equal);
      visit.each(estimator.past.motion, layout.link_count);
      visit.each(estimator.past.change, layout.link_count);
    }
    for (int k = 0; k < history_count; ++k) {
      History& h = history[k];
      visit(h.count), visit(h.order), visit(h.dt), visit(h.kappa), visit(h.calm), visit(h.unchecked), visit(h.miss);
      visit.each(h.differences, differences_of(layout));
    }
  }

  long motion_size() {
    Count count;
    visit_motion(count);
    return count.total;
  }
  long size() {
    Count count;
    visit_state(count);
    return count.total;
  }
  void save_motion(double* row) { visit_motion(Exchange<true>{row}); }
  void restore_motion(const double* row) {
    visit_motion(Exchange<false>{row});
    projection.stops.list_near();
  }

  // at a node that has been placed, so many steps after the first of this run; loads are those of their row `load`
  void save(double* row, long steps, long load) {
    const Progress before = progress;
    if (node.now == progress.time_of(steps))
      progress.base += steps;
    else
      progress.restart(node.now);
    node.signals.end_at(node.now);
    node.applied.sum(load, acting);
    visit_state(Exchange<true>{row});
    progress = before;
    node.signals.has_end = false;
  }
  void resume(const double* row) {
    visit_state(Exchange<false>{row});
    // they may have been moved since
    projection.stops.follow_bounds();
    projection.stops.list_near();
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

  // What acted on the interval before a node where another run has ended gives its second half there; `Node::forces`
  // would take what acts from the node on for both.
  void reconcile() {
    if (!args.checkpoint || node.arriving() == 0) return;
    Wrench<double>* owed = projection.owed;
    node.applied.sum(0, owed);
    for (int i = 0; i < layout.link_count; ++i) {
      const Wrench<double> less = {acting[i].f - owed[i].f, acting[i].t - owed[i].t};
      if (norm2(less.f) + norm2(less.t) > 0) node.add_impulse(i, less, node.arriving());
    }
  }
};

// whether a checkpoint belongs to a pose; what is recorded of it may have been normalised
inline bool belongs(const Layout& layout, const RunArgs& args) {
  const double* row = args.checkpoint;
  for (int i = 0; i < layout.link_count; ++i, row += body_state_size) {
    const int k = layout.link[i].body;
    const Vec3<double> off = load3(row) - load3(args.position + 3 * k);
    if (!(norm2(off) <= 1e-18 * (1 + norm2(load3(row))))) return false;
    for (int e = 0; e < 4; ++e)
      if (!(std::fabs(row[3 + e] - args.orientation[4 * k + e]) < 1e-9)) return false;
  }
  return true;
}

}  // namespace catena::CATENA_ISA
