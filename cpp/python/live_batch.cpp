#include "python/live_batch.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>

#include "python/arguments.hpp"
#include "python/checks.hpp"

namespace catena {

// one thread: a workspace, and for every lane the mechanism of its member
class LiveBatch::Worker {
 public:
  explicit Worker(LiveBatch& batch)
      : batch_(batch),
        space_(make_workspace(batch.group_ > 1 ? batch.core_.kernel().lane_workspace_size(batch.layout_)
                                               : batch.core_.workspace_size(batch.run_.solver, batch.run_.order))),
        runs_(batch.group_, batch.run_),
        check_(batch.core_.kernel(), batch.layout_, batch.numbers_) {
    if (batch.group_ > 1) batch.core_.kernel().open_lanes(batch.layout_, space_.get());
    for (int k = 0; k < batch.group_; ++k) members_.emplace_back(batch.layout_, batch.run_.signal_count);
    for (const Member& member : members_) layouts_.push_back(&member.layout);
  }

  void* space() const { return space_.get(); }

  void go_on(int group, const Entering& entering, Offset steps) {
    const int first = group * batch_.group_, count = std::min(batch_.group_, batch_.count_ - first);
    unsigned begins = 0;
    for (int k = 0; k < batch_.group_; ++k) {
      const int member = std::min(first + k, batch_.count_ - 1);
      if (entering.row && (*entering.row)[member] >= 0) begins |= 1U << k;
      if (k < count) prepare(k, member, entering, steps);
    }
    if (batch_.group_ > 1)
      batch_.core_.kernel().go_on_lanes(layouts_.data(), space_.get(), runs_.data(), count, batch_.row_of(group),
                                        begins, batch_.numbers_.any());
    else
      go_on_alone(first, begins != 0);
    if (batch_.calls_.spoilt) return;
    for (int k = 0; k < count; ++k) {
      const int member = first + k;
      bool& failed = batch_.memory_->failed[member];
      if (failed && !(begins >> k & 1)) continue;
      if (runs_[k].absent) runs_[k].status = {.code = StatusCode::open, .time = runs_[k].start_time};
      if (runs_[k].status.code == StatusCode::done) check_.look(*layouts_[k], runs_[k], runs_[k].status);
      Status& status = batch_.status_[member] = runs_[k].status;
      // a member that waits for the next call has not failed
      if (status.code == StatusCode::interrupted) status.code = StatusCode::done;
      failed = status.code != StatusCode::done;
      double& error = batch_.memory_->error[member];
      error = (begins >> k & 1 ? 0 : error) + runs_[k].tally.error;
      batch_.tally_[member] = runs_[k].tally;
    }
    if (batch_.reads_coordinates_)
      batch_.find_coordinates(members_[0].layout, first, first + count, members_[0].signals.data());
  }

