#include "model/elimination.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "model/graph.hpp"

namespace catena {

bool is_braced(const Layout& layout, const ConstraintInfo& c) {
  return !c.acts() &&
         std::any_of(c.end, c.end + c.end_count, [&](int i) { return i >= 0 && layout.link[i].mass == 0; });
}

Elimination::Elimination(const Layout& layout) {
  const int link_count = layout.link_count, constraint_count = layout.constraint_count;
  const int vertex_count = link_count + constraint_count;

  // graph of the matrix: links 0.., constraints link_count..
  adjacency.resize(vertex_count);
  std::vector<int> size(vertex_count, 6);
  std::vector<char> is_body(vertex_count, 1), grounded(vertex_count, 0);
  for (int j = 0; j < constraint_count; ++j) {
    const ConstraintInfo& c = layout.constraint[j];
    size[link_count + j] = c.row_count;
    is_body[link_count + j] = 0;
    for (int e = 0; e < c.end_count; ++e) {
      if (c.end[e] < 0) grounded[link_count + j] = 1;
      if (c.end[e] < 0 || std::find(c.end, c.end + e, c.end[e]) != c.end + e) continue;
      adjacency[c.end[e]].push_back(link_count + j);
      adjacency[link_count + j].push_back(c.end[e]);
    }
  }
  const auto touch = [&](int i, int k) {
    if (i != k && std::find(adjacency[i].begin(), adjacency[i].end(), k) == adjacency[i].end())
      adjacency[i].push_back(k);
  };
  for (int j = 0; j < constraint_count; ++j) {
    const std::vector<int> bodies = adjacency[link_count + j];
    for (int i : bodies)
      for (int k : bodies)
        if (is_braced(layout, layout.constraint[j])) touch(i, k);
  }

  // leaf to root, a link, the joint that carries it and the forces on that; loops just before the link where they close
  std::vector<int> first_row(layout.loop_row_count, -1);
  for (int l = 0; l < layout.loop_count; ++l) first_row[layout.constraint[layout.loop[l]].loop_row] = layout.loop[l];
  std::vector<std::vector<int>> closing(link_count + 1);
  for (int i = 0; i <= link_count; ++i)
    for (int c = layout.front[i].outgoing; c < layout.front[i].columns; ++c) {
      const int j = first_row[layout.column_row[layout.front[i].first_column + c]];
      if (j >= 0) closing[i].push_back(link_count + j);
    }
  for (int t = 0; t < layout.tie_count; ++t)
    closing[layout.tie[t].parent < 0 ? link_count : layout.tie[t].parent].push_back(link_count +
                                                                                    layout.tie[t].constraint);
  std::vector<std::vector<int>> acting(link_count);
  for (int j = 0; j < constraint_count; ++j)
    if (layout.constraint[j].acts() && layout.constraint[j].loop < 0)
      acting[layout.constraint[j].link].push_back(link_count + j);
  for (int i = link_count - 1; i >= 0; --i) {
    order.insert(order.end(), closing[i].begin(), closing[i].end());
    order.push_back(i);
    if (layout.link[i].joint >= 0) order.push_back(link_count + layout.joint_constraint[layout.link[i].joint]);
    order.insert(order.end(), acting[i].begin(), acting[i].end());
  }
  order.insert(order.end(), closing[link_count].begin(), closing[link_count].end());

  // with many crossing loops a fill-reducing order may do better
  later = symbolic_fill(order, adjacency);
  work = elimination_work(later, size);
  if (layout.loop_count > 0) {
    std::vector<int> other = minimum_degree_order(adjacency, size, is_body, grounded);
    auto other_later = symbolic_fill(other, adjacency);
    const double other_work = elimination_work(other_later, size);
    if (other_work < work) {
      work = other_work;
      order = std::move(other);
      later = std::move(other_later);
    }
  }
  for (const auto& list : later) target_count += static_cast<double>(list.size()) * static_cast<double>(list.size());
  fits = target_count < (work < layout.articulated_work ? 0x7fffffff : 1 << 27);
}

EliminationProgram::EliminationProgram(const Layout& given, const Elimination& elimination) : layout_(given) {
  if (!elimination.fits)
    throw std::length_error(
        "the sparse elimination of this mechanism has too many blocks that touch each other, because "
        "hundreds of constraint rows hold the same bodies: use solver='articulated'");
  const int link_count = layout_.link_count, constraint_count = layout_.constraint_count;
  const int vertex_count = link_count + constraint_count;
  const auto &adjacency = elimination.adjacency, &later = elimination.later;
  const auto& order = elimination.order;
  const auto size_of = [&](int v) { return v < link_count ? 6 : layout_.constraint[v - link_count].row_count; };
  const auto unknown_of = [&](int v) {
    return v < link_count ? 6 * v : 6 * link_count + layout_.constraint[v - link_count].row;
  };

  // number the blocks in the order in which they are met, those of fill alone after all others
  int block_rows = 0;
  const auto reserve = [&](int rows) {
    const int at = block_rows;
    block_rows += rows;
    return at;
  };
  std::vector<int> place(vertex_count);
  for (int k = 0; k < vertex_count; ++k) place[order[k]] = k;
  // braces are added to blocks that begin as nothing, as fill is
  const auto is_fill = [&](int u, int v) {
    return (u < link_count && v < link_count) ||
           std::find(adjacency[u].begin(), adjacency[u].end(), v) == adjacency[u].end();
  };
  std::vector<char> has_arrived(vertex_count, 0);
  const auto arrive = [&](int u) {
    if (!std::exchange(has_arrived[u], 1)) arrivals_.push_back(place[u]);
  };
  for (int k = 0; k < vertex_count; ++k) {
    const int v = order[k];
    LduVertex vertex{};
    vertex.is_body = v < link_count;
    vertex.index = v < link_count ? v : v - link_count;
    vertex.size = size_of(v);
    vertex.unknown = unknown_of(v);
    vertex.diagonal = reserve(vertex.size);
    vertex.first_neighbour = static_cast<int>(neighbours_.size());
    vertex.neighbour_count = static_cast<int>(later[v].size());
    for (int u : later[v]) {
      const bool fill = is_fill(u, v);
      const LduNeighbour n{place[u], size_of(u), fill ? -1 : reserve(size_of(u)), fill ? -1 : reserve(vertex.size)};
      neighbours_.push_back(n);
    }
    for (const auto& touched : {std::vector<int>{v}, later[v]})
      for (int u : touched) {
        // a brace is added to what its bodies bring
        if (u >= link_count && is_braced(layout_, layout_.constraint[u - link_count]))
          for (int body : adjacency[u]) arrive(body);
        arrive(u);
      }
    vertex.arrivals = static_cast<int>(arrivals_.size());
    vertices_.push_back(vertex);
  }
  layout_.first_fill = block_rows;
  for (const LduVertex& vertex : vertices_)
    for (int i = 0; i < vertex.neighbour_count; ++i) {
      LduNeighbour& n = neighbours_[vertex.first_neighbour + i];
      if (n.lower >= 0) continue;
      n.lower = reserve(n.size);
      n.upper = reserve(vertex.size);
    }
  layout_.end_fill = block_rows;

  // the block (i, j) of two vertices that touch
  const auto block_of = [&](int i, int j) {
    const LduVertex& vertex = vertices_[std::min(place[i], place[j])];
    if (i == j) return vertex.diagonal;
    const LduNeighbour* first = neighbours_.data() + vertex.first_neighbour;
    const LduNeighbour* n = std::lower_bound(first, first + vertex.neighbour_count, std::max(place[i], place[j]),
                                             [](const LduNeighbour& one, int at) { return one.vertex < at; });
    return place[i] < place[j] ? n->upper : n->lower;
  };

  // where products go, and which blocks are written by the elimination: these, and all upper ones but the first
  std::vector<char> is_written(block_rows, 0);
  targets_.resize(static_cast<std::size_t>(elimination.target_count));
  int target_count = 0;
  for (LduVertex& vertex : vertices_) {
    const LduNeighbour* own = neighbours_.data() + vertex.first_neighbour;
    const int count = vertex.neighbour_count;
    vertex.first_target = target_count;
    int* target = targets_.data() + target_count;
    target_count += count * count;
    for (int a = 0; a < count; ++a) {
      // what a vertex touches later touches each other, and stands among the neighbours of each in the same order
      target[a * count + a] = vertices_[own[a].vertex].diagonal;
      const LduNeighbour* n = neighbours_.data() + vertices_[own[a].vertex].first_neighbour;
      for (int b = a + 1; b < count; ++b) {
        while (n->vertex < own[b].vertex) ++n;
        target[a * count + b] = n->upper;
        target[b * count + a] = n->lower;
      }
      if (a > 0) is_written[own[a].upper] = 1;
    }
    for (int k = 0; k < count * count; ++k) is_written[target[k]] = 1;
  }

  link_vertex_.assign(place.begin(), place.begin() + link_count);
  constraint_vertex_.assign(place.begin() + link_count, place.end());
  std::vector<std::vector<int>> loads(link_count);
  for (int j = 0; j < constraint_count; ++j) {
    first_slot_.push_back(static_cast<int>(slots_.size()));
    const ConstraintInfo& c = layout_.constraint[j];
    const int v = link_count + j;
    for (int e = 0; e < c.end_count; ++e) {
      LduSlot slot{-1, -1, -1, place[v], false};
      if (const int body = c.end[e]; body >= 0) {
        const int earlier = static_cast<int>(std::find(c.end, c.end + e, body) - c.end);
        slot.repeat = earlier < e;
        slot.force = block_of(body, v);
        slot.motion = block_of(v, body);
        slot.kept = slot.repeat              ? slots_[first_slot_[j] + earlier].kept
                    : is_written[slot.force] ? reserve(6)
                                             : slot.force;
        if (!slot.repeat) loads[body].push_back(static_cast<int>(slots_.size()));
      }
      slots_.push_back(slot);
    }
    const bool braced = is_braced(layout_, c);
    layout_.braced |= braced;
    first_brace_.push_back(braced ? static_cast<int>(braces_.size()) : -1);
    for (int e = 0; e < c.end_count && braced; ++e)
      for (int f = 0; f < c.end_count; ++f)
        braces_.push_back(c.end[e] >= 0 && c.end[f] >= 0 ? block_of(c.end[e], c.end[f]) : -1);
  }
  for (int i = 0; i <= link_count; ++i) {
    first_load_.push_back(static_cast<int>(loads_.size()));
    if (i < link_count) loads_.insert(loads_.end(), loads[i].begin(), loads[i].end());
  }
  layout_.vertex_count = vertex_count;
  layout_.block_rows = block_rows;
  layout_.vertex = vertices_.data();
  layout_.neighbour = neighbours_.data();
  layout_.target = targets_.data();
  layout_.arrival = arrivals_.data();
  layout_.link_vertex = link_vertex_.data();
  layout_.constraint_vertex = constraint_vertex_.data();
  layout_.first_slot = first_slot_.data();
  layout_.slot = slots_.data();
  layout_.first_brace = first_brace_.data();
  layout_.brace = braces_.data();
  layout_.first_load = first_load_.data();
  layout_.load = loads_.data();
}

}  // namespace catena
