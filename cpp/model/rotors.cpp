// Bodies that may spin fast about an axis, because nothing changes as they turn about it.
#include <algorithm>
#include <cmath>
#include <utility>

#include "model/layout.hpp"

namespace catena {

namespace {

constexpr double roundness = 1e-3;  // of rotors: parts of their inertia and of the bodies' span

// whether turns of a body about an axis leave one end of a constraint as it is
bool is_blind(const ConstraintInfo& c, bool is_a, const double* axis, double span) {
  const double *anchor = is_a ? c.anchor_a : c.anchor_b, *frame = is_a ? c.frame_a : c.frame_b;
  const auto across = [&](const double* p) {
    return std::hypot(p[1] * axis[2] - p[2] * axis[1], p[2] * axis[0] - p[0] * axis[2],
                      p[0] * axis[1] - p[1] * axis[0]);
  };
  switch (c.kind) {
    case JointKind::ball:
    case JointKind::measured_distance: return across(anchor) < roundness * span;
    case JointKind::measured_slide: return is_a ? across(frame + 6) < roundness : across(anchor) < roundness * span;
    case JointKind::revolute:
    case JointKind::cylindrical:
    case JointKind::screw:
    case JointKind::rolling_disk:
    case JointKind::measured_angle: return across(anchor) < roundness * span && across(frame + 6) < roundness;
    default: return false;
  }
}

}  // namespace

bool is_round(const double* inertia, const double* axis) {
  const double* J = inertia;
  const double matrix[3][3] = {{J[0], J[3], J[4]}, {J[3], J[1], J[5]}, {J[4], J[5], J[2]}};
  double along = 0, trace = 0, rest = 0;
  for (int i = 0; i < 3; ++i) {
    trace += matrix[i][i];
    for (int j = 0; j < 3; ++j) along += axis[i] * matrix[i][j] * axis[j];
  }
  const double across = 0.5 * (trace - along);
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j)
      rest = std::max(rest, std::fabs(matrix[i][j] - (along - across) * axis[i] * axis[j] - (i == j ? across : 0)));
  return rest <= roundness * trace;
}

// Bodies that are round about an axis on which all their joints lie. Axes of the joints are tried, and the body's own.
void find_rotors(const Layout& layout, LinkInfo* links) {
  std::vector<std::vector<std::pair<const ConstraintInfo*, int>>> ends(layout.link_count);
  const auto attach = [&](const ConstraintInfo& c) {
    for (int e = 0; e < c.end_count; ++e)
      if (c.end[e] >= 0) ends[c.end[e]].push_back({&c, e});
  };
  for (int k = 0; k < layout.constraint_count; ++k) {
    const ConstraintInfo& c = layout.constraint[k];
    if (c.kind != JointKind::coupling) attach(c.rows == RowKind::combination ? layout.reduction[c.item].whole : c);
  }
  for (int k = 0; k < layout.term_count; ++k) attach(layout.term[k].measure);
  for (int k = 0; k < layout.law_count; ++k)
    if (layout.law[k].measure.kind != JointKind::coupling) attach(layout.law[k].measure);
  for (int i = 0; i < layout.link_count; ++i) {
    LinkInfo& link = links[i];
    std::fill_n(link.spin, 3, 0.0);
    const Branch branch = branch_at(link.branch);
    const double body_axes[9] = {0, 0, 1, 0, 1, 0, 1, 0, 0};
    std::vector<const double*> candidates = {body_axes, body_axes + 3, body_axes + 6};
    for (int k = 0; k < link.axis_count; ++k)
      if (branch.own[k]) candidates.insert(candidates.begin(), link.direction + 3 * k);
    for (const double* axis : candidates) {
      if (!is_round(link.inertia, axis)) continue;
      const bool free = std::all_of(ends[i].begin(), ends[i].end(), [&](const auto& at) {
        const auto& [c, e] = at;
        return is_blind(*c, e == 0, axis, layout.span);
      });
      if (!free) continue;
      std::copy_n(axis, 3, link.spin);
      break;
    }
  }
}

}  // namespace catena
