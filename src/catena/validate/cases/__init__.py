"""One problem a file, each with its `CASE`; a file that is put here is found."""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules

from ..case import Case

CASES: dict[str, Case] = {
    info.name: import_module(f"{__name__}.{info.name}").CASE for info in sorted(iter_modules(__path__))
}
