// Where a run sits: the solver, the runner and all they refer to, laid out in a workspace.
#pragma once

#include <new>

#include "kernel/carve.hpp"
#include "simulate/run.hpp"
#include "solve/solver.hpp"
#include "solve/tree/articulated.hpp"

namespace catena::CATENA_ISA {

namespace {

template <class T>
Past<T> past_in(Arena& arena, int links) {
  return {arena.take<Wrench<T>>(links), arena.take<Wrench<T>>(links), arena.take<Wrench<T>>(links)};
}

}  // namespace

// what only one kind of solver needs; of the others in sparse_seats.hpp
inline Articulated<double> make(const Layout& layout, Arena& arena, Body<double>* body, Articulated<double>*) {
  Link<double>* link = arena.take<Link<double>>(layout.link_count);
  Segment* segment = arena.take<Segment>(layout.link_count);
  Axis<double>* axis = arena.take<Axis<double>>(layout.axis_count);
  Acting<double>* acting = arena.take<Acting<double>>(layout.axis_count);
  AtStop<double>* stopped = arena.take<AtStop<double>>(layout.stop_count > 0 ? layout.axis_count : 0);
  for (int n = 0; n < layout.axis_count && layout.stop_count > 0 && arena.at; ++n) stopped[n] = {};
  LawLine* line = arena.take<LawLine>(layout.law_count);
  for (int at = 0; at < layout.axis_law_count && arena.at; ++at) line[at] = law_line(layout.law[layout.axis_law[at]]);
  Swivel<double>* swivel = arena.take<Swivel<double>>(Articulated<double>::swivel_count(layout));
  Torsion<double>* torsion =
      arena.take<Torsion<double>>(layout.rotary_count > 0 ? Articulated<double>::swivel_count(layout) : 0);
  Articulation<double>* received = arena.take<Articulation<double>>(receiver_count(layout));
  // as of a matrix in which nothing closes, which is what idle loops have
  double* least_pivot = arena.take<double>(1);
  if (least_pivot) *least_pivot = 1;
  const Loops loop = {layout,
                      body,
                      arena.take<JointRows>(layout.loop_count),
                      arena.take<JointRows>(layout.loop_count),
                      arena.take<double>(layout.loop_row_count),
                      arena.take<double>(layout.loop_row_count),
                      arena.take<double>(layout.loop_row_count),
                      arena.take<double>(layout.loop_row_count),
                      arena.take<double>(layout.loop_row_count),
                      arena.take<char>(layout.loop_row_count),
                      arena.take<double>(layout.front_size),
                      arena.take<int>(2 * layout.largest_closing),
                      least_pivot};
  Tied* tied = arena.take<Tied>(layout.tie_count);
  double* ahead = arena.take<double>(Articulated<double>::unknown_count(layout));
  return {.layout = layout,
          .body = body,
          .link = link,
          .segment = segment,
          .axis = axis,
          .acting = acting,
          .stopped = stopped,
          .line = line,
          .swivel = swivel,
          .torsion = torsion,
          .received = received,
          .loop = loop,
          .tied = tied,
          .ahead = ahead};
}

static_assert(IsSolver<Articulated<double>>);

namespace {

// a runner and what it refers to, in a workspace
template <class Solver>
struct Seat {
  Composition parts;
  History history[most_parts + most_order];
  Solver solver;
  Newton<Solver> newton;
  Runner<Solver> runner;
};

// carves what one run needs out of the workspace; with no workspace it only counts, and the seat given has no arrays
template <class Solver>
Runner<Solver>& seat_in(const Layout& layout, Arena& arena, RunArgs& args, Seat<Solver>* given = nullptr) {
  const int count = Solver::unknown_count(layout);
  const Composition parts = composition_of(args.order);
  Seat<Solver>* const taken = arena.take<Seat<Solver>>(1);
  Seat<Solver>* const seat = taken ? taken : given;
  Body<double>* body = arena.take<Body<double>>(layout.link_count);
  Solver solver = make(layout, arena, body, static_cast<Solver*>(nullptr));
  solver.z = arena.take<double>(count);
  solver.dz = arena.take<double>(count);
  double* last_dz = arena.take<double>(count);
  const int links = layout.link_count, laws = layout.law_count;
  Room room = {.law_angle = arena.take<double>(laws),
               .law_force = arena.take<double>(laws),
               .law_momentum = arena.take<double>(laws),
               .pushed = arena.take<double>(layout.axis_count),
               .counted = arena.take<double>(layout.counter_count),
               .stop = arena.take<Stop>(layout.stop_count),
               .near = arena.take<int>(layout.stop_count),
               .freedom = arena.take<int>(layout.stop_count),
               .zeros = arena.take<double>(count),
               .rates = arena.take<double>(count),
               .scratch = arena.take<double>(count),
               .momentum = arena.take<double>(laws),
               .owed = arena.take<Wrench<double>>(links),
               .law_mode = arena.take<double>(laws),
               .acting = arena.take<Wrench<double>>(links),
               .saved = nullptr,
               .before = arena.take<double>(layout.recorded_count),
               .motor_before = arena.take<double>(laws),
               .acted = arena.take<Wrench<double>>(links),
               .past = past_in<double>(arena, parts.count > 1 ? 0 : links),
               .sum = arena.take<Wrench<double>>(parts.count > 1 ? links : 0),
               .end = arena.take<Place>(parts.count > 1 ? 0 : links)};
  const long differences = Checkpoint<Solver>::differences_of(layout);
  const int histories = Checkpoint<Solver>::histories_of(parts, args.order);
  double* known = arena.take<double>(histories * differences);
  const int motions = Solver::motion_count(layout), points = Newton<Solver>::points_of(layout);
  new (seat)
      Seat<Solver>{.parts = parts,
                   .history = {},
                   .solver = solver,
                   .newton = {seat->solver, count, motions, points, last_dz, args.tolerance, args.iteration_limit, 0},
                   .runner = {.layout = layout,
                              .args = args,
                              .solver = seat->solver,
                              .newton = seat->newton,
                              .parts = seat->parts,
                              .history = seat->history,
                              .history_count = histories,
                              .room = room}};
  Runner<Solver>& runner = seat->runner;
  room.saved = arena.take<double>(runner.checkpoint.motion_size());
  runner.reactions.saved = runner.rescue.saved = room.saved;
  seat->newton.select(seat->history[0]);
  if (!taken) return runner;
  for (int k = 0; k < count; ++k) room.zeros[k] = solver.z[k] = 0;
  for (int k = 0; k < layout.axis_count; ++k) room.pushed[k] = 0;
  for (int l = 0; l < laws; ++l) room.law_mode[l] = room.momentum[l] = 0;
  for (int i = 0; i < links && parts.count == 1; ++i) room.past.motion[i] = room.past.change[i] = {};
  for (long k = 0; k < histories * differences; ++k) known[k] = 0;
  for (int k = 0; k < histories; ++k) seat->history[k].differences = known + k * differences;
  for (int k = 0; k < Solver::memory_count(layout); ++k)
    static_cast<RowMemory&>(seat->solver.memories()[k]) = RowMemory{};
  return runner;
}
template <class Solver>
Runner<Solver>& runner_in(const Layout& layout, void* workspace, RunArgs& args) {
  Arena arena{static_cast<char*>(workspace)};
  return seat_in<Solver>(layout, arena, args);
}
// that which has been there since `start`
template <class Solver>
Runner<Solver>& seated(void* workspace) {
  return static_cast<Seat<Solver>*>(workspace)->runner;
}

// a function of a runner without arrays, and of the size of its workspace
template <class Solver, class F>
long with_empty_seat(const Layout& layout, RunArgs args, F&& use) {
  alignas(Seat<Solver>) char room[sizeof(Seat<Solver>)];
  Arena arena{nullptr};
  double no_signals = 0;
  LawInfo no_law = {};
  args.signals = &no_signals;
  args.laws = &no_law;
  Runner<Solver>& runner = seat_in<Solver>(layout, arena, args, reinterpret_cast<Seat<Solver>*>(room));
  return use(runner, arena.used);
}
template <class Solver>
long seat_size(const Layout& layout, int order) {
  return with_empty_seat<Solver>(layout, {.order = order}, [](Runner<Solver>&, long size) { return size; });
}

}  // namespace

}  // namespace catena::CATENA_ISA
