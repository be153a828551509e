// What every kind of rows has in common: where it stands, and its verbs.
//
// A kind is a struct of static functions, in a file of its own, with one line in the table of rows/constraint.hpp:
//
//     first    the angles from which turns are counted, where a trajectory begins
//     before   rows at the node, where they are directions of forces; turns are counted on from those in `rows`
//     after    rows at the iterate, and g, which must vanish
//     gaps     of these g alone; it tells what is open that is not asked for
//
// Those that are written here serve all kinds that need no others. Counts, units and which rows hold velocities are in
// the table of joints (model/spec.hpp). In a projection of velocities the rows after the step are those before it, and
// g is what time alone does to them. Where poses are put together time stands still (`clock.frozen`), and velocity rows
// take no part.
#pragma once

#include "physics/clock.hpp"
#include "physics/rows/joint.hpp"

namespace catena::CATENA_ISA {

struct RowSite {
  const Layout& layout;
  const ConstraintInfo& c;
  const Body<double>* body;
  const Clock& clock;

  bool is_velocity(int row) const { return row_is_velocity(static_cast<int>(c.kind), row); }
};

// what the rows of a force need to know besides what they measure
struct LawState {
  const double* lambda;  // its multipliers
  double momentum;       // of its rotor, before the step
};

template <class Kind>
struct RowsOf {
  static CATENA_INLINE void first(const RowSite& at, RowMemory& rows) {
    rows.angle[0] = first_angle(at.c, old_pose(at.body, at.c.end[0]), old_pose(at.body, at.c.end[1]));
  }
  static CATENA_INLINE double gaps(const RowSite& at, const RowMemory& before, const LawState& state, JointRows& rows) {
    Kind::after(at, before, state, rows);
    return 0;
  }
};

// a joint between two bodies
struct PlainRows : RowsOf<PlainRows> {
  static CATENA_INLINE void before(const RowSite& at, JointRows& rows) {
    joint_rows(at.c, old_pose(at.body, at.c.end[0]), old_pose(at.body, at.c.end[1]), rows.angle[0], rows);
  }
  template <class Rows>
  static CATENA_INLINE void measure(const RowSite& at, const RowMemory& before, Rows& rows) {
    joint_rows(at.c, new_pose(at.body, at.c.end[0]), new_pose(at.body, at.c.end[1]), before.angle[0], rows);
  }
  static CATENA_INLINE void after(const RowSite& at, const RowMemory& before, const LawState&, JointRows& rows) {
    measure(at, before, rows);
  }
  static CATENA_INLINE double gaps(const RowSite& at, const RowMemory& before, const LawState&, JointRows& rows) {
    GapRows gaps{rows.g, {}, {}};
    measure(at, before, gaps);
    return 0;
  }
};

}  // namespace catena::CATENA_ISA
