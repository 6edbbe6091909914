"""Statistics of tables and partitions (Java: ComputeTableStats, PartitionStatsHandler)."""

from dataclasses import replace
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import iceberg_spark as ice
from iceberg_spark import Table
from iceberg_spark.commits.commit import CleanupOnFailure
from iceberg_spark.errors import (
    CorruptFileError,
    InvalidInputError,
    InvalidSchemaError,
    NoSuchSnapshotError,
    ValidationException,
)
from iceberg_spark.formats.puffin.read_puffin import read_blob, read_footer
from iceberg_spark.inspect.metadata_lists import statistics_files
from iceberg_spark.inspect.partition_statistics import statistics_schema
from iceberg_spark.maintenance import table_statistics
from tests.unit.api.tables import make, rows

TYPES = (
    "id bigint, k string, n int, f float, x double, b boolean, d date, t timestamp, "
    "z timestamp_ntz, m decimal(20,2), r binary, s struct<a: int, u: string>, l array<int>"
)


def of_all_types() -> Table:
    table = make(schema=TYPES)
    day, moment = date(2024, 1, 1), datetime(2024, 1, 1, tzinfo=UTC)
    given = {
        "id": [1, 2, 3, None], "k": ["a", "b", "a", ""], "n": [1, 1, 1, 1],
        "f": [1.0, 2.0, 2.0, None], "x": [0.5, 0.25, 0.125, 0.5], "b": [True, False, None, True],
        "d": [day, day, None, None], "t": [moment] * 4, "z": [moment.replace(tzinfo=None)] * 4,
        "m": [Decimal("1.00"), Decimal("-1.00"), None, Decimal("1.00")],
        "r": [b"x", b"y", b"", None], "s": [{"a": 1, "u": "p"}, {"a": 2, "u": None}, None, None],
        "l": [[1], [2], None, []],
    }  # fmt: skip
    table.append(pa.Table.from_pydict(given, table.scan().to_arrow().schema))
    return table


def test_distinct_values_of_every_type_are_counted() -> None:
    table = of_all_types()
    result = table.maintenance.compute_table_stats()
    assert result.ndv == {
        "id": 3,
        "k": 2,
        "n": 1,
        "f": 2,
        "x": 3,
        "b": 2,
        "d": 1,
        "t": 1,
        "z": 1,
        "m": 2,
        "r": 2,
    }
    nested = table.maintenance.compute_table_stats(columns=["s.a", "s.u"])
    assert nested.ndv == {"s.a": 2, "s.u": 1}


def test_the_file_is_described_as_the_specification_says() -> None:
    table = make()
    table.append(rows(id=[1, 2], k=["a", "a"]))
    head = table.current_snapshot()
    result = table.maintenance.compute_table_stats()
    (said,) = ice.load_table(table.location()).metadata.statistics
    assert head is not None and result.statistics_file is not None
    footer = read_footer(table.io, result.statistics_file)
    assert said["snapshot-id"] == head.snapshot_id
    assert said["statistics-path"] == result.statistics_file == footer.path
    assert said["file-size-in-bytes"] == table.io.size(footer.path) == footer.size
    assert said["file-footer-size-in-bytes"] == footer.footer_size
    assert [(one.fields, one.properties["ndv"]) for one in footer.blobs] == [
        ((1,), "2"),
        ((2,), "1"),
    ]
    assert {one.type for one in footer.blobs} == {"apache-datasketches-theta-v1"}
    assert {one.compression_codec for one in footer.blobs} == {"zstd"}
    assert len(read_blob(table.io, footer.path, footer.blobs[0])) == 16 + 2 * 8
    assert [dict(one) for one in said["blob-metadata"]] == [
        {
            "type": one.type,
            "snapshot-id": head.snapshot_id,
            "sequence-number": 1,
            "fields": list(one.fields),
            "properties": dict(one.properties),
        }
        for one in footer.blobs
    ]
    assert table.current_snapshot() == head


def test_deleted_rows_and_other_snapshots_do_not_count() -> None:
    table = make(**{"write.delete.mode": "merge-on-read"})
    table.append(rows(id=[1, 2, 3], k=["a", "b", "c"]))
    first = table.current_snapshot()
    table.delete("id = 2")
    table.append(rows(id=[3, 4], k=["c", "c"]))
    assert first is not None
    assert table.maintenance.compute_table_stats().ndv == {"id": 3, "k": 2}
    earlier = table.maintenance.compute_table_stats(first.snapshot_id, ["k"])
    assert earlier.ndv == {"k": 3}
    assert len(table.metadata.statistics) == 2


