"""The campaign itself: members in worker processes that may hang or crash, a line of JSON for each, and the table."""

from __future__ import annotations

import contextlib
import json
import multiprocessing
import threading
import time
import warnings
from collections.abc import Callable, Iterable
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from ..assemble.placeholders import PlaceholderWarning
from ..assemble.redundancy import LoopWarning
from ..results.run_warnings import StuckWarning
from .checks import examine
from .findings import CLASSES, Findings
from .members import Case, member

# s of wall clock that a member may take
LIMIT = 60.0

# faster spins than this (rad per step) are not resolved by second order
RESOLVED = 0.5

Record = dict[str, Any]


def record(seed: int, index: int, stage: Callable[[str], None] = lambda name: None, *, limited: bool = False) -> Record:
    """Everything about one member that JSON can hold."""
    start = time.perf_counter()
    result: Record = {"seed": seed, "index": index, "classes": {}}
    found = Findings()
    stage("building")
    with warnings.catch_warnings():
        # a warning out of the library is an error that went unnoticed, but for those on what was drawn
        warnings.simplefilter("error")
        for of_the_mechanism in (LoopWarning, PlaceholderWarning, StuckWarning):
            warnings.simplefilter("ignore", of_the_mechanism)
        try:
            case = member(seed, index, limited=limited)
        except ValueError as refusal:
            return result | {"refused": str(refusal)}
        except Exception as error:
            found.add("internal error", f"building: {type(error).__name__}: {error}")
            return result | {"classes": found.classes}
        result |= _described(case)
        try:
            examine(case, found, stage)
        except Exception as error:
            found.add("internal error", f"{type(error).__name__}: {error}")
    return result | {"classes": found.classes, "took": round(time.perf_counter() - start, 3)} | found.facts


def _described(case: Case) -> Record:
    return {
        "text": case.text,
        "family": case.family,
        "calm": case.calm,
        "bodies": case.mechanism.body_count,
        "dt": case.dt,
        "order": case.order,
        "steps": case.steps,
        "pace": case.pace,
    }


# ---- workers


def _work(seed: int, limited: bool, line: Connection) -> None:
    """Take numbers from the line until None comes; tell every stage, then the record."""
    while (index := line.recv()) is not None:
        line.send(record(seed, index, line.send, limited=limited))


class _Worker:
    """A process that examines members one after the other, replaced when it hangs or dies."""

    def __init__(self, seed: int, limit: float, limited: bool) -> None:
        self.seed, self.limit, self.limited = seed, limit, limited
        self._process: multiprocessing.process.BaseProcess | None = None
        self._line: Connection | None = None

    def examine(self, index: int) -> Record:
        """The record of a member, or of how its worker ended."""
        if self._process is None:
            context = multiprocessing.get_context("spawn")
            self._line, end = context.Pipe()
            self._process = context.Process(target=_work, args=(self.seed, self.limited, end), daemon=True)
            self._process.start()
            end.close()
        assert self._line is not None
        stage, until = "starting", None
        with contextlib.suppress(BrokenPipeError):
            self._line.send(index)
        while True:
            # a new process takes its time to import; the member's own begins when it says so
            left = self.limit if until is None else until - time.monotonic()
            if not self._line.poll(max(left, 0.0)):
                self._stop()
                return self._lost(index, "did not end", f"in {stage}, after {self.limit:g} s")
            try:
                said = self._line.recv()
            except (EOFError, ConnectionResetError):
                code = self._stop()
                return self._lost(index, "crashed", f"in {stage}, exit code {code}")
            if isinstance(said, dict):
                return said
            stage, until = said, until or time.monotonic() + self.limit

    def close(self) -> None:
        """Let the process go."""
        if self._process is not None and self._line is not None:
            self._line.send(None)
            self._process.join()
            self._line.close()

    def _stop(self) -> int | None:
        assert self._process is not None
        assert self._line is not None
        self._process.kill()
        self._process.join()
        self._line.close()
        code, self._process = self._process.exitcode, None
        return code

    def _lost(self, index: int, name: str, text: str) -> Record:
        """What is known of a member whose worker is gone: how it is built, for that ends."""
        result: Record = {"seed": self.seed, "index": index, "classes": {name: [text]}, "took": self.limit}
        return (
            result
            if "building" in text or "starting" in text
            else result | _described(member(self.seed, index, limited=self.limited))
        )


