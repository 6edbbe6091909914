"""Spark in a process of its own, where a test needs other settings than the shared session's."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
JVM_OPTIONS = "SPARK_SUBMIT_OPTS"
PATIENCE = 540
"""Seconds for what takes twenty on a quiet machine: it ends a test that hangs, and judges none."""
PRELOADED = ROOT / "tests" / "preloaded"


def users_path() -> str:
    """PYTHONPATH without the folder by which workers of the suites start quicker."""
    given = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    return os.pathsep.join(each for each in given if each != str(PRELOADED))


def run_module(name: str, *arguments: str, own_jvm: bool = False) -> str:
    """What `python -m name arguments` printed; its end with an error is this test's.

    `own_jvm` leaves out what the suites say to JVMs: for tests of what a JVM has room for.
    """
    given = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, [str(ROOT), users_path()]))}
    done = subprocess.run(
        [sys.executable, "-m", name, *arguments],
        cwd=ROOT,
        env={key: value for key, value in given.items() if not own_jvm or key != JVM_OPTIONS},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        timeout=PATIENCE,
        check=False,
    )
    assert done.returncode == 0, f"{done.stdout[-2000:]}\n{done.stderr[-4000:]}"
    return done.stdout
