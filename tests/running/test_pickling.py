"""What pickles and copies: simulators, and the errors that runs end with, also from other processes."""

from __future__ import annotations

import copy
import multiprocessing
import pickle
from collections.abc import Callable

import numpy as np
import pytest

from catena import AssemblyError, Ball, BatchError, Mechanism, SimulationError, Simulator, box, scenes


def failing(_: int = 0) -> object:
    return Simulator(scenes.pendulum(10, angle=np.pi / 2), 0.01, rescue=False).run(10.0)


def failing_batch(_: int = 0) -> object:
    return Simulator(scenes.pendulum(10, angle=np.pi / 2), 0.01, rescue=False).run_batch(10.0, states=2)


def open_loop(_: int = 0) -> object:
    m = Mechanism()
    m.add_body("bar", box((1, 0.1, 0.1), mass=1.0))
    m.add_joint(Ball(m.world, "bar", at=(-0.5, 0, 0)))
    m.add_joint(Ball(m.world, "bar", anchors=((3, 0, 0), (0.5, 0, 0)), name="far"))
    return m.assemble()


CASES: dict[type[Exception], Callable[[int], object]] = {
    SimulationError: failing,
    BatchError: failing_batch,
    AssemblyError: open_loop,
}


@pytest.mark.parametrize("kind", CASES)
def test_errors_pickle(kind: type[Exception]) -> None:
    with pytest.raises(kind) as caught:
        CASES[kind](0)
    again = pickle.loads(pickle.dumps(caught.value))
    assert type(again) is kind
    assert str(again) == str(caught.value)
    if isinstance(caught.value, SimulationError):
        assert again.status == caught.value.status
        np.testing.assert_array_equal(again.trajectory.position, caught.value.trajectory.position)
    elif isinstance(caught.value, BatchError):
        assert again.batch.status == caught.value.batch.status
    else:
        assert again.gaps == caught.value.gaps


def test_errors_come_back_from_a_pool() -> None:
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        for kind, call in CASES.items():
            with pytest.raises(kind):
                pool.apply_async(call, (0,)).get(timeout=600)


@pytest.mark.parametrize("how", [lambda x: pickle.loads(pickle.dumps(x)), copy.copy, copy.deepcopy])
def test_simulators_pickle_and_copy(how: Callable[[Simulator], Simulator]) -> None:
    sim = Simulator(scenes.four_bar(), 0.005, order=4, solver="ldu", tolerance=1e-11, on_failure="stop", rescue=False)
    expected = sim.run(steps=20)
    again = how(sim)
    assert again.info() == sim.info()
    assert (again.tolerance, again.rescue, again.on_failure) == (1e-11, False, "stop")
    np.testing.assert_array_equal(again.run(steps=20).position, expected.position)
    np.testing.assert_array_equal(sim.run(steps=20).position, expected.position)
