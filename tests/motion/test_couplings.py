"""Gears, racks, differentials, mimics and drives between joints: exact, without slip in momentum, on known motions."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from catena import (
    AssemblyError,
    Ball,
    Coupling,
    Cylindrical,
    Damper,
    Differential,
    Gear,
    Inertia,
    Mechanism,
    Mimic,
    Motor,
    Planar,
    PrescribedMotion,
    Prismatic,
    Rack,
    Revolute,
    Screw,
    SimulationError,
    Simulator,
    Spring,
    State,
    Universal,
    scenes,
)
from catena._util import rotation as rot
from catena.results import analysis
from laws import SOLVERS, assert_same, simulate
from newton_matrix import linearize, moved

# steps are coarse on purpose
pytestmark = pytest.mark.filterwarnings("ignore::catena.AccuracyWarning")


def lump(mass: float = 1.0) -> Inertia:
    turn = rot.to_matrix(rot.normalised(np.array((1.0, 0.4, -0.3, 0.2))))
    return Inertia(mass, turn @ np.diag((0.1, 0.14, 0.2)) @ turn.T)


def wheel(inertia: float, mass: float = 1.0) -> Inertia:
    """A rotor whose axis is z."""
    return Inertia(mass, np.diag((0.6, 0.6, 1.0)) * inertia)


def distance(state: State, other: State) -> float:
    turn = rot.rotation_vector(rot.multiply(rot.conjugate(other.orientation), state.orientation))
    pairs = (state.position - other.position, turn, state.velocity - other.velocity)
    return max(float(np.abs(d).max()) for d in (*pairs, state.angular_velocity - other.angular_velocity))


# ---- a base that flies freely, with three parts on joints of every kind that has a coordinate

JOINTS: dict[str, Callable[[str, np.ndarray, np.ndarray], object]] = {
    "revolute": lambda part, axis, at: Revolute("base", part, axis=axis, at=at, name=part),
    "prismatic": lambda part, axis, at: Prismatic("base", part, axis=axis, at=at, name=part),
    "cylindrical": lambda part, axis, at: Cylindrical("base", part, axis=axis, at=at, name=part),
    "planar": lambda part, axis, at: Planar("base", part, axis=axis, at=at, name=part),
    "screw": lambda part, axis, at: Screw("base", part, axis=axis, at=at, pitch=0.5, name=part),
    "universal": lambda part, axis, at: Universal(part, "base", axes=(axis, across(axis)), at=at, name=part),
}


def across(axis: np.ndarray) -> np.ndarray:
    return rot.normalised(np.cross(axis, (0.3, 1.0, 0.1)))


def coordinate(part: str, kind: str, what: str | None) -> object:
    return (part, what) if what else part


# kinds and coordinates of the three parts, and the coupling between them
Scene = tuple[tuple[str, str | None], tuple[str, str | None], tuple[str, str | None]]
SCENES: dict[str, tuple[Scene, Callable[..., Coupling]]] = {
    "gear": ((("revolute", None), ("revolute", None), ("revolute", None)), lambda a, b, c: Gear(a, b, -2.5)),
    "rack": ((("revolute", None), ("prismatic", None), ("ball", None)), lambda a, b, c: Rack(a, b, 0.3)),
    "differential": (
        (("revolute", None), ("revolute", None), ("revolute", None)),
        lambda a, b, c: Differential(a, b, c, balance=0.4),
    ),
    "mimic": (
        (("prismatic", None), ("cylindrical", "displacement"), ("ball", None)),
        lambda a, b, c: Mimic(a, b, factor=-0.7, offset=0.05),
    ),
    "cylinder and nut": (
        (("cylindrical", "angle"), ("screw", None), ("ball", None)),
        lambda a, b, c: Gear(a, b, 1.5, offset=0.2),
    ),
    "planar and universal": (
        (("planar", "x"), ("planar", "y"), ("universal", "first")),
        lambda a, b, c: Coupling([(a, 1.0), (b, -0.6), (c, 0.3)], name="sum"),
    ),
    "second of universal": (
        (("universal", "second"), ("universal", "first"), ("planar", "angle")),
        lambda a, b, c: Coupling([(a, 1.0), (b, -0.6), (c, 0.3)], name="sum"),
    ),
    "six terms": (
        (("planar", "x"), ("cylindrical", "angle"), ("universal", "first")),
        lambda a, b, c: Coupling(
            [(a, 1.0), (b, -0.6), (c, 0.3), ((a[0], "y"), 0.4), ((b[0], "displacement"), 2.0), ((c[0], "second"), 0.5)]
        ),
    ),
    "one joint": (
        (("cylindrical", "angle"), ("ball", None), ("ball", None)),
        lambda a, b, c: Coupling([((a[0], "displacement"), 1.0), (a, -0.15)]),
    ),
}
every_scene = pytest.mark.parametrize("name", SCENES)


def floating(name: str, *, forces: str = "", grounded: bool = False) -> State:
    kinds, make = SCENES[name]
    rng = np.random.default_rng(sorted(SCENES).index(name))
    m = Mechanism(gravity=(0, 0, -3.0 if grounded else 0))
    m.add_body("base", lump(2.0), orientation=rot.normalised(rng.normal(size=4)))
    if grounded:
        m.add_joint(Ball("world", "base", at=(0.1, 0.3, 0.4), name="pivot"))
    for k, (kind, _) in enumerate(kinds):
        part = f"part{k}"
        at = rng.normal(scale=0.5, size=3)
        pose = {"position": at + rng.normal(scale=0.2, size=3), "orientation": rot.normalised(rng.normal(size=4))}
        m.add_body(part, lump(0.5 + 0.3 * k), **pose)
        axis = rot.normalised(rng.normal(size=3))
        m.add_joint(Ball("base", part, at=at, name=part) if kind == "ball" else JOINTS[kind](part, axis, at))
    coupling = m.add_coupling(make(*(coordinate(f"part{k}", *kind) for k, kind in enumerate(kinds))))
    first, second = coupling.terms[0].measure, coupling.terms[-1].measure
    on = [{"joint": t.joint, "coordinate": m.joints[t.joint].names[t.index]} for t in (first, second)]
    if "motor" in forces:
        m.add_force(Motor(effort=0.4, **on[0]))
    if "spring" in forces:
        m.add_force(Spring(stiffness=3.0, rest_length=0.3, **on[1]))
    if "damper" in forces:
        m.add_force(Damper(damping=0.2, **on[0]))
    state = m.state()
    for part, joint in m.joints.items():
        state.joint(part).rates = rng.normal(scale=0.5, size=joint.dof)
    state.velocity += (0.3, -0.2, 0.1)
    return m.assemble(state)


@every_scene
def test_solvers_agree(name: str) -> None:
    state = floating(name, forces="motor spring damper", grounded=True)
    run = simulate(state, "articulated")
    for solver in SOLVERS[1:]:
        other = simulate(state, solver)
        assert_same(other, run)
        np.testing.assert_allclose(other.multipliers, run.multipliers, rtol=0, atol=1e-7)
    assert np.abs(run.coupling(next(iter(state.mechanism.couplings))).effort).max() > 0.01


@every_scene
def test_momentum_is_kept_and_nothing_opens(name: str) -> None:
    state = floating(name, forces="motor spring damper")
    run = simulate(state, steps=1000)
    for momentum in (run.momentum(), run.angular_momentum()):
        assert np.linalg.norm(momentum[0]) > 0.1
        # momenta of about 1: rounding of a thousand steps
        np.testing.assert_allclose(momentum, momentum[:1].repeat(len(run), 0), rtol=0, atol=1e-11)
    history = run.coupling(next(iter(state.mechanism.couplings)))
    assert np.abs(history.gap).max() <= 1e-12
    assert run.drift().max() <= 1e-12
    assert np.abs(history.effort).max() > 0.01, "the coupling has something to do"


@every_scene
def test_rates_at_the_nodes_obey(name: str) -> None:
    run = simulate(floating(name, forces="motor"), steps=50)
    coupling = next(iter(run.mechanism.couplings.values()))
    rate = sum(t.coefficient * run.joint(t.measure.joint).rates[:, t.measure.index] for t in coupling.terms)
    np.testing.assert_allclose(rate, 0, atol=1e-12)


@every_scene
def test_energy_stays_in_a_band_of_second_order(name: str) -> None:
    state = floating(name, forces="spring", grounded=True)
    bands = []
    for dt in (0.01, 0.005):
        run = simulate(state, dt=dt, steps=int(4 / dt))
        error = run.energy() - run.energy()[0]
        half = len(error) // 2
        bands.append(np.abs(error).max())
        assert np.ptp(run.kinetic_energy()) > 0.02
        # no drift: the second half is no worse than the first
        assert np.abs(error[half:]).max() < 2.5 * np.abs(error[:half]).max()
    assert bands[1] < 0.35 * bands[0]


@pytest.mark.parametrize("order", [2, 4, 6])
@pytest.mark.parametrize("name", ["gear", "rack", "second of universal", "six terms"])
def test_order(name: str, order: int) -> None:
    state = floating(name, forces="spring", grounded=True)
    steps = {2: (0.02, 0.01), 4: (0.04, 0.02), 6: (0.08, 0.04)}[order]
    fine = Simulator(state.mechanism, 0.005, order=6, tolerance=1e-14).run(0.8, state=state)[-1]
    errors = []
    for dt in steps:
        run = Simulator(state.mechanism, dt, order=order, tolerance=1e-14).run(0.8, state=state)
        assert run.halved_count == 0
        assert np.abs(run.coupling(next(iter(state.mechanism.couplings))).gap).max() < 1e-12
        errors.append(distance(run[-1], fine))
    assert np.log2(errors[0] / errors[1]) > order - 0.35
    assert errors[1] > 1e-12, "above rounding"


@every_scene
def test_report_counts_one_freedom_less(name: str) -> None:
    state = floating(name)
    m = state.mechanism
    report = m.report()
    freedoms = 6 + sum(joint.dof for joint in m.joints.values())
    assert report.freedom == freedoms - 1
    assert report.redundant_count == 0
    assert report.row_count == sum(6 - joint.dof for joint in m.joints.values()) + 1


# ---- the rows against differences


@every_scene
def test_matrix_is_the_derivative_of_the_residual(name: str) -> None:
    """Where the joints are closed; elsewhere an angle's row is its axis, too."""
    state = floating(name)
    m = state.mechanism
    simulator = Simulator(m, 0.1)
    core, h = simulator.plan.core, 1e-5
    rng = np.random.default_rng(1)
    end = state.copy()
    for part, joint in m.joints.items():
        end.joint(part).coordinates = state.joint(part).coordinates + rng.uniform(-0.3, 0.3, joint.dof)
    z = np.zeros(core.unknown_count)
    for link, k in enumerate(core.link_bodies):
        z[6 * link : 6 * link + 3] = end.position[k] - state.position[k]
        turn = rot.multiply(end.orientation[k], rot.conjugate(state.orientation[k]))
        z[6 * link + 3 : 6 * link + 6] = np.sign(turn[0]) * turn[1:]
    z[6 * m.body_count :] = rng.normal(size=core.row_count)
    matrix = linearize(simulator, state, z)[1]
    differences = np.empty_like(matrix)
    for k in range(len(z)):
        after, before = (linearize(simulator, state, moved(z, m.body_count, k, s * h))[0] for s in (1, -1))
        differences[:, k] = (after - before) / (2 * h)
    # rows of loops and couplings are regularised against their multipliers
    matrix[6 * m.body_count :, 6 * m.body_count :] = 0
    np.testing.assert_allclose(matrix[-1], differences[-1], rtol=0, atol=3e-9)
    # and forces are the rows of the node
    rest = linearize(simulator, state, np.zeros_like(z))[1]
    np.testing.assert_allclose(matrix[: 6 * m.body_count, -1], -rest[-1, : 6 * m.body_count], rtol=0, atol=1e-13)
    assert np.abs(rest[-1]).max() > 0.1


