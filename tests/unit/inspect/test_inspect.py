"""Metadata tables without Spark: what comparisons with Java's can't show."""

from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest

import iceberg_spark as ice
from iceberg_spark import Table
from iceberg_spark.errors import InvalidInputError, InvalidOptionError, NoSuchSnapshotError
from iceberg_spark.inspect.names import MetadataTable, metadata_table
from iceberg_spark.inspect.partitions import partitions
from iceberg_spark.inspect.request import inspection, parts, read_parts
from iceberg_spark.scan.request import ScanRequest


@pytest.fixture
def table(tmp_path: Path) -> Table:
    """Two appends to the partitions x and null."""
    made = ice.create_table(str(tmp_path / "t"), "id bigint, k string", partition_by=["k"])
    for first in (0, 10):
        made.append(pa.table({"id": [first, first + 1], "k": ["x", None]}))
    return made


def test_there_is_a_method_for_each_metadata_table(table: Table) -> None:
    for name in MetadataTable:
        found = getattr(table.inspect, name)()
        assert isinstance(found, pa.Table)
        found.validate(full=True)
        assert f"{name}()" in repr(table.inspect)


def test_names_are_taken_in_any_case_and_the_nearest_is_named() -> None:
    assert metadata_table("FILES") is MetadataTable.FILES
    with pytest.raises(InvalidInputError, match="did you mean 'manifests'"):
        metadata_table("manifest")


def test_a_snapshot_is_chosen_by_id_ref_or_time(table: Table) -> None:
    first, second = table.snapshots()
    assert table.inspect.files().num_rows == 4
    assert table.inspect.files(first.snapshot_id).num_rows == 2
    assert table.inspect.partitions(ref="main")["file_count"].to_pylist() == [2, 2]
    assert table.inspect.entries(as_of_timestamp_ms=second.timestamp_ms - 1).num_rows == 2
    with pytest.raises(NoSuchSnapshotError):
        table.inspect.manifests(ref="nope")


def test_a_table_of_all_snapshots_takes_none(table: Table) -> None:
    with pytest.raises(InvalidOptionError, match="shows all snapshots"):
        inspection(table.metadata, MetadataTable.REFS, ScanRequest(snapshot_id=1))


def test_only_selected_columns_are_read_and_rows_are_filtered(table: Table) -> None:
    asked = ScanRequest(
        selected_fields=("data_file.partition", "readable_metrics.id.upper_bound"),
        row_filter="data_file.partition.k is null and readable_metrics.id.lower_bound > 5",
    )
    request = inspection(table.metadata, MetadataTable.ENTRIES, asked)
    loaded, io = table._loaded, table.io
    some = parts(request, table.metadata, io)
    found = pa.concat_tables(read_parts(request, loaded, io, some))
    assert found.to_pylist() == [
        {
            "data_file": {"partition": {"k": None}},
            "readable_metrics": {"id": {"upper_bound": 11}},
        }
    ]


def test_a_reader_streams_the_selected_columns_of_matching_rows(table: Table) -> None:
    reader = table.inspect.to_arrow_batch_reader("files", "record_count = 1", ("file_path",))
    batches = list(reader)
    assert len(batches) == 2  # one for each manifest
    paths = [path for batch in batches for path in batch["file_path"].to_pylist()]
    assert paths == table.inspect.files()["file_path"].to_pylist()
    assert reader.schema.names == ["file_path"]
    first = table.snapshots()[0].snapshot_id
    of_first = table.inspect.to_arrow_batch_reader("partitions", snapshot_id=first)
    assert of_first.read_all() == table.inspect.partitions(first)


def test_a_reader_refuses_unknown_tables_and_snapshots_of_tables_of_all(table: Table) -> None:
    with pytest.raises(InvalidInputError, match="did you mean 'files'"):
        table.inspect.to_arrow_batch_reader("file")
    with pytest.raises(InvalidOptionError, match="shows all snapshots"):
        table.inspect.to_arrow_batch_reader("refs", snapshot_id=1)


def test_a_partition_whose_snapshots_have_expired_keeps_its_spec(table: Table) -> None:
    last = table.current_snapshot()
    assert last is not None
    spec = replace(table.spec(), spec_id=0)
    expired = replace(
        table.metadata,
        snapshots={last.snapshot_id + 1: replace(last, snapshot_id=last.snapshot_id + 1)},
        partition_specs={0: spec},
    )
    found = partitions(expired, table.io, last)
    assert found["spec_id"].to_pylist() == [0, 0]
    assert found["last_updated_at"].null_count == 2
    assert found["last_updated_snapshot_id"].null_count == 2
    assert found["record_count"].to_pylist() == [2, 2]


def test_all_manifests_lists_each_manifest_for_every_snapshot_that_has_it(table: Table) -> None:
    found = table.inspect.all_manifests()
    first, second = (one.snapshot_id for one in table.snapshots())
    assert sorted(found["reference_snapshot_id"].to_pylist()) == sorted([first, second, second])
    assert len(set(found["path"].to_pylist())) == 2
    assert table.inspect.all_files().num_rows == 4  # each manifest once


def test_an_empty_table_has_empty_metadata_tables(tmp_path: Path) -> None:
    made = ice.create_table(str(tmp_path / "t"), "id bigint")
    for name in MetadataTable:
        rows = getattr(made.inspect, name)().num_rows
        assert rows == (1 if name is MetadataTable.METADATA_LOG_ENTRIES else 0)
