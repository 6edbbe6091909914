"""Our metadata files have the shape of Java's, and both rewrite each other's manifests."""

import json
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import iceberg_spark as ice
from tests.oracle import rows
from tests.oracle.avro_files import manifest_lists, manifest_paths, open_avro, without_docs
from tests.oracle.compare import assert_same_rows
from tests.oracle.java_api import identifier, location, read
from tests.oracle.java_tables import PARTITIONINGS, append, create
from tests.oracle.product import read_both

by_version = pytest.mark.parametrize("version", [1, 2])
by_partitioning = pytest.mark.parametrize("partitioning", PARTITIONINGS)
CHOSEN_FREELY = {"avro.codec", "iceberg.schema", "schema-id"}


Twice = Callable[[str, int], list[str]]


@pytest.fixture(scope="module")
def twice(java: SparkSession) -> Twice:
    """Return a function to the names of two equal tables, ours and Java's; each is made once."""
    return cache(partial(write_twice, java))


def write_twice(java: SparkSession, partitioning: str, version: int) -> list[str]:
    """The same table with the same two appends, by us and by Java; return both names."""
    names = [f"twice_{who}_{partitioning}_v{version}" for who in ("ours", "java")]
    for each in names:
        create(java, each, rows.DDL, PARTITIONINGS[partitioning], format__version=str(version))
    for span in ((0, 20), (20, 30)):
        ice.load_table(location(java, names[0])).append(rows.table(*span))
        append(java, names[1], *span)
    return names


def parsed(metadata: dict[str, str]) -> dict[str, Any]:
    """Key-value metadata with JSON values parsed, so that spelling does not count."""
    chosen = {key: value for key, value in metadata.items() if key not in CHOSEN_FREELY}
    return {k: json.loads(v) if v[:1] in "[{" else v for k, v in chosen.items()}


@by_version
@by_partitioning
def test_manifest_key_values_equal_java(
    java: SparkSession, twice: Twice, partitioning: str, version: int
) -> None:
    names = twice(partitioning, version)
    found = [parsed(open_avro(manifest_paths(java, name)[0])[0]) for name in names]
    assert found[0] == found[1]


@by_version
@by_partitioning
def test_manifest_avro_schema_equals_java(
    java: SparkSession, twice: Twice, partitioning: str, version: int
) -> None:
    """Names, field ids, logical types, optional or not, in the same order.

    One difference: the specification requires snapshot_id in version 1, Java makes it optional.
    """
    names = twice(partitioning, version)
    found = [without_docs(open_avro(manifest_paths(java, name)[0])[1]) for name in names]
    if version == 1:
        _, snapshot_id, *_ = found[1]["fields"]
        assert snapshot_id.pop("default") is None
        assert snapshot_id["type"] == ["null", "long"]
        snapshot_id["type"] = "long"
    assert found[0] == found[1]


@by_version
def test_manifest_list_equals_java(java: SparkSession, twice: Twice, version: int) -> None:
    names = twice("days_bucket", version)
    ours, theirs = (open_avro(manifest_lists(java, name)[-1]) for name in names)
    assert without_docs(ours[1]) == without_docs(theirs[1])
    assert ours[0].keys() - CHOSEN_FREELY == theirs[0].keys() - CHOSEN_FREELY
    for key in ("format-version", "sequence-number"):
        assert ours[0].get(key) == theirs[0].get(key)
    first = [open_avro(manifest_lists(java, name)[0])[0]["parent-snapshot-id"] for name in names]
    assert first[0] == first[1]


@by_version
@by_partitioning
def test_manifest_counts_and_summaries_equal_java(
    java: SparkSession, twice: Twice, partitioning: str, version: int
) -> None:
    names = twice(partitioning, version)
    ours, theirs = (read(java, f"{location(java, name)}#manifests") for name in names)
    shared = [c for c in ours.column_names if c not in {"path", "length", "added_snapshot_id"}]
    assert_same_rows(theirs.select(shared), ours.select(shared))


@by_version
def test_entries_equal_java(java: SparkSession, twice: Twice, version: int) -> None:
    names = twice("days_bucket", version)
    columns = ["status", "sequence_number", "file_sequence_number"]
    ours, theirs = (read(java, f"{location(java, name)}#entries") for name in names)
    assert_same_rows(theirs.select(columns), ours.select(columns))


