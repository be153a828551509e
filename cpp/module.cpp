// Bindings only: arrays in, arrays out, the choice of a kernel. No logic of its own.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/processor.hpp"
#include "batch.hpp"
#include "kernel.hpp"
#include "workspace.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace catena {

#define CATENA_DECLARE(isa)   \
  namespace isa {             \
  extern const Kernel kernel; \
  }
#ifdef CATENA_X86_V1
CATENA_DECLARE(v1)
#endif
#ifdef CATENA_X86_V3
CATENA_DECLARE(v3)
#endif
#ifdef CATENA_X86_V4
CATENA_DECLARE(v4)
#endif
#if !defined(CATENA_X86_V1) && !defined(CATENA_X86_V3) && !defined(CATENA_X86_V4)
#define CATENA_PLAIN
CATENA_DECLARE(plain)
#endif

namespace {

// kernels this CPU can run, best last
std::vector<const Kernel*> usable_kernels() {
#ifdef CATENA_PLAIN
  return {&plain::kernel};
#else
  [[maybe_unused]] const int level = x86_level();
  std::vector<const Kernel*> list;
#ifdef CATENA_X86_V1
  list.push_back(&v1::kernel);
#endif
#ifdef CATENA_X86_V3
  if (level >= 3) list.push_back(&v3::kernel);
#endif
#ifdef CATENA_X86_V4
  if (level >= 4) list.push_back(&v4::kernel);
#endif
  return list;
#endif
}

const Kernel* find_kernel(const std::string& name) {
  std::string known;
  for (const Kernel* k : usable_kernels()) {
    if (name == k->name) return k;
    known += std::string(known.empty() ? "" : ", ") + k->name;
  }
  throw nb::value_error(("this machine has no kernel '" + name + "', only: " + known).c_str());
}

using Doubles = nb::ndarray<double, nb::c_contig, nb::device::cpu>;
using ConstDoubles = nb::ndarray<const double, nb::c_contig, nb::device::cpu>;
using Ints = nb::ndarray<int, nb::c_contig, nb::device::cpu>;
using ConstInts = nb::ndarray<const int, nb::c_contig, nb::device::cpu>;

template <class T, class Array>
std::vector<T> to_vector(const Array& a) {
  return {a.data(), a.data() + a.size()};
}

// Python errors are kept until the kernel has returned
struct Errors {
  std::unique_ptr<nb::python_error> first;

