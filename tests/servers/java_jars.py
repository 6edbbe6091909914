"""Jars from Maven Central, resolved once by PySpark's Ivy and kept beside its own."""

import hashlib
import os
import shutil
import subprocess
from fcntl import LOCK_EX, flock
from importlib.util import find_spec
from pathlib import Path

_PYSPARK = find_spec("pyspark")
SPARK_JARS = Path(_PYSPARK.origin if _PYSPARK and _PYSPARK.origin else "no PySpark").parent / "jars"
"""PySpark's jars. Tests that need no server also run without PySpark."""
HOME = Path.home() / ".ivy2.5.2"
RESOLVE_S = 300


def java(tool: str) -> str:
    """A tool of the JDK that Spark uses."""
    home = os.environ.get("JAVA_HOME")
    found = shutil.which(tool, path=f"{home}/bin" if home else None)
    assert found is not None, f"No {tool}: the servers of the tests need a JDK"
    return found


def jars(ivy: Path) -> Path:
    """The folder with the jars that an Ivy file asks for; one process resolves them."""
    unique = hashlib.sha256(ivy.read_bytes()).hexdigest()[:16]
    folder = HOME / "iceberg-spark-tests" / f"{ivy.stem}-{unique}"
    HOME.mkdir(parents=True, exist_ok=True)
    with (HOME / f"{folder.name}.lock").open("w") as lock:
        flock(lock, LOCK_EX)
        if not folder.exists():
            _resolve(ivy, folder)
    return folder


def _resolve(ivy: Path, folder: Path) -> None:
    part = folder.with_name(f"{folder.name}.part")
    shutil.rmtree(part, ignore_errors=True)
    program = next(SPARK_JARS.glob("ivy-*.jar"))
    pattern = f"{part}/[artifact]-[revision](-[classifier]).[ext]"
    done = subprocess.run(
        [
            java("java"), "-jar", str(program), "-ivy", str(ivy), "-cache", f"{HOME}/cache",
            "-retrieve", pattern,
        ],
        capture_output=True,
        text=True,
        timeout=RESOLVE_S,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0 and part.exists(), f"{done.stdout[-3000:]}{done.stderr[-1000:]}"
    part.rename(folder)
