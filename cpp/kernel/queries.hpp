// What is computed from poses alone, without a run: poses.cpp, joints.cpp for what is asked of single joints, and
// dynamics.cpp for the equations of motion; and linear.cpp, which linearizes a step of a run.
#pragma once

#include "args/dynamics.hpp"
#include "args/linear.hpp"
#include "args/reach.hpp"
#include "args/run.hpp"

namespace catena::CATENA_ISA {

void linearise(const Layout& layout, void* workspace, const LinearisationArgs& args);
void assemble(const Layout& layout, void* workspace, AssembleArgs& args);
long close_size(const Layout& layout, const ClosingPlan& plan);
void close(const Layout& layout, const ClosingPlan& plan, void* workspace, CloseArgs& args);
void start_pose(const Layout& layout, const ClosingPlan& plan, void* workspace, StartPoseArgs& args);
void row_rates(const Layout& layout, const ClosingPlan& plan, void* workspace, CloseArgs& args, double* out);
long reach_size(const Layout& layout, const ClosingPlan& plan, const ReachArgs& args);
void reach(const Layout& layout, const ClosingPlan& plan, void* workspace, ReachArgs& args);
long explore_size(const Layout& layout);
void explore(const Layout& layout, void* workspace, ExploreArgs& args);
long gaps_size(const Layout& layout);
void find_gaps(const Layout& layout, void* workspace, const GapArgs& args);
long relieve_size(const Layout& layout, const LoopGroups& groups);
void relieve(const Layout& layout, const LoopGroups& groups, void* workspace, const StressArgs& args);

void evaluate_rows(const RowsArgs& args);
void find_coordinates(const Layout& layout, const CoordinateArgs& args);
void place_bodies(const Layout& layout, const PlaceArgs& args);

long dynamics_size(const Layout& layout);
DynamicsShape dynamics_shape(const Layout& layout, void* workspace, int* coordinate);
void find_dynamics(const Layout& layout, void* workspace, const DynamicsArgs& args);

long linear_size(const Layout& layout, int inputs);
LinearOutcome linear_step(void* workspace, void* room, const LinearArgs& args);

}  // namespace catena::CATENA_ISA
