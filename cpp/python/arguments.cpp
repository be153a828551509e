#include "python/arguments.hpp"

#include <algorithm>
#include <initializer_list>

#include "python/callbacks.hpp"
#include "python/checks.hpp"

namespace catena {

namespace {

// one for all nodes, or one for each; one for all members, or one for each
void require_loads(const LoadArrays& loads, Offset members, Offset steps, int body_count, int signal_count) {
  const auto count = static_cast<Offset>(loads.body.size());
  require_shape(loads.point, {count, 3}, "points of loads");
  require_shape(loads.in_body_frame, {count}, "frames of loads");
  require_shape(loads.signal, {count}, "functions of loads");
  require_shape(loads.values, {-1, -1, count, 6}, "values of loads");
  const auto owners = static_cast<Offset>(loads.values.shape(0)), rows = static_cast<Offset>(loads.values.shape(1));
  require(owners == 1 || owners == members, "values of loads: those of all members, or of each");
  require(rows == 1 || rows == steps + 1, "values of loads: one row for all nodes or one for each");
  require_finite(loads.point, "points of loads");
  require_finite(loads.values, "values of loads");
  for (Offset k = 0; k < count; ++k) {
    require_between(loads.body.data()[k], 0, body_count - 1, "body of a load");
    require_signal(loads.signal.data()[k], 6, signal_count, "where the function of a load is found");
  }
}

}  // namespace

void require_start(const Start& start, const Layout& layout, Offset terms) {
  const auto members = static_cast<Offset>(start.position.shape(0));
  const Offset n = layout.link_count;
  for (const auto* array : {&start.position, &start.velocity, &start.angular_velocity})
    require_shape(*array, {members, n, 3}, "the state to start from");
  require_shape(start.orientation, {members, n, 4}, "the state to start from");
  require_shape(start.law_start, {members, layout.law_count}, "what forces measure");
  require_shape(start.term_start, {members, terms}, "what couplings measure");
  require_shape(start.counter_start, {members, -1}, "angles to start from");
  const auto counters = static_cast<Offset>(start.counter_start.shape(1));
  require(counters == 0 || counters == layout.counter_count, "angles to start from: all or none are counted");
  for (const ConstDoubles* array : std::initializer_list<const ConstDoubles*>{
           &start.position, &start.orientation, &start.velocity, &start.angular_velocity, &start.law_start,
           &start.term_start, &start.counter_start})
    require_finite(*array, "the state to start from");
}

RunArgs arguments(const Layout& layout, Offset terms, const Settings& settings, const Start& start,
                  const LoadArrays& loads, int signal_count) {
  require_settings(settings);
  require(signal_count >= layout.signal_count, "the mechanism's functions of time are missing");
  require_start(start, layout, terms);
  require_loads(loads, static_cast<Offset>(start.position.shape(0)), settings.steps, layout.link_count, signal_count);
  return {
      .solver = settings.solver,
      .dt = settings.dt,
      .tolerance = settings.tolerance,
      .start_time = settings.start_time,
      .order = settings.order,
      .iteration_limit = settings.iteration_limit,
      .rescue_depth = settings.rescue_depth,
      .estimates = settings.estimates,
      .size = settings.size,
      .error_rate = settings.error_rate,
      .paper_start = settings.paper_start,
      .steps = settings.steps,
      .record_every = settings.record_every,
      .position = start.position.data(),
      .orientation = start.orientation.data(),
      .velocity = start.velocity.data(),
      .angular_velocity = start.angular_velocity.data(),
      .law_start = start.law_start.data(),
      .term_start = start.term_start.data(),
      .loads = {.count = static_cast<int>(loads.body.size()),
                .body = loads.body.data(),
                .point = loads.point.data(),
                .in_body_frame = loads.in_body_frame.data(),
                .signal = loads.signal.data(),
                .values = loads.values.data(),
                .rows = static_cast<long>(loads.values.shape(1))},
      .signal_count = signal_count,
      .read_signals = Callbacks::call_signals,
      .counter_count = static_cast<int>(start.counter_start.shape(1)),
      .counter_start = start.counter_start.data(),
  };
}

std::vector<InputInfo> inputs_of(const InInts<-1, 2>& input, const Layout& layout) {
  require_shape(input, {-1, 2}, "inputs");
  std::vector<InputInfo> inputs;
  for (std::size_t k = 0; k < input.shape(0); ++k) {
    const InputInfo info = {input.data()[2 * k], input.data()[2 * k + 1]};
    require_between(info.law, 0, layout.law_count - 1, "the law of an input");
    require_between(info.number, 0, law_size - 1, "the number of an input");
    inputs.push_back(info);
  }
  return inputs;
}

GeometryNumbers geometry_numbers(const GeometryArrays& given, Offset members, const Layout& layout) {
  const Offset joints = plain_joint_count(layout), measures = measure_count(layout);
  require_shape(given.joint_anchors, {members, joints, 2, 3}, "anchors");
  require_shape(given.joint_frames, {members, joints, 2, 4}, "frames");
  require_shape(given.joint_parameter, {members, joints}, "parameters of joints");
  require_shape(given.measure_anchors, {members, measures, 2, 3}, "anchors of measures");
  require_shape(given.measure_frames, {members, measures, 2, 4}, "frames of measures");
  require_finite(given.joint_anchors, "anchors");
  require_finite(given.joint_frames, "frames");
  require_finite(given.joint_parameter, "parameters of joints");
  require_finite(given.measure_anchors, "anchors of measures");
  require_finite(given.measure_frames, "frames of measures");
  return {given.joint_anchors.data(), given.joint_frames.data(), given.joint_parameter.data(),
          given.measure_anchors.data(), given.measure_frames.data()};
}

MemberNumbers member_numbers(const MemberArrays& numbers, Offset members, const Layout& layout) {
  const Offset n = layout.link_count, laws = layout.law_count;
  if (numbers.mass) {
    require_shape(*numbers.mass, {members, n}, "masses");
    require_finite(*numbers.mass, "masses");
    for (Offset k = 0; k < members * n; ++k) {
      const LinkInfo& link = layout.link[layout.body_link[k % n]];
      require(link.mass > 0 ? numbers.mass->data()[k] > 0 : numbers.mass->data()[k] == 0, "masses must be positive");
    }
  }
  if (numbers.inertia) {
    require_shape(*numbers.inertia, {members, n, 3, 3}, "inertias");
    require_finite(*numbers.inertia, "inertias");
  }
  if (numbers.gravity) {
    require_shape(*numbers.gravity, {members, n, 3}, "gravity");
    require_finite(*numbers.gravity, "gravity");
  }
  if (numbers.law) {
    require_shape(*numbers.law, {members, laws, law_size}, "laws");
    for (Offset k = 0; k < members * laws; ++k) require_law(numbers.law->data() + law_size * k, "laws");
  }
  const auto given_or_null = [](const auto& array) { return array ? array->data() : nullptr; };
  return {.mass = given_or_null(numbers.mass),
          .inertia = given_or_null(numbers.inertia),
          .gravity = given_or_null(numbers.gravity),
          .law = given_or_null(numbers.law),
          .geometry = numbers.geometry ? geometry_numbers(*numbers.geometry, members, layout) : GeometryNumbers{}};
}

Offset record_into(RunArgs& args, const NamedArrays& records, Offset members, const Layout& layout, Offset bodies) {
  const Offset least = (args.steps + args.record_every - 1) / args.record_every + 1;
  RecordSizes sizes = {.steps = std::max(args.steps, Offset{1}),
                       .bodies = bodies,
                       .rows = layout.recorded_count,
                       .counters = args.counter_count,
                       .inputs = args.input_count,
                       .estimates = true};
  visit_records(
      [&]<class T>(const RecordInfo& info, T*& out) {
        AnyShape<T> array;
        const bool optional = info.per != Per::node || info.of == Of::row || info.of == Of::input;
        if (optional && !records.contains(info.name)) return;
        require(records.contains(info.name) && nb::try_cast(records[info.name], array),
                "records: the core needs an array ", info.name);
        if (sizes.records == 0) {
          require(array.ndim() == 2, "records: time is (member, record)");
          sizes.records = static_cast<Offset>(array.shape(1));
          require(sizes.records >= least, "there is too little room for records");
        }
        std::vector<Offset> shape = {members, sizes.length(info.per)};
        if (info.of != Of::all) shape.push_back(sizes.entries(info.of));
        if (info.width > 1) shape.push_back(info.width);
        require_shape(array, shape, info.name);
        out = array.data();
      },
      args.out);
  return sizes.records;
}

}  // namespace catena
