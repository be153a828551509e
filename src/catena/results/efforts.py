"""Efforts of forces at recorded nodes, computed from the states there, and their work between nodes.

The formulas are those of the core (cpp/physics/law.hpp), evaluated with the coordinate and rate at the node in place of
those of the interval. Springs and motors act at the nodes, so their efforts are exact. For forces that are implicit in
the step, the difference is of second order. The work is that of the force in the interval, as in the step, over the
displacement between two nodes. If the nodes are not those of plain steps, it is the integral of the power between them,
along the polynomials of `run.at`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .._util.rotation import Array, conjugate, multiply, rotate
from ..describe.forces import NUMBERS, Rotary
from ..describe.signals import rate as derivative
from . import analysis
from .impacts import stop_efforts

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..describe.forces import Force, Part, Resistance
    from ..describe.mechanism import Mechanism
    from .trajectory import Trajectory


# points of Gauss's rule between two nodes, and what makes a force more than a line over the coordinate
_GAUSS = 5
_BENT = ("damping", "friction", "kp", "kd", "side")


class ForceHistory:
    """One force of the mechanism over time, along its measure; a bushing has a column for each direction.

    Drag has six columns: along and about the axes of its body. A damper on a ball joint has three, along the axes of
    the joint frame on a.
    """

    def __init__(self, run: Trajectory, force: Force) -> None:
        self._run = run
        self._force = force

    @property
    def force(self) -> Force:
        """The force of this history."""
        return self._force

    @property
    def coordinate(self) -> Array:
        """Measure of the force (step,): an angle (rad, including full turns), a displacement or a distance (m)."""
        if self._force.slows:
            raise ValueError(f"{self._force.label} has no coordinate, because it acts on velocities")
        return self._columns([analysis.measured(self._run, part.measure) for part in self._force.parts])

    @property
    def rate(self) -> Array:
        """Rate of the measure (step,) in rad/s or m/s."""
        rates = [_rate(self._run, part) for part in self._force.parts]
        rates += [column for r in self._force._resistances for column in self._resisted(r).T]
        return self._columns(rates + [column for r in self._force._rotaries for column in self._turning(r).T])

    @property
    def effort(self) -> Array:
        """Torque or force (step,) in N m or N along the measure; positive if it acts to increase the measure."""
        efforts = [self._effort(part) for part in self._force.parts]
        resisted = [(-r.numbers * self._resisted(r)).T for r in self._force._resistances]
        resisted += [(-r.damping * self._turning(r)).T for r in self._force._rotaries]
        return self._columns(efforts + [column for columns in resisted for column in columns])

    @property
    def power(self) -> Array:
        """Power supplied to the mechanism (step,) in W; negative if the force removes energy."""
        power: Array = np.reshape(self.effort * self.rate, (len(self._run), -1)).sum(axis=1)
        return power

    @property
    def work(self) -> Array:
        """Energy supplied to the mechanism since the first node (step,) in J; negative if the force removes energy.

        If all nodes of a run of order 2 were recorded, this is the sum of the work of every step, as the step defines
        it. Otherwise it is the integral of the power along the motion that `run.at` interpolates between nodes.
        """
        total = np.zeros(len(self._run))
        if len(self._run) < 2:
            return total
        between = None if self._has_all_steps() else self._between()
        parts = self._force.parts
        for k, part in enumerate(parts):
            # what is linear in the coordinate is exact over any way
            linear = not part.functions and not any(part.law[name] for name in _BENT)
            total[1:] += np.cumsum(self._work(part) if between is None or linear else between[k])
        against: list[Resistance | Rotary] = [*self._force._resistances, *self._force._rotaries]
        for k, what in enumerate(against):
            total[1:] += np.cumsum(self._work_against(what) if between is None else between[len(parts) + k])
        return total

    def _has_all_steps(self) -> bool:
        run = self._run
        is_plain = run.info is None or run.info.order <= 2
        is_plain = is_plain and run.made.impacts is not None and len(run.made.impacts) == 0
        return is_plain and len(run.substeps) == len(run) - 1 and bool((run.substeps == 1).all())

    def _between(self) -> list[Array]:
        """Integral of the power of all parts between each node and the next, by Gauss quadrature."""
        time = self._run.time
        places, weights = np.polynomial.legendre.leggauss(_GAUSS)
        half = 0.5 * np.diff(time)
        times = (0.5 * (time[1:] + time[:-1]))[:, None] + half[:, None] * places
        there = ForceHistory(self._run.at(times.ravel()), self._force)
        power = [
            np.zeros(times.size) if part.is_stop else there._effort(part) * _rate(there._run, part)
            for part in self._force.parts
        ]
        power += [-(r.numbers * there._resisted(r) ** 2).sum(axis=1) for r in self._force._resistances]
        power += [-r.damping * (there._turning(r) ** 2).sum(axis=1) for r in self._force._rotaries]
        return [half * (each.reshape(times.shape) @ weights) for each in power]

    def _resisted(self, resistance: Resistance) -> Array:
        """Velocity and angular velocity of a body along its own axes (step, 6)."""
        run, row = self._run, self._run.mechanism.rows()[resistance.body]
        return _along(run.orientation[:, row], run.velocity[:, row], run.angular_velocity[:, row])

    def _turning(self, rotary: Rotary) -> Array:
        """Angular velocity of b relative to a (step, 3), along the axes of the joint frame on a."""
        run, joint = self._run, self._run.mechanism.joints[rotary.joint]
        frame = np.broadcast_to(joint.frame_a, (len(run), 4))
        spin = np.zeros((len(run), 3))
        for body, sign in ((joint.a, -1), (joint.b, 1)):
            if not body.is_world:
                spin += sign * run.angular_velocity[:, run.mechanism.rows()[body.name]]
        if not joint.a.is_world:
            frame = multiply(run.orientation[:, run.mechanism.rows()[joint.a.name]], frame)
        return rotate(conjugate(frame), spin)

    def _work_against(self, what: Resistance | Rotary) -> Array:
        """Work between each node and the next (step - 1,), half of it along the body axes at either node."""
        run, rows = self._run, self._run.mechanism.rows()
        spent = np.zeros(len(run) - 1)
        if isinstance(what, Rotary):
            joint, way = run.mechanism.joints[what.joint], np.zeros((len(run) - 1, 3))
            for body, sign in ((joint.a, -1), (joint.b, 1)):
                if not body.is_world:
                    way += sign * _turned(run.orientation[:, rows[body.name]])
            spent -= what.damping * (way**2).sum(axis=1) / np.diff(run.time)
            return spent
        row = rows[what.body]
        q = run.orientation[:, row]
        for axes in (q[:-1], q[1:]):
            way = _along(axes, np.diff(run.position[:, row], axis=0), _turned(q))
            spent -= 0.5 * (what.numbers * way**2).sum(axis=1) / np.diff(run.time)
        return spent

    def _work(self, part: Part) -> Array:
        """Work between each node and the next (step - 1,)."""
        if part.is_stop:
            return np.zeros(len(self._run) - 1)
        time, position = self._run.time, analysis.measured(self._run, part.measure)
        way = np.diff(position)
        force, target = self._function(part, "effort"), self._function(part, "target")
        # functions of time act at the nodes; what is set holds from one to the next
        held = 0.5 * (force[1:] + force[:-1]) if "effort" in part.functions else force[:-1]
        wanted = self._function(part, "target_rate")[:-1]
        if "target" in part.functions:
            wanted = np.diff(target) / np.diff(time)
            target = np.array([float(part.functions["target"](float(t))) for t in 0.5 * (time[1:] + time[:-1])])
        else:
            target = target[:-1]
        middle = 0.5 * (position[1:] + position[:-1])
        work: Array = _exerted(self._law(part), middle, way / np.diff(time), held, target, wanted) * way
        return work

    def _law(self, part: Part) -> Mapping[str, float]:
        if part.law["inertia"] > 0:
            raise ValueError(f"{self._force.label} has no effort at a node, because it acts as an inertia")
        return part.law

    def _columns(self, parts: list[Array]) -> Array:
        return parts[0] if len(parts) == 1 else np.stack(parts, axis=1)

    def _effort(self, part: Part) -> Array:
        if part.is_stop:
            stops = stop_efforts(self._run, self._force)
            return stops[:, [each for each in self._force.parts if each.is_stop].index(part)]
        wanted = self._function(part, "target_rate")
        if "target" in part.functions:
            wanted = np.array([float(derivative(part.functions["target"], float(t))) for t in self._run.time])
        force, target = self._function(part, "effort"), self._function(part, "target")
        position = analysis.measured(self._run, part.measure)
        return _exerted(self._law(part), position, _rate(self._run, part), force, target, wanted)

    def _function(self, part: Part, name: str) -> Array:
        """A parameter of the law at all nodes: its constant, the value of its function of time, or the input."""
        if name not in part.functions:
            inputs = self._run.mechanism.inputs
            if name == self._force.input and self._run.inputs is not None and self._force.name in inputs:
                return self._run.inputs[:, inputs.index(self._force.name)]
            return np.full(len(self._run), part.law[name])
        return np.array([float(part.functions[name](float(t))) for t in self._run.time])


def _rate(run: Trajectory, part: Part) -> Array:
    """Rate (step,) of what a part acts on."""
    if not part.terms:
        return analysis.measured_rate(run, part.measure)
    rates = [term.coefficient * analysis.measured_rate(run, term.measure) for term in part.terms]
    return np.sum(rates, axis=0)  # type: ignore[no-any-return]


def _turned(orientation: Array) -> Array:
    """Twice the vector part of the step quaternions (step - 1, 3) between orientations (step, 4)."""
    turn = multiply(orientation[1:], conjugate(orientation[:-1]))
    found: Array = 2 * turn[:, 1:] * np.where(turn[:, :1] < 0, -1.0, 1.0)
    return found


def _along(orientation: Array, linear: Array, angular: Array) -> Array:
    """Two world vectors (..., 3) along the axes of a body (..., 6)."""
    back = conjugate(orientation)
    return np.concatenate((rotate(back, linear), rotate(back, angular)), axis=-1)


def _exerted(
    law: Mapping[str, float], position: Array, rate: Array, force: Array, target: Array, target_rate: Array
) -> Array:
    """Effort along the measure, at positions and rates (...) of it."""
    pull = -law["stiffness"] * (position - law["rest_length"]) - law["damping"] * rate
    # a spring of one side is slack on the other, and its damper does not turn it round
    slack = (law["side"] * (law["rest_length"] - position) > 0) | (law["side"] * pull > 0)
    effort = force + np.where(slack, 0.0, pull)
    effort -= law["friction"] * np.tanh(rate / law["threshold"])
    return effort + _driven(law, position, rate, target, target_rate)


def _driven(
    law: Mapping[str, float] | Mapping[str, Array], position: Array, rate: Array, target: Array, target_rate: Array
) -> Array:
    """Effort of a servo, which may be limited."""
    servo = law["kp"] * (target - position) + law["kd"] * (target_rate - rate)
    found: Array = np.clip(servo, -law["effort_limit"], law["effort_limit"])
    return found


class InputEfforts:
    """Efforts of all motors and servos that are inputs (..., input), from joint coordinates, rates and inputs.

    `laws` (..., law, number) are the parameters of members that have their own.
    """

    def __init__(self, mechanism: Mechanism, laws: Array | None = None) -> None:
        places = mechanism.coordinate_places()
        forces = [mechanism.forces[name] for name in mechanism.inputs]
        measures = [force.parts[0].measure for force in forces]
        self._place = np.array([places[m.joint].start + m.index for m in measures], dtype=int)
        kinds = np.array([force.input for force in forces], dtype=object)
        self._is_motor, self._is_position, self._is_rate = (
            kinds == kind for kind in ("effort", "target", "target_rate")
        )
        if laws is None:
            own = np.reshape([[force.parts[0].law[key] for key in NUMBERS] for force in forces], (-1, len(NUMBERS)))
        else:
            parts = [name for name, force in mechanism.forces.items() for _ in force.parts]
            owners = {name: row for row, name in enumerate(parts)}
            own = laws[..., [owners[name] for name in mechanism.inputs], :]
        self._law = {key: own[..., k] for k, key in enumerate(NUMBERS)}

    @property
    def described(self) -> Array:
        """Inputs (..., input) as described in the mechanism or for the members."""
        servo = np.where(self._is_position, self._law["target"], self._law["target_rate"])
        return np.where(self._is_motor, self._law["effort"], servo)

    def __call__(self, coordinates: Array, rates: Array, inputs: Array | None) -> Array:
        """Efforts at the given coordinates and rates, N m or N; for inputs None, those described are used."""
        if inputs is None:
            inputs = np.broadcast_to(self.described, (*coordinates.shape[:-1], len(self._place)))
        position, rate = coordinates[..., self._place], rates[..., self._place]
        target = np.where(self._is_position, inputs, self._law["target"])
        servo = _driven(self._law, position, rate, target, np.where(self._is_rate, inputs, self._law["target_rate"]))
        return np.where(self._is_motor, inputs, servo)
