// Selects which stops of an active set change if several have the wrong state, as in linear complementarity problems.
//
// At first, all wrong stops change at once (block pivoting: Kostreva; Judice and Pires). This finds most sets in a few
// rounds, but it can cycle. If the number of wrong stops has not decreased for some rounds, all stops that pull are
// released, and the set is built up from there (Lawson and Hanson): the stop that is exceeded most is held; if others
// then pull, the forces move toward the new solution only until the first of them reaches zero, and that stop is
// released. Each round decreases a quadratic form of the forces, so this ends.
#pragma once

#include "physics/stop.hpp"

namespace catena::CATENA_ISA {

struct Pivoting {
  static constexpr int most_patience = 10;
  int fewest = 0, patience = 0;
  bool builds = false;

  void begin(int count) { fewest = count + 1, patience = most_patience, builds = false; }
  // changes stops, of which `wrong` have the wrong state
  template <class Each>
  void change(int wrong, Each&& each) {
    if (builds) return build(each);
    patience = wrong < fewest ? most_patience : patience - 1;
    if (wrong < fewest) fewest = wrong;
    builds = patience < 0;
    bool lets_go = false;
    each([&](Stop& s) {
      if (builds && s.held != 0) s.kept = s.wanted == 0 ? 0 : -s.held * s.push;
      lets_go |= s.held != 0 && s.wanted == 0;
    });
    if (builds && !lets_go) return build(each);
    each([&](Stop& s) {
      if (!builds || s.held != 0) put(s, s.wanted);
    });
  }

 private:
  static void put(Stop& s, int held) {
    if (s.held != 0 && held == 0) s.push = 0, ++s.released;
    s.held = held;
  }
  template <class Each>
  static void build(Each&& each) {
    Stop *first = nullptr, *most = nullptr;
    double part = 1;
    each([&](Stop& s) {
      const double press = -s.held * s.push;
      if (s.wanted == s.held) return;
      if (s.held == 0) {
        if (!most || s.excess > most->excess) most = &s;
      } else if (!first || s.kept < part * (s.kept - press)) {
        part = s.kept / (s.kept - press), first = &s;
      }
    });
    each([&](Stop& s) {
      if (s.held != 0) s.kept += part * (-s.held * s.push - s.kept);
    });
    Stop& s = first ? *first : *most;
    s.kept = 0;
    put(s, s.wanted);
  }
};

}  // namespace catena::CATENA_ISA
