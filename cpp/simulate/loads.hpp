// What the user applies to bodies: loads of a run, and what is held over a step, as force and torque on the centre of
// mass of a link in its pose.
#pragma once

#include "physics/body.hpp"
#include "simulate/signals.hpp"

namespace catena::CATENA_ISA {

// a force and a torque at a point of a body, on its centre of mass
inline Wrench<double> at_centre(const Mat3<double>& R, const double* row, const double* point, bool in_body_frame) {
  Vec3<double> f = load3(row), t = load3(row + 3);
  if (in_body_frame) f = R * f, t = R * t;
  return {f, t + cross(R * load3(point), f)};
}

struct Applied {
  const Layout& layout;
  const RunArgs& args;
  const Signals& signals;
  const Body<double>* body;

  // use(link, wrench)
  template <class F>
  void each_load(long node, F&& use) const {
    for (int k = 0; k < args.loads.count; ++k) {
      const int i = layout.body_link[args.loads.body[k]];
      use(i, load(i, k, node));
    }
  }
  template <class F>
  void each_held(F&& use) const {
    for (int k = 0; k < args.held.count; ++k) use(layout.body_link[k], held(k));
  }

  Wrench<double> load(int i, int k, long node) const {
    const Loads& loads = args.loads;
    const double* row = loads.signal[k] >= 0 ? signals.at_node() + loads.signal[k]
                                             : loads.values + 6L * (k + (loads.rows == 1 ? 0 : loads.count * node));
    return at_centre(body[i].R, row, loads.point + 3 * k, loads.in_body_frame[k]);
  }
  Wrench<double> held(int k) const {
    const double* row = args.held.values + 6 * k;
    if (args.held.plain) return {load3(row), load3(row + 3)};
    return at_centre(body[layout.body_link[k]].R, row, args.held.point + 3 * k, args.held.in_body_frame[k]);
  }

  // by link
  void sum(long node, Wrench<double>* on) const {
    for (int i = 0; i < layout.link_count; ++i) on[i] = {{0, 0, 0}, {0, 0, 0}};
    const auto add = [&](int i, const Wrench<double>& w) { on[i] = {on[i].f + w.f, on[i].t + w.t}; };
    each_load(node, add);
    each_held(add);
  }
};

}  // namespace catena::CATENA_ISA
