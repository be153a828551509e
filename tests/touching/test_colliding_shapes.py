"""Which shapes collide, what is refused, and what copies, files and merging keep of it."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pytest

import catena as ct
from catena.compile.shapes import shape_set


def legged() -> ct.Mechanism:
    """A trunk, two legs on hinges, and the floor."""
    m = ct.Mechanism()
    m.world.add_shape("plane", name="floor", collides=True, friction=0.5)
    trunk = m.add_body("trunk", ct.box((0.6, 0.2, 0.1), mass=2.0), position=(0, 0, 0.5))
    trunk.add_shape("box", (0.6, 0.2, 0.1), collides=True, name="trunk")
    for k, x in enumerate((-0.2, 0.2)):
        leg = m.add_body(f"leg{k}", ct.rod((x, 0, 0.45), (x, 0, 0.05), mass=0.3))
        leg.add_shape("sphere", (0.05,), position=(0, 0, 0.2), collides=True, name=f"toe{k}", friction=0.9)
        m.add_joint(ct.Revolute("trunk", leg.name, axis=(0, 1, 0), at=(x, 0, 0.45), name=f"hip{k}"))
    return m


def pairs_of(m: ct.Mechanism) -> set[tuple[str, str]]:
    return {one.shapes for one in m.clearances()}


def frictions(m: ct.Mechanism) -> dict[tuple[str, str], float]:
    shapes = shape_set(m)
    return {(shapes.colliders[p.a].name, shapes.colliders[p.b].name): p.friction for p in shapes.pairs}


def test_joined_bodies_do_not_collide() -> None:
    m = legged()
    expected = {("floor", "trunk"), ("floor", "toe0"), ("floor", "toe1"), ("toe0", "toe1")}
    assert pairs_of(m) == expected
    m.add_contacts()
    assert pairs_of(m) == expected
    m.add_contacts(exclude=[("leg0", m.bodies["leg1"])])
    assert pairs_of(m) == expected - {("toe0", "toe1")}
    m.add_contacts(pairs={("trunk", "toe0"): 0.1})
    assert pairs_of(m) == expected | {("trunk", "toe0")}
    assert frictions(m)["trunk", "toe0"] == 0.1


def test_what_holds_a_point_of_the_world_does_not_hit_it() -> None:
    m = ct.Mechanism()
    m.world.add_shape("plane", name="floor", collides=True)
    for name, joint in (("arm", ct.Revolute), ("cart", ct.Prismatic)):
        m.add_body(name, ct.sphere(0.1, mass=1.0), position=(0, 0, 0.5)).add_shape("sphere", (0.1,), collides=True)
        m.add_joint(joint("world", name, axis=(0, 1, 0), at=(0, 0, 0)))
    assert pairs_of(m) == {("floor", "cart sphere"), ("arm sphere", "cart sphere")}


def test_bodies_fixed_to_each_other_are_one() -> None:
    m = legged()
    m.add_body("shoe", ct.sphere(0.05, mass=0.1), position=(-0.2, 0, 0.05)).add_shape("sphere", (0.06,), collides=True)
    m.add_joint(ct.Fixed("leg0", "shoe", at=(-0.2, 0, 0.05)))
    assert ("trunk", "shoe sphere") not in pairs_of(m)
    assert ("toe0", "shoe sphere") not in pairs_of(m)
    assert ("floor", "shoe sphere") in pairs_of(m)


def test_groups_and_masks() -> None:
    m = ct.Mechanism()
    for name, group, mask in (("a", 1, 2), ("b", 2, 0), ("c", 4, 4)):
        m.add_body(name, ct.sphere(0.1, mass=1.0)).add_shape(
            "sphere", (0.1,), collides=True, name=name, group=group, mask=mask
        )
    assert pairs_of(m) == {("a", "b")}


def test_friction_is_the_larger_one_or_what_is_told() -> None:
    m = legged()
    assert frictions(m)["floor", "toe0"] == 0.9
    m.add_contacts(combine="smaller")
    assert frictions(m)["floor", "toe0"] == 0.5
    m.add_contacts(0.3, pairs={("floor", "toe1"): None, ("floor", "toe0"): 0.0})
    assert frictions(m)["floor", "toe0"] == 0.0
    assert frictions(m)["floor", "toe1"] == 0.3


def test_names_are_apart() -> None:
    m = ct.Mechanism()
    for k in range(2):
        body = m.add_body(f"b{k}", ct.sphere(0.1, mass=1.0), position=(k, 0, 0))
        for _ in range(2):
            body.add_shape("sphere", (0.1,), collides=True, name="ball" if k else "")
    assert [one.name for one in shape_set(m).colliders] == ["b0 sphere", "b0 sphere-2", "ball", "ball-2"]


def test_shapes_that_overlap_are_told_with_their_depth() -> None:
    m = legged()
    m.add_contacts()
    assert m.report().overlaps == ()
    m.bodies["leg0"].position = m.bodies["leg0"].position + np.array((0.3, 0, -0.01))
    m.remove_joint("hip0")
    m.add_contacts(exclude=[("trunk", "leg0")])
    report = m.report()
    assert [one.shapes for one in report.overlaps] == [("floor", "toe0")]
    assert report.overlaps[0].gap == pytest.approx(-0.01, abs=1e-12)
    assert "shapes that overlap: 'floor' and 'toe0' by 0.01 m" in str(report)


def scene() -> ct.Mechanism:
    m = legged()
    m.world.add_shape(
        "heightfield", (4, 3), heights=np.arange(12.0).reshape(3, 4) / 50 - 1, collides=True, name="hills"
    )
    points = np.random.default_rng(0).normal(size=(12, 3))
    m.bodies["trunk"].add_shape(
        "hull", points=0.1 * points, collides=True, name="head", restitution=0.3, group=3, mask=5
    )
    m.bodies["leg0"].add_shape("ellipsoid", (0.1, 0.05, 0.03), collides=True, name="calf")
    m.add_contacts(exclude=[("leg0", "leg1")], pairs={("floor", "head"): 0.2}, combine="smaller")
    return m


def seen(m: ct.Mechanism) -> list[tuple[tuple[str, str], float]]:
    return [(one.shapes, one.gap) for one in m.clearances()]


def test_copies_and_files_keep_shapes_and_rules(tmp_path: Path) -> None:
    m = scene()
    m.save(tmp_path / "m.json")
    for other in (m.copy(), pickle.loads(pickle.dumps(m)), ct.Mechanism.load(tmp_path / "m.json"), m.snapshot()):
        assert seen(other) == seen(m)
        assert frictions(other) == frictions(m)
        assert other.contact_rules == m.contact_rules


def test_another_rule_is_another_mechanism() -> None:
    m = scene()
    before = m.snapshot()
    assert m.snapshot() is before
    m.add_contacts()
    assert m.snapshot() is not before


def test_merging_keeps_rules_under_new_names() -> None:
    host, guest = legged(), scene()
    host.add(guest, "other ", at=(5, 0, 0))
    assert host.contact_rules is not None
    assert host.contact_rules.exclude == (("other leg0", "other leg1"),)
    host.add_contacts()
    with pytest.raises(ValueError, match=r"combine='larger'.*combine='smaller'.*add_contacts on both"):
        host.add(guest, "third ")


def test_rules_forget_bodies_that_are_removed() -> None:
    m = scene()
    m.remove_body("leg1", cascade=True)
    assert m.contact_rules is not None
    assert m.contact_rules.exclude == ()
    assert ("floor", "toe0") in pairs_of(m)


def test_meshes_collide_as_their_hulls(tmp_path: Path) -> None:
    pytest.importorskip("trimesh")
    corners = [(x, y, z) for x in (0, 1) for y in (0, 1) for z in (0, 1)]
    faces = [(1, 2, 4, 3), (5, 7, 8, 6), (1, 5, 6, 2), (3, 4, 8, 7), (1, 3, 7, 5), (2, 6, 8, 4)]
    lines = [f"v {x} {y} {z}" for x, y, z in corners] + [f"f {' '.join(map(str, face))}" for face in faces]
    (tmp_path / "cube.obj").write_text("\n".join(lines))
    m = ct.Mechanism()
    m.world.add_shape("plane", name="floor", collides=True)
    body = m.add_body("cube", ct.sphere(0.1, mass=1.0), position=(0, 0, 2.0))
    body.add_shape(
        "mesh", (0.5, 0.5, 0.25), mesh=str(tmp_path / "cube.obj"), position=(0, 0, -1), collides=True, name="cube"
    )
    with pytest.raises(ValueError, match="shape 'cube' is a mesh without its convex hull; call add_contacts"):
        m.clearances()
    m.add_contacts()
    # the file is not needed any more
    (tmp_path / "cube.obj").unlink()
    m.save(tmp_path / "m.json")
    for other in (m, ct.Mechanism.load(tmp_path / "m.json")):
        (found,) = other.clearances()
        assert found.gap == pytest.approx(1.0, abs=1e-15)
        assert len(other.bodies["cube"].shapes[-1].faces) == 6


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"friction": -0.1}, "friction must not be negative"),
        ({"friction": float("nan")}, "friction must be finite"),
        ({"friction": "much"}, "friction must be numbers"),
        ({"restitution": 1.1}, "restitution must be from 0 to 1"),
        ({"restitution": float("inf")}, "restitution must be finite"),
        ({"group": -1}, "group must be a whole number from 0"),
        ({"group": 1.5}, "group must be a whole number"),
        ({"mask": 1 << 32}, "mask must be a whole number"),
        ({"mask": True}, "mask must be a whole number"),
        ({"heights": [[0, 1], [1, 0]]}, "heights= is only for"),
        ({"points": [[0, 1, 2]]}, "points= is only for"),
    ],
)
def test_shapes_refuse_what_they_cannot_have(given: dict[str, object], sentence: str) -> None:
    m = ct.Mechanism()
    with pytest.raises(ValueError, match=f"the world: shape: .*{sentence}"):
        m.world.add_shape("sphere", (0.1,), **given)  # type: ignore[arg-type]
    assert m.world.shapes == ()


@pytest.mark.parametrize(
    ("kind", "given", "sentence"),
    [
        ("heightfield", {"size": (1, 1)}, "needs heights="),
        ("heightfield", {"size": (1, 1), "heights": [1, 2]}, "needs heights="),
        ("heightfield", {"size": (1, 1), "heights": [[1, 2]]}, "at least 2 by 2"),
        ("heightfield", {"size": (1, 1), "heights": [[1, 2], [np.nan, 0]]}, "NaN"),
        ("heightfield", {"size": (1, 0), "heights": [[1, 2], [3, 4]]}, "size of a heightfield must be positive"),
        ("heightfield", {"heights": [[1, 2], [3, 4]]}, "a heightfield needs its size"),
        ("hull", {}, "needs points="),
        ("hull", {"points": np.zeros((4, 3))}, "lie on a line"),
        ("plane", {"size": (1, 2)}, "size of a plane"),
        ("box", {}, "a box needs its size"),
    ],
)
def test_grounds_and_hulls_refuse_what_they_cannot_be(kind: str, given: dict[str, object], sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        ct.Mechanism().world.add_shape(kind, **given)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"friction": -1.0}, "friction must not be negative"),
        ({"friction": float("nan")}, "friction must be finite"),
        ({"exclude": "trunk"}, "exclude takes pairs of bodies"),
        ({"exclude": ["trunk"]}, "exclude takes pairs of bodies"),
        ({"exclude": [("trunk", "leg")]}, "no body called 'leg'; did you mean 'leg"),
        ({"combine": "both"}, "combine must be 'larger' or 'smaller'"),
        ({"pairs": {("floor", "toe"): 1.0}}, "no shape that collides is called 'toe'; did you mean 'toe"),
        ({"pairs": {("floor", "toe0"): -1.0}}, "friction of 'floor' and 'toe0' must not be negative"),
    ],
)
def test_rules_refuse_what_they_cannot_be(given: dict[str, object], sentence: str) -> None:
    m = legged()
    with pytest.raises(ValueError, match=sentence):
        m.add_contacts(**given)  # type: ignore[arg-type]
    assert m.contact_rules is None


@pytest.mark.parametrize("within", [-1.0, float("nan"), "near"])
def test_distances_are_not_negative(within: object) -> None:
    with pytest.raises(ValueError, match="within must be a distance"):
        legged().clearances(within=within)  # type: ignore[arg-type]


def test_a_mechanism_without_shapes_has_no_pairs() -> None:
    assert ct.scenes.pendulum(2).clearances() == []
    assert ct.scenes.pendulum(2).report().shape_pairs == 0


def test_shapes_of_the_ground_are_drawn(tmp_path: Path) -> None:
    m = scene()
    with pytest.warns(ct.CatenaWarning, match="'hills' and 'trunk'"):
        simulator = ct.Simulator(m, dt=0.01)
    simulator.run(0.02).save_html(tmp_path / "page")
    assert (tmp_path / "page" / "index.html").stat().st_size > 1000
