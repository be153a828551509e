// The mechanism as the kernels see it: integers and constants in elimination order, built once, never changed,
// shared by every thread. Plain data and raw pointers only, so that kernels instantiate no library templates.
//
// Links are the bodies numbered depth first from the world, so a parent always comes before its children and a chain
// is a run of consecutive numbers. Each link hangs on its parent by one tree joint (or floats: kind free). Constraints
// are all joints but the free ones, tree joints and loop closures alike, in the user's order: the LDU and dense
// solvers see only these.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "model/spec.hpp"

namespace catena {

struct LinkInfo {
  int body;        // the user's index
  int parent;      // link, -1 is the world
  int joint;       // the user's joint that carries it, -1 if it floats
  JointKind kind;  // of that joint
  bool flipped;    // the link is the joint's body a, its parent body b
  int branch;      // see branch_number
  int tree_end;    // for the root of a tree: one past its last link
  int keeper;      // for the root of a floating tree: the root that keeps the momentum of all trees that loops tie
                   // together, -1 if they are tied to the world
  int variable;    // offset of the joint's unknowns in the articulated solver
  double mass;
  double unit, share;                   // mass = unit share (physics/body.hpp)
  double inertia[6];                    // xx yy zz xy xz yz
  double like_mass, like_trace;         // of a massless body: mass and trace of the inertia of the nearest other
  double anchor[3];                     // joint point in the link's frame
  double parent_anchor[3];              // joint point in the parent's frame
  double direction[3 * most_freedoms];  // of its freedoms, in its own frame or the parent's, as `branch` says
  double parameter;                     // of a screw, m per rad
  int first_axis, axis_count;           // freedoms eliminated one by one: all but those of balls and of floating links
  double gravity[3];
  double damping;  // of the rotary damper in a ball joint to another link (physics/rotary.hpp)
  double spin[3];  // axis of a rotor, zero for other bodies: turns about it change neither its inertia nor its joints
};
void set_mass(LinkInfo& link, double mass);
// whether turns about a unit axis leave an inertia (xx yy zz xy xz yz) as it is
bool is_round(const double* inertia, const double* axis);

// Rows on a number of ends: two for a joint or a force, two per term for a coupling. A body may be several of them.
constexpr int most_ends = 12;
constexpr int most_terms = most_ends / 2;

struct ConstraintInfo {
  int joint;  // the user's index, couplings after the joints; -1 for a force
  JointKind kind;
  int end_count;
  int end[most_ends];  // links, -1 is the world; a joint's a and b
  int link;            // the link that hangs on it, or on whose freedoms the force acts; -1 for a loop closure
  int loop, loop_row;  // for a loop closure: which one, and its first row among those of all loop closures
  int row, row_count;
  RowKind rows;      // what they are made of
  int item;          // of these: the first term, the law, the combination, or the user's function
  int recorded;      // its first row among those recorded, which are all rows of all joints in the user's order; -1 if
                     // they are not
  int redundant;     // of a loop closure: redundant directions among its rows
                     // (solve/loops/regularised_inverse.hpp)
  unsigned lengths;  // bit k: row k is measured in metres, or else in radians
  bool tied;         // of a coupling: it is one of `tie`, and no loop passes through a link because of it
  int signal;        // first of the values its rows are to take, -1 for none
  int ground;        // first of seven signals, the pose of the world's side, -1 if the world stands still
  int borrower;      // of a loop closure: the end that is a massless body and the other is not, -1 if there is none
  double lent;       // parts of the other body's inertia along one row that are lent to it (solve/loops.hpp)
  double anchor_a[3], anchor_b[3];
  double frame_a[9], frame_b[9];  // columns: joint frame axes in the body's frame
  double parameter;

