// Bindings only: arrays in, arrays out, the choice of a kernel. Checks are in checks.hpp, calls back in calls.hpp.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "base/processor.hpp"
#include "batch.hpp"
#include "calls.hpp"
#include "checks.hpp"
#include "kernel.hpp"
#include "model/elimination.hpp"
#include "model/groups.hpp"
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

template <class T, class Array>
std::vector<T> to_vector(const Array& a) {
  return {a.data(), a.data() + a.size()};
}

// kind, bodies (n, 2), anchors (n, 2, 3), frames (n, 2, 4), parameter
using Pairs = std::tuple<ConstInts, ConstInts, ConstDoubles, ConstDoubles, ConstDoubles>;

std::size_t pair_count(const Pairs& pairs, const char* what) {
  const auto& [kind, bodies, anchors, frames, parameters] = pairs;
  const long count = static_cast<long>(kind.size());
  require_shape(kind, {-1}, what);
  require_shape(bodies, {count, 2}, what);
  require_shape(anchors, {count, 2, 3}, what);
  require_shape(frames, {count, 2, 4}, what);
  require_shape(parameters, {count}, what);
  return kind.size();
}

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
// time, position, orientation, velocity, angular velocity; iterations, pieces, remainder
using Records = std::tuple<Doubles, Doubles, Doubles, Doubles, Doubles, Ints, Ints, Doubles>;
// position, orientation, velocity, angular velocity, counted angles
using ControlArrays = std::tuple<Doubles, Doubles, Doubles, Doubles, Doubles>;
// code, step, time, body, joint, law, size, records
using Ended = std::tuple<StatusCode, long, double, int, int, int, double, long>;

// fit; of every joint: rows asked for or -1, directions that cannot be, combinations (36), what lengths are measured
// by; of every coupling whether it is idle
using AskedArrays = std::tuple<double, ConstInts, ConstInts, ConstDoubles, ConstDoubles, ConstInts>;

Ended ended(const Status& s) { return {s.code, s.step, s.time, s.body, s.joint, s.law, s.size, s.records}; }

// one for all nodes, or one for each
void require_loads(const LoadArrays& loads, const RunArgs& args, int body_count, long members) {
  const auto& [body, point, in_body_frame, signal, values] = loads;
  const long count = static_cast<long>(body.size());
  require_shape(body, {-1}, "bodies of loads");
  require_shape(point, {count, 3}, "points of loads");
  require_shape(in_body_frame, {count}, "frames of loads");
  require_shape(signal, {count}, "functions of loads");
  if (members > 0)
    require_shape(values, {members, -1, count, 6}, "values of loads");
  else
    require_shape(values, {-1, count, 6}, "values of loads");
  const long rows = static_cast<long>(values.shape(values.ndim() - 3));
  require(rows == 1 || rows == args.steps + 1, "values of loads: one row for all nodes or one for each");
  require_finite(point, "points of loads");
  require_finite(values, "values of loads");
  for (long k = 0; k < count; ++k) {
    require_between(body.data()[k], 0, body_count - 1, "body of a load");
    require_signal(signal.data()[k], 6, args.signal_count, "where the function of a load is found");
  }
}

