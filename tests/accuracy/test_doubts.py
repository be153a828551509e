"""What was silent is told: what cannot move, halved steps, edits that come too late."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import catena as ct
from catena import Mechanism, Simulator, Trajectory, scenes

# ---- what cannot move


def strut() -> Mechanism:
    """A triangle of bars, on the ground."""
    m = Mechanism()
    m.add_body("left", ct.rod((0, 0, 0), (0.5, 0, 1), mass=1.0))
    m.add_body("right", ct.rod((1, 0, 0), (0.5, 0, 1), mass=1.0))
    for name, at in (("left", (0, 0, 0)), ("right", (1, 0, 0))):
        m.add_joint(ct.Revolute("world", name, axis=(0, 1, 0), at=at))
    m.add_joint(ct.Revolute("left", "right", axis=(0, 1, 0), at=(0.5, 0, 1)))
    return m


def test_what_cannot_move_is_told() -> None:
    with pytest.warns(ct.StuckWarning, match="nothing moves") as caught:
        run = Simulator(strut(), 0.01).run(0.1)
    assert caught[0].filename == __file__
    assert run.warnings == (str(caught[0].message),)
    assert "nothing moves" in repr(run)


def test_what_rests_is_not() -> None:
    """Loops with a freedom that happen to stand still are not stuck."""
    m = scenes.four_bar()
    m.gravity = (0, 0, 0)
    state = m.assemble()
    state.velocity[:] = state.angular_velocity[:] = 0
    run = Simulator(m, 0.01).run(0.1, state=state)
    assert np.ptp(run.position, axis=0).max() < 1e-12
    assert not run.warnings


# ---- halved steps


def rotor() -> Mechanism:
    """What turns by 1.5 rad in a step of 15 ms, which is halved and then exact."""
    m = Mechanism(gravity=(0, 0, 0))
    m.add_body("rotor", ct.cylinder(0.1, 0.1, mass=1.0), angular_velocity=(0, 0, 100.0))
    return m


def test_halved_steps_are_told() -> None:
    with pytest.warns(ct.AccuracyWarning, match="34 of 34 steps had to be halved") as caught:
        run = Simulator(rotor(), 0.015, order=8).run(0.51)
    assert len(caught) == 1
    assert caught[0].filename == __file__
    assert run.warnings == (str(caught[0].message),)
    assert "34 steps halved" in repr(run)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Simulator(rotor(), 0.015, order=8, on_inaccurate="ignore").run(0.51)


def test_substeps_that_an_accuracy_asks_for_are_no_complaint() -> None:
    m = ct.scenes.pendulum(2, "revolute", angle=1.0)
    m.add_force(ct.Damper("joint1", 1.0))
    run = Simulator(m).run(0.5)
    assert run.halved_count > 0
    assert "halved" not in repr(run)
    assert f", {run.substeps.sum()} substeps," in repr(run)


# ---- edits


def heavier(m: Mechanism) -> None:
    m.bodies["link1"].mass = 3.0


def longer(m: Mechanism) -> None:
    m.add_body("more", ct.sphere(0.1, mass=1.0))


def lighter(m: Mechanism) -> None:
    m.gravity = (0, 0, -1)


def braked(m: Mechanism) -> None:
    m.add_force(ct.Damper("joint1", 1.0, name="brake"))


def moved(m: Mechanism) -> None:
    m.bodies["link1"].velocity = (0, 1, 0)


EDITS = {heavier: "body 'link1'", longer: "body 'more'", lighter: "gravity", braked: "force 'brake'", moved: "'link1'"}


@pytest.mark.parametrize("edit", EDITS)
def test_an_edit_that_comes_too_late_is_told(edit) -> None:
    m = scenes.pendulum(2)
    simulator = Simulator(m, 0.01)
    first = simulator.run(0.05)
    edit(m)
    for go in (
        lambda: simulator.run(0.05),
        simulator.start,
        lambda: simulator.run_batch(0.05, states=2),
        simulator.step,
    ):
        with pytest.warns(
            ct.CatenaWarning, match=f"{EDITS[edit]}.* was changed after this Simulator was created"
        ) as caught:
            go()
        assert caught[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        np.testing.assert_array_equal(simulator.run(0.05).position, first.position)
    assert not Simulator(m, 0.01).run(0.05).warnings


def test_where_a_state_is_given_poses_may_change() -> None:
    m = scenes.pendulum(2)
    simulator = Simulator(m, 0.01)
    moved(m)
    simulator.run(0.05, state=simulator.mechanism.state())


def test_what_is_put_back_is_no_edit() -> None:
    m = scenes.pendulum(2)
    simulator = Simulator(m, 0.01)
    gravity = m.gravity.copy()
    m.gravity = (0, 0, -1)
    m.gravity = gravity
    simulator.run(0.05)


def test_of_what_is_gone_nothing_is_told() -> None:
    assert isinstance(Simulator(scenes.pendulum(2), 0.01).run(0.05), Trajectory)
