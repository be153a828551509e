"""The search for rows that say the same twice: what it leaves out is said, and nothing is looked for again in vain."""

from __future__ import annotations

import pickle
import threading
from dataclasses import replace

import numpy as np
import pytest

from catena import (
    AssemblyError,
    Custom,
    Distance,
    Gear,
    LoopWarning,
    Mechanism,
    Revolute,
    SimulationError,
    Simulator,
    State,
    Trajectory,
    box,
    rod,
    scenes,
)
from catena._util import rotation as rot
from catena._util.rotation import Array
from catena.assemble import redundancy
from catena.compile.row_selection import select_all


@pytest.fixture
def judged(monkeypatch):
    """How often rows are judged, with nothing known from before."""
    calls: list[int] = []
    judge = redundancy._select_rows_around

    def counted(*arguments):
        calls.append(1)
        return judge(*arguments)

    monkeypatch.setattr(redundancy, "_select_rows_around", counted)
    redundancy._found.clear()
    return calls


def four_bar_closed_by_a_function(tilt: float) -> Mechanism:
    """The last hinge is the user's own, its axis in the ground turned by `tilt` (rad) out of that of the others."""
    a, b, c, d = (np.array(p, dtype=float) for p in ((0, 0, 0), (0.3, 0, 0), (1.2, 0, 0.4), (0.9, 0, 0)))
    m = Mechanism()
    for name, start, end in (("crank", a, b), ("rod", b, c), ("rocker", c, d)):
        m.add_body(name, rod(start, end, mass=1.0))
    for before, after, point in (("world", "crank", a), ("crank", "rod", b), ("rod", "rocker", c)):
        m.add_joint(Revolute(before, after, axis=(0, 1, 0), at=point))
    rocker = m.bodies["rocker"]
    pin, axis = (rot.back(rocker.orientation, v) for v in (d - rocker.position, np.array((0, 1.0, 0))))
    across = np.array((np.cos(tilt), -np.sin(tilt), 0)), np.array((0, 0, 1.0))

    def hinge(pose, _):
        turned = rot.rotate(pose.orientation, axis)
        return np.concatenate(
            (pose.position + rot.rotate(pose.orientation, pin) - d, [turned @ across[0], turned @ across[1]])
        )

    m.add_joint(Custom("rocker", "world", hinge, name="pin"))
    return m


# ---- what is not judged


@pytest.mark.parametrize("make", [lambda: scenes.ladder(200), lambda: scenes.net(20, 20)])
def test_a_simulator_says_which_loops_were_not_judged(make):
    m = make()
    closing = {joint.name for joint in m.spanning_tree().loops}
    assert set(Simulator(m, 0.01).info()["unchecked_joints"]) == closing
    assert Simulator(scenes.four_bar(), 0.01).info()["unchecked_joints"] == ()


def test_a_report_says_so_in_words(monkeypatch):
    m = scenes.ladder(30)
    assert m.report().unchecked_joints == ()
    assert "not looked at" not in str(m.report())
    # as if the mechanism were far larger
    monkeypatch.setattr(redundancy, "_BUDGET", 1e6)
    redundancy._found.clear()
    r = m.copy().report()
    redundancy._found.clear()
    assert r.unchecked_joints == tuple(joint.name for joint in m.spanning_tree().loops)
    assert r.loop_mismatches == {}
    words = "not checked for redundancy: 30 loop joints"
    follows = "because that would take too long; all their rows are enforced and must agree"
    for text in (str(r), r._repr_html_().replace("</td><td>", ": ")):
        assert words in text
        assert "and 18 more" in text
        assert follows in text


