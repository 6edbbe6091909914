"""What was decoded of tables lately is kept within a bound, and is what the files say."""

import gzip
import json
import os
from pathlib import Path

import pyarrow as pa
import pytest

import iceberg_spark as ice
from iceberg_spark.catalog import decoded_tables
from iceberg_spark.catalog.decoded_tables import decode_table
from iceberg_spark.catalog.metadata_file import decode_metadata, load_version
from iceberg_spark.errors import CorruptFileError
from iceberg_spark.io.limits import MAX_DECOMPRESSED_BYTES
from iceberg_spark.io.storage import open_storage
from iceberg_spark.spec.metadata_json import metadata_from_json, metadata_to_dict
from tests.unit.spec.test_former_entries import version


def test_a_child_of_this_process_waits_for_no_thread_of_it():
    with decoded_tables._tables._lock:
        child = os.fork()
        if child == 0:
            decode_table(version(1))
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0


def test_two_tables_of_one_uuid_are_each_their_own():
    one, other = version(1, 2), version(1, 2)
    other["snapshots"][1]["manifest-list"] = "/other/2.avro"
    for node, place in ((one, "/t/2.avro"), (other, "/other/2.avro")) * 2:
        assert decode_table(node).snapshots[2].manifest_list == place


def test_a_rewritten_file_is_read_again(tmp_path: Path):
    table = ice.create_table(str(tmp_path / "t"), "a bigint")
    first = table.metadata.table_uuid
    (tmp_path / "t" / "metadata" / "v1.metadata.json").unlink()
    (tmp_path / "t" / "metadata" / "version-hint.text").unlink()
    ice.create_table(str(tmp_path / "t"), "b string")
    again = ice.load_table(str(tmp_path / "t"))
    assert again.metadata.table_uuid != first
    assert again.schema().column_names == ("b",)


def test_bounds_of_who_asks_hold_for_a_file_that_another_has_decoded(tmp_path: Path):
    path = tmp_path / "v1.gz.metadata.json"
    path.write_bytes(gzip.compress(json.dumps(version(1)).encode()))
    load_version(open_storage({}), "/t", str(path))
    narrow = open_storage({MAX_DECOMPRESSED_BYTES: "10"})
    with pytest.raises(CorruptFileError, match="grows beyond 10 bytes"):
        load_version(narrow, "/t", str(path))


def test_after_all_kinds_of_changes_the_cache_equals_the_files(tmp_path: Path):
    place = tmp_path / "t"
    table = ice.create_table(str(place), "a bigint, b string")
    rows = pa.table({"a": [1, 2], "b": ["x", "y"]})
    changes = (
        lambda t: t.append(rows),
        lambda t: t.overwrite(rows, overwrite_filter="a = 1"),
        lambda t: t.delete("a = 2"),
        lambda t: t.update_schema().add_column("c", "int").commit(),
        lambda t: t.update_spec().add_field("bucket(4, a)").commit(),
        lambda t: t.update_properties().set({"x": "1"}).commit(),
        lambda t: t.append(rows, branch=None, snapshot_properties={"k": "v"}),
        lambda t: t.manage_snapshots().create_tag(t.current_snapshot().snapshot_id, "g").commit(),
        lambda t: t.update_schema().rename_column("c", "d").commit(),
        lambda t: t.maintenance.expire_snapshots(older_than=2**60, retain_last=2),
    )
    for change in changes:
        change(ice.load_table(str(place)))
        ice.load_table(str(place))
    assert table.refresh().metadata == ice.load_table(str(place)).metadata
    for path in (place / "metadata").glob("v*.metadata.json"):
        data = path.read_bytes()
        plain = metadata_from_json(data)
        known = decode_metadata(str(path), data)
        assert known == plain
        assert metadata_to_dict(known) == metadata_to_dict(plain)