  template <class Call>
  bool guarded(Call&& call) {
    nb::gil_scoped_acquire hold;
    if (first) return false;
    try {
      call();
      return true;
    } catch (nb::python_error& e) {
      first = std::make_unique<nb::python_error>(std::move(e));
      return false;
    }
  }
  void rethrow() {
    if (first) throw nb::python_error(std::move(*std::exchange(first, nullptr)));
  }
};

// what the callbacks of a run need; a function of time leaves its values in `signal_row`
struct Hooks {
  nb::object control, poll, signals;
  const double* signal_row = nullptr;
  std::size_t signal_count = 0;
  std::chrono::steady_clock::time_point next_poll{};
  Errors& errors;
};

// The user's own rows: called without arguments, after the poses (14) have been written, it fills the gaps (row) and
// gradients (row, 12).
struct GivenRows {
  nb::object call;
  Doubles poses, gap, gradient;
};

bool call_control(void* context, long step, double time) {
  auto& hooks = *static_cast<Hooks*>(context);
  return hooks.errors.guarded([&] { hooks.control(step, time); });
}

bool call_poll(void* context, long step) {
  auto& hooks = *static_cast<Hooks*>(context);
  const auto now = std::chrono::steady_clock::now();
  if (now < hooks.next_poll) return true;
  hooks.next_poll = now + std::chrono::milliseconds(100);
  return hooks.errors.guarded([&] {
    if (PyErr_CheckSignals() != 0) throw nb::python_error();
    if (!hooks.poll.is_none()) hooks.poll(step);
  });
}

bool call_batch_poll(void* context, int done) {
  auto& hooks = *static_cast<Hooks*>(context);
  return hooks.errors.guarded([&] {
    if (PyErr_CheckSignals() != 0) throw nb::python_error();
    if (!hooks.poll.is_none()) hooks.poll(done);
  });
}

void call_signals(void* context, double time, double* values) {
  auto& hooks = *static_cast<Hooks*>(context);
  // the row is copied while the lock is held: threads share it
  const bool fine = hooks.errors.guarded([&] {
    hooks.signals(time);
    std::copy_n(hooks.signal_row, hooks.signal_count, values);
  });
  if (!fine) std::fill_n(values, hooks.signal_count, NAN);
}

// kind, bodies (n, 2), anchors (n, 2, 3), frames (n, 2, 4), parameter
using Pairs = std::tuple<ConstInts, ConstInts, ConstDoubles, ConstDoubles, ConstDoubles>;

template <class P>
P pair_at(const Pairs& pairs, std::size_t j) {
  const auto& [kind, bodies, anchors, frames, parameters] = pairs;
  P pair{};
  pair.kind = kind.data()[j];
  pair.body_a = bodies.data()[2 * j];
  pair.body_b = bodies.data()[2 * j + 1];
  const double *p = anchors.data() + 6 * j, *q = frames.data() + 8 * j;
  std::copy_n(p, 3, pair.anchor_a);
  std::copy_n(p + 3, 3, pair.anchor_b);
  std::copy_n(q, 4, pair.frame_a);
  std::copy_n(q + 4, 4, pair.frame_b);
  pair.parameter = parameters.data()[j];
  return pair;
}

// solver, order, dt, tolerance, iteration limit, rescue depth, paper's start, start time, steps, record_every
using Settings = std::tuple<SolverKind, int, double, double, int, int, bool, double, long, long>;
// position, orientation, velocity, angular velocity; what laws, terms of couplings and counters measure there
using Start =
    std::tuple<ConstDoubles, ConstDoubles, ConstDoubles, ConstDoubles, ConstDoubles, ConstDoubles, ConstDoubles>;
// body, point, in body frame, signal, values
using LoadArrays = std::tuple<ConstInts, ConstDoubles, ConstInts, ConstInts, ConstDoubles>;
// time, position, orientation, velocity, angular velocity; iterations, pieces
using Records = std::tuple<Doubles, Doubles, Doubles, Doubles, Doubles, Ints, Ints>;
// position, orientation, velocity, angular velocity, counted angles
using ControlArrays = std::tuple<Doubles, Doubles, Doubles, Doubles, Doubles>;
// code, step, time, body, joint, law, size, records
using Ended = std::tuple<StatusCode, long, double, int, int, int, double, long>;

// fit; of every joint: rows asked for or -1, directions that cannot be, combinations (36), what lengths are measured
// by; of every coupling whether it is idle
using AskedArrays = std::tuple<double, ConstInts, ConstInts, ConstDoubles, ConstDoubles, ConstInts>;

Ended ended(const Status& s) { return {s.code, s.step, s.time, s.body, s.joint, s.law, s.size, s.records}; }

// what a run and a batch have in common
RunArgs common_args(const Settings& settings, const Start& start, const LoadArrays& loads,
                    const ConstDoubles& signal_row, const Records& records, const Doubles& out_counted) {
  RunArgs args;
  std::tie(args.solver, args.order, args.dt, args.tolerance, args.iteration_limit, args.rescue_depth, args.paper_start,
           args.start_time, args.steps, args.record_every) = settings;
  const auto& [position, orientation, velocity, angular_velocity, law_start, term_start, counter_start] = start;
  args.position = position.data();
  args.orientation = orientation.data();
  args.velocity = velocity.data();
  args.angular_velocity = angular_velocity.data();
  args.law_start = law_start.data();
  args.term_start = term_start.data();
  args.counter_count = static_cast<int>(counter_start.shape(counter_start.ndim() - 1));
  args.counter_start = counter_start.data();
  args.out_counted = out_counted.data();
  args.signal_count = static_cast<int>(signal_row.size());
  args.read_signals = call_signals;
  const auto& [body, point, in_body_frame, signal, values] = loads;
  args.loads = {static_cast<int>(body.size()),
                body.data(),
                point.data(),
                in_body_frame.data(),
                signal.data(),
                values.data(),
                static_cast<long>(values.shape(values.ndim() - 3))};
  const auto& [time, x, q, v, w, iterations, pieces] = records;
  args.out_time = time.data();
  args.out_position = x.data();
  args.out_orientation = q.data();
  args.out_velocity = v.data();
  args.out_angular_velocity = w.data();
  args.out_iterations = iterations.data();
  args.out_pieces = pieces.data();
  return args;
}

class Core {
 public:
  Core(ConstDoubles mass, ConstDoubles inertia, ConstDoubles gravity, const Pairs& joints, ConstInts joint_extras,
       const std::vector<std::tuple<nb::object, Doubles, Doubles, Doubles>>& given, const Pairs& measures,
       ConstDoubles laws, ConstInts law_signals, ConstInts coupling_terms, ConstDoubles coefficients,
       ConstDoubles offsets, ConstInts coupling_signals, ConstInts counter_grounds, int signal_count,
       const AskedArrays& asked, const std::string& kernel)
      : kernel_(find_kernel(kernel)),
        model_(make_spec(mass, inertia, gravity, joints, joint_extras, measures, laws, law_signals, coupling_terms,
                         coefficients, offsets, coupling_signals, counter_grounds, signal_count, asked)) {
    for (const auto& [call, poses, gap, gradient] : given) given_.push_back({call, poses, gap, gradient});
    model_.attach({call_given, this});
  }
  Core(const Core&) = delete;
  Core& operator=(const Core&) = delete;

