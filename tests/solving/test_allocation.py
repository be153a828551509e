"""A step takes no memory: all of it is laid out before the first."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

COUNTER = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stddef.h>
static long calls;
long allocation_count(void) { return calls; }
#define COUNTED(name, parameters, arguments)                      \
  void* name parameters {                                         \
    static void*(*next) parameters;                               \
    if (!next) next = (void*(*) parameters)dlsym(RTLD_NEXT, #name); \
    __atomic_add_fetch(&calls, 1, __ATOMIC_RELAXED);              \
    return next arguments;                                        \
  }
COUNTED(malloc, (size_t n), (n))
COUNTED(realloc, (void* p, size_t n), (p, n))
COUNTED(aligned_alloc, (size_t a, size_t n), (a, n))
"""

PROGRAM = """
import ctypes, sys
import catena as ct
from catena import scenes
from catena.simulate.run_steps import run_steps

count = ctypes.CDLL(None).allocation_count
count.restype = ctypes.c_long

def hinges():
    m = scenes.pendulum(5, angle=1.5)
    m.add_force(ct.Servo("joint2", kp=5.0, kd=0.1, effort_limit=3.0))
    m.add_force(ct.Friction("joint3", 0.1))
    return m

# loops, halved steps (from the horizontal), laws; all solvers and orders
for make, dt in ((hinges, 0.02), (scenes.four_bar, 0.03), (lambda: scenes.closed_chain(5, "ball"), 0.01)):
    for solver in ("articulated", "ldu", "dense"):
        for order in (2, 4):
            sim = ct.Simulator(make(), dt, solver=solver, order=order)
            taken = []
            for steps in (3, 300, 3000):
                before = count()
                # the same as run, which may warn in the end
                run = run_steps(sim.plan, steps, record_every=10**6)
                taken.append(count() - before)
            # the first run may warm caches of the interpreter; a sentence on coarse steps takes up to twenty
            print(make.__name__, solver, order, taken[1], taken[2], int(run.halved_count))
            assert taken[2] <= taken[1] + 30, (solver, order, taken)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="counts calls of the C library by LD_PRELOAD")
@pytest.mark.skipif("LD_PRELOAD" in os.environ, reason="something else is preloaded already")
def test_steps_take_no_memory(tmp_path: Path) -> None:
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("there is no C compiler to make the counter with")
    source, library = tmp_path / "counter.c", tmp_path / "counter.so"
    source.write_text(COUNTER)
    subprocess.run([compiler, "-shared", "-fPIC", "-O1", str(source), "-o", str(library), "-ldl"], check=True)
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env=os.environ | {"LD_PRELOAD": str(library)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "articulated" in done.stdout
