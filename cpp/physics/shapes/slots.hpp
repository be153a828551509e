// The features of a pair of shapes in slots, from node to node: one that is found again, by its key, keeps its slot.
#pragma once

#include "physics/shapes/manifold.hpp"

namespace catena::CATENA_ISA {

// what of a slot is kept between steps; the feature itself follows from the poses
struct Slot {
  int present = 0;
  int kind = 0, flipped = 0, key[2] = {0, 0};

  bool is(const Feature& f) const {
    return present != 0 && kind == static_cast<int>(f.kind) && (flipped != 0) == f.flipped && key[0] == f.key[0] &&
           key[1] == f.key[1];
  }
  void take(const Feature& f) {
    present = 1;
    kind = static_cast<int>(f.kind), flipped = f.flipped;
    key[0] = f.key[0], key[1] = f.key[1];
  }
};

// `slot(k)` of `count`; `put(k, feature, anew)` says what stands there from now on, `leave(k)` that nothing does
template <class SlotAt, class Put, class Leave>
void fill_slots(const Manifold& found, int count, SlotAt&& slot, Put&& put, Leave&& leave) {
  int place[most_features];
  for (int f = 0; f < found.count; ++f) {
    place[f] = -1;
    for (int k = 0; k < count; ++k)
      if (slot(k).is(found.feature[f])) place[f] = k;
  }
  const auto taken = [&](int k) {
    for (int f = 0; f < found.count; ++f)
      if (place[f] == k) return true;
    return false;
  };
  for (int k = 0; k < count; ++k)
    if (slot(k).present != 0 && !taken(k)) leave(k);
  for (int f = 0, free = 0; f < found.count; ++f) {
    const bool anew = place[f] < 0;
    if (anew) {
      while (free < count && taken(free)) ++free;
      // there are as many as the kinds of shapes can have
      if (free == count) continue;
      place[f] = free;
    }
    put(place[f], found.feature[f], anew);
  }
}

}  // namespace catena::CATENA_ISA
