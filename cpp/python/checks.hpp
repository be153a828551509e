// What crosses from Python into the core is checked here, whatever was checked before: shapes, ranges of indices,
// kinds, counts, finite numbers. What does not fit is a ValueError; nothing behind this door looks again.
#pragma once

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <limits>
#include <span>
#include <string>
#include <type_traits>

#include "model/describe.hpp"
#include "python/arrays.hpp"

namespace catena {

template <class Part>
std::string text_of(const Part& part) {
  if constexpr (std::is_arithmetic_v<Part>)
    return std::to_string(part);
  else
    return part;
}
// words and numbers are made a sentence only where something does not fit
template <class... Parts>
void require(bool fits, const Parts&... sentence) {
  if (!fits) throw nb::value_error((text_of(sentence) + ...).c_str());
}

// -1 stands for any length
template <class Numbers>
void require_shape(const Numbers& array, std::span<const Offset> shape, const char* what) {
  bool fits = array.ndim() == shape.size();
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    const Offset length = shape[axis];
    fits = fits && (length < 0 || static_cast<Offset>(array.shape(axis)) == length);
  }
  if (fits) return;
  std::string wanted;
  for (const Offset length : shape)
    wanted += (wanted.empty() ? "" : ", ") + (length < 0 ? std::string("any") : std::to_string(length));
  require(false, what, ": the core needs shape (", wanted, ")");
}
template <class Numbers>
void require_shape(const Numbers& array, std::initializer_list<Offset> shape, const char* what) {
  require_shape(array, std::span<const Offset>(shape.begin(), shape.size()), what);
}

template <class Numbers>
void require_size(const Numbers& array, Offset size, const char* what) {
  require(static_cast<Offset>(array.size()) == size, what, ": the core needs ", size, " numbers, got ", array.size());
}

inline bool all_finite(const double* numbers, std::size_t count) {
  unsigned long long wrong = 0;
  for (std::size_t k = 0; k < count; ++k) wrong += !(std::fabs(numbers[k]) <= std::numeric_limits<double>::max());
  return wrong == 0;
}
inline void require_finite(const double* numbers, std::size_t count, const char* what) {
  // all at once, and one by one where that tells that something is wrong
  if (all_finite(numbers, count)) return;
  for (std::size_t k = 0; k < count; ++k) require(std::isfinite(numbers[k]), what, ": NaN or infinity at place ", k);
}
inline void require_finite(const ConstDoubles& array, const char* what) {
  require_finite(array.data(), array.size(), what);
}

inline void require_between(Offset value, Offset least, Offset most, const char* what) {
  require(value >= least && value <= most, what, " must be between ", least, " and ", most, ", got ", value);
}

// `width` values of the signals begin at `first`, or none do
inline void require_signal(int first, int width, int count, const char* what) {
  require(first == -1 || (first >= 0 && first <= count - width), what, ": no place among the ", count,
          " values of functions of time");
}

inline bool is_measure(int kind) {
  return kind >= static_cast<int>(JointKind::measured_angle) && kind < joint_kind_count;
}
inline bool is_joint(int kind) { return kind >= 0 && kind < static_cast<int>(JointKind::coupling); }

inline void require_pair(const Pair& pair, int body_count, const char* what) {
  for (const int body : {pair.body_a, pair.body_b}) require_between(body, -1, body_count - 1, what);
  require(pair.body_a != pair.body_b, what, ": its two bodies are one");
  require_finite(pair.anchor_a, 3, what);
  require_finite(pair.anchor_b, 3, what);
  require_finite(pair.frame_a, 4, what);
  require_finite(pair.frame_b, 4, what);
  require_finite(&pair.parameter, 1, what);
}

inline void require_law(const double* law, const char* what) {
  for (int k = 0; k < law_size; ++k) require(!std::isnan(law[k]), what, ": NaN among its numbers");
}

