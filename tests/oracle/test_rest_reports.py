"""Reports of scans and commits: what a REST server gets from Java and from the product."""

import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import iceberg_spark as ice
from iceberg_spark import Table
from tests.servers.fault_proxy import Proxy, fault_proxy
from tests.servers.rest_server import RestServer

JAVAS = "org.apache.iceberg.spark.SparkCatalog"
CATALOG = "reporting_rest"
VALUES = "id, if(id % 2 = 0, 'a', 'b'), CAST(NULL AS DATE), 0.5D"
Report = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Reported:
    """What the server is told; `sql` runs Java's SQL with the namespace for DB."""

    proxy: Proxy
    sql: Callable[[str], list[tuple[object, ...]]]
    table: Callable[[str], Table]

    def next(self, kind: str) -> Report:
        """The next report of a kind."""
        while True:
            for one in self.proxy.reported(1):
                if one["report-type"] == kind:
                    return one


@pytest.fixture(scope="module")
def reported(rest: RestServer, java: SparkSession) -> Iterator[Reported]:
    db = f"m{uuid.uuid4().hex[:8]}"
    with fault_proxy(rest.uri) as proxy:
        settings = {"": JAVAS, ".type": "rest", ".uri": proxy.uri, ".cache-enabled": "false"}
        for key, value in settings.items():
            java.conf.set(f"spark.sql.catalog.{CATALOG}{key}", value)
        ours = ice.load_catalog(CATALOG, type="rest", uri=proxy.uri)

        def sql(text: str) -> list[tuple[object, ...]]:
            found = java.sql(text.replace("DB", f"{CATALOG}.{db}")).collect()
            return [tuple(row) for row in found]

        sql("CREATE NAMESPACE DB")
        yield Reported(proxy, sql, lambda name: ours.load_table(f"{db}.{name}"))


def created(r: Reported, name: str) -> Table:
    r.sql(
        f"CREATE TABLE DB.{name} (id bigint, s string, d date, n double) USING iceberg "
        "PARTITIONED BY (s) TBLPROPERTIES ('write.delete.mode'='merge-on-read', "
        "'write.delete.granularity'='file', 'commit.manifest-merge.enabled'='false')"
    )
    return r.table(name)


def rows(first: int) -> pa.Table:
    return pa.table(
        {
            "id": pa.array(range(first, first + 10), pa.int64()),
            "s": ["a", "b"] * 5,
            "d": pa.array([None] * 10, pa.date32()),
            "n": [0.5] * 10,
        }
    )


def units(report: Report) -> dict[str, object]:
    return {key: one.get("unit", one.get("time-unit")) for key, one in report["metrics"].items()}


def counts(report: Report) -> dict[str, int]:
    every = report["metrics"].items()
    return {k: one["value"] for k, one in every if "value" in one and "size" not in k}


def leaves(node: Any) -> list[str]:
    """The parts of a filter as texts; Spark adds tests for null, and says NOT (a = 1)."""
    if isinstance(node, dict) and node["type"] == "and":
        return sorted({*leaves(node["left"]), *leaves(node["right"])} - {"true"})
    if isinstance(node, dict) and node["type"] == "not":
        return [str({**node["child"], "type": f"not-{node['child']['type']}"})]
    return ["true"] if node in (True, {"type": "true"}) or "not-null" in str(node) else [str(node)]


@pytest.mark.parametrize(
    ("verb", "javas"),
    [
        (lambda t: t.append(rows(10)), f"INSERT INTO DB.javas SELECT {VALUES} FROM range(10, 20)"),
        (lambda t: t.delete("id = 3"), "DELETE FROM DB.javas WHERE id = 3"),
        (lambda t: t.delete("s = 'b'"), "DELETE FROM DB.javas WHERE s = 'b'"),
    ],
)
def test_commits_are_reported_as_java_does(
    reported: Reported, verb: Callable[[Table], object], javas: str
) -> None:
    for name in ("ours", "javas"):
        reported.sql(f"DROP TABLE IF EXISTS DB.{name}")
        created(reported, name).append(rows(0))
        reported.next("commit-report")
    table = reported.table("ours")
    verb(table)
    mine = reported.next("commit-report")
    reported.sql(javas)
    theirs = reported.next("commit-report")
    assert mine.keys() == theirs.keys()
    assert (units(mine), counts(mine)) == (units(theirs), counts(theirs))
    for key in ("operation", "sequence-number", "report-type"):
        assert mine[key] == theirs[key]
    assert mine["table-name"].replace("ours", "javas") == theirs["table-name"]
    assert mine["snapshot-id"] == table.current_snapshot().snapshot_id


@pytest.mark.parametrize(
    ("fields", "condition"),
    [
        (("id",), "id > 5 AND s IN ('a', 'x')"),
        (("id", "d"), "s = 'b' OR (id >= 12 AND n < 100.0)"),
        (("*",), "d IS NULL AND s LIKE 'a%' AND id <> 0"),
        (("n",), "true"),
    ],
)
def test_scans_are_reported_as_java_does(
    reported: Reported, fields: tuple[str, ...], condition: str
) -> None:
    if not reported.sql("SHOW TABLES IN DB LIKE 'scanned'"):
        table = created(reported, "scanned")
        for first in (0, 10, 20):
            table.append(rows(first))
            reported.next("commit-report")
        table.delete("id IN (3, 12, 25)")
        reported.next("commit-report")
    reported.table("scanned").scan(row_filter=condition, selected_fields=fields).to_arrow()
    mine = reported.next("scan-report")
    reported.sql(f"SELECT {', '.join(fields)} FROM DB.scanned WHERE {condition}")
    theirs = reported.next("scan-report")
    assert mine.keys() == theirs.keys()
    assert (units(mine), counts(mine)) == (units(theirs), counts(theirs))
    assert leaves(mine["filter"]) == leaves(theirs["filter"])
    for key in mine.keys() - {"metadata", "metrics", "filter"}:
        assert mine[key] == theirs[key], key
