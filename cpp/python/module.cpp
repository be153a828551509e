// Bindings only, so above 450 lines: every name that Python knows the core by. checks.hpp checks shapes and ranges.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "kernel/kernels.hpp"
#include "model/graph.hpp"
#include "python/arrays.hpp"
#include "python/checks.hpp"
#include "python/core.hpp"
#include "python/equations.hpp"
#include "python/fields.hpp"
#include "python/live.hpp"
#include "python/live_batch.hpp"
#include "python/node_docs.hpp"
#include "python/shapes.hpp"

namespace catena {

namespace {

using namespace nb::literals;

// time, law, impulse, rate of its measure before and after
using ImpactTable = std::vector<std::tuple<double, int, double, double, double, double>>;
ImpactTable impact_table(const std::vector<Impact>& impacts, long first, long count) {
  ImpactTable table;
  for (long k = std::max(first, 0L); k < count && k < static_cast<long>(impacts.size()); ++k)
    table.emplace_back(impacts[k].time, impacts[k].law, impacts[k].impulse, impacts[k].approach, impacts[k].leaving,
                       impacts[k].rubbed);
  return table;
}

void joint_rows(int kind, const In<2, 3>& anchors, const In<2, 4>& frames, double parameter,
                const In<-1, 3>& position_a, const In<-1, 4>& orientation_a, const In<-1, 3>& position_b,
                const In<-1, 4>& orientation_b, const Out<-1, -1>& gap, const Out<-1, -1, 6>& wrench,
                const Out<-1, 3>& point) {
  require(is_joint(kind) || is_measure(kind), "joint_rows: there is no joint of that kind");
  require(!is_custom(kind), "joint_rows: a custom joint's rows are its own");
  const Offset count = static_cast<Offset>(position_a.size()) / 3, rows = joint_row_count(kind);
  require_shape(anchors, {2, 3}, "joint_rows: anchors");
  require_shape(frames, {2, 4}, "joint_rows: frames");
  for (const auto* array : {&position_a, &position_b}) require_shape(*array, {count, 3}, "joint_rows: positions");
  for (const auto* array : {&orientation_a, &orientation_b})
    require_shape(*array, {count, 4}, "joint_rows: orientations");
  require_shape(gap, {count, rows}, "joint_rows: gap");
  require_shape(wrench, {count, rows, 6}, "joint_rows: wrench");
  require_shape(point, {count, 3}, "joint_rows: point");
  const int world[] = {-1, -1};
  const ConstraintInfo joint = constraint_of(pair_of(kind, world, anchors.data(), frames.data(), parameter));
  const RowsArgs args{
      .joint = &joint,
      .count = count,
      .position_a = position_a.data(),
      .orientation_a = orientation_a.data(),
      .position_b = position_b.data(),
      .orientation_b = orientation_b.data(),
      .gap = gap.data(),
      .wrench = wrench.data(),
      .point = point.data(),
  };
  usable_kernels().front()->rows(args);
}

std::tuple<std::vector<int>, std::vector<int>, std::vector<int>> spanning_forest(const InInts<-1, 2>& ends,
                                                                                 const InInts<-1>& cost,
                                                                                 const InInts<-1>& massless) {
  require_shape(ends, {-1, 2}, "spanning_forest: ends");
  require_shape(cost, {static_cast<Offset>(ends.shape(0))}, "spanning_forest: cost");
  require_shape(massless, {-1}, "spanning_forest: massless");
  const auto bodies = static_cast<int>(massless.size());
  std::vector<Edge> edges;
  for (std::size_t k = 0; k < ends.size(); k += 2) {
    for (const int e : {0, 1})
      require_between(ends.data()[k + e], -1, bodies - 1, "spanning_forest: the body of a joint");
    edges.push_back({ends.data()[k], ends.data()[k + 1], cost.data()[k / 2]});
  }
  const std::vector<char> light(massless.data(), massless.data() + bodies);
  Forest forest = spanning_forest(bodies, edges, light);
  return {std::move(forest.found), std::move(forest.parent), std::move(forest.edge)};
}

void bind_tables(nb::module_& m) {
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
      .value("stiff", StatusCode::stiff)
      .value("open", StatusCode::open)
      .value("beyond", StatusCode::beyond)
      .value("mismatched", StatusCode::mismatched);

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
        std::vector<std::tuple<std::string, std::vector<bool>, int>> forms;
        for (const JointForm& form : joint_form) {
          const int kind = static_cast<int>(&form - joint_form);
          std::vector<bool> lengths;
          for (int k = 0; k < joint_row_count(kind); ++k) lengths.push_back(row_is_length(kind, k));
          forms.push_back({form.name, lengths, coordinate_count(kind)});
        }
        return forms;
      },
      "Every joint kind by its code: name, for each row whether it is a length (m) or an angle (rad), and how many "
      "coordinates the core tells.");
  m.def(
      "records",
      [] {
        constexpr const char *per[] = {"node", "step", "estimate"}, *of[] = {"all", "body", "row", "counter", "input"};
        std::vector<std::tuple<std::string, std::string, std::string, int, std::string>> table;
        visit_records(
            [&]<class T>(const RecordInfo& info, T*) {
              table.emplace_back(info.name, per[static_cast<int>(info.per)], of[static_cast<int>(info.of)], info.width,
                                 std::is_same_v<T, int> ? "int32" : "float64");
            },
            Outputs{});
        return table;
      },
      "What runs record: name, of every node, step or estimate, of what, numbers of an entry, and their type.");
  m.def(
      "law_names", [] { return std::vector<std::string>(std::begin(law_names), std::end(law_names)); },
      "The numbers of a law, in the order in which they are passed.");
  m.def("joint_rows", &joint_rows, nb::kw_only(), "kind"_a, "anchors"_a, "frames"_a, "parameter"_a, "position_a"_a,
        "orientation_a"_a, "position_b"_a, "orientation_b"_a, "gap"_a, "wrench"_a, "point"_a,
        "Gaps (n, rows), unit wrenches on b at its joint point (n, rows, 6) and that point (n, 3), for n pairs of "
        "poses.");
  m.def("spanning_forest",
        nb::overload_cast<const InInts<-1, 2>&, const InInts<-1>&, const InInts<-1>&>(&spanning_forest), nb::kw_only(),
        "ends"_a, "cost"_a, "massless"_a,
        "Of joints between bodies, -1 is the world, those that carry one: bodies in the order in which they are "
        "reached, the parent of each body (-1: the world, or nothing) and its joint (-1: it floats).");
}

