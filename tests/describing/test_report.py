"""The report of a mechanism: counts, freedom, redundancy, loops and the choice of a solver, as data and in print."""

from __future__ import annotations

import warnings
from collections.abc import Callable

import numpy as np
import pytest

from catena import (
    Ball,
    Fixed,
    FixedOrientation,
    Gear,
    LoopWarning,
    Mechanism,
    Motor,
    ParallelAxes,
    PointOnLine,
    PointOnPlane,
    Prismatic,
    Revolute,
    RollingDisk,
    Simulator,
    StuckWarning,
    box,
    rod,
    scenes,
)
from catena._util import rotation as rot

TURN = rot.normalised(np.array((0.3, 0.5, -0.2, 0.7)))
BRICK = box((0.4, 0.3, 0.2), mass=1.0)

# bodies, joints, freedom, rows, rank, loops, by hand: rank = 6 bodies - freedom
SCENES: dict[str, tuple[Callable[[], Mechanism], tuple[int, int, int, int, int, int]]] = {
    "pendulum": (lambda: scenes.pendulum(4), (4, 4, 4, 20, 20, 0)),
    "spinning_chain": (lambda: scenes.spinning_chain(5), (5, 4, 18, 12, 12, 0)),
    "four_bar": (scenes.four_bar, (3, 4, 1, 20, 17, 1)),
    "four_bar turned": (lambda: scenes.four_bar(plane=TURN), (3, 4, 1, 20, 17, 1)),
    "closed_chain": (lambda: scenes.closed_chain(11), (11, 12, 9, 60, 57, 1)),
    "closed_chain ball": (lambda: scenes.closed_chain(11, "ball"), (11, 12, 30, 36, 36, 1)),
    "segmented_chain": (lambda: scenes.segmented_chain(4), (16, 20, 8, 100, 88, 4)),
    "n_four_bar": (lambda: scenes.n_four_bar(5), (11, 16, 1, 80, 65, 5)),
    "bricard": (scenes.bricard, (5, 6, 1, 30, 29, 1)),
    "slider_crank": (scenes.slider_crank, (3, 4, 1, 20, 17, 1)),
    "scissor": (lambda: scenes.scissor(4), (11, 16, 1, 80, 65, 5)),
    "ladder": (lambda: scenes.ladder(5), (15, 20, 5, 100, 85, 5)),
    "net": (lambda: scenes.net(3, 4), (21, 30, 36, 90, 90, 9)),
    "strandbeest": (lambda: scenes.strandbeest(2), (14, 20, 1, 101, 83, 6)),
    "strandbeest floating": (lambda: scenes.strandbeest(2, floating=True), (14, 19, 7, 95, 77, 6)),
    "delta_robot": (scenes.delta_robot, (10, 15, 9, 51, 51, 5)),
    "stewart_platform": (scenes.stewart_platform, (13, 18, 12, 66, 66, 5)),
    "minitaur": (scenes.minitaur, (17, 20, 14, 100, 88, 4)),
}


@pytest.mark.parametrize("case", SCENES)
def test_counts(case: str) -> None:
    make, wanted = SCENES[case]
    m = make()
    r = m.report()
    assert (r.body_count, r.joint_count, r.freedom, r.row_count, r.rank, len(r.loops)) == wanted
    assert r.redundant_count == r.row_count - r.rank
    assert r.freedom == 6 * r.body_count - r.rank
    assert bool(r.redundant_joints) == (r.redundant_count > 0)
    assert r.row_count == Simulator(m, 0.01).info()["row_count"]


@pytest.mark.parametrize("case", SCENES)
def test_loops_are_cycles(case: str) -> None:
    """Every loop: its joints in order lead from body to body and back, the world perhaps among them."""
    m = SCENES[case][0]()
    r = m.report()
    assert [loop.joint for loop in r.loops] == [joint.name for joint in m.spanning_tree().loops]
    for loop in r.loops:
        assert loop.joint in loop.joints
        assert len(set(loop.joints)) == len(loop.joints)

        # each body or the world is met by exactly two of the joints
        met: dict[str, int] = {}
        for name in loop.joints:
            for body in (m.joints[name].a.name, m.joints[name].b.name):
                met[body] = met.get(body, 0) + 1
        assert set(met.values()) == {2}
        assert set(met) - {"world"} == set(loop.bodies)
        assert len(set(loop.bodies)) == len(loop.bodies)


