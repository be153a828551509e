"""Hundreds of constraints between the same two bodies: built and run in moments, whatever is asked for."""

from time import thread_time

import numpy as np
import pytest

from catena import AssemblyError, Distance, Fixed, Mechanism, Simulator, box


def two_bodies(loop_tolerance: float = 3e-3) -> Mechanism:
    m = Mechanism(loop_tolerance=loop_tolerance)
    m.add_body("a", box((1, 1, 1), mass=1.0), angular_velocity=(0.5, 0.2, 1.0))
    m.add_body("b", box((1, 1, 1), mass=2.0), position=(2.0, 0, 0))
    return m


def held_by_rods(count: int, loop_tolerance: float = 3e-3) -> Mechanism:
    m, rng = two_bodies(loop_tolerance), np.random.default_rng(1)
    for anchors in rng.uniform(-0.5, 0.5, (count, 2, 3)):
        m.add_joint(Distance("a", "b", anchors=anchors))
    return m


@pytest.mark.filterwarnings("ignore::catena.LoopWarning")  # rods at random hold some directions weakly
@pytest.mark.parametrize("loop_tolerance", [3e-3, 0.0])
@pytest.mark.parametrize("solver", ["articulated", "ldu", "dense"])
def test_rods_hold_like_a_weld(solver, loop_tolerance):
    m = two_bodies()
    m.add_joint(Fixed("a", "b"))
    wanted = Simulator(m, 0.01).run(steps=20, state=m.assemble())
    m = held_by_rods(60, loop_tolerance)
    run = Simulator(m, 0.01, solver=solver).run(steps=20, state=m.assemble())
    # rounding of 20 steps, in a mechanism of 3 m
    assert run.drift().max() < 1e-13
    np.testing.assert_allclose(run.position, wanted.position, rtol=0, atol=1e-11)


@pytest.mark.filterwarnings("ignore::catena.LoopWarning")
@pytest.mark.parametrize("loop_tolerance", [3e-3, 0.0])
def test_cost_does_not_explode_with_their_number(loop_tolerance):
    """Four times the rods: about ten times the work, as measured, and not the 64 times of something cubic."""
    spent = {}
    # the first of them finds caches cold
    for count in (30, 150, 600):
        m = held_by_rods(count, loop_tolerance)
        started = thread_time()
        run = Simulator(m, 0.01, solver="articulated").run(steps=5)
        spent[count] = thread_time() - started
        assert run.drift().max() < 1e-13
    assert spent[600] < 32 * spent[150]


def test_one_that_contradicts_the_others_is_named():
    m = held_by_rods(300)
    m.add_joint(Distance("a", "b", anchors=((0, 0, 0), (0, 0, 0)), length=2.2, name="too long"))
    with pytest.raises(AssemblyError, match="'too long' contradicts the rest of its loop"):
        m.assemble()


def test_a_program_that_would_fill_the_memory_is_refused_and_not_needed():
    m = held_by_rods(800, loop_tolerance=0.0)
    with pytest.raises(ValueError, match="use solver='articulated'"):
        Simulator(m, 0.01, solver="ldu").run(steps=1)
    start = m.state()
    start.body("b").position += (0, 0, 1e-3)
    closed = m.assemble(start)
    assert Simulator(m, 0.01, solver="articulated").run(steps=2, state=closed).drift().max() < 1e-12