// what a run and a batch have in common; a run is one member, of `bodies` bodies that are recorded
RunArgs common_args(const Layout& layout, const Settings& settings, const Start& start, const LoadArrays& loads,
                    int signal_count, const Records& records, const Doubles& out_counted, long members, bool own_loads,
                    long bodies, long terms) {
  RunArgs args;
  std::tie(args.solver, args.order, args.dt, args.tolerance, args.iteration_limit, args.rescue_depth, args.paper_start,
           args.start_time, args.steps, args.record_every) = settings;
  require_settings(args);
  require(signal_count >= layout.signal_count, "the mechanism's functions of time are missing");
  args.signal_count = signal_count;
  const long n = layout.link_count;
  const auto& [position, orientation, velocity, angular_velocity, law_start, term_start, counter_start] = start;
  for (const auto* array : {&position, &velocity, &angular_velocity})
    require_shape(*array, {members, n, 3}, "the state to start from");
  require_shape(orientation, {members, n, 4}, "the state to start from");
  require_shape(law_start, {members, layout.law_count}, "what forces measure");
  require_shape(term_start, {members, terms}, "what couplings measure");
  require_shape(counter_start, {members, -1}, "angles to start from");
  const long counters = static_cast<long>(counter_start.shape(1));
  require(counters == 0 || counters == layout.counter_count, "angles to start from: all or none are counted");
  for (const auto* array :
       {&position, &orientation, &velocity, &angular_velocity, &law_start, &term_start, &counter_start})
    require_finite(*array, "the state to start from");
  args.position = position.data();
  args.orientation = orientation.data();
  args.velocity = velocity.data();
  args.angular_velocity = angular_velocity.data();
  args.law_start = law_start.data();
  args.term_start = term_start.data();
  args.counter_count = static_cast<int>(counters);
  args.counter_start = counter_start.data();
  args.read_signals = Calls::call_signals;

  require_loads(loads, args, layout.link_count, own_loads ? members : 0);
  const auto& [body, point, in_body_frame, signal, values] = loads;
  args.loads = {static_cast<int>(body.size()),
                body.data(),
                point.data(),
                in_body_frame.data(),
                signal.data(),
                values.data(),
                static_cast<long>(values.shape(values.ndim() - 3))};

  const auto& [time, x, q, v, w, iterations, pieces, remainder] = records;
  require_shape(time, {members, -1}, "records of time");
  const long room = static_cast<long>(time.shape(1));
  require(room >= (args.steps + args.record_every - 1) / args.record_every + 1, "there is too little room for records");
  for (const auto* array : {&x, &v, &w}) require_shape(*array, {members, room, bodies, 3}, "records");
  require_shape(q, {members, room, bodies, 4}, "records of orientations");
  require_shape(out_counted, {members, room, counters}, "records of angles");
  for (const auto* array : {&iterations, &pieces})
    require_shape(*array, {members, std::max(args.steps, 1L)}, "counts of steps");
  require_shape(remainder, {members, std::max(args.steps, 1L)}, "what Newton leaves");
  args.out_time = time.data();
  args.out_position = x.data();
  args.out_orientation = q.data();
  args.out_velocity = v.data();
  args.out_angular_velocity = w.data();
  args.out_iterations = iterations.data();
  args.out_pieces = pieces.data();
  args.out_remainder = remainder.data();
  args.out_counted = out_counted.data();
  return args;
}

// Holds no Python object: what may be called comes with every call.
class Core {
 public:
  Core(ConstDoubles mass, ConstDoubles inertia, ConstDoubles gravity, const Pairs& joints, ConstInts joint_extras,
       const Pairs& measures, ConstDoubles laws, ConstInts law_extras, ConstInts coupling_terms,
       ConstDoubles coefficients, ConstDoubles offsets, ConstInts coupling_signals, ConstInts counter_grounds,
       int signal_count, const AskedArrays& asked, const std::string& kernel)
      : kernel_(find_kernel(kernel)),
        model_(make_spec(mass, inertia, gravity, joints, joint_extras, measures, laws, law_extras, coupling_terms,
                         coefficients, offsets, coupling_signals, counter_grounds, signal_count, asked)) {
    term_count_ = static_cast<long>(coefficients.size());
    for (std::size_t j = 0; j < std::get<0>(joints).size(); ++j)
      if (is_given(std::get<0>(joints).data()[j])) hook_rows_.push_back(joint_extras.data()[3 * j]);
  }
  Core(const Core&) = delete;
  Core& operator=(const Core&) = delete;

