"""URDF: every joint type, every way to close a loop, shapes, limits and mimics, and what is said of the rest."""

from __future__ import annotations

import json
import warnings
from itertools import pairwise
from math import inf, pi
from pathlib import Path

import numpy as np
import pytest

import catena as ct
from catena._util import rotation as rot

MODELS = Path(__file__).parents[1] / "models"
MASS = '<inertial><mass value="1"/><inertia ixx="0.01" iyy="0.02" izz="0.015"/></inertial>'


def link(name: str, inside: str = MASS) -> str:
    return f'<link name="{name}">{inside}</link>'


def joint(name: str, kind: str, parent: str, child: str, inside: str = "") -> str:
    return f'<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/>{inside}</joint>'


def written(tmp_path: Path, *parts: str) -> Path:
    (tmp_path / "robot.urdf").write_text(f'<robot name="r">{"".join(parts)}</robot>')
    return tmp_path / "robot.urdf"


def read(tmp_path: Path, *parts: str, **options: object) -> ct.Mechanism:
    return ct.Mechanism.from_urdf(written(tmp_path, *parts), **options)  # type: ignore[arg-type]


# ---- trees


@pytest.mark.parametrize(
    ("kind", "expected", "freedom"),
    [
        ("revolute", ct.Revolute, 1),
        ("continuous", ct.Revolute, 1),
        ("prismatic", ct.Prismatic, 1),
        ("fixed", ct.Fixed, 0),
        ("floating", ct.Free, 6),
        ("planar", ct.Planar, 3),
        ("ball", ct.Ball, 3),
        ("universal", ct.Universal, 2),
        ("cylindrical", ct.Cylindrical, 2),
    ],
)
def test_every_joint_type(tmp_path: Path, kind: str, expected: type, freedom: int) -> None:
    place = '<origin xyz="1 2 3" rpy="0.1 0.2 0.3"/><axis xyz="0 0.6 0.8"/>'
    m = read(tmp_path, link("a"), link("b"), joint("j", kind, "a", "b", place))
    assert type(m.joints["j"]) is expected
    assert m.report().freedom == freedom
    position, orientation = m.state().frame("b")
    np.testing.assert_allclose(position, (1, 2, 3), atol=1e-15)
    # yaw, then pitch, then roll, about the turned axes
    turns = [rot.from_rotation_vector(v) for v in ((0, 0, 0.3), (0, 0.2, 0), (0.1, 0, 0))]
    np.testing.assert_allclose(orientation, rot.multiply(rot.multiply(turns[0], turns[1]), turns[2]), atol=1e-15)


def test_a_screw_has_its_pitch(tmp_path: Path) -> None:
    pitch = '<axis xyz="0 0 1"/><drake:screw_thread_pitch value="0.02"/>'
    m = read(tmp_path, link("a"), link("b"), joint("j", "screw", "a", "b", pitch))
    assert m.joints["j"].parameter == pytest.approx(0.02 / (2 * pi))


def test_a_pendulum_swings_about_the_joint_with_the_inertia_of_the_file(tmp_path: Path) -> None:
    inertial = (
        '<inertial><origin xyz="0.4 0 0" rpy="0.3 0 0"/><mass value="2"/>'
        '<inertia ixx="0.01" iyy="0.03" izz="0.03"/></inertial>'
    )
    m = read(
        tmp_path, link("base", ""), link("bob", inertial), joint("j", "revolute", "base", "bob", '<axis xyz="0 1 0"/>')
    )
    state = m.state()
    state.joint("j").angle = pi / 2 - 1e-3  # hanging down is at a quarter turn
    run = ct.Simulator(m, dt=1e-3).run(duration=5, state=state)
    angle = run.joint("j").angle - pi / 2
    rising = np.flatnonzero((angle[:-1] < 0) & (angle[1:] >= 0))
    period = np.diff(run.time[rising]).mean()
    assert period == pytest.approx(2 * pi * np.sqrt((0.03 + 2 * 0.4**2) / (2 * 9.81 * 0.4)), rel=1e-3)


