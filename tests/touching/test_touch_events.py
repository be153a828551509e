"""Events at joint limits, and what runs, live mechanisms and batches tell of impacts there."""

from __future__ import annotations

from dataclasses import replace
from math import cos, sin, sqrt

import numpy as np
import pytest

import catena as ct
from catena import AtLimit, Event, Limits, Mechanism, Simulator

# steps are coarse on purpose
pytestmark = pytest.mark.filterwarnings("ignore::catena.AccuracyWarning")

G = 9.81


def drop(height: float = 1.0, restitution: float = 0.5, **soft: float) -> Mechanism:
    """A weight on a vertical slide, whose floor is where it ends."""
    m = Mechanism()
    m.add_body("weight", ct.box((0.1, 0.1, 0.1), mass=2.0), position=(0, 0, height))
    m.add_joint(ct.Prismatic("world", "weight", axis=(0, 0, 1), at=(0, 0, height), name="slide"))
    m.joints["slide"].limits = Limits(lower=-height, restitution=restitution, **soft)
    return m


def pendulum(lower: float, upper: float, restitution: float = 1.0) -> Mechanism:
    """A rod of 1 m that begins 0.4 rad from the vertical, which is positive; its angle is measured from there."""
    m = Mechanism()
    m.add_body("rod", ct.rod((0, 0, 0), (sin(0.4), 0, -cos(0.4)), mass=1.0))
    m.add_joint(ct.Revolute("world", "rod", axis=(0, 1, 0), at=(0, 0, 0), name="hinge"))
    m.joints["hinge"].limits = Limits(lower, upper, restitution=restitution)
    return m


def swinging(m: Mechanism) -> ct.State:
    """Fast enough for both limits."""
    state = m.state()
    state.joint("hinge").rate = 3.0
    return state


def free(m: Mechanism) -> Mechanism:
    for joint in m.joints.values():
        joint.limits = {}
    return m


# ---- limits that are reached


@pytest.mark.parametrize("order", [2, 4])
def test_every_touch_is_an_event_in_the_state_after_it(order: int) -> None:
    """The second bounce begins at the first one's end, also where both lie in one step of a quarter of a second."""
    run = Simulator(drop(), 0.25, order=order).run(1.5, events=[AtLimit("slide")])
    fall, v = sqrt(2 / G), 0.5 * sqrt(2 * G)
    expected = [fall, fall + 2 * v / G, fall + 3 * v / G]
    np.testing.assert_allclose([at.time for _, at in run.events[:3]], expected, rtol=0, atol=1e-10)
    speeds = [at.joint("slide").rate for _, at in run.events[:3]]
    # what it falls faster by within the 1e-10 of a step that an event may be late
    np.testing.assert_allclose(speeds, [v, v / 2, v / 4], rtol=0, atol=1e-9)
    assert all(abs(at.joint("slide").displacement + 1.0) < 1e-12 for _, at in run.events)
    # what comes to rest touches no more
    assert len(run.events) == len(run.impacts) < 40


def test_a_run_ends_at_the_first_touch() -> None:
    """And tells of no impacts, cuts or steps beyond it; from its end it goes on as a run that never stopped."""
    simulator = Simulator(drop(restitution=0.7), 0.2)
    run = simulator.run(3.0, events=[AtLimit("slide", stop=True)])
    assert run.status.reason == "event"
    assert run.status.ok
    assert run.time[-1] == pytest.approx(sqrt(2 / G), abs=1e-10)
    assert run.velocity[-1, 0, 2] == pytest.approx(0.7 * sqrt(2 * G), abs=1e-9)
    assert len(run.impacts) == run.cut_count == 1
    assert len(run.substeps) == len(run) - 1
    assert run.dissipated()[-1] == pytest.approx(0.51 * 2 * G, abs=1e-9)
    # from there the parabola of the next bounce
    rest = simulator.run(0.4, state=run[-1])
    v, t = 0.7 * sqrt(2 * G), rest.time - run.time[-1]
    np.testing.assert_allclose(rest.position[:, 0, 2], v * t - G * t * t / 2, rtol=0, atol=1e-9)


