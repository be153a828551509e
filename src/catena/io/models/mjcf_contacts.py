"""What MJCF says of contacts: pairs and exclusions, and grids of heights; the rest is noted."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ...describe.mechanism import Mechanism
from .notes import Notes

_USUAL_SOLREF = (0.02, 1.0)
_USUAL_SOLIMP = (0.9, 0.95, 0.001, 0.5, 2.0)


def add_contacts(mechanism: Mechanism, engine: Any, model: Any, links: Mapping[int, str], notes: Notes) -> None:
    """Let shapes collide as the file says; `links` are the names of links by the numbers of bodies."""
    _note(engine, model, notes)
    signatures = np.array(model.exclude_signature, dtype=int)
    exclude = []
    for first, second in zip((signatures >> 16).tolist(), (signatures & 0xFFFF).tolist(), strict=True):
        # links that were merged have a frame on the one that took them
        one, other = (mechanism.frame(links[body]).body for body in (first, second))
        if one != other:
            exclude.append((one, other))
    pairs: dict[tuple[str, str], float | None] = {}
    for k in range(model.npair):
        names = [
            engine.mj_id2name(model, engine.mjtObj.mjOBJ_GEOM, int(geom))
            for geom in (model.pair_geom1[k], model.pair_geom2[k])
        ]
        owners = {links[int(model.geom_bodyid[geom])] for geom in (model.pair_geom1[k], model.pair_geom2[k])}
        if None in names or not all(_collides(mechanism, name) for name in names) or len(owners) == 1:
            notes.skip("contact/pair of geoms that do not collide otherwise", " and ".join(map(str, names)))
            continue
        pairs[names[0], names[1]] = 0.0 if model.pair_dim[k] == 1 else float(model.pair_friction[k][0])
    mechanism.add_contacts(exclude=exclude, pairs=pairs)


def height_field(model: Any, k: int) -> dict[str, Any]:
    """A grid of heights, as `add_shape` takes it; MuJoCo keeps them as parts of the largest."""
    rows, columns, first = int(model.hfield_nrow[k]), int(model.hfield_ncol[k]), int(model.hfield_adr[k])
    heights = np.array(model.hfield_data[first : first + rows * columns], dtype=float).reshape(rows, columns)
    return {"kind": "heightfield", "size": 2 * model.hfield_size[k][:2], "heights": model.hfield_size[k][2] * heights}


def _collides(mechanism: Mechanism, name: str) -> bool:
    return any(
        shape.name == name and shape.collides
        for owner in (mechanism.world, *mechanism.bodies.values())
        for shape in owner.shapes
    )


def _note(engine: Any, model: Any, notes: Notes) -> None:
    """What of the geoms is not taken."""
    for k in range(model.ngeom):
        if not (model.geom_contype[k] or model.geom_conaffinity[k]):
            continue
        name = engine.mj_id2name(model, engine.mjtObj.mjOBJ_GEOM, k) or ""
        if model.geom_condim[k] > 3:
            notes.skip("spinning and rolling friction (condim)", name)
        if model.geom_margin[k] or model.geom_gap[k]:
            notes.skip("geom@margin, geom@gap", name)
        if model.geom_priority[k]:
            notes.skip("geom@priority", name)
        soft = not np.array_equal(model.geom_solref[k], _USUAL_SOLREF)
        if soft or not np.allclose(model.geom_solimp[k], _USUAL_SOLIMP):
            notes.skip("geom@solref, geom@solimp, as contacts are hard", name)
