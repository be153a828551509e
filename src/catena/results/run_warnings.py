"""Messages about doubtful results of a finished run, and the warnings that contain them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from .._util.status import CatenaWarning, warn
from ..kinematics import geometry
from . import analysis
from .accuracy import AccuracyWarning, not_estimated, often_halved

if TYPE_CHECKING:
    from .._util.rotation import Array
    from ..describe.mechanism import Mechanism
    from ..simulate.batch import Batch
    from .trajectory import Trajectory

# nodes at which coordinates are compared with limits, and by how much they may pass them (rad or m)
_LOOKS, _ROUNDING = 256, 1e-9
# the same of all members of a batch together
_MEMBER_LOOKS = 4096
# motion that is surely one, and one that is none, in parts of the mechanism's size
_SOME, _NONE = 1e-6, 1e-9
# halved steps from which on they are told
_MANY = 10
# bodies up to which freedoms are counted unasked
_FEW = 300


class LimitWarning(CatenaWarning):
    """Warning that a joint coordinate exceeds its limits, which are not enforced."""


class StuckWarning(CatenaWarning):
    """Warning that the joints leave the mechanism no degree of freedom, so it cannot move."""


def doubts(run: Trajectory) -> Iterator[tuple[type[CatenaWarning], str]]:
    """All messages about a run."""
    found = (
        (AccuracyWarning, run.accuracy_warning),
        (AccuracyWarning, not_estimated(run)),
        (AccuracyWarning, often_halved(run)),
        (CatenaWarning, analysis.loop_mismatch_sentence(run)),
        (StuckWarning, stuck(run)),
        (LimitWarning, passed(run)),
    )
    return ((kind, sentence) for kind, sentence in found if sentence)


def raise_doubts(run: Trajectory, *, accuracy: bool) -> None:
    """Issue the messages as Python warnings, once per run; those about its steps only on request."""
    for kind, sentence in found_inactive(run):
        warn(kind(sentence))
    # that steps are too long is said once, and of a few that were halved not at all
    sentence = run.accuracy_warning or (often_halved(run) if run.halved_count >= _MANY else "")
    if accuracy and sentence:
        warn(AccuracyWarning(sentence))


def found_inactive(run: Trajectory) -> Iterator[tuple[type[CatenaWarning], str]]:
    """Messages about the mechanism of a run that cost little time to find."""
    found = ((LimitWarning, passed(run)), (StuckWarning, stuck(run) if run.mechanism.body_count <= _FEW else ""))
    return ((kind, sentence) for kind, sentence in found if sentence)


def stuck(run: Trajectory) -> str:
    """Message about loops that leave no freedom; checked only if nothing moved."""
    if len(run) < 2 or not run.mechanism.spanning_tree().loops:
        return ""
    moved = np.abs(run.position[-1] - run.position[0]).max(initial=0.0)
    if moved > _SOME * max(1.0, np.abs(run.position[0]).max(initial=0.0)):
        return ""
    if np.ptp(run.position, axis=0).max(initial=0.0) > _NONE * geometry.extent(run.mechanism.state()):
        return ""
    # what turns on the spot
    if np.ptp(run.orientation, axis=0).max(initial=0.0) > _NONE:
        return ""
    report = run.mechanism.report(run[0])
    is_stuck = report.freedom == 0 and not report.driven
    return "nothing moves: the joints leave no freedom, see the mechanism's report()" if is_stuck else ""


def passed(run: Trajectory) -> str:
    """Message about coordinates that exceed their joint limits at some of the nodes."""
    if not _limited(run.mechanism) or not len(run):
        return ""
    some = run[:: max(1, len(run) // _LOOKS)]
    try:
        coordinates = some._joint_motion()[0]
    except ValueError:
        # of a file, which keeps no functions: what they hold together is not known
        return ""
    found = _beyond(run.mechanism, coordinates)
    if found is None:
        return ""
    return (
        f"{found.label} passes its limit {found.limit:.4g}: from t = {some.time[found.first]:.4g} s on, by up to "
        f"{found.over:.3g}{found.others}; joint limits are not enforced"
    )


def passed_by_members(batch: Batch) -> str:
    """The same for a batch with all bodies recorded, at a sample of the nodes of all members."""
    if not _limited(batch.mechanism) or set(batch.bodies) != set(batch.mechanism.bodies):
        return ""
    coordinates = batch._joint_motion(max(1, batch.time.size // _MEMBER_LOOKS))[0]
    found = _beyond(batch.mechanism, coordinates.reshape(-1, coordinates.shape[-1]))
    if found is None:
        return ""
    return (
        f"member {found.first // coordinates.shape[1]}: {found.label} passes its limit {found.limit:.4g}; over all "
        f"members by up to {found.over:.3g}{found.others}; joint limits are not enforced"
    )


def warn_of_members(batch: Batch) -> None:
    """Warn about limits that members exceed, once per batch."""
    sentence = passed_by_members(batch)
    if sentence:
        warn(LimitWarning(sentence))


def beyond_now(mechanism: Mechanism, coordinates: Array) -> str:
    """Message about the current coordinates of a live mechanism, or of many (member, coordinate)."""
    found = _beyond(mechanism, np.atleast_2d(coordinates)) if _limited(mechanism) else None
    if found is None:
        return ""
    which = f"member {found.first}: " * (coordinates.ndim > 1)
    return (
        f"{which}{found.label} is beyond its limit {found.limit:.4g} by {found.over:.3g}{found.others}; limits are "
        "kept, but stop nothing yet"
    )


class _Beyond(NamedTuple):
    """The coordinate that exceeds its limit first, the limit, the row where it does, the excess, and the others."""

    label: str
    limit: float
    first: int
    over: float
    others: str


def _beyond(mechanism: Mechanism, coordinates: Array) -> _Beyond | None:
    """The coordinates (row, coordinate) that exceed limits."""
    limited = _limited(mechanism)
    values = coordinates[:, [place for _, place, _, _ in limited]]
    lower, upper = (np.array([row[k] for row in limited]) for k in (2, 3))
    # what failed has no coordinates
    over = np.nan_to_num(np.maximum(values - upper, lower - values), nan=-np.inf)
    worst = over.max(axis=0, initial=-np.inf)
    size = np.nan_to_num(np.abs(values)).max(axis=0, initial=0.0)
    which = np.flatnonzero(worst > _ROUNDING * (1 + size))
    if not len(which):
        return None
    # the one that goes first
    first = (over[:, which] > _ROUNDING).argmax(axis=0)
    k = which[first.argmin()]
    label, _, low, high = limited[k]
    others = f", and so do {len(which) - 1} more" * (len(which) > 1)
    return _Beyond(label, high if np.nanmax(values[:, k]) > high else low, int(first.min()), float(worst[k]), others)


def _limited(mechanism: Mechanism) -> list[tuple[str, int, float, float]]:
    """Names of coordinates with limits, their indices among all coordinates, and the limits; computed once."""
    known = mechanism.snapshot()._known
    if known.limited is None:
        known.limited = [
            (
                joint.label + f" ({key})" * (len(joint.names) > 1),
                place.start + joint.names.index(key),
                limits.lower,
                limits.upper,
            )
            for joint, place in ((mechanism.joints[name], at) for name, at in mechanism.coordinate_places().items())
            for key, limits in joint.limits.items()
            if np.isfinite(limits.lower) or np.isfinite(limits.upper)
        ]
    return known.limited
