"""SDF: frames relative to frames, graphs with loops, springs, gearboxes, and what is said of the rest."""

from __future__ import annotations

import warnings
from math import pi
from pathlib import Path

import numpy as np
import pytest

import catena as ct
from catena._util import rotation as rot

INERTIAL = "<inertial><mass>1</mass><inertia><ixx>0.01</ixx><iyy>0.02</iyy><izz>0.015</izz></inertia></inertial>"


def link(name: str, pose: str = "", inside: str = INERTIAL) -> str:
    return f'<link name="{name}">{pose}{inside}</link>'


def joint(name: str, kind: str, parent: str, child: str, inside: str = "<axis><xyz>0 1 0</xyz></axis>") -> str:
    return f'<joint name="{name}" type="{kind}"><parent>{parent}</parent><child>{child}</child>{inside}</joint>'


def read(tmp_path: Path, *parts: str, version: str = "1.9", **options: bool) -> ct.Mechanism:
    text = f'<sdf version="{version}"><model name="m">{"".join(parts)}</model></sdf>'
    (tmp_path / "model.sdf").write_text(text)
    return ct.Mechanism.from_sdf(tmp_path / "model.sdf", **options)


def four_bar() -> tuple[str, ...]:
    """A parallelogram of 1 m by 0.5 m."""
    return (
        link("left"),
        link("right", "<pose>1 0 0 0 0 0</pose>"),
        link("top", "<pose>0 0 0.5 0 0 0</pose>"),
        joint("a", "revolute", "world", "left"),
        joint("b", "revolute", "world", "right"),
        joint("c", "revolute", "left", "top"),
        joint("d", "revolute", "right", "top", "<pose>1 0 0 0 0 0</pose><axis><xyz>0 1 0</xyz></axis>"),
    )


def test_a_graph_with_a_loop(tmp_path: Path) -> None:
    m = read(tmp_path, *four_bar())
    report = m.report()
    assert (len(report.loops), report.freedom) == (1, 1)
    run = ct.Simulator(m, dt=0.002).run(duration=2)
    assert run.drift().max() < 1e-12


def test_frames_are_relative_to_frames(tmp_path: Path) -> None:
    m = read(
        tmp_path,
        "<pose>0 0 1 0 0 0</pose>",
        link("a", '<pose relative_to="mark">1 0 0 0 0 0</pose>'),
        '<frame name="mark"><pose degrees="true">0 0 0 0 0 90</pose></frame>',
        '<frame name="tip" attached_to="a"><pose relative_to="a">0 0 0.3 0 0 0</pose></frame>',
        link("b", '<pose relative_to="j"/>'),
        joint(
            "j",
            "revolute",
            "a",
            "b",
            '<pose relative_to="tip">0.1 0 0 0 0 0</pose><axis><xyz expressed_in="a">1 0 0</xyz></axis>',
        ),
    )
    state = m.state()
    np.testing.assert_allclose(state.frame("a")[0], (0, 1, 1), atol=1e-15)
    np.testing.assert_allclose(state.frame("tip")[0], (0, 1, 1.3), atol=1e-15)
    np.testing.assert_allclose(state.frame("b")[0], (0, 1.1, 1.3), atol=1e-15)
    axis = rot.rotate(rot.multiply(state.body("a").orientation, m.joints["j"].frame_a), np.array((0, 0, 1.0)))
    np.testing.assert_allclose(axis, (0, 1, 0), atol=1e-15)
    assert m.frames["tip"].body == "a"


@pytest.mark.parametrize(
    ("version", "frame", "expected"),
    [
        ("1.4", "", (0, 1, 0)),
        ("1.6", "", (-1, 0, 0)),
        ("1.6", "<use_parent_model_frame>1</use_parent_model_frame>", (0, 1, 0)),
    ],
)
def test_axes_of_older_versions(tmp_path: Path, version: str, frame: str, expected: tuple[float, ...]) -> None:
    turned = f"<pose>0 0 0 0 0 {pi / 2}</pose>"
    m = read(
        tmp_path,
        link("b", turned),
        joint("j", "revolute", "world", "b", f"<axis><xyz>0 1 0</xyz>{frame}</axis>"),
        version=version,
    )
    np.testing.assert_allclose(rot.rotate(m.joints["j"].frame_a, np.array((0, 0, 1.0))), expected, atol=1e-15)


