// Poses that close all joints, in many members at once: see simulate/trust_region.hpp and start_pose.hpp.
#include <vector>

#include "batch/parallel_for.hpp"
#include "model/assembly_tree.hpp"
#include "python/checks.hpp"
#include "python/core.hpp"

namespace catena {

namespace {

void require_branches(const InInts<-1, 3>& branches, const Layout& own) {
  require(own.law_count == 0 && own.row_count == own.recorded_count, "all rows, and no laws, are needed for this");
  require_shape(branches, {own.link_count, 3}, "branches");
  // every body hangs on one that comes before it
  std::vector<char> there(own.link_count, 0);
  for (Offset k = 0; k < own.link_count; ++k) {
    const int *branch = branches.data() + 3 * k, child = branch[1], parent = branch[2];
    require(child >= 0 && child < own.link_count && !there[child], "branches: a body is there twice, or is none");
    require(parent >= -1 && parent < own.link_count && (parent < 0 || there[parent]), "branches: parents come first");
    require(branch[0] >= -1 && branch[0] < own.joint_count, "branches: there is no such joint");
    if (branch[0] >= 0) {
      const int at = own.joint_constraint[branch[0]];
      require(at >= 0 && own.constraint[at].kind != JointKind::coupling, "branches: there is no such joint");
      const int *end = own.constraint[at].end, c = own.body_link[child], p = parent < 0 ? -1 : own.body_link[parent];
      require((end[0] == c && end[1] == p) || (end[0] == p && end[1] == c), "branches: a joint is of other bodies");
    } else {
      require(parent < 0, "branches: what floats stands in the world");
    }
    there[child] = 1;
  }
}

// the first coordinate of the joint of every branch, -1 if it has none
std::vector<int> coordinates_of(const InInts<-1, 3>& branches, const Layout& layout) {
  std::vector<int> first(layout.joint_count, -1), found;
  for (int j = 0; j < layout.coordinated_count; ++j)
    first[layout.coordinated[j].joint.joint] = layout.coordinated[j].coordinate;
  for (int k = 0; k < layout.link_count; ++k) {
    const int joint = branches.data()[3 * k];
    found.push_back(joint < 0 ? -1 : first[joint]);
  }
  return found;
}

}  // namespace

double Core::close(int iteration_limit, double size, double amplitude, int seed, double most_work,
                   const InInts<-1, 3>& branches, const InInts<-1, 2>& bounded, const In<-1, 3>& bounds,
                   const InInts<-1>& chosen, const Out<-1, 3>& position, const Out<-1, 4>& orientation,
                   const In<-1>& term_start, const Out<-1>& counted, const RowFunctions& rows,
                   const In<-1>& signals) const {
  const Layout& own = model_.layout();
  require_pose(position, orientation);
  require_shape(bounded, {-1, 2}, "coordinates with bounds");
  require_shape(bounds, {static_cast<Offset>(bounded.shape(0)), 3}, "bounds");
  require_size(chosen, own.joint_count, "joints to be closed");
  require_size(term_start, term_count_, "what couplings measure");
  require_size(counted, own.counter_count, "angles");
  require_size(signals, own.signal_count, "functions of time");
  require_branches(branches, own);
  std::vector<Closing::Bound> ranges;
  for (std::size_t k = 0; k < bounded.shape(0); ++k) {
    const int* at = bounded.data() + 2 * k;
    const double* range = bounds.data() + 3 * k;
    require(at[0] >= 0 && at[0] < own.link_count && at[1] >= 0 && at[1] < 6, "bounds: there is no such coordinate");
    ranges.push_back({at[0], at[1], range[0], range[1], range[2]});
  }
  Callbacks calls;
  const Layout layout = attached(own, calls, rows);
  const Closing closing(layout, branches.data(), own.link_count, chosen.data(), ranges);
  if (closing.plan().work > most_work) return -1;
  CloseArgs args{
      .iteration_limit = iteration_limit,
      .size = size,
      .amplitude = amplitude,
      .seed = static_cast<unsigned long long>(seed),
      .position = position.data(),
      .orientation = orientation.data(),
      .term_start = term_start.data(),
      .signals = signals.data(),
      .counted = counted.data(),
  };
  const Workspace space = make_workspace(kernel_.close_size(layout, closing.plan()));
  {
    nb::gil_scoped_release release;
    kernel_.close(layout, closing.plan(), space.get(), args);
  }
  calls.rethrow();
  return args.open;
}

void Core::reach(double size, int seed, int restarts, double enough, const InInts<-1, 3>& branches,
                 const InInts<-1>& chosen, const InInts<-1>& held, const In<-1, 2>& range,
                 const In<-1, 3>& start_position, const In<-1, 4>& start_orientation, const In<-1>& term_start,
                 const In<-1>& counted, const RowFunctions& rows, const In<-1>& signals, const InInts<-1>& target_body,
                 const In<-1, 3>& target_point, const In<-1, 4>& target_turn, const In<-1, 2>& weights,
                 const In<-1, -1, 3>& place, const In<-1, -1, 4>& turn, const Out<-1, -1, 3>& position,
                 const Out<-1, -1, 4>& orientation, const Out<-1, -1>& moved, const Out<-1, -1, 2>& left,
                 const Out<-1>& open, const OutInts<-1>& attempts) const {
  const Layout& own = model_.layout();
  const auto targets = static_cast<Offset>(target_body.shape(0)), count = static_cast<Offset>(place.shape(0));
  require_pose(start_position, start_orientation);
  require_branches(branches, own);
  require_size(chosen, own.joint_count, "joints to be closed");
  require_size(term_start, term_count_, "what couplings measure");
  require_size(counted, own.counter_count, "angles");
  require_size(signals, own.signal_count, "functions of time");
  for (Offset k = 0; k < targets; ++k)
    require_between(target_body.data()[k], 0, own.link_count - 1, "the body of a target");
  require_shape(target_point, {targets, 3}, "points");
  require_shape(target_turn, {targets, 4}, "frames");
  require_shape(weights, {targets, 2}, "weights");
  require_shape(place, {count, targets, 3}, "places");
  require_shape(turn, {count, targets, 4}, "orientations");
  require_shape(position, {count, own.link_count, 3}, "position");
  require_shape(orientation, {count, own.link_count, 4}, "orientation");
  require_shape(left, {count, targets, 2}, "what is left");
  require_shape(open, {count}, "gaps");
  require_shape(attempts, {count}, "attempts");
  Callbacks calls;
  const Layout layout = attached(own, calls, rows);
  const Closing closing(layout, branches.data(), own.link_count, chosen.data(), {});
  const Offset freedoms = closing.plan().freedom_count;
  require_size(held, freedoms, "freedoms that are held");
  require_shape(range, {freedoms, 2}, "ranges");
  require_shape(moved, {count, freedoms}, "how far joints are moved");
  std::vector<double> first_position(start_position.data(), start_position.data() + 3 * own.link_count),
      first_orientation(start_orientation.data(), start_orientation.data() + 4 * own.link_count),
      angles(counted.data(), counted.data() + own.counter_count);
  ReachArgs args{.close = {.size = size,
                           .seed = static_cast<unsigned long long>(seed),
                           .position = first_position.data(),
                           .orientation = first_orientation.data(),
                           .term_start = term_start.data(),
                           .signals = signals.data(),
                           .counted = angles.data(),
                           .held = held.data()},
                 .target_count = static_cast<int>(targets),
                 .target_body = target_body.data(),
                 .target_point = target_point.data(),
                 .target_turn = target_turn.data(),
                 .weight = weights.data(),
                 .count = count,
                 .place = place.data(),
                 .turn = turn.data(),
                 .range = range.data(),
                 .restarts = restarts,
                 .enough = enough,
                 .position = position.data(),
                 .orientation = orientation.data(),
                 .moved = moved.data(),
                 .left = left.data(),
                 .open = open.data(),
                 .attempts = attempts.data()};
  const Workspace space = make_workspace(kernel_.reach_size(layout, closing.plan(), args));
  {
    nb::gil_scoped_release release;
    kernel_.reach(layout, closing.plan(), space.get(), args);
  }
  calls.rethrow();
}

std::vector<double> Core::row_rates(double size, const InInts<-1, 3>& branches, const InInts<-1>& chosen,
                                    const Out<-1, 3>& position, const Out<-1, 4>& orientation, const In<-1>& term_start,
                                    const Out<-1>& counted, const RowFunctions& rows, const In<-1>& signals) const {
  const Layout& own = model_.layout();
  require_pose(position, orientation);
  require_branches(branches, own);
  require_size(chosen, own.joint_count, "joints to be closed");
  require_size(term_start, term_count_, "what couplings measure");
  require_size(counted, own.counter_count, "angles");
  require_size(signals, own.signal_count, "functions of time");
  Callbacks calls;
  const Layout layout = attached(own, calls, rows);
  const Closing closing(layout, branches.data(), own.link_count, chosen.data(), {});
  CloseArgs args{.size = size,
                 .position = position.data(),
                 .orientation = orientation.data(),
                 .term_start = term_start.data(),
                 .signals = signals.data(),
                 .counted = counted.data()};
  const Workspace space = make_workspace(kernel_.close_size(layout, closing.plan()));
  std::vector<double> found(static_cast<std::size_t>(closing.plan().row_count) * closing.plan().freedom_count);
  kernel_.row_rates(layout, closing.plan(), space.get(), args, found.data());
  calls.rethrow();
  return found;
}

void Core::start_poses(int threads, int iteration_limit, double size, double enough, const InInts<-1, 3>& branches,
                       const InInts<-1>& chosen, const InInts<-1>& held, bool is_guess, const In<-1>& from,
                       const In<-1, -1>& coordinates, const In<-1, -1>& rates, const RowFunctions& rows,
                       const In<-1>& signals, const In<-1, -1>& term_start, const Out<-1, -1>& counted,
                       const Out<-1, -1, 3>& position, const Out<-1, -1, 4>& orientation,
                       const Out<-1, -1, 3>& velocity, const Out<-1, -1, 3>& angular_velocity, const Out<-1, 3>& open,
                       const OutInts<-1>& open_joint, const std::optional<GeometryArrays>& geometry) const {
  const Layout& own = model_.layout();
  const Offset n = own.link_count, width = own.coordinate_count, count = static_cast<Offset>(position.shape(0));
  require_branches(branches, own);
  require_size(chosen, own.joint_count, "joints to be closed");
  for (const auto* array : {&position, &velocity, &angular_velocity})
    require_shape(*array, {count, n, 3}, "poses and velocities");
  require_shape(orientation, {count, n, 4}, "orientations");
  require_shape(from, {width}, "described coordinates");
  for (const auto* array : {&coordinates, &rates}) {
    require_shape(*array, {count, width}, "coordinates and rates");
    require_finite(*array, "coordinates and rates");
  }
  require_shape(term_start, {count, term_count_}, "what couplings measure");
  require_shape(counted, {count, own.counter_count}, "angles");
  require_size(signals, own.signal_count, "functions of time");
  require_shape(open, {count, 3}, "gaps");
  require_shape(open_joint, {count}, "joints that are open");
  Callbacks calls;
  const Layout layout = attached(own, calls, rows);
  const Closing closing(layout, branches.data(), own.link_count, chosen.data(), {});
  require_size(held, closing.plan().freedom_count, "freedoms that are held");
  const std::vector<int> first_coordinate = coordinates_of(branches, layout);
  const MemberNumbers numbers = numbers_of_geometry(geometry, count);
  {
    nb::gil_scoped_release release;
    in_parts(threads, count, [&](Offset first, Offset end) {
      const Workspace space = make_workspace(kernel_.close_size(layout, closing.plan()));
      const auto close = [&](const Layout& member, Offset k) {
        StartPoseArgs args{.close = {.iteration_limit = iteration_limit,
                                     .size = size,
                                     .position = position.data() + 3 * n * k,
                                     .orientation = orientation.data() + 4 * n * k,
                                     .term_start = term_start.data() + term_count_ * k,
                                     .signals = signals.data(),
                                     .counted = counted.data() + own.counter_count * k,
                                     .held = held.data()},
                           .velocity = velocity.data() + 3 * n * k,
                           .angular_velocity = angular_velocity.data() + 3 * n * k,
                           .first_coordinate = first_coordinate.data(),
                           .from = from.data(),
                           .described = &layout,
                           .coordinate = coordinates.data() + width * k,
                           .rate = rates.data() + width * k,
                           .is_guess = is_guess,
                           .enough = enough};
        kernel_.start_pose(member, closing.plan(), space.get(), args);
        double* left = open.data() + 3 * k;
        left[0] = args.close.open, left[1] = args.gap[0], left[2] = args.gap[1];
        open_joint.data()[k] = args.joint;
      };
      each_layout(layout, numbers, first, end, [&](const Layout& member, Offset k, Offset last) {
        for (; k < last; ++k) close(member, k);
      });
    });
  }
  calls.rethrow();
}

}  // namespace catena
