#include "python/shapes.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "kernel/shapes.hpp"
#include "python/checks.hpp"

namespace catena {

namespace {

using namespace nb::literals;

// as in physics/shapes/solid.hpp
constexpr const char* shape_kinds[] = {"plane", "sphere", "capsule", "box", "cylinder", "hull", "heightfield"};
constexpr int kind_count = sizeof shape_kinds / sizeof shape_kinds[0];
constexpr int heightfield_kind = kind_count - 1;

template <class T, class Numbers>
std::vector<T> taken(const Numbers& array) {
  return {array.data(), array.data() + array.size()};
}

struct Shapes {
  ShapeArrays arrays;
  int bodies;

  Shapes(int body_count, const InInts<-1>& kind, const InInts<-1>& body, const In<-1, 12>& frame, const In<-1, 3>& size,
         const InInts<-1>& point_count, const In<-1, 3>& point, const InInts<-1>& face_count,
         const InInts<-1>& corner_count, const InInts<-1>& corner, const InInts<-1, 2>& grid_count,
         const In<-1, 2>& grid_step, const In<-1>& height)
      : arrays{.kind = taken<int>(kind),
               .body = taken<int>(body),
               .frame = taken<double>(frame),
               .size = taken<double>(size),
               .point_count = taken<int>(point_count),
               .point = taken<double>(point),
               .face_count = taken<int>(face_count),
               .corner_count = taken<int>(corner_count),
               .corner = taken<int>(corner),
               .grid_count = taken<int>(grid_count),
               .grid_step = taken<double>(grid_step),
               .height = taken<double>(height)},
        bodies(body_count) {
    const Offset n = arrays.count();
    require_size(body, n, "bodies of shapes");
    require_shape(frame, {n, 12}, "frames of shapes");
    require_shape(size, {n, 3}, "sizes of shapes");
    require_size(point_count, n, "points of shapes");
    require_size(face_count, n, "faces of shapes");
    require_shape(grid_count, {n, 2}, "grids of shapes");
    require_shape(grid_step, {n, 2}, "steps of grids");
    for (const auto& [array, what] : {std::pair{&arrays.frame, "frames of shapes"},
                                      {&arrays.size, "sizes of shapes"},
                                      {&arrays.point, "points of shapes"},
                                      {&arrays.height, "heights"}})
      require_finite(array->data(), array->size(), what);
    Offset points = 0, faces = 0, corners = 0, heights = 0;
    for (int k = 0; k < arrays.count(); ++k) {
      require_between(arrays.kind[k], 0, kind_count - 1, "the kind of a shape");
      require_between(arrays.body[k], -1, bodies - 1, "the body of a shape");
      require_points(k);
      for (int f = 0; f < arrays.face_count[k]; ++f, ++faces) {
        require(faces < static_cast<Offset>(arrays.corner_count.size()), "faces of shapes: there are too few");
        require_between(arrays.corner_count[faces], 3, arrays.point_count[k], "corners of a face");
        for (int c = 0; c < arrays.corner_count[faces]; ++c, ++corners) {
          require(corners < static_cast<Offset>(arrays.corner.size()), "corners of faces: there are too few");
          require_between(arrays.corner[corners], 0, arrays.point_count[k] - 1, "a corner of a face");
        }
      }
      points += arrays.point_count[k];
      if (arrays.kind[k] != heightfield_kind) continue;
      for (int axis = 0; axis < 2; ++axis) {
        require_between(arrays.grid_count[2 * k + axis], 2, 1 << 20, "heights of a grid");
        require(arrays.grid_step[2 * k + axis] > 0, "the step of a grid must be positive");
      }
      heights += static_cast<Offset>(arrays.grid_count[2 * k]) * arrays.grid_count[2 * k + 1];
    }
    require_shape(point, {points, 3}, "points of shapes");
    require_size(corner_count, faces, "faces of shapes");
    require_size(corner, corners, "corners of faces");
    require_size(height, heights, "heights");
  }

  // how many a kind has
  void require_points(int k) const {
    const int points = arrays.point_count[k], faces = arrays.face_count[k];
    require_between(points, 0, 1 << 20, "points of a shape");
    require_between(faces, 0, 1 << 20, "faces of a shape");
    switch (arrays.kind[k]) {
      case 0:
      case heightfield_kind: return require(points == 0 && faces == 0, "the ground has no points");
      case 1: return require(points == 1 && faces == 0, "a ball has one point");
      case 2: return require(points == 2 && faces == 0, "a capsule has two points");
      default: require(points >= 4 && faces >= 4, "a polyhedron has four points and faces at least");
    }
  }

  ShapePoses poses(const In<-1, 3>& position, const In<-1, 4>& orientation, const std::optional<In<-1, 3>>& velocity,
                   const std::optional<In<-1, 3>>& angular_velocity, double time) const {
    require_shape(position, {bodies, 3}, "position");
    require_shape(orientation, {bodies, 4}, "orientation");
    require_finite(position, "position");
    require_finite(orientation, "orientation");
    require(velocity.has_value() == angular_velocity.has_value(), "both velocities are needed, or none");
    require(std::isfinite(time) && time >= 0, "time must not be negative");
    if (!velocity) return {position.data(), orientation.data(), nullptr, nullptr, 0};
    for (const auto* array : {&*velocity, &*angular_velocity}) {
      require_shape(*array, {bodies, 3}, "velocities");
      require_finite(*array, "velocities");
    }
    return {position.data(), orientation.data(), velocity->data(), angular_velocity->data(), time};
  }
  void require_pair_of_shapes(int a, int b) const {
    for (const int shape : {a, b}) require_between(shape, 0, arrays.count() - 1, "a shape of a pair");
    require(arrays.body[a] != arrays.body[b], "two shapes of one body do not collide");
    const auto is_ground = [&](int k) { return arrays.kind[k] == 0 || arrays.kind[k] == heightfield_kind; };
    require(!is_ground(a) || !is_ground(b), "two grounds do not collide");
  }

