"""Sweep: a parameter study with many members, computed chunk by chunk into a folder."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from .._util.checks import one_of, positive, seconds, shown, whole
from ..compile.compile import default_kernel
from ..results.trajectory import Trajectory
from ..simulate.simulator import Simulator
from .chunk import Chunk
from .engines import Executor, engine_of, work
from .folder import Folder
from .job import BuildMechanism, Job, Keep, Setup, run_alone
from .parameters import Draw, Numbers, source_of
from .planning import begun
from .rows import count_failures
from .tally import Tally


@dataclass(frozen=True)
class SweepSummary:
    """Progress of a sweep: number of members, of those that are finished, and of those that failed."""

    folder: Path
    members: int
    finished: int
    failed: int

    @property
    def missing(self) -> int:
        """Number of members that have not been computed."""
        return self.members - self.finished

    def __str__(self) -> str:
        failed = f", {self.failed} of them failed" if self.failed else ""
        missing = f", {self.missing} missing" if self.missing else ""
        return f"{self.finished} of {self.members} members{failed}{missing}: {self.folder}"


class Sweep:
    """A parameter study with many members, computed in chunks on one machine or on many.

    Parameters
    ----------
    simulator
        The simulator of the members; it needs a dt. Failed members do not stop a sweep.
    grid
        {"name": values}: one member for every combination of values; the last parameter changes fastest.
    table
        {"name": (members, ...)} or a DataFrame: one member per row. `ct.sample` makes tables of random samples.
    draw
        A function draw(rng, members) that returns random parameters {"name": (members, ...)}. It is called for blocks
        of 256 members, each with the seed SeedSequence(seed, spawn_key=(first member of the block,)), so the
        parameters do not depend on chunks or workers.
    members
        Number of members to draw.
    setup
        A function setup(numbers) of the parameters {"name": (members, ...)} of some members. It returns the arguments
        of `run_batch` for these members: states, masses, force_parameters and so on.
    keep
        A function keep(batch) that returns the results to keep: {"name": (members, ...)}.
    build
        A function build(numbers) of the parameters {"name": value} of one member. It returns the Mechanism of this
        member, if its structure or dimensions differ between members. The settings of the simulator apply.
    duration, steps, record_every, bodies
        As in `run_batch`.
    seed
        Seed of `draw`.
    chunk
        Number of members that are computed together and stored in one file. A worker needs the memory of a batch of
        this size.
    budget
        Largest CPU time of a member (s). A member that takes longer fails with the status "budget".

    The functions must treat every member independently of the others.
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
        simulator.plan.need_dt("a sweep needs a fixed time step")
        for name, function in (("keep", keep), ("setup", setup), ("build", build)):
            if not callable(function) and (function is not None or name == "keep"):
                raise ValueError(f"{name} must be a function, got {shown(function)}")
        self._source = source_of(grid, table, draw, members, whole(seed, "seed", least=0))
        self._chunk = whole(chunk, "chunk")
        simulator.plan.count_steps(duration, steps)
        arguments = {
            "duration": None if duration is None else seconds(duration),
            "steps": None if steps is None else whole(steps, "steps", least=0),
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
        """Return the parameters of members first to stop - 1: {"name": (members, ...)}."""
        first, stop = whole(first, "first", least=0), whole(stop, "stop", most=len(self))
        if first >= stop:
            raise ValueError(f"numbers(first, stop) needs first < stop, got {first} and {stop}")
        return self._source.numbers(first, stop)

    def member(self, member: int) -> Trajectory:
        """Simulate one member and return its Trajectory; if it fails, the trajectory ends there."""
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
        storage: Literal["npz", "parquet", "zarr"] | None = None,
        progress: bool | Callable[[int, int], None] = False,
    ) -> SweepSummary:
        """Compute the members that are missing in the folder, and return the progress of the sweep.

        Parameters
        ----------
        folder
            A new folder, or that of an earlier run of this sweep, which is resumed. If anything that determines the
            results has changed since then, an error names it.
        executor
            An object with submit(function, chunk) that returns a future: a pool of concurrent.futures, a Client of
            Dask, and others. The default is one process per core of this machine. All workers must have access to the
            folder.
        workers
            Number of processes on this machine, if there is no executor; with 1, no process is started.
        part
            (k, n): compute part k of n, counted from 1; for array jobs of a scheduler.
        retry
            "failed" computes failed members again, for example with a larger budget.
        storage
            Format of the files in a new folder: "npz" (default), "parquet" (needs pyarrow) or "zarr" (needs zarr).
        progress
            True for a bar with the rate and the remaining time on stderr, or a function of (members done, members in
            all).
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
        job = begun(self._job, self._source, self._chunk, place, executor, storage)
        total = -(-len(self) // self._chunk)
        there = set(filter(place.is_done, range(index - 1, total, parts)))
        # who was killed after a file and before its line leaves the line to whoever comes next
        told = {line["chunk"] for line in place.manifest()}
        wanted = [
            number for number in range(index - 1, total, parts) if number not in there & told or retry is not None
        ]
        tally = Tally(sum(self._size(number) for number in wanted), progress)
        failed = {number: _failed(place, number) for number in there}

        def chunks() -> Iterator[Chunk]:
            for number in wanted:
                if number not in there & told or failed[number]:
                    retries = retry is not None and failed.get(number, 0) > 0
                    yield Chunk(number, number * self._chunk, self._size(number), retries)
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


def _failed(place: Folder, number: int) -> int:
    return count_failures(place.read_chunk(number, "status"))
