"""Where chunks are computed: in this process, in processes of this machine, or by any engine with `submit`.

An engine is an object with submit(function, chunk), which returns a future with done(), result() and cancel(): pools of
concurrent.futures, a Client of Dask, and others. Futures are asked in turn whether they are done, which all of them can
answer; those that can say so themselves, by add_done_callback, are asked rarely.
"""

from __future__ import annotations

import multiprocessing
import os
import pickle
import signal
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, suppress
from multiprocessing.connection import wait
from typing import Any, Protocol

from .chunk import Chunk, Outcome, inherit, run_chunk
from .folder import SweepError
from .job import Job

# s between questions whether a chunk is done, and where futures say so themselves
_PAUSE, _LONG_PAUSE = 0.02, 0.1
# chunks that an engine has on its hands at most, and how often a chunk may be lost with its worker
_MOST_PENDING, _MOST_LOSSES = 256, 3


class Pending(Protocol):
    """A chunk that is being computed, or waits for it."""

    def done(self) -> bool:
        """Whether there is a result, or an error."""

    def result(self) -> Any:
        """The result; raises the error."""

    def cancel(self) -> Any:
        """Stop, if it has not begun."""


class Executor(Protocol):
    """What computes chunks: pools of concurrent.futures, a Client of Dask, and their like."""

    def submit(self, function: Callable[[Any], Any], chunk: Any, /) -> Any:
        """Compute function(chunk) somewhere; returns a future."""


class _Here:
    """The process at hand, one chunk after the other."""

    most_pending = 1

    def __init__(self, job: Job) -> None:
        self._job = job

    def submit(self, chunk: Chunk) -> Pending:
        inherit(self._job)
        future: Future[Outcome] = Future()
        try:
            future.set_result(run_chunk(chunk))
        except Exception as error:
            future.set_exception(error)
        return future

    def restart(self) -> bool:
        return False

    def stop(self) -> None:
        """Nothing goes on."""


class _Processes:
    """Worker processes of this machine, which inherit the job: where processes fork, its functions need no pickling."""

    def __init__(self, job: Job, workers: int) -> None:
        self._job, self._workers = job, workers
        self.most_pending = 2 * workers
        self._begin()

    def _begin(self) -> None:
        context = multiprocessing.get_context("fork" if sys.platform == "linux" else "spawn")
        before = set(multiprocessing.active_children())
        self._pool = ProcessPoolExecutor(self._workers, context, _begin_worker, (self._job,))
        with warnings.catch_warnings():
            # the core and this package hold no locks that a forked process would wait for
            warnings.filterwarnings("ignore", ".*fork.*", DeprecationWarning)
            # processes start with the first task
            self._pool.submit(os.getpid).result()
        self._processes = [process for process in multiprocessing.active_children() if process not in before]

    def submit(self, chunk: Chunk) -> Pending:
        return self._pool.submit(run_chunk, chunk)

    def restart(self) -> bool:
        """Begin anew after a process has died, which ends all of them."""
        self.stop()
        self._begin()
        return True

    def stop(self) -> None:
        for process in self._processes:
            process.terminate()
        self._pool.shutdown(wait=False, cancel_futures=True)


class _Given:
    """An executor of the user's, whose workers get the job with every chunk."""

    most_pending = _MOST_PENDING

    def __init__(self, job: Job, executor: Executor) -> None:
        self._job, self._executor = job, executor

    def submit(self, chunk: Chunk) -> Pending:
        found: Pending = self._executor.submit(run_chunk, chunk.carrying(self._job))
        return found

    def restart(self) -> bool:
        return False

    def stop(self) -> None:
        """It is the user's to shut down."""


def _begin_worker(job: Job) -> None:
    # Ctrl-C is heard by the first process, which ends the others
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    inherit(job)


def _end_with_parent() -> None:
    """A process whose parent was killed would wait for work forever."""
    parent = multiprocessing.parent_process()
    assert parent is not None
    wait([parent.sentinel])
    os._exit(1)


@contextmanager
def engine_of(job: Job, executor: Executor | None, workers: int) -> Iterator[_Here | _Processes | _Given]:
    """The engine that computes a job; whatever it has begun itself is ended."""
    engine: _Here | _Processes | _Given
    if executor is not None:
        engine = _Given(job, executor)
    elif workers == 1:
        engine = _Here(job)
    else:
        try:
            engine = _Processes(job, workers)
        except (pickle.PicklingError, AttributeError, TypeError, BrokenProcessPool) as error:
            raise _not_sent(error) from None
    try:
        yield engine
    finally:
        engine.stop()


def work(engine: _Here | _Processes | _Given, chunks: Iterator[Chunk], told: Callable[[Outcome | None], None]) -> None:
    """Compute chunks; `told` hears of every outcome, and of None now and then."""
    pending: list[tuple[Pending, Chunk]] = []
    losses: dict[int, int] = {}
    again: list[Chunk] = []
    some_done, pause = threading.Event(), _LONG_PAUSE
    try:
        while True:
            while len(pending) < engine.most_pending and (chunk := again.pop() if again else next(chunks, None)):
                future = _submitted(engine, chunk)
                pending.append((future, chunk))
                if hasattr(future, "add_done_callback"):
                    future.add_done_callback(lambda _: some_done.set())
                else:
                    pause = _PAUSE
            if not pending:
                return
            done = [(future, chunk) for future, chunk in pending if future.done()]
            if not done:
                told(None)
                some_done.wait(pause)
                some_done.clear()
                continue
            pending = [item for item in pending if item not in done]
            broken = False
            for future, chunk in done:
                try:
                    told(_result_of(future))
                except SweepError:
                    raise
                except Exception as error:
                    # not an error of the chunk, but of whoever computed it
                    broken = broken or isinstance(error, BrokenProcessPool)
                    losses[chunk.number] = losses.get(chunk.number, 0) + 1
                    if losses[chunk.number] >= _MOST_LOSSES:
                        raise _lost(chunk, error) from error
                    again.append(chunk)
            if broken:
                again += [chunk for _, chunk in pending]
                pending = []
                if not engine.restart():
                    raise SweepError(
                        "a worker process of the executor has died, and the executor takes no more work; finished "
                        "chunks are kept: run the sweep again with a new executor"
                    )
    finally:
        for future, _ in pending:
            with suppress(Exception):
                future.cancel()


def _submitted(engine: _Here | _Processes | _Given, chunk: Chunk) -> Pending:
    try:
        return engine.submit(chunk)
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise _not_sent(error) from None


def _result_of(future: Pending) -> Outcome:
    try:
        found = future.result()
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise _not_sent(error) from None
    if not isinstance(found, Outcome):
        raise SweepError(
            f"the executor returned {found!r:.80} for a chunk, not the result of the function it was given"
        )
    return found


def _not_sent(error: Exception) -> SweepError:
    return SweepError(
        f"a function of the sweep cannot be sent to workers: {error}; define setup, keep, draw and build at the top "
        "level of a module, not inside a function or as a lambda, or use an engine that pickles by value, such as Dask"
    )


def _lost(chunk: Chunk, error: Exception) -> SweepError:
    members = f"members {chunk.first} to {chunk.first + chunk.count - 1}"
    said = next(iter(str(error).strip().splitlines()), "")
    return SweepError(
        f"chunk {chunk.number} ({members}) was lost {_MOST_LOSSES} times with its worker, the last time by "
        f"{type(error).__name__}: {said}; finished chunks are kept. Workers that run out of memory need smaller chunks "
        "or fewer recorded nodes (record_every=); all workers must find the modules of the sweep's functions"
    )
