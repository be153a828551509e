// A shape that collides: what is near to a point, line or polyhedron by so much. Everything is in the body's frame.
//
//     plane        a point, its normal `axis`
//     sphere       a point with a radius
//     capsule      two points and the edge between them, with a radius
//     box, hull    a convex polyhedron: points, faces with their normals, edges between two faces
//     cylinder     two circles of radius `rim`, `half` up and down its `axis`; for polyhedra and capsules the prism
//                  inside it, which is kept as a polyhedron
//     heightfield  heights over a grid, in the frame of its three axes
#pragma once

#include <vector>

#include "base/quat.hpp"
#include "physics/pose.hpp"

namespace catena::CATENA_ISA {

enum class SolidKind : int { plane, sphere, capsule, box, cylinder, hull, heightfield };

struct Face {
  Vec3<double> normal;
  int first, count;  // its corners, counterclockwise from outside
};
struct Edge {
  int from, to;     // points
  int left, right;  // faces
};
struct Grid {
  Vec3<double> corner;  // lowest x and y, at height 0
  Mat3<double> axes;
  double step[2] = {1, 1};
  int count[2] = {0, 0};       // of heights along x and y
  std::vector<double> height;  // (y, x)

  double at(int i, int j) const { return height[static_cast<std::size_t>(j) * count[0] + i]; }
  bool has(int i, int j) const { return i >= 0 && j >= 0 && i < count[0] && j < count[1]; }
  Vec3<double> point(int i, int j) const { return {i * step[0], j * step[1], at(i, j)}; }
};

struct Solid {
  SolidKind kind = SolidKind::sphere;
  int body = -1;  // the world
  double radius = 0;
  std::vector<Vec3<double>> point;
  std::vector<Face> face;
  std::vector<Edge> edge;
  std::vector<int> corner;
  Vec3<double> center = {0, 0, 0}, axis = {0, 0, 1};
  double rim = 0, half = 0;
  double reach = 0;  // from its center
  Grid grid;

  bool is_polyhedron() const { return !face.empty(); }
};

// what has moved by a velocity for some time
inline Pose<double> advanced(const Pose<double>& p, const Wrench<double>& velocity, double time) {
  const Vec3<double> turned = time * velocity.t;
  const double angle = std::sqrt(norm2(turned));
  const Quat<double> w = {std::cos(0.5 * angle), (angle > 0 ? std::sin(0.5 * angle) / angle : 0.5) * turned};
  return {p.x + time * velocity.f, {p.R.i + turn(w, p.R.i), p.R.j + turn(w, p.R.j), p.R.k + turn(w, p.R.k)}};
}

// A solid in the world, now and at the end of a step if it goes on as it moves.
struct Posed {
  const Solid* solid = nullptr;
  Pose<double> now, then;
  std::vector<Vec3<double>> at, later;             // points
  std::vector<Vec3<double>> normal, normal_later;  // of faces

  void place(const Solid& s, const Pose<double>& p, const Wrench<double>& velocity, double time) {
    solid = &s;
    now = p;
    then = advanced(p, velocity, time);
    at.resize(s.point.size()), later.resize(s.point.size());
    for (std::size_t k = 0; k < at.size(); ++k)
      at[k] = now.x + now.R * s.point[k], later[k] = then.x + then.R * s.point[k];
    normal.resize(s.face.size()), normal_later.resize(s.face.size());
    for (std::size_t k = 0; k < normal.size(); ++k)
      normal[k] = now.R * s.face[k].normal, normal_later[k] = then.R * s.face[k].normal;
  }
  Vec3<double> center() const { return now.x + now.R * solid->center; }
  int points() const { return static_cast<int>(at.size()); }
  int faces() const { return static_cast<int>(normal.size()); }
  int edges() const { return static_cast<int>(solid->edge.size()); }
  int corner(int face, int k) const {
    const Face& f = solid->face[face];
    return solid->corner[f.first + k % f.count];
  }
  Vec3<double> along(int edge) const { return at[solid->edge[edge].to] - at[solid->edge[edge].from]; }
  Vec3<double> in_body(Vec3<double> p) const { return transposed_times(now.R, p - now.x); }
};

}  // namespace catena::CATENA_ISA