@pytest.mark.parametrize(("side", "signs"), [("lower", {-1}), ("upper", {1}), ("either", {-1, 1})])
def test_sides_of_a_range(side: str, signs: set[int]) -> None:
    m = pendulum(-0.1, 0.5)
    run = Simulator(m, 0.01).run(2.0, state=swinging(m), events=[AtLimit("hinge", side=side)])
    angles = np.array([at.joint("hinge").angle for _, at in run.events])
    assert {int(np.sign(angle - 0.2)) for angle in angles} == signs
    assert np.minimum(np.abs(angles - 0.5), np.abs(angles + 0.1)).max() < 1e-12
    # with e = 1 every impact reaches a limit
    wanted = [impact for impact in run.impacts if np.sign(impact.approach) in signs]
    assert len(run.events) == len(wanted) > 1


def test_a_start_at_a_limit_has_not_reached_it() -> None:
    m = drop(restitution=0.0)
    state = m.state()
    state.joint("slide").displacement = -1.0
    run = Simulator(m, 0.01).run(0.5, state=state, events=[AtLimit("slide", stop=True)])
    assert not run.events
    assert run.time[-1] == pytest.approx(0.5)


def test_a_limit_that_is_touched_just_at_a_node() -> None:
    """As close to it as a start can be given, in the step before it or the one after."""
    fall = sqrt(2 / G)
    for dt in (fall / 10, fall / 10 * (1 - 1e-13), fall / 10 * (1 + 1e-13)):
        run = Simulator(drop(), dt).run(steps=14, events=[AtLimit("slide")])
        assert [at.time for _, at in run.events] == pytest.approx([fall], abs=1e-12)
        assert run.events[0].state.joint("slide").rate == pytest.approx(0.5 * sqrt(2 * G), abs=1e-9)


def test_soft_limits_are_events_where_the_range_is_left() -> None:
    # a damper would act, at the end of the step, on the step that is to end there
    m = drop(restitution=0.0, stiffness=1e4)
    run = Simulator(m, 0.001).run(0.6, events=[AtLimit("slide", side="lower")])
    assert run.events[0].state.time == pytest.approx(sqrt(2 / G), abs=1e-10)
    assert run.events[0].state.joint("slide").displacement == pytest.approx(-1.0, abs=1e-12)
    assert not run.impacts


def test_one_coordinate_of_several() -> None:
    m = Mechanism()
    m.add_body("plate", ct.box((0.2, 0.1, 0.2), mass=1.0))
    m.add_joint(ct.Planar("world", "plate", axis=(0, 1, 0), at=(0, 0, 0), name="table"))
    names = m.joints["table"].coordinate_names
    m.joints["table"].limits = {name: Limits(-0.2, 0.2) for name in names[:2]}
    state = m.state()
    state.joint("table").rates = (1.0, 0.5, 0.0)
    m.gravity = (0, 0, 0)
    run = Simulator(m, 0.01).run(0.6, state=state, events=[AtLimit("table", coordinate=name) for name in names[:2]])
    assert [event.coordinate for event, _ in run.events] == list(names[:2])
    assert [at.time for _, at in run.events] == pytest.approx([0.2, 0.4], abs=1e-10)


@pytest.mark.parametrize(
    ("event", "limits", "sentence"),
    [
        (lambda: AtLimit("slid"), "enforce", "slide"),
        (lambda: AtLimit("slide", side="upper"), "enforce", "has no upper limit"),
        (lambda: AtLimit("slide"), "ignore", "has no limits in this run"),
        (lambda: AtLimit("slide", coordinate="angle"), "enforce", "no coordinate 'angle'; it has displacement"),
        (lambda: AtLimit("slide", side="left"), "enforce", "side must be one of 'lower', 'upper', 'either'"),
    ],
)
def test_events_at_limits_that_are_not_there(event, limits: str, sentence: str) -> None:
    with pytest.raises((ValueError, KeyError), match=sentence):
        Simulator(drop(), 0.01, limits=limits).run(0.1, events=[event()])


# ---- contacts


def ball(restitution: float = 0.5) -> Mechanism:
    """A ball of 0.1 m that falls 1 m onto the ground."""
    m = Mechanism()
    m.add_body("ball", ct.sphere(0.1, mass=1.0), position=(0, 0, 1.1))
    m.add_contact("ball", radius=0.1, restitution=restitution, name="floor")
    return m


