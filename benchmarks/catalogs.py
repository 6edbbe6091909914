"""Catalogs beside PyIceberg and Java: CPU time of the client's process, and requests.

Clients are processes of their own, so that neither the server nor whoever changes the table
between two loads is part of what is measured.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import pyarrow as pa
from pyspark.sql import SparkSession

import iceberg_spark as ice
from benchmarks.measure import Measured
from iceberg_spark import TableCatalog
from tests.servers.fault_proxy import Proxy, fault_proxy
from tests.servers.rest_server import rest_server
from tests.servers.s3_servers import moto_server

Works: TypeAlias = dict[str, dict[str, Measured]]
CONTENDERS = ("pyiceberg", "ours")
TIMES = 200
_COLUMNS = ", ".join(f"c{n} bigint" for n in range(13))
_JAVA_WARM_UP = 50
_JAVAS = "org.apache.iceberg.spark.SparkCatalog"


@dataclass(frozen=True, slots=True)
class Client:
    """A client's process; `imported` has what its start took."""

    process: subprocess.Popen[str]
    imported: dict[str, float]

    def does(self, work: str, table: str, times: int = 1) -> dict[str, float]:
        """Have a work done some times; returns seconds of CPU and of the clock."""
        assert self.process.stdin is not None
        self.process.stdin.write(f"{work} {table} {times}\n")
        self.process.stdin.flush()
        return _line(self.process)


def _line(process: subprocess.Popen[str]) -> dict[str, float]:
    assert process.stdout is not None
    said: dict[str, float] = json.loads(process.stdout.readline())
    return said


