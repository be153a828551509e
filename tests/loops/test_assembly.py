"""Assembly: rough poses onto all joints, on their branch, chosen joints kept or driven; open loops refused by name."""

from __future__ import annotations

from collections.abc import Callable
from math import pi
from typing import Any

import numpy as np
import pytest

from catena import (
    AssemblyError,
    AssemblyWarning,
    Ball,
    ConstantVelocity,
    Cylindrical,
    Fixed,
    FixedOrientation,
    Inertia,
    Limits,
    Live,
    Mechanism,
    ParallelAxes,
    Planar,
    PointOnLine,
    PointOnPlane,
    Prismatic,
    Revolute,
    SimulationError,
    Simulator,
    State,
    box,
    rod,
    scenes,
    sphere,
)
from catena._util import rotation as rot

TURN = rot.normalised(np.array((0.3, 0.5, -0.2, 0.7)))

# closed to a part of 1e-12 of the mechanism's size, as mechanism.assemble promises; all of these are smaller than 10 m
CLOSED = 1e-11


def shaken(state: State, size: float, seed: int = 0) -> State:
    """Every body moved and turned by normal deviates of `size` (m, rad)."""
    rng = np.random.default_rng(seed)
    rough = state.copy()
    rough.position = state.position + rng.normal(scale=size, size=state.position.shape)
    turns = rot.from_rotation_vector(rng.normal(scale=size, size=state.position.shape))
    rough.orientation = rot.normalised(rot.multiply(turns, state.orientation))
    return rough


def widest(state: State) -> float:
    """The largest gap (m) or misalignment (rad)."""
    views = [state.joint(name) for name in state.mechanism.joints]
    return max(max(view.gap, view.misalignment) for view in views)


def forbidden(state: State) -> float:
    """The largest velocity (m/s, rad/s) that a joint does not allow: a short way along it must not open any."""
    ahead = state.copy()
    h = 1e-6
    ahead.position = state.position + h * state.velocity
    turns = rot.from_rotation_vector(h * state.angular_velocity)
    ahead.orientation = rot.normalised(rot.multiply(turns, state.orientation))
    return widest(ahead) / h


SCENES = {
    "four_bar": scenes.four_bar,
    "four_bar turned": lambda: scenes.four_bar(plane=TURN),
    "bricard": scenes.bricard,
    "segmented_chain": lambda: scenes.segmented_chain(3),
    "slider_crank": scenes.slider_crank,
    "scissor": lambda: scenes.scissor(2),
    "ladder": lambda: scenes.ladder(4),
    "net": lambda: scenes.net(3, 3),
    "strandbeest": lambda: scenes.strandbeest(2),
    "delta_robot": scenes.delta_robot,
    "stewart_platform": scenes.stewart_platform,
    "minitaur": scenes.minitaur,
}


# ---- rough poses


@pytest.mark.parametrize("case", SCENES)
def test_a_closed_pose_stays(case: str) -> None:
    state = SCENES[case]().state()
    again = state.mechanism.assemble(state)
    np.testing.assert_allclose(again.position, state.position, rtol=0, atol=1e-13)
    np.testing.assert_allclose(again.orientation, state.orientation, rtol=0, atol=1e-13)
    assert again is not state


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("case", SCENES)
def test_rounded_poses(case: str, seed: int) -> None:
    """Noise of 1e-5 m and rad, as CAD files have it: closed, and no body moves much further than the noise."""
    state = SCENES[case]().state()
    rough = shaken(state, 1e-5, seed)
    assert widest(rough) > 1e-6
    closed = state.mechanism.assemble(rough)
    assert widest(closed) < CLOSED
    assert np.abs(closed.position - state.position).max() < 1e-3
    assert widest(rough) > 1e-6


@pytest.mark.parametrize("case", SCENES)
def test_rough_poses(case: str) -> None:
    """Noise of 2 cm and 0.02 rad."""
    state = SCENES[case]().state()
    closed = state.mechanism.assemble(shaken(state, 0.02))
    assert widest(closed) < CLOSED
    run = Simulator(state.mechanism, 0.001).run(steps=20, state=closed)
    assert run.drift().max() <= 1e-10


def test_rounded_coordinates() -> None:
    """A four-bar typed in with three decimals."""
    exact = scenes.four_bar(plane=TURN).state()
    typed = exact.copy()
    typed.position = np.round(exact.position, 3)
    typed.orientation = rot.normalised(np.round(exact.orientation, 3))
    assert 1e-4 < widest(typed) < 1e-2
    closed = exact.mechanism.assemble(typed)
    assert widest(closed) < CLOSED

    # the loop decides, not the rounding: still in its plane, and at the pose of the nearest angle
    normal = rot.rotate(TURN, np.array((1.0, 0, 0)))
    np.testing.assert_allclose(closed.position @ normal, 0, atol=1e-12)
    assert np.abs(closed.position - exact.position).max() < 3e-3