def test_every_joint_type(tmp_path: Path) -> None:
    one, two = "<axis><xyz>0 1 0</xyz></axis>", "<axis><xyz>0 1 0</xyz></axis><axis2><xyz>1 0 0</xyz></axis2>"
    for kind, inside, freedom in (
        *(("revolute", one, 1), ("continuous", one, 1), ("prismatic", one, 1), ("fixed", "", 0), ("ball", "", 3)),
        *(("universal", two, 2), ("revolute2", two.replace("1 0 0", "1 0.1 0"), 2)),
        ("screw", one + "<screw_thread_pitch>0.1</screw_thread_pitch>", 1),
    ):
        m = read(tmp_path, link("b"), joint("j", kind, "world", "b", inside))
        assert m.report().freedom == freedom, kind
    assert m.joints["j"].parameter == pytest.approx(0.1 / (2 * pi))
    m = read(tmp_path, link("b"), joint("j", "screw", "world", "b", one + f"<thread_pitch>{-20 * pi}</thread_pitch>"))
    assert m.joints["j"].parameter == pytest.approx(0.1 / (2 * pi))


def test_springs_damping_and_limits(tmp_path: Path) -> None:
    spring = "<spring_reference>0.2</spring_reference><spring_stiffness>5</spring_stiffness>"
    dynamics = f"<dynamics><damping>0.1</damping>{spring}</dynamics>"
    limits = "<limit><lower>-1e16</lower><upper>1</upper><effort>-1</effort><velocity>3</velocity></limit>"
    m = read(
        tmp_path, link("b"), joint("j", "revolute", "world", "b", f"<axis><xyz>0 0 1</xyz>{limits}{dynamics}</axis>")
    )
    assert m.joints["j"].limits["angle"] == ct.Limits(upper=1.0, speed=3.0)
    law = m.forces["spring of j"].parts[0].law
    assert (law["stiffness"], law["rest_length"], law["damping"]) == (5, 0.2, 0.1)


def test_springs_that_are_too_stiff_for_a_step_are_implicit(tmp_path: Path) -> None:
    """A soft one acts at the nodes, which keeps energy best; a stiff one would let no step of 10 ms run."""
    for stiffness in (0.05, 20_000):
        spring = f"<dynamics><spring_stiffness>{stiffness}</spring_stiffness></dynamics>"
        m = read(tmp_path, link("a"), joint("j", "revolute", "world", "a", f"<axis><xyz>0 1 0</xyz>{spring}</axis>"))
        assert m.forces["spring of j"].parts[0].law["implicit"] == (stiffness > 1)
        state = m.state()
        state.joint("j").angle = 0.01
        run = ct.Simulator(m, dt=0.01, on_inaccurate="ignore").run(duration=1, state=state)
        assert np.abs(run.joint("j").angle).max() < 0.011


def test_a_base_without_mass_stands(tmp_path: Path) -> None:
    """As others take it; but not where something of the base has a mass, or holds the robot elsewhere."""
    none = "<inertial><mass>0</mass></inertial>"
    arm = (link("arm", "<pose>0 0 1 0 0 0</pose>"), joint("j", "revolute", "base", "arm"))
    base = link("base", "<pose>1 0 0 0 0 0.5</pose>", none)
    with pytest.warns(ct.ModelWarning, match=r"a base without mass, welded to the world \(base\)"):
        m = read(tmp_path, base, *arm)
    assert m.report().freedom == 1
    np.testing.assert_allclose(m.state().frame("base")[0], (1, 0, 0), atol=1e-15)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ct.ModelWarning)
        heavy = read(tmp_path, base, link("plate"), joint("on", "fixed", "base", "plate"), *arm)
        held = read(tmp_path, base, *arm, joint("k", "revolute", "world", "arm"))
    assert heavy.report().freedom == 7
    assert "base to world" not in held.joints


def test_a_gearbox_turns_the_other_way(tmp_path: Path) -> None:
    both = "<axis><xyz>0 1 0</xyz></axis><axis2><xyz>0 1 0</xyz></axis2>"
    box = "<gearbox_ratio>0.5</gearbox_ratio><gearbox_reference_body>base</gearbox_reference_body>"
    m = read(
        tmp_path,
        *map(link, ("base", "in", "out")),
        joint("hold", "fixed", "world", "base", ""),
        joint("drive", "revolute", "base", "in"),
        joint("shaft", "revolute", "out", "base", "<axis><xyz>0 -1 0</xyz></axis>"),
        joint("box", "gearbox", "in", "out", box + both),
    )
    state = m.assemble(coordinates={"drive": 0.6})
    # out is the parent of its hinge, whose axis points the other way: twice minus is plus
    assert state.joint("shaft").angle == pytest.approx(-0.3)


def test_mimics_follow(tmp_path: Path) -> None:
    mimic = '<mimic joint="a"><multiplier>2</multiplier><offset>0.1</offset><reference>0.3</reference></mimic>'
    m = read(
        tmp_path,
        *map(link, "bc"),
        joint("a", "revolute", "world", "b"),
        joint("d", "prismatic", "world", "c", f"<axis><xyz>0 1 0</xyz>{mimic}</axis>"),
    )
    state = m.assemble(coordinates={"a": 0.5})
    assert state.joint("d").coordinates[0] == pytest.approx(2 * (0.5 - 0.3) + 0.1)


