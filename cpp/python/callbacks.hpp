// Calls from the kernels back into Python, on behalf of one run, one batch or one look at a mechanism. All that a
// call needs is its own or stands on the stack: any number of threads may call at once, for any number of runs.
#pragma once

#include <nanobind/stl/pair.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <typeinfo>
#include <utility>
#include <vector>

#include "python/checks.hpp"

namespace catena {

class Callbacks {
 public:
  nb::object poll = nb::none(), signals = nb::none();
  std::function<void(double time)> at_node;  // where a control is to be called
  std::vector<nb::object> rows;              // (hook) the user's own rows: poses (14) -> gaps, gradients
  const std::vector<int>* counts = nullptr;  // (hook) how many
  int signal_count = 0;
  std::atomic<bool> spoilt{false};  // the kernel was given no numbers
  RunArgs* run = nullptr;           // whose pace of polling is set
  std::vector<Impact> impacts;      // of one run

  // false once something went wrong, here or on another thread
  template <class Call>
  bool guarded(Call&& call) {
    if (stop_.load(std::memory_order_relaxed)) return false;
    nb::gil_scoped_acquire hold;
    try {
      call();
      return true;
    } catch (nb::python_error& error) {
      keep(std::move(error));
    } catch (const std::bad_cast&) {
      PyErr_SetString(PyExc_ValueError, "a function must return arrays of numbers");
      keep(nb::python_error());
    } catch (const std::exception& error) {
      PyErr_SetString(PyExc_ValueError, error.what());
      keep(nb::python_error());
    }
    return false;
  }
  bool stopped() const { return stop_.load(std::memory_order_relaxed); }
  void stop() { stop_.store(true, std::memory_order_relaxed); }

  // Python's error, kept until the kernel has returned
  void rethrow() {
    stop_.store(false, std::memory_order_relaxed);
    if (first_) throw nb::python_error(std::move(*std::exchange(first_, nullptr)));
  }

  static bool call_control(void* context, long, double time) {
    auto& calls = *static_cast<Callbacks*>(context);
    return calls.guarded([&] { calls.at_node(time); }) && !calls.stopped();
  }

  // several times a second the interpreter is asked; how many steps that is, is found out
  static bool call_poll(void* context, long step) {
    auto& calls = *static_cast<Callbacks*>(context);
    const auto now = Clock::now();
    const double spent = std::chrono::duration<double>(now - calls.last_look_).count();
    if (step > calls.last_step_) {
      const double pace = static_cast<double>(step - calls.last_step_) * between_looks / std::max(spent, 1e-9);
      calls.run->poll_every = std::clamp(static_cast<long>(pace), 1L, most_steps);
    }
    calls.last_look_ = now;
    calls.last_step_ = step;
    return calls.ask_now_and_then(step, now);
  }

  // of what has no pace
  static bool call_look(void* context, long done) {
    return static_cast<Callbacks*>(context)->ask_now_and_then(done, Clock::now());
  }

  static void call_impact(void* context, long before, const Impact& impact) {
    auto& impacts = static_cast<Callbacks*>(context)->impacts;
    impacts.resize(before);
    impacts.push_back(impact);
  }

  // the thread that waits for a batch
  static bool call_batch_poll(void* context, int done) { return static_cast<Callbacks*>(context)->ask(done); }
  // a member of a batch
  static bool call_stopped(void* context, long) { return !static_cast<Callbacks*>(context)->stopped(); }

  static void call_signals(void* context, double time, double* values) {
    auto& calls = *static_cast<Callbacks*>(context);
    const bool fine = calls.guarded([&] {
      const auto found = nb::cast<ConstDoubles>(calls.signals(time));
      require_size(found, calls.signal_count, "functions of time");
      std::copy_n(found.data(), calls.signal_count, values);
    });
    if (fine) return;
    calls.spoilt = true;
    std::fill_n(values, calls.signal_count, NAN);
  }

  static void call_rows(void* context, int hook, const double* poses, double* gap, double* gradient) {
    auto& calls = *static_cast<Callbacks*>(context);
    const int count = (*calls.counts)[hook];
    const bool fine = calls.guarded([&] {
      const auto found = nb::cast<std::pair<ConstDoubles, ConstDoubles>>(calls.rows[hook](array_of(poses, 14)));
      require_size(found.first, count, "gaps of a custom joint");
      require_size(found.second, 12L * count, "gradients of a custom joint");
      std::copy_n(found.first.data(), count, gap);
      std::copy_n(found.second.data(), 12 * count, gradient);
    });
    if (fine) return;
    calls.spoilt = true;
    std::fill_n(gap, count, NAN);
    std::fill_n(gradient, 12 * count, NAN);
  }

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr double between_looks = 0.02;  // s
  static constexpr long most_steps = 4096;

  bool ask_now_and_then(long done, Clock::time_point now) {
    if (now < next_poll_) return !stopped();
    next_poll_ = now + std::chrono::milliseconds(50);
    return ask(done);
  }
  bool ask(long done) {
    return guarded([&] {
      if (PyErr_CheckSignals() != 0) throw nb::python_error();
      if (!poll.is_none()) poll(done);
    });
  }

  // the first error is told; with the interpreter's lock held
  void keep(nb::python_error&& error) {
    if (!first_) first_ = std::make_unique<nb::python_error>(std::move(error));
    stop();
  }

  // a copy that Python owns
  static nb::object array_of(const double* numbers, std::size_t count) {
    auto* copy = new double[count];
    const nb::capsule owner(copy, [](void* p) noexcept { delete[] static_cast<double*>(p); });
    std::copy_n(numbers, count, copy);
    return nb::ndarray<nb::numpy, double, nb::ndim<1>>(copy, {count}, owner).cast();
  }

  std::unique_ptr<nb::python_error> first_;
  std::atomic<bool> stop_{false};
  Clock::time_point next_poll_{}, last_look_ = Clock::now();
  long last_step_ = 0;
};

}  // namespace catena
