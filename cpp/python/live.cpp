// A live mechanism, as Python steps it. Above 450 lines: every call of Live is here, and the guards around it.
#include "python/live.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "python/arguments.hpp"
#include "python/checks.hpp"

namespace catena {

Live::Live(const Core& core, const Settings& settings, const Start& start, const LoadArrays& loads,
           const RowFunctions& rows, const SignalFunction& signals, int signal_count, const InInts<-1, 2>& input,
           const std::optional<In<-1>>& checkpoint)
    : has_functions_(signal_count > 0 || !rows.empty()) {
  calls_.signals = signals;
  calls_.signal_count = signal_count;
  calls_.run = &args_;
  calls_.at_node = [this](double time) { call_control(time); };
  enter(core, settings.solver, rows);
  inputs_ = inputs_of(input, layout_);
  signals_.resize(4 * static_cast<std::size_t>(signal_count));
  Memory& m = *memory_;
  const auto n = static_cast<std::size_t>(layout_.link_count), c = static_cast<std::size_t>(layout_.coordinate_count);
  position = view(m.position, false, {n, 3});
  orientation = view(m.orientation, false, {n, 4});
  velocity_ = view(m.velocity, false, {n, 3});
  angular_velocity_ = view(m.angular_velocity, false, {n, 3});
  counted = view(m.counted, false, {static_cast<std::size_t>(layout_.counter_count)});
  this->input = view(m.input, true, {inputs_.size()});
  coordinates_ = view(m.coordinate, false, {c});
  rates_ = view(m.rate, false, {c});
  put(settings, start, loads, checkpoint);
}

void Live::enter(const Core& core, SolverKind solver, const RowFunctions& rows) {
  const InUse use(in_use_);
  core_ = &core;
  layout_ = core.attached(core.layout_for(solver), calls_, rows);
  laws_.resize(layout_.law_count);
  space_.reset();
  started_ = false;
}

void Live::put(const Settings& settings, const Start& start, const LoadArrays& loads,
               const std::optional<In<-1>>& checkpoint) {
  const InUse use(in_use_);
  require(!space_ || (settings.solver == args_.solver && settings.order == args_.order),
          "a live mechanism keeps the solver and the order that it was made with");
  args_ = arguments(layout_, core_->term_count(), settings, start, loads, calls_.signal_count);
  require(start.position.shape(0) == 1, "the state to start from: a live mechanism is one");
  require(args_.counter_count == layout_.counter_count, "the state to start from: all angles are counted");
  start_ = start;
  loads_ = loads;
  const Layout& given = core_->layout_for(args_.solver);
  laws_.assign(given.law, given.law + given.law_count);
  layout_.law = args_.laws = laws_.data();
  args_.input_count = static_cast<int>(inputs_.size());
  args_.input = inputs_.data();
  args_.checkpoint_size =
      core_->kernel().checkpoint_size(layout_, args_.solver, args_.order, calls_.signal_count, args_.input_count);
  if (!space_) space_ = core_->workspace(args_.solver, args_.order);
  checkpoint_.resize(args_.checkpoint_size);
  scratch_.resize(args_.checkpoint_size);
  if (checkpoint) {
    require_size(*checkpoint, args_.checkpoint_size, "a checkpoint");
    require_finite(*checkpoint, "a checkpoint");
    std::copy_n(checkpoint->data(), args_.checkpoint_size, checkpoint_.begin());
    args_.checkpoint = checkpoint_.data();
    require(core_->kernel().belongs(layout_, args_), "the checkpoint belongs to another state");
  }
  args_.signals = signals_.data();
  args_.context = &calls_;
  args_.poll = Callbacks::call_poll;
  args_.tell_impact = Callbacks::call_impact;
  args_.poll_every = 1;
  wanted_values_.clear();
  inputs_shown_ = false;

  Memory& m = *memory_;
  m.time = args_.start_time;
  std::copy_n(args_.position, m.position.size(), m.position.begin());
  std::copy_n(args_.orientation, m.orientation.size(), m.orientation.begin());
  std::copy_n(args_.velocity, m.velocity.size(), m.velocity.begin());
  std::copy_n(args_.angular_velocity, m.angular_velocity.size(), m.angular_velocity.begin());
  std::copy_n(args_.counter_start, m.counted.size(), m.counted.begin());
  velocities_known_ = true;
  coordinates_known_ = rates_known_ = false;
}

nb::object Live::view(std::vector<double>& numbers, bool writable, std::initializer_list<std::size_t> shape) {
  std::size_t size = 1;
  for (const std::size_t length : shape) size *= length;
  // numpy wants an address even for nothing
  numbers.reserve(size + 1);
  numbers.resize(size);
  const nb::capsule owner(new std::shared_ptr<Memory>(memory_),
                          [](void* p) noexcept { delete static_cast<std::shared_ptr<Memory>*>(p); });
  if (writable) return nb::ndarray<nb::numpy, double>(numbers.data(), shape, owner).cast();
  return nb::ndarray<nb::numpy, const double>(numbers.data(), shape, owner).cast();
}

bool Live::start() {
  const InUse use(in_use_);
  Memory& m = *memory_;
  started_ = false;
  args_.out = {};
  args_.out.time = &m.time;
  args_.out.position = m.position.data();
  args_.out.orientation = m.orientation.data();
  args_.out.velocity = m.velocity.data();
  args_.out.angular_velocity = m.angular_velocity.data();
  args_.out.counted = m.counted.data();
  args_.out.multipliers = nullptr;
  {
    nb::gil_scoped_release release;
    core_->kernel().start(layout_, space_.get(), args_);
  }
  calls_.rethrow();
  started_ = true;
  error_ = 0;
  inaccurate_ = false;
  // functions of the user's are asked in steps, not by who reads
  args_.velocities_later = !has_functions_;
  show_inputs();
  velocities_known_ = true;
  node_has_moved();
  return args_.status.code == StatusCode::done;
}

void Live::require_standing() const {
  if (!started_)
    throw std::runtime_error("this live mechanism has no state, because its run has ended; call restart first");
}

Live::Node Live::keep() {
  core_->kernel().save(space_.get(), args_, scratch_.data());
  return {*memory_, held_values_, held_point_, signals_, held_frame_, args_.held.plain, args_.wants};
}
void Live::go_back(const Node& node) {
  std::copy(node.held_values.begin(), node.held_values.end(), held_values_.begin());
  std::copy(node.held_point.begin(), node.held_point.end(), held_point_.begin());
  std::copy(node.held_frame.begin(), node.held_frame.end(), held_frame_.begin());
  args_.held.plain = node.held_plain;
  core_->kernel().restore(space_.get(), args_, scratch_.data());
  std::copy(node.signals.begin(), node.signals.end(), signals_.begin());
  memory_->show(node.memory);
  args_.wants = node.wants;
}

bool Live::step(Offset count) {
  require(count >= 0, "step: count must not be negative");
  const InUse use(in_use_);
  require_standing();
  if (failed()) return false;
  take_inputs();
  args_.steps = count;
  // functions of the user's may fail, and what is computed without them is worth nothing
  calls_.spoilt = false;
  std::optional<Node> before;
  if (has_functions_) before = keep();
  {
    nb::gil_scoped_release release;
    core_->kernel().go_on(space_.get(), args_);
  }
  if (calls_.stopped()) {
    if (calls_.spoilt && before) go_back(*before);
    // it stands at a node from which it can go on
    args_.status = {.step = calls_.spoilt ? 0 : args_.status.step, .time = memory_->time};
  }
  velocities_known_ = !args_.velocities_later || args_.status.code != StatusCode::done;
  node_has_moved();
  calls_.rethrow();
  error_ += args_.tally.error;
  const bool told = inaccurate_;
  inaccurate_ |= args_.tally.inaccurate + args_.tally.missed > 0;
  return args_.status.code == StatusCode::done && inaccurate_ == told;
}

void Live::put_bounds(int stop, double lower, double upper) {
  require(stop >= 0 && stop < layout_.stop_count, "there is no such stop");
  require(lower <= upper, "a stop's lower bound must not be above its upper one");
  LawInfo& law = laws_[layout_.stop[stop]];
  law.lower = lower;
  law.upper = upper;
}
bool Live::rebound() {
  // a run follows by itself when its control returns
  if (in_control_) return true;
  const InUse use(in_use_);
  require_standing();
  {
    nb::gil_scoped_release release;
    core_->kernel().rebound(space_.get(), args_);
  }
  velocities_known_ = false;
  node_has_moved();
  calls_.rethrow();
  return !failed();
}

namespace {

// factor a x b to a sum
void add_cross(double factor, const double* a, const double* b, double* sum) {
  for (int k = 0; k < 3; ++k) sum[k] += factor * (a[(k + 1) % 3] * b[(k + 2) % 3] - a[(k + 2) % 3] * b[(k + 1) % 3]);
}
// a vector by a unit quaternion, the scalar first
void turn(const double* q, double* v) {
  double half[3] = {}, whole[3] = {v[0], v[1], v[2]};
  add_cross(2, q + 1, v, half);
  for (int k = 0; k < 3; ++k) whole[k] += q[0] * half[k];
  add_cross(1, q + 1, half, whole);
  std::copy_n(whole, 3, v);
}

}  // namespace

std::optional<Matrix6> Live::loads() {
  const InUse use(in_use_);
  require_standing();
  take_inputs();
  const HeldLoads& from = args_.wants ? args_.wanted : args_.held;
  if (from.count == 0) return std::nullopt;
  const auto n = static_cast<std::size_t>(layout_.link_count);
  auto* numbers = new double[6 * n];
  const nb::capsule owner(numbers, [](void* p) noexcept { delete[] static_cast<double*>(p); });
  std::copy_n(from.values, 6 * n, numbers);
  for (std::size_t k = 0; k < n && !from.plain; ++k) {
    double* const row = numbers + 6 * k;
    const double* const q = memory_->orientation.data() + 4 * k;
    if (from.in_body_frame[k]) turn(q, row), turn(q, row + 3);
    double arm[3] = {from.point[3 * k], from.point[3 * k + 1], from.point[3 * k + 2]};
    turn(q, arm);
    add_cross(1, arm, row, row + 3);
  }
  return Matrix6(numbers, {n, 6}, owner);
}

std::tuple<Matrix, Matrix, LinearOutcome> Live::linear_step() {
  const InUse use(in_use_);
  require_standing();
  take_inputs();
  const auto n = static_cast<std::size_t>(layout_.variable_count), inputs = inputs_.size();
  const auto matrix = [](std::size_t rows, std::size_t columns) {
    auto* numbers = new double[rows * columns]();
    return Matrix(numbers, {rows, columns},
                  nb::capsule(numbers, [](void* p) noexcept { delete[] static_cast<double*>(p); }));
  };
  const Matrix A = matrix(2 * n, 2 * n), B = matrix(2 * n, inputs);
  if (!linear_room_) linear_room_ = make_workspace(core_->kernel().linear_size(layout_, args_.input_count));
  const Node before = keep();
  LinearOutcome outcome;
  {
    nb::gil_scoped_release release;
    outcome = core_->kernel().linear_step(space_.get(), linear_room_.get(), {A.data(), B.data()});
  }
  go_back(before);
  calls_.rethrow();
  return {A, B, outcome};
}

// those of the mechanism, or of what it goes on from
void Live::show_inputs() {
  if (inputs_shown_) return;
  for (std::size_t k = 0; k < inputs_.size(); ++k)
    memory_->input[k] = numbers_of(laws_[inputs_[k].law])[inputs_[k].number];
  inputs_shown_ = true;
}
// checked, and kept where Python does not write
void Live::take_inputs() {
  for (const double value : memory_->input) require(std::isfinite(value), "inputs must be finite numbers");
  input_value_ = memory_->input;
  args_.input_value = input_value_.data();
}

void Live::visit(const std::function<void(const nb::object&)>& see) const {
  see(calls_.signals);
  see(calls_.poll);
  see(control_);
  for (const nb::object& function : calls_.rows) see(function);
}

void Live::forget_functions() {
  calls_.signals = calls_.poll = control_ = nb::none();
  calls_.rows.clear();
}

// what somebody has kept goes with the node, anything else is found when it is asked for
void Live::node_has_moved() {
  const auto is_kept = [](const nb::object& view) { return Py_REFCNT(view.ptr()) > 1; };
  coordinates_known_ = rates_known_ = false;
  if (is_kept(velocity_) || is_kept(angular_velocity_) || is_kept(rates_)) show_velocities();
  if (is_kept(coordinates_) || is_kept(rates_)) find_coordinates(velocities_known_);
}

void Live::find_velocities() {
  if (velocities_known_) return;
  bool fine;
  {
    const InUse use(in_use_);
    fine = show_velocities();
  }
  if (!fine) nb::find(*this).attr("_fail")();
}
// false if there are none, see `ended`; they are not looked for again
bool Live::show_velocities() {
  if (velocities_known_) return true;
  velocities_known_ = true;
  return core_->kernel().velocities(space_.get(), args_);
}
nb::object Live::velocity() {
  find_velocities();
  return velocity_;
}
nb::object Live::angular_velocity() {
  find_velocities();
  return angular_velocity_;
}

void Live::find_coordinates(bool with_rates) {
  if (with_rates) find_velocities();
  if (coordinates_known_ && (rates_known_ || !with_rates)) return;
  Memory& m = *memory_;
  const double* signals = signals_.data();
  core_->kernel().coordinates(layout_, {.count = 1,
                                        .position = m.position.data(),
                                        .orientation = m.orientation.data(),
                                        .velocity = m.velocity.data(),
                                        .angular_velocity = m.angular_velocity.data(),
                                        .counted = m.counted.data(),
                                        .signals = signals,
                                        .signal_rates = signals + 3 * args_.signal_count,
                                        .coordinate = m.coordinate.data(),
                                        .rate = m.rate.data()});
  coordinates_known_ = true;
  rates_known_ = velocities_known_;
}
nb::object Live::coordinates() {
  find_coordinates(false);
  return coordinates_;
}
Live::View Live::view(bool with_coordinates) {
  find_velocities();
  if (with_coordinates) find_coordinates(false);
  const Memory& m = *memory_;
  return {m.position.data(),         m.orientation.data(), m.velocity.data(),
          m.angular_velocity.data(), m.coordinate.data(),  m.input.data()};
}
nb::object Live::rates() {
  find_coordinates(true);
  return rates_;
}

Numbers Live::checkpoint() {
  // a control may ask, while the run waits for it
  std::optional<InUse> use;
  if (!in_control_) use.emplace(in_use_);
  auto* copy = new double[args_.checkpoint_size];
  const nb::capsule owner(copy, [](void* p) noexcept { delete[] static_cast<double*>(p); });
  core_->kernel().save(space_.get(), args_, copy);
  return {copy, {static_cast<std::size_t>(args_.checkpoint_size)}, owner};
}

Numbers Live::multipliers() {
  const InUse use(in_use_);
  // of a run that has ended, the records that the node would be written to may be gone
  require_standing();
  const auto count = static_cast<std::size_t>(layout_.recorded_count);
  auto* copy = new double[std::max(count, std::size_t{1})]();
  const nb::capsule owner(copy, [](void* p) noexcept { delete[] static_cast<double*>(p); });
  args_.out.multipliers = copy;
  {
    nb::gil_scoped_release release;
    core_->kernel().reactions(space_.get(), args_, scratch_.data());
  }
  args_.out.multipliers = nullptr;
  calls_.rethrow();
  return {copy, {count}, owner};
}

// room for what is wanted, and what is held
HeldLoads& Live::want() {
  const auto n = static_cast<std::size_t>(layout_.link_count);
  if (wanted_values_.empty()) {
    for (auto* values : {&wanted_values_, &held_values_}) values->assign(6 * n, 0);
    for (auto* point : {&wanted_point_, &held_point_}) point->assign(3 * n, 0);
    for (auto* frame : {&wanted_frame_, &held_frame_}) frame->assign(n, 0);
    const int count = layout_.link_count;
    args_.held = {count, held_values_.data(), held_point_.data(), held_frame_.data(), true};
    args_.wanted = {count, wanted_values_.data(), wanted_point_.data(), wanted_frame_.data(), true};
  }
  args_.wants = true;
  return args_.wanted;
}

void Live::hold(const In<-1, 6>& values, const In<-1, 3>& point, const InInts<-1>& in_body_frame) {
  std::optional<InUse> use;
  if (!in_control_) use.emplace(in_use_);
  const Offset n = layout_.link_count;
  require_shape(values, {n, 6}, "forces to be held");
  require_shape(point, {n, 3}, "points of forces to be held");
  require_shape(in_body_frame, {n}, "frames of forces to be held");
  require_finite(values, "forces to be held");
  require_finite(point, "points of forces to be held");
  HeldLoads& wanted = want();
  std::copy_n(values.data(), 6 * n, wanted.values);
  std::copy_n(point.data(), 3 * n, wanted.point);
  std::copy_n(in_body_frame.data(), n, wanted.in_body_frame);
  wanted.plain = false;
}
bool Live::hold_array(const In<-1, -1>& forces) {
  const auto n = static_cast<std::size_t>(layout_.link_count), width = forces.shape(1);
  if (forces.shape(0) != n || (width != 3 && width != 6)) return false;
  for (std::size_t k = 0; k < n * width; ++k)
    if (!std::isfinite(forces.data()[k])) return false;
  std::optional<InUse> use;
  if (!in_control_) use.emplace(in_use_);
  HeldLoads& wanted = want();
  for (std::size_t k = 0; k < n; ++k)
    for (std::size_t e = 0; e < 6; ++e) wanted.values[6 * k + e] = e < width ? forces.data()[width * k + e] : 0;
  wanted.plain = true;
  return true;
}
void Live::hold_as(const Live& other) {
  const InUse use(in_use_);
  if (other.wanted_values_.empty()) return;
  want().copy(other.args_.wanted);
  args_.held.copy(other.args_.held);
  args_.wants = other.args_.wants;
}

void Live::call_control(double time) {
  memory_->time = time;
  show_inputs();
  velocities_known_ = true;
  node_has_moved();
  // what was held over the last step is not asked for again
  std::fill(wanted_values_.begin(), wanted_values_.end(), 0.0);
  const nb::object self = nb::find(*this);
  in_control_ = true;
  try {
    const nb::object wanted = control_(time, self);
    if (!wanted.is_none()) self.attr("hold")(wanted);
  } catch (...) {
    in_control_ = false;
    throw;
  }
  in_control_ = false;
  take_inputs();
}

Recording::Sizes Live::recording_sizes(bool checkpoints, Offset times) const {
  // one more than the times that are asked for, as a run that fails records where it stands
  const Offset records = 1 + (times > 0 ? times : (args_.steps + args_.record_every - 1) / args_.record_every);
  return {{.steps = args_.steps,
           .records = records,
           .bodies = layout_.link_count,
           .rows = layout_.recorded_count,
           .counters = args_.counter_count,
           .inputs = args_.input_count,
           .estimates = args_.estimates},
          checkpoints ? records : 1,
          args_.checkpoint_size};
}

Recording Live::run(const Out<-1>& block, bool checkpoints, const std::optional<Out<-1, -1>>& increments,
                    const std::optional<ControlFunction>& control, const std::optional<Out<-1, -1, 6>>& held,
                    const std::optional<In<-1>>& times, const std::optional<PollFunction>& poll) {
  const InUse use(in_use_);
  started_ = false;
  const Offset count = times ? static_cast<Offset>(times->size()) : 0;
  const Recording::Sizes sizes = recording_sizes(checkpoints, count);
  Recording recording(sizes, block);
  recording.write_into(args_);
  if (increments) {
    require_shape(*increments, {args_.steps + 1, args_.iteration_limit}, "increments");
    args_.out_increments = increments->data();
  }
  if (control) {
    control_ = *control;
    args_.control = Callbacks::call_control;
    args_.control_position = memory_->position.data();
    args_.control_orientation = memory_->orientation.data();
    args_.control_velocity = memory_->velocity.data();
    args_.control_angular_velocity = memory_->angular_velocity.data();
    args_.control_counted = memory_->counted.data();
    if (held) {
      require_shape(*held, {sizes.records, sizes.bodies, 6}, "records of what is held");
      args_.out_control = held->data();
    }
  }
  if (times) {
    require_finite(*times, "times");
    for (Offset k = 1; k < count; ++k) require(times->data()[k] > times->data()[k - 1], "times must rise");
    args_.times = times->data();
    args_.time_count = count;
    args_.scratch = scratch_.data();
    // checkpoints belong to nodes
    args_.out_checkpoint = nullptr;
  }
  if (poll) calls_.poll = *poll;
  {
    nb::gil_scoped_release release;
    core_->kernel().run(layout_, space_.get(), args_);
  }
  control_ = nb::none();
  calls_.poll = nb::none();
  args_.control = nullptr;
  args_.times = nullptr;
  args_.time_count = 0;
  args_.out_increments = args_.out_checkpoint = args_.out_control = args_.out.inputs = nullptr;
  calls_.rethrow();
  // an end that was asked for is no failure
  if (args_.status.code == StatusCode::interrupted) args_.status.code = StatusCode::done;
  recording.end(args_, calls_.impacts);
  return recording;
}

}  // namespace catena
