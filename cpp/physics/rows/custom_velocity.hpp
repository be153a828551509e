// The user's own rows of velocities, A(pose) v = b(t): A by a function, and how it changes with the pose by
// differences.
#pragma once

#include "physics/rows/custom.hpp"

namespace catena::CATENA_ISA {

struct CustomVelocityRows : RowsOf<CustomVelocityRows> {
  static void before(const RowSite& at, JointRows& rows) {
    CustomRows::before(at, rows);
    for (int k = 0; k < at.c.row_count; ++k) rows.g[k] = 0;
  }
  // over a step, in the middle of which A is taken (rows/passage.hpp)
  static void after(const RowSite& at, const RowMemory&, const LawState&, JointRows& rows) {
    const auto& [layout, c, body, clock] = at;
    const Passage a = passage_of(at, 0), b = passage_of(at, 1);
    double gap[6], gradient[72];
    const auto slip = [&](const Pose<double>& pa, const Pose<double>& pb, double* out) {
      call_custom(at, pa, pb, gap, gradient);
      for (int k = 0; k < c.row_count; ++k) {
        const double* p = gradient + 12 * k;
        out[k] = dot(load3(p), a.d) + dot(load3(p + 3), a.w) + dot(load3(p + 6), b.d) + dot(load3(p + 9), b.w);
      }
    };
    slip(a.middle, b.middle, rows.g);
    take_gradient(c, gradient, rows, b.middle.x);
    const double* wanted = clock.resting ? clock.now : clock.middle;
    for (int k = 0; k < c.row_count && c.signal >= 0; ++k) rows.g[k] -= clock.dt * wanted[c.signal + k];
    if (clock.resting) return drop_velocities(at, rows);
    const Passage* side[2] = {&a, &b};
    constexpr double step = 1e-6;
    for (int e = 0; e < 2; ++e) {
      double by_axis[6][6], low[6], high[6];
      for (int axis = 0; axis < 6; ++axis) {
        for (const double sign : {-1.0, 1.0}) {
          const Pose<double> moved = nudged(side[e]->middle, axis, sign * step);
          slip(e == 0 ? moved : a.middle, e == 1 ? moved : b.middle, sign < 0 ? low : high);
        }
        for (int k = 0; k < c.row_count; ++k) by_axis[k][axis] = (high[k] - low[k]) / (2 * step);
      }
      for (int k = 0; k < c.row_count; ++k) {
        Wrench<double>& w = rows.w[e * c.row_count + k];
        w = row_at_end(*side[e], w, {load3(by_axis[k]), load3(by_axis[k] + 3)});
      }
    }
    drop_velocities(at, rows);
  }

 private:
  // along one of the world's axes, or about it
  static Pose<double> nudged(Pose<double> pose, int axis, double h) {
    const Vec3<double> n = {axis % 3 == 0 ? h : 0, axis % 3 == 1 ? h : 0, axis % 3 == 2 ? h : 0};
    if (axis < 3) {
      pose.x += n;
      return pose;
    }
    const Quat<double> q = renormalised(Quat<double>{1, 0.5 * n});
    const Mat3<double> R = pose.R;
    return {pose.x, {R.i + turn(q, R.i), R.j + turn(q, R.j), R.k + turn(q, R.k)}};
  }
};

}  // namespace catena::CATENA_ISA
