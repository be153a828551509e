// A mechanism that stays in the core from step to step: workspace, history and state, and the node for Python to read.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <tuple>
#include <vector>

#include "base/exclusive.hpp"
#include "python/core.hpp"
#include "python/recording.hpp"

namespace catena {

using ControlFunction = nb::typed<nb::callable, nb::object(double, nb::any)>;  // the time, and the Live
using Numbers = nb::ndarray<nb::numpy, double, nb::ndim<1>>;
using Matrix = nb::ndarray<nb::numpy, double, nb::shape<-1, 3>>;
using Matrix6 = nb::ndarray<nb::numpy, double, nb::shape<-1, 6>>;

class Live {
 public:
  // `input` has a law and one of its numbers for every input, `checkpoint` is what another one has left
  Live(const Core& core, const Settings& settings, const Start& start, const LoadArrays& loads,
       const RowFunctions& rows, const SignalFunction& signals, int signal_count, const InInts<-1, 2>& input,
       const std::optional<In<-1>>& checkpoint);
  // the same mechanism with other rows of its loops; `put` has to follow
  void enter(const Core& core, SolverKind solver, const RowFunctions& rows);
  // another state to start from, as in the constructor
  void put(const Settings& settings, const Start& start, const LoadArrays& loads,
           const std::optional<In<-1>>& checkpoint);
  Live(const Live&) = delete;
  Live& operator=(const Live&) = delete;

  // to the first node, and on from there; false if that fails, see `ended`, or if for the first time a step is coarse
  bool start();
  bool step(Offset count);
  // a whole run, from the beginning, into a block of so many numbers; with checkpoints one of every node
  // is kept, and a control is called with the time and this at each; `times`, if there are any, are recorded in place
  // of nodes
  Offset room(bool checkpoints, Offset times) const { return Recording::size_of(recording_sizes(checkpoints, times)); }
  Recording run(const Out<-1>& block, bool checkpoints, const std::optional<Out<-1, -1>>& increments,
                const std::optional<ControlFunction>& control, const std::optional<Out<-1, -1, 6>>& held,
                const std::optional<In<-1>>& times, const std::optional<PollFunction>& poll);
  // the bounds of a hard stop: where it is to begin, and where it stands; the latter false if it cannot go on
  void put_bounds(int stop, double lower, double upper);
  bool rebound();
  // ends the run that waits for a control
  void end_run() { calls_.stop(); }

  // what the steps from here on depend on, as numbers in a row
  Numbers checkpoint();
  // the multipliers of the node, as a run records them
  Numbers multipliers();
  // what acts on bodies (body, 6) from the node on, as forces and torques on centers of mass in the world frame, none
  // if nothing is held; it has to stand at a node, with finite inputs
  std::optional<Matrix6> loads();
  // the next step linearized, with what stands in `input`: changes of coordinates and rates by these (2 n, 2 n), and by
  // inputs (2 n, input); after which all is as before
  std::tuple<Matrix, Matrix, LinearOutcome> linear_step();
  // the forces and torques wanted on bodies from the next step on: (body, 6), (body, 3), (body)
  void hold(const In<-1, 6>& values, const In<-1, 3>& point, const InInts<-1>& in_body_frame);
  // forces (body, 3), or with torques (body, 6), at centres of mass along the world's axes; false if they are not that
  bool hold_array(const In<-1, -1>& forces);
  // what another one holds, and wants held
  void hold_as(const Live& other);
  // what Python's collector has to know of
  void visit(const std::function<void(const nb::object&)>& see) const;
  void forget_functions();

  // which of all that were made it is, from 1 on
  std::uint64_t serial() const { return serial_; }
  // the node as it is; coordinates only if asked for
  struct View {
    const double *position, *orientation, *velocity, *angular_velocity, *coordinates, *inputs;
  };
  View view(bool with_coordinates);

  double time() const { return memory_->time; }
  const Tally& tally() const { return args_.tally; }
  // of the run that asks for a control, or of the last steps
  const std::vector<Impact>& impacts() const { return calls_.impacts; }
  double error() const { return error_; }
  const Status& ended() const { return args_.status; }
  bool failed() const { return args_.status.code != StatusCode::done; }

  // views that stay valid, and go with the node
  nb::object position, orientation, counted, input;
  nb::object velocity();
  nb::object angular_velocity();
  nb::object coordinates();
  nb::object rates();

 private:
  // what views show: it stays as long as any of them does
  struct Memory {
    double time = 0;
    std::vector<double> position, orientation, velocity, angular_velocity, counted, input, coordinate, rate;

    // the same node, where the views are
    void show(const Memory& from) {
      time = from.time;
      for (auto numbers :
           {&Memory::position, &Memory::orientation, &Memory::velocity, &Memory::angular_velocity, &Memory::counted})
        std::copy((from.*numbers).begin(), (from.*numbers).end(), (this->*numbers).begin());
    }
  };

  // a node to come back to, besides what stands in `scratch_`
  struct Node {
    Memory memory;
    std::vector<double> held_values, held_point, signals;
    std::vector<int> held_frame;
    bool held_plain, wants;
  };

  HeldLoads& want();
  Node keep();
  void go_back(const Node& node);
  void require_standing() const;
  nb::object view(std::vector<double>& numbers, bool writable, std::initializer_list<std::size_t> shape);
  Recording::Sizes recording_sizes(bool checkpoints, Offset times) const;
  void find_velocities();
  bool show_velocities();
  void find_coordinates(bool with_rates);
  void node_has_moved();
  void show_inputs();
  void take_inputs();
  void call_control(double time);

  static inline std::atomic<std::uint64_t> made_ = 0;
  const std::uint64_t serial_ = ++made_;
  const Core* core_;
  // what the arguments refer to
  Start start_;
  LoadArrays loads_;
  std::shared_ptr<Memory> memory_ = std::make_shared<Memory>();
  Callbacks calls_;
  Layout layout_;
  std::vector<LawInfo> laws_;
  std::vector<double> signals_, checkpoint_, scratch_, wanted_values_, wanted_point_, held_values_, held_point_,
      input_value_;
  std::vector<int> wanted_frame_, held_frame_;
  std::vector<InputInfo> inputs_;
  RunArgs args_;
  Workspace space_, linear_room_;
  nb::object velocity_, angular_velocity_, coordinates_, rates_;
  bool velocities_known_ = false, coordinates_known_ = false, rates_known_ = false;  // of the node
  bool inputs_shown_ = false;
  nb::object control_ = nb::none();
  bool has_functions_;
  std::atomic<bool> in_use_ = false, in_control_ = false;
  bool started_ = false;
  double error_ = 0;         // of all steps since the start
  bool inaccurate_ = false;  // one of them was
};

}  // namespace catena
