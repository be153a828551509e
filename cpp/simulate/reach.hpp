// Inverse kinematics: the joints of a tree are moved until points and frames of bodies are where they are wanted.
//
// With u the coordinates (1 rad, or the size of the mechanism), r(u) what is missing to the targets, weighted, lengths
// in parts of the size and turns as rotation vectors, g(u) what is open in loops, and bounds on u, every step d is that
// of
//
//     min |r + J d|^2 + lambda |d + e|^2,   g + G d = 0,   l <= u + d <= h,
//
// e = 0 on the way, and the way from the guess once the targets are reached, so that of all poses the nearest is found.
// With R = [J; G] its free part is d = -e + R^T y, (R R^T + Lambda) y = R e - [r; g], Lambda being lambda for targets
// and next to nothing for loops; which coordinates are free is found by fixing those that would leave their bounds, and
// by freeing those whose bound keeps them from what they are drawn to [Bjorck, Numerical Methods for Least Squares
// Problems, 1996, section 5.2]. lambda follows how well the linear picture has foretold [Nielsen 1999].
#pragma once

#include "args/reach.hpp"
#include "simulate/trust_region.hpp"

namespace catena::CATENA_ISA {

// a pose of the tree
struct TreePose {
  Vec3<double>* shift;
  Quat<double>* turn;
  double* moved;
};

struct Reacher {
  Closer closer;
  ReachArgs& args;
  int* carrier;  // (link) the branch
  TreePose first, best;
  double *matrix, *square;    // (row, freedom) R; (row, row)
  double *gap, *ahead, *y;    // (row)
  double *step, *way, *unit;  // (freedom) d; e; rad or m of a unit
  signed char* state;         // (freedom) 0 free, -1 and 1 at a bound

  static constexpr double loop_weight = 10, loop_slack = 1e-12;
  static constexpr double first_lambda = 0.1, least_lambda = 1e-15;
  static constexpr double done = 1e-13;  // |r| that is
  static constexpr double longest = 1;   // of any coordinate, in a step
  static constexpr int patience = 6;     // steps in which a search has to gain
  static constexpr double gained = 0.7;  // this much of |r|^2, unless little is left
  static constexpr double little = 1e-4;
  static constexpr double targets_off = 1e9;  // lambda with which they are none
  static constexpr int detours = 3, closings = 4;
  static constexpr int short_search = 60, long_search = 400, nearest_search = 40;

  int freedom_count() const { return closer.plan.freedom_count; }
  int loop_rows() const { return closer.plan.row_count; }
  int row_count() const { return loop_rows() + target_rows(args); }
  static int target_rows(const ReachArgs& args) {
    int count = 0;
    for (int k = 0; k < 2 * args.target_count; ++k) count += args.weight[k] > 0 ? 3 : 0;
    return count;
  }

  //---- poses ----

  void copy(const TreePose& from, const TreePose& to) const {
    for (int k = 0; k < closer.plan.branch_count; ++k) to.shift[k] = from.shift[k], to.turn[k] = from.turn[k];
    for (int f = 0; f < freedom_count(); ++f) to.moved[f] = from.moved[f];
  }
  TreePose here() const { return {closer.shift, closer.turn, closer.moved}; }
  void go_to(const TreePose& pose) {
    copy(pose, here());
    closer.place();
  }
  // bounds of a coordinate in units, from where it is
  double below(int f) const { return (args.range[2 * f] - closer.moved[f]) / unit[f]; }
  double above(int f) const { return (args.range[2 * f + 1] - closer.moved[f]) / unit[f]; }

  void scatter() {
    for (int k = 0; k < closer.plan.branch_count; ++k)
      closer.each_freedom(closer.plan.branch[k], [&](int f, Motion, int, bool) {
        step[f] = 0;
        if (closer.holds(f)) return;
        // rad or parts of the size where there are no bounds
        const double width = closer.plan.branch[k].constraint < 0 || unit[f] != 1 ? 1 : 3.14159265358979323846;
        const double low = std::fmax(below(f), -width), high = std::fmin(above(f), width);
        step[f] = low + 0.5 * (1 + closer.random()) * (high - low);
      });
    closer.move(step);
  }

  //---- what is missing ----

