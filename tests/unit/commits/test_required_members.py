"""What the specification requires in each format version is in every file that is written.

Source: specification, "Table Metadata Fields", "Snapshots", "Manifest Lists", "Manifests",
"Puffin", and "Appendix E" for tables that are upgraded.
"""

import json
from pathlib import Path
from typing import Any

import fastavro
import pytest

import iceberg_spark as ice
from iceberg_spark import Table
from tests.unit.api.tables import ids, make, rows

METADATA = {
    1: {"format-version", "location", "last-updated-ms", "last-column-id", "schema"}
    | {"partition-spec"},
    2: {"format-version", "table-uuid", "location", "last-sequence-number", "last-updated-ms"}
    | {"last-column-id", "schemas", "current-schema-id", "partition-specs", "default-spec-id"}
    | {"last-partition-id", "sort-orders", "default-sort-order-id"},
}
METADATA[3] = METADATA[2] | {"next-row-id"}
SNAPSHOT = {
    1: {"snapshot-id", "timestamp-ms"},
    2: {"snapshot-id", "sequence-number", "timestamp-ms", "manifest-list", "summary"},
}
SNAPSHOT[3] = SNAPSHOT[2]
LISTED = {
    1: {"manifest_path", "manifest_length", "partition_spec_id", "added_snapshot_id"},
}
LISTED[2] = LISTED[1] | {
    "content", "sequence_number", "min_sequence_number", "added_files_count",
    "existing_files_count", "deleted_files_count", "added_rows_count", "existing_rows_count",
    "deleted_rows_count",
}  # fmt: skip
LISTED[3] = LISTED[2]
ENTRY = {1: {"status", "snapshot_id", "data_file"}, 2: {"status", "data_file"}}
ENTRY[3] = ENTRY[2]
DATA_FILE = {
    1: {"file_path", "file_format", "partition", "record_count", "file_size_in_bytes"}
    | {"block_size_in_bytes"},
    2: {"content", "file_path", "file_format", "partition", "record_count", "file_size_in_bytes"},
}
DATA_FILE[3] = DATA_FILE[2]
VECTOR = {"referenced_data_file", "content_offset", "content_size_in_bytes"}


def grown(folder: Path, version: int) -> Table:
    """A table that began in version 1, with changes in each version up to this one."""
    table = make(folder, partition_by=["k"], format_version=1)
    table.append(rows(id=[1, 2], k=["a", "b"]))
    for number in range(2, version + 1):
        with table.update_properties() as update:
            update.set({"format-version": str(number), "write.delete.mode": "merge-on-read"})
        table.append(rows(id=[10 * number, 10 * number + 1], k=["a", "a"]))
        table.delete(f"id = {10 * number}")
    table.maintenance.compute_table_stats()
    return ice.load_table(str(folder))


def lacking(node: dict[str, Any], required: set[str]) -> set[str]:
    return {name for name in required if node.get(name) is None}


def records(path: str) -> list[dict[str, Any]]:
    with Path(path.removeprefix("file:")).open("rb") as source:
        return list(fastavro.reader(source))


@pytest.mark.parametrize("version", [1, 2, 3])
def test_metadata_and_manifests_have_what_their_version_requires(
    tmp_path: Path, version: int
) -> None:
    table = grown(tmp_path / "t", version)
    assert len(ids(table)) == 1 + version
    metadata = json.loads(Path(table._loaded.metadata_location.removeprefix("file:")).read_text())
    assert lacking(metadata, METADATA[version]) == set()
    for snapshot in metadata["snapshots"]:
        assert lacking(snapshot, SNAPSHOT[version]) == set()
        assert snapshot["summary"]["operation"]
    assert metadata["snapshots"][0].get("sequence-number", 0) == 0
    for spec in metadata["partition-specs"]:
        assert not any(
            lacking(f, {"source-id", "field-id", "name", "transform"}) for f in spec["fields"]
        )
    for file in metadata["statistics"]:
        assert lacking(file, {"snapshot-id", "statistics-path", "file-size-in-bytes"}) == set()
        assert lacking(file, {"file-footer-size-in-bytes", "blob-metadata"}) == set()
        for blob in file["blob-metadata"]:
            assert lacking(blob, {"type", "snapshot-id", "sequence-number", "fields"}) == set()
    listed = records(metadata["snapshots"][-1]["manifest-list"])
    for manifest in listed:
        assert lacking(manifest, LISTED[version]) == set()
        for entry in records(manifest["manifest_path"]):
            of = version if manifest.get("sequence_number") else 1
            assert lacking(entry, ENTRY[of]) == set()
            file = entry["data_file"]
            assert lacking(file, DATA_FILE[of]) == set()
            if file["file_format"] == "PUFFIN":
                assert lacking(file, VECTOR) == set()


def test_a_snapshot_without_a_summary_gets_one_after_the_upgrade(tmp_path: Path) -> None:
    """Version 1 does not require a summary."""
    table = make(tmp_path / "t", format_version=1)
    table.append(rows(id=[1], k=["a"]))
    path = Path(table._loaded.metadata_location.removeprefix("file:"))
    node = json.loads(path.read_text())
    del node["snapshots"][0]["summary"]
    path.write_text(json.dumps(node))
    table = ice.load_table(str(tmp_path / "t"))
    with table.update_properties() as update:
        update.set({"format-version": "2"})
    upgraded = json.loads(Path(table._loaded.metadata_location.removeprefix("file:")).read_text())
    assert upgraded["snapshots"][0]["summary"] == {"operation": "overwrite"}
    assert upgraded["snapshots"][0]["sequence-number"] == 0