def test_loops_are_short() -> None:
    """A chain of rhombi has loops of four, a ladder's first loop goes through the world."""
    assert {len(loop.bodies) for loop in scenes.segmented_chain(10).report().loops} == {4}
    assert {len(loop.bodies) for loop in scenes.n_four_bar(1).report().loops} == {3}


# ---- redundancy


def test_redundant_joints_are_those_of_the_plane_loop() -> None:
    """A four-bar with a ball pendulum on it: only the hinges of the loop are redundant."""
    m = scenes.four_bar()
    hook = m.bodies["link2"].position
    m.add_body("bob", box((0.1, 0.1, 0.1), mass=0.1), position=hook - np.array((0, 0, 1.0)))
    m.add_joint(Ball("link2", "bob", at=hook, name="string"))
    r = m.report()
    assert r.redundant_joints == ("joint1", "joint2", "joint3", "joint4")
    assert r.freedom == 4


def test_reduced_closure_is_not_redundant() -> None:
    m = scenes.four_bar()
    reduced = Mechanism()
    for body in m.bodies.values():
        assert body.shape is not None
        reduced.add_body(body.name, body.shape, position=body.position, orientation=body.orientation)
    for name in ("joint1", "joint2", "joint3"):
        joint = m.joints[name]
        place = joint.b.position + rot.rotate(joint.b.orientation, joint.anchor_b)
        reduced.add_joint(Revolute(joint.a.name, joint.b.name, axis=(1, 0, 0), at=place, name=name))
    reduced.add_joint(PointOnLine(reduced.world, "link3", axis=(1, 0, 0), at=(0, 1, 0), name="joint4"))
    r = reduced.report()
    assert (r.freedom, r.row_count, r.rank, r.redundant_joints) == (1, 17, 17, ())


def test_same_joint_twice() -> None:
    m = Mechanism()
    m.add_body("door", BRICK)
    m.add_joint(Revolute(m.world, "door", axis=(0, 0, 1), at=(0.2, 0, 0.1), name="upper"))
    m.add_joint(Revolute(m.world, "door", axis=(0, 0, 1), at=(0.2, 0, -0.1), name="lower"))
    r = m.report()
    assert (r.freedom, r.row_count, r.rank, r.redundant_joints) == (1, 10, 5, ("upper", "lower"))
    assert len(r.loops) == 1
    assert r.loops[0].bodies == ("door",)


def test_constraints_that_carry_nothing() -> None:
    """A body held by point, plane, parallel and orientation constraints floats otherwise."""
    m = Mechanism()
    m.add_body("plate", BRICK)
    m.add_body("puck", BRICK, position=(1, 0, 0))
    m.add_joint(PointOnPlane(m.world, "plate", axis=(0, 0, 1), at=(0, 0, 0), name="floor"))
    m.add_joint(ParallelAxes(m.world, "plate", axis=(0, 0, 1), at=(0, 0, 0), name="level"))
    m.add_joint(FixedOrientation("plate", "puck", name="compass"))
    m.add_joint(PointOnLine("plate", "puck", axis=(1, 0, 0), at=(1, 0, 0), name="rail"))
    r = m.report()
    assert (r.freedom, r.row_count, r.rank, r.redundant_joints) == (4, 8, 8, ())
    m.add_joint(FixedOrientation("puck", m.world, name="second compass"))
    again = m.report()

    # two of its three rows are new to nobody: the plate was level already
    assert (again.freedom, again.rank) == (3, 9)
    assert set(again.redundant_joints) == {"level", "compass", "second compass"}


def test_units_do_not_change_the_rank() -> None:
    """A four-bar of bars a millimetre or ten kilometres long, of grams or tonnes."""
    for scale in (1e-3, 1.0, 1e4):
        m = Mechanism()
        corners = scale * np.array(((0, 0, 0), (0, 0.3, 1), (0, 1.1, 1.2), (0, 1, 0)))
        ends = [m.world]
        for k in range(3):
            start, end = corners[k], corners[k + 1]
            shape = box((0.1 * scale, 0.1 * scale, scale), mass=scale**3)
            ends.append(m.add_body(f"link{k}", shape, position=0.5 * (start + end)))
        for k in range(4):
            m.add_joint(Revolute(ends[k], ends[(k + 1) % 4], axis=(1, 0, 0), at=corners[k]))
        r = m.report()
        assert (r.freedom, r.rank, r.redundant_count) == (1, 17, 3)