  // rotation vector of a quaternion, the shorter way
  static Vec3<double> rotation(const Quat<double>& q) {
    const Vec3<double> v = vector_part(q);
    const double sine = std::sqrt(norm2(v)), angle = 2 * std::atan2(sine, std::fabs(q.w));
    return ((q.w < 0 ? -1 : 1) * (sine > 1e-9 ? angle / sine : 2.0)) * v;
  }
  // what a turn w adds to the rotation vector e
  static Vec3<double> added(Vec3<double> e, Vec3<double> w) {
    const double square = norm2(e), angle = std::sqrt(square);
    const double part = angle < 1e-3 ? 1.0 / 12 + square / 720 : (1 - 0.5 * angle / std::tan(0.5 * angle)) / square;
    const Vec3<double> turned = cross(e, w);
    return w - 0.5 * turned + part * cross(e, turned);
  }

  // into `to`, with R if asked for; squares summed
  double look(Offset goal, double* to, bool with_matrix) {
    const int freedoms = freedom_count();
    double sum = closer.look(to, with_matrix) * loop_weight * loop_weight;
    for (int r = 0; r < loop_rows(); ++r) to[r] *= loop_weight;
    if (with_matrix) {
      for (int k = 0; k < row_count() * freedoms; ++k) matrix[k] = 0;
      add_loops();
    }
    int row = loop_rows();
    for (int t = 0; t < args.target_count; ++t) {
      const int link = closer.layout.body_link[args.target_body[t]];
      const Body<double>& b = closer.body[link];
      const Offset at = goal * args.target_count + t;
      const double along = args.weight[2 * t] / closer.args.size, about = args.weight[2 * t + 1];
      const Vec3<double> point = b.x + b.R * load3(args.target_point + 3 * t);
      Vec3<double> turned = {0, 0, 0};
      const int places = along > 0 ? row : -1, turns = about > 0 ? row + (along > 0 ? 3 : 0) : -1;
      if (along > 0) store3(to + places, along * (point - load3(args.place + 3 * at)));
      if (about > 0) {
        turned = rotation(b.q * load_quat(args.target_turn + 4 * t) * conjugate(load_quat(args.turn + 4 * at)));
        store3(to + turns, about * turned);
      }
      const int end = row + (along > 0 ? 3 : 0) + (about > 0 ? 3 : 0);
      for (; row < end; ++row) sum += to[row] * to[row];
      for (int k = carrier[link]; with_matrix && k >= 0; k = closer.plan.branch[k].above) {
        const ClosingBranch& branch = closer.plan.branch[k];
        for (int f = branch.first_freedom; f < branch.first_freedom + branch.freedom_count; ++f) {
          const Wrench<double>& v = closer.twist[f];
          if (along > 0) store_column(places, f, along * (v.f + cross(v.t, point)));
          if (about > 0) store_column(turns, f, about * added(turned, v.t));
        }
      }
    }
    return sum;
  }
  void store_column(int row, int f, Vec3<double> v) {
    double* const to = matrix + row * freedom_count() + f;
    to[0] = v.x, to[freedom_count()] = v.y, to[2 * freedom_count()] = v.z;
  }
  void add_loops() {
    const ClosingPlan& plan = closer.plan;
    for (int s = 0; s < plan.strand_count; ++s) {
      const ClosingLoop& loop = plan.loop[plan.strand[s].loop];
      const ClosingBranch& b = plan.branch[plan.strand[s].branch];
      for (int r = 0; r < loop.row_count; ++r)
        for (int f = 0; f < b.freedom_count; ++f)
          matrix[(loop.row + r) * freedom_count() + b.first_freedom + f] =
              loop_weight * closer.share[plan.strand[s].first_share + r * b.freedom_count + f];
    }
  }

  //---- the step ----