def test_the_base_is_welded_or_floats_or_is_the_world(tmp_path: Path) -> None:
    parts = (link("base"), link("b"), joint("j", "revolute", "base", "b"))
    assert read(tmp_path, *parts).report().freedom == 1
    assert read(tmp_path, *parts, floating=True).report().freedom == 7
    m = read(tmp_path, link("world", ""), link("b"), joint("j", "revolute", "world", "b"))
    assert m.joints["j"].a is m.world
    assert list(m.bodies) == ["b"]


def test_the_world_keeps_its_shapes_and_no_mass(tmp_path: Path) -> None:
    """Wherever the center of that mass was said to be."""
    inertial = '<inertial><origin xyz="0 0 5"/><mass value="1"/><inertia ixx="1" iyy="1" izz="1"/></inertial>'
    geometry = '<geometry><box size="3 2 0.1"/></geometry>'
    table = f'<visual name="table"><origin xyz="1 0 -0.2" rpy="0 0 {pi / 2}"/>{geometry}</visual>'
    parts = (link("b"), joint("j", "revolute", "world", "b", '<origin xyz="0 0 1"/>'))
    m = read(tmp_path, link("world", table + f"<collision>{geometry}</collision>"), *parts)
    seen, hull = m.world.shapes
    assert (seen.name, seen.visible, seen.collides, hull.visible, hull.collides) == ("table", True, False, False, True)
    np.testing.assert_allclose(seen.position, (1, 0, -0.2))
    np.testing.assert_allclose(rot.rotate(seen.orientation, np.eye(3)[0]), (0, 1, 0), atol=1e-15)
    with pytest.warns(ct.ModelWarning, match=r"not read: mass of the world$"):
        m = read(tmp_path, link("world", inertial + table), *parts)
    np.testing.assert_array_equal(m.world.shapes[0].position, seen.position)
    np.testing.assert_allclose(m.state().frame("b")[0], (0, 0, 1), atol=1e-15)


def test_damping_of_balls_and_crosses(tmp_path: Path) -> None:
    """About all axes of a ball, about both of a cross: read, and a ball's written and read back."""
    grease = '<dynamics damping="0.5"/>'
    parts = [joint("j", "ball", "a", "b", grease), joint("k", "universal", "b", "c", grease)]
    m = read(tmp_path, *map(link, "abc"), *parts)
    assert repr(m.forces["damping of j"]) == repr(ct.Damper("j", 0.5, name="damping of j"))[:-1] + ", damping=0.5)"
    assert [part.law["damping"] for part in m.forces["damping of k"].parts] == [0.5, 0.5]
    m.remove_body("c", cascade=True)
    m.to_urdf(tmp_path / "again.urdf")
    assert repr(ct.Mechanism.from_urdf(tmp_path / "again.urdf").forces) == repr(m.forces)


def test_limits_dynamics_and_mimics(tmp_path: Path) -> None:
    m = read(
        tmp_path,
        *map(link, "abcd"),
        joint(
            "one",
            "revolute",
            "a",
            "b",
            '<limit lower="-1" upper="2" effort="3" velocity="4"/><dynamics damping="0.5" friction="0.2"/>',
        ),
        joint(
            "two",
            "prismatic",
            "b",
            "c",
            '<mimic joint="one" multiplier="-0.5" offset="0.1"/><limit effort="1e30" velocity="2"/>',
        ),
        joint("three", "continuous", "b", "d", '<limit lower="0" upper="0" effort="5" velocity="1"/>'),
    )
    assert m.joints["one"].limits["angle"] == ct.Limits(-1, 2, 3, 4)
    assert m.joints["two"].limits["displacement"] == ct.Limits(-inf, inf, inf, 2)
    assert m.joints["three"].limits["angle"] == ct.Limits(-inf, inf, 5, 1)
    assert isinstance(m.forces["damping of one"], ct.Damper)
    assert isinstance(m.forces["friction of one"], ct.Friction)
    state = m.assemble(coordinates={"one": 0.6})
    assert state.joint("two").coordinates[0] == pytest.approx(-0.5 * 0.6 + 0.1)


