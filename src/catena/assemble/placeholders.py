"""Placeholder masses: bodies so light that they do not affect any motion, which exporters write for dummy links.

In a loop, a body of 1e-9 kg between others of 1 kg requires more digits than floating-point numbers have. Its effect on
a motion is measured by the largest share of the kinetic energy that it can have: the relative change of the motion is
of that size. Bodies with a negligible share in every motion that the loops allow count as massless, if their joints
determine their motion.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .._util.rotation import Array, to_matrix
from .._util.status import CatenaWarning, warn
from ..describe.inertia import Inertia
from . import massless
from .tree_jacobian import Motions
from .trust_region import close_wide

if TYPE_CHECKING:
    from ..describe.mechanism import Mechanism

# of the heaviest body's mass: what is heavier is not looked at
_LIGHT = 1e-6

# of the kinetic energy of any free motion, what all bodies that count as massless may have together
_SHARE = 1e-7

# singular values of rows of order one that say nothing
_FREE = 1e-6


class PlaceholderWarning(CatenaWarning):
    """Bodies with a negligible mass are treated as massless."""


def lightened(mechanism: Mechanism) -> Mechanism:
    """Return the mechanism with placeholder masses set to zero, or itself if there are none; the result is cached."""
    mechanism = mechanism.snapshot()
    known = mechanism._known
    if known.lightened is None:
        found, share = _placeholders(mechanism)
        known.lightened = mechanism
        if found:
            copy = mechanism.copy()
            for name in found:
                copy.bodies[name].inertia = Inertia.massless()
            known.lightened = copy.snapshot()
            known.lightened._known.lightened = known.lightened
            known.placeholders = tuple(found), share
    return known.lightened


def warn_of(mechanism: Mechanism) -> None:
    """Warn of placeholder masses, once per version of the mechanism."""
    known = mechanism.snapshot()._known
    names, share = known.placeholders
    if not names or known.told_placeholders:
        return
    known.told_placeholders = True
    mass = max(mechanism.bodies[name].mass for name in names)
    several = f"{len(names)} bodies of {mass:.2g} kg or less count" if len(names) > 1 else f"{names[0]!r} counts"
    listed = f" ({', '.join(map(repr, names[:3]))}{', ...' if len(names) > 3 else ''})" if len(names) > 1 else ""
    sentence = f"{several} as massless{listed}: at most {share:.1g} of any motion's kinetic energy is theirs"
    warn(PlaceholderWarning(sentence))


def _placeholders(mechanism: Mechanism) -> tuple[list[str], float]:
    """Bodies whose mass is a placeholder, and their share of the energy together."""
    masses = {name: body.mass for name, body in mechanism.bodies.items()}
    heaviest = max(masses.values(), default=0.0)
    light = [name for name, mass in masses.items() if 0 < mass <= _LIGHT * heaviest]
    if not light or not (mechanism.spanning_tree().loops or mechanism.couplings):
        return [], 0.0
    shares = _motions_of(mechanism, light)
    light = [name for name in light if _norm(shares[name]) <= _SHARE]
    while light:
        together = _norm(np.concatenate([shares[name] for name in light]))
        loose = [] if together > _SHARE else _loose(mechanism, light)
        if together <= _SHARE and not loose:
            return light, together
        # what is not held without a mass, or else the one that has most of it
        out = set(loose) & set(light) or {max(light, key=lambda name: _norm(shares[name]))}
        light = [name for name in light if name not in out]
    return [], 0.0


def _loose(mechanism: Mechanism, names: list[str]) -> list[str]:
    """Bodies that could move by themselves if these had no mass."""
    copy = mechanism.copy()
    for name in names:
        copy.bodies[name].inertia = Inertia.massless()
    return massless.loose(copy.snapshot())


def _norm(part: Array) -> float:
    """The largest share of the energy that bodies have in any motion (row, motion) of unit energy."""
    return float(np.linalg.norm(part, 2) ** 2) if part.size else 0.0


def _motions_of(mechanism: Mechanism, names: list[str]) -> dict[str, Array]:
    """Roots of energies (6, motion) of bodies, in a basis of free motions in which the energy of all is the square."""
    state = mechanism.state()
    close_wide(mechanism, state, {})
    motions = Motions(mechanism, state)
    jacobian = np.concatenate([motions.rows(motions.pulls(closure)) for closure in motions.closures])
    _, values, ways = np.linalg.svd(jacobian)
    free = ways[np.count_nonzero(values > _FREE) :].T
    heavy = [(row, body) for row, body in enumerate(mechanism.bodies.values()) if body.mass > 0]
    rows_of, masses = [row for row, _ in heavy], np.array([body.mass for _, body in heavy])
    values, axes = np.linalg.eigh([body.inertia.tensor for _, body in heavy])
    into = np.sqrt(np.maximum(values, 0.0))[..., None] * axes.transpose(0, 2, 1)
    turn = into @ to_matrix(state.orientation[rows_of]).transpose(0, 2, 1)
    move = motions.of_bodies()[rows_of] @ free
    roots = np.concatenate((np.sqrt(masses)[:, None, None] * move[:, :3], turn @ move[:, 3:]), axis=1)
    # a motion that nothing with a mass takes part in is no part of the basis
    _, energies, basis = np.linalg.svd(roots.reshape(-1, roots.shape[2]), full_matrices=False)
    some = energies > 1e-12 * energies.max(initial=0.0)
    unit = basis[some].T / energies[some]
    return {body.name: root @ unit for (_, body), root in zip(heavy, roots, strict=True) if body.name in names}
