"""Fingerprints by which a folder knows whether it is continued with the same mechanism, functions and numbers.

A function is known by its compiled code, its defaults, what it encloses, and the functions and values of its own module
that it uses by name. Functions of other modules are known by their names only.
"""

from __future__ import annotations

import dis
from collections.abc import Iterator, Mapping
from functools import partial
from hashlib import sha256
from types import CodeType, FunctionType, MethodType
from typing import Any

import numpy as np

from ..compile.compile import start_arrays
from ..describe.mechanism import Mechanism
from ..simulate.simulator import Simulator


def fingerprint(value: Any) -> str:
    """A digest of a value, the same in every process."""
    found = sha256()
    for part in _parts(value, set()):
        found.update(len(part).to_bytes(8, "little") + part)
    return found.hexdigest()


def _parts(value: Any, seen: set[int]) -> Iterator[bytes]:
    yield type(value).__name__.encode()
    # a function may call itself
    if isinstance(value, FunctionType | Mechanism | Simulator) or hasattr(value, "__dict__"):
        if id(value) in seen:
            return
        seen.add(id(value))
    if value is None or isinstance(value, str | int | float | complex | bytes):
        yield repr(value).encode("utf-8", "surrogatepass")
    elif isinstance(value, np.ndarray | np.generic):
        yield f"{value.dtype}{np.shape(value)}".encode()
        yield np.ascontiguousarray(value).tobytes()
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _parts(item, seen)
    elif isinstance(value, set | frozenset):
        yield from sorted(repr(item).encode("utf-8", "surrogatepass") for item in value)
    elif isinstance(value, Mapping):
        for key in value:
            yield from _parts(key, seen)
            yield from _parts(value[key], seen)
    elif isinstance(value, CodeType):
        yield value.co_code
        yield from _parts([value.co_consts, value.co_names, value.co_varnames], seen)
    elif isinstance(value, FunctionType):
        yield from _parts_of_function(value, seen)
    elif isinstance(value, MethodType):
        yield from _parts([value.__func__, vars(value.__self__)], seen)
    elif isinstance(value, partial):
        yield from _parts([value.func, value.args, value.keywords], seen)
    elif isinstance(value, Simulator):
        yield from _parts_of_mechanism(value, seen)
    elif isinstance(value, Mechanism):
        yield from _parts_of_mechanism(Simulator(value, on_inaccurate="ignore"), seen)
    else:
        yield f"{type(value).__module__} {getattr(value, '__qualname__', getattr(value, '__name__', ''))}".encode()


def _parts_of_function(function: FunctionType, seen: set[int]) -> Iterator[bytes]:
    yield function.__qualname__.encode()
    yield from _parts([function.__code__, function.__defaults__, function.__kwdefaults__], seen)
    for cell in function.__closure__ or ():
        yield from _parts(cell.cell_contents, seen)
    for name in sorted(_global_names(function.__code__)):
        used = function.__globals__.get(name)
        yield name.encode()
        if getattr(used, "__module__", function.__module__) == function.__module__:
            yield from _parts(used, seen)


def _global_names(code: CodeType) -> set[str]:
    """Names that code looks up outside of its functions."""
    found = {str(i.argval) for i in dis.get_instructions(code) if i.opname in ("LOAD_GLOBAL", "LOAD_NAME")}
    return found.union(*(_global_names(inner) for inner in code.co_consts if isinstance(inner, CodeType)))


def _parts_of_mechanism(simulator: Simulator, seen: set[int]) -> Iterator[bytes]:
    plan = simulator.plan
    yield plan.compiled.digest.encode()
    arrays = start_arrays(plan.compiled, [plan.described])
    yield from _parts({name: arrays[name] for name in sorted(arrays)}, seen)
    mechanism = plan.mechanism
    for force in mechanism.forces.values():
        yield from _parts([part.functions for part in force.parts], seen)
    yield from _parts([coupling.function for coupling in mechanism.couplings.values()], seen)
    for joint in mechanism.joints.values():
        yield from _parts([item for item in vars(joint).values() if callable(item)], seen)
