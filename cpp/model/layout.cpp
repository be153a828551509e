#include "model/layout.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "model/graph.hpp"

namespace catena {

namespace {

// columns of the rotation matrix of a unit quaternion
void rotation_columns(const double* q, double* m) {
  const double w = q[0], x = q[1], y = q[2], z = q[3];
  const double columns[9] = {1 - 2 * (y * y + z * z), 2 * (x * y + w * z),     2 * (x * z - w * y),
                             2 * (x * y - w * z),     1 - 2 * (x * x + z * z), 2 * (y * z + w * x),
                             2 * (x * z + w * y),     2 * (y * z - w * x),     1 - 2 * (x * x + y * y)};
  std::copy(columns, columns + 9, m);
}

}  // namespace

ConstraintInfo constraint_of(int kind, const double* anchor_a, const double* anchor_b, const double* frame_a,
                             const double* frame_b, double parameter) {
  ConstraintInfo c{};
  c.kind = static_cast<JointKind>(kind);
  c.a = c.b = c.link = c.joint = c.law = -1;
  c.row_count = joint_row_count(kind);
  std::copy_n(anchor_a, 3, c.anchor_a);
  std::copy_n(anchor_b, 3, c.anchor_b);
  rotation_columns(frame_a, c.frame_a);
  rotation_columns(frame_b, c.frame_b);
  c.parameter = parameter;
  return c;
}

Model::Model(const Spec& spec) {
  build_tree(spec);
  build_constraints(spec);
  build_loops();
  build_ldu();

  layout_.joint_count = spec.joint_count;
  std::copy(spec.gravity, spec.gravity + 3, layout_.gravity);
  layout_.link = links_.data();
  layout_.constraint = constraints_.data();
  layout_.joint_constraint = joint_constraint_.data();
  layout_.body_link = body_link_.data();
  layout_.law_count = static_cast<int>(laws_.size());
  layout_.law = laws_.data();
  layout_.front = fronts_.data();
  layout_.end = ends_.data();
  layout_.loop = loops_.data();
  layout_.is_law_row = is_law_row_.data();
  layout_.column_row = column_row_.data();
  layout_.column_map = column_map_.data();
  layout_.node = nodes_.data();
  layout_.neighbour = neighbours_.data();
  layout_.target = targets_.data();
  layout_.link_node = link_node_.data();
  layout_.slot = slots_.data();
}

void Model::build_tree(const Spec& spec) {
  // joints that hold less than a body needs to be placed by them carry nothing
  std::vector<Edge> edges;
  std::vector<int> edge_joint;
  for (int j = 0; j < spec.joint_count; ++j) {
    if (!joint_form[spec.kind[j]].carries) continue;
    edges.push_back({spec.body_a[j], spec.body_b[j]});
    edge_joint.push_back(j);
  }
  const Forest forest = spanning_forest(spec.body_count, edges);

  body_link_.assign(spec.body_count, -1);
  for (int i = 0; i < spec.body_count; ++i) body_link_[forest.order[i]] = i;

  int variable = 0;
  for (int body : forest.order) {
    LinkInfo link{};
    link.body = body;
    link.mass = spec.mass[body];
    const double* J = &spec.inertia[9 * body];
    const double six[6] = {J[0], J[4], J[8], J[1], J[2], J[5]};
    std::copy(six, six + 6, link.inertia);

    const int edge = forest.edge[body];
    link.joint = edge < 0 ? -1 : edge_joint[edge];
    link.parent = forest.parent[body] < 0 ? -1 : body_link_[forest.parent[body]];
    link.kind = edge < 0 ? JointKind::free : static_cast<JointKind>(spec.kind[link.joint]);
    link.flipped = edge >= 0 && spec.body_a[link.joint] == body;
    if (edge >= 0) {
      const auto& own = link.flipped ? spec.anchor_a : spec.anchor_b;
      const auto& other = link.flipped ? spec.anchor_b : spec.anchor_a;
      const auto& frame = link.flipped ? spec.frame_a : spec.frame_b;
      std::copy_n(&own[3 * link.joint], 3, link.anchor);
      std::copy_n(&other[3 * link.joint], 3, link.parent_anchor);
      double axes[9];
      rotation_columns(&frame[4 * link.joint], axes);
      rotation_columns(&(link.flipped ? spec.frame_b : spec.frame_a)[4 * link.joint], link.parent_axes);
      // a universal joint turns about x of frame a and y of frame b
      const int own_axis = link.kind != JointKind::universal ? 2 : link.flipped ? 0 : 1;
      std::copy_n(axes + 3 * own_axis, 3, link.axis);
      link.parameter = spec.parameter[link.joint];
    }
    link.first_axis = layout_.axis_count;
    const bool general = link.kind == JointKind::cylindrical || link.kind == JointKind::universal ||
                         link.kind == JointKind::planar || link.kind == JointKind::screw;
    link.axis_count = general ? 6 - joint_row_count(static_cast<int>(link.kind)) : 0;
    layout_.axis_count += link.axis_count;
    link.variable = variable;
    variable += 6 - joint_row_count(static_cast<int>(link.kind));
    links_.push_back(link);
  }
  // depth-first numbers: a tree ends where the next one begins
  for (int i = spec.body_count - 1, end = spec.body_count; i >= 0; --i) {
    links_[i].tree_end = end;
    if (links_[i].parent < 0) end = i;
  }
  layout_.link_count = spec.body_count;
  layout_.variable_count = variable;
}

void Model::build_constraints(const Spec& spec) {
  std::vector<int> carried(spec.joint_count, -1);
  for (int i = 0; i < static_cast<int>(links_.size()); ++i)
    if (links_[i].joint >= 0) carried[links_[i].joint] = i;

  std::vector<int> law_of(spec.joint_count, -1);
  for (int l = 0; l < static_cast<int>(spec.law_joint.size()); ++l) law_of[spec.law_joint[l]] = l;

  int row = 0, loop_row = 0;
  joint_constraint_.assign(spec.joint_count, -1);
  for (int j = 0; j < spec.joint_count; ++j) {
    if (static_cast<JointKind>(spec.kind[j]) == JointKind::free) continue;
    ConstraintInfo c = constraint_of(spec.kind[j], &spec.anchor_a[3 * j], &spec.anchor_b[3 * j], &spec.frame_a[4 * j],
                                     &spec.frame_b[4 * j], spec.parameter[j]);
    c.joint = j;
    c.a = spec.body_a[j] < 0 ? -1 : body_link_[spec.body_a[j]];
    c.b = spec.body_b[j] < 0 ? -1 : body_link_[spec.body_b[j]];
    c.link = carried[j];
    c.law = law_of[j];
    if (c.law >= 0) {
      LawInfo law{};
      const double* p = &spec.law[law_size * c.law];
      static_cast<Law&>(law) = {p[0], p[1], p[2], p[3], p[4], p[5], p[6], p[7], p[8], p[9], p[10], p[11]};
      law.measure = c;
      const bool staged =
          law.damping != 0 || law.friction != 0 || law.gain != 0 || law.rate_gain != 0 || law.implicit != 0;
      law.constraint = staged ? static_cast<int>(constraints_.size()) : -1;
      laws_.push_back(law);
      if (!staged) continue;
    }
    c.row = row;
    row += c.row_count;
    c.loop_row = loop_row;
    if (c.link < 0) {
      loop_row += c.row_count;
      loops_.push_back(static_cast<int>(constraints_.size()));
      is_law_row_.insert(is_law_row_.end(), c.row_count, c.law >= 0);
    }
    joint_constraint_[j] = static_cast<int>(constraints_.size());
    constraints_.push_back(c);
  }
  layout_.constraint_count = static_cast<int>(constraints_.size());
  layout_.row_count = row;
  double arms = 0;
  for (const ConstraintInfo& c : constraints_)
    for (const auto& [link, p] : {std::pair{c.a, c.anchor_a}, std::pair{c.b, c.anchor_b}})
      if (link >= 0) arms += std::hypot(p[0], p[1], p[2]) / (2.0 * static_cast<double>(constraints_.size()));
  layout_.reach = arms > 0 ? arms : 1;
  layout_.loop_count = static_cast<int>(loops_.size());
  layout_.law_row_count = static_cast<int>(std::count(is_law_row_.begin(), is_law_row_.end(), 1));
  layout_.loop_row_count = loop_row;
}

void Model::build_loops() {
  const int link_count = layout_.link_count, world = link_count;
  const auto parent = [&](int i) { return links_[i].parent < 0 ? world : links_[i].parent; };

  // every loop goes up from both ends until they meet; parents have smaller numbers, the world counts as -1
  std::vector<std::vector<int>> passing(link_count + 1), closing(link_count + 1), attached(link_count + 1);
  for (int l = 0; l < layout_.loop_count; ++l) {
    const ConstraintInfo& c = constraints_[loops_[l]];
    int a = c.a < 0 ? world : c.a, b = c.b < 0 ? world : c.b;
    attached[a].push_back(l);
    attached[b].push_back(l);
    while (a != b) {
      int& deeper = b == world || (a != world && a > b) ? a : b;
      passing[deeper].push_back(l);
      deeper = parent(deeper);
    }
    closing[a].push_back(l);
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
  for (int l : loops_) {
    const int a = constraints_[l].a, b = constraints_[l].b;
    const int p = find(root[a < 0 ? world : a]), q = find(root[b < 0 ? world : b]);
    // the world has the largest number and always wins
    keeper[std::min(p, q)] = std::max(p, q);
  }
  for (int i = 0; i < link_count; ++i) links_[i].keeper = find(root[i]) == world ? -1 : find(root[i]);

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
      }
      if (list == &passing[i]) front.outgoing = front.columns;
    }
    front.stride = (front.columns + 7) / 8 * 8;
    fronts_.push_back(front);
  }
  column_map_.assign(column_row_.size(), -1);
  long size = 0;
  for (int i = 0; i <= link_count; ++i) {
    FrontInfo& front = fronts_[i];
    const long closed = front.columns - front.outgoing;
    front.offset = size;
    const double columns = front.columns, shut = static_cast<double>(closed);
    layout_.articulated_work += (i == world ? 0 : 350) + (36 + columns) * front.stride +
                                shut * (3 * shut * shut + (12 + columns) * (shut + columns));
    size += (20L + 2 * front.columns) * front.stride + 7 * closed + 2 * closed * closed;
    size = (size + 7) / 8 * 8;
    layout_.largest_closing = std::max(layout_.largest_closing, static_cast<int>(closed));
    front.first_end = static_cast<int>(ends_.size());
    if (i == world) break;
    for (int l : attached[i]) ends_.push_back({l, column[i].at(l), constraints_[loops_[l]].b == i});
    front.end_count = static_cast<int>(ends_.size()) - front.first_end;
    const FrontInfo& above = fronts_[parent(i)];
    front.same_columns = front.outgoing > 0 && front.stride == above.stride;
    for (int l : passing[i])
      for (int k = 0; k < constraints_[loops_[l]].row_count; ++k) {
        const int from = column[i].at(l) + k, to = column[parent(i)].at(l) + k;
        column_map_[front.first_column + from] = to;
        front.same_columns &= from == to;
      }
  }
  std::vector<int> senders(link_count + 1, 0);
  for (int i = 0; i < link_count; ++i)
    if (fronts_[i].outgoing > 0) ++senders[parent(i)];
  for (int i = 0; i < link_count; ++i) {
    FrontInfo& above = fronts_[parent(i)];
    if (fronts_[i].same_columns && senders[parent(i)] == 1 && above.end_count == 0 && above.columns == above.outgoing)
      above.received = true;
  }
  layout_.front_size = size;
}