  // arrays as of a batch of one member
  Ended run(const Settings& settings, const Start& start, const LoadArrays& loads, const std::vector<nb::object>& rows,
            nb::object signals, int signal_count, const Records& records, Doubles out_counted, Doubles out_multipliers,
            std::optional<Doubles> out_increments, nb::object control,
            const std::optional<ControlArrays>& control_arrays, nb::object poll) {
    const long n = model_.layout().link_count;
    RunArgs args = common_args(model_.layout(), settings, start, loads, signal_count, records, out_counted, 1, false, n,
                               term_count_);
    require_shape(out_multipliers, {static_cast<long>(std::get<0>(records).shape(1)), row_count()}, "multipliers");
    std::vector<double> signal_values(4 * static_cast<std::size_t>(signal_count));
    args.signals = signal_values.data();
    args.out_multipliers = out_multipliers.data();
    if (out_increments) {
      require_shape(*out_increments, {args.steps + 1, args.iteration_limit}, "increments");
      args.out_increments = out_increments->data();
    }

    Calls calls;
    const Layout layout = attached(layout_for(args.solver), calls, rows);
    calls.control = control;
    calls.poll = poll;
    calls.signals = signals;
    calls.signal_count = signal_count;
    calls.run = &args;
    args.context = &calls;
    if (!control.is_none()) {
      require(control_arrays.has_value(), "a control needs arrays for the state");
      const auto& [position, orientation, velocity, angular_velocity, counted] = *control_arrays;
      for (const auto* array : {&position, &velocity, &angular_velocity})
        require_shape(*array, {n, 3}, "the state of a control");
      require_shape(orientation, {n, 4}, "the state of a control");
      require_shape(counted, {args.counter_count}, "angles of a control");
      args.control = Calls::call_control;
      require(args.loads.count >= n, "a control needs a load on every body");
      args.loads.held = static_cast<int>(n);
      args.control_position = position.data();
      args.control_orientation = orientation.data();
      args.control_velocity = velocity.data();
      args.control_angular_velocity = angular_velocity.data();
      args.control_counted = counted.data();
    }
    args.poll = Calls::call_poll;
    args.poll_every = 1;

    const Workspace space = workspace(args.solver, args.order);
    {
      nb::gil_scoped_release release;
      kernel_->run(layout, space.get(), args);
    }
    calls.rethrow();
    return ended(args.status);
  }

  // arrays with an axis (member) in front; numbers of the mechanism that differ between members, or none
  std::vector<Ended> run_batch(const Settings& settings, int threads, const Start& start, const LoadArrays& loads,
                               bool own_loads, const std::vector<nb::object>& rows, nb::object signals,
                               int signal_count, std::optional<ConstDoubles> mass, std::optional<ConstDoubles> inertia,
                               std::optional<ConstDoubles> gravity, std::optional<ConstDoubles> laws, ConstInts bodies,
                               const Records& records, Doubles out_counted, nb::object poll) {
    const long n = model_.layout().link_count, law_count = model_.layout().law_count;
    require(std::get<0>(start).ndim() == 3, "the states to start from: the core needs shape (member, body, 3)");
    const long members = static_cast<long>(std::get<0>(start).shape(0));
    require_shape(bodies, {-1}, "bodies to record");
    for (std::size_t k = 0; k < bodies.size(); ++k) require_between(bodies.data()[k], 0, n - 1, "body to record");
    require(threads >= 1, "threads must be at least 1");
    BatchArgs batch;
    batch.run = common_args(model_.layout(), settings, start, loads, signal_count, records, out_counted, members,
                            own_loads, static_cast<long>(bodies.size()), term_count_);
    batch.member_count = static_cast<int>(members);
    batch.threads = threads;
    if (mass) {
      require_shape(*mass, {members, n}, "masses");
      for (std::size_t k = 0; k < mass->size(); ++k) require(mass->data()[k] > 0, "masses must be positive");
      require_finite(*mass, "masses");
      batch.mass = mass->data();
    }
    if (inertia) {
      require_shape(*inertia, {members, n, 3, 3}, "inertias");
      require_finite(*inertia, "inertias");
      batch.inertia = inertia->data();
    }
    if (gravity) {
      require_shape(*gravity, {members, n, 3}, "gravity");
      require_finite(*gravity, "gravity");
      batch.gravity = gravity->data();
    }
    if (laws) {
      require_shape(*laws, {members, law_count, law_size}, "laws");
      for (long k = 0; k < members * law_count; ++k) require_law(laws->data() + law_size * k, "laws");
      batch.law = laws->data();
    }
    batch.own_loads = own_loads;
    batch.body_count = static_cast<int>(bodies.size());
    batch.bodies = bodies.data();
    batch.term_count = term_count_;
    batch.records = static_cast<long>(std::get<0>(records).shape(1));
    std::vector<Status> status(members);
    batch.status = status.data();
    batch.poll = Calls::call_batch_poll;
    batch.run.poll = Calls::call_stopped;
    batch.run.poll_every = 1;

    Calls calls;
    const Layout layout = attached(layout_for(batch.run.solver), calls, rows);
    calls.poll = poll;
    calls.signals = signals;
    calls.signal_count = signal_count;
    batch.run.context = &calls;
    try {
      nb::gil_scoped_release release;
      catena::run_batch(*kernel_, layout, batch);
    } catch (const std::system_error& error) {
      throw std::runtime_error(std::string("the system has no thread for the batch: ") + error.what());
    }
    calls.rethrow();
    std::vector<Ended> result;
    for (const Status& s : status) result.push_back(ended(s));
    return result;
  }