def run(
    seed: int,
    indices: Iterable[int],
    path: Path,
    *,
    jobs: int = 1,
    limit: float = LIMIT,
    limited: bool = False,
    progress: Callable[[Record, int, int], None] | None = None,
) -> list[Record]:
    """Examine members and append a line for each to the file; those that it holds already are not examined again.

    `progress` is called with the record of every member that has been examined, members done, and members in all.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    indices = list(indices)
    done = {item["index"]: item for item in read(path) if item["seed"] == seed}
    if path.exists() and not path.read_text().endswith("\n"):
        # a line that was cut off stays one line, and is left out by whoever reads
        with open(path, "a") as file:
            file.write("\n")
    waiting = iter([index for index in indices if index not in done])
    lock = threading.Lock()

    def go(worker: _Worker) -> None:
        while True:
            with lock:
                index = next(waiting, None)
            if index is None:
                worker.close()
                return
            item = worker.examine(index)
            with lock:
                done[index] = item
                with open(path, "a") as file:
                    file.write(json.dumps(item) + "\n")
                if progress is not None:
                    progress(item, sum(index in done for index in indices), len(indices))

    threads = [threading.Thread(target=go, args=(_Worker(seed, limit, limited),)) for _ in range(jobs)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return [done[index] for index in indices if index in done]


def read(path: Path) -> list[Record]:
    """The records of a file, none if there is no such file; a line that was cut off is left out."""
    if not path.exists():
        return []
    result = []
    for line in path.read_text().splitlines():
        try:
            result.append(json.loads(line))
        except json.JSONDecodeError:
            continue
    return result


# ---- words


def summary(records: list[Record], most: int = 12) -> str:
    """The table of classes and the members in each, the simplest first."""
    refused = [item for item in records if "refused" in item]
    ends = [kind for item in records for kind in {end[0] for end in item.get("ends", {}).values()}]
    clean = sum(not item["classes"] for item in records)
    lines = [
        f"{len(records)} members: {clean} without a finding, {len(refused)} refused when built, "
        f"{ends.count('refused')} refused as a start, {ends.count('stopped')} stopped with a sentence by some solver.",
        f"Spins below {RESOLVED} rad per step are called calm; whole means that no step was halved.",
        "",
        f"{'class':30} {'all':>5} {'calm, whole':>12} {'calm, halved':>13} {'fast, whole':>12} {'fast, halved':>13}",
    ]
    for name in CLASSES:
        found = [item for item in records if name in item["classes"]]
        cells = [sum(_cell(item) == cell for item in found) for cell in range(4)]
        lines.append(f"{name:30} {len(found):5} {cells[0]:12} {cells[1]:13} {cells[2]:12} {cells[3]:13}")
    for name in CLASSES:
        found = sorted((item for item in records if name in item["classes"]), key=_plainness)
        if found:
            lines += ["", f"{name}: members {', '.join(str(item['index']) for item in found)}"]
        for item in found[:most]:
            lines.append(f"  {item['index']}: {item.get('text', 'not built')}; spin {_spin(item):.2g}")
            lines += [f"      {text}" for text in item["classes"][name][:3]]
            if name.startswith("differs") and item.get("astray"):
                astray = ", ".join(f"{solver} {value:.1e}" for solver, value in item["astray"].items())
                lines.append(f"      from a run with an eighth of the step: {astray}")
    return "\n".join(lines)


def _cell(item: Record) -> int:
    """Column of the table; what never ended counts by the spin it began with, and as halved."""
    fast = _spin(item) >= RESOLVED
    halved = any(item["halved"].values()) if "halved" in item else True
    return 2 * fast + halved


def _spin(item: Record) -> float:
    return float(item["spin"] if "spin" in item else item.get("pace", 0.0))


def _plainness(item: Record) -> tuple[int, int, float]:
    return _cell(item), int(item.get("bodies", 0)), _spin(item)


def portrait(seed: int, index: int, *, limited: bool = False) -> str:
    """One member in full: its mechanism, where its bodies are, and what was found."""
    try:
        case = member(seed, index, limited=limited)
    except ValueError as refusal:
        return f"member {index} of seed {seed} is refused when built: {refusal}"
    lines = [f"member {index} of seed {seed}: {case.text}", repr(case.mechanism), ""]
    for name, body in case.mechanism.bodies.items():
        view = case.state.body(name)
        lines.append(
            f"{name}: {body.inertia.mass:.3g} kg, inertia {body.inertia.tensor.tolist()}\n"
            f"  position {view.position.tolist()}, orientation {view.orientation.tolist()}\n"
            f"  velocity {view.velocity.tolist()}, angular velocity {view.angular_velocity.tolist()}"
        )
    item = record(seed, index, limited=limited)
    lines += ["", *(f"{key}: {value}" for key, value in item.items() if key not in ("text", "classes")), ""]
    lines += [f"{name}: {text}" for name, texts in item["classes"].items() for text in texts] or ["no findings"]
    return "\n".join(lines)
