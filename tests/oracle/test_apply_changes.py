"""Tables of applied changes under Java: what it reads, and its upkeep leaves deletes known."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

import iceberg_spark as ice
from iceberg_spark import Table
from tests.cdc_model import Change, frame
from tests.oracle.java_api import identifier, location, read

A, B = ("a", 1.0), ("b", 2.0)


def apply(table: Table, *changes: tuple[int, int, tuple[str, float] | None]) -> None:
    table.refresh()
    given = frame((Change(*change) for change in changes), "__seq")
    options = {"sequence_by": "__seq", "apply_as_deletes": "op = 'D'"}
    table.apply_changes(given, keys=["id"], **options)


@pytest.mark.parametrize(("version", "partition_by"), [("2", ["bucket(2, id)"]), ("3", [])])
def test_deletes_stay_known_through_javas_upkeep(
    java: SparkSession, version: str, partition_by: list[str]
) -> None:
    name = f"applied_v{version}"
    table = ice.create_table(
        location(java, name),
        "id bigint, name string, price double",
        partition_by=partition_by,
        properties={"format-version": version, "write.merge.mode": "merge-on-read"},
    )
    apply(table, (1, 1, A), (2, 1, A), (3, 1, A))
    apply(table, (1, 5, None), (2, 5, B), (7, 5, None))
    expected = [(2, *B), (3, *A)]

    def javas() -> list[tuple[object, ...]]:
        found = read(java, location(java, name)).to_pylist()
        return sorted(tuple(row.values()) for row in found)

    assert javas() == expected
    java.sql(f"INSERT INTO {identifier(name)} VALUES (9, 'java', 1.0D)")
    call = "CALL j.system.{}(table => 'db.{}', {})"
    rewriting = "options => map('rewrite-all', 'true')"
    java.sql(call.format("rewrite_data_files", name, rewriting))
    java.sql(call.format("rewrite_manifests", name, "use_caching => false"))
    later = "older_than => TIMESTAMP '2999-01-01 00:00:00'"
    java.sql(call.format("expire_snapshots", name, f"{later}, retain_last => 1"))
    java.sql(call.format("remove_orphan_files", name, "dry_run => false"))
    apply(table, (1, 4, B), (2, 4, A), (7, 4, A), (8, 1, A))
    assert javas() == [*expected, (8, *A), (9, "java", 1.0)]
