// What bodies without mass take from those beside them.
#include "model/layout.hpp"

namespace catena {

// What the rows of a massless body are scaled by.
void Model::find_neighbours_with_mass() {
  std::vector<int> queue;
  for (int i = 0; i < layout_.link_count; ++i) {
    LinkInfo& link = links_[i];
    link.like_mass = link.mass;
    link.like_trace = link.inertia[0] + link.inertia[1] + link.inertia[2];
    if (link.mass > 0) queue.push_back(i);
  }
  if (queue.size() == links_.size()) return;
  std::vector<std::vector<int>> beside(links_.size());
  for (const ConstraintInfo& c : constraints_)
    for (int e = 0; e < c.end_count; ++e)
      for (int f = 0; f < c.end_count; ++f)
        if (c.end[e] >= 0 && c.end[f] >= 0) beside[c.end[e]].push_back(c.end[f]);
  for (std::size_t k = 0; k < queue.size(); ++k)
    for (const int next : beside[queue[k]]) {
      if (links_[next].like_mass > 0) continue;
      links_[next].like_mass = links_[queue[k]].like_mass;
      links_[next].like_trace = links_[queue[k]].like_trace;
      queue.push_back(next);
    }
}

// Loop closures between a massless body and another one. A body lends no more than half of its inertia in all.
void Model::find_lenders() {
  std::vector<int> rows(links_.size(), 0);
  const auto massless = [&](int i) { return i >= 0 && links_[i].mass == 0; };
  for (const int l : loops_) {
    ConstraintInfo& c = constraints_[l];
    if (c.acts() || c.redundant > 0 || c.end_count != 2 || massless(c.end[0]) == massless(c.end[1])) continue;
    c.borrower = massless(c.end[0]) ? 0 : 1;
    layout_.lends = true;
    if (const int lender = c.end[1 - c.borrower]; lender >= 0) rows[lender] += c.row_count;
  }
  for (const int l : loops_) {
    ConstraintInfo& c = constraints_[l];
    const int lender = c.borrower < 0 ? -1 : c.end[1 - c.borrower];
    c.lent = lender < 0 ? 1 : 0.5 / rows[lender];
  }
}

}  // namespace catena