def test_ball_constraints_of_drake_close_loops(tmp_path: Path) -> None:
    ball = (
        "<drake:ball_constraint><drake:ball_constraint_body_A>right</drake:ball_constraint_body_A>"
        "<drake:ball_constraint_body_B>top</drake:ball_constraint_body_B>"
        "<drake:ball_constraint_p_AP>0 0 0.5</drake:ball_constraint_p_AP>"
        "<drake:ball_constraint_p_BQ>1 0 0</drake:ball_constraint_p_BQ></drake:ball_constraint>"
    )
    m = read(tmp_path, *four_bar()[:-1], ball)
    assert (len(m.report().loops), m.report().freedom) == (1, 1)


@pytest.mark.parametrize(
    ("said", "falls"), [("true", True), ("1", True), ("false", False), (" 0 ", False), (None, True)]
)
def test_a_link_may_have_no_weight(tmp_path: Path, said: str | None, falls: bool) -> None:
    weight = "" if said is None else f"<gravity>{said}</gravity>"
    m = read(tmp_path, link("a", "", INERTIAL + weight), link("b"))
    run = ct.Simulator(m, 0.01).run(steps=10)
    np.testing.assert_allclose(run.velocity[-1, :, 2], (-0.981 if falls else 0.0, -0.981), rtol=0, atol=1e-12)


def test_the_gravity_of_a_world_is_that_of_the_mechanism(tmp_path: Path) -> None:
    (tmp_path / "moon.sdf").write_text(
        f'<sdf version="1.9"><world name="moon"><gravity>0 0.1 -1.62</gravity>'
        f'<model name="m">{link("a")}</model></world></sdf>'
    )
    np.testing.assert_array_equal(ct.Mechanism.from_sdf(tmp_path / "moon.sdf").gravity, (0, 0.1, -1.62))
    np.testing.assert_array_equal(read(tmp_path, link("a")).gravity, (0, 0, -9.81))


def test_a_static_model_stands_still(tmp_path: Path) -> None:
    door = (link("frame"), link("leaf", "<pose>0.5 0 0 0 0 0</pose>"), joint("hinge", "revolute", "frame", "leaf"))
    with pytest.warns(ct.ModelWarning, match=r"a static model, welded to the world \(m\)"):
        m = read(tmp_path, "<pose>0 0 2 0 0 0</pose><static>true</static>", *door)
    run = ct.Simulator(m, dt=0.01).run(steps=20)
    np.testing.assert_allclose(run[-1].position, m.state().position, atol=1e-14)
    assert (m.report().freedom, read(tmp_path, "<static>false</static>", *door).report().freedom) == (0, 7)


def test_the_model_that_moves_is_read(tmp_path: Path) -> None:
    def world(*names: str, moving: str) -> Path:
        models = [
            f'<model name="{name}">{link(name)}{"" if name == moving else "<static>1</static>"}</model>'
            for name in names
        ]
        path = tmp_path / "world.sdf"
        path.write_text(f'<sdf version="1.9"><world name="w">{"".join(models)}</world></sdf>')
        return path

    with pytest.warns(ct.ModelWarning, match=r"not read: model 2 times \(ground, table\)"):
        m = ct.Mechanism.from_sdf(world("ground", "robot", "table", moving="robot"))
    assert list(m.bodies) == ["robot"]
    with pytest.raises(
        ValueError, match=r"has 2 models \('ground', 'table'\), and one is read: say which.* model=name"
    ):
        ct.Mechanism.from_sdf(world("ground", "table", moving=""))
    with pytest.warns(ct.ModelWarning):
        assert list(ct.Mechanism.from_sdf(tmp_path / "world.sdf", model="table").bodies) == ["table"]
    with pytest.raises(ValueError, match="none or several are called 'chair'"):
        ct.Mechanism.from_sdf(tmp_path / "world.sdf", model="chair")
    (tmp_path / "world.sdf").write_text('<sdf version="1.9"><world name="w"><include/></world></sdf>')
    with pytest.raises(ValueError, match="has no model; those that it includes are not read"):
        ct.Mechanism.from_sdf(tmp_path / "world.sdf")


