"""What to say of a name that is not known."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Literal, NoReturn, TypeAlias, TypeVar

if TYPE_CHECKING:
    from ..describe.joint import Joint
    from ..describe.mechanism import Mechanism

Kind: TypeAlias = Literal["body", "joint", "force", "coupling", "contact", "frame"]
# what a mechanism is made of: kinds of things, and what all of a kind are called; later ones refer to earlier ones
KINDS: dict[Kind, str] = {
    "body": "bodies",
    "joint": "joints",
    "force": "forces",
    "coupling": "couplings",
    "contact": "contacts",
    "frame": "frames",
}
Thing = TypeVar("Thing")


class ByName(dict[str, Thing]):
    """Things of one kind by name; one that is not there is a KeyError with a sentence."""

    def __init__(self, kind: Kind, things: Mapping[str, Thing] | None = None) -> None:
        super().__init__(things or {})
        self.kind = kind

    def __missing__(self, name: str) -> NoReturn:
        raise KeyError(f"there is no {self.kind} called {name!r}{did_you_mean(name, self)}")


def name_of(item: object) -> str:
    """The name of a body, joint or coupling, where it may be given instead of its name."""
    name = getattr(item, "name", item)
    return name if isinstance(name, str) else repr(name)


def looked_up(kind: Kind, item: object, mechanism: Mechanism, after: str = "") -> Any:
    """What a mechanism has under a name, or under that of a thing; `after` as of `no_such`."""
    name, things = name_of(item), getattr(mechanism, KINDS[kind])
    if name not in things:
        raise no_such(kind, name, mechanism, after=after)
    return things[name]


def no_such(kind: Kind, name: object, mechanism: Mechanism, before: str = "", after: str = "") -> ValueError:
    """What to raise if a mechanism has nothing of that kind under a name: says what it is, or what was meant.

    `before` says who asked, such as "spring 'a': "; `after` where, such as " in this state".
    """
    things: dict[Kind, Mapping[str, Any]] = {each: getattr(mechanism, all_of) for each, all_of in KINDS.items()}
    # a body is a frame
    known = {**things["body"], **things["frame"]} if kind == "frame" else things[kind]
    hint = did_you_mean(name, known) or there_are(things[kind])
    if isinstance(name, str):
        others: list[str] = [other for other, named in things.items() if other != kind and name in named]
        others += ["world"] if name == mechanism.world.name else []
        if others:
            article = "the" if others[0] == "world" else "a"
            hint = f": {name!r} is {article} {others[0]}, not a {kind}"
    return ValueError(f"{before}there is no {kind} called {name!r}{after}{hint}")


def in_a_loop(joint: Joint) -> ValueError:
    """What to raise if the coordinates of a joint in a loop are set."""
    way = f"assemble(coordinates={{{joint.name!r}: ...}}) also moves the other joints of the loop"
    return ValueError(f"{joint.label} is part of a loop, so it cannot be set independently; {way}")


def there_are(known: Iterable[str]) -> str:
    """The end of a sentence: the known names, if they are few."""
    names = list(known)
    return f"; there are {', '.join(map(repr, names))}" if 1 < len(names) <= 8 else ""


def did_you_mean(name: object, known: Iterable[str]) -> str:
    """The end of a sentence: the known name that is most like a misspelt one, or nothing if none is."""
    if not isinstance(name, str):
        return ""
    # difflib is only imported to explain a mistake
    from difflib import get_close_matches

    spellings: dict[str, str] = {}
    for candidate in known:
        spellings.setdefault(candidate.casefold(), candidate)
    near = get_close_matches(name.casefold(), spellings, n=1)
    return f"; did you mean {spellings[near[0]]!r}?" if near else ""


def how_many(number: int, one: str, many: str) -> str:
    """How many of something, in words."""
    return f"{number} {one if number == 1 else many}"
