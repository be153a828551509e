// What a run writes, one array behind the other in a block of memory. Views are made of those that are asked for: a run
// of a single step takes no longer than the making of all of them.
#pragma once

#include <initializer_list>
#include <utility>

#include "python/checks.hpp"

namespace catena {

class Sheet {
 public:
  struct Sizes {
    Offset steps, errors, records, bodies, rows, counters, inputs;  // errors of all steps, or of none
    Offset kept, checkpoint;  // nodes whose checkpoints are kept, and how many numbers one is
  };

  static Offset size_of(const Sizes& sizes) { return Sheet(sizes).carve(nullptr); }

  Sheet(const Sizes& sizes, const Out<-1>& block) : Sheet(sizes) {
    require_shape(block, {carve(nullptr)}, "the block that a run is written into");
    block_ = block;
    carve(block_.data());
  }

  void write_into(RunArgs& args) const {
    args.out_time = time_;
    args.out_position = position_;
    args.out_orientation = orientation_;
    args.out_velocity = velocity_;
    args.out_angular_velocity = angular_velocity_;
    args.out_multipliers = multipliers_;
    args.out_counted = counted_;
    args.out_inputs = inputs_;
    args.out_iterations = iterations_;
    args.out_pieces = pieces_;
    args.out_remainder = remainder_;
    args.out_error = sizes_.errors > 0 ? error_ : nullptr;
    args.out_checkpoint = checkpoint_;
    args.checkpoint_of_each = sizes_.kept > 1;
  }
  // so much of it is there
  void end(const RunArgs& args) {
    ended_ = args.status;
    tally_ = args.tally;
    has_checkpoint_ = args.has_checkpoint;
  }

  const Status& ended() const { return ended_; }
  const Tally& tally() const { return tally_; }
  nb::object time() const { return view(time_, {records()}); }
  nb::object position() const { return view(position_, {records(), length(sizes_.bodies), 3}); }
  nb::object orientation() const { return view(orientation_, {records(), length(sizes_.bodies), 4}); }
  nb::object velocity() const { return view(velocity_, {records(), length(sizes_.bodies), 3}); }
  nb::object angular_velocity() const { return view(angular_velocity_, {records(), length(sizes_.bodies), 3}); }
  nb::object multipliers() const { return view(multipliers_, {records(), length(sizes_.rows)}); }
  nb::object counted() const { return view(counted_, {records(), length(sizes_.counters)}); }
  nb::object inputs() const { return view(inputs_, {records(), length(sizes_.inputs)}); }
  nb::object iterations() const { return view(iterations_, {length(ended_.step)}); }
  nb::object pieces() const { return view(pieces_, {length(ended_.step)}); }
  nb::object remainder() const { return view(remainder_, {length(ended_.step)}); }
  nb::object error() const { return view(error_, {length(ended_.step)}); }
  // of the last node, or of each; none if the run could not tell
  nb::object checkpoint() const {
    if (!has_checkpoint_) return nb::none();
    return view(checkpoint_, {sizes_.kept > 1 ? records() : 1, length(sizes_.checkpoint)});
  }

 private:
  explicit Sheet(const Sizes& sizes) : sizes_(sizes) {}

  // where each of them begins, if there is a block; how many numbers they are
  Offset carve(double* block) {
    Offset used = 0;
    const auto take = [&](Offset count) {
      double* const at = block ? block + used : nullptr;
      used += count;
      return at;
    };
    // two of them stand in the place of a number
    const auto take_ints = [&](Offset count) { return reinterpret_cast<int*>(take((count + 1) / 2)); };
    const auto [steps, errors, records, bodies, rows, counters, inputs, kept, checkpoint] = sizes_;
    time_ = take(records);
    position_ = take(3 * bodies * records);
    orientation_ = take(4 * bodies * records);
    velocity_ = take(3 * bodies * records);
    angular_velocity_ = take(3 * bodies * records);
    multipliers_ = take(rows * records);
    counted_ = take(counters * records);
    inputs_ = take(inputs * records);
    checkpoint_ = take(checkpoint * kept);
    remainder_ = take(steps);
    error_ = take(errors);
    iterations_ = take_ints(steps);
    pieces_ = take_ints(steps);
    return used + 1;  // numpy wants an address even for nothing
  }

  static std::size_t length(Offset count) { return static_cast<std::size_t>(count); }
  std::size_t records() const { return length(ended_.records); }
  template <class T>
  nb::object view(T* numbers, std::initializer_list<std::size_t> shape) const {
    const nb::capsule owner(new Out<-1>(block_), [](void* p) noexcept { delete static_cast<Out<-1>*>(p); });
    return nb::ndarray<nb::numpy, T>(numbers, shape, owner).cast();
  }

  Sizes sizes_;
  Out<-1> block_;
  Status ended_ = {};
  Tally tally_ = {};
  bool has_checkpoint_ = false;
  double *time_ = nullptr, *position_ = nullptr, *orientation_ = nullptr, *velocity_ = nullptr,
         *angular_velocity_ = nullptr, *multipliers_ = nullptr, *counted_ = nullptr, *inputs_ = nullptr,
         *checkpoint_ = nullptr, *remainder_ = nullptr, *error_ = nullptr;
  int *iterations_ = nullptr, *pieces_ = nullptr;
};

}  // namespace catena
