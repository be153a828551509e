// What a run writes, one array behind the other in a block of memory (args/records.hpp). Views are made of those that
// are asked for: a run of a single step takes no longer than the making of all of them.
#pragma once

#include <type_traits>
#include <vector>

#include "python/checks.hpp"

namespace catena {

class Recording {
 public:
  struct Sizes : RecordSizes {
    Offset kept = 0, checkpoint = 0;  // nodes whose checkpoints are kept, and how many numbers one is
  };

  static Offset size_of(const Sizes& sizes) { return Recording(sizes).carve(nullptr); }

  Recording(const Sizes& sizes, const Out<-1>& block) : Recording(sizes) {
    require_shape(block, {carve(nullptr)}, "the block that a run is written into");
    block_ = block;
    carve(block_.data());
  }

  void write_into(RunArgs& args) const {
    args.out = out_;
    args.out_checkpoint = checkpoint_;
    args.checkpoint_of_each = sizes_.kept > 1;
  }
  // so much of it is there
  void end(const RunArgs& args, const std::vector<Impact>& impacts) {
    impacts_ = impacts;
    ended_ = args.status;
    tally_ = args.tally;
    has_checkpoint_ = args.has_checkpoint;
  }

  const Status& ended() const { return ended_; }
  const Tally& tally() const { return tally_; }
  const std::vector<Impact>& impacts() const { return impacts_; }
  // one of the table, by its place there
  nb::object record(int wanted) const {
    nb::object found = nb::none();
    int k = 0;
    visit_records(
        [&](const RecordInfo& info, auto* numbers) {
          if (k++ != wanted) return;
          if (!numbers) return;
          std::vector<std::size_t> shape = {length(info.per == Per::node ? ended_.records : ended_.step)};
          if (info.of != Of::all) shape.push_back(length(sizes_.entries(info.of)));
          if (info.width > 1) shape.push_back(length(info.width));
          found = view(numbers, shape);
        },
        out_);
    return found;
  }
  // of the last node, or of each; none if the run could not tell
  nb::object checkpoint() const {
    if (!has_checkpoint_) return nb::none();
    return view(checkpoint_, {sizes_.kept > 1 ? length(ended_.records) : 1, length(sizes_.checkpoint)});
  }

 private:
  explicit Recording(const Sizes& sizes) : sizes_(sizes) {}

  // where each of them begins, if there is a block; how many numbers they are
  Offset carve(double* block) {
    Offset used = 0;
    const auto take = [&]<class T>(T*& to, Offset count) {
      to = block ? reinterpret_cast<T*>(block + used) : nullptr;
      used += (count * static_cast<Offset>(sizeof(T)) + 7) / 8;
    };
    visit_records(
        [&](const RecordInfo& info, auto*& to) {
          take(to, sizes_.numbers(info));
          if (sizes_.length(info.per) == 0 && info.per == Per::estimate) to = nullptr;
        },
        out_);
    take(checkpoint_, sizes_.checkpoint * sizes_.kept);
    return used + 1;  // numpy wants an address even for nothing
  }

  static std::size_t length(Offset count) { return static_cast<std::size_t>(count); }
  template <class T>
  nb::object view(T* numbers, const std::vector<std::size_t>& shape) const {
    const nb::capsule owner(new Out<-1>(block_), [](void* p) noexcept { delete static_cast<Out<-1>*>(p); });
    return nb::ndarray<nb::numpy, T>(numbers, shape.size(), shape.data(), owner).cast();
  }

  Sizes sizes_;
  Out<-1> block_;
  Status ended_ = {};
  Tally tally_ = {};
  std::vector<Impact> impacts_;
  bool has_checkpoint_ = false;
  Outputs out_;
  double* checkpoint_ = nullptr;
};

}  // namespace catena
