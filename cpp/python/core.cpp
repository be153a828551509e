#include "python/core.hpp"

#include <stdexcept>
#include <system_error>

#include "batch/batch.hpp"
#include "kernel/kernels.hpp"
#include "model/groups.hpp"
#include "python/arguments.hpp"
#include "python/checks.hpp"

namespace catena {

namespace {

Spec checked_spec(const Description& given) {
  require_description(given);
  Spec spec = describe(given);
  require_spec(spec);
  return spec;
}

}  // namespace

Core::Core(const CoreArguments& given)
    : kernel_(find_kernel(given.kernel)),
      model_(checked_spec(given)),
      term_count_(static_cast<Offset>(given.term_coefficient.size())) {
  for (std::size_t j = 0; j < given.joint_kind.size(); ++j)
    if (is_custom(given.joint_kind[j])) hook_rows_.push_back(given.joint_rows[j]);
}

void Core::furnish(const ShapeArrays& shapes, const std::vector<int>& pairs, const std::vector<int>& first_law,
                   const std::vector<int>& slot_count) {
  const Layout& layout = model_.layout();
  require(!scene_, "the core has its shapes already");
  require(pairs.size() == 2 * first_law.size() && slot_count.size() == first_law.size(), "pairs of shapes do not fit");
  for (std::size_t p = 0; p < first_law.size(); ++p) {
    require_between(slot_count[p], 1, most_told_features, "contacts of a pair of shapes");
    require_between(first_law[p], 0, layout.law_count - slot_count[p], "laws of a pair of shapes");
    for (int k = 0; k < slot_count[p]; ++k) {
      const LawInfo& law = layout.law[first_law[p] + k];
      require(law.stop >= 0 && law.axis < 0, "contacts of shapes are hard stops");
      for (int e = 0; e < 2; ++e) {
        const int body = shapes.body[pairs[2 * p + e]], link = body < 0 ? -1 : layout.body_link[body];
        require(law.measure.end[e] == link, "contacts of shapes are between their bodies");
      }
    }
  }
  scene_ = kernel_.scene(shapes, pairs);
  model_.furnish(scene_.get(), first_law, slot_count);
}

std::pair<std::vector<Status>, std::vector<Tally>> Core::run_batch(
    const Settings& settings, int threads, const Start& start, const LoadArrays& loads, const RowFunctions& rows,
    const SignalFunction& signals, int signal_count, const MemberArrays& numbers, const InInts<-1>& absent,
    const InInts<-1>& bodies, const NamedArrays& records, const std::optional<PollFunction>& poll) const {
  const auto members = static_cast<Offset>(start.position.shape(0));
  const auto recorded = static_cast<Offset>(bodies.size());
  require_shape(absent, {members}, "absent members");
  require_shape(bodies, {-1}, "bodies to record");
  for (Offset k = 0; k < recorded; ++k)
    require_between(bodies.data()[k], 0, model_.layout().link_count - 1, "body to record");
  require(threads >= 1, "threads must be at least 1");
  RunArgs run = arguments(model_.layout(), term_count_, settings, start, loads, signal_count);
  const Offset room = record_into(run, records, members, model_.layout(), recorded);
  std::vector<Status> status(members);
  std::vector<Tally> tally(members);
  BatchArgs batch{
      .run = run,
      .member_count = static_cast<int>(members),
      .threads = threads,
      .numbers = member_numbers(numbers, members, model_.layout()),
      .own_loads = loads.values.shape(0) > 1,
      .absent = absent.data(),
      .body_count = static_cast<int>(recorded),
      .bodies = bodies.data(),
      .records = room,
      .term_count = term_count_,
      .status = status.data(),
      .tally = tally.data(),
      .poll = Callbacks::call_batch_poll,
  };
  batch.run.poll = Callbacks::call_stopped;
  batch.run.poll_every = 1;

  Callbacks calls;
  const Layout layout = attached(layout_for(run.solver), calls, rows);
  calls.signals = signals;
  calls.signal_count = signal_count;
  if (poll) calls.poll = *poll;
  batch.run.context = &calls;
  try {
    nb::gil_scoped_release release;
    catena::run_batch(kernel_, layout, batch);
  } catch (const std::system_error& error) {
    throw std::runtime_error(std::string("the system has no thread for the batch: ") + error.what());
  }
  calls.rethrow();
  return {std::move(status), std::move(tally)};
}

bool Core::fits_lanes(SolverKind solver, int order, int signal_count) const {
  RunArgs run;
  run.solver = solver;
  run.order = order;
  run.signal_count = signal_count;
  return kernel_.lane_count(layout_for(solver), run) > 0;
}

MemberNumbers Core::numbers_of_geometry(const std::optional<GeometryArrays>& geometry, Offset members) const {
  MemberNumbers numbers;
  if (geometry) numbers.geometry = geometry_numbers(*geometry, members, model_.layout());
  return numbers;
}

void Core::linearise(double dt, double kick, const In<-1, 3>& position, const In<-1, 4>& orientation,
                     const In<-1, 3>& velocity, const In<-1, 3>& momentum, const In<-1>& unknowns,
                     const Out<-1>& residual, const Out<-1, -1>& matrix, const RowFunctions& rows,
                     const std::optional<In<-1>>& signals) const {
  const Offset n = model_.layout().link_count, count = unknown_count();
  require_pose(position, orientation);
  require_shape(velocity, {n, 3}, "velocity");
  require_shape(momentum, {n, 3}, "momentum");
  require_shape(unknowns, {count}, "unknowns");
  require_shape(residual, {count}, "residual");
  require_shape(matrix, {count, count}, "matrix");
  if (signals) require_size(*signals, model_.layout().signal_count, "functions of time");
  const std::vector<double> none(model_.layout().signal_count + 1, 0.0);
  const LinearisationArgs args{
      .dt = dt,
      .kick = kick,
      .position = position.data(),
      .orientation = orientation.data(),
      .velocity = velocity.data(),
      .momentum = momentum.data(),
      .unknowns = unknowns.data(),
      .signals = signals ? signals->data() : none.data(),
      .residual = residual.data(),
      .matrix = matrix.data(),
  };
  Callbacks calls;
  const Layout layout = attached(layout_for(SolverKind::dense), calls, rows);
  const Workspace space = workspace(SolverKind::dense, 2);
  kernel_.linearise(layout, space.get(), args);
  calls.rethrow();
}

int Core::assemble(int iteration_limit, const Out<-1, 3>& position, const Out<-1, 4>& orientation,
                   const Out<-1, 3>& velocity, const Out<-1, 3>& angular_velocity, const In<-1>& term_start,
                   const Out<-1>& counted, const RowFunctions& rows, const In<-1>& signals, const In<-1>& signal_rates,
                   double loose_below) const {
  const Offset n = model_.layout().link_count;
  require(model_.layout().law_count == 0, "assembly: the core needs a mechanism without forces");
  require_pose(position, orientation);
  require_shape(velocity, {n, 3}, "velocity");
  require_shape(angular_velocity, {n, 3}, "angular velocity");
  require_size(term_start, term_count_, "what couplings measure");
  require_size(counted, model_.layout().counter_count, "angles");
  require_size(signals, model_.layout().signal_count, "functions of time");
  require_size(signal_rates, model_.layout().signal_count, "functions of time");
  AssembleArgs args{
      .iteration_limit = iteration_limit,
      .position = position.data(),
      .orientation = orientation.data(),
      .velocity = velocity.data(),
      .angular_velocity = angular_velocity.data(),
      .term_start = term_start.data(),
      .counted = counted.data(),
      .signals = signals.data(),
      .signal_rates = signal_rates.data(),
      .loose_below = loose_below,
  };
  Callbacks calls;
  // where the sparse solver has no program, the articulated one does it
  const SolverKind solver =
      model_.layout().redundant == 0 && model_.elimination().fits ? SolverKind::ldu : SolverKind::articulated;
  const Layout layout = attached(layout_for(solver), calls, rows);
  const Workspace space = workspace(solver, 2);
  {
    nb::gil_scoped_release release;
    kernel_.assemble(layout, space.get(), args);
  }
  calls.rethrow();
  return args.iterations;
}

void Core::relieve(const In<-1, -1, 3>& position, const In<-1, -1, 4>& orientation, const RowFunctions& rows,
                   const In<-1, -1>& signals, double size, const In<-1>& scale, const Out<-1, -1>& multipliers) const {
  const Layout& own = model_.layout();
  const Offset n = own.link_count;
  require(own.law_count == 0 && own.row_count == own.recorded_count, "all rows, and no laws, are needed for this");
  require_shape(position, {-1, n, 3}, "position");
  const auto nodes = static_cast<Offset>(position.shape(0));
  require_shape(orientation, {nodes, n, 4}, "orientation");
  require_shape(signals, {nodes, own.signal_count}, "functions of time");
  require_shape(scale, {own.recorded_count}, "scale of multipliers");
  require_shape(multipliers, {nodes, own.recorded_count}, "multipliers");
  Callbacks calls;
  const Layout layout = attached(own, calls, rows);
  const Groups groups(layout);
  const Workspace space = make_workspace(kernel_.relieve_size(layout, groups.plan()));
  const StressArgs args{
      .count = nodes,
      .position = position.data(),
      .orientation = orientation.data(),
      .signals = signals.data(),
      .size = size,
      .scale = scale.data(),
      .multipliers = multipliers.data(),
      .poll = Callbacks::call_look,
      .context = &calls,
  };
  {
    nb::gil_scoped_release release;
    kernel_.relieve(layout, groups.plan(), space.get(), args);
  }
  calls.rethrow();
}

int Core::explore(double loop_tolerance, const In<-1, 3>& position, const In<-1, 4>& orientation,
                  const In<-1>& term_start, const RowFunctions& rows, const In<-1>& signals, const In<-1>& length,
                  const Out<-1, -1, 6>& singular, const Out<-1, -1, 6, 6>& direction,
                  const Out<-1, -1, 6>& loop_mismatch) const {
  const Offset loops = model_.layout().loop_count;
  require_pose(position, orientation);
  require_size(term_start, term_count_, "what couplings measure");
  require_size(signals, model_.layout().signal_count, "functions of time");
  require_shape(length, {loops}, "lengths of loops");
  require_shape(singular, {-1, loops, 6}, "singular values");
  require(singular.shape(0) >= 2, "singular values: there is no room for a pose");
  const auto poses = static_cast<Offset>(singular.shape(0));
  require_shape(direction, {poses, loops, 6, 6}, "directions");
  require_shape(loop_mismatch, {poses, loops, 6}, "loop_mismatch");
  ExploreArgs args{
      .loop_tolerance = loop_tolerance,
      .poses = static_cast<int>(poses) - 1,
      .position = position.data(),
      .orientation = orientation.data(),
      .term_start = term_start.data(),
      .signals = signals.data(),
      .length = length.data(),
      .singular = singular.data(),
      .direction = direction.data(),
      .loop_mismatch = loop_mismatch.data(),
  };
  Callbacks calls;
  const Layout layout = attached(model_.layout(), calls, rows);
  const Workspace space = make_workspace(kernel_.explore_size(layout));
  {
    nb::gil_scoped_release release;
    kernel_.explore(layout, space.get(), args);
  }
  calls.rethrow();
  return args.found;
}

std::vector<int> Core::loop_joints() const {
  const Layout& layout = model_.layout();
  std::vector<int> list;
  for (int l = 0; l < layout.loop_count; ++l) list.push_back(layout.constraint[layout.loop[l]].joint);
  return list;
}

std::pair<std::vector<int>, std::vector<int>> Core::loop_groups() const {
  const Layout& layout = model_.layout();
  const Groups groups(layout);
  const LoopGroups& plan = groups.plan();
  std::vector<int> group(layout.loop_count, -1), freedoms;
  for (int g = 0; g < plan.group_count; ++g) {
    for (int l = plan.group[g].first_loop; l < plan.group[g].end_loop; ++l)
      group[layout.constraint[plan.loop[l].constraint].loop] = g;
    freedoms.push_back(plan.group[g].freedom_count);
  }
  return {group, freedoms};
}

std::vector<int> Core::link_bodies() const {
  const Layout& layout = model_.layout();
  std::vector<int> list;
  for (int i = 0; i < layout.link_count; ++i) list.push_back(layout.link[i].body);
  return list;
}

std::tuple<std::vector<std::pair<int, int>>, Core::Turns, Core::Turns> Core::elimination() const {
  const Layout& layout = model_.layout();
  const Elimination& found = model_.elimination();
  std::vector<int> place(found.order.size());
  for (size_t k = 0; k < place.size(); ++k) place[found.order[k]] = static_cast<int>(k);
  std::vector<std::pair<int, int>> nodes;
  Turns first, later;
  for (int node : found.order) {
    const int constraint = node - layout.link_count;
    nodes.emplace_back(constraint < 0 ? layout.link[node].body : -1,
                       constraint < 0 ? -1 : layout.constraint[constraint].joint);
    for (auto [from, to] : {std::pair(&found.adjacency[node], &first), std::pair(&found.later[node], &later)}) {
      to->emplace_back();
      for (int other : *from) to->back().push_back(place[other]);
    }
  }
  return {nodes, first, later};
}

Offset Core::workspace_size(SolverKind solver, int order) const {
  require_order(order);
  return kernel_.workspace_size(layout_for(solver), solver, order);
}

Layout Core::attached(const Layout& given, Callbacks& calls, const RowFunctions& rows) const {
  require(rows.size() == hook_rows_.size(), "the core needs a function for every custom joint");
  calls.rows.assign(rows.begin(), rows.end());
  calls.counts = &hook_rows_;
  Layout layout = given;
  layout.hook = {Callbacks::call_rows, &calls};
  return layout;
}

}  // namespace catena
