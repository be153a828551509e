// Angle rows of a joint that is wide open.
//
// Rows of products of axes vanish where a hinge or a weld is half a turn off as well. Here the rotation vector of one
// frame in the other stands for those of a weld, its part that tilts the axis for those of a hinge, and the angle
// itself for a twist: they grow all the way to half a turn.
#pragma once

#include "physics/coordinates.hpp"

namespace catena::CATENA_ISA {

// angle rows of a joint that is wide open, in place of products of axes
struct WideRows {
  const ConstraintInfo& c;
  const JointForm& form;
  JointRows& rows;
  Mat3<double> e, h;  // the joint frames of a and b, in the world

  WideRows(const ConstraintInfo& info, const Pose<double>& a, const Pose<double>& b, JointRows& to)
      : c(info),
        form(joint_form[static_cast<int>(info.kind)]),
        rows(to),
        e(a.R * frame(info.frame_a)),
        h(b.R * frame(info.frame_b)) {
    const int first = form.point_count;
    if (form.angle_count == 3) weld(first);
    if (form.angle_count == 2) tilt(first);
    if (form.extra == ExtraRow::twist) twist(first + form.angle_count);
  }

 private:
  // the gap and its rate by the angular velocity of b against a, in the world
  void put(int k, double gap, Vec3<double> rate) {
    rows.g[k] = gap;
    rows.w[k] = {{0, 0, 0}, -rate};
    rows.w[c.row_count + k] = {{0, 0, 0}, rate};
  }
  // v of R = exp(v): dv = (1 - v x / 2 + factor (v x)^2) w
  void weld(int first) {
    const Mat3<double> seen = {transposed_times(e, h.i), transposed_times(e, h.j), transposed_times(e, h.k)};
    const Vec3<double> v = rotation_vector(seen);
    const double t = std::sqrt(norm2(v));
    constexpr double nearly_half_turn = 3.14;
    const double factor = t < 1e-4               ? 1.0 / 12
                          : t < nearly_half_turn ? 1 / (t * t) - (1 + std::cos(t)) / (2 * t * std::sin(t))
                                                 : 1 / (t * t);
    const Vec3<double> axis[3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
    for (int k = 0; k < 3; ++k) {
      // the transpose, on a unit vector
      const Vec3<double> u = axis[k], vu = cross(v, u);
      put(first + k, dot(u, v), e * (u + 0.5 * vu + factor * cross(v, vu)));
    }
  }
  // the angle between the axes, about the axis n across both that turns one to the other
  void tilt(int first) {
    constexpr double steepest = 20;  // near half a turn, where n may be any
    const Vec3<double> z = transposed_times(e, h.k);
    Vec3<double> n = {-z.y, z.x, 0};
    const double sine = std::sqrt(norm2(n)), angle = std::atan2(sine, z.z);
    double stretch = z.z > 0 ? 1 : steepest;
    if (sine > 1e-9) stretch = std::fmin(angle / sine, steepest);
    n = sine > 1e-9 ? (1 / sine) * n : Vec3<double>{1, 0, 0};
    const Vec3<double> about = stretch * cross(z, n);
    put(first, angle * n.x, e * (n.x * n - n.y * about));
    put(first + 1, angle * n.y, e * (n.y * n + n.x * about));
  }
  void twist(int k) {
    const double sine = 0.5 * (dot(e.i, h.j) - dot(e.j, h.i)), cosine = 0.5 * (dot(e.i, h.i) + dot(e.j, h.j));
    const double square = sine * sine + cosine * cosine;
    if (square < 1e-6) return;
    const Vec3<double> by_sine = 0.5 * (cross(h.j, e.i) - cross(h.i, e.j));
    const Vec3<double> by_cosine = 0.5 * (cross(h.i, e.i) + cross(h.j, e.j));
    put(k, std::atan2(sine, cosine), (1 / square) * (cosine * by_sine - sine * by_cosine));
  }
};

}  // namespace catena::CATENA_ISA
