"""Mass matrices, efforts, accelerations and Jacobians: identities among them, and what runs do in short steps."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import catena as ct
import mechanisms
from catena import Mechanism, State, scenes

# s, short enough that differences of eighth order over nodes are good to rounding
DT = 2e-4
# of a derivative over nine nodes, eighth order
DERIVATIVE = np.array([1 / 280, -4 / 105, 1 / 5, -4 / 5, 0, 4 / 5, -1 / 5, 4 / 105, -1 / 280]) / DT


def rolling() -> Mechanism:
    m = Mechanism()
    m.add_body("disk", ct.cylinder(0.3, 0.05, mass=1.0), position=(0, 0, 0.29), orientation=(0.8, 0.6, 0, 0))
    m.add_joint(ct.RollingDisk("world", "disk", radius=0.3, normal=(0, 0, 1), name="contact"))
    return m


def sprung() -> Mechanism:
    """A cart with a pole on springs, dampers, friction, drag, a servo and a rotor."""
    m = scenes.cart_pole()
    cart, pole = list(m.joints)[:2]
    m.add_force(ct.Spring(cart, 30.0, rest_length=0.2, damping=0.4))
    m.add_force(ct.Friction(pole, 0.3))
    m.add_force(ct.Servo(pole, kp=5.0, kd=0.4, target=0.3, name="servo"))
    m.add_force(ct.Armature(cart, 0.7))
    m.add_force(ct.Drag(list(m.bodies)[-1], 0.2, 0.1))
    return m


def driven() -> Mechanism:
    """A pendulum that hangs on ground that swings, and a second joint with a prescribed motion."""
    m = scenes.pendulum(2, "revolute", angle=0.4)
    m.add_coupling(ct.PrescribedMotion("joint2", lambda t: 0.3 * np.sin(2 * t) + 0.2))
    return m


def geared() -> Mechanism:
    m = scenes.pendulum(3, "revolute", angle=0.4)
    m.add_coupling(ct.Gear("joint2", "joint3", ratio=-2.0))
    m.add_force(ct.Armature("joint2", 0.05))
    return m


def flipped() -> Mechanism:
    """Joints given from the far body, along whose axes others slide and turn."""
    m = Mechanism()
    m.add_body("a", ct.box((0.2, 0.1, 0.3), mass=1.0), position=(0.3, 0.1, 0))
    m.add_body("b", ct.box((0.1, 0.3, 0.2), mass=0.7), position=(0.5, 0.4, 0.2))
    m.add_joint(ct.Cylindrical("a", "world", axis=(0, 1, 0.4), at=(0, 0, 0)))
    m.add_joint(ct.PinInSlot("b", "a", axes=((0, 1, 0), (1, 0, 0)), at=(0.4, 0.2, 0.1)))
    return m


def tracking() -> Mechanism:
    """A servo whose target is a function of time."""
    m = scenes.pendulum(2, "revolute", angle=0.4)
    m.add_force(ct.Servo("joint2", kp=5.0, kd=0.8, target=lambda t: 0.3 + 2.0 * t))
    return m


def rotors_around() -> Mechanism:
    """A loop in space all of whose joints have rotors, also the one that closes it."""
    m = scenes.bricard()
    for k, joint in enumerate(list(m.joints)):
        m.add_force(ct.Armature(joint, 0.1 + 0.2 * k))
    return m


TREES: dict[str, Callable[[], Mechanism]] = {
    "slider": mechanisms.slider,
    "arm": mechanisms.arm,
    "tree": mechanisms.tree,
    "zoo": mechanisms.zoo,
    "sprung": sprung,
    "flipped": flipped,
    "tracking": tracking,
}
LOOPS: dict[str, Callable[[], Mechanism]] = {
    "crank rocker": mechanisms.crank_rocker,
    "four-bar": scenes.four_bar,
    "bricard": scenes.bricard,
    "minitaur": scenes.minitaur,
    "strandbeest": scenes.strandbeest,
    "platform": scenes.stewart_platform,
    "delta": scenes.delta_robot,
    "squeezer": scenes.andrews_squeezer,
    "geared": geared,
    "rotors around": rotors_around,
    "driven": driven,
}
# how short the times of a fast mechanism are
PACE = {"squeezer": 1e-2}


def somewhere(m: Mechanism, seed: int = 3) -> State:
    """A random pose of a tree with random rates."""
    rng, state = np.random.default_rng(seed), m.state()
    state.coordinates = state.coordinates + 0.4 * rng.normal(size=len(state.coordinates))
    state.rates = rng.normal(size=len(state.rates))
    return state


def moving(m: Mechanism, pace: float = 1.0) -> State:
    """A state in which loops are closed and bodies move."""
    return ct.Simulator(m, 1e-3 * pace, order=4, on_inaccurate="ignore").run(0.3 * pace, state=m.assemble())[-1]


def place(name: str) -> tuple[Mechanism, State]:
    m = (TREES | LOOPS)[name]()
    return m, somewhere(m) if name in TREES else moving(m, PACE.get(name, 1.0))


@pytest.mark.parametrize("name", [*TREES, *LOOPS])
def test_identities(name: str) -> None:
    m, state = place(name)
    d = ct.Dynamics(m)
    rates, mass = d.rates(state), d.mass_matrix(state)
    scale = np.abs(mass).max()
    assert np.abs(mass - mass.T).max() <= 1e-13 * scale
    accelerations = np.random.default_rng(1).normal(size=len(rates))
    efforts = d.efforts(state, accelerations)
    assert mass @ accelerations + d.bias(state) == pytest.approx(efforts, abs=1e-11 * max(1, np.abs(efforts).max()))
    # solving for them loses the condition of the mass matrix
    assert d.accelerations(state, efforts) == pytest.approx(accelerations, abs=1e-15 * np.linalg.cond(mass) + 1e-11)
    if name != "driven":
        node = ct.Simulator(m, DT).run(steps=1, state=state)
        assert 0.5 * rates @ mass @ rates == pytest.approx(node.kinetic_energy()[0], rel=1e-12, abs=1e-14)
        momentum = d.momentum_matrix(state) @ rates
        assert momentum[:3] == pytest.approx(node.momentum()[0], abs=1e-12 * max(1, np.abs(momentum).max()))


@pytest.mark.parametrize("name", [*TREES, *LOOPS])
def test_accelerations_are_those_of_runs(name: str) -> None:
    """Springs, dampers, friction, servos, rotors and drives act as they do in a run of short steps."""
    (m, state), pace = place(name), PACE.get(name, 1.0)
    run = ct.Simulator(m, DT * pace, order=4, tolerance=1e-13, on_inaccurate="ignore").run(steps=8, state=state)
    linear, angular = ct.Dynamics(m).body_accelerations(run)
    for found, velocity in ((linear, run.velocity), (angular, run.angular_velocity)):
        truth = np.einsum("k,knj->nj", DERIVATIVE / pace, velocity)
        # what friction leaves of order four over a step, and rounding over dt; second derivatives of functions of time
        # are differences of their rates, which are differences themselves
        assert found[4] == pytest.approx(
            truth, abs=(1e-7 if name == "driven" else 2e-9) * max(1.0, np.abs(truth).max())
        )


@pytest.mark.parametrize("name", ["crank rocker", "four-bar", "bricard", "squeezer"])
def test_accelerations_do_not_depend_on_the_coordinates(name: str) -> None:
    m, state = place(name)
    found = [np.concatenate(ct.Dynamics(m, [c]).body_accelerations(state)) for c in m.coordinates]
    for other in found[1:]:
        assert other == pytest.approx(found[0], abs=1e-9 * np.abs(found[0]).max())


@pytest.mark.parametrize("name", LOOPS)
def test_live_mechanisms_with_loops_are_answered_alike(name: str) -> None:
    """What the core finds of a live mechanism is what a state gives, with motors and with other efforts."""
    m, state = place(name)
    if name == "minitaur":
        m.add_force(ct.Spring(next(iter(m.joints)), 3.0, rest_length=0.5, damping=0.1))
    live = ct.Simulator(m, 1e-3 * PACE.get(name, 1.0), on_inaccurate="ignore").start(state)
    d, node = ct.Dynamics(m), live.state()
    given = np.random.default_rng(4).normal(size=len(d.names))
    for efforts in (None, given):
        truth = d.accelerations(node, efforts)
        # twice, as a live mechanism is looked at only once; the condition of the mass matrix is lost once more
        for _ in range(2):
            found = d.accelerations(live, efforts)
            assert found == pytest.approx(truth, abs=1e-9 * max(1.0, np.abs(truth).max()))


@pytest.mark.parametrize("name", [*TREES, *LOOPS])
def test_accelerations_of_live_bodies_are_exact(name: str) -> None:
    """Those of the equations of motion at the node, whatever the step is; nothing of the state changes."""
    m, state = place(name)
    truth = ct.Dynamics(m).body_accelerations(state)
    for dt in (1e-4, 1e-3):
        live = ct.Simulator(m, dt * PACE.get(name, 1.0), on_inaccurate="ignore").start(state)
        before = live.checkpoint()
        for found, expected in zip(live.accelerations(), truth, strict=True):
            assert found == pytest.approx(expected, abs=1e-9 * max(1.0, np.abs(expected).max()))
        np.testing.assert_array_equal(live.checkpoint(), before)


def test_a_live_mechanism_at_a_singular_pose_is_refused() -> None:
    """A flat parallelogram, where two ways to move meet: the same sentence as for a state, the second time as well."""
    m, y = Mechanism(), (0, 1, 0)
    corners = ((0, 0, 0), (1, 0, 0), (3, 0, 0), (2, 0, 0))
    for name, a, b in (("left", 0, 1), ("top", 1, 2), ("right", 3, 2)):
        m.add_body(name, ct.rod(corners[a], corners[b], mass=1.0))
    for a, b, k in (("world", "left", 0), ("left", "top", 1), ("top", "right", 2), ("world", "right", 3)):
        m.add_joint(ct.Revolute(a, b, axis=y, at=corners[k], name=f"j{k}"))
    d, live = ct.Dynamics(m, ["j0.angle"]), ct.Simulator(m, 1e-3).start()
    for _ in range(2):
        with pytest.raises(ValueError, match=r"do not tell how all bodies move|not independent"):
            d.accelerations(live)


@pytest.mark.parametrize("name", ["tree", "zoo", "crank rocker", "minitaur"])
def test_jacobians(name: str) -> None:
    """They give velocities of points, and their rates what accelerations leave."""
    m, state = place(name)
    d, at = ct.Dynamics(m), np.array((0.1, -0.2, 0.3))
    run = ct.Simulator(m, DT, order=4, tolerance=1e-13, on_inaccurate="ignore").run(steps=8, state=state)
    rates = d.rates(run)
    for body in list(m.bodies)[-2:]:
        jacobian = d.jacobian(run, body, at)
        view = run.body(body)
        velocity = np.concatenate((view.point_velocity(at), view.angular_velocity), axis=1)
        assert np.einsum("kif,kf->ki", jacobian, rates) == pytest.approx(velocity, abs=1e-11)
        truth = np.einsum("k,ki->i", DERIVATIVE, velocity)
        found = jacobian[4] @ d.accelerations(run)[4] + d.jacobian_rate(run, body, at)[4]
        assert found == pytest.approx(truth, abs=2e-9 * max(1.0, np.abs(truth).max()))
    center = d.center_jacobian(run)
    truth = np.einsum("k,ki->i", DERIVATIVE, d.center_of_mass(run))
    assert center[4] @ rates[4] == pytest.approx(truth, abs=1e-9)


def test_gravity_holds_a_hanging_arm() -> None:
    """One link: m g l sin(angle); and with the efforts as motors nothing moves."""
    m = scenes.pendulum(1, "revolute", angle=0.5)
    body = next(iter(m.bodies.values()))
    arm = np.linalg.norm(m.state().position[0])
    d = ct.Dynamics(m)
    assert np.abs(d.gravity(m.state())) == pytest.approx([body.mass * 9.81 * arm * np.sin(0.5)], rel=1e-12)
    m = mechanisms.arm()
    live = ct.Simulator(m, 0.01).start()
    live.inputs[:] = ct.Dynamics(m).gravity(m.state())
    live.step(100)
    assert live.coordinates == pytest.approx(m.state().coordinates, abs=1e-12)


def test_efforts_of_a_motion_give_it_again() -> None:
    """Efforts through a loop, put back as a motor."""
    m = mechanisms.crank_rocker()
    m.add_force(ct.Motor("rocker", 0.0, name="motor"))
    state = moving(m)
    d = ct.Dynamics(m, ["crank.angle"])
    effort = d.efforts(state, [3.0], actuated=["rocker.angle"])
    live = ct.Simulator(m, 1e-3).start(state)
    live.inputs[:] = effort
    assert d.accelerations(live) == pytest.approx([3.0], abs=1e-10)
    # two motors share by least norm what one has to do alone
    both = d.efforts(state, [3.0], actuated=["rocker.angle", "knee.angle"])
    assert np.linalg.norm(both) < abs(effort[0])
    with pytest.raises(ValueError, match="cannot make this motion"):
        ct.Dynamics(scenes.pendulum(2, "revolute")).efforts(
            scenes.pendulum(2, "revolute").state(), [1.0, 2.0], actuated=["joint1.angle"]
        )


def test_power_of_the_efforts_is_what_energy_gains() -> None:
    m = scenes.pendulum(3, "revolute", angle=0.4)
    for k, joint in enumerate(m.joints):
        m.add_force(ct.Motor(joint, 1.0 + k, name=f"motor{k}"))
    state = somewhere(m)
    run = ct.Simulator(m, DT, order=4, tolerance=1e-13, on_inaccurate="ignore").run(steps=8, state=state)
    d = ct.Dynamics(m)
    efforts = d.efforts(run, d.accelerations(run))
    assert efforts == pytest.approx(np.tile((1.0, 2.0, 3.0), (9, 1)), abs=1e-10)
    assert run.rates[4] @ efforts[4] == pytest.approx(DERIVATIVE @ run.energy(), abs=2e-9 * np.abs(efforts[4]).max())


def test_arrays_runs_and_live_mechanisms_are_taken_alike() -> None:
    m = mechanisms.arm()
    sim = ct.Simulator(m, 0.01)
    run, d = sim.run(0.2), ct.Dynamics(m)
    every = d.mass_matrix(run)
    assert every.shape == (len(run), 3, 3)
    np.testing.assert_array_equal(every[7], d.mass_matrix(run[7]))
    pair = d.mass_matrix((run.coordinates, run.rates))
    assert pair == pytest.approx(every, abs=1e-13)
    live = sim.start()
    live.step(7)
    assert d.bias(live) == pytest.approx(d.bias(run[7]), abs=1e-12)
    batch = sim.run_batch(0.1, coordinates=np.array([[0.1, 0.2, 0.3], [0.3, 0.2, 0.1]]))
    assert d.bias(batch).shape == (2, 11, 3)
    heavier = sim.run_batch(0.1, states=2, masses={next(iter(m.bodies)): np.array([1.0, 2.0])})
    with pytest.raises(ValueError, match=r"Dynamics\(batch\[k\]\.mechanism\)"):
        d.mass_matrix(heavier)
    loop = mechanisms.crank_rocker()
    state = moving(loop)
    e = ct.Dynamics(loop)
    assert e.bias((state.coordinates, state.rates)) == pytest.approx(e.bias(state), abs=1e-8)


def test_mujoco_agrees(tmp_path: Path) -> None:
    """Mass matrix, bias, accelerations and Jacobians of a tree of hinges and slides."""
    mujoco = pytest.importorskip("mujoco")
    m = Mechanism()
    rng = np.random.default_rng(2)
    last, at = "world", np.zeros(3)
    for k in range(7):
        to = at + 0.5 * rng.normal(size=3)
        m.add_body(f"b{k}", ct.box((0.3, 0.2, 0.4), mass=1 + rng.random()), position=(at + to) / 2)
        kind = ct.Prismatic if k % 3 == 2 else ct.Revolute
        m.add_joint(kind(last, f"b{k}", axis=rng.normal(size=3), at=at, name=f"j{k}"))
        last, at = (f"b{k}", to) if k != 4 else (last, at)
    state, d = somewhere(m), ct.Dynamics(m)
    m.to_mjcf(tmp_path / "tree.xml")
    model = mujoco.MjModel.from_xml_path(str(tmp_path / "tree.xml"))
    data = mujoco.MjData(model)
    order = [model.joint(c.split(".")[0]).dofadr[0] for c in m.coordinates]
    data.qpos[order], data.qvel[order] = state.coordinates, state.rates
    mujoco.mj_forward(model, data)
    mass = np.zeros((7, 7))
    mujoco.mj_fullM(model, data, mass)
    assert d.mass_matrix(state) == pytest.approx(mass[np.ix_(order, order)], abs=1e-12)
    assert d.bias(state) == pytest.approx(data.qfrc_bias[order], abs=1e-11)
    # the engine solves with a factor of lower accuracy
    assert d.accelerations(state) == pytest.approx(data.qacc[order], abs=1e-8 * np.abs(data.qacc).max())
    linear, turning = np.zeros((3, 7)), np.zeros((3, 7))
    mujoco.mj_jacBodyCom(model, data, linear, turning, model.body("b6").id)
    assert d.jacobian(state, "b6") == pytest.approx(np.vstack((linear, turning))[:, order], abs=1e-12)


def test_sentences() -> None:
    m = mechanisms.arm()
    d, state = ct.Dynamics(m), m.state()
    with pytest.raises(ValueError, match=r"no coordinate 'joint1.angel'; did you mean 'joint1.angle'"):
        ct.Dynamics(m, ["joint1.angel"])
    with pytest.raises(ValueError, match="given twice"):
        ct.Dynamics(m, ["joint1.angle", "joint1.angle"])
    with pytest.raises(ValueError, match="not independent"):
        ct.Dynamics(mechanisms.crank_rocker(), ["crank.angle", "knee.angle"]).bias(moving(mechanisms.crank_rocker()))
    with pytest.raises(ValueError, match="name more of them"):
        ct.Dynamics(m, ["joint1.angle"]).bias(state)
    with pytest.raises(TypeError, match="State, a Live"):
        d.mass_matrix(3)
    with pytest.raises(ValueError, match="another mechanism"):
        d.mass_matrix(mechanisms.slider().state())
    with pytest.raises(ValueError, match="accelerations"):
        d.efforts(state, [1.0])
    with pytest.raises(ValueError, match="accelerations"):
        d.efforts(state, [1.0, np.nan, 0.0])
    with pytest.raises(ValueError, match="frame"):
        d.jacobian(state, "hand")
    # another order
    turned = ct.Dynamics(m, list(m.coordinates)[::-1])
    assert turned.accelerations(state) == pytest.approx(d.accelerations(state)[::-1], rel=1e-12)
    live = ct.Simulator(m, 0.01).start()
    assert turned.bias(live) == pytest.approx(d.bias(live)[::-1], rel=1e-12)
    assert turned.bias(live) == pytest.approx(d.bias(live)[::-1], rel=1e-12)
    with pytest.raises(ValueError, match="a list of coordinates must not be empty"):
        d.efforts(state, [0.0, 0.0, 0.0], actuated=[])
    with pytest.raises(TypeError, match=r"modes takes a State or a Live, got tuple: use run\[k\]"):
        d.modes((np.zeros(3), np.zeros(3)))  # type: ignore[arg-type]
    bars = scenes.four_bar()
    opened, e = bars.state(), ct.Dynamics(bars)
    opened.position = opened.position + 0.1 * np.arange(9).reshape(3, 3)
    for ask in (e.mass_matrix, e.modes, e.linearize, e.center_of_mass):
        with pytest.raises(ValueError, match=r"joints of this state are open: .*joint4.*assemble\(state\)"):
            ask(opened)
    with pytest.raises(ValueError, match="without bodies"):
        ct.Dynamics(Mechanism())