def test_shapes_have_colours_places_and_files() -> None:
    m = ct.Mechanism.from_urdf(MODELS / "four_bar.urdf")
    (crank,), (rod, hull), (rocker,) = (m.bodies[name].shapes for name in ("crank", "rod", "rocker"))
    assert (crank.kind, crank.size, crank.color) == ("cylinder", (0.01, 0.3), (0.6, 0.6, 0.7, 1.0))
    np.testing.assert_allclose(rot.rotate(crank.orientation, np.array((0, 0, 1.0))), (1, 0, 0), atol=1e-15)
    # the link's center of mass is where the shape is put
    np.testing.assert_allclose(crank.position, 0, atol=1e-15)
    assert rod.color == (1, 0, 0, 0.5)
    assert (rod.visible, rod.collides, hull.visible, hull.collides) == (True, False, False, True)
    assert rocker.mesh == str((MODELS / "meshes" / "rocker.stl").resolve())
    assert rocker.size == (0.001,) * 3


def test_fixed_links_are_merged_on_request(tmp_path: Path) -> None:
    turned = '<origin xyz="0.3 0 0.1" rpy="0 0 1"/>'
    parts = (
        *(link("base"), link("arm"), link("hand"), link("finger")),
        joint("wrist", "fixed", "arm", "hand", turned),
        joint("shoulder", "revolute", "base", "arm", '<axis xyz="0 1 0"/>'),
        joint("knuckle", "revolute", "hand", "finger", '<origin xyz="0.1 0 0"/><axis xyz="0 1 0"/>'),
    )
    plain, merged = (read(tmp_path, *parts, merge_fixed=merge) for merge in (False, True))
    assert list(merged.bodies) == ["base", "arm", "finger"]
    assert merged.bodies["arm"].mass == 2
    assert merged.frames["hand"].body == "arm"
    ends = [ct.Simulator(m, dt=0.002).run(duration=1)[-1] for m in (plain, merged)]
    for name in ("arm", "hand", "finger"):
        for one, other in zip(*(end.frame(name) for end in ends), strict=True):
            np.testing.assert_allclose(one, other, atol=1e-9)


# ---- loops


def four_bar_freedom(m: ct.Mechanism) -> int:
    state = m.assemble()
    run = ct.Simulator(m, dt=0.002).run(duration=2, state=state)
    assert run.drift().max() < 1e-12
    return m.report(state).freedom


def test_a_four_bar_closed_by_a_loop_joint() -> None:
    m = ct.Mechanism.from_urdf(MODELS / "four_bar.urdf")
    assert [joint.name for joint in m.spanning_tree().loops] == ["knee"]
    assert four_bar_freedom(m) == 1


def bars() -> str:
    text = (MODELS / "four_bar.urdf").read_text().replace("meshes/", f"{MODELS}/meshes/")
    return text[: text.index("<loop_joint")]