def test_a_contact_that_closes_is_an_event(tmp_path) -> None:
    run = Simulator(ball(), 0.25).run(1.5, events=[ct.Touch("floor")])
    fall, v = sqrt(2 / G), 0.5 * sqrt(2 * G)
    expected = [fall, fall + 2 * v / G, fall + 3 * v / G]
    np.testing.assert_allclose([at.time for _, at in run.events[:3]], expected, rtol=0, atol=1e-10)
    np.testing.assert_allclose([at.velocity[0, 2] for _, at in run.events[:3]], [v, v / 2, v / 4], atol=1e-9)
    np.testing.assert_allclose([at.contact("floor").gap for _, at in run.events], 0.0, atol=1e-12)
    np.testing.assert_allclose(run.dissipated("floor"), run.dissipated(), rtol=0, atol=0)
    run.save(tmp_path / "run.npz")
    again = ct.Trajectory.load(tmp_path / "run.npz")
    assert [(event.contact, event.stop) for event, _ in again.events] == [("floor", False)] * len(run.events)


def test_a_run_ends_where_a_contact_closes() -> None:
    run = Simulator(ball(), 0.01).run(1.5, events=[ct.Touch("floor", stop=True)])
    assert run.status.reason == "event"
    assert run.time[-1] == pytest.approx(sqrt(2 / G), abs=1e-10)
    with pytest.raises(ValueError, match="no contact called 'flor'; did you mean 'floor'"):
        Simulator(ball(), 0.01).run(1.0, events=[ct.Touch("flor")])
    with pytest.raises(ValueError, match="no contact called 'flor' in this trajectory; did you mean 'floor'"):
        run.dissipated("flor")


# ---- functions of the state that impacts change


def test_a_sign_that_an_impact_changes() -> None:
    """The rate jumps from falling to rising at the touch, and passes through zero at the top of the bounce."""
    rate = Event(lambda s: s.joint("slide").rate)
    run = Simulator(drop(), 0.03).run(0.93, events=[rate])
    fall, v = sqrt(2 / G), 0.5 * sqrt(2 * G)
    times = [at.time for _, at in run.events]
    assert times == pytest.approx([fall, fall + v / G, fall + 2 * v / G], abs=1e-9)
    # at the jump the state is the one after the impact
    assert run.events[0].state.joint("slide").rate == pytest.approx(v, abs=1e-9)
    assert run.events[2].state.joint("slide").rate == pytest.approx(v / 2, abs=1e-9)


@pytest.mark.parametrize("first", ["crossing", "impact"])
def test_what_passes_zero_in_the_step_of_an_impact(first: str) -> None:
    """A height, on the way down before the touch or on the way up after it, where the parabolas pass it."""
    fall, v, height = sqrt(2 / G), 0.9 * sqrt(2 * G), 0.02
    down, up = sqrt(2 * (1 - height) / G), fall + (v - sqrt(v * v - 2 * G * height)) / G
    start, end = (0.99 * down, fall + 0.3 * (up - fall)) if first == "crossing" else (0.5 * (down + fall), 1.01 * up)
    m = drop(restitution=0.9)
    state = m.state()
    state.joint("slide").displacement, state.joint("slide").rate = -G * start**2 / 2, -G * start
    events = [Event(lambda s: s.position[0, 2] - height), AtLimit("slide")]
    run = Simulator(m, end - start).run(steps=1, state=state, events=events)
    wanted = [down, fall] if first == "crossing" else [fall, up]
    assert [start + at.time for _, at in run.events] == pytest.approx(wanted, abs=1e-10)
    assert [isinstance(event, AtLimit) for event, _ in run.events] == [first == "impact", first == "crossing"]


def test_an_event_at_the_instant_of_an_impact() -> None:
    """Both are told, at one time, also if the event is of the joint that is not hit."""
    m = drop(restitution=0.3)
    m.add_body("other", ct.box((0.1, 0.1, 0.1), mass=1.0), position=(1, 0, 1))
    m.add_joint(ct.Prismatic("world", "other", axis=(0, 0, 1), at=(1, 0, 1), name="free slide"))
    events = [Event(lambda s: s.position[1, 2], direction=-1), AtLimit("slide")]
    run = Simulator(m, 0.01).run(0.5, events=events)
    assert {type(event).__name__ for event, _ in run.events} == {"Event", "AtLimit"}
    assert [at.time for _, at in run.events] == pytest.approx([sqrt(2 / G)] * 2, abs=1e-10)


