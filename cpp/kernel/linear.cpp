// A step from the node where a run stands, linearized (derivatives/).
#include "derivatives/tree_step.hpp"
#include "kernel/queries.hpp"
#include "kernel/seats.hpp"

namespace catena::CATENA_ISA {

namespace {

// all that a linearization works in, carved out of a workspace; with none it only counts
struct LinearSeat {
  Arena& arena;
  const int links, n, pad, inputs;
  const long wide;
  Vec3<double> origin = {0, 0, 0};
  FreedomTable freedom;
  SubtreeSums sums = {freedom, arena.take<Subtree>(links), arena.take<Six>(n), arena.take<Six>(n)};
  TreeMotion tree;
  Coordinates coordinates = {freedom, tree, arena.take<CoordinateChange>(links), arena.take<CoordinateChange>(links)};
  Pivot* pivot = arena.take<Pivot>(n);
  Wrench<Wide>*received = arena.take<Wrench<Wide>>(links), *carried = arena.take<Wrench<Wide>>(links);
  Wide* first = arena.take<Wide>(n);
  StepRoom room = {.old_motion = arena.take<Six>(links),
                   .new_motion = arena.take<Six>(links),
                   .moved = arena.take<Vec3<double>>(links),
                   .half_spin = arena.take<Vec3<double>>(links),
                   .H = arena.take<Mat3<double>>(links),
                   .s2 = motions(),
                   .s3 = motions(),
                   .change = motions(),
                   .a2 = motions(),
                   .a3 = motions(),
                   .lower = square(),
                   .upper = square(),
                   .full = square(),
                   .above = square(),
                   .effort = arena.take<double>(inputs),
                   .input_freedom = arena.take<int>(inputs),
                   .by_begin = arena.take<double>(n),
                   .by_end = arena.take<double>(n),
                   .by_node = arena.take<double>(n),
                   .rotor = arena.take<double>(n),
                   .X = arena.take<double>(wide),
                   .Y = arena.take<double>(wide)};

  double* composed = arena.take<double>(2L * n * (4L * n + inputs));

  LinearSeat(const Layout& layout, int inputs, Arena& arena)
      : arena(arena),
        links(layout.link_count),
        n(layout.variable_count),
        pad(padded_row(n)),
        inputs(inputs),
        wide(n * TreeStep::stride_of(layout, inputs)),
        freedom{layout,  n, pad, arena.take<int>(n), arena.take<int>(n), arena.take<char>(n), arena.take<char>(links),
                square()},
        tree{layout, arena.take<TreeLink>(links), arena.take<TreeAxis>(6L * links), arena.take<int>(6L * links)} {}
  Motions motions() { return {arena.take<double>(6L * pad), pad}; }
  double* square() { return arena.take<double>(static_cast<long>(n) * pad); }
};

}  // namespace

long linear_size(const Layout& layout, int inputs) {
  Arena arena{nullptr};
  const LinearSeat seat(layout, inputs, arena);
  return arena.used;
}

LinearOutcome linear_step(void* workspace, void* room, const LinearArgs& args) {
  Runner<Articulated<double>>& run = seated<Articulated<double>>(workspace);
  Arena arena{static_cast<char*>(room)};
  LinearSeat seat(run.layout, run.args.input_count, arena);
  seat.tree.number();
  ColumnSolver columns = {seat.freedom, run.solver, seat.origin, seat.pivot, seat.received, seat.carried, seat.first};
  run.node.change_inputs(run.taken);
  run.args.wants = false;
  TreeStep step = {seat.room, run, seat.freedom, seat.sums, columns, seat.origin};
  return step.find(seat.coordinates, args.A, args.B, seat.composed);
}

}  // namespace catena::CATENA_ISA
