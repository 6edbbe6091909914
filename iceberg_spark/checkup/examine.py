"""`doctor(spark)`: what is checked without a session, and then with it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from iceberg_spark.catalog.config import configured_catalog, configured_names
from iceberg_spark.catalog.registry import load_catalog
from iceberg_spark.checkup.catalogs import catalog_findings, first_line
from iceberg_spark.checkup.report import Finding, Report, State
from iceberg_spark.engines.spark_presence import is_installed
from iceberg_spark.lazy import LazyModule

_session = LazyModule("iceberg_spark.checkup.session")
_OLDEST_JAVA = 17
_OLDEST_PYSPARK = (4, 1)
_EXTRAS = {
    "obstore": "s3://, gs://, abfss://; extra s3, gcs or adls",
    "hdfs_native": "hdfs://; extra hdfs",
    "urllib3": "REST catalogs; extra rest",
    "sqlalchemy": "catalogs in a database; extra sql",
    "thrift": "Hive metastores; extra hive",
    "boto3": "AWS Glue and DynamoDB; extra pyiceberg",
    "grpc": "Spark Connect; extra spark",
    "pandas": "to_pandas() and pandas frames; extra spark",
    "typer": "the command line; extra cli",
    "matplotlib": "table reports; extra report",
}
"""The use of optional packages and the extra that installs them, by their modules."""


def doctor(spark: Any = None) -> Report:
    """Check Java, PySpark, the workers' Python, extras, catalogs and their stores, in seconds.

    Args:
        spark: The session to check, classic or Connect; by default the active one. Without a
            session, the report says which checks need one.

    Returns:
        A report that prints as a table. `.ok` says that nothing is wrong, `.findings` has the rows.

    Raises:
        InvalidTypeError: `spark` is not a session.

    Examples:
        >>> print(ice.doctor(spark))
    """
    has_pyspark = is_installed()
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


def _python() -> Iterator[Finding]:
    yield Finding("Python", State.OK, f"{sys.version.split()[0]}, {sys.executable}")
    try:
        ours = version("iceberg-spark")
    except PackageNotFoundError:
        ours = "on the path, not installed"
    where = Path(__file__).resolve().parents[1]
    yield Finding("iceberg_spark", State.OK, f"{ours}, {where}")


def _pyspark() -> Iterator[Finding]:
    if not is_installed():
        advice = "for Spark: pip install 'iceberg-spark[spark]', or use the cluster's Python"
        yield Finding("PySpark", State.NOTE, "not installed: tables work without Spark", advice)
        return
    try:
        installed = version("pyspark")
    except PackageNotFoundError:
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
        advice = f"look at .pyiceberg.yaml and PYICEBERG_CATALOG__{name.upper()}__..."
        yield from catalog_findings(
            name, partial(load_catalog, name), configured_catalog(name), advice
        )
