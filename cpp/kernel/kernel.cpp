// The templates, compiled once per instruction set; CATENA_ISA names the set and the namespace.
#include "kernel/kernel.hpp"

#include "kernel/dynamics.hpp"
#include "kernel/joints.hpp"
#include "kernel/lane_seats.hpp"
#include "kernel/poses.hpp"
#include "kernel/seats.hpp"

namespace catena::CATENA_ISA {

namespace {

long workspace_size(const Layout& layout, SolverKind kind, int order) {
  return with_solver(kind, [&]<class S>(std::type_identity<S>) { return seat_size<S>(layout, order); });
}
long checkpoint_size(const Layout& layout, SolverKind kind, int order, int signal_count, int input_count) {
  return with_solver(kind, [&]<class S>(std::type_identity<S>) {
    return with_empty_seat<S>(layout, {.order = order, .input_count = input_count, .signal_count = signal_count},
                              [](Runner<S>& runner, long) { return runner.checkpoint.size(); });
  });
}
void run(const Layout& layout, void* workspace, RunArgs& args) {
  with_solver(args.solver, [&]<class S>(std::type_identity<S>) { runner_in<S>(layout, workspace, args).run(); });
}
void start(const Layout& layout, void* workspace, RunArgs& args) {
  with_solver(args.solver, [&]<class S>(std::type_identity<S>) { runner_in<S>(layout, workspace, args).start(); });
}
void go_on(void* workspace, const RunArgs& args) {
  with_solver(args.solver, [&]<class S>(std::type_identity<S>) { seated<S>(workspace).go_on(); });
}
bool rebound(void* workspace, const RunArgs& args) {
  return with_solver(args.solver, [&]<class S>(std::type_identity<S>) { return seated<S>(workspace).rebound(); });
}
bool velocities(void* workspace, const RunArgs& args) {
  return with_solver(args.solver,
                     [&]<class S>(std::type_identity<S>) { return seated<S>(workspace).show_velocities(); });
}
void go_on_from(const Layout& layout, void* workspace, RunArgs& args, double* row) {
  with_solver(args.solver, [&]<class S>(std::type_identity<S>) {
    Runner<S>& runner = runner_in<S>(layout, workspace, args);
    if (!args.checkpoint)
      runner.start();
    else
      runner.wake();
    if (args.status.code == StatusCode::done && args.steps > 0) runner.go_on();
    runner.save(row);
  });
}
void save(void* workspace, const RunArgs& args, double* row) {
  with_solver(args.solver, [&]<class S>(std::type_identity<S>) { seated<S>(workspace).save(row); });
}
void restore(void* workspace, const RunArgs& args, const double* row) {
  with_solver(args.solver, [&]<class S>(std::type_identity<S>) {
    Runner<S>& runner = seated<S>(workspace);
    runner.go_back(row);
    // from which a first step is guessed
    if (runner.history[0].count == 0) runner.projection.project(runner.node.arriving());
  });
}
void reactions(void* workspace, const RunArgs& args, double* row) {
  with_solver(args.solver, [&]<class S>(std::type_identity<S>) { seated<S>(workspace).react(row); });
}

int lane_count(const Layout& layout, const RunArgs& args) { return lanes_fit(layout, args) ? lane_width : 0; }

long lane_workspace_size(const Layout& layout) { return lanes_in(layout, nullptr); }
void open_lanes(const Layout& layout, void* workspace) { lanes_in(layout, workspace); }
void run_lanes(const Layout* const* layouts, void* workspace, RunArgs* args, int members) {
  lanes_at(workspace).seat(layouts, args, members);
  lanes_at(workspace).run();
}
long lane_row_size(void* workspace, RunArgs& args) {
  lanes_at(workspace).seat(nullptr, &args, 0);
  long count = 0;
  lanes_at(workspace).visit_state(LaneNumbers{[&](Lane&) { ++count; }});
  return count * lane_width;
}
void go_on_lanes(const Layout* const* layouts, void* workspace, RunArgs* args, int members, double* row,
                 unsigned entering, bool own_numbers) {
  lanes_at(workspace).seat(layouts, args, members);
  lanes_at(workspace).go_on(reinterpret_cast<Lane*>(row), entering, own_numbers);
}

}  // namespace

extern const Kernel kernel;
const Kernel kernel = {.name = CATENA_ISA_NAME,
                       .workspace_size = workspace_size,
                       .run = run,
                       .start = start,
                       .go_on = go_on,
                       .rebound = rebound,
                       .velocities = velocities,
                       .go_on_from = go_on_from,
                       .save = save,
                       .restore = restore,
                       .reactions = reactions,
                       .checkpoint_size = checkpoint_size,
                       .belongs = belongs,
                       .lane_count = lane_count,
                       .lane_workspace_size = lane_workspace_size,
                       .open_lanes = open_lanes,
                       .run_lanes = run_lanes,
                       .lane_row_size = lane_row_size,
                       .go_on_lanes = go_on_lanes,
                       .linearise = linearise,
                       .assemble = assemble,
                       .close_size = close_size,
                       .close = close,
                       .start_pose = start_pose,
                       .row_rates = row_rates,
                       .explore_size = explore_size,
                       .explore = explore,
                       .rows = evaluate_rows,
                       .gaps_size = gaps_size,
                       .gaps = find_gaps,
                       .coordinates = find_coordinates,
                       .place = place_bodies,
                       .dynamics_size = dynamics_size,
                       .dynamics_shape = dynamics_shape,
                       .dynamics = find_dynamics,
                       .relieve_size = relieve_size,
                       .relieve = relieve};

}  // namespace catena::CATENA_ISA
