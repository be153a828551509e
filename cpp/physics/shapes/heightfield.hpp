// Shapes against a grid of heights: every cell is two triangles, cut from its lowest corner to the opposite one.
//
// Points of the shape are held by the plane of the triangle under them, and points of the grid by the face of the shape
// over them. Balls are held by the nearest parts, planes, ridges and peaks. Edges of polyhedra pass through ridges.
#pragma once

#include "physics/shapes/nearest.hpp"

namespace catena::CATENA_ISA {

struct FieldSide {
  const Sides& sides;
  const Posed& field = sides.first;
  const Posed& shape = sides.second;
  const Grid& grid = field.solid->grid;

  // from the world to the grid, and back
  Vec3<double> local(Vec3<double> p) const { return transposed_times(grid.axes, field.in_body(p) - grid.corner); }
  Vec3<double> world(Vec3<double> p) const { return field.now.x + field.now.R * (grid.corner + grid.axes * p); }
  Vec3<double> world_direction(Vec3<double> v) const { return field.now.R * (grid.axes * v); }

  struct Triangle {
    Vec3<double> corner[3];  // in the grid
    int at[3][2];            // which points of it
    Vec3<double> normal;
    int key;
  };
  Triangle triangle(int i, int j, bool upper) const {
    const Vec3<double> p = grid.point(i, j), q = grid.point(i + 1, j + 1);
    const Vec3<double> r = upper ? grid.point(i, j + 1) : grid.point(i + 1, j);
    const Vec3<double> n = upper ? cross(q - p, r - p) : cross(r - p, q - p);
    Triangle t;
    const int between[2] = {upper ? i : i + 1, upper ? j + 1 : j}, last[2] = {i + 1, j + 1};
    const auto put = [&](int k, Vec3<double> point, const int* at) {
      t.corner[k] = point;
      t.at[k][0] = at[0], t.at[k][1] = at[1];
    };
    const int first[2] = {i, j};
    put(0, p, first);
    put(upper ? 1 : 2, q, last);
    put(upper ? 2 : 1, r, between);
    t.normal = (1 / std::sqrt(norm2(n))) * n;
    t.key = 2 * (j * grid.count[0] + i) + upper;
    return t;
  }
  bool over_grid(Vec3<double> p) const {
    return p.x >= 0 && p.y >= 0 && p.x <= (grid.count[0] - 1) * grid.step[0] &&
           p.y <= (grid.count[1] - 1) * grid.step[1];
  }
  // under a point of the grid's frame
  Triangle under(Vec3<double> p) const {
    const double x = p.x / grid.step[0], y = p.y / grid.step[1];
    const int i = std::min(static_cast<int>(x), grid.count[0] - 2),
              j = std::min(static_cast<int>(y), grid.count[1] - 2);
    return triangle(i, j, y - j > x - i);
  }
  // points of the grid that a box covers, or that are next to it
  template <class F>
  void each_under(Vec3<double> low, Vec3<double> high, F&& use) const {
    const auto index = [](double x, double step, int most) {
      return x < 0 ? 0 : x / step > most ? most : static_cast<int>(x / step);
    };
    const int i1 = index(high.x, grid.step[0], grid.count[0] - 2) + 1;
    const int j1 = index(high.y, grid.step[1], grid.count[1] - 2) + 1;
    for (int j = index(low.y, grid.step[1], grid.count[1] - 2); j <= j1; ++j)
      for (int i = index(low.x, grid.step[0], grid.count[0] - 2); i <= i1; ++i) use(i, j);
  }

