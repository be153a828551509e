"""Equations of motion in joint coordinates at given poses: mass matrix, bias, efforts, accelerations, Jacobians."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import _core
from .._util.lookup import did_you_mean, name_of, there_are
from .._util.rotation import Array, finite, rotate
from .._util.strict import Strict
from ..assemble.assembly import describe, open_joints
from ..assemble.initial_state import NEARLY_CLOSED
from ..kinematics.geometry import extent
from ..kinematics.state import State
from .equations import Acting, Equations, System
from .linear import LinearModel, linear_model
from .modes import Modes, modes_of
from .poses import Poses, Where, poses_of
from .small_motions import SmallMotions

if TYPE_CHECKING:
    from ..describe.bodies import Body
    from ..describe.mechanism import Mechanism
    from ..simulate.live import Live

# looked up once, as calls take a microsecond
_RATES, _MASS = _core.Asked.rates, _core.Asked.mass
_EFFORTS, _ACCELERATIONS = _core.Asked.efforts, _core.Asked.accelerations

# coordinates whose share of the motions left is below this part of the largest are not taken
_INDEPENDENT = 1e-6


class Dynamics(Strict):
    """Mass matrix, inverse and forward dynamics, Jacobians and momentum of a mechanism, in joint coordinates.

    All methods take the pose x as a `State`, `Live`, `Trajectory`, `Batch` or a pair of arrays (coordinates, rates) in
    the order of `mechanism.coordinates`. Leading axes of x, such as the steps of a run, are leading axes of the result.

    `names` are the f independent coordinates of the equations. In a tree these are all its coordinates; a body that
    floats without a `Free` joint adds "body.vx" to "body.wz", its velocity and angular velocity in the world frame. In
    loops, `coordinates` names the independent ones; without it they are chosen at the described pose.

    Gravity, springs, dampers, drag, friction, soft limits and rotors act as they do in a run, in the limit of short
    steps. Hard limits and contacts do not act. The mechanism is compiled once; later changes to it have no effect.
    """

    def __init__(self, mechanism: Mechanism, coordinates: Sequence[str] | None = None) -> None:
        if not hasattr(mechanism, "snapshot"):
            raise TypeError(f"Dynamics needs a Mechanism, got {mechanism!r:.80}; its methods take the state")
        if coordinates is not None and not isinstance(coordinates, Iterable):
            raise TypeError(f"coordinates must be a list of names, got {coordinates!r:.80}")
        self._mechanism = mechanism.snapshot()
        if not self._mechanism.bodies:
            raise ValueError("a mechanism without bodies has no dynamics: add a body first")
        self._system = System(self._mechanism)
        self._every = np.arange(self._mechanism.body_count, dtype=np.int32)
        if coordinates is not None:
            self._system.selected = self._named(coordinates)
        elif not self._system.is_plain_tree:
            self._system.selected = self._independent()
        self._quick = self._system.quick()

    @property
    def mechanism(self) -> Mechanism:
        """The mechanism, as it was when the dynamics were made."""
        return self._mechanism

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the independent coordinates (f,)."""
        return tuple(self._system.names)

    def __repr__(self) -> str:
        return f"Dynamics({self._system.count} coordinates: {', '.join(self.names)})"

    # ---- equations of motion ----

    def rates(self, x: Where) -> Array:
        """Rates (..., f) of the independent coordinates."""
        if self._quick is not None:
            found = self._quick.find(_RATES, x, None, False, False)
            if found is not None:
                return found
        at = self._at(x)
        return at.poses.shaped(at.rates())

    def mass_matrix(self, x: Where) -> Array:
        """Mass matrix M (..., f, f), including rotors: r @ M @ r / 2 is the kinetic energy at rates r, undriven."""
        if self._quick is not None:
            found = self._quick.find(_MASS, x, None, False, False)
            if found is not None:
                return found
        at = self._at(x)
        return at.poses.shaped(at.mass())

    def bias(self, x: Where) -> Array:
        """Efforts (..., f) that keep all rates constant, N m or N: M accelerations + bias = efforts.

        Against gravity, centrifugal and Coriolis forces, springs, dampers, drag and friction. Motors and servos do not
        act here: the efforts are theirs to exert.
        """
        if self._quick is not None:
            found = self._quick.find(_EFFORTS, x, None, True, False)
            if found is not None:
                return found
        at = self._at(x)
        return at.poses.shaped(at.efforts(np.zeros((len(at.poses), self._system.count)), Acting.PASSIVE))

    def gravity(self, x: Where) -> Array:
        """Efforts (..., f) that hold the mechanism at rest against gravity alone, N m or N."""
        at = self._at(x, at_rest=True)
        return at.poses.shaped(at.efforts(np.zeros((len(at.poses), self._system.count)), Acting.GRAVITY))

    def efforts(self, x: Where, accelerations: ArrayLike, actuated: Sequence[str] | None = None) -> Array:
        """Efforts (..., f) that give the independent coordinates these accelerations (..., f): inverse dynamics.

        Springs, dampers and the like help or resist; motors and servos do not act, as the efforts are theirs. With
        `actuated`, a list of coordinates with motors, the efforts (..., actuated) are theirs: of least norm if there
        are more motors than freedoms, and an error if they cannot make the motion.
        """
        if self._quick is not None and actuated is None:
            found = self._quick.find(_EFFORTS, x, accelerations, True, False)
            if found is not None:
                return found
        at = self._at(x)
        given = self._array(at.poses, accelerations, "accelerations")
        needed = at.efforts(given, Acting.PASSIVE)
        if actuated is not None:
            needed = at.shared_by(needed, self._named(actuated), list(actuated))
        return at.poses.shaped(needed)

    def accelerations(self, x: Where, efforts: ArrayLike | None = None) -> Array:
        """Accelerations (..., f) of the independent coordinates, rad/s² or m/s²: forward dynamics.

        With `efforts` (..., f), these act in place of all motors and servos. Without, motors and servos act with the
        inputs of x, or with those described.
        """
        if self._quick is not None:
            found = self._quick.find(_ACCELERATIONS, x, efforts, True, efforts is None)
            if found is not None:
                return found
        at = self._at(x)
        return at.poses.shaped(at.accelerations(self._given(at.poses, efforts)))

    def body_accelerations(self, x: Where, accelerations: ArrayLike | None = None) -> tuple[Array, Array]:
        """Accelerations (..., n, 3) of all centers of mass in m/s² and angular ones (..., n, 3) in rad/s², world frame.

        With the given accelerations (..., f) of the independent coordinates, or with those of `accelerations(x)`.
        """
        at = self._at(x)
        given = (
            at.accelerations(None) if accelerations is None else self._array(at.poses, accelerations, "accelerations")
        )
        found = at.point_accelerations(given, self._every, np.zeros((len(self._every), 3)))
        return at.poses.shaped(found[..., :3]), at.poses.shaped(found[..., 3:])

    # ---- points and frames ----

    def jacobian(self, x: Where, name: str | Body, at: ArrayLike | None = None) -> Array:
        """Jacobian (..., 6, f) of a frame or body: times the rates, its velocity and angular velocity, world frame.

        The velocity is that of the frame's origin, of the body's center of mass, or of the point `at` (3,) m in the
        axes of the frame or body.
        """
        here = self._at(x)
        return here.poses.shaped(here.jacobians(*self._point(name, at))[:, 0])

    def jacobian_rate(self, x: Where, name: str | Body, at: ArrayLike | None = None) -> Array:
        """Rate of the Jacobian times the rates (..., 6): acceleration of a point while all rates are constant.

        The acceleration of the frame, body or point is `jacobian @ accelerations + jacobian_rate`.
        """
        here = self._at(x)
        still = np.zeros((len(here.poses), self._system.count))
        return here.poses.shaped(here.point_accelerations(still, *self._point(name, at))[:, 0])

    # ---- the mechanism as a whole ----

    def center_of_mass(self, x: Where) -> Array:
        """Center of mass (..., 3) in m, world frame."""
        poses = self._poses(x)
        mass = self._masses()
        return poses.shaped(np.einsum("n,pni->pi", mass, poses.position) / mass.sum())

    def center_jacobian(self, x: Where) -> Array:
        """Jacobian (..., 3, f) of the center of mass: times the rates, its velocity."""
        matrix: Array = self.momentum_matrix(x)[..., :3, :] / self._masses().sum()
        return matrix

    def momentum_matrix(self, x: Where) -> Array:
        """Centroidal momentum matrix (..., 6, f).

        Times the rates, it is the linear momentum (kg m/s) and the angular momentum about the center of mass
        (kg m²/s), world frame.
        """
        at = self._at(x)
        mass, poses = self._masses(), at.poses
        tensors = np.array([body.inertia.tensor for body in self._mechanism.bodies.values()])
        jacobians = at.jacobians(self._every, np.zeros((len(mass), 3)))
        linear = mass[:, None, None] * jacobians[..., :3, :]
        turning = at.world_inertia(tensors) @ jacobians[..., 3:, :]
        center = np.einsum("n,pni->pi", mass, poses.position) / mass.sum()
        arm = poses.position - center[:, None]
        moment = np.cross(arm[..., None, :], np.swapaxes(linear, -1, -2))
        angular = turning.sum(axis=1) + np.swapaxes(moment, -1, -2).sum(axis=1)
        return poses.shaped(np.concatenate((linear.sum(axis=1), angular), axis=1))

    # ---- small motions ----

    def modes(self, x: State | Live) -> Modes:
        """Vibration modes about a pose at rest: frequencies, damping and shapes.

        Springs, dampers, gravity and servos act, with the inputs of x or those described. A pose that is not at rest is
        refused: `mechanism.equilibrium` finds one that is.
        """
        state = self._single(x, "modes")
        return modes_of(SmallMotions(self._system, self._poses(state).at_rest()), state)

    def linearize(self, x: State | Live) -> LinearModel:
        """Continuous-time linear model about a pose with its velocities and inputs: A, B, C, D for control toolboxes.

        The states are deviations of the f independent coordinates and of their rates, the outputs the same, the inputs
        those of the mechanism. `control.ss(*model.matrices)` and `scipy.signal.StateSpace(*model.matrices)` take it.
        Where motors, friction and one-sided springs are at a corner, the slopes are those of differences across it.
        """
        return linear_model(self._system, self._poses(self._single(x, "linearize")))

    # ---- private ----

    def _single(self, x: State | Live, what: str) -> State:
        if isinstance(x, State):
            return x
        if isinstance(x, _core.Live):
            return x.state()
        raise TypeError(
            f"{what} takes a State or a Live, got {type(x).__name__}: use run[k] for a node of a run, or "
            "mechanism.assemble(coordinates=...) for given coordinates"
        )

    def _poses(self, x: Where) -> Poses:
        poses = poses_of(self._mechanism, x)
        if isinstance(x, State):
            wide = open_joints(self._system.build, x)
            size = extent(x) if wide else 1.0
            if any(max(gap / size, turn) > NEARLY_CLOSED for gap, turn in wide.values()):
                raise ValueError(
                    f"the joints of this state are open: {describe(self._mechanism, wide)}; "
                    "mechanism.assemble(state) may close it"
                )
        return poses

    def _at(self, x: Where, at_rest: bool = False) -> Equations:
        poses = self._poses(x)
        if self._quick is not None and isinstance(x, _core.Live):
            # it has been looked at, and is answered at once from now on
            self._quick.admit(x)
        return Equations(self._system, poses.at_rest() if at_rest else poses)

    def _masses(self) -> Array:
        return np.array([body.inertia.mass for body in self._mechanism.bodies.values()])

    def _array(self, poses: Poses, value: ArrayLike, what: str) -> Array:
        count = self._system.count
        given = finite(value, (*np.shape(value)[:-1], count), f"dynamics: {what}")
        return np.ascontiguousarray(np.broadcast_to(given, (*poses.shape, count)).reshape(-1, count))

    def _given(self, poses: Poses, efforts: ArrayLike | None) -> Array | None:
        return None if efforts is None else self._array(poses, efforts, "efforts")

    def _point(self, name: str | Body, at: ArrayLike | None) -> tuple[NDArray[np.int32], Array]:
        frame = self._mechanism.frame(name_of(name))
        if frame.body == self._mechanism.world.name:
            raise ValueError(f"frame {name_of(name)!r} stands still, because it belongs to the world")
        offset = np.zeros(3) if at is None else finite(at, (3,), "dynamics: at")
        body = np.array([self._mechanism.rows()[frame.body]], dtype=np.int32)
        return body, (frame.position + rotate(frame.orientation, offset))[None]

    def _named(self, coordinates: Sequence[str]) -> list[int]:
        if isinstance(coordinates, str):
            raise TypeError(f"coordinates must be a list of names, got the string {coordinates!r}")
        if not len(coordinates):
            raise ValueError("a list of coordinates must not be empty")
        places = {name: k for k, name in enumerate(self._system.candidates)}
        for k, name in enumerate(coordinates):
            if name not in places:
                raise ValueError(f"there is no coordinate {name!r}{did_you_mean(name, places) or there_are(places)}")
            if name in list(coordinates)[:k]:
                raise ValueError(f"coordinate {name!r} is given twice")
        return [places[name] for name in coordinates]

    def _independent(self) -> list[int]:
        """Coordinates by which all motions that the loops leave can be told, at the described pose."""
        state = self._mechanism.state()
        self._system.selected = list(range(len(self._system.candidates)))
        at = Equations(self._system, poses_of(self._mechanism, state).at_rest())
        motions = at.motions_left()
        shares = at.rows_of_coordinates()[0] @ motions
        chosen: list[int] = []
        left = shares.copy()
        largest = float(np.linalg.norm(shares, axis=1).max(initial=0.0))
        while len(chosen) < motions.shape[1]:
            size = np.linalg.norm(left, axis=1)
            # the first of those that do nearly as well as the best
            best = int(np.flatnonzero(size >= 0.5 * size.max())[0])
            if size[best] <= _INDEPENDENT * largest:
                raise ValueError(
                    "the coordinates of this mechanism do not determine all its motions at the described pose: "
                    "add joints with coordinates, or describe it in another pose"
                )
            chosen.append(best)
            unit = left[best] / size[best]
            left = left - np.outer(left @ unit, unit)
        return sorted(chosen)
