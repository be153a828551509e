// Which members of an active set change, where several are wrong: block pivoting with a safeguard (Kostreva; Judice and
// Pires), as for linear complementarity problems.
//
// All that are wrong change at once, which settles most sets in a few rounds, but may go to and fro. Where they have
// not become fewer for some rounds, only the first one changes (Murty), until there are fewer than ever before. That
// ends where the matrix is positive definite, but may take long.
#pragma once

#include "base/isa.hpp"

namespace catena::CATENA_ISA {

struct Pivoting {
  static constexpr int most_patience = 10;
  int fewest = 0, patience = 0;

  void begin(int count) { fewest = count + 1, patience = most_patience; }
  // so many are wrong: whether only the first of them changes
  bool takes_one(int wrong) {
    if (wrong >= fewest) return --patience < 0;
    fewest = wrong, patience = most_patience;
    return false;
  }
};

}  // namespace catena::CATENA_ISA
