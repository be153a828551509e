#include "model/geometry.hpp"

#include <algorithm>

namespace catena {

int plain_joint_count(const Layout& layout) { return layout.joint_count - layout.coupling_count; }
int measure_count(const Layout& layout) { return layout.law_count + layout.term_count + layout.counter_count; }

Geometry::Geometry(Layout& layout)
    : constraints_(layout.constraint, layout.constraint + layout.constraint_count),
      inactive_(layout.inactive, layout.inactive + layout.inactive_count),
      counters_(layout.counter, layout.counter + layout.counter_count),
      terms_(layout.term, layout.term + layout.term_count),
      reductions_(layout.reduction, layout.reduction + layout.reduction_count),
      coordinated_(layout.coordinated, layout.coordinated + layout.coordinated_count) {
  layout.constraint = constraints_.data();
  layout.inactive = inactive_.data();
  layout.counter = counters_.data();
  layout.term = terms_.data();
  layout.reduction = reductions_.data();
  layout.coordinated = coordinated_.data();
}

void Geometry::become(Layout& layout, LinkInfo* link, LawInfo* law, const GeometryNumbers& numbers) {
  static constexpr int nowhere[2] = {-1, -1};
  const auto joint = [&](int j) {
    return pair_of(0, nowhere, numbers.joint_anchor + 6 * j, numbers.joint_frame + 8 * j, numbers.joint_parameter[j]);
  };
  const auto measure = [&](int k) {
    return pair_of(0, nowhere, numbers.measure_anchor + 6 * k, numbers.measure_frame + 8 * k, 0.0);
  };
  const auto put = [&](ConstraintInfo& c) {
    if (c.rows == RowKind::law || c.rows == RowKind::stop || c.rows == RowKind::touch)
      return put_at(c, measure(c.item));
    // rows of couplings are those of their terms, and a rotary damper has no place
    if (c.joint < 0 || c.rows == RowKind::coupling) return;
    put_at(c, joint(c.joint));
    if (c.rows == RowKind::combination) put_at(reductions_[c.item].whole, joint(c.joint));
  };
  for (int i = 0; i < layout.link_count; ++i)
    if (link[i].joint >= 0) hang(link[i], joint(link[i].joint));
  for (ConstraintInfo& c : constraints_) put(c);
  for (ConstraintInfo& c : inactive_) put(c);
  for (CoordinatedInfo& c : coordinated_) put_at(c.joint, joint(c.joint.joint));
  int at = 0;
  for (int l = 0; l < layout.law_count; ++l) put_at(law[l].measure, measure(at++));
  for (TermInfo& term : terms_) put_at(term.measure, measure(at++));
  for (ConstraintInfo& counter : counters_) put_at(counter, measure(at++));
  layout.span = typical_arm(layout);
  find_rotors(layout, link);
}

}  // namespace catena
