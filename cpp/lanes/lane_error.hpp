// How much a plain step of several members in lanes errs: what Estimator (simulate/error.hpp) says of one.
#pragma once

#include "lanes/lane_node.hpp"
#include "simulate/error.hpp"

namespace catena::CATENA_ISA {

struct LaneEstimator {
  using T = Lane;
  using Mask = Lane::Mask;

  const LaneNode& node;
  Past<T> past;
  const Layout& layout = node.layout;
  T error = T(0);
  T length = T(0), second2 = T(0), equal = T(0);  // see Estimator

  // a step that has been solved and not yet taken; those of unsolved lanes are not seen
  void see(Mask unsolved) {
    const double dt = node.common().dt;
    const T scale = T(1 / (node.common().size * node.common().size));
    const bool skips = any(unsolved);
    T least_cosine = T(1);
    Vec3<T> most = {T(0), T(0), T(0)};
    past.turn_page();
    for (int i = 0; i < layout.link_count; ++i) {
      const Body<T>& b = node.tree.body[i];
      const Wrench<T> motion = past.motion[i];
      most = larger(most, past.see(i, b, scale));
      least_cosine = least(least_cosine, b.w.w);
      if (skips) keep(past.motion[i], motion, unsolved), keep(past.change[i], past.older[i], unsolved);
    }
    const T angle2 = T(4) * (T(1) - least_cosine) * (T(1) + least_cosine);
    const T cube2 = layout.has_threads ? cube2_along_threads(layout, node.tree.body) : angle2 * angle2 * angle2;
    const T since = choose((length < T(dt)) | (length > T(dt)), T(0), equal + T(1));
    const T now2 = choose(since > T(1.5), most.x + most.y + most.z, T(0));
    error = T(plain_gain) * sqrt(larger(larger(now2, second2), cube2));
    equal = choose(unsolved, equal, since);
    second2 = choose(unsolved, second2, now2);
    length = choose(unsolved, length, T(dt));
  }
  static void keep(Wrench<T>& to, const Wrench<T>& from, Mask lanes) {
    const auto back = [&](Vec3<T>& a, const Vec3<T>& b) {
      a = {choose(lanes, b.x, a.x), choose(lanes, b.y, a.y), choose(lanes, b.z, a.z)};
    };
    back(to.f, from.f), back(to.t, from.t);
  }
  // the body that errs most in a lane's last step
  int body(int k) const {
    const double scale = 1 / (node.common().size * node.common().size);
    double most = -1, least_cosine = 2;
    int changed = 0, turned = 0;
    for (int i = 0; i < layout.link_count; ++i) {
      const double by2 =
          motion2(at(past.change[i].f - past.older[i].f, k), at(past.change[i].t - past.older[i].t, k), scale);
      if (by2 > most) most = by2, changed = i;
      const double cosine = node.tree.body[i].w.w[k];
      if (cosine < least_cosine) least_cosine = cosine, turned = i;
    }
    const double angle2 = 4 * (1 - least_cosine) * (1 + least_cosine);
    return layout.link[angle2 * angle2 * angle2 > second2[k] ? turned : changed].body;
  }
};

}  // namespace catena::CATENA_ISA
