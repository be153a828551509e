// Coordinates and rates of a joint, in the order of its freedoms (model/spec.hpp), and the way back: where they put a
// body.
//
// A turn is the angle from a's frame to b's, on the turn nearest to a recent value of it; a slide is the place of b's
// point along an axis of a's frame; a helix is the angle, its turns told by the displacement; a swivel is the rotation
// vector of b's frame in a's, a shift the place of b's point in it. Rates are those of b's point and frame as seen from
// the turning frame a: of a swivel the angular velocity, along the axes of a.
#pragma once

#include "physics/rows/constraint.hpp"

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

//---- the way back ----

// a body or the ground, where its orientation is asked for
struct Standing {
  Vec3<double> x;
  Quat<double> q;
  Wrench<double> velocity;  // of the centre, and of turning

  Vec3<double> at(Vec3<double> point) const { return velocity.f + cross(velocity.t, point - x); }
};

inline Quat<double> conjugate(const Quat<double>& q) { return {q.w, -vector_part(q)}; }
inline Quat<double> unit(const Quat<double>& q) {
  const double s = 1 / std::sqrt(q.w * q.w + norm2(vector_part(q)));
  return {s * q.w, s * vector_part(q)};
}
inline Quat<double> by_rotation_vector(Vec3<double> turn) {
  const double angle = std::sqrt(norm2(turn));
  return {std::cos(0.5 * angle), (angle > 0 ? std::sin(0.5 * angle) / angle : 0.5) * turn};
}
inline Mat3<double> frame(const double* axes) { return {load3(axes), load3(axes + 3), load3(axes + 6)}; }

// the frame of a joint on b, as seen from that on a
struct Relative {
  Vec3<double> shift = {0, 0, 0};
  Quat<double> turn = {1, {0, 0, 0}};
  Wrench<double> rate = {{0, 0, 0}, {0, 0, 0}};

  Relative(Vec3<double> by, const Quat<double>& turned) : shift(by), turn(turned) {}
  Relative(const ConstraintInfo& c, const double* coordinate, const double* rates) {
    const JointForm& form = joint_form[static_cast<int>(c.kind)];
    for (int f = 0; f < form.freedom_count; ++f) {
      const int k = form.freedom[f].axis;
      const Vec3<double> along = {k == 0 ? 1.0 : 0.0, k == 1 ? 1.0 : 0.0, k == 2 ? 1.0 : 0.0};
      switch (form.freedom[f].motion) {
        case Motion::helix: slide(c.parameter * *coordinate, c.parameter * *rates, along); [[fallthrough]];
        case Motion::turn:
          rate.t += *rates++ * (matrix(turn) * along);
          turn = turn * Quat<double>{std::cos(0.5 * *coordinate), std::sin(0.5 * *coordinate) * along};
          ++coordinate;
          break;
        case Motion::slide: slide(*coordinate++, *rates++, along); break;
        case Motion::swivel:
          turn = turn * by_rotation_vector(load3(coordinate));
          rate.t += load3(rates);
          coordinate += 3, rates += 3;
          break;
        case Motion::shift:
          shift += load3(coordinate);
          rate.f += load3(rates);
          coordinate += 3, rates += 3;
          break;
      }
    }
  }

 private:
  void slide(double by, double change, Vec3<double> along) {
    shift += by * along;
    rate.f += change * along;
  }
};

// orientations of a joint's frames in its bodies
struct FrameTurns {
  Quat<double> a, b;

  explicit FrameTurns(const ConstraintInfo& c) : a(quaternion(frame(c.frame_a))), b(quaternion(frame(c.frame_b))) {}
};

// b from where a is, and a from where b is
inline Standing placed_b(const ConstraintInfo& c, const FrameTurns& turns, const Standing& a, const Relative& seen) {
  const Mat3<double> R = matrix(a.q), axes = R * frame(c.frame_a);
  const Quat<double> q = unit(a.q * turns.a * seen.turn * conjugate(turns.b));
  const Vec3<double> point = a.x + R * load3(c.anchor_a) + axes * seen.shift, arm = matrix(q) * load3(c.anchor_b);
  const Vec3<double> spin = a.velocity.t + axes * seen.rate.t;
  return {point - arm, q, {a.at(point) + axes * seen.rate.f - cross(spin, arm), spin}};
}
inline Standing placed_a(const ConstraintInfo& c, const FrameTurns& turns, const Standing& b, const Relative& seen) {
  const Quat<double> q = unit(b.q * turns.b * conjugate(seen.turn) * conjugate(turns.a));
  const Mat3<double> R = matrix(q), axes = R * frame(c.frame_a);
  const Vec3<double> point = b.x + matrix(b.q) * load3(c.anchor_b);
  const Vec3<double> arm = R * load3(c.anchor_a) + axes * seen.shift;
  const Vec3<double> spin = b.velocity.t - axes * seen.rate.t;
  return {point - arm, q, {b.at(point) - axes * seen.rate.f - cross(spin, arm), spin}};
}
// what goes with another body, as it did before that was put elsewhere
inline Standing carried_along(const Standing& body, const Standing& before, const Standing& now) {
  const Quat<double> turn = now.q * conjugate(before.q);
  const Mat3<double> R = matrix(turn);
  const Vec3<double> x = now.x + R * (body.x - before.x);
  return {x,
          unit(turn * body.q),
          {now.at(x) + R * (body.velocity.f - before.at(body.x)),
           now.velocity.t + R * (body.velocity.t - before.velocity.t)}};
}

}  // namespace catena::CATENA_ISA
