// From pose to pose along the joints of the spanning tree, which stay closed, with no regard to time.
//
// An increment from a body at rest, with momenta to be met, is the motion nearest to them in the mass metric that the
// loops allow, and closes their gaps to first order: with none, repeated, it brings a pose onto the rows that are asked
// for with the least motion.
#pragma once

#include "args/run.hpp"
#include "solve/tree/articulated.hpp"

namespace catena::CATENA_ISA {

struct Walk {
  const Layout& layout;
  Articulated<double>& solver;

  static constexpr double stride = 0.25;   // of one move, at most: rad, or parts of the span
  static constexpr double nearly = 1e-10;  // an increment that need not be made

  void enter(const double* position, const double* orientation, const double* term_start, const double* signals,
             const double* signal_rates) {
    for (int i = 0; i < layout.link_count; ++i) {
      Body<double>& b = solver.body[i];
      const int k = layout.link[i].body;
      b.x = load3(position + 3 * k);
      b.q = load_quat(orientation + 4 * k);
      b.w = {1, {0, 0, 0}};
      b.d = b.target_d = b.target_L = {0, 0, 0};
      place_body(b, layout.link[i]);
    }
    solver.clock.resting = solver.clock.frozen = true;
    solver.clock.now = signals;
    solver.clock.rate = signal_rates;
    solver.enter();
    for (int l = 0; l < layout.loop_count; ++l) {
      const ConstraintInfo& c = layout.constraint[layout.loop[l]];
      count_terms(c, term_start, solver.rows_of(c));
    }
    for (int k = 0; k < Articulated<double>::unknown_count(layout); ++k) solver.z[k] = 0;
    solver.place();
  }

  void stand_still() {
    for (int i = 0; i < layout.link_count; ++i) solver.body[i].target_d = solver.body[i].target_L = {0, 0, 0};
  }
  bool direction() {
    solver.rest();
    return solver.direction();
  }
  // the largest motion of a body in the increment
  double length() const {
    double most = 0;
    for (int i = 0; i < layout.link_count; ++i) {
      const Body<double>& b = solver.body[i];
      most = std::fmax(most, std::fmax(std::sqrt(norm2(b.phi)), std::sqrt(norm2(b.dx)) / layout.span));
    }
    return most;
  }
  // along the increment
  bool go(double part) {
    for (int k = 0; k < layout.variable_count; ++k) solver.z[k] = part * solver.dz[k];
    const bool fine = solver.evaluate();
    if (fine) solver.commit(1);
    for (int k = 0; k < layout.variable_count; ++k) solver.z[k] = 0;
    if (fine) solver.place();
    return fine;
  }
  // onto the rows that are asked for, until increments are below `enough`; false if they cannot be closed
  bool close(int limit, double enough) {
    return close(limit, enough, [] {});
  }
  template <class F>
  bool close(int limit, double enough, F&& after_each) {
    stand_still();
    for (int k = 0; k < limit; ++k) {
      if (!direction()) return false;
      const double far = length();
      if (!go(far > stride ? stride / far : 1)) return false;
      after_each();
      if (far < enough) return true;
    }
    return false;
  }
};

// What is asked of loops that disagree a little, met: poses and velocities in place; joints of the tree are closed
struct Settler : Walk {
  void run(AssembleArgs& args) {
    enter(args.position, args.orientation, args.term_start, args.signals, args.signal_rates);
    // one more halves nothing: the last increment was the square root of rounding
    args.iterations = 0;
    count_turns(args);
    close(args.iteration_limit, 1e-8, [&] {
      ++args.iterations;
      count_turns(args);
    });
    for (int i = 0; i < layout.link_count; ++i) {
      const int k = layout.link[i].body;
      store3(args.position + 3 * k, solver.body[i].x);
      store_quat(args.orientation + 4 * k, solver.body[i].q);
      solver.body[i].target_d = layout.link[i].share * load3(args.velocity + 3 * k);
      solver.body[i].target_L = solver.body[i].J * load3(args.angular_velocity + 3 * k);
    }
    solver.clock.frozen = false;
    if (!direction()) return;
    for (int i = 0; i < layout.link_count; ++i) {
      const int k = layout.link[i].body;
      store3(args.velocity + 3 * k, solver.body[i].dx);
      store3(args.angular_velocity + 3 * k, solver.body[i].phi);
    }
  }
  // angles of joints are followed on the way
  void count_turns(AssembleArgs& args) const {
    for (int k = 0; k < layout.counter_count; ++k) {
      const ConstraintInfo& m = layout.counter[k];
      args.counted[k] = angle_near(m, pose_before(m, 0, solver.body, solver.clock),
                                   pose_before(m, 1, solver.body, solver.clock), args.counted[k]);
    }
  }
};

// Where the joints that close loops say the same thing twice: a pose may be singular by chance (a linkage that starts
// flat), so their rows are judged at several, each a small random move away from the last.
struct Explorer : Walk {
  Probe& probe;
  double* signals;  // functions of time, which the drives among them follow from pose to pose
  unsigned long long seed = 1;

