"""Specification, "Table Metadata Fields": each rule by its own test."""

import json

import pytest

from iceberg_spark.errors import CorruptFileError, InvalidSchemaError, UnsupportedError
from iceberg_spark.spec.metadata_json import metadata_from_json, metadata_to_json
from iceberg_spark.spec.transforms import UnknownTransform
from tests.builders import branch

COLUMNS = {
    "type": "struct",
    "schema-id": 0,
    "fields": [
        {"id": 1, "name": "id", "required": True, "type": "long"},
        {"id": 2, "name": "tags", "required": False, "type": {
            "type": "list", "element-id": 3, "element": "string", "element-required": False}},
    ],
}  # fmt: skip
SPEC = [{"name": "id", "transform": "identity", "source-id": 1, "field-id": 1000}]
SNAPSHOTS = [
    {"sequence-number": 1, "snapshot-id": 11, "timestamp-ms": 1000,
     "summary": {"operation": "append", "spark.app.id": "a"}, "manifest-list": "s1.avro",
     "schema-id": 0},
    {"sequence-number": 2, "snapshot-id": 12, "parent-snapshot-id": 11, "timestamp-ms": 2000,
     "summary": {"operation": "delete"}, "manifest-list": "s2.avro", "schema-id": 0, "new": 1},
]  # fmt: skip
V2 = {
    "format-version": 2,
    "table-uuid": "9c12d441-03fe-4693-9a96-a0705ddf69c1",
    "location": "s3://b/t",
    "last-sequence-number": 2,
    "last-updated-ms": 2500,
    "last-column-id": 3,
    "current-schema-id": 0,
    "schemas": [COLUMNS],
    "default-spec-id": 0,
    "partition-specs": [{"spec-id": 0, "fields": SPEC}],
    "last-partition-id": 1000,
    "default-sort-order-id": 0,
    "sort-orders": [{"order-id": 0, "fields": []}],
    "properties": {"owner": "é"},
    "current-snapshot-id": 12,
    "refs": {
        "main": {"snapshot-id": 12, "type": "branch", "min-snapshots-to-keep": 3},
        "old": {"snapshot-id": 11, "type": "tag", "max-ref-age-ms": 10, "new": True},
    },
    "snapshots": SNAPSHOTS,
    "statistics": [{"snapshot-id": 11, "statistics-path": "x.puffin", "file-size-in-bytes": 1,
                    "file-footer-size-in-bytes": 1, "blob-metadata": []}],
    "partition-statistics": [{"snapshot-id": 12, "statistics-path": "p", "file-size-in-bytes": 1}],
    "snapshot-log": [{"timestamp-ms": 1000, "snapshot-id": 11},
                     {"timestamp-ms": 2000, "snapshot-id": 12}],
    "metadata-log": [{"timestamp-ms": 1000, "metadata-file": "v1.metadata.json"}],
}  # fmt: skip
V3 = V2 | {
    "format-version": 3,
    "next-row-id": 20,
    "encryption-keys": [{"key-id": "k", "encrypted-key-metadata": "aWNl"}],
    "snapshots": [one | {"first-row-id": 0, "added-rows": 10, "key-id": "k"} for one in SNAPSHOTS],
}
V1 = {
    "format-version": 1,
    "location": "s3://b/t",
    "last-updated-ms": 2500,
    "last-column-id": 3,
    "schema": {key: value for key, value in COLUMNS.items() if key != "schema-id"},
    "partition-spec": [{"name": "id", "transform": "identity", "source-id": 1}],
    "properties": {},
    "current-snapshot-id": 11,
    "snapshots": [{"snapshot-id": 11, "timestamp-ms": 1000, "manifests": ["m1.avro", "m2.avro"]}],
}


def read(node, **changes):
    return metadata_from_json(json.dumps(node | changes))


def without(node, *keys):
    return {name: value for name, value in node.items() if name not in keys}


def written(node, **changes):
    return json.loads(metadata_to_json(read(node, **changes)))


