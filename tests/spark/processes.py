"""Spark in a process of its own, where a test needs other settings than the shared session's."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
JVM_OPTIONS = "SPARK_SUBMIT_OPTS"


def run_module(name: str, *arguments: str, own_jvm: bool = False) -> str:
    """What `python -m name arguments` printed; its end with an error is this test's.

    `own_jvm` leaves out what the suites say to JVMs: for tests of what a JVM has room for.
    """
    path = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
    given = {**os.environ, "PYTHONPATH": path}
    done = subprocess.run(
        [sys.executable, "-m", name, *arguments],
        cwd=ROOT,
        env={key: value for key, value in given.items() if not own_jvm or key != JVM_OPTIONS},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        timeout=240,
        check=False,
    )
    assert done.returncode == 0, f"{done.stdout[-2000:]}\n{done.stderr[-4000:]}"
    return done.stdout