@pytest.mark.parametrize("kind", ["ball", "side", "pairs"])
def test_the_same_loop_said_otherwise(tmp_path: Path, kind: str) -> None:
    """Beside a hinge, a ball holds the plane linkage as well: what else the hinge says is redundant."""
    path, options = tmp_path / "robot.urdf", {}
    if kind == "ball":
        end = (
            '<drake:ball_constraint><drake:ball_constraint_body_A name="rod"/>'
            '<drake:ball_constraint_p_AP value="0.6 0 0"/><drake:ball_constraint_body_B name="rocker"/>'
            '<drake:ball_constraint_p_BQ value="0.5 0 0"/></drake:ball_constraint>'
        )
    else:
        end = link("tip_a", "") + link("tip_b", "")
        end += joint("a tip", "fixed", "rod", "tip_a", '<origin xyz="0.6 0 0"/>')
        end += joint("b tip", "fixed", "rocker", "tip_b", '<origin xyz="0.5 0 0"/>')
        options["loops"] = [("tip_a", "tip_b", "3d")]
    if kind == "side":
        (tmp_path / "robot.yaml").write_text(
            "closed_loop: [[tip_a,\n  tip_b]]  # the knee\ntype: [3d]\nname_mot: mot\n"
        )
        options["loops"] = tmp_path / "robot.yaml"
    path.write_text(bars() + end + "</robot>")
    m = ct.Mechanism.from_urdf(path, packages={"meshes": MODELS}, **options)
    assert four_bar_freedom(m) == 1


def test_a_side_file_may_be_json_or_blocks(tmp_path: Path) -> None:
    parts = (*map(link, "abc"), joint("j", "revolute", "a", "b"), joint("k", "revolute", "a", "c"))
    for text in (
        json.dumps({"closed_loop": [["b", "c"]], "type": ["3d"]}),
        "closed_loop:\n- - b\n  - c\ntype:\n- 3d\n",
    ):
        (tmp_path / "loops.yaml").write_text(text)
        m = read(tmp_path, *parts, loops=tmp_path / "loops.yaml")
        assert isinstance(m.joints["loop1 b-c"], ct.Ball)
    for text in ("closed_loop: []", "nothing: 1", "closed_loop: [[b]]", "closed_loop: [[b, c]]\ntype: [3d, 6d]"):
        (tmp_path / "loops.yaml").write_text(text)
        with pytest.raises(ValueError, match=r"loops\.yaml: has"):
            read(tmp_path, *parts, loops=tmp_path / "loops.yaml")


def test_side_files_say_which_hinges_are_balls_and_crosses(tmp_path: Path) -> None:
    place = (
        '<origin xyz="1 0 0" rpy="0 0 0.5"/><axis xyz="0 1 0"/><limit lower="-1" upper="1" effort="1" velocity="1"/>'
    )
    chain = "abcde"
    parts = [joint(a + b, "revolute", a, b, place) for a, b in pairwise(chain)]
    before = read(tmp_path, *map(link, chain), *parts).state()
    (tmp_path / "loops.yaml").write_text(
        "closed_loop: [[a, e]]\ntype: ['3D']\njoint_name: [ab, bc, cd, lost]\n"
        "joint_type: [SPHERICAL, UJOINT_ZY, FIXED, SPHERICAL]\n"
    )
    said = r"limits and dynamics .* \(ab, bc, cd\), joint_type .* not there \(lost\)"
    with pytest.warns(ct.ModelWarning, match=said):
        m = read(tmp_path, *map(link, chain), *parts, loops=tmp_path / "loops.yaml")
    kinds = [type(m.joints[name]) for name in ("ab", "bc", "cd", "de", "loop1 a-e")]
    assert kinds == [ct.Ball, ct.Universal, ct.Fixed, ct.Revolute, ct.Ball]
    state = m.state()
    for name in chain:
        for one, other in zip(state.frame(name), before.frame(name), strict=True):
            np.testing.assert_allclose(one, other, atol=1e-15)
    np.testing.assert_allclose(state.coordinates, 0, atol=1e-15)
    m.remove_joint("loop1 a-e")
    state = m.state()
    state.joint("bc").coordinates = (0.3, 0.2)
    turn = rot.multiply(rot.from_rotation_vector((0, 0, 0.5 + 0.3)), rot.from_rotation_vector((0, 0.2, 0)))
    expected = rot.multiply(state.frame("b")[1], turn)
    assert abs(state.frame("c")[1] @ expected) == pytest.approx(1, abs=1e-15)
    for text, message in (
        ("joint_name: [ab]\njoint_type: [UJOINT_XX]", "a joint is SPHERICAL, FIXED or UJOINT_ with two axes"),
        ("joint_name: [ab]", "has 1 names of joints, but 0 types of joints"),
    ):
        (tmp_path / "loops.yaml").write_text(f"closed_loop: [[a, e]]\n{text}\n")
        with pytest.raises(ValueError, match=message):
            read(tmp_path, *map(link, chain), *parts, loops=tmp_path / "loops.yaml")


