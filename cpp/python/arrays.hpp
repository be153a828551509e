// What crosses the border between Python and the core, by name: arrays with their shapes, and the structs of a run.
// A mechanism crosses as a Description (model/describe.hpp). Their fields are listed in module.cpp.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <optional>

#include "kernel/kernel.hpp"

namespace catena {

namespace nb = nanobind;

template <class T>
using AnyShape = nb::ndarray<T, nb::c_contig, nb::device::cpu>;
using Doubles = AnyShape<double>;
using ConstDoubles = AnyShape<const double>;
using ConstInts = AnyShape<const int>;
using NamedArrays = nb::typed<nb::dict, nb::str, nb::object>;

// An array whose type tells its shape, -1 for any length. Wrong shapes pass the border, and are told in a sentence
// behind it (require_shape): nanobind itself would only say that no signature fits.
template <class T, int... lengths>
struct Array : AnyShape<T> {
  Array() = default;
  explicit Array(const AnyShape<T>& array) : AnyShape<T>(array) {}
};
template <int... lengths>
using In = Array<const double, lengths...>;
template <int... lengths>
using InInts = Array<const int, lengths...>;
template <int... lengths>
using Out = Array<double, lengths...>;
template <int... lengths>
using OutInts = Array<int, lengths...>;

struct Settings {
  SolverKind solver;
  int order;
  double dt, tolerance;
  int iteration_limit, rescue_depth;
  bool estimates;
  double size, error_rate;
  bool paper_start;
  double start_time;
  Offset steps, record_every;
};

// states to start from, and what laws, terms of couplings and counters measure there
struct Start {
  In<-1, -1, 3> position;  // (member, body, 3)
  In<-1, -1, 4> orientation;
  In<-1, -1, 3> velocity, angular_velocity;
  In<-1, -1> law_start, term_start, counter_start;  // (member, ...); counters are all there or none is
};

struct LoadArrays {
  InInts<-1> body;  // (load)
  In<-1, 3> point;
  InInts<-1> in_body_frame, signal;
  In<-1, -1, -1, 6> values;  // (1 or member, 1 or node, load, 6)
};

// where joints, and what laws, couplings and counted angles measure, sit on their bodies
struct GeometryArrays {
  In<-1, -1, 2, 3> joint_anchors;    // (member, joint, 2, 3)
  In<-1, -1, 2, 4> joint_frames;     // (member, joint, 2, 4)
  In<-1, -1> joint_parameter;        // (member, joint)
  In<-1, -1, 2, 3> measure_anchors;  // (member, measure, 2, 3)
  In<-1, -1, 2, 4> measure_frames;   // (member, measure, 2, 4)
};

// numbers of the mechanism that differ between the members of a batch, where they do
struct MemberArrays {
  std::optional<In<-1, -1>> mass;           // (member, body)
  std::optional<In<-1, -1, 3, 3>> inertia;  // (member, body, 3, 3)
  std::optional<In<-1, -1, 3>> gravity;     // (member, body, 3)
  std::optional<In<-1, -1, law_size>> law;  // (member, law, law_size)
  std::optional<GeometryArrays> geometry;
};

}  // namespace catena

template <class T, int... lengths>
struct nanobind::detail::type_caster<catena::Array<T, lengths...>> {
  using Shaped = nanobind::ndarray<T, nanobind::shape<lengths...>, nanobind::c_contig, nanobind::device::cpu>;
  using Value_ = catena::Array<T, lengths...>;
  NB_TYPE_CASTER(Value_, make_caster<Shaped>::Name)

  template <class Flags>
  bool from_python(handle source, Flags flags, cleanup_list* cleanup) noexcept {
    make_caster<catena::AnyShape<T>> caster;
    const bool fits = caster.from_python(source, flags, cleanup);
    if (fits) value = Value_(caster.value);
    return fits;
  }
};
