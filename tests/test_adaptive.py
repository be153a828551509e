"""An accuracy in place of a step: runs keep it, stay reversible, and nobody has to know dt."""

from __future__ import annotations

import inspect
from math import pi

import numpy as np
import pytest

import catena as ct
from catena import Mechanism, Simulator, State, scenes

BUILD = {
    "pendulum": lambda: scenes.pendulum(1, angle=2.5),
    "double pendulum": scenes.double_pendulum,
    "chain": lambda: scenes.pendulum(10, angle=pi / 4),
    "whip": lambda: scenes.pendulum(5, angle=pi / 2),
    "tree": lambda: scenes.tree(3, 2),
    "heavy top": scenes.heavy_top,
    "free body": scenes.free_body,
    "spinning chain": lambda: scenes.spinning_chain(5),
    "cart-pole": scenes.cart_pole,
    "closed chain": lambda: scenes.closed_chain(11),
    "segmented chain": lambda: scenes.segmented_chain(3),
    "four-bar": scenes.four_bar,
    "slider-crank": lambda: scenes.slider_crank(rate=8.0),
    "bricard": scenes.bricard,
    "delta robot": scenes.delta_robot,
    "stewart platform": scenes.stewart_platform,
    "minitaur leg": lambda: scenes.minitaur_leg((1.2, 0.8)),
    "scissor": scenes.scissor,
}
SHORT = {"heavy top": 0.3, "stewart platform": 0.5, "delta robot": 1.0}


def turned_round(state: State) -> State:
    return State(
        state.mechanism, state.position, state.orientation, -state.velocity, -state.angular_velocity, time=state.time
    )


def kept(m: Mechanism, name: str, **how: float) -> float:
    run = Simulator(m, **how).run(SHORT.get(name, 2.0))
    assert run.status.ok
    assert run.coarse == ""
    return float(run.energy_error().max())


@pytest.mark.parametrize("accuracy", [1e-3, 1e-5, 1e-7])
@pytest.mark.parametrize("with_dt", [False, True], ids=["no dt", "dt"])
def test_energy_is_kept_to_the_accuracy(accuracy: float, with_dt: bool) -> None:
    """No failure on any scene, and energy within twice the accuracy in nine of ten."""
    errors = {
        name: kept(build(), name, accuracy=accuracy, **({"dt": 0.02} if with_dt else {}))
        for name, build in BUILD.items()
    }
    far = {name: error for name, error in errors.items() if error > 2 * accuracy}
    assert len(far) <= len(errors) // 10, far
    assert max(errors.values()) < 30 * accuracy, far


@pytest.mark.parametrize("scene", ["four-bar", "slider-crank", "minitaur leg", "whip"])
@pytest.mark.parametrize("order", [4, 8])
def test_runs_are_reversible(scene: str, order: int) -> None:
    m = BUILD[scene]()
    simulator = Simulator(m, 0.04, accuracy=1e-5, order=order, tolerance=1e-13)
    there = simulator.run(1.0)
    assert there.halved_count > 0
    back = simulator.run(1.0, state=turned_round(there[-1]))
    # the same pieces in the opposite order
    np.testing.assert_array_equal(back.pieces, there.pieces[::-1])
    # 4e-13 at most was seen
    assert np.abs(back.position[-1] - there.position[0]).max() < 1e-11


def test_energy_does_not_drift() -> None:
    """Over twelve starts the mean shift is within two of its standard errors."""
    shifts = []
    for k in range(12):
        m = scenes.double_pendulum()
        state = m.state()
        state.joint("joint1").rates = (0.1 * k,)
        run = Simulator(m, 0.1, accuracy=1e-6, order=8).run(60.0, state=state, record_every=600)
        energy = run.energy()
        shifts.append((energy[-1] - energy[0]) / run.kinetic_energy().max())
    assert abs(np.mean(shifts)) < 2.5 * np.std(shifts) / len(shifts) ** 0.5 + 1e-9
    assert np.abs(shifts).max() < 1e-4


@pytest.mark.parametrize("order", [4, 8])
def test_servos_and_dampers_converge(order: int) -> None:
    """The second half of what a damper did on a piece that is taken back must not be added again."""
    m = scenes.four_bar()
    crank = next(iter(m.joints))
    m.add_force(ct.Servo(crank, rate_gain=5.0, target_rate=3.0, name="servo"))
    m.add_force(ct.Damper(list(m.joints)[1], 0.05, name="damper"))
    ends = {a: Simulator(m, 0.02, accuracy=a, order=order).run(1.0)[-1].position for a in (1e-3, 1e-5, 1e-7, 1e-9)}
    off = [np.abs(ends[a] - ends[1e-9]).max() for a in (1e-3, 1e-5, 1e-7)]
    # the accuracy itself: nothing is chaotic here
    assert off[0] < 1e-3
    assert off[1] < 1e-5
    assert off[2] < 1e-7


