"""What writing and reading of documents agree on: format, text, kinds of joints and forces, checks of entries.

A document consists of plain dictionaries, lists, strings and numbers. serialize.py writes mechanisms as documents and
rebuild.py reads them; trajectory_file.py has a document of its own beside the arrays.
"""

from __future__ import annotations

import json
from typing import Any, TypeVar

from .._util.rotation import finite
from ..describe import body_forces, constraints, couplings, custom, forces, joint_forces, joints, rolling
from ..describe.joint import Joint

# raised when a document changes its meaning
FORMAT = 4
MARK = "catena mechanism"

# of a document: a quarter of a million bodies
MOST_BYTES = 256 << 20

# stands where a function was
NOT_SAVED = "a function, not saved"

Document = dict[str, Any]
Kind = TypeVar("Kind")

# what messages call the kinds of entries
_WORDS: dict[type[Any], str] = {list: "numbers", str: "a string", dict: "names and values"}


def _kinds(base: type[Kind], *modules: Any) -> dict[str, type[Kind]]:
    found = (kind for module in modules for kind in vars(module).values())
    return {kind.__name__: kind for kind in found if isinstance(kind, type) and issubclass(kind, base)}


JOINTS = {name: kind for name, kind in _kinds(Joint, joints, constraints, rolling, custom).items() if kind.code}
FORCES = {
    name: kind
    for name, kind in _kinds(forces.Force, joint_forces, body_forces).items()
    if kind not in (forces.Force, joint_forces.JointForce) and not name.startswith("_")
}
COUPLINGS = _kinds(couplings.Coupling, couplings)


def encoded(document: Document, indent: int | None = None) -> bytes:
    """The document as JSON; any name a body can have survives."""
    text = json.dumps(document, indent=indent, ensure_ascii=False, allow_nan=False).encode("utf-8", "surrogatepass")
    if len(text) > MOST_BYTES:
        raise ValueError(
            f"the mechanism makes a document of {len(text)} bytes, of which {MOST_BYTES} could be read again"
        )
    return text


def decoded(text: bytes) -> Any:
    """What JSON says, or a ValueError."""
    try:
        return json.loads(text.decode("utf-8", "surrogatepass"))
    except (ValueError, RecursionError) as error:
        raise ValueError(f"not a readable document ({error})") from None


def check_format(found: Any, known: int) -> None:
    """Refuse what another catena wrote in another way."""
    if isinstance(found, bool) or not isinstance(found, int):
        raise ValueError("has no format number")
    if found != known:
        raise ValueError(f"has format {found}, this catena reads format {known}")


def entry(item: Any, key: str, kinds: type[Any] | tuple[type[Any], ...], where: str) -> Any:
    """An entry of a dictionary, of one of the given kinds."""
    if not isinstance(item, dict):
        raise ValueError(f"{where} is described by {type(item).__name__} {item!r:.60}, not by names and values")
    if key not in item:
        raise ValueError(f"incomplete, {where} has no {key}")
    value = item[key]
    allowed = kinds if isinstance(kinds, tuple) else (kinds,)
    # a truth value is an int to Python, but no number here
    if not isinstance(value, allowed) or (isinstance(value, bool) and bool not in allowed):
        names = " or ".join(_WORDS.get(kind, kind.__name__) for kind in allowed)
        raise ValueError(f"{where}: {key} must be {names}, got {value!r:.60}")
    return value


def entries(document: Any, key: str, where: str = "the mechanism") -> list[Any]:
    """An entry that is a list."""
    found: list[Any] = entry(document, key, list, where)
    return found


def number(item: Any, key: str, where: str) -> float:
    """An entry that is a finite number."""
    return float(finite(entry(item, key, (int, float), where), (), f"{where}: {key}"))
