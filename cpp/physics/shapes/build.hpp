// Solids from arrays: normals of faces, and the edges between them.
#pragma once

#include <map>

#include "args/shapes.hpp"
#include "physics/shapes/solid.hpp"

namespace catena::CATENA_ISA {

inline void find_edges(Solid& s) {
  // every edge once: it runs along the face on its left
  std::map<std::pair<int, int>, int> known;
  for (int f = 0; f < static_cast<int>(s.face.size()); ++f) {
    Face& face = s.face[f];
    // Newell's normal, of all corners
    Vec3<double> normal = {0, 0, 0};
    for (int k = 0; k < face.count; ++k) {
      const int from = s.corner[face.first + k], to = s.corner[face.first + (k + 1) % face.count];
      normal += cross(s.point[from] - s.center, s.point[to] - s.center);
      if (const auto other = known.find({to, from}); other != known.end()) {
        s.edge[other->second].right = f;
        continue;
      }
      known[{from, to}] = static_cast<int>(s.edge.size());
      s.edge.push_back({from, to, f, f});
    }
    face.normal = (1 / std::sqrt(norm2(normal))) * normal;
  }
}

inline std::vector<Solid> solids_of(const ShapeArrays& given) {
  std::vector<Solid> list(given.kind.size());
  std::size_t point = 0, face = 0, corner = 0, height = 0;
  for (std::size_t k = 0; k < list.size(); ++k) {
    Solid& s = list[k];
    s.kind = static_cast<SolidKind>(given.kind[k]);
    s.body = given.body[k];
    const double* frame = given.frame.data() + 12 * k;
    s.center = load3(frame);
    const Mat3<double> axes = {load3(frame + 3), load3(frame + 6), load3(frame + 9)};
    s.axis = axes.k;
    s.radius = given.size[3 * k], s.rim = given.size[3 * k + 1], s.half = given.size[3 * k + 2];
    for (int n = 0; n < given.point_count[k]; ++n, ++point) s.point.push_back(load3(given.point.data() + 3 * point));
    for (int f = 0; f < given.face_count[k]; ++f, ++face) {
      s.face.push_back({{0, 0, 1}, static_cast<int>(s.corner.size()), given.corner_count[face]});
      for (int c = 0; c < given.corner_count[face]; ++c) s.corner.push_back(given.corner[corner++]);
    }
    find_edges(s);
    if (s.kind == SolidKind::capsule) s.edge.push_back({0, 1, -1, -1});
    for (const Vec3<double>& p : s.point) s.reach = std::max(s.reach, std::sqrt(norm2(p - s.center)));
    s.reach = std::max(s.reach, std::sqrt(s.rim * s.rim + s.half * s.half)) + s.radius;
    if (s.kind != SolidKind::heightfield) continue;
    Grid& grid = s.grid;
    grid.corner = s.center, grid.axes = axes;
    for (int axis = 0; axis < 2; ++axis)
      grid.count[axis] = given.grid_count[2 * k + axis], grid.step[axis] = given.grid_step[2 * k + axis];
    const std::size_t cells = static_cast<std::size_t>(grid.count[0]) * grid.count[1];
    grid.height.assign(given.height.begin() + height, given.height.begin() + height + cells);
    height += cells;
  }
  return list;
}

}  // namespace catena::CATENA_ISA
