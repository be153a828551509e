"""Typical mistakes, many of people who know another engine: each is a sentence that names the thing and the remedy."""

from __future__ import annotations

import copy
import inspect
import pickle
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import catena as ct
from catena._util.words import _ARGUMENTS, Spoken


def arm() -> ct.Mechanism:
    m = ct.Mechanism()
    m.add_body("arm", ct.rod((0, 0, 0), (0, 0, -1), mass=1.0))
    m.add_joint(ct.Revolute("world", "arm", axis=(0, 1, 0), at=(0, 0, 0), name="hinge"))
    return m


def low() -> ct.Simulator:
    m = ct.Mechanism()
    m.add_body("foot", ct.sphere(0.1, mass=1.0))
    m.add_contact("foot", radius=0.1, name="foot")
    return ct.Simulator(m, 0.01)


@pytest.fixture(scope="module")
def made() -> SimpleNamespace:
    """What the mistakes are made with; none of them changes it."""
    m = arm()
    sim = ct.Simulator(m, 0.01)
    return SimpleNamespace(
        m=m, sim=sim, run=sim.run(steps=5), live=sim.start(), state=m.state(), batch=sim.start_batch(2)
    )


BALL = ct.sphere(0.1, mass=1.0)
HINGE = {"axis": (0, 0, 1), "at": (0, 0, 0)}

