// The block of memory that a kernel works in.
#pragma once

#include <memory>
#include <new>
#include <string>

#include "base/offset.hpp"

namespace catena {

struct AlignedDelete {
  void operator()(char* p) const { ::operator delete[](p, std::align_val_t(64)); }
};
using Workspace = std::unique_ptr<char[], AlignedDelete>;

// memory that cannot be had, with a sentence for Python's MemoryError
class NoMemory : public std::bad_alloc {
 public:
  explicit NoMemory(Offset size)
      : sentence_("a workspace of " + std::to_string((size >> 20) + 1) + " MiB is needed, which the system has not") {}
  const char* what() const noexcept override { return sentence_.c_str(); }

 private:
  std::string sentence_;
};

inline Workspace make_workspace(Offset size) {
  try {
    return Workspace(new (std::align_val_t(64)) char[size + 64]);
  } catch (const std::bad_alloc&) {
    throw NoMemory(size);
  }
}

}  // namespace catena
