#include "python/equations.hpp"

#include <algorithm>
#include <cmath>

namespace catena {

using namespace nb::literals;

namespace {

template <class Array>
auto copied(const Array& array) {
  return std::vector(array.data(), array.data() + array.size());
}

// an array of doubles as it is, or as numpy makes one of it
ConstDoubles doubles(const nb::object& given, const char* what) {
  ConstDoubles found;
  if (nb::try_cast(given, found, false)) return found;
  const nb::object made = nb::module_::import_("numpy").attr("ascontiguousarray")(given, "dtype"_a = "d");
  if (!nb::try_cast(made, found, false)) throw nb::value_error(what);
  return found;
}

}  // namespace

TreeEquations::TreeEquations(const Core& core, const InInts<-1, 2>& inputs, const InInts<-1>& laws,
                             const InInts<-1>& terms, const InInts<-1, 2>& moves, const InInts<-1>& selected,
                             const In<-1, 3>& position, const In<-1, 4>& orientation)
    : core_(&core),
      layout_(core.layout_for(SolverKind::articulated)),
      inputs_(copied(inputs)),
      laws_(copied(laws)),
      terms_(copied(terms)),
      moves_(copied(moves)),
      selected_(copied(selected)),
      described_position_(copied(position)),
      described_orientation_(copied(orientation)),
      space_(make_workspace(core.kernel().dynamics_size(layout_))) {
  const auto n = static_cast<Offset>(layout_.link_count);
  require_shape(position, {n, 3}, "position");
  require_shape(orientation, {n, 4}, "orientation");
  require_size(laws, layout_.law_count, "what forces measure");
  require_size(terms, core.term_count(), "what couplings measure");
  require(layout_.signal_count == 0, "functions of time are not known here");
  std::vector<int> coordinate(6 * static_cast<std::size_t>(n));
  const DynamicsShape shape = core.kernel().dynamics_shape(layout_, space_.get(), coordinate.data());
  freedoms_ = shape.freedoms;
  rows_ = shape.rows;
  for (int l = 0; l < layout_.law_count; ++l)
    require(layout_.law[l].inertia == 0 || layout_.law[l].link >= 0, "rotors must turn with freedoms of the tree");
  for (const int k : selected_) require_between(k, 0, freedoms_ - 1, "a freedom");
  require(rows_ > 0 || selected_.size() == static_cast<std::size_t>(freedoms_), "trees have all of their freedoms");
  for (const int k : laws_) require_between(k, -1, layout_.coordinate_count - 1, "what a force measures");
  for (const int k : terms_) require_between(k, -1, layout_.coordinate_count - 1, "what a coupling measures");
  for (std::size_t k = 0; k < moves_.size(); k += 2) {
    require_between(moves_[k], -1, layout_.coordinated_count - 1, "the joint of a move");
    require_between(moves_[k + 1], 0, n - 1, "the body of a move");
  }
  for (std::size_t k = 0; k < inputs_.size(); k += 2) {
    require_between(inputs_[k], 0, layout_.law_count - 1, "the law of an input");
    require_between(inputs_[k + 1], 0, law_size - 1, "the number of an input");
  }
}

void TreeEquations::count_turns(Offset pose, const double* coordinates) {
  for (std::size_t k = 0; k < laws_.size(); ++k)
    law_start_[pose * laws_.size() + k] = laws_[k] < 0 ? 0 : coordinates[laws_[k]];
  for (std::size_t k = 0; k < terms_.size(); ++k)
    term_start_[pose * terms_.size() + k] = terms_[k] < 0 ? 0 : coordinates[terms_[k]];
}

// s between instants at which rows are looked at, in which no body turns by more than 0.01 rad (dynamics/equations.py)
double TreeEquations::instant_of(const DynamicsArgs& args) const {
  double spread = 0, fastest = 0, turning = 0;
  for (int axis = 0; axis < 3; ++axis) {
    double low = args.position[axis], high = low;
    for (int i = 0; i < layout_.link_count; ++i) {
      const Offset k = 3L * i + axis;
      low = std::min(low, args.position[k]);
      high = std::max(high, args.position[k]);
      turning = std::max(turning, std::abs(args.angular_velocity[k]));
      fastest = std::max(fastest, std::abs(args.velocity[k]));
    }
    spread = std::max(spread, high - low);
  }
  const double rate = std::max(turning, fastest / (spread > 0 ? spread : 1));
  return rate > 0 ? 0.01 / rate : 0;
}

nb::object TreeEquations::find(Asked asked, const nb::object& x, const nb::object& given, bool passive,
                               bool actuators) {
  DynamicsArgs args{.count = 1,
                    .term_count = static_cast<int>(terms_.size()),
                    .input_count = static_cast<int>(inputs_.size() / 2),
                    .input_place = inputs_.data(),
                    .passive = passive,
                    .actuators = actuators,
                    .numbered = numbered_};
  Live* live = nullptr;
  if (nb::try_cast(x, live, false) && live) {
    if (live->serial() != admitted_) return nb::none();
    // mass matrix and efforts of loops need more
    if (rows_ > 0 && asked != Asked::accelerations && asked != Asked::bodies) return nb::none();
    const bool turns = !laws_.empty() || !terms_.empty();
    const Live::View node = live->view(turns);
    if (turns) {
      law_start_.resize(laws_.size());
      term_start_.resize(terms_.size());
      count_turns(0, node.coordinates);
    }
    args.position = node.position;
    args.orientation = node.orientation;
    args.velocity = node.velocity;
    args.angular_velocity = node.angular_velocity;
    args.inputs = node.inputs;
    if (rows_ > 0) args.instant = instant_of(args);
    if (asked == Asked::bodies) return bodies(args, *live);
    return answer(asked, args, {}, given);
  }
  if (rows_ > 0 || freedoms_ != layout_.coordinate_count) return nb::none();
  if (!PyTuple_CheckExact(x.ptr()) || PyTuple_GET_SIZE(x.ptr()) != 2) return nb::none();
  return of_coordinates(asked, nb::borrow(PyTuple_GET_ITEM(x.ptr(), 0)), nb::borrow(PyTuple_GET_ITEM(x.ptr(), 1)),
                        given, args);
}

nb::object TreeEquations::bodies(DynamicsArgs& args, Live& live) {
  const auto n = static_cast<std::size_t>(layout_.link_count);
  const std::optional<Matrix6> loads = live.loads();
  if (loads) args.loads = loads->data();
  args.law_start = law_start_.data();
  args.term_start = term_start_.data();
  found_.resize(freedoms_);
  args.answers = found_.data();
  auto* out = new double[6 * n];
  const nb::capsule owner(out, [](void* p) noexcept { delete[] static_cast<double*>(p); });
  args.links = out;
  core_->kernel().dynamics(layout_, space_.get(), args);
  numbered_ = true;
  // at a singular pose, the caller finds them in another way
  if (rows_ > 0 && !all_finite(found_.data(), found_.size())) return nb::none();
  return nb::cast(nb::ndarray<nb::numpy, double>(out, {2, n, 3}, owner));
}

nb::object TreeEquations::of_coordinates(Asked asked, const nb::object& coordinates, const nb::object& rates,
                                         const nb::object& given, DynamicsArgs& args) {
  ConstDoubles q, r;
  // what is no such pair is refused by the caller, who has the words
  if (!nb::try_cast(coordinates, q, false) || !nb::try_cast(rates, r, false)) return nb::none();
  if (q.ndim() == 0 || q.ndim() != r.ndim() || q.shape(q.ndim() - 1) != static_cast<std::size_t>(freedoms_))
    return nb::none();
  for (std::size_t k = 0; k < q.ndim(); ++k)
    if (q.shape(k) != r.shape(k)) return nb::none();
  if (!all_finite(q.data(), q.size()) || !all_finite(r.data(), r.size())) return nb::none();
  const std::size_t n = layout_.link_count, count = freedoms_ > 0 ? q.size() / freedoms_ : 0;
  std::vector<std::size_t> axes;
  for (std::size_t k = 0; k + 1 < q.ndim(); ++k) axes.push_back(q.shape(k));
  position_.resize(3 * n * count);
  orientation_.resize(4 * n * count);
  velocity_.assign(3 * n * count, 0);
  spin_.assign(3 * n * count, 0);
  law_start_.resize(laws_.size() * count);
  term_start_.resize(terms_.size() * count);
  for (std::size_t k = 0; k < count; ++k) {
    std::copy(described_position_.begin(), described_position_.end(), position_.begin() + 3 * n * k);
    std::copy(described_orientation_.begin(), described_orientation_.end(), orientation_.begin() + 4 * n * k);
    count_turns(k, q.data() + k * freedoms_);
  }
  core_->kernel().place(layout_, {.count = static_cast<long>(count),
                                  .move_count = static_cast<int>(moves_.size() / 2),
                                  .move = moves_.data(),
                                  .coordinate = q.data(),
                                  .rate = r.data(),
                                  .position = position_.data(),
                                  .orientation = orientation_.data(),
                                  .velocity = velocity_.data(),
                                  .angular_velocity = spin_.data()});
  args.count = static_cast<Offset>(count);
  args.position = position_.data();
  args.orientation = orientation_.data();
  args.velocity = velocity_.data();
  args.angular_velocity = spin_.data();
  return answer(asked, args, axes, given);
}

nb::object TreeEquations::answer(Asked asked, DynamicsArgs& args, const std::vector<std::size_t>& axes,
                                 const nb::object& given) {
  const auto f = selected_.size(), count = static_cast<std::size_t>(args.count);
  if (!given.is_none()) {
    const ConstDoubles numbers = doubles(given, "accelerations and efforts must be arrays of numbers");
    // the caller has the words for what is not like that
    if (numbers.ndim() == 0 || numbers.shape(numbers.ndim() - 1) != f || !all_finite(numbers.data(), numbers.size()))
      return nb::none();
    const bool is_one = numbers.size() == f, is_each = numbers.size() == f * count && numbers.ndim() == axes.size() + 1;
    if (!is_one && !is_each) return nb::none();
    if (is_one && numbers.ndim() > axes.size() + 1) return nb::none();
    given_.resize(f * count);
    for (std::size_t k = 0; k < count; ++k)
      std::copy(numbers.data() + (is_each ? k * f : 0), numbers.data() + (is_each ? (k + 1) * f : f),
                given_.begin() + k * f);
    if (rows_ > 0) {
      found_.assign(freedoms_, 0);
      for (std::size_t k = 0; k < f; ++k) found_[selected_[k]] = given_[k];
      given_ = found_;
    }
    (asked == Asked::efforts ? args.accelerations : args.exerted) = given_.data();
  }
  args.law_start = law_start_.data();
  args.term_start = term_start_.data();
  std::vector<std::size_t> shape = axes;
  shape.push_back(f);
  if (asked == Asked::mass) shape.push_back(f);
  const std::size_t size = count * f * (asked == Asked::mass ? f : 1);
  auto* out = new double[size > 0 ? size : 1];
  const nb::capsule owner(out, [](void* p) noexcept { delete[] static_cast<double*>(p); });
  (asked == Asked::mass      ? args.mass
   : asked == Asked::rates   ? args.rates
   : asked == Asked::efforts ? args.efforts
                             : args.answers) = out;
  if (rows_ > 0) {
    found_.resize(freedoms_);
    args.answers = found_.data();
  }
  core_->kernel().dynamics(layout_, space_.get(), args);
  numbered_ = true;
  // at a singular pose, the caller has the words
  if (rows_ > 0 && !all_finite(found_.data(), found_.size())) return nb::none();
  for (std::size_t k = 0; k < f && rows_ > 0; ++k) out[k] = found_[selected_[k]];
  return nb::cast(nb::ndarray<nb::numpy, double>(out, shape.size(), shape.data(), owner));
}

}  // namespace catena