# ---- motions that are known


def shafts(*inertias: float, speeds: tuple[float, ...] = ()) -> Mechanism:
    """Wheels on parallel shafts in the world, joints s0, s1, ..."""
    m = Mechanism(gravity=(0, 0, 0))
    for k, inertia in enumerate(inertias):
        spin = speeds[k] if speeds else 0.0
        m.add_body(f"w{k}", wheel(inertia), position=(k, 0, 0), angular_velocity=(0, 0, spin))
        m.add_joint(Revolute("world", f"w{k}", axis=(0, 0, 1), at=(k, 0, 0), name=f"s{k}"))
    return m


@pytest.mark.parametrize("ratio", [-3.0, 0.5, 1.0])
def test_geared_flywheels_under_a_motor(ratio: float) -> None:
    near, far, torque = 0.4, 0.2, 1.3
    m = shafts(near, far)
    m.add_coupling(Gear("s0", "s1", ratio, name="gear"))
    m.add_force(Motor("s0", torque))
    run = Simulator(m, 0.002).run(1.0)
    acceleration = torque / (near + ratio**2 * far)

    # a turn of a per step counts as sin a, so that errors are w^3 dt^2 / 6, w up to 4 rad/s
    np.testing.assert_allclose(run.joint("s0").rates[:, 0], acceleration * run.time, rtol=0, atol=5e-5)
    np.testing.assert_allclose(run.joint("s0").coordinates[:, 0], acceleration * run.time**2 / 2, rtol=0, atol=5e-5)
    np.testing.assert_allclose(run.coupling("gear").effort, far * ratio * acceleration, rtol=1e-4)
    np.testing.assert_allclose(run.coupling("gear").gap, 0, atol=1e-12)