  void linearise(double dt, double kick, ConstDoubles position, ConstDoubles orientation, ConstDoubles velocity,
                 ConstDoubles momentum, ConstDoubles unknowns, Doubles residual, Doubles matrix,
                 const std::vector<nb::object>& rows, std::optional<ConstDoubles> signals) {
    const long n = model_.layout().link_count, count = unknown_count();
    require_pose(position, orientation);
    require_shape(velocity, {n, 3}, "velocity");
    require_shape(momentum, {n, 3}, "momentum");
    require_shape(unknowns, {count}, "unknowns");
    require_shape(residual, {count}, "residual");
    require_shape(matrix, {count, count}, "matrix");
    if (signals) require_size(*signals, model_.layout().signal_count, "functions of time");
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
    Calls calls;
    const Layout layout = attached(layout_for(SolverKind::dense), calls, rows);
    const Workspace space = workspace(SolverKind::dense, 2);
    kernel_->linearise(layout, space.get(), args);
    calls.rethrow();
  }

  int assemble(int iteration_limit, Doubles position, Doubles orientation, Doubles velocity, Doubles angular_velocity,
               ConstDoubles term_start, Doubles counted, const std::vector<nb::object>& rows, ConstDoubles signals,
               ConstDoubles signal_rates, double loose_below) {
    const long n = model_.layout().link_count;
    require_pose(position, orientation);
    require_shape(velocity, {n, 3}, "velocity");
    require_shape(angular_velocity, {n, 3}, "angular velocity");
    require_size(term_start, term_count_, "what couplings measure");
    require_size(counted, model_.layout().counter_count, "angles");
    require_size(signals, model_.layout().signal_count, "functions of time");
    require_size(signal_rates, model_.layout().signal_count, "functions of time");
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
    Calls calls;
    // where the sparse solver has no program, the articulated one does it
    const SolverKind solver =
        model_.layout().excess == 0 && model_.elimination().fits ? SolverKind::ldu : SolverKind::articulated;
    const Layout layout = attached(layout_for(solver), calls, rows);
    const Workspace space = workspace(solver, 2);
    {
      nb::gil_scoped_release release;
      kernel_->assemble(layout, space.get(), args);
    }
    calls.rethrow();
    return args.iterations;
  }

  // length and angle by which every joint and coupling is open at some poses, (pose, joint, 2), and what redundant
  // joints disagree by
  void gaps(ConstDoubles position, ConstDoubles orientation, ConstDoubles term_start,
            const std::vector<nb::object>& rows, ConstDoubles signals, Doubles out, Doubles misfit) {
    require_shape(out, {-1, model_.layout().joint_count, 2}, "gaps");
    const long poses = static_cast<long>(out.shape(0)), n = model_.layout().link_count;
    require_shape(misfit, {poses, model_.layout().joint_count, 2}, "misfit");
    require_size(position, 3 * n * poses, "position");
    require_size(orientation, 4 * n * poses, "orientation");
    require_size(term_start, term_count_, "what couplings measure");
    require_size(signals, model_.layout().signal_count, "functions of time");
    const GapArgs args{poses,          position.data(), orientation.data(), term_start.data(),
                       signals.data(), out.data(),      misfit.data()};
    Calls calls;
    const Layout layout = attached(model_.layout(), calls, rows);
    const Workspace space = workspace(SolverKind::articulated, 2);
    kernel_->gaps(layout, space.get(), args);
    calls.rethrow();
  }