@pytest.mark.parametrize(("tilt", "freedom"), [(0.0, 1), (1e-9, 1), (1e-6, 0), (1e-5, 0), (1e-3, 0)])
@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e3])
def test_rank_of_numbers_taken_at_their_word(scale: float, tilt: float, freedom: int) -> None:
    """A door on two hinges out of line by an angle: it can turn if that is rounding, and jams if it is more."""
    m = Mechanism(loop_tolerance=0)
    m.add_body("door", box((0.9 * scale, 0.05 * scale, 2 * scale), mass=30.0), position=(0.45 * scale, 0, 0))
    m.add_joint(Revolute("world", "door", axis=(0, 0, 1), at=(0, 0, 0.8 * scale)))
    m.add_joint(Revolute("world", "door", axis=(np.sin(tilt), 0, np.cos(tilt)), at=(0, 0, -0.8 * scale)))
    r = m.report()
    assert (r.freedom, r.rank, r.row_count) == (freedom, 6 - freedom, 10)


@pytest.mark.parametrize("scale", [1e-6, 1e-3, 1.0, 1e4])
def test_units_do_not_change_the_rank_of_slides(scale: float) -> None:
    """A table on two crossed rails, held a second time from above, of a micrometre or ten kilometres."""
    m = Mechanism()
    for k, name in enumerate(("lower", "upper", "rider")):
        m.add_body(name, box((scale, scale, 0.1 * scale), mass=1.0), position=(0, 0, 0.2 * k * scale))
    rails = (("world", "lower", (1, 0, 0)), ("lower", "rider", (0, 1, 0)), ("world", "upper", (0, 1, 0)))
    for k, (a, b, axis) in enumerate(rails):
        m.add_joint(Prismatic(a, b, axis=axis, at=(0, 0, 0.1 * k * scale)))
    m.add_joint(Prismatic("upper", "rider", axis=(1, 0, 0), at=(0, 0, 0.4 * scale)))
    r = m.report()
    # three turns are kept from it twice, and one height
    assert (r.freedom, r.row_count, r.rank) == (2, 20, 16)


# ---- a mechanism that cannot move


def triangle() -> Mechanism:
    """Three bars in a triangle on the ground: a structure."""
    m = Mechanism()
    corners = np.array(((0, 0, 0), (0, 1, 0), (0, 0.4, 1)))
    for k, (start, end) in enumerate(((0, 2), (1, 2))):
        m.add_body(f"bar{k}", box((0.1, 0.1, 1.0), mass=1.0), position=0.5 * (corners[start] + corners[end]))
    m.add_joint(Revolute(m.world, "bar0", axis=(1, 0, 0), at=corners[0], name="left"))
    m.add_joint(Revolute(m.world, "bar1", axis=(1, 0, 0), at=corners[1], name="right"))
    m.add_joint(Revolute("bar0", "bar1", axis=(1, 0, 0), at=corners[2], name="top"))
    return m


def test_a_structure_is_said_to_be_locked() -> None:
    r = triangle().report()
    assert (r.freedom, r.row_count, r.rank) == (0, 15, 12)
    assert set(r.redundant_joints) == {"left", "right", "top"}
    assert "locked" in str(r)
    assert "locked" not in str(scenes.four_bar().report())


def test_a_structure_stands_still() -> None:
    m = triangle()
    for solver in ("articulated", "ldu", "dense"):
        with pytest.warns(StuckWarning):
            run = Simulator(m, 0.01, solver=solver).run(steps=200)

        # held by its joints, which carry its weight: measured 1e-16 m
        assert np.abs(run.position - run.position[0]).max() < 1e-12
        assert np.abs(run.velocity).max() < 1e-10
        held = run.joint("left").force + run.joint("right").force
        np.testing.assert_allclose(held, np.tile((0, 0, 2 * 9.81), (201, 1)), rtol=0, atol=1e-8)
        assert run.warnings == ("nothing moves: the joints leave no freedom, see the mechanism's report()",)
    # what is in balance could move
    balanced = scenes.closed_chain(3)
    balanced.gravity = (0, 0, 0)
    assert Simulator(balanced, 0.01).run(steps=5).warnings == ()


