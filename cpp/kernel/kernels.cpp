#include "kernel/kernels.hpp"

#include <stdexcept>

#include "base/processor.hpp"

namespace catena {

#define CATENA_DECLARE(isa)   \
  namespace isa {             \
  extern const Kernel kernel; \
  }
#ifdef CATENA_X86_V1
CATENA_DECLARE(v1)
#endif
#ifdef CATENA_X86_V3
CATENA_DECLARE(v3)
#endif
#ifdef CATENA_X86_V4
CATENA_DECLARE(v4)
#endif
#if !defined(CATENA_X86_V1) && !defined(CATENA_X86_V3) && !defined(CATENA_X86_V4)
#define CATENA_PLAIN
CATENA_DECLARE(plain)
#endif

std::vector<const Kernel*> usable_kernels() {
#ifdef CATENA_PLAIN
  return {&plain::kernel};
#else
  [[maybe_unused]] const int level = x86_level();
  std::vector<const Kernel*> list;
#ifdef CATENA_X86_V1
  list.push_back(&v1::kernel);
#endif
#ifdef CATENA_X86_V3
  if (level >= 3) list.push_back(&v3::kernel);
#endif
#ifdef CATENA_X86_V4
  if (level >= 4) list.push_back(&v4::kernel);
#endif
  return list;
#endif
}

const Kernel& find_kernel(const std::string& name) {
  std::string known;
  for (const Kernel* k : usable_kernels()) {
    if (name == k->name) return *k;
    known += std::string(known.empty() ? "" : ", ") + k->name;
  }
  throw std::invalid_argument("this machine has no kernel '" + name + "', only: " + known);
}

}  // namespace catena
