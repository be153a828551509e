#include "model/groups.hpp"

#include <algorithm>
#include <numeric>

namespace catena {

Groups::Groups(const Layout& layout) {
  const auto closure = [&](int l) -> const ConstraintInfo& { return layout.constraint[layout.loop[l]]; };

  // every loop goes up from its ends until they meet, where what it exerts cancels; the user's own rows need not
  std::vector<std::vector<Strand>> passing(layout.link_count);
  for (int l = 0; l < layout.loop_count; ++l) {
    const ConstraintInfo& c = closure(l);
    const int top = is_custom(static_cast<int>(c.kind)) ? -1 : meeting_link(layout.link, c);
    for (int e = 0; e < c.end_count; ++e)
      for (int i = c.end[e]; i != top; i = layout.link[i].parent) {
        if (passing[i].empty() || passing[i].back().loop != l) passing[i].push_back({l, 0});
        passing[i].back().ends |= 1u << e;
      }
  }

  // the first loop of each group
  std::vector<int> first(layout.loop_count);
  std::iota(first.begin(), first.end(), 0);
  const auto find = [&](int l) {
    while (first[l] != l) l = first[l] = first[first[l]];
    return l;
  };
  for (const std::vector<Strand>& strands : passing)
    for (const Strand& strand : strands) {
      const int a = find(strands.front().loop), b = find(strand.loop);
      first[std::max(a, b)] = std::min(a, b);
    }

  std::vector<std::vector<int>> loops_of(layout.loop_count), links_of(layout.loop_count);
  for (int l = 0; l < layout.loop_count; ++l) loops_of[find(l)].push_back(l);
  for (int i = 0; i < layout.link_count; ++i)
    if (!passing[i].empty()) links_of[find(passing[i].front().loop)].push_back(i);
  std::vector<int> place(layout.loop_count);
  for (int g = 0; g < layout.loop_count; ++g) {
    if (loops_of[g].empty()) continue;
    LoopGroup group{};
    group.first_loop = static_cast<int>(loops_.size());
    group.first_link = static_cast<int>(links_.size());
    for (const int l : loops_of[g]) {
      const ConstraintInfo& c = closure(l);
      place[l] = static_cast<int>(loops_.size());
      loops_.push_back({layout.loop[l], group.row_count, plan_.pull_count});
      group.row_count += c.row_count;
      plan_.pull_count += Offset{c.row_count} * c.end_count;
    }
    for (const int i : links_of[g]) {
      GroupLink link{};
      link.link = i;
      link.constraint = layout.link[i].joint < 0 ? -1 : layout.joint_constraint[layout.link[i].joint];
      link.held = joint_row_count(static_cast<int>(layout.link[i].kind));
      link.first_strand = static_cast<int>(strands_.size());
      link.first_column = static_cast<Offset>(columns_.size());
      link.first_share = plan_.share_count;
      for (const Strand& strand : passing[i]) {
        const GroupLoop& loop = loops_[place[strand.loop]];
        const int count = layout.constraint[loop.constraint].row_count;
        for (int k = 0; k < count; ++k) columns_.push_back(loop.row + k);
        link.row_count += count;
        strands_.push_back({place[strand.loop], strand.ends});
      }
      link.end_strand = static_cast<int>(strands_.size());
      plan_.share_count += Offset{link.held} * link.row_count;
      group.freedom_count += 6 - link.held;
      links_.push_back(link);
    }
    group.end_loop = static_cast<int>(loops_.size());
    group.end_link = static_cast<int>(links_.size());
    plan_.most_rows = std::max(plan_.most_rows, group.row_count);
    plan_.most_freedoms = std::max(plan_.most_freedoms, group.freedom_count);
    groups_.push_back(group);
  }
  plan_.group_count = static_cast<int>(groups_.size());
  plan_.group = groups_.data();
  plan_.loop = loops_.data();
  plan_.link = links_.data();
  plan_.strand = strands_.data();
  plan_.column = columns_.data();
}

}  // namespace catena