inline void require_joint(const JointSpec& joint, int body_count, int signal_count) {
  require(is_joint(joint.kind), "joints: there is no joint of kind ", joint.kind);
  require_pair(joint, body_count, "bodies of a joint");
  require_signal(joint.ground, 7, signal_count, "where the ground of a joint is found");
  const int rows = is_custom(joint.kind) ? joint.row_count : joint_row_count(joint.kind);
  require(joint.selection.rows <= rows, "a joint cannot have more active rows than rows");
  require_between(joint.selection.redundant, 0, rows, "redundant directions of a joint");
  require(std::isfinite(joint.damping) && joint.damping >= 0, "damping of a joint must not be negative");
  require(joint.damping == 0 || (joint.body_a >= 0 && joint.body_b >= 0),
          "damping of a joint: to the world it is drag");
  if (!is_custom(joint.kind)) return;
  require_between(joint.row_count, 1, 6, "rows of a custom joint");
  require_signal(joint.signal, joint.row_count, signal_count, "where the values of a custom joint are found");
}

// arrays of a mechanism: those of the same things are of the same length
inline void require_description(const Description& given) {
  const RowSelectionArrays& selection = given.selection;
  const auto bodies = static_cast<Offset>(given.mass.size());
  require_size(given.inertia, 9 * bodies, "inertia");
  require_size(given.gravity, 3 * bodies, "gravity");
  require_size(given.massless, bodies, "massless");
  if (!given.drag.empty()) require_size(given.drag, 6 * bodies, "drag");
  const auto joints = static_cast<Offset>(given.joint_kind.size());
  require_size(given.joint_bodies, 2 * joints, "joint_bodies");
  require_size(given.joint_anchors, 6 * joints, "joint_anchors");
  require_size(given.joint_frames, 8 * joints, "joint_frames");
  require_size(given.joint_parameter, joints, "joint_parameter");
  require_size(given.joint_rows, joints, "joint_rows");
  require_size(given.joint_cost, joints, "joint_cost");
  require_size(given.joint_damping, joints, "joint_damping");
  require_size(given.joint_signal, joints, "joint_signal");
  require_size(given.joint_ground, joints, "joint_ground");
  const auto measures = static_cast<Offset>(given.measure_kind.size());
  require_size(given.measure_bodies, 2 * measures, "measure_bodies");
  require_size(given.measure_anchors, 6 * measures, "measure_anchors");
  require_size(given.measure_frames, 8 * measures, "measure_frames");
  const auto laws = static_cast<Offset>(given.law_target.size());
  require_size(given.law_numbers, law_size * laws, "law_numbers");
  for (Offset l = 0; l < laws; ++l) require_law(given.law_numbers.data() + law_size * l, "laws");
  require_size(given.law_force, laws, "law_force");
  require_size(given.law_joint, laws, "law_joint");
  require_size(given.law_coordinate, laws, "law_coordinate");
  require_size(given.law_sum, laws, "law_sum");
  const auto couplings = static_cast<Offset>(given.coupling_terms.size());
  Offset terms = 0;
  for (const int count : given.coupling_terms) {
    require_between(count, 1, most_terms, "terms of a coupling");
    terms += count;
  }
  require_size(given.term_coefficient, terms, "term_coefficient");
  require_size(given.term_joint, terms, "term_joint");
  for (const int joint : given.term_joint)
    require_between(joint, -1, static_cast<int>(joints) - 1, "the joint of a coupling");
  require_size(given.coupling_offset, couplings, "coupling_offset");
  require_size(given.coupling_signal, couplings, "coupling_signal");
  require(measures >= laws + terms, "measures: there are fewer than laws and couplings need");
  require_size(given.counter_ground, measures - laws - terms, "counter_ground");
  require_size(given.counter_joint, measures - laws - terms, "counter_joint");
  require(given.signal_count >= 0, "signal_count must not be negative");
  require(std::isfinite(selection.loop_tolerance) && selection.loop_tolerance >= 0,
          "loop_tolerance must not be negative");
  require_size(selection.rows, joints, "active rows");
  require_size(selection.redundant, joints, "redundant directions");
  require_size(selection.combination, 36 * joints, "combinations of rows");
  require_size(selection.length, joints, "lengths of joints");
  require_size(selection.inactive, couplings, "inactive couplings");
  require_finite(selection.combination.data(), selection.combination.size(), "combinations of rows");
  require_finite(selection.length.data(), selection.length.size(), "lengths of joints");
}

