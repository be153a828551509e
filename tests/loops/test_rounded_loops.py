"""Loops whose numbers are rounded: the mechanism that is meant runs, and what the numbers disagree by is said."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from catena import (
    Armature,
    AssemblyError,
    Damper,
    Inertia,
    LoopWarning,
    Mechanism,
    PointOnPlane,
    PrescribedMotion,
    Revolute,
    Servo,
    SimulationError,
    Simulator,
    Trajectory,
    rod,
    scenes,
    sphere,
)
from catena._util import rotation as rot
from catena.assemble.redundancy import select_rows
from catena.kinematics.geometry import extent

# steps are coarse on purpose
pytestmark = [
    pytest.mark.filterwarnings("ignore::catena.AccuracyWarning"),
    pytest.mark.filterwarnings("ignore::catena.LoopWarning"),
]

# axes along none of any scene
TURN = rot.normalised(np.array((0.3, 0.5, -0.2, 0.7)))


def kicked_minitaur() -> Mechanism:
    """In free fall, with legs that swing."""
    m = scenes.minitaur((1.2, 1.2), hips=0.04)
    for name, body in m.bodies.items():
        if name.endswith("front thigh"):
            body.angular_velocity = np.array((3.0, 0.0, 0.0))
    return m


# scene and time step (s)
SCENES: dict[str, tuple[Callable[[], Mechanism], float]] = {
    "four_bar": (scenes.four_bar, 0.01),
    "n_four_bar": (lambda: scenes.n_four_bar(3), 0.01),
    "slider_crank": (scenes.slider_crank, 0.01),
    "scissor": (scenes.scissor, 0.01),
    "bricard": (scenes.bricard, 0.01),
    "segmented_chain": (lambda: scenes.segmented_chain(4), 0.01),
    "segmented_chain by elbows": (lambda: scenes.segmented_chain(4, "elbow"), 0.01),
    "closed_chain": (lambda: scenes.closed_chain(11), 0.01),
    "minitaur_leg": (lambda: scenes.minitaur_leg((1.2, 1.2), hips=0.04), 0.01),
    "minitaur": (kicked_minitaur, 0.002),
    "delta_robot": (scenes.delta_robot, 0.01),
    "stewart_platform": (scenes.stewart_platform, 0.01),
    "ladder": (scenes.ladder, 0.01),
    "strandbeest": (lambda: scenes.strandbeest(2), 0.005),
    "andrews_squeezer": (scenes.andrews_squeezer, 1e-5),
}

# with more freedoms than one joint that is askew takes away: nothing tells it from one that is meant
MOVES_AT_ITS_WORD = {"closed_chain", "ladder", "minitaur_leg", "minitaur"}

# no row of theirs follows from the others
INDEPENDENT = {"delta_robot", "stewart_platform"}

# s; the squeezer's motion is over in 30 ms
SHORT = {"andrews_squeezer": 0.01, "strandbeest": 0.5}


# ---- wrong numbers


def closing(m: Mechanism) -> Any:
    """The first joint that closes a loop."""
    return m.joints[m.spanning_tree().loops[0].name]


def turned(frame: np.ndarray, by: np.ndarray) -> np.ndarray:
    """A frame, and a rotation vector that turns it."""
    return rot.normalised(rot.multiply(rot.from_rotation_vector(by), frame))


def tilted(m: Mechanism, by: float) -> Mechanism:
    """A hinge turned across its axis by some rad."""
    joint = closing(m)
    across = np.array((0.6, 0.8, 0.0))
    joint.frame_a = rot.multiply(joint.frame_a, rot.from_rotation_vector(by * across))
    return m


def askew(m: Mechanism, by: float) -> Mechanism:
    """A hinge built across its axis by some rad, on both bodies: it fits where it is described, and nowhere else."""
    joint = tilted(m, by) and closing(m)
    joint.frame_b = rot.multiply(joint.frame_b, rot.from_rotation_vector(by * np.array((0.6, 0.8, 0.0))))
    return m


def shifted(m: Mechanism, by: float) -> Mechanism:
    """A joint moved along its axis by so many parts of its body's size."""
    joint = closing(m)
    size = float(select_rows(m, m.state()).length[list(m.joints).index(joint.name)])
    joint.anchor_a = joint.anchor_a + by * size * rot.rotate(joint.frame_a, np.array((0, 0, 1.0)))
    return m


