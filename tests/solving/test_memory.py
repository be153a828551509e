"""What memory holds before it is set decides nothing: results are the same, bit for bit."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from catena import Simulator, scenes
from catena._util import memory

# glibc fills what it hands out with the complement of this byte: zeros, 1.4e306, NaN
FILLED = (0xFF, 0x80, 0x01)

ALIKE = """
    import hashlib, sys
    import numpy as np
    import catena as ct
    from catena import scenes

    def idle():
        # a ball between two bodies that cannot move: nothing of it is asked for
        m = ct.Mechanism()
        m.add_body("a", ct.rod((0, 0, 0), (1, 0, 0), mass=1.0))
        m.add_body("b", ct.rod((1, 0, 0), (2, 0, 0), mass=1.0))
        m.add_joint(ct.Fixed("world", "a", at=(0, 0, 0)))
        m.add_joint(ct.Fixed("world", "b", at=(2, 0, 0)))
        m.add_joint(ct.Ball("a", "b", at=(1, 0, 0)))
        return m

    def idle_beside():
        m = idle()
        m.add_body("free", ct.rod((0, 0, -1), (0, 0.1, -2), mass=1.0))
        m.add_joint(ct.Ball("a", "free", at=(0.5, 0, 0)))
        return m

    def servoed():
        m = scenes.pendulum(3)
        m.add_force(ct.Servo("joint2", kp=5.0, kd=0.5))
        m.add_force(ct.Friction("joint3", 0.1))
        m.add_force(ct.Spring("joint1", 3.0))
        return m

    cases = {
        "idle": idle,
        "idle beside": idle_beside,
        "pendulum": lambda: scenes.pendulum(3),
        "four_bar": scenes.four_bar,
        "slider_crank": scenes.slider_crank,
        "strandbeest": lambda: scenes.strandbeest(1),
        "servoed": servoed,
    }

    def digest(*arrays):
        found = hashlib.sha256()
        for array in arrays:
            found.update(np.ascontiguousarray(array).tobytes())
        return found.hexdigest()[:12]

    for name, make in cases.items():
        for order in (1, 2, 4):
            for solver in ("articulated", "ldu", "dense"):
                m = make()
                sim = ct.Simulator(m, 0.004, order=order, solver=solver, on_inaccurate="ignore")
                state = m.assemble()
                run = sim.run(steps=6, state=state)
                live = sim.start(state)
                live.step(4)
                batch = sim.run_batch(states=[state] * 5, steps=5, threads=1)
                print(name, order, solver, digest(
                    run.position, run.orientation, run.velocity, run.angular_velocity, run.multipliers, run.iterations,
                    run.newton_residual, run.checkpoints.numbers, live.position, live.velocity, live.multipliers(),
                    batch.position, batch.velocity, batch.iterations, batch.newton_residual,
                ))
"""


def run_filled(script: str, byte: int) -> list[str]:
    paths = os.pathsep.join(path for path in sys.path if path)
    ended = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)],
        check=True,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": paths, "OPENBLAS_NUM_THREADS": "1", "MALLOC_PERTURB_": str(byte)},
        timeout=600,
    )
    return ended.stdout.splitlines()


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only glibc fills memory on request")
def test_no_result_depends_on_memory_that_was_never_set() -> None:
    first, *others = (run_filled(ALIKE, byte) for byte in FILLED)
    assert len(first) == 63
    for other in others:
        different = [a.rsplit(" ", 1)[0] for a, b in zip(first, other, strict=True) if a != b]
        assert not different


# ---- no more than is needed

LINUX = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="memory is looked at as Linux tells it")


class EnoughError(Exception):
    """A run has been looked at for long enough."""


@LINUX
def test_a_long_run_takes_memory_as_it_goes() -> None:
    """What it may record in the end is not touched before it is: the first step comes at once."""
    taken = []

    def resident() -> int:
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    def look(done: int, _steps: int) -> None:
        # so much is recorded of a step
        taken.append(resident() - before - 24 * done)
        raise EnoughError

    simulator = Simulator(scenes.pendulum(1), 1e-4)
    simulator.run(steps=10)
    before = resident()
    with pytest.raises(EnoughError):
        simulator.run(steps=3 * 10**7, record_every=3 * 10**7, progress=look)
    assert taken[0] < 20 * 2**20


LARGE = """
    import resource
    from catena import Simulator, scenes
    simulator = Simulator(scenes.net(30, 30), 0.001, solver={solver!r})
    used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + 200 * 2**20,) * 2)
    try:
        print(simulator.solver, simulator.run(steps=1).status.ok)
    except MemoryError as error:
        print(error)
"""


@LINUX
@pytest.mark.parametrize(
    ("solver", "says"),
    [("auto", "ldu True"), ("articulated", r"a workspace of \d+ MiB is needed, which the system has not")],
)
def test_only_the_solver_that_was_chosen_takes_memory(solver: str, says: str) -> None:
    """A net has fronts of 353 MiB in the solver that is not taken, and 22 MiB in the one that is."""
    (said,) = run_filled(LARGE.format(solver=solver), 0)
    assert re.fullmatch(says, said)


def test_a_workspace_that_is_too_large_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    simulator = Simulator(scenes.net(20, 20), 0.001, solver="articulated")
    monkeypatch.setattr(memory, "_free", lambda: 2**26)
    with pytest.raises(
        ValueError, match=r"the workspace of solver 'articulated' needs 0.1 GiB, but only 0.1 GiB are free; use 'ldu'"
    ):
        simulator.run(steps=1)