# what is tried, the error, and words of its sentence
MISTAKES: dict[str, tuple[Callable[[Any], object], type[Exception], tuple[str, ...]]] = {
    # ---- names of the module
    "ct.Hinge": (lambda w: ct.Hinge, AttributeError, ("Hinge", "Revolute")),
    "ct.Weld": (lambda w: ct.Weld, AttributeError, ("Weld", "Fixed")),
    "ct.Slider": (lambda w: ct.Slider, AttributeError, ("Slider", "Prismatic")),
    "ct.Spherical": (lambda w: ct.Spherical, AttributeError, ("Spherical", "Ball")),
    "ct.World()": (lambda w: ct.World(), AttributeError, ("World", "mechanism.world")),
    "ct.Robot": (lambda w: ct.Robot, AttributeError, ("Robot", "Mechanism")),
    "ct.MjModel": (lambda w: ct.MjModel, AttributeError, ("MjModel", "from_mjcf")),
    "ct.load_urdf": (lambda w: ct.load_urdf, AttributeError, ("load_urdf", "from_urdf")),
    "ct.Revolut": (lambda w: ct.Revolut, AttributeError, ("Revolut", "did you mean 'Revolute'?")),
    # ---- attributes
    "m.joint": (lambda w: w.m.joint("hinge"), AttributeError, ("joint", "mechanism.joints['name']")),
    "m.body": (lambda w: w.m.body("arm"), AttributeError, ("body", "mechanism.bodies['name']")),
    "m.links": (lambda w: w.m.links, AttributeError, ("links", "bodies")),
    "m.step": (lambda w: w.m.step(), AttributeError, ("step", "Simulator(mechanism")),
    "m.run": (lambda w: w.m.run(1.0), AttributeError, ("run", "Simulator(mechanism")),
    "m.add_link": (lambda w: w.m.add_link("a"), AttributeError, ("add_link", "add_body")),
    "m.add_hinge": (lambda w: w.m.add_hinge(), AttributeError, ("add_hinge", "add_joint(Revolute")),
    "m.add_motor": (lambda w: w.m.add_motor(), AttributeError, ("add_motor", "add_force(Motor")),
    "angle = '90'": (
        lambda w: setattr(w.m.state().joint("hinge"), "angle", "90"),
        ValueError,
        ("hinge", "coordinates must be numbers"),
    ),
    "m.nq": (lambda w: w.m.nq, AttributeError, ("nq", "len(mechanism.coordinates)")),
    "m.q": (lambda w: w.m.q, AttributeError, ("q", "mechanism.state()")),
    "m.gravty": (lambda w: w.m.gravty, AttributeError, ("gravty", "did you mean 'gravity'?")),
    "run.q": (lambda w: w.run.q, AttributeError, ("Trajectory", "'q'", "coordinates", "run.joint('name')")),
    "run.qvel": (lambda w: w.run.qvel, AttributeError, ("qvel", "rates")),
    "run.plot()": (lambda w: w.run.plot(), AttributeError, ("plot", "catena.plot.energy(run)")),
    "run.animate()": (lambda w: w.run.animate(), AttributeError, ("animate", "run.show()")),
    "run.t": (lambda w: w.run.t, AttributeError, ("'t'", "`time`")),
    "run.positions": (lambda w: w.run.positions, AttributeError, ("positions", "'position'")),
    "run.states": (lambda w: w.run.states, AttributeError, ("states", "run[-1]")),
    "state.qpos": (lambda w: w.state.qpos, AttributeError, ("qpos", "coordinates")),
    "live.qpos": (lambda w: w.live.qpos, AttributeError, ("qpos", "coordinates")),
    "live.data": (lambda w: w.live.data, AttributeError, ("data", "live.position")),
    "live.reset()": (lambda w: w.live.reset(), AttributeError, ("reset", "live.restart")),
    "Spring(springref=)": (
        lambda w: ct.Spring("hinge", 1.0, springref=0.1),
        TypeError,
        ("springref", "called 'rest_length'"),
    ),
    "Servo(max_force=)": (
        lambda w: ct.Servo("hinge", kp=1.0, max_force=2.0),
        TypeError,
        ("max_force", "called 'effort_limit'"),
    ),
    "sim.run_batch([state, state])": (
        lambda w: w.sim.run_batch([w.live.state()] * 2, states=2),
        ValueError,
        ("given by name", "run_batch(duration, states=...)"),
    ),
    "live.set_input": (lambda w: w.live.set_input(1), AttributeError, ("set_input", "live.set(")),
    "live.dt": (lambda w: w.live.dt, AttributeError, ("dt", "live.simulator.dt")),
    "batch.restart": (lambda w: w.batch.restart(), AttributeError, ("restart", "batch.reset(")),
    "sim.simulate": (lambda w: w.sim.simulate(), AttributeError, ("simulate", "simulator.run(")),
    "sim.reset": (lambda w: w.sim.reset(), AttributeError, ("reset", "simulator.start(")),
    # ---- names of the user's
    "m.bodies['am']": (lambda w: w.m.bodies["am"], KeyError, ("am", "did you mean 'arm'?")),
    "run.joint('hing')": (lambda w: w.run.joint("hing"), ValueError, ("'hing'", "did you mean 'hinge'?")),
    "run.body('hinge')": (lambda w: w.run.body("hinge"), ValueError, ("'hinge' is a joint, not a body",)),
    "run['hinge']": (lambda w: w.run["hinge"], TypeError, ("indexed by node", "run.body('hinge')")),
    "live.inputs_by_name": (lambda w: w.live.inputs_by_name["motor"], KeyError, ("motor", "there are none")),
    "the force of nobody": (lambda w: w.sim.run(steps=1, loads={"arn": (0, 0, 1)}), ValueError, ("'arn'", "'arm'")),
    "a motor on nothing": (lambda w: arm().add_force(ct.Motor("hing", 1.0)), ValueError, ("'hing'", "'hinge'")),
    "a body twice": (lambda w: arm().add_body("arm", BALL), ValueError, ("already", "'arm'")),
    # ---- describing
    "a body of a number": (lambda w: arm().add_body("b", 1.0), ValueError, ("'b'", "box(...)", "Inertia")),
    "a box without mass": (lambda w: ct.box((1, 1, 1)), ValueError, ("box", "mass and density")),
    "a flat position": (lambda w: arm().add_body("b", BALL, position=(0, 1)), ValueError, ("'b'", "position", "(3,)")),
    "Euler angles": (lambda w: arm().add_body("b", BALL, orientation=(0, 0, 90)), ValueError, ("orientation", "(4,)")),
    "a quaternion of zeros": (
        lambda w: arm().add_body("b", BALL, orientation=(0, 0, 0, 0)),
        ValueError,
        ("'b'", "unit quaternion (w, x, y, z)"),
    ),
    "axis='z'": (lambda w: ct.Revolute("world", "arm", axis="z", at=(0, 0, 0)), ValueError, ("axis", "(3,)", "'z'")),
    "no axis at all": (
        lambda w: ct.Revolute("world", "arm", at=(0, 0, 0), axis=(0, 0, 0)),
        ValueError,
        ("axis must not",),
    ),
    "gravity=-9.81": (lambda w: ct.Mechanism(gravity=-9.81), ValueError, ("gravity", "(3,)")),
    "a joint's class": (lambda w: arm().add_joint(ct.Revolute), ValueError, ("add_joint", "Revolute(...)")),
    "a spring as joint": (lambda w: arm().add_joint(ct.Spring("hinge", 1.0)), ValueError, ("add_joint", "Spring")),
    "a joint as force": (lambda w: arm().add_force(ct.Revolute("world", "arm", **HINGE)), ValueError, ("add_force",)),
    "mass=-1": (lambda w: setattr(arm().bodies["arm"], "mass", -1), ValueError, ("'arm'", "mass", "positive", "-1")),
    "a color": (lambda w: setattr(w.m.bodies["arm"], "color", "red"), AttributeError, ("'arm'", "color")),
    "a file that is not there": (lambda w: ct.Mechanism.from_urdf("no.urdf"), ValueError, ("no.urdf", "No such file")),
    # ---- arguments
    "box(0.1, 0.1, 0.1)": (lambda w: ct.box(0.1, 0.1, 0.1), TypeError, ("box", "one triple", "box((0.1, 0.1, 0.1)")),
    "sphere(r=)": (lambda w: ct.sphere(r=0.1, mass=1.0), TypeError, ("sphere has no argument 'r'", "'radius'")),
    "Revolute without axis": (lambda w: ct.Revolute("world", "arm"), TypeError, ("Revolute needs 'axis'", "(0, 0, 1)")),
    "Revolute(a, b, axis)": (
        lambda w: ct.Revolute("world", "arm", (0, 0, 1)),
        TypeError,
        ("Revolute takes 2 arguments by position, got 3", "Revolute(a, b, *, axis, at=None"),
    ),
    "Revolute(parent=)": (lambda w: ct.Revolute(parent="world"), TypeError, ("'parent'", "it is called 'a'")),
    "Revolute(limits=)": (
        lambda w: ct.Revolute("world", "arm", **HINGE, limits=(0, 1)),
        TypeError,
        ("'limits'", "joint.limits = Limits("),
    ),
    "Spring(k=)": (lambda w: ct.Spring("hinge", k=1.0), TypeError, ("Spring has no argument 'k'", "'stiffness'")),
    "Servo(gain=)": (lambda w: ct.Servo("hinge", gain=1.0), TypeError, ("Servo has no argument 'gain'", "'kp'")),
    "Damper without damping": (lambda w: ct.Damper("hinge"), TypeError, ("Damper needs 'damping'",)),
    "m.add_body(mass=)": (lambda w: w.m.add_body("b", mass=1.0), TypeError, ("'mass'", "belongs to the solid", "box(")),
    "m.add_body(name)": (lambda w: w.m.add_body("b"), TypeError, ("needs 'shape'", "box(")),
    "m.add_joint(type=)": (
        lambda w: w.m.add_joint(type="revolute"),
        TypeError,
        ("Mechanism.add_joint has no argument 'type'", "Mechanism.add_joint(joint)"),
    ),
    "m.state(angle=)": (lambda w: w.m.state(angle=1.0), TypeError, ("'angle'", "state.joint('name').coordinates")),
    "from_urdf(file=)": (lambda w: ct.Mechanism.from_urdf(file="a"), TypeError, ("from_urdf", "'file'", "'path'")),
    "Limits(lo=)": (lambda w: ct.Limits(lo=0.0), TypeError, ("Limits has no argument 'lo'", "'lower'")),
    "Simulator()": (lambda w: ct.Simulator(), TypeError, ("Simulator needs 'mechanism'", "dt=0.01")),
    "Simulator(timestep=)": (lambda w: ct.Simulator(w.m, timestep=0.01), TypeError, ("'timestep'", "called 'dt'")),
    "Simulator(integrator=)": (lambda w: ct.Simulator(w.m, integrator="rk4"), TypeError, ("'integrator'", "order=4")),
    "Simulator(gravity=)": (lambda w: ct.Simulator(w.m, gravity=0), TypeError, ("'gravity'", "Mechanism(gravity=")),
    "Simulator(toleranse=)": (lambda w: ct.Simulator(w.m, toleranse=1), TypeError, ("did you mean 'tolerance'?",)),
    "sim.run(t_end=)": (lambda w: w.sim.run(t_end=1.0), TypeError, ("Simulator.run", "'t_end'", "'duration'")),
    "sim.run(dt=)": (lambda w: w.sim.run(1.0, dt=0.01), TypeError, ("'dt'", "Simulator(mechanism, dt=0.01)")),
    "sim.run twice": (lambda w: w.sim.run(1.0, duration=1.0), TypeError, ("'duration' twice",)),
    "live.step(0.01)": (lambda w: w.live.step(0.01), TypeError, ("number of steps", "step(10)", "simulator.dt")),
    "live.step(dt=)": (lambda w: w.live.step(dt=0.01), TypeError, ("number of steps", "simulator.dt")),
    "batch.step(0.01)": (lambda w: w.batch.step(0.01), TypeError, ("number of steps", "simulator.dt")),
    "scenes.pendulum(links=)": (lambda w: ct.scenes.pendulum(links=2), TypeError, ("'links'", "pendulum(n=1")),
    "plot.energy()": (lambda w: ct.plot.energy(), TypeError, ("energy needs 'run'",)),
    # ---- dynamics and poses that are looked for
    "Dynamics(simulator)": (lambda w: ct.Dynamics(w.sim), TypeError, ("needs a Mechanism", "Simulator(")),
    "Dynamics(m, state)": (lambda w: ct.Dynamics(w.m, w.state), TypeError, ("coordinates must be a list of names",)),
    "Dynamics(m, name)": (lambda w: ct.Dynamics(w.m, "hinge.angle"), TypeError, ("list of names", "'hinge.angle'")),
    "Dynamics(m, [nobody])": (
        lambda w: ct.Dynamics(ct.scenes.four_bar(), ["x"]),
        ValueError,
        ("no coordinate 'x'", "'joint1.angle'"),
    ),
    "d.mass": (lambda w: ct.Dynamics(w.m).mass, AttributeError, ("'mass'", "mass_matrix(state)")),
    "d.rnea": (lambda w: ct.Dynamics(w.m).rnea, AttributeError, ("'rnea'", "efforts(state, accelerations)")),
    "d.forward_dynamics": (
        lambda w: ct.Dynamics(w.m).forward_dynamics,
        AttributeError,
        ("forward_dynamics", "accelerations(state, efforts)"),
    ),
    "d.coriolis": (lambda w: ct.Dynamics(w.m).coriolis, AttributeError, ("coriolis", "bias(state)")),
    "d.linearise": (lambda w: ct.Dynamics(w.m).linearise, AttributeError, ("did you mean 'linearize'?",)),
    "d.mass_matrix()": (lambda w: ct.Dynamics(w.m).mass_matrix(), TypeError, ("mass_matrix needs 'x'",)),
    "mass matrix at rates only": (
        lambda w: ct.Dynamics(w.m).mass_matrix([0.1]),
        TypeError,
        ("a State", "pair of arrays (coordinates, rates)", "got list"),
    ),
    "jacobian of nobody": (
        lambda w: ct.Dynamics(w.m).jacobian(w.state, "am"),
        ValueError,
        ("no frame called 'am'", "did you mean 'arm'?"),
    ),
    "jacobian(point=)": (
        lambda w: ct.Dynamics(w.m).jacobian(w.state, "arm", point=(0, 0, 1)),
        TypeError,
        ("'point'", "called 'at'"),
    ),
    "m.jacobian": (lambda w: w.m.jacobian("arm"), AttributeError, ("jacobian", "Dynamics(mechanism).jacobian(")),
    "m.modes": (lambda w: w.m.modes(), AttributeError, ("modes", "Dynamics(mechanism).modes(state)")),
    "m.inverse_kinematics": (lambda w: w.m.inverse_kinematics(), AttributeError, ("mechanism.reach(",)),
    "reach(point)": (lambda w: w.m.reach((0, 0, 1)), ValueError, ("mapping from frames or bodies", "(0, 0, 1)")),
    "reach a joint": (lambda w: w.m.reach({"hinge": (0, 0, 1)}), ValueError, ("'hinge' is a joint, not a frame",)),
    "reach a matrix": (
        lambda w: w.m.reach({"arm": np.eye(4)}),
        ValueError,
        ("'arm' must be a point (3,)", "quaternions", "(4, 4)"),
    ),
    "reach too far": (
        lambda w: w.m.reach({"arm": (0, 0, 9)}, restarts=1),
        ct.ReachError,
        ("out of reach", "'arm' by", "nearest=True"),
    ),
    "reach(limits=3)": (lambda w: w.m.reach({"arm": (0, 0, 1)}, limits=3), ValueError, ("limits", "mapping", "got 3")),
    "equilibrium(hold=name)": (lambda w: w.m.equilibrium(hold="hinge"), ValueError, ("list of names", "['hinge']")),
    # ---- limits and contacts
    "m.add_ground": (lambda w: w.m.add_ground(), AttributeError, ("add_ground", "mechanism.add_contact(body)")),
    "ct.Contact": (lambda w: ct.Contact("arm", "world"), TypeError, ("Contact needs", "mechanism.add_contact(body)")),
    "a contact of nobody": (lambda w: arm().add_contact("am"), ValueError, ("'am'", "did you mean 'arm'?")),
    "a contact of the world": (lambda w: arm().add_contact("world", "arm"), ValueError, ("of the world", "swap them")),
    "normal='z'": (lambda w: arm().add_contact("arm", normal="z"), ValueError, ("'arm'", "normal", "'z'")),
    "restitution=2": (lambda w: arm().add_contact("arm", restitution=2), ValueError, ("restitution", "0 and 1", "2")),
    "run.contact_forces": (lambda w: w.run.contact_forces(), AttributeError, ("run.contact('name').force",)),
    "a start in the floor": (
        lambda w: low().run(steps=1),
        ct.SimulationError,
        ("'foot'", "inside its plane", "along the normal"),
    ),
    "limits=(0, 1)": (lambda w: setattr(arm().joints["hinge"], "limits", (0, 1)), ValueError, ("Limits(...)", "hinge")),
    "Limits(1, 0)": (lambda w: ct.Limits(1, 0), ValueError, ("lower 1 is above upper 0",)),
    "m.set_limits": (lambda w: w.m.set_limits("hinge", 0, 1), AttributeError, ("joints['name'].limits = Limits(",)),
    "live.set_limits({})": (lambda w: w.live.set_limits({"hinge": (0, 1)}), ValueError, ("one joint", "upper=0.0")),
    "Simulator(limits=False)": (lambda w: ct.Simulator(w.m, limits=False), ValueError, ("'enforce', 'ignore'",)),
    "stops without limits": (lambda w: w.run.joint("hinge").stop, AttributeError, ("no hard limits", "Limits(lower")),
    "AtLimit without limits": (
        lambda w: w.sim.run(steps=1, events=[ct.AtLimit("hinge")]),
        ValueError,
        ("'hinge' has no limits", "joint.limits"),
    ),
    "events=event": (
        lambda w: w.sim.run(steps=1, events=ct.Event(lambda s: 1.0)),
        ValueError,
        ("events must be a list",),
    ),
    "limits of members as a pair": (
        lambda w: w.sim.run_batch(1.0, states=2, limits={"hinge": (0, 1)}),
        ValueError,
        ("'hinge'", "mapping such as {'upper'"),
    ),
    # ---- sweeps
    "Sweep(simulator)": (lambda w: ct.Sweep(w.sim), TypeError, ("Sweep needs 'keep'", "function of a Batch")),
    "Sweep(duration)": (lambda w: ct.Sweep(w.sim, 1.0, keep=len), TypeError, ("1 argument by position, got 2",)),
    "a sample of one number": (lambda w: ct.sample({"a": 1.0}, 5), ValueError, ("'a'", "(lower, upper)")),
    "sample(method='lhs')": (lambda w: ct.sample({"a": (0, 1)}, 5, "lhs"), ValueError, ("'latin_hypercube'", "'lhs'")),
    "no sweep there": (lambda w: ct.open_sweep("nowhere"), ValueError, ("nowhere", "not the folder of a sweep")),
    "run_batch(n)": (lambda w: w.sim.run_batch(10), ValueError, ("states", "coordinates=")),
    "keep='position'": (
        lambda w: w.sim.run_batch(steps=1, states=2, keep="position"),
        ValueError,
        ("keep must be a function of a Batch",),
    ),
    # ---- one thing in place of another
    "plot.energy(m)": (lambda w: ct.plot.energy(w.m), AttributeError, ("kinetic_energy", "of a state or a run")),
    "plot.trajectory": (lambda w: ct.plot.trajectory, AttributeError, ("'catena.plot' has no attribute 'trajectory'",)),
    "scenes.fourbar": (lambda w: ct.scenes.fourbar, AttributeError, ("did you mean 'four_bar'?",)),
    "joint.angle": (lambda w: w.m.joints["hinge"].angle, AttributeError, ("angle", "state.joint('name')")),
    "state.set": (lambda w: w.state.set("hinge", 1), AttributeError, ("state.joint('name').angle = 0.3",)),
    "body.pose": (lambda w: w.m.bodies["arm"].pose, AttributeError, ("`position` and `orientation`",)),
    "batch[5]": (lambda w: w.sim.run_batch(steps=1, states=2)[5], IndexError, ("no member 5", "from 0 to 1")),
    "batch.q": (lambda w: w.sim.run_batch(steps=1, states=2).q, AttributeError, ("batch.joint('name').coordinates",)),
    "Ball(axis=)": (lambda w: ct.Ball("world", "arm", axis=(0, 0, 1)), TypeError, ("about all axes", "Revolute")),
    "a shape of three numbers": (
        lambda w: arm().bodies["arm"].add_shape("box", 1, 1, 1),
        TypeError,
        ("one tuple", "(0.1, 0.1, 0.1)"),
    ),
    "a cube": (lambda w: arm().bodies["arm"].add_shape("cube", (1, 1, 1)), ValueError, ("'cube'", "no kind of shape")),
    "an effort of text": (
        lambda w: ct.Motor("hinge", "1"),
        ValueError,
        ("motor on hinge", "effort must be a number", "'1'"),
    ),
    # ---- degrees
    "angle = 90": (
        lambda w: setattr(arm().state().joint("hinge"), "angle", 90),
        ct.CatenaWarning,
        ("'hinge'", "14.3 turns", "math.radians(90)"),
    ),
    "assemble 45 degrees": (
        lambda w: w.m.assemble(coordinates={"hinge": 45}),
        ct.CatenaWarning,
        ("'hinge'", "math.radians(45)"),
    ),
    "limits in degrees": (
        lambda w: setattr(arm().joints["hinge"], "limits", ct.Limits(-90, 90)),
        ct.CatenaWarning,
        ("'hinge'", "limit", "math.radians(-90)"),
    ),
    # ---- running
    "a simulator of a path": (lambda w: ct.Simulator("arm.urdf", 0.01), ValueError, ("needs a Mechanism", "arm.urdf")),
    "dt=0": (lambda w: ct.Simulator(w.m, dt=0), ValueError, ("dt", "positive")),
    "order=3": (lambda w: ct.Simulator(w.m, 0.01, order=3), ValueError, ("order", "1, 2, 4, 6, 8")),
    "a solver of others": (lambda w: ct.Simulator(w.m, 0.01, solver="newton"), ValueError, ("solver", "'auto'")),
    "run()": (lambda w: w.sim.run(), ValueError, ("duration and steps",)),
    "a state of numbers": (lambda w: w.sim.run(steps=1, state=[0.1]), ValueError, ("must be a State", "[0.1]")),
    "a control of time alone": (
        lambda w: w.sim.run(steps=1, control=lambda t: None),
        ValueError,
        ("control(t, live)", "takes (t)"),
    ),
    "a control that is none": (lambda w: w.sim.run(steps=1, control=3), ValueError, ("control(t, live)", "got 3")),
    "a control's number": (lambda w: w.sim.run(steps=1, control=lambda t, s: 1.0), ValueError, ("forces", "shape")),
    "editing afterwards": (lambda w: w.sim.mechanism.add_body("b", BALL), ValueError, ("simulator", ".copy()")),
    "gravity afterwards": (
        lambda w: setattr(w.sim.mechanism, "gravity", (0, 0, 0)),
        AttributeError,
        ("gravity", "simulator", "mechanism.copy()"),
    ),
    "a time beyond the run": (lambda w: w.run.at(100.0), ValueError, ("within the run", "100")),
    "a run as a table": (lambda w: w.run.save("x.csv"), ValueError, ("x.csv", ".npz", "to_csv")),
    "too many coordinates": (lambda w: setattr(arm().state(), "coordinates", (1, 2)), ValueError, ("coordinates",)),
}