def disturbed(m: Mechanism, by: float, seed: int = 0) -> Mechanism:
    """All joint data wrong at random: anchors by parts of their length, frames by rad."""
    rng = np.random.default_rng(seed)
    for joint in m.joints.values():
        joint.anchor_a = joint.anchor_a + by * np.linalg.norm(joint.anchor_a) * rng.uniform(-1, 1, 3)
        joint.anchor_b = joint.anchor_b + by * np.linalg.norm(joint.anchor_b) * rng.uniform(-1, 1, 3)
        joint.frame_a = turned(joint.frame_a, by * rng.uniform(-1, 1, 3))
        joint.frame_b = turned(joint.frame_b, by * rng.uniform(-1, 1, 3))
    return m


def rounded(m: Mechanism, digits: int) -> Mechanism:
    """All joint data as a file writes them: frames in axes that are not those of the body, or they would be exact."""
    for joint in m.joints.values():
        joint.anchor_a, joint.anchor_b = (np.round(p, digits) for p in (joint.anchor_a, joint.anchor_b))
        frames = []
        for frame in (joint.frame_a, joint.frame_b):
            written = rot.normalised(np.round(rot.multiply(TURN, frame), digits))
            frames.append(rot.normalised(rot.multiply(rot.conjugate(TURN), written)))
        joint.frame_a, joint.frame_b = frames
    return m


WRONG = {"tilted": tilted, "askew": askew, "shifted": shifted}


# ---- runs


def run_scene(case: str, m: Mechanism, duration: float | None, **options: Any) -> Trajectory:
    seconds = SHORT.get(case, 1.0) if duration is None else duration
    return Simulator(m, SCENES[case][1], **options).run(seconds, state=m.assemble())


@cache
def exact(case: str, duration: float | None = None) -> tuple[int, float]:
    """Halved steps and largest energy error of the scene itself."""
    run = run_scene(case, SCENES[case][0](), duration)
    assert run.loop_mismatch().max() < 1e-13 * extent(run[0])
    return run.halved_count, float(run.energy_error().max())


def check_closed(run: Trajectory) -> None:
    """What is asked for is met."""
    assert run.status.ok
    assert run.drift().max() <= 1e-10 * extent(run[0])
    # measured 3e-10 in ten seconds of a Bricard tilted by 1e-3 rad, whose directions turn; 1e-13 elsewhere
    assert run.misalignment().max() <= 1e-9


def check(case: str, run: Trajectory, wrong: float, duration: float | None) -> None:
    """Closed, as smooth as the exact scene, the mismatch as large as the numbers are wrong and no larger."""
    check_closed(run)
    halved, energy = exact(case, duration)
    assert run.halved_count <= halved
    assert run.energy_error().max() <= 1.2 * energy + wrong + 1e-5
    loop_mismatch = run.loop_mismatch().max(axis=(1, 2)) / max(1.0, extent(run[0]))
    # it depends on the pose, not on time
    assert loop_mismatch.max() <= 10 * wrong + 1e-13


SIZES = [1e-13, 1e-10, 1e-8, 1e-6, 1e-5, 1e-4, 1e-3]


def try_wrong(case: str, kind: str, size: float, duration: float | None) -> None:
    m = WRONG[kind](SCENES[case][0](), size)
    run = run_scene(case, m, duration)
    if case in INDEPENDENT:
        # another mechanism, but none that locks; spherical joints have no axis that could be tilted
        check_closed(run)
        assert not run.loop_mismatch().any()
        return
    check(case, run, size, duration)
    if kind == "askew" and case in MOVES_AT_ITS_WORD and select_rows(m, m.state()).weak.any():
        # it closes as it is described, and goes on moving: the numbers are taken at their word
        assert run.loop_mismatch().max() < 1e-12
    elif size > 1e-12:
        assert run.loop_mismatch().max() > 0.1 * size * min(1.0, select_rows(m, m.state()).length.min())


