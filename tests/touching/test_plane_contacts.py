"""Shapes that collide with planes: runs hold them by their balls and corners, and say what they leave out."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pytest

import catena as ct


def on_floor(kind: str, size: tuple[float, ...], height: float, **given: object) -> ct.Mechanism:
    m = ct.Mechanism()
    m.world.add_shape("plane", name="floor", collides=True, friction=0.5)
    body = m.add_body("thing", ct.box((0.2, 0.3, 0.4), mass=2.0), position=(0, 0, height))
    body.add_shape(kind, size, collides=True, name="skin", friction=0.5, **given)
    m.add_contacts()
    return m


CORNERS = np.array([(x, y, z) for x in (-0.1, 0.1) for y in (-0.15, 0.15) for z in (-0.2, 0.2)])


@pytest.mark.parametrize(
    ("kind", "size", "height", "given", "count"),
    [
        ("sphere", (0.2,), 0.2, {}, 1),
        ("capsule", (0.1, 0.2), 0.2, {}, 2),
        ("box", (0.2, 0.3, 0.4), 0.2, {}, 8),
        ("hull", (), 0.2, {"points": CORNERS}, 8),
    ],
)
def test_what_stands_is_held(kind: str, size: tuple[float, ...], height: float, given: dict, count: int) -> None:
    m = on_floor(kind, size, height, **given)
    run = ct.Simulator(m, dt=0.01).run(duration=1)
    assert len(run.mechanism.contacts) == count
    assert not m.contacts
    assert np.abs(run.position - run.position[0]).max() < 1e-12
    weight = sum(run.contact(name).normal_force[5] for name in run.mechanism.contacts)
    assert weight == pytest.approx(2.0 * 9.81, abs=1e-9)


def test_a_box_slides_by_the_friction_of_its_shapes() -> None:
    m = on_floor("box", (0.2, 0.3, 0.4), 0.2)
    m.bodies["thing"].velocity = (0, 1.0, 0)
    run = ct.Simulator(m, dt=0.001).run(duration=0.1)
    # friction takes 0.5 g, and is too small to tip it
    assert run.velocity[-1, 0] == pytest.approx((0, 1.0 - 0.1 * 0.5 * 9.81, 0), abs=1e-9)


def test_planes_may_move_and_lean() -> None:
    m = ct.Mechanism()
    m.add_body("tray", ct.box((1, 1, 0.1), mass=5.0), position=(0, 0, 1))
    m.add_joint(ct.Prismatic("world", "tray", axis=(0, 0, 1), at=(0, 0, 1), name="lift"))
    m.add_force(ct.Motor("lift", 7.0 * 9.81 + 7.0))
    m.bodies["tray"].add_shape("plane", position=(0, 0, 0.05), collides=True, name="top")
    m.add_body("ball", ct.sphere(0.1, mass=2.0), position=(0.2, 0.1, 1.15)).add_shape(
        "sphere", (0.1,), collides=True, name="ball"
    )
    m.add_contacts()
    run = ct.Simulator(m, dt=0.01).run(duration=1)
    assert run.position[-1, :, 2] == pytest.approx((1.5, 1.65), abs=1e-9)


def test_other_pairs_are_named() -> None:
    m = on_floor("sphere", (0.2,), 0.2)
    m.add_body("other", ct.sphere(0.1, mass=1.0), position=(1, 0, 0.1)).add_shape(
        "cylinder", (0.1, 0.2), collides=True, name="can"
    )
    m.add_contacts()
    with pytest.warns(
        ct.CatenaWarning, match=r"pass through each other: 'can' and 'floor'; 'skin' and 'can' \("
    ) as said:
        ct.Simulator(m, dt=0.01)
    assert said[0].filename == __file__


def test_a_start_inside_a_plane_is_refused() -> None:
    with pytest.raises(ct.SimulationError, match=r"skin on floor.*inside its plane"):
        ct.Simulator(on_floor("sphere", (0.2,), 0.15), dt=0.01).run(duration=0.1)


def test_files_and_copies_have_each_contact_once(tmp_path: Path) -> None:
    m = on_floor("capsule", (0.1, 0.2), 0.5)
    simulator = ct.Simulator(m, dt=0.01)
    run = simulator.run(duration=0.5)
    run.save(tmp_path / "run.npz")
    again = ct.Trajectory.load(tmp_path / "run.npz")
    assert list(again.mechanism.contacts) == ["skin on floor 1", "skin on floor 2"]
    further = ct.Simulator(again.mechanism, dt=0.01)
    assert list(further.mechanism.contacts) == list(again.mechanism.contacts)
    whole = pickle.loads(pickle.dumps(simulator)).run(duration=1)
    assert np.array_equal(simulator.run(duration=0.5, state=run[-1]).position[-1], whole.position[-1])


def test_rules_may_change_in_a_file() -> None:
    m = on_floor("box", (0.2, 0.3, 0.4), 0.2)
    again = ct.Simulator(m, dt=0.01).mechanism.copy()
    again.add_contacts(friction=0.0)
    again.bodies["thing"].velocity = (0, 1.0, 0)
    run = ct.Simulator(again, dt=0.001).run(duration=0.1)
    assert run.velocity[-1, 0] == pytest.approx((0, 1, 0), abs=1e-9)


def test_a_contact_of_the_same_name_is_refused() -> None:
    m = on_floor("sphere", (0.2,), 0.2)
    m.add_contact("thing", radius=0.2, point=(0, 0, -1), name="skin on floor")
    with pytest.raises(ValueError, match=r"'skin on floor' has the name of a contact of the shapes 'skin' and 'floor'"):
        ct.Simulator(m, dt=0.01)
