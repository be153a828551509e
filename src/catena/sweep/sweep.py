"""Sweep: a study of many members, planned once and computed chunk by chunk into a folder."""

from __future__ import annotations

import os
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, Literal

import numpy as np

from .._util.checks import one_of, positive, shown, whole
from .._util.progress import bar
from .._util.status import CatenaWarning, warn
from ..compile.compile import default_kernel
from ..results.trajectory import Trajectory
from ..simulate.simulator import Simulator
from .chunk import BuildMechanism, Chunk, Job, Keep, Outcome, Setup, kept_by, run_alone, usable_kernels, versions
from .engines import Executor, engine_of, work
from .fingerprint import fingerprint
from .folder import Document, Folder, SweepError
from .parameters import Draw, Numbers, source_of

# members that are tried before a sweep, to find out what keep returns
_TRIED = 4


@dataclass(frozen=True)
class SweepSummary:
    """How far a sweep has come: members in all, those that have results or failed, and those that are missing."""

    folder: Path
    members: int
    finished: int
    failed: int

    @property
    def missing(self) -> int:
        """Members that have not been computed."""
        return self.members - self.finished

    def __str__(self) -> str:
        failed = f", {self.failed} of them failed" if self.failed else ""
        missing = f", {self.missing} missing" if self.missing else ""
        return f"{self.finished} of {self.members} members{failed}{missing}: {self.folder}"