  Ended run(const Settings& settings, const Start& start, const LoadArrays& loads, nb::object signals,
            ConstDoubles signal_row, const Records& records, Doubles out_counted, Doubles out_multipliers,
            nb::object control, const std::optional<ControlArrays>& control_arrays, nb::object poll) {
    RunArgs args = common_args(settings, start, loads, signal_row, records, out_counted);
    std::vector<double> signal_values(4 * signal_row.size());
    args.signals = signal_values.data();
    args.out_multipliers = out_multipliers.data();

    Hooks hooks{control, poll, signals, signal_row.data(), signal_row.size(), {}, errors_};
    args.context = &hooks;
    if (!control.is_none()) {
      const auto& [position, orientation, velocity, angular_velocity, counted] = *control_arrays;
      args.control = call_control;
      args.loads.held = model_.layout().link_count;
      args.control_position = position.data();
      args.control_orientation = orientation.data();
      args.control_velocity = velocity.data();
      args.control_angular_velocity = angular_velocity.data();
      args.control_counted = counted.data();
    }
    args.poll = call_poll;
    args.poll_every = 64;

    const Workspace space = workspace(args.solver, args.order);
    {
      nb::gil_scoped_release release;
      kernel_->run(model_.layout(), space.get(), args);
    }
    errors_.rethrow();
    return ended(args.status);
  }

  // arrays as in `run` with an axis (member) in front; numbers of the mechanism that differ between members, or none
  std::vector<Ended> run_batch(const Settings& settings, int threads, const Start& start, const LoadArrays& loads,
                               bool own_loads, nb::object signals, ConstDoubles signal_row,
                               std::optional<ConstDoubles> mass, std::optional<ConstDoubles> inertia,
                               std::optional<ConstDoubles> gravity, std::optional<ConstDoubles> laws, ConstInts bodies,
                               const Records& records, Doubles out_counted, nb::object poll) {
    BatchArgs batch;
    batch.run = common_args(settings, start, loads, signal_row, records, out_counted);
    batch.member_count = static_cast<int>(std::get<0>(start).shape(0));
    batch.threads = threads;
    batch.mass = mass ? mass->data() : nullptr;
    batch.inertia = inertia ? inertia->data() : nullptr;
    batch.gravity = gravity ? gravity->data() : nullptr;
    batch.law = laws ? laws->data() : nullptr;
    batch.own_loads = own_loads;
    batch.body_count = static_cast<int>(bodies.size());
    batch.bodies = bodies.data();
    batch.records = static_cast<long>(std::get<0>(records).shape(1));
    std::vector<Status> status(batch.member_count);
    batch.status = status.data();
    batch.poll = call_batch_poll;

    Hooks hooks{nb::none(), poll, signals, signal_row.data(), signal_row.size(), {}, errors_};
    batch.run.context = &hooks;
    {
      nb::gil_scoped_release release;
      catena::run_batch(*kernel_, model_.layout(), batch);
    }
    errors_.rethrow();
    std::vector<Ended> result;
    for (const Status& s : status) result.push_back(ended(s));
    return result;
  }

  void linearise(double dt, double kick, ConstDoubles position, ConstDoubles orientation, ConstDoubles velocity,
                 ConstDoubles momentum, ConstDoubles unknowns, Doubles residual, Doubles matrix,
                 std::optional<ConstDoubles> signals) {
    const std::vector<double> none(model_.layout().signal_count + 1, 0.0);
    const LinearisationArgs args{dt,
                                 kick,
                                 position.data(),
                                 orientation.data(),
                                 velocity.data(),
                                 momentum.data(),
                                 unknowns.data(),
                                 signals ? signals->data() : none.data(),
                                 residual.data(),
                                 matrix.data()};
    const Workspace space = workspace(SolverKind::dense, 2);
    kernel_->linearise(model_.layout(), space.get(), args);
    errors_.rethrow();
  }

