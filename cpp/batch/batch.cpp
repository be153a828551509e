#include "batch/batch.hpp"

#include <algorithm>
#include <atomic>
#include <memory>
#include <type_traits>
#include <vector>

#include "base/arena.hpp"
#include "base/thread_pool.hpp"
#include "batch/mismatch.hpp"

namespace catena {

namespace {

// one thread: as many members at a time as the kernel has lanes, and for each a copy of what differs between members
// and room for records that are not all kept
class Worker {
 public:
  Worker(const Kernel& kernel, const Layout& layout, const BatchArgs& args, int group)
      : kernel_(kernel), args_(args), shared_(layout), runs_(group), check_(kernel, layout, args.numbers) {
    const Offset size =
        group > 1 ? kernel.lane_workspace_size(layout) : kernel.workspace_size(layout, args.run.solver, args.run.order);
    space_ = make_workspace(size);
    if (group > 1) kernel.open_lanes(layout, space_.get());
    for (int k = 0; k < group; ++k) {
      Seat& seat = seats_.emplace_back(layout, args.run.signal_count);
      visit_records(
          [&](const RecordInfo& info, auto*& out) {
            if constexpr (std::is_same_v<decltype(out), double*&>)
              if (info.of == Of::body)
                out = seat.room.emplace_back(info.width * args.records * layout.link_count).data();
          },
          seat.out);
    }
    for (const Seat& seat : seats_) layouts_.push_back(&seat.member.layout);
  }

  // members from `first` on, as many as there are seats
  void run(int first) {
    const int members = std::min(static_cast<int>(seats_.size()), args_.member_count - first);
    for (int k = 0; k < members; ++k) {
      seats_[k].member.become(args_.numbers, first + k);
      runs_[k] = arguments(seats_[k], first + k);
    }
    if (seats_.size() > 1)
      kernel_.run_lanes(layouts_.data(), space_.get(), runs_.data(), members);
    else if (!runs_[0].absent)
      run_alone(seats_[0].member.layout, runs_[0]);
    for (int k = 0; k < members; ++k) {
      const Offset member = first + k, records = runs_[k].status.records;
      visit_records(
          [&](const RecordInfo& info, auto* to, const auto* from) {
            if (info.of == Of::body) keep(member, records, to, from, info.width);
          },
          args_.run.out, seats_[k].out);
      if (runs_[k].absent) runs_[k].status = {.code = StatusCode::open, .time = runs_[k].start_time};
      args_.status[member] = runs_[k].status;
      args_.tally[member] = runs_[k].tally;
    }
  }

 private:
  void run_alone(const Layout& layout, RunArgs& run) {
    kernel_.run(layout, space_.get(), run);
    check_.look(layout, run, run.status);
  }

  struct Seat {
    Member member;
    Outputs out = {};  // of bodies
    std::vector<std::vector<double>> room = {};
    Seat(const Layout& layout, int signal_count) : member(layout, signal_count) {}
  };

  RunArgs arguments(Seat& seat, Offset member) const {
    const Offset n = shared_.link_count;
    RunArgs run = args_.run;
    run.absent = args_.absent[member];
    run.position += 3 * n * member;
    run.orientation += 4 * n * member;
    run.velocity += 3 * n * member;
    run.angular_velocity += 3 * n * member;
    run.law_start += shared_.law_count * member;
    run.term_start += args_.term_count * member;
    run.signals = seat.member.signals.data();
    run.counter_start += run.counter_count * member;
    if (args_.own_loads) run.loads.values += 6 * run.loads.count * run.loads.rows * member;
    const RecordSizes sizes = {.steps = std::max(run.steps, Offset{1}),
                               .records = args_.records,
                               .rows = shared_.recorded_count,
                               .counters = run.counter_count,
                               .inputs = run.input_count,
                               .estimates = true};
    visit_records(
        [&](const RecordInfo& info, auto*& out, auto* own) {
          if (info.of == Of::body)
            out = own;
          else if (out)
            out += sizes.numbers(info) * member;
        },
        run.out, seat.out);
    return run;
  }

  template <class T>
  void keep(Offset member, Offset records, T* to, const T* from, int size) const {
    to += member * args_.records * args_.body_count * size;
    for (Offset r = 0; r < records; ++r)
      for (int b = 0; b < args_.body_count; ++b, to += size)
        std::copy_n(from + (r * shared_.link_count + args_.bodies[b]) * size, size, to);
  }

  const Kernel& kernel_;
  const BatchArgs& args_;
  const Layout& shared_;
  std::vector<Seat> seats_;
  std::vector<RunArgs> runs_;
  std::vector<const Layout*> layouts_;
  Workspace space_;
  MismatchCheck check_;
};

}  // namespace

void run_batch(const Kernel& kernel, const Layout& layout, BatchArgs& args) {
  std::atomic<int> next{0}, done{0};
  std::atomic<bool> stop{false};
  // lanes share one geometry
  const int group = args.numbers.has_geometry() ? 1 : std::max(kernel.lane_count(layout, args.run), 1);
  // here, where a lack of memory can still be told
  std::vector<std::unique_ptr<Worker>> workers;
  for (int k = 0; k < args.threads; ++k) workers.push_back(std::make_unique<Worker>(kernel, layout, args, group));
  ThreadPool(args.threads)
      .run(
          [&](int k) {
            for (int first; !stop && (first = next.fetch_add(group)) < args.member_count; done += group)
              workers[k]->run(first);
          },
          [&] {
            if (args.poll && !args.poll(args.run.context, std::min(done.load(), args.member_count))) stop = true;
          });
}

}  // namespace catena
