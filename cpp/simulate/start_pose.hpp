// A pose to start from: joints of a tree have given coordinates and rates, and loops are closed by the others.
//
// Where all coordinates are given, bodies are placed by them, and what is not held moves from there until all loops are
// closed. Where only those are given that are held, these go from the described pose to their values in strides, and
// the others follow, so that all stay on the branch that was described. What does not close is tried again from beside
// it.
//
// With J = (J_h, J_f) the rates of the rows by those of what is held and of what is free, the free rates are those
// nearest to the given ones with J_h q_h' + J_f q_f' = 0.
#pragma once

#include "simulate/trust_region.hpp"

namespace catena::CATENA_ISA {

struct StartPose {
  Closer& closer;
  StartPoseArgs& args;
  double *rates, *unit;    // (freedom)
  Wrench<double>* motion;  // (branch) of its body, at the origin

  static constexpr double stride = 0.4;                  // rad, or parts of the size
  static constexpr double nearly = 1e-2;                 // what may be open on the way
  static constexpr int hurry = 2;                        // iterations of a stride on the way
  static constexpr double elsewhere[] = {0, 0.3, 1, 3};  // rad, from where it is tried again
  static constexpr int refinements = 2;                  // of rates

  const ClosingPlan& plan() const { return closer.plan; }
  int coordinate_of(int branch) const { return args.first_coordinate[branch]; }
  bool in_loop(const ClosingBranch& b) const { return b.first_strand < b.end_strand; }
  bool all_held(const ClosingBranch& b) const {
    for (int f = 0; f < b.freedom_count; ++f)
      if (!closer.holds(b.first_freedom + f)) return false;
    return true;
  }
  void set_joint(int k, const double* coordinate) {
    static constexpr double none[6] = {};
    const Relative seen(closer.layout.constraint[plan().branch[k].constraint], coordinate, none);
    closer.shift[k] = seen.shift;
    closer.turn[k] = seen.turn;
  }

  void run() {
    closer.clock.resting = closer.clock.frozen = true;
    closer.clock.now = args.close.signals;
    closer.seed = args.close.seed;
    closer.enter(*args.described);
    args.close.iterations = 0;
    place();
    double least = INFINITY;
    for (double amplitude : elsewhere) {
      args.close.amplitude = amplitude;
      if (amplitude > 0) closer.disturb();
      closer.find_units();
      closer.close(Closer::closed, args.close.iterations + args.close.iteration_limit);
      if (args.close.open < least) find_worst();
      least = std::fmin(least, args.close.open);
      if (least <= args.enough) break;
    }
    args.close.open = least;
    closer.store();
    move();
  }

  // where the search begins
  void place() {
    const int branches = plan().branch_count;
    double longest = 0;
    for (int k = 0; k < branches; ++k) {
      const ClosingBranch& b = plan().branch[k];
      const int c = coordinate_of(k);
      if (c < 0) continue;
      if (args.is_guess || !in_loop(b)) {
        set_joint(k, args.coordinate + c);
        continue;
      }
      closer.each_freedom(b, [&](int f, Motion kind, int, bool) {
        const int at = c + f - b.first_freedom;
        const double way = std::fabs(args.coordinate[at] - args.from[at]);
        if (closer.holds(f)) longest = std::fmax(longest, kind == Motion::slide ? way / args.close.size : way);
      });
    }
    const int strides = static_cast<int>(std::ceil(std::fmin(longest / stride, 1e6)));
    double at[6];
    closer.find_units();
    for (int f = 0; f < plan().freedom_count; ++f) unit[f] = closer.measure[f];
    for (int s = 1; s <= strides; ++s) {
      for (int f = 0; f < plan().freedom_count; ++f) closer.measure[f] = 1, closer.step[f] = 0;
      for (int k = 0; k < branches; ++k) {
        const ClosingBranch& b = plan().branch[k];
        const int c = coordinate_of(k);
        if (c < 0 || !in_loop(b)) continue;
        const bool whole = all_held(b);
        for (int f = 0; f < b.freedom_count; ++f) {
          const double from = args.from[c + f], way = args.coordinate[c + f] - from;
          at[f] = s == strides ? args.coordinate[c + f] : from + way * s / strides;
          if (!whole && closer.holds(b.first_freedom + f)) closer.step[b.first_freedom + f] = way / strides;
        }
        if (whole && b.freedom_count > 0) set_joint(k, at);
      }
      closer.move(closer.step);
      if (s == strides) break;
      for (int f = 0; f < plan().freedom_count; ++f) closer.measure[f] = unit[f];
      closer.follows = false;
      closer.close(nearly, args.close.iterations + hurry);
      closer.follows = true;
      closer.count_turns();
    }
    closer.place();
  }