  int assemble(int iteration_limit, Doubles position, Doubles orientation, Doubles velocity, Doubles angular_velocity,
               ConstDoubles term_start, Doubles counted, ConstDoubles signals, ConstDoubles signal_rates,
               double loose_below) {
    AssembleArgs args{iteration_limit,
                      position.data(),
                      orientation.data(),
                      velocity.data(),
                      angular_velocity.data(),
                      term_start.data(),
                      counted.data(),
                      signals.data(),
                      signal_rates.data(),
                      loose_below,
                      0};
    const Workspace space = either_workspace();
    {
      nb::gil_scoped_release release;
      kernel_->assemble(model_.layout(), space.get(), args);
    }
    errors_.rethrow();
    return args.iterations;
  }

  // length and angle by which every joint and coupling is open at some poses, (pose, joint, 2), and what redundant
  // joints disagree by
  void gaps(ConstDoubles position, ConstDoubles orientation, ConstDoubles term_start, ConstDoubles signals, Doubles out,
            Doubles misfit) {
    const GapArgs args{static_cast<long>(out.shape(0)),
                       position.data(),
                       orientation.data(),
                       term_start.data(),
                       signals.data(),
                       out.data(),
                       misfit.data()};
    const Workspace space = either_workspace();
    kernel_->gaps(model_.layout(), space.get(), args);
    errors_.rethrow();
  }

  // see ExploreArgs; the number of poses
  int explore(double fit, ConstDoubles position, ConstDoubles orientation, ConstDoubles term_start,
              ConstDoubles signals, ConstDoubles length, Doubles singular, Doubles direction) {
    ExploreArgs args{fit,
                     static_cast<int>(singular.shape(0)) - 1,
                     position.data(),
                     orientation.data(),
                     term_start.data(),
                     signals.data(),
                     length.data(),
                     singular.data(),
                     direction.data(),
                     0};
    const Workspace space = make_workspace(kernel_->explore_size(model_.layout()));
    {
      nb::gil_scoped_release release;
      kernel_->explore(model_.layout(), space.get(), args);
    }
    errors_.rethrow();
    return args.found;
  }
  // the user's joint, couplings after the joints, of every loop closure; -1 for a law
  std::vector<int> loop_joints() const {
    const Layout& layout = model_.layout();
    std::vector<int> list;
    for (int l = 0; l < layout.loop_count; ++l) list.push_back(layout.constraint[layout.loop[l]].joint);
    return list;
  }

  // estimated work of one Newton iteration, in multiplications as fast as the articulated solver's own
  double articulated_work() const { return model_.layout().articulated_work; }
  double ldu_work() const { return model_.layout().ldu_work; }
  // of one increment of `explore`
  double explore_work() const {
    const double closing = model_.layout().largest_closing;
    return articulated_work() + closing * closing * closing;
  }
  std::string kernel() const { return kernel_->name; }
  int row_count() const { return model_.layout().recorded_count; }
  int unknown_count() const { return 6 * model_.layout().link_count + model_.layout().row_count; }
  long workspace_size(SolverKind solver, int order) const {
    return kernel_->workspace_size(model_.layout(), solver, order);
  }
  // the user's body index of every link, parents first
  std::vector<int> link_bodies() const {
    const Layout& layout = model_.layout();
    std::vector<int> list;
    for (int i = 0; i < layout.link_count; ++i) list.push_back(layout.link[i].body);
    return list;
  }

 private:
  Workspace workspace(SolverKind solver, int order) const { return make_workspace(workspace_size(solver, order)); }
  // for what needs the one solver and then the other
  Workspace either_workspace() const {
    return make_workspace(std::max(workspace_size(SolverKind::ldu, 2), workspace_size(SolverKind::articulated, 2)));
  }

