"""Several things in one step: impacts that follow each other, stops that let go after one, and what is caught."""

from __future__ import annotations

import numpy as np
import pytest

import catena as ct
from catena import Limits, Mechanism, Simulator

# steps are coarse on purpose
pytestmark = pytest.mark.filterwarnings("ignore::catena.AccuracyWarning")


def sliders(*names: str, axis: tuple[float, float, float], nested: bool) -> Mechanism:
    """Blocks of 1 kg on slides along one line, each on the one before or all on the ground."""
    m, last = Mechanism(), "world"
    for k, name in enumerate(names):
        at = 0.2 * k * np.array(axis)
        m.add_body(name, ct.box((0.1, 0.1, 0.1), mass=1.0), position=at)
        m.add_joint(ct.Prismatic(last, name, axis=axis, at=at, name=name))
        last = name if nested else "world"
    return m


@pytest.mark.parametrize("restitution", [0.0, 0.5])
@pytest.mark.parametrize("order", [2, 4])
def test_a_stop_that_is_touched_again_in_a_step(order: int, restitution: float) -> None:
    """A box rests on the floor until its lid, which rises, meets its limit and lifts it for 26 ms of a step of 50 ms.

    A plain step has it end at the floor, without an impact; a composed one has at most one there, after which it stays.
    """
    m = sliders("box", "lid", axis=(0, 0, 1), nested=True)
    m.joints["box"].limits = Limits(lower=0.0, restitution=restitution)
    m.joints["lid"].limits = Limits(lower=-0.5, upper=0.005)
    state = m.state()
    state.joint("lid").rate = 0.4
    run = Simulator(m, 0.05, order=order).run(steps=3, state=state)  # type: ignore[arg-type]
    names = [impact.name for impact in run.impacts]
    assert names.count("lid") == 1
    assert names.count("box") <= (0 if order == 2 else 1)
    assert run.joint("box").displacement.min() >= -1e-12


@pytest.mark.parametrize("dt", [0.02, 0.04])
def test_a_stop_that_lets_go_after_an_impact_in_the_same_step(dt: float) -> None:
    """What it pressed with before the impact says nothing about when it lets go.

    A block rests on the floor, and on it, by a spring, another that bounces off a stop and soon lifts it.
    """
    m = sliders("low", "high", axis=(0, 0, 1), nested=False)
    m.joints["low"].limits = Limits(lower=0.0)
    m.joints["high"].limits = Limits(lower=-0.01, restitution=1.0)
    centers = ((0, 0, 0), (0, 0, 0))
    m.add_force(ct.PointSpring("low", "high", stiffness=2000.0, rest_length=0.2, anchors=centers))
    state = m.state()
    state.joint("high").rate = -2.0
    true = Simulator(m, 0.0005, order=8).run(0.2, state=state)
    run = Simulator(m, dt, order=4).run(0.2, state=state)
    assert len(run.impacts) == len(true.impacts)
    # their center of mass, whatever the spring does; a floor that pulls for a while is off by 4 mm and more
    np.testing.assert_allclose(run.position[-1].sum(axis=0), true.position[-1].sum(axis=0), rtol=0, atol=1e-5)


def test_more_impacts_at_one_instant_than_are_followed() -> None:
    """A light block between a wall and one of 10 t that pushes it: the last impact leaves nothing that approaches."""
    m = sliders("light", "heavy", axis=(1, 0, 0), nested=True)
    m.gravity = (0, 0, 0)
    m.bodies["heavy"].inertia = ct.box((0.1, 0.1, 0.1), mass=1e4)
    for joint in m.joints.values():
        joint.limits = Limits(lower=0.0, restitution=1.0)
    state = m.state()
    state.joint("heavy").rate = -1.0
    run = Simulator(m, 0.01).run(steps=3, state=state)
    for name in m.joints:
        assert run.joint(name).rate.min() >= -1e-9
        assert run.joint(name).displacement.min() >= -1e-12
    lost = sum(impact.loss for impact in run.impacts)
    assert run.kinetic_energy()[0] + lost == pytest.approx(5e3, rel=1e-9)


def test_a_caught_step_is_plain() -> None:
    """Stops are held to the end of a step only in one that has no part backwards: it is not taken over and over."""
    m, last = Mechanism(), "world"
    for k in range(8):
        m.add_body(f"link{k}", ct.rod((k, 0, 0), (k + 1, 0, 0), mass=1.0))
        m.add_joint(ct.Revolute(last, f"link{k}", axis=(0, 1, 0), at=(k, 0, 0), name=f"hinge{k}"))
        m.joints[f"hinge{k}"].limits = Limits(-0.1, 0.1, restitution=0.9)
        last = f"link{k}"
    run = Simulator(m, 0.01, order=4, on_inaccurate="ignore").run(1.0)
    assert run.caught_count > 5
    # 5000 are needed, and 18 000 if caught steps are composed
    assert run.iterations.sum() < 10_000


def test_the_error_of_a_step_does_not_look_back_through_an_impact() -> None:
    """A block moves steadily, hits its stop just at a node and goes back as fast: there is no error at all."""
    m = sliders("block", axis=(1, 0, 0), nested=False)
    m.gravity = (0, 0, 0)
    m.joints["block"].limits = Limits(lower=-0.5, restitution=1.0)
    state = m.state()
    state.joint("block").rate = -1.0
    run = Simulator(m, 0.01).run(steps=100, state=state)
    assert run.impacts[0].time == pytest.approx(0.5, abs=1e-12)
    assert run.error is not None
    assert run.error.max() < 1e-12