void bind_structs(nb::module_& m) {
  bind_struct<RowSelectionArrays>(m, "RowSelectionArrays", "Which rows of joints and couplings are enforced.",
                                  field("loop_tolerance", &RowSelectionArrays::loop_tolerance),
                                  copied<InInts<-1>>("rows", &RowSelectionArrays::rows),
                                  copied<InInts<-1>>("redundant", &RowSelectionArrays::redundant),
                                  copied<In<-1, 6, 6>>("combination", &RowSelectionArrays::combination),
                                  copied<In<-1>>("length", &RowSelectionArrays::length),
                                  copied<InInts<-1>>("inactive", &RowSelectionArrays::inactive));
  bind_struct<Settings>(m, "Settings", "How a run steps, and how far.", field("solver", &Settings::solver),
                        field("order", &Settings::order), field("dt", &Settings::dt),
                        field("tolerance", &Settings::tolerance), field("iteration_limit", &Settings::iteration_limit),
                        field("rescue_depth", &Settings::rescue_depth), field("estimates", &Settings::estimates),
                        field("size", &Settings::size), field("error_rate", &Settings::error_rate),
                        field("paper_start", &Settings::paper_start), field("start_time", &Settings::start_time),
                        field("steps", &Settings::steps), field("record_every", &Settings::record_every));
  bind_struct<Start>(m, "Start",
                     "States to start from, (member, body, ...), and what is measured in them, (member, ...).",
                     field("position", &Start::position), field("orientation", &Start::orientation),
                     field("velocity", &Start::velocity), field("angular_velocity", &Start::angular_velocity),
                     field("law_start", &Start::law_start), field("term_start", &Start::term_start),
                     field("counter_start", &Start::counter_start));
  bind_struct<LoadArrays>(
      m, "LoadArrays",
      "Loads on bodies: values (1 or member, 1 or node, load, 6), or where those of a function of time begin.",
      field("body", &LoadArrays::body), field("point", &LoadArrays::point),
      field("in_body_frame", &LoadArrays::in_body_frame), field("signal", &LoadArrays::signal),
      field("values", &LoadArrays::values));
  bind_struct<GeometryArrays>(
      m, "GeometryArrays", "Where joints and measures of the members of a batch sit on their bodies, (member, ...).",
      field("joint_anchors", &GeometryArrays::joint_anchors), field("joint_frames", &GeometryArrays::joint_frames),
      field("joint_parameter", &GeometryArrays::joint_parameter),
      field("measure_anchors", &GeometryArrays::measure_anchors),
      field("measure_frames", &GeometryArrays::measure_frames));
  bind_struct<MemberArrays>(
      m, "MemberArrays", "Numbers of the mechanism that differ between the members of a batch, (member, ...), or None.",
      field("mass", &MemberArrays::mass), field("inertia", &MemberArrays::inertia),
      field("gravity", &MemberArrays::gravity), field("law", &MemberArrays::law),
      field("geometry", &MemberArrays::geometry));

  nb::class_<Status>(m, "Ended", "How a run ended: see StatusCode.")
      .def_ro("code", &Status::code)
      .def_ro("step", &Status::step)
      .def_ro("time", &Status::time)
      .def_ro("body", &Status::body)
      .def_ro("joint", &Status::joint)
      .def_ro("law", &Status::law)
      .def_ro("size", &Status::size)
      .def_ro("gap", &Status::gap)
      .def_ro("speed", &Status::speed)
      .def_ro("records", &Status::records);
}