def test_a_link_with_two_parents_closes_a_loop(tmp_path: Path) -> None:
    y = '<axis xyz="0 1 0"/>'
    m = read(
        tmp_path,
        *map(link, ("ground", "left", "right", "top")),
        joint("a", "continuous", "ground", "left", y),
        joint("b", "continuous", "ground", "right", f'<origin xyz="1 0 0"/>{y}'),
        joint("c", "continuous", "left", "top", f'<origin xyz="0 0 0.5"/>{y}'),
        joint("d", "continuous", "right", "top", f'<origin xyz="-1 0 0.5"/>{y}'),
    )
    assert len(m.spanning_tree().loops) == 1
    assert four_bar_freedom(m) == 1


def test_a_weld_constraint(tmp_path: Path) -> None:
    ends = '<drake:weld_constraint_body_A name="b"/><drake:weld_constraint_body_B name="c"/>'
    weld = f"<drake:weld_constraint>{ends}</drake:weld_constraint>"
    m = read(tmp_path, *map(link, "abc"), joint("j", "revolute", "a", "b"), joint("k", "revolute", "a", "c"), weld)
    assert isinstance(m.joints["weld_constraint 1"], ct.Fixed)
    assert m.report().freedom == 1


def test_rounded_loops_close_and_the_report_says_how_well(tmp_path: Path) -> None:
    """A knee that is a tenth of a millimetre beside the plane, on axes that are 1e-4 rad off."""
    text = (MODELS / "four_bar.urdf").read_text().replace("meshes/", f"{MODELS}/meshes/")
    text = text.replace('link="rocker" xyz="0.5 0 0" rpy="0 0 0"', 'link="rocker" xyz="0.5 0.0001 0" rpy="0.0001 0 0"')
    (tmp_path / "robot.urdf").write_text(text)
    m = ct.Mechanism.from_urdf(tmp_path / "robot.urdf", packages={"meshes": MODELS})
    with pytest.warns(ct.LoopWarning, match="nearly redundant rows of 'knee'"):
        report = m.report()
    assert report.freedom == 1
    shift, turn = report.loop_mismatches["knee"]
    assert 1e-5 < shift < 3e-4
    assert turn < 3e-4
    with pytest.warns(ct.LoopWarning, match="nearly redundant rows of 'knee'"):
        run = ct.Simulator(m, dt=0.002).run(duration=2, state=m.assemble())
    assert run.drift().max() < 1e-10
    assert run.loop_mismatch().max() < 3e-3


def chain(closed: bool) -> tuple[tuple[str, ...], dict[str, np.ndarray]]:
    """Crank, rod and rocker, each on the one before, and where they are; the pivot is where the rocker ends, or not."""
    poses: dict[str, np.ndarray] = {"ground": np.eye(4)}
    parts = [link("ground")]
    for name, parent, x, yaw in (("crank", "ground", 0.0, 0.5), ("rod", "crank", 0.3, -0.7), ("rocker", "rod", 0.5, 1)):
        c, s = np.cos(yaw), np.sin(yaw)
        poses[name] = poses[parent] @ np.array(((c, -s, 0, x), (s, c, 0, 0), (0, 0, 1, 0), (0, 0, 0, 1.0)))
        place = f'<origin xyz="{x} 0 0" rpy="0 0 {yaw}"/><axis xyz="0 0 1"/>'
        parts += [link(name), joint(f"{name} hinge", "continuous", parent, name, place)]
    end = poses["rocker"] @ (0.45, 0, 0, 1)
    end[0] += 0.0 if closed else 0.1
    parts += [link("tip", ""), joint("tip", "fixed", "rocker", "tip", '<origin xyz="0.45 0 0" rpy="0.3 0 0"/>')]
    place = '<origin xyz="{} {} {}" rpy="0 0.2 0"/>'.format(*end[:3])
    parts += [link("pivot", ""), joint("pivot", "fixed", "ground", "pivot", place)]
    return tuple(parts), poses


