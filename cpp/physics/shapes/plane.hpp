// Shapes against a plane: their points, or the rims of a cylinder.
#pragma once

#include "physics/shapes/manifold.hpp"

namespace catena::CATENA_ISA {

// `on` and `normal` of the plane in the world; it is the first side
inline void points_on_plane(const Sides& sides, int face, Vec3<double> normal, Vec3<double> on, Manifold& out) {
  for (int k = 0; k < sides.second.points(); ++k)
    out.note(sides.plane_point(face, normal, on, k, sides.second.at[k]), sides.a(), sides.b());
}

// A rim by its lowest point, and three others, so that what stands does not rock. Where it lies flat no point is the
// lowest, and four stay where they are on the body.
inline void rim_on_plane(const Sides& sides, double up, Vec3<double> normal, Vec3<double> on, Manifold& out) {
  const Posed& s = sides.second;
  const Solid& c = *s.solid;
  const Vec3<double> u = s.now.R * c.axis, center = s.center() + (up * c.half) * u;
  const Vec3<double> tilt = normal - dot(normal, u) * u;
  const double sine = std::sqrt(norm2(tilt));
  const int key = up < 0 ? 8 : 16;
  const bool flat = sine < 1e-6;
  const Vec3<double> down = flat ? s.now.R * across(c.axis) : (-1 / sine) * tilt, beside = cross(u, down);
  if (!flat) {
    Feature f = sides.plane_point(0, normal, on, key, center);
    f.kind = FeatureKind::rim_plane;
    f.rim = c.rim;
    keep_along(sides.flipped ? f.along_a : f.along_b, s, u);
    out.note(f, sides.a(), sides.b());
  }
  const Vec3<double> rim[4] = {down, beside, -down, -beside};
  for (int k = flat ? 0 : 1; k < 4; ++k)
    out.note(sides.plane_point(0, normal, on, key + k, center + c.rim * rim[k]), sides.a(), sides.b());
}

inline void plane_features(const Sides& sides, Manifold& out) {
  const Posed& plane = sides.first;
  const Vec3<double> normal = plane.now.R * plane.solid->axis, on = plane.center();
  if (sides.second.solid->kind != SolidKind::cylinder) return points_on_plane(sides, 0, normal, on, out);
  for (const double up : {-1.0, 1.0}) rim_on_plane(sides, up, normal, on, out);
}

}  // namespace catena::CATENA_ISA
