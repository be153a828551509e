// One caller at a time: another thread, or a function of the user's that would step the mechanism it is called by, is
// told so.
#pragma once

#include <atomic>
#include <stdexcept>

namespace catena {

class InUse {
 public:
  explicit InUse(std::atomic<bool>& flag) : flag_(flag) {
    if (flag.exchange(true)) throw std::runtime_error("this live mechanism is in use: one step at a time");
  }
  ~InUse() { flag_ = false; }
  InUse(const InUse&) = delete;
  InUse& operator=(const InUse&) = delete;

 private:
  std::atomic<bool>& flag_;
};

}  // namespace catena
