// A mechanism that is compiled for a kernel, and all that can be asked of it.
#pragma once

#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/arena.hpp"
#include "batch/member.hpp"
#include "model/describe.hpp"
#include "model/elimination.hpp"
#include "python/arrays.hpp"
#include "python/callbacks.hpp"
#include "python/checks.hpp"

namespace catena {

// what Python hands over to be called: see Callbacks
using RowFunction = nb::typed<nb::callable, std::pair<ConstDoubles, ConstDoubles>(ConstDoubles)>;
using RowFunctions = std::vector<RowFunction>;
using SignalFunction = nb::typed<nb::callable, ConstDoubles(double)>;
using PollFunction = nb::typed<nb::callable, void(Offset)>;

// what a core is made of
struct CoreArguments : Description {
  std::string kernel;
};

// Holds no Python object: what may be called comes with every call.
class Core {
 public:
  explicit Core(const CoreArguments& given);
  Core(const Core&) = delete;
  Core& operator=(const Core&) = delete;

  // how every member ended, and how it got there
  std::pair<std::vector<Status>, std::vector<Tally>> run_batch(
      const Settings& settings, int threads, const Start& start, const LoadArrays& loads, const RowFunctions& rows,
      const SignalFunction& signals, int signal_count, const MemberArrays& numbers, const InInts<-1>& absent,
      const InInts<-1>& bodies, const NamedArrays& records, const std::optional<PollFunction>& poll) const;

  // whether members of a batch would run in lanes
  bool fits_lanes(SolverKind solver, int order, int signal_count) const;

  // see LinearisationArgs
  void linearise(double dt, double kick, const In<-1, 3>& position, const In<-1, 4>& orientation,
                 const In<-1, 3>& velocity, const In<-1, 3>& momentum, const In<-1>& unknowns, const Out<-1>& residual,
                 const Out<-1, -1>& matrix, const RowFunctions& rows, const std::optional<In<-1>>& signals) const;

  // see AssembleArgs; the number of iterations
  int assemble(int iteration_limit, const Out<-1, 3>& position, const Out<-1, 4>& orientation,
               const Out<-1, 3>& velocity, const Out<-1, 3>& angular_velocity, const In<-1>& term_start,
               const Out<-1>& counted, const RowFunctions& rows, const In<-1>& signals, const In<-1>& signal_rates,
               double loose_below) const;

  // See CloseArgs; what is left open, less than 0 if it would take more than `most_work` multiplications a step.
  // Branches are a joint (-1: none, it floats), its body and what carries that (-1 is the world), parents first; bounds
  // are a branch and one of its freedoms, and a lower and an upper value and that at the start; `chosen` (joint,
  // coupling) are to be closed.
  double close(int iteration_limit, double size, double amplitude, int seed, double most_work,
               const InInts<-1, 3>& branches, const InInts<-1, 2>& bounded, const In<-1, 3>& bounds,
               const InInts<-1>& chosen, const Out<-1, 3>& position, const Out<-1, 4>& orientation,
               const In<-1>& term_start, const Out<-1>& counted, const RowFunctions& rows, const In<-1>& signals) const;

  // See ReachArgs; where angles were counted to at the beginning.
  void reach(double size, int seed, int restarts, double enough, const InInts<-1, 3>& branches,
             const InInts<-1>& chosen, const InInts<-1>& held, const In<-1, 2>& range, const In<-1, 3>& start_position,
             const In<-1, 4>& start_orientation, const In<-1>& term_start, const In<-1>& counted,
             const RowFunctions& rows, const In<-1>& signals, const InInts<-1>& target_body,
             const In<-1, 3>& target_point, const In<-1, 4>& target_turn, const In<-1, 2>& weights,
             const In<-1, -1, 3>& place, const In<-1, -1, 4>& turn, const Out<-1, -1, 3>& position,
             const Out<-1, -1, 4>& orientation, const Out<-1, -1>& moved, const Out<-1, -1, 2>& left,
             const Out<-1>& open, const OutInts<-1>& attempts) const;