@by_version
def test_table_metadata_has_the_fields_of_java(java: SparkSession, version: int) -> None:
    """A table that we create, key by key, against one that Java creates; values where fixed."""
    ours, theirs = f"created_ours_v{version}", f"created_java_v{version}"
    specs = ["days(ts)", "bucket(4, id)"]
    properties = {"format-version": str(version)}
    ice.create_table(location(java, ours), rows.DDL, partition_by=specs, properties=properties)
    create(java, theirs, rows.DDL, ", ".join(specs), format__version=str(version))
    found = [metadata(location(java, name)) for name in (ours, theirs)]
    assert found[0].keys() - {"schema", "partition-spec"} >= found[1].keys() - {
        "schema",
        "partition-spec",
    }
    for key in (
        "format-version",
        "last-column-id",
        "schemas",
        "current-schema-id",
        "partition-specs",
        "default-spec-id",
        "last-partition-id",
        "sort-orders",
        "default-sort-order-id",
    ):
        assert found[0][key] == found[1][key], key
    if version == 1:
        assert found[0]["schema"] == found[1]["schema"]
        assert found[0]["partition-spec"] == found[1]["partition-spec"]


@by_version
def test_a_snapshot_in_the_metadata_has_the_fields_of_java(
    java: SparkSession, twice: Twice, version: int
) -> None:
    names = twice("unpartitioned", version)
    found = [metadata(location(java, name)) for name in names]
    assert found[0].keys() == found[1].keys()
    for ours, theirs in zip(*(each["snapshots"] for each in found), strict=True):
        assert ours.keys() == theirs.keys()
        assert ours.get("sequence-number") == theirs.get("sequence-number")
    assert found[0]["refs"].keys() == found[1]["refs"].keys()


def metadata(path: str) -> dict[str, Any]:
    """The newest metadata file, found as Hadoop tables are: by the greatest version."""
    files = Path(path, "metadata").glob("v*.metadata.json")
    newest = max(files, key=lambda file: int(file.name.split(".")[0][1:]))
    return json.loads(newest.read_text())


@by_version
def test_java_rewrites_our_manifests_and_we_go_on(java: SparkSession, version: int) -> None:
    name = f"rewritten_v{version}"
    path = location(java, name)
    create(java, name, rows.DDL, "days(ts), bucket(4, id)", format__version=str(version))
    for start in range(0, 30, 10):
        ice.load_table(path).append(rows.table(start, start + 10))
    before = files(java, path)
    assert len(manifest_paths(java, name)) == 3
    java.sql(f"CALL j.system.rewrite_manifests('db.{name}')").collect()
    assert len(manifest_paths(java, name)) == 1
    assert_same_rows(before, files(java, path), what="statistics after the rewrite")
    assert_same_rows(rows.table(0, 30), read_both(java, path), what="both engines")
    ice.load_table(path).append(rows.table(30, 40))
    assert_same_rows(rows.table(0, 40), read(java, path), what="Java after our next append")


@by_version
def test_we_merge_javas_manifests_and_keep_their_statistics(
    java: SparkSession, version: int
) -> None:
    name = f"merged_v{version}"
    path = location(java, name)
    create(java, name, rows.DDL, "days(ts), bucket(4, id)", format__version=str(version))
    java.sql(
        f"ALTER TABLE {identifier(name)} SET TBLPROPERTIES "
        "('commit.manifest.min-count-to-merge'='2')"
    )
    append(java, name, 0, 20)
    before = files(java, path)
    ice.load_table(path).append(rows.table(20, 30))
    assert len(manifest_paths(java, name)) == 1
    paths = set(before["file_path"].to_pylist())
    after = files(java, path)
    kept = after.filter([file in paths for file in after["file_path"].to_pylist()])
    assert_same_rows(before, kept, what="statistics after our merge")
    assert_same_rows(rows.table(0, 30), read(java, path), what="Java")


def files(java: SparkSession, path: str) -> Any:
    """The `files` table without what Java derives for display."""
    return read(java, f"{path}#files").drop_columns(["readable_metrics"])
