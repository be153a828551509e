"""Ctrl-C is heard at once, whatever is being computed; threads that cannot be had, and what is left at the exit."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from math import pi

import numpy as np
import pytest

from catena import Mechanism, Simulator, Trajectory, scenes
from catena.results.reactions import smallest_multipliers
from catena.results.trajectory import single_node

# s of this process's CPU time after the signal: 0.1 where nothing else runs, five times as much on crowded cores, for
# threads that wait for a core spin; what does not hear goes on for minutes
PATIENCE = 2.0

LONG = 10**7


@pytest.fixture(autouse=True)
def heard() -> Iterator[None]:
    """Whoever started the tests may have had Ctrl-C ignored, as shells do for what runs in the background."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def run(n: int, dt: float, angle: float = 0.3) -> Callable[[], object]:
    sim = Simulator(scenes.pendulum(n, angle=angle), dt)
    state = sim.mechanism.state()
    return lambda: sim.run(state=state, steps=LONG, record_every=LONG)


def batch(mechanism: Mechanism) -> Callable[[], object]:
    sim = Simulator(mechanism, 0.001)
    sim.run(steps=1)
    return lambda: sim.run_batch(states=8, steps=LONG, record_every=LONG, threads=2)


def reactions() -> Callable[[], object]:
    """Of a mechanism with many loops, at one pose over and over."""
    state = scenes.strandbeest(12).state()
    node, count = single_node(state), 10_000
    rows = sum(joint.row_count for joint in state.mechanism.joints.values())
    nodes = replace(node.nodes[np.zeros(count, dtype=int)], multipliers=np.ones((count, rows)))
    run = Trajectory(state.mechanism, nodes, node.made)
    return lambda: smallest_multipliers(run)


WORK: dict[str, Callable[[], Callable[[], object]]] = {
    "short steps": lambda: run(1, 0.01),
    "long steps": lambda: run(1000, 0.001),
    # every step is halved many times
    "rescued": lambda: run(1000, 1.0, pi / 2),
    "lanes": lambda: batch(scenes.pendulum(2)),
    "members": lambda: batch(scenes.four_bar()),
    "reactions": reactions,
}


@pytest.mark.parametrize("work", WORK)
def test_an_interrupt_is_heard(work: str) -> None:
    call = WORK[work]()
    sent = []

    def interrupt() -> None:
        sent.append(time.process_time())
        os.kill(os.getpid(), signal.SIGINT)

    timer = threading.Timer(1.0, interrupt)
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        call()
    assert time.process_time() - sent[0] < PATIENCE


def test_an_interrupted_live_mechanism_stands_at_a_node() -> None:
    live = Simulator(scenes.pendulum(2), 0.001, on_inaccurate="ignore").start()
    timer = threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        live.step(LONG)
    assert live.status.ok
    assert live.time > 0
    steps = live.status.step
    assert live.time == pytest.approx(0.001 * steps)
    assert np.isfinite(live.joint("joint1").force).all()
    again = Simulator(scenes.pendulum(2), 0.001, on_inaccurate="ignore").start()
    again.step(steps)
    assert again.energy() == live.energy()
    live.step(3)
    again.step(3)
    np.testing.assert_array_equal(live.position, again.position)


def python(script: str) -> subprocess.CompletedProcess[str]:
    """Run a script by itself."""
    paths = os.pathsep.join(path for path in sys.path if path)
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)],
        check=False,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": paths, "OPENBLAS_NUM_THREADS": "1"},
        timeout=100,
    )


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="limits of memory are Linux's")
@pytest.mark.parametrize("room", [256, 8], ids=["some threads", "no thread"])
def test_threads_that_cannot_be_had(room: int) -> None:
    """A limit of memory leaves no stack for all of 64 threads: fewer do the work; for none there is a sentence."""
    ended = python(f"""
        import resource
        from catena import Simulator, scenes
        sim = Simulator(scenes.pendulum(2), 0.01)
        alone = sim.run(steps=5)
        used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (used + {room} * 2**20,) * 2)
        resource.setrlimit(resource.RLIMIT_STACK, (64 * 2**20, resource.RLIM_INFINITY))
        try:
            many = sim.run_batch(states=64, steps=5, threads=64)
            print("same" if abs(many.position - alone.position).max() < 1e-12 else "different")
        except RuntimeError as error:
            print(error)
    """)
    assert ended.returncode == 0, ended.stderr
    assert ("same" if room > 64 else "the system has no thread for the batch") in ended.stdout


def test_nothing_is_left_at_the_exit() -> None:
    """Functions of the main program outlive the core, or the core them: either way in silence."""
    ended = python("""
        import catena as ct
        m = ct.Mechanism()
        m.add_body("bead", ct.sphere(0.1, mass=1.0), velocity=(0, 0, 1))
        def wire(a, b):
            return b.position[:2]
        m.add_joint(ct.Custom(m.world, "bead", wire))
        m.add_body("rod", ct.box((1, 1, 1), mass=1.0))
        m.add_joint(ct.VelocityRows(m.world, "rod", lambda a, b: [[0.0] * 6 + [1.0] + [0.0] * 5], value=lambda t: t))
        sim = ct.Simulator(m, 0.01)
        run = sim.run(steps=3)
        batch = sim.run_batch(states=2, steps=3)
        wire.keeps = sim
    """)
    assert ended.returncode == 0
    assert ended.stderr == ""
