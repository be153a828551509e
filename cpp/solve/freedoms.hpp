// What the unknowns of a link say of its freedoms: a turn's is the sine of half the angle, a slide's the distance.
#pragma once

#include "base/quat.hpp"
#include "model/layout.hpp"

namespace catena::CATENA_ISA {

constexpr int freedoms(int branch) { return 6 - joint_row_count(branch / 2); }

// whether a freedom's unknown is the sine of half an angle, or else a distance
constexpr bool turns(int branch, int k) { return branch_at(branch).motion[k] != Motion::slide; }
constexpr bool slides(int branch) {
  const Branch& form = branch_at(branch);
  bool found = false;
  for (int k = 0; k < form.count; ++k) found |= form.motion[k] == Motion::slide || form.motion[k] == Motion::helix;
  return found;
}
// along axes of the link, or else of the parent
constexpr bool slides_on_link(int branch) {
  const Branch& form = branch_at(branch);
  bool found = false;
  for (int k = 0; k < form.count; ++k)
    found |= (form.motion[k] == Motion::slide || form.motion[k] == Motion::helix) && form.own[k];
  return found;
}

// how far a freedom has moved, rad or m
template <class T>
CATENA_INLINE T moved_by(int branch, int k, T unknown) {
  return turns(branch, k) ? turned_angle(unknown) : unknown;
}
// that under a law
template <class T>
CATENA_INLINE T moved_by(const Layout& layout, const LawInfo& law, const T* z) {
  const LinkInfo& info = layout.link[law.link];
  const int k = law.axis - info.first_axis;
  return moved_by(info.branch, k, z[info.variable + k]);
}
// how far the joint point has gone along the slides of a link, in the frame of their axes, to what is there
template <class T>
CATENA_INLINE void add_slides(const LinkInfo& info, const T* z, Vec3<T>& way) {
  const Branch& form = branch_at(info.branch);
  for (int k = 0; k < form.count; ++k) {
    if (form.motion[k] == Motion::turn) continue;
    const T s = z[info.variable + k], by = form.motion[k] == Motion::slide ? s : T(info.parameter) * turned_angle(s);
    way += (form.own[k] ? -by : by) * wide<T>(info.direction + 3 * k);
  }
}

}  // namespace catena::CATENA_ISA
