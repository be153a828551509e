"""Words of other engines and of habit, and what they are called here: what is said where an attribute does not exist.

A word that people try is one row of `_WORDS`, under the name of the class, or of the module, that they try it on.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
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
        "Floating": "a joint that leaves all freedoms is Free",
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
        "nq": "the joint coordinates are `coordinates`, as many as len(mechanism.coordinates)",
        "nv": "the joint coordinates are `coordinates`, as many as len(mechanism.coordinates)",
    }
    | _in_joint_space("mechanism.state()"),
    "State": _in_joint_space("state"),
    "Trajectory": {
        "plot": "the module catena.plot draws runs, as in catena.plot.energy(run)",
        "animate": "run.show() plays it in a browser, run.save_html(folder) writes a page",
        "times": "the times are `time`",
        "x": "positions of bodies are `position`, (step, body, 3)",
        "states": "a run is indexed by node: run[-1] is its last state",
    }
    | _in_joint_space("run"),
    "Live": {
        "data": "its arrays are its own attributes: live.position, live.coordinates, live.input",
        "reset": "live.restart(state) begins anew",
        "torque": "set what a motor exerts by name, as in live.inputs['motor'] = 1.0",
        "set_input": "set inputs by name, as in live.inputs['motor'] = 1.0",
        "ctrl": "inputs are `input`, or by name live.inputs['motor']",
        "dt": "the time step is live.simulator.dt",
    }
    | _in_joint_space("live"),
    "LiveBatch": {"restart": "batch.reset(members) lets members begin anew"} | _in_joint_space("batch"),
    "Simulator": {
        "simulate": "simulator.run(duration=2.0) runs it",
        "reset": "every run begins anew, at run(state=...); simulator.start(state) makes a live mechanism",
        "data": "a run has the arrays: run = simulator.run(duration=2.0), then run.position",
    },
}


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
