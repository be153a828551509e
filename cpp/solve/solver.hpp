// What Newton's method and the loop over time ask of a solver: the contract of solve/tree/articulated.hpp, ldu.hpp and
// dense.hpp. One that has `ahead` finds an increment and the iterate it leads to in one sweep (`advance`); one that
// `acts_on_axes` has laws on freedoms of the tree in its pivots.
#pragma once

#include <concepts>

#include "physics/rows/constraint.hpp"

namespace catena::CATENA_ISA {

template <class S>
concept IsSolver = requires(S solver, const Layout& layout, const ConstraintInfo& c, double* numbers) {
  // sizes: unknowns, of which motions come first; rows with angles that are followed
  { S::unknown_count(layout) } -> std::convertible_to<long>;
  { S::motion_count(layout) } -> std::convertible_to<int>;
  { S::memory_count(layout) } -> std::convertible_to<int>;
  { S::acts_on_axes } -> std::convertible_to<bool>;
  // policy of the guess and of the stop
  { S::guess_points } -> std::convertible_to<int>;
  { S::violent_guess_points } -> std::convertible_to<int>;
  { S::caution } -> std::convertible_to<double>;

  // a step: geometry of the node, residual at the iterate z, increment dz with body.dx and body.phi, end of the
  // step
  solver.enter();
  solver.place();
  { solver.evaluate() } -> std::same_as<bool>;   // false if a body would turn too far
  { solver.direction() } -> std::same_as<bool>;  // false if the matrix is singular
  solver.commit(1.0);
  // the same for bodies at rest, whose velocities are projected
  solver.rest();

  // what closes loops: the widest gap and whose it is, what redundant rows disagree by, the smallest pivot
  solver.find_gap();
  { solver.widest_gap } -> std::convertible_to<double>;
  { solver.widest_constraint } -> std::convertible_to<int>;
  { solver.loop_mismatch } -> std::convertible_to<LoopMismatch>;
  { solver.smallest() } -> std::convertible_to<double>;
  { solver.positive } -> std::convertible_to<bool>;

  // what is read of a solution; the state between steps is listed by `visit_state`
  solver.multipliers(1.0, numbers);
  { solver.multiplier_of(0) } -> std::convertible_to<double>;
  { solver.row_multiplier(0, numbers) } -> std::convertible_to<double>;
  { solver.memories() } -> std::convertible_to<RowMemory*>;
  solver.rows_of(c);
};

}  // namespace catena::CATENA_ISA
