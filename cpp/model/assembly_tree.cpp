#include "model/assembly_tree.hpp"

#include <algorithm>

namespace catena {

namespace {

int freedoms_of(JointKind kind) {
  const JointForm& form = joint_form[static_cast<int>(kind)];
  int count = 0;
  for (int f = 0; f < form.freedom_count; ++f) count += form.freedom[f].motion < Motion::swivel ? 1 : 3;
  return count;
}

}  // namespace

Closing::Closing(const Layout& layout, const int* branches, int branch_count, const int* chosen,
                 const std::vector<Bound>& bounds) {
  // the branch that carries a link, and how far that is from the root
  std::vector<int> carrier(layout.link_count, -1), depth(layout.link_count, 0);
  const auto link_of = [&](int body) { return body < 0 ? -1 : layout.body_link[body]; };
  for (int k = 0; k < branch_count; ++k) {
    const int joint = branches[3 * k], child = link_of(branches[3 * k + 1]), parent = link_of(branches[3 * k + 2]);
    ClosingBranch b{};
    b.constraint = joint < 0 ? -1 : layout.joint_constraint[joint];
    b.parent = parent;
    b.child = child;
    b.above = parent < 0 ? -1 : carrier[parent];
    b.flipped = b.constraint >= 0 && layout.constraint[b.constraint].end[0] == child;
    b.first_freedom = plan_.freedom_count;
    b.freedom_count = freedoms_of(b.constraint < 0 ? JointKind::free : layout.constraint[b.constraint].kind);
    plan_.freedom_count += b.freedom_count;
    branches_.push_back(b);
    carrier[child] = k;
    depth[child] = parent < 0 ? 1 : depth[parent] + 1;
  }
  const auto above = [&](int link) { return branches_[carrier[link]].parent; };

  // every loop goes up from its ends until they meet, where what moves one moves the other; the user's own rows need
  // not cancel there
  struct Path {
    int constraint, bound, top;
    std::vector<ClosingStrand> strands;
  };
  std::vector<Path> paths;
  for (int j = 0; j < layout.constraint_count; ++j) {
    const ConstraintInfo& c = layout.constraint[j];
    if (c.acts() || !chosen[c.joint]) continue;
    Path path{j, -1, 0, {}};
    int meeting = c.end[0];
    for (int e = 1; e < c.end_count; ++e) {
      int other = c.end[e];
      while (meeting != other) {
        const int a = meeting < 0 ? 0 : depth[meeting], b = other < 0 ? 0 : depth[other];
        if (a >= b && meeting >= 0) meeting = above(meeting);
        if (b >= a && other >= 0) other = above(other);
      }
    }
    if (is_custom(static_cast<int>(c.kind))) meeting = -1;
    path.top = meeting < 0 ? 0 : depth[meeting];
    for (int e = 0; e < c.end_count; ++e)
      for (int i = c.end[e]; i != meeting; i = above(i)) {
        const int branch = carrier[i];
        if (branches_[branch].freedom_count == 0) continue;
        const auto same = std::find_if(path.strands.begin(), path.strands.end(),
                                       [&](const ClosingStrand& s) { return s.branch == branch; });
        if (same == path.strands.end())
          path.strands.push_back({0, branch, 1u << e, 0});
        else
          same->ends |= 1u << e;
      }
    paths.push_back(path);
  }
  std::vector<char> used(branch_count, 0);
  for (const Path& path : paths)
    for (const ClosingStrand& strand : path.strands) used[strand.branch] = 1;
  for (const Bound& bound : bounds) {
    // what no loop moves stays where it is
    if (!used[bound.branch]) continue;
    const ClosingBranch& b = branches_[bound.branch];
    Path path{-1, static_cast<int>(bounds_.size()), depth[b.child], {{0, bound.branch, 0, 0}}};
    paths.push_back(path);
    bounds_.push_back({b.first_freedom + bound.freedom, bound.lower, bound.upper, bound.start});
  }

  // deep loops first: those that share joints stand near each other, and the matrix is narrow
  std::stable_sort(paths.begin(), paths.end(), [](const Path& a, const Path& b) { return a.top > b.top; });
  std::vector<std::vector<int>> passing(branch_count);
  std::vector<int> first_loop(branch_count, -1);
  for (const Path& path : paths) {
    ClosingLoop loop{};
    loop.constraint = path.constraint;
    loop.bound = path.bound;
    loop.row = plan_.row_count;
    loop.first_loop = static_cast<int>(loops_.size());
    loop.row_count = path.constraint < 0 ? 1 : layout.constraint[path.constraint].row_count;
    loop.first_strand = static_cast<int>(strands_.size());
    for (ClosingStrand strand : path.strands) {
      strand.loop = static_cast<int>(loops_.size());
      int& first = first_loop[strand.branch];
      if (first < 0) first = strand.loop;
      loop.first_loop = std::min(loop.first_loop, first);
      strand.first_share = plan_.share_count;
      plan_.share_count += Offset{loop.row_count} * branches_[strand.branch].freedom_count;
      passing[strand.branch].push_back(static_cast<int>(strands_.size()));
      strands_.push_back(strand);
    }
    loop.end_strand = static_cast<int>(strands_.size());
    loop.first_row = loop.first_loop < static_cast<int>(loops_.size()) ? loops_[loop.first_loop].row : loop.row;
    loop.first_entry = plan_.entry_count;
    for (int r = 0; r < loop.row_count; ++r) {
      const double width = loop.row + r + 1 - loop.first_row;
      plan_.entry_count += loop.row + r + 1 - loop.first_row;
      plan_.work += 0.5 * width * width;
    }
    plan_.row_count += loop.row_count;
    loops_.push_back(loop);
  }
  for (int k = 0; k < branch_count; ++k) {
    branches_[k].first_strand = static_cast<int>(passing_.size());
    passing_.insert(passing_.end(), passing[k].begin(), passing[k].end());
    branches_[k].end_strand = static_cast<int>(passing_.size());
  }
  plan_.branch_count = branch_count;
  plan_.loop_count = static_cast<int>(loops_.size());
  plan_.strand_count = static_cast<int>(strands_.size());
  plan_.branch = branches_.data();
  plan_.loop = loops_.data();
  plan_.strand = strands_.data();
  plan_.passing = passing_.data();
  plan_.bound = bounds_.data();
}

}  // namespace catena
