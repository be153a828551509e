#include "model/layout.hpp"

#include <algorithm>

#include "model/elimination.hpp"
#include "model/graph.hpp"

namespace catena {

void set_mass(LinkInfo& link, double mass) {
  link.mass = mass;
  link.unit = mass > 0 ? mass : 1;
  link.share = mass > 0 ? 1 : 0;
}

void hang(LinkInfo& link, const Pair& joint) {
  std::copy_n(link.flipped ? joint.anchor_a : joint.anchor_b, 3, link.anchor);
  std::copy_n(link.flipped ? joint.anchor_b : joint.anchor_a, 3, link.parent_anchor);
  double own[9], above[9];
  rotation_columns(link.flipped ? joint.frame_a : joint.frame_b, own);
  rotation_columns(link.flipped ? joint.frame_b : joint.frame_a, above);
  const Branch branch = branch_of(link.kind, link.flipped);
  for (int k = 0; k < branch.count; ++k)
    std::copy_n((branch.own[k] ? own : above) + 3 * branch.axis[k], 3, link.direction + 3 * k);
  link.parameter = joint.parameter;
}

Model::Model(const Spec& spec) {
  build_tree(spec);
  build_constraints(spec);
  build_loops();
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
  layout_.axis_law_count = static_cast<int>(axis_law_.size());
  layout_.stop_count = static_cast<int>(stops_.size());
  layout_.stop = stops_.data();
  layout_.touch_count = static_cast<int>(touches_.size());
  layout_.touch = touches_.data();
  layout_.first_touch = first_touch_.data();
  layout_.lone_touch = lone_touch_.data();
  layout_.free_law_count = layout_.law_count - layout_.axis_law_count - layout_.stop_count;
  layout_.first_axis_law = first_axis_law_.data();
  layout_.axis_law = axis_law_.data();
  layout_.coupling_count = static_cast<int>(spec.coupling.size());
  layout_.term_count = static_cast<int>(terms_.size());
  layout_.term = terms_.data();
  layout_.tie_count = static_cast<int>(ties_.size());
  layout_.tie = ties_.data();
  layout_.reduction_count = static_cast<int>(reductions_.size());
  layout_.reduction = reductions_.data();
  layout_.inactive_count = static_cast<int>(inactive_.size());
  layout_.inactive = inactive_.data();
  layout_.loop_tolerance = spec.loop_tolerance;
  layout_.counter_count = static_cast<int>(counters_.size());
  layout_.counter = counters_.data();
  layout_.coordinated_count = static_cast<int>(coordinated_.size());
  layout_.coordinated = coordinated_.data();
  layout_.front = fronts_.data();
  layout_.end = ends_.data();
  layout_.loop = loops_.data();
  layout_.column_row = column_row_.data();
  layout_.column_map = column_map_.data();
  layout_.span = typical_arm(layout_);
  find_rotors(layout_, links_.data());
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
      hang(link, joint);
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

}  // namespace catena
