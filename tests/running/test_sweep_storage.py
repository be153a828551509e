"""Files of chunks in other formats hold what npz does, and results larger than memory are read piece by piece."""

from __future__ import annotations

import shutil
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import studies
from catena import SweepError, open_sweep
from catena.sweep import storage as storage_module
from catena.sweep.folder import Folder
from studies import MEMBERS, manifest, study

PACKAGES = {"parquet": "pyarrow", "zarr": "zarr"}


@pytest.fixture(params=["parquet", "zarr"])
def storage(request: pytest.FixtureRequest) -> Any:
    pytest.importorskip(PACKAGES[request.param])
    return request.param


def files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.glob("chunk-*"))}


def keep(batch: Any) -> dict[str, Any]:
    """Numbers, vectors, matrices and other types."""
    angle = batch.joint("joint1").coordinates[:, -1, 0]
    return {**studies.keep(batch), "all": batch.position[:, -1], "short": angle.astype(np.float32)}


def named(numbers: dict[str, Any]) -> dict[str, Any]:
    """A setup for members with a word, some of which are refused."""
    if "refuse" in numbers["word"]:
        raise ValueError('a mass is "refused", as an answer, in any script: \u4e2d')
    return studies.setup(numbers)


def words(**others: Any) -> Any:
    numbers = study().numbers(0, MEMBERS)
    word = np.array(["one", "refuse", "three"])[np.arange(MEMBERS) % 179 % 3 * (np.arange(MEMBERS) % 50 == 7)]
    table = numbers | {"word": word, "count": np.arange(MEMBERS, dtype=np.int32)}
    return study(table=table, setup=named, keep=keep, **others)


def test_other_formats_hold_what_npz_does(storage: Any, tmp_path: Path) -> None:
    words().run(tmp_path / "npz", workers=1)
    summary = words().run(tmp_path / storage, workers=1, storage=storage)
    assert summary.missing == 0
    assert summary.failed > 0
    one, other = Folder(tmp_path / "npz"), Folder(tmp_path / storage)
    assert sorted(files(tmp_path / storage)) == [f"chunk-{k:06d}.{other.storage.ending}" for k in range(5)]
    for chunk in range(5):
        assert other.read_messages(chunk) == one.read_messages(chunk)
        for name in ("member", "start", "mass", "word", "count", "angle", "tip", "all", "short", "status"):
            expected, found = one.read_chunk(chunk, name), other.read_chunk(chunk, name)
            np.testing.assert_array_equal(found, expected)
            assert found.dtype.kind == expected.dtype.kind
            assert expected.dtype.kind == "U" or found.dtype == expected.dtype
    assert [line["bytes"] for line in manifest(tmp_path / storage)] == [
        len(whole) for whole in files(tmp_path / storage).values()
    ]


def test_equal_rows_are_equal_bytes(storage: Any, tmp_path: Path) -> None:
    """However they are computed: in one process, by two, or after an interruption."""
    study().run(tmp_path / "one", workers=1, storage=storage)
    study().run(tmp_path / "two", workers=2, storage=storage)
    study().run(tmp_path / "parts", workers=1, part=(2, 2), storage=storage)
    # a folder keeps its format
    study().run(tmp_path / "parts", workers=1)
    assert files(tmp_path / "one") == files(tmp_path / "two") == files(tmp_path / "parts")


