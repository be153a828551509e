// Arrays carved out of one block of memory, for whatever works in it.
#pragma once

#include "base/isa.hpp"

namespace catena::CATENA_ISA {

namespace {

// carves 64-byte aligned arrays out of one block; with no block it only counts
struct Arena {
  char* at;
  long used = 0;

  template <class T>
  T* take(long count) {
    T* p = reinterpret_cast<T*>(at + used);
    used += (count * static_cast<long>(sizeof(T)) + 63) / 64 * 64;
    return at ? p : nullptr;
  }
};

}  // namespace

}  // namespace catena::CATENA_ISA
