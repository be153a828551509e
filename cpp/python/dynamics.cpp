// What is asked of a core besides motion: see DynamicsArgs.
#include "python/core.hpp"

namespace catena {

std::tuple<std::vector<int>, int, std::vector<double>> Core::freedoms() const {
  const Layout& layout = model_.layout();
  const Workspace space = make_workspace(kernel_.dynamics_size(layout));
  std::vector<int> coordinate(6 * static_cast<std::size_t>(layout.link_count));
  const DynamicsShape shape = kernel_.dynamics_shape(layout, space.get(), coordinate.data());
  coordinate.resize(shape.freedoms);
  std::vector<double> rotors;
  for (int l = 0; l < layout.law_count; ++l)
    if (layout.law[l].inertia > 0 && layout.law[l].link < 0) rotors.push_back(layout.law[l].inertia);
  return {coordinate, shape.rows, rotors};
}

std::tuple<std::vector<int>, std::vector<int>, bool> Core::beside_tree() const {
  const Layout& layout = model_.layout();
  std::vector<int> joints, laws;
  for (int j = 0; j < layout.constraint_count; ++j) {
    const ConstraintInfo& c = layout.constraint[j];
    const bool moves_along = c.ground >= 0;
    if (c.joint >= 0 && (moves_along || c.rows == RowKind::rotary || (c.link < 0 && !c.acts())))
      joints.push_back(c.joint);
  }
  for (int l = 0; l < layout.law_count; ++l)
    if (layout.law[l].link < 0 && layout.law[l].stop < 0) laws.push_back(l);
  return {joints, laws, layout.drag != nullptr};
}

void Core::dynamics(const In<-1, -1, 3>& position, const In<-1, -1, 4>& orientation, const In<-1, -1, 3>& velocity,
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
                    const std::optional<Out<-1, -1, -1>>& stop_rows) const {
  const Layout& own = model_.layout();
  const auto count = static_cast<Offset>(position.shape(0)),
             points = point_body ? static_cast<Offset>(point_body->shape(0)) : Offset{0};
  const auto given = static_cast<Offset>(input_place.shape(0));
  for (const auto* array : {&position, &velocity, &angular_velocity})
    require_shape(*array, {count, own.link_count, 3}, "poses and velocities");
  require_shape(orientation, {count, own.link_count, 4}, "orientations");
  require_shape(law_start, {count, own.law_count}, "what forces measure");
  require_shape(term_start, {count, term_count_}, "what couplings measure");
  require_shape(input_place, {given, 2}, "places of inputs");
  for (Offset k = 0; k < given; ++k) {
    require_between(input_place.data()[2 * k], 0, own.law_count - 1, "the law of an input");
    require_between(input_place.data()[2 * k + 1], 0, law_size - 1, "the number of an input");
  }
  if (inputs) require_shape(*inputs, {count, given}, "inputs");
  for (const auto* array : {&signals, &signal_rates})
    require_shape(*array, {count, instant_count, own.signal_count}, "functions of time");
  if (points > 0) {
    require(point.has_value(), "points need their places on their bodies");
    require_shape(*point, {points, 3}, "points");
  }
  for (Offset p = 0; p < points; ++p)
    require_between(point_body->data()[p], 0, own.link_count - 1, "the body of a point");

  Callbacks calls;
  const Layout layout = attached(own, calls, rows);
  const Workspace space = make_workspace(kernel_.dynamics_size(layout));
  std::vector<int> coordinate(6 * static_cast<std::size_t>(layout.link_count));
  const DynamicsShape shape = kernel_.dynamics_shape(layout, space.get(), coordinate.data());
  const Offset freedoms = shape.freedoms, coordinates = layout.coordinate_count;
  const auto at = [&](const auto& array, std::initializer_list<Offset> wanted, const char* what) {
    if (array) require_shape(*array, wanted, what);
    return array ? array->data() : nullptr;
  };
  const DynamicsArgs args{
      .count = count,
      .position = position.data(),
      .orientation = orientation.data(),
      .velocity = velocity.data(),
      .angular_velocity = angular_velocity.data(),
      .law_start = law_start.data(),
      .term_count = static_cast<int>(term_count_),
      .term_start = term_start.data(),
      .input_count = static_cast<int>(given),
      .input_place = input_place.data(),
      .inputs = inputs ? inputs->data() : nullptr,
      .signals = signals.data(),
      .signal_rates = signal_rates.data(),
      .instant = instant,
      .gravity = gravity,
      .passive = passive,
      .actuators = actuators,
      .accelerations = at(accelerations, {count, freedoms}, "accelerations"),
      .point_count = static_cast<int>(points),
      .point_body = points > 0 ? point_body->data() : nullptr,
      .point = points > 0 ? point->data() : nullptr,
      .rates = at(rates, {count, freedoms}, "rates"),
      .efforts = at(efforts, {count, freedoms}, "efforts"),
      .mass = at(mass, {count, freedoms, freedoms}, "mass"),
      .basis = at(basis, {count, points, 6, freedoms}, "basis"),
      .drift = at(drift, {count, points, 6}, "drift"),
      .rows = at(constraint_rows, {count, shape.rows, freedoms}, "rows"),
      .row_drift = at(constraint_drift, {count, shape.rows}, "drift of rows"),
      .stops = at(stops, {count, layout.stop_count, 3}, "stops"),
      .stop_rows = at(stop_rows, {count, layout.stop_count, freedoms}, "rows of stops"),
      .coordinate_rows = at(coordinate_rows, {count, coordinates, freedoms}, "rows of coordinates"),
      .coordinate_drift = at(coordinate_drift, {count, coordinates}, "drift of coordinates"),
  };
  require(!args.stops == !args.stop_rows, "stops are asked for with their rows");
  kernel_.dynamics(layout, space.get(), args);
  calls.rethrow();
}

}  // namespace catena
