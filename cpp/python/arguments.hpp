// From what crossed the border to the arguments of a kernel: all is checked here, and nothing is copied, so what Python
// handed over has to stay until the kernel has returned.
#pragma once

#include <vector>

#include "batch/member.hpp"
#include "python/arrays.hpp"

namespace catena {

// states to start from are whole
void require_start(const Start& start, const Layout& layout, Offset terms);

// Where a run, or every member of a batch, starts and under which loads; the couplings of the mechanism have `terms`
// terms, inactive ones too.
RunArgs arguments(const Layout& layout, Offset terms, const Settings& settings, const Start& start,
                  const LoadArrays& loads, int signal_count);

// of every row of `input`, a law and one of its numbers
std::vector<InputInfo> inputs_of(const InInts<-1, 2>& input, const Layout& layout);

// numbers of so many members
GeometryNumbers geometry_numbers(const GeometryArrays& given, Offset members, const Layout& layout);
MemberNumbers member_numbers(const MemberArrays& numbers, Offset members, const Layout& layout);

// arrays (member, record or step, ...) by their names in args/records.hpp, of so many bodies; it writes into those that
// are there, of which all have room for so many records
Offset record_into(RunArgs& args, const NamedArrays& records, Offset members, const Layout& layout, Offset bodies);

}  // namespace catena
