"""Hostile model files, made by hand and by seeded damage, and a process of its own that reads them all.

Run as a program with a folder: reads every file in it, says what became of each in one line, and stops at once if a
file outside the model's folder is opened or the network is asked for. A crash or a hang is known by the last line.
"""

from __future__ import annotations

import copy
import random
import sys
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

ODD_VALUES = (
    *("", " ", "0", "-1", "1e308", "-1e308", "1e999", "nan", "inf", "-inf", "1e-320", "0 0 0", "1 2", "1 2 3 4 5 6 7"),
    *("x", "\u0000"[:0] + "\ufffd", "9" * 4000, "world", "../../../etc/passwd", "file:///etc/passwd", "package://../x"),
    *("1e9 1e9 1e9", "true", "%s%n", "left", "rod", "motor", "-0", "1,2,3", "0x10", "1_0"),
)


def by_hand() -> Iterator[tuple[str, str | bytes]]:
    """Names and contents of files that somebody thought of."""
    laughs = "".join(f'<!ENTITY l{k} "{f"&l{k - 1};" * 10}">' for k in range(1, 12))
    for kind, root in (("urdf", "robot"), ("sdf", "sdf"), ("mjcf", "mujoco")):
        yield f"laughs.{kind}", f'<!DOCTYPE x [<!ENTITY l0 "ha">{laughs}]><{root}>&l11;</{root}>'
        yield f"external.{kind}", f'<!DOCTYPE x [<!ENTITY e SYSTEM "file:///etc/passwd">]><{root}>&e;</{root}>'
        yield f"network.{kind}", f'<!DOCTYPE x SYSTEM "http://localhost:9/x.dtd"><{root}/>'
        yield f"parameter.{kind}", f'<!DOCTYPE x [<!ENTITY % e SYSTEM "http://localhost:9/e">%e;]><{root}/>'
        yield f"deep.{kind}", f"<{root}>" + "<a>" * 100_000
        yield f"nested.{kind}", f"<{root}>" + "<link>" * 5_000 + "</link>" * 5_000 + f"</{root}>"
        yield f"empty.{kind}", b""
        yield f"zeros.{kind}", b"\0" * 1000
        yield f"noise.{kind}", bytes(range(256)) * 20
        yield f"open.{kind}", f"<{root}><link"
        yield f"wrong.{kind}", "<html/>"
        yield f"double.{kind}", f"<{root}/><{root}/>"
        yield f"encoding.{kind}", f'<?xml version="1.0" encoding="idna"?><{root}/>'
        yield f"encoded.{kind}", f'<?xml version="1.0" encoding="utf-16"?><{root}/>'
        yield f"bare.{kind}", f"<{root}/>"
        yield f"instructions.{kind}", f'<?xml-stylesheet href="http://localhost:9/x.xsl"?><{root}/>'
        yield f"attribute.{kind}", f'<{root} name="{"a" * 3_000_000}"/>'
        yield f"wide.{kind}", f"<{root}>" + "<a/>" * 600_000 + f"</{root}>"
    mass = '<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1"/></inertial>'
    links = "".join(f'<link name="{name}">{mass}</link>' for name in "abc")

    def joint(name: str, a: str, b: str, inside: str = "", kind: str = "revolute") -> str:
        return f'<joint name="{name}" type="{kind}"><parent link="{a}"/><child link="{b}"/>{inside}</joint>'

    for name, inside in (
        ("circle", links + joint("1", "a", "b") + joint("2", "b", "c") + joint("3", "c", "a")),
        ("self", links + joint("1", "a", "a")),
        ("lost", links + joint("1", "a", "z")),
        ("twice", links + links),
        ("mimics", links + joint("1", "a", "b", '<mimic joint="2"/>') + joint("2", "b", "c", '<mimic joint="1"/>')),
        ("mimic", links + joint("1", "a", "b", '<mimic joint="1"/>') + joint("2", "b", "c")),
        ("infinite", links + joint("1", "a", "b", '<origin xyz="inf 0 0"/>') + joint("2", "b", "c")),
        ("giant", links + joint("1", "a", "b", '<origin xyz="1e300 0 0"/>') + joint("2", "b", "c")),
        ("large", links + joint("1", "a", "b", '<origin xyz="9e8 0 0"/>') + joint("2", "b", "c")),
        ("axis", links + joint("1", "a", "b", '<axis xyz="1e-300 0 0"/>') + joint("2", "b", "c")),
        ("world", '<link name="a"/><link name="world"/>' + joint("1", "a", "world")),
        ("ground", f'<link name="world">{mass}<visual><geometry><box size="1e300 1 1"/></geometry></visual></link>'),
        (
            "floor",
            '<link name="world"><visual><geometry><mesh filename="/etc/passwd"/></geometry></visual></link>',
        ),
        ("nameless", '<link/><link name=""/>'),
        ("blank", f'<link name=" ">{mass}</link>'),
        ("long", f'<link name="{"n" * 100_000}">{mass}</link>'),
        ("heavy", '<link name="a"><inertial><mass value="1e308"/></inertial></link>'),
        ("light", '<link name="a"><inertial><mass value="1e-300"/><inertia ixx="1e-300"/></inertial></link>'),
        ("negative", '<link name="a"><inertial><mass value="1"/><inertia ixx="-1" iyy="1" izz="1"/></inertial></link>'),
        (
            "chain",
            "".join(f'<link name="l{k}">{mass}</link>' for k in range(3000))
            + "".join(joint(f"j{k}", f"l{k}", f"l{k + 1}") for k in range(2999)),
        ),
        (
            "loops",
            links
            + joint("1", "a", "b")
            + joint("2", "a", "c")
            + "".join(
                f'<loop_joint name="k{k}" type="ball"><link1 link="b"/><link2 link="c"/></loop_joint>'
                for k in range(300)
            ),
        ),
        *(
            (
                f"mesh{k}",
                f'<link name="a">{mass}<visual><geometry><mesh filename="{address}"/></geometry></visual></link>',
            )
            for k, address in enumerate(
                (
                    "/etc/passwd",
                    "../../../../../etc/passwd",
                    "file:///etc/passwd",
                    "http://localhost:9/x.stl",
                    "package://",
                    "package://../../etc/passwd",
                    "package://a/../../../../../etc/passwd",
                    "link.stl",
                    "",
                    "C:\\x.stl",
                    "a" * 9000,
                    "//localhost/share/x.stl",
                    "pipe.stl",
                )
            )
        ),
    ):
        yield f"{name}.urdf", f"<robot>{inside}</robot>"
    for name, inside in (
        ("circle", '<link name="a"><pose relative_to="b"/></link><link name="b"><pose relative_to="a"/></link>'),
        ("attached", '<link name="a"/><frame name="f" attached_to="g"/><frame name="g" attached_to="f"/>'),
        (
            "child",
            '<link name="a"><pose relative_to="j"/></link><joint name="j"><child>a</child></joint>',
        ),
        ("giant", '<link name="a"><pose>1e300 0 0 0 0 0</pose></link>'),
        (
            "mesh",
            '<link name="a"><visual name="v"><geometry><mesh><uri>model://../../etc/passwd</uri></mesh></geometry></visual></link>',
        ),
        (
            "ground",
            '<link name="world"><pose>9 9 9 0 0 0</pose><visual name="v"><geometry><box><size>-1 1 1</size></box>'
            '</geometry></visual></link><link name="a"/>',
        ),
        ("gearbox", '<link name="a"/><joint name="j" type="gearbox"><parent>world</parent><child>a</child></joint>'),
        (
            "frames",
            '<link name="a"/>'
            + "".join(f'<frame name="f{k}" attached_to="f{k + 1}"/>' for k in range(5000))
            + '<frame name="f5000"/>',
        ),
    ):
        yield f"{name}.sdf", f'<sdf version="1.9"><model name="m">{inside}</model></sdf>'
    body = '<worldbody><body name="b"><joint/><geom size="0.1"/></body></worldbody>'
    for name, inside in (
        ("itself", '<include file="itself.mjcf"/>' + body),
        ("pair", '<include file="other.mjcf"/>' + body),
        ("other", '<include file="pair.mjcf"/>' + body),
        ("outside", '<include file="../../../../../etc/passwd"/>' + body),
        ("absolute", '<include file="/etc/passwd"/>' + body),
        ("folder", '<include file="."/>' + body),
        ("pipe", '<include file="pipe.stl"/>' + body),
        ("symbolic", '<include file="link.stl"/>' + body),
        ("meshdir", '<compiler meshdir="/etc"/><asset><mesh name="m" file="passwd"/></asset>' + body),
        ("mesh", '<asset><mesh name="m" file="../../../../etc/passwd.stl"/></asset>' + body),
        ("field", '<asset><hfield name="m" file="/etc/passwd"/></asset>' + body),
        (
            "texture",
            '<asset><texture name="t" type="2d" file="/etc/passwd"/><material name="m" texture="t"/></asset>' + body,
        ),
        ("skin", '<asset><skin name="s" file="/etc/passwd"/></asset>' + body),
        ("attach", '<asset><model name="m" file="/etc/passwd"/></asset>' + body),
        ("plugin", '<extension><plugin plugin="x"/></extension>' + body),
        ("memory", '<size memory="100000G" nuserdata="2000000000" njmax="2000000000"/>' + body),
        ("replicas", '<worldbody><replicate count="2000000000"><geom size="0.1"/></replicate></worldbody>'),
        (
            "powers",
            "<worldbody>" + '<replicate count="100">' * 6 + '<geom size="0.1"/>' + "</replicate>" * 6 + "</worldbody>",
        ),
        ("composite", '<worldbody><composite type="cable" count="1000000 1 1"/></worldbody>'),
        ("flex", '<worldbody><flexcomp name="f" type="grid" count="10000 10000 10"/></worldbody>'),
        ("giant", '<worldbody><body pos="1e300 0 0"><joint/><geom size="0.1"/></body></worldbody>'),
        ("ground", '<worldbody><geom type="box" size="1 1 1" pos="1e300 0 0"/></worldbody>'),
        ("floor", '<worldbody><geom type="plane" size="0 0 1"/><geom type="box" size="1e-300 1 1"/></worldbody>'),
        ("stack", "<worldbody>" + '<body><joint/><geom size="0.1"/>' * 150 + "</body>" * 150 + "</worldbody>"),
        ("names", body.replace('name="b"', 'name="world"')),
        ("weld", body + '<equality><weld body1="b" body2="b"/></equality>'),
        ("curve", body + '<equality><joint joint1="x" polycoef="1e300 1e300 1e300 0 0"/></equality>'),
        ("default", "<default>" * 100 + "</default>" * 100 + body),
    ):
        yield f"{name}.mjcf", f"<mujoco>{inside}</mujoco>"


