"""The engines of the matrix, the environment that each runs in, and how to run one."""

import json
import os
import subprocess
import sys
import venv
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.oracle.session import RUNTIME

ROOT = Path(__file__).resolve().parents[2]
ENVIRONMENTS = ROOT / ".venv-engines"
SECONDS = 600


@dataclass(frozen=True, slots=True)
class Engine:
    """An engine: the module that reads with it, and the distributions whose versions count.

    `requirements` are those of an environment of its own; without them, the engine runs in .venv.
    Each has one to itself because they limit each other: Daft runs with older PyIceberg only.
    """

    title: str
    reader: str
    distributions: tuple[str, ...]
    requirements: tuple[str, ...] = ()

    @property
    def environment(self) -> Path:
        """The folder of the engine's own environment."""
        return ENVIRONMENTS / self.reader

    @property
    def python(self) -> str:
        """The interpreter that the engine runs in."""
        return str(self.environment / "bin" / "python") if self.requirements else sys.executable


ENGINES = (
    Engine("this library", "this_library", ("iceberg-spark", "pyarrow")),
    Engine("Java (Spark)", "java", ("pyspark",)),
    Engine(
        "PyIceberg",
        "pyiceberg_static",
        ("pyiceberg", "pyarrow"),
        ("pyiceberg[pyarrow,snappy]==0.12.0", "pyarrow==26.0.1"),
    ),
    Engine("DuckDB", "duckdb_extension", ("duckdb", "duckdb-extension-iceberg")),
    Engine(
        "Polars",
        "polars_scan",
        ("polars", "polars-iceberg", "pyiceberg"),
        (
            "polars==2.1.0",
            "polars-iceberg==0.1.0",
            "pyiceberg[pyarrow,snappy]==0.12.0",
            "pyarrow==26.0.1",
        ),
    ),
    Engine(
        "Daft",
        "daft_scan",
        ("daft", "pyiceberg"),
        ("daft[iceberg]==0.7.26", "pyiceberg[snappy]==0.11.1", "pyarrow==25.0.1"),
    ),
    Engine("ClickHouse", "clickhouse", ("chdb", "chdb-core"), ("chdb==4.4.0", "pyarrow==26.0.1")),
)


def install(engine: Engine) -> None:
    """Create the environment of an engine that does not run in .venv, or bring it up to date."""
    if not engine.requirements:
        return
    if not Path(engine.python).exists():
        venv.create(engine.environment, with_pip=True)
    pip = [engine.python, "-m", "pip", "install", "--quiet", "--no-input"]
    subprocess.run([*pip, *engine.requirements], check=True)


def versions(engine: Engine) -> str:
    """Return the versions of an engine's distributions as text."""
    code = "import sys, importlib.metadata as m; print(*map(m.version, sys.argv[1:]), sep='\\n')"
    command = [engine.python, "-c", code, *engine.distributions]
    lines = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
    pairs = [f"{name} {text}" for name, text in zip(engine.distributions, lines, strict=True)]
    if engine.reader == "java":
        pairs.append(f"iceberg-spark-runtime {RUNTIME.rpartition(':')[2]}")
    return ", ".join(pairs)


def read_tables(engine: Engine, tables: Mapping[str, str], folder: Path) -> dict[str, str | None]:
    """Read tables, given by their metadata files; return the error of each, None without one.

    The rows are stored as `folder/<name>.arrow`. An engine that ends its process is started again
    for the tables that are left.
    """
    results = folder / "results.jsonl"
    results.touch()
    errors: dict[str, str | None] = {}
    while remaining := {name: path for name, path in tables.items() if name not in errors}:
        ending = _run_worker(engine, remaining, folder, results)
        lines = results.read_text(encoding="utf-8").splitlines()
        errors |= {line["table"]: line["error"] for line in map(json.loads, lines)}
        stuck = next((name for name in tables if name not in errors), None)
        if stuck is not None:
            errors[stuck] = f"crash: {ending}"
    return errors


def _run_worker(engine: Engine, tables: Mapping[str, str], folder: Path, results: Path) -> str:
    """Run the worker; return how its process ended."""
    job = folder / "job.json"
    job.write_text(
        json.dumps({"folder": str(folder), "results": str(results), "tables": dict(tables)}),
        encoding="utf-8",
    )
    command = [engine.python, "-m", "scripts.engine_matrix.worker", engine.reader, str(job)]
    environment = os.environ | {
        "PYTHONPATH": str(ROOT),
        "DAFT_ANALYTICS_ENABLED": "0",  # nothing is reported to the engines' makers
        "DO_NOT_TRACK": "true",
    }
    try:
        ended = subprocess.run(
            command,
            cwd=folder.parent,  # ClickHouse reads below its working directory only
            env=environment,
            timeout=SECONDS,
            check=False,
            capture_output=True,
            text=True,
            errors="replace",
        )
    except subprocess.TimeoutExpired:
        return f"no answer in {SECONDS} seconds"
    (folder / "log.txt").write_text(ended.stdout + ended.stderr, encoding="utf-8")
    return f"exit code {ended.returncode}, {_last_line(ended.stderr)}"


def _last_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else "without a message"
