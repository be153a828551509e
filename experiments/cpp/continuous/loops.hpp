// The rows of a loop at acceleration level.
//
//   point    g = p_b - p_a                     three rows, a force at the point
//   axes     g_k = t_k . n_b, t_k fixed in a   two rows, a torque about d_k = n_b x t_k
//            dg_k/dt = w . d_k,  w = w_b - w_a
//            w . d(d_k)/dt = (w . n_b) (w_b . t_k) - (w . t_k) (w_a . n_b) - (w . w) g_k
//   d2g/dt2 = row . accelerations + what velocities add = -damping dg/dt - stiffness g
#pragma once

#include "model.hpp"

namespace rivals {

// a body as one side of a loop sees it: x, v of the point at which its motion is described, arm from there to the
// loop's
template <class T>
struct Side {
  const Mat3<T>& R;
  Vec3<T> arm, w, x, v;
};

template <class T>
struct Rows {
  Vec3<T> arm_a, arm_b;
  Vec3<T> about[2];
  T target[most_rows] = {};  // what row . accelerations must be

  void set(const Loop& loop, const Side<T>& a, const Side<T>& b, const Holding& hold) {
    const bool stable = hold.damping != 0 || hold.stiffness != 0;
    const T damping = T(hold.damping), stiffness = T(hold.stiffness);
    arm_a = a.arm, arm_b = b.arm;
    const Vec3<T> va = cross(a.w, a.arm), vb = cross(b.w, b.arm);
    Vec3<T> wanted = cross(a.w, va) - cross(b.w, vb);
    if (stable) {
      const Vec3<T> gap = (b.x + b.arm) - (a.x + a.arm), rate = (b.v + vb) - (a.v + va);
      wanted -= damping * rate + stiffness * gap;
    }
    store_vector(target, wanted);
    if (loop.kind != revolute) return;
    const Vec3<T> n = b.R * as<T>(loop.b.axis), w = b.w - a.w;
    const Mat3<T> frame = {a.R * as<T>(loop.across[0]), a.R * as<T>(loop.across[1]), n};
    const Vec3<T> along = transposed_times(frame, w), along_b = transposed_times(frame, b.w);
    const T along_a = along_b.z - along.z, ww = norm2(w);
    for (int k = 0; k < 2; ++k) {
      const Vec3<T> t = k ? frame.j : frame.i;
      const T gap = dot(t, n);
      about[k] = cross(n, t);
      target[3 + k] = ((k ? along.y : along.x) * along_a - along.z * (k ? along_b.y : along_b.x)) + ww * gap;
      if (stable) target[3 + k] -= damping * dot(w, about[k]) + stiffness * gap;
    }
  }

  // force and torque of a unit multiplier of row k on the side with that arm
  CATENA_INLINE void wrench(int k, Vec3<T> arm, T sign, Vec3<T>& force, Vec3<T>& torque) const {
    if (k < 3) {
      force = {k == 0 ? sign : T(0), k == 1 ? sign : T(0), k == 2 ? sign : T(0)};
      torque = cross(arm, force);
    } else {
      force = {T(0), T(0), T(0)};
      torque = sign * about[k - 3];
    }
  }
};

}  // namespace rivals