def test_columns_are_those_of_the_snapshots_schema() -> None:
    table = make()
    table.append(rows(id=[1], k=["a"]))
    table.update_schema().rename_column("k", "name").add_column("new", "int").commit()
    assert set(table.maintenance.compute_table_stats().ndv) == {"id", "k"}


def test_a_snapshot_has_its_newest_statistics_only_and_loses_them_when_it_expires() -> None:
    table = make()
    table.append(rows(id=[1], k=["a"]))
    first = table.maintenance.compute_table_stats()
    again = table.maintenance.compute_table_stats(columns=["id"])
    assert [one["statistics-path"] for one in table.metadata.statistics] == [again.statistics_file]
    assert first.statistics_file != again.statistics_file
    table.overwrite(rows(id=[2], k=["b"]))
    result = table.maintenance.expire_snapshots(older_than=1 << 60)
    assert result.deleted_statistics_files_count == 1
    assert not table.metadata.statistics
    assert not table.io.exists(str(again.statistics_file))


@pytest.mark.parametrize(
    ("columns", "error"),
    [
        (["nope"], InvalidSchemaError),
        (["s"], InvalidInputError),
        (["l.element"], InvalidInputError),
    ],
)
def test_columns_that_have_no_values_to_count_are_refused(
    columns: list[str], error: type[Exception]
) -> None:
    with pytest.raises(error):
        of_all_types().maintenance.compute_table_stats(columns=columns)


def test_an_empty_table_has_no_statistics() -> None:
    table = make(partition_by=["k"])
    assert table.maintenance.compute_table_stats().statistics_file is None
    assert table.maintenance.compute_partition_stats().partition_statistics_file is None
    with pytest.raises(NoSuchSnapshotError):
        table.maintenance.compute_table_stats(5)