  // see StressArgs
  void relieve(ConstDoubles position, ConstDoubles orientation, const std::vector<nb::object>& rows,
               ConstDoubles signals, double size, ConstDoubles scale, Doubles multipliers) {
    const Layout& own = model_.layout();
    const long n = own.link_count;
    require(own.law_count == 0 && own.row_count == own.recorded_count, "all rows, and no laws, are needed for this");
    require_shape(position, {-1, n, 3}, "position");
    const long nodes = static_cast<long>(position.shape(0));
    require_shape(orientation, {nodes, n, 4}, "orientation");
    require_shape(signals, {nodes, own.signal_count}, "functions of time");
    require_shape(scale, {own.recorded_count}, "scale of multipliers");
    require_shape(multipliers, {nodes, own.recorded_count}, "multipliers");
    Calls calls;
    const Layout layout = attached(own, calls, rows);
    const Groups groups(layout);
    const Workspace space = make_workspace(kernel_->relieve_size(layout, groups.plan()));
    const StressArgs args{nodes,        position.data(),    orientation.data(), signals.data(), size,
                          scale.data(), multipliers.data(), Calls::call_look,   &calls};
    {
      nb::gil_scoped_release release;
      kernel_->relieve(layout, groups.plan(), space.get(), args);
    }
    calls.rethrow();
  }