  void clearances(const In<-1, 3>& position, const In<-1, 4>& orientation, const InInts<-1, 2>& pairs, double within,
                  const Out<-1>& gap, const Out<-1, 3>& normal, const Out<-1, 3>& on_a, const Out<-1, 3>& on_b) const {
    const Offset count = static_cast<Offset>(pairs.shape(0));
    require_shape(pairs, {count, 2}, "pairs");
    for (Offset k = 0; k < count; ++k) require_pair_of_shapes(pairs.data()[2 * k], pairs.data()[2 * k + 1]);
    require(!std::isnan(within), "within must be a number");
    require_size(gap, count, "gaps");
    for (const auto* array : {&normal, &on_a, &on_b}) require_shape(*array, {count, 3}, "normals and points");
    find_clearances({.shapes = arrays,
                     .poses = poses(position, orientation, {}, {}, 0),
                     .pair_count = count,
                     .pair = pairs.data(),
                     .within = within,
                     .gap = gap.data(),
                     .normal = normal.data(),
                     .on_a = on_a.data(),
                     .on_b = on_b.data()});
  }

  void features(const In<-1, 3>& position, const In<-1, 4>& orientation, const std::optional<In<-1, 3>>& velocity,
                const std::optional<In<-1, 3>>& angular_velocity, double time, int a, int b, double margin,
                const In<-1, 2, 3>& other_position, const In<-1, 2, 4>& other_orientation, const OutInts<-1>& kind,
                const Out<-1, -1>& gap, const Out<-1, -1, 3>& normal, const Out<-1, -1, 3>& point) const {
    require_pair_of_shapes(a, b);
    const Offset count = static_cast<Offset>(other_position.shape(0)), most = most_told_features;
    require_shape(other_position, {count, 2, 3}, "other poses");
    require_shape(other_orientation, {count, 2, 4}, "other poses");
    require_size(kind, most, "kinds");
    require_shape(gap, {count, most}, "gaps");
    for (const auto* array : {&normal, &point}) require_shape(*array, {count, most, 3}, "normals and points");
    find_features({.shapes = arrays,
                   .poses = poses(position, orientation, velocity, angular_velocity, time),
                   .pair = {a, b},
                   .margin = margin,
                   .count = count,
                   .other_position = other_position.data(),
                   .other_orientation = other_orientation.data(),
                   .kind = kind.data(),
                   .gap = gap.data(),
                   .normal = normal.data(),
                   .point = point.data()});
  }

  std::vector<std::pair<int, int>> near(const In<-1, 3>& position, const In<-1, 4>& orientation,
                                        const std::optional<In<-1, 3>>& velocity,
                                        const std::optional<In<-1, 3>>& angular_velocity, double time,
                                        double margin) const {
    std::vector<int> flat;
    sweep_shapes({arrays, poses(position, orientation, velocity, angular_velocity, time), margin, flat});
    std::vector<std::pair<int, int>> found;
    for (std::size_t k = 0; k < flat.size(); k += 2) found.emplace_back(flat[k], flat[k + 1]);
    return found;
  }
};

}  // namespace

void bind_shapes(nb::module_& m) {
  m.def(
      "shape_kinds", [] { return std::vector<std::string>(std::begin(shape_kinds), std::end(shape_kinds)); },
      "Kinds of shapes that collide, by their codes.");
  m.attr("most_features") = most_told_features;
  const nb::object none = nb::none();
  nb::class_<Shapes>(m, "Shapes", "Shapes that collide, as flat arrays.")
      .def(nb::init<int, const InInts<-1>&, const InInts<-1>&, const In<-1, 12>&, const In<-1, 3>&, const InInts<-1>&,
                    const In<-1, 3>&, const InInts<-1>&, const InInts<-1>&, const InInts<-1>&, const InInts<-1, 2>&,
                    const In<-1, 2>&, const In<-1>&>(),
           nb::kw_only(), "body_count"_a, "kind"_a, "body"_a, "frame"_a, "size"_a, "point_count"_a, "point"_a,
           "face_count"_a, "corner_count"_a, "corner"_a, "grid_count"_a, "grid_step"_a, "height"_a)
      .def("clearances", &Shapes::clearances, nb::kw_only(), "position"_a, "orientation"_a, "pairs"_a, "within"_a,
           "gap"_a, "normal"_a, "on_a"_a, "on_b"_a)
      .def("features", &Shapes::features, nb::kw_only(), "position"_a, "orientation"_a, "velocity"_a = none,
           "angular_velocity"_a = none, "time"_a = 0.0, "a"_a, "b"_a, "margin"_a, "other_position"_a,
           "other_orientation"_a, "kind"_a, "gap"_a, "normal"_a, "point"_a)
      .def("near", &Shapes::near, nb::kw_only(), "position"_a, "orientation"_a, "velocity"_a = none,
           "angular_velocity"_a = none, "time"_a = 0.0, "margin"_a = 0.0);
}

}  // namespace catena
