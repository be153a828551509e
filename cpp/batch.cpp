#include "batch.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <new>
#include <thread>
#include <vector>

namespace catena {

namespace {

struct AlignedDelete {
  void operator()(char* p) const { ::operator delete[](p, std::align_val_t(64)); }
};

// one thread's copy of what differs between members, and room for records that are not all kept
class Worker {
 public:
  Worker(const Kernel& kernel, const Layout& layout, const BatchArgs& args)
      : kernel_(kernel), args_(args), layout_(layout) {
    links_.assign(layout.link, layout.link + layout.link_count);
    laws_.assign(layout.law, layout.law + layout.law_count);
    layout_.link = links_.data();
    layout_.law = laws_.data();
    space_.reset(new (std::align_val_t(64)) char[kernel.workspace_size(layout, args.run.solver, args.run.order) + 64]);
    const std::size_t n = static_cast<std::size_t>(args.records) * layout.link_count;
    position_.resize(3 * n);
    orientation_.resize(4 * n);
    velocity_.resize(3 * n);
    spin_.resize(3 * n);
    multipliers_.resize(static_cast<std::size_t>(args.records) * layout.row_count);
    signals_.resize(4 * static_cast<std::size_t>(args.run.signal_count));
  }

  void run(int member) {
    adapt(member);
    const int n = layout_.link_count;
    const long at = member;
    RunArgs run = args_.run;
    run.position += 3 * n * at;
    run.orientation += 4 * n * at;
    run.velocity += 3 * n * at;
    run.angular_velocity += 3 * n * at;
    run.law_start += layout_.law_count * at;
    run.term_start += term_count() * at;
    run.signals = signals_.data();
    run.counter_start += run.counter_count * at;
    run.out_counted += run.counter_count * args_.records * at;
    if (args_.own_loads) run.loads.values += 6 * run.loads.count * run.loads.rows * at;
    run.out_time += args_.records * at;
    double *x = run.out_position, *q = run.out_orientation, *v = run.out_velocity, *w = run.out_angular_velocity;
    run.out_position = position_.data();
    run.out_orientation = orientation_.data();
    run.out_velocity = velocity_.data();
    run.out_angular_velocity = spin_.data();
    run.out_multipliers = multipliers_.data();
    run.out_iterations += std::max(run.steps, 1L) * at;
    run.out_pieces += std::max(run.steps, 1L) * at;
    kernel_.run(layout_, space_.get(), run);
    keep(at, run.status.records, x, position_, 3);
    keep(at, run.status.records, q, orientation_, 4);
    keep(at, run.status.records, v, velocity_, 3);
    keep(at, run.status.records, w, spin_, 3);
    args_.status[member] = run.status;
  }

 private:
  int term_count() const {
    int count = 0;
    for (int j = 0; j < layout_.constraint_count; ++j)
      if (layout_.constraint[j].kind == JointKind::coupling) count += layout_.constraint[j].end_count / 2;
    return count;
  }

  void adapt(int member) {
    const long n = layout_.link_count;
    for (LinkInfo& link : links_) {
      const long row = member * n + link.body;
      if (args_.mass) link.mass = args_.mass[row];
      if (args_.gravity) std::copy_n(args_.gravity + 3 * row, 3, link.gravity);
      if (!args_.inertia) continue;
      const double* J = args_.inertia + 9 * row;
      const double six[6] = {J[0], J[4], J[8], J[1], J[2], J[5]};
      std::copy(six, six + 6, link.inertia);
    }
    for (int l = 0; l < layout_.law_count && args_.law; ++l) {
      const double* p = args_.law + law_size * (static_cast<long>(member) * layout_.law_count + l);
      static_cast<Law&>(laws_[l]) = {p[0], p[1], p[2], p[3], p[4], p[5], p[6], p[7], p[8], p[9], p[10], p[11], p[12]};
    }
  }

  void keep(long member, long records, double* to, const std::vector<double>& from, int size) const {
    to += member * args_.records * args_.body_count * size;
    for (long r = 0; r < records; ++r)
      for (int b = 0; b < args_.body_count; ++b, to += size)
        std::copy_n(&from[(r * layout_.link_count + args_.bodies[b]) * size], size, to);
  }

  const Kernel& kernel_;
  const BatchArgs& args_;
  Layout layout_;
  std::vector<LinkInfo> links_;
  std::vector<LawInfo> laws_;
  std::unique_ptr<char[], AlignedDelete> space_;
  std::vector<double> position_, orientation_, velocity_, spin_, multipliers_, signals_;
};

}  // namespace

bool run_batch(const Kernel& kernel, const Layout& layout, BatchArgs& args) {
  std::atomic<int> next{0}, done{0};
  std::atomic<bool> stop{false};
  std::mutex mutex;
  std::condition_variable finished;
  const auto work = [&] {
    Worker worker(kernel, layout, args);
    for (int member; !stop && (member = next.fetch_add(1)) < args.member_count;) {
      worker.run(member);
      if (done.fetch_add(1) + 1 == args.member_count) {
        const std::lock_guard<std::mutex> lock(mutex);
        finished.notify_one();
      }
    }
  };
  std::vector<std::thread> threads;
  for (int k = 0; k < args.threads; ++k) threads.emplace_back(work);
  {
    std::unique_lock<std::mutex> lock(mutex);
    while (done < args.member_count && !stop) {
      finished.wait_for(lock, std::chrono::milliseconds(100));
      lock.unlock();
      if (args.poll && !args.poll(args.run.context, done)) stop = true;
      lock.lock();
    }
  }
  for (std::thread& thread : threads) thread.join();
  return !stop;
}

}  // namespace catena