def test_hundreds_of_turns() -> None:
    m = shafts(0.4, 0.2, speeds=(20.0, -50.0))
    m.add_coupling(Gear("s0", "s1", -2.5, name="gear"))
    run = Simulator(m, 0.01).run(100.0, record_every=10)
    assert run.joint("s1").coordinates[-1, 0] < -700 * 2 * np.pi

    # angles of 5000 rad are known to 1e-12
    assert np.abs(run.coupling("gear").gap).max() < 3e-12
    np.testing.assert_allclose(run.joint("s0").rates, 20, rtol=1e-10)


def test_rack_and_pinion() -> None:
    inertia, mass, radius, torque = 0.05, 2.0, 0.1, 0.3
    m = shafts(inertia)
    m.gravity = (0, -1.0, 0)
    m.add_body("bar", lump(mass), position=(0, 1, 0))
    m.add_joint(Prismatic("world", "bar", axis=(0, 1, 0), at=(0, 1, 0), name="slide"))
    m.add_coupling(Rack("s0", "slide", radius, name="rack"))
    m.add_force(Motor("s0", torque))
    assert m.report().freedom == 1
    run = Simulator(m, 0.002).run(1.0)
    acceleration = (torque - mass * radius) / (inertia + mass * radius**2)
    np.testing.assert_allclose(run.joint("s0").rates[:, 0], acceleration * run.time, rtol=0, atol=1e-5)
    np.testing.assert_allclose(run.joint("slide").rates[:, 0], radius * acceleration * run.time, rtol=0, atol=1e-6)

    # the tooth force lifts and accelerates the bar
    np.testing.assert_allclose(run.coupling("rack").effort, mass * (radius * acceleration + 1.0), rtol=1e-5)