def test_loops_that_cannot_be_closed_are_not_judged():
    m = Mechanism()
    m.add_body("a", box((1, 1, 1), mass=1.0))
    m.add_body("b", box((1, 1, 1), mass=1.0), position=(2, 0, 0))
    for k, length in enumerate((2.0, 1.0, 5.0, 0.3, 8.0, 1.0, 3.0)):
        m.add_joint(Distance("a", "b", anchors=((0.1 * (k % 2), 0.2 * (k // 2), 0), (0, 0.1 * k, 0.1)), length=length))
    r = m.report(m.state())
    assert r.unchecked_joints == tuple(m.joints)
    assert "because their loops cannot be closed around this pose" in str(r)


# ---- rows of the user's own


def test_a_loop_closed_by_a_function_is_taken_at_its_word():
    m = four_bar_closed_by_a_function(0.0)
    r = m.report()
    assert (r.freedom, r.rank, r.loop_mismatches) == (1, 17, {})
    assert r.unchecked_joints == ("pin",)
    assert "custom constraints and joints to moving ground are always enforced exactly" in str(r)
    run = Simulator(m, 0.01).run(steps=50)
    # solved to 1e-10, in a mechanism of 1 m
    assert run.drift().max() < 1e-11


@pytest.mark.parametrize("tilt", [1e-8, 1e-5, 1e-3])
def test_rounded_numbers_in_such_a_loop_are_a_sentence(tilt):
    with pytest.raises(AssemblyError, match="cannot be assembled: custom joint 'pin' stays open"):
        four_bar_closed_by_a_function(tilt).assemble()


# ---- nothing is looked for twice


def test_one_search_serves_all_that_ask(judged):
    m = scenes.ladder(3)
    m.assemble()
    m.report()
    Simulator(m, 0.01)
    Simulator(m.copy(), 0.02).run(steps=1)
    assert len(judged) == 1
    # masses and forces are no part of it
    next(iter(m.bodies.values())).mass *= 2
    m.gravity = (0, 0, 0)
    m.report()
    assert len(judged) == 1


def _move(m: Mechanism) -> None:
    list(m.bodies.values())[-1].position[1] += 1e-4


def _shift(m: Mechanism) -> None:
    m.spanning_tree().loops[0].anchor_a[0] += 1e-4


def _turn(m: Mechanism) -> None:
    joint = m.spanning_tree().loops[0]
    joint.frame_b = rot.multiply(joint.frame_b, rot.from_rotation_vector((1e-4, 0, 0)))


def _fit(m: Mechanism) -> None:
    m.loop_tolerance = 1e-3


def _tie(m: Mechanism) -> None:
    first, *_, last = m.bodies
    m.add_joint(Distance(first, last, anchors=((0.1, 0, 0), (0, 0, 0))))


def _untie(m: Mechanism) -> None:
    m.remove_joint(m.spanning_tree().loops[-1].name)


@pytest.mark.parametrize("edit", [_move, _shift, _turn, _fit, _tie, _untie])
def test_whatever_is_edited_is_judged_anew(judged, edit):
    m = scenes.ladder(2)
    redundancy.select_described_rows(m)
    edit(m)
    found = redundancy.select_described_rows(m)
    assert len(judged) == 2
    redundancy._found.clear()
    fresh = redundancy.select_described_rows(m.copy())
    for name, value in vars(fresh).items():
        np.testing.assert_array_equal(getattr(found, name), value, err_msg=name)


def test_functions_of_the_users_are_asked_again_every_time(judged):
    m = four_bar_closed_by_a_function(0.0)
    for count in (1, 2, 3):
        redundancy.select_described_rows(m)
        assert len(judged) == count


def test_a_pose_that_is_singular_by_chance_is_not_asked(monkeypatch):
    """One more direction that says nothing new, at one of the poses, changes nothing of what is found."""
    m = scenes.four_bar()
    redundancy._found.clear()
    expected, explore = redundancy.select_described_rows(m), redundancy._explore

    def with_another(*arguments):
        values, vectors, loop_mismatch = explore(*arguments)
        values, vectors = np.concatenate((values, values[:1])), np.concatenate((vectors, vectors[:1]))
        # its smallest value that is none yet becomes one, of a direction of its own
        loop = int(np.isfinite(values[-1]).any(axis=1).argmax())
        meant = np.flatnonzero(np.isfinite(values[-1, loop]) & (values[-1, loop] > 1e-3))
        values[-1, loop, meant[0]] = 1e-4
        vectors[-1, loop] = np.roll(vectors[-1, loop], 1, axis=1)
        return values, vectors, loop_mismatch

    monkeypatch.setattr(redundancy, "_explore", with_another)
    redundancy._found.clear()
    found = redundancy.select_described_rows(scenes.four_bar())
    redundancy._found.clear()
    for name in ("rows", "redundant", "inactive", "weak", "dropped"):
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name), err_msg=name)
    np.testing.assert_allclose(found.combination, expected.combination, rtol=0, atol=1e-12)


def test_what_is_shared_cannot_be_written_to():
    selection = redundancy.select_described_rows(scenes.four_bar())
    with pytest.raises(ValueError, match="read-only"):
        selection.rows[0] = 3


def test_few_are_kept_and_threads_may_ask_at_once():
    redundancy._found.clear()
    lengths = np.linspace(0.9, 1.1, 3 * redundancy._KEPT)

    def ask(part):
        for length in part:
            m = scenes.four_bar()
            m.add_joint(Distance(*list(m.bodies)[:2], anchors=((0, 0, 0), (0, 0, 0)), length=float(length)))
            redundancy.select_described_rows(m)

    threads = [threading.Thread(target=ask, args=(lengths[k::3],)) for k in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(redundancy._found) == redundancy._KEPT


# ---- where rows are judged


def leg_out_of_true(shift: float = 0.0, elsewhere: float = 0.0) -> tuple[Mechanism, State]:
    """A five-bar whose last hinge is built askew by 5 mrad on both bodies, and by `shift` (m) along its axis.

    Also the state in which it fits but for the shift; it is described where a motor is turned by `elsewhere` (rad).
    All its rows leave it one freedom, without those that hold weakly it has two, and is soon out by 3e-3 rad.
    """
    m = scenes.minitaur_leg((1.2, 1.2), hips=0.04)
    away = m.assemble(coordinates={"leg front motor": elsewhere})
    joint = m.joints["leg foot"]
    tilt = rot.from_rotation_vector(5e-3 * np.array((0.6, 0.8, 0.0)))
    joint.frame_a, joint.frame_b = (rot.multiply(frame, tilt) for frame in (joint.frame_a, joint.frame_b))
    joint.anchor_a = joint.anchor_a + shift * rot.rotate(joint.frame_a, np.array((0, 0, 1.0)))
    fits = m.state()
    for body in m.bodies.values():
        body.position, body.orientation = away.body(body.name).position, away.body(body.name).orientation
    return m, fits


def _ran(simulator: Simulator, state: State) -> Array:
    return simulator.run(1.0, state=state).position


def _lived(simulator: Simulator, state: State) -> Array:
    live = simulator.start(state)
    live.step(200)
    return live.position[None].copy()


def _ran_in_a_batch(simulator: Simulator, state: State) -> Array:
    return simulator.run_batch(1.0, states=[state] * 3).position[1]


def _lived_in_a_batch(simulator: Simulator, state: State) -> Array:
    live = simulator.start_batch([state] * 3)
    live.step(200)
    assert all(status.ok for status in live.status)
    return live.position[1:2].copy()


def _went_on(simulator: Simulator, state: State) -> Array:
    half = simulator.run(0.5, state=state)
    return simulator.run(0.5, state=half[-1]).position


def _restarted(simulator: Simulator, state: State) -> Array:
    live = simulator.start()
    live.step()
    live.restart(state)
    live.step(200)
    end = live.position[None].copy()
    # and back to what is described, where it locks
    live.restart(live.mechanism.state())
    with pytest.raises(SimulationError, match="the mechanism locks"):
        live.step(200)
    return end


@pytest.mark.filterwarnings("ignore::catena.LoopWarning", "ignore::catena.AccuracyWarning")
@pytest.mark.parametrize("go", [_ran, _lived, _went_on, _restarted, _ran_in_a_batch, _lived_in_a_batch])
def test_rows_are_judged_where_a_run_starts(go):
    """As described a row is left out, and without it the leg locks after 0.1 s; where it starts it is meant."""
    m, fits = leg_out_of_true(elsewhere=-0.5)
    assert redundancy.select_described_rows(m).dropped.any()
    simulator = Simulator(m, 0.005)
    found = go(simulator, fits)
    # the other freedom, in which the leg would fall, is not there
    at_its_word = m.copy()
    at_its_word.loop_tolerance = 0
    wanted = Simulator(at_its_word, 0.005).run(1.0, state=fits)
    np.testing.assert_allclose(found[-1], wanted.position[-1], rtol=0, atol=1e-9)
    # it goes on from there as described, whoever was there before
    with pytest.raises(SimulationError, match="the mechanism locks"):
        simulator.run(1.0)


@pytest.mark.filterwarnings("ignore::catena.LoopWarning", "ignore::catena.AccuracyWarning")
def test_gaps_are_those_of_the_rows_that_a_run_enforced(tmp_path):
    m, fits = leg_out_of_true(elsewhere=-0.5)
    simulator = Simulator(m, 0.005)
    run = simulator.run(1.0, state=fits)
    run.save(tmp_path / "run.npz")
    live = simulator.start(fits)
    live.step(20)
    batch = simulator.run_batch(0.1, states=[fits] * 2)
    for made in (run, run[10:], Trajectory.load(tmp_path / "run.npz"), pickle.loads(pickle.dumps(run)), batch[1]):
        # by the described rows 2e-3 rad would be left out
        assert made.loop_mismatch().max() < 1e-12
        # solved to 1e-10 per step, in a leg of 0.4 m
        assert max(made.drift().max(), made.misalignment().max()) < 1e-10
    assert live.loop_mismatch().max() < 1e-12
    assert np.abs(simulator.run(0.05).loop_mismatch()).max() > 1e-4


@pytest.mark.filterwarnings("ignore::catena.LoopWarning", "ignore::catena.AccuracyWarning")
def test_members_begin_anew_where_loops_have_the_same_rows():
    m, fits = leg_out_of_true(elsewhere=-0.5)
    live = Simulator(m, 0.005).start_batch([fits] * 2)
    live.step(10)
    live.reset([0], fits)
    live.reset([1])
    with pytest.raises(ValueError, match=r"reset: .* loops have other rows in these states .* start_batch"):
        live.reset([0], m.state())


@pytest.mark.filterwarnings("ignore::catena.AccuracyWarning", "ignore:nearly redundant rows:catena.LoopWarning")
def test_what_outgrows_its_mismatch_is_judged_again():
    """A shift of 5 um hides where it starts that numbers agree better than by chance; 0.1 s later that is seen."""
    m, fits = leg_out_of_true(5e-6)
    simulator = Simulator(m, 0.005)
    with pytest.warns(
        LoopWarning, match="'leg foot' .* only weakly .singular values down to 0.0021.; their rows are enforced"
    ):
        run = simulator.run(1.0, state=fits)
    assert run.status.ok
    # left out it would be 3e-3 rad
    assert run.loop_mismatch()[:, :, 1].max() < 1e-12
    # a control is not called in two runs: it ends, and says what was left out
    with pytest.raises(
        SimulationError, match=r"locks .* 'leg foot'.* not enforced: if they are intended, lower loop_tolerance="
    ) as error:
        simulator.run(1.0, state=fits, control=lambda t, live: None)
    assert 0.1 < error.value.status.time < 0.2


def test_what_is_known_of_another_pose_is_part_of_what_is_kept():
    """At one pose, numbers that are known to agree better elsewhere are another case than those that are not."""
    redundancy._found.clear()
    m, fits = leg_out_of_true(5e-4)
    left_out = [redundancy.select_rows(m, fits, agreed).count_left_out for agreed in (np.inf, 1e-9, np.inf)]
    assert left_out[0] == left_out[2] > left_out[1]


@pytest.mark.filterwarnings("ignore::catena.LoopWarning", "ignore::catena.AccuracyWarning")
def test_rounded_numbers_are_not_judged_again(judged):
    m = scenes.ladder()
    for joint in m.joints.values():
        joint.anchor_a, joint.frame_a = np.round(joint.anchor_a, 4), rot.normalised(np.round(joint.frame_a, 4))
    joint = m.spanning_tree().loops[0]
    joint.frame_a = rot.multiply(joint.frame_a, rot.from_rotation_vector((1e-5, 0, 0)))
    run = Simulator(m, 0.01).run(1.0, state=m.assemble())
    assert run.loop_mismatch().max() > 1e-6
    assert len(judged) == 1


def test_a_selection_differs_in_couplings_too() -> None:
    m = scenes.four_bar()
    m.add_coupling(Gear(*list(m.joints)[:2], 1.0, name="gear"))
    everything = select_all(m)
    without = replace(everything, inactive_couplings=np.ones_like(everything.inactive_couplings))
    assert everything.same_rows(select_all(m))
    assert not everything.same_rows(without)


def test_what_turns_with_the_pose_can_be_left_out_whole() -> None:
    """The joints with redundant directions have no rows then, and the others theirs."""
    everything = select_all(scenes.four_bar())
    redundant = np.zeros_like(everything.redundant)
    redundant[1] = 2
    found = replace(everything, redundant=redundant).without_redundant()
    np.testing.assert_array_equal(found.rows, np.where(redundant > 0, 0, everything.rows))
    assert not found.redundant.any()
