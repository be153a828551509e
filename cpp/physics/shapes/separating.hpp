// Which plane separates two convex polyhedra: a face of one of them, or the plane along an edge of each.
//
// Polyhedra are apart as long as one such plane has them on its two sides, so every plane gives a gap that must not
// become negative, and the plane that matters in a step is the one that is the last to fail: the one that still
// separates at the end of the step, or, if none does, the one that has done so for longest. A plane that separates now
// and fails early, beside which another still holds, would be hit where there is nothing.
#pragma once

#include "physics/shapes/nearest.hpp"

namespace catena::CATENA_ISA {

struct Separation {
  enum class By : int { face_a, face_b, edges } by = By::face_a;
  int one = 0, other = 0;  // a face, or an edge of a and one of b
  double now = -HUGE_VAL, then = -HUGE_VAL;
  Vec3<double> normal = {0, 0, 1};  // from a to b, now
  double rank = -HUGE_VAL;

  // Later is better: those that hold to the end by how much, then those that fail on the way by how far they get.
  void judge(double rounding) { rank = then > rounding ? 2 + then : now > rounding ? 1 + now / (now - then) : now; }
};

inline double lowest(const std::vector<Vec3<double>>& points, Vec3<double> along) {
  double least = HUGE_VAL;
  for (const Vec3<double>& p : points) least = std::min(least, dot(along, p));
  return least;
}

// the faces of `of` against the points of `other`
inline void try_faces(const Posed& of, const Posed& other, Separation::By by, double rounding, Separation& best) {
  for (int f = 0; f < of.faces(); ++f) {
    const int on = of.corner(f, 0);
    Separation s;
    s.by = by, s.one = f;
    s.now = lowest(other.at, of.normal[f]) - dot(of.normal[f], of.at[on]);
    s.then = lowest(other.later, of.normal_later[f]) - dot(of.normal_later[f], of.later[on]);
    s.normal = by == Separation::By::face_a ? of.normal[f] : -of.normal[f];
    s.judge(rounding);
    // the same plane twice, as of two boxes on each other: the first stays
    if (s.rank > best.rank + rounding) best = s;
  }
}
// Whether a pair of edges belongs to the outside of both together: their arcs between the normals of their two faces,
// those of b turned over, cross each other.
inline bool arcs_cross(const Posed& a, int e, const Posed& b, int f) {
  const Edge &one = a.solid->edge[e], &two = b.solid->edge[f];
  const Vec3<double> A = a.normal[one.left], B = a.normal[one.right];
  const Vec3<double> C = -b.normal[two.left], D = -b.normal[two.right];
  const Vec3<double> u = cross(B, A), w = cross(D, C);
  const double ca = dot(C, u), da = dot(D, u), ac = dot(A, w), bc = dot(B, w);
  return ca * da < 0 && ac * bc < 0 && ca * bc > 0;
}
inline void try_edges(const Posed& a, const Posed& b, double rounding, Separation& best) {
  for (int e = 0; e < a.edges(); ++e)
    for (int f = 0; f < b.edges(); ++f) {
      if (!arcs_cross(a, e, b, f)) continue;
      const Edge &one = a.solid->edge[e], &two = b.solid->edge[f];
      const Vec3<double> u = a.along(e), w = b.along(f), n = cross(u, w);
      const double sine2 = norm2(n);
      if (sine2 <= parallel_sine * parallel_sine * norm2(u) * norm2(w)) continue;
      const double sign = dot(n, a.normal[one.left] + a.normal[one.right]) < 0 ? -1 : 1;
      const Vec3<double> later = cross(a.later[one.to] - a.later[one.from], b.later[two.to] - b.later[two.from]);
      Separation s;
      s.by = Separation::By::edges, s.one = e, s.other = f;
      s.normal = (sign / std::sqrt(sine2)) * n;
      s.now = dot(s.normal, b.at[two.from] - a.at[one.from]);
      s.then = (sign / std::sqrt(norm2(later))) * dot(later, b.later[two.from] - a.later[one.from]);
      s.judge(rounding);
      // where a face does as well, it stays so
      if (s.rank > best.rank + rounding) best = s;
    }
}
inline double rounding_of(const Posed& a, const Posed& b) { return 1e-10 * std::min(a.solid->reach, b.solid->reach); }
inline Separation separate(const Posed& a, const Posed& b) {
  const double rounding = rounding_of(a, b);
  Separation best;
  try_faces(a, b, Separation::By::face_a, rounding, best);
  try_faces(b, a, Separation::By::face_b, rounding, best);
  try_edges(a, b, rounding, best);
  return best;
}

// Where a face of `of` and the face of the other that looks at it most lie over each other: corners of both that are
// inside of both, and crossings of their sides.
inline void face_features(const Sides& sides, int face, Manifold& out) {
  const Posed &of = sides.first, &other = sides.second;
  const Vec3<double> n = of.normal[face];
  const double slack = rounding_of(of, other);
  int facing = 0;
  for (int f = 1; f < other.faces(); ++f)
    if (dot(n, other.normal[f]) < dot(n, other.normal[facing])) facing = f;
  const int before = out.count;
  const auto corners = [&](const Posed& s, int f) { return s.solid->face[f].count; };
  for (int k = 0; k < corners(other, facing); ++k) {
    const int p = other.corner(facing, k);
    if (lies_over(of, face, other.at[p], slack))
      out.note(sides.plane_point(face, n, of.at[of.corner(face, 0)], p, other.at[p]), sides.a(), sides.b());
  }
  // a corner of the face against the plane of the other, where that looks back
  const Vec3<double> back = other.normal[facing];
  if (dot(n, back) < -0.9)
    for (int k = 0; k < corners(of, face); ++k) {
      const int p = of.corner(face, k);
      if (lies_over(other, facing, of.at[p], slack))
        out.note(sides.other_way().plane_point(facing, back, other.at[other.corner(facing, 0)], p, of.at[p]), sides.a(),
                 sides.b());
    }
  for (int k = 0; k < corners(of, face); ++k) {
    const Vec3<double> p = of.at[of.corner(face, k)], u = of.at[of.corner(face, k + 1)] - p;
    for (int l = 0; l < corners(other, facing); ++l) {
      const Vec3<double> q = other.at[other.corner(facing, l)], w = other.at[other.corner(facing, l + 1)] - q;
      // as seen along the normal
      const Vec3<double> flat = w - dot(w, n) * n, gap = q - dot(q - p, n) * n;
      double s, t;
      if (norm2(flat) == 0 || !cross_segments(p, u, gap, flat, s, t) || s <= 0 || s >= 1 || t <= 0 || t >= 1) continue;
      if (const Vec3<double> m = cross(u, w); std::fabs(dot(m, n)) < 0.9 * std::sqrt(norm2(m))) continue;
      out.note(sides.line_line(-1 - of.corner(face, k), p, u, -1 - other.corner(facing, l), q, w, n), sides.a(),
               sides.b());
    }
  }
  if (out.count > before) return;
  // they do not lie over each other: the point that is nearest
  int nearest = 0;
  for (int k = 1; k < other.points(); ++k)
    if (dot(n, other.later[k]) < dot(n, other.later[nearest])) nearest = k;
  out.note(sides.plane_point(face, n, of.at[of.corner(face, 0)], nearest, other.at[nearest]), sides.a(), sides.b());
}

inline void polyhedra_features(const Posed& a, const Posed& b, Manifold& out) {
  const Separation s = separate(a, b);
  if (s.now > out.margin && s.then > out.margin) return;
  switch (s.by) {
    case Separation::By::face_a: return face_features({a, b, false}, s.one, out);
    case Separation::By::face_b: return face_features({b, a, true}, s.one, out);
    case Separation::By::edges: {
      const Edge &e = a.solid->edge[s.one], &f = b.solid->edge[s.other];
      const Sides sides = {a, b, false};
      out.note(sides.line_line(s.one, a.at[e.from], a.along(s.one), s.other, b.at[f.from], b.along(s.other), s.normal),
               a, b);
    }
  }
}

}  // namespace catena::CATENA_ISA