def test_all_fixed_is_locked() -> None:
    m = Mechanism()
    m.add_body("one", BRICK)
    m.add_body("two", BRICK, position=(1, 0, 0))
    m.add_joint(Fixed(m.world, "one", name="a"))
    m.add_joint(Fixed("one", "two", name="b"))
    m.add_joint(Fixed("two", m.world, name="c"))
    r = m.report()
    assert (r.freedom, r.row_count, r.rank) == (0, 18, 12)
    assert r.redundant_joints == ("a", "b", "c")


# ---- work and choice of solver


# made inside of the test: parameters live as long as the interpreter, and what they were compiled to would be leaked
CHOICES: dict[str, tuple[Callable[[], Mechanism], str]] = {
    "pendulum": (lambda: scenes.pendulum(50), "articulated"),
    "ball": (lambda: scenes.pendulum(50, "ball"), "articulated"),
    "tree": (lambda: scenes.tree(4, 2), "articulated"),
    "four_bar": (scenes.four_bar, "articulated"),
    "closed_chain": (lambda: scenes.closed_chain(101), "articulated"),
    "rhombi": (lambda: scenes.segmented_chain(10), "articulated"),
    "ladder": (lambda: scenes.ladder(20), "articulated"),
    "long ladder": (lambda: scenes.ladder(50), "ldu"),
    "net": (lambda: scenes.net(6, 6), "ldu"),
    "n_four_bar": (lambda: scenes.n_four_bar(20), "ldu"),
}


@pytest.mark.parametrize("scene", CHOICES)
def test_solver_by_estimated_work(scene: str) -> None:
    make, solver = CHOICES[scene]
    m = make()
    r = m.report()
    assert set(r.work) == {"articulated", "ldu"}
    assert r.solver == solver == min(r.work, key=lambda name: r.work[name])
    info = Simulator(m, 0.01).info()
    assert info["solver"] == solver
    assert info["estimated_work"] == r.work

    # who asks for another one gets it, and the estimates all the same
    other = {"articulated": "ldu", "ldu": "articulated"}[solver]
    info = Simulator(m, 0.01, solver=other).info()
    assert (info["solver"], info["estimated_work"]) == (other, r.work)


@pytest.mark.parametrize(
    ("make", "solver", "loop_tolerance"),
    [
        (scenes.pendulum, "articulated", 3e-3),
        (scenes.pendulum, "ldu", 3e-3),
        (scenes.segmented_chain, "articulated", 3e-3),
        (scenes.segmented_chain, "ldu", 3e-3),
        # with all rows: in two hundred loops on one body nobody looks for those that are redundant
        (scenes.ladder, "ldu", 0.0),
        (scenes.n_four_bar, "ldu", 0.0),
    ],
)
def test_work_is_linear(make: Callable[[int], Mechanism], solver: str, loop_tolerance: float) -> None:
    """Ten times the mechanism, ten times the work: at most a tenth more."""
    work = []
    for n in (20, 200):
        m = make(n)
        m.loop_tolerance = loop_tolerance
        work.append(Simulator(m, 0.01).info()["estimated_work"][solver])
    assert 9 < work[1] / work[0] < 11


def test_work_of_a_net_grows_like_a_grid() -> None:
    """n x n knots: n^2 log n blocks in the factor, n^3 work in the best order, n^4 in a band."""
    work = [Simulator(scenes.net(n, n), 0.01).info()["estimated_work"]["ldu"] for n in (8, 16)]
    assert work[1] / work[0] < 2**3.5


# ---- in print


def test_print() -> None:
    r = scenes.four_bar().report()
    text = str(r).splitlines()
    assert text[0] == "3 bodies, 4 joints, 1 loop"
    assert text[1] == "degrees of freedom: 1"
    assert text[2] == "constraint rows: 20, rank 17, redundant 3"
    assert text[3] == "redundant joints: joint1, joint2, joint3, joint4"
    assert text[4].startswith(f"redundant rows not enforced: {r.loops[0].joint}; mismatch ")
    assert text[5].startswith("(singular values: largest dropped ")
    assert text[6].startswith(f"loop closed by {r.loops[0].joint!r}: 3 bodies, joints ")
    assert f"articulated {r.work['articulated']:.3g}" in text[-1]
    assert f"ldu {r.work['ldu']:.3g}" in text[-1]
    assert text[-1].endswith(f"solver: {r.solver}")


