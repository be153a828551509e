"""Contacts of model files: which shapes collide, with which friction, and what is noted."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pytest

import catena as ct
from catena.compile.shapes import shape_set
from catena.describe.collisions import ShapePair


def pairs_of(m: ct.Mechanism) -> dict[tuple[str, str], ShapePair]:
    shapes = shape_set(m)
    return {(shapes.colliders[p.a].name, shapes.colliders[p.b].name): p for p in shapes.pairs}


def without_notes(read: object, path: Path) -> ct.Mechanism:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found: ct.Mechanism = read(path, contacts=True)  # type: ignore[operator]
    return found


MJCF = """<mujoco><asset><hfield name="hills" nrow="3" ncol="4" size="2 1.5 0.5 0.1" elevation="{heights}"/></asset>
<worldbody>
  <geom name="floor" type="plane" size="0 0 1" friction="0.7 0.01 0.001"/>
  <geom name="hill" type="hfield" hfield="hills" pos="0 0 -1"/>
  <body name="a" pos="0 0 1"><freejoint/><geom name="ga" size="0.1" friction="0.4 0 0"/>
    <body name="b" pos="1 0 0"><joint axis="0 1 0"/><geom name="gb" size="0.1" contype="2" conaffinity="4"/>
      <body name="c" pos="1 0 0"><joint axis="0 1 0"/><geom name="gc" size="0.1" condim="1" friction="0.1 0 0"/>
        <geom name="seen" size="0.3" contype="0" conaffinity="0"/></body></body></body>
  <body name="d" pos="5 0 1"><freejoint/><geom name="gd" size="0.1" contype="1" conaffinity="3"
    friction="1.2 0 0"/></body>