@pytest.mark.parametrize("node", [V2, V3], ids=["v2", "v3"])
def test_metadata_is_written_as_it_was_read(node):
    text = metadata_to_json(read(node))
    assert json.loads(text) == node
    assert metadata_from_json(text) == read(node)


def test_metadata_is_compact_utf8_in_javas_order():
    text = metadata_to_json(read(V2))
    assert text == json.dumps(V2, ensure_ascii=False, separators=(",", ":"))


def test_members_we_do_not_know_are_written_back():
    spec = {"spec-id": 0, "fields": [SPEC[0] | {"n": 1}], "n": 1}
    log = [{"timestamp-ms": 1000, "metadata-file": "v1.metadata.json", "n": 1}]
    node = V2 | {"new-one": {"a": [1]}, "partition-specs": [spec], "metadata-log": log}
    assert written(node) == node


def test_v1_without_the_newer_fields_is_read():
    metadata = read(V1)
    assert metadata.current_schema_id == 0
    assert metadata.spec.fields[0].field_id == 1000
    assert metadata.last_partition_id == 1000
    assert metadata.sort_order.is_unsorted
    assert metadata.last_sequence_number == 0
    assert metadata.refs == {"main": branch(11)}
    assert metadata.snapshots[11].manifests == ("m1.avro", "m2.avro")
    assert metadata.table_uuid == ""


def test_v1_is_written_with_the_fields_that_old_readers_need_and_no_sequence_number():
    node = written(V1)
    assert node["schema"] == COLUMNS
    assert node["partition-spec"] == SPEC
    assert node["schemas"] == [COLUMNS]
    assert node["snapshots"] == V1["snapshots"]
    assert "last-sequence-number" not in node


def test_v2_is_written_without_the_fields_of_v1():
    assert not {"schema", "partition-spec"} & written(V2, schema=COLUMNS).keys()


def test_a_current_snapshot_of_minus_1_is_none():
    empty = without(V2, "refs") | {"snapshots": [], "snapshot-log": [], "current-snapshot-id": -1}
    assert read(empty).current_snapshot_id is None
    assert written(empty)["current-snapshot-id"] == -1


def test_v3_writes_null_for_no_current_snapshot():
    empty = without(V3, "refs") | {"snapshots": [], "snapshot-log": [], "current-snapshot-id": None}
    assert written(empty)["current-snapshot-id"] is None


def test_main_is_the_current_snapshot_when_refs_are_missing():
    assert read(without(V2, "refs")).refs == {"main": branch(12)}


def test_the_last_slash_of_the_location_is_dropped():
    assert read(V2, location="s3://b/t/").location == "s3://b/t"


def test_a_manifest_list_goes_before_manifests():
    both = V1["snapshots"][0] | {"manifest-list": "list.avro"}
    snapshot = read(V1, snapshots=[both]).snapshots[11]
    assert (snapshot.manifest_list, snapshot.manifests) == ("list.avro", None)


def test_a_summary_without_operation_is_an_overwrite():
    node = V2 | {"snapshots": [SNAPSHOTS[0] | {"summary": {"a": "b"}}, SNAPSHOTS[1]]}
    assert read(node).snapshots[11].operation == "overwrite"


def test_an_unknown_transform_is_read():
    spec = {"spec-id": 0, "fields": [SPEC[0] | {"transform": "zorder[3]"}]}
    metadata = read(V2, **{"partition-specs": [spec]})
    assert metadata.spec.fields[0].transform == UnknownTransform("zorder[3]")


@pytest.mark.parametrize(
    "key",
    ["format-version", "location", "last-updated-ms", "last-column-id", "schema", "partition-spec"],
)
def test_v1_requires(key):
    with pytest.raises(CorruptFileError, match=f"'{key}' is missing"):
        read(without(V1, key))