@pytest.mark.parametrize("balance", [0.5, 0.3])
def test_differential_splits_torque_and_speed(balance: float) -> None:
    carrier, left, right, torque = 0.1, 0.3, 0.5, 2.0
    m = shafts(carrier, left, right)
    m.add_coupling(Differential("s0", "s1", "s2", balance=balance, name="axle"))
    m.add_force(Motor("s0", torque))
    m.add_force(Motor("s1", -0.2, name="drag"))
    run = Simulator(m, 0.002).run(0.5)
    w, rates = run.time, np.stack([run.joint(f"s{k}").rates[:, 0] for k in range(3)])

    # both outputs get their share f of the input's torque, whatever they carry
    f = (torque / carrier + balance * 0.2 / left) / (1 / carrier + balance**2 / left + (1 - balance) ** 2 / right)
    np.testing.assert_allclose(run.coupling("axle").effort, -f, rtol=1e-4)
    np.testing.assert_allclose(rates[1], (balance * f - 0.2) / left * w, rtol=0, atol=2e-5)
    np.testing.assert_allclose(rates[2], (1 - balance) * f / right * w, rtol=0, atol=2e-5)
    np.testing.assert_allclose(rates[0], balance * rates[1] + (1 - balance) * rates[2], rtol=0, atol=1e-12)
    assert m.report().freedom == 2


