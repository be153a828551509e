// The table of an instruction set, and what runs most: the articulated solver, single and in lanes. CATENA_ISA
// names the set and the namespace.
#include "kernel/kernel.hpp"

#include "kernel/lane_seats.hpp"
#include "kernel/queries.hpp"
#include "kernel/single.hpp"

namespace catena::CATENA_ISA {

const SingleRuns articulated_runs = single_runs<Articulated<double>>;

namespace {

const SingleRuns& runs_of(SolverKind kind) {
  if (kind == SolverKind::ldu) return ldu_runs;
  if (kind == SolverKind::dense) return dense_runs;
  return articulated_runs;
}

long workspace_size(const Layout& layout, SolverKind kind, int order) {
  return runs_of(kind).workspace_size(layout, order);
}
long checkpoint_size(const Layout& layout, SolverKind kind, int order, int signal_count, int input_count) {
  return runs_of(kind).checkpoint_size(layout, order, signal_count, input_count);
}
void run(const Layout& layout, void* workspace, RunArgs& args) { runs_of(args.solver).run(layout, workspace, args); }
void start(const Layout& layout, void* workspace, RunArgs& args) {
  runs_of(args.solver).start(layout, workspace, args);
}
void go_on(void* workspace, const RunArgs& args) { runs_of(args.solver).go_on(workspace); }
bool rebound(void* workspace, const RunArgs& args) { return runs_of(args.solver).rebound(workspace); }
bool velocities(void* workspace, const RunArgs& args) { return runs_of(args.solver).velocities(workspace); }
void go_on_from(const Layout& layout, void* workspace, RunArgs& args, double* row) {
  runs_of(args.solver).go_on_from(layout, workspace, args, row);
}
void save(void* workspace, const RunArgs& args, double* row) { runs_of(args.solver).save(workspace, row); }
void restore(void* workspace, const RunArgs& args, const double* row) { runs_of(args.solver).restore(workspace, row); }
void reactions(void* workspace, const RunArgs& args, double* row) { runs_of(args.solver).reactions(workspace, row); }

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
                       .reach_size = reach_size,
                       .reach = reach,
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
                       .linear_size = linear_size,
                       .linear_step = linear_step,
                       .relieve_size = relieve_size,
                       .relieve = relieve};

}  // namespace catena::CATENA_ISA
