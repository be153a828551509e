"""A folder name for the machine at hand: processor and number of cores, never a host name."""

from __future__ import annotations

import os
import re
from pathlib import Path

RESULTS = Path(__file__).parent / "results"


def folder() -> Path:
    """Where this machine's results go."""
    return RESULTS / name()


def name() -> str:
    """The processor and the number of cores, such as "amd-epyc-zen4-2core"."""
    cpu = _cpuinfo()
    model = re.sub(r"\((R|TM)\)|\bCPU\b|\bProcessor\b|@.*", "", cpu.get("model name", os.uname().machine), flags=re.I)
    words = re.findall(r"[a-z0-9]+", model.lower())
    return "-".join([*words, *_generation(cpu), f"{os.cpu_count()}core"])


def _cpuinfo() -> dict[str, str]:
    """The first processor's lines."""
    try:
        text = Path("/proc/cpuinfo").read_text()
    except OSError:
        return {}
    pairs = (line.split(":", 1) for line in text.split("\n\n")[0].splitlines() if ":" in line)
    return {key.strip(): value.strip() for key, value in pairs}


def _generation(cpu: dict[str, str]) -> list[str]:
    """AMD's generation, which virtual machines leave out of the model name."""
    if cpu.get("vendor_id") != "AuthenticAMD":
        return []
    family, model = int(cpu["cpu family"]), int(cpu["model"])
    if family == 25:
        return ["zen4" if 0x10 <= model < 0x20 or 0x60 <= model < 0x80 or model >= 0xA0 else "zen3"]
    return {23: ["zen2" if model >= 0x30 else "zen"], 26: ["zen5"]}.get(family, [])