def test_described_pose_is_the_default_guess() -> None:
    """A loop described with anchors that do not meet yet."""
    m = Mechanism()
    for k, (start, end) in enumerate((((0, 0, 0), (0, 0, 1)), ((0, 0, 1), (0, 1, 1)), ((0, 1.2, 1), (0, 1.2, 0)))):
        m.add_body(f"bar{k}", rod(start, end, mass=1.0))
    half = np.array((0, 0, 0.5))
    m.add_joint(Revolute(m.world, "bar0", axis=(1, 0, 0), at=(0, 0, 0)))
    m.add_joint(Revolute("bar0", "bar1", axis=(1, 0, 0), at=(0, 0, 1)))
    m.add_joint(Revolute("bar1", "bar2", anchors=(half, -half), axis=((1, 0, 0), (1, 0, 0)), name="loose"))
    m.add_joint(Revolute(m.world, "bar2", axis=(1, 0, 0), at=(0, 1.2, 0)))
    axes = m.joints["loose"]
    world_a = rot.rotate(m.bodies["bar1"].orientation, rot.rotate(axes.frame_a, np.array((0, 0, 1.0))))
    assert abs(abs(world_a[0]) - 1) < 1e-12
    assert m.state().joint("loose").gap > 0.1
    closed = m.assemble()
    assert widest(closed) < CLOSED

    # bars keep their lengths: the corner is where two circles meet
    corner = closed.body("bar1").point(half)
    assert np.linalg.norm(corner - (0, 1.2, 0)) == pytest.approx(1.0, abs=1e-12)


def test_assembly_is_the_least_motion() -> None:
    """Moving every body of a floating loop by the same amount is no gap, and is not undone."""
    m = scenes.strandbeest(2, floating=True)
    state = m.state()
    moved = state.copy()
    moved.position = state.position + np.array((0.3, -0.2, 0.5))
    np.testing.assert_allclose(m.assemble(moved).position, moved.position, rtol=0, atol=1e-13)
    rough = shaken(moved, 1e-3)
    closed = m.assemble(rough)
    masses = np.array([body.inertia.mass for body in m.bodies.values()])

    # no joint pushes the whole: its center stays, but for second order
    np.testing.assert_allclose(masses @ (closed.position - rough.position), 0, atol=1e-5)
    assert widest(closed) < CLOSED


# ---- branches


def four_bar_on(side: float, angle: float = pi / 2) -> Mechanism:
    """A four-bar whose coupler is on either side: crank of 0.5 m, coupler and rocker of 1 m over 1.2 m of ground."""
    crank = 0.5 * np.array((0, np.cos(angle), np.sin(angle)))
    ground = np.array((0, 1.2, 0.0))
    way = ground - crank
    distance = float(np.linalg.norm(way))
    up = np.array((0, -way[2], way[1])) / distance
    knee = crank + 0.5 * way + side * np.sqrt(1 - 0.25 * distance**2) * up
    m = Mechanism()
    m.add_body("crank", rod((0, 0, 0), crank, mass=0.5))
    m.add_body("coupler", rod(crank, knee, mass=1.0))
    m.add_body("rocker", rod(ground, knee, mass=1.0))
    m.add_joint(Revolute(m.world, "crank", axis=(1, 0, 0), at=(0, 0, 0), name="shaft"))
    m.add_joint(Revolute("crank", "coupler", axis=(1, 0, 0), at=crank, name="pin"))
    m.add_joint(Revolute("coupler", "rocker", axis=(1, 0, 0), at=knee, name="knee"))
    m.add_joint(Revolute(m.world, "rocker", axis=(1, 0, 0), at=ground, name="pivot"))
    return m


def side_of(state: State) -> float:
    """On which side of the way from crank pin to pivot the knee lies."""
    half_crank, half = np.array((0, 0, 0.25)), np.array((0, 0, 0.5))
    pin, knee = state.body("crank").point(half_crank), state.body("coupler").point(half)
    way, arm = np.array((0, 1.2, 0)) - pin, knee - pin
    return float(np.sign(way[1] * arm[2] - way[2] * arm[1]))


@pytest.mark.parametrize("side", [1.0, -1.0])
def test_stays_on_the_branch_of_the_guess(side: float) -> None:
    state = four_bar_on(side).state()
    assert widest(state) < CLOSED
    assert side_of(state) == side
    for seed in range(10):
        closed = state.mechanism.assemble(shaken(state, 0.05, seed))
        assert widest(closed) < CLOSED
        assert side_of(closed) == side
        assert np.abs(closed.position - state.position).max() < 0.5


@pytest.mark.parametrize("side", [1.0, -1.0])
def test_drives_round_on_the_branch(side: float) -> None:
    """A turning crank, all the way: the other joints follow where that branch leads."""
    m = four_bar_on(side)
    state = m.state()
    for angle in (1.0, 2.0, 3.0, -2.5, -1.5, -0.3):
        state = m.assemble(state, coordinates={"shaft": angle})
        assert state.joint("shaft").angle == pytest.approx(angle, abs=1e-9)
        assert widest(state) < CLOSED
        assert side_of(state) == side
        wanted = four_bar_on(side, pi / 2 + angle).state()
        np.testing.assert_allclose(state.position, wanted.position, rtol=0, atol=1e-9)


# ---- joints that are half a turn off, where products of axes vanish as well

TURNABLE: dict[str, tuple[Callable[..., Any], tuple[float, float, float]]] = {
    "weld": (lambda a, b: Fixed(a, b, at=(0, 0, 0)), (1, 0, 0)),
    "hinge": (lambda a, b: Revolute(a, b, axis=(0, 0, 1), at=(0, 0, 0)), (1, 0, 0)),
    "slider": (lambda a, b: Prismatic(a, b, axis=(0, 0, 1), at=(0, 0, 0)), (0, 0, 1)),
    "cylinder": (lambda a, b: Cylindrical(a, b, axis=(0, 0, 1), at=(0, 0, 0)), (0, 1, 0)),
    "plane": (lambda a, b: Planar(a, b, axis=(0, 0, 1), at=(0, 0, 0)), (0, 1, 0)),
    "parallel axes": (lambda a, b: ParallelAxes(a, b, axis=(0, 0, 1), at=(0, 0, 0)), (1, 0, 0)),
    "orientation": (lambda a, b: FixedOrientation(a, b), (0, 1, 0)),
    "constant velocity": (lambda a, b: ConstantVelocity(a, b, axis=(0, 0, 1), at=(0, 0, 0)), (0, 0, 1)),
}