  // see ExploreArgs; the number of poses
  int explore(double fit, ConstDoubles position, ConstDoubles orientation, ConstDoubles term_start,
              const std::vector<nb::object>& rows, ConstDoubles signals, ConstDoubles length, Doubles singular,
              Doubles direction) {
    const long loops = model_.layout().loop_count;
    require_pose(position, orientation);
    require_size(term_start, term_count_, "what couplings measure");
    require_size(signals, model_.layout().signal_count, "functions of time");
    require_shape(length, {loops}, "lengths of loops");
    require_shape(singular, {-1, loops, 6}, "singular values");
    require(singular.shape(0) >= 2, "singular values: there is no room for a pose");
    const long poses = static_cast<long>(singular.shape(0));
    require_shape(direction, {poses, loops, 6, 6}, "directions");
    ExploreArgs args{fit,
                     static_cast<int>(poses) - 1,
                     position.data(),
                     orientation.data(),
                     term_start.data(),
                     signals.data(),
                     length.data(),
                     singular.data(),
                     direction.data(),
                     0};
    Calls calls;
    const Layout layout = attached(model_.layout(), calls, rows);
    const Workspace space = make_workspace(kernel_->explore_size(layout));
    {
      nb::gil_scoped_release release;
      kernel_->explore(layout, space.get(), args);
    }
    calls.rethrow();
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
  double explore_work() const { return articulated_work() + model_.layout().largest_inversion; }
  std::string kernel() const { return kernel_->name; }
  int row_count() const { return model_.layout().recorded_count; }
  int unknown_count() const { return 6 * model_.layout().link_count + model_.layout().row_count; }
  long workspace_size(SolverKind solver, int order) const {
    require_between(order, 2, 8, "order");
    return kernel_->workspace_size(layout_for(solver), solver, order);
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
  const Layout& layout_for(SolverKind solver) const {
    return solver == SolverKind::articulated ? model_.layout() : model_.with_elimination();
  }

  // the mechanism with the user's own rows as they are called on behalf of one run
  Layout attached(const Layout& given, Calls& calls, const std::vector<nb::object>& rows) const {
    require(rows.size() == hook_rows_.size(), "the core needs a function for every custom joint");
    calls.rows = rows;
    calls.counts = &hook_rows_;
    Layout layout = given;
    layout.hook = {Calls::call_rows, &calls};
    return layout;
  }

  template <class Array>
  void require_pose(const Array& position, const Array& orientation) const {
    require_shape(position, {model_.layout().link_count, 3}, "position");
    require_shape(orientation, {model_.layout().link_count, 4}, "orientation");
  }

  static Spec make_spec(const ConstDoubles& mass, const ConstDoubles& inertia, const ConstDoubles& gravity,
                        const Pairs& joints, const ConstInts& joint_extras, const Pairs& measures,
                        const ConstDoubles& laws, const ConstInts& law_extras, const ConstInts& coupling_terms,
                        const ConstDoubles& coefficients, const ConstDoubles& offsets,
                        const ConstInts& coupling_signals, const ConstInts& counter_grounds, int signal_count,
                        const AskedArrays& asked) {
    const long bodies = static_cast<long>(mass.size()), couplings = static_cast<long>(coupling_terms.size());
    const long joint_count = static_cast<long>(pair_count(joints, "joints"));
    const long measured = static_cast<long>(pair_count(measures, "measures"));
    require_shape(mass, {-1}, "mass");
    require_shape(inertia, {bodies, 3, 3}, "inertia");
    require_shape(gravity, {bodies, 3}, "gravity");
    require_shape(joint_extras, {joint_count, 3}, "joint_extras");
    require_shape(laws, {-1, law_size}, "laws");
    const long law_count = static_cast<long>(laws.shape(0));
    require_shape(law_extras, {law_count, 4}, "law_extras");
    require_shape(coupling_terms, {-1}, "coupling_terms");
    require_shape(offsets, {couplings}, "offsets");
    require_shape(coupling_signals, {couplings}, "coupling_signals");
    long terms = 0;
    for (long c = 0; c < couplings; ++c) {
      require_between(coupling_terms.data()[c], 1, most_terms, "terms of a coupling");
      terms += coupling_terms.data()[c];
    }
    require_shape(coefficients, {terms}, "coefficients");
    require(measured >= law_count + terms, "measures: there are fewer than laws and couplings need");
    require_shape(counter_grounds, {measured - law_count - terms}, "counter_grounds");
    require(signal_count >= 0, "signal_count must not be negative");
    const auto& [fit, rows, excess, combination, length, idle] = asked;
    require(std::isfinite(fit) && fit >= 0, "fit must not be negative");
    require_shape(rows, {joint_count}, "rows asked for");
    require_shape(excess, {joint_count}, "directions not asked for");
    require_shape(combination, {joint_count, 6, 6}, "combinations of rows");
    require_shape(length, {joint_count}, "lengths of joints");
    require_shape(idle, {couplings}, "idle couplings");
    require_finite(combination, "combinations of rows");
    require_finite(length, "lengths of joints");
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
      require_law(laws.data() + law_size * at, "laws");
      static_cast<Law&>(law) = law_of(laws.data() + law_size * at);
      law.measure = pair_at<Pair>(measures, at);
      law.target = law_extras.data()[4 * at];
      law.force = law_extras.data()[4 * at + 1];
      law.joint = law_extras.data()[4 * at + 2];
      law.coordinate = law_extras.data()[4 * at + 3];
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
    require_spec(spec);
    return spec;
  }

  const Kernel* kernel_;
  Model model_;
  std::vector<int> hook_rows_;  // of every custom joint
  long term_count_ = 0;         // of all couplings, idle ones too
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
      .value("flat", StatusCode::flat)
      .value("stiff", StatusCode::stiff);

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
        require(is_joint(kind) || is_measure(kind), "joint_rows: there is no joint of that kind");
        require(!is_given(kind), "joint_rows: a custom joint's rows are its own");
        const long count = static_cast<long>(position_a.size()) / 3, rows = joint_row_count(kind);
        require_shape(anchors, {2, 3}, "joint_rows: anchors");
        require_shape(frames, {2, 4}, "joint_rows: frames");
        for (const auto* array : {&position_a, &position_b}) require_shape(*array, {count, 3}, "joint_rows: positions");
        for (const auto* array : {&orientation_a, &orientation_b})
          require_shape(*array, {count, 4}, "joint_rows: orientations");
        require_shape(gap, {count, rows}, "joint_rows: gap");
        require_shape(wrench, {count, rows, 6}, "joint_rows: wrench");
        require_shape(point, {count, 3}, "joint_rows: point");
        const double *p = anchors.data(), *q = frames.data();
        Pair pair{kind, -1, -1, {}, {}, {}, {}, parameter};
        std::copy_n(p, 3, pair.anchor_a);
        std::copy_n(p + 3, 3, pair.anchor_b);
        std::copy_n(q, 4, pair.frame_a);
        std::copy_n(q + 4, 4, pair.frame_b);
        const ConstraintInfo joint = constraint_of(pair);
        const RowsArgs args{
            &joint,     count,         position_a.data(), orientation_a.data(), position_b.data(), orientation_b.data(),
            gap.data(), wrench.data(), point.data()};
        usable_kernels().front()->rows(args);
      },
      nb::kw_only(), "kind"_a, "anchors"_a, "frames"_a, "parameter"_a, "position_a"_a, "orientation_a"_a,
      "position_b"_a, "orientation_b"_a, "gap"_a, "wrench"_a, "point"_a,
      "Gaps (n, rows), unit wrenches on b at its joint point (n, rows, 6) and that point (n, 3), for n pairs of "
      "poses.");