def test_planetary_set() -> None:
    """Sun, ring and carrier by one coupling of three terms; the ring is held by a drive, or let go."""
    sun, ring, carrier, torque = 0.1, 0.6, 0.4, 1.0
    teeth = (20, 60)
    total = sum(teeth)
    m = shafts(sun, ring, carrier)
    m.add_coupling(Coupling([("s0", teeth[0]), ("s1", teeth[1]), ("s2", -total)], name="planets"))
    m.add_force(Motor("s0", torque))
    free = Simulator(m, 0.002).run(0.5)

    # each gets its coefficient times the same effort: sum of coefficient x acceleration = 0
    effort = -torque * teeth[0] / sun / (teeth[0] ** 2 / sun + teeth[1] ** 2 / ring + total**2 / carrier)
    np.testing.assert_allclose(free.coupling("planets").effort, effort, rtol=1e-4)
    for k, (factor, inertia) in enumerate(((teeth[0], sun), (teeth[1], ring), (-total, carrier))):
        acceleration = ((torque if k == 0 else 0) + factor * effort) / inertia
        np.testing.assert_allclose(free.joint(f"s{k}").rates[:, 0], acceleration * free.time, rtol=0, atol=3e-5)

    m.add_coupling(PrescribedMotion("s1", lambda t: 0.0, name="brake"))
    held = Simulator(m, 0.002).run(0.5)
    ratio = teeth[0] / total
    acceleration = torque / (sun + ratio**2 * carrier)
    np.testing.assert_allclose(held.joint("s0").rates[:, 0], acceleration * held.time, rtol=0, atol=1e-4)
    np.testing.assert_allclose(held.joint("s2").rates[:, 0], ratio * acceleration * held.time, rtol=0, atol=3e-5)
    on_carrier = ratio * acceleration * carrier
    np.testing.assert_allclose(held.coupling("planets").effort, -on_carrier / total, rtol=1e-4)
    np.testing.assert_allclose(held.coupling("brake").effort, teeth[1] * on_carrier / total, rtol=1e-4)


def test_reflected_spring() -> None:
    """A spring on the far side of a gear is worth ratio^2 on the near side."""
    near, far, ratio, stiffness = 0.4, 0.2, 3.0, 5.0
    m = shafts(near, far)
    m.add_coupling(Gear("s0", "s1", ratio, name="gear"))
    m.add_force(Spring("s1", stiffness))
    start = m.assemble(coordinates={"s0": 0.2})
    w = np.sqrt(ratio**2 * stiffness / (near + ratio**2 * far))
    run = Simulator(m, 0.001).run(5.0, state=start)
    np.testing.assert_allclose(run.joint("s0").coordinates[:, 0], 0.2 * np.cos(w * run.time), rtol=0, atol=2e-5)


def test_mimic_keeps_its_offset() -> None:
    m = shafts(0.1, 0.2)
    m.add_coupling(Mimic("s0", "s1", factor=2.0, offset=0.5, name="mimic"))
    with pytest.raises(AssemblyError, match=r"mimic 'mimic' stays open by 0 m, 0.5 rad; mechanism.assemble\(\) may"):
        Simulator(m, 0.01).run(steps=1)
    state = m.assemble()
    assert state.joint("s1").angle == pytest.approx(2 * state.joint("s0").angle + 0.5, abs=1e-12)
    run = Simulator(m, 0.01).run(steps=10, state=state)
    np.testing.assert_allclose(run.coupling("mimic").gap, 0, atol=1e-13)


