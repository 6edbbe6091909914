"""What a stream may be asked for, what only a batch may, and the other way round."""

from pathlib import Path

import pytest

from iceberg_spark.errors import InvalidInputError, InvalidOptionError, UnsupportedError
from iceberg_spark.spark.datasource.source import PyIcebergLiteSource
from iceberg_spark.streams.offset import StreamOffset, offset_from_json
from tests.unit.streams.streamed import Query, new_table, rows, running, running_changes


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        ("snapshot-id", "1", "'snapshot-id' is for spark.read"),
        ("versionAsOf", "main", "'version-as-of' is for spark.read"),
        ("tag", "t", "'tag' is for spark.read"),
        ("start-snapshot-id", "1", "'stream-from-snapshot'"),
        ("pushdown", "true", "'pushdown' is for spark.read"),
        ("identifier-columns", "id", r"load\('<table>#changes'\)"),
        ("stream-from-snapshot", "newest", "earliest, latest, full or a snapshot id"),
        ("stream-from-snapshot", "-5", "earliest, latest, full or a snapshot id"),
        ("streaming-max-files-per-micro-batch", "0", "must be above 0"),
        ("streaming-max-rows-per-micro-batch", "many", "whole number"),
        ("streaming-skip-delete-snapshots", "yes", "true or false"),
        ("streaming-skip-deletes-snapshots", "true", "did you mean 'streaming-skip-delete-snap"),
    ],
)
def test_an_option_that_a_stream_does_not_have_is_refused(
    option: str, value: str, message: str, tmp_path: Path
) -> None:
    path = new_table(tmp_path).location()
    columns = PyIcebergLiteSource({"path": path}).schema()
    with pytest.raises(InvalidOptionError, match=message):
        PyIcebergLiteSource({option: value, "path": path}).streamReader(columns)


def test_two_ways_to_say_where_a_stream_begins_exclude_each_other(tmp_path: Path) -> None:
    table = new_table(tmp_path)
    with pytest.raises(InvalidOptionError, match="exclude each other"):
        running(table, stream_from_snapshot="latest", stream_from_timestamp=5)


def test_java_s_options_of_planning_are_taken(tmp_path: Path) -> None:
    table = new_table(tmp_path)
    table.append(rows(1))
    options = {
        "async_micro_batch_planning_enabled": True,
        "streaming_snapshot_polling_interval_ms": 5,
        "async_queue_preload_file_limit": 5,
        "async_queue_preload_row_limit": 5,
    }
    assert Query(table, **options).batches() == [[1]]


@pytest.mark.parametrize("name", ["", "#changes"])
def test_a_batch_refuses_the_options_of_streams(tmp_path: Path, name: str) -> None:
    path = new_table(tmp_path).location()
    source = PyIcebergLiteSource({"stream-from-snapshot": "latest", "path": f"{path}{name}"})
    with pytest.raises(InvalidOptionError, match=r"is for spark\.readStream"):
        source.reader(source.schema())


def test_a_stream_refuses_the_options_of_a_batch_of_changes(tmp_path: Path) -> None:
    place = f"{new_table(tmp_path).location()}#changes"
    for option in ("start-timestamp", "end-timestamp", "end-snapshot-id", "metadata-columns"):
        source = PyIcebergLiteSource({"path": place, option: "_file" if "col" in option else "1"})
        with pytest.raises(InvalidOptionError, match=option):
            source.streamReader(source.schema())


def test_changes_of_a_batch_have_the_columns_of_a_stream_of_them(tmp_path: Path) -> None:
    table = new_table(tmp_path)
    table.append(rows(1))
    source = PyIcebergLiteSource({"path": f"{table.location()}#changes"})
    names = source.schema().names
    assert names[-3:] == ["_change_type", "_change_ordinal", "_commit_snapshot_id"]
    reader = source.reader(source.schema())
    (part,) = reader.partitions()
    (batch,) = reader.read(part)
    assert (batch.num_rows, batch.schema.names) == (1, names)


def test_a_metadata_table_is_no_stream(tmp_path: Path) -> None:
    source = PyIcebergLiteSource({"path": f"{new_table(tmp_path).location()}#files"})
    with pytest.raises(UnsupportedError, match="can't be streamed"):
        source.streamReader(source.schema())


def test_a_start_that_is_not_in_the_history_is_refused(tmp_path: Path) -> None:
    table = new_table(tmp_path)
    table.append(rows(1))
    for run in (
        running(table, stream_from_snapshot=5),
        running_changes(table, start_snapshot_id=5)[0],
    ):
        with pytest.raises(ValueError, match=r"Snapshot 5 .* is not in the history"):
            run.latest()


def test_an_id_means_what_came_after_it(tmp_path: Path) -> None:
    table = new_table(tmp_path)
    for number in (1, 2, 3):
        table.append(rows(number))
    first = table.history()[0].snapshot_id
    assert Query(table, stream_from_snapshot=first).batches() == [[2, 3]]


def test_an_offset_is_javas_json() -> None:
    offset = StreamOffset(7, 3, scan_all_files=True)
    text = {"version": 1, "snapshot_id": 7, "position": 3, "scan_all_files": True}
    assert offset.as_json() == text
    assert list(offset.as_json()) == ["version", "snapshot_id", "position", "scan_all_files"]
    assert offset_from_json(text) == offset
    bad = [None, {}, {**text, "version": 2}, {**text, "position": "3"}, {**text, "position": True}]
    for node in bad:
        with pytest.raises(InvalidInputError, match="checkpoint"):
            offset_from_json(node)


def test_a_changes_reader_keeps_the_columns_of_its_schema(tmp_path: Path) -> None:
    table = new_table(tmp_path)
    table.append(rows(1))
    source = PyIcebergLiteSource({"path": f"{table.location()}#changes"})
    schema = source.schema()
    with table.update_schema() as update:
        update.add_column("later", "int")
    for reader in (source.reader(schema), source.streamReader(schema)):
        assert "later" not in schema.names and reader is not None
    (part,) = source.reader(schema).partitions()
    (batch,) = source.reader(schema).read(part)
    assert batch.schema.names == schema.names