def test_the_file_is_removed_where_the_snapshot_expires_meanwhile(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    table = make()
    table.append(rows(id=[1], k=["a"]))
    head = table.current_snapshot()
    assert head is not None

    def late(*given: Any) -> Any:
        other = ice.load_table(table.location())
        other.overwrite(rows(id=[2], k=["b"]))
        other.maintenance.expire_snapshots(older_than=1 << 60)
        return CleanupOnFailure(*given)

    monkeypatch.setattr(table_statistics, "CleanupOnFailure", late)
    with pytest.raises(ValidationException, match="expired"):
        table.maintenance.compute_table_stats()
    assert not [one for one in table.io.list(table.location()) if one.path.endswith(".stats")]


def partitioned(version: str = "2") -> Table:
    table = make(partition_by=["k"], **{"format-version": version})
    table.append(rows(id=[1, 2, 3], k=["b", "a", None]))
    return table


def statistics(table: Table) -> dict[Any, dict[str, Any]]:
    """The rows of the newest statistics file, by partition."""
    path = table.maintenance.compute_partition_stats().partition_statistics_file
    assert path is not None
    read = pq.read_table(pa.BufferReader(table.io.read_bytes(path)))
    return {tuple(row.pop("partition").values()): row for row in read.to_pylist()}


def counts(row: dict[str, Any]) -> tuple[int, ...]:
    return (
        row["data_record_count"],
        row["data_file_count"],
        row["position_delete_record_count"],
        row["equality_delete_record_count"],
        row["equality_delete_file_count"],
    )


def test_partition_statistics_count_files_and_rows_of_each_partition() -> None:
    table = partitioned()
    head = table.current_snapshot()
    found = statistics(table)
    assert head is not None
    assert list(found) == [(None,), ("a",), ("b",)]
    assert {counts(row) for row in found.values()} == {(1, 1, 0, 0, 0)}
    size = sum(row["total_data_file_size_in_bytes"] for row in found.values())
    assert size == sum(table.inspect.files()["file_size_in_bytes"].to_pylist())
    assert {row["last_updated_snapshot_id"] for row in found.values()} == {head.snapshot_id}
    assert {row["last_updated_at"] for row in found.values()} == {head.timestamp_ms}
    assert {row["total_record_count"] for row in found.values()} == {None}
    assert [dict(one) for one in table.metadata.partition_statistics] == [
        {
            "snapshot-id": head.snapshot_id,
            "statistics-path": table.metadata.partition_statistics[0]["statistics-path"],
            "file-size-in-bytes": table.metadata.partition_statistics[0]["file-size-in-bytes"],
        }
    ]


def changed(table: Table) -> None:
    """More rows, deletes of both kinds, a partition that goes, manifests that are merged."""
    table.append(rows(id=[4, 5], k=["a", "c"]))
    table.upsert(rows(id=[2], k=["a"]), ["id", "k"])
    table.delete("k = 'b'")
    table.update_properties().set({"commit.manifest.min-count-to-merge": "2"}).commit()
    table.append(rows(id=[6], k=["c"]))
    table.maintenance.rewrite_manifests()
    table.append(rows(id=[7], k=["d"]))


def test_what_came_since_is_added_to_the_earlier_file() -> None:
    table, whole = partitioned(), partitioned()
    statistics(table)
    changed(table)
    changed(whole)
    found, expected = statistics(table), statistics(whole)
    assert {key: counts(row) for key, row in found.items() if row["data_file_count"]} == {
        key: counts(row) for key, row in expected.items() if row["data_file_count"]
    }
    assert counts(found["b",]) == (0, 0, 0, 0, 0)
    assert counts(found["a",]) == (3, 3, 0, 1, 1)


def test_an_earlier_file_that_is_broken_or_of_another_branch_is_not_used() -> None:
    table = partitioned()
    path = table.maintenance.compute_partition_stats().partition_statistics_file
    table.append(rows(id=[4], k=["a"]))
    table.io.replace(str(path), b"broken")
    assert counts(statistics(table)["a",]) == (2, 2, 0, 0, 0)


def test_a_snapshot_that_has_partition_statistics_keeps_them() -> None:
    table = partitioned()
    first = table.maintenance.compute_partition_stats()
    version = table.metadata_location
    assert table.maintenance.compute_partition_stats() == first
    assert table.metadata_location == version


def test_partitions_of_other_specs_stand_for_themselves() -> None:
    table = partitioned()
    statistics(table)
    table.update_spec().add_field("bucket(2, id)").commit()
    table.append(rows(id=[1], k=["a"]))
    found = statistics(table)
    assert [key for key in found if key[0] == "a"] == [("a", None), ("a", 0)]
    assert {row["spec_id"] for row in found.values()} == {0, 1}


@pytest.mark.parametrize("kind", ["avro", "orc"])
def test_tables_of_other_formats_have_partition_statistics(kind: str) -> None:
    table = make(partition_by=["k"], **{"write.format.default": kind})
    table.append(rows(id=[1], k=["a"]))
    first = table.maintenance.compute_partition_stats().partition_statistics_file
    assert str(first).endswith("avro" if kind == "avro" else "parquet")
    table.append(rows(id=[2], k=["a"]))
    assert table.maintenance.compute_partition_stats().partition_statistics_file != first


def test_version_3_has_a_count_of_deletion_vectors() -> None:
    table = partitioned("3")
    assert {row["dv_count"] for row in statistics(table).values()} == {0}
    required = {one.name for one in statistics_schema(table.metadata).fields if one.required}
    assert required >= {"position_delete_record_count", "dv_count"}


def test_a_table_without_partitions_is_refused() -> None:
    table = make()
    table.append(rows(id=[1], k=["a"]))
    with pytest.raises(InvalidInputError, match="not partitioned"):
        table.maintenance.compute_partition_stats()


def test_metadata_tables_show_the_statistics_of_snapshots() -> None:
    table = partitioned()
    assert table.inspect.statistics_files().num_rows == 0
    head = table.current_snapshot()
    counted = table.maintenance.compute_table_stats()
    added = table.maintenance.compute_partition_stats()
    assert head is not None
    (row,) = table.inspect.statistics_files().to_pylist()
    assert (row["snapshot_id"], row["statistics_path"]) == (
        head.snapshot_id,
        counted.statistics_file,
    )
    assert row["file_size_in_bytes"] == table.io.size(str(counted.statistics_file))
    first, second = row["blob_metadata"]
    assert (first["fields"], second["fields"]) == ([1], [2])
    assert first["type"] == "apache-datasketches-theta-v1"
    assert dict(first["properties"]) == {"ndv": "3"}
    (row,) = table.inspect.partition_statistics_files().to_pylist()
    assert row["statistics_path"] == added.partition_statistics_file


SAID = {
    "snapshot-id": 1,
    "statistics-path": "s",
    "file-size-in-bytes": 9,
    "file-footer-size-in-bytes": 3,
    "blob-metadata": [],
}


@pytest.mark.parametrize(
    "said",
    [
        {},
        SAID | {"snapshot-id": "x"},
        SAID | {"snapshot-id": 1 << 70},
        SAID | {"statistics-path": None},
        SAID | {"blob-metadata": 3},
        SAID | {"blob-metadata": [3]},
        SAID | {"blob-metadata": [{"type": "t"}]},
    ],
)
def test_statistics_that_are_none_are_named(said: dict[str, Any]) -> None:
    table = make()
    assert statistics_files(replace(table.metadata, statistics=(SAID,))).num_rows == 1
    broken = replace(table.metadata, statistics=(said,))
    with pytest.raises(CorruptFileError, match="statistics"):
        statistics_files(broken)
