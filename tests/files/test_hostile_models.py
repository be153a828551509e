"""Hostile model files: a sentence, or a mechanism; no crash, no hang, and no file outside the model's folders."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import catena as ct
from catena.io.models.folders import Folders
from catena.io.models.mjcf_files import harmless
from catena.io.models.notes import Notes
from hostile_models import by_hand, damaged

MODELS = Path(__file__).parents[1] / "models"
SEEDS = [MODELS / name for name in ("four_bar.urdf", "gripper.xml", "four_bar.sdf", "servos.xml")]
DAMAGED = 240


def test_hostile_files_are_refused_or_read(tmp_path: Path) -> None:
    secret = tmp_path / "secret.stl"
    secret.write_text("<mujoco/>")
    folder = tmp_path / "models"
    folder.mkdir()
    (folder / "link.stl").symlink_to(secret)
    if hasattr(os, "mkfifo"):
        os.mkfifo(folder / "pipe.stl")
    files = [*by_hand(), *damaged(SEEDS, DAMAGED)]
    for name, text in files:
        (folder / name).write_bytes(text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass"))
    assert len({name for name, _ in files}) == len(files) > 300

    program = Path(__file__).parents[1] / "support" / "hostile_models.py"
    done = subprocess.run(
        [sys.executable, str(program), str(folder)], capture_output=True, text=True, timeout=600, cwd=tmp_path
    )
    lines = done.stdout.splitlines()
    assert done.returncode == 0, (done.stderr[-2000:], lines[-1:])
    refused = [line for line in lines if " refused: " in line]
    read = [line for line in lines if line.split()[1:] == ["read"]]
    assert len(refused) + len(read) == len(lines)
    # those that were made by hand to be refused are, with words
    assert len(refused) > 100
    assert all(len(line.split(" refused: ")[1]) > 8 for line in refused)
    words = dict(line.split(" refused: ") for line in refused)
    for name, part in (
        ("laughs.urdf", "declares a document type or an entity"),
        ("external.sdf", "declares a document type or an entity"),
        ("deep.mjcf", "nested more than"),
        ("wide.urdf", "more than 500000 elements"),
        ("circle.urdf", "every link is the child of a joint"),
        ("circle.sdf", "form a cycle"),
        ("giant.urdf", "is too large"),
    ):
        assert part in words[name]
    for name in ("bare.urdf", "mesh0.urdf"):
        assert (name in words) == (name == "bare.urdf")


def test_meshes_outside_are_left_out_and_said(tmp_path: Path) -> None:
    (tmp_path / "secret.stl").write_text("")
    folder = tmp_path / "robot"
    folder.mkdir()
    (folder / "link.stl").symlink_to(tmp_path / "secret.stl")
    mesh = '<visual><geometry><mesh filename="{}"/></geometry></visual>'
    names = ("../secret.stl", str(tmp_path / "secret.stl"), f"file://{tmp_path}/secret.stl", "link.stl")
    shapes = "".join(mesh.format(name) for name in names)
    (folder / "robot.urdf").write_text(f'<robot><link name="a">{shapes}</link></robot>')
    with pytest.warns(ct.ModelWarning, match="file outside the folders of the model 4 times"):
        m = ct.Mechanism.from_urdf(folder / "robot.urdf")
    assert m.bodies["a"].shapes == ()
    # a package is a folder of the model, and so is one that the user names
    (tmp_path / "package.xml").write_text("<package/>")
    assert len(ct.Mechanism.from_urdf(folder / "robot.urdf").bodies["a"].shapes) == 4
    (tmp_path / "package.xml").unlink()
    assert len(ct.Mechanism.from_urdf(folder / "robot.urdf", packages={"all": tmp_path}).bodies["a"].shapes) == 4


def test_packages_are_found_above_the_model_or_where_the_user_says(tmp_path: Path) -> None:
    robot = tmp_path / "my_robot" / "urdf"
    (tmp_path / "my_robot" / "meshes").mkdir(parents=True)
    robot.mkdir()
    (tmp_path / "my_robot" / "meshes" / "a.stl").write_text("")
    text = '<robot><link name="a"><visual><geometry><mesh filename="package://{}"/></geometry></visual></link></robot>'
    (robot / "r.urdf").write_text(text.format("my_robot/meshes/a.stl"))
    assert ct.Mechanism.from_urdf(robot / "r.urdf").bodies["a"].shapes[0].mesh.endswith("a.stl")
    (robot / "r.urdf").write_text(text.format("parts/a.stl"))
    m = ct.Mechanism.from_urdf(robot / "r.urdf", packages={"parts": tmp_path / "my_robot" / "meshes"})
    assert m.bodies["a"].shapes[0].mesh.endswith("a.stl")


def test_mujoco_is_given_no_path(tmp_path: Path) -> None:
    (tmp_path / "a.stl").write_bytes(b"mesh")
    (tmp_path / "model.xml").write_text(
        '<mujoco><compiler meshdir="." texturedir="/etc" assetdir="/etc"/><asset><mesh name="m" file="a.stl"/>'
        '<texture name="t" type="2d" file="passwd"/><material name="n" texture="t"/></asset></mujoco>'
    )
    files = harmless(Folders(tmp_path / "model.xml", None), Notes("model.xml"))
    assert files.assets == {"asset0.stl": b"mesh"}
    assert files.text.count("file=") == 1
    assert "dir=" not in files.text
    assert "texture" not in files.text


def test_a_model_must_be_a_plain_file(tmp_path: Path) -> None:
    for read in (ct.Mechanism.from_urdf, ct.Mechanism.from_sdf):
        with pytest.raises(ValueError, match="not a regular file"):
            read(tmp_path)
        with pytest.raises(ValueError, match="cannot be read: No such file"):
            read(tmp_path / "nothing")
        with pytest.raises(ValueError, match="path must be the name of a file"):
            read(3)  # type: ignore[arg-type]


def test_hidden_folders_are_no_packages(tmp_path: Path) -> None:
    (tmp_path / "me" / ".secret").mkdir(parents=True)
    (tmp_path / "me" / ".secret" / "key.stl").write_text("")
    folder = tmp_path / "me" / "robots" / "one"
    folder.mkdir(parents=True)
    mesh = '<visual><geometry><mesh filename="{}"/></geometry></visual>'
    names = ("package://.secret/key.stl", "package://me/.secret/key.stl", "model://me/x/../.secret/key.stl")
    shapes = "".join(mesh.format(name) for name in names)
    (folder / "robot.urdf").write_text(f'<robot><link name="a">{shapes}</link></robot>')
    with pytest.warns(ct.ModelWarning, match="file in a hidden folder 3 times"):
        m = ct.Mechanism.from_urdf(folder / "robot.urdf")
    assert m.bodies["a"].shapes == ()
    # what the user names is the user's affair
    packages = {".secret": tmp_path / "me" / ".secret", "me": tmp_path / "me"}
    (folder / "robot.urdf").write_text(
        f'<robot><link name="a">{mesh.format(names[0]) + mesh.format(names[1])}</link></robot>'
    )
    assert len(ct.Mechanism.from_urdf(folder / "robot.urdf", packages=packages).bodies["a"].shapes) == 2
