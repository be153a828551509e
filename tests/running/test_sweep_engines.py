"""Engines for several machines compute a sweep with the same bytes as one process; each is tested where installed."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import textwrap
import time
from importlib.util import find_spec
from pathlib import Path

import pytest

import studies
from studies import chunk_bytes, manifest, study

SUPPORT = str(Path(studies.__file__).parent)

# engines by package: the recipes of docs/howto/sweeps.md
ENGINES = {
    "distributed": """
        from dask.distributed import Client, LocalCluster
        with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as nodes, Client(nodes) as client:
            sweep.run(folder, client)
    """,
    "joblib": """
        from joblib.externals.loky import get_reusable_executor
        sweep.run(folder, get_reusable_executor(max_workers=2))
    """,
    "ray": """
        import ray
        class Executor:
            def submit(self, function, chunk):
                return ray.remote(function).remote(chunk).future()
        ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
        sweep.run(folder, Executor())
    """,
    "submitit": """
        import submitit
        sweep.run(folder, submitit.AutoExecutor(folder + "_logs", cluster="local"))
    """,
    "mpi4py": """
        from mpi4py.futures import MPIPoolExecutor
        with MPIPoolExecutor() as executor:
            sweep.run(folder, executor)
    """,
}


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("engines") / "done"
    study().run(folder, workers=1)
    return folder


def script_of(code: str, folder: Path) -> str:
    head = f"from studies import sweep\nfolder = {str(folder)!r}\nif __name__ == '__main__':\n"
    return head + textwrap.indent(textwrap.dedent(code), "    ")


def run(code: str, folder: Path) -> subprocess.CompletedProcess[str]:
    path = folder.with_name("script_of_study.py")
    path.write_text(script_of(code, folder))
    # Ray asks nobody
    environment = os.environ | {"PYTHONPATH": SUPPORT, "RAY_USAGE_STATS_ENABLED": "0", "RAY_AUTH_MODE": "disabled"}
    command = [sys.executable, str(path)]
    if "mpi4py" in code:
        command = ["mpiexec", "-n", "3", sys.executable, "-m", "mpi4py.futures", str(path)]
    return subprocess.run(command, env=environment, capture_output=True, text=True)


@pytest.mark.parametrize("package", ENGINES)
def test_every_engine_gives_the_same_bytes(package: str, done: Path, tmp_path: Path) -> None:
    if find_spec(package) is None:
        pytest.skip(f"needs {package}")
    if package == "mpi4py" and shutil.which("mpiexec") is None:
        pytest.skip("needs mpiexec")
    finished = run(ENGINES[package], tmp_path / package)
    assert finished.returncode == 0, finished.stderr
    assert chunk_bytes(tmp_path / package) == chunk_bytes(done)
    lines = manifest(tmp_path / package)
    assert sorted(line["chunk"] for line in lines) == list(range(5))


DASK = pytest.mark.skipif(find_spec("distributed") is None, reason="needs dask[distributed]")


@DASK
@pytest.mark.skipif(sys.platform == "win32", reason="has no SIGKILL")
def test_a_killed_dask_worker_costs_its_chunk_and_no_more(tmp_path: Path) -> None:
    """The long study of test_sweep.py, one of whose workers is killed; the cluster starts another one."""
    folder = tmp_path / "killed"
    finished = run(
        """
        import os, signal, threading, time
        from pathlib import Path
        from dask.distributed import Client, LocalCluster
        from studies import study
        long = study(steps=4000, record_every=4000, chunk=20)
        with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as nodes, Client(nodes) as client:
            processes = list(client.run(os.getpid).values())
            def kill():
                while len(list(Path(folder).glob("chunk-*.npz"))) < 3:
                    time.sleep(0.01)
                os.kill(processes[0], signal.SIGKILL)
            killer = threading.Thread(target=kill)
            killer.start()
            print(long.run(folder, client))
            killer.join()
            long.run(folder + "_again", client)
        """,
        folder,
    )
    assert finished.returncode == 0, finished.stderr
    assert finished.stdout == f"900 of 900 members: {folder}\n"
    assert chunk_bytes(folder) == chunk_bytes(tmp_path / "killed_again")
    assert len({line["chunk"] for line in manifest(folder)}) == 45
    # on a busy machine the other one may be done before another takes the place of the killed one
    assert len({line["process"] for line in manifest(folder)}) in (2, 3)


@DASK
def test_functions_of_a_script_reach_dask_workers(tmp_path: Path) -> None:
    finished = run(
        """
        from dask.distributed import Client, LocalCluster
        from studies import study
        with LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=":0") as nodes, Client(nodes) as client:
            scale = 2.0
            found = study(keep=lambda batch: {"angle": scale * batch.coordinates[:, -1, 0]}).run(folder, client)
            print(found.failed, found.missing)
        """,
        tmp_path / "script",
    )
    assert finished.stdout == "0 0\n", finished.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="has no SIGKILL")
def test_workers_end_with_the_process_that_started_them(tmp_path: Path) -> None:
    folder = tmp_path / "orphans"
    path = tmp_path / "orphans.py"
    path.write_text(
        script_of("studies.study(steps=10**6, chunk=300, record_every=10**6).run(folder, workers=2)", folder)
    )
    path.write_text("import studies\n" + path.read_text())
    process = subprocess.Popen([sys.executable, str(path)], env=os.environ | {"PYTHONPATH": SUPPORT})
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    if not children.exists():
        process.kill()
        pytest.skip("children of a process are listed on Linux only")
    while len(workers := children.read_text().split()) < 2:
        time.sleep(0.01)
    # until they have their job
    time.sleep(0.5)
    process.send_signal(signal.SIGKILL)
    process.wait()
    for worker in workers:
        while Path(f"/proc/{worker}").exists() and "(zombie)" not in Path(f"/proc/{worker}/status").read_text():
            time.sleep(0.01)