  nb::class_<Core>(m, "Core")
      .def(nb::init<ConstDoubles, ConstDoubles, ConstDoubles, const Pairs&, ConstInts, const Pairs&, ConstDoubles,
                    ConstInts, ConstInts, ConstDoubles, ConstDoubles, ConstInts, ConstInts, int, const AskedArrays&,
                    const std::string&>(),
           nb::kw_only(), "mass"_a, "inertia"_a, "gravity"_a, "joints"_a, "joint_extras"_a, "measures"_a, "laws"_a,
           "law_extras"_a, "coupling_terms"_a, "coefficients"_a, "offsets"_a, "coupling_signals"_a, "counter_grounds"_a,
           "signal_count"_a, "asked"_a, "kernel"_a)
      .def("run", &Core::run, nb::kw_only(), "settings"_a, "start"_a, "loads"_a, "rows"_a, "signals"_a,
           "signal_count"_a, "records"_a, "out_counted"_a, "out_multipliers"_a, "out_increments"_a.none(),
           "control"_a.none(), "control_arrays"_a.none(), "poll"_a.none())
      .def("run_batch", &Core::run_batch, nb::kw_only(), "settings"_a, "threads"_a, "start"_a, "loads"_a, "own_loads"_a,
           "rows"_a, "signals"_a, "signal_count"_a, "mass"_a.none(), "inertia"_a.none(), "gravity"_a.none(),
           "laws"_a.none(), "bodies"_a, "records"_a, "out_counted"_a, "poll"_a.none())
      .def("linearise", &Core::linearise, nb::kw_only(), "dt"_a, "kick"_a, "position"_a, "orientation"_a, "velocity"_a,
           "momentum"_a, "unknowns"_a, "residual"_a, "matrix"_a, "rows"_a = std::vector<nb::object>(),
           "signals"_a = nb::none())
      .def("assemble", &Core::assemble, nb::kw_only(), "iteration_limit"_a, "position"_a, "orientation"_a, "velocity"_a,
           "angular_velocity"_a, "term_start"_a, "counted"_a, "rows"_a, "signals"_a, "signal_rates"_a,
           "loose_below"_a = 0.0)
      .def("gaps", &Core::gaps, nb::kw_only(), "position"_a, "orientation"_a, "term_start"_a, "rows"_a, "signals"_a,
           "out"_a, "misfit"_a)
      .def("relieve", &Core::relieve, nb::kw_only(), "position"_a, "orientation"_a, "rows"_a, "signals"_a, "size"_a,
           "scale"_a, "multipliers"_a)
      .def("explore", &Core::explore, nb::kw_only(), "fit"_a, "position"_a, "orientation"_a, "term_start"_a, "rows"_a,
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
