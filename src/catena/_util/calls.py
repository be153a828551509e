"""Calls that do not fit a signature: what Python says of an argument becomes a sentence with the remedy.

`explain_calls` wraps public functions and methods once, when the package is imported. A wrapper only looks at a
TypeError that Python raised before the function began, so errors from inside it pass as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import wraps
from inspect import Parameter, Signature, signature
from sys import modules
from types import FunctionType, ModuleType
from typing import Any

from .lookup import did_you_mean, how_many
from .words import argument_hint

_PACKAGE = __name__.partition(".")[0]
# made or called by users once a step: nothing is put in front of these
_HOT = frozenset(
    {
        "Readable.body",
        "Readable.contact",
        "Readable.joint",
        "Readable.row",
        "Live.hold",
        "Running.set",
        "State.body",
        "State.joint",
    }
)
_READERS = ("Reader", "View", "History", "LiveForce", "Status")


def explain_calls(namespace: dict[str, Any], names: Iterable[str]) -> None:
    """Explain these functions, and the constructors and public methods of these classes, of a module."""
    for name in names:
        item = namespace[name]
        if isinstance(item, ModuleType):
            explain_calls(vars(item), [word for word, value in vars(item).items() if _is_public(word, value)])
        elif isinstance(item, FunctionType):
            # where it is defined, too: there it is looked for when it is pickled
            namespace[name] = vars(modules[item.__module__])[item.__name__] = _explained(item)
        elif isinstance(item, type) and not issubclass(item, BaseException):
            for part in item.__mro__:
                if part.__module__.partition(".")[0] == _PACKAGE and not part.__name__.endswith(_READERS):
                    _explain_class(part)


def _is_public(name: str, value: object) -> bool:
    return name[0] != "_" and isinstance(value, FunctionType) and value.__module__.partition(".")[0] == _PACKAGE


def _explain_class(kind: type) -> None:
    for name, value in list(vars(kind).items()):
        if (name.startswith("_") and name not in ("__init__", "__call__")) or f"{kind.__name__}.{name}" in _HOT:
            continue
        if isinstance(value, FunctionType):
            setattr(kind, name, _explained(value))
        elif isinstance(value, (classmethod, staticmethod)) and isinstance(value.__func__, FunctionType):
            setattr(kind, name, type(value)(_explained(value.__func__)))


def _explained(function: FunctionType) -> Callable[..., Any]:
    if hasattr(function, "__explained__"):
        return function

    @wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except TypeError as error:
            # with no frame below this one the function has not begun
            if error.__traceback__ is None or error.__traceback__.tb_next is not None:
                raise
            sentence = _misfit(function, args, kwargs) or str(error)
        raise TypeError(sentence)

    call.__explained__ = True  # type: ignore[attr-defined]
    return call


def _misfit(function: FunctionType, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
    """What is wrong with the arguments of a call, and the remedy if one is known, or else the signature."""
    parameters = list(signature(function).parameters.values())
    name = function.__name__
    if parameters and parameters[0].name in ("self", "cls"):
        # a method: the first argument is not the user's
        owner = (args[0] if isinstance(args[0], type) else type(args[0])).__name__
        name = owner if name == "__init__" else f"{owner}.{name}"
        parameters, args = parameters[1:], args[1:]
    known = [p.name for p in parameters if p.kind not in (Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD)]
    ordered = [p.name for p in parameters if p.kind in (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)]
    unknown = [word for word in kwargs if word not in known]
    given = {*ordered[: len(args)], *kwargs}
    missing = [p.name for p in parameters if p.name in known and p.default is Parameter.empty and p.name not in given]
    if unknown:
        said = f"{name} has no argument {unknown[0]!r}"
        hint = argument_hint(name, unknown[0], known) or did_you_mean(unknown[0], known)
    elif len(args) > len(ordered):
        said = f"{name} takes {how_many(len(ordered), 'argument', 'arguments')} by position, got {len(args)}"
        hint = argument_hint(name, "*", known)
    elif missing:
        said = f"{name} needs {' and '.join(map(repr, missing))}"
        hint = argument_hint(name, missing[0], known)
    else:
        twice = next((word for word in ordered[: len(args)] if word in kwargs), "")
        return f"{name} got {twice!r} twice, by position and by name" if twice else ""
    call = Signature([p.replace(annotation=Parameter.empty) for p in parameters])
    return f"{said}{hint or f'; call it as {name}{call}'}"