@pytest.mark.parametrize("case", TURNABLE)
def test_half_a_turn_off_is_not_closed(case: str) -> None:
    make, axis = TURNABLE[case]
    m = Mechanism(gravity=(0, 0, 0))
    m.add_body("a", box((1, 2, 3), mass=1.0))
    m.add_body("b", box((1, 2, 3), mass=1.0))
    m.add_joint(Fixed(m.world, "a", at=(0, 0, 0)))
    joint = m.add_joint(make("a", "b"))
    over = m.state()
    over.orientation[1] = rot.from_rotation_vector(pi * np.array(axis))
    with pytest.raises(AssemblyError, match=rf"'{joint.name}' stays open by 0 m, 3.14 rad"):
        Simulator(m, 0.01).run(steps=2, state=over)
    closed = m.assemble(over)
    assert closed.joint(joint.name).misalignment < CLOSED
    assert closed.joint(joint.name).gap < CLOSED


def test_long_steps_without_rescue_leave_joints_aligned() -> None:
    """Without rescue a step may be of any length, and ends where joints are aligned, not half a turn off."""
    m = scenes.four_bar()
    state = m.assemble(rates={next(iter(m.joints)): 60.0})
    found = Simulator(m, 0.03, solver="ldu", rescue=False, on_failure="stop", on_inaccurate="ignore").run(
        steps=40, state=state
    )
    assert found.misalignment().max() < 1e-8


def led_astray(m: Mechanism, start: State, solver: str, angles: list[float]) -> tuple[Live, Live]:
    """Second steps without rescue: as guessed, and from a guess that turns the last bodies by these angles (rad)."""
    simulator = Simulator(m, 0.1, solver=solver, rescue=False, on_inaccurate="ignore")
    live = simulator.start(start)
    live.step()
    node = live.state()
    numbers = node.checkpoint(live.key)
    assert numbers is not None
    sine = node.orientation[0, 3]
    # the unknowns of the last step, from which the next is guessed
    guess = np.flatnonzero(np.abs(numbers - sine) < 1e-9)[-len(angles) :]
    numbers = numbers.copy()
    numbers[guess] = np.sin(0.5 * np.array(angles))
    other = State(
        m,
        node.position,
        node.orientation,
        node.velocity,
        node.angular_velocity,
        time=node.time,
        turned=node.turned,
        computed=True,
        checkpoint=(numbers, live.key),
    )
    astray = simulator.start(other)
    live.step()
    astray.step()
    return live, astray


@pytest.mark.parametrize("solver", ["articulated", "ldu", "dense"])
@pytest.mark.parametrize("degrees", [70.0, 90.0, 110.0])
def test_a_guess_half_a_turn_off_is_not_taken(solver: str, degrees: float) -> None:
    """Two bodies on one shaft, held to each other by a hinge across it. In the guess one turns by so much and the other
    by half a turn less, where rows vanish as well.
    """
    m = Mechanism(gravity=(0, 0, 0))
    for name in ("a", "b"):
        m.add_body(name, box((0.2, 0.2, 0.2), mass=1.0))
        m.add_joint(Revolute(m.world, name, axis=(0, 0, 1), at=(0, 0, 0)))
    m.add_joint(Revolute("a", "b", axis=(1, 0, 0), at=(0, 0, 0)))
    start = m.state()
    start.angular_velocity[:, 2] = 0.5
    live, astray = led_astray(m, start, solver, [np.radians(degrees), np.radians(degrees - 180.0)])
    assert astray.tally.iterations > live.tally.iterations
    np.testing.assert_allclose(astray.orientation, live.orientation, rtol=0, atol=1e-12)


@pytest.mark.parametrize("solver", ["articulated", "ldu", "dense"])
def test_a_turn_with_a_negative_pivot_is_not_taken(solver: str) -> None:
    """A body on a shaft keeps its momentum, J sin(angle) / dt, also by half a turn less the right angle. There the
    pivot is negative, which alone tells the two apart.
    """
    m = Mechanism(gravity=(0, 0, 0))
    m.add_body("a", box((0.2, 0.2, 0.2), mass=1.0))
    m.add_joint(Revolute(m.world, "a", axis=(0, 0, 1), at=(0, 0, 0)))
    start = m.state()
    start.angular_velocity[:, 2] = 0.5
    live, astray = led_astray(m, start, solver, [pi - 0.05])
    assert astray.tally.iterations > live.tally.iterations
    np.testing.assert_allclose(astray.orientation, live.orientation, rtol=0, atol=1e-12)


# ---- wide open


def test_a_guess_may_have_other_joints() -> None:
    """Poses by body name are all that a guess needs."""
    whole = scenes.four_bar()
    part = whole.copy()
    part.remove_joint(list(part.joints)[-1])
    guess = part.state()
    closed = whole.assemble(guess)
    assert list(closed.mechanism.joints) == list(whole.joints)
    assert widest(closed) < CLOSED
    fewer = Mechanism()
    fewer.add_body("alone", box((1, 1, 1), mass=1.0))
    with pytest.raises(ValueError, match=r"the guess belongs to another mechanism: it has no body '.+'"):
        whole.assemble(fewer.state())