class Sweep:
    """Many members of one study, computed in chunks on one machine or on many.

    Parameters
    ----------
    simulator
        Simulates the members; it needs a dt. Failed members do not stop a sweep.
    grid
        {"name": values}: a member for every combination of values; the last parameter changes fastest.
    table
        {"name": (members, ...)} or a DataFrame: a member per row. `ct.sample` makes tables of random samples.
    draw
        A function draw(rng, members) that returns {"name": (members, ...)}. Members are drawn in blocks of 256, each
        from SeedSequence(seed, spawn_key=(first member of the block,)), so neither chunks nor workers change a number.
    members
        Number of members to draw.
    setup
        A function setup(numbers) of the parameters {"name": (members, ...)} of some members. It returns arguments of
        `run_batch` for these members: states, masses, force_parameters and so on.
    keep
        A function keep(batch) that returns what to keep of some members: {"name": (members, ...)}.
    build
        A function build(numbers) of the parameters {"name": value} of one member. It returns the member's Mechanism,
        where its structure or lengths differ from those of the simulator, whose settings apply.
    duration, steps, record_every, bodies
        As in `run_batch`.
    seed
        Seed of the draws.
    chunk
        Number of members that are computed together and stored in one file. A worker needs the memory of a batch of
        this size.
    budget
        Largest CPU time of a member (s). A member that takes longer fails with the status "budget".

    Functions must treat members independently of each other.
    """

    def __init__(
        self,
        simulator: Simulator,
        *,
        keep: Keep,
        grid: Mapping[str, Any] | None = None,
        table: Any = None,
        draw: Draw | None = None,
        members: int | None = None,
        setup: Setup | None = None,
        build: BuildMechanism | None = None,
        duration: float | None = None,
        steps: int | None = None,
        record_every: int = 1,
        bodies: Sequence[str] | None = None,
        seed: int = 0,
        chunk: int = 1024,
        budget: float | None = None,
    ) -> None:
        if not isinstance(simulator, Simulator):
            raise ValueError(f"a sweep needs a Simulator, got {shown(simulator)}")
        simulator.plan.need_dt("without a dt, a batch takes the step that its first member needs")
        for name, function in (("keep", keep), ("setup", setup), ("build", build)):
            if not callable(function) and (function is not None or name == "keep"):
                raise ValueError(f"{name} must be a function, got {shown(function)}")
        self._source = source_of(grid, table, draw, members, whole(seed, "seed", least=0))
        self._chunk = whole(chunk, "chunk")
        simulator.plan.count_steps(duration, steps)
        arguments = {
            "duration": duration,
            "steps": steps,
            "record_every": whole(record_every, "record_every"),
            "bodies": None if bodies is None else list(bodies),
        }
        self._job = Job(
            simulator=simulator,
            source=self._source,
            arguments=arguments,
            setup=setup,
            keep=keep,
            build=build,
            budget=None if budget is None else positive(budget, "budget"),
            kernel="",
            identity="",
            kept={},
            folder="",
        )

    def __len__(self) -> int:
        return self._source.members

    def __repr__(self) -> str:
        return f"Sweep({len(self)} members by {self._source.kind}, chunks of {self._chunk})"

    def numbers(self, first: int, stop: int) -> Numbers:
        """The parameters of members first to stop - 1: {"name": (members, ...)}."""
        first, stop = whole(first, "first", least=0), whole(stop, "stop", most=len(self))
        if first >= stop:
            raise ValueError(f"numbers(first, stop) needs first < stop, got {first} and {stop}")
        return self._source.numbers(first, stop)

    def member(self, member: int) -> Trajectory:
        """Simulate one member by itself, for a look at its whole motion; one that fails ends where it fails."""
        member = whole(member, "member", least=0, most=len(self) - 1)
        job = self._job.with_kernel(self._job.simulator.plan.build.kernel or default_kernel())
        job = replace(job, budget=None, arguments={**job.arguments, "record_every": 1, "bodies": None})
        return run_alone(job, self._source.numbers(member, member + 1))[0]

    def run(
        self,
        folder: str | os.PathLike[str],
        executor: Executor | None = None,
        *,
        workers: int | None = None,
        part: tuple[int, int] = (1, 1),
        retry: Literal["failed"] | None = None,
        progress: bool | Callable[[int, int], None] = False,
    ) -> SweepSummary:
        """Compute the members that the folder does not have yet, and return how far the sweep has come.

        Parameters
        ----------
        folder
            A new folder, or one of the same sweep, which is continued. If anything that determines results has changed
            since it was begun, an error says what.
        executor
            An object with submit(function, chunk) that returns a future: a pool of concurrent.futures, a Client of
            Dask, and others. The default is a process per core of this machine. Workers must see the folder.
        workers
            Number of processes on this machine, if there is no executor; 1 computes in this process.
        part
            (k, n): compute part k of n, counted from 1, as jobs of a scheduler do.
        retry
            "failed" computes failed members again, for example with a larger budget.
        progress
            True for a bar with rate and time left on stderr, or a function of (members done, members in all).
        """
        place = Folder(folder)
        index, parts = (whole(number, "part") for number in part)
        if index > parts:
            raise ValueError(f"part must be (k, n) with k from 1 to n, got {part}")
        if retry is not None:
            one_of(retry, ("failed",), "retry")
        if executor is not None and workers is not None:
            raise ValueError("workers= is for processes of this machine; an executor has its own")
        if executor is not None and not callable(getattr(executor, "submit", None)):
            raise ValueError(
                f"executor must have submit(function, chunk), which returns a future, got {shown(executor)}"
            )
        count = whole(workers, "workers") if workers is not None else os.cpu_count() or 1
        job = self._begun(place, executor)
        total = -(-len(self) // self._chunk)
        there = set(filter(place.is_done, range(index - 1, total, parts)))
        wanted = [number for number in range(index - 1, total, parts) if number not in there or retry is not None]
        tally = _Tally(sum(self._size(number) for number in wanted), progress)
        failed = {number: _failed(place, number) for number in there}

        def chunks() -> Iterator[Chunk]:
            for number in wanted:
                if number not in there or failed[number]:
                    yield Chunk(number, number * self._chunk, self._size(number), retries=number in there)
                else:
                    tally.members -= self._size(number)

        if wanted:
            with engine_of(job, executor, min(count, len(wanted))) as engine:
                work(engine, chunks(), tally)
        tally.end()
        done = [number for number in range(total) if place.is_done(number)]
        finished = sum(map(self._size, done))
        return SweepSummary(place.path, len(self), finished, sum(_failed(place, number) for number in done))

    def _size(self, number: int) -> int:
        return min(self._chunk, len(self) - number * self._chunk)

    def _begun(self, place: Folder, executor: Executor | None) -> Job:
        """The job that goes on in a folder, with a plan of the same sweep."""
        given = self._job.simulator.plan.build.kernel or os.environ.get("CATENA_KERNEL")
        if not place.has_plan:
            kernel = given or _common_kernel(executor)
            job = self._job.with_kernel(kernel)
            kept, parameters = self._tried(job)
            place.begin(
                {
                    "identity": self._identity(kernel),
                    "parameters": {name: [array.shape[1:], array.dtype.str] for name, array in parameters.items()},
                    "kept": kept,
                    "created": datetime.now(timezone.utc).isoformat(timespec="seconds"),
                }
            )
        plan = place.plan()
        known = plan["identity"]
        mine = self._identity(given or known["kernel"])
        _refuse_other(place, known, mine)
        job = self._job.with_kernel(known["kernel"])
        kept = {name: (tuple(shape), kind) for name, (shape, kind) in plan["kept"].items()}
        return replace(job, identity=fingerprint(mine), kept=kept, folder=str(place.path.absolute()))

    def _identity(self, kernel: str) -> Document:
        """All that results depend on."""
        plan, job = self._job.simulator.plan, self._job
        return {
            "members": len(self),
            "chunk": self._chunk,
            "parameters": f"{self._source.kind} {self._source.digest}",
            "mechanism": fingerprint(job.simulator),
            "settings": {
                **job.arguments,
                **{
                    name: getattr(plan, name)
                    for name in ("dt", "accuracy", "order", "solver", "tolerance", "max_iterations", "rescue")
                },
                "on_inaccurate": plan.on_inaccurate,
            },
            "setup": job.setup and fingerprint(job.setup),
            "keep": fingerprint(job.keep),
            "build": job.build and fingerprint(job.build),
            "kernel": kernel,
            "versions": versions(),
        }

    def _tried(self, job: Job) -> tuple[dict[str, tuple[tuple[int, ...], str]], Numbers]:
        """Shapes and types of what is kept of a member, and parameters, from the first member that can be simulated."""
        places = np.unique(np.linspace(0, len(self) - 1, _TRIED).astype(int)).tolist()
        errors: list[Exception] = []
        for member in places:
            numbers = self._source.numbers(member, member + 1)
            try:
                with warnings.catch_warnings():
                    # they are heard again in the sweep itself
                    warnings.simplefilter("ignore")
                    kept = kept_by(job.keep, run_alone(job, numbers))
                return {name: (array.shape[1:], array.dtype.str) for name, array in kept.items()}, numbers
            except Exception as error:
                errors.append(error)
        raise SweepError(
            f"members {', '.join(map(str, places))} were tried first, and none could be simulated; member {places[0]}: "
            f"{type(errors[0]).__name__}: {errors[0]}"
        ) from errors[0]


def _failed(place: Folder, number: int) -> int:
    return int(np.count_nonzero(place.read_chunk(number, "status") != "done"))


def _common_kernel(executor: Executor | None) -> str:
    """The best kernel that all workers have: those of a Client of Dask are asked, others are like this machine."""
    ask = getattr(executor, "run", None)
    if not callable(ask):
        return default_kernel()
    found: Mapping[str, list[str]] = ask(usable_kernels)
    if not found:
        return default_kernel()
    common = [kernel for kernel in next(iter(found.values())) if all(kernel in each for each in found.values())]
    if not common:
        have = "; ".join(f"{worker}: {', '.join(kernels)}" for worker, kernels in found.items())
        raise SweepError(
            f"the workers have no kernel in common ({have}): install catena on all of them from a wheel, or with "
            "-C cmake.define.CATENA_KERNELS='v1;v3;v4'"
        )
    return common[-1]


def _refuse_other(place: Folder, known: Document, mine: Document) -> None:
    """Raise if a folder has results of another sweep."""
    # as they are once they have been written and read
    differ = [name for name in mine if fingerprint(_plain(known.get(name))) != fingerprint(_plain(mine[name]))]
    if differ:
        what = ", ".join(
            f"{name} ({known.get(name)} there, {mine[name]} here)"
            if name in ("members", "chunk", "kernel", "versions")
            else name
            for name in differ
        )
        raise ValueError(f"{place.path}: has results of another sweep, which differs in {what}: use another folder")


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _plain(value[name]) for name in sorted(value)}
    return value