def test_what_is_found_is_told() -> None:
    m = scenes.double_pendulum()
    simulator = Simulator(m)
    assert simulator.accuracy == 1e-4
    assert simulator.info()["dt"] is None
    assert "dt" not in repr(simulator)
    with pytest.raises(ValueError, match="the first run"):
        _ = simulator.dt
    run = simulator.run(10.0)
    assert run.dt == simulator.dt == simulator.info()["dt"]
    assert run.info.accuracy == 1e-4
    assert run.info.order == simulator.order == 8
    # a whole number of steps
    assert run.time[-1] == pytest.approx(10.0, abs=1e-12)
    assert run.energy_error().max() < 2e-4
    assert Simulator(m, accuracy=1e-2).order == 4


def test_what_is_at_rest_has_a_step_too() -> None:
    """It may be set in motion later."""
    m = scenes.pendulum(2, angle=0.0)
    live = Simulator(m).start()
    live.step()
    # a tenth of the time in which things fall by its size
    assert live.time < 0.1
    assert Simulator(m).run(10.0).time[1] <= 0.5
    assert len(Simulator(m).run(0.0)) == 1


def test_live_mechanisms_and_batches_keep_it_too() -> None:
    m = scenes.pendulum(5, angle=pi / 2)
    simulator = Simulator(m, 0.02, accuracy=1e-4)
    run = simulator.run(1.0)
    live = simulator.start()
    live.step(50)
    np.testing.assert_array_equal(live.position, run.position[-1])
    assert live.error == pytest.approx(run.error.sum(), rel=1e-12)
    batch = simulator.run_batch(2, 1.0)
    np.testing.assert_array_equal(batch.position[1], run.position)
    found = Simulator(m).start_batch(2)
    found.step(3)
    assert found.time[0] > 0


def test_equal_steps_would_be_worse() -> None:
    """At the same dt, ten starts: what is halved now and then is ten times better in the middle."""
    equal, halved = [], []
    for k in range(10):
        m = scenes.pendulum(10, angle=pi / 2)
        state = m.state()
        state.joint("joint1").rates = (0.01 * k,)
        for errors, how in ((equal, {"on_coarse": "ignore"}), (halved, {"accuracy": 1e-4})):
            errors.append(Simulator(m, 0.01, order=4, **how).run(6.0, state=state).energy_error().max())
    assert np.median(halved) < 1e-3
    assert np.median(halved) < 0.1 * np.median(equal)


def test_an_accuracy_out_of_reach_is_said() -> None:
    """A step of 20 s cannot be cut into pieces that are short enough."""
    m = scenes.pendulum(10, angle=pi / 2)
    with pytest.warns(ct.AccuracyWarning, match=r"the accuracy was not reached: \d+ pieces"):
        Simulator(m, 20.0, accuracy=1e-12, order=4).run(steps=1)


@pytest.mark.parametrize(
    ("how", "word"),
    [
        ({"accuracy": 0}, "between"),
        ({"accuracy": 1.0}, "between"),
        ({"accuracy": np.nan}, "between"),
        ({"accuracy": "1e-4"}, "between"),
        ({"accuracy": 1e-4, "order": 2}, "order 4, 6 or 8"),
        ({"accuracy": 1e-4, "rescue": False}, "order 4, 6 or 8"),
    ],
)
def test_what_cannot_be_is_refused(how: dict[str, object], word: str) -> None:
    with pytest.raises(ValueError, match=word):
        Simulator(scenes.pendulum(2), **how)


def test_scenes_are_all_that_move_by_themselves() -> None:
    """A new scene belongs into this file, unless it needs forces to be of interest."""
    known = {"andrews_squeezer", "catenary_chain", "flyball_governor", "humanoid", "ladder", "minitaur", "n_four_bar",
             "net", "quadruped", "standing_leg", "strandbeest"}  # fmt: skip
    every = {name for name, item in vars(scenes).items() if inspect.isfunction(item) and not name.startswith("_")}
    here = {name.replace("-", "_").replace(" ", "_") for name in BUILD} | {"pendulum"}
    assert every - known - here == set()