</worldbody>
<contact>{contact}</contact></mujoco>"""
HEIGHTS = "0 1 2 3 1 2 3 4 0 0 1 2"


def mjcf(tmp_path: Path, contact: str = "") -> Path:
    path = tmp_path / "m.xml"
    path.write_text(MJCF.format(heights=HEIGHTS, contact=contact))
    return path


def test_mjcf_geoms_collide_by_their_bits(tmp_path: Path) -> None:
    mujoco = pytest.importorskip("mujoco")
    m = without_notes(ct.Mechanism.from_mjcf, mjcf(tmp_path))
    found = pairs_of(m)
    # 'gb' meets no floor, as none of its bits is there, but 'gd', which looks for it
    assert set(found) == {
        *(("floor", name) for name in ("ga", "gc", "gd")),
        *(("hill", name) for name in ("ga", "gc", "gd")),
        *(("ga", "gc"), ("ga", "gd"), ("gb", "gd"), ("gc", "gd")),
    }
    assert found["floor", "ga"].friction == 0.7
    assert found["floor", "gd"].friction == 1.2
    assert found["ga", "gc"].friction == 0.4
    # heights and where they are: what MuJoCo finds when a ray falls
    model = mujoco.MjModel.from_xml_path(str(tmp_path / "m.xml"))
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    hill = m.world.shapes[1]
    assert hill.heights is not None
    for j in range(1, 2):
        for i in range(1, 3):
            x, y = -2 + 4 * i / 3, -1.5 + 3 * j / 2
            geom = np.zeros(1, dtype=np.int32)
            for k in range(model.ngeom):
                model.geom_group[k] = 0 if k == 1 else 5
            group = np.array((1, 0, 0, 0, 0, 0), dtype=np.uint8)
            fall = mujoco.mj_ray(
                model, data, np.array((x + 1e-9, y + 1e-9, 5.0)), np.array((0, 0, -1.0)), group, 1, -1, geom
            )
            assert hill.heights[j, i] - 1 == pytest.approx(5 - fall, abs=1e-6)


def test_mjcf_excludes_and_pairs(tmp_path: Path) -> None:
    pytest.importorskip("mujoco")
    contact = """<exclude body1="a" body2="c"/><exclude body1="a" body2="d"/>
      <pair geom1="ga" geom2="gb" friction="0.05 0.05 0 0 0"/><pair geom1="gc" geom2="gd" condim="1"/>"""
    m = without_notes(ct.Mechanism.from_mjcf, mjcf(tmp_path, contact))
    found = pairs_of(m)
    assert ("ga", "gc") not in found
    assert ("ga", "gd") not in found
    assert found["ga", "gb"].friction == 0.05
    assert found["gc", "gd"].friction == 0.0
    assert m.contact_rules is not None


def test_mjcf_contacts_are_not_there_unless_asked_for(tmp_path: Path) -> None:
    pytest.importorskip("mujoco")
    with pytest.warns(ct.ModelWarning, match="not read: contact$"):
        m = ct.Mechanism.from_mjcf(mjcf(tmp_path))
    assert m.contact_rules is None


def test_what_of_mjcf_contacts_is_not_taken_is_said_once(tmp_path: Path) -> None:
    pytest.importorskip("mujoco")
    path = tmp_path / "m.xml"
    path.write_text(
        """<mujoco><worldbody><geom name="floor" type="plane" size="0 0 1" solref="-100 -5" margin="0.01" priority="1"/>
        <body name="a" pos="0 0 1"><freejoint/><geom name="ball" size="0.1" condim="6"/>
        <geom name="ghost" size="0.2" contype="0" conaffinity="0"/></body></worldbody>
        <contact><pair geom1="floor" geom2="ghost"/></contact></mujoco>"""
    )
    with pytest.warns(ct.ModelWarning) as said:
        m = ct.Mechanism.from_mjcf(path, contacts=True)
    assert len(said) == 1
    for part in (
        "spinning and rolling friction (condim) (ball)",
        "geom@margin, geom@gap (floor)",
        "geom@priority (floor)",
        "geom@solref, geom@solimp, as contacts are hard (floor)",
        "contact/pair of geoms that do not collide otherwise (floor and ghost)",
    ):
        assert part in str(said[0].message)
    assert set(pairs_of(m)) == {("floor", "ball")}


URDF = """<robot name="r"><link name="base"><inertial><mass value="1"/>
<inertia ixx="0.11" iyy="0.12" izz="0.13" ixy="0" ixz="0" iyz="0"/></inertial>
<collision name="cb"><geometry><box size="1 1 1"/></geometry></collision></link>{links}</robot>"""
LINK = """<link name="{name}"><inertial><mass value="1"/>
<inertia ixx="0.11" iyy="0.12" izz="0.13" ixy="0" ixz="0" iyz="0"/></inertial>
<collision name="c{name}"><origin xyz="0 0 -1"/><geometry><sphere radius="0.1"/></geometry></collision></link>
<joint name="j{name}" type="{kind}"><parent link="{parent}"/><child link="{name}"/><axis xyz="0 1 0"/>
<origin xyz="0 0 -2"/></joint>"""


def test_urdf_collisions_collide_but_for_joined_links(tmp_path: Path) -> None:
    path = tmp_path / "r.urdf"
    links = LINK.format(name="one", parent="base", kind="continuous") + LINK.format(
        name="two", parent="one", kind="continuous"
    )
    path.write_text(URDF.format(links=links))
    m = without_notes(lambda p, contacts: ct.Mechanism.from_urdf(p, floating=True, contacts=contacts), path)
    found = pairs_of(m)
    assert set(found) == {("cb", "ctwo")}
    assert found["cb", "ctwo"].friction == 1.0
    assert m.clearances()[0].gap == pytest.approx(4.4, abs=1e-12)


INERTIAL = """<inertial><mass>1</mass><inertia><ixx>0.01</ixx><iyy>0.012</iyy><izz>0.013</izz></inertia></inertial>"""
SDF = """<sdf version="1.9"><model name="m">{self}
<link name="a">{INERTIAL}<collision name="ca">
<geometry><sphere><radius>0.1</radius></sphere></geometry>
<surface><friction><ode><mu>0.3</mu></ode></friction>
<bounce><restitution_coefficient>0.4</restitution_coefficient></bounce>
<contact><collide_bitmask>0x02</collide_bitmask></contact>{more}</surface></collision></link>
<link name="b"><pose>1 0 0 0 0 0</pose>{INERTIAL}<collision name="cb"><geometry><sphere>
<radius>0.1</radius></sphere></geometry></collision></link></model></sdf>""".replace("{INERTIAL}", INERTIAL)


@pytest.mark.parametrize("collides", [False, True])
def test_sdf_surfaces(tmp_path: Path, collides: bool) -> None:
    path = tmp_path / "m.sdf"
    path.write_text(SDF.format(self="<self_collide>true</self_collide>" if collides else "", more=""))
    m = without_notes(ct.Mechanism.from_sdf, path)
    ball = m.bodies["a"].shapes[0]
    assert (ball.friction, ball.restitution) == (0.3, 0.4)
    found = pairs_of(m)
    if collides:
        assert found["ca", "cb"].friction == 0.3
    else:
        assert found == {}
    # whatever the links are to each other, they meet a floor that has the bit of 'a'
    m.world.add_shape("plane", collides=True, name="floor", group=2, mask=2)
    assert ("floor", "ca") in pairs_of(m)


def test_what_of_sdf_surfaces_is_not_taken_is_noted(tmp_path: Path) -> None:
    path = tmp_path / "m.sdf"
    path.write_text(SDF.format(self="", more="<soft_contact/>"))
    with pytest.warns(ct.ModelWarning, match="surface/soft_contact"):
        ct.Mechanism.from_sdf(path, contacts=True)
    path.write_text(SDF.format(self="", more="").replace("0x02", "many"))
    with pytest.warns(ct.ModelWarning, match="collide_bitmask must be a whole number, got 'many'"):
        ct.Mechanism.from_sdf(path, contacts=True)


def test_contacts_written_as_mjcf_are_read_again(tmp_path: Path) -> None:
    pytest.importorskip("mujoco")
    m = ct.Mechanism()
    m.world.add_shape("plane", name="floor", collides=True, friction=0.5)
    heights = np.arange(12.0).reshape(3, 4) / 50 - 0.4
    m.world.add_shape("heightfield", (4, 3), heights=heights, position=(0, 0, -1), collides=True, name="hills")
    for k, (kind, size) in enumerate((("sphere", (0.1,)), ("box", (0.1, 0.2, 0.3)), ("capsule", (0.05, 0.2)))):
        body = m.add_body(f"b{k}", ct.sphere(0.1, mass=1.0), position=(0.5 * k, 0.1, 1))
        body.add_shape(kind, size, collides=True, name=f"s{k}", friction=0.2 * k, group=1 + k)
    points = 0.2 * np.random.default_rng(0).normal(size=(9, 3))
    m.add_body("stone", ct.sphere(0.1, mass=1.0), position=(-1, 0, 1)).add_shape("hull", points=points, collides=True)
    m.add_contacts(exclude=[("b0", "b1")], pairs={("floor", "s2"): 0.05})
    m.to_mjcf(tmp_path / "m.xml")
    again = without_notes(ct.Mechanism.from_mjcf, tmp_path / "m.xml")
    expected, found = pairs_of(m), pairs_of(again)
    assert {pair: one.friction for pair, one in found.items()} == {pair: one.friction for pair, one in expected.items()}
    gaps = {one.shapes: one.gap for one in m.clearances()}
    for one in again.clearances():
        assert one.gap == pytest.approx(gaps[one.shapes], abs=1e-6)


def test_what_urdf_has_no_words_for_is_noted(tmp_path: Path) -> None:
    m = ct.Mechanism()
    m.add_body("a", ct.sphere(0.1, mass=1.0)).add_shape("plane", name="table")
    with pytest.warns(ct.ModelWarning, match=r"shape of kind plane \(table\)"):
        m.to_urdf(tmp_path / "m.urdf")
