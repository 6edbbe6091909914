"""What a session says about itself, and what its workers run."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from importlib.util import find_spec
from typing import Any

import pyarrow as pa
from pyspark.sql import SparkSession

from iceberg_spark.catalog.config import configured_names
from iceberg_spark.checkup.catalogs import catalog_findings
from iceberg_spark.checkup.report import Finding, State
from iceberg_spark.spark.adapt.builder_state import FORMAT_NAME
from iceberg_spark.spark.adapt.map_arrow import map_plain_names
from iceberg_spark.spark.catalyst.file_pruning import pruning_failure
from iceberg_spark.spark.reading.prune_files import prune_in_optimizer
from iceberg_spark.spark.session.active_session import active_session, checked_session
from iceberg_spark.spark.session.classic_session import is_connect, java_version, master
from iceberg_spark.spark.session.session_catalogs import (
    catalog_names,
    load_session_catalog,
    session_catalog,
)

_PRUNING = "file pruning in the optimizer"
_WORKERS = "Python of the workers"
_ASK = (
    "import sys, importlib.util as u; print(sys.version.split()[0], "
    "*(n for n in ('iceberg_spark', 'pyspark_pyiceberg_lite') if u.find_spec(n)))"
)
_SHIP = (
    f"install iceberg-spark for that Python, or set PYSPARK_PYTHON={sys.executable} "
    "before the session starts"
)


def the_session(spark: Any) -> SparkSession | None:
    """Return the given or the active session. Raises InvalidTypeError, InvalidInputError."""
    return active_session() if spark is None else checked_session(spark)


def findings(spark: SparkSession) -> Iterator[Finding]:
    """Yield what can be told of a session: its Spark, its Java, its workers, the data source."""
    kind = "Spark Connect" if is_connect(spark) else f"classic, master {master(spark)}"
    yield Finding("Spark", State.OK, f"{spark.version}, {kind}")
    java = java_version(spark)
    java_text = "the server's own" if java is None else f"{java}, of the session"
    yield Finding("Java", State.OK, java_text)
    yield _task_finding(spark)
    yield _source(spark)
    yield _pruning(spark)
    yield from _catalogs(spark)


def _catalogs(spark: SparkSession) -> Iterator[Finding]:
    """Yield findings about the catalogs that only the session's settings describe."""
    elsewhere = set(configured_names())
    for name in catalog_names(spark):
        if name.lower() not in elsewhere:
            load = partial(load_session_catalog, spark, name)
            advice = f"look at spark.sql.catalog.{name}.*"
            yield from catalog_findings(name, load, session_catalog(spark, name), advice)


def worker_finding(python: str) -> Finding:
    """Ask a Python on this machine what the workers would have."""
    try:
        done = subprocess.run(  # noqa: S603 - what Spark itself would start
            [python, "-c", _ASK], capture_output=True, text=True, check=False, timeout=20
        )
    except OSError:
        return Finding(_WORKERS, State.WRONG, f"'{python}' can't be started", _SHIP)
    output = done.stdout.split()
    if done.returncode != 0 or not output:
        return Finding(_WORKERS, State.WRONG, f"'{python}' does not run", _SHIP)
    return _judged(output[0], python, has_package=len(output) == 3)


def _task_finding(spark: SparkSession) -> Finding:
    """Ask a task. A worker of another Python version refuses to run one at all."""
    try:
        kind = "python string, at string, has boolean"
        [row] = map_plain_names(spark.range(1), _teller(), kind).collect()
    except Exception as error:  # noqa: BLE001 - the trace of Java says it, somewhere
        message = str(error)
        if "PYTHON_VERSION_MISMATCH" in message:
            return Finding(_WORKERS, State.WRONG, f"not {_minor()}, which the driver runs", _SHIP)
        line = next(
            (
                line_of_error
                for line_of_error in reversed(message.splitlines())
                if "Error:" in line_of_error
            ),
            message[:200],
        )
        return Finding(_WORKERS, State.WRONG, f"a task failed: {line.strip()[:200]}", _SHIP)
    return _judged(str(row[0]), str(row[1]), has_package=bool(row[2]))


def _teller() -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def tell(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """A function inside a function travels by value: workers may lack this package."""
        for _ in batches:
            names = ("iceberg_spark", "pyspark_pyiceberg_lite")
            has = all(find_spec(name) is not None for name in names)
            answer = {"python": [sys.version.split()[0]], "at": [sys.executable], "has": [has]}
            yield pa.RecordBatch.from_pydict(answer)

    return tell


def _judged(version: str, python: str, *, has_package: bool) -> Finding:
    state = f"{version}, {python}"
    if version.split(".")[:2] != _minor().split("."):
        state += f"; the driver runs {_minor()}, and both must be the same"
        return Finding(_WORKERS, State.WRONG, state, _SHIP)
    if not has_package:
        return Finding(_WORKERS, State.WRONG, f"{state}, without iceberg_spark", _SHIP)
    return Finding(_WORKERS, State.OK, f"{state}, with iceberg_spark")


def _pruning(spark: SparkSession) -> Finding:
    prune_in_optimizer(spark)
    failure = pruning_failure(spark)
    if failure is None:
        return Finding(_PRUNING, State.OK, "on")
    state = State.OK if is_connect(spark) else State.NOTE
    return Finding(_PRUNING, state, f"off: {failure}")


def _minor() -> str:
    return f"{sys.version_info.major}.{sys.version_info.minor}"


def _source(spark: SparkSession) -> Finding:
    """Check that Spark finds the data source.

    With a schema of the caller Spark starts the source and asks it for nothing, so that there is
    no error that a Connect server would log with its stack trace.
    """
    what = f"format('{FORMAT_NAME}')"
    try:
        _ = spark.read.format(FORMAT_NAME).schema("probe boolean").load().schema
    except Exception as error:  # noqa: BLE001 - the kind of error is the answer
        if "No table given" in str(error):  # of an enabled session, whose reader is this library's
            return Finding(what, State.OK, "found by Spark")
        line = (str(error).strip().splitlines() or [""])[0][:200]
        return Finding(what, State.WRONG, line, _SHIP + "; or call iceberg_spark.register(spark)")
    return Finding(what, State.OK, "found by Spark")