def damaged(seeds: list[Path], count: int) -> Iterator[tuple[str, bytes]]:
    """Files that were sound, each with one to four things wrong with it."""
    rng = random.Random(5)
    for k in range(count):
        seed = seeds[k % len(seeds)]
        kind = "mjcf" if seed.suffix == ".xml" else seed.suffix[1:]
        if k % 5 == 4:
            text = bytearray(seed.read_bytes())
            for _ in range(rng.randint(1, 4)):
                at = rng.randrange(len(text))
                text[at : at + rng.choice((0, 1, 1, 30))] = bytes(rng.choices(range(256), k=rng.choice((0, 1, 3))))
            yield f"bytes{k}.{kind}", bytes(text)
            continue
        root = ElementTree.fromstring(seed.read_bytes())
        for _ in range(rng.randint(1, 4)):
            _damage(root, rng)
        yield f"tree{k}.{kind}", ElementTree.tostring(root)


def _damage(root: ElementTree.Element, rng: random.Random) -> None:
    parents = [element for element in root.iter() if len(element)]
    if not parents:
        return
    parent = rng.choice(parents)
    child = rng.choice(list(parent))
    done = rng.randrange(7)
    if done == 0:
        parent.remove(child)
    elif done == 1:
        parent.append(copy.deepcopy(child))
    elif done == 2:
        child.tag = rng.choice([element.tag for element in root.iter()])
    elif done == 3:
        child.append(copy.deepcopy(rng.choice(parents)) if len(list(root.iter())) < 2000 else child)
    elif child.attrib:
        key = rng.choice(list(child.attrib))
        if done == 4:
            del child.attrib[key]
        else:
            others = [value for element in root.iter() for value in element.attrib.values()]
            child.set(key, rng.choice((*ODD_VALUES, *others)))
    else:
        child.text = rng.choice(ODD_VALUES)


