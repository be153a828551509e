// Many live mechanisms: their nodes stand in arrays (member, ...) for Python to read, and what their steps depend on in
// rows, one for every group of members that is worked on at once. Between two calls a thread's workspace is free.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <vector>

#include "base/exclusive.hpp"
#include "base/thread_pool.hpp"
#include "batch/mismatch.hpp"
#include "python/core.hpp"

namespace catena {

class LiveBatch {
 public:
  // `input` has a law and one of its numbers for every input
  LiveBatch(const Core& core, const Settings& settings, int threads, const Start& start, const LoadArrays& loads,
            const RowFunctions& rows, const SignalFunction& signals, int signal_count, const MemberArrays& numbers,
            const InInts<-1, 2>& input);
  ~LiveBatch();
  LiveBatch(const LiveBatch&) = delete;
  LiveBatch& operator=(const LiveBatch&) = delete;

  // members (k) begin at the states (k) and times (k), with the inputs of the mechanism
  // or where they are absent (k) have failed before they began
  void begin(const InInts<-1>& members, const Start& start, const In<-1>& time, const InInts<-1>& absent);
  // on with what stands in `input`; a member that cannot goes no further; false if for the first time steps of a member
  // are coarse
  bool step(Offset count);

  int count() const { return count_; }
  const Status& status_of(int member) const;
  // of the last steps
  const Tally& tally_of(int member) const;
  bool in_lanes() const { return group_ > 1; }
  void visit(const std::function<void(const nb::object&)>& see) const;
  void forget_functions();

  // views that stay valid, and go with the nodes
  nb::object time, position, orientation, velocity, angular_velocity, counted, input, failed, error;
  nb::object coordinates();
  nb::object rates();

 private:
  // what views show: it stays as long as any of them does
  struct Memory {
    std::vector<double> time, position, orientation, velocity, angular_velocity, counted, input, coordinate, rate,
        error;
    std::unique_ptr<bool[]> failed;
  };
  class Worker;
  // where members of a group begin: rows of a Start, -1 for those that go on
  struct Entering {
    const Start* start = nullptr;
    const double* time = nullptr;
    const int* absent = nullptr;
    const std::vector<int>* row = nullptr;  // (member)
  };

  template <class T, class... Lengths>
  nb::object view(T* numbers, Lengths... lengths);
  void work_on(const std::vector<int>& groups, const Entering& entering, Offset steps);
  void find_coordinates(const Layout& layout, Offset first, Offset end, const double* signals);
  void require_all_coordinates();
  double* row_of(int group) { return reinterpret_cast<double*>(rows_.get()) + group * row_size_; }

  const Core& core_;
  // what the arguments refer to
  LoadArrays loads_;
  MemberArrays number_arrays_;
  Callbacks calls_;
  Layout layout_;
  MemberNumbers numbers_;
  std::vector<InputInfo> inputs_;
  std::vector<double> input_value_, nothing_;
  RunArgs run_;
  int count_, group_;
  bool own_loads_, has_functions_;
  Offset row_size_;
  Workspace rows_;
  std::vector<Status> status_;
  std::vector<Tally> tally_;
  bool inaccurate_ = false;  // steps of a member have been
  std::shared_ptr<Memory> memory_ = std::make_shared<Memory>();
  std::vector<std::unique_ptr<Worker>> workers_;
  std::unique_ptr<ThreadPool> pool_;  // none for a single thread
  nb::object coordinates_, rates_;
  bool reads_coordinates_ = false;
  std::atomic<bool> in_use_ = false;
};

}  // namespace catena
