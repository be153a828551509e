#include "model/layout.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "model/elimination.hpp"
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

constexpr double roundness = 1e-3;  // of rotors: parts of their inertia and of the bodies' reach

// whether turns of a body about an axis leave one end of a constraint as it is
bool is_blind(const ConstraintInfo& c, const double* anchor, const double* frame, const double* axis, double reach) {
  const auto across = [&](const double* p) {
    return std::hypot(p[1] * axis[2] - p[2] * axis[1], p[2] * axis[0] - p[0] * axis[2],
                      p[0] * axis[1] - p[1] * axis[0]);
  };
  switch (c.kind) {
    case JointKind::ball:
    case JointKind::measured_distance: return across(anchor) < roundness * reach;
    case JointKind::revolute:
    case JointKind::cylindrical:
    case JointKind::screw:
    case JointKind::rolling_disk:
    case JointKind::measured_angle: return across(anchor) < roundness * reach && across(frame + 6) < roundness;
    default: return false;
  }
}

// columns of a front, rounded up
int padded(int columns) { return (columns + 3) / 4 * 4; }

}  // namespace

void set_mass(LinkInfo& link, double mass) {
  link.mass = mass;
  link.unit = mass > 0 ? mass : 1;
  link.share = mass > 0 ? 1 : 0;
}

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

ConstraintInfo constraint_of(const Pair& pair) {
  ConstraintInfo c{};
  c.kind = static_cast<JointKind>(pair.kind);
  c.link = c.joint = c.loop = c.item = c.signal = c.ground = c.borrower = -1;
  c.rows = joint_form[pair.kind].own.kind;
  c.end_count = 2;
  c.end[0] = c.end[1] = -1;
  c.row_count = joint_row_count(pair.kind);
  for (int k = 0; k < 6; ++k) c.lengths |= row_is_length(pair.kind, k) ? 1u << k : 0;
  std::copy_n(pair.anchor_a, 3, c.anchor_a);
  std::copy_n(pair.anchor_b, 3, c.anchor_b);
  rotation_columns(pair.frame_a, c.frame_a);
  rotation_columns(pair.frame_b, c.frame_b);
  c.parameter = pair.parameter;
  return c;
}

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

Model::Model(const Spec& spec) {
  build_tree(spec);
  build_constraints(spec);
  build_loops();
  find_rotors();
  find_neighbours_with_mass();
  find_lenders();

  layout_.joint_count = static_cast<int>(spec.joint.size() + spec.coupling.size());
  layout_.signal_count = spec.signal_count;
  layout_.link = links_.data();
  layout_.drag = drag_.empty() ? nullptr : drag_.data();
  layout_.rotary_count = static_cast<int>(rotaries_.size());
  layout_.rotary = rotaries_.data();
  layout_.constraint = constraints_.data();
  layout_.joint_constraint = joint_constraint_.data();
  layout_.body_link = body_link_.data();
  layout_.law_count = static_cast<int>(laws_.size());
  layout_.law = laws_.data();
  layout_.free_law_count = layout_.law_count - static_cast<int>(axis_law_.size());
  layout_.first_axis_law = first_axis_law_.data();
  layout_.axis_law = axis_law_.data();
  layout_.term = terms_.data();
  layout_.tie_count = static_cast<int>(ties_.size());
  layout_.tie = ties_.data();
  layout_.reduction = reductions_.data();
  layout_.idle_count = static_cast<int>(idle_.size());
  layout_.idle = idle_.data();
  layout_.fit = spec.fit;
  layout_.counter_count = static_cast<int>(counters_.size());
  layout_.counter = counters_.data();
  layout_.coordinated_count = static_cast<int>(coordinated_.size());
  layout_.coordinated = coordinated_.data();
  layout_.front = fronts_.data();
  layout_.end = ends_.data();
  layout_.loop = loops_.data();
  layout_.is_law_row = is_law_row_.data();
  layout_.column_row = column_row_.data();
  layout_.column_map = column_map_.data();
  elimination_ = std::make_unique<const Elimination>(layout_);
  layout_.ldu_work = elimination_->work;
}

Model::~Model() = default;

const Layout& Model::with_elimination() const {
  std::call_once(made_, [this] { program_ = std::make_unique<const EliminationProgram>(layout_, *elimination_); });
  return program_->layout();
}