void Model::build_ldu() {
  const int link_count = layout_.link_count, constraint_count = layout_.constraint_count;
  const int node_count = link_count + constraint_count;

  // graph of the matrix: links 0.., constraints link_count..
  std::vector<std::vector<int>> adjacency(node_count);
  for (int j = 0; j < constraint_count; ++j)
    for (int body : {constraints_[j].a, constraints_[j].b})
      if (body >= 0) {
        adjacency[body].push_back(link_count + j);
        adjacency[link_count + j].push_back(body);
      }

  std::vector<int> size(node_count, 6);
  std::vector<char> is_body(node_count, 1);
  for (int j = 0; j < constraint_count; ++j) {
    size[link_count + j] = constraints_[j].row_count;
    is_body[link_count + j] = 0;
  }
  const auto size_of = [&](int v) { return size[v]; };

  // leaf to root, a link and then the joint that carries it; loops just before the link where they close
  std::vector<int> first_row(layout_.loop_row_count, -1);
  for (int j : loops_) first_row[constraints_[j].loop_row] = j;
  std::vector<std::vector<int>> closing(link_count + 1);
  for (int i = 0; i <= link_count; ++i)
    for (int c = fronts_[i].outgoing; c < fronts_[i].columns; ++c) {
      const int j = first_row[column_row_[fronts_[i].first_column + c]];
      if (j >= 0) closing[i].push_back(link_count + j);
    }
  std::vector<int> order;
  for (int i = link_count - 1; i >= 0; --i) {
    order.insert(order.end(), closing[i].begin(), closing[i].end());
    order.push_back(i);
    if (links_[i].joint >= 0) order.push_back(link_count + joint_constraint_[links_[i].joint]);
  }
  order.insert(order.end(), closing[link_count].begin(), closing[link_count].end());

  // with many crossing loops a fill-reducing order may do better
  auto later = symbolic_fill(order, adjacency);
  layout_.ldu_work = elimination_work(later, size);
  if (layout_.loop_count > 0) {
    std::vector<int> other = minimum_degree_order(adjacency, size, is_body);
    auto other_later = symbolic_fill(other, adjacency);
    const double work = elimination_work(other_later, size);
    if (work < layout_.ldu_work) {
      layout_.ldu_work = work;
      order = std::move(other);
      later = std::move(other_later);
    }
  }
  const auto unknown_of = [&](int v) {
    return v < link_count ? 6 * v : 6 * link_count + constraints_[v - link_count].row;
  };

  // number the blocks in the order in which they are met
  int block_rows = 0;
  const auto reserve = [&](int rows) {
    const int at = block_rows;
    block_rows += rows;
    return at;
  };
  std::vector<int> place(node_count);
  for (int k = 0; k < node_count; ++k) place[order[k]] = k;
  std::map<std::pair<int, int>, int> block;  // (row node, column node) by vertex -> offset
  for (int k = 0; k < node_count; ++k) {
    const int v = order[k];
    LduNode node{};
    node.is_body = v < link_count;
    node.index = v < link_count ? v : v - link_count;
    node.size = size_of(v);
    node.unknown = unknown_of(v);
    node.diagonal = reserve(node.size);
    block[{v, v}] = node.diagonal;
    node.first_neighbour = static_cast<int>(neighbours_.size());
    node.neighbour_count = static_cast<int>(later[v].size());
    for (int u : later[v]) {
      const LduNeighbour n{place[u], reserve(size_of(u)), reserve(node.size)};
      block[{u, v}] = n.lower;
      block[{v, u}] = n.upper;
      neighbours_.push_back(n);
    }
    nodes_.push_back(node);
  }
  for (int k = 0; k < node_count; ++k) {
    const int v = order[k];
    nodes_[k].first_target = static_cast<int>(targets_.size());
    for (int i : later[v])
      for (int j : later[v]) targets_.push_back(block.at({i, j}));
  }

  link_node_.resize(link_count);
  for (int i = 0; i < link_count; ++i) link_node_[i] = place[i];
  for (int j = 0; j < constraint_count; ++j) {
    const int v = link_count + j, a = constraints_[j].a, b = constraints_[j].b;
    const auto at = [&](int row, int column) { return row < 0 || column < 0 ? -1 : block.at({row, column}); };
    slots_.push_back(
        {place[v], a < 0 ? -1 : at(a, v), a < 0 ? -1 : at(v, a), b < 0 ? -1 : at(b, v), b < 0 ? -1 : at(v, b)});
  }
  layout_.node_count = node_count;
  layout_.block_rows = block_rows;
}

}  // namespace catena