@pytest.mark.parametrize("size", [1e-7, 1e-4])
@pytest.mark.parametrize("kind", WRONG)
@pytest.mark.parametrize("case", SCENES)
def test_one_joint_that_is_wrong(case: str, kind: str, size: float) -> None:
    try_wrong(case, kind, size, None)


@pytest.mark.slow
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("kind", WRONG)
@pytest.mark.parametrize("case", SCENES)
def test_one_joint_that_is_wrong_for_long(case: str, kind: str, size: float) -> None:
    if case.startswith("segmented_chain") and kind == "askew" and size == 1e-3:
        pytest.skip("rhombi that are out of true by 1e-6 m: another mechanism where they are flat")
    # a delta robot, of which all rows are asked, meets steps without a solution after 7.6 s in three cases of these; a
    # leg is chaotic: its energy error changes fourfold with velocities of 1e-13 m/s
    seconds = {"andrews_squeezer": 0.03, "delta_robot": 5.0, "minitaur_leg": 1.0}
    try_wrong(case, kind, size, seconds.get(case, 10.0))


@pytest.mark.parametrize("digits", [4, 5, 6])
@pytest.mark.parametrize("case", SCENES)
def test_rounded_data(case: str, digits: int) -> None:
    """Lengths that were equal stay equal, so that it is the same mechanism."""
    m = rounded(SCENES[case][0](), digits)
    run = run_scene(case, m, None)
    check_closed(run)
    assert run.halved_count <= exact(case)[0]
    if case not in INDEPENDENT:
        assert 0 < run.loop_mismatch().max() < 10**-digits * 10 * max(1.0, extent(run[0]))


# lengths that are all different: no parallelogram among them, whose flat pose would be another one
GENERAL = ["four_bar", "slider_crank", "bricard", "closed_chain"]


@pytest.mark.parametrize("size", [1e-8, 1e-6, 1e-4])
@pytest.mark.parametrize("case", GENERAL)
def test_all_data_wrong(case: str, size: float) -> None:
    check(case, run_scene(case, disturbed(SCENES[case][0](), size), None), size, None)


@pytest.mark.parametrize("size", [1e-6, 1e-4])
@pytest.mark.parametrize("case", sorted(set(SCENES) - set(GENERAL) - {"andrews_squeezer"}))
def test_other_lengths_are_another_mechanism(case: str, size: float) -> None:
    """Parallelograms of unequal bars: it runs and is closed, or says where it cannot go on."""
    m = disturbed(SCENES[case][0](), size)
    run = run_scene(case, m, None, on_failure="stop")
    assert run.status.ok or run.status.reason in ("locked", "diverged", "singular")
    assert len(run) > 10
    assert run.drift().max() <= 1e-10 * extent(run[0])
    assert run.misalignment().max() <= 1e-10


# ---- solvers


@pytest.mark.parametrize("solver", ["articulated", "ldu", "dense"])
@pytest.mark.parametrize("case", ["four_bar", "n_four_bar", "slider_crank", "scissor", "segmented_chain", "ladder"])
def test_all_solvers(case: str, solver: Any) -> None:
    """Rows that are never made are no solver's concern: the same motion."""
    m = disturbed(SCENES[case][0](), 0.0)
    tilted(m, 1e-5)
    shifted(m, 1e-5)
    run = run_scene(case, m, 0.3, solver=solver)
    check_closed(run)
    wanted = run_scene(case, m, 0.3, solver="articulated")
    np.testing.assert_allclose(run.position, wanted.position, rtol=0, atol=1e-8)
    assert run.loop_mismatch().max() > 1e-6