def test_failed_members_are_retried(storage: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "a"
    sweep = words()
    failed = sweep.run(folder, workers=1, storage=storage).failed
    before = files(folder)
    assert sweep.run(folder, workers=1, retry="failed").failed == failed > 0
    assert files(folder) == before


@pytest.mark.parametrize("damage", ["empty", "short", "zeros"])
def test_a_damaged_file_is_computed_anew(storage: Any, damage: str, tmp_path: Path) -> None:
    folder = tmp_path / "a"
    study().run(folder, workers=1, storage=storage)
    before = files(folder)
    name = sorted(before)[1]
    whole = before[name]
    left = {"empty": b"", "short": whole[: len(whole) // 2], "zeros": bytes(len(whole))}[damage]
    (folder / name).write_bytes(left)
    with pytest.raises(ValueError, match=r"chunk-000001.*damaged .*run the sweep again to compute it anew"):
        Folder(folder).read_chunk(1, "angle")
    study().run(folder, workers=1)
    assert files(folder) == before


def test_other_formats_are_read_by_other_programs(storage: Any, tmp_path: Path) -> None:
    xarray, pandas = pytest.importorskip("xarray"), pytest.importorskip("pandas")
    study().run(tmp_path / "a", workers=1, storage=storage)
    found = open_sweep(tmp_path / "a")
    paths = sorted((tmp_path / "a").glob("chunk-*"))
    if storage == "parquet":
        frame = pandas.concat([pandas.read_parquet(path) for path in paths])
        angle, tip = frame["angle"], np.stack(frame["tip"])
    else:
        import zarr

        groups = [zarr.open_group(zarr.storage.ZipStore(path, mode="r"), mode="r") for path in paths]
        angle, tip = (np.concatenate([group[name][...] for group in groups]) for name in ("angle", "tip"))
    np.testing.assert_array_equal(angle, found.angle)
    np.testing.assert_array_equal(tip, found.tip)
    assert isinstance(found, xarray.Dataset)


def test_a_folder_keeps_its_format(storage: Any, tmp_path: Path) -> None:
    study(members=5).run(tmp_path / "a", workers=1)
    with pytest.raises(ValueError, match=f"has chunks stored as npz, not {storage}: leave out storage="):
        study(members=5).run(tmp_path / "a", workers=1, storage=storage)


def test_a_format_that_is_not_installed_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> Any:
        raise ImportError(name)

    monkeypatch.setattr(storage_module, "import_module", missing)
    for name, package in PACKAGES.items():
        with pytest.raises(ImportError, match=f"storage='{name}' needs {package}, which is not installed: pip install"):
            study(members=5).run(tmp_path / name, workers=1, storage=name)  # type: ignore[arg-type]
        assert not (tmp_path / name).exists()


def test_a_worker_without_the_package_says_so(storage: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    study(members=5, chunk=1).run(tmp_path / "a", workers=1, part=(1, 2), storage=storage)

    def missing(name: str) -> Any:
        raise ImportError(name)

    def nothing_done(self: Folder, chunk: int) -> bool:
        return False

    # the process that starts the sweep has it
    monkeypatch.setattr(Folder, "is_done", nothing_done)
    monkeypatch.setattr(storage_module, "import_module", missing)
    with pytest.raises(SweepError, match=rf"the worker on \S+: storage='{storage}' needs {PACKAGES[storage]}"):
        study(members=5, chunk=1).run(tmp_path / "a", workers=1)


def complex_keep(batch: Any) -> dict[str, Any]:
    return {"root": batch.position[:, -1, -1, 0].astype(complex)}


def test_types_that_a_format_does_not_have_are_refused_at_once(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    with pytest.raises(ValueError, match="storage='parquet' cannot store 'root' of type complex128: use 'npz', or"):
        study(members=5, keep=complex_keep).run(tmp_path / "a", workers=1, storage="parquet")
    assert not (tmp_path / "a").exists()


def test_an_unknown_format_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="storage must be one of 'npz', 'parquet', 'zarr'"):
        study().run(tmp_path / "a", workers=1, storage="csv")  # type: ignore[arg-type]


# ---- larger than memory

WIDE, PER_FILE, FILES = 20_000, 64, 24


def wide(batch: Any) -> dict[str, Any]:
    """As a recording would be: 160 kB per member."""
    return {"history": np.repeat(batch.position[:, -1, -1, :1], WIDE, axis=1)}


READ = """
import resource, sys
import numpy as np
from catena import open_sweep
found = open_sweep({folder!r})
float(found.history[0, 0])  # whatever is loaded for the first value
used = next(int(line.split()[1]) * 1024 for line in open("/proc/self/status") if line.startswith("VmSize"))
resource.setrlimit(resource.RLIMIT_AS, (used + {room}, used + {room}))
size, sums = found.attrs["chunk"], []
for first in range(0, found.sizes["member"], size):
    sums.append(found.history[first : first + size].sum(axis=1).values)
print(repr(float(np.concatenate(sums).sum())))
try:
    found.history.values
except MemoryError:
    print("all of it does not fit")
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the limit of memory is that of Linux")
def test_results_larger_than_memory_are_read_piece_by_piece(tmp_path: Path) -> None:
    """A folder of 246 MB, by a process that may use 80 MB more than it does."""
    pytest.importorskip("xarray")
    folder = tmp_path / "wide"
    members = PER_FILE * FILES
    study(keep=wide, members=members, chunk=PER_FILE, steps=2, record_every=2).run(folder, workers=1)
    size = sum(path.stat().st_size for path in folder.glob("chunk-*"))
    room = 80 << 20
    assert size > 2.5 * room
    script = textwrap.dedent(READ.format(folder=str(folder), room=room))
    finished = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert finished.returncode == 0, finished.stderr
    total, word = finished.stdout.splitlines()
    assert word == "all of it does not fit"
    place = Folder(folder)
    expected = WIDE * sum(place.read_chunk(chunk, "history")[:, 0].sum() for chunk in range(FILES))
    # sums in another order
    assert float(total) == pytest.approx(expected, rel=1e-10)


# ---- a disk that fills up

FULL = """
import sys
sys.path.insert(0, {support!r})
from catena import SweepError
from studies import study
try:
    study(chunk=20).run("/mnt/sweep", workers={workers})
except SweepError as error:
    print(error)
"""


@pytest.mark.skipif(shutil.which("unshare") is None, reason="needs unshare")
@pytest.mark.parametrize("workers", [1, 2])
def test_a_small_disk_fills_up(workers: int, tmp_path: Path) -> None:
    """On a file system of 100 kB of its own: chunks that are there stay, and a larger disk goes on."""
    (tmp_path / "full.py").write_text(FULL.format(support=str(Path(studies.__file__).parent), workers=workers))
    saved = tmp_path / "saved"
    command = "mount -t tmpfs -o size=100k none /mnt && {python} full.py && cp -r /mnt/sweep saved"
    name = ["unshare", "--mount", "--map-root-user"]
    if subprocess.run([*name, "mount", "-t", "tmpfs", "none", "/mnt"], capture_output=True).returncode != 0:
        pytest.skip("may not mount a file system")
    shell = [*name, "sh", "-c", command.format(python=sys.executable)]
    finished = subprocess.run(shell, cwd=tmp_path, capture_output=True, text=True)
    assert finished.returncode == 0, finished.stderr
    assert "could not be written on" in finished.stdout
    assert "No space left on device; finished chunks are kept: remove the cause" in finished.stdout
    there = files(saved)
    assert 2 <= len([name for name in there if name.endswith(".npz")]) < 45
    assert not [name for name in there if name.endswith(".part")]
    study(chunk=20).run(saved, workers=1)
    study(chunk=20).run(tmp_path / "whole", workers=1)
    assert files(saved) == files(tmp_path / "whole")
    assert {name: files(saved)[name] for name in there} == there