  // d of the free coordinates, and y; false if there is none
  bool solve_free(double lambda) {
    const int rows = row_count(), n = freedom_count();
    for (int i = 0; i < rows; ++i) {
      const double* const own = matrix + i * n;
      y[i] = -gap[i];
      for (int f = 0; f < n; ++f) y[i] += own[f] * (state[f] == 0 ? way[f] : -step[f]);
      for (int j = 0; j <= i; ++j) {
        const double* const other = matrix + j * n;
        double sum = 0;
        for (int f = 0; f < n; ++f) sum += state[f] == 0 ? own[f] * other[f] : 0;
        square[i * rows + j] = sum;
      }
      square[i * rows + i] += i < loop_rows() ? loop_slack : lambda;
    }
    for (int i = 0; i < rows; ++i) {
      double* const own = square + i * rows;
      for (int j = 0; j <= i; ++j) {
        const double* const other = square + j * rows;
        double sum = own[j];
        for (int k = 0; k < j; ++k) sum -= own[k] * other[k];
        if (j < i)
          own[j] = sum / other[j];
        else if (!(sum > 0))
          return false;
        else
          own[i] = std::sqrt(sum);
      }
      for (int k = 0; k < i; ++k) y[i] -= own[k] * y[k];
      y[i] /= own[i];
    }
    for (int i = rows - 1; i >= 0; --i) {
      y[i] /= square[i * rows + i];
      for (int k = 0; k < i; ++k) y[k] -= square[i * rows + k] * y[i];
    }
    for (int f = 0; f < n; ++f)
      if (state[f] == 0) step[f] = drawn(f);
    return true;
  }
  // where a coordinate would go
  double drawn(int f) const {
    double sum = -way[f];
    for (int r = 0; r < row_count(); ++r) sum += matrix[r * freedom_count() + f] * y[r];
    return sum;
  }
  // within the bounds; what it leaves of |r|^2 if the picture is true, less than 0 if there is none
  double find_step(double lambda) {
    const int n = freedom_count();
    for (int f = 0; f < n; ++f) {
      state[f] = closer.holds(f) ? 2 : 0;
      step[f] = 0;
    }
    for (int pass = 0; pass < 3 * n + 3; ++pass) {
      if (!solve_free(lambda)) return -1;
      bool fixed = false;
      for (int f = 0; f < n; ++f) {
        if (state[f] != 0) continue;
        const double low = below(f), high = above(f);
        if (step[f] >= low && step[f] <= high) continue;
        state[f] = step[f] < low ? -1 : 1;
        step[f] = step[f] < low ? low : high;
        fixed = true;
      }
      if (fixed) continue;
      // the one that its bound keeps most from going back
      int freed = -1;
      double most = 1e-12;
      for (int f = 0; f < n && pass < 2 * n; ++f) {
        if (state[f] != -1 && state[f] != 1) continue;
        const double back = -state[f] * (drawn(f) - step[f]);
        if (back > most) most = back, freed = f;
      }
      if (freed < 0) break;
      state[freed] = 0;
    }
    double far = 0, left = 0;
    for (int f = 0; f < n; ++f) far = std::fmax(far, std::fabs(step[f]));
    if (!(far < 1e300)) return -1;
    for (int f = 0; f < n && far > longest; ++f) step[f] *= longest / far;
    for (int r = 0; r < row_count(); ++r) {
      double sum = gap[r];
      for (int f = 0; f < n; ++f) sum += matrix[r * n + f] * step[f];
      left += sum * sum;
    }
    return left;
  }

  // what a step has opened, with the least motion: else loops would stay open where that brings targets nearer
  void close_loops(Offset goal) {
    for (int k = 0; k < closings; ++k) {
      look(goal, gap, true);
      double open = 0;
      for (int r = 0; r < loop_rows(); ++r) open += gap[r] * gap[r];
      if (open <= done * done || find_step(targets_off) < 0) return;
      closer.move(step);
    }
  }
  // downhill from here; |r|^2 at its end
  double descend(Offset goal, int limit, bool hopeless_ends) {
    double cost = look(goal, gap, true), lambda = first_lambda, grow = 2, past = cost;
    for (int f = 0; f < freedom_count(); ++f) way[f] = 0;
    for (int k = 0; k < limit && cost > done * done; ++k) {
      closer.keep();
      bool better = false;
      double now = cost;
      for (int cut = 0; cut < 20 && !better; ++cut) {
        const double left = find_step(std::fmax(std::fmin(lambda, cost), least_lambda));
        if (left < 0 || cost - left <= 1e-14 * cost) break;
        closer.move(step);
        if (loop_rows() > 0) close_loops(goal);
        now = look(goal, ahead, false);
        const double ratio = (cost - now) / (cost - left);
        better = now < cost && ratio > 1e-3;
        if (better) {
          const double swing = 2 * ratio - 1;
          lambda = std::fmin(lambda, cost) * std::fmax(1.0 / 9, 1 - swing * swing * swing);
          grow = 2;
        } else {
          closer.go_back();
          lambda = std::fmin(lambda, cost) * grow;
          grow *= 2;
          if (loop_rows() > 0) look(goal, gap, true);
        }
      }
      if (!better) break;
      cost = look(goal, gap, true);
      closer.count_turns();
      if (hopeless_ends && (k + 1) % patience == 0) {
        if (cost > gained * past && cost > little * little) break;
        past = cost;
      }
    }
    return cost;
  }
  // joints that keep the search from going on, at their bounds, go to the middle; whether there are any
  bool leave_bounds() {
    bool any = false;
    for (int f = 0; f < freedom_count(); ++f) {
      const double low = below(f), high = above(f);
      step[f] = 0;
      if (state[f] * state[f] != 1 || !(high - low < 1e300) || std::fmin(-low, high) > 1e-9) continue;
      step[f] = 0.5 * (low + high);
      any = true;
    }
    if (any) closer.move(step);
    return any;
  }
  // the best of a search from here and of those that follow it from the middle of bounds; into `best` if it is less
  double search(Offset goal, double least) {
    for (int k = 0; k <= detours; ++k) {
      const double found = descend(goal, short_search, true);
      if (found < least) {
        least = found;
        copy(here(), best);
      }
      if (least <= args.enough * args.enough || !leave_bounds()) break;
    }
    return least;
  }
  // among poses that reach, nearer to the first one
  void draw_near(Offset goal) {
    if (row_count() >= freedom_count()) return;
    double before = distance();
    for (int k = 0; k < nearest_search; ++k) {
      copy(here(), best);
      look(goal, gap, true);
      for (int f = 0; f < freedom_count(); ++f) way[f] = (closer.moved[f] - first.moved[f]) / unit[f];
      if (find_step(least_lambda) < 0) break;
      double far = 0;
      for (int f = 0; f < freedom_count(); ++f) far = std::fmax(far, std::fabs(step[f]));
      if (far < 1e-9) break;
      for (int f = 0; f < freedom_count() && far > 0.3; ++f) step[f] *= 0.3 / far;
      closer.move(step);
      const bool reaches = descend(goal, short_search, true) <= args.enough * args.enough;
      const double now = distance();
      if (reaches && now < before) {
        before = now;
        continue;
      }
      go_to(best);
      break;
    }
  }
  double distance() const {
    double sum = 0;
    for (int f = 0; f < freedom_count(); ++f) {
      const double by = (closer.moved[f] - first.moved[f]) / unit[f];
      sum += by * by;
    }
    return sum;
  }

