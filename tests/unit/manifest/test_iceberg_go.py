"""Manifests, manifest lists and tables that iceberg-go 0.7 wrote; `iceberg_go/main.go` made them.

`expected.json` is what iceberg-go reads from its own manifests.
"""

import base64
import json
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow as pa
import pyarrow.fs as pafs
import pytest

from iceberg_spark.formats.avro.columns import read_avro_columns, read_avro_rows
from iceberg_spark.io.fsspec_io import FsspecIO
from iceberg_spark.manifest.entries import manifest_entries
from iceberg_spark.manifest.manifest_list import read_manifest_list
from iceberg_spark.manifest.reader import read_manifest
from iceberg_spark.read.task_reader import read_task
from iceberg_spark.scan.planner import plan
from iceberg_spark.spec.metadata import TableMetadata
from iceberg_spark.spec.metadata_json import metadata_from_json
from iceberg_spark.spec.partition_type import partition_type
from tests.builders import scan_of

TABLES = Path(__file__).parent / "iceberg_go" / "tables"
WRITTEN_AT = "/tmp/iceberg-go-tables/db"
NAMES = ["plain_v1", "partitioned_v1", "plain_v2", "partitioned_v2"]


class MovedIO(FsspecIO):
    """Finds files where the fixtures lie now; metadata and manifests have absolute paths."""

    def read_bytes(self, path: str) -> bytes:
        return super().read_bytes(_moved(path))

    def open(self, path: str) -> BinaryIO:
        return super().open(_moved(path))

    def arrow(self, path: str) -> tuple[pafs.FileSystem, str]:
        return super().arrow(_moved(path))


def _moved(path: str) -> str:
    return path.replace(WRITTEN_AT, str(TABLES))


IO = MovedIO({})


def metadata_of(name: str) -> TableMetadata:
    return metadata_from_json((TABLES / name / "metadata" / "v4.metadata.json").read_bytes())


def entries_of(metadata: TableMetadata) -> list[tuple[str, Any]]:
    found = []
    for manifest in read_manifest_list(IO, metadata.current_snapshot, metadata):
        spec = metadata.partition_specs[manifest.partition_spec_id]
        kind = partition_type(spec, metadata.schema)
        table = read_manifest(IO, manifest, kind)
        name = manifest.manifest_path.rpartition("/")[2]
        found.extend((name, one) for one in manifest_entries(table, spec.spec_id, kind))
    return found


def rows_of(metadata: TableMetadata, predicate: str | None = None) -> list[dict[str, Any]]:
    context = scan_of(metadata, row_filter=predicate)
    batches = [
        batch for task in plan(metadata, IO, context) for batch in read_task(context, IO, task)
    ]
    return pa.Table.from_batches(batches).sort_by("id").to_pylist()


def bounds(given: dict[str, str] | None) -> dict[int, bytes]:
    return {int(key): base64.b64decode(text) for key, text in (given or {}).items()}


@pytest.mark.parametrize("name", NAMES)
def test_every_entry_is_what_iceberg_go_reads(name: str) -> None:
    expected = json.loads((TABLES / name / "expected.json").read_text())
    found = entries_of(metadata_of(name))
    assert len(found) == len(expected) > 0
    for (manifest, entry), want in zip(found, expected, strict=True):
        file = entry.data_file
        assert manifest == want["Manifest"]
        assert int(entry.status) == want["Status"]
        assert entry.snapshot_id == want["SnapshotID"]
        assert entry.data_sequence_number == want["Sequence"]
        assert entry.file_sequence_number == want["FileSequence"]
        assert int(file.content) == want["Content"]
        assert file.file_path == want["FilePath"]
        assert (file.record_count, file.file_size_in_bytes) == (want["Count"], want["FileSize"])
        assert file.null_value_counts == {int(k): v for k, v in (want["Nulls"] or {}).items()}
        assert file.lower_bounds == bounds(want["Lower"])
        assert file.upper_bounds == bounds(want["Upper"])


@pytest.mark.parametrize("name", ["partitioned_v1", "partitioned_v2"])
def test_partition_tuples_are_what_iceberg_go_reads(name: str) -> None:
    expected = json.loads((TABLES / name / "expected.json").read_text())
    found = [entry.data_file.partition for _, entry in entries_of(metadata_of(name))]
    texts = [tuple(str(value) if value is not None else "<nil>" for value in one) for one in found]
    assert texts == [
        tuple(one["Partition"].get(key, "<nil>") for key in ("1000", "1001", "1002"))
        for one in expected
    ]
    assert {"<nil>", "a/b=c", "north"} == {one[0] for one in texts}


@pytest.mark.parametrize("path", sorted(TABLES.glob("*/metadata/*.avro")), ids=lambda p: p.name[:8])
def test_columns_equal_the_rows_of_the_reference_decoder(path: Path) -> None:
    data = path.read_bytes()
    assert read_avro_columns(data).to_pylist() == read_avro_rows(data).to_pylist()


@pytest.mark.parametrize("name", NAMES)
def test_its_tables_are_read_with_their_deletes(name: str) -> None:
    metadata = metadata_of(name)
    rows = rows_of(metadata)
    assert [row["id"] for row in rows] == [0, 1, 2, 3, 4, 5, 6, 7, 8, 10, 11]
    assert [row["price"] for row in rows] == [row["id"] / 4 for row in rows]
    assert [row["id"] for row in rows_of(metadata, "region is null")] == [1, 4, 7]
    assert [row["id"] for row in rows_of(metadata, "region = 'a/b=c' and ts > '1969-12-31'")] == [5]
