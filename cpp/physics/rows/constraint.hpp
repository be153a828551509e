// Every constraint as rows on its ends: before the step, where they are directions of forces, and after it, where they
// must vanish. The kinds are in the files of this folder, each with the verbs of rows/kind.hpp.
#pragma once

#include "physics/rows/combination.hpp"
#include "physics/rows/coupling.hpp"
#include "physics/rows/custom_velocity.hpp"
#include "physics/rows/law.hpp"
#include "physics/rows/rolling.hpp"
#include "physics/rows/rotary.hpp"
#include "physics/rows/stop.hpp"
#include "physics/rows/touch.hpp"

namespace catena::CATENA_ISA {

// the table of kinds: a constraint's verbs
template <class Use>
CATENA_INLINE auto with_rows(RowKind kind, Use&& use) {
  switch (kind) {
    case RowKind::joint: return use(PlainRows{});
    case RowKind::ground: return use(GroundRows{});
    case RowKind::rolling: return use(RollingRows{});
    case RowKind::custom: return use(CustomRows{});
    case RowKind::custom_velocity: return use(CustomVelocityRows{});
    case RowKind::coupling: return use(CouplingRows{});
    case RowKind::rotary: return use(RotaryRows{});
    case RowKind::law: return use(LawRows{});
    case RowKind::stop: return use(StopRows{});
    case RowKind::touch: return use(TouchRows{});
    case RowKind::combination: return use(CombinedRows{});
  }
  __builtin_unreachable();
}

inline void first_angles(const RowSite& at, RowMemory& rows) {
  with_rows(at.c.rows, [&](auto kind) { kind.first(at, rows); });
}
inline void rows_before(const RowSite& at, JointRows& rows) {
  with_rows(at.c.rows, [&](auto kind) { kind.before(at, rows); });
}
inline void rows_after(const RowSite& at, const RowMemory& before, const LawState& state, JointRows& rows) {
  with_rows(at.c.rows, [&](auto kind) { kind.after(at, before, state, rows); });
}
inline double gaps_after(const RowSite& at, const RowMemory& before, const LawState& state, JointRows& rows) {
  return with_rows(at.c.rows, [&](auto kind) { return kind.gaps(at, before, state, rows); });
}

// the widest of what joints are not asked for, and whose it is
struct LoopMismatch {
  double size = 0;
  int joint = -1;
  CATENA_INLINE void note(double open, int whose) {
    if (open <= size) return;
    size = open;
    joint = whose;
  }
};
// of those of which nothing is asked; turns need not be counted, their rows know none
inline void note_inactive(const Layout& layout, const Body<double>* body, const Clock& clock,
                          LoopMismatch& loop_mismatch) {
  for (int k = 0; k < layout.inactive_count; ++k) {
    JointRows rows;
    RowMemory before;
    before.angle[0] = 0;
    loop_mismatch.note(gaps_after({layout, layout.inactive[k], body, clock}, before, {}, rows),
                       layout.inactive[k].joint);
  }
}

// the root of what a unit of a row's multiplier moves the row itself, summed over its ends
inline double row_compliance(const ConstraintInfo& c, const Body<double>* body, const LinkInfo* link,
                             const JointRows& rows, int k) {
  double sum = 0;
  for (int e = 0; e < c.end_count; ++e) sum += compliance(body, link, c.end[e], rows.w[e * c.row_count + k]);
  return std::sqrt(sum);
}

}  // namespace catena::CATENA_ISA