def test_gear_from_a_floating_part_to_the_ground() -> None:
    """What turns the flywheel in it turns its base back: its momentum stays, whatever the shaft in the world does."""
    m = shafts(0.1)
    m.add_body("base", lump(2.0), position=(5, 0, 0), velocity=(0.1, 0.2, 0), angular_velocity=(0.3, 0.2, 0.5))
    m.add_body("rotor", lump(), position=(5.3, 0.1, 0.2))
    m.add_joint(Revolute("base", "rotor", axis=(0.2, 0.3, 1), at=(5.3, 0, 0.1), name="joint"))
    m.add_coupling(Gear("joint", "s0", -2.0))
    m.add_force(Motor("s0", 0.7))
    state = m.assemble()
    runs = [simulate(state, solver, steps=500) for solver in SOLVERS]
    for other in runs[1:]:
        assert_same(other, runs[0])
    linear, spin = analysis.body_momenta(runs[0])
    total = linear[:, 1:].sum(axis=1)
    about = (spin + np.cross(runs[0].position, linear))[:, 1:].sum(axis=1)
    for momentum in (total, about):
        np.testing.assert_allclose(momentum, momentum[:1].repeat(501, 0), rtol=0, atol=1e-12)
    assert np.abs(runs[0].joint("joint").rates).max() > 1


# ---- loops


def geared_four_bar(*, closing: bool) -> Mechanism:
    """A four-bar whose crank, or whose loop-closing joint, drives a flywheel."""
    m = scenes.four_bar()
    loop = m.spanning_tree().loops[0].name
    tree = next(name for name in m.joints if name != loop and m.joints[name].a is m.world)
    m.add_body("flywheel", wheel(0.05), position=(0, 1, 0))
    m.add_joint(Revolute("world", "flywheel", axis=(0, 0, 1), at=(0, 1, 0), name="shaft"))
    m.add_coupling(Gear(loop if closing else tree, "shaft", -2.0, name="gear"))
    return m


@pytest.mark.parametrize("closing", [False, True])
def test_in_loops(closing: bool) -> None:
    m = geared_four_bar(closing=closing)
    plain = scenes.four_bar().report()
    report = m.report()
    assert report.freedom == plain.freedom == 1
    assert report.redundant_count == plain.redundant_count
    runs = [simulate(m.state(), solver, dt=0.002, steps=500) for solver in SOLVERS]
    assert_same(runs[1], runs[0])
    assert_same(runs[2], runs[0])
    run = simulate(m.state(), dt=0.005, steps=4000)
    assert np.abs(run.coupling("gear").gap).max() < 1e-12
    assert run.drift().max() < 1e-12
    assert np.abs(run.joint("shaft").rates).max() > 0.5
    error = run.energy() - run.energy()[0]
    assert np.abs(error).max() < 2e-3 * np.ptp(run.kinetic_energy())


def gripper() -> Mechanism:
    """Two four-bars on a base that flies, mirrored, their cranks tied to each other, and a slide tied to nothing."""
    m = Mechanism(gravity=(0, 0, 0))
    m.add_body("base", lump(2.0), angular_velocity=(0.3, -0.2, 0.5))
    for side, sign in (("left", 1.0), ("right", -1.0)):
        # as flat as it looks, but not quite: all rows of a flat loop would be redundant
        a, b, c, d = ((sign * x, 0.1, z) for x, z in ((0.3, 0.0), (0.4, 0.3), (0.7, 0.35), (0.6, 0.0)))
        for name, ends in (("crank", (a, b)), ("rod", (b, c)), ("rocker", (c, d))):
            m.add_body(f"{side} {name}", lump(0.4), position=np.mean(ends, axis=0))
        y = (0, 1, 0)
        m.add_joint(Revolute("base", f"{side} crank", axis=y, at=a, name=f"{side} drive"))
        m.add_joint(Revolute(f"{side} crank", f"{side} rod", axis=y, at=b))
        m.add_joint(Revolute("base", f"{side} rocker", axis=y, at=d))
        m.add_joint(Ball(f"{side} rocker", f"{side} rod", at=c))
    m.add_coupling(Gear("left drive", "right drive", -1.0, name="tie"))
    return m


def test_tied_cranks_of_two_loops() -> None:
    """The tie is no column of its links, but the loops that pass through them feel it."""
    m = gripper()
    state = m.assemble(rates={"left drive": 2.0})
    np.testing.assert_allclose(state.joint("right drive").rates, -2.0, rtol=0, atol=1e-12)
    runs = [simulate(state, solver, dt=0.002, steps=300) for solver in SOLVERS]
    for other in runs[1:]:
        assert_same(other, runs[0])
        np.testing.assert_allclose(other.coupling("tie").effort, runs[0].coupling("tie").effort, rtol=0, atol=1e-7)
    assert np.abs(runs[0].coupling("tie").gap).max() < 1e-12
    assert runs[0].drift().max() < 1e-12
    assert np.ptp(runs[0].joint("left drive").coordinates) > 0.5