void bind_core(nb::module_& m) {
  nb::class_<Core> core(m, "Core");
  bind_constructor<CoreArguments>(
      core, copied<In<-1>>("mass", &CoreArguments::mass), copied<In<-1, 3, 3>>("inertia", &CoreArguments::inertia),
      copied<InInts<-1>>("massless", &CoreArguments::massless), copied<In<-1, 3>>("gravity", &CoreArguments::gravity),
      copied<In<-1, 6>>("drag", &CoreArguments::drag), copied<InInts<-1>>("joint_kind", &CoreArguments::joint_kind),
      copied<InInts<-1, 2>>("joint_bodies", &CoreArguments::joint_bodies),
      copied<In<-1, 2, 3>>("joint_anchors", &CoreArguments::joint_anchors),
      copied<In<-1, 2, 4>>("joint_frames", &CoreArguments::joint_frames),
      copied<In<-1>>("joint_parameter", &CoreArguments::joint_parameter),
      copied<InInts<-1>>("joint_rows", &CoreArguments::joint_rows),
      copied<InInts<-1>>("joint_cost", &CoreArguments::joint_cost),
      copied<In<-1>>("joint_damping", &CoreArguments::joint_damping),
      copied<InInts<-1>>("joint_signal", &CoreArguments::joint_signal),
      copied<InInts<-1>>("joint_ground", &CoreArguments::joint_ground),
      copied<InInts<-1>>("measure_kind", &CoreArguments::measure_kind),
      copied<InInts<-1, 2>>("measure_bodies", &CoreArguments::measure_bodies),
      copied<In<-1, 2, 3>>("measure_anchors", &CoreArguments::measure_anchors),
      copied<In<-1, 2, 4>>("measure_frames", &CoreArguments::measure_frames),
      copied<In<-1, law_size>>("law_numbers", &CoreArguments::law_numbers),
      copied<InInts<-1>>("law_target", &CoreArguments::law_target),
      copied<InInts<-1>>("law_force", &CoreArguments::law_force),
      copied<InInts<-1>>("law_joint", &CoreArguments::law_joint),
      copied<InInts<-1>>("law_coordinate", &CoreArguments::law_coordinate),
      copied<InInts<-1>>("law_sum", &CoreArguments::law_sum),
      copied<InInts<-1>>("coupling_terms", &CoreArguments::coupling_terms),
      copied<In<-1>>("term_coefficient", &CoreArguments::term_coefficient),
      copied<InInts<-1>>("term_joint", &CoreArguments::term_joint),
      copied<In<-1>>("coupling_offset", &CoreArguments::coupling_offset),
      copied<InInts<-1>>("coupling_signal", &CoreArguments::coupling_signal),
      copied<InInts<-1>>("counter_ground", &CoreArguments::counter_ground),
      copied<InInts<-1>>("counter_joint", &CoreArguments::counter_joint),
      field("signal_count", &CoreArguments::signal_count), field("selection", &CoreArguments::selection),
      field("kernel", &CoreArguments::kernel));
  core.def("run_batch", &Core::run_batch, nb::kw_only(), "settings"_a, "threads"_a, "start"_a, "loads"_a, "rows"_a,
           "signals"_a, "signal_count"_a, "numbers"_a, "absent"_a, "bodies"_a, "records"_a, "poll"_a.none())
      .def("fits_lanes", &Core::fits_lanes, nb::kw_only(), "solver"_a, "order"_a, "signal_count"_a)
      .def("linearize", &Core::linearise, nb::kw_only(), "dt"_a, "kick"_a, "position"_a, "orientation"_a, "velocity"_a,
           "momentum"_a, "unknowns"_a, "residual"_a, "matrix"_a, "rows"_a = RowFunctions(), "signals"_a = nb::none())
      .def("assemble", &Core::assemble, nb::kw_only(), "iteration_limit"_a, "position"_a, "orientation"_a, "velocity"_a,
           "angular_velocity"_a, "term_start"_a, "counted"_a, "rows"_a, "signals"_a, "signal_rates"_a,
           "loose_below"_a = 0.0)
      .def("close", &Core::close, nb::kw_only(), "iteration_limit"_a, "size"_a, "amplitude"_a, "seed"_a, "most_work"_a,
           "branches"_a, "bounded"_a, "bounds"_a, "chosen"_a, "position"_a, "orientation"_a, "term_start"_a,
           "counted"_a, "rows"_a, "signals"_a)
      .def("reach", &Core::reach, nb::kw_only(), "size"_a, "seed"_a, "restarts"_a, "enough"_a, "branches"_a, "chosen"_a,
           "held"_a, "range"_a, "start_position"_a, "start_orientation"_a, "term_start"_a, "counted"_a, "rows"_a,
           "signals"_a, "target_body"_a, "target_point"_a, "target_turn"_a, "weights"_a, "place"_a, "turn"_a,
           "position"_a, "orientation"_a, "moved"_a, "left"_a, "open"_a, "attempts"_a)
      .def("row_rates", &Core::row_rates, nb::kw_only(), "size"_a, "branches"_a, "chosen"_a, "position"_a,
           "orientation"_a, "term_start"_a, "counted"_a, "rows"_a, "signals"_a)
      .def("start_poses", &Core::start_poses, nb::kw_only(), "threads"_a, "iteration_limit"_a, "size"_a, "enough"_a,
           "branches"_a, "chosen"_a, "held"_a, "is_guess"_a, "described"_a, "coordinates"_a, "rates"_a, "rows"_a,
           "signals"_a, "term_start"_a, "counted"_a, "position"_a, "orientation"_a, "velocity"_a, "angular_velocity"_a,
           "gaps"_a, "open_joint"_a, "geometry"_a.none() = nb::none())
      .def("gaps", &Core::gaps, nb::kw_only(), "position"_a, "orientation"_a, "term_start"_a, "rows"_a, "signals"_a,
           "out"_a, "loop_mismatch"_a)
      .def("stands", &Core::stands, nb::kw_only(), "threads"_a, "position"_a, "orientation"_a, "velocity"_a,
           "angular_velocity"_a, "term_start"_a, "closed"_a, "roundings"_a, "fastest"_a, "length"_a, "loop_tolerance"_a,
           "out"_a, "geometry"_a.none() = nb::none())
      .def("coordinates", &Core::coordinates, nb::kw_only(), "position"_a, "orientation"_a, "velocity"_a,
           "angular_velocity"_a, "counted"_a, "signals"_a, "signal_rates"_a, "coordinates"_a, "rates"_a,
           "geometry"_a.none() = nb::none())
      .def("place", &Core::place, nb::kw_only(), "threads"_a, "moves"_a, "coordinates"_a, "rates"_a, "signals"_a,
           "signal_rates"_a, "position"_a, "orientation"_a, "velocity"_a, "angular_velocity"_a,
           "geometry"_a.none() = nb::none())
      .def("freedoms", &Core::freedoms)
      .def("beside_tree", &Core::beside_tree)
      .def("dynamics", &Core::dynamics, nb::kw_only(), "position"_a, "orientation"_a, "velocity"_a,
           "angular_velocity"_a, "law_start"_a, "term_start"_a, "input_place"_a, "inputs"_a = nb::none(), "signals"_a,
           "signal_rates"_a, "instant"_a = 0.0, "gravity"_a = true, "passive"_a = true, "actuators"_a = true,
           "accelerations"_a = nb::none(), "point_body"_a = nb::none(), "point"_a = nb::none(),
           "rows"_a = RowFunctions(), "rates"_a = nb::none(), "efforts"_a = nb::none(), "mass"_a = nb::none(),
           "basis"_a = nb::none(), "drift"_a = nb::none(), "constraint_rows"_a = nb::none(),
           "constraint_drift"_a = nb::none(), "coordinate_rows"_a = nb::none(), "coordinate_drift"_a = nb::none(),
           "stops"_a = nb::none(), "stop_rows"_a = nb::none())
      .def("relieve", &Core::relieve, nb::kw_only(), "position"_a, "orientation"_a, "rows"_a, "signals"_a, "size"_a,
           "scale"_a, "multipliers"_a)
      .def("explore", &Core::explore, nb::kw_only(), "loop_tolerance"_a, "position"_a, "orientation"_a, "term_start"_a,
           "rows"_a, "signals"_a, "length"_a, "singular"_a, "direction"_a, "loop_mismatch"_a)
      .def_prop_ro("kernel", &Core::kernel_name)
      .def_prop_ro("articulated_work", &Core::articulated_work)
      .def_prop_ro("ldu_work", &Core::ldu_work)
      .def_prop_ro("explore_work", &Core::explore_work)
      .def_prop_ro("coordinate_count", &Core::coordinate_count)
      .def_prop_ro("row_count", &Core::row_count)
      .def_prop_ro("unknown_count", &Core::unknown_count)
      .def_prop_ro("link_bodies", &Core::link_bodies)
      .def("elimination", &Core::elimination)
      .def_prop_ro("loop_joints", &Core::loop_joints)
      .def_prop_ro("loop_groups", &Core::loop_groups)
      .def("workspace_size", &Core::workspace_size, "solver"_a, "order"_a);
}