 private:
  void prepare(int k, Offset member, const Entering& entering, Offset steps) {
    RunArgs& run = runs_[k];
    Memory& m = *batch_.memory_;
    const Layout& shared = batch_.layout_;
    const Offset n = shared.link_count, inputs = batch_.run_.input_count;
    if (batch_.numbers_.any()) members_[k].become(batch_.numbers_, member);
    run.steps = steps;
    run.status = {};
    run.tally = {};
    run.absent = false;
    run.signals = members_[k].signals.data();
    run.laws = members_[k].laws.data();
    if (batch_.own_loads_) run.loads.values = batch_.run_.loads.values + 6L * run.loads.count * member;
    run.input_value = batch_.input_value_.data() + inputs * member;
    run.out.time = &m.time[member];
    run.out.position = &m.position[3 * n * member];
    run.out.orientation = &m.orientation[4 * n * member];
    run.out.velocity = &m.velocity[3 * n * member];
    run.out.angular_velocity = &m.angular_velocity[3 * n * member];
    run.out.counted = m.counted.data() + shared.counter_count * member;
    // who goes on enters where it stands, and is then told what it carries: the arrays it began with are gone
    run.position = run.out.position;
    run.orientation = run.out.orientation;
    run.velocity = run.out.velocity;
    run.angular_velocity = run.out.angular_velocity;
    run.law_start = run.term_start = batch_.nothing_.data();
    run.counter_start = run.out.counted;
    const int row = entering.row ? (*entering.row)[member] : -1;
    if (row < 0) return;
    const Start& start = *entering.start;
    run.start_time = entering.time[row];
    run.absent = entering.absent[row];
    if (run.absent) {
      // what is shown of it is no number
      *run.out.time = run.start_time;
      for (double* at : {run.out.position, run.out.velocity, run.out.angular_velocity}) std::fill_n(at, 3 * n, NAN);
      std::fill_n(run.out.orientation, 4 * n, NAN);
    }
    run.position = start.position.data() + 3 * n * row;
    run.orientation = start.orientation.data() + 4 * n * row;
    run.velocity = start.velocity.data() + 3 * n * row;
    run.angular_velocity = start.angular_velocity.data() + 3 * n * row;
    run.law_start = start.law_start.data() + shared.law_count * row;
    run.term_start = start.term_start.data() + batch_.core_.term_count() * row;
    run.counter_start = start.counter_start.data() + shared.counter_count * row;
    // numbers of laws that are inputs are those of the mechanism again
    const double* law = batch_.numbers_.law;
    for (Offset j = 0; j < inputs; ++j) {
      const InputInfo& input = batch_.inputs_[j];
      const double described = law ? law[law_size * (member * shared.law_count + input.law) + input.number]
                                   : numbers_of(shared.law[input.law])[input.number];
      m.input[inputs * member + j] = numbers_of(members_[k].laws[input.law])[input.number] = described;
    }
  }

  // what a function that fails would spoil is kept
  void go_on_alone(Offset member, bool begins) {
    if ((batch_.memory_->failed[member] && !begins) || runs_[0].absent) return;
    double* row = batch_.row_of(static_cast<int>(member));
    RunArgs& run = runs_[0];
    run.checkpoint = begins ? nullptr : row;
    if (!batch_.has_functions_) return batch_.core_.kernel().go_on_from(members_[0].layout, space_.get(), run, row);
    checkpoint_.resize(batch_.row_size_);
    const Layout& shared = batch_.layout_;
    const Offset n = shared.link_count;
    struct Part {
      double* at;
      Offset size;
    };
    const Part parts[] = {
        {run.out.time, 1},         {run.out.position, 3 * n},         {run.out.orientation, 4 * n},
        {run.out.velocity, 3 * n}, {run.out.angular_velocity, 3 * n}, {run.out.counted, shared.counter_count}};
    before_.clear();
    for (const Part& part : parts) before_.insert(before_.end(), part.at, part.at + part.size);
    batch_.core_.kernel().go_on_from(members_[0].layout, space_.get(), run, checkpoint_.data());
    if (!batch_.calls_.spoilt) {
      std::copy(checkpoint_.begin(), checkpoint_.end(), row);
      return;
    }
    const double* from = before_.data();
    for (const Part& part : parts) {
      std::copy_n(from, part.size, part.at);
      from += part.size;
    }
  }