FAR = {
    "four_bar": (scenes.four_bar, 1e-11),
    "delta_robot": (scenes.delta_robot, 1e-11),
    "stewart_platform": (scenes.stewart_platform, 1e-11),
    "scissor": (scenes.scissor, 1e-11),
    "squeezer": (scenes.andrews_squeezer, 1e-11),
    "bricard": (scenes.bricard, 1e-11),
}


def moved_apart(m: Mechanism, amplitude: float, seed: int) -> State:
    """Every joint of the tree turned at random by up to so many rad: its loops are open by as much."""
    state, rng = m.state(), np.random.default_rng(seed)
    poses = {name: (state.body(name).position, state.body(name).orientation) for name in m.bodies}
    poses[m.world.name] = (m.world.position, m.world.orientation)
    before = dict(poses)
    for branch in m.spanning_tree().branches:
        joint = branch.joint
        coordinates = joint.coordinates_of(*joint.measure(before[joint.a.name], before[joint.b.name]))
        turns = np.abs(joint.twists(coordinates)[3:]).sum(axis=0) > 0
        by = amplitude * rng.uniform(-1, 1, joint.dof) * np.where(turns, 1.0, 0.05)
        place = joint.place_b if joint.b is branch.child else joint.place_a
        poses[branch.child.name] = place(poses[branch.parent.name], *joint.relative(coordinates + by))
    for row, name in enumerate(m.bodies):
        state.position[row], state.orientation[row] = poses[name]
    return state


# a scissor may end nearly flat, where some of its rows hold weakly
@pytest.mark.filterwarnings("ignore::catena.LoopWarning")
@pytest.mark.parametrize("amplitude", [0.3, 1.0, 3.0])
@pytest.mark.parametrize("case", FAR)
def test_closes_from_far_off(case: str, amplitude: float) -> None:
    make, closed = FAR[case]
    m = make()
    for seed in range(5):
        state = m.assemble(moved_apart(m, amplitude, seed))
        assert widest(state) < closed


def ring(count: int, kind: Callable[..., Any], off: float = 0.0) -> Mechanism:
    """Rods on balls and hinges, described stretched out: the weld that closes them is a long way off."""
    m = Mechanism(gravity=(0, 0, 0))
    for k in range(count):
        m.add_body(f"rod{k}", rod((k, 0, 0), (k + 1, 0, 0), mass=1.0))
        a = m.world if k == 0 else f"rod{k - 1}"
        m.add_joint(Ball(a, f"rod{k}", at=(k, 0, 0), name=f"joint{k}"))
    tip = np.array((0, 0, 0.5))
    m.add_joint(kind(m.world, f"rod{count - 1}", anchors=((0.5 + off, 0, 0), tip), name="last"))
    return m


@pytest.mark.parametrize("kind", [Fixed, Ball], ids=["weld", "ball"])
def test_a_long_way(kind: Callable[..., Any]) -> None:
    m = ring(5, kind)
    assert m.bodies["rod4"].position[0] == 4.5
    closed = m.assemble()
    assert widest(closed) < CLOSED


def test_joints_that_are_closed_in_the_guess_stay_closed() -> None:
    """Only what closes a loop is open in a file's pose: all others are kept, and what hangs on no loop stays."""
    m = ring(4, Ball)
    m.add_body("far", box((1, 1, 1), mass=1.0), position=(0, 0, 5))
    m.add_joint(Revolute(m.world, "far", axis=(1, 0, 0), at=(0, 0, 5)))
    state = m.assemble()
    np.testing.assert_array_equal(state.body("far").position, (0, 0, 5))


@pytest.mark.parametrize(("reach", "beside"), [(2.041, 0.0), (1.5, 0.041)], ids=["too short", "out of the plane"])
def test_loops_that_no_pose_closes_are_named(reach: float, beside: float) -> None:
    """One loop stays open by 41 mm whatever its joints do, in one direction or all, and the other closes."""
    m = Mechanism()
    for side, x, off in (("left", reach, beside), ("right", 1.5, 0.0)):
        y = 0.0 if side == "left" else 5.0
        m.add_body(f"{side} first", rod((0, y, 0), (1, y, 0), mass=1.0))
        m.add_body(f"{side} second", rod((1, y, 0), (2, y, 0), mass=1.0))
        m.add_joint(Revolute(m.world, f"{side} first", axis=(0, 1, 0), at=(0, y, 0)))
        m.add_joint(Revolute(f"{side} first", f"{side} second", axis=(0, 1, 0), at=(1, y, 0)))
        end = Ball(m.world, f"{side} second", anchors=((x, y + off, 0), (0, 0, 0.5)), name=f"{side} end")
        m.add_joint(end)
    with pytest.raises(
        AssemblyError, match="'left end' alone stays open by 41 mm at any coordinates of its 2 joints"
    ) as error:
        m.assemble()
    assert "right" not in str(error.value)


def test_limits_are_kept_where_the_loops_allow_it() -> None:
    """Two bars reach a point with the elbow on either side; a limit says which, or is said to be passed."""

    def arm(lower: float, upper: float) -> Mechanism:
        m = Mechanism()
        m.add_body("upper", rod((0, 0, 0), (1, 0, 0), mass=1.0))
        m.add_body("fore", rod((1, 0, 0), (2, 0, 0), mass=1.0))
        m.add_joint(Revolute(m.world, "upper", axis=(0, 1, 0), at=(0, 0, 0), name="shoulder"))
        elbow = m.add_joint(Revolute("upper", "fore", axis=(0, 1, 0), at=(1, 0, 0), name="elbow"))
        m.add_joint(Ball(m.world, "fore", anchors=((1.2, 0, 0.1), (0, 0, 0.5)), name="hand"))
        elbow.limits = Limits(lower, upper)
        return m

    for lower, upper in ((0.0, 2.5), (-2.5, 0.0)):
        state = arm(lower, upper).assemble()
        assert lower <= state.joint("elbow").angle <= upper
        assert widest(state) < CLOSED
    with pytest.warns(
        AssemblyWarning,
        match=r"only with joint limits exceeded: revolute joint 'elbow': angle -?1\.\d+ is 1\.\d+",
    ):
        state = arm(-0.5, 0.5).assemble()
    assert widest(state) < CLOSED