// a view that is kept for Python, which is to know its shape
#define CATENA_VIEW(name, value, Owner, type, shape)  \
  def_prop_ro(                                        \
      name, [](Owner& owner) { return owner.value; }, \
      nb::sig("def " name "(self) -> Annotated[NDArray[numpy." type "], dict(shape=" shape ")]"), node_doc(name))

// functions of the user's may refer to what calls them
template <class T>
int visit_functions(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  if (!nb::inst_ready(self)) return 0;
  int found = 0;
  nb::inst_ptr<T>(self)->visit([&](const nb::object& object) {
    if (found == 0 && object.is_valid()) found = visit(object.ptr(), arg);
  });
  return found;
}
template <class T>
int clear_functions(PyObject* self) {
  if (nb::inst_ready(self)) nb::inst_ptr<T>(self)->forget_functions();
  return 0;
}

// what `step` takes instead of anything else: an overload that is only tried where the first does not fit
template <class T>
void refuse_step(T& self, const nb::args& args, const nb::kwargs& named) {
  // a whole number that is no int of Python's own, such as numpy's
  if (args.size() + named.size() == 1 && (args.size() == 1 || named.contains("count"))) {
    const nb::object count = args.size() == 1 ? nb::object(args[0]) : nb::object(named["count"]);
    if (PyIndex_Check(count.ptr()) && !PyLong_Check(count.ptr())) {
      nb::find(self).attr("step")(nb::int_(count));
      return;
    }
  }
  throw nb::type_error("step takes a number of steps, as in step(10), not a time; the time step is simulator.dt");
}
// both overloads have the same text, which is then shown once
const char step_doc[] =
    "Take `count` time steps with the inputs and forces as they are set now.\n\n"
    "If a step fails, a SimulationError is raised with the same message as in `run`. The mechanism then stays at the "
    "last\nstate reached and takes no more steps until `restart`. With on_failure=\"stop\", `failed` becomes True "
    "instead, and\n`status` gives the reason.";
