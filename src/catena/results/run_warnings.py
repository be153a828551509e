"""Messages about doubtful results of a finished run, and the warnings that contain them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from .._util.status import CatenaWarning, warn
from ..kinematics import geometry
from . import analysis
from .accuracy import AccuracyWarning, not_estimated, often_halved

if TYPE_CHECKING:
    from .trajectory import Trajectory

# motion that is surely one, and one that is none, in parts of the mechanism's size
_SOME, _NONE = 1e-6, 1e-9
# halved steps from which on they are told
_MANY = 10
# bodies up to which freedoms are counted unasked
_FEW = 300


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
    )
    return ((kind, sentence) for kind, sentence in found if sentence)


def raise_doubts(run: Trajectory, *, accuracy: bool) -> None:
    """Issue the messages as Python warnings, once per run; those about its steps only on request."""
    for kind, sentence in found_at_once(run):
        warn(kind(sentence))
    # that steps are too coarse is said once, and of a few that were halved not at all
    sentence = run.accuracy_warning or (often_halved(run) if run.halved_count >= _MANY else "")
    if accuracy and sentence:
        warn(AccuracyWarning(sentence))


def found_at_once(run: Trajectory) -> Iterator[tuple[type[CatenaWarning], str]]:
    """Messages about the mechanism of a run that cost little time to find."""
    sentence = stuck(run) if run.mechanism.body_count <= _FEW else ""
    return iter([(StuckWarning, sentence)] if sentence else [])


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
