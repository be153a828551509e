"""State: poses and velocities of all bodies of a mechanism at one time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from .._util.checks import number
from .._util.lookup import name_of
from .._util.rotation import Array, Checked, conjugate, finite, finite_number, rotate, unit_quaternion
from .._util.strict import Strict
from ..describe.joint import Joint
from ..describe.showing import Posable
from .clearances import Clearance
from .readable import Readable
from .unwrap import ByJoint, in_one
from .views import BodyView, JointView

if TYPE_CHECKING:
    from ..describe.bodies import Body
    from ..describe.mechanism import Mechanism
    from ..results.trajectory import Trajectory

# a state in a form that is soon compared: its instant, its angles, its arrays
Image: TypeAlias = tuple[float, tuple[tuple[str, ...], bytes], bytes, bytes, bytes, bytes]


@dataclass(frozen=True, eq=False)
class Checkpoint:
    """The complete state of the core on which later steps depend, the key of its simulators, and its State."""

    numbers: Array
    key: str  # see Plan.key
    state: Image

    def fits(self, state: State) -> bool:
        """Whether the state is still the one to which the checkpoint belongs."""
        return state._image() == self.state


class State(Posable, Strict, Readable[float]):
    """Poses and velocities of all n bodies; the rows are in the order of `mechanism.bodies`.

    position (n, 3) m, orientation (n, 4) body to world, velocity (n, 3) m/s, angular_velocity (n, 3) rad/s, all in the
    world frame; time in s. multipliers (rows,) are those of the node if a run recorded it, else None. Assigned arrays
    are checked and copied.
    """

    position = Checked("Positions (n, 3) of the centers of mass, world frame (m).")
    orientation = Checked("Unit quaternions (n, 4) (w, x, y, z), body to world.")
    velocity = Checked("Velocities (n, 3) of the centers of mass, world frame (m/s).")
    angular_velocity = Checked("Angular velocities (n, 3), world frame (rad/s).")

    _where = " in this state"

    def __init__(
        self,
        mechanism: Mechanism,
        position: ArrayLike,
        orientation: ArrayLike,
        velocity: ArrayLike,
        angular_velocity: ArrayLike,
        *,
        time: float = 0.0,
        multipliers: ArrayLike | None = None,
        turned: Mapping[str, ArrayLike] | None = None,
        computed: bool = False,
        checkpoint: Checkpoint | tuple[Array, str] | None = None,
        inputs: ArrayLike | None = None,
    ) -> None:
        self._mechanism = mechanism
        self._rows = mechanism.rows()
        self.position = position
        self.orientation = orientation
        self.velocity = velocity
        self.angular_velocity = angular_velocity
        self.time = time
        # angles that nobody has looked at yet stay in one array
        self._turned: dict[str, Array] | ByJoint
        if isinstance(turned, ByJoint):
            self._turned = turned.copy()
        else:
            self._turned = {name: np.array(angles, dtype=float) for name, angles in (turned or {}).items()}
        self.multipliers = multipliers
        self._checkpoint = Checkpoint(*checkpoint, self._image()) if isinstance(checkpoint, tuple) else checkpoint
        self._computed = computed
        self._inputs = None if inputs is None else np.array(inputs, dtype=float)

    @property
    def computed(self) -> bool:
        """Whether a run computed this state, so that its velocities are node velocities of the scheme."""
        return self._computed

    @property
    def inputs(self) -> Array | None:
        """Inputs of motors and servos (input,) in the order of `mechanism.inputs`, as the run set them; else None."""
        return self._inputs

    def checkpoint(self, key: str) -> Array | None:
        """Checkpoint for a simulator with this key; None if no such simulator was here, or if the state was changed."""
        found = self._checkpoint
        return found.numbers if found is not None and found.key == key and found.fits(self) else None

    def comes_from(self, digest: str) -> bool:
        """Whether a run of a core with this digest computed the state, and the state has not been changed since."""
        found = self._checkpoint
        return found is not None and found.key.startswith(f"{digest} ") and found.fits(self)

    def _image(self) -> Image:
        """All values in which it can differ from another state of the same mechanism."""
        x, q, v, w = self._motion
        return self.time, in_one(self._turned), x.tobytes(), q.tobytes(), v.tobytes(), w.tobytes()

    def _count_into(self, row: Array, places: Mapping[str, slice]) -> None:
        """Write the reference angles for counting turns to the places of their joints."""
        if type(self._turned) is ByJoint and self._turned.places == places:
            row[: self._turned.counted.size] = self._turned.counted
            return
        for name, angles in self._turned.items():
            if name in places:
                row[places[name]] = angles

    @property
    def _angles(self) -> Mapping[str, Array]:
        """The same as `turned`, read-only."""
        return self._turned

    @property
    def turned(self) -> dict[str, Array]:
        """Reference angles for counting full turns, by joint name; joints without one start in (-pi, pi]."""
        if isinstance(self._turned, ByJoint):
            self._turned = {name: angles.copy() for name, angles in self._turned.items()}
        return self._turned

    @turned.setter
    def turned(self, value: dict[str, Array]) -> None:
        if not isinstance(value, Mapping):
            raise ValueError(f"turned must be a mapping from joint names to angles, got {value!r}")
        self._turned = {name: finite(angles, np.shape(angles), f"turned {name!r}") for name, angles in value.items()}

    def _check(self, name: str, value: ArrayLike) -> Array:
        count, what = len(self._rows), f"state: {name}"
        return unit_quaternion(value, (count, 4), what) if name == "orientation" else finite(value, (count, 3), what)

    @property
    def mechanism(self) -> Mechanism:
        """The mechanism that this state belongs to."""
        return self._mechanism

    @property
    def time(self) -> float:
        """Time (s)."""
        return self._time

    @time.setter
    def time(self, value: float) -> None:
        self._time = finite_number(value, "state: time")

    @property
    def multipliers(self) -> Array | None:
        """Multipliers (rows,) of joints and couplings at this time, if a run recorded them; else None."""
        return self._multipliers

    @multipliers.setter
    def multipliers(self, value: ArrayLike | None) -> None:
        self._multipliers = None if value is None else finite(value, (np.size(value),), "state: multipliers")

    def clearances(self, *, within: float = inf) -> list[Clearance]:
        """Return gap, normal and nearest points of each pair of shapes that can collide: see Mechanism.clearances."""
        from ..compile.shapes import shape_set

        if not (distance := number(within)) >= 0:
            raise ValueError(f"within must be a distance in m, at least 0, got {within!r}")
        return shape_set(self.mechanism).clearances(self.position, self.orientation, distance)

    @property
    def angular_velocity_body(self) -> Array:
        """Angular velocity (n, 3) in the body frames (rad/s)."""
        return rotate(conjugate(self.orientation), self.angular_velocity)

    @angular_velocity_body.setter
    def angular_velocity_body(self, value: ArrayLike) -> None:
        self.angular_velocity = rotate(self.orientation, self._check("angular_velocity_body", value))

    @property
    def coordinates(self) -> Array:
        """Joint coordinates (coordinate,) in the order of `mechanism.coordinates`; rad, including full turns, or m.

        Setting coordinates or rates moves the bodies of the tree, joint by joint. Joint coordinates in a loop cannot be
        set independently: use `mechanism.assemble(coordinates=...)`, which finds the others.
        """
        return self._joint_motion()[0]

    @coordinates.setter
    def coordinates(self, value: ArrayLike) -> None:
        self._set_joints(value, "coordinates")

    @property
    def rates(self) -> Array:
        """Joint rates (coordinate,) in the order of `mechanism.coordinates`; rad/s or m/s."""
        return self._joint_motion()[1]

    @rates.setter
    def rates(self, value: ArrayLike) -> None:
        self._set_joints(value, "rates")

    @property
    def efforts(self) -> Array:
        """Efforts of motors and servos (input,) in the order of `mechanism.inputs`, N m or N.

        They are computed with the inputs of the run that led to this state, or else with the described inputs.
        """
        from ..results.efforts import InputEfforts

        return InputEfforts(self.mechanism)(*self._joint_motion(), self._inputs)

    def _joint_motion(self, mechanism: Mechanism | None = None) -> tuple[Array, Array]:
        """Coordinates and rates, from the snapshot if there is one."""
        from ..results.analysis import joint_motion

        near = {name: angles[None] for name, angles in self._angles.items()}
        coordinates, rates = joint_motion(mechanism or self.mechanism, np.array([self.time]), self._alone(), near)
        return coordinates[0], rates[0]

    def _alone(self) -> tuple[Array, Array, Array, Array]:
        """Poses and velocities (1, n, ...), with an axis of length one in front."""
        return self.position[None], self.orientation[None], self.velocity[None], self.angular_velocity[None]

    def _set_joints(self, value: ArrayLike, what: str) -> None:
        from ..assemble.forward_kinematics import placed

        mechanism = self.mechanism.snapshot()
        places = mechanism.coordinate_places()
        numbers = finite(value, (sum(place.stop - place.start for place in places.values()),), f"state: {what}")
        coordinates, rates = self._joint_motion(mechanism)
        if what == "coordinates":
            coordinates = numbers
        else:
            rates = numbers
        found = placed(mechanism, self._alone(), coordinates[None], rates[None], np.array([self.time]))
        self.velocity[:], self.angular_velocity[:] = found[2][0], found[3][0]
        if what == "rates":
            return
        self.position[:], self.orientation[:] = found[0][0], found[1][0]
        joints = mechanism.joints
        for name, place in places.items():
            angles = joints[name].angles
            if angles:
                self.turned[name] = numbers[place][list(angles)]

    def copy(self) -> State:
        """Return an independent copy of the numbers, for the same mechanism."""
        return State(
            self.mechanism,
            *self._motion,
            time=self.time,
            multipliers=self.multipliers,
            turned=self._angles,
            computed=self._computed,
            checkpoint=self._checkpoint,
            inputs=self._inputs,
        )

    def __copy__(self) -> State:
        return self.copy()

    def __repr__(self) -> str:
        count = len(self._rows)
        return f"State(time={self.time:g}, {count} {'body' if count == 1 else 'bodies'})"

    def _repr_html_(self) -> str:
        from ..view.notebooks import state_table

        return state_table(self)

    def _seen(self, reactions: bool = False) -> Trajectory:
        from ..results.trajectory import single_node

        return single_node(self)

    def body(self, name: str | Body) -> BodyView:
        """Return a view of a body, given by name or as an object; assigning to the view changes the state."""
        return BodyView(self, name_of(name), self.row(name))

    def joint(self, name: str | Joint) -> JointView:
        """Return a view of a joint, given by name or as an object; assigning to it moves one side of the joint."""
        return JointView(self, self._known_joint(name))
