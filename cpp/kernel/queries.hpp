// What is computed from poses alone, without a run: poses.cpp, and joints.cpp for what is asked of single joints.
#pragma once

#include "args/run.hpp"

namespace catena::CATENA_ISA {

void linearise(const Layout& layout, void* workspace, const LinearisationArgs& args);
void assemble(const Layout& layout, void* workspace, AssembleArgs& args);
long close_size(const Layout& layout, const ClosingPlan& plan);
void close(const Layout& layout, const ClosingPlan& plan, void* workspace, CloseArgs& args);
void start_pose(const Layout& layout, const ClosingPlan& plan, void* workspace, StartPoseArgs& args);
void row_rates(const Layout& layout, const ClosingPlan& plan, void* workspace, CloseArgs& args, double* out);
long explore_size(const Layout& layout);
void explore(const Layout& layout, void* workspace, ExploreArgs& args);
long gaps_size(const Layout& layout);
void find_gaps(const Layout& layout, void* workspace, const GapArgs& args);
long relieve_size(const Layout& layout, const LoopGroups& groups);
void relieve(const Layout& layout, const LoopGroups& groups, void* workspace, const StressArgs& args);

void evaluate_rows(const RowsArgs& args);
void find_coordinates(const Layout& layout, const CoordinateArgs& args);
void place_bodies(const Layout& layout, const PlaceArgs& args);

}  // namespace catena::CATENA_ISA
