"""Build: a compiled mechanism, and what is kept between its runs; Original: the one that users may go on editing."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING
from weakref import ref

from .. import _core
from .._util.status import CatenaWarning, warn
from ..assemble.core import build_core
from ..compile.row_selection import RowSelection
from ..describe.forces import DISSIPATING
from ..describe.freeze import what_changed
from ..describe.limits import hard_stops
from ..describe.mechanism import Mechanism
from ..kinematics import geometry
from ..kinematics.state import Image, State
from ..results.accuracy import usual_order
from .refinement import plain_step

if TYPE_CHECKING:
    from .live import Live

# steps of a long run, runs that are the first, and how often one of the others is looked at
_LONG, _FIRST, _NOW_AND_THEN = 5000, 16, 64


class Original:
    """The user's own mechanism, of which a snapshot was compiled; what is changed there afterwards is told."""

    def __init__(self, mechanism: Mechanism) -> None:
        self.snapshot = mechanism.snapshot()
        self._source = None if self.snapshot is mechanism else ref(mechanism)
        self._runs = 0

    def __reduce__(self) -> tuple[type[Original], tuple[Mechanism]]:
        return Original, (self.snapshot,)

    def warn_of_edits(self, state: State | None, steps: int = _LONG) -> None:
        """Warn if the mechanism was changed; looked for where a run is long, the first times, and now and then."""
        self._runs += 1
        source = None if self._source is None else self._source()
        if source is None or (steps < _LONG and self._runs > _FIRST and self._runs % _NOW_AND_THEN):
            return
        changed = what_changed(source, self.snapshot, poses=state is None)
        if changed:
            sentence = f"{changed} was changed after this Simulator was created, which has a copy from before"
            warn(CatenaWarning(f"{sentence}: create another Simulator"))


class Build:
    """A mechanism compiled with some rows of its loops, and what is kept between runs of it."""

    def __init__(self, mechanism: Mechanism, kernel: str | None, rows: RowSelection | None = None) -> None:
        self.mechanism, self.kernel = mechanism, kernel
        self.compiled = build_core(mechanism, kernel=kernel, selection=rows)
        self.row_count = sum(joint.row_count for joint in mechanism.joints.values()) + len(mechanism.couplings)
        self.stop_count = len(hard_stops(mechanism))
        self.touch_count = sum(contact.friction > 0 for contact in mechanism.contacts.values())
        # by solver and order, live mechanisms that no run uses now
        self.idle: dict[tuple[str, int], Live] = {}
        # the state as described, checked, and as the core takes it
        self.described: State | None = None
        self.described_arrays: _core.Start | None = None
        # the same mechanism with another selection of the rows of its loops, as the last one needed them
        self.other_rows: Build | None = None
        # all numbers of the last state that was found fit to start from (assemble/initial_state.py)
        self.fit: Image | None = None

    # anew where it is copied or read from a pickle, on the kernel of that machine
    def __reduce__(self) -> tuple[type[Build], tuple[Mechanism, str | None]]:
        return Build, (self.mechanism, self.kernel)

    @cached_property
    def extent(self) -> float:
        """Of the mechanism as described (m), by which errors are measured."""
        return geometry.extent(self.mechanism.state())

    @cached_property
    def dissipates(self) -> bool:
        """Whether something makes heat of the motion, which steps backwards would have to feed."""
        forces = self.mechanism.forces.values()
        parts = (part for force in forces for part in force.parts)
        slowed = any(force.slows for force in forces) or self.touch_count > 0
        return slowed or any(part.law[name] > 0 for part in parts for name in DISSIPATING)

    def with_rows(self, rows: RowSelection) -> Build:
        """The same with other rows of loops."""
        if self.other_rows is None or not self.other_rows.compiled.selection.same_rows(rows):
            self.other_rows = Build(self.mechanism, self.kernel, rows)
        return self.other_rows

    def usual_order(self, accuracy: float | None, dt: float | None) -> int:
        """The order of steps of a length, or of any, where nobody has said."""
        if accuracy is None or self.dissipates:
            return 2
        is_short = dt is not None and dt <= plain_step(self.mechanism, self.extent, accuracy)
        return 2 if is_short else usual_order(accuracy)
