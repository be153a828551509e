// Hard stops of several members in lanes: what solve/stops.hpp does for one, where nothing happens to them.
//
// A lane keeps those of its stops open that are open at the node, and those held that are held. Where one is touched,
// or pulls, the lane has not taken the step: the solver for one member takes it, with its cuts, impacts and releases,
// and hands back who is held. All stops are freedoms of the tree here.
//
// What a held stop exerts along its freedom is what the links beyond it hand on: all other freedoms are in balance, and
// forces inside the subtree cancel.
#pragma once

#include "lanes/lane_tree.hpp"
#include "physics/stop.hpp"

namespace catena::CATENA_ISA {

// a stop in every lane
struct LaneStop {
  Lane held, at, left;  // see Stop
  Lane end;             // its measure at the end of the step
  int law, axis, variable, segment;
  bool turns;
  double sign;
};

struct LaneStops {
  using T = Lane;
  using Mask = Lane::Mask;

  const Layout& layout;
  LaneTree& tree;
  LaneStop* stop;  // (hard stop)
  T* push;         // (axis) what acts along a freedom beside its stop, the other way round

  int count() const { return layout.stop_count; }
  // whether all are freedoms of the tree
  static bool can_run(const Layout& layout) {
    bool fine = true;
    for (int k = 0; k < layout.stop_count; ++k) fine &= layout.law[layout.stop[k]].axis >= 0;
    return fine;
  }
  void open() {
    for (int k = 0; k < count(); ++k) {
      const int l = layout.stop[k];
      const LawInfo& law = layout.law[l];
      const LinkInfo& info = layout.link[law.link];
      const int freedom = law.axis - info.first_axis;
      int n = 0;
      while (law.link < tree.segment[n].first || law.link >= tree.segment[n].end) ++n;
      stop[k] = {T(0),    T(0), T(0), T(0), l, law.axis, info.variable + freedom, n, turns(info.branch, freedom),
                 law.sign};
    }
  }
  T lower(const LaneStop& s) const { return tree.law[s.law].lower; }
  T upper(const LaneStop& s) const { return tree.law[s.law].upper; }
  Mask held(const LaneStop& s) const { return s.held != T(0); }
  T bound(const LaneStop& s) const { return choose(s.held < T(0), lower(s), upper(s)); }

  // the freedoms that are held, and where they are to be: a distance from their bound is no more than rounding
  void arm() {
    Mask somewhere = {};
    for (int k = 0; k < count(); ++k) somewhere |= held(stop[k]);
    if (tree.holds)
      for (int n = 0; n < tree.segment_count; ++n) tree.segment[n].acted = tree.segment[n].has_laws;
    tree.holds = any(somewhere);
    if (!tree.holds) return;
    for (int k = 0; k < count(); ++k) {
      LaneStop& s = stop[k];
      const Mask here = held(s);
      tree.segment[s.segment].acted |= any(here);
      const T by = T(s.turns ? 0.5 * s.sign : s.sign) * (bound(s) - tree.law[s.law].measured);
      tree.stopped[s.axis] = {choose(here, T(1), T(0)), T(0), choose(here, by, T(0))};
    }
  }

  // lanes in which a stop is touched at the end of the step that has been solved, or is let go in it
  Mask meet() {
    Mask found = {};
    for (int k = 0; k < count(); ++k) {
      LaneStop& s = stop[k];
      const T z = tree.z[s.variable];
      s.end = tree.law[s.law].measured + T(s.sign) * (s.turns ? turned_angle(z) : z);
      const T gap = least(s.end - lower(s), upper(s) - s.end);
      found |= ~held(s) & ~(gap > T(stop_rounding));
    }
    return tree.holds ? found | find_pulling() : found;
  }
  // lanes in which a stop that is held pulls
  Mask find_pulling() {
    tree.find_efforts(push);
    Mask found = {};
    for (int k = 0; k < count(); ++k) {
      const LaneStop& s = stop[k];
      found |= held(s) & (upper(s) - lower(s) > T(2 * stop_rounding)) & (s.held * T(s.sign) * push[s.axis] > T(0));
    }
    return found;
  }
  // the same where velocities have been projected; and those in which a stop stands at its bound and is free to leave
  Mask meet_at_rest() {
    Mask found = {};
    for (int k = 0; k < count(); ++k) found |= (stop[k].at != T(0)) & ~held(stop[k]) & ~(stop[k].left != T(0));
    if (!tree.holds) return found;
    for (int i = 0; i < layout.link_count; ++i) {
      Body<T>& b = tree.body[i];
      b.target_d -= tree.link[i].share * b.dx;
      b.target_L -= b.J * b.phi;
    }
    return found | find_pulling();
  }
  // on to the next node
  void commit(Mask unsolved) {
    for (int k = 0; k < count(); ++k) {
      LaneStop& s = stop[k];
      T& measured = tree.law[s.law].measured;
      measured = choose(unsolved, measured, choose(held(s), bound(s), s.end));
      s.at = choose(unsolved, s.at, s.held);
      s.left = choose(unsolved, s.left, T(0));
    }
  }
};

}  // namespace catena::CATENA_ISA
