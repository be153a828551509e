"""Forces that are held over steps with the motion they give, and what live mechanisms and batches must survive."""

from __future__ import annotations

import threading

import numpy as np

from catena import (
    Live,
    LiveBatch,
)

FORCES = (1.0, 2.0, 4.0)


DT = 0.1


# held forces: x advances by v h + f h^2/2, v by f h
V = np.cumsum((0.0, *(f * DT for f in FORCES)))


X = np.cumsum((0.0, *(V[k] * DT + FORCES[k] * DT**2 / 2 for k in range(3))))


def steps_of_two_threads(live: Live | LiveBatch, each: int) -> int:
    """How many were taken; the others were refused."""
    taken, refused = [0, 0], [0, 0]

    def work(k: int) -> None:
        for _ in range(each):
            try:
                live.step()
                taken[k] += 1
            except RuntimeError:
                refused[k] += 1

    threads = [threading.Thread(target=work, args=(k,)) for k in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(taken) + sum(refused) == 2 * each
    return sum(taken)


class OwnError(Exception):
    pass
