// How much a plain step of several members in lanes errs: what Estimator (simulate/error.hpp) says of one.
#pragma once

#include "simulate/error.hpp"
#include "simulate/lane_node.hpp"

namespace catena::CATENA_ISA {

struct LaneEstimator {
  using T = Lane;
  using Mask = Lane::Mask;

  const LaneNode& node;
  Past<T>* past;  // (link)
  const Layout& layout = node.layout;
  T error = T(0), link = T(0);
  T length = T(0), second = T(0), equal = T(0);

  void enter(int k) {
    length.set(k, 0);
    second.set(k, 0);
    equal.set(k, 0);
    for (int i = 0; i < layout.link_count; ++i) put_past(i, k, {});
  }
  // a step that has been solved and not yet taken; those of lanes that are tired are not seen
  void see(Mask tired) {
    const double dt = node.common().dt;
    const T scale = T(1 / (node.common().size * node.common().size));
    T change2 = T(0), most = T(0), changed = T(0), turned = T(0);
    for (int i = 0; i < layout.link_count; ++i) {
      const Body<T>& b = node.tree.body[i];
      const Past<T> before = past[i];
      const T by2 = second_difference2(b, past[i], scale), turn = norm2(b.w.v), here = T(static_cast<double>(i));
      changed = choose(by2 > change2, here, changed);
      change2 = choose(by2 > change2, by2, change2);
      turned = choose(turn > most, here, turned);
      most = choose(turn > most, turn, most);
      if (any(tired)) restore(past[i], before, tired);
    }
    const T was = second, angle = T(2) * sqrt(most), cube = angle * angle * angle;
    const T since = choose((length < T(dt)) | (length > T(dt)), T(0), equal + T(1));
    const T now = choose(since > T(1.5), sqrt(change2), T(0));
    error = T(plain_gain) * choose(now > was, choose(now > cube, now, cube), choose(was > cube, was, cube));
    link = choose(cube > now, turned, changed);
    equal = choose(tired, equal, since);
    second = choose(tired, second, now);
    length = choose(tired, length, T(dt));
  }
  static void restore(Past<T>& to, const Past<T>& from, Mask lanes) {
    const auto back = [&](Vec3<T>& a, const Vec3<T>& b) {
      a = {choose(lanes, b.x, a.x), choose(lanes, b.y, a.y), choose(lanes, b.z, a.z)};
    };
    back(to.motion.f, from.motion.f), back(to.motion.t, from.motion.t);
    back(to.change.f, from.change.f), back(to.change.t, from.change.t);
  }
  // the body that errs most in a lane's last step
  int body(int k) const { return layout.link[static_cast<int>(link[k])].body; }

  // a lane's memory from the single solver, and to it
  template <class Single>
  void take(int k, const Single& one) {
    length.set(k, one.length);
    second.set(k, one.second);
    equal.set(k, one.equal);
    for (int i = 0; i < layout.link_count; ++i) put_past(i, k, one.past[i]);
  }
  template <class Single>
  void give(int k, Single& one) const {
    one.length = length[k];
    one.second = second[k];
    one.equal = static_cast<int>(equal[k]);
    for (int i = 0; i < layout.link_count; ++i)
      one.past[i] = {{at(past[i].motion.f, k), at(past[i].motion.t, k)},
                     {at(past[i].change.f, k), at(past[i].change.t, k)}};
  }
  void put_past(int i, int k, const Past<double>& from) {
    put(past[i].motion.f, k, from.motion.f), put(past[i].motion.t, k, from.motion.t);
    put(past[i].change.f, k, from.change.f), put(past[i].change.t, k, from.change.t);
  }
  template <class F>
  void each_carried(F&& use) {
    const auto use3 = [&](Vec3<T>& v) { use(v.x), use(v.y), use(v.z); };
    use(length), use(second), use(equal);
    for (int i = 0; i < layout.link_count; ++i)
      use3(past[i].motion.f), use3(past[i].motion.t), use3(past[i].change.f), use3(past[i].change.t);
  }
};

}  // namespace catena::CATENA_ISA