@pytest.mark.parametrize(
    "key",
    [
        "table-uuid", "location", "last-sequence-number", "last-updated-ms", "last-column-id",
        "schemas", "current-schema-id", "partition-specs", "default-spec-id",
        "last-partition-id", "sort-orders", "default-sort-order-id",
    ],
)  # fmt: skip
def test_v2_requires(key):
    with pytest.raises(CorruptFileError, match=f"'{key}'.* is missing"):
        read(without(V2, key))


def test_v3_requires_next_row_id():
    with pytest.raises(CorruptFileError, match="'next-row-id', required in format v3"):
        read(without(V3, "next-row-id"))


@pytest.mark.parametrize("version", [4, 42])
def test_a_newer_version_is_refused_naming_those_that_are_read(version):
    with pytest.raises(UnsupportedError, match=f"format-version {version}; .* reads 1, 2, 3"):
        read(V2, **{"format-version": version})


def test_versions_start_at_1():
    with pytest.raises(CorruptFileError, match="versions start at 1"):
        read(V2, **{"format-version": 0})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"current-schema-id": 7}, "'current-schema-id' is 7, but the existing ids are: 0"),
        ({"default-spec-id": 7}, "'default-spec-id' is 7, but the existing ids are: 0"),
        ({"default-sort-order-id": 7}, "'default-sort-order-id' is 7, but the existing ids are: 0"),
        ({"schemas": [COLUMNS, COLUMNS]}, "Two schemas have the id 0"),
        ({"partition-specs": V2["partition-specs"] * 2}, "Two partition specs have the id 0"),
        ({"sort-orders": V2["sort-orders"] * 2}, "Two sort orders have the id 0"),
        ({"snapshots": [*SNAPSHOTS, SNAPSHOTS[0]]}, "Two snapshots have the id 11"),
        ({"current-snapshot-id": 13, "refs": {}}, "'current-snapshot-id' 13 is not among"),
        ({"current-snapshot-id": 11}, "'main' points to snapshot 12, .* is 11"),
        ({"current-snapshot-id": -1}, "'main' points to snapshot 12, .* is None"),
        ({"last-sequence-number": 1}, "Snapshot 12 has the sequence number 2, above"),
        (
            {"refs": {"b": {"snapshot-id": 13, "type": "tag"}}},
            "Reference 'b' points to snapshot 13",
        ),
        ({"refs": {"main": {"snapshot-id": 12, "type": "tag"}}}, "'main' is a tag"),
        ({"refs": {"b": {"snapshot-id": 12, "type": "twig"}}}, "Reference 'b': 'type' must be"),
        (
            {"refs": {"b": {"snapshot-id": 12, "type": "tag", "min-snapshots-to-keep": 1}}},
            "Reference 'b': A tag can't have 'min-snapshots-to-keep'",
        ),
        (
            {"refs": {"b": {"snapshot-id": 12, "type": "tag", "max-ref-age-ms": 0}}},
            "'max-ref-age-ms' must be positive",
        ),
        (
            {"snapshot-log": [V2["snapshot-log"][0], {"timestamp-ms": -99_000, "snapshot-id": 11}]},
            "'snapshot-log' .* not in order",
        ),
        ({"last-updated-ms": -99_000}, "not in order of time"),
        (
            {"metadata-log": [{"timestamp-ms": 99_000, "metadata-file": "f"}]},
            "'metadata-log' .* order",
        ),
        (
            {"snapshots": [without(SNAPSHOTS[0], "manifest-list")]},
            "snapshots.*0.* needs 'manifest-list'",
        ),
        ({"snapshots": [without(SNAPSHOTS[0], "timestamp-ms")]}, "'timestamp-ms' is missing"),
        ({"statistics": [{"snapshot-id": 1}]}, "'statistics-path' is missing"),
    ],
)
def test_contradictions_are_named(change, message):
    with pytest.raises(CorruptFileError, match=message):
        read(V2, **change)


def test_a_v1_snapshot_has_no_sequence_number():
    with pytest.raises(CorruptFileError, match="sequence number 3, above"):
        read(V1, snapshots=[V1["snapshots"][0] | {"sequence-number": 3}])