const char batch_step_doc[] =
    "Take `count` time steps with the inputs as they are set now; members that have failed keep their state.";
const nb::sig no_step("def step(self, *args: typing.NoReturn, **kwargs: typing.NoReturn) -> None");

template <class T>
PyType_Slot function_slots[] = {{Py_tp_traverse, reinterpret_cast<void*>(visit_functions<T>)},
                                {Py_tp_clear, reinterpret_cast<void*>(clear_functions<T>)},
                                {0, nullptr}};

void bind_live(nb::module_& m) {
  nb::class_<Recording> recording(m, "Recording", "What a run has written; arrays are made when they are asked for.");
  recording.def_prop_ro("ended", &Recording::ended)
      .def_prop_ro("tally", &Recording::tally)
      .def_prop_ro("impacts", [](const Recording& run) { return impact_table(run.impacts(), 0, run.tally().impacts); });
  int count = 0;
  visit_records(
      [&]<class T>(const RecordInfo& info, T*) {
        const std::string type = std::is_same_v<T, int> ? "int32" : "float64",
                          entries = info.of == Of::all ? "" : " None,";
        const std::string width = info.width > 1 ? " " + std::to_string(info.width) + "," : "";
        const std::string signature = std::string("def ") + info.name + "(self) -> Annotated[NDArray[numpy." + type +
                                      "], dict(shape=(None," + entries + width + "))]" +
                                      (info.per == Per::estimate ? " | None" : "");
        recording.def_prop_ro(
            info.name, [k = count](const Recording& one) { return one.record(k); }, nb::sig(signature.c_str()));
        ++count;
      },
      Outputs{});
  recording.def_prop_ro(
      "checkpoint", [](const Recording& recording) { return recording.checkpoint(); },
      nb::sig("def checkpoint(self) -> Annotated[NDArray[numpy.float64], dict(shape=(None, None))] | None"));
  nb::class_<Tally>(m, "Tally", "Newton iterations, substeps and largest Newton residual of the last steps.")
      .def_ro("iterations", &Tally::iterations)
      .def_ro("substeps", &Tally::substeps)
      .def_ro("newton_residual", &Tally::newton_residual)
      .def_ro("error", &Tally::error)
      .def_ro("worst", &Tally::worst)
      .def_ro("worst_time", &Tally::worst_time)
      .def_ro("worst_body", &Tally::worst_body)
      .def_ro("inaccurate", &Tally::inaccurate)
      .def_ro("missed", &Tally::missed)
      .def_ro("guarded", &Tally::guarded)
      .def_ro("impacts", &Tally::impacts)
      .def_ro("cut", &Tally::cut)
      .def_ro("caught", &Tally::caught)
      .def_ro("located", &Tally::located)
      .def_ro("tries", &Tally::tries);
  nb::class_<Live>(m, "Live", nb::type_slots(function_slots<Live>))
      .def(nb::init<const Core&, const Settings&, const Start&, const LoadArrays&, const RowFunctions&,
                    const SignalFunction&, int, const InInts<-1, 2>&, const std::optional<In<-1>>&>(),
           nb::kw_only(), "core"_a, "settings"_a, "start"_a, "loads"_a, "rows"_a, "signals"_a, "signal_count"_a,
           "inputs"_a, "checkpoint"_a.none(), nb::keep_alive<1, 2>())
      .def("_enter", &Live::enter, nb::kw_only(), "core"_a, "solver"_a, "rows"_a, nb::keep_alive<1, 2>())
      .def("_put", &Live::put, nb::kw_only(), "settings"_a, "start"_a, "loads"_a, "checkpoint"_a.none())
      .def("_begin", &Live::start)
      .def("_put_bounds", &Live::put_bounds, "stop"_a, "lower"_a, "upper"_a)
      .def("_rebound", &Live::rebound)
      .def(
          "step",
          [](Live& live, Offset count) {
            if (!live.step(count)) nb::find(live).attr("_look")(count);
          },
          "count"_a = 1, step_doc)
      .def("step", &refuse_step<Live>, no_step, step_doc)
      .def("_room", &Live::room, "checkpoints"_a, "times"_a = 0)
      .def("_end_run", &Live::end_run)
      .def("_run", &Live::run, "block"_a, "checkpoints"_a = false, nb::kw_only(), "increments"_a.none() = nb::none(),
           "control"_a.none() = nb::none(), "held"_a.none() = nb::none(), "times"_a.none() = nb::none(),
           "poll"_a.none() = nb::none())
      .def("checkpoint", &Live::checkpoint, "Return the data from which a run can continue bit for bit.")
      .def("_all_multipliers", &Live::multipliers)
      .def("_loads", &Live::loads)
      .def("_linear_step", &Live::linear_step)
      .def("_hold_arrays", &Live::hold, nb::kw_only(), "values"_a, "point"_a, "in_body_frame"_a)
      .def("_hold_array", &Live::hold_array, "forces"_a)
      .def("_hold_as", &Live::hold_as, "other"_a)
      .def(
          "_impacts",
          [](const Live& live, long first) { return impact_table(live.impacts(), first, live.tally().impacts); },
          "first"_a = 0)
      .def_prop_ro("tally", &Live::tally, "Newton iterations, substeps and largest Newton residual of the last `step`.")
      .def_prop_ro("error", &Live::error, node_doc("error"))
      .def_prop_ro("_ended", &Live::ended)
      .def_prop_ro("failed", &Live::failed, node_doc("failed"))
      .def_prop_ro("time", &Live::time, node_doc("time"))
      .CATENA_VIEW("position", position, Live, "float64", "(None, 3)")
      .CATENA_VIEW("orientation", orientation, Live, "float64", "(None, 4)")
      .CATENA_VIEW("velocity", velocity(), Live, "float64", "(None, 3)")
      .CATENA_VIEW("angular_velocity", angular_velocity(), Live, "float64", "(None, 3)")
      .CATENA_VIEW("_counted", counted, Live, "float64", "(None,)")
      .CATENA_VIEW("inputs", input, Live, "float64", "(None,)")
      .CATENA_VIEW("coordinates", coordinates(), Live, "float64", "(None,)")
      .CATENA_VIEW("rates", rates(), Live, "float64", "(None,)");
  nb::enum_<LinearOutcome>(m, "LinearOutcome")
      .value("found", LinearOutcome::found)
      .value("unsolved", LinearOutcome::unsolved)
      .value("held", LinearOutcome::held);
  nb::enum_<Asked>(m, "Asked")
      .value("mass", Asked::mass)
      .value("rates", Asked::rates)
      .value("efforts", Asked::efforts)
      .value("accelerations", Asked::accelerations)
      .value("bodies", Asked::bodies);
  nb::class_<TreeEquations>(m, "TreeEquations")
      .def(nb::init<const Core&, const InInts<-1, 2>&, const InInts<-1>&, const InInts<-1>&, const InInts<-1, 2>&,
                    const InInts<-1>&, const In<-1, 3>&, const In<-1, 4>&>(),
           nb::kw_only(), "core"_a, "inputs"_a, "laws"_a, "terms"_a, "moves"_a, "selected"_a, "position"_a,
           "orientation"_a, nb::keep_alive<1, 2>())
      .def("find", &TreeEquations::find, "asked"_a, "x"_a, "given"_a.none(), "passive"_a, "actuators"_a,
           nb::sig("def find(self, asked: Asked, x: object, given: object | None, passive: bool, actuators: bool) -> "
                   "NDArray[numpy.float64] | None"))
      .def("admit", &TreeEquations::admit, "live"_a);
}