  void points(Manifold& out) const {
    for (int k = 0; k < shape.points(); ++k) {
      const Vec3<double> p = local(shape.at[k]);
      if (!over_grid(p)) continue;
      const Triangle t = under(p);
      out.note(sides.plane_point(t.key, world_direction(t.normal), world(t.corner[0]), k, shape.at[k]), sides.a(),
               sides.b());
    }
  }
  // peaks under the faces of a polyhedron
  void peaks(Manifold& out) const {
    Vec3<double> low = {HUGE_VAL, HUGE_VAL, HUGE_VAL}, high = -low;
    for (const Vec3<double>& p : shape.at) low = -larger(-low, -local(p)), high = larger(high, local(p));
    each_under(low, high, [&](int i, int j) {
      const Vec3<double> p = world(grid.point(i, j));
      const Vec3<double> up = world_direction({0, 0, 1});
      // the face of the shape that is over it, looking down
      for (int f = 0; f < shape.faces(); ++f)
        if (dot(shape.normal[f], up) < -0.5 && lies_over(shape, f, p, 0))
          out.note(
              sides.other_way().plane_point(f, shape.normal[f], shape.at[shape.corner(f, 0)], j * grid.count[0] + i, p),
              sides.a(), sides.b());
    });
  }
  // the nearest part of a triangle to a point, if it is not that of a neighbor
  void ball(Vec3<double> center, int index, Manifold& out) const {
    const double radius = shape.solid->radius + out.margin;
    const Vec3<double> p = local(center), around = {radius, radius, radius};
    const bool over = over_grid(p);
    if (over) {
      const Triangle t = under(p);
      // through the ground: back the way of the plane under it
      if (dot(t.normal, p - t.corner[0]) <= 0) return plane(t, index, center, out);
    }
    each_under(p - around, p + around, [&](int i, int j) {
      if (i > grid.count[0] - 2 || j > grid.count[1] - 2) return;
      for (const bool upper : {false, true}) {
        const Triangle t = triangle(i, j, upper);
        if (dot(t.normal, p - t.corner[0]) <= 0) continue;
        double inside[3];
        for (int k = 0; k < 3; ++k)
          inside[k] = dot(cross(t.normal, t.corner[(k + 1) % 3] - t.corner[k]), p - t.corner[k]);
        if (inside[0] >= 0 && inside[1] >= 0 && inside[2] >= 0) {
          plane(t, index, center, out);
          continue;
        }
        for (int k = 0; k < 3; ++k)
          if (inside[k] < 0) edge(t, k, p, index, center, out);
      }
    });
  }

 private:
  // steps along the edges of triangles
  static constexpr int neighbor[6][2] = {{1, 0}, {-1, 0}, {0, 1}, {0, -1}, {1, 1}, {-1, -1}};
  static bool next_to(const int* one, const int* other) {
    for (const int (&step)[2] : neighbor)
      if (one[0] + step[0] == other[0] && one[1] + step[1] == other[1]) return true;
    return false;
  }
  void plane(const Triangle& t, int index, Vec3<double> center, Manifold& out) const {
    out.note(sides.plane_point(t.key, world_direction(t.normal), world(t.corner[0]), index, center), sides.a(),
             sides.b());
  }
  // an edge, or one of its ends, if the ground falls off on all sides
  void edge(const Triangle& t, int k, Vec3<double> p, int index, Vec3<double> center, Manifold& out) const {
    const Vec3<double> from = t.corner[k], u = t.corner[(k + 1) % 3] - from;
    const double s = dot(u, p - from) / norm2(u);
    const Vec3<double> on = s <= 0 ? from : s >= 1 ? from + u : from + s * u, r = p - on;
    // all points of the grid around it that edges lead to are behind the plane across r
    const double slack = 1e-12 * norm2(u);
    const int *one = t.at[k], *other = t.at[(k + 1) % 3];
    bool ridge = true;
    const int* around = s >= 1 ? other : one;
    for (const int (&step)[2] : neighbor) {
      const int at[2] = {around[0] + step[0], around[1] + step[1]};
      if (!grid.has(at[0], at[1]) || (s > 0 && s < 1 && !next_to(at, other))) continue;
      ridge &= dot(r, grid.point(at[0], at[1]) - on) <= slack;
    }
    if (!ridge) return;
    const int key = -1 - 3 * t.key - k;
    if (s > 0 && s < 1)
      out.note(sides.line_point(key, world(from), world_direction(u), index, center), sides.a(), sides.b());
    else
      out.note(sides.point_point(key, world(on), index, center), sides.a(), sides.b());
  }
};

inline void heightfield_features(const Sides& sides, Manifold& out) {
  const FieldSide field{sides};
  const Posed& shape = sides.second;
  if (shape.solid->kind == SolidKind::sphere) return field.ball(shape.at[0], 0, out);
  if (shape.solid->kind == SolidKind::capsule) {
    for (int k = 0; k < 2; ++k) field.ball(shape.at[k], k, out);
    return;
  }
  field.points(out);
  field.peaks(out);
}

}  // namespace catena::CATENA_ISA
