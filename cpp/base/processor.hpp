// Which level of x86-64 the processor and the operating system offer: 1, 3 or 4, as the ABI numbers them. Asked of the
// processor itself, since what compilers offer for it differs, and in part needs a library that is not always linked.
#pragma once

#ifdef __x86_64__
#include <cpuid.h>

namespace catena {

inline int x86_level() {
  struct Answer {
    unsigned a, b, c, d;
    bool all_c(unsigned bits) const { return (c & bits) == bits; }
    bool all_b(unsigned bits) const { return (b & bits) == bits; }
  };
  const auto ask = [](unsigned leaf) {
    Answer r = {0, 0, 0, 0};
    __get_cpuid_count(leaf, 0, &r.a, &r.b, &r.c, &r.d);
    return r;
  };

  // sse3, ssse3, fma, cmpxchg16b, sse4.1, sse4.2, movbe, popcnt, osxsave, avx, f16c; then lahf and lzcnt
  const unsigned basic = 1u << 0 | 1u << 9 | 1u << 12 | 1u << 13 | 1u << 19 | 1u << 20 | 1u << 22 | 1u << 23 |
                         1u << 27 | 1u << 28 | 1u << 29;
  if (!ask(1).all_c(basic) || !ask(0x80000001u).all_c(1u << 0 | 1u << 5)) return 1;

  // bmi, avx2, bmi2
  const Answer extended = ask(7);
  if (!extended.all_b(1u << 3 | 1u << 5 | 1u << 8)) return 1;

  // which registers the operating system saves: sse and avx, then the three parts of avx-512
  unsigned saved, upper;
  __asm__("xgetbv" : "=a"(saved), "=d"(upper) : "c"(0));
  if ((saved & 0x6u) != 0x6u) return 1;

  // avx-512 f, dq, cd, bw, vl
  const bool wide = extended.all_b(1u << 16 | 1u << 17 | 1u << 28 | 1u << 30 | 1u << 31) && (saved & 0xe0u) == 0xe0u;
  return wide ? 4 : 3;
}

}  // namespace catena
#endif