def as_in_the_file(state: ct.State, poses: dict[str, np.ndarray]) -> None:
    for name, pose in poses.items():
        position, orientation = state.frame(name)
        np.testing.assert_allclose(position, pose[:3, 3], atol=1e-12)
        np.testing.assert_allclose(rot.to_matrix(orientation), pose[:3, :3], atol=1e-12)


@pytest.mark.parametrize("merge_fixed", [False, True])
@pytest.mark.parametrize("kind", ["3d", "loop_joint", "ball"])
def test_loops_leave_links_in_the_pose_of_the_file(tmp_path: Path, kind: str, merge_fixed: bool) -> None:
    for closed in (True, False):
        parts, poses = chain(closed)
        options: dict[str, object] = {"merge_fixed": merge_fixed}
        if kind == "3d":
            options["loops"] = [("pivot", "tip", "3d")]
        elif kind == "ball":
            ends = '<drake:ball_constraint_body_A name="pivot"/><drake:ball_constraint_body_B name="tip"/>'
            parts += (f"<drake:ball_constraint>{ends}</drake:ball_constraint>",)
        else:
            ends = '<link1 link="pivot" rpy="0 -0.2 0"/><link2 link="tip" rpy="-0.3 0 0"/><axis xyz="0 0 1"/>'
            parts += (f'<loop_joint name="l" type="revolute">{ends}</loop_joint>',)
        m = read(tmp_path, *parts, **options)
        as_in_the_file(m.state(), poses)
        (loop,) = (joint for joint in m.joints.values() if joint.closes_loop)
        told = {name: m.state().joint(name).coordinates for name, joint in m.joints.items() if joint.has_coordinates}
        if kind == "loop_joint":
            # its frames are the file's: it is turned by what the others are turned by
            assert told.pop("l") == pytest.approx(0.5 - 0.7 + 1)
        np.testing.assert_allclose(np.concatenate(list(told.values())), 0, atol=1e-12)
        assert m.state().joint(loop.name).gap == pytest.approx(0.0 if closed else 0.1, abs=1e-12)
        if closed:
            as_in_the_file(m.assemble(), poses)
        else:
            assert m.assemble().joint(loop.name).gap < 1e-10


def test_links_that_carry_each_other_are_refused(tmp_path: Path) -> None:
    parts = (*map(link, "abc"), joint("j", "revolute", "b", "c"), joint("k", "revolute", "c", "b"))
    with pytest.raises(ValueError, match=r"robot\.urdf: the parents of links form a cycle: 'b', 'c'"):
        read(tmp_path, *parts)


# ---- the base