@pytest.mark.parametrize("side", [-1, 1])
def test_joints_that_follow_keep_their_limits(side: int) -> None:
    """A joint that goes back to its limit takes others along, one of which stood at its own."""
    m = Mechanism()
    for k in range(3):
        m.add_body(f"l{k}", rod((k, 0, 0), (k + 1, 0, 0), mass=1.0))
        joint = Revolute(f"l{k - 1}" if k else m.world, f"l{k}", axis=(0, 1, 0), at=(k, 0, 0), name=f"j{k}")
        m.add_joint(joint)
    m.joints["j0"].limits = Limits(0.4, 1.0)
    for name in ("j1", "j2"):
        m.joints[name].limits = Limits(*sorted((0.0, side * 1.0)))
    state = m.assemble()
    for joint in m.joints.values():
        assert joint.limits["angle"].beyond(state.joint(joint.name).angle) < 1e-9
    assert Simulator(m, 0.01).run(0.1, state=state).status.ok


def test_a_pose_within_limits_is_found_that_is_not_near() -> None:
    """Two bars between two hinges, closed as described; only with the elbow on the other side are limits kept."""
    m = Mechanism()
    m.add_body("upper", rod((0, 0, 0), (0.8, 0, 0.6), mass=1.0))
    m.add_body("fore", rod((0.8, 0, 0.6), (1.6, 0, 0), mass=1.0))
    m.add_joint(Revolute(m.world, "upper", axis=(0, 1, 0), at=(0, 0, 0), name="shoulder"))
    elbow = m.add_joint(Revolute("upper", "fore", axis=(0, 1, 0), at=(0.8, 0, 0.6), name="elbow"))
    m.add_joint(Revolute(m.world, "fore", axis=(0, 1, 0), at=(1.6, 0, 0), name="hand"))
    # both bars turn by twice their slope, in opposite directions
    mirrored = -4 * np.arctan2(0.6, 0.8)
    elbow.limits = Limits(mirrored - 0.1, mirrored + 0.3)
    state = m.assemble()
    assert state.joint("elbow").angle == pytest.approx(mirrored, abs=1e-9)
    assert widest(state) < CLOSED


def test_loops_within_their_limits_stay_when_others_go_back_to_theirs() -> None:
    """Two linkages on one base, one beyond limits that it can keep only with several joints at once, and a tail
    beyond its own.
    """
    m = Mechanism()
    m.add_body("base", sphere(0.1, mass=5.0))
    for name, y in (("left", 0.0), ("right", 1.0)):
        corners = ((0, y, 0), (0, y, 0.3), (0.4, y, 0.3), (0.4, y, 0))
        links = [f"{name} {part}" for part in ("crank", "rod", "rocker")]
        for link, start, end in zip(links, corners, corners[1:], strict=False):
            m.add_body(link, rod(start, end, mass=1.0))
        for a, b, at in zip(("base", *links), (*links, "base"), corners, strict=True):
            m.add_joint(Revolute(a, b, axis=(0, 1, 0), at=at, name=f"{name} {at[0]} {at[2]}"))
    m.add_body("tail", rod((0, 0.5, 0), (-1, 0.5, 0), mass=1.0))
    tail = m.add_joint(Revolute("base", "tail", axis=(0, 1, 0), at=(0, 0.5, 0), name="tail"))
    m.add_body("tip", rod((-1, 0.5, 0), (-2, 0.5, 0), mass=1.0))
    m.add_joint(Revolute("tail", "tip", axis=(0, 1, 0), at=(-1, 0.5, 0), name="tip"))
    shaft, pin, elbow = (m.joints[f"left {x} {z}"] for x, z in ((0, 0), (0, 0.3), (0.4, 0.3)))
    shaft.limits, pin.limits, elbow.limits = Limits(0.5, 1.5), Limits(-1.5, -0.7), Limits(0.5, 1.5)
    tail.limits = Limits(0.2, 0.5)
    state = m.assemble()
    assert 0.7 - 1e-9 < state.joint(shaft.name).angle < 1.5
    assert widest(state) < CLOSED
    for name in m.joints:
        if not name.startswith("left"):
            assert state.joint(name).angle == pytest.approx(0.2 if name == "tail" else 0.0, abs=1e-9), name
    assert np.abs(state.body("base").position).max() < 1e-9


# ---- joints that stay, joints that are driven


def test_fixed_joints_keep_their_coordinates() -> None:
    m = scenes.segmented_chain(3)
    rough = shaken(m.state(), 0.01)
    names = ["hook1", "elbow1ab", "top3"]
    wanted = [rough.joint(name).angle for name in names]
    closed = m.assemble(rough, fixed=names)
    assert widest(closed) < CLOSED
    for name, angle in zip(names, wanted, strict=True):
        assert closed.joint(name).angle == pytest.approx(angle, abs=1e-9)

    # left to itself the assembly would have changed them
    free = m.assemble(rough)
    assert max(abs(free.joint(n).angle - a) for n, a in zip(names, wanted, strict=True)) > 1e-4