  LiveBatch& batch_;
  Workspace space_;
  std::vector<RunArgs> runs_;
  std::vector<Member> members_;
  std::vector<const Layout*> layouts_;
  std::vector<double> checkpoint_, before_;
  MismatchCheck check_;
};

LiveBatch::LiveBatch(const Core& core, const Settings& settings, int threads, const Start& start,
                     const LoadArrays& loads, const RowFunctions& rows, const SignalFunction& signals, int signal_count,
                     const MemberArrays& numbers, const InInts<-1, 2>& input)
    : core_(core),
      loads_(loads),
      number_arrays_(numbers),
      count_(static_cast<int>(start.position.shape(0))),
      own_loads_(loads.values.shape(0) > 1),
      has_functions_(signal_count > 0 || !rows.empty()) {
  require(threads >= 1, "threads must be at least 1");
  calls_.signals = signals;
  calls_.signal_count = signal_count;
  layout_ = core.attached(core.layout_for(settings.solver), calls_, rows);
  inputs_ = inputs_of(input, layout_);
  numbers_ = member_numbers(numbers, count_, layout_);
  run_ = arguments(layout_, core.term_count(), settings, start, loads, signal_count);
  require(run_.counter_count == layout_.counter_count, "the state to start from: all angles are counted");
  run_.input_count = static_cast<int>(inputs_.size());
  run_.input = inputs_.data();
  run_.context = &calls_;
  run_.poll = threads > 1 ? Callbacks::call_stopped : Callbacks::call_look;
  run_.poll_every = 1;
  // a node is shown when all steps of a call are done
  run_.record_every = Offset{1} << 50;
  // lanes share one geometry
  group_ = numbers_.has_geometry() ? 1 : std::max(core.kernel().lane_count(layout_, run_), 1);

  Memory& m = *memory_;
  const auto members = static_cast<std::size_t>(count_), n = static_cast<std::size_t>(layout_.link_count);
  const auto c = static_cast<std::size_t>(layout_.coordinate_count), counters = std::size_t(layout_.counter_count);
  m.time.resize(members);
  m.error.resize(members);
  m.position.resize(members * n * 3);
  m.orientation.resize(members * n * 4);
  m.velocity.resize(members * n * 3);
  m.angular_velocity.resize(members * n * 3);
  // numpy wants an address even for nothing
  m.counted.resize(members * counters + 1);
  m.input.resize(members * inputs_.size() + 1);
  m.coordinate.resize(members * c + 1);
  m.rate.resize(members * c + 1);
  m.failed = std::make_unique<bool[]>(members);
  time = view<const double>(m.time.data(), members);
  position = view<const double>(m.position.data(), members, n, std::size_t{3});
  orientation = view<const double>(m.orientation.data(), members, n, std::size_t{4});
  velocity = view<const double>(m.velocity.data(), members, n, std::size_t{3});
  angular_velocity = view<const double>(m.angular_velocity.data(), members, n, std::size_t{3});
  counted = view<const double>(m.counted.data(), members, counters);
  this->input = view<double>(m.input.data(), members, inputs_.size());
  coordinates_ = view<const double>(m.coordinate.data(), members, c);
  rates_ = view<const double>(m.rate.data(), members, c);
  failed = view<const bool>(m.failed.get(), members);

  error = view<const double>(m.error.data(), members);

  status_.resize(members);
  tally_.resize(members);
  nothing_.resize(std::max<Offset>(layout_.law_count, core.term_count()) + 1);
  input_value_.resize(m.input.size());
  // where the ground moves its motion is known while a member is worked on, and not afterwards
  reads_coordinates_ = signal_count > 0;
  for (int k = 0; k < std::min(threads, (count_ + group_ - 1) / group_); ++k)
    workers_.push_back(std::make_unique<Worker>(*this));
  if (workers_.size() > 1) pool_ = std::make_unique<ThreadPool>(static_cast<int>(workers_.size()));
  row_size_ = group_ > 1
                  ? core.kernel().lane_row_size(workers_[0]->space(), run_)
                  : core.kernel().checkpoint_size(layout_, run_.solver, run_.order, signal_count, run_.input_count);
  row_size_ = (row_size_ + 7) / 8 * 8;
  rows_ = make_workspace(static_cast<Offset>(sizeof(double)) * row_size_ * ((count_ + group_ - 1) / group_));
}
LiveBatch::~LiveBatch() = default;

template <class T, class... Lengths>
nb::object LiveBatch::view(T* numbers, Lengths... lengths) {
  const nb::capsule owner(new std::shared_ptr<Memory>(memory_),
                          [](void* p) noexcept { delete static_cast<std::shared_ptr<Memory>*>(p); });
  return nb::ndarray<nb::numpy, T>(numbers, {lengths...}, owner).cast();
}

void LiveBatch::begin(const InInts<-1>& members, const Start& start, const In<-1>& time, const InInts<-1>& absent) {
  const InUse use(in_use_);
  const auto chosen = static_cast<Offset>(members.size());
  require_shape(members, {chosen}, "members to begin");
  require_shape(time, {chosen}, "times to begin at");
  require_shape(absent, {chosen}, "absent members");
  require_finite(time, "times to begin at");
  require_start(start, layout_, core_.term_count());
  require(static_cast<Offset>(start.position.shape(0)) == chosen, "states to begin at: one for every member");
  std::vector<int> row(count_, -1), groups;
  for (int k = 0; k < chosen; ++k) {
    require_between(members.data()[k], 0, count_ - 1, "a member to begin");
    row[members.data()[k]] = k;
  }
  for (int g = 0; g * group_ < count_; ++g)
    if (std::any_of(&row[g * group_], &row[0] + std::min((g + 1) * group_, count_), [](int k) { return k >= 0; }))
      groups.push_back(g);
  work_on(groups, {&start, time.data(), absent.data(), &row}, 0);
}

bool LiveBatch::step(Offset count) {
  require(count >= 0, "step: count must not be negative");
  const InUse use(in_use_);
  const std::vector<double>& given = memory_->input;
  const std::size_t inputs = inputs_.size();
  for (std::size_t k = 0; k < inputs * count_; ++k)
    if (!std::isfinite(given[k]))
      throw std::invalid_argument("input " + std::to_string(k % inputs) + " of member " + std::to_string(k / inputs) +
                                  " must be a finite number");
  // kept where Python does not write
  std::copy(given.begin(), given.end(), input_value_.begin());
  std::vector<int> groups((count_ + group_ - 1) / group_);
  for (std::size_t g = 0; g < groups.size(); ++g) groups[g] = static_cast<int>(g);
  work_on(groups, {}, count);
  const bool told = inaccurate_;
  for (const Tally& tally : tally_) inaccurate_ |= tally.inaccurate + tally.missed > 0;
  return inaccurate_ == told;
}

void LiveBatch::work_on(const std::vector<int>& groups, const Entering& entering, Offset steps) {
  calls_.spoilt = false;
  std::atomic<std::size_t> next{0};
  const std::function<void(int)> work = [&](int k) {
    for (std::size_t g; !calls_.stopped() && (g = next.fetch_add(1)) < groups.size();)
      workers_[k]->go_on(groups[g], entering, steps);
  };
  {
    nb::gil_scoped_release release;
    if (pool_ && groups.size() > 1)
      pool_->run(work, [&] { Callbacks::call_batch_poll(&calls_, 0); });
    else
      work(0);
  }
  calls_.rethrow();
}

const Status& LiveBatch::status_of(int member) const {
  require_between(member, 0, count_ - 1, "a member");
  return status_[member];
}
const Tally& LiveBatch::tally_of(int member) const {
  require_between(member, 0, count_ - 1, "a member");
  return tally_[member];
}

void LiveBatch::find_coordinates(const Layout& layout, Offset first, Offset end, const double* signals) {
  Memory& m = *memory_;
  const Offset n = layout.link_count, at = first;
  core_.kernel().coordinates(layout, {.count = end - first,
                                      .position = &m.position[3 * n * at],
                                      .orientation = &m.orientation[4 * n * at],
                                      .velocity = &m.velocity[3 * n * at],
                                      .angular_velocity = &m.angular_velocity[3 * n * at],
                                      .counted = &m.counted[layout.counter_count * at],
                                      .signals = signals,
                                      .signal_rates = signals + 3 * run_.signal_count,
                                      .coordinate = &m.coordinate[layout.coordinate_count * at],
                                      .rate = &m.rate[layout.coordinate_count * at]});
}
void LiveBatch::require_all_coordinates() {
  if (reads_coordinates_) return;
  const InUse use(in_use_);
  reads_coordinates_ = true;
  each_layout(layout_, numbers_, 0, count_, [&](const Layout& layout, Offset first, Offset end) {
    find_coordinates(layout, first, end, input_value_.data());
  });
}
nb::object LiveBatch::coordinates() {
  require_all_coordinates();
  return coordinates_;
}
nb::object LiveBatch::rates() {
  require_all_coordinates();
  return rates_;
}

void LiveBatch::visit(const std::function<void(const nb::object&)>& see) const {
  see(calls_.signals);
  for (const nb::object& function : calls_.rows) see(function);
}
void LiveBatch::forget_functions() {
  calls_.signals = nb::none();
  calls_.rows.clear();
}

}  // namespace catena
