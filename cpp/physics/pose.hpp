// Where a body is, and what acts on it or moves it: a pair of vectors each.
#pragma once

#include "base/small.hpp"

namespace catena::CATENA_ISA {

template <class T>
struct Pose {
  Vec3<T> x;
  Mat3<T> R;
};

template <class T>
struct Wrench {
  Vec3<T> f, t;
};

CATENA_INLINE Pose<double> world_pose() { return {{0, 0, 0}, diagonal(1.0)}; }

}  // namespace catena::CATENA_ISA