  //---- all goals, one after the other ----

  void run() {
    const ClosingPlan& plan = closer.plan;
    closer.clock.resting = closer.clock.frozen = true;
    closer.clock.now = closer.args.signals;
    closer.seed = closer.args.seed;
    closer.all_move = true;
    for (int k = 0; k < plan.branch_count; ++k) {
      carrier[plan.branch[k].child] = k;
      closer.each_freedom(plan.branch[k], [&](int f, Motion motion, int, bool) {
        unit[f] = motion == Motion::slide ? closer.args.size : 1;
        closer.measure[f] = closer.holds(f) ? 0 : unit[f];
      });
    }
    closer.enter(closer.layout);
    closer.count_turns();
    for (Offset goal = 0; goal < args.count; ++goal) {
      reach(goal);
      store(goal);
    }
  }
  void reach(Offset goal) {
    // what begins beyond its bounds goes to them
    for (int f = 0; f < freedom_count(); ++f) step[f] = std::fmin(std::fmax(0, below(f)), above(f));
    closer.move(step);
    copy(here(), first);
    const double enough = args.enough * args.enough;
    int& attempts = args.attempts[goal];
    attempts = 1;
    double least = descend(goal, short_search, false);
    copy(here(), best);
    // what follows a pose does not jump
    if (goal == 0) {
      if (least > enough && leave_bounds()) least = search(goal, least);
      for (; least > enough && attempts <= args.restarts; ++attempts) {
        go_to(first);
        scatter();
        least = search(goal, least);
      }
    }
    go_to(best);
    if (least > enough) least = descend(goal, long_search, false);
    if (least <= enough) draw_near(goal);
  }
  void store(Offset goal) {
    const Layout& layout = closer.layout;
    for (int i = 0; i < layout.link_count; ++i) {
      const Offset k = goal * layout.link_count + layout.link[i].body;
      store3(args.position + 3 * k, closer.body[i].x);
      store_quat(args.orientation + 4 * k, closer.body[i].q);
    }
    for (int f = 0; f < freedom_count(); ++f) args.moved[goal * freedom_count() + f] = closer.moved[f];
    args.open[goal] = std::sqrt(closer.look(gap, false));
    for (int t = 0; t < args.target_count; ++t) {
      const Offset at = goal * args.target_count + t;
      const Body<double>& b = closer.body[closer.layout.body_link[args.target_body[t]]];
      const Vec3<double> by = b.x + b.R * load3(args.target_point + 3 * t) - load3(args.place + 3 * at);
      const Vec3<double> turned =
          rotation(b.q * load_quat(args.target_turn + 4 * t) * conjugate(load_quat(args.turn + 4 * at)));
      args.left[2 * at] = args.weight[2 * t] > 0 ? std::sqrt(norm2(by)) : 0;
      args.left[2 * at + 1] = args.weight[2 * t + 1] > 0 ? std::sqrt(norm2(turned)) : 0;
    }
  }
};

}  // namespace catena::CATENA_ISA
