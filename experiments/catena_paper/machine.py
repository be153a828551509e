"""What the figures were measured on, in a line that names no host and no path."""

from __future__ import annotations

import os
import platform
import re
from datetime import datetime, timezone
from pathlib import Path

import catena

# the instruction set that the rivals are built for; catena runs on the same, whatever else the machine has
FAIR_KERNEL = "x86-64-v3"


def kernel() -> str:
    """The kernel that catena is measured with."""
    found = catena.info()
    return FAIR_KERNEL if FAIR_KERNEL in found["kernels"] else str(found["kernel"])


def facts() -> dict[str, str]:
    """Processor, cores, system, Python, catena with its kernel, and the date (UTC)."""
    return {
        "processor": f"{_processor()}, {os.cpu_count()} cores",
        "system": platform.system(),
        "python": f"Python {platform.python_version()}",
        "catena": f"catena {catena.__version__}, kernel {kernel()}",
        "date": datetime.now(timezone.utc).strftime("%Y-%m-%d"),
    }


def _processor() -> str:
    """The model's name, with AMD's generation, which virtual machines leave out."""
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8").split("\n\n")[0]
    except OSError:
        return platform.processor() or platform.machine()
    lines = (line.split(":", 1) for line in text.splitlines() if ":" in line)
    cpu = {key.strip(): value.strip() for key, value in lines}
    model = re.sub(r"\((R|TM)\)|\bCPU\b|\bProcessor\b", "", cpu.get("model name", platform.machine()), flags=re.I)
    generation = f"family {cpu['cpu family']} model {cpu['model']}" if "cpu family" in cpu else ""
    return " ".join(f"{model} {generation}".split())
