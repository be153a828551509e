"""Time, measured so that ratios are honest: contestants take turns, so that all meet the same noise.

Times are CPU time of the calling thread, the best of many rounds. The fixed cost of a call is taken from a call without
steps and subtracted, for every contestant alike.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

# takes a number of steps and makes them
Contestant: TypeAlias = Callable[[int], Any]


def race(contestants: Mapping[str, Contestant], steps: int, *, rounds: int, seconds: float) -> dict[str, float]:
    """CPU seconds of `steps` steps of each: the best of `rounds` or of as many as `seconds` allow, three at least."""
    best = {name: [float("inf"), float("inf")] for name in contestants}
    end = time.perf_counter() + seconds
    done = 0
    while done < 3 or (done < rounds and time.perf_counter() < end):
        for name, run in contestants.items():
            for k, count in enumerate((0, steps)):
                start = time.thread_time()
                run(count)
                best[name][k] = min(best[name][k], time.thread_time() - start)
        done += 1
    # a clock of finite steps may find that nothing takes longer than something
    return {name: max(whole - empty, 1e-9) for name, (empty, whole) in best.items()}
