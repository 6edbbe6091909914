"""`doctor(spark)`: what is checked without a session, and then with it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from iceberg_spark.catalog.config import configured_names
from iceberg_spark.catalog.registry import load_catalog
from iceberg_spark.checkup.report import Finding, Report, State
from iceberg_spark.errors import UnsupportedError
from iceberg_spark.lazy import LazyModule

_session = LazyModule("iceberg_spark.checkup.session")
_OLDEST_JAVA = 17
_OLDEST_PYSPARK = (4, 1)
_EXTRAS = {
    "s3fs": "s3://", "gcsfs": "gs://", "adlfs": "abfss://", "grpc": "Spark Connect",
    "pandas": "to_pandas() and pandas frames", "sqlalchemy": "catalogs in a database",
    "thrift": "Hive metastores", "boto3": "AWS Glue, DynamoDB",
}  # fmt: skip


def doctor(spark: Any = None) -> Report:
    """Check Java, PySpark, the workers' Python, extras and configured catalogs, in seconds.

    `spark` is the active session unless it is given, classic or Connect; without one what needs
    it is left out and told so. The report prints as a table; `.ok` says that nothing is wrong,
    `.findings` holds the rows. Raises only InvalidTypeError, for anything but a session.
    """
    has_pyspark = find_spec("pyspark") is not None
    session = _session.the_session(spark) if has_pyspark else None
    checks: list[tuple[str, Callable[[], Iterator[Finding]]]] = [
        ("Python", _python),
        ("PySpark", _pyspark),
    ]
    if session is not None:
        checks.append(("session", lambda: _session.findings(session)))
    elif has_pyspark:
        checks += [("Java", _java), ("Python of the workers", _workers), ("session", _no_session)]
    checks += [("extras", _extras), ("catalogs", _catalogs)]
    return Report(tuple(finding for what, check in checks for finding in _guarded(what, check)))


def _guarded(what: str, check: Callable[[], Iterator[Finding]]) -> Iterator[Finding]:
    try:
        yield from check()
    except Exception as error:  # noqa: BLE001 - a check that fails is a finding
        yield Finding(what, State.NOTE, f"could not be checked: {first_line(error)}")


def first_line(error: BaseException) -> str:
    """Return the first line of an error's text, cut: traces of Java are long."""
    lines = str(error).strip().splitlines()
    return (lines[0] if lines else type(error).__name__)[:200]


def _python() -> Iterator[Finding]:
    yield Finding("Python", State.OK, f"{sys.version.split()[0]}, {sys.executable}")
    try:
        ours = version("iceberg-spark")
    except PackageNotFoundError:
        ours = "on the path, not installed"
    where = Path(__file__).resolve().parents[1]
    yield Finding("iceberg_spark", State.OK, f"{ours}, {where}")


def _pyspark() -> Iterator[Finding]:
    try:
        installed = version("pyspark")
    except PackageNotFoundError:
        what = "pip install 'iceberg-spark[spark]', or use a Python that has the cluster's PySpark"
        if find_spec("pyspark") is None:
            yield Finding("PySpark", State.WRONG, "not installed for this Python", what)
        else:
            yield Finding("PySpark", State.NOTE, "on the path, its version is unknown")
        return
    parts = tuple(int(part) for part in re.findall(r"\d+", installed)[:2])
    if parts < _OLDEST_PYSPARK:
        yield Finding("PySpark", State.WRONG, installed, "pip install 'pyspark>=4.1'")
    else:
        yield Finding("PySpark", State.OK, installed)


def _java() -> Iterator[Finding]:
    home = os.environ.get("JAVA_HOME")
    java = str(Path(home) / "bin" / "java") if home else "java"
    need = f"install Java {_OLDEST_JAVA} or newer and set JAVA_HOME, before the session starts"
    try:
        done = subprocess.run(  # noqa: S603 - what Spark itself would start
            [java, "-version"], capture_output=True, text=True, check=False, timeout=20
        )
    except OSError:
        yield Finding("Java", State.WRONG, f"'{java}' can't be started", need)
        return
    output = done.stderr + done.stdout
    match = re.search(r'version "(\d+)[^"]*"', output)
    if match is None:
        yield Finding("Java", State.WRONG, f"'{java}' does not say its version", need)
    elif int(match.group(1)) < _OLDEST_JAVA:
        yield Finding("Java", State.WRONG, f"{match.group(1)}, {java}", need)
    else:
        yield Finding("Java", State.OK, f"{match.group(1)}, {java}")


def _workers() -> Iterator[Finding]:
    python = os.environ.get("PYSPARK_PYTHON") or "python3"
    yield _session.worker_finding(python)


def _no_session() -> Iterator[Finding]:
    yield Finding(
        "session",
        State.NOTE,
        "none is active: Spark itself was not asked",
        "start one and call doctor(spark)",
    )


def _extras() -> Iterator[Finding]:
    there = [name for name in _EXTRAS if find_spec(name) is not None]
    lacks = [f"{name} ({use})" for name, use in _EXTRAS.items() if name not in there]
    state = f"installed: {', '.join(there) or 'none'}"
    if lacks:
        state += f"; not installed: {', '.join(lacks)}"
    yield Finding("extras", State.NOTE if lacks else State.OK, state)


def _catalogs() -> Iterator[Finding]:
    names = configured_names()
    if not names:
        yield Finding("catalogs", State.OK, "none configured; tables by location need none")
    for name in names:
        yield _catalog(name)


def _catalog(name: str) -> Finding:
    what = f"catalog {name}"
    try:
        load_catalog(name).table_exists("iceberg_spark_doctor.no_table")
    except UnsupportedError as error:
        return Finding(what, State.NOTE, first_line(error))
    except Exception as error:  # noqa: BLE001 - whatever stands in the way is told
        advice = f"look at .pyiceberg.yaml and PYICEBERG_CATALOG__{name.upper()}__..."
        return Finding(what, State.WRONG, first_line(error), advice)
    return Finding(what, State.OK, "reachable")
