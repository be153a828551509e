// Bring a rough pose onto all joints, and velocities with it.
//
// One Newton increment from a body at rest, with no momentum to meet, is the smallest motion (in the mass metric) that
// closes the gaps to first order: repeated, it is a Gauss-Newton method that stays near the guess and so on its branch.
// Redundant rows that agree do not disturb it; rows that contradict each other leave a gap, which is handed back.
#pragma once

#include "args/run.hpp"
#include "solve/sparse/ldu.hpp"

namespace catena::CATENA_ISA {

constexpr double longest_turn = 0.3;   // rad, of one increment
constexpr double worth_it = 1e-3;      // of the gap, what an increment takes away at least: rows that contradict each
                                       // other leave one that no motion closes, only noise
constexpr int projection_limit = 100;  // increments of velocities

struct Assembler {
  const Layout& layout;
  AssembleArgs& args;
  Ldu& solver;  // z is zero throughout

  double gap() const {
    double sum = 0;
    for (int j = 0; j < layout.constraint_count; ++j)
      for (int k = 0; k < layout.constraint[j].row_count && !layout.constraint[j].acts(); ++k)
        sum += old_gap(j, k) * old_gap(j, k);
    return std::sqrt(sum);
  }
  double old_gap(int j, int k) const { return solver.memory[j].g[k]; }

  // increment of the poses for given velocities to keep
  bool direction(bool moving) {
    for (int i = 0; i < layout.link_count; ++i) {
      Body<double>& b = solver.body[i];
      const int k = layout.link[i].body;
      b.target_d = b.target_L = {0, 0, 0};
      if (!moving) continue;
      b.target_d = layout.link[i].share * load3(args.velocity + 3 * k);
      b.target_L = b.J * load3(args.angular_velocity + 3 * k);
    }
    solver.rest();
    return solver.direction();
  }

  void run() {
    for (int i = 0; i < layout.link_count; ++i) {
      const int k = layout.link[i].body;
      solver.body[i].x = load3(args.position + 3 * k);
      solver.body[i].q = load_quat(args.orientation + 4 * k);
      place_body(solver.body[i], layout.link[i]);
    }
    solver.clock.resting = solver.clock.frozen = true;
    solver.clock.now = args.signals;
    solver.clock.rate = args.signal_rates;
    solver.enter();
    for (int j = 0; j < layout.constraint_count; ++j)
      count_terms(layout.constraint[j], args.term_start, solver.rows_of(layout.constraint[j]));
    solver.place();
    count_turns();
    double last = gap(), length = 0;
    args.iterations = 0;
    for (; last > 0 && args.iterations < args.iteration_limit && direction(false); ++args.iterations) {
      double turn = 0;
      for (int i = 0; i < layout.link_count; ++i) turn = std::fmax(turn, std::sqrt(norm2(solver.body[i].phi)));
      // shorten until the gap falls; where it cannot fall any more, that is the answer
      length = turn > longest_turn ? longest_turn / turn : 1;
      keep();
      bool better = false;
      for (int cut = 0; cut < 12 && !better; ++cut, length *= 0.5) {
        move(length);
        better = gap() < (1 - worth_it * length) * last;
      }
      if (!better) {
        move(0);
        break;
      }
      last = gap();
      count_turns();
    }
    solver.clock.frozen = false;
    if (args.velocity) project();
    for (int i = 0; i < layout.link_count; ++i) {
      const int k = layout.link[i].body;
      store3(args.position + 3 * k, solver.body[i].x);
      store_quat(args.orientation + 4 * k, solver.body[i].q);
    }
  }

  // Velocities onto the joints. Where rows nearly say the same, the regularised inverse takes away only a part of what
  // they forbid: again, as long as that goes on at a pace.
  void project() {
    double last = 0;
    for (int k = 0; k < projection_limit && direction(true); ++k) {
      double change = 0, speed = 0;
      for (int i = 0; i < layout.link_count; ++i) {
        const int body = layout.link[i].body;
        const auto take = [&](double* velocity, Vec3<double> next, double weight) {
          const Vec3<double> old = load3(velocity + 3 * body);
          change += weight * norm2(next - old);
          speed += weight * norm2(old);
          store3(velocity + 3 * body, next);
        };
        take(args.velocity, solver.body[i].dx, 1);
        take(args.angular_velocity, solver.body[i].phi, layout.span * layout.span);
      }
      if (!(change > 1e-28 * speed) || (k > 0 && change > 0.9 * last)) return;
      last = change;
    }
  }

  // angles of joints are followed on the way
  void count_turns() {
    for (int k = 0; k < layout.counter_count; ++k) {
      const ConstraintInfo& m = layout.counter[k];
      args.counted[k] = angle_near(m, pose_before(m, 0, solver.body, solver.clock),
                                   pose_before(m, 1, solver.body, solver.clock), args.counted[k]);
    }
  }

  // the pose before the increment, in the fields that a body at rest does not use
  void keep() {
    for (int i = 0; i < layout.link_count; ++i) {
      Body<double>& b = solver.body[i];
      b.v = b.x;
      b.L = b.q.v;
      b.f.x = b.q.w;
    }
  }
  void move(double length) {
    for (int i = 0; i < layout.link_count; ++i) {
      Body<double>& b = solver.body[i];
      b.x = b.v + length * b.dx;
      const Vec3<double> half = (0.5 * length) * b.phi;
      const double angle = std::sqrt(norm2(half));
      const Quat<double> step = {std::cos(angle), (angle > 1e-8 ? std::sin(angle) / angle : 1) * half};
      b.q = renormalised(step * Quat<double>{b.f.x, b.L});
    }
    solver.place();
  }
};

}  // namespace catena::CATENA_ISA