def read_all(folder: Path) -> None:
    """Read every file of a folder, and run what is a mechanism for a few steps."""
    import warnings

    import numpy as np

    import catena as ct

    try:
        import mujoco  # noqa: F401
    except ImportError:
        readers = {"urdf": ct.Mechanism.from_urdf, "sdf": ct.Mechanism.from_sdf}
    else:
        readers = {"urdf": ct.Mechanism.from_urdf, "sdf": ct.Mechanism.from_sdf, "mjcf": ct.Mechanism.from_mjcf}
    inside, reading = folder.resolve(), [False]

    def watch(event: str, arguments: tuple[object, ...]) -> None:
        if not reading[0]:
            return
        if event.startswith(("socket.", "urllib.", "subprocess.", "os.system", "os.exec")):
            raise SystemExit(f"{event} {arguments!r:.200}")
        if event == "open" and isinstance(arguments[0], (str, bytes)):
            path = Path(arguments[0] if isinstance(arguments[0], str) else arguments[0].decode())
            # modules that Python loads late are not the model's doing
            if path.suffix not in (".py", ".pyc", ".so") and not path.resolve().is_relative_to(inside):
                raise SystemExit(f"opened {path}")

    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    sys.addaudithook(watch)
    for path in sorted(folder.iterdir()):
        kind = path.suffix[1:]
        if kind not in readers:
            continue
        print(path.name, end=" ", flush=True)
        try:
            reading[0] = True
            mechanism = readers[kind](path)
        except ValueError as error:
            reading[0] = False
            if not str(error).startswith(str(path)):
                raise
            print("refused:", str(error)[len(str(path)) + 2 :][:200].replace("\n", " "), flush=True)
            continue
        reading[0] = False
        try:
            if mechanism.joint_count < 100:
                ct.Simulator(mechanism, dt=1e-3).run(steps=3)
        except (ValueError, ct.CatenaError):
            pass
        print("read", flush=True)


if __name__ == "__main__":
    read_all(Path(sys.argv[1]))
