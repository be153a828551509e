// Bindings of the variational integrators in minimal coordinates: arrays in, arrays out.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>

#include <initializer_list>
#include <string>
#include <type_traits>
#include <vector>

#include "variational/galerkin.hpp"
#include "variational/newton.hpp"
#include "variational/second.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace catena_paper {
namespace {

typedef nb::ndarray<const double, nb::c_contig, nb::device::cpu> In;
typedef nb::ndarray<const int, nb::ndim<1>, nb::c_contig, nb::device::cpu> Ints;

// arrays of the same name as in tree.py, held by Python while a call lasts
struct Given {
  Ints parent, kind;
  In rest, axis, at_parent, at_child, mass, inertia, gravity;

  Tree tree() const {
    const std::size_t n = parent.size();
    const struct {
      const char* name;
      std::size_t size, wanted;
    } sizes[] = {{"kind", kind.size(), n},
                 {"rest", rest.size(), 4 * n},
                 {"axis", axis.size(), 3 * n},
                 {"at_parent", at_parent.size(), 3 * n},
                 {"at_child", at_child.size(), 3 * n},
                 {"mass", mass.size(), n},
                 {"inertia", inertia.size(), 9 * n},
                 {"gravity", gravity.size(), 3}};
    if (n == 0) throw std::invalid_argument("a tree has at least one body");
    for (const auto& array : sizes) require(array.name, array.size, array.wanted);
    return tree_of({int(n), parent.data(), kind.data(), rest.data(), axis.data(), at_parent.data(), at_child.data(),
                    mass.data(), inertia.data(), gravity.data()});
  }

  static void require(const char* name, std::size_t size, std::size_t wanted) {
    if (size != wanted)
      throw std::invalid_argument(std::string(name) + " has " + std::to_string(size) + " numbers, not " +
                                  std::to_string(wanted));
  }
};

template <class Visit>
auto with_integrator(const std::string& method, const Tree& tree, double dt, const In& angles, const In& rates,
                     Visit visit) {
  Given::require("coordinates", angles.size(), tree.size);
  Given::require("rates", rates.size(), tree.size);
  const auto made = [&]<class Integrator>() {
    Integrator integrator(tree, dt, angles.data(), rates.data());
    return visit(integrator);
  };
  if (method == "quaternion") return made.template operator()<Second<Map::quaternion>>();
  if (method == "cayley") return made.template operator()<Second<Map::cayley>>();
  if (method == "exponential") return made.template operator()<Second<Map::exponential>>();
  if (method == "radau") return made.template operator()<Galerkin<Radau>>();
  if (method == "lobatto") return made.template operator()<Galerkin<Lobatto>>();
  if (method == "gauss") return made.template operator()<Galerkin<Gauss>>();
  throw std::invalid_argument("there is no method called '" + method + "'");
}

template <class T>
nb::object array(const std::vector<T>& values, std::initializer_list<std::size_t> shape) {
  auto* copy = new std::vector<T>(values);
  nb::capsule owner(copy, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
  return nb::cast(nb::ndarray<nb::numpy, T>(copy->data(), shape, owner));
}

Direction direction_of(const std::string& name) {
  if (name == "newton") return Direction::newton;
  if (name == "frozen") return Direction::frozen;
  if (name == "impulse") return Direction::impulse;
  throw std::invalid_argument("there is no direction called '" + name + "'");
}

Measure measure_of(const std::string& name) {
  if (name == "residual") return Measure::residual;
  if (name == "increment") return Measure::increment;
  throw std::invalid_argument("there is no measure called '" + name + "'");
}

nb::tuple run_tree(const Given& given, const std::string& method, const In& angles, const In& rates, double dt,
                   int steps, int every, double tolerance, const std::string& measure, int iteration_limit,
                   const std::string& direction, int most_differences, bool go_on, bool as_angles) {
  const Tree tree = given.tree();
  const Settings settings = {
      dt,    tolerance, steps, every, iteration_limit, most_differences, direction_of(direction), measure_of(measure),
      go_on, as_angles};
  Result result;
  {
    nb::gil_scoped_release released;
    result = with_integrator(method, tree, dt, angles, rates, [&](auto& integrator) {
      return run(integrator, tree.size, angles.data(), rates.data(), settings);
    });
  }
  const std::size_t n = tree.size, nodes = result.angles.size() / n, tried = result.iterations.size();
  return nb::make_tuple(array(result.angles, {nodes, n}), array(result.rates, {nodes, n}),
                        array(result.iterations, {tried}), array(result.residuals, {tried}), result.steps,
                        result.failures, result.first_failure, result.seconds);
}

// the first step's residual at z, and the direction found there for `right`: what tests look at
nb::tuple look(const Given& given, const std::string& method, const In& angles, const In& rates, double dt, const In& z,
               const In& right, const std::string& direction) {
  const Tree tree = given.tree();
  std::vector<double> f(z.size()), out(z.size());
  with_integrator(method, tree, dt, angles, rates, [&](auto& integrator) {
    const std::size_t wanted = tree.size * std::remove_reference_t<decltype(integrator)>::stages;
    Given::require("z", z.size(), wanted);
    Given::require("right", right.size(), wanted);
    integrator.residual(z.data(), f.data());
    if (direction_of(direction) == Direction::impulse) {
      integrator.factor_mass();
      integrator.solve_mass(right.data(), out.data(), false);
    } else {
      integrator.factor_and_solve(right.data(), out.data(), false);
    }
    return 0;
  });
  return nb::make_tuple(array(f, {f.size()}), array(out, {out.size()}));
}

}  // namespace
}  // namespace catena_paper

NB_MODULE(_variational, m) {
  using namespace catena_paper;
  nb::class_<Given>(m, "Tree").def(nb::init<Ints, Ints, In, In, In, In, In, In, In>());
  m.def("run", &run_tree);
  m.def("look", &look);
}