  // Rates (row, freedom of the branches) of all rows that are to be closed, at a pose.
  std::vector<double> row_rates(double size, const InInts<-1, 3>& branches, const InInts<-1>& chosen,
                                const Out<-1, 3>& position, const Out<-1, 4>& orientation, const In<-1>& term_start,
                                const Out<-1>& counted, const RowFunctions& rows, const In<-1>& signals) const;

  // See StartPoseArgs; of many members, in place, on so many threads. `held` are freedoms of the branches; `open` is
  // what is left in all, and the gap of the joint that is open most, m and rad.
  void start_poses(int threads, int iteration_limit, double size, double enough, const InInts<-1, 3>& branches,
                   const InInts<-1>& chosen, const InInts<-1>& held, bool is_guess, const In<-1>& from,
                   const In<-1, -1>& coordinates, const In<-1, -1>& rates, const RowFunctions& rows,
                   const In<-1>& signals, const In<-1, -1>& term_start, const Out<-1, -1>& counted,
                   const Out<-1, -1, 3>& position, const Out<-1, -1, 4>& orientation, const Out<-1, -1, 3>& velocity,
                   const Out<-1, -1, 3>& angular_velocity, const Out<-1, 3>& open, const OutInts<-1>& open_joint,
                   const std::optional<GeometryArrays>& geometry) const;

  // see GapArgs; one pose, or poses with an axis in front
  void gaps(const ConstDoubles& position, const ConstDoubles& orientation, const In<-1>& term_start,
            const RowFunctions& rows, const In<-1>& signals, const Out<-1, -1, 2>& out,
            const Out<-1, -1, 2>& loop_mismatch) const;

  // Which poses (pose, body, ...) can be started from as they are, 1 or 0: finite, of unit quaternions to rounding,
  // turning slower than `fastest` and with gaps of so many parts of the bodies' spread, and roundings of their
  // distance, or less, where redundant joints disagree by `loop_tolerance` or less (rad, or parts of their length).
  // What is no plain case is left to the caller, who can tell what is wrong.
  void stands(int threads, const In<-1, -1, 3>& position, const In<-1, -1, 4>& orientation,
              const In<-1, -1, 3>& velocity, const In<-1, -1, 3>& angular_velocity, const In<-1, -1>& term_start,
              double closed, double roundings, double fastest, const In<-1>& length, double loop_tolerance,
              const OutInts<-1>& out, const std::optional<GeometryArrays>& geometry) const;

  // see CoordinateArgs; with members' own geometry as many poses of each in turn
  void coordinates(const In<-1, -1, 3>& position, const In<-1, -1, 4>& orientation, const In<-1, -1, 3>& velocity,
                   const In<-1, -1, 3>& angular_velocity, const In<-1, -1>& counted, const In<-1, -1>& signals,
                   const In<-1, -1>& signal_rates, const Out<-1, -1>& coordinates, const Out<-1, -1>& rates,
                   const std::optional<GeometryArrays>& geometry) const;

  // see PlaceArgs
  void place(int threads, const InInts<-1, 2>& moves, const In<-1, -1>& coordinates, const In<-1, -1>& rates,
             const In<-1, -1>& signals, const In<-1, -1>& signal_rates, const Out<-1, -1, 3>& position,
             const Out<-1, -1, 4>& orientation, const Out<-1, -1, 3>& velocity, const Out<-1, -1, 3>& angular_velocity,
             const std::optional<GeometryArrays>& geometry) const;

