// Functions of time: their values at the node, in the middle of the step and at its end, and their derivatives.
//
// The end of a step often is the same instant as the next node, and then they are not asked again. Derivatives are
// differences of fourth order.
#pragma once

#include <cmath>

#include "args/run.hpp"
#include "base/isa.hpp"

namespace catena::CATENA_ISA {

struct Signals {
  const Layout& layout;
  const RunArgs& args;
  double end_time = 0;  // for which those at the end of the step hold
  bool has_end = false;
  bool doubted = false;       // those at the end were read by another run
  bool looks_behind = false;  // functions are not to be asked for what comes after the node

  double* at_node() const { return row(0); }
  double* in_middle() const { return row(1); }
  double* at_end() const { return row(2); }
  double* rates() const { return row(3); }
  double* row(int which) const { return args.signals + static_cast<long>(which) * args.signal_count; }

  void read(double time, double* values) const {
    if (args.signal_count > 0) args.read_signals(args.context, time, values);
  }
  // of a step
  void read_step(double node, double dt) {
    read(node + 0.5 * dt, in_middle());
    read(node + dt, at_end());
    end_time = node + dt;
    has_end = true;
  }
  void read_rates(double node) {
    const int n = args.signal_count;
    if (n == 0) return;
    // in the room of the middle
    const double h = std::fabs(args.dt) / 32;
    double *rate = rates(), *one = in_middle();
    has_end = false;
    for (int k = 0; k < n; ++k) rate[k] = 0;
    struct Term {
      double offset, weight;
    };
    static constexpr Term around[] = {{-2, 1. / 12}, {-1, -8. / 12}, {1, 8. / 12}, {2, -1. / 12}, {0, 0}};
    static constexpr Term behind[] = {{0, 25. / 12}, {-1, -4}, {-2, 3}, {-3, -4. / 3}, {-4, 1. / 4}};
    for (const Term& term : looks_behind ? behind : around) {
      if (term.weight == 0) continue;
      read(node + term.offset * h, one);
      align_grounds(one);
      for (int k = 0; k < n; ++k) rate[k] += (term.weight / h) * one[k];
    }
  }
  // a quaternion and its opposite are the same turn: take the one nearest to the node's
  void align_grounds(double* values) const {
    for (int k = 0; k < layout.loop_count; ++k) {
      const int first = layout.constraint[layout.loop[k]].ground;
      if (first < 0) continue;
      const double *near = at_node() + first + 3, *q = values + first + 3;
      if (near[0] * q[0] + near[1] * q[1] + near[2] * q[2] + near[3] * q[3] > 0) continue;
      for (int e = 3; e < 7; ++e) values[first + e] = -values[first + e];
    }
  }

  void enter_node(double node) {
    if (args.signal_count == 0) return;
    if (doubted) return check(node);
    if (!has_end || std::fabs(end_time - node) > 1e-9 * std::fabs(args.dt)) return read(node, at_node());
    copy(at_end(), at_node());
  }
  // Where another run has ended the functions' values are those that it had there, if the functions are the same.
  void check(double node) {
    doubted = false;
    read(node, at_node());
    bool same = has_end;
    for (int k = 0; k < args.signal_count; ++k)
      same &= std::fabs(at_end()[k] - at_node()[k]) <= 1e-9 * (1 + std::fabs(at_node()[k]));
    if (same) copy(at_end(), at_node());
  }
  // the values at the node are those at the end of the step that led here
  void end_at(double node) {
    copy(at_node(), at_end());
    has_end = true;
    end_time = node;
  }
  void copy(const double* from, double* to) const {
    for (int k = 0; k < args.signal_count; ++k) to[k] = from[k];
  }
};

}  // namespace catena::CATENA_ISA