  // a force in the guise of rows, or a stop: it need not hold anything
  bool acts() const { return rows == RowKind::law || rows == RowKind::rotary || rows == RowKind::stop; }
};

// fewer rows than the joint has, each a constant combination of them
struct ReductionInfo {
  ConstraintInfo whole;    // the joint with all its rows
  double combination[36];  // (row, row of the joint), orthonormal where gaps are measured by `weight`
  double weight[6];        // (row of the joint): m or rad
};

// a coupling is coefficient x measure, summed
struct TermInfo {
  ConstraintInfo measure;
  double coefficient;
};

// a coupling of freedoms of links that hang on the same one, each on its only freedom (solve/ties.hpp)
struct TieInfo {
  int constraint;
  int parent;  // link, -1 is the world
  int count, link[most_terms];
  double coefficient[most_terms];  // of the freedoms of the links
};

// pairs of shapes that may touch, whose contacts are hard stops, one after the other
struct ShapePairs {
  const void* scene = nullptr;  // what the kernel has made of the shapes (physics/shapes/scene.hpp)
  int pair_count = 0;
  const int* first_stop = nullptr;
  const int* slot_count = nullptr;
};

struct LawInfo : Law {
  int constraint;                   // whose row it is, -1 if it acts at the nodes only
  int target_signal, force_signal;  // in place of the constants, -1 for none
  int link, axis;                   // the freedom of the tree that it measures, -1 if it is none
  int stop;                         // which hard stop it is, -1 if it is none
  double sign;                      // of the measure, if the freedom grows
  ConstraintInfo measure;           // last, as laws on freedoms of the tree are read without it in every step
};

// The user's own rows: gaps (row) and their gradients (row, 12) against displacement and turn of a and b, from the
// poses (14) of a and b, positions and quaternions; a velocity constraint fills the gradients only. Failure is NaN.
struct RowHook {
  void (*call)(void* context, int hook, const double* poses, double* gap, double* gradient) = nullptr;
  void* context = nullptr;
};

// The loops that pass through a link, as columns (solve/loop.hpp): first those that go on to the parent, then those
// that close here, at the lowest common ancestor of their two ends. The front after the last link is the world's.
struct FrontInfo {
  int columns, outgoing, stride;  // stride: columns rounded up
  int redundant;                  // redundant directions among the closing rows
  int freedoms;                   // of the link's joint
  Offset carried, kept, dropped;  // in the workspace: what goes on to the parent, what serves for the way back, and
                                  // what cannot be asked for
  int first_column;               // in `column_row`, the loop row of every column, and `column_map`, its parent column
  int first_end, end_count;       // loop closures attached to the link
  int first_tie, tie_count;       // of links that hang on it
  bool stops;                     // loops close or sit here, or there are ties
  bool opens;                     // loops close here, or there are ties
  bool same_columns;              // the parent has the same columns in the same order
  bool shares;                    // all its columns come from the first child that sends, which carries them here
};
struct LoopEnd {
  int loop, column;
  int end;  // which of the constraint's ends
};

// One vertex of the block LDU: a link (six unknowns) or a constraint (its rows). Blocks are stored as rows of eight
// doubles; offsets count such rows. A vertex's later neighbours are the vertices it still touches when it is
// eliminated, fill included; update targets are where the products L D^-1 U go, for every ordered pair of later
// neighbours.
struct LduVertex {
  int is_body, index, size, unknown;  // unknown: offset in the vector of unknowns
  int diagonal;
  int first_neighbour, neighbour_count;
  int first_target;  // neighbour_count^2 entries
  int arrivals;      // so many vertices, in the order of `arrival`, are touched before or when this one is eliminated
};
struct LduNeighbour {
  int vertex, size;
  int lower, upper;  // blocks (neighbour, vertex) and (vertex, neighbour)
};
// where the blocks of a constraint and one of its ends lie, for assembly; -1 for the world
struct LduSlot {
  int force;    // block (body, constraint), as the elimination finds it
  int kept;     // the same, constant during a step: elsewhere, if the elimination writes where it finds it
  int motion;   // block (constraint, body)
  int vertex;   // of the constraint
  bool repeat;  // an earlier end of the constraint is on the same body
};

// a joint with the first of its coordinates, and the first counter of its turns
struct CoordinatedInfo {
  ConstraintInfo joint;
  int coordinate, counter;
};

struct Layout {
  int link_count, constraint_count, row_count, variable_count, joint_count;
  int axis_count;          // freedoms that are eliminated one by one
  int recorded_count;      // rows of the record of multipliers
  int coupling_count;      // of the `joint_count`, which come last
  bool has_inactive_rows;  // some of them belong to no constraint
  bool has_threads;        // some link moves along a screw
  double span;             // typical distance between a body's centre and its joints (m), 1 if there is none
  const LinkInfo* link;
  const double* drag;  // (link, 6) along and about its axes (physics/drag.hpp), null if there is none
  int rotary_count;
  const int* rotary;  // (rotary damper) -> constraint
  const ConstraintInfo* constraint;
  const int* joint_constraint;  // (joint) -> constraint or -1
  const int* body_link;         // (body) -> link
  int law_count;
  const LawInfo* law;
  int free_law_count;         // of laws that measure no freedom of the tree, stops not counted
  int axis_law_count;         // of those that do
  const int* first_axis_law;  // (axis + 1) in `axis_law`, the laws on every freedom of the tree
  const int* axis_law;
  int stop_count;
  const int* stop;  // (hard stop) -> law
  ShapePairs shapes;
  int term_count;  // of all couplings, inactive ones too
  const TermInfo* term;
  int tie_count;
  const TieInfo* tie;  // by the parent, the world last
  int reduction_count;
  const ReductionInfo* reduction;
  int inactive_count;  // joints without active rows
  const ConstraintInfo* inactive;
  double loop_tolerance;  // what redundant joints may disagree by: rad, or parts of `span`
  int counter_count;
  const ConstraintInfo* counter;  // joint angles whose turns can be counted
  // joints that have coordinates, in the user's order
  int coordinated_count, coordinate_count;
  const CoordinatedInfo* coordinated;
  int signal_count;
  RowHook hook;

