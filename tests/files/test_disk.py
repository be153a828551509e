"""Files: sizes are checked before they are believed, only plain files are read, and what is written is whole or not."""

from __future__ import annotations

import io
import json
import os
import stat
import struct
import subprocess
import sys
import zipfile
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import catena as ct
from catena.view.viewer.mesh_files import read_triangles

resource = pytest.importorskip("resource", reason="no limits on memory here")

# what a process may take on top of what it has when everything is imported
SPARE, BOMB = 120 << 20, 200 << 20


def within_memory(read: str, *paths: Path) -> list[str]:
    """What is said of files by a reader that may take no more than SPARE bytes."""
    program = f"""
import resource, sys
import numpy as np
import catena as ct
from catena.view.viewer.mesh_files import read_triangles
try:
    import trimesh, collada
except ImportError:
    pass
pages = int(open("/proc/self/statm").read().split()[0])
resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + {SPARE},) * 2)
for path in sys.argv[1:]:
    try:
        {read}(path)
        print("read")
    except ValueError as error:
        print("ValueError", error)
"""
    done = subprocess.run(
        [sys.executable, "-c", program, *map(str, paths)], capture_output=True, text=True, timeout=600
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout.splitlines()


def npy(array: np.ndarray, shape: tuple[int, ...] | None = None) -> bytes:
    """A member of an npz, which may say that it has another shape."""
    file = io.BytesIO()
    header = {"descr": np.lib.format.dtype_to_descr(array.dtype), "fortran_order": False, "shape": shape or array.shape}
    np.lib.format.write_array_header_1_0(file, header)
    return file.getvalue() + array.tobytes()


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    ct.Simulator(ct.scenes.pendulum(2), 0.01).run(steps=5).save(tmp_path / "run.npz")
    return tmp_path / "run.npz"


def put(path: Path, name: str, contents: bytes, kind: int = zipfile.ZIP_DEFLATED) -> None:
    """Replace or add a member."""
    with zipfile.ZipFile(path) as old:
        members = {member: old.read(member) for member in old.namelist() if member != name}
    with zipfile.ZipFile(path, "w") as new:
        for member, text in members.items():
            new.writestr(member, text)
        new.writestr(name, contents, kind, 1)


def test_what_is_not_known_in_an_npz_is_not_unpacked(saved: Path) -> None:
    put(saved, "bomb.npy", npy(np.zeros(BOMB, dtype=np.uint8)))
    assert saved.stat().st_size < 4 << 20
    assert within_memory("ct.Trajectory.load", saved) == ["read"]


@pytest.mark.parametrize("name", ["position", "document"])
def test_an_npz_takes_no_more_memory_than_disk(saved: Path, name: str) -> None:
    put(saved, f"{name}.npy", npy(np.zeros(BOMB, dtype=np.uint8)))
    (said,) = within_memory("ct.Trajectory.load", saved)
    assert "not a readable trajectory (its arrays are compressed" in said


def test_an_npz_is_not_believed(saved: Path) -> None:
    whole = saved.read_bytes()
    put(saved, "position.npy", npy(np.zeros(30), (1 << 40, 3)), zipfile.ZIP_STORED)
    # a directory that says that a member is larger than it is
    larger = saved.with_name("larger.npz")
    larger.write_bytes(whole)
    with zipfile.ZipFile(larger) as archive:
        member = archive.getinfo("time.npy")
    sizes = struct.pack("<II", member.compress_size, member.file_size)
    at = whole.rindex(sizes)
    larger.write_bytes(whole[:at] + struct.pack("<II", 1 << 31, 1 << 31) + whole[at + 8 :])
    shape, size = within_memory("ct.Trajectory.load", saved, larger)
    assert "has 240 bytes, and is said to have" in shape
    assert "not a readable trajectory (its arrays are declared larger" in size
    # the same name twice
    saved.write_bytes(whole)
    with zipfile.ZipFile(saved, "a") as archive, pytest.warns(UserWarning, match="Duplicate"):
        archive.writestr("time.npy", npy(np.zeros(6)))
    with pytest.raises(ValueError, match="an array is contained twice"):
        ct.Trajectory.load(saved)


# ---- meshes


def collada(nodes: str, shown: str) -> str:
    return (
        '<COLLADA xmlns="http://www.collada.org/2005/11/COLLADASchema" version="1.4.1"><asset/>'
        f'<library_nodes>{nodes}</library_nodes><library_visual_scenes><visual_scene id="s"><node id="top">{shown}'
        '</node></visual_scene></library_visual_scenes><scene><instance_visual_scene url="#s"/></scene></COLLADA>'
    )


def laughing(depth: int) -> str:
    """Nodes that show the next one twice."""
    twice = '<instance_node url="#n{0}"/><instance_node url="#n{0}"/>'
    return "".join(f'<node id="n{k}">{twice.format(k + 1)}</node>' for k in range(depth))


def glb(document: dict) -> bytes:
    text = json.dumps(document).encode()
    text += b" " * (-len(text) % 4)
    return struct.pack("<4sIIII", b"glTF", 2, 20 + len(text), len(text), 0x4E4F534A) + text


@cache
def bomb() -> bytes:
    """An archive of all kinds of meshes."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("a.dae", bytes(BOMB), zipfile.ZIP_DEFLATED, 1)
        archive.writestr("a.stl", b"")
    return file.getvalue()


HUGE = {"count": 1 << 33, "componentType": 5126, "type": "VEC3"}
MESHES = {
    "zip.dae": (bomb, "an archive"),
    "zip.stl": (bomb, "an archive"),
    "late.dae": (lambda: b"<COLLADA/>" + bomb(), "an archive"),
    "a.zip": (bomb, "not in a supported mesh format"),
    "a.3mf": (bomb, "not in a supported mesh format"),
    "laughs.dae": (collada(laughing(40), '<instance_node url="#n0"/>').encode(), "more than 100000 nodes"),
    "circle.dae": (collada('<node id="a"><instance_node url="#a"/></node>', "").encode(), "an instance of itself"),
    "entity.dae": (b'<!DOCTYPE a [<!ENTITY b "c">]><COLLADA/>', "declares a document type"),
    "told.glb": (glb({"asset": {"version": "2.0"}, "accessors": [HUGE]}), "rows, more than"),
    "circle.glb": (glb({"nodes": [{"children": [0]}], "scenes": [{"nodes": [0]}]}), "do not form a tree"),
    "told.gltf": (json.dumps({"accessors": [HUGE]}).encode(), "rows, more than"),
    "list.gltf": (b"[]", "cannot be read"),
    "short.glb": (b"glTF", "cannot be read"),
    "nowhere.stl": (b"solid a\nfacet normal 0 0 1\nouter loop\nvertex nan 0 0\nvertex 1 0 0\nvertex 0 1 0\n"
                    b"endloop\nendfacet\nendsolid a", "has no triangles"),
    "beyond.off": (b"OFF\n3 1 0\n0 0 0\n1 0 0\n0 1 0\n3 0 1 7\n", "cannot be read"),
}  # fmt: skip


def test_meshes_that_grow_are_refused(tmp_path: Path) -> None:
    pytest.importorskip("trimesh", reason="no trimesh")
    pytest.importorskip("collada", reason="no pycollada")
    for name, (text, _) in MESHES.items():
        (tmp_path / name).write_bytes(text() if callable(text) else text)
    lines = within_memory("read_triangles", *(tmp_path / name for name in MESHES))
    for line, (name, (_, words)) in zip(lines, MESHES.items(), strict=True):
        assert line.startswith("ValueError"), (name, line)
        assert words in line, (name, line)


def test_a_mesh_reads_nothing_but_numbers_and_materials_beside_it(tmp_path: Path) -> None:
    pytest.importorskip("trimesh", reason="no trimesh")
    (tmp_path / "robot").mkdir()
    mesh = tmp_path / "robot" / "a.obj"
    triangle = "v 0 0 0\nv 1 0 0\nv 0 1 0\nusemtl tint\nf 1 2 3\n"
    (tmp_path / "outside.mtl").write_text("newmtl tint\nKd 1 0 0\n")
    (tmp_path / "robot" / "inside.mtl").write_text("newmtl tint\nKd 1 0 0\nmap_Kd picture.png\n")
    (tmp_path / "robot" / "picture.png").write_bytes(b"no picture")
    os.mkfifo(tmp_path / "robot" / "pipe.mtl")
    tints = {}
    for name in ("../outside.mtl", "inside.mtl", "/dev/zero", "pipe.mtl"):
        mesh.write_text(f"mtllib {name}\n{triangle}")
        # it is looked at again when it has changed, and clocks of disks are coarse
        os.utime(mesh, ns=(len(tints), len(tints)))
        tints[name] = [color for _, _, color in read_triangles(str(mesh))]
    assert tints["inside.mtl"] == [(1.0, 0.0, 0.0, 1.0)]
    assert all(tint == [None] for name, tint in tints.items() if name != "inside.mtl"), tints


# ---- plain files


@pytest.mark.parametrize("read", [ct.Mechanism.load, ct.Trajectory.load, ct.Mechanism.from_urdf, ct.Mechanism.from_sdf])
def test_only_plain_files_are_read(tmp_path: Path, read: object) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", "/dev/zero", "/dev/stdin", tmp_path):
        with pytest.raises(ValueError, match="not a regular file"):
            read(path)


def test_files_that_are_too_long_are_not_read(tmp_path: Path) -> None:
    with open(tmp_path / "long", "wb") as file:
        file.truncate(1 << 40)
    for read in ("Mechanism.load", "Mechanism.from_urdf"):
        (said,) = within_memory(f"ct.{read}", tmp_path / "long")
        assert said.startswith("ValueError"), said
        assert "bytes or more" in said
    # one that tells no size
    assert Path("/proc/self/maps").stat().st_size == 0
    with pytest.raises(ValueError, match="not a readable document"):
        ct.Mechanism.load("/proc/self/maps")


# ---- writing


def writers(run: ct.Trajectory) -> dict:
    m = run.mechanism
    return {
        "run.npz": run.save,
        "run.csv": run.to_csv,
        "run.glb": run.save_gltf,
        "run.gltf": run.save_gltf,
        "m.json": m.save,
        "m.urdf": m.to_urdf,
        "index.html": lambda path: run.save_html(path.parent),
    }


@pytest.fixture(scope="module")
def run() -> ct.Trajectory:
    return ct.Simulator(ct.scenes.pendulum(2), 0.01).run(steps=20)


@pytest.mark.parametrize("name", ["run.npz", "run.csv", "run.glb", "run.gltf", "m.json", "m.urdf", "index.html"])
def test_a_full_disk_leaves_the_old_file(run: ct.Trajectory, tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    write = writers(run)[name]
    path.write_text("the old one")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    # longer files fail as they do where a disk is full; python has the signal ignored
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, before[1]))
    try:
        with pytest.raises(OSError, match="File too large"):
            write(path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert path.read_text() == "the old one"
    assert os.listdir(tmp_path) == [name]
    write(path)
    assert path.stat().st_size > 1000
    assert os.listdir(tmp_path) == [name]


@pytest.mark.parametrize("name", ["run.npz", "run.csv", "run.glb", "m.json", "m.urdf", "index.html"])
def test_modes_and_links_stay(run: ct.Trajectory, tmp_path: Path, name: str) -> None:
    write = writers(run)[name]
    (tmp_path / "away").mkdir()
    (tmp_path / "here").mkdir()
    far, near = tmp_path / "away" / "file", tmp_path / "here" / name
    near.symlink_to(far)
    before = os.umask(0o027)
    try:
        write(near)
        assert stat.S_IMODE(far.stat().st_mode) == 0o640
    finally:
        os.umask(before)
    for mode in (0o600, 0o664):
        far.chmod(mode)
        write(near)
        assert near.is_symlink()
        assert not far.is_symlink()
        assert stat.S_IMODE(far.stat().st_mode) == mode
    assert os.listdir(tmp_path / "here") == [name]
    assert os.listdir(tmp_path / "away") == ["file"]


def test_what_is_no_file_is_written_into(run: ct.Trajectory, tmp_path: Path) -> None:
    run.to_csv("/dev/null")
    code = "import catena as ct; ct.Simulator(ct.scenes.pendulum(1), 0.01).run(steps=2).to_csv('/dev/stdout')"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("time,")
    assert len(done.stdout.splitlines()) == 4
    for place in (tmp_path, tmp_path / "nowhere" / "run.csv"):
        with pytest.raises(OSError, match=str(place)):
            run.to_csv(place)