def test_models_within_models_are_parts_of_them(tmp_path: Path) -> None:
    hook = '<frame name="hook"><pose>1 0 0 0 0 0</pose></frame>'
    wheel = '<pose relative_to="hook">0 0 -0.5 0 0 0</pose>'
    axle = joint("axle", "revolute", "bed", "wheel", "<axis><xyz expressed_in='hook'>0 1 0</xyz></axis>")
    trailer = f'<model name="trailer"><pose>-3 0 0 0 0 1</pose>{link("bed")}{hook}{link("wheel", wheel)}{axle}</model>'
    hitch = joint("hitch", "ball", "cab", "trailer::bed", "<pose relative_to='trailer::hook'/>")
    m = read(tmp_path, link("cab"), trailer, hitch)
    flat = read(
        tmp_path,
        link("cab"),
        '<frame name="trailer" attached_to="bed"><pose relative_to="__model__">-3 0 0 0 0 1</pose></frame>',
        link("bed", '<pose relative_to="trailer"/>'),
        '<frame name="hook" attached_to="trailer"><pose>1 0 0 0 0 0</pose></frame>',
        link("wheel", wheel),
        axle,
        hitch.replace("trailer::", ""),
    )
    assert list(m.bodies) == ["cab", "trailer::bed", "trailer::wheel"]
    assert list(m.joints) == ["hitch", "trailer::axle"]
    assert "trailer" in m.frames
    for here, there in (("trailer::wheel", "wheel"), ("trailer::hook", "hook"), ("trailer", "trailer")):
        for a, b in zip(m.state().frame(here), flat.state().frame(there), strict=True):
            np.testing.assert_allclose(a, b, atol=1e-15)
    np.testing.assert_allclose(m.joints["trailer::axle"].frame_a, flat.joints["axle"].frame_a, atol=1e-15)


def test_a_link_called_world_is_the_world(tmp_path: Path) -> None:
    shape = (
        "<visual name='floor'><pose>0 0 -1 0 0 0</pose><geometry><box><size>3 3 0.1</size></box></geometry></visual>"
    )
    with pytest.warns(ct.ModelWarning, match="not read: mass of the world$"):
        m = read(tmp_path, link("world", "", INERTIAL + shape), link("b"), joint("j", "revolute", "world", "b"))
    assert list(m.bodies) == ["b"]
    (floor,) = m.world.shapes
    assert (floor.name, floor.size) == ("floor", (3, 3, 0.1))
    np.testing.assert_array_equal(floor.position, (0, 0, -1))


def test_what_is_not_read_is_said_once(tmp_path: Path) -> None:
    with pytest.warns(ct.ModelWarning) as said:
        read(
            tmp_path,
            *four_bar(),
            "<plugin name='p' filename='libp.so'/><include/>",
            link("e", "", INERTIAL + "<sensor/><visual name='v'><geometry><plane/></geometry></visual>"),
        )
    assert len(said) == 1
    for part in ("model/plugin", "model/include", "link/sensor (e)", "geometry plane (e)"):
        assert part in str(said[0].message)


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ((), "has no links"),
        (
            (link("a", '<pose relative_to="b"/>'), link("b", '<pose relative_to="a"/>')),
            "form a cycle of references",
        ),
        ((link("a", '<pose relative_to="x"/>'),), "there is no frame called 'x'"),
        ((link("a"), '<frame name="f" attached_to="f"/>'), "frame 'f' is attached to itself"),
        ((link("a"), '<frame name="f" attached_to="g"/><frame name="g" attached_to="f"/>'), "is attached to itself"),
        ((link("a"), joint("j", "revolute", "a", "a")), "joint 'j' joins 'a' to itself"),
        ((link("a"), joint("j", "revolute", "world", "a", "")), "joint 'j' has no axis"),
        ((link("a"), joint("j", "bent", "world", "a")), "there is no joint type 'bent'"),
        ((link("a"), joint("j", "revolute", "moon", "a")), "there is no link called 'moon'"),
        ((link("a", "<pose>1 2 3</pose>"),), "6 numbers are needed"),
        (
            (link("a", "<pose rotation_format='quat_xyzw'>0 0 0 0 0 0 0</pose>"),),
            "quaternion of a pose must not be zero",
        ),
    ],
)
def test_mistakes_are_named(tmp_path: Path, parts: tuple[str, ...], message: str) -> None:
    with pytest.raises(ValueError, match=f"model.sdf: .*{message}"):
        read(tmp_path, *parts)


def test_damping_of_balls(tmp_path: Path) -> None:
    """The same about all axes; what else there is of dynamics is told."""
    dynamics = "<dynamics><damping>0.2</damping><friction>{}</friction></dynamics>"
    for friction in ("0", "0.1"):
        parts = (
            link("base"),
            link("top"),
            joint("j", "ball", "base", "top", f"<axis>{dynamics.format(friction)}</axis>"),
        )
        if friction == "0":
            m = read(tmp_path, *parts)
        else:
            with pytest.warns(ct.ModelWarning, match="friction of a ball joint"):
                m = read(tmp_path, *parts)
        assert [repr(force) for force in m.forces.values()] == ["Damper('damping of j', damping=0.2)"]
