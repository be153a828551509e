// Bindings of the rivals in continuous time: Runge-Kutta in minimal coordinates, Baraff in maximal ones.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#ifdef _WIN32
#include <windows.h>
#else
#include <time.h>
#endif

#include <string>
#include <tuple>

#include "continuous/articulated.hpp"
#include "continuous/baraff.hpp"
#include "continuous/composite.hpp"
#include "continuous/runge_kutta.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace rivals {
namespace {

using Numbers = nb::ndarray<const double, nb::c_contig, nb::device::cpu>;
using Integers = nb::ndarray<const int, nb::c_contig, nb::device::cpu>;
using Output = nb::ndarray<double, nb::c_contig, nb::device::cpu>;

void expect(bool holds, const char* what) {
  if (!holds) throw nb::value_error(what);
}
template <class Array>
void expect_size(const Array& array, size_t size, const char* name) {
  if (array.size() != size) {
    const std::string words = std::string(name) + " must hold " + std::to_string(size) + " numbers, and holds " +
                              std::to_string(array.size());
    throw nb::value_error(words.c_str());
  }
}

Model make_model(Integers parent, Integers kind, Numbers rest, Numbers axis, Numbers at_parent, Numbers at_child,
                 Numbers mass, Numbers inertia, Numbers gravity, Integers body_a, Integers body_b, Integers loop_kind,
                 Numbers point_a, Numbers point_b, Numbers axis_a, Numbers axis_b) {
  const size_t n = parent.size(), m = body_a.size();
  expect_size(kind, n, "kind"), expect_size(rest, 4 * n, "rest"), expect_size(axis, 3 * n, "axis");
  expect_size(at_parent, 3 * n, "at_parent"), expect_size(at_child, 3 * n, "at_child"), expect_size(mass, n, "mass");
  expect_size(inertia, 9 * n, "inertia"), expect_size(gravity, 3, "gravity"), expect_size(body_b, m, "body_b");
  expect_size(loop_kind, m, "kind of loops"), expect_size(point_a, 3 * m, "point_a");
  expect_size(point_b, 3 * m, "point_b"), expect_size(axis_a, 3 * m, "axis_a"), expect_size(axis_b, 3 * m, "axis_b");
  Model model;
  model.gravity = load3(gravity.data());
  for (size_t i = 0; i < n; ++i) {
    const int above = parent.data()[i], type = kind.data()[i];
    expect(-1 <= above && above < int(i), "bodies must come after their parents");
    expect(type == revolute || type == ball, "kind must be 0, revolute, or 1, ball");
    const double* I = inertia.data() + 9 * i;
    model.add_body({type, above + 1, 0, 0, load_quat(rest.data() + 4 * i), load3(axis.data() + 3 * i),
                    load3(at_parent.data() + 3 * i), load3(at_child.data() + 3 * i)},
                   {mass.data()[i], {I[0], I[4], I[8], I[1], I[2], I[5]}});
  }
  for (size_t k = 0; k < m; ++k) {
    const int a = body_a.data()[k], b = body_b.data()[k], type = loop_kind.data()[k];
    expect(-1 <= a && a < int(n) && -1 <= b && b < int(n) && a != b,
           "a loop must end on two bodies, or on one and the world");
    expect(type == revolute || type == ball, "kind must be 0, revolute, or 1, ball");
    model.add_loop(type, {a + 1, load3(point_a.data() + 3 * k), load3(axis_a.data() + 3 * k)},
                   {b + 1, load3(point_b.data() + 3 * k), load3(axis_b.data() + 3 * k)});
  }
  return model;
}

double thread_seconds() {
#ifdef _WIN32
  FILETIME created, ended, kernel, user;
  GetThreadTimes(GetCurrentThread(), &created, &ended, &kernel, &user);
  return 1e-7 * (4294967296.0 * user.dwHighDateTime + user.dwLowDateTime);
#else
  timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return double(now.tv_sec) + 1e-9 * double(now.tv_nsec);
#endif
}

// zero, or NaN if a number is infinite or none
double vanishing(const double* numbers, int count) {
  double sum = 0;
  for (int i = 0; i < count; ++i) sum += 0 * numbers[i];
  return sum;
}

// steps until the end or until numbers are no longer finite; returns steps done, nodes recorded, seconds of this thread
template <class Step, class Finite, class Record>
std::tuple<long, long, double> march(long steps, long every, Step step, Finite finite, Record record) {
  nb::gil_scoped_release release;
  const double start = thread_seconds();
  long done = 0, recorded = 0;
  record(recorded++);
  while (done < steps) {
    step();
    if (!finite()) break;
    ++done;
    if (done % every == 0 || done == steps) record(recorded++);
  }
  return {done, recorded, thread_seconds() - start};
}

size_t nodes(long steps, long every) {
  expect(steps >= 0 && every >= 1, "steps must not be negative, and every at least 1");
  return size_t(steps / every + 1 + (steps % every != 0));
}

// ---- minimal coordinates

template <class Dynamics>
std::tuple<long, long, double> run_with(Dynamics dynamics, const Model& model, const Scheme& scheme, const double* q0,
                                        const double* v0, double dt, long steps, long every, double* out_q,
                                        double* out_v) {
  MuntheKaas<Dynamics> method(model, dynamics, scheme);
  std::vector<double> q(q0, q0 + model.coordinates), v(v0, v0 + model.rates);
  return march(
      steps, every, [&] { method.step(q.data(), v.data(), dt); },
      [&] { return vanishing(q.data(), model.coordinates) + vanishing(v.data(), model.rates) == 0; },
      [&](long node) {
        std::copy(q.begin(), q.end(), out_q + size_t(node) * q.size());
        std::copy(v.begin(), v.end(), out_v + size_t(node) * v.size());
      });
}

std::tuple<long, long, double> run_minimal(const Model& model, bool composite, bool second_order, double damping,
                                           double stiffness, double rank, Numbers q, Numbers v, double dt, long steps,
                                           long every, Output out_q, Output out_v) {
  const size_t records = nodes(steps, every);
  expect_size(q, model.coordinates, "coordinates"), expect_size(v, model.rates, "rates");
  expect_size(out_q, records * model.coordinates, "out_q"), expect_size(out_v, records * model.rates, "out_v");
  const Scheme& scheme = second_order ? heun : classical;
  const Holding hold{damping, stiffness, rank};
  if (composite)
    return run_with(Composite(model, hold), model, scheme, q.data(), v.data(), dt, steps, every, out_q.data(),
                    out_v.data());
  return run_with(Articulated<double>(model, hold), model, scheme, q.data(), v.data(), dt, steps, every, out_q.data(),
                  out_v.data());
}

void minimal_accelerations(const Model& model, bool composite, double damping, double stiffness, double rank, Numbers q,
                           Numbers v, Output out) {
  expect_size(q, model.coordinates, "coordinates"), expect_size(v, model.rates, "rates");
  expect_size(out, model.rates, "out");
  const Holding hold{damping, stiffness, rank};
  if (composite)
    Composite(model, hold).accelerations(q.data(), v.data(), out.data());
  else
    Articulated<double>(model, hold).accelerations(q.data(), v.data(), out.data());
}

long minimal_operations(const Model& model, Numbers q, Numbers v) {
  expect_size(q, model.coordinates, "coordinates"), expect_size(v, model.rates, "rates");
  std::vector<Counted> at(q.data(), q.data() + q.size()), rates(v.data(), v.data() + v.size()), out(v.size());
  Articulated<Counted> dynamics(model, {});
  Counted::operations = 0;
  dynamics.accelerations(at.data(), rates.data(), out.data());
  return Counted::operations;
}

// ---- maximal coordinates

template <class T>
std::vector<Body<T>> bodies_of(const Model& model, const Numbers& x, const Numbers& q, const Numbers& v,
                               const Numbers& w) {
  const size_t n = model.bodies;
  expect_size(x, 3 * n, "position"), expect_size(q, 4 * n, "orientation");
  expect_size(v, 3 * n, "velocity"), expect_size(w, 3 * n, "angular velocity");
  const Vec3<T> zero = as<T>(Vec3<double>{0, 0, 0});
  std::vector<Body<T>> bodies(n + 1, {zero, zero, zero, Quat<T>{T(1), zero}});
  for (size_t i = 0; i < n; ++i)
    bodies[i + 1] = {as<T>(load3(x.data() + 3 * i)), as<T>(load3(v.data() + 3 * i)), as<T>(load3(w.data() + 3 * i)),
                     as<T>(load_quat(q.data() + 4 * i))};
  return bodies;
}

std::tuple<long, long, double> run_maximal(const Model& model, double damping, double stiffness, double rank, Numbers x,
                                           Numbers q, Numbers v, Numbers w, double dt, long steps, long every,
                                           Output out_x, Output out_q, Output out_v, Output out_w) {
  std::vector<Body<double>> state = bodies_of<double>(model, x, q, v, w);
  const size_t n = model.bodies, records = nodes(steps, every);
  expect_size(out_x, 3 * n * records, "out_x"), expect_size(out_q, 4 * n * records, "out_q");
  expect_size(out_v, 3 * n * records, "out_v"), expect_size(out_w, 3 * n * records, "out_w");
  MaximalRungeKutta method(model, {damping, stiffness, rank});
  return march(
      steps, every, [&] { method.step(state.data(), dt); },
      [&] {
        Vec3<double> sum = {0, 0, 0};
        double turns = 0;
        for (size_t i = 1; i <= n; ++i) sum += (state[i].x + state[i].v) + state[i].w, turns += state[i].q.w;
        return 0 * ((sum.x + sum.y) + (sum.z + turns)) == 0;
      },
      [&](long node) {
        for (size_t i = 0; i < n; ++i) {
          const size_t row = size_t(node) * n + i;
          store3(out_x.data() + 3 * row, state[i + 1].x);
          store_quat(out_q.data() + 4 * row, state[i + 1].q);
          store3(out_v.data() + 3 * row, state[i + 1].v);
          store3(out_w.data() + 3 * row, state[i + 1].w);
        }
      });
}

void maximal_accelerations(const Model& model, double damping, double stiffness, double rank, Numbers x, Numbers q,
                           Numbers v, Numbers w, Output out_v, Output out_w) {
  const std::vector<Body<double>> state = bodies_of<double>(model, x, q, v, w);
  expect_size(out_v, 3 * model.bodies, "out_v"), expect_size(out_w, 3 * model.bodies, "out_w");
  std::vector<Acceleration<double>> out(model.bodies + 1);
  Baraff<double>(model, {damping, stiffness, rank}).accelerations(state.data(), out.data());
  for (int i = 0; i < model.bodies; ++i) {
    store3(out_v.data() + 3 * i, out[i + 1].v);
    store3(out_w.data() + 3 * i, out[i + 1].w);
  }
}

long maximal_operations(const Model& model, Numbers x, Numbers q, Numbers v, Numbers w) {
  const std::vector<Body<Counted>> state = bodies_of<Counted>(model, x, q, v, w);
  std::vector<Acceleration<Counted>> out(model.bodies + 1);
  Baraff<Counted> dynamics(model, {});
  Counted::operations = 0;
  dynamics.accelerations(state.data(), out.data());
  return Counted::operations;
}

}  // namespace
}  // namespace rivals

NB_MODULE(_continuous, m) {
  using namespace rivals;
  nb::class_<Model>(m, "Model");
  m.def("model", &make_model, nb::kw_only(), "parent"_a, "kind"_a, "rest"_a, "axis"_a, "at_parent"_a, "at_child"_a,
        "mass"_a, "inertia"_a, "gravity"_a, "body_a"_a, "body_b"_a, "loop_kind"_a, "point_a"_a, "point_b"_a, "axis_a"_a,
        "axis_b"_a);
  m.def("run_minimal", &run_minimal);
  m.def("minimal_accelerations", &minimal_accelerations);
  m.def("minimal_operations", &minimal_operations);
  m.def("run_maximal", &run_maximal);
  m.def("maximal_accelerations", &maximal_accelerations);
  m.def("maximal_operations", &maximal_operations);
}