def test_loop_of_gears() -> None:
    """Three gears in a ring that agree: one is redundant, and all share the load."""
    m = shafts(0.1, 0.2, 0.3)
    for k, (near, far, ratio) in enumerate((("s0", "s1", -2.0), ("s1", "s2", -0.5), ("s2", "s0", 1.0))):
        m.add_coupling(Gear(near, far, ratio, name=f"g{k}"))
    m.add_force(Motor("s0", 1.0))
    report = m.report()
    assert (report.freedom, report.redundant_count) == (1, 1)
    runs = [simulate(m.state(), solver) for solver in SOLVERS]
    for other in runs[1:]:
        assert_same(other, runs[0])
    acceleration = 1.0 / (0.1 + 4 * 0.2 + 0.3)
    np.testing.assert_allclose(runs[0].joint("s2").rates[:, 0], acceleration * runs[0].time, rtol=0, atol=1e-5)


def test_the_same_twice_is_redundant_and_works() -> None:
    m = shafts(0.1, 0.2)
    m.add_coupling(Gear("s0", "s1", -2.0))
    m.add_force(Motor("s0", 1.0))
    once = simulate(m.copy().state())
    m.add_coupling(Gear("s0", "s1", -2.0))
    twice = simulate(m.state())
    assert list(m.couplings) == ["gear s1-s0", "gear s1-s0-2"]
    assert m.report().redundant_count == 1
    assert_same(twice, once, 1e-12)
    total = sum(twice.coupling(name).effort for name in m.couplings)
    np.testing.assert_allclose(total, once.coupling("gear s1-s0").effort, rtol=1e-9)


def test_gears_that_contradict_lock_the_shafts() -> None:
    """Two ratios at once leave no motion but are no contradiction where both shafts stand still."""
    m = shafts(0.1, 0.2)
    m.add_coupling(Gear("s0", "s1", -2.0, name="g0"))
    m.add_coupling(Gear("s0", "s1", 3.0, name="g1"))
    m.add_force(Motor("s0", 1.0))
    assert m.report().freedom == 0
    run = simulate(m.state())
    assert np.abs(run.joint("s0").coordinates).max() < 1e-12

    # torques on s1 cancel, on s0 they hold the motor: -3 f1 + 2 f0 = -1, f0 = -f1
    np.testing.assert_allclose(run.coupling("g0").effort, -0.2, rtol=1e-9)
    np.testing.assert_allclose(run.coupling("g1").effort, 0.2, rtol=1e-9)


def test_a_joint_coupled_to_itself() -> None:
    m = shafts(0.1, speeds=(1.0,))
    m.add_coupling(Gear("s0", "s0", 2.0))
    assert m.report().freedom == 0
    assert np.abs(simulate(m.state()).joint("s0").rates).max() < 1e-13


# ---- what is refused


def test_contradicting_drives() -> None:
    m = shafts(0.1)
    m.add_coupling(PrescribedMotion("s0", lambda t: t, name="one"))
    m.add_coupling(PrescribedMotion("s0", lambda t: t + t**2, name="other"))
    with pytest.raises(SimulationError, match=r"locks in the step at t = .*joint '(one|other)'") as caught:
        Simulator(m, 0.01).run(1.0)
    assert caught.value.status.reason == "locked"
    m.add_coupling(PrescribedMotion("s0", lambda t: 1 + t, name="third"))
    with pytest.raises(AssemblyError, match=r"prescribed motion '(one|other|third)' stays open by 0 m, "):
        m.assemble()


@pytest.mark.parametrize("ratio", [0.0, np.nan, np.inf])
def test_coefficients(ratio: float) -> None:
    with pytest.raises(
        ValueError, match=r"gear 'gear s1-s0': the coefficient of joint 's0' must (be finite|not be zero)"
    ):
        Gear("s0", "s1", ratio)
    with pytest.raises(
        ValueError, match=r"differential 'd': the coefficient of joint 'b' must (be finite|not be zero)"
    ):
        Differential("a", "b", "c", balance=ratio, name="d")