@contextmanager
def client(contender: str, name: str, properties: Mapping[str, str]) -> Iterator[Client]:
    """Run a client while the block runs."""
    given = {"contender": contender, "catalog": name, "properties": dict(properties)}
    process = subprocess.Popen(
        [sys.executable, "-m", "benchmarks.catalog_client", json.dumps(given)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        yield Client(process, _line(process))
    finally:
        process.communicate()


def measure_catalogs(
    spark: SparkSession, folder: Path, rounds: int, facts: dict[str, str]
) -> Works:
    """Loads and appends on SQLite and a REST server; each round has clients of its own."""
    works: Works = {}
    with rest_server(folder) as server, fault_proxy(server.uri) as proxy:
        rest = {"type": "rest", "uri": proxy.uri}
        works |= _measured(spark, "REST", rest, {"type": "rest", "uri": server.uri}, rounds)
        facts |= _requests(rest, proxy)
    (folder / "sql").mkdir()
    database = f"{folder}/sql/catalog.db"
    sql = {"type": "sql", "uri": f"sqlite:///{database}", "warehouse": f"file://{folder}/sql"}
    javas = {"type": "jdbc", "uri": f"jdbc:sqlite:{database}", "warehouse": f"{folder}/sql"}
    return works | _measured(spark, "SQLite", sql, javas, rounds)


def _measured(
    spark: SparkSession,
    kind: str,
    properties: Mapping[str, str],
    javas: Mapping[str, str],
    rounds: int,
) -> Works:
    name = f"bench_{kind.lower()}"
    catalog: TableCatalog = ice.load_catalog(name, **properties)
    catalog.create_namespace("db")
    table = catalog.create_table("db.t", _COLUMNS)
    for _ in range(20):
        table.append(_row())
    found: dict[str, dict[str, list[float]]] = {}

    def keep(work: str, contender: str, seconds: float) -> None:
        found.setdefault(f"{kind}: {work}", {}).setdefault(contender, []).append(seconds)

    def changed() -> None:
        table.update_properties().set({"at": str(time.monotonic_ns())}).commit()

    for turn in range(rounds):
        for who in CONTENDERS:
            catalog.create_table(f"db.{who}{turn}", _COLUMNS)
            with client(who, name, properties) as one:
                keep("import, catalog, first request", who, one.imported["used"])
                one.does("load", "db.t", 3)
                keep(f"{TIMES} loads", who, one.does("load", "db.t", TIMES)["cpu"])
                cpu = 0.0
                for _ in range(TIMES):
                    changed()
                    cpu += one.does("load", "db.t")["cpu"]
                keep(f"{TIMES} loads, changed before each", who, cpu)
                one.does("append", f"db.{who}{turn}", 3)
                keep(f"{TIMES} appends", who, one.does("append", f"db.{who}{turn}", TIMES)["cpu"])
    works: dict[str, dict[str, list[float]]] = found
    _measure_java(spark, name, javas, changed, keep)
    return {
        work: {who: Measured(tuple(seconds)) for who, seconds in each.items()}
        for work, each in works.items()
    }


def _measure_java(
    spark: SparkSession,
    name: str,
    javas: Mapping[str, str],
    changed: Callable[[], None],
    keep: Callable[[str, str, float], None],
) -> None:
    """Java's catalog in Spark's JVM: CPU of that whole process, its compiler's included."""
    jvm: Any = spark._jvm
    process = spark.sparkContext._gateway.proc.pid
    at = f"spark.sql.catalog.{name}"
    for key, value in {"": _JAVAS, ".cache-enabled": "false"}.items():
        spark.conf.set(f"{at}{key}", value)
    for key, value in javas.items():
        spark.conf.set(f"{at}.{key}", value)
    spark.sql(f"SELECT 1 FROM {name}.db.t LIMIT 1").collect()
    spark.sql(f"CREATE TABLE {name}.db.java ({_COLUMNS}) USING iceberg")
    catalogs = spark._jsparkSession.sessionState().catalogManager()
    catalog = catalogs.catalog(name).icebergCatalog()
    table = jvm.org.apache.iceberg.catalog.TableIdentifier.parse("db.t")
    values = ", ".join(["1"] * 13)

    def load() -> None:
        catalog.loadTable(table)

    def append() -> None:
        spark.sql(f"INSERT INTO {name}.db.java VALUES ({values})")

    for work, one, before in (
        (f"{TIMES} loads", load, lambda: None),
        (f"{TIMES} loads, changed before each", load, changed),
        (f"{TIMES} appends", append, lambda: None),
    ):
        for _ in range(_JAVA_WARM_UP):
            one()
        start = _cpu_of(process)
        for _ in range(TIMES):
            before()
            one()
        keep(work, "java", _cpu_of(process) - start)


def _cpu_of(process: int) -> float:
    """Return seconds of CPU that a process has used; `before` is done by this one, not by it."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _requests(properties: Mapping[str, str], proxy: Proxy) -> dict[str, str]:
    facts = {}
    catalog = ice.load_catalog("bench_rest", **properties)
    for who in CONTENDERS:
        catalog.create_table(f"db.asked_{who}", _COLUMNS)
        with client(who, "bench_rest", properties) as one:
            one.does("handle", f"db.asked_{who}")
            counts = {}
            for work in ("load", "append"):
                proxy.asked.clear()
                one.does(work, f"db.asked_{who}", TIMES)
                asked = [each for each in proxy.asked if not each.endswith("/metrics")]
                counts[work] = len(asked)
        facts[f"requests to REST, {who}"] = (
            f"{counts['load']} for {TIMES} loads, {counts['append']} for {TIMES} appends"
        )
    return facts


def _row() -> pa.Table:
    return pa.table({f"c{n}": [1] for n in range(13)})


def measure_s3_scans(folder: Path, rounds: int) -> Works:
    """Scans of a table on S3 (moto) whose catalog is SQLite: CPU and time, by turns."""
    found: dict[str, dict[str, list[float]]] = {}
    with moto_server() as server, ExitStack() as stack:
        properties = {
            "type": "sql", "uri": f"sqlite:///{folder}/s3.db", "warehouse": "s3://bucket/w",
            **server.properties,
        }  # fmt: skip
        catalog = ice.load_catalog("bench_s3", **properties)
        catalog.create_namespace("db")
        table = catalog.create_table("db.t", _COLUMNS)
        for file in range(20):
            numbers = pa.array(range(file * 50_000, (file + 1) * 50_000), pa.int64())
            table.append(pa.table({f"c{n}": numbers for n in range(13)}))
        clients = {
            who: stack.enter_context(client(who, "bench_s3", properties)) for who in CONTENDERS
        }
        for turn in range(rounds + 1):
            for who, one in clients.items():
                took = one.does("scan", "db.t")
                if turn:  # the first fills caches
                    for what, unit in (("clock", "time"), ("cpu", "CPU")):
                        work = f"S3: scan of 20 files of 50,000 rows, {unit}"
                        found.setdefault(work, {}).setdefault(who, []).append(took[what])
    return {
        work: {who: Measured(tuple(seconds)) for who, seconds in each.items()}
        for work, each in found.items()
    }
