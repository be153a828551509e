"""One job in the interpreter of its engine: python worker.py JOB OUT, both files, of JSON and of JSON lines."""

from __future__ import annotations

import importlib
import json
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

Row = dict[str, Any]


def rows(job: Row) -> Iterator[Row]:
    """Do the job."""
    if job["measure"] == "reference":
        import reference

        for name, size, joint in job["scenes"]:
            yield from reference.rows(name, size, joint, job["times"])
        return

    engine = importlib.import_module(f"{job['engine']}_engine")
    if job["measure"] == "setup":
        yield {"version": engine.VERSION, "variants": {k: vars(v) for k, v in engine.VARIANTS.items()}}
        return

    import measure
    from scenes import SCENES

    slow = False
    for size in job["sizes"]:
        scene = SCENES[job["scene"]](size, job["joint"])
        labels = {"size": size}
        give = (engine.make, scene, job["variant"])
        begun = time.perf_counter()
        try:
            if slow:
                raise measure.NotOfferedError("too slow: smaller sizes were")
            if job["measure"] == "precision":
                yield from (labels | row for row in measure.precision(*give, **job["options"]))
            elif job["measure"] == "energy":
                yield from (labels | row for row in measure.energy(*give, **job["options"]))
            else:
                # under its own tension a longer chain asks for smaller steps
                dt = 0.001 if size >= 1000 else measure.DT
                row = measure.cost(*give, dt=dt, **job["options"])
                slow = row["steps"] < 200 or time.perf_counter() - begun > 20
                yield labels | row
        except measure.NotOfferedError as why:
            yield labels | {"status": str(why) if str(why).startswith("too slow") else f"not offered: {why}"}
        except Exception as error:
            text = str(error).strip().splitlines() or [""]
            yield labels | {"status": f"failed: {type(error).__name__} {text[0][:150]}"}


def main() -> int:
    job = json.loads(Path(sys.argv[1]).read_text())
    if job.get("core") is not None:
        os.sched_setaffinity(0, {job["core"]})
    with Path(sys.argv[2]).open("w") as out:
        for row in rows(job):
            out.write(json.dumps(row) + "\n")
            out.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main())
