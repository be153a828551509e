// Contacts of shapes among the stops: every pair has some, in slots (physics/shapes/slots.hpp), which get their
// features anew at every node. One without a feature is far from its bound.
#pragma once

#include "physics/rows/constraint.hpp"
#include "physics/shapes/scene.hpp"
#include "physics/shapes/slots.hpp"

namespace catena::CATENA_ISA {

// memory that is not part of the state
inline ShapeSight& sight_of_thread() {
  thread_local ShapeSight sight;
  return sight;
}

// where bodies are at the node, and how their momenta move them
inline std::pair<Pose<double>, Wrench<double>> placed_and_moving(const Layout& layout, const Body<double>* body,
                                                                 int user_body) {
  if (user_body < 0) return {world_pose(), {{0, 0, 0}, {0, 0, 0}}};
  const int i = layout.body_link[user_body];
  const Body<double>& b = body[i];
  if (layout.link[i].mass == 0) return {{b.x, b.R}, {{0, 0, 0}, {0, 0, 0}}};
  double det;
  const Mat3<double> cofactors = adjugate(b.J, det);
  return {{b.x, b.R}, {b.v, (1 / det) * (cofactors * b.L)}};
}

inline void refresh_shape_stops(const Layout& layout, const Body<double>* body, double time, Stop* stop) {
  const Scene& scene = *static_cast<const Scene*>(layout.shapes.scene);
  const auto leave = [](Stop& s) {
    s.slot.present = 0;
    s.held = s.at = 0;
    s.left = s.takes = s.touched = false;
    s.since = 0, s.bounces = 0;
  };
  // those that nothing is found of
  for (int p = 0; p < layout.shapes.pair_count; ++p)
    for (int k = 0; k < layout.shapes.slot_count[p]; ++k) stop[layout.shapes.first_stop[p] + k].seen = false;
  sight_of_thread().look(
      scene, time, [&](int user_body) { return placed_and_moving(layout, body, user_body); },
      [&](int pair, const Manifold& found) {
        Stop* const first = stop + layout.shapes.first_stop[pair];
        fill_slots(
            found, layout.shapes.slot_count[pair], [&](int k) -> const Slot& { return first[k].slot; },
            [&](int k, const Feature& feature, bool anew) {
              // a gap that is held is where it was held, not where rounding left it
              if (anew) leave(first[k]), first[k].age = most_age;
              first[k].slot.take(feature);
              first[k].feature = feature;
              first[k].seen = true;
            },
            [&](int k) { leave(first[k]); });
      });
  for (int p = 0; p < layout.shapes.pair_count; ++p)
    for (int k = 0; k < layout.shapes.slot_count[p]; ++k) {
      Stop& s = stop[layout.shapes.first_stop[p] + k];
      if (s.seen) continue;
      leave(s);
      s.age = most_age;
    }
}

}  // namespace catena::CATENA_ISA
