"""Runs in which shapes touch, without friction: gaps, momentum, energy, impacts and standing."""

from __future__ import annotations

import numpy as np
import pytest
from tests.support.shapes import add

import catena as ct
from catena._util import rotation as rot
from catena._util.rotation import Array


def ball(restitution: float) -> ct.Mechanism:
    m = ct.Mechanism()
    m.world.add_shape("plane", collides=True, name="floor")
    body = m.add_body("ball", ct.sphere(0.1, mass=2.0), position=(0, 0, 1.1))
    body.add_shape("sphere", (0.1,), collides=True, name="ball", restitution=restitution)
    m.add_contacts()
    return m


def test_a_ball_bounces_as_where_the_plane_is_named() -> None:
    m = ball(0.8)
    run = ct.Simulator(m, dt=0.01).run(2)
    other = ct.Mechanism()
    other.add_body("ball", ct.sphere(0.1, mass=2.0), position=(0, 0, 1.1))
    other.add_contact("ball", radius=0.1, restitution=0.8)
    expected = ct.Simulator(other, dt=0.01).run(2)
    np.testing.assert_allclose([one.time for one in run.impacts], [one.time for one in expected.impacts], atol=1e-12)
    np.testing.assert_allclose(run.position, expected.position, atol=1e-12)
    assert run.impacts[0].name == "floor - ball"


def stack(count: int) -> ct.Mechanism:
    m = ct.Mechanism()
    m.world.add_shape("plane", collides=True, name="floor")
    for k in range(count):
        body = m.add_body(f"box{k}", ct.box((0.4, 0.3, 0.2), mass=1.0 + k), position=(0.02 * k, 0, 0.1 + 0.2 * k))
        body.add_shape("box", (0.4, 0.3, 0.2), collides=True, name=f"block{k}")
    m.add_contacts()
    return m


def test_a_stack_of_boxes_stands() -> None:
    m = stack(3)
    run = ct.Simulator(m, dt=0.01).run(1)
    assert np.abs(run.position - run.position[0]).max() < 1e-13
    rows = [row for row in run.contacts if row.time == 0.5]
    weights = {row.contact: row.force for row in rows}
    assert weights["floor - block0"] == pytest.approx(6 * 9.81, abs=1e-9)
    assert weights["block0 - block1"] == pytest.approx(5 * 9.81, abs=1e-9)
    assert weights["block1 - block2"] == pytest.approx(3 * 9.81, abs=1e-9)


def test_a_cradle_hands_its_speed_on() -> None:
    m = ct.Mechanism(gravity=(0, 0, 0))
    for k in range(5):
        x = 0.2 * k if k else -0.5
        body = m.add_body(f"b{k}", ct.sphere(0.1, mass=1.0), position=(x, 0, 0), velocity=(0.0 if k else 1.0, 0, 0))
        body.add_shape("sphere", (0.1,), collides=True, restitution=1.0)
    m.add_contacts()
    run = ct.Simulator(m, dt=0.01).run(1)
    np.testing.assert_allclose(run.velocity[-1, :, 0], (0, 0, 0, 0, 1), atol=1e-9)


@pytest.mark.parametrize(
    "kinds", [("sphere", "box"), ("capsule", "capsule"), ("capsule", "box"), ("box", "hull"), ("hull", "hull")]
)
def test_what_collides_keeps_momentum_and_energy_and_stays_apart(kinds: tuple[str, str]) -> None:
    m = ct.Mechanism(gravity=(0, 0, 0))
    rng = np.random.default_rng(4)
    for k, kind in enumerate(kinds):
        turn: Array = rot.normalised(rng.normal(size=4))
        body = m.add_body(
            f"b{k}",
            ct.box((0.4, 0.3, 0.5), mass=1.0 + k),
            position=(1.2 * k, 0.05 * k, 0.02),
            orientation=turn,
            velocity=(0.8 - 1.6 * k, 0, 0),
            angular_velocity=rng.normal(size=3),
        )
        add(body, kind, f"s{k}", restitution=1.0)
    m.add_contacts()
    run = ct.Simulator(m, dt=0.005).run(1.5)
    assert len(run.impacts) > 0
    assert np.abs(run.momentum() - run.momentum()[0]).max() < 1e-13
    assert np.abs(run.angular_momentum() - run.angular_momentum()[0]).max() < 1e-12
    energy = run.energy()
    assert np.abs(energy - energy[0]).max() < 1e-3 * energy[0]
    least = min(one.gap for k in range(len(run)) for one in run[k].clearances())
    assert least > -1e-9


def test_what_overlaps_at_the_start_is_refused() -> None:
    m = stack(2)
    m.bodies["box1"].position = (0, 0, 0.29)
    with pytest.raises(ct.SimulationError, match="contact of shapes 'block0' and 'block1'"):
        ct.Simulator(m, dt=0.01).run(1)


def test_runs_go_on_where_they_were_left() -> None:
    m = stack(2)
    m.bodies["box1"].velocity = (0.1, 0, 0)
    whole = ct.Simulator(m, dt=0.01).run(1)
    half = ct.Simulator(m, dt=0.01).run(0.5)
    rest = ct.Simulator(m, dt=0.01).run(0.5, state=half[-1])
    np.testing.assert_array_equal(rest.position[-1], whole.position[-1])


def test_contacts_without_shapes_are_none() -> None:
    assert ct.Simulator(ct.scenes.pendulum(2), dt=0.01).run(0.1).contacts == []
