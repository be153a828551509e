"""The core of a mechanism, with the rows of its loops that are enforced: compiled once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from .._util.rotation import Array
from ..compile.compile import Compiled, compile_rows, default_kernel
from ..compile.row_selection import RowSelection
from ..describe.limits import stops_of
from .massless import loose_in_tree, refuse_loose
from .redundancy import select_described_rows

if TYPE_CHECKING:
    from ..describe.mechanism import Mechanism


def build_core(
    mechanism: Mechanism,
    *,
    kernel: str | None = None,
    frozen: Mapping[str, Array] | None = None,
    selection: RowSelection | None = None,
) -> Compiled:
    """Compile a mechanism; joints in `frozen` are welded at the given coordinates (dof,), and forces left out.

    `selection` says which rows of loops to enforce, by default those found around the described pose: these, and
    nothing welded, are compiled once.
    """
    mechanism = mechanism.snapshot()
    if selection is None:
        selection = select_described_rows(mechanism)
    kernel = kernel or default_kernel()
    acted = frozen is None and (mechanism.forces or stops_of(mechanism))
    key = kernel, "joints and forces" if acted else "joints"
    kept = mechanism._known.compiled if not frozen and selection is mechanism._known.selection else {}
    if key not in kept:
        kept[key] = compile_rows(mechanism, kernel=kernel, frozen=frozen, selection=selection)
    compiled = kept[key]
    if frozen is None and compiled.loose_in_tree is None:
        refuse_loose(mechanism)
        compiled.loose_in_tree = loose_in_tree(mechanism, selection)
    return compiled
