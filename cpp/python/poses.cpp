// Poses that are given: what is open in them, whether one can start there, the coordinates of their joints, and bodies
// placed by coordinates.
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "batch/parallel_for.hpp"
#include "kernel/kernels.hpp"
#include "python/checks.hpp"
#include "python/core.hpp"

namespace catena {

void Core::gaps(const ConstDoubles& position, const ConstDoubles& orientation, const In<-1>& term_start,
                const RowFunctions& rows, const In<-1>& signals, const Out<-1, -1, 2>& out,
                const Out<-1, -1, 2>& loop_mismatch) const {
  require_shape(out, {-1, model_.layout().joint_count, 2}, "gaps");
  const auto poses = static_cast<Offset>(out.shape(0));
  const Offset n = model_.layout().link_count;
  require_shape(loop_mismatch, {poses, model_.layout().joint_count, 2}, "loop_mismatch");
  require_size(position, 3 * n * poses, "position");
  require_size(orientation, 4 * n * poses, "orientation");
  require_size(term_start, term_count_, "what couplings measure");
  require_size(signals, model_.layout().signal_count, "functions of time");
  const GapArgs args{
      .count = poses,
      .position = position.data(),
      .orientation = orientation.data(),
      .term_start = term_start.data(),
      .signals = signals.data(),
      .out = out.data(),
      .loop_mismatch = loop_mismatch.data(),
  };
  Callbacks calls;
  const Layout layout = attached(model_.layout(), calls, rows);
  const Workspace space = make_workspace(kernel_.gaps_size(layout));
  kernel_.gaps(layout, space.get(), args);
  calls.rethrow();
}

void Core::stands(int threads, const In<-1, -1, 3>& position, const In<-1, -1, 4>& orientation,
                  const In<-1, -1, 3>& velocity, const In<-1, -1, 3>& angular_velocity, const In<-1, -1>& term_start,
                  double closed, double roundings, double fastest, const In<-1>& length, double loop_tolerance,
                  const OutInts<-1>& out, const std::optional<GeometryArrays>& geometry) const {
  const Layout& layout = model_.layout();
  const Offset n = layout.link_count, count = static_cast<Offset>(position.shape(0));
  for (const auto* array : {&position, &velocity, &angular_velocity})
    require_shape(*array, {count, n, 3}, "poses and velocities");
  require_shape(orientation, {count, n, 4}, "orientations");
  require_shape(term_start, {count, term_count_}, "what couplings measure");
  require_shape(out, {count}, "poses that stand");
  std::fill_n(out.data(), count, 0);
  require_size(length, layout.joint_count, "lengths of joints");
  // rows that are called, or whose directions turn
  if (layout.signal_count > 0 || !hook_rows_.empty() || layout.redundant > 0) return;
  const auto square = [](const double* v, int size) {
    double sum = 0;
    for (int k = 0; k < size; ++k) sum += v[k] * v[k];
    return sum;
  };
  const MemberNumbers numbers = numbers_of_geometry(geometry, count);
  const auto stands_at = [&](const Layout& own, Offset pose, GapArgs& gaps, void* space) {
    const double *x = position.data() + 3 * n * pose, *q = orientation.data() + 4 * n * pose,
                 *v = velocity.data() + 3 * n * pose, *w = angular_velocity.data() + 3 * n * pose;
    if (!all_finite(x, 3 * n) || !all_finite(q, 4 * n) || !all_finite(v, 3 * n) || !all_finite(w, 3 * n)) return false;
    double low[3] = {INFINITY, INFINITY, INFINITY}, high[3] = {-INFINITY, -INFINITY, -INFINITY}, far = 0;
    for (Offset body = 0; body < n; ++body) {
      // two roundings of each; what is further off is normalised
      if (std::fabs(square(q + 4 * body, 4) - 1) > 1e-15) return false;
      if (!(std::sqrt(square(w + 3 * body, 3)) < fastest)) return false;
      for (int axis = 0; axis < 3; ++axis) {
        low[axis] = std::min(low[axis], x[3 * body + axis]);
        high[axis] = std::max(high[axis], x[3 * body + axis]);
        far = std::max(far, std::fabs(x[3 * body + axis]));
      }
    }
    const double box[3] = {high[0] - low[0], high[1] - low[1], high[2] - low[2]};
    const double most = closed * std::sqrt(square(box, 3)) + roundings * std::numeric_limits<double>::epsilon() * far;
    gaps.position = x;
    gaps.orientation = q;
    gaps.term_start = term_start.data() + term_count_ * pose;
    kernel_.gaps(own, space, gaps);
    for (int j = 0; j < layout.joint_count; ++j)
      if (!(gaps.out[2 * j] <= most && gaps.out[2 * j + 1] <= closed) ||
          !(std::hypot(gaps.loop_mismatch[2 * j] / length.data()[j], gaps.loop_mismatch[2 * j + 1]) <= loop_tolerance))
        return false;
    return true;
  };
  nb::gil_scoped_release release;
  in_parts(threads, count, [&](Offset first, Offset end) {
    std::vector<double> found(4 * static_cast<std::size_t>(layout.joint_count));
    const Workspace space = make_workspace(kernel_.gaps_size(layout));
    GapArgs gaps{.count = 1, .out = found.data(), .loop_mismatch = found.data() + 2 * layout.joint_count};
    each_layout(layout, numbers, first, end, [&](const Layout& own, Offset pose, Offset last) {
      for (; pose < last; ++pose) out.data()[pose] = stands_at(own, pose, gaps, space.get());
    });
  });
}

void Core::coordinates(const In<-1, -1, 3>& position, const In<-1, -1, 4>& orientation, const In<-1, -1, 3>& velocity,
                       const In<-1, -1, 3>& angular_velocity, const In<-1, -1>& counted, const In<-1, -1>& signals,
                       const In<-1, -1>& signal_rates, const Out<-1, -1>& coordinates, const Out<-1, -1>& rates,
                       const std::optional<GeometryArrays>& geometry) const {
  const Layout& layout = model_.layout();
  const auto count = static_cast<Offset>(position.shape(0));
  for (const auto* array : {&position, &velocity, &angular_velocity})
    require_shape(*array, {count, layout.link_count, 3}, "poses and velocities");
  require_shape(orientation, {count, layout.link_count, 4}, "orientations");
  require_shape(counted, {count, layout.counter_count}, "counted angles");
  for (const auto* array : {&signals, &signal_rates})
    require_shape(*array, {count, layout.signal_count}, "functions of time");
  for (const auto* array : {&coordinates, &rates})
    require_shape(*array, {count, layout.coordinate_count}, "coordinates");
  const Offset members = geometry ? static_cast<Offset>(geometry->joint_anchors.shape(0)) : count;
  require(members == 0 || count % members == 0, "geometry: as many poses of every member");
  const Offset each = members > 0 ? count / members : 0, n = layout.link_count, width = layout.coordinate_count;
  each_layout(layout, numbers_of_geometry(geometry, members), 0, members,
              [&](const Layout& own, Offset first, Offset end) {
                const Offset at = each * first;
                kernel_.coordinates(own, {.count = each * (end - first),
                                          .position = position.data() + 3 * n * at,
                                          .orientation = orientation.data() + 4 * n * at,
                                          .velocity = velocity.data() + 3 * n * at,
                                          .angular_velocity = angular_velocity.data() + 3 * n * at,
                                          .counted = counted.data() + layout.counter_count * at,
                                          .signals = signals.data() + layout.signal_count * at,
                                          .signal_rates = signal_rates.data() + layout.signal_count * at,
                                          .coordinate = coordinates.data() + width * at,
                                          .rate = rates.data() + width * at});
              });
}

void Core::place(int threads, const InInts<-1, 2>& moves, const In<-1, -1>& coordinates, const In<-1, -1>& rates,
                 const In<-1, -1>& signals, const In<-1, -1>& signal_rates, const Out<-1, -1, 3>& position,
                 const Out<-1, -1, 4>& orientation, const Out<-1, -1, 3>& velocity,
                 const Out<-1, -1, 3>& angular_velocity, const std::optional<GeometryArrays>& geometry) const {
  const Layout& layout = model_.layout();
  const auto count = static_cast<Offset>(position.shape(0));
  for (const auto* array : {&position, &velocity, &angular_velocity})
    require_shape(*array, {count, layout.link_count, 3}, "poses and velocities");
  require_shape(orientation, {count, layout.link_count, 4}, "orientations");
  for (const auto* array : {&signals, &signal_rates})
    require_shape(*array, {count, layout.signal_count}, "functions of time");
  for (const auto* array : {&coordinates, &rates}) {
    require_shape(*array, {count, layout.coordinate_count}, "coordinates and rates");
    require_finite(*array, "coordinates and rates");
  }
  require_shape(moves, {-1, 2}, "moves");
  const auto move_count = static_cast<int>(moves.shape(0));
  for (const int* move = moves.data(); move < moves.data() + 2 * move_count; move += 2) {
    require_between(move[0], move == moves.data() ? 0 : -1, layout.coordinated_count - 1, "the joint of a move");
    require_between(move[1], 0, layout.link_count - 1, "the body of a move");
    if (move[0] < 0) continue;
    const int *end = layout.coordinated[move[0]].joint.end, link = layout.body_link[move[1]];
    require(end[0] == link || end[1] == link, "the joint of a move does not hold the body");
  }
  const Offset n = layout.link_count, width = layout.coordinate_count, functions = layout.signal_count;
  const MemberNumbers numbers = numbers_of_geometry(geometry, count);
  const auto place = [&](const Layout& own, Offset first, Offset end) {
    kernel_.place(own, {.count = end - first,
                        .move_count = move_count,
                        .move = moves.data(),
                        .coordinate = coordinates.data() + width * first,
                        .rate = rates.data() + width * first,
                        .signals = signals.data() + functions * first,
                        .signal_rates = signal_rates.data() + functions * first,
                        .position = position.data() + 3 * n * first,
                        .orientation = orientation.data() + 4 * n * first,
                        .velocity = velocity.data() + 3 * n * first,
                        .angular_velocity = angular_velocity.data() + 3 * n * first});
  };
  nb::gil_scoped_release release;
  in_parts(threads, count, [&](Offset first, Offset end) { each_layout(layout, numbers, first, end, place); });
}

}  // namespace catena