@pytest.mark.parametrize("solver", ["ldu", "dense"])
def test_directions_that_turn_need_the_articulated_solver(solver: Any) -> None:
    m = disturbed(scenes.bricard(), 1e-6)
    with pytest.raises(ValueError, match=rf"'{solver}' cannot simulate .*'joint\d'.*'articulated'"):
        Simulator(m, 0.01, solver=solver)
    assert Simulator(m, 0.01).solver == "articulated"

    # exact numbers disagree in nothing
    assert run_scene("bricard", scenes.bricard(), 0.1, solver=solver).status.ok


def test_directions_that_turn_with_forces_that_brake() -> None:
    """A damper is a row among those of the loop, and no gap."""
    m = disturbed(scenes.bricard(), 1e-6)
    m.add_force(Damper("joint1", 0.5))
    m.add_force(Armature("joint2", 0.1))
    start = m.state()
    start.angular_velocity = np.full((5, 3), 1.0)
    run = Simulator(m, 0.01).run(0.5, state=m.assemble(start))
    assert run.kinetic_energy()[-1] + run.potential_energy()[-1] < run.energy()[0]
    assert max(run.drift().max(), run.misalignment().max()) < 1e-5


@pytest.mark.parametrize("size", [1e-6, 1e-4])
def test_velocities_of_loops_whose_directions_turn(size: float) -> None:
    """A rounded Bricard is as free to move as the exact one."""
    speeds = []
    for m in (scenes.bricard(), disturbed(scenes.bricard(), size)):
        start = m.state()
        start.angular_velocity = np.full((5, 3), 1.0)
        speeds.append(m.assemble(start).joint("joint1").rate)
    assert abs(speeds[0]) > 0.01
    assert speeds[1] == pytest.approx(speeds[0], abs=30 * size)


@pytest.mark.parametrize("size", [1e-6, 1e-5])
def test_reactions_of_loops_whose_directions_turn(size: float) -> None:
    """Those of exact numbers, and without jumps, whichever rows become pivots on the way."""
    exact, rounded = (
        Simulator(m, 0.01, solver="articulated").run(3.0, state=m.assemble())
        for m in (scenes.bricard(), disturbed(scenes.bricard(), size))
    )
    # of 30 N, by as much as poses are apart
    np.testing.assert_allclose(rounded.multipliers, exact.multipliers, rtol=0, atol=300 * size)
    assert np.abs(np.diff(rounded.multipliers, axis=0)).max() < 1


# ---- structures, jams, contradictions


def hinged(points: dict[str, tuple[float, float]], bars: list[tuple[str, str]], noise: float) -> Mechanism:
    """Bars between points of the plane y = 0, hinged to the first that is there; capitals are points of the world."""
    m = Mechanism()
    at = {name: np.array((x, 0.0, z)) for name, (x, z) in points.items()}
    there: dict[str, Any] = {name: m.world for name in points if name.isupper()}
    for start, end in bars:
        bar = m.add_body(f"{start}{end}", rod(at[start], at[end], mass=1.0))
        for name in (start, end):
            if name in there:
                m.add_joint(Revolute(there[name], bar, axis=(0, 1, 0), at=at[name], name=f"{start}{end} {name}"))
            else:
                there[name] = bar
    return disturbed(m, noise) if noise else m


def truss(noise: float) -> Mechanism:
    """A tripod in a plane, one leg more than it needs."""
    points = {"A": (0.0, 0.0), "B": (1.0, 0.0), "C": (1.7, 0.0), "p": (0.6, 0.8)}
    return hinged(points, [("A", "p"), ("B", "p"), ("C", "p")], noise)


@pytest.mark.filterwarnings("ignore::catena.StuckWarning")
@pytest.mark.parametrize("noise", [0.0, 1e-8, 1e-6, 1e-4])
def test_a_truss_stands_still(noise: float) -> None:
    m = truss(noise)
    r = m.report()
    assert (r.freedom, r.row_count, r.rank) == (0, 25, 18)
    assert "(locked: it cannot move)" in str(r)
    run = Simulator(m, 0.01).run(1.0, state=m.assemble())
    assert run.status.ok
    assert np.abs(run.position - run.position[0]).max() < 1e-9
    assert run.drift().max() <= 1e-10