class _Tally:
    """Counts what is done, shows it, and warns at the end of what workers have warned of."""

    def __init__(self, members: int, progress: bool | Callable[[int, int], None]) -> None:
        self.members, self.done = members, 0
        self._progress = progress
        self._begun = self._shown = time.monotonic()
        self._warnings: dict[int, str] = {}

    def __call__(self, outcome: Outcome | None) -> None:
        if outcome is not None:
            self.done += outcome.members
            if outcome.warnings:
                self._warnings[outcome.chunk] = outcome.warnings[0]
            if callable(self._progress):
                self._progress(self.done, self.members)
        now = time.monotonic()
        if self._progress is True and sys.stderr.isatty() and now - self._shown > 0.2:
            self._shown = now
            self._show(now - self._begun)

    def _show(self, seconds: float) -> None:
        rate = self.done / seconds
        left = f", {(self.members - self.done) / rate:.0f} s left" if rate else ""
        bar(self.done, self.members, f"  {rate:.0f} members/s{left}   ")

    def end(self) -> None:
        """Say what remains to be said."""
        if self._progress is True:
            seconds = time.monotonic() - self._begun
            if sys.stderr.isatty():
                self._show(max(seconds, 1e-3))
            sys.stderr.write(f"\n{self.done} members in {seconds:.1f} s\n")
        if self._warnings:
            chunk, said = next(iter(self._warnings.items()))
            others = f" (and {len(self._warnings) - 1} more chunks: see manifest.jsonl)" * (len(self._warnings) > 1)
            warn(CatenaWarning(f"chunk {chunk}: {said}{others}"))
