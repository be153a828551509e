// Bindings only: arrays in, arrays out, the choice of a kernel. No logic of its own.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <chrono>
#include <cmath>
#include <cstdlib>
#include <memory>
#include <new>
#include <optional>
#include <string>

#include "kernel.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace catena {

#define CATENA_DECLARE(isa)   \
  namespace isa {             \
  extern const Kernel kernel; \
  }
#ifdef CATENA_X86
CATENA_DECLARE(v1)
CATENA_DECLARE(v3)
CATENA_DECLARE(v4)
#else
CATENA_DECLARE(plain)
#endif

namespace {

// kernels this CPU can run, best last
std::vector<const Kernel*> usable_kernels() {
#ifdef CATENA_X86
  __builtin_cpu_init();
  std::vector<const Kernel*> list = {&v1::kernel};
  const bool is_v3 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi") &&
                     __builtin_cpu_supports("bmi2");
  const bool is_v4 = is_v3 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
                     __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
                     __builtin_cpu_supports("avx512cd");
  if (is_v3) list.push_back(&v3::kernel);
  if (is_v4) list.push_back(&v4::kernel);
  return list;
#else
  return {&plain::kernel};
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

struct AlignedDelete {
  void operator()(char* p) const { ::operator delete[](p, std::align_val_t(64)); }
};

// what the callbacks of a run need; Python errors are kept until the kernel has returned
struct Hooks {
  nb::object control, poll;
  std::chrono::steady_clock::time_point next_poll{};
  std::unique_ptr<nb::python_error> error;

  template <class Call>
  bool guarded(Call&& call) {
    nb::gil_scoped_acquire hold;
    try {
      call();
      return true;
    } catch (nb::python_error& e) {
      error = std::make_unique<nb::python_error>(std::move(e));
      return false;
    }
  }
};

bool call_control(void* context, long step, double time) {
  auto& hooks = *static_cast<Hooks*>(context);
  return hooks.guarded([&] { hooks.control(step, time); });
}

bool call_poll(void* context, long step) {
  auto& hooks = *static_cast<Hooks*>(context);
  const auto now = std::chrono::steady_clock::now();
  if (now < hooks.next_poll) return true;
  hooks.next_poll = now + std::chrono::milliseconds(100);
  return hooks.guarded([&] {
    if (PyErr_CheckSignals() != 0) throw nb::python_error();
    if (!hooks.poll.is_none()) hooks.poll(step);
  });
}

class Core {
 public:
  Core(ConstDoubles mass, ConstDoubles inertia, ConstInts kind, ConstInts bodies, ConstDoubles anchors,
       ConstDoubles frames, ConstDoubles parameters, ConstInts law_joints, ConstDoubles laws, ConstDoubles gravity,
       const std::string& kernel)
      : kernel_(find_kernel(kernel)),
        model_(make_spec(mass, inertia, kind, bodies, anchors, frames, parameters, law_joints, laws, gravity)) {}

  std::tuple<StatusCode, long, double, int, int, double, long> run(
      SolverKind solver, int order, double dt, double tolerance, int iteration_limit, int rescue_depth,
      bool paper_start, double start_time, long steps, long record_every, ConstDoubles position,
      ConstDoubles orientation, ConstDoubles velocity, ConstDoubles angular_velocity, ConstDoubles law_start,
      ConstInts load_body, ConstDoubles load_point, ConstInts load_in_body_frame, ConstDoubles load_values,
      Doubles out_time, Doubles out_position, Doubles out_orientation, Doubles out_velocity,
      Doubles out_angular_velocity, Doubles out_multipliers, Ints out_iterations, Ints out_pieces, nb::object control,
      std::optional<Doubles> control_position, std::optional<Doubles> control_orientation,
      std::optional<Doubles> control_velocity, std::optional<Doubles> control_angular_velocity, nb::object poll) {
    RunArgs args;
    args.solver = solver;
    args.order = order;
    args.dt = dt;
    args.tolerance = tolerance;
    args.iteration_limit = iteration_limit;
    args.rescue_depth = rescue_depth;
    args.paper_start = paper_start;
    args.start_time = start_time;
    args.steps = steps;
    args.record_every = record_every;
    args.position = position.data();
    args.orientation = orientation.data();
    args.velocity = velocity.data();
    args.angular_velocity = angular_velocity.data();
    args.law_start = law_start.data();
    args.loads = {static_cast<int>(load_body.size()), load_body.data(),   load_point.data(),
                  load_in_body_frame.data(),          load_values.data(), static_cast<long>(load_values.shape(0))};
    args.out_time = out_time.data();
    args.out_position = out_position.data();
    args.out_orientation = out_orientation.data();
    args.out_velocity = out_velocity.data();
    args.out_angular_velocity = out_angular_velocity.data();
    args.out_multipliers = out_multipliers.data();
    args.out_iterations = out_iterations.data();
    args.out_pieces = out_pieces.data();

    Hooks hooks{control, poll, {}, {}};
    args.context = &hooks;
    if (!control.is_none()) {
      args.control = call_control;
      args.control_position = control_position->data();
      args.control_orientation = control_orientation->data();
      args.control_velocity = control_velocity->data();
      args.control_angular_velocity = control_angular_velocity->data();
    }
    args.poll = call_poll;
    args.poll_every = 64;

    std::unique_ptr<char[], AlignedDelete> space = workspace(solver, order);
    {
      nb::gil_scoped_release release;
      kernel_->run(model_.layout(), space.get(), args);
    }
    if (hooks.error) throw std::move(*hooks.error);
    const Status& s = args.status;
    return {s.code, s.step, s.time, s.body, s.joint, s.size, s.records};
  }

  void linearise(double dt, double kick, ConstDoubles position, ConstDoubles orientation, ConstDoubles velocity,
                 ConstDoubles momentum, ConstDoubles unknowns, Doubles residual, Doubles matrix) const {
    const LinearisationArgs args{dt,
                                 kick,
                                 position.data(),
                                 orientation.data(),
                                 velocity.data(),
                                 momentum.data(),
                                 unknowns.data(),
                                 residual.data(),
                                 matrix.data()};
    std::unique_ptr<char[], AlignedDelete> space = workspace(SolverKind::dense, 2);
    kernel_->linearise(model_.layout(), space.get(), args);
  }

  int assemble(int iteration_limit, Doubles position, Doubles orientation, Doubles velocity,
               Doubles angular_velocity) const {
    AssembleArgs args{iteration_limit, position.data(),         orientation.data(),
                      velocity.data(), angular_velocity.data(), 0};
    std::unique_ptr<char[], AlignedDelete> space = workspace(SolverKind::ldu, 2);
    {
      nb::gil_scoped_release release;
      kernel_->assemble(model_.layout(), space.get(), args);
    }
    return args.iterations;
  }

  // length and angle by which every joint is open at one instant, (joint, 2); forces count as closed
  void gaps(ConstDoubles position, ConstDoubles orientation, Doubles out) const {
    const Layout& layout = model_.layout();
    const double origin[3] = {0, 0, 0}, identity[4] = {1, 0, 0, 0};
    const auto at = [&](int link, const double* values, int size, const double* world) {
      return link < 0 ? world : values + size * layout.link[link].body;
    };
    for (std::size_t k = 0; k < out.size(); ++k) out.data()[k] = 0;
    for (int j = 0; j < layout.constraint_count; ++j) {
      const ConstraintInfo& c = layout.constraint[j];
      if (c.law >= 0) continue;
      double gap[6], wrench[36], point[3];
      kernel_->rows({&c, 1, at(c.a, position.data(), 3, origin), at(c.a, orientation.data(), 4, identity),
                     at(c.b, position.data(), 3, origin), at(c.b, orientation.data(), 4, identity), gap, wrench,
                     point});
      double* pair = out.data() + 2 * c.joint;
      for (int k = 0; k < c.row_count; ++k) {
        double& norm = pair[row_is_length(static_cast<int>(c.kind), k) ? 0 : 1];
        norm = std::hypot(norm, gap[k]);
      }
    }
  }

  // estimated work of one Newton iteration, in multiplications as fast as the articulated solver's own
  double articulated_work() const { return model_.layout().articulated_work; }
  double ldu_work() const { return model_.layout().ldu_work; }
  std::string kernel() const { return kernel_->name; }
  int row_count() const { return model_.layout().row_count; }
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
  // first multiplier row of every joint, and the end
  std::vector<int> joint_rows() const {
    const Layout& layout = model_.layout();
    std::vector<int> list;
    int row = 0;
    for (int j = 0; j < layout.joint_count; ++j) {
      list.push_back(row);
      const int c = layout.joint_constraint[j];
      if (c >= 0) row += layout.constraint[c].row_count;
    }
    list.push_back(row);
    return list;
  }

 private:
  std::unique_ptr<char[], AlignedDelete> workspace(SolverKind solver, int order) const {
    return std::unique_ptr<char[], AlignedDelete>(new (std::align_val_t(64)) char[workspace_size(solver, order) + 64]);
  }

  static Spec make_spec(const ConstDoubles& mass, const ConstDoubles& inertia, const ConstInts& kind,
                        const ConstInts& bodies, const ConstDoubles& anchors, const ConstDoubles& frames,
                        const ConstDoubles& parameters, const ConstInts& law_joints, const ConstDoubles& laws,
                        const ConstDoubles& gravity) {
    Spec spec;
    spec.body_count = static_cast<int>(mass.size());
    spec.joint_count = static_cast<int>(kind.size());
    spec.mass = to_vector<double>(mass);
    spec.inertia = to_vector<double>(inertia);
    spec.kind = to_vector<int>(kind);
    for (int j = 0; j < spec.joint_count; ++j) {
      spec.body_a.push_back(bodies.data()[2 * j]);
      spec.body_b.push_back(bodies.data()[2 * j + 1]);
      const double *p = anchors.data() + 6 * j, *q = frames.data() + 8 * j;
      spec.anchor_a.insert(spec.anchor_a.end(), p, p + 3);
      spec.anchor_b.insert(spec.anchor_b.end(), p + 3, p + 6);
      spec.frame_a.insert(spec.frame_a.end(), q, q + 4);
      spec.frame_b.insert(spec.frame_b.end(), q + 4, q + 8);
    }
    spec.parameter = to_vector<double>(parameters);
    spec.law_joint = to_vector<int>(law_joints);
    spec.law = to_vector<double>(laws);
    for (int k = 0; k < 3; ++k) spec.gravity[k] = gravity.data()[k];
    return spec;
  }

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
      .value("locked", StatusCode::locked);

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
        const ConstraintInfo joint = constraint_of(kind, p, p + 3, q, q + 4, parameter);
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
      .def(nb::init<ConstDoubles, ConstDoubles, ConstInts, ConstInts, ConstDoubles, ConstDoubles, ConstDoubles,
                    ConstInts, ConstDoubles, ConstDoubles, const std::string&>(),
           "mass"_a, "inertia"_a, "kind"_a, "bodies"_a, "anchors"_a, "frames"_a, "parameters"_a, "law_joints"_a,
           "laws"_a, "gravity"_a, "kernel"_a)
      .def("run", &Core::run, nb::kw_only(), "solver"_a, "order"_a, "dt"_a, "tolerance"_a, "iteration_limit"_a,
           "rescue_depth"_a, "paper_start"_a, "start_time"_a, "steps"_a, "record_every"_a, "position"_a,
           "orientation"_a, "velocity"_a, "angular_velocity"_a, "law_start"_a, "load_body"_a, "load_point"_a,
           "load_in_body_frame"_a, "load_values"_a, "out_time"_a, "out_position"_a, "out_orientation"_a,
           "out_velocity"_a, "out_angular_velocity"_a, "out_multipliers"_a, "out_iterations"_a, "out_pieces"_a,
           "control"_a.none(), "control_position"_a.none(), "control_orientation"_a.none(), "control_velocity"_a.none(),
           "control_angular_velocity"_a.none(), "poll"_a.none())
      .def("linearise", &Core::linearise, nb::kw_only(), "dt"_a, "kick"_a, "position"_a, "orientation"_a, "velocity"_a,
           "momentum"_a, "unknowns"_a, "residual"_a, "matrix"_a)
      .def("assemble", &Core::assemble, nb::kw_only(), "iteration_limit"_a, "position"_a, "orientation"_a, "velocity"_a,
           "angular_velocity"_a)
      .def("gaps", &Core::gaps, "position"_a, "orientation"_a, "out"_a)
      .def_prop_ro("kernel", &Core::kernel)
      .def_prop_ro("articulated_work", &Core::articulated_work)
      .def_prop_ro("ldu_work", &Core::ldu_work)
      .def_prop_ro("row_count", &Core::row_count)
      .def_prop_ro("unknown_count", &Core::unknown_count)
      .def_prop_ro("link_bodies", &Core::link_bodies)
      .def_prop_ro("joint_rows", &Core::joint_rows)
      .def("workspace_size", &Core::workspace_size, "solver"_a, "order"_a);
}