def driven_four_bar(noise: float) -> Mechanism:
    """A crank-rocker whose rocker is turned at 1 rad/s, beyond what the crank lets it reach."""
    m = hinged(
        {"A": (0.0, 0.0), "b": (0.0, 0.5), "c": (0.9, 1.0), "D": (1.2, 0.0)}, [("A", "b"), ("b", "c"), ("D", "c")], 0
    )
    if noise:
        tilted(m, noise)
        shifted(m, noise)
    m.add_coupling(PrescribedMotion("Dc D", lambda t: t, name="motor"))
    return m


def test_a_jam_under_a_drive() -> None:
    """Numbers that disagree do not move the end of the way."""
    ends = []
    for noise in (0.0, 1e-6, 1e-4):
        with pytest.raises(SimulationError) as error:
            Simulator(driven_four_bar(noise), 0.01).run(3.0)
        ends.append(error.value.status.time)
        assert error.value.status.reason in ("locked", "diverged", "singular")
        assert error.value.trajectory.drift().max() <= 1e-10
    assert ends[0] > 0.1
    np.testing.assert_allclose(ends, ends[0], rtol=0, atol=0.011)


@pytest.mark.parametrize("case", ["four_bar", "slider_crank", "segmented_chain", "ladder"])
def test_a_centimetre_is_named(case: str) -> None:
    m = shifted(SCENES[case][0](), 0.0)
    joint = closing(m)
    joint.anchor_a = joint.anchor_a + 0.01 * rot.rotate(joint.frame_a, np.array((0, 0, 1.0)))
    with pytest.raises(AssemblyError, match=rf"'{joint.name}' contradicts the rest of its loop by 0\.01 m"):
        m.assemble()
    with pytest.raises(AssemblyError, match=rf"'{joint.name}' contradicts"):
        Simulator(m, 0.01).run(0.1)
    m.loop_tolerance = 0.09
    assert Simulator(m, 0.01).run(0.1, state=m.assemble()).status.ok


@pytest.mark.parametrize("size", [1e-3, 2e-3, 2.9e-3])
@pytest.mark.parametrize("case", ["four_bar", "slider_crank", "scissor", "andrews_squeezer", "minitaur"])
def test_what_can_be_assembled_runs(case: str, size: float) -> None:
    """Assembly and runs measure a mismatch by the same length."""
    m = shifted(SCENES[case][0](), size)
    state = m.assemble()
    assert Simulator(m, SCENES[case][1]).run(steps=3, state=state).status.ok
    with pytest.raises(AssemblyError, match="contradicts"):
        shifted(m, 3.2e-3 - size).assemble()


@pytest.mark.parametrize("short", [0.5, 1e-2, 1e-4, 1e-6, 1e-8])
@pytest.mark.parametrize("path", ["AbC", "AbcD"])
def test_bars_too_short_are_an_error_at_any_size(path: str, short: float) -> None:
    """Stretched to a line they are free to first order, but their rows are independent."""
    m = hinged({name: (float(k), 0.0) for k, name in enumerate(path)}, list(pairwise(path)), 0)
    assert m.assemble() is not None
    m.joints[f"{path[-2:]} {path[-1]}"].anchor_a += (short, 0.0, 0.0)
    with pytest.raises(AssemblyError, match=r"'.+' stays open by") as error:
        m.assemble()
    assert sum(gap for gap, _ in error.value.gaps.values()) == pytest.approx(short, rel=0.1)


# ---- singular poses, masses, momentum


@pytest.mark.parametrize("size", [0.0, 1e-8, 1e-6, 1e-4])
def test_a_parallelogram_that_starts_flat(size: float) -> None:
    """At the start one more row seems to follow from the others; away from there it does not."""
    m = tilted(scenes.n_four_bar(1), size)
    start = m.assemble(coordinates={"ground0": -np.pi / 2})
    start.velocity, start.angular_velocity = np.zeros((3, 3)), np.zeros((3, 3))
    for name in ("crank0", "crank1"):
        start.body(name).angular_velocity = (0, 0, -2.0)
    run = Simulator(m, 0.005).run(1.0, state=m.assemble(start))
    check_closed(run)
    assert run.halved_count == 0
    assert run.energy_error().max() < 2e-3
    assert abs(run.joint("ground0").coordinates[-1] - run.joint("ground0").coordinates[0]) > 0.5