def test_fixed_and_driven_together() -> None:
    """A five-bar leg has two freedoms: one motor stays, the other goes where it is told."""
    m = scenes.minitaur_leg((1.2, 1.2), hips=0.04)
    closed = m.assemble(fixed=["leg front motor"], coordinates={"leg rear motor": 0.6})
    assert closed.joint("leg front motor").angle == pytest.approx(0.0, abs=1e-9)
    assert closed.joint("leg rear motor").angle == pytest.approx(0.6, abs=1e-9)
    assert widest(closed) < CLOSED


def test_drives_ball_joints_and_sliders() -> None:
    m = scenes.slider_crank()
    wanted = m.state().body("slider").position + np.array((0, 0.03, 0))
    closed = m.assemble(coordinates={"guide": 0.03})
    np.testing.assert_allclose(closed.body("slider").position, wanted, rtol=0, atol=1e-9)
    chain = scenes.closed_chain(5, "ball")
    closed = chain.assemble(coordinates={"joint1": (0.1, 0.2, 0.3)})
    np.testing.assert_allclose(closed.joint("joint1").coordinates, (0.1, 0.2, 0.3), rtol=0, atol=1e-9)
    assert widest(closed) < CLOSED


def test_drives_an_open_chain() -> None:
    m = scenes.pendulum(3)
    closed = m.assemble(coordinates={"joint1": 0.5, "joint3": -1.0})
    assert closed.joint("joint1").angle == pytest.approx(0.5, abs=1e-9)
    assert closed.joint("joint3").angle == pytest.approx(-1.0, abs=1e-9)
    assert widest(closed) < CLOSED


def test_driven_and_fixed_joints_move_as_in_the_guess() -> None:
    """Velocities are those nearest to the guess that the joints allow, of driven and fixed joints too."""
    m = scenes.pendulum(3, "revolute")
    guess = m.state()
    guess.rates = (0.3, -2.0, 0.7)
    np.testing.assert_allclose(m.assemble(guess, fixed=["joint2"]).rates, guess.rates, atol=1e-9)
    driven = m.assemble(guess, coordinates={"joint2": 0.5})
    there = driven.copy()
    there.velocity, there.angular_velocity = guess.velocity, guess.angular_velocity
    np.testing.assert_allclose(driven.rates, m.assemble(there).rates, atol=1e-9)
    assert abs(driven.rates[1]) > 1


@pytest.mark.parametrize("side", [1.0, -1.0])
@pytest.mark.parametrize("n", [1, 2, 5])
def test_drives_into_a_singular_pose(n: int, side: float) -> None:
    """Flat cranks: reached like any other pose, though every loop has a further freedom there."""
    m = scenes.n_four_bar(n)
    closed = m.assemble(coordinates={"ground0": side * pi / 2})

    # at a singular pose rounding in the gaps is a square root of it in the angles
    assert closed.joint("ground0").angle == pytest.approx(side * pi / 2, abs=1e-6)
    # measured 1.5e-11 at worst: the direction that would close it further is below the smallest pivot
    assert widest(closed) < 2e-11


def test_out_of_reach_is_said() -> None:
    """The rocker of a crank-rocker swings between two ends."""
    m = four_bar_on(1.0)
    with pytest.raises(AssemblyError, match="'pivot' cannot reach 2") as error:
        m.assemble(coordinates={"pivot": 2.0})
    assert set(error.value.gaps) <= set(m.joints)
    # an angle of a pose in which the loop is open says nothing of what it can reach
    assert "allow" not in str(error.value)
    assert "stays open" in str(error.value)
    with pytest.raises(AssemblyError, match="'pivot'"):
        m.assemble(fixed=["shaft"], coordinates={"pivot": 0.2})