  static Spec make_spec(const ConstDoubles& mass, const ConstDoubles& inertia, const ConstDoubles& gravity,
                        const Pairs& joints, const ConstInts& joint_extras, const Pairs& measures,
                        const ConstDoubles& laws, const ConstInts& law_signals, const ConstInts& coupling_terms,
                        const ConstDoubles& coefficients, const ConstDoubles& offsets,
                        const ConstInts& coupling_signals, const ConstInts& counter_grounds, int signal_count,
                        const AskedArrays& asked) {
    const auto& [fit, rows, excess, combination, length, idle] = asked;
    Spec spec;
    spec.fit = fit;
    spec.mass = to_vector<double>(mass);
    spec.inertia = to_vector<double>(inertia);
    spec.gravity = to_vector<double>(gravity);
    spec.signal_count = signal_count;
    for (std::size_t j = 0; j < std::get<0>(joints).size(); ++j) {
      JointSpec joint = pair_at<JointSpec>(joints, j);
      joint.row_count = joint_extras.data()[3 * j];
      joint.signal = joint_extras.data()[3 * j + 1];
      joint.ground = joint_extras.data()[3 * j + 2];
      joint.asked.rows = rows.data()[j];
      joint.asked.excess = excess.data()[j];
      joint.asked.length = length.data()[j];
      std::copy_n(combination.data() + 36 * j, 36, joint.asked.combination);
      spec.joint.push_back(joint);
    }
    // measures of laws come first, then those of couplings, then those to be counted
    std::size_t at = 0;
    for (; at < laws.shape(0); ++at) {
      LawSpec law;
      static_cast<Law&>(law) = law_of(laws.data() + law_size * at);
      law.measure = pair_at<Pair>(measures, at);
      law.target = law_signals.data()[2 * at];
      law.force = law_signals.data()[2 * at + 1];
      spec.law.push_back(law);
    }
    std::size_t term = 0;
    for (std::size_t c = 0; c < coupling_terms.size(); ++c) {
      CouplingSpec coupling;
      for (int t = 0; t < coupling_terms.data()[c]; ++t, ++at, ++term) {
        coupling.measure.push_back(pair_at<Pair>(measures, at));
        coupling.coefficient.push_back(coefficients.data()[term]);
      }
      coupling.offset = offsets.data()[c];
      coupling.signal = coupling_signals.data()[c];
      coupling.idle = idle.data()[c] != 0;
      spec.coupling.push_back(coupling);
    }
    for (std::size_t k = 0; at < std::get<0>(measures).size(); ++at, ++k) {
      spec.counter.push_back(pair_at<JointSpec>(measures, at));
      spec.counter.back().ground = counter_grounds.data()[k];
    }
    return spec;
  }

  static void call_given(void* context, int hook, const double* poses, double* gap, double* gradient) {
    auto& core = *static_cast<Core*>(context);
    GivenRows& given = core.given_[hook];
    const std::size_t rows = given.gap.size();
    const bool fine = core.errors_.guarded([&] {
      std::copy_n(poses, 14, given.poses.data());
      given.call();
      std::copy_n(given.gap.data(), rows, gap);
      std::copy_n(given.gradient.data(), 12 * rows, gradient);
    });
    if (fine) return;
    std::fill_n(gap, rows, NAN);
    std::fill_n(gradient, 12 * rows, NAN);
  }

  Errors errors_;
  std::vector<GivenRows> given_;
  const Kernel* kernel_;
  Model model_;
};

}  // namespace
}  // namespace catena