def test_a_parallelogram_that_is_described_flat() -> None:
    """Rows are judged at other poses as well: those at which most of them say something new decide."""
    points = {"A": (0.0, 0.0), "b": (1.0, 0.0), "c": (3.0, 0.0), "D": (2.0, 0.0)}
    m = hinged(points, [("A", "b"), ("b", "c"), ("c", "D")], 0)
    # at the flat pose itself one more seems to follow from the others
    assert m.report().redundant_count == 4
    state = m.state()
    for name in ("Ab", "cD"):
        state.body(name).angular_velocity = (0, 2.0, 0)
    run = Simulator(m, 0.005).run(1.0, state=m.assemble(state))
    check_closed(run)
    assert run.energy_error().max() < 2e-3
    assert np.abs(run.joint("Ab A").angle).max() > 2


@pytest.mark.parametrize("size", [0.0, 1e-5])
@pytest.mark.parametrize("light", ["link1", "link2", "link3"])
def test_masses_do_not_change_the_rank(light: str, size: float) -> None:
    m = tilted(scenes.four_bar(), size)
    whole = m.bodies[light].inertia
    m.bodies[light].inertia = Inertia(1e-6 * whole.mass, 1e-6 * whole.tensor)
    selection = select_rows(m, m.state())
    assert sorted(selection.rows) == [-1, -1, -1, 2]
    assert m.report().rank == 17
    run = Simulator(m, 0.005).run(0.5, state=m.assemble())
    check_closed(run)
    assert np.ptp(run.joint("joint1").coordinates) > 0.01


@pytest.mark.parametrize("noise", [0.0, 1e-6, 1e-4])
def test_momentum_of_a_floating_linkage(noise: float) -> None:
    """Impulses are those of joints, whatever is asked of them: nothing pushes the whole."""
    m = disturbed(scenes.minitaur((1.2, 1.2), hips=0.04), noise)
    m.gravity = np.zeros(3)
    start = m.assemble()
    rng = np.random.default_rng(5)
    start.velocity = rng.normal(scale=0.2, size=start.velocity.shape)
    start.angular_velocity = np.array((0.5, 0.7, 1.0)) + rng.normal(scale=0.3, size=start.velocity.shape)
    run = Simulator(m, 0.005).run(1.0, state=m.assemble(start))
    check_closed(run)
    linear, angular = run.momentum(), run.angular_momentum()
    assert np.abs(linear - linear[0]).max() < 1e-11 * np.linalg.norm(linear[0])
    assert np.abs(angular - angular[0]).max() < 1e-11 * np.linalg.norm(angular[0])


def test_singular_poses_are_passed_closed() -> None:
    """All rows of whole hinges, those that are not asked for too, through three seconds of flat poses."""
    run = Simulator(scenes.n_four_bar(3), 0.01).run(10.0)
    assert run.drift().max() < 1e-10
    assert run.misalignment().max() < 1e-10
    assert run.loop_mismatch().max() < 1e-10
    assert run.energy_error().max() < 1e-3


# ---- what is said


def test_report_of_exact_numbers() -> None:
    r = scenes.four_bar().report()
    assert list(r.loop_mismatches) == [closing(scenes.four_bar()).name]
    assert max(r.loop_mismatches[next(iter(r.loop_mismatches))]) < 1e-14
    assert (r.row_count, r.rank, r.redundant_count) == (20, 17, 3)
    assert r.largest_zero < 1e-7
    assert r.smallest_kept > 0.1
    assert r.loop_tolerance == 3e-3
    text = str(r)
    assert "constraint rows: 20, rank 17, redundant 3" in text
    assert "nearly redundant" not in text
    assert "barely redundant" not in text


