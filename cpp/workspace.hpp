// The block of memory that a kernel works in.
#pragma once

#include <memory>
#include <new>

#include "model/spec.hpp"

namespace catena {

struct AlignedDelete {
  void operator()(char* p) const { ::operator delete[](p, std::align_val_t(64)); }
};
using Workspace = std::unique_ptr<char[], AlignedDelete>;

inline Workspace make_workspace(Offset size) { return Workspace(new (std::align_val_t(64)) char[size + 64]); }

}  // namespace catena
