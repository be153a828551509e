// All shapes of a mechanism and the pairs of them that may touch, and which features do at a node.
#pragma once

#include "physics/shapes/build.hpp"
#include "physics/shapes/pair.hpp"
#include "physics/shapes/sweep.hpp"

namespace catena::CATENA_ISA {

// parts of the smaller shape within which features are kept though they are open
constexpr double margin_of_size = 0.02;

struct Scene {
  std::vector<Solid> solid;
  std::vector<std::pair<std::pair<int, int>, int>> pair;  // of shapes, sorted, and its number

  Scene(const ShapeArrays& shapes, const std::vector<int>& pairs) : solid(solids_of(shapes)) {
    for (std::size_t k = 0; k + 1 < pairs.size(); k += 2)
      pair.push_back({{pairs[k], pairs[k + 1]}, static_cast<int>(k / 2)});
    std::sort(pair.begin(), pair.end());
  }
  int find(int a, int b) const {
    const auto at = std::lower_bound(pair.begin(), pair.end(), std::pair{std::pair{a, b}, 0});
    return at != pair.end() && at->first == std::pair{a, b} ? at->second : -1;
  }
};

// what is looked at with it, node after node
struct ShapeSight {
  std::vector<Posed> posed;
  Sweep sweep;
  Manifold found;

  // `place(body)` is a pose and a velocity; `use(pair, manifold)` takes those that have features
  template <class Place, class Use>
  void look(const Scene& scene, double time, Place&& place, Use&& use) {
    posed.resize(scene.solid.size());
    double least = HUGE_VAL;
    for (std::size_t k = 0; k < posed.size(); ++k) {
      const auto [pose, velocity] = place(scene.solid[k].body);
      posed[k].place(scene.solid[k], pose, velocity, time);
      if (scene.solid[k].reach > 0) least = std::min(least, scene.solid[k].reach);
    }
    const double margin = margin_of_size * least;
    sweep.each_pair(posed, margin, [&](int a, int b) {
      const int number = scene.find(a, b);
      if (number < 0) return;
      found.margin = margin;
      found.count = 0;
      pair_features(posed[a], posed[b], found);
      if (found.count > 0) use(number, found);
    });
  }
};

}  // namespace catena::CATENA_ISA
