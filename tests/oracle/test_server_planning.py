"""Java's client and this library read tables whose scans one server plans (RestServer.Planning)."""

import uuid
from dataclasses import dataclass

import pytest
from pyspark.sql import SparkSession

import iceberg_spark as ice
from iceberg_spark import Table
from tests.servers.rest_server import RestServer

CONDITIONS = [
    "id > 11", "id <> 11", "id IN (1, 21)", "id NOT IN (1, 21)", "day > DATE'2024-01-02'",
    "s LIKE '1%'", "s NOT LIKE '1%'", "f > 1", "f = 0", "f <> 0", "f IS NULL", "s IS NULL",
    "day = DATE'2024-01-02' OR NOT (f < 1)", "price >= 10.5", "id <=> NULL",
    "at < TIMESTAMP'2024-01-03 00:00:00 UTC'",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Shared:
    java: SparkSession
    name: str
    table: Table

    def agree(self, where: str, of: str = "", **scan: int) -> int:
        """Read the ids by both clients; returns how many they are."""
        text = f"SELECT id FROM {self.name} {of} WHERE {where}"
        wanted = sorted(repr(row[0]) for row in self.java.sql(text).collect())
        mine = where.replace("<=> NULL", "IS NULL")
        found = self.table.scan(mine, selected_fields=("id",), **scan).to_arrow()["id"]
        assert sorted(map(repr, found.to_pylist())) == wanted, where
        return len(wanted)


@pytest.fixture(params=["planned", "planned_async", "planned_paged"])
def shared(request: pytest.FixtureRequest, rest: RestServer, java: SparkSession) -> Shared:
    settings = {"": "org.apache.iceberg.spark.SparkCatalog", ".type": "rest", ".uri": rest.uri,
                ".cache-enabled": "false"}  # fmt: skip
    for key, value in settings.items():
        java.conf.set(f"spark.sql.catalog.planning{key}", value)
    db = f"{request.param}_{uuid.uuid4().hex[:8]}"
    name = f"planning.{db}.t"
    java.sql(f"CREATE NAMESPACE planning.{db}")
    java.sql(
        f"CREATE TABLE {name} (id BIGINT, s STRING, day DATE, f DOUBLE, price DECIMAL(9, 2), "
        "at TIMESTAMP) USING iceberg PARTITIONED BY (day, bucket(2, id))"
    )
    for day in range(1, 4):
        first = 10 * (day - 1)
        java.sql(
            f"INSERT INTO {name} SELECT IF(id % 10 = 9, NULL, id), CAST(IF(id % 10 = 8, NULL, id) "
            f"AS STRING), DATE'2024-01-0{day}', CASE id % 10 WHEN 0 THEN double('NaN') "
            f"WHEN 1 THEN -0.0D WHEN 2 THEN NULL ELSE id % 5 END, id, "
            f"TIMESTAMP'2024-01-0{day} 10:00:00 UTC' FROM range({first}, {first + 10})"
        )
    table = ice.load_catalog("planning", type="rest", uri=rest.uri).load_table(f"{db}.t")
    return Shared(java, name, table)


def test_both_clients_read_the_same_rows(shared: Shared) -> None:
    assert shared.agree("true") == 30
    assert shared.table.scan().plan_files().is_by_catalog
    for where in CONDITIONS:
        shared.agree(where)
    first = shared.table.snapshots()[0].snapshot_id
    assert shared.agree("id > 3", f"VERSION AS OF {first}", snapshot_id=first) == 5
