// Many things of the same kind, done by several threads: each takes a part, then another.
#pragma once

#include <algorithm>
#include <atomic>

#include "base/offset.hpp"
#include "base/thread_pool.hpp"

namespace catena {

// so many at a time; fewer than that are not worth a thread
constexpr Offset part_size = 64;

// work(first, end) of parts of (0 ... count), on so many threads
template <class Work>
void in_parts(int threads, Offset count, Work&& work) {
  const Offset parts = (count + part_size - 1) / part_size;
  const int useful = static_cast<int>(std::min<Offset>(threads, parts));
  if (useful <= 1) return work(Offset{0}, count);
  std::atomic<Offset> next{0};
  ThreadPool(useful).run(
      [&](int) {
        for (Offset first; (first = next.fetch_add(part_size)) < count;)
          work(first, std::min(first + part_size, count));
      },
      [] {});
}

}  // namespace catena
