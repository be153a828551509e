#include "model/describe.hpp"

#include <algorithm>
#include <cstddef>

namespace catena {

namespace {

Pair measure_of(const Description& given, std::size_t at) {
  return pair_of(given.measure_kind[at], &given.measure_bodies[2 * at], &given.measure_anchors[6 * at],
                 &given.measure_frames[8 * at], 0.0);
}

JointSpec joint_of(const Description& given, std::size_t j) {
  JointSpec joint{pair_of(given.joint_kind[j], &given.joint_bodies[2 * j], &given.joint_anchors[6 * j],
                          &given.joint_frames[8 * j], given.joint_parameter[j])};
  joint.row_count = given.joint_rows[j];
  joint.cost = given.joint_cost[j];
  joint.damping = given.joint_damping[j];
  joint.signal = given.joint_signal[j];
  joint.ground = given.joint_ground[j];
  joint.selection.rows = given.selection.rows[j];
  joint.selection.redundant = given.selection.redundant[j];
  joint.selection.length = given.selection.length[j];
  std::copy_n(given.selection.combination.data() + 36 * j, 36, joint.selection.combination);
  return joint;
}

LawSpec law_at(const Description& given, std::size_t l) {
  LawSpec law{law_of(given.law_numbers.data() + law_size * l)};
  law.measure = measure_of(given, l);
  law.target = given.law_target[l];
  law.force = given.law_force[l];
  law.joint = given.law_joint[l];
  law.coordinate = given.law_coordinate[l];
  law.sum = given.law_sum[l];
  return law;
}

}  // namespace

Spec describe(const Description& given) {
  Spec spec;
  spec.mass = given.mass;
  spec.inertia = given.inertia;
  spec.gravity = given.gravity;
  spec.drag = given.drag;
  spec.massless.assign(given.massless.begin(), given.massless.end());
  spec.signal_count = given.signal_count;
  spec.loop_tolerance = given.selection.loop_tolerance;
  for (std::size_t j = 0; j < given.joint_kind.size(); ++j) spec.joint.push_back(joint_of(given, j));
  const std::size_t laws = given.law_target.size();
  for (std::size_t l = 0; l < laws; ++l) spec.law.push_back(law_at(given, l));
  std::size_t term = 0;
  for (std::size_t c = 0; c < given.coupling_terms.size(); ++c) {
    CouplingSpec& coupling = spec.coupling.emplace_back();
    for (int t = 0; t < given.coupling_terms[c]; ++t, ++term) {
      coupling.measure.push_back(measure_of(given, laws + term));
      coupling.coefficient.push_back(given.term_coefficient[term]);
      coupling.joint.push_back(given.term_joint[term]);
    }
    coupling.offset = given.coupling_offset[c];
    coupling.signal = given.coupling_signal[c];
    coupling.inactive = given.selection.inactive[c] != 0;
  }
  for (std::size_t k = 0; k < given.counter_ground.size(); ++k) {
    spec.counter.push_back({measure_of(given, laws + term + k), given.counter_ground[k], given.counter_joint[k]});
  }
  return spec;
}

}  // namespace catena