void Model::build_tree(const Spec& spec) {
  const int body_count = static_cast<int>(spec.mass.size());
  // joints that hold less than a body needs to be placed by them carry nothing, nor do those to moving ground
  std::vector<Edge> edges;
  std::vector<int> edge_joint;
  for (int j = 0; j < static_cast<int>(spec.joint.size()); ++j) {
    const JointSpec& joint = spec.joint[j];
    if (!carries(joint.kind) || joint.ground >= 0) continue;
    edges.push_back({joint.body_a, joint.body_b, joint.cost});
    edge_joint.push_back(j);
  }
  const Forest forest = spanning_forest(body_count, edges, spec.massless);

  body_link_.assign(body_count, -1);
  for (int i = 0; i < body_count; ++i) body_link_[forest.order[i]] = i;

  int variable = 0;
  for (int body : forest.order) {
    LinkInfo link{};
    link.body = body;
    set_mass(link, spec.mass[body]);
    const double* J = &spec.inertia[9 * body];
    const double six[6] = {J[0], J[4], J[8], J[1], J[2], J[5]};
    std::copy(six, six + 6, link.inertia);
    for (int e = 0; e < 3; ++e) link.gravity[e] = link.share * spec.gravity[3 * body + e];
    for (int e = 0; e < 6 && !spec.drag.empty(); ++e) drag_.push_back(spec.drag[6 * body + e]);

    const int edge = forest.edge[body];
    link.joint = edge < 0 ? -1 : edge_joint[edge];
    link.parent = forest.parent[body] < 0 ? -1 : body_link_[forest.parent[body]];
    link.kind = JointKind::free;
    if (edge >= 0) {
      const JointSpec& joint = spec.joint[link.joint];
      link.kind = static_cast<JointKind>(joint.kind);
      link.flipped = joint.body_a == body;
      std::copy_n(link.flipped ? joint.anchor_a : joint.anchor_b, 3, link.anchor);
      std::copy_n(link.flipped ? joint.anchor_b : joint.anchor_a, 3, link.parent_anchor);
      double own[9], above[9];
      rotation_columns(link.flipped ? joint.frame_a : joint.frame_b, own);
      rotation_columns(link.flipped ? joint.frame_b : joint.frame_a, above);
      const Branch branch = branch_of(link.kind, link.flipped);
      for (int k = 0; k < branch.count; ++k)
        std::copy_n((branch.own[k] ? own : above) + 3 * branch.axis[k], 3, link.direction + 3 * k);
      link.parameter = joint.parameter;
      layout_.has_threads |= link.kind == JointKind::screw;
    }
    link.first_axis = layout_.axis_count;
    link.branch = branch_number(link.kind, link.flipped);
    link.axis_count = manner_of(link.branch) < swivel_manner ? manner_of(link.branch) : 0;
    layout_.axis_count += link.axis_count;
    link.variable = variable;
    variable += 6 - joint_row_count(static_cast<int>(link.kind));
    links_.push_back(link);
  }
  // depth-first numbers: a tree ends where the next one begins
  for (int i = body_count - 1, end = body_count; i >= 0; --i) {
    links_[i].tree_end = end;
    if (links_[i].parent < 0) end = i;
  }
  layout_.link_count = body_count;
  layout_.variable_count = variable;
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
    is_law_row_.insert(is_law_row_.end(), c.row_count, c.acts());
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
    coordinated_.back().joint.ground = spec.joint[j].ground;
    layout_.coordinate_count += count;
  }
}

