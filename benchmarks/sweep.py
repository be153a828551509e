"""A sweep beside one `run_batch` of the same members: what files, processes and engines cost.

Chains of ten links on a servo, 200 steps of 5 ms, with random starts, masses and servo targets; two numbers are kept of
every member. CPU time of all processes (that of workers from the manifest, or asked of a cluster's before and after)
and wall time, which tells something only if nothing else runs on the two cores. What a cluster's processes do besides,
a few percent of a core each, grows with the wall time: where others use the machine, the ratio does too. So the CPU
time of idle ones is measured first, and told beside the ratio. `python benchmarks/sweep.py 1000000` takes a number of
members, and names of ways after it choose some of them: batches, processes, dask (which needs dask[distributed]). Bytes
of all chunk files are compared.
"""

from __future__ import annotations

import hashlib
import json
import resource
import sys
import time
from collections.abc import Callable
from math import nan
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from catena import Batch, Servo, Simulator, Sweep, scenes

LINKS, STEPS, CHUNK, WORKERS = 10, 200, 4096, 2
# of Dask, as in docs/howto/sweeps.md: it watches its processes less often, and they keep memory for the next chunk
QUIET = {
    "distributed.worker.profile.enabled": False,
    "distributed.admin.tick.interval": "1s",
    "distributed.worker.memory.monitor-interval": "1s",
    "distributed.nanny.pre-spawn-environ": {"MALLOC_TRIM_THRESHOLD_": 2**25, "MALLOC_MMAP_THRESHOLD_": 2**25},
}


def simulator() -> Simulator:
    m = scenes.pendulum(LINKS, "revolute", angle=0.0)
    m.add_force(Servo("joint1", kp=100.0, kd=10.0, name="hip"))
    return Simulator(m, 0.005, on_inaccurate="ignore")


def draw(rng: np.random.Generator, members: int) -> dict[str, Any]:
    return {
        "start": rng.uniform(-0.5, 0.5, (members, LINKS)),
        "mass": rng.uniform(0.5, 2.0, members),
        "target": rng.uniform(-1.0, 1.0, members),
    }


def setup(numbers: dict[str, Any]) -> dict[str, Any]:
    return {
        "coordinates": numbers["start"],
        "masses": {f"link{LINKS}": numbers["mass"]},
        "force_parameters": {"hip": {"target": numbers["target"]}},
    }


def keep(batch: Batch) -> dict[str, Any]:
    return {"height": batch.position[:, -1, -1, 2], "speed": np.linalg.norm(batch.velocity[:, -1, -1], axis=-1)}


def digest(folder: Path) -> str:
    found = hashlib.sha256()
    for path in sorted(folder.glob("chunk-*.npz")):
        found.update(path.read_bytes())
    return found.hexdigest()[:12]


def worker_seconds(folder: Path) -> float:
    """CPU time of workers."""
    return sum(json.loads(line)["cpu_seconds"] for line in (folder / "manifest.jsonl").read_text().splitlines())


def cluster_seconds(client: Any) -> float:
    """CPU time of the workers of a cluster so far."""
    return sum(client.run(time.process_time).values())


def idle_cores(client: Any, seconds: float = 10.0) -> float:
    """How busy a cluster, and this process with its client and scheduler, are with nothing to do."""
    begun, spent = time.perf_counter(), cluster_seconds(client) + time.process_time()
    time.sleep(seconds)
    return (cluster_seconds(client) + time.process_time() - spent) / (time.perf_counter() - begun)


def one_process(sweep: Sweep, members: int) -> None:
    """The same members, as many at a time as a chunk has, by threads of one process."""
    one = simulator()
    for first in range(0, members, CHUNK):
        numbers = sweep.numbers(first, min(first + CHUNK, members))
        count = len(numbers["mass"])
        keep(one.run_batch(states=count, steps=STEPS, record_every=STEPS, threads=WORKERS, **setup(numbers)))


def main(members: int, chosen: list[str]) -> None:
    sweep = Sweep(
        simulator(), draw=draw, members=members, setup=setup, keep=keep, steps=STEPS, record_every=STEPS, chunk=CHUNK
    )
    with TemporaryDirectory() as name:
        place = Path(name)
        ways: dict[str, Callable[[], object]] = {
            "batches": lambda: one_process(sweep, members),
            "processes": lambda: sweep.run(place / "processes", workers=WORKERS),
        }
        try:
            import dask
            from dask.distributed import Client, LocalCluster

            dask.config.set(QUIET)
            cluster = LocalCluster(n_workers=WORKERS, threads_per_worker=1, dashboard_address=":0")
            client = Client(cluster)
            ways["dask"] = lambda: sweep.run(place / "dask", client)
        except ImportError:
            client = cluster = None
        ways = {way: run for way, run in ways.items() if way in (chosen or ways)}
        spent: dict[str, float] = {}
        idle = before = 0.0
        print(f"{members} members, us per member: CPU time, ratio, wall time")
        for way, run in ways.items():
            if way == "dask" and client is not None:
                idle, before = idle_cores(client), cluster_seconds(client)
            begun, worked = time.perf_counter(), time.process_time()
            run()
            wall, spent[way] = time.perf_counter() - begun, time.process_time() - worked
            if way == "dask" and client is not None:
                spent[way] += cluster_seconds(client) - before
            elif way != "batches":
                spent[way] += worker_seconds(place / way)
            figures = [1e6 * spent[way] / members, spent[way] / spent.get("batches", nan), 1e6 * wall / members]
            print(f"{way:10} {figures[0]:7.1f} {figures[1]:6.2f} {figures[2]:7.1f}", flush=True)
            if way == "dask":
                rest = spent[way] - idle * wall
                figures = [1e6 * rest / members, rest / spent.get("batches", nan), idle]
                print(
                    f"{'less idle':10} {figures[0]:7.1f} {figures[1]:6.2f} (idle: {figures[2]:.3f} cores)", flush=True
                )
        if client is not None and cluster is not None:
            client.close()
            cluster.close()
        print("bytes of chunks:", {path.name: digest(path) for path in place.iterdir()})
        most = [resource.getrusage(who).ru_maxrss // 1024 for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
        print(f"largest memory of this process {most[0]} MiB, of a worker {most[1]} MiB")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 100_000, sys.argv[2:])
