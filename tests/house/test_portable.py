"""The core needs nothing that only some of the systems have for which it is promised (docs/install.md)."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

CPP = Path(__file__).parents[2] / "cpp"

# those of C++20, of nanobind, and of GCC and Clang wherever they run on x86
STANDARD = {
    "algorithm",
    "atomic",
    "chrono",
    "cmath",
    "concepts",
    "condition_variable",
    "cstddef",
    "cstdint",
    "functional",
    "initializer_list",
    "iterator",
    "limits",
    "map",
    "memory",
    "mutex",
    "new",
    "numbers",
    "numeric",
    "optional",
    "set",
    "span",
    "stdexcept",
    "string",
    "string_view",
    "system_error",
    "thread",
    "tuple",
    "type_traits",
    "typeinfo",
    "utility",
    "vector",
}
ON_X86 = {"cpuid.h", "immintrin.h"}


def unguarded(text: str) -> list[str]:
    """Headers in angles that are included whatever the system is."""
    depth, found = 0, []
    for line in text.splitlines():
        if re.match(r"\s*#\s*if", line):
            depth += 1
        elif re.match(r"\s*#\s*endif", line):
            depth -= 1
        included = re.match(r"\s*#\s*include <(.+)>", line)
        if included and depth == 0:
            found.append(included[1])
    return found


@pytest.mark.skipif(not CPP.is_dir(), reason="needs a checkout")
def test_headers_are_there_on_every_system() -> None:
    files = sorted(CPP.rglob("*.[hc]pp"))
    assert len(files) > 50
    foreign = {
        f"{file.relative_to(CPP)}: {header}"
        for file in files
        for header in unguarded(file.read_text())
        if header not in STANDARD | ON_X86 and not header.startswith("nanobind/")
    }
    assert not foreign
