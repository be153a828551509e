// Joints, couplings and forces as rows: which hang in the tree, which close loops, which act on freedoms.
#include <algorithm>
#include <cmath>
#include <utility>

#include "model/layout.hpp"

namespace catena {

void rotation_columns(const double* q, double* m) {
  const double w = q[0], x = q[1], y = q[2], z = q[3];
  const double columns[9] = {1 - 2 * (y * y + z * z), 2 * (x * y + w * z),     2 * (x * z - w * y),
                             2 * (x * y - w * z),     1 - 2 * (x * x + z * z), 2 * (y * z + w * x),
                             2 * (x * z + w * y),     2 * (y * z - w * x),     1 - 2 * (x * x + y * y)};
  std::copy(columns, columns + 9, m);
}

ConstraintInfo constraint_of(const Pair& pair) {
  ConstraintInfo c{};
  c.kind = static_cast<JointKind>(pair.kind);
  c.link = c.joint = c.loop = c.item = c.signal = c.ground = c.borrower = -1;
  c.rows = joint_form[pair.kind].own.kind;
  c.end_count = 2;
  c.end[0] = c.end[1] = -1;
  c.row_count = joint_row_count(pair.kind);
  for (int k = 0; k < 6; ++k) c.lengths |= row_is_length(pair.kind, k) ? 1u << k : 0;
  put_at(c, pair);
  return c;
}

void put_at(ConstraintInfo& c, const Pair& place) {
  std::copy_n(place.anchor_a, 3, c.anchor_a);
  std::copy_n(place.anchor_b, 3, c.anchor_b);
  rotation_columns(place.frame_a, c.frame_a);
  rotation_columns(place.frame_b, c.frame_b);
  c.parameter = place.parameter;
}

ConstraintInfo Model::placed(const Pair& pair) const {
  ConstraintInfo c = constraint_of(pair);
  c.end[0] = pair.body_a < 0 ? -1 : body_link_[pair.body_a];
  c.end[1] = pair.body_b < 0 ? -1 : body_link_[pair.body_b];
  return c;
}

void Model::add_constraint(ConstraintInfo c) {
  c.row = layout_.row_count;
  layout_.row_count += c.row_count;
  c.loop_row = layout_.loop_row_count;
  if (c.link < 0) {
    layout_.loop_row_count += c.row_count;
    c.loop = static_cast<int>(loops_.size());
    loops_.push_back(static_cast<int>(constraints_.size()));
    layout_.law_row_count += c.acts() ? c.row_count : 0;
  }
  if (c.joint >= 0) joint_constraint_[c.joint] = static_cast<int>(constraints_.size());
  constraints_.push_back(c);
}

// counters of a joint stand together
void Model::find_coordinates(const Spec& spec) {
  std::vector<int> first(spec.joint.size(), 0), counters = first;
  for (int k = static_cast<int>(spec.counter.size()) - 1; k >= 0; --k) {
    first[spec.counter[k].joint] = k;
    ++counters[spec.counter[k].joint];
  }
  for (std::size_t j = 0; j < spec.joint.size(); ++j) {
    const int kind = spec.joint[j].kind, count = coordinate_count(kind);
    if (count == 0 || counters[j] < turn_count(kind)) continue;
    coordinated_.push_back({placed(spec.joint[j]), layout_.coordinate_count, first[j]});
    coordinated_.back().joint.joint = static_cast<int>(j);
    coordinated_.back().joint.ground = spec.joint[j].ground;
    layout_.coordinate_count += count;
  }
}

void Model::reduce(ConstraintInfo& c, const RowSelection& selection) {
  c.redundant = selection.redundant;
  if (selection.rows < 0) return;
  ReductionInfo reduction{c, {}, {}};
  std::copy_n(selection.combination, selection.rows * c.row_count, reduction.combination);
  for (int k = 0; k < c.row_count; ++k) reduction.weight[k] = c.lengths >> k & 1u ? selection.length : 1;
  c.rows = RowKind::combination;
  c.item = static_cast<int>(reductions_.size());
  reductions_.push_back(reduction);
  c.row_count = selection.rows;
  // lengths are in parts of the bodies' size already
  c.lengths = 0;
  layout_.has_inactive_rows |= selection.rows == 0;
}

// the constraint that comes next, if it can be a tie; a freedom is part of one at most
bool Model::tie(const CouplingSpec& coupling, const std::vector<int>& carried) {
  if (coupling.signal >= 0 || coupling.joint.size() < 2) return false;
  TieInfo tie{};
  tie.constraint = static_cast<int>(constraints_.size());
  for (std::size_t t = 0; t < coupling.joint.size(); ++t) {
    const int i = coupling.joint[t] < 0 ? -1 : carried[coupling.joint[t]];
    if (i < 0 || manner_of(links_[i].branch) != 1 || links_[i].kind == JointKind::screw || links_[i].mass == 0)
      return false;
    if (in_tie_[i] || std::count(tie.link, tie.link + tie.count, i) > 0) return false;
    if (t > 0 && links_[i].parent != tie.parent) return false;
    tie.parent = links_[i].parent;
    tie.link[tie.count] = i;
    tie.coefficient[tie.count++] = links_[i].flipped ? -coupling.coefficient[t] : coupling.coefficient[t];
  }
  for (int k = 0; k < tie.count; ++k) in_tie_[tie.link[k]] = 1;
  ties_.push_back(tie);
  return true;
}

// A damper between two bodies, in the place of their joint: part of a ball in the tree, or else rows.
void Model::add_rotary(const JointSpec& joint, int carried) {
  ConstraintInfo c = placed(joint);
  c.kind = JointKind::rotary;
  c.rows = RowKind::rotary;
  c.row_count = joint_row_count(static_cast<int>(c.kind));
  c.lengths = 0;
  c.recorded = -1;
  c.parameter = joint.damping;
  if (carried >= 0 && manner_of(links_[carried].branch) == swivel_manner) {
    c.link = carried;
    links_[carried].damping = joint.damping;
  }
  rotaries_.push_back(static_cast<int>(constraints_.size()));
  add_constraint(c);
}

// Hard stops come last: one on a freedom of the tree is part of its pivot, unless loops pass through the link or a tie
// has the freedom; there, and elsewhere, it is a row.
void Model::add_stops() {
  std::vector<char> passed = in_tie_;
  const auto pass = [&](const ConstraintInfo& c) {
    const int top = c.tied ? -1 : meeting_link(links_.data(), c);
    for (int e = 0; e < c.end_count && !c.tied; ++e)
      for (int i = c.end[e]; i != top; i = links_[i].parent) passed[i] = 1;
  };
  for (const int j : loops_) pass(constraints_[j]);
  // so do rows of stops elsewhere, such as contacts
  for (const LawInfo& law : laws_)
    if (is_hard_stop(law) && law.link < 0) pass(law.measure);
  for (int l = 0; l < static_cast<int>(laws_.size()); ++l) {
    LawInfo& law = laws_[l];
    if (!is_hard_stop(law)) continue;
    law.stop = static_cast<int>(stops_.size());
    stops_.push_back(l);
    if (law.link >= 0 && passed[law.link]) law.link = law.axis = -1;
    add_law_row(l, RowKind::stop);
  }
}

// a law as a row, behind all others
void Model::add_law_row(int l, RowKind rows) {
  LawInfo& law = laws_[l];
  law.constraint = static_cast<int>(constraints_.size());
  ConstraintInfo c = law.measure;
  c.rows = rows;
  c.item = l;
  c.link = law.link;
  c.recorded = layout_.recorded_count++;
  add_constraint(c);
}

void Model::furnish(const void* scene, const std::vector<int>& first_law, const std::vector<int>& slot_count) {
  first_stop_.clear();
  for (const int law : first_law) first_stop_.push_back(laws_[law].stop);
  slot_count_ = slot_count;
  layout_.shapes = {scene, static_cast<int>(first_stop_.size()), first_stop_.data(), slot_count_.data()};
}

void Model::build_constraints(const Spec& spec) {
  const int joint_count = static_cast<int>(spec.joint.size());
  std::vector<int> carried(joint_count, -1);
  for (int i = 0; i < static_cast<int>(links_.size()); ++i)
    if (links_[i].joint >= 0) carried[links_[i].joint] = i;

  joint_constraint_.assign(spec.joint.size() + spec.coupling.size(), -1);
  in_tie_.assign(links_.size(), 0);
  int hook = 0;
  for (int j = 0; j < joint_count; ++j) {
    const JointSpec& joint = spec.joint[j];
    if (static_cast<JointKind>(joint.kind) == JointKind::free) continue;
    ConstraintInfo c = placed(joint);
    c.joint = j;
    c.link = carried[j];
    c.signal = joint.signal;
    c.ground = joint.ground;
    if (is_custom(joint.kind)) {
      c.row_count = joint.row_count;
      c.item = hook++;
    }
    if (c.ground >= 0 && c.rows == RowKind::joint) c.rows = RowKind::ground;
    c.recorded = layout_.recorded_count;
    layout_.recorded_count += c.row_count;
    if (c.link < 0) reduce(c, joint.selection);
    if (c.row_count > 0)
      add_constraint(c);
    else
      inactive_.push_back(c);
  }
  std::vector<ConstraintInfo> sums;
  std::vector<char> bounded(spec.coupling.size(), 0);
  for (const LawSpec& law : spec.law)
    if (law.sum >= 0) bounded[law.sum] = 1;
  for (int k = 0; k < static_cast<int>(spec.coupling.size()); ++k) {
    const CouplingSpec& coupling = spec.coupling[k];
    Pair none{};
    none.kind = static_cast<int>(JointKind::coupling);
    none.frame_a[0] = none.frame_b[0] = 1;
    none.parameter = coupling.offset;
    ConstraintInfo c = constraint_of(none);
    c.joint = joint_count + k;
    c.signal = coupling.signal;
    c.item = static_cast<int>(terms_.size());
    c.end_count = 0;
    c.lengths = 0;
    for (std::size_t t = 0; t < coupling.measure.size(); ++t) {
      const ConstraintInfo measure = placed(coupling.measure[t]);
      terms_.push_back({measure, coupling.coefficient[t]});
      c.end[c.end_count++] = measure.end[0];
      c.end[c.end_count++] = measure.end[1];
      c.lengths |= measure.lengths & 1u;
    }
    sums.push_back(c);
    if (bounded[k]) continue;
    c.recorded = layout_.recorded_count++;
    layout_.has_inactive_rows |= coupling.inactive;
    if (coupling.inactive) continue;
    c.tied = tie(coupling, carried);
    add_constraint(c);
  }
  for (int j = 0; j < joint_count; ++j)
    if (spec.joint[j].damping > 0) add_rotary(spec.joint[j], carried[j]);
  for (int l = 0; l < static_cast<int>(spec.law.size()); ++l) {
    const LawSpec& given = spec.law[l];
    LawInfo law{};
    static_cast<Law&>(law) = given;
    law.measure = given.sum >= 0 ? sums[given.sum] : placed(given.measure);
    law.target_signal = given.target;
    law.force_signal = given.force;
    law.constraint = law.link = law.axis = -1;
    law.sign = 1;
    law.stop = -1;
    if (given.joint >= 0 && carried[given.joint] >= 0) {
      const LinkInfo& link = links_[carried[given.joint]];
      const Branch branch = branch_of(link.kind, link.flipped);
      for (int k = 0; k < link.axis_count; ++k) {
        if (branch.coordinate[k] != given.coordinate) continue;
        law.link = carried[given.joint];
        law.axis = link.first_axis + k;
        law.sign = link.flipped ? -1 : 1;
      }
    }
    laws_.push_back(law);
    if (law.damping != 0 || law.friction != 0 || law.kp != 0 || law.kd != 0 || law.implicit != 0 || law.inertia != 0 ||
        law.stop_stiffness != 0)
      add_law_row(l, RowKind::law);
  }
  add_stops();
  for (int l = 0; l < static_cast<int>(laws_.size()); ++l)
    if (laws_[l].axis >= 0 && laws_[l].stop < 0) axis_law_.push_back(l);
  std::sort(axis_law_.begin(), axis_law_.end(),
            [&](int a, int b) { return std::pair(laws_[a].axis, a) < std::pair(laws_[b].axis, b); });
  for (int k = 0, at = 0; k <= layout_.axis_count; ++k) {
    while (at < static_cast<int>(axis_law_.size()) && laws_[axis_law_[at]].axis < k) ++at;
    first_axis_law_.push_back(at);
  }
  for (const CounterSpec& counter : spec.counter) {
    counters_.push_back(placed(counter));
    counters_.back().ground = counter.ground;
  }
  find_coordinates(spec);
  layout_.constraint_count = static_cast<int>(constraints_.size());
  layout_.loop_count = static_cast<int>(loops_.size());
}

double typical_arm(const Layout& layout) {
  double arms = 0;
  for (int k = 0; k < layout.constraint_count; ++k) {
    const ConstraintInfo& c = layout.constraint[k];
    for (const auto& [link, p] : {std::pair{c.end[0], c.anchor_a}, std::pair{c.end[1], c.anchor_b}})
      if (link >= 0) arms += std::hypot(p[0], p[1], p[2]) / (2.0 * static_cast<double>(layout.constraint_count));
  }
  return arms > 0 ? arms : 1;
}

}  // namespace catena