  double random() {
    seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
    return static_cast<double>(seed >> 11) / 4503599627370496.0 - 1;
  }
  void wander() {
    for (int i = 0; i < layout.link_count; ++i) {
      const double size = 1 / std::sqrt(layout.link[i].mass);
      solver.body[i].target_d = size * Vec3<double>{random(), random(), random()};
      solver.body[i].target_L = {random(), random(), random()};
    }
  }

  // whether there are drives to move; they go where time would take them, and what they hold goes with them
  bool drive(const double* start) {
    bool any = false;
    for (int l = 0; l < layout.loop_count; ++l) {
      const ConstraintInfo& c = layout.constraint[layout.loop[l]];
      if (c.kind != JointKind::coupling || c.signal < 0) continue;
      signals[c.signal] = start[c.signal] + stride * random() * (c.lengths & 1u ? layout.span : 1);
      any = true;
    }
    return any;
  }

  // the rows probed at this pose, into place k; what is found on the way is of no interest
  bool probe_rows(const ExploreArgs& args, int k) {
    const Probe aside = probe;
    probe.singular = args.singular + 6L * layout.loop_count * k;
    probe.direction = args.direction + 36L * layout.loop_count * k;
    const bool fine = direction();
    for (int l = 0; l < layout.loop_count && fine; ++l) {
      const ConstraintInfo& c = layout.constraint[layout.loop[l]];
      for (int v = 0; v < c.row_count && Probe::can_reduce(c); ++v) {
        double along = 0;
        for (int r = 0; r < c.row_count; ++r)
          along += probe.direction[36 * l + 6 * r + v] * solver.loop.gap[c.loop_row + r] / probe.weight[c.loop_row + r];
        args.loop_mismatch[6L * (layout.loop_count * k + l) + v] = std::fabs(along);
      }
    }
    probe.singular = aside.singular;
    probe.direction = aside.direction;
    return fine;
  }

  // Place 0 is for a pose a little way off the first closed one, and not closed again. Bars stretched to a line, free
  // to move only to first order, are always pulled back to where one of their rows says nothing: there the value of
  // that row grows with the way, that of redundant ones with its square.
  void run(ExploreArgs& args) {
    for (int k = 0; k < layout.signal_count; ++k) signals[k] = args.signals[k];
    enter(args.position, args.orientation, args.term_start, signals, signals);
    args.found = 0;
    const double little = std::pow(args.loop_tolerance, 2.0 / 3.0);
    for (int tries = 0; args.found < args.poses && tries < 2 * args.poses; ++tries) {
      if (tries > 0) {
        wander();
        if (!direction()) return;
        // what cannot move has one pose
        const bool moves = length() >= nearly;
        if (moves && tries == 1 && (!go(little / length()) || !probe_rows(args, 0))) return;
        if (moves && !go(stride / length())) return;
        if (!drive(args.signals) && !moves) return;
        solver.place();
      }
      if (!close(20, 1e-5)) continue;
      if (!probe_rows(args, 1 + args.found)) return;
      ++args.found;
    }
  }
};

}  // namespace catena::CATENA_ISA