@pytest.mark.parametrize("size", [1e-6, 1e-4])
def test_report_of_rounded_numbers(size: float) -> None:
    m = tilted(scenes.four_bar(), size)
    r = m.report()
    name = closing(m).name
    assert (r.freedom, r.rank) == (1, 17)
    assert r.loop_mismatches[name][1] == pytest.approx(size, rel=1e-3)
    assert 0.1 * size < r.largest_zero < 3 * size
    assert f"redundant rows not enforced: {name}; mismatch " in str(r)
    assert f"{size:.2g} rad" in str(r)


def test_values_near_fit_are_worth_a_word() -> None:
    """A tilt takes away from rows about 0.4 of itself, here; what is asked for and what is counted are the same."""
    hardly, nearly = (askew(scenes.four_bar(), size) for size in (5e-3, 1e-2))
    r = hardly.report()
    assert (r.freedom, r.rank) == (1, 17)
    assert "barely redundant: singular value 0.0021 is dropped" in str(r)
    assert Simulator(hardly, 0.01).run(0.1).status.ok
    r = nearly.report()
    assert (r.freedom, r.rank) == (0, 18)
    assert "degrees of freedom: 0 (locked: it cannot move)" in str(r)
    assert "nearly redundant: singular value 0.004 is kept; if it is rounding, raise loop_tolerance=" in str(r)


@pytest.mark.filterwarnings("ignore::catena.StuckWarning")
def test_numbers_taken_at_their_word() -> None:
    m = askew(scenes.four_bar(), 1e-4)
    assert m.report().freedom == 1
    m.loop_tolerance = 0
    r = m.report()
    assert (r.freedom, r.rank, r.loop_mismatches) == (0, 18, {})
    assert "not asked for" not in str(r)
    run = Simulator(m, 0.01).run(0.05)
    assert np.abs(run.position - run.position[0]).max() < 1e-6


@pytest.mark.parametrize("loop_tolerance", [-1e-3, 0.1, float("nan")])
def test_nonsense_fit(loop_tolerance: float) -> None:
    with pytest.raises(ValueError, match="loop_tolerance must be a small number"):
        Mechanism(loop_tolerance=loop_tolerance)


# ---- two planes that are nearly one


def ball_on_two_planes(loop_tolerance: float, angle: float = 3e-5, apart: float = 0.0) -> Mechanism:
    """Along z it is free; along x as far as the planes, of which one may lie higher, are taken for one."""
    m = Mechanism(gravity=(1.0, -2.0, 0.0), loop_tolerance=loop_tolerance)
    m.add_body("ball", sphere(0.1, mass=1.0), velocity=(1.0, 1.0, 0.0))
    for name, tilt in (("floor", 0.0), ("other floor", angle)):
        m.add_joint(PointOnPlane(m.world, "ball", axis=(np.sin(tilt), np.cos(tilt), 0.0), at=(0, 0, 0), name=name))
    m.joints["other floor"].anchor_a[1] += apart
    return m


def test_two_planes_taken_for_one() -> None:
    """They disagree by a third of their angle: neither is to be trusted."""
    m = ball_on_two_planes(3e-3, apart=1e-5)
    r = m.report()
    assert (r.row_count, r.rank, r.freedom) == (2, 1, 5)
    state = m.assemble()
    np.testing.assert_allclose(state.body("ball").velocity, (1, 0, 0), rtol=0, atol=1e-4)
    run = Simulator(m, 0.01).run(2.0)
    # 1 m/s and 1 m/s^2 along x
    assert run.body("ball").position[-1, 0] == pytest.approx(4.0, rel=1e-3)
    loop_mismatch = run.loop_mismatch()[:, :, 0].max(axis=1)
    wanted = np.abs(3e-5 * run.body("ball").position[:, 0] - 1e-5)
    np.testing.assert_allclose(loop_mismatch, wanted, rtol=1e-3, atol=1e-12)