# packages without which another sentence comes first
NEEDED = {"no sweep there": "xarray", "plot.energy(m)": "matplotlib"}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_a_sentence_with_its_remedy(made: SimpleNamespace, mistake: str) -> None:
    attempt, kind, words = MISTAKES[mistake]
    if mistake in NEEDED:
        pytest.importorskip(NEEDED[mistake])
    with pytest.raises(kind) as caught:
        attempt(made)
    for word in words:
        assert word in str(caught.value)


def test_what_is_there_and_cannot_be_had_says_why_itself() -> None:
    """An error of a property is not taken for a name that nobody knows."""

    class Broken(Spoken):
        @property
        def angle(self) -> float:
            raise AttributeError("a ball joint has no angle")

    with pytest.raises(AttributeError, match="a ball joint has no angle"):
        _ = Broken().angle
    with pytest.raises(AttributeError, match="'angel'; did you mean 'angle'"):
        _ = Broken().angel


def test_hints_name_arguments_that_exist() -> None:
    known: set[str] = set()
    for place in (ct, ct.scenes, ct.plot):
        for item in vars(place).values():
            members = inspect.getmembers(item, inspect.isroutine) if inspect.isclass(item) else [("", item)]
            for _, call in members:
                if inspect.isfunction(call) or inspect.ismethod(call):
                    known.update(inspect.signature(call).parameters)
    assert {name for names in _ARGUMENTS.values() for name in names} - known == set()


