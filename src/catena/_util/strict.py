"""Objects that refuse what they do not know: no attribute comes into being by a slip of the pen."""

from __future__ import annotations

from functools import cached_property
from inspect import get_annotations
from typing import ClassVar

from .lookup import did_you_mean
from .words import Spoken


def _declared(kind: type) -> frozenset[str]:
    """Public names that are annotated in a class or those it stems from, or have a descriptor that takes values."""
    found: set[str] = set()
    for part in kind.__mro__:
        declared = get_annotations(part).items()
        found.update(name for name, what in declared if not str(what).removeprefix("typing.").startswith("ClassVar"))
    for part in reversed(kind.__mro__):
        for name, value in vars(part).items():
            if isinstance(value, property):
                (found.add if value.fset is not None else found.discard)(name)
            elif hasattr(type(value), "__set__"):
                found.add(name)
    return frozenset(name for name in found if name[0] != "_")


class Strict(Spoken):
    """Takes only attributes that its class declares, by an annotation or a descriptor, and none once it is locked.

    Names that begin with an underscore are the class's own business.
    """

    # whose mechanism this is a part of, if that must not change any more
    _owner: str = ""
    _settable: ClassVar[frozenset[str]] = frozenset()

    # what can be done instead of setting something else
    _instead: ClassVar[str] = ""

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        cls._settable = _declared(cls)

    def __setattr__(self, name: str, value: object) -> None:
        if name[0] != "_":
            if name not in self._settable:
                raise AttributeError(_refusal(self, name))
            if self._owner:
                raise AttributeError(f"{_called(self)}: {name} cannot be set: {belongs(self._owner)}")
        object.__setattr__(self, name, value)


class Recorded(Strict):
    """What was computed: its attributes are set once, or found when they are asked for."""

    _found: ClassVar[frozenset[str]] = frozenset()

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        found = {name for name, value in vars(cls).items() if isinstance(value, cached_property)}
        found |= {name for name, value in vars(cls).items() if isinstance(value, property) and value.fset is None}
        cls._found |= {name for name in found if name[0] != "_"}
        cls._settable |= cls._found

    def __setattr__(self, name: str, value: object) -> None:
        if name[0] != "_" and (name in self.__dict__ or name in self._found):
            raise AttributeError(f"{_called(self)}: {name} cannot be set: it is a computed result")
        super().__setattr__(name, value)


class Named(Strict):
    """A joint, force or coupling: its name can be chosen until it is part of a mechanism."""

    named: bool
    """Whether the user gave the name."""

    _kind = ""
    _name: str

    @property
    def name(self) -> str:
        """What the mechanism calls it."""
        return self._name

    @name.setter
    def name(self, name: str) -> None:
        if self._added:
            raise AttributeError(f"{_called(self)} is part of a mechanism and keeps its name")
        if not isinstance(name, str) or not name.strip():
            raise ValueError(f"a {self._kind}'s name must be a non-empty string, got {name!r}")
        self._name = name

    @property
    def _added(self) -> bool:
        """Whether it is part of a mechanism."""
        raise NotImplementedError


def belongs(owner: str) -> str:
    """Why a mechanism cannot be changed, and what can."""
    return f"this mechanism belongs to a {owner}; change a copy: mechanism.copy()"


def _called(item: Strict) -> str:
    return str(getattr(item, "label", type(item).__name__))


def _refusal(item: Strict, name: str) -> str:
    kind = type(item)
    if hasattr(kind, name):
        return f"{_called(item)}: {name} cannot be set"
    return f"{_called(item)} has no {name!r} to set{did_you_mean(name, sorted(kind._settable)) or kind._instead}"
