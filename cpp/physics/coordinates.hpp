// Coordinates and rates of a joint, in the order of its freedoms (model/spec.hpp).
//
// A turn is the angle from a's frame to b's, on the turn nearest to a recent value of it; a slide is the place of b's
// point along an axis of a's frame; a helix is the angle, its turns told by the displacement; a swivel is the rotation
// vector of b's frame in a's, a shift the place of b's point in it. Rates are those of b's point and frame as seen from
// the turning frame a: of a swivel the angular velocity, along the axes of a.
#pragma once

#include "physics/constraint.hpp"

namespace catena::CATENA_ISA {

// where a body or the ground is, and how it moves
struct Moving {
  Pose<double> pose;
  Wrench<double> velocity;  // of the centre, and of turning

  Vec3<double> at(Vec3<double> point) const { return velocity.f + cross(velocity.t, point - pose.x); }
};

inline Vec3<double> rotation_vector(const Mat3<double>& R) {
  Quat<double> q = quaternion(R);
  if (q.w < 0) q = {-q.w, -q.v};
  const double sine = std::sqrt(norm2(vector_part(q)));
  return sine > 0 ? (2 * std::atan2(sine, q.w) / sine) * vector_part(q) : Vec3<double>{0, 0, 0};
}

// `recent` has one value for every turn; out come as many numbers as the freedoms have
inline void joint_motion(const ConstraintInfo& c, const Moving& a, const Moving& b, const double* recent,
                         double* coordinate, double* rate) {
  const JointForm& form = joint_form[static_cast<int>(c.kind)];
  // only what a freedom asks for is found
  const auto axis_a = [&](int k) { return a.pose.R * load3(c.frame_a + 3 * k); };
  const auto axis_b = [&](int k) { return b.pose.R * load3(c.frame_b + 3 * k); };
  const auto seen = [&](Vec3<double> v) {
    return Vec3<double>{dot(axis_a(0), v), dot(axis_a(1), v), dot(axis_a(2), v)};
  };
  const auto point = [&] { return b.pose.x + b.pose.R * load3(c.anchor_b); };
  const auto apart = [&] { return seen(point() - (a.pose.x + a.pose.R * load3(c.anchor_a))); };
  const auto speed = [&] { return seen(b.at(point()) - a.at(point())); };
  const Vec3<double> spin = b.velocity.t - a.velocity.t;
  const auto component = [](Vec3<double> v, int k) { return k == 0 ? v.x : k == 1 ? v.y : v.z; };
  const auto three = [&](Vec3<double> value, Vec3<double> change) {
    store3(coordinate, value), store3(rate, change);
    coordinate += 3, rate += 3;
  };
  const auto one = [&](double value, double change) { *coordinate++ = value, *rate++ = change; };
  // about an axis of a's that b may have too, read off an axis of b that lies across it; about one of b's own the same
  // from the other side
  const auto about_a = [&](int k, double near) {
    const Vec3<double> across = axis_b((k + 1) % 3);
    return counted_angle(dot(axis_a((k + 2) % 3), across), dot(axis_a((k + 1) % 3), across), near);
  };
  const auto about_b = [&](int k, double near) {
    const Vec3<double> across = axis_a((k + 2) % 3);
    return counted_angle(dot(axis_b((k + 1) % 3), across), dot(axis_b((k + 2) % 3), across), near);
  };
  for (int f = 0; f < form.freedom_count; ++f) {
    const auto [motion, side, k] = form.freedom[f];
    switch (motion) {
      case Motion::turn:
        if (side == Side::b)
          one(about_b(k, *recent), dot(axis_b(k), spin));
        else
          one(about_a(k, *recent), dot(axis_a(k), spin));
        ++recent;
        break;
      case Motion::slide: one(component(apart(), k), component(speed(), k)); break;
      case Motion::helix: one(about_a(k, component(apart(), k) / c.parameter), dot(axis_a(k), spin)); break;
      case Motion::swivel:
        three(rotation_vector({seen(axis_b(0)), seen(axis_b(1)), seen(axis_b(2))}), seen(spin));
        break;
      case Motion::shift: three(apart(), speed()); break;
    }
  }
}

}  // namespace catena::CATENA_ISA
