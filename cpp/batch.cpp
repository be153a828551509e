#include "batch.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

#include "workspace.hpp"

namespace catena {

namespace {

// one thread: as many members at a time as the kernel has lanes, and for each a copy of what differs between members
// and room for records that are not all kept
class Worker {
 public:
  Worker(const Kernel& kernel, const Layout& layout, const BatchArgs& args, int group)
      : kernel_(kernel), args_(args), shared_(layout), seats_(group), runs_(group) {
    const Offset size =
        group > 1 ? kernel.lane_workspace_size(layout) : kernel.workspace_size(layout, args.run.solver, args.run.order);
    space_ = make_workspace(size);
    for (Seat& seat : seats_) {
      seat.layout = layout;
      seat.links.assign(layout.link, layout.link + layout.link_count);
      seat.laws.assign(layout.law, layout.law + layout.law_count);
      seat.layout.link = seat.links.data();
      seat.layout.law = seat.laws.data();
      const std::size_t n = static_cast<std::size_t>(args.records) * layout.link_count;
      seat.position.resize(3 * n);
      seat.orientation.resize(4 * n);
      seat.velocity.resize(3 * n);
      seat.spin.resize(3 * n);
      seat.signals.resize(4 * static_cast<std::size_t>(args.run.signal_count));
      layouts_.push_back(&seat.layout);
    }
  }

  // members from `first` on, as many as there are seats
  void run(int first) {
    const int members = std::min(static_cast<int>(seats_.size()), args_.member_count - first);
    for (int k = 0; k < members; ++k) {
      adapt(seats_[k], first + k);
      runs_[k] = arguments(seats_[k], first + k);
    }
    if (seats_.size() > 1)
      kernel_.run_lanes(layouts_.data(), space_.get(), runs_.data(), members);
    else
      kernel_.run(seats_[0].layout, space_.get(), runs_[0]);
    for (int k = 0; k < members; ++k) {
      const Offset member = first + k, records = runs_[k].status.records;
      keep(member, records, args_.run.out_position, seats_[k].position, 3);
      keep(member, records, args_.run.out_orientation, seats_[k].orientation, 4);
      keep(member, records, args_.run.out_velocity, seats_[k].velocity, 3);
      keep(member, records, args_.run.out_angular_velocity, seats_[k].spin, 3);
      args_.status[member] = runs_[k].status;
    }
  }

 private:
  struct Seat {
    Layout layout;
    std::vector<LinkInfo> links;
    std::vector<LawInfo> laws;
    std::vector<double> position, orientation, velocity, spin, signals;
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
    run.signals = seat.signals.data();
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
    return run;
  }

  void adapt(Seat& seat, Offset member) const {
    const Offset n = shared_.link_count;
    for (LinkInfo& link : seat.links) {
      const Offset row = member * n + link.body;
      if (args_.mass) set_mass(link, args_.mass[row]);
      for (int e = 0; e < 3 && args_.gravity; ++e) link.gravity[e] = link.share * args_.gravity[3 * row + e];
      if (!args_.inertia) continue;
      const double* J = args_.inertia + 9 * row;
      const double six[6] = {J[0], J[4], J[8], J[1], J[2], J[5]};
      std::copy(six, six + 6, link.inertia);
      if (!is_round(six, link.spin)) std::fill_n(link.spin, 3, 0.0);
    }
    for (int l = 0; l < shared_.law_count && args_.law; ++l)
      static_cast<Law&>(seat.laws[l]) = law_of(args_.law + law_size * (member * shared_.law_count + l));
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
  std::mutex mutex;
  std::condition_variable finished;
  const int group = std::max(kernel.lane_count(layout, args.run), 1);
  const auto work = [&](Worker& worker) {
    for (int first; !stop && (first = next.fetch_add(group)) < args.member_count;) {
      worker.run(first);
      const int members = std::min(group, args.member_count - first);
      if (done.fetch_add(members) + members == args.member_count) {
        const std::lock_guard<std::mutex> lock(mutex);
        finished.notify_one();
      }
    }
  };
  // here, where a lack of memory can still be told
  std::vector<std::unique_ptr<Worker>> workers;
  for (int k = 0; k < args.threads; ++k) workers.push_back(std::make_unique<Worker>(kernel, layout, args, group));
  std::vector<std::thread> threads;
  for (const auto& worker : workers) {
    try {
      threads.emplace_back(work, std::ref(*worker));
    } catch (const std::system_error&) {
      // no more to be had: those that run do the work, unless there are none
      if (threads.empty()) throw;
      break;
    }
  }
  {
    std::unique_lock<std::mutex> lock(mutex);
    while (done < args.member_count && !stop) {
      finished.wait_for(lock, std::chrono::milliseconds(50));
      lock.unlock();
      if (args.poll && !args.poll(args.run.context, done)) stop = true;
      lock.lock();
    }
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace catena