void Model::reduce(ConstraintInfo& c, const Asked& asked) {
  c.excess = asked.excess;
  if (asked.rows < 0) return;
  ReductionInfo reduction{c, {}, {}};
  std::copy_n(asked.combination, asked.rows * c.row_count, reduction.combination);
  for (int k = 0; k < c.row_count; ++k) reduction.weight[k] = c.lengths >> k & 1u ? asked.length : 1;
  c.rows = RowKind::combination;
  c.item = static_cast<int>(reductions_.size());
  reductions_.push_back(reduction);
  c.row_count = asked.rows;
  // lengths are in parts of the bodies' size already
  c.lengths = 0;
  layout_.has_idle_rows |= asked.rows == 0;
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
    if (c.link < 0) reduce(c, joint.asked);
    if (c.row_count > 0)
      add_constraint(c);
    else
      idle_.push_back(c);
  }
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
    c.recorded = layout_.recorded_count++;
    layout_.has_idle_rows |= coupling.idle;
    if (coupling.idle) continue;
    c.tied = tie(coupling, carried);
    add_constraint(c);
  }
  for (int j = 0; j < joint_count; ++j)
    if (spec.joint[j].damping > 0) add_rotary(spec.joint[j], carried[j]);
  for (int l = 0; l < static_cast<int>(spec.law.size()); ++l) {
    const LawSpec& given = spec.law[l];
    LawInfo law{};
    static_cast<Law&>(law) = given;
    law.measure = placed(given.measure);
    law.target_signal = given.target;
    law.force_signal = given.force;
    law.constraint = law.link = law.axis = -1;
    law.sign = 1;
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
    if (law.damping != 0 || law.friction != 0 || law.kp != 0 || law.kd != 0 || law.implicit != 0 || law.inertia != 0) {
      law.constraint = static_cast<int>(constraints_.size());
      ConstraintInfo c = law.measure;
      c.rows = RowKind::law;
      c.item = l;
      c.link = law.link;
      c.recorded = layout_.recorded_count++;
      add_constraint(c);
    }
    laws_.push_back(law);
  }
  for (int l = 0; l < static_cast<int>(laws_.size()); ++l)
    if (laws_[l].axis >= 0) axis_law_.push_back(l);
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
  double arms = 0;
  for (const ConstraintInfo& c : constraints_)
    for (const auto& [link, p] : {std::pair{c.end[0], c.anchor_a}, std::pair{c.end[1], c.anchor_b}})
      if (link >= 0) arms += std::hypot(p[0], p[1], p[2]) / (2.0 * static_cast<double>(constraints_.size()));
  layout_.reach = arms > 0 ? arms : 1;
  layout_.loop_count = static_cast<int>(loops_.size());
  layout_.law_row_count = static_cast<int>(std::count(is_law_row_.begin(), is_law_row_.end(), 1));
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
        if (list == &closing[i]) front.excess += c.excess;
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
    layout_.excess += front.excess;
    front.first_end = static_cast<int>(ends_.size());
    if (i == world) break;
    for (int l : attached[i]) {
      const ConstraintInfo& c = constraints_[loops_[l]];
      for (int e = 0; e < c.end_count; ++e)
        if (c.end[e] == i) ends_.push_back({l, column[i].at(l), e});
    }
    front.end_count = static_cast<int>(ends_.size()) - front.first_end;
    front.stops = front.columns > front.outgoing || front.end_count > 0 || front.tie_count > 0;
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
    front.unasked = front.excess > 0 ? take(8 + 2 * rows * width) : 0;
    if (i < 0 || front.outgoing == 0) continue;
    FrontInfo& above = fronts_[parent(i)];
    above.shares = !reached[parent(i)] && front.same_columns && above.columns == front.outgoing;
    reached[parent(i)] = 1;
    if (above.shares) above.carried = front.carried;
  }
  layout_.front_size = size;
}

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
    if (c.acts() || c.excess > 0 || c.end_count != 2 || massless(c.end[0]) == massless(c.end[1])) continue;
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

// Bodies that are round about an axis on which all their joints lie. Axes of the joints are tried, and the body's own.
void Model::find_rotors() {
  std::vector<std::vector<std::pair<const ConstraintInfo*, int>>> ends(links_.size());
  const auto attach = [&](const ConstraintInfo& c) {
    for (int e = 0; e < c.end_count; ++e)
      if (c.end[e] >= 0) ends[c.end[e]].push_back({&c, e});
  };
  for (const ConstraintInfo& c : constraints_)
    if (c.kind != JointKind::coupling) attach(c.rows == RowKind::combination ? reductions_[c.item].whole : c);
  for (const TermInfo& term : terms_) attach(term.measure);
  for (const LawInfo& law : laws_) attach(law.measure);
  for (std::size_t i = 0; i < links_.size(); ++i) {
    LinkInfo& link = links_[i];
    const Branch branch = branch_at(link.branch);
    const double body_axes[9] = {0, 0, 1, 0, 1, 0, 1, 0, 0};
    std::vector<const double*> candidates = {body_axes, body_axes + 3, body_axes + 6};
    for (int k = 0; k < link.axis_count; ++k)
      if (branch.own[k]) candidates.insert(candidates.begin(), link.direction + 3 * k);
    for (const double* axis : candidates) {
      if (!is_round(link.inertia, axis)) continue;
      const bool free = std::all_of(ends[i].begin(), ends[i].end(), [&](const auto& at) {
        const auto& [c, e] = at;
        return e == 0 ? is_blind(*c, c->anchor_a, c->frame_a, axis, layout_.reach)
                      : is_blind(*c, c->anchor_b, c->frame_b, axis, layout_.reach);
      });
      if (!free) continue;
      std::copy_n(axis, 3, link.spin);
      break;
    }
  }
}

}  // namespace catena
