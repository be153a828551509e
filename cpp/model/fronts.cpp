// The way of loops through the tree: which columns every link carries for them, and where they are kept.
#include <algorithm>
#include <map>

#include "model/layout.hpp"

namespace catena {

namespace {

// columns of a front, rounded up
int padded(int columns) { return (columns + 3) / 4 * 4; }

}  // namespace

int meeting_link(const LinkInfo* link, const ConstraintInfo& c) {
  int top = c.end[0];
  for (int e = 1; e < c.end_count; ++e)
    for (int i = c.end[e]; i != top;) {
      // parents have smaller numbers
      int& deeper = i > top ? i : top;
      deeper = link[deeper].parent;
    }
  return top;
}

void Model::build_loops() {
  const int link_count = layout_.link_count, world = link_count;
  const auto parent = [&](int i) { return links_[i].parent < 0 ? world : links_[i].parent; };

  // every loop goes up from its ends until they meet
  std::vector<std::vector<int>> passing(link_count + 1), closing(link_count + 1), attached(link_count + 1);
  for (int l = 0; l < layout_.loop_count; ++l) {
    const ConstraintInfo& c = constraints_[loops_[l]];
    if (c.tied) continue;
    const auto end = [&](int e) { return c.end[e] < 0 ? world : c.end[e]; };
    const int meeting = meeting_link(links_.data(), c), top = meeting < 0 ? world : meeting;
    for (int e = 0; e < c.end_count; ++e) {
      if (std::find(c.end, c.end + e, c.end[e]) == c.end + e) attached[end(e)].push_back(l);
      for (int i = end(e); i != top; i = parent(i))
        if (passing[i].empty() || passing[i].back() != l) passing[i].push_back(l);
    }
    closing[top].push_back(l);
  }

  // trees that loops tie together, and whether to the world
  std::vector<int> root(link_count + 1);
  for (int i = 0; i < link_count; ++i) {
    root[i] = links_[i].parent >= 0 ? root[links_[i].parent] : i;
    if (links_[i].parent < 0 && links_[i].joint >= 0) root[i] = world;
  }
  root[world] = world;
  std::vector<int> keeper(link_count + 1);
  for (int i = 0; i <= link_count; ++i) keeper[i] = i;
  const auto find = [&](int i) {
    while (keeper[i] != i) i = keeper[i] = keeper[keeper[i]];
    return i;
  };
  for (int l : loops_)
    for (int e = 1; e < constraints_[l].end_count; ++e) {
      const int a = constraints_[l].end[0], b = constraints_[l].end[e];
      const int p = find(root[a < 0 ? world : a]), q = find(root[b < 0 ? world : b]);
      // the world has the largest number and always wins
      keeper[std::min(p, q)] = std::max(p, q);
    }
  // contacts with the world that are no loops
  const auto touches = [&](int i) { return i < world && first_touch_[i + 1] > first_touch_[i]; };
  for (int i = 0; i < link_count; ++i)
    if (touches(i)) keeper[find(root[i])] = world;
  // a root without a mass keeps nothing
  std::vector<int> massive(keeper);
  for (int i = 0; i < link_count; ++i)
    if (root[i] == i && links_[i].mass > 0 && find(i) != world && links_[find(i)].mass == 0) massive[find(i)] = i;
  for (int i = 0; i < link_count; ++i) links_[i].keeper = find(root[i]) == world ? -1 : massive[find(root[i])];

  const auto place = [&](const TieInfo& tie) { return tie.parent < 0 ? world : tie.parent; };
  std::stable_sort(ties_.begin(), ties_.end(), [&](const TieInfo& a, const TieInfo& b) { return place(a) < place(b); });

  // columns: outgoing loops, then closing ones, each loop with all its rows
  std::vector<std::map<int, int>> column(link_count + 1);
  for (int i = 0; i <= link_count; ++i) {
    FrontInfo front{};
    front.first_column = static_cast<int>(column_row_.size());
    std::sort(passing[i].begin(), passing[i].end());
    for (const auto* list : {&passing[i], &closing[i]}) {
      for (int l : *list) {
        const ConstraintInfo& c = constraints_[loops_[l]];
        column[i][l] = front.columns;
        for (int k = 0; k < c.row_count; ++k) column_row_.push_back(c.loop_row + k);
        front.columns += c.row_count;
        if (list == &closing[i]) front.redundant += c.redundant;
      }
      if (list == &passing[i]) front.outgoing = front.columns;
    }
    front.stride = padded(front.columns);
    front.first_tie = i > 0 ? fronts_.back().first_tie + fronts_.back().tie_count : 0;
    const auto first = ties_.begin() + front.first_tie;
    front.tie_count =
        static_cast<int>(std::find_if(first, ties_.end(), [&](const TieInfo& tie) { return place(tie) != i; }) - first);
    front.freedoms = i == world ? 0 : 6 - joint_row_count(static_cast<int>(links_[i].kind));
    fronts_.push_back(front);
  }
  // rows that close are inverted as far as they are independent: freedoms of what hangs on the link, itself left out
  std::vector<int> below(link_count + 1, 0);
  for (int i = link_count - 1; i >= 0; --i) below[parent(i)] += below[i] + fronts_[i].freedoms;
  column_map_.assign(column_row_.size(), -1);
  for (int i = 0; i <= link_count; ++i) {
    FrontInfo& front = fronts_[i];
    const Offset closed = front.columns - front.outgoing;
    const double columns = front.columns, outgoing = front.outgoing, shut = static_cast<double>(closed);
    const double inversion = shut * shut * std::min(shut, static_cast<double>(below[i]));
    layout_.articulated_work += (i == world ? 0 : 350) + (36 + columns) * front.stride + inversion +
                                shut * (7 * shut + 42 + outgoing * (shut + outgoing + 13));
    layout_.largest_inversion = std::max(layout_.largest_inversion, inversion);
    layout_.largest_closing = std::max(layout_.largest_closing, static_cast<int>(closed));
    layout_.redundant += front.redundant;
    front.first_end = static_cast<int>(ends_.size());
    if (i == world) break;
    for (int l : attached[i]) {
      const ConstraintInfo& c = constraints_[loops_[l]];
      for (int e = 0; e < c.end_count; ++e)
        if (c.end[e] == i) ends_.push_back({l, column[i].at(l), e});
    }
    front.end_count = static_cast<int>(ends_.size()) - front.first_end;
    front.opens = front.columns > front.outgoing || front.tie_count > 0 || touches(i);
    front.stops = front.opens || front.end_count > 0;
    const FrontInfo& above = fronts_[parent(i)];
    front.same_columns = front.outgoing > 0 && front.stride == above.stride;
    for (int l : passing[i])
      for (int k = 0; k < constraints_[loops_[l]].row_count; ++k) {
        const int from = column[i].at(l) + k, to = column[parent(i)].at(l) + k;
        column_map_[front.first_column + from] = to;
        front.same_columns &= from == to;
      }
  }
  // room for every front, in the order of elimination: children before their parents, the last of them first
  Offset size = 0;
  const auto take = [&](Offset count) {
    const Offset first = size;
    size += (count + 7) / 8 * 8;
    return first;
  };
  std::vector<char> reached(link_count + 1, 0);
  for (int i = link_count - 1; i >= -1; --i) {
    FrontInfo& front = fronts_[i < 0 ? world : i];
    const Offset rows = front.columns - front.outgoing, width = padded(static_cast<int>(rows));
    if (!front.shares) front.carried = take((Offset{13} + front.columns) * front.stride);
    front.kept = take(2 * (front.freedoms + rows) * front.stride + (9 + 2 * rows) * width + 8 * rows);
    // what cannot be asked for: how many directions, from the left, from the right
    front.dropped = front.redundant > 0 ? take(8 + 2 * rows * width) : 0;
    if (i < 0 || front.outgoing == 0) continue;
    FrontInfo& above = fronts_[parent(i)];
    above.shares = !reached[parent(i)] && front.same_columns && above.columns == front.outgoing;
    reached[parent(i)] = 1;
    if (above.shares) above.carried = front.carried;
  }
  layout_.front_size = size;
}

}  // namespace catena