// A mechanism as it was handed over
inline void require_spec(const Spec& spec) {
  const int bodies = static_cast<int>(spec.mass.size());
  for (int body = 0; body < bodies; ++body) {
    const double mass = spec.mass[body];
    require(std::isfinite(mass) && (mass > 0 || (mass == 0 && spec.massless[body])),
            "mass: masses must be positive, got ", mass);
  }
  require_finite(spec.inertia.data(), spec.inertia.size(), "inertia");
  require_finite(spec.gravity.data(), spec.gravity.size(), "gravity");
  require_finite(spec.drag.data(), spec.drag.size(), "drag");
  for (const double drag : spec.drag) require(drag >= 0, "drag must not be negative, got ", drag);
  for (const JointSpec& joint : spec.joint) require_joint(joint, bodies, spec.signal_count);
  for (const LawSpec& law : spec.law) {
    require(is_measure(law.measure.kind), "laws: nothing is measured by kind ", law.measure.kind);
    require_pair(law.measure, bodies, "bodies of a law");
    require_signal(law.target, 1, spec.signal_count, "where the target of a law is found");
    require_signal(law.force, 1, spec.signal_count, "where the force of a law is found");
    require_between(law.joint, -1, static_cast<int>(spec.joint.size()) - 1, "the joint of a law");
    require_between(law.sum, -1, static_cast<int>(spec.coupling.size()) - 1, "the sum of a law");
    require(law.sum < 0 || (is_hard_stop(law) && law.joint < 0 && spec.coupling[law.sum].signal < 0),
            "laws: only hard stops bound the sums of couplings");
    if (law.joint >= 0) {
      const JointSpec& joint = spec.joint[law.joint];
      require(std::minmax(joint.body_a, joint.body_b) == std::minmax(law.measure.body_a, law.measure.body_b),
              "laws: the joint of a law is between other bodies");
      require_between(law.coordinate, 0, 5 - joint_row_count(joint.kind), "the coordinate of a law");
    }
  }
  for (const CouplingSpec& coupling : spec.coupling) {
    require_finite(&coupling.offset, 1, "offset of a coupling");
    require_finite(coupling.coefficient.data(), coupling.coefficient.size(), "coefficients of a coupling");
    require_signal(coupling.signal, 1, spec.signal_count, "where the function of a coupling is found");
    for (const Pair& measure : coupling.measure) {
      require(is_measure(measure.kind), "couplings: nothing is measured by kind ", measure.kind);
      require_pair(measure, bodies, "bodies of a coupling");
    }
  }
  for (const CounterSpec& counter : spec.counter) {
    require(counter.kind == static_cast<int>(JointKind::measured_angle), "only angles are counted");
    require_pair(counter, bodies, "bodies of a counted angle");
    require_signal(counter.ground, 7, spec.signal_count, "where the ground of a counted angle is found");
    require_between(counter.joint, 0, static_cast<int>(spec.joint.size()) - 1, "the joint of a counted angle");
  }
}

// numbers of a run that are not arrays
inline void require_order(int order) {
  const bool known = std::find(std::begin(known_orders), std::end(known_orders), order) != std::end(known_orders);
  require(known, "order must be 2, 4, 6 or 8, got ", order);
}
inline void require_settings(const Settings& given) {
  require_order(given.order);
  require(std::isfinite(given.dt) && given.dt > 0, "dt must be positive");
  require(std::isfinite(given.tolerance) && given.tolerance > 0, "tolerance must be positive");
  require(std::isfinite(given.start_time), "the time to start from must be finite");
  require(given.iteration_limit >= 1, "max_iterations must be at least 1");
  require_between(given.rescue_depth, 0, 30, "halvings of a step");
  require(std::isfinite(given.size) && given.size > 0, "the size of the mechanism must be positive");
  require(std::isfinite(given.error_rate) && given.error_rate >= 0, "the error of a step must not be negative");
  require(given.error_rate == 0 || (given.estimates && given.rescue_depth > 0),
          "errors of steps are kept small by shorter ones, which must be allowed");
  require_between(given.steps, 0, Offset{1} << 50, "steps");
  require(given.record_every >= 1, "record_every must be at least 1");
}

}  // namespace catena
