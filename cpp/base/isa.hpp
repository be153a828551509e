// Every header the kernels use lives in a namespace named after the instruction set it is compiled for: the files of
// kernel/ are compiled once per set, and the linker must never pick an inline function built for a newer CPU.
#pragma once

#ifndef CATENA_ISA
#define CATENA_ISA plain
#endif

#define CATENA_INLINE inline __attribute__((always_inline))