@pytest.mark.parametrize("merge_fixed", [False, True])
@pytest.mark.parametrize("base", [MASS, ""])
@pytest.mark.parametrize("first", ["base", "tool", "arm"])
def test_a_floating_robot_stands_where_the_welded_one_does(
    tmp_path: Path, first: str, base: str, merge_fixed: bool
) -> None:
    """Whichever link the file has first, and whatever is part of what."""
    links = {name: link(name, base if name == "base" else MASS) for name in ("base", "plate", "arm", "tool")}
    parts = (
        links.pop(first),
        *links.values(),
        joint("grip", "fixed", "arm", "tool", '<origin xyz="0 0.2 0" rpy="0 1 0"/>'),
        joint("j", "revolute", "plate", "arm", '<origin xyz="0.5 0 0" rpy="1.5708 0 0"/>'),
        joint("on", "fixed", "base", "plate", '<origin xyz="0 0 0.1" rpy="0 0 0.3"/>'),
    )
    welded = read(tmp_path, *parts).state()
    floating = read(tmp_path, *parts, floating=True, merge_fixed=merge_fixed).state()
    position, orientation = floating.frame("base")
    np.testing.assert_array_equal(position, 0)
    np.testing.assert_array_equal(orientation, (1, 0, 0, 0))
    for name in ("base", "plate", "arm", "tool"):
        for one, other in zip(floating.frame(name), welded.frame(name), strict=True):
            np.testing.assert_allclose(one, other, atol=1e-15)


# ---- what is said


def test_what_is_not_read_is_said_once(tmp_path: Path) -> None:
    parts = (
        link("a", MASS + "<contact/>"),
        link("b", '<inertial><mass value="0.1"/><inertia ixx="1" iyy="1" izz="1"/></inertial>'),
        link(
            "c",
            '<inertial><mass value="1"/></inertial><visual><geometry><mesh filename="package://lost/c.stl"/></geometry></visual>',
        ),
        joint(
            "j",
            "revolute",
            "a",
            "b",
            '<safety_controller k_velocity="1"/><limit lower="2" upper="1" effort="1" velocity="1"/>',
        ),
        joint("k", "revolute", "b", "c", '<mimic joint="nobody"/>'),
        "<gazebo/><gazebo/><transmission/>",
    )
    with pytest.warns(ct.ModelWarning) as said:
        m = read(tmp_path, *parts)
    assert len(said) == 1
    text = str(said[0].message)
    for part in (
        *("robot/gazebo 2 times", "robot/transmission", "link/contact (a)", "joint/safety_controller (j)"),
        *("mimic of a joint that is not there (k of nobody)", "file of package 'lost', which is not found"),
        *("an inertia that looks like a placeholder (b)", "a mass without inertia about some axis", "ignored (j)"),
    ):
        assert part in text
    assert said[0].filename == __file__
    assert m.bodies["c"].inertia.tensor[0, 0] == pytest.approx(1e-6)


@pytest.mark.parametrize(("share", "flagged"), [(0.97, False), (1.03, True)])
def test_an_inertia_is_too_large_for_a_body_of_twice_the_radius(tmp_path: Path, share: float, flagged: bool) -> None:
    """A ball of 3 kg and 0.1 m: no mass within 0.2 m has a moment above m (0.2 m)^2."""
    moment = share * 3.0 * 0.2**2
    inertia = f'<inertia ixx="{moment}" iyy="{0.9 * moment}" izz="{0.8 * moment}"/>'
    ball = '<visual><geometry><sphere radius="0.1"/></geometry></visual>'
    parts = (link("a", f'<inertial><mass value="3"/>{inertia}</inertial>{ball}'),)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        m = read(tmp_path, *parts)
    assert ["looks like a placeholder (a)" in str(each.message) for each in said] == [True] * flagged
    assert m.bodies["a"].inertia.tensor[0, 0] == pytest.approx(moment)


def test_what_others_take_is_taken_with_a_note(tmp_path: Path) -> None:
    """Pictures that cannot be read, commas, and a world that nobody declared."""
    visual = '<visual><origin xyz="0 0"/><geometry><box size="1 1 1"/></geometry></visual>'
    painted = (
        '<visual><geometry><sphere radius="0.1"/></geometry><material name="m"><color rgba=""/></material></visual>'
    )
    with pytest.warns(ct.ModelWarning) as said:
        m = read(
            tmp_path,
            link("a", MASS + visual + painted),
            joint("j", "revolute", "world", "a", '<origin xyz="0.07, 0 1,"/><axis xyz="0 1 0"/>'),
        )
    text = str(said[0].message)
    for part in (
        "visual that cannot be read (link 'a': visual: xyz: 3 numbers are needed, got '0 0')",
        "color that cannot be read (material 'm': rgba: 4 numbers are needed, got '')",
        "commas between numbers, read as spaces (origin@xyz)",
        "joints to a link 'world' that is not there, read as the world",
    ):
        assert part in text
    assert m.joints["j"].a is m.world
    assert [shape.kind for shape in m.bodies["a"].shapes] == ["sphere"]
    np.testing.assert_allclose(m.state().frame("a")[0], (0.07, 0, 1), atol=1e-15)