  // loops of the articulated solver
  double articulated_work;         // multiplications of one iteration
  int loop_count, loop_row_count;  // rows of all loop closures
  const int* loop;                 // (loop) -> constraint
  int law_row_count;               // of them, those of forces and stops
  Offset front_size;               // numbers in all fronts
  int largest_closing;             // most rows closed at one link
  double largest_inversion;        // most multiplications that inverting those of one link takes
  int redundant;                   // redundant directions among all loop rows
  bool lends;                      // some loop closures do
  const FrontInfo* front;          // (link + 1)
  const LoopEnd* end;
  const int *column_row, *column_map;

  // block LDU; vertex of link i and of constraint j, then the elimination program: none until it is asked for
  double ldu_work;  // multiplications of one factorisation
  int vertex_count, block_rows;
  int first_fill, end_fill;  // block rows between them are of fill alone
  const LduVertex* vertex;
  const LduNeighbour* neighbour;
  const int *target, *arrival;
  const int *link_vertex, *constraint_vertex;
  const int* first_slot;  // (constraint) in `slot`, one for each end
  const LduSlot* slot;
  bool braced;             // some constraints are
  const int* first_brace;  // (constraint) in `brace`, blocks of its ends by its ends, -1 if it is not braced
  const int* brace;
  const int* first_load;  // (link + 1) in `load`, the slots of its constraints without repeats
  const int* load;
};

// columns of the rotation matrix of a unit quaternion
void rotation_columns(const double* q, double* m);

// a joint's constants, links not yet known
ConstraintInfo constraint_of(const Pair& pair);

// what follows from where a joint or measure sits: of rows, and of the link that hangs on a joint
void put_at(ConstraintInfo& c, const Pair& place);
void hang(LinkInfo& link, const Pair& joint);
// of joints and laws from the centres of their bodies (m), 1 if there is none
double typical_arm(const Layout& layout);
// axes of links that are rotors
void find_rotors(const Layout& layout, LinkInfo* link);

// where all ends of a constraint meet on their way up: a link, or -1 for the world
int meeting_link(const LinkInfo* link, const ConstraintInfo& c);

struct Elimination;
class EliminationProgram;

// owns what Layout points to
class Model {
 public:
  explicit Model(const Spec& spec);
  ~Model();
  Model(const Model&) = delete;
  Model& operator=(const Model&) = delete;
  const Layout& layout() const { return layout_; }
  const Elimination& elimination() const { return *elimination_; }
  // pairs of shapes: the first law of each, how many follow it, and what the kernel knows of their shapes
  void furnish(const void* scene, const std::vector<int>& first_law, const std::vector<int>& slot_count);
  // the layout with the program of the block LDU, which is made when it is first asked for, by any thread
  const Layout& with_elimination() const;

 private:
  void build_tree(const Spec& spec);
  void build_constraints(const Spec& spec);
  ConstraintInfo placed(const Pair& pair) const;
  void add_constraint(ConstraintInfo c);
  void reduce(ConstraintInfo& c, const RowSelection& selection);
  bool tie(const CouplingSpec& coupling, const std::vector<int>& carried);
  void add_rotary(const JointSpec& joint, int carried);
  void add_law_row(int l, RowKind rows);
  void add_stops();
  void find_coordinates(const Spec& spec);
  void build_loops();
  void find_lenders();
  void find_neighbours_with_mass();

  Layout layout_{};
  std::vector<LinkInfo> links_;
  std::vector<double> drag_;
  std::vector<int> rotaries_;
  std::vector<ConstraintInfo> constraints_;
  std::vector<int> joint_constraint_;
  std::vector<int> body_link_;
  std::vector<LawInfo> laws_;
  std::vector<int> first_axis_law_, axis_law_;
  std::vector<int> stops_;
  std::vector<int> first_stop_, slot_count_;
  std::vector<TermInfo> terms_;
  std::vector<TieInfo> ties_;
  std::vector<char> in_tie_;  // (link)
  std::vector<ReductionInfo> reductions_;
  std::vector<ConstraintInfo> inactive_;
  std::vector<ConstraintInfo> counters_;
  std::vector<CoordinatedInfo> coordinated_;
  std::vector<FrontInfo> fronts_;
  std::vector<LoopEnd> ends_;
  std::vector<int> loops_;
  std::vector<int> column_row_, column_map_;
  std::unique_ptr<const Elimination> elimination_;
  mutable std::once_flag made_;
  mutable std::unique_ptr<const EliminationProgram> program_;
};

}  // namespace catena
