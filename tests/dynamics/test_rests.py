"""Poses at rest, vibrations about them, and linear models."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import catena as ct
import mechanisms
from catena import Mechanism, scenes


def masses_on_springs(count: int = 5) -> Mechanism:
    m = Mechanism(gravity=(0, 0, 0))
    last = "world"
    for k in range(count):
        m.add_body(f"m{k}", ct.box((0.1, 0.1, 0.1), mass=2.0), position=(k + 1.0, 0, 0))
        m.add_joint(ct.Prismatic(last, f"m{k}", axis=(1, 0, 0), at=(k, 0, 0), name=f"slide{k}"))
        m.add_force(ct.Spring(f"slide{k}", 50.0, damping=0.3))
        last = f"m{k}"
    return m


def test_a_chain_of_springs() -> None:
    """Fixed at one end and free at the other: 2 sqrt(k/m) sin((2 j - 1) pi / (2 (2 n + 1)))."""
    m = masses_on_springs()
    modes = ct.Dynamics(m).modes(m.state())
    j = np.arange(1, 6)
    own = 2 * np.sqrt(50.0 / 2.0) * np.sin((2 * j - 1) * np.pi / 22)
    assert 2 * np.pi * modes.frequencies == pytest.approx(own, rel=1e-10)
    # damping in proportion to stiffness
    assert modes.damping == pytest.approx(own * 0.3 / (2 * 50.0), rel=1e-9)
    assert np.sort(np.abs(modes.poles))[::2] == pytest.approx(np.sort(own), rel=1e-8)
    assert modes.is_stable
    assert "Hz" in repr(modes)


def test_hanging_rods() -> None:
    """The frequencies of three hanging boxes, from their closed form in tests of motion."""
    m = scenes.pendulum(3, "revolute", angle=0.0)
    modes = ct.Dynamics(m).modes(m.state())
    reference = (2.180713793396661, 5.4152764593241, 10.212986801866224)
    assert 2 * np.pi * modes.frequencies == pytest.approx(reference, rel=1e-9)


def test_a_small_swing_has_the_frequency() -> None:
    """Of a loop on a spring: what a run of a small displacement does."""
    m = mechanisms.crank_rocker()
    m.add_force(ct.Spring("crank", 30.0, rest_length=0.3))
    rest = m.equilibrium()
    modes = ct.Dynamics(m).modes(rest)
    start = m.assemble(rest, coordinates={"crank": rest.joint("crank").coordinates[0] + 1e-4})
    run = ct.Simulator(m, 1e-3, order=4, on_inaccurate="ignore").run(5.0, state=start)
    swing = run.joint("crank").coordinates[:, 0] - rest.joint("crank").coordinates[0]
    ups = np.flatnonzero((swing[:-1] < 0) & (swing[1:] >= 0))
    crossings = run.time[ups] + 1e-3 * swing[ups] / (swing[ups] - swing[ups + 1])
    measured = (len(crossings) - 1) / (crossings[-1] - crossings[0])
    assert modes.frequencies == pytest.approx([measured], rel=1e-4)


@pytest.mark.parametrize("angle", [0.3, 2.0, 3.0])
def test_a_chain_comes_to_hang(angle: float) -> None:
    m = scenes.pendulum(4, "revolute", angle=angle)
    rest = m.equilibrium()
    assert (ct.Simulator(m, 0.01).run(2.0, state=rest).position - rest.position) == pytest.approx(0, abs=1e-9)
    assert rest.position[:, 2].sum() < m.state().position[:, 2].sum()
    assert ct.Dynamics(m).modes(rest).is_stable


def test_loops_come_to_rest() -> None:
    """The four-bar, on whose way the crank has an inflection, and a redundant one; they stay where they are."""
    for make in (scenes.four_bar, mechanisms.crank_rocker):
        m = make()
        rest = m.equilibrium()
        run = ct.Simulator(m, 0.01).run(1.0, state=rest)
        assert np.abs(run.position - rest.position).max() < 1e-8


def test_a_crank_hangs_at_its_dead_center() -> None:
    """Where the slide stands still, whichever coordinate is asked for: M and K from the geometry."""
    crank, rod, masses, width = 0.3, 0.7, (0.5, 0.8, 1.1), 0.02
    m, y = Mechanism(), (0, 1, 0)
    m.add_body("crank", ct.box((width, width, crank), mass=masses[0]), position=(0, 0, -crank / 2))
    m.add_body("rod", ct.box((width, width, rod), mass=masses[1]), position=(0, 0, -crank - rod / 2))
    m.add_body("slide", ct.box((0.1, 0.1, 0.1), mass=masses[2]), position=(0, 0, -crank - rod))
    for a, b, z in (("world", "crank", 0.0), ("crank", "rod", -crank), ("rod", "slide", -crank - rod)):
        m.add_joint(ct.Revolute(a, b, axis=y, at=(0, 0, z), name=f"{b} pin"))
    m.add_joint(ct.Prismatic("world", "slide", axis=(0, 0, 1), at=(0, 0, -crank - rod), name="bore"))
    for angle in (1.2, 2.9, 0.0):
        rest = m.equilibrium(m.assemble(coordinates={"crank pin": angle}))
        assert rest.position == pytest.approx(m.state().position, abs=1e-9)
        inertia = (masses[0] + masses[1]) * crank**2 / 4
        inertia += (masses[0] * (crank**2 + width**2) + masses[1] * (rod**2 + width**2) * (crank / rod) ** 2) / 12
        stiffness = masses[0] / 2 + masses[1] * (1 + crank / rod / 2) + masses[2] * (1 + crank / rod)
        own = np.sqrt(9.81 * crank * stiffness / inertia)
        modes = ct.Dynamics(m).modes(rest)
        assert 2 * np.pi * modes.frequencies == pytest.approx([own], rel=1e-8)
        assert modes.shapes[0][list(modes.names).index("bore.displacement")] == pytest.approx(0, abs=1e-8)


def test_a_pose_upright_is_at_rest_but_not_stable() -> None:
    m = scenes.pendulum(1, "revolute", angle=np.pi)
    with pytest.warns(ct.EquilibriumWarning, match="not stable"):
        rest = m.equilibrium()
    assert not ct.Dynamics(m).modes(rest).is_stable


def test_a_joint_can_be_held() -> None:
    m = scenes.pendulum(3, "revolute", angle=0.5)
    rest = m.equilibrium(hold=["joint1"])
    assert rest.joint("joint1").coordinates == pytest.approx(m.state().joint("joint1").coordinates, abs=1e-12)
    with pytest.raises(ValueError, match="hold"):
        m.equilibrium(hold=["elbow"])


def test_what_falls_has_no_rest() -> None:
    m = Mechanism()
    m.add_body("stone", ct.box((0.1, 0.1, 0.1), mass=1.0))
    with pytest.raises(ValueError, match=r"no pose at rest.*stone\.vz"):
        m.equilibrium()
    with pytest.raises(ValueError, match="not at rest"):
        ct.Dynamics(m).modes(m.state())


def test_linear_models_predict_runs() -> None:
    """Of an arm that its motors hold: runs from a little aside, and with an effort more, by the exponential of A."""
    m = mechanisms.arm()
    state, d = m.state(), ct.Dynamics(m)
    sim = ct.Simulator(m, 1e-3, order=4, on_inaccurate="ignore", tolerance=1e-13)
    held = sim.start()
    held.inputs[:] = d.gravity(state)
    model = d.linearize(held)
    assert (model.A.shape, model.B.shape) == ((6, 6), (6, 3))
    assert [matrix.shape for matrix in model.matrices] == [(6, 6), (6, 3), (6, 6), (6, 3)]
    duration, eps = 0.5, 1e-6
    # the exponential of A and of B's integral, by its series
    block = np.zeros((9, 9))
    block[:6, :6], block[:6, 6:] = model.A * duration, model.B * duration
    power = total = np.eye(9)
    for k in range(1, 60):
        power = power @ block / k
        total = total + power

    def end(aside: np.ndarray) -> np.ndarray:
        start = state.copy()
        start.coordinates = state.coordinates + aside[:3]
        start.rates = state.rates + aside[3:6]
        live = sim.start(start)
        live.inputs[:] = held.inputs + aside[6:]
        live.step(round(duration / 1e-3))
        return np.concatenate((live.coordinates, live.rates))

    for k in range(9):
        aside = eps * np.eye(9)[k]
        found = (end(aside) - end(-aside)) / (2 * eps)
        # what dampers cost at a dt of 1 ms, second order, and rounding over eps
        assert found == pytest.approx(total[:6, k], abs=2e-5 * np.abs(total[:6, k]).max())


def test_poles_are_those_of_the_modes() -> None:
    hanging = scenes.pendulum(2, "revolute", angle=0.0)
    d, state = ct.Dynamics(hanging), hanging.state()
    poles = np.linalg.eigvals(d.linearize(state).A)
    assert np.sort(np.abs(poles.imag))[::2] == pytest.approx(np.sort(2 * np.pi * d.modes(state).frequencies), rel=1e-9)


def test_a_cart_pole_has_the_model_of_textbooks() -> None:
    """Upright, q = (M + m)(I + m l^2) - (m l)^2: the pole falls with (M + m) m g l / q, the cart with (m l)^2 g / q."""
    m = Mechanism()
    m.add_body("cart", ct.box((0.4, 0.2, 0.1), mass=2.0))
    m.add_body("pole", ct.box((0.05, 0.05, 1.0), mass=0.7), position=(0, 0, 0.5))
    m.add_joint(ct.Prismatic("world", "cart", axis=(1, 0, 0), at=(0, 0, 0), name="rail"))
    m.add_joint(ct.Revolute("cart", "pole", axis=(0, 1, 0), at=(0, 0, 0), name="hinge"))
    m.add_force(ct.Motor("rail", 0.0, name="push"))
    model = ct.Dynamics(m).linearize(m.state())
    cart, pole, half, own = 2.0, 0.7, 0.5, 0.7 * (1.0 + 0.05**2) / 12
    q = (cart + pole) * (own + pole * half**2) - (pole * half) ** 2
    falls, moves = (cart + pole) * pole * 9.81 * half / q, -((pole * half) ** 2) * 9.81 / q
    expected = np.array(((0, 0, 1, 0), (0, 0, 0, 1), (0, moves, 0, 0), (0, falls, 0, 0)))
    assert pytest.approx(expected, abs=1e-9 * falls) == model.A
    assert model.B[:, 0] == pytest.approx([0, 0, (own + pole * half**2) / q, -pole * half / q], abs=1e-10)
    assert model.states == ("rail.displacement", "hinge.angle", "rail.displacement rate", "hinge.angle rate")


def test_a_mode_swings() -> None:
    """Its motion is its shape, and no joint of it opens by more than the square of the swing."""
    m = masses_on_springs()
    modes = ct.Dynamics(m).modes(m.state())
    run = modes.motion(1, amplitude=0.05)
    assert run.time[-1] == pytest.approx(2.0)
    largest = np.abs(run.coordinates - m.state().coordinates).max(axis=0)
    assert largest == pytest.approx(0.05 * np.abs(modes.shapes[1]), abs=1e-3 * np.abs(modes.shapes[1]).max())
    hanging = scenes.pendulum(3, "revolute", angle=0.0)
    swing = ct.Dynamics(hanging).modes(hanging.state()).motion(2)
    assert 0 < max(np.abs(swing.joint(name).gap).max() for name in hanging.joints) < 0.15**2 * 2
    with pytest.raises(ValueError, match=r"no mode 5: there are 5, from 0 to 4"):
        modes.motion(5)


def test_a_mode_as_a_page(tmp_path: Path) -> None:
    m = masses_on_springs(2)
    page = ct.Dynamics(m).modes(m.state()).save_html(0, tmp_path / "mode")
    assert page.name == "index.html"
    assert page.stat().st_size > 10_000


def test_modes_as_a_table() -> None:
    pytest.importorskip("pandas")
    m = masses_on_springs(3)
    modes = ct.Dynamics(m).modes(m.state())
    table = modes.to_dataframe()
    assert list(table.columns) == ["frequency", "damping", *m.coordinates]
    assert table["frequency"].to_numpy() == pytest.approx(modes.frequencies)
    assert table[m.coordinates[2]].to_numpy() == pytest.approx(modes.shapes[:, 2])


def test_linear_models_are_taken_by_toolboxes() -> None:
    signal = pytest.importorskip("scipy.signal")
    m = mechanisms.slider()
    model = ct.Dynamics(m).linearize(m.state())
    system = signal.StateSpace(*model.matrices)
    assert np.asarray(system.A) == pytest.approx(model.A)
    # held over a step of the simulator, what it predicts of a small push is what a step does
    discrete = system.to_discrete(1e-3)
    assert np.abs(np.linalg.eigvals(discrete.A)) == pytest.approx(1.0, abs=1e-9)


def test_python_control_takes_linear_models() -> None:
    """With names of states, inputs and outputs; its poles are those of A, its regulator holds the pole upright."""
    control = pytest.importorskip("control")
    m = scenes.cart_pole()
    m.add_force(ct.Motor("rail", 0.0, name="push"))
    model = ct.Dynamics(m).linearize(m.state())
    # which takes no dots in names
    states = [name.replace(".", " ") for name in model.states]
    system = control.ss(*model.matrices, states=states, inputs=list(model.inputs), outputs=states)
    assert system.nstates == 4
    assert np.sort(system.poles().real) == pytest.approx(np.sort(np.linalg.eigvals(model.A).real), abs=1e-9)
    gain, _, poles = control.lqr(system, np.eye(4), np.eye(1))
    assert (poles.real < 0).all()
    start = m.state()
    start.coordinates = (0.0, 0.2)
    live = ct.Simulator(m, 0.005).start(start)
    for _ in range(3000):
        live.inputs[:] = -gain @ np.concatenate((live.coordinates, live.rates))
        live.step()
    assert np.abs(live.coordinates).max() < 1e-3
