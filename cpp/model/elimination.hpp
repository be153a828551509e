// How the block LDU eliminates: the order at once, because solvers are chosen by its work; the program, which says
// where every product goes and may be far longer than the mechanism, when a solver first needs it.
#pragma once

#include <vector>

#include "model/layout.hpp"

namespace catena {

// whether a constraint stiffens the bodies it acts on (solve/sparse/ldu.hpp): what holds a massless one
bool is_braced(const Layout& layout, const ConstraintInfo& c);

// vertices are links, then constraints
struct Elimination {
  explicit Elimination(const Layout& layout);

  std::vector<std::vector<int>> adjacency;  // (vertex) vertices whose blocks are not zero
  std::vector<int> order;
  std::vector<std::vector<int>> later;  // (vertex) vertices it still touches in its turn, in the order of elimination
  double work = 0;                      // multiplications of one factorisation
  double target_count = 0;              // products of all vertices, in blocks

  // whether the program is worth its room: half a gigabyte, or as much as can be counted where no other solver is
  // better
  bool fits = true;
};

// owns what the LDU's part of a layout points to
class EliminationProgram {
 public:
  EliminationProgram(const Layout& given, const Elimination& elimination);
  EliminationProgram(const EliminationProgram&) = delete;
  EliminationProgram& operator=(const EliminationProgram&) = delete;
  // the given one with the program
  const Layout& layout() const { return layout_; }

 private:
  Layout layout_;
  std::vector<LduVertex> vertices_;
  std::vector<LduNeighbour> neighbours_;
  std::vector<int> targets_, arrivals_;
  std::vector<int> link_vertex_, constraint_vertex_, first_slot_, first_load_, loads_, first_brace_, braces_;
  std::vector<LduSlot> slots_;
};

}  // namespace catena
