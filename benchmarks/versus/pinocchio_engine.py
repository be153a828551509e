"""Pinocchio: forward dynamics in a C++ loop (pinocchio_loop.cpp), compiled on the wheel's headers for this processor.

Needs g++ and Eigen's headers: beside the wheel's (package cmeel-eigen), in /usr/include/eigen3 or where EIGEN3 says.
Compiling takes a minute or two, once; the library stays in the folder for temporary files.
"""

from __future__ import annotations

import ctypes
import getpass
import hashlib
import os
import subprocess
import tempfile
from importlib.metadata import version
from pathlib import Path

import numpy as np
from measure import Engine, NotOfferedError, Variant
from scenes import GRAVITY, Bodies, Scene, quaternion

VERSION = version("pin")
_LOOPS = "loops by constraintDynamics, proximal accuracy 1e-12, Baumgarte 100 and 20"
VARIANTS = {
    "RK4": Variant(f"odeint's Runge-Kutta 4 on aba; {_LOOPS}"),
    "RK78": Variant(f"odeint's Runge-Kutta-Fehlberg 8 on aba; {_LOOPS}"),
    "Euler": Variant(f"semi-implicit Euler on aba; {_LOOPS}"),
    "RK4 lcaba": Variant("as RK4, loops by lcaba, whose interface its header calls unsupported", trees=False),
}


def library(name: str = "pinocchio_loop") -> ctypes.CDLL:
    """Compile, unless that was done before."""
    source = Path(__file__).with_name(f"{name}.cpp")
    key = hashlib.sha256(source.read_bytes() + VERSION.encode()).hexdigest()[:12]
    target = Path(tempfile.gettempdir()) / f"{name}_{getpass.getuser()}_{key}.so"
    if not target.exists():
        import cmeel

        prefix = Path(next(iter(cmeel.__path__))).parent / "cmeel.prefix" / "include"
        places = (os.environ.get("EIGEN3", ""), str(prefix / "eigen3"), "/usr/include/eigen3")
        eigen = next((p for p in places if p and (Path(p) / "Eigen").is_dir()), None)
        if eigen is None:
            raise ImportError("no Eigen headers: install cmeel-eigen, or say where they are with EIGEN3")
        part = target.with_suffix(f".{os.getpid()}")
        limits = ["-DBOOST_MPL_LIMIT_LIST_SIZE=30", "-DBOOST_MPL_CFG_NO_PREPROCESSED_HEADERS"]
        flags = ["-std=c++17", "-O3", "-march=native", "-DNDEBUG", "-fPIC", "-shared", "-w", *limits]
        where = ["-I", str(prefix), "-I", eigen]
        subprocess.run(["g++", *flags, *where, str(source), "-o", str(part)], check=True)
        part.replace(target)
    return ctypes.CDLL(str(target))


def _pointer(array: np.ndarray) -> ctypes.c_void_p:
    return array.ctypes.data_as(ctypes.c_void_p)


class Sim(Engine):
    """A model behind the compiled loop."""

    def __init__(self, scene: Scene, variant: str, dt: float) -> None:
        hinge = scene.joint == "revolute"
        n, loops = len(scene.links), scene.loops
        degrees = n * (1 if hinge else 3)
        if degrees > 600:
            raise NotOfferedError(f"pinocchio::Data holds dense tensors, {32 * degrees**3 / 2**30:.0f} GiB of them")
        self.library, self.count, self.dt = library(), n, dt
        self.library.make.restype = ctypes.c_void_p
        parents = np.array([k.parent for k in scene.links], dtype=np.int32)
        rows = [[*scene.anchor(i), *scene.center(i), *k.moments] for i, k in enumerate(scene.links)]
        link, mass = np.array(rows, dtype=float), np.array([k.mass for k in scene.links])
        q = [[k.turn[0]] if hinge else np.roll(quaternion(k.turn), -1) for k in scene.links]
        v = [[k.spin[0]] if hinge else k.spin for k in scene.links]
        start = np.concatenate([*q, *v]).astype(float)
        ends = np.array([(k.a, k.b) for k in loops], dtype=np.int32)
        points = np.array([[*scene.from_joint(k.a, k.at_a), *scene.from_joint(k.b, k.at_b)] for k in loops])
        self.handle = ctypes.c_void_p(
            self.library.make(
                n,
                _pointer(parents),
                _pointer(link),
                _pointer(mass),
                int(not hinge),
                _pointer(start),
                len(loops),
                _pointer(ends),
                _pointer(points),
                ctypes.c_double(GRAVITY),
                {"Euler": 0, "RK4": 1, "RK78": 2}[variant.split()[0]],
                2 if "lcaba" in variant else 1,
                ctypes.c_double(100.0),
                ctypes.c_double(20.0),
            )
        )

    def reset(self) -> None:
        """Go back to the start."""
        self.library.reset(self.handle)

    def run(self, steps: int) -> None:
        """Take steps in one call."""
        self.library.run(self.handle, steps, ctypes.c_double(self.dt))

    def bodies(self) -> Bodies:
        """The links now."""
        n = self.count
        out = Bodies(np.empty((n, 3)), np.empty((n, 3, 3)), np.empty((n, 3)), np.empty((n, 3)))
        self.library.bodies(self.handle, *map(_pointer, out))
        return out


make = Sim