  // Freedoms of the tree (freedom): the coordinate of each, or -1 - 6 body - k of the k-th of a body that floats; how
  // many rows there are, and the inertias of the rotors whose rows are the last of them.
  std::tuple<std::vector<int>, int, std::vector<double>> freedoms() const;
  // What holds or acts but not along freedoms of the tree: joints and couplings (the user's numbers), laws, and whether
  // air resists.
  std::tuple<std::vector<int>, std::vector<int>, bool> beside_tree() const;
  // see DynamicsArgs; outputs that are None are not computed
  void dynamics(const In<-1, -1, 3>& position, const In<-1, -1, 4>& orientation, const In<-1, -1, 3>& velocity,
                const In<-1, -1, 3>& angular_velocity, const In<-1, -1>& law_start, const In<-1, -1>& term_start,
                const InInts<-1, 2>& input_place, const std::optional<In<-1, -1>>& inputs,
                const In<-1, -1, -1>& signals, const In<-1, -1, -1>& signal_rates, double instant, bool gravity,
                bool passive, bool actuators, const std::optional<In<-1, -1>>& accelerations,
                const std::optional<InInts<-1>>& point_body, const std::optional<In<-1, 3>>& point,
                const RowFunctions& rows, const std::optional<Out<-1, -1>>& rates,
                const std::optional<Out<-1, -1>>& efforts, const std::optional<Out<-1, -1, -1>>& mass,
                const std::optional<Out<-1, -1, 6, -1>>& basis, const std::optional<Out<-1, -1, 6>>& drift,
                const std::optional<Out<-1, -1, -1>>& constraint_rows,
                const std::optional<Out<-1, -1>>& constraint_drift,
                const std::optional<Out<-1, -1, -1>>& coordinate_rows,
                const std::optional<Out<-1, -1>>& coordinate_drift, const std::optional<Out<-1, -1, 3>>& stops,
                const std::optional<Out<-1, -1, -1>>& stop_rows) const;

  // see StressArgs
  void relieve(const In<-1, -1, 3>& position, const In<-1, -1, 4>& orientation, const RowFunctions& rows,
               const In<-1, -1>& signals, double size, const In<-1>& scale, const Out<-1, -1>& multipliers) const;

  // see ExploreArgs; the number of poses
  int explore(double loop_tolerance, const In<-1, 3>& position, const In<-1, 4>& orientation, const In<-1>& term_start,
              const RowFunctions& rows, const In<-1>& signals, const In<-1>& length, const Out<-1, -1, 6>& singular,
              const Out<-1, -1, 6, 6>& direction, const Out<-1, -1, 6>& loop_mismatch) const;

  // the user's joint, couplings after the joints, of every loop closure; -1 for a law
  std::vector<int> loop_joints() const;
  // loops that share joints: (loop) the group it belongs to, and (group) how many freedoms the joints of its tree have
  std::pair<std::vector<int>, std::vector<int>> loop_groups() const;
  // the user's body index of every link, parents first
  std::vector<int> link_bodies() const;
  // the order in which the block LDU eliminates: for every node its body or -1, and its joint, couplings after the
  // joints, or -1; then the nodes that it touches from the beginning, and those it still touches in its turn, all as
  // places in this order
  using Turns = std::vector<std::vector<int>>;
  std::tuple<std::vector<std::pair<int, int>>, Turns, Turns> elimination() const;

  // estimated work of one Newton iteration, in multiplications as fast as the articulated solver's own
  double articulated_work() const { return model_.layout().articulated_work; }
  double ldu_work() const { return model_.layout().ldu_work; }
  // of one increment of `explore`
  double explore_work() const { return articulated_work() + model_.layout().largest_inversion; }
  const char* kernel_name() const { return kernel_.name; }
  int coordinate_count() const { return model_.layout().coordinate_count; }
  int row_count() const { return model_.layout().recorded_count; }
  int unknown_count() const { return 6 * model_.layout().link_count + model_.layout().row_count; }
  Offset workspace_size(SolverKind solver, int order) const;

  // ---- for those who run it

  const Kernel& kernel() const { return kernel_; }
  Offset term_count() const { return term_count_; }
  const Layout& layout_for(SolverKind solver) const {
    return solver == SolverKind::articulated ? model_.layout() : model_.with_elimination();
  }
  // the mechanism with the user's own rows as they are called on behalf of one run
  Layout attached(const Layout& given, Callbacks& calls, const RowFunctions& rows) const;
  Workspace workspace(SolverKind solver, int order) const { return make_workspace(workspace_size(solver, order)); }

 private:
  template <class Positions, class Orientations>
  void require_pose(const Positions& position, const Orientations& orientation) const {
    require_shape(position, {model_.layout().link_count, 3}, "position");
    require_shape(orientation, {model_.layout().link_count, 4}, "orientation");
  }

  MemberNumbers numbers_of_geometry(const std::optional<GeometryArrays>& geometry, Offset members) const;

  const Kernel& kernel_;
  Model model_;
  std::vector<int> hook_rows_;  // of every custom joint
  Offset term_count_;           // of all couplings, inactive ones too
};

}  // namespace catena
