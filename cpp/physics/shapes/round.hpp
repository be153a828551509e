// Balls and capsules against each other, against polyhedra and against cylinders: a point or a segment with a radius.
//
// Beside the nearest points, a capsule that lies along something has its two ends, or where the other ends.
#pragma once

#include "physics/shapes/separating.hpp"

namespace catena::CATENA_ISA {

inline void ball_ball(const Posed& a, const Posed& b, Manifold& out) {
  out.note(Sides{a, b, false}.point_point(0, a.at[0], 0, b.at[0]), a, b);
}

// a point of the second side, with its radius, against the part of the first that is nearest
inline void part_and_point(const Sides& sides, const Nearest& part, int index, Vec3<double> point, Manifold& out) {
  const Posed& s = sides.first;
  switch (part.part) {
    case Part::face:
      return out.note(sides.plane_point(part.index, s.normal[part.index], part.at, index, point), sides.a(), sides.b());
    case Part::edge: {
      // as if it were a number after those of faces
      const int key = s.faces() + part.index;
      return out.note(sides.line_point(key, s.at[s.solid->edge[part.index].from], s.along(part.index), index, point),
                      sides.a(), sides.b());
    }
    case Part::point:
      const int key = s.faces() + s.edges() + part.index;
      return out.note(sides.point_point(key, part.at, index, point), sides.a(), sides.b());
  }
}
// a ball against a capsule or polyhedron
inline void ball_features(const Sides& sides, Manifold& out) {
  bool inside;
  const Vec3<double> p = sides.second.at[0];
  part_and_point(sides, nearest_point(sides.first, p, inside), 0, p, out);
}

//---- two segments ----

// ends of the second segment that lie beside the first
inline void beside(const Sides& sides, Manifold& out) {
  const Posed &s = sides.first, &other = sides.second;
  const Vec3<double> u = s.along(0);
  for (int k = 0; k < 2; ++k) {
    const double t = dot(u, other.at[k] - s.at[0]) / norm2(u);
    if (t >= 0 && t <= 1) out.note(sides.line_point(0, s.at[0], u, k, other.at[k]), sides.a(), sides.b());
  }
}
inline void capsule_capsule(const Posed& a, const Posed& b, Manifold& out) {
  const Sides sides = {a, b, false};
  const Vec3<double> u = a.along(0), w = b.along(0);
  double s, t;
  const bool crossing = cross_segments(a.at[0], u, b.at[0], w, s, t);
  // lines that have met say nothing of where they came from, so those of the middles do
  const Vec3<double> apart = b.center() - a.center();
  if (crossing && s > 0 && s < 1 && t > 0 && t < 1) {
    const Vec3<double> r = b.at[0] + t * w - a.at[0] - s * u;
    const bool met = norm2(r) < 1e-20 * (norm2(u) + norm2(w));
    out.note(sides.line_line(0, a.at[0], u, 0, b.at[0], w, met ? apart : r), a, b);
  } else {
    // an end of one of them
    Nearest best_a, best_b;
    int end_a = -1, end_b = -1;
    bool inside;
    for (int k = 0; k < 2; ++k) {
      if (const Nearest n = nearest_point(a, b.at[k], inside); n.square < best_a.square) best_a = n, end_b = k;
      if (const Nearest n = nearest_point(b, a.at[k], inside); n.square < best_b.square) best_b = n, end_a = k;
    }
    if (best_a.square <= best_b.square)
      part_and_point(sides, best_a, end_b, b.at[end_b], out);
    else
      part_and_point(sides.other_way(), best_b, end_a, a.at[end_a], out);
  }
  // nearly along each other: so that they do not rock from end to end
  if (norm2(cross(u, w)) < 0.01 * norm2(u) * norm2(w)) {
    beside(sides, out);
    beside(sides.other_way(), out);
  }
}

//---- a segment and a polyhedron ----

// The segment lies along a face: its ends over it, and where it leaves it.
inline void along_face(const Sides& sides, int face, Manifold& out) {
  const Posed &s = sides.first, &capsule = sides.second;
  const Vec3<double> n = s.normal[face], q = capsule.at[0], w = capsule.along(0);
  const double slack = rounding_of(s, capsule);
  for (int k = 0; k < 2; ++k)
    if (lies_over(s, face, capsule.at[k], slack))
      out.note(sides.plane_point(face, n, s.at[s.corner(face, 0)], k, capsule.at[k]), sides.a(), sides.b());
  for (int k = 0; k < s.solid->face[face].count; ++k) {
    const int corner = s.corner(face, k);
    const Vec3<double> p = s.at[corner], u = s.at[s.corner(face, k + 1)] - p;
    double t, r;
    const Vec3<double> flat = w - dot(w, n) * n;
    if (!cross_segments(p, u, q - dot(q - p, n) * n, flat, t, r) || t <= 0 || t >= 1 || r <= 0 || r >= 1) continue;
    if (norm2(cross(u, w)) > 0.01 * norm2(u) * norm2(w))
      out.note(sides.line_line(-1 - corner, p, u, 0, q, w, n), sides.a(), sides.b());
  }
}
inline void capsule_polyhedron(const Sides& sides, Manifold& out) {
  const Posed &s = sides.first, &capsule = sides.second;
  const Vec3<double> w = capsule.along(0);
  const auto flat_along = [&](Vec3<double> n) {
    // of the faces, the one that looks there, if the segment lies along it
    int best = 0;
    for (int f = 1; f < s.faces(); ++f)
      if (dot(n, s.normal[f]) > dot(n, s.normal[best])) best = f;
    const double slope = dot(s.normal[best], w);
    return dot(n, s.normal[best]) > 0.999 && slope * slope < 0.01 * norm2(w) ? best : -1;
  };
  NearestPair pair = nearest_pair(s, capsule);
  // whether the segment itself has gone in, which no part tells
  double most = -HUGE_VAL;
  int face = 0;
  for (int f = 0; f < s.faces(); ++f)
    if (const double h = lowest(capsule.at, s.normal[f]) - dot(s.normal[f], s.at[s.corner(f, 0)]); h > most)
      most = h, face = f;
  const bool apart = most > 0 || (pair.a.square > 0 && !pierced(s, capsule));
  if (!apart) {
    int end = dot(s.normal[face], capsule.at[0]) <= dot(s.normal[face], capsule.at[1]) ? 0 : 1;
    for (int k = 0; k < 2; ++k, end = 1 - end)
      out.note(sides.plane_point(face, s.normal[face], s.at[s.corner(face, 0)], end, capsule.at[end]), sides.a(),
               sides.b());
    return;
  }
  if (pair.b.part == Part::point) {
    part_and_point(sides, pair.a, pair.b.index, pair.b.at, out);
  } else if (pair.a.part == Part::point) {
    part_and_point(sides.other_way(), pair.b, s.faces() + s.edges() + pair.a.index, pair.a.at, out);
  } else {
    const Edge& e = s.solid->edge[pair.a.index];
    out.note(sides.line_line(s.faces() + pair.a.index, s.at[e.from], s.along(pair.a.index), 0, capsule.at[0], w,
                             pair.b.at - pair.a.at),
             sides.a(), sides.b());
  }
  const double length = std::sqrt(pair.a.square);
  if (length == 0) return;
  if (const int flat = flat_along((1 / length) * (pair.b.at - pair.a.at)); flat >= 0) along_face(sides, flat, out);
}

//---- a ball and a cylinder ----

inline void ball_cylinder(const Sides& sides, Manifold& out) {
  const Posed &s = sides.first, &ball = sides.second;
  const Solid& c = *s.solid;
  const Vec3<double> u = s.now.R * c.axis, middle = s.center(), p = ball.at[0], r = p - middle;
  const double height = dot(u, r), out2 = norm2(r - height * u);
  const double to_side = std::sqrt(out2) - c.rim, to_cap = std::fabs(height) - c.half, up = height < 0 ? -1 : 1;
  const int cap = height < 0 ? 1 : 2;
  if (to_cap > 0 && to_side > 0) {
    Feature f = sides.line_point(2 + cap, middle + (up * c.half) * u, u, 0, p);
    f.kind = FeatureKind::point_rim;
    f.rim = c.rim;
    return out.note(f, sides.a(), sides.b());
  }
  if (to_cap > to_side)
    return out.note(sides.plane_point(cap, up * u, middle + (up * c.half) * u, 0, p), sides.a(), sides.b());
  Feature f = sides.line_point(0, middle, u, 0, p);
  (sides.flipped ? f.radius_b : f.radius_a) += c.rim;
  out.note(f, sides.a(), sides.b());
}

}  // namespace catena::CATENA_ISA
