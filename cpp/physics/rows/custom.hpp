// The user's own rows, g(pose of a, pose of b), by a function.
#pragma once

#include "physics/rows/ground.hpp"

namespace catena::CATENA_ISA {

// the function, at the poses of a and b
inline void call_custom(const RowSite& at, const Pose<double>& a, const Pose<double>& b, double* gap,
                        double* gradient) {
  double poses[14];
  store3(poses, a.x);
  store_quat(poses + 3, quaternion(a.R));
  store3(poses + 7, b.x);
  store_quat(poses + 10, quaternion(b.R));
  at.layout.hook.call(at.layout.hook.context, at.c.item, poses, gap, gradient);
}
CATENA_INLINE void take_gradient(const ConstraintInfo& c, const double* gradient, JointRows& rows, Vec3<double> x_b) {
  rows.point = x_b;
  for (int k = 0; k < c.row_count; ++k)
    for (int e = 0; e < 2; ++e) {
      const double* p = gradient + 12 * k + 6 * e;
      rows.w[e * c.row_count + k] = {load3(p), load3(p + 3)};
      if (e == 1) rows.at_point[k] = rows.w[e * c.row_count + k];
    }
}

struct CustomRows : RowsOf<CustomRows> {
  static void at_poses(const RowSite& at, const Pose<double>& a, const Pose<double>& b, JointRows& rows) {
    double gradient[72];
    call_custom(at, a, b, rows.g, gradient);
    take_gradient(at.c, gradient, rows, b.x);
  }
  static void before(const RowSite& at, JointRows& rows) { at_poses(at, pose_before(at, 0), pose_before(at, 1), rows); }
  static void after(const RowSite& at, const RowMemory&, const LawState&, JointRows& rows) {
    at_poses(at, pose_after(at, 0), pose_after(at, 1), rows);
    add_ground_motion(at, rows);
  }
};

}  // namespace catena::CATENA_ISA