def test_print_of_a_large_mechanism_stays_short() -> None:
    text = str(scenes.ladder(40).report())
    assert len(text.splitlines()) < 30
    assert "more" in text


def test_report_of_another_pose() -> None:
    """With its cranks flat the N-four-bar has one more freedom for every loop."""
    m = scenes.n_four_bar(2)
    flat = m.state()
    for i in range(3):
        crank = flat.body(f"crank{i}")
        crank.position = (i + 0.5, 0, 0)
        crank.orientation = rot.multiply(rot.from_axis_angle((0, 0, 1), -np.pi / 2), crank.orientation)
    for i in (1, 2):
        flat.body(f"coupler{i}").position = (i + 0.5, 0, 0)
    assert max(max(flat.joint(name).gap, flat.joint(name).misalignment) for name in m.joints) < 1e-15
    r = m.report(flat)
    assert (r.freedom, r.redundant_count) == (3, 8)
    assert m.report().freedom == 1


def test_prismatic_loop() -> None:
    """Two parallel sliders on one sledge: five rows follow from the other five."""
    m = Mechanism()
    m.add_body("sledge", BRICK)
    m.add_joint(Prismatic(m.world, "sledge", axis=(1, 0, 0), at=(0, 0.1, 0), name="left rail"))
    m.add_joint(Prismatic(m.world, "sledge", axis=(1, 0, 0), at=(0, -0.1, 0), name="right rail"))
    r = m.report()
    assert (r.freedom, r.rank, r.redundant_joints) == (1, 5, ("left rail", "right rail"))
    m.joints["right rail"].frame_a = rot.multiply(m.joints["right rail"].frame_a, rot.from_axis_angle((1, 0, 0), 0.1))
    m.joints["right rail"].frame_b = rot.multiply(m.joints["right rail"].frame_b, rot.from_axis_angle((1, 0, 0), 0.1))
    assert m.report().freedom == 0


@pytest.mark.parametrize(("more", "rank", "inactive"), [(0.0, 11, ["second"]), (0.012, 11, ["second"]), (0.02, 12, [])])
def test_a_gear_that_is_not_enforced_counts_as_redundant(more: float, rank: int, inactive: list[str]) -> None:
    """Two gears of nearly the same ratio: at 0.012 the rows seem independent here, but a run drops one of them."""
    m = scenes.pendulum(2, "revolute", angle=0.4)
    m.add_coupling(Gear("joint1", "joint2", 2.0, name="first"))
    m.add_coupling(Gear("joint1", "joint2", 2.0 + more, name="second"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LoopWarning)
        r = m.report()
    assert (r.rank, r.freedom, list(r.loop_mismatches)) == (rank, 12 - rank, inactive)


@pytest.mark.parametrize(("toe", "freedom"), [(0.0, 2), (1e-12, 2), (1e-5, 1), (1e-2, 1)])
def test_what_rolls_is_taken_at_its_word(toe: float, freedom: int) -> None:
    """Wheels whose axles are not in line turn about the point where these meet, whatever `loop_tolerance` says."""
    m = Mechanism()
    m.add_body("frame", box((0.4, 0.3, 0.05), mass=4.0), position=(0.05, 0, 0.1))
    for side, y in (("left", 0.2), ("right", -0.2)):
        axle, hub = np.array((np.copysign(toe, y), 1, 0)), np.array((0, y, 0.1))
        m.add_body(side, rod(hub - 0.01 * axle, hub + 0.01 * axle, mass=0.5, radius=0.1))
        m.add_joint(Revolute("frame", side, axis=axle, at=hub, name=f"{side} axle"))
        m.add_joint(RollingDisk("world", side, radius=0.1, name=f"{side} tyre"))
        m.add_force(Motor(f"{side} axle", 0.1))
    m.add_joint(PointOnPlane("world", "frame", axis=(0, 0, 1), at=(0.2, 0, 0.1)))
    assert m.report().freedom == freedom
    speed = Simulator(m, 0.01).run(1).velocity[-1, 0, 0]
    assert (speed > 0.1) == (freedom == 2)
