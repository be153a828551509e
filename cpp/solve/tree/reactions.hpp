// The wrenches that joints of the tree transmit, and from them their multipliers.
#pragma once

#include "solve/tree/articulated.hpp"

namespace catena::CATENA_ISA {

// multipliers of every constraint at the iterate, times `scale`: the wrench that the subtree needs, on its rows
template <class T>
inline void Articulated<T>::multipliers(T scale, double* out) {
  for (int k = 0; k < layout.loop_count; ++k) {
    const ConstraintInfo& c = layout.constraint[layout.loop[k]];
    if (c.rows != RowKind::touch) record_multipliers(layout, c, scale, loop_multipliers() + c.loop_row, out);
  }
  for (int k = 0; k < layout.touch_count; ++k) record_touch(layout, clock.touch[k], scale, z + clock.touch[k].row, out);
  for (int l = 0; l < layout.law_count; ++l)
    if (layout.law[l].axis >= 0 && layout.law[l].constraint >= 0)
      out[layout.constraint[layout.law[l].constraint].recorded] = scale * multiplier_of(l);
  for (int k = segment_count - 1; k >= 0; --k) {
    const Segment& s = segment[k];
    Wrench<T> m = {{T(0), T(0), T(0)}, {T(0), T(0), T(0)}};
    if (s.receives >= 0) m = received[s.receives];
    for (int i = s.end - 1; i >= s.first; --i) {
      add_wrench<true>(m, link[i], body[i], i);
      loop.act(m, i, loop_multipliers());
      each_touch(i, [&](const Touch& t) {
        const Wrench<double> w = t.wrench(t.end[0] >= 0 ? 0 : 1, z + t.row);
        m.f -= w.f;
        m.t -= w.t;
      });
      // at the joint point, then at the parent's centre
      move(m, link[i].c);
      reaction(m, i, scale, out);
      move(m, link[i].arm);
    }
    if (s.sends < 0) continue;
    Wrench<T>& to = received[s.sends];
    to = s.opens ? m : Wrench<T>{to.f + m.f, to.t + m.t};
  }
}
// on the only freedom of a link, at the iterate
template <class T>
inline T Articulated<T>::effort_at(const LinkInfo& info) const {
  T effort = pushed[info.first_axis];
  for (int at = layout.first_axis_law[info.first_axis]; at < layout.first_axis_law[info.first_axis + 1]; ++at)
    effort += layout.law[layout.axis_law[at]].sign * axis_multiplier(layout.axis_law[at]);
  if (holds && stopped[info.first_axis].held) effort += stopped[info.first_axis].effort;
  return effort;
}
template <class T>
inline void Articulated<T>::reaction(const Wrench<T>& m, int i, T scale, double* out) const {
  const LinkInfo& info = layout.link[i];
  if (info.joint < 0) return;
  const ConstraintInfo& joint = layout.constraint[layout.joint_constraint[info.joint]];
  const T sign = info.flipped ? -scale : scale;
  Vec3<T> torque = m.t;
  // what acts along the freedom of a screw is not across its rows
  if (branch_at(info.branch).motion[0] == Motion::helix) torque -= effort_at(info) * axis[info.first_axis].turn;
  RowShares shares = {{sign * m.f, sign * torque}, body[i].x - link[i].c, out + joint.recorded, {}, {}};
  joint_rows(joint, old_pose(body, joint.end[0]), old_pose(body, joint.end[1]), 0, shares);
}

}  // namespace catena::CATENA_ISA