def test_a_link_without_mass_sits_at_its_origin(tmp_path: Path) -> None:
    tip = '<inertial><origin xyz="0 0 1"/><mass value="0"/><inertia ixx="1" iyy="1" izz="1"/></inertial>'
    with pytest.warns(ct.ModelWarning, match="an inertia without a mass, ignored"):
        m = read(tmp_path, link("a"), link("tip", tip), joint("j", "fixed", "a", "tip", '<origin xyz="0 2 0"/>'))
    np.testing.assert_array_equal(m.bodies["tip"].position, (0, 2, 0))


def test_xacro_files_are_told_from_urdf(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="is a xacro file: expand it to URDF first"):
        read(tmp_path, link("a"), '<xacro:include filename="b.xacro"/>')


def test_mimics_of_fixed_joints_are_listed(tmp_path: Path) -> None:
    with pytest.warns(ct.ModelWarning, match="mimic of a joint that has no coordinate"):
        read(
            tmp_path,
            *map(link, "ab"),
            joint("j", "fixed", "a", "b", '<mimic joint="j2"/>'),
            link("c"),
            joint("j2", "revolute", "b", "c"),
        )


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ((), "has no links"),
        ((link("a"), link("a")), "two links called 'a'"),
        ((link("a"), link("b")), "one link must be the root, but 'a', 'b' have no parent"),
        (
            (*map(link, "ab"), joint("j", "fixed", "a", "b"), joint("k", "fixed", "b", "a")),
            "every link is the child of a joint",
        ),
        ((link("a"), joint("j", "fixed", "a", "b")), "joint 'j': there is no link called 'b'"),
        ((link("a"), joint("j", "fixed", "a", "a")), "joint 'j' joins 'a' to itself"),
        ((*map(link, "ab"), joint("j", "bent", "a", "b")), "joint 'j': there is no joint type 'bent'"),
        ((*map(link, "ab"), joint("j", "revolute", "a", "b", '<axis xyz="0 0 0"/>')), "axis must not be zero"),
        ((*map(link, "ab"), joint("j", "revolute", "a", "b", '<origin xyz="0 0"/>')), "3 numbers are needed"),
        ((*map(link, "ab"), joint("j", "revolute", "a", "b", '<origin xyz="0 0 nan"/>')), "is too large"),
        (
            (*map(link, "ab"), joint("j", "revolute", "a", "b", '<dynamics damping="-1"/>')),
            "damping must not be negative",
        ),
        ((*map(link, "ab"), joint("j", "revolute", "a", "b", '<mimic joint="j"/>')), "joint 'j' mimics itself"),
        ((link("a", '<inertial><mass value="-1"/></inertial>'),), "mass must not be negative"),
        ((link("a", '<inertial><mass value="1e99"/></inertial>'),), "is too large"),
        ((link("a"), "<loop_joint name='l' type='ball'/>"), "loop_joint 'l' has no link1"),
        ((link("a"), "<drake:ball_constraint/>"), "has no drake:ball_constraint_body_A"),
    ],
)
def test_mistakes_are_named(tmp_path: Path, parts: tuple[str, ...], message: str) -> None:
    with pytest.raises(ValueError, match=f"robot.urdf: .*{message}"):
        read(tmp_path, *parts)
