// Two shapes: which features of them may touch in a step, and how far apart they are.
#pragma once

#include "physics/shapes/heightfield.hpp"
#include "physics/shapes/plane.hpp"
#include "physics/shapes/round.hpp"

namespace catena::CATENA_ISA {

inline void pair_features(const Posed& a, const Posed& b, Manifold& out) {
  // the one that is earlier in the list of kinds comes first
  const bool flipped = a.solid->kind > b.solid->kind;
  const Sides sides = {flipped ? b : a, flipped ? a : b, flipped};
  const SolidKind one = sides.first.solid->kind, other = sides.second.solid->kind;
  if (other == SolidKind::heightfield) return heightfield_features(sides.other_way(), out);
  if (one == SolidKind::plane) return plane_features(sides, out);
  if (one == SolidKind::sphere) {
    if (other == SolidKind::sphere) return ball_ball(a, b, out);
    if (other == SolidKind::cylinder) return ball_cylinder(sides.other_way(), out);
    return ball_features(sides.other_way(), out);
  }
  if (one == SolidKind::capsule) {
    if (other == SolidKind::capsule) return capsule_capsule(a, b, out);
    return capsule_polyhedron(sides.other_way(), out);
  }
  polyhedra_features(a, b, out);
}

struct Clearance {
  double gap;  // infinite if they cannot touch
  Vec3<double> normal, on_a, on_b;
};
// from the part of a to that of b, so near together that their distance has no direction of its own
inline Vec3<double> normal_between(const Posed& a, const Posed& b, const NearestPair& near, double gap) {
  if (near.a.part == Part::face) return a.normal[near.a.index];
  if (near.b.part == Part::face) return -b.normal[near.b.index];
  const Vec3<double> r = near.b.at - near.a.at;
  if (near.a.part == Part::edge && near.b.part == Part::edge) {
    const Vec3<double> n = cross(a.along(near.a.index), b.along(near.b.index));
    return ((dot(n, r) < 0 ? -1 : 1) / std::sqrt(norm2(n))) * n;
  }
  return (1 / gap) * r;
}

// The distance of two shapes that stand still, and their nearest points; if they overlap, how deep, less than zero.
inline Clearance clearance(const Posed& a, const Posed& b) {
  if (a.solid->is_polyhedron() && b.solid->is_polyhedron())
    if (separate(a, b).now > rounding_of(a, b)) {
      const NearestPair near = nearest_pair(a, b);
      const double gap = std::sqrt(near.a.square);
      return {gap, normal_between(a, b, near, gap), near.a.at, near.b.at};
    }
  Manifold all;
  all.margin = HUGE_VAL;
  pair_features(a, b, all);
  int best = -1;
  for (int k = 0; k < all.count; ++k)
    if (best < 0 || all.now[k].gap < all.now[best].gap) best = k;
  if (best < 0) return {HUGE_VAL, {0, 0, 0}, {0, 0, 0}, {0, 0, 0}};
  const Touching<double>& t = all.now[best];
  return {t.gap, t.normal, t.point - (0.5 * t.gap) * t.normal, t.point + (0.5 * t.gap) * t.normal};
}

}  // namespace catena::CATENA_ISA
