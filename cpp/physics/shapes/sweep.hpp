// Which shapes may come near to each other in a step: boxes around where they are and where they go, sorted along one
// axis of the world (Baraff's sweep and prune).
#pragma once

#include <algorithm>

#include "physics/shapes/solid.hpp"

namespace catena::CATENA_ISA {

struct Box {
  Vec3<double> low, high;
  void take(Vec3<double> p, double radius) {
    const Vec3<double> r = {radius, radius, radius};
    low = -larger(-low, r - p), high = larger(high, p + r);
  }
  bool meets(const Box& o) const {
    return low.x <= o.high.x && o.low.x <= high.x && low.y <= o.high.y && o.low.y <= high.y && low.z <= o.high.z &&
           o.low.z <= high.z;
  }
};

inline Box box_around(const Posed& s, double margin) {
  Box box = {{HUGE_VAL, HUGE_VAL, HUGE_VAL}, {-HUGE_VAL, -HUGE_VAL, -HUGE_VAL}};
  const Solid& solid = *s.solid;
  if (solid.kind == SolidKind::plane) return {box.high, box.low};
  if (solid.kind == SolidKind::heightfield) {
    // endless downwards, as what has gone through comes back
    const Grid& grid = solid.grid;
    double most = -HUGE_VAL;
    for (const double h : grid.height) most = std::max(most, h);
    for (const Pose<double>& pose : {s.now, s.then})
      for (const int i : {0, grid.count[0] - 1})
        for (const int j : {0, grid.count[1] - 1})
          for (const double z : {-1e3 * (1 + std::fabs(most)), most})
            box.take(pose.x + pose.R * (grid.corner + grid.axes * Vec3<double>{i * grid.step[0], j * grid.step[1], z}),
                     margin);
    return box;
  }
  if (solid.kind == SolidKind::cylinder) {
    // a rim reaches along an axis by its radius times the sine of the angle between that and its own
    for (const Pose<double>& pose : {s.now, s.then}) {
      const Vec3<double> u = pose.R * solid.axis, middle = pose.x + pose.R * solid.center, uu = squares(u);
      const auto across = [&](double cosine2) { return solid.rim * std::sqrt(std::max(0.0, 1 - cosine2)) + margin; };
      const Vec3<double> r = {across(uu.x), across(uu.y), across(uu.z)};
      for (const double up : {-solid.half, solid.half}) {
        box.low = -larger(-box.low, r - middle - up * u);
        box.high = larger(box.high, middle + up * u + r);
      }
    }
    return box;
  }
  for (const Vec3<double>& p : s.at) box.take(p, solid.radius + margin);
  for (const Vec3<double>& p : s.later) box.take(p, solid.radius + margin);
  return box;
}

struct Sweep {
  std::vector<Box> box;
  std::vector<int> order;  // by low x; almost sorted from the node before

  // `use(i, j)`, i < j, in the order of the first and then the second
  template <class F>
  void each_pair(const std::vector<Posed>& posed, double margin, F&& use) {
    const int n = static_cast<int>(posed.size());
    box.resize(n);
    for (int k = 0; k < n; ++k) box[k] = box_around(posed[k], 0.5 * margin);
    if (static_cast<int>(order.size()) != n) {
      order.resize(n);
      for (int k = 0; k < n; ++k) order[k] = k;
    }
    for (int k = 1; k < n; ++k) {
      const int moved = order[k];
      int to = k;
      for (; to > 0 && box[order[to - 1]].low.x > box[moved].low.x; --to) order[to] = order[to - 1];
      order[to] = moved;
    }
    found.clear();
    for (int k = 0; k < n; ++k)
      for (int l = k + 1; l < n && box[order[l]].low.x <= box[order[k]].high.x; ++l)
        if (posed[order[k]].solid->body != posed[order[l]].solid->body && box[order[k]].meets(box[order[l]]))
          found.push_back(std::minmax(order[k], order[l]));
    std::sort(found.begin(), found.end());
    for (const auto& [i, j] : found) use(i, j);
  }

 private:
  std::vector<std::pair<int, int>> found;
};

}  // namespace catena::CATENA_ISA