def test_v1_has_no_last_sequence_number():
    with pytest.raises(CorruptFileError, match="v1 has no sequence numbers"):
        read(V1, **{"last-sequence-number": 3})


def test_the_source_of_the_default_spec_is_a_column():
    spec = {"spec-id": 0, "fields": [SPEC[0] | {"source-id": 9}]}
    with pytest.raises(InvalidSchemaError, match="source column 9 of partition field 'id'"):
        read(V2, **{"partition-specs": [spec]})


def test_a_former_spec_may_have_lost_its_source():
    former = {"spec-id": 1, "fields": [SPEC[0] | {"source-id": 9}]}
    assert read(V2, **{"partition-specs": [*V2["partition-specs"], former]}).partition_specs[1]


def test_the_source_of_the_default_sort_order_is_a_column():
    key = {"transform": "identity", "source-id": 9, "direction": "asc", "null-order": "nulls-first"}
    orders = [{"order-id": 1, "fields": [key]}]
    with pytest.raises(InvalidSchemaError, match="source column 9 of sort field"):
        read(V2, **{"sort-orders": orders, "default-sort-order-id": 1})


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("last-column-id", "3", "'last-column-id' must be an integer, not the string '3'"),
        ("last-column-id", True, "must be an integer"),
        ("last-column-id", 1 << 31, "out of range"),
        ("location", 3, "'location' must be a string, not 3"),
        ("schemas", {}, "'schemas' must be a JSON array, not an object"),
        ("properties", [], "'properties' must be a JSON object, not an array"),
        ("properties", {"a": 1}, r"'properties'\.a must be a string"),
        ("refs", [], "'refs' must be a JSON object"),
        ("snapshots", [3], r"'snapshots'\[0\]: A snapshot must be a JSON object"),
        ("snapshot-log", [{}], r"'snapshot-log'\[0\]: .*'snapshot-id' is missing"),
    ],
)
def test_wrong_json_types_are_named(key, value, message):
    with pytest.raises(CorruptFileError, match=message):
        read(V2, **{key: value})


@pytest.mark.parametrize("length", [0, 1, 30, 700, -1])
def test_truncated_json_is_corrupt_and_names_the_file(length):
    text = json.dumps(V2)[:length]
    with pytest.raises(CorruptFileError, match=r"^v3\.metadata\.json: .* not complete JSON"):
        metadata_from_json(text, "v3.metadata.json")


def test_compressed_bytes_are_not_text():
    with pytest.raises(CorruptFileError, match="not UTF-8"):
        metadata_from_json(b"\x1f\x8b\x08\x00\xff\xff")


def test_half_a_character_is_corrupt():
    text = json.dumps({**V2, "properties": {"owner": "\ud83d\ude00 \ud800"}})
    for given in (text, text.encode()):
        with pytest.raises(CorruptFileError, match=r"half a character, '\\ud800'"):
            metadata_from_json(given)


def test_two_halves_are_a_character():
    text = json.dumps({**V2, "properties": {"owner": "\U0001f600"}})
    assert "\\ud83d" in text
    assert metadata_from_json(text).properties["owner"] == "\U0001f600"


@pytest.mark.parametrize("text", ["9" * 5000, "[" * 100_000])
def test_numbers_and_nesting_without_end_are_corrupt(text):
    with pytest.raises(CorruptFileError, match="can't be read as JSON"):
        metadata_from_json(text)


@pytest.mark.parametrize("text", ["[]", "3", '"x"', "null"])
def test_metadata_is_an_object(text):
    with pytest.raises(CorruptFileError, match="must be a JSON object"):
        metadata_from_json(text)


def test_every_error_names_the_file():
    with pytest.raises(UnsupportedError, match=r"^s3://b/v9\.json: "):
        metadata_from_json(json.dumps(V2 | {"format-version": 9}), "s3://b/v9.json")


def test_bytes_are_read_as_text():
    assert metadata_from_json(json.dumps(V2).encode()) == read(V2)
