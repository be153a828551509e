#include "batch/batch.hpp"

#include <algorithm>
#include <atomic>
#include <memory>
#include <vector>

#include "base/arena.hpp"
#include "base/thread_pool.hpp"

namespace catena {

namespace {

// one thread: as many members at a time as the kernel has lanes, and for each a copy of what differs between members
// and room for records that are not all kept
class Worker {
 public:
  Worker(const Kernel& kernel, const Layout& layout, const BatchArgs& args, int group)
      : kernel_(kernel), args_(args), shared_(layout), runs_(group) {
    const Offset size =
        group > 1 ? kernel.lane_workspace_size(layout) : kernel.workspace_size(layout, args.run.solver, args.run.order);
    space_ = make_workspace(size);
    if (group > 1) kernel.open_lanes(layout, space_.get());
    const std::size_t n = static_cast<std::size_t>(args.records) * layout.link_count;
    for (int k = 0; k < group; ++k) {
      Seat& seat = seats_.emplace_back(layout, args.run.signal_count);
      seat.position.resize(3 * n);
      seat.orientation.resize(4 * n);
      seat.velocity.resize(3 * n);
      seat.spin.resize(3 * n);
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
    else
      kernel_.run(seats_[0].member.layout, space_.get(), runs_[0]);
    for (int k = 0; k < members; ++k) {
      const Offset member = first + k, records = runs_[k].status.records;
      keep(member, records, args_.run.out_position, seats_[k].position, 3);
      keep(member, records, args_.run.out_orientation, seats_[k].orientation, 4);
      keep(member, records, args_.run.out_velocity, seats_[k].velocity, 3);
      keep(member, records, args_.run.out_angular_velocity, seats_[k].spin, 3);
      args_.status[member] = runs_[k].status;
      args_.tally[member] = runs_[k].tally;
    }
  }

 private:
  struct Seat {
    Member member;
    std::vector<double> position = {}, orientation = {}, velocity = {}, spin = {};
    Seat(const Layout& layout, int signal_count) : member(layout, signal_count) {}
  };

  RunArgs arguments(Seat& seat, Offset member) const {
    const Offset n = shared_.link_count;
    RunArgs run = args_.run;
    run.position += 3 * n * member;
    run.orientation += 4 * n * member;
    run.velocity += 3 * n * member;
    run.angular_velocity += 3 * n * member;
    run.law_start += shared_.law_count * member;
    run.term_start += args_.term_count * member;
    run.signals = seat.member.signals.data();
    run.counter_start += run.counter_count * member;
    run.out_counted += run.counter_count * args_.records * member;
    if (args_.own_loads) run.loads.values += 6 * run.loads.count * run.loads.rows * member;
    run.out_time += args_.records * member;
    run.out_position = seat.position.data();
    run.out_orientation = seat.orientation.data();
    run.out_velocity = seat.velocity.data();
    run.out_angular_velocity = seat.spin.data();
    const Offset counts = std::max(run.steps, Offset{1});
    run.out_iterations += counts * member;
    run.out_pieces += counts * member;
    run.out_remainder += counts * member;
    if (run.out_error) run.out_error += counts * member;
    return run;
  }

  void keep(Offset member, Offset records, double* to, const std::vector<double>& from, int size) const {
    to += member * args_.records * args_.body_count * size;
    for (Offset r = 0; r < records; ++r)
      for (int b = 0; b < args_.body_count; ++b, to += size)
        std::copy_n(&from[(r * shared_.link_count + args_.bodies[b]) * size], size, to);
  }

  const Kernel& kernel_;
  const BatchArgs& args_;
  const Layout& shared_;
  std::vector<Seat> seats_;
  std::vector<RunArgs> runs_;
  std::vector<const Layout*> layouts_;
  Workspace space_;
};

}  // namespace

void run_batch(const Kernel& kernel, const Layout& layout, BatchArgs& args) {
  std::atomic<int> next{0}, done{0};
  std::atomic<bool> stop{false};
  const int group = std::max(kernel.lane_count(layout, args.run), 1);
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