def test_an_error_inside_a_call_is_left_alone() -> None:
    def wrong(t: float) -> float:
        return max(t, 1.0, key=t)  # type: ignore[call-overload,no-any-return]

    m = arm()
    m.add_force(ct.Motor("hinge", wrong))
    simulator = ct.Simulator(m, 0.01)
    with pytest.raises(TypeError, match="not callable"):
        simulator.run(steps=1)


def test_explained_calls_keep_their_signature_and_pickle() -> None:
    assert list(inspect.signature(ct.box).parameters) == ["size", "mass", "density"]
    assert list(inspect.signature(ct.Revolute).parameters)[:3] == ["a", "b", "axis"]
    assert ct.box.__module__ == "catena.describe.inertia"
    assert pickle.loads(pickle.dumps(ct.box)) is ct.box
    assert (ct.Simulator.run.__doc__ or "").strip()
    # nothing is put in front of what is called once a step
    assert not hasattr(ct.Live.joint, "__wrapped__")
    assert not hasattr(ct.JointView.__init__, "__wrapped__")
    assert not hasattr(ct.JointReader.__init__, "__wrapped__")


def test_steps_are_counted_by_any_whole_number() -> None:
    live, batch = ct.Simulator(arm(), 0.01).start(), ct.Simulator(arm(), 0.01).start_batch(2)
    live.step(np.int64(2))
    live.step(count=np.int32(1))
    batch.step(np.int64(3))
    assert live.time == pytest.approx(0.03)
    np.testing.assert_allclose(batch.time, 0.03)


def test_what_is_returned_can_be_imported(made: SimpleNamespace) -> None:
    m = arm()
    m.add_force(ct.Spring("hinge", 1.0, name="spring"))
    live = ct.Simulator(m, 0.01).start()
    returned: list[object] = [live.body("arm"), live.joint("hinge"), live.force("spring"), m.spanning_tree()]
    returned += [m.copy().add(arm(), "b_"), made.run.body("arm"), made.state.joint("hinge"), m.report()]
    returned += [made.sim.run_batch(states=2, steps=1).joint("hinge")]
    for item in returned:
        assert getattr(ct, type(item).__name__) is type(item)


def test_warnings_name_the_line_of_the_user() -> None:
    with pytest.warns(ct.CatenaWarning) as caught:
        arm().state().joint("hinge").angle = 90
    assert caught[0].filename == __file__


def test_what_refuses_words_still_copies_and_pickles(made: SimpleNamespace) -> None:
    for again in (copy.deepcopy(made.m), pickle.loads(pickle.dumps(made.m))):
        assert list(again.bodies) == ["arm"]
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(made.run)).position, made.run.position)
    assert not hasattr(made.m, "_nothing")
    assert not hasattr(made.run, "__array_interface__")