  void find_worst() {
    double most = -1;
    for (int l = 0; l < plan().loop_count; ++l) {
      const ClosingLoop& loop = plan().loop[l];
      if (loop.constraint < 0) continue;
      const ConstraintInfo& c = closer.layout.constraint[loop.constraint];
      double square[2] = {0, 0};
      for (int r = 0; r < loop.row_count; ++r) {
        const double gap = closer.gap[loop.row + r];
        square[c.lengths >> r & 1u ? 0 : 1] += gap * gap;
      }
      if (!(square[0] + square[1] > most)) continue;
      most = square[0] + square[1];
      args.joint = c.joint;
      args.gap[0] = args.close.size * std::sqrt(square[0]);
      args.gap[1] = std::sqrt(square[1]);
    }
  }

  //---- velocities ----

  void move() {
    const int branches = plan().branch_count;
    bool moves = false;
    for (int k = 0; k < branches; ++k) {
      const ClosingBranch& b = plan().branch[k];
      const int c = coordinate_of(k), body = closer.layout.link[b.child].body;
      int slides = 0, turns = 0;
      closer.each_freedom(b, [&](int f, Motion kind, int, bool) {
        rates[f] = c >= 0                  ? args.rate[c + f - b.first_freedom]
                   : b.constraint >= 0     ? 0
                   : kind == Motion::slide ? args.velocity[3 * body + slides++]
                                           : args.angular_velocity[3 * body + turns++];
        moves |= rates[f] != 0;
      });
    }
    if (moves) allow();
    for (int f = 0; f < plan().freedom_count; ++f) closer.measure[f] = 1;
    find_all_twists();
    for (int k = 0; k < branches; ++k) {
      const ClosingBranch& b = plan().branch[k];
      motion[k] = b.above < 0 ? Wrench<double>{{0, 0, 0}, {0, 0, 0}} : motion[b.above];
      for (int f = b.first_freedom; f < b.first_freedom + b.freedom_count && moves; ++f) {
        motion[k].f += rates[f] * closer.twist[f].f;
        motion[k].t += rates[f] * closer.twist[f].t;
      }
      const int body = closer.layout.link[b.child].body;
      store3(args.velocity + 3 * body, motion[k].f + cross(motion[k].t, closer.body[b.child].x));
      store3(args.angular_velocity + 3 * body, motion[k].t);
    }
  }
  // also of joints that no loop passes
  void find_all_twists() {
    for (int k = 0; k < plan().branch_count; ++k) closer.find_twists_of(plan().branch[k]);
  }

  // free rates that keep all rows as they are
  void allow() {
    const int rows = plan().row_count;
    for (int f = 0; f < plan().freedom_count; ++f) closer.measure[f] = 1;
    closer.look(closer.gap, true);
    for (int r = 0; r < rows; ++r) closer.ahead[r] = 0;
    add_row_rates(rates);
    closer.find_units();
    closer.look(closer.gap, true);
    closer.multiply();
    if (rows == 0 || !closer.factorise(Closer::least)) return;
    for (int k = 0; k < refinements; ++k) {
      for (int r = 0; r < rows; ++r) closer.y[r] = -closer.ahead[r];
      closer.solve(closer.y);
      closer.find_step();
      add_row_rates(closer.step);
      for (int f = 0; f < plan().freedom_count; ++f) rates[f] += closer.measure[f] * closer.step[f];
    }
  }
  void add_row_rates(const double* of) {
    for (int l = 0; l < plan().loop_count; ++l)
      for (int s = plan().loop[l].first_strand; s < plan().loop[l].end_strand; ++s) {
        const ClosingBranch& b = plan().branch[plan().strand[s].branch];
        for (int r = 0; r < plan().loop[l].row_count; ++r)
          for (int f = 0; f < b.freedom_count; ++f)
            closer.ahead[plan().loop[l].row + r] +=
                closer.share[plan().strand[s].first_share + r * b.freedom_count + f] * of[b.first_freedom + f];
      }
  }
};

}  // namespace catena::CATENA_ISA