def test_terms_and_coordinates() -> None:
    m = shafts(0.1, 0.2)
    m.add_body("ball", lump())
    m.add_joint(Ball("world", "ball", at=(0, 0, 1), name="socket"))
    m.add_body("cross", lump())
    m.add_joint(Universal("world", "cross", axes=((1, 0, 0), (0, 1, 0)), at=(0, 0, 1), name="cross"))
    refused = {
        "1 to 6 terms, got 0": lambda: Coupling([]),
        "1 to 6 terms, got 7": lambda: Coupling([("s0", 1.0)] * 7),
        "offset must be finite": lambda: Gear("s0", "s1", 1.0, offset=np.nan),
        "prescribed motion 'prescribed motion s0': needs a function of time": lambda: PrescribedMotion("s0", 3.0),
        "no joint called 'nowhere'": lambda: m.add_coupling(Gear("s0", "nowhere", 2.0)),
        "ball joint 'socket' has no single coordinate": lambda: m.add_coupling(Gear("s0", "socket", 2.0)),
        "choose a coordinate of universal joint 'cross': 'first' or 'second'": lambda: m.add_coupling(
            Gear("s0", "cross", 2.0)
        ),
        "revolute joint 's0' has no 'displacement', only 'angle'": lambda: m.add_coupling(
            Gear(("s0", "displacement"), "s1", 2.0)
        ),
        "add_coupling takes a coupling": lambda: m.add_coupling(Motor("s0", 1.0)),
    }
    for message, act in refused.items():
        with pytest.raises(ValueError, match=message):
            act()
    assert not m.couplings
    m.add_coupling(Gear("s0", "s1", 2.0, name="gear"))
    with pytest.raises(ValueError, match="already a coupling called 'gear'"):
        m.add_coupling(Gear("s0", "s1", 2.0, name="gear"))


def test_a_state_off_the_gear_is_refused_and_named() -> None:
    m = shafts(0.1, 0.2)
    m.add_coupling(Gear("s0", "s1", 2.0, name="gear"))
    state = m.state()
    state.joint("s1").angle = 0.3
    with pytest.raises(AssemblyError, match=r"gear 'gear' stays open by 0 m, 0\.3 rad") as caught:
        Simulator(m, 0.01).run(steps=1, state=state)
    assert caught.value.gaps["gear"] == pytest.approx((0, 0.3))

    # a full turn off is off as well
    state.joint("s1").angle = 2 * np.pi
    with pytest.raises(AssemblyError, match=r"6\.28 rad"):
        Simulator(m, 0.01).run(steps=1, state=state)


def test_velocities_are_projected() -> None:
    """The impulse acts along the gear: momenta change in the ratio of its coefficients."""
    m = shafts(0.1, 0.2, speeds=(1.0, 0.0))
    m.add_coupling(Gear("s0", "s1", 2.0))
    run = simulate(m.state(), steps=5)
    expected = 0.1 / (0.1 + 4 * 0.2)
    np.testing.assert_allclose(run.joint("s0").rates[:, 0], expected, rtol=1e-5)
    assert run.joint("s1").rates[0, 0] == pytest.approx(2 * expected, rel=1e-12)


def test_copies_keep_their_couplings() -> None:
    m = shafts(0.1, 0.2)
    m.add_coupling(Gear("s0", "s1", 2.0))
    m.add_coupling(PrescribedMotion("s0", np.sin))
    other = m.copy()
    assert_same(simulate(other.state()), simulate(m.state()), 0)
    assert "Gear(1 s1 + -2 s0 = 0)" in repr(m)
    assert "PrescribedMotion(1 s0 = 0 + f(t))" in repr(m)


def test_a_drive_that_asks_for_too_much_is_named() -> None:
    m = scenes.four_bar()
    m.add_coupling(PrescribedMotion("joint1", lambda t: 3 * t, name="crank drive"))
    with pytest.raises(
        SimulationError, match="'crank drive' may be discontinuous, or prescribe a position that cannot be reached"
    ):
        Simulator(m, 0.01, on_inaccurate="ignore").run(3, state=m.assemble())