void bind_live_batch(nb::module_& m) {
  nb::class_<LiveBatch>(m, "LiveBatch", nb::type_slots(function_slots<LiveBatch>))
      .def(nb::init<const Core&, const Settings&, int, const Start&, const LoadArrays&, const RowFunctions&,
                    const SignalFunction&, int, const MemberArrays&, const InInts<-1, 2>&>(),
           nb::kw_only(), "core"_a, "settings"_a, "threads"_a, "start"_a, "loads"_a, "rows"_a, "signals"_a,
           "signal_count"_a, "numbers"_a, "inputs"_a, nb::keep_alive<1, 2>())
      .def("_begin", &LiveBatch::begin, nb::kw_only(), "members"_a, "start"_a, "time"_a, "absent"_a)
      .def(
          "step",
          [](LiveBatch& batch, Offset count) {
            if (!batch.step(count)) nb::find(batch).attr("_look")(count);
          },
          "count"_a = 1, batch_step_doc)
      .def("step", &refuse_step<LiveBatch>, no_step, batch_step_doc)
      .def("_ended", &LiveBatch::status_of, "member"_a)
      .def("tally", &LiveBatch::tally_of, "member"_a, "Return the tally of a member's last `step`; see Live.tally.")
      .def_prop_ro("in_lanes", &LiveBatch::in_lanes, "Whether members run in SIMD lanes.")
      .CATENA_VIEW("time", time, LiveBatch, "float64", "(None,)")
      .CATENA_VIEW("position", position, LiveBatch, "float64", "(None, None, 3)")
      .CATENA_VIEW("orientation", orientation, LiveBatch, "float64", "(None, None, 4)")
      .CATENA_VIEW("velocity", velocity, LiveBatch, "float64", "(None, None, 3)")
      .CATENA_VIEW("angular_velocity", angular_velocity, LiveBatch, "float64", "(None, None, 3)")
      .CATENA_VIEW("_counted", counted, LiveBatch, "float64", "(None, None)")
      .CATENA_VIEW("inputs", input, LiveBatch, "float64", "(None, None)")
      .CATENA_VIEW("coordinates", coordinates(), LiveBatch, "float64", "(None, None)")
      .CATENA_VIEW("rates", rates(), LiveBatch, "float64", "(None, None)")
      .CATENA_VIEW("error", error, LiveBatch, "float64", "(None,)")
      .CATENA_VIEW("failed", failed, LiveBatch, "bool_", "(None,)");
}
#undef CATENA_VIEW

}  // namespace
}  // namespace catena

NB_MODULE(_core, m) {
  m.doc() = "The compiled core of catena. Private: use catena.Simulator.";
  m.attr("inaccurate_above") = catena::inaccurate_above;
  nanobind::register_exception_translator([](const std::exception_ptr& thrown, void*) {
    try {
      std::rethrow_exception(thrown);
    } catch (const catena::NoMemory& error) {
      PyErr_SetString(PyExc_MemoryError, error.what());
    } catch (const std::bad_alloc&) {
      PyErr_SetString(PyExc_MemoryError, "there is not enough memory");
    }
  });
  catena::bind_tables(m);
  catena::bind_structs(m);
  catena::bind_core(m);
  catena::bind_live(m);
  catena::bind_live_batch(m);
  catena::bind_shapes(m);
}