def test_two_planes_that_part() -> None:
    """Where they disagree by more than fit the run ends, and says so."""
    m = ball_on_two_planes(1e-4, apart=1e-5)
    with pytest.raises(SimulationError, match="floor'") as error:
        Simulator(m, 0.01).run(10.0)
    way = error.value.trajectory.body("ball").position[-1, 0]
    assert 0.5 * 1e-4 / 3e-5 < way < 2 * 1e-4 / 3e-5


@pytest.mark.parametrize("angle", [1e-6, 1e-4, 2e-3])
@pytest.mark.filterwarnings("error::catena.LoopWarning")
def test_two_planes_that_hold_weakly(angle: float) -> None:
    """Numbers that agree are taken at their word, however weakly they hold, and that is said."""
    m = ball_on_two_planes(3e-3, angle)
    with pytest.warns(LoopWarning, match=f"'other floor' .* only weakly .*down to {angle:.2g}.; their rows are"):
        simulator = Simulator(m, 0.01)
    m.bodies["ball"].velocity = np.zeros(3)
    with pytest.warns(LoopWarning, match="weakly"):
        state = m.assemble()
    run = simulator.run(1.0, state=state)
    # gaps are closed to 1e-11 of 1 m: that far along x, over the angle
    assert np.abs(run.body("ball").position[:, 0]).max() < 1e-11 / angle
    with pytest.warns(
        LoopWarning, match=r"nearly redundant rows of 'other floor' .* values up to .*, while the numbers disagree by"
    ):
        Simulator(ball_on_two_planes(3e-3, angle, apart=angle), 0.01)


@pytest.mark.parametrize("angle", [1e-4, 1e-3])
def test_rounding_at_the_seventh_digit_leaves_what_is_meant(angle: float) -> None:
    m = ball_on_two_planes(3e-3, angle, apart=1e-7)
    assert select_rows(m, m.state()).weak.max() == pytest.approx(angle, rel=0.01)
    rough = m.state()
    rough.position[0] += (1e-3, 1e-4, 0)
    closed = m.assemble(rough)
    assert closed.joint("other floor").gap < 1e-11


@pytest.mark.parametrize("angle", [1e-3, 1e-4, 3e-5])
def test_two_planes_that_are_two(angle: float) -> None:
    """Velocities and positions alike are held along x."""
    m = ball_on_two_planes(0, angle)
    assert m.report().rank == 2
    state = m.assemble()
    np.testing.assert_allclose(state.body("ball").velocity, 0, rtol=0, atol=1e-6)
    run = Simulator(m, 0.01).run(1.0, state=state)
    assert np.abs(run.body("ball").position).max() < 1e-5
    assert run.drift().max() <= 1e-10


@pytest.mark.filterwarnings("ignore::catena.LoopWarning", "ignore::catena.CatenaWarning")
@pytest.mark.parametrize("noise", [1e-6, 1e-5, 1e-4])
def test_rows_that_turn_go_with_servos(noise: float) -> None:
    """A Bricard linkage whose rounded hinges disagree in directions that turn with its pose, pulled by a servo."""

    def pulled(noise: float) -> Mechanism:
        m, rng = scenes.bricard(), np.random.default_rng(1)
        for joint in m.joints.values():
            joint.frame_a = rot.multiply(joint.frame_a, rot.from_rotation_vector(noise * rng.normal(size=3)))
        m.add_force(Servo(list(m.joints)[1], kp=3.0, kd=0.5, target=0.4))
        return m

    exact = Simulator(pulled(0.0), 0.01).run(2.0)
    m = pulled(noise)
    simulator, start = Simulator(m, 0.01), m.assemble()
    assert simulator.plan.build.compiled.selection.turning
    run = simulator.run(2.0, state=start)
    assert run.halved_count == 0
    # 6 of the noise after swings of 1.7 m
    assert np.abs(run.position - exact.position).max() < 20 * noise
    live = simulator.start(start)
    live.step(200)
    np.testing.assert_array_equal(live.position, run.position[-1])
    np.testing.assert_array_equal(simulator.run_batch(2.0, states=[start] * 2)[1].position, run.position)