@pytest.mark.parametrize(
    ("drive", "message"),
    [
        ({"hinge": 1.0}, "no joint called 'hinge'"),
        ({"shaft": (1.0, 2.0)}, "'shaft'"),
        ({"shaft": float("nan")}, "'shaft'"),
    ],
)
def test_nonsense_drives(drive: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        four_bar_on(1.0).assemble(coordinates=drive)  # type: ignore[arg-type]


def test_nonsense_fixed() -> None:
    with pytest.raises(ValueError, match="'hinge'"):
        four_bar_on(1.0).assemble(fixed=["hinge"])


# ---- velocities


@pytest.mark.parametrize("case", SCENES)
def test_velocities_are_projected(case: str) -> None:
    m = SCENES[case]()
    state = shaken(m.state(), 1e-3)
    rng = np.random.default_rng(3)
    state.velocity = rng.normal(size=state.velocity.shape)
    state.angular_velocity = rng.normal(size=state.velocity.shape)
    closed = m.assemble(state)

    # a difference quotient over 1e-6 s of velocities of 1 m/s, whose second order is 1e-6
    assert forbidden(state) > 0.1
    assert forbidden(closed) < 1e-4

    # least change in the mass metric: once projected they stay, and they cannot have gained energy
    again = m.assemble(closed)
    np.testing.assert_allclose(again.velocity, closed.velocity, rtol=0, atol=1e-9)
    np.testing.assert_allclose(again.angular_velocity, closed.angular_velocity, rtol=0, atol=1e-9)
    first = Simulator(m, 0.001).run(steps=0, state=closed)
    np.testing.assert_allclose(first.velocity[0], closed.velocity, rtol=0, atol=1e-9)


def test_projection_is_orthogonal() -> None:
    """What is taken away does no work on what remains."""
    m = scenes.delta_robot()
    state = m.state()
    rng = np.random.default_rng(4)
    state.velocity = rng.normal(size=state.velocity.shape)
    state.angular_velocity = rng.normal(size=state.velocity.shape)
    closed = m.assemble(state)
    power = 0.0
    for name, body in m.bodies.items():
        one, other = state.body(name), closed.body(name)
        matrix = rot.to_matrix(one.orientation)
        tensor = matrix @ body.inertia.tensor @ matrix.T
        power += body.inertia.mass * (one.velocity - other.velocity) @ other.velocity
        power += (one.angular_velocity - other.angular_velocity) @ tensor @ other.angular_velocity
    assert abs(power) < 1e-9


# ---- loops that cannot be closed


def lifted(height: float, turn: np.ndarray | None = None, loop_tolerance: float = 3e-3) -> Mechanism:
    """A four-bar, its closing anchor moved out of the plane: hinges about x allow no motion along x."""
    m = scenes.four_bar() if turn is None else scenes.four_bar(plane=turn)
    normal = np.array((1.0, 0, 0)) if turn is None else rot.rotate(turn, np.array((1.0, 0, 0)))
    m.joints["joint4"].anchor_a += height * normal
    m.loop_tolerance = loop_tolerance
    return m


@pytest.mark.parametrize("turn", [None, TURN], ids=["plain", "turned"])
@pytest.mark.parametrize("height", [1e-6, 1e-2])
def test_an_inconsistent_loop_taken_at_its_word_cannot_be_assembled(height: float, turn: np.ndarray | None) -> None:
    m = lifted(height, turn, loop_tolerance=0)
    with pytest.raises(AssemblyError, match=r"joint 'joint\d' stays open by .* m") as error:
        m.assemble()
    gaps = error.value.gaps
    assert set(gaps) <= set(m.joints)
    assert gaps

    # the gap spreads over the joints of the loop, shifts and tilts, but does not vanish
    assert sum(max(gap) for gap in gaps.values()) > 0.1 * height
    assert max(max(gap) for gap in gaps.values()) < 3 * height


@pytest.mark.parametrize("turn", [None, TURN], ids=["plain", "turned"])
@pytest.mark.parametrize("height", [1e-2, 1e-1])
def test_a_loop_that_contradicts_itself_cannot_be_assembled(height: float, turn: np.ndarray | None) -> None:
    """Beyond what joints that say the same thing twice may disagree by: named, with what they disagree by."""
    m = lifted(height, turn)
    with pytest.raises(
        AssemblyError, match=r"joint 'joint\d' contradicts the rest of its loop by .* m.*loop_tolerance="
    ) as error:
        m.assemble()
    assert set(error.value.gaps) <= set(m.joints)
    assert max(gap for gap, _ in error.value.gaps.values()) == pytest.approx(height, rel=1e-3)


@pytest.mark.parametrize("turn", [None, TURN], ids=["plain", "turned"])
@pytest.mark.parametrize("height", [1e-6, 1e-4])
def test_a_loop_that_disagrees_a_little_is_assembled(height: float, turn: np.ndarray | None) -> None:
    """Nothing moves: the height is the mismatch of the joint that closes the loop, and no gap of it."""
    m = lifted(height, turn)
    state = m.state()
    np.testing.assert_allclose(m.assemble().position, state.position, rtol=0, atol=1e-13)
    (shift, turned), *more = m.report().loop_mismatches.values()
    assert not more
    assert shift == pytest.approx(height, rel=1e-6)
    assert turned < 1e-12


@pytest.mark.parametrize("solver", ["auto", "articulated", "ldu", "dense"])
@pytest.mark.parametrize(("height", "loop_tolerance"), [(1e-6, 0), (1e-2, 0), (1e-2, 3e-3)])
def test_an_inconsistent_loop_is_not_simulated(height: float, loop_tolerance: float, solver: Any) -> None:
    with pytest.raises((AssemblyError, SimulationError), match=r"'joint\d'"):
        Simulator(lifted(height, loop_tolerance=loop_tolerance), 0.01, solver=solver).run(1.0)


@pytest.mark.parametrize(("height", "loop_tolerance"), [(1e-6, 0), (1e-2, 0), (2e-2, 3e-3)])
def test_an_inconsistent_loop_in_a_crowd(height: float, loop_tolerance: float) -> None:
    """Only joints of the loop at fault are named."""
    m = scenes.segmented_chain(4)
    m.loop_tolerance = loop_tolerance
    m.joints["bottom3"].anchor_a += (height, 0.0, 0.0)
    with pytest.raises(AssemblyError) as error:
        m.assemble()
    loop = {"elbow3ab", "top3", "elbow3cd", "bottom3"}
    assert set(error.value.gaps) <= loop
    assert sum(gap for gap, _ in error.value.gaps.values()) == pytest.approx(height, rel=0.01)
    assert any(repr(name) in str(error.value) for name in loop)
    with pytest.raises((AssemblyError, SimulationError), match=r"'(elbow3ab|top3|elbow3cd|bottom3)'"):
        Simulator(m, 0.01).run(0.1)


def test_bars_that_are_too_short() -> None:
    """Within the plane: two bars of 1 m over 2.5 m cannot meet, whatever the hinges allow."""
    m = Mechanism()
    along = rot.z_to(np.array((0, 1.0, 0)))
    m.add_body("left", box((0.1, 0.1, 1.0), mass=1.0), position=(0, 0.5, 0), orientation=along)
    m.add_body("right", box((0.1, 0.1, 1.0), mass=1.0), position=(0, 2.0, 0), orientation=along)
    m.add_joint(Ball(m.world, "left", at=(0, 0, 0), name="left end"))
    m.add_joint(Ball(m.world, "right", at=(0, 2.5, 0), name="right end"))
    m.add_joint(Ball("left", "right", anchors=((0, 0, 0.5), (0, 0, -0.5)), name="middle"))
    with pytest.raises(AssemblyError, match=r"'.+' stays open by 0\.\d+ m") as error:
        m.assemble()
    assert sum(gap for gap, _ in error.value.gaps.values()) == pytest.approx(0.5, abs=0.05)


def bar_on_two_rails(length: float, mass: float) -> Mechanism:
    """A bar with its ends on parallel rails as far apart as it is long: it starts to tilt, but would have to grow."""
    m = Mechanism(gravity=(0, 0, 0))
    shape = box((length, 0.1 * length, 0.1 * length), mass=mass)
    m.add_body("bar", shape, angular_velocity=(0, 0.5, 0))
    m.add_joint(PointOnLine(m.world, "bar", axis=(0, 0, 1), at=(-0.5 * length, 0, 0), name="left"))
    m.add_joint(PointOnLine(m.world, "bar", axis=(0, 0, 1), at=(0.5 * length, 0, 0), name="right"))
    return m


def dead_centre(length: float, mass: float) -> Mechanism:
    """Two bars stretched between two fixed hinges, their middle kicked sideways."""
    m = Mechanism(gravity=(0, 0, 0))
    shape = box((0.1 * length, length, 0.1 * length), mass=mass)
    for name, side in (("left", 1), ("right", -1)):
        place, kick = (0, (1 - 0.5 * side) * length, 0), (0, 0, length)
        m.add_body(name, shape, position=place, velocity=kick, angular_velocity=(2 * side, 0, 0))
    m.add_joint(Revolute(m.world, "left", axis=(1, 0, 0), at=(0, 0, 0), name="first"))
    m.add_joint(Revolute("left", "right", axis=(1, 0, 0), at=(0, length, 0), name="middle"))
    m.add_joint(Revolute(m.world, "right", axis=(1, 0, 0), at=(0, 2 * length, 0), name="last"))
    return m


@pytest.mark.parametrize("solver", ["articulated", "ldu", "dense"])
@pytest.mark.parametrize("unit", [1.0, 1e-3, 1e3], ids=["m", "mm", "km"])
@pytest.mark.parametrize("make", [bar_on_two_rails, dead_centre])
def test_a_loop_that_locks_says_so(make: Callable[[float, float], Mechanism], unit: float, solver: str) -> None:
    """Free to first order, as the report finds, and stiff to second: no step can be taken, in any units."""
    m = make(unit, unit)
    assert m.report().freedom > 0
    with pytest.raises(SimulationError, match=r"'(bar|left|right|first|middle|last)'") as error:
        Simulator(m, 0.005, solver=solver).run(1.0)  # type: ignore[arg-type]
    assert error.value.status.reason in ("locked", "diverged", "singular")

    # what was reached before is closed
    assert error.value.trajectory.drift().max() <= 1e-9 * unit


# ---- what Simulator.run does with a state


@pytest.mark.parametrize("case", ["four_bar turned", "bricard", "delta_robot", "ladder"])
def test_run_assembles_a_nearly_closed_state(case: str) -> None:
    m = SCENES[case]()
    rough = shaken(m.state(), 1e-8)
    assert 1e-9 < widest(rough) < 1e-5
    run = Simulator(m, 0.005).run(steps=20, state=rough)
    assert run.drift().max() <= 1e-10
    assert run.misalignment().max() <= 1e-10
    np.testing.assert_allclose(run.position[0], m.assemble(rough).position, rtol=0, atol=1e-13)


@pytest.mark.parametrize("case", ["four_bar turned", "bricard", "delta_robot", "ladder"])
def test_run_refuses_an_open_state(case: str) -> None:
    m = SCENES[case]()
    rough = shaken(m.state(), 0.01)
    with pytest.raises(AssemblyError, match=r"is not closed: .* joint '.+' stays open by .*assemble\(\)") as error:
        Simulator(m, 0.005).run(steps=20, state=rough)
    assert set(error.value.gaps) <= set(m.joints)
    assert max(max(gap) for gap in error.value.gaps.values()) == pytest.approx(widest(rough), rel=0.2)

    # as the message advises
    assert Simulator(m, 0.005).run(steps=20, state=m.assemble(rough)).status.ok


def test_a_wrist_of_massless_links_is_not_left_with_two_axes_in_line() -> None:
    """The nearest pose in which its point is in the plane is the one in which nothing holds its links."""
    m = Mechanism()
    for name in ("yoke", "cross"):
        m.add_body(name, Inertia.massless())
    m.add_body("hand", sphere(0.05, mass=1.0))
    m.add_joint(Revolute("world", "yoke", axis=(0, 0, 1), at=(0, 0, 0), name="first"))
    m.add_joint(Revolute("yoke", "cross", axis=(0, 1, 0), at=(0, 0, 0), name="middle"))
    m.add_joint(Revolute("cross", "hand", axis=(0, 0, 1), at=(0, 0, 0), name="last"))
    m.add_joint(PointOnPlane("world", "hand", axis=(0, 0, 1), anchors=((0, 0, 0), (0.3, 0, 0)), name="table"))
    guess = m.state()
    guess.orientation[1:] = rot.from_rotation_vector(np.array((0.0, 1.0, 0.0)))
    state = m.assemble(guess)
    assert abs(np.sin(state.joint("middle").angle)) > 1e-3
    assert Simulator(m, 0.001).run(steps=5, state=state).status.ok
