// A vector made of numbers of one or two others, chosen by constants: I counts through a, then through b.
#pragma once

#include "base/isa.hpp"

namespace catena::CATENA_ISA {

template <int... I, class V>
CATENA_INLINE V shuffle(V a, V b) {
  static_assert(sizeof...(I) == sizeof(V) / sizeof(double));
#if defined(__clang__) || __GNUC__ >= 12
  return __builtin_shufflevector(a, b, I...);
#else
  typedef long long Places __attribute__((vector_size(sizeof(V))));
  return __builtin_shuffle(a, b, Places{I...});
#endif
}
template <int... I, class V>
CATENA_INLINE V shuffle(V a) {
  return shuffle<I...>(a, a);
}

}  // namespace catena::CATENA_ISA