def test_an_accuracy_keeps_events_at_limits() -> None:
    m = pendulum(-0.1, 0.5)
    runs = (Simulator(m, accuracy=1e-6), Simulator(m, 0.001, order=6))
    run, fine = (simulator.run(2.0, state=swinging(m), events=[AtLimit("hinge")]) for simulator in runs)
    assert len(run.events) == len(fine.events) > 2
    times = [[at.time for _, at in found.events] for found in (run, fine)]
    np.testing.assert_allclose(*times, rtol=0, atol=1e-5)


def test_files_keep_events_at_limits(tmp_path) -> None:
    run = Simulator(drop(), 0.01).run(1.0, events=[AtLimit("slide", side="lower"), Event(lambda s: s.velocity[0, 2])])
    run.save(tmp_path / "run.npz")
    again = ct.Trajectory.load(tmp_path / "run.npz")
    assert (again.cut_count, again.caught_count) == (run.cut_count, run.caught_count)
    assert again.cut_count > 0
    for (event, at), (loaded, there) in zip(run.events, again.events, strict=True):
        assert type(event) is type(loaded)
        np.testing.assert_array_equal(at.position, there.position)
        if isinstance(event, AtLimit):
            assert replace(event) != event  # identity, as of Event
            assert (loaded.joint, loaded.side, loaded.coordinate, loaded.stop) == ("slide", "lower", None, False)


# ---- readers


def test_energy_that_impacts_of_each_joint_take() -> None:
    m, last, start, angle = Mechanism(), "world", np.zeros(3), 0.3
    for name in ("upper", "lower"):
        end = start + np.array((cos(angle), 0, -sin(angle)))
        m.add_body(name, ct.rod(start, end, mass=1.0))
        m.add_joint(ct.Revolute(last, name, axis=(0, 1, 0), at=start, name=f"{name} hinge"))
        m.joints[f"{name} hinge"].limits = Limits(-1.0, 0.8, restitution=0.4)
        last, start, angle = name, end, angle + 0.2
    run = Simulator(m, 0.001).run(3.0)
    each = [run.dissipated(name) for name in m.joints]
    assert min(lost[-1] for lost in each) > 0.1
    np.testing.assert_allclose(sum(each), run.dissipated(), rtol=0, atol=1e-12)
    # what is not taken by impacts stays, but for the scheme's own oscillation
    np.testing.assert_allclose(run.energy() + run.dissipated(), run.energy()[0], rtol=0, atol=2e-4)
    late = run[run.time > 1.5]
    np.testing.assert_allclose(late.dissipated(), run.dissipated()[run.time > 1.5] - late_start(run), atol=1e-12)
    with pytest.raises((ValueError, KeyError), match="lower hinge"):
        run.dissipated("lower hing")


def late_start(run: ct.Trajectory) -> float:
    return float(run.dissipated()[run.time > 1.5][0])


def test_impacts_are_a_table() -> None:
    pandas = pytest.importorskip("pandas")
    run = Simulator(drop(), 0.01).run(1.0)
    table = pandas.DataFrame(run.impacts)
    assert list(table) == ["time", "name", "coordinate", "impulse", "approach", "leaving", "rubbed"]
    assert len(table) == len(run.impacts) > 0
    np.testing.assert_allclose(table.leaving[0], -0.5 * table.approach[0])


def test_a_run_says_how_often_it_touched_and_was_caught() -> None:
    run = Simulator(drop(restitution=0.9), 0.01).run(0.2)
    assert (run.cut_count, run.caught_count) == (0, 0)
    assert "impact" not in repr(run)
    run = Simulator(drop(height=0.3), 0.2).run(3.0)
    assert run.cut_count == len(run.impacts) == 4
    assert run.caught_count == 0
    assert "4 impacts" in repr(run)
    assert "caught" not in repr(run)
    # ends of a whip hit their stops many times in a step
    m, last = Mechanism(), "world"
    for k in range(8):
        m.add_body(f"link{k}", ct.rod((k, 0, 0), (k + 1, 0, 0), mass=1.0))
        m.add_joint(ct.Revolute(last, f"link{k}", axis=(0, 1, 0), at=(k, 0, 0), name=f"hinge{k}"))
        m.joints[f"hinge{k}"].limits = Limits(-0.3, 0.3)
        last = f"link{k}"
    run = Simulator(m, 0.02).run(2.0)
    assert run.caught_count > 0
    assert run.cut_count > run.caught_count
    assert f"{len(run.impacts)} impacts ({run.caught_count} step" in repr(run)


