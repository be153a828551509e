// The functions of one instruction set, as a table.
#pragma once

#include "args/dynamics.hpp"
#include "args/linear.hpp"
#include "args/reach.hpp"
#include "args/run.hpp"

namespace catena {

struct Kernel {
  const char* name;
  long (*workspace_size)(const Layout&, SolverKind, int order);  // bytes, 64-byte aligned
  void (*run)(const Layout&, void* workspace, RunArgs&);
  // step by step: layout, workspace and arguments stay where they are from the first call on; the node stands in the
  // first record
  void (*start)(const Layout&, void* workspace, RunArgs&);
  void (*go_on)(void* workspace, const RunArgs&);
  bool (*rebound)(void* workspace, const RunArgs&);     // bounds of stops have been moved; false if that cannot be
  bool (*velocities)(void* workspace, const RunArgs&);  // of the node into the first record; false if there are none
  // the same in a workspace that others use in between: from the caller's arrays or a checkpoint, and into `checkpoint`
  void (*go_on_from)(const Layout&, void* workspace, RunArgs&, double* checkpoint);
  void (*save)(void* workspace, const RunArgs&, double* checkpoint);
  void (*restore)(void* workspace, const RunArgs&, const double* checkpoint);  // back to there
  void (*reactions)(void* workspace, const RunArgs&, double* checkpoint);      // of the node into the first record
  long (*checkpoint_size)(const Layout&, SolverKind, int order, int signal_count, int input_count);
  bool (*belongs)(const Layout&, const RunArgs&);  // the checkpoint to where the bodies are said to be
  // members of a batch at once, each with a layout and arguments of its own but the same mechanism and steps; 0 if they
  // have to run one by one
  int (*lane_count)(const Layout&, const RunArgs&);
  long (*lane_workspace_size)(const Layout&);
  void (*open_lanes)(const Layout&, void* workspace);  // once, before all that follows
  void (*run_lanes)(const Layout* const* layouts, void* workspace, RunArgs* args, int members);
  // step by step, checkpoints in a row of so many numbers, 64-byte aligned; lanes whose bit is set in
  // `entering` begin where their arrays say, all that a workspace has not seen do
  long (*lane_row_size)(void* workspace, RunArgs&);
  void (*go_on_lanes)(const Layout* const* layouts, void* workspace, RunArgs* args, int members, double* row,
                      unsigned entering, bool own_numbers);
  void (*linearise)(const Layout&, void* workspace, const LinearisationArgs&);
  void (*assemble)(const Layout&, void* workspace, AssembleArgs&);
  long (*close_size)(const Layout&, const ClosingPlan&);
  void (*close)(const Layout&, const ClosingPlan&, void* workspace, CloseArgs&);
  void (*start_pose)(const Layout&, const ClosingPlan&, void* workspace, StartPoseArgs&);
  void (*row_rates)(const Layout&, const ClosingPlan&, void* workspace, CloseArgs&, double* out);
  long (*reach_size)(const Layout&, const ClosingPlan&, const ReachArgs&);
  void (*reach)(const Layout&, const ClosingPlan&, void* workspace, ReachArgs&);
  long (*explore_size)(const Layout&);  // bytes of its workspace
  void (*explore)(const Layout&, void* workspace, ExploreArgs&);
  void (*rows)(const RowsArgs&);
  long (*gaps_size)(const Layout&);  // bytes, 64-byte aligned
  void (*gaps)(const Layout&, void* workspace, const GapArgs&);
  void (*coordinates)(const Layout&, const CoordinateArgs&);
  void (*place)(const Layout&, const PlaceArgs&);
  long (*dynamics_size)(const Layout&);  // bytes of the workspace of both
  DynamicsShape (*dynamics_shape)(const Layout&, void* workspace, int* coordinate);
  void (*dynamics)(const Layout&, void* workspace, const DynamicsArgs&);
  // the next step of what was begun with `start`, by the articulated solver, which then stands at its end
  long (*linear_size)(const Layout&, int inputs);  // bytes of its own room
  LinearOutcome (*linear_step)(void* workspace, void* room, const LinearArgs&);
  long (*relieve_size)(const Layout&, const LoopGroups&);
  void (*relieve)(const Layout&, const LoopGroups&, void* workspace, const StressArgs&);
};

}  // namespace catena
