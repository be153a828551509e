// The nearest points of a point and a polyhedron, of two segments, and of two polyhedra (or segments) that are apart.
#pragma once

#include <algorithm>

#include "physics/shapes/manifold.hpp"

namespace catena::CATENA_ISA {

enum class Part : int { point, edge, face };
// nearest point of something, and the part of it that this lies on
struct Nearest {
  Part part = Part::point;
  int index = 0;
  Vec3<double> at = {0, 0, 0};
  double square = HUGE_VAL;  // of the distance
};

inline double clamp01(double t) { return t < 0 ? 0 : t > 1 ? 1 : t; }

inline void nearest_of_edges(const Posed& s, Vec3<double> p, Nearest& best) {
  for (int e = 0; e < s.edges(); ++e) {
    const Edge& edge = s.solid->edge[e];
    const Vec3<double> u = s.along(e), from = s.at[edge.from];
    const double t = clamp01(dot(u, p - from) / norm2(u));
    const Vec3<double> q = t == 0 ? from : t == 1 ? s.at[edge.to] : from + t * u;
    const double square = norm2(p - q);
    if (square >= best.square) continue;
    best = {t == 0 || t == 1 ? Part::point : Part::edge, t == 0 ? edge.from : t == 1 ? edge.to : e, q, square};
  }
}
// whether the projection of p along a face's normal lies on the face
inline bool lies_over(const Posed& s, int face, Vec3<double> p, double slack) {
  const Vec3<double> n = s.normal[face];
  for (int k = 0; k < s.solid->face[face].count; ++k) {
    const Vec3<double> from = s.at[s.corner(face, k)], u = s.at[s.corner(face, k + 1)] - from;
    if (dot(cross(n, u), p - from) < -slack * std::sqrt(norm2(u))) return false;
  }
  return true;
}
inline double height_over(const Posed& s, int face, Vec3<double> p) {
  return dot(s.normal[face], p - s.at[s.corner(face, 0)]);
}
// the face that a point is farthest outside of, or least inside
inline int outermost_face(const Posed& s, Vec3<double> p, double& height) {
  int best = -1;
  height = -HUGE_VAL;
  for (int f = 0; f < s.faces(); ++f)
    if (const double h = height_over(s, f, p); h > height) height = h, best = f;
  return best;
}
// Of a point outside, or of the surface; `inside` if it is not outside.
inline Nearest nearest_point(const Posed& s, Vec3<double> p, bool& inside) {
  inside = false;
  Nearest best;
  if (s.edges() == 0) return {Part::point, 0, s.at[0], norm2(p - s.at[0])};
  if (s.faces() > 0) {
    double most;
    const int face = outermost_face(s, p, most);
    if (most <= 0) {
      inside = true;
      return {Part::face, face, p - most * s.normal[face], most * most};
    }
    for (int f = 0; f < s.faces(); ++f) {
      const double h = height_over(s, f, p);
      if (h > 0 && h * h < best.square && lies_over(s, f, p, 0)) best = {Part::face, f, p - h * s.normal[f], h * h};
    }
  }
  nearest_of_edges(s, p, best);
  return best;
}

// of two segments p + s u and q + t w, where they are not parallel; false if they are
inline bool cross_segments(Vec3<double> p, Vec3<double> u, Vec3<double> q, Vec3<double> w, double& s, double& t) {
  const double uu = norm2(u), ww = norm2(w), uw = dot(u, w), det = uu * ww - uw * uw;
  if (det <= parallel_sine * parallel_sine * uu * ww) return false;
  const Vec3<double> r = q - p;
  s = (dot(u, r) * ww - dot(w, r) * uw) / det;
  t = (dot(u, r) * uw - dot(w, r) * uu) / det;
  return true;
}

// whether a segment goes through a polyhedron: some of it is behind all faces
inline bool pierced(const Posed& s, const Posed& segment) {
  double from = 0, to = 1;
  for (int f = 0; f < s.faces(); ++f) {
    const double start = height_over(s, f, segment.at[0]), end = height_over(s, f, segment.at[1]);
    if (start > 0 && end > 0) return false;
    if (start == end) continue;
    const double cut = start / (start - end);
    if (start > end)
      from = std::max(from, cut);
    else
      to = std::min(to, cut);
  }
  return from < to;
}

struct NearestPair {
  Nearest a, b;
};
// Parts of both, exact for all that are apart; of what overlaps, something with no distance.
inline NearestPair nearest_pair(const Posed& a, const Posed& b) {
  NearestPair best;
  bool inside;
  const auto points = [&](const Posed& of, const Posed& to, bool swapped) {
    for (int k = 0; k < of.points(); ++k) {
      Nearest found = nearest_point(to, of.at[k], inside);
      if (inside) found.square = 0;
      if (found.square >= best.a.square) continue;
      const Nearest own = {Part::point, k, of.at[k], found.square};
      best = swapped ? NearestPair{found, own} : NearestPair{own, found};
    }
  };
  points(a, b, false);
  points(b, a, true);
  for (int e = 0; e < a.edges(); ++e)
    for (int f = 0; f < b.edges(); ++f) {
      const Vec3<double> p = a.at[a.solid->edge[e].from], q = b.at[b.solid->edge[f].from];
      double s, t;
      if (!cross_segments(p, a.along(e), q, b.along(f), s, t) || s <= 0 || s >= 1 || t <= 0 || t >= 1) continue;
      const Vec3<double> x = p + s * a.along(e), y = q + t * b.along(f);
      const double square = norm2(y - x);
      if (square < best.a.square) best = {{Part::edge, e, x, square}, {Part::edge, f, y, square}};
    }
  return best;
}

}  // namespace catena::CATENA_ISA