def test_live_mechanisms_tell_of_stops_and_impacts() -> None:
    # held short of the vertical
    m = pendulum(-0.3, 0.3, restitution=0.0)
    run = Simulator(m, 0.01).run(1.0)
    live = Simulator(m, 0.01).start()
    told = []
    for node in range(1, 101):
        live.step()
        told += live.impacts
        assert len(live.impacts) <= 1
        if node % 20 == 0 and node < 100:
            assert live.joint("hinge").stop == pytest.approx(run.joint("hinge").stop[node], abs=1e-12)
    assert tuple(told) == run.impacts
    assert len(told) > 0
    assert abs(run.joint("hinge").stop[80]) > 0.1
    with pytest.raises(AttributeError, match="has no hard limits"):
        _ = Simulator(free(m), 0.01).start().joint("hinge").stop


def test_batches_count_impacts_of_members(tmp_path) -> None:
    m = drop()
    states = []
    for height in (0.2, 0.0):
        states.append(m.state())
        states[-1].joint("slide").displacement = height
    simulator = Simulator(m, 0.01)
    batch = simulator.run_batch(0.48, states=states, threads=1)
    alone = [simulator.run(0.48, state=state) for state in states]
    assert batch.impact_counts.tolist() == [len(run.impacts) for run in alone] == [0, 1]
    assert batch.cut_counts.tolist() == [0, 1]
    assert batch.caught_counts.tolist() == [0, 0]
    assert batch[0].impacts == ()
    assert batch[1].cut_count == 1
    # what is not known is not zero
    for read in (lambda run: run.impacts, lambda run: run.dissipated()):
        with pytest.raises(ValueError, match="not recorded"):
            read(batch[1])
    batch.save(tmp_path / "batch.npz")
    again = ct.Batch.load(tmp_path / "batch.npz")
    joined = ct.join([again, batch])
    assert joined.impact_counts.tolist() == [0, 1, 0, 1]
    batch[1].save(tmp_path / "member.npz")
    with pytest.raises(ValueError, match="not recorded"):
        _ = ct.Trajectory.load(tmp_path / "member.npz").impacts


# ---- limits of joints that contacts load


def dominoes(count: int = 4) -> Mechanism:
    """Slabs that tip over their front edges, each of which hits the next."""
    m = Mechanism()
    for k in range(count):
        x, name = 0.0275 * k, f"domino {k}"
        m.add_body(name, ct.box((0.0075, 0.024, 0.048), mass=0.01), position=(x, 0, 0.024))
        m.add_joint(ct.Revolute("world", name, axis=(0, 1, 0), at=(x + 0.00375, 0, 0), name=f"edge {k}"))
        m.joints[f"edge {k}"].limits = Limits(0, np.pi / 2)
    for k in range(count - 1):
        front, back = 0.0275 * k + 0.00375, 0.0275 * (k + 1) - 0.00375
        place = {"at": (front, 0, 0.048), "point": (back, 0, 0), "normal": (-1, 0, 0)}
        m.add_contact(f"domino {k}", f"domino {k + 1}", **place, name=f"hit {k}")
    return m


def test_a_stop_feels_the_contact_beside_it() -> None:
    """A limit of a joint in the tree is let go by a contact on its link, and its impulse stops what leans there too."""
    m = dominoes()
    state = m.state()
    state.joint("edge 0").rate = 6.0
    runs = {name: Simulator(m, 0.001, solver=name).run(0.8, state=state) for name in ("articulated", "ldu", "dense")}
    run = runs["articulated"]
    # the wave has gone through, and what energy is gone impacts have taken
    assert run.joint("edge 3").angle[-1] == pytest.approx(np.pi / 2, abs=1e-12)
    total = run.energy() + run.dissipated()
    assert np.ptp(total) < 1e-4 * run.dissipated()[-1]
    for other in runs.values():
        np.testing.assert_allclose(other.position, run.position, rtol=0, atol=1e-9)
        assert other.joint("edge 3").stop[-2] == pytest.approx(run.joint("edge 3").stop[-2], abs=1e-9)