NB_MODULE(_core, m) {
  using namespace catena;
  m.doc() = "The compiled core of catena. Private: use catena.Simulator.";

  nb::enum_<SolverKind>(m, "SolverKind")
      .value("articulated", SolverKind::articulated)
      .value("ldu", SolverKind::ldu)
      .value("dense", SolverKind::dense);
  nb::enum_<StatusCode>(m, "StatusCode")
      .value("done", StatusCode::done)
      .value("interrupted", StatusCode::interrupted)
      .value("diverged", StatusCode::diverged)
      .value("too_far", StatusCode::too_far)
      .value("singular", StatusCode::singular)
      .value("locked", StatusCode::locked)
      .value("exhausted", StatusCode::exhausted)
      .value("flat", StatusCode::flat);

  m.def(
      "kernels",
      [] {
        std::vector<std::string> names;
        for (const Kernel* k : usable_kernels()) names.push_back(k->name);
        return names;
      },
      "Names of the kernels this machine can run, slowest first.");
  m.def(
      "joint_forms",
      [] {
        std::vector<std::tuple<std::string, std::vector<bool>>> forms;
        for (const JointForm& form : joint_form) {
          const int kind = static_cast<int>(&form - joint_form);
          std::vector<bool> lengths;
          for (int k = 0; k < joint_row_count(kind); ++k) lengths.push_back(row_is_length(kind, k));
          forms.push_back({form.name, lengths});
        }
        return forms;
      },
      "Every joint kind by its code: name, and for each row whether it is a length (m) or an angle (rad).");
  m.def(
      "joint_rows",
      [](int kind, ConstDoubles anchors, ConstDoubles frames, double parameter, ConstDoubles position_a,
         ConstDoubles orientation_a, ConstDoubles position_b, ConstDoubles orientation_b, Doubles gap, Doubles wrench,
         Doubles point) {
        const double *p = anchors.data(), *q = frames.data();
        Pair pair{kind, -1, -1, {}, {}, {}, {}, parameter};
        std::copy_n(p, 3, pair.anchor_a);
        std::copy_n(p + 3, 3, pair.anchor_b);
        std::copy_n(q, 4, pair.frame_a);
        std::copy_n(q + 4, 4, pair.frame_b);
        const ConstraintInfo joint = constraint_of(pair);
        const RowsArgs args{&joint,
                            static_cast<long>(position_a.shape(0)),
                            position_a.data(),
                            orientation_a.data(),
                            position_b.data(),
                            orientation_b.data(),
                            gap.data(),
                            wrench.data(),
                            point.data()};
        usable_kernels().front()->rows(args);
      },
      nb::kw_only(), "kind"_a, "anchors"_a, "frames"_a, "parameter"_a, "position_a"_a, "orientation_a"_a,
      "position_b"_a, "orientation_b"_a, "gap"_a, "wrench"_a, "point"_a,
      "Gaps (n, rows), unit wrenches on b at its joint point (n, rows, 6) and that point (n, 3), for n pairs of "
      "poses.");

  nb::class_<Core>(m, "Core")
      .def(nb::init<ConstDoubles, ConstDoubles, ConstDoubles, const Pairs&, ConstInts,
                    const std::vector<std::tuple<nb::object, Doubles, Doubles, Doubles>>&, const Pairs&, ConstDoubles,
                    ConstInts, ConstInts, ConstDoubles, ConstDoubles, ConstInts, ConstInts, int, const AskedArrays&,
                    const std::string&>(),
           nb::kw_only(), "mass"_a, "inertia"_a, "gravity"_a, "joints"_a, "joint_extras"_a, "given"_a, "measures"_a,
           "laws"_a, "law_signals"_a, "coupling_terms"_a, "coefficients"_a, "offsets"_a, "coupling_signals"_a,
           "counter_grounds"_a, "signal_count"_a, "asked"_a, "kernel"_a)
      .def("run", &Core::run, nb::kw_only(), "settings"_a, "start"_a, "loads"_a, "signals"_a, "signal_row"_a,
           "records"_a, "out_counted"_a, "out_multipliers"_a, "control"_a.none(), "control_arrays"_a.none(),
           "poll"_a.none())
      .def("run_batch", &Core::run_batch, nb::kw_only(), "settings"_a, "threads"_a, "start"_a, "loads"_a, "own_loads"_a,
           "signals"_a, "signal_row"_a, "mass"_a.none(), "inertia"_a.none(), "gravity"_a.none(), "laws"_a.none(),
           "bodies"_a, "records"_a, "out_counted"_a, "poll"_a.none())
      .def("linearise", &Core::linearise, nb::kw_only(), "dt"_a, "kick"_a, "position"_a, "orientation"_a, "velocity"_a,
           "momentum"_a, "unknowns"_a, "residual"_a, "matrix"_a, "signals"_a = nb::none())
      .def("assemble", &Core::assemble, nb::kw_only(), "iteration_limit"_a, "position"_a, "orientation"_a, "velocity"_a,
           "angular_velocity"_a, "term_start"_a, "counted"_a, "signals"_a, "signal_rates"_a, "loose_below"_a = 0.0)
      .def("gaps", &Core::gaps, nb::kw_only(), "position"_a, "orientation"_a, "term_start"_a, "signals"_a, "out"_a,
           "misfit"_a)
      .def("explore", &Core::explore, nb::kw_only(), "fit"_a, "position"_a, "orientation"_a, "term_start"_a,
           "signals"_a, "length"_a, "singular"_a, "direction"_a)
      .def_prop_ro("kernel", &Core::kernel)
      .def_prop_ro("articulated_work", &Core::articulated_work)
      .def_prop_ro("ldu_work", &Core::ldu_work)
      .def_prop_ro("explore_work", &Core::explore_work)
      .def_prop_ro("row_count", &Core::row_count)
      .def_prop_ro("unknown_count", &Core::unknown_count)
      .def_prop_ro("link_bodies", &Core::link_bodies)
      .def_prop_ro("loop_joints", &Core::loop_joints)
      .def("workspace_size", &Core::workspace_size, "solver"_a, "order"_a);
}
