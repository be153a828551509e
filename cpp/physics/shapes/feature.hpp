// A pair of features, one of each of two bodies, to which a contact of shapes is reduced for one step: they are chosen
// at the node and stay while the bodies move.
//
//     point_plane   a plane of a                          a point of b
//     point_point   a point of a                          a point of b
//     point_line    a line of a                           a point of b
//     point_rim     a circle of a                         a point of b
//     line_line     a line of a                           a line of b
//     rim_plane     a plane of a                          a circle of b
//
// If it is `flipped`, a and b change roles. Each feature has a radius around it, by which the gap is less:
//
//     gap = distance of the features - radius_a - radius_b
//
// The distance from a plane is that along its normal, `along`. That of two lines is measured along u_a x u_b, times
// `sign`, so both are negative where a point or a line has gone through. The other distances cannot be negative.
//
// The normal n points from a to b. The nearest points of the features move along them at first order without a change
// of the distance, so the gradient of the gap is that of two points of the bodies: (n, (C - x) x n) of b, and the
// opposite, with its own arm, of a, where C is any point of the line through both along n. Here it is the middle
// between the two surfaces.
#pragma once

#include "base/lane.hpp"
#include "physics/pose.hpp"

namespace catena::CATENA_ISA {

enum class FeatureKind : int { point_plane, point_point, point_line, point_rim, line_line, rim_plane };

struct Feature {
  FeatureKind kind = FeatureKind::point_plane;
  bool flipped = false;
  double sign = 1;                          // of line_line
  double at_a[3] = {}, at_b[3] = {};        // a point of the feature, or the center of a circle, in the body's frame
  double along_a[3] = {}, along_b[3] = {};  // unit vector: out of a plane, along a line, along the axis of a circle
  double radius_a = 0, radius_b = 0;        // around the feature
  int key[2] = {0, 0};                      // which features of the two shapes, by which they are known again
  double rim = 0;                           // radius of the circle
};

template <class T>
struct Touching {
  T gap;
  Vec3<T> normal, point;
};

// Below this distance (m), or this sine of an angle, a pair of features has no direction of its own.
constexpr double least_direction = 1e-12;

// v / |v|, or along a direction across `spare`, and |v|
template <class T>
CATENA_INLINE Vec3<T> direction_of(Vec3<T> v, Vec3<T> otherwise, T& length) {
  using std::sqrt;
  length = sqrt(norm2(v));
  const auto small = length < T(least_direction);
  const T scale = T(1) / choose(small, T(1), length);
  return {choose(small, otherwise.x, scale * v.x), choose(small, otherwise.y, scale * v.y),
          choose(small, otherwise.z, scale * v.z)};
}
// a unit vector across a unit vector: along the axis of the frame that is farthest from it
template <class T>
CATENA_INLINE Vec3<T> across(Vec3<T> u) {
  using std::sqrt;
  const Vec3<T> s = squares(u);
  const auto x_least = (s.x < s.y) & (s.x < s.z), y_least = s.y < s.z;
  const T o = T(0), i = T(1);
  const Vec3<T> e = {choose(x_least, i, o), choose(x_least, o, choose(y_least, i, o)),
                     choose(x_least, o, choose(y_least, o, i))};
  const Vec3<T> v = cross(u, e);
  return (T(1) / sqrt(norm2(v))) * v;
}

// from the first of the two, which has the plane, line or circle, to the other; `middle` is between their surfaces
template <class T>
CATENA_INLINE Touching<T> touching_in_order(FeatureKind kind, T sign, T rim, Vec3<T> p, Vec3<T> u, T radius_p,
                                            Vec3<T> q, Vec3<T> w, T radius_q) {
  using std::sqrt;
  const Vec3<T> r = q - p;
  Vec3<T> n = u, foot = q;  // the point of the second that is nearest
  T distance;
  switch (kind) {
    case FeatureKind::point_plane: distance = dot(n, r); break;
    case FeatureKind::point_point: n = direction_of(r, {T(0), T(0), T(1)}, distance); break;
    case FeatureKind::point_line: n = direction_of(r - dot(u, r) * u, across(u), distance); break;
    case FeatureKind::point_rim: {
      const T height = dot(u, r);
      T from_axis;
      const Vec3<T> out = direction_of(r - height * u, across(u), from_axis);
      n = direction_of((from_axis - rim) * out + height * u, u, distance);
      break;
    }
    case FeatureKind::line_line: {
      T sine;
      n = sign * direction_of(cross(u, w), across(u), sine);
      distance = dot(n, r);
      // where the second line is nearest to the first
      const T floor = T(least_direction), s = choose(sine < floor, floor, sine);
      foot = q + (dot(cross(u, sign * n), r) / s) * w;
      break;
    }
    case FeatureKind::rim_plane: {
      const T cosine = dot(n, w);
      T sine;
      const Vec3<T> up = direction_of(n - cosine * w, across(w), sine);
      foot = q - rim * up;
      distance = dot(n, foot - p);
      break;
    }
    default: __builtin_unreachable();
  }
  return {distance - radius_p - radius_q, n, foot - (T(0.5) * (distance + radius_q - radius_p)) * n};
}

template <class T>
CATENA_INLINE Touching<T> touching(const Feature& f, const Pose<T>& a, const Pose<T>& b) {
  const Vec3<T> p = a.x + a.R * wide<T>(f.at_a), q = b.x + b.R * wide<T>(f.at_b);
  const Vec3<T> u = a.R * wide<T>(f.along_a), w = b.R * wide<T>(f.along_b);
  const T sign = T(f.sign), rim = T(f.rim), radius_a = T(f.radius_a), radius_b = T(f.radius_b);
  if (!f.flipped) return touching_in_order(f.kind, sign, rim, p, u, radius_a, q, w, radius_b);
  const Touching<T> found = touching_in_order(f.kind, sign, rim, q, w, radius_b, p, u, radius_a);
  return {found.gap, -found.normal, found.point};
}

}  // namespace catena::CATENA_ISA
