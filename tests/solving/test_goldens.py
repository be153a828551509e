"""Ten runs whose every bit is stored: what no law would notice, such as a slower way to a solution, is seen here.

`data/goldens.json` has, for every kernel, how many Newton increments each run and each batch take, and digests of their
arrays. Where a change is meant to alter them, `PYTHONPATH=tests/support python tests/solving/test_goldens.py` writes
those of the kernels that this machine can run; the others stay as they are. Counts should not depend on the compiler;
digests belong to it, and to the elementary functions of the machine that they were made on: elsewhere they are skipped.
"""

from __future__ import annotations

import json
import math
import re
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from catena import (
    Batch,
    Mechanism,
    Simulator,
    State,
    Trajectory,
    _core,
    info,
)
from golden_scenes import SCENES

# steps are coarse on purpose
pytestmark = pytest.mark.filterwarnings("ignore::catena.AccuracyWarning")

FILE = Path(__file__).parents[1] / "data" / "goldens.json"
MEMBERS, STEPS = 5, 100


KERNELS: list[str] = info()["kernels"]
every_scene = pytest.mark.parametrize("scene", SCENES)
every_kernel = pytest.mark.parametrize("kernel", KERNELS)


def simulator(scene: str, kernel: str) -> Simulator:
    make, dt, settings = SCENES[scene]
    return Simulator(make(), dt, kernel=kernel, **settings)


def starts(m: Mechanism) -> list[State]:
    """Members that differ a little in how they turn."""
    states = [m.state() for _ in range(MEMBERS)]
    for k, state in enumerate(states):
        state.angular_velocity += 0.0625 * k
    return states


def digest(run: Trajectory | Batch) -> str:
    arrays = (run.position, run.orientation, run.velocity, run.angular_velocity)
    return sha256(b"".join(np.ascontiguousarray(array).tobytes() for array in arrays)).hexdigest()


def found(scene: str, kernel: str) -> dict[str, Any]:
    simulate = simulator(scene, kernel)
    run = simulate.run(steps=STEPS)
    batch = simulate.run_batch(states=starts(simulate.mechanism), steps=STEPS, threads=1)
    iterations = [int(result.iterations.sum()) for result in (run, batch)]
    return {"iterations": iterations, "run": digest(run), "batch": digest(batch)}


def compiler() -> str:
    """What built the extension, as it says itself; sanitizers make other code."""
    built = Path(_core.__file__).read_bytes()
    names = {name.decode() for name in re.findall(rb"GCC: \([^\0]*|(?:Apple )?clang version [^\0]*", built)}
    return ", ".join(sorted(names)) + (" with sanitizers" if b"__asan_" in built or b"__tsan_" in built else "")


def functions() -> str:
    """A digest of the elementary functions of C and of numpy, which differ in the last bit between machines."""
    x = np.arange(1, 64) / 64
    values = [getattr(np, name)(x) for name in ("sin", "cos", "tan", "arcsin", "arctan", "tanh")]
    values += [[getattr(math, name)(v) for v in x] for name in ("sin", "cos", "tan", "asin", "atan", "tanh")]
    return sha256(np.array(values).tobytes()).hexdigest()


def stored(kernel: str) -> dict[str, Any]:
    goldens: dict[str, dict[str, Any]] = json.loads(FILE.read_text())
    if kernel not in goldens:
        pytest.skip(f"no goldens of the kernel {kernel!r} are stored: the first lines of this file say how to add them")
    return goldens[kernel]


def stored_digests(kernel: str) -> dict[str, Any]:
    golden = stored(kernel)
    if golden["compiler"] != compiler():
        pytest.skip(f"digests were made by {golden['compiler']!r}, and this build by {compiler()!r}")
    if golden["functions"] != functions():
        pytest.skip("digests were made where sine and its like have other last bits")
    return golden


@every_scene
@every_kernel
def test_iterations(kernel: str, scene: str) -> None:
    assert found(scene, kernel)["iterations"] == stored(kernel)["scenes"][scene]["iterations"]


@every_scene
@every_kernel
def test_trajectories(kernel: str, scene: str) -> None:
    golden = stored_digests(kernel)["scenes"][scene]
    assert digest(simulator(scene, kernel).run(steps=STEPS)) == golden["run"]


@pytest.mark.parametrize("threads", [1, 2, 3])
@every_scene
@every_kernel
def test_batches(kernel: str, scene: str, threads: int) -> None:
    golden = stored_digests(kernel)["scenes"][scene]
    simulate = simulator(scene, kernel)
    batch = simulate.run_batch(states=starts(simulate.mechanism), steps=STEPS, threads=threads)
    assert digest(batch) == golden["batch"]


def write() -> None:
    """Replace the goldens of the kernels that this machine can run."""
    goldens = json.loads(FILE.read_text()) if FILE.exists() else {}
    for kernel in KERNELS:
        goldens[kernel] = {
            "compiler": compiler(),
            "functions": functions(),
            "scenes": {scene: found(scene, kernel) for scene in SCENES},
        }
        print(kernel, {scene: golden["iterations"] for scene, golden in goldens[kernel]["scenes"].items()})
    FILE.write_text(json.dumps(goldens, indent=1) + "\n")


if __name__ == "__main__":
    write()
