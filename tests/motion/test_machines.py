"""Two published machines against their reference values: the stiff flyball governor, Andrews' squeezing mechanism."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from catena import Mechanism, SimulationError, Simulator, Trajectory, scenes
from catena.results import analysis
from catena.validate.case import reference
from catena.validate.cases.a03_andrews_squeezer import coordinates


def order_of(errors: list[float]) -> float:
    """Of two errors, the second at half the step."""
    return float(np.log2(errors[0] / errors[1]))


# ---- the flyball governor

GOVERNORS = {case["name"]: case for case in reference("flyball_governor")["cases"]}

# largest error of the slider's height in 10 s at 1 ms, with springs at the nodes and implicit; measured, and doubled
HEIGHT = {"iftomm": (5e-5, 5e-5), "exudyn_softened": (4e-5, 4e-5), "undamped_soft": (2.5e-4, 5e-4)}
every_governor = pytest.mark.parametrize("case", GOVERNORS)


def governor(case: str, *, implicit: bool = True) -> Mechanism:
    given = GOVERNORS[case]
    return scenes.flyball_governor(stiffness=given["K"], damping=given["C"], rate=given["omega0"], implicit=implicit)


def governor_errors(run: Trajectory, case: str) -> dict[str, float]:
    """Largest errors over the rows of the reference."""
    t, phi, beta, s, s_dot = np.array(GOVERNORS[case]["trajectory"]).T
    part = run[:: round((t[1] - t[0]) / run.dt)]
    np.testing.assert_allclose(part.time, t, atol=1e-9)

    # both rods start at 30 degrees, and turn the other way about the same axis
    below = [np.pi / 6 + sign * part.joint(f"hinge{k}").coordinates[:, 0] for k, sign in ((1, 1), (2, -1))]
    turned = np.unwrap(run.joint("bearing").coordinates[:, 0])[:: round((t[1] - t[0]) / run.dt)]
    return {
        "height": np.abs(part.body("slider").position[:, 2] - s).max(),
        "speed": np.abs(part.body("slider").velocity[:, 2] - s_dot).max(),
        "rods": np.abs(np.array(below) - beta).max(),
        "shaft": np.abs(turned - phi).max(),
    }


@every_governor
def test_governor_starts_as_the_reference(case: str) -> None:
    m = governor(case)
    start = Simulator(m, 1e-3).run(steps=0)
    given = GOVERNORS[case]

    # inertia, places and velocities at once: sums of a few roundings
    assert start.angular_momentum()[0, 2] == pytest.approx(given["angular_momentum_z"], rel=1e-14)

    # the reference leaves out the shaft's height
    assert start.energy()[0] == pytest.approx(given["energy_start_J"] + 0.3 * 9.81 * 0.5, rel=1e-14)
    for force in m.forces.values():
        assert analysis.measured(start, force.parts[0].measure)[0] == pytest.approx(0.5, abs=1e-15)
    assert m.report().freedom == 4


@every_governor
@pytest.mark.parametrize("implicit", [False, True])
def test_governor_keeps_to_the_reference(case: str, implicit: bool) -> None:
    errors = []
    for dt in (2e-3, 1e-3):
        run = Simulator(governor(case, implicit=implicit), dt).run(10.0)
        assert run.halved_count == 0
        errors.append(governor_errors(run, case))
    for what in errors[0]:
        assert order_of([error[what] for error in errors]) == pytest.approx(2, abs=0.05), what
    assert errors[1]["height"] < HEIGHT[case][implicit] < 1e-3

    # nothing acts about the shaft: rounding and Newton's last increments, below 1e-12 in 10000 steps
    spin = run.angular_momentum()[:, 2]
    np.testing.assert_allclose(spin, GOVERNORS[case]["angular_momentum_z"], rtol=1e-11)
    assert run.drift().max() < 1e-15


@every_governor
def test_governor_loses_what_the_dampers_take(case: str) -> None:
    given = GOVERNORS[case]
    lost = given["energy_start_J"] - given["energy_end_J"]
    errors = []
    for dt in (2e-3, 1e-3):
        run = Simulator(governor(case), dt).run(10.0)
        errors.append(abs(run.energy()[0] - run.energy()[-1] - lost))
    assert order_of(errors) == pytest.approx(2, abs=0.1)

    # 237 J in all, of which the stiff dampers take 3 mJ: measured, and doubled
    assert errors[1] < 3e-4


@pytest.mark.parametrize("case", ["exudyn_softened", "undamped_soft"])
def test_governor_at_order_four(case: str) -> None:
    errors = [governor_errors(Simulator(governor(case), dt, order=4).run(10.0), case) for dt in (2e-3, 1e-3)]

    # order 4 down to the rounding of 10000 steps
    for what in errors[0]:
        assert order_of([error[what] for error in errors]) == pytest.approx(4, abs=0.2), what
    assert errors[1]["height"] < {"exudyn_softened": 2e-11, "undamped_soft": 4e-9}[case]


@every_governor
@pytest.mark.parametrize("accuracy", [1e-3, 1e-5])
def test_governor_keeps_an_accuracy(case: str, accuracy: float) -> None:
    """Judged by the reference, not by another run; dampers take plain steps, many only where the motion is fast."""
    m = governor(case)
    simulator = Simulator(m, 0.2, accuracy=accuracy)
    run = simulator.run(10.0)
    errors = governor_errors(run, case)
    off = max(errors["height"] / simulator.plan.extent, errors["rods"], errors["shaft"])
    assert off <= accuracy
    assert run.checked_error is not None
    assert 1 / 30 < run.checked_error / off < 30
    assert run.warnings == ()
    if case == "exudyn_softened":
        # the rods swing twice a second: as many substeps everywhere as where they are fastest would be twice as many
        assert run.substeps.sum() < 0.6 * len(run.substeps) * run.substeps.max()


def test_implicit_springs_bear_a_longer_step() -> None:
    """At 10 ms springs at the nodes are unstable, as 400 rad/s times dt exceeds 2; implicit ones are not."""
    run = Simulator(governor("iftomm"), 0.01).run(10.0)
    assert run.halved_count == 0

    # 100 times the error of 1 ms
    assert governor_errors(run, "iftomm")["height"] < 5e-3
    with pytest.raises(SimulationError, match=r"is too stiff for dt = 0.01 s at t = 0 s: it oscillates with w dt = 4"):
        Simulator(governor("iftomm", implicit=False), 0.01).run(10.0)


@pytest.mark.parametrize("solver", ["ldu", "dense"])
def test_solvers_agree_on_the_governor(solver: str) -> None:
    runs = [Simulator(governor("iftomm"), 1e-3, solver=s, tolerance=1e-12).run(2.0) for s in ("articulated", solver)]

    # Newton's last increments, which the stiff dampers do not let grow
    np.testing.assert_allclose(runs[1].position, runs[0].position, rtol=0, atol=1e-11)
    np.testing.assert_allclose(runs[1].velocity, runs[0].velocity, rtol=0, atol=1e-10)


# ---- Andrews' squeezing mechanism

ANDREWS = reference("andrews_squeezer")
END = 0.03
TORQUE = 0.033


@cache
def squeeze(dt: float, order: int = 2, solver: str = "auto") -> Trajectory:
    return Simulator(scenes.andrews_squeezer(), dt, order=order, solver=solver).run(END)


def end_errors(dt: float, order: int = 2, against: str = "computed_t_0.03") -> tuple[float, float]:
    q, rates = coordinates(squeeze(dt, order))
    return np.abs(q[-1] - ANDREWS[against]["q"]).max(), np.abs(rates[-1] - ANDREWS[against]["qdot"]).max()


def test_squeezer_starts_as_published() -> None:
    m = scenes.andrews_squeezer()
    q, rates = coordinates(Simulator(m, 1e-5).run(steps=0))
    np.testing.assert_allclose(q[0], ANDREWS["initial"]["q"], atol=1e-15)
    np.testing.assert_allclose(rates[0], 0.0, atol=1e-14)
    report = m.report()
    assert (report.freedom, report.redundant_count, len(report.loops)) == (1, 9, 3)


def test_squeezer_reaches_the_published_end() -> None:
    coarse, fine = (end_errors(dt, against="reference_t_0.03_published") for dt in (2e-5, 1e-5))

    # the crank turns by 1140 rad/s, so the error of 2.0e-4 rad and 0.080 rad/s at 10 us is a lag of 0.18 us; doubled.
    # The published digits end at 1e-9 rad and 5e-7 rad/s, far below
    assert fine[0] < 4e-4
    assert fine[1] < 0.16
    for errors in zip(coarse, fine, strict=True):
        # the next term is smaller by (w dt)^2 = 1e-4
        assert order_of(list(errors)) == pytest.approx(2, abs=0.01)

    # what is left after that term is taken out
    ends = [coordinates(squeeze(dt))[0][-1] for dt in (2e-5, 1e-5)]
    extrapolated = (4 * ends[1] - ends[0]) / 3
    np.testing.assert_allclose(extrapolated, ANDREWS["reference_t_0.03_published"]["q"], rtol=0, atol=1e-7)


def test_squeezer_keeps_to_the_reference_on_its_way() -> None:
    table = np.array(ANDREWS["trajectory"])
    run = squeeze(1e-5)
    nodes = np.rint(table[:, 0] / run.dt).astype(int)
    q, rates = coordinates(run)

    # as at the end, where the error is largest
    np.testing.assert_allclose(q[nodes], table[:, 1:8], rtol=0, atol=4e-4)
    np.testing.assert_allclose(rates[nodes], table[:, 8:], rtol=0, atol=0.16)
    assert q[-1, 0] - q[0, 0] > 5 * np.pi
    assert run.halved_count == 0
    assert run.drift().max() < 1e-15
    assert run.misalignment().max() < 1e-14

    # the motor's work, up to 0.5 J, is all the energy there is; measured 3e-5 J, doubled
    spent = TORQUE * (q[:, 0] - q[0, 0])
    np.testing.assert_allclose(run.energy() - run.energy()[0], spent, rtol=0, atol=6e-5)


@pytest.mark.parametrize(("order", "steps", "bound"), [(4, (4e-5, 2e-5), 2e-8), (6, (8e-5, 4e-5), 3e-10)])
def test_squeezer_at_higher_orders(order: int, steps: tuple[float, float], bound: float) -> None:
    errors = [end_errors(dt, order) for dt in steps]
    assert order_of([error[0] for error in errors]) == pytest.approx(order, abs=0.15)

    # measured, and doubled
    assert errors[1][0] < bound


def test_squeezer_tells_the_reference_from_the_published_digits() -> None:
    """At order 6 the published end is met to its own error, 1.4e-9 rad; the computed one to a hundredth of that."""
    assert end_errors(2e-5, 6, "reference_t_0.03_published")[0] < 2e-9
    assert end_errors(2e-5, 6)[0] < 5e-11


def test_squeezer_feels_the_published_forces() -> None:
    """What the ends at E exert on each other, the published multipliers, though nine of the 50 rows are redundant."""
    errors = []
    for dt in (2e-5, 1e-5):
        run = squeeze(dt)
        first, last = (np.concatenate([run.joint(f"E{k}").force[n, 1:] for k in (3, 4, 6)]) for n in (0, -1))
        errors.append(np.abs(last - ANDREWS["computed_t_0.03"]["lambda"]).max())

        # of 99 N, measured 3e-6 N at 20 us, doubled
        np.testing.assert_allclose(first, ANDREWS["initial"]["lambda_published"], rtol=0, atol=6e-6)
    assert order_of(errors) == pytest.approx(2, abs=0.05)

    # of 200 N, measured 0.017 N, doubled
    assert errors[1] < 0.034


@pytest.mark.parametrize("solver", ["ldu", "dense"])
def test_solvers_agree_on_the_squeezer(solver: str) -> None:
    one, other = squeeze(2e-5, solver="articulated"), squeeze(2e-5, solver=solver)

    # 1500 steps, each solved to 1e-10 rad/s of 1400; positions are a few centimetres
    for name, atol in (("position", 1e-14), ("orientation", 1e-12), ("velocity", 2e-11), ("angular_velocity", 1e-9)):
        np.testing.assert_allclose(getattr(one, name), getattr(other, name), rtol=0, atol=atol, err_msg=name)
