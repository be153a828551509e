"""Words of other engines and of habit, and what they are called here: what is said of an unknown attribute or argument.

An attribute that people try is one row of `_WORDS`, under the name of the class, or of the module, that they try it on.
An argument is one row of `_ARGUMENTS`, or of `_CALLS` where its remedy depends on what is called.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NoReturn

from .lookup import did_you_mean

_BY_NAME = "look it up by name, as in mechanism.{0}['name']"
_RUN = "make a simulator and run it, as in Simulator(mechanism, dt=0.01).run(duration=2.0)"
_COORDINATES = "joint coordinates are `coordinates`, or by joint, as in {0}.joint('name').coordinates"
_RATES = "joint rates are `rates`, or by joint, as in {0}.joint('name').rates"


def _in_joint_space(where: str) -> dict[str, str]:
    coordinates, rates = _COORDINATES.format(where), _RATES.format(where)
    words = dict.fromkeys(("q", "qpos", "angles", "joint_angles", "joint_positions"), coordinates)
    return words | dict.fromkeys(("v", "qvel", "qd", "dq", "joint_velocities"), rates) | {"t": "the time is `time`"}


_WORDS: Mapping[str, Mapping[str, str]] = {
    "catena": {
        "Hinge": "a hinge is Revolute",
        "Continuous": "a hinge without limits is Revolute",
        "Weld": "a weld is Fixed",
        "Slider": "a sliding joint is Prismatic",
        "Slide": "a sliding joint is Prismatic",
        "Spherical": "a spherical joint is Ball",
        "Floating": "a joint without constraints is Free",
        "Actuator": "actuators are Motor and Servo",
        "Model": "a model is a Mechanism",
        "Robot": "a model is a Mechanism",
        "MjModel": "a model is a Mechanism: Mechanism.from_mjcf(path) reads MuJoCo's files",
        "MultibodyPlant": "a model is a Mechanism",
        "World": "the world is `mechanism.world`, or the name 'world'",
        "Link": "a link is a body: mechanism.add_body(name, shape)",
        "load_urdf": "Mechanism.from_urdf(path) reads URDF",
        "loadURDF": "Mechanism.from_urdf(path) reads URDF",
        "load": "Mechanism.load, from_urdf, from_sdf and from_mjcf read mechanisms, Trajectory.load reads runs",
    },
    "Mechanism": {
        "joint": _BY_NAME.format("joints"),
        "body": _BY_NAME.format("bodies"),
        "force": _BY_NAME.format("forces"),
        "links": "links are `bodies`",
        "add_link": "a link is a body: mechanism.add_body(name, shape)",
        "add_spring": "a spring is a force: mechanism.add_force(Spring(joint, stiffness))",
        "add_motor": "a motor is a force: mechanism.add_force(Motor(joint, force))",
        "add_actuator": "actuators are forces: mechanism.add_force(Motor(joint, force)) or Servo(...)",
        "add_revolute": "mechanism.add_joint(Revolute(a, b, axis=..., at=...)) adds a hinge",
        "add_hinge": "mechanism.add_joint(Revolute(a, b, axis=..., at=...)) adds a hinge",
        "step": _RUN,
        "run": _RUN,
        "simulate": _RUN,
        "plot": "catena.plot draws mechanisms; mechanism.show() opens a view",
        **dict.fromkeys(
            ("energy", "kinetic_energy", "potential_energy", "momentum", "drift"),
            "that is read of a state or a run, as in mechanism.state().energy()",
        ),
        "modes": "Dynamics(mechanism).modes(state) finds vibration modes",
        "mass_matrix": "Dynamics(mechanism).mass_matrix(state) finds it",
        "jacobian": "Dynamics(mechanism).jacobian(state, name) finds it",
        "set_limits": "set limits of a joint, as in mechanism.joints['name'].limits = Limits(lower, upper)",
        "nq": "the joint coordinates are `coordinates`, as many as len(mechanism.coordinates)",
        "nv": "the joint coordinates are `coordinates`, as many as len(mechanism.coordinates)",
    }
    | dict.fromkeys(("ik", "inverse_kinematics"), "mechanism.reach({'hand': (1, 0, 0.5)}) moves frames to targets")
    | dict.fromkeys(
        ("add_ground", "add_floor", "add_plane", "add_collision"),
        "mechanism.add_contact(body) keeps a point or ball of a body above the floor, or any plane",
    )
    | _in_joint_space("mechanism.state()"),
    "Dynamics": {
        **dict.fromkeys(("M", "mass", "inertia", "crba"), "the mass matrix is mass_matrix(state)"),
        **dict.fromkeys(("rnea", "inverse_dynamics"), "inverse dynamics is efforts(state, accelerations)"),
        **dict.fromkeys(("aba", "forward_dynamics"), "forward dynamics is accelerations(state, efforts)"),
        **dict.fromkeys(("coriolis", "nle", "qfrc_bias"), "bias(state) holds gravity, Coriolis and passive forces"),
        **dict.fromkeys(("equilibrium", "inverse_kinematics", "reach"), "that is a method of the mechanism itself"),
    },
    "State": {"set": "set joints by name, as in state.joint('name').angle = 0.3"} | _in_joint_space("state"),
    **dict.fromkeys(
        ("Revolute", "Prismatic", "Cylindrical", "Universal", "Ball", "Screw"),
        dict.fromkeys(
            ("angle", "displacement", "coordinates", "rate", "rates"),
            "that is read of a state or a run, as in state.joint('name').coordinates",
        ),
    ),
    "Body": dict.fromkeys(("pose", "transform"), "a pose is `position` and `orientation`"),
    "Batch": {"plot": "the module catena.plot draws one member, as in catena.plot.energy(batch[0])"}
    | _in_joint_space("batch"),
    "Trajectory": {
        "plot": "the module catena.plot draws runs, as in catena.plot.energy(run)",
        "animate": "run.show() plays it in a browser, run.save_html(folder) writes a page",
        "times": "the times are `time`",
        "x": "positions of bodies are `position`, (step, body, 3)",
        "contact_forces": "read one contact, as in run.contact('name').force",
        "states": "a run is indexed by node: run[-1] is its last state",
    }
    | _in_joint_space("run"),
    "Live": {
        "data": "its arrays are its own attributes: live.position, live.coordinates, live.inputs",
        "reset": "live.restart(state) begins anew",
        "torque": "set what a motor exerts by name, as in live.set(motor=1.0)",
        "set_input": "set inputs by name, as in live.set(motor=1.0)",
        "ctrl": "inputs are `inputs`, or by name, as in live.set(motor=1.0)",
        "input": "inputs are `inputs`, or by name, as in live.set(motor=1.0)",
        "dt": "the time step is live.simulator.dt",
    }
    | _in_joint_space("live"),
    "LiveBatch": {"restart": "batch.reset(members) restarts members"} | _in_joint_space("batch"),
    "Simulator": {
        "simulate": "simulator.run(duration=2.0) runs it",
        "reset": "every run has its own start, as in run(state=...); simulator.start(state) returns a live mechanism",
        "data": "a run has the arrays: run = simulator.run(duration=2.0), then run.position",
    },
}


# what arguments are called elsewhere: the names to look for here
_ARGUMENTS: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(("timestep", "time_step", "step_size", "stepsize", "h", "delta_t"), ("dt",)),
    **dict.fromkeys(("t_end", "t_final", "tf", "T", "t", "time", "t_span", "seconds"), ("duration",)),
    **dict.fromkeys(("n_steps", "num_steps", "nsteps", "n"), ("steps",)),
    **dict.fromkeys(("initial_state", "start", "x0", "y0", "state0", "q0"), ("state", "states", "guess")),
    **dict.fromkeys(("parent", "body_a", "body1", "link_a"), ("a",)),
    **dict.fromkeys(("child", "body_b", "body2", "link_b"), ("b",)),
    **dict.fromkeys(("origin", "anchor", "pivot", "point", "location"), ("at", "anchors", "points")),
    **dict.fromkeys(("pos", "xyz"), ("position", "at")),
    **dict.fromkeys(("quat", "quaternion", "rotation"), ("orientation",)),
    **dict.fromkeys(("k", "spring_constant"), ("stiffness",)),
    **dict.fromkeys(("c", "d"), ("damping",)),
    **dict.fromkeys(("rest", "free_length", "springref", "l0", "length"), ("rest_length",)),
    **dict.fromkeys(("torque", "force"), ("effort", "force", "loads")),
    **dict.fromkeys(("max_force", "max_torque", "max_effort", "forcerange", "limit"), ("effort_limit", "effort")),
    **dict.fromkeys(("gain", "p", "p_gain"), ("kp",)),
    **dict.fromkeys(("rate_gain", "kv", "d_gain"), ("kd",)),
    **dict.fromkeys(("setpoint", "reference", "goal"), ("target",)),
    **dict.fromkeys(("forces", "torques", "external_forces", "wrenches", "xfrc_applied"), ("loads",)),
    **dict.fromkeys(("controller", "policy", "callback"), ("control",)),
    **dict.fromkeys(("m",), ("mass",)),
    **dict.fromkeys(("r",), ("radius",)),
    **dict.fromkeys(("rho",), ("density",)),
    **dict.fromkeys(("dimensions", "extents", "half_extents", "lengths"), ("size",)),
    **dict.fromkeys(("inertia", "geometry", "solid", "geom"), ("tensor", "shape")),
    **dict.fromkeys(("g",), ("gravity",)),
    **dict.fromkeys(("direction", "normal"), ("axis",)),
    **dict.fromkeys(("tol", "eps"), ("tolerance",)),
    **dict.fromkeys(("rtol", "atol"), ("accuracy",)),
    **dict.fromkeys(("max_iter", "maxiter", "iterations"), ("max_iterations",)),
    **dict.fromkeys(("workers", "n_jobs", "num_threads"), ("threads",)),
    **dict.fromkeys(("q", "qpos", "angles", "drive"), ("coordinates",)),
    **dict.fromkeys(("v", "qvel", "velocities"), ("rates",)),
    **dict.fromkeys(("min", "lo"), ("lower",)),
    **dict.fromkeys(("max", "hi"), ("upper",)),
    **dict.fromkeys(("velocity_limit", "max_velocity"), ("speed",)),
    **dict.fromkeys(("filename", "file", "fname", "urdf"), ("path",)),
    **dict.fromkeys(("multiplier", "coefficient"), ("factor", "ratio")),
}

_LIMITS = "limits belong to the joint: set joint.limits = Limits(lower, upper)"
_SOLID = "the mass belongs to the solid, as in mechanism.add_body('arm', box((0.1, 0.1, 0.1), mass=1.0))"
_AXIS = "the direction of the joint axis, in the world frame, as in axis=(0, 0, 1)"
_SET_IN_STATE = "set it in the state: state = mechanism.state(), then state.joint('name').coordinates = ..."

# what to say of an argument of one function: an unknown one, a missing one, or "*" where too many are given in a row
_CALLS: Mapping[str, Mapping[str, str]] = {
    "Simulator": dict.fromkeys(
        ("integrator", "method", "scheme"), "the integrator is variational; choose its order, as in order=4"
    )
    | dict.fromkeys(("gravity", "g"), "gravity belongs to the mechanism, as in Mechanism(gravity=(0, 0, -9.81))")
    | {
        "duration": "the duration belongs to the run, as in simulator.run(duration=2.0)",
        "state": "give it to simulator.run(state=...) or simulator.start(state)",
        "mechanism": "the mechanism to simulate, as in Simulator(mechanism, dt=0.01)",
    },
    "Simulator.run": {
        "dt": "the time step belongs to the simulator, as in Simulator(mechanism, dt=0.01)",
        "inputs": "inputs are set in a control function: def control(t, live): live.set(knee=3.0)",
    },
    "Mechanism.add_body": {
        "mass": _SOLID,
        "inertia": _SOLID,
        "density": _SOLID,
        "shape": "a solid or an Inertia, as in mechanism.add_body('arm', box((0.1, 0.1, 0.1), mass=1.0))",
    },
    "Mechanism.state": dict.fromkeys(("angle", "coordinates", "q", "position", "rates"), _SET_IN_STATE),
    "Contact": {"restitution": "mechanism.add_contact(body) makes contacts"},
    "Sweep": {"keep": "a function of a Batch, as in keep=lambda batch: {'end': batch.position[:, -1]}"},
    "Revolute": {"axis": _AXIS},
    "Prismatic": {"axis": _AXIS},
    "Ball": {"axis": "a ball joint turns about all axes; a hinge is Revolute"},
    "Body.add_shape": {"*": "the size is one tuple, as in add_shape('box', (0.1, 0.1, 0.1))"},
    "box": {"*": "the edges are one triple, as in box((0.1, 0.1, 0.1), mass=1.0)"},
    "sphere": {"*": "give mass or density by name, as in sphere(0.1, mass=1.0)"},
    "cylinder": {"*": "give mass or density by name, as in cylinder(0.1, 0.5, mass=1.0)"},
    "rod": {"*": "give mass or density by name, as in rod((0, 0, 0), (0, 0, -1), mass=1.0)"},
}


def argument_hint(call: str, name: str, known: Sequence[str]) -> str:
    """What to add of an argument: its remedy in this call, or what it is called here if that is known to the call."""
    if hint := _CALLS.get(call, {}).get(name):
        return f"; {hint}"
    if name in ("limits", "lower", "upper", "range") and "axis" in known:
        return f"; {_LIMITS}"
    meant = next((word for word in _ARGUMENTS.get(name, ()) if word in known), "")
    return f"; it is called {meant!r}" if meant and name not in known else ""


def not_there(owner: str, name: str, known: Iterable[str], called: str = "") -> str:
    """What to say of an attribute that a class or module does not have: what it is called here, or what was meant."""
    if name.startswith("_"):
        return f"{called or owner} has no attribute {name!r}"
    hint = _WORDS.get(owner, {}).get(name)
    public = (word for word in known if not word.startswith("_"))
    return f"{called or owner} has no attribute {name!r}{f'; {hint}' if hint else did_you_mean(name, public)}"


class Spoken:
    """Says of an attribute that does not exist what it is called here."""

    # type checkers go on refusing what does not exist
    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> NoReturn:
            if hasattr(type(self), name):
                # it is there and cannot be had: let it say why
                object.__getattribute__(self, name)
            # instances may not be made yet, as where they are unpickled
            raise AttributeError(not_there(type(self).__name__, name, dir(type(self))))
