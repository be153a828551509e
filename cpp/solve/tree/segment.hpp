// Segments: lines of links on joints of one kind with no fork but at their end. Inside one what a link hands to its
// parent, or a parent to its child, stays in registers, and no link asks what it is.
#pragma once

#include <utility>

#include "solve/freedoms.hpp"
#include "solve/tree/articulation.hpp"

namespace catena::CATENA_ISA {

struct Segment {
  int branch;      // see branch_number
  int first, end;  // links
  int parent;      // of the first one
  int variable;    // of the first one
  int slot;        // its first axis, or its swivel
  int receives;    // where the children of the last link hand over, -1 if it has none
  int sends;       // where the first link hands over, -1 for the world
  bool opens;      // it is the first to do so
  bool acted;      // laws or rotary dampers act on some of its freedoms, or some are at their stops
  bool has_laws;   // the former
};

// all branches there are, those of chains first
struct BranchList {
  int count = 0, number[2 * joint_kind_count] = {};
};
constexpr BranchList tree_branches = [] {
  BranchList list;
  for (const JointKind kind : {JointKind::revolute, JointKind::ball, JointKind::free, JointKind::fixed})
    list.number[list.count++] = branch_number(kind, false);
  for (int kind = 0; kind < joint_kind_count; ++kind)
    for (const bool flipped : {false, true}) {
      const int number = branch_number(static_cast<JointKind>(kind), flipped);
      bool listed = !carries(kind);
      for (int k = 0; k < list.count; ++k) listed |= list.number[k] == number;
      if (!listed) list.number[list.count++] = number;
    }
  return list;
}();
// f.template operator()<branch>(segment) for the branch of a segment
template <class F>
CATENA_INLINE void dispatch(const Segment& s, F f) {
  [&]<int... k>(std::integer_sequence<int, k...>) {
    (void)((s.branch == tree_branches.number[k] && (f.template operator()<tree_branches.number[k]>(s), true)) || ...);
  }(std::make_integer_sequence<int, tree_branches.count>{});
}

// links that their children span through memory, at most: a parent whose child is not its only one or not like it
inline int receiver_count(const Layout& layout) {
  int count = 0;
  for (int i = 0; i < layout.link_count; ++i) {
    const LinkInfo& info = layout.link[i];
    count += info.parent >= 0 && (info.parent != i - 1 || info.branch != layout.link[i - 1].branch);
  }
  return count;
}

// how many there are; a link has room for two numbers, `children` and `receiver`
template <class Link>
int find_segments(const Layout& layout, Link* link, Segment* segment) {
  for (int i = 0; i < layout.link_count; ++i) link[i].children = 0, link[i].receiver = -1;
  for (int i = 0; i < layout.link_count; ++i)
    if (layout.link[i].parent >= 0) ++link[layout.link[i].parent].children;
  int count = 0, swivels = 0, receivers = 0;
  for (int i = 0; i < layout.link_count; ++i) {
    const LinkInfo& info = layout.link[i];
    const int slot = manner_of(info.branch) >= swivel_manner ? swivels++ : info.first_axis, parent = info.parent;
    const bool acted = info.damping > 0 || layout.first_axis_law[info.first_axis + info.axis_count] >
                                               layout.first_axis_law[info.first_axis];
    if (parent >= 0 && parent == i - 1 && info.branch == layout.link[parent].branch && link[parent].children == 1) {
      ++segment[count - 1].end;
      segment[count - 1].acted |= acted;
      segment[count - 1].has_laws |= acted;
      continue;
    }
    if (parent >= 0 && link[parent].receiver < 0) link[parent].receiver = receivers++;
    segment[count++] = {info.branch,   i,     i + 1, parent,
                        info.variable, slot,  -1,    parent < 0 ? -1 : link[parent].receiver,
                        false,         acted, acted};
  }
  // the last of several children is the first to hand over
  for (int k = count - 1; k >= 0; --k) {
    Segment& s = segment[k];
    s.receives = link[s.end - 1].receiver;
    if (s.parent < 0) continue;
    s.opens = link[s.parent].children > 0;
    link[s.parent].children = 0;
  }
  return count;
}

}  // namespace catena::CATENA_ISA
