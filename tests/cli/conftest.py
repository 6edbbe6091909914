"""The command line run in this process, and a catalog in a folder that it finds."""

import json
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pytest

import iceberg_spark as ice
from iceberg_spark.cli.run import run
from iceberg_spark.engines import spark_presence


class Result(NamedTuple):
    """What a command printed, and its exit status."""

    status: int
    out: str
    err: str

    @property
    def rows(self) -> list[list[str]]:
        """The tab-separated lines after the header."""
        return [line.split("\t") for line in self.out.splitlines()[1:]]

    @property
    def json(self) -> Any:
        """The output as one JSON document; NaN and Infinity are not JSON."""
        return json.loads(self.out, parse_constant=lambda name: pytest.fail(f"{name} in JSON"))


@pytest.fixture
def cli(capsys, monkeypatch: pytest.MonkeyPatch):
    """Run a command as the shell would, in a pipe and without a session of other tests."""
    monkeypatch.setattr(spark_presence, "is_imported", lambda: False)

    def call(*arguments: object) -> Result:
        capsys.readouterr()
        status = run([str(argument) for argument in arguments])
        return Result(status, *capsys.readouterr())

    return call


@pytest.fixture
def catalog(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ice.TableCatalog:
    """The catalog `prod`, configured by environment variables, with a namespace `db`."""
    monkeypatch.setenv("PYICEBERG_CATALOG__PROD__TYPE", "sql")
    monkeypatch.setenv("PYICEBERG_CATALOG__PROD__URI", f"sqlite:///{tmp_path / 'catalog.db'}")
    monkeypatch.setenv("PYICEBERG_CATALOG__PROD__WAREHOUSE", str(tmp_path / "warehouse"))
    opened = ice.load_catalog("prod")
    opened.create_namespace("db")
    return opened


@pytest.fixture
def events(catalog: ice.TableCatalog) -> ice.Table:
    """`prod.db.events` with two snapshots: ids 1 to 3, and 4."""
    table = catalog.create_table("db.events", "id bigint, kind string", partition_by=["kind"])
    table.append(pa.table({"id": [1, 2, 3], "kind": ["a", "a", "b"]}))
    table.append(pa.table({"id": [4], "kind": ["b"]}))
    return table
