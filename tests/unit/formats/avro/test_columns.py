"""The column reader reads what fastavro reads, and says which file is broken."""

import json
import os
import signal
import time
import uuid
from typing import Any

import pyarrow as pa
import pytest

from iceberg_spark.errors import CorruptFileError, UnsupportedError
from iceberg_spark.formats.avro import columns as avro_columns
from iceberg_spark.formats.avro.columns import read_avro_columns, read_avro_rows
from iceberg_spark.formats.avro.container import parse_container, zigzag
from iceberg_spark.formats.avro.schema import avro_record
from tests.builders import field, list_of, map_of, struct, type_of
from tests.unit.formats.avro_files import CODECS, VALUES, avro_file, on_disk, one_column

LONG_ROWS = [{"c": n} for n in range(5000)]


@pytest.fixture
def no_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the column reader fail where it would hand over to the row reader."""

    def refuse(*_: Any) -> None:
        raise AssertionError("the column reader gave up")

    monkeypatch.setattr(avro_columns, "row_batches", refuse)


@pytest.mark.usefixtures("no_rows")
@pytest.mark.parametrize("codec", CODECS)
def test_every_codec_is_read_by_the_fast_path(codec: str) -> None:
    data = avro_file(one_column("long"), LONG_ROWS, codec)
    assert parse_container(data, "x").codec == codec
    table = read_avro_columns(data)
    assert table.column("c").to_pylist() == list(range(5000))


@pytest.mark.usefixtures("no_rows")
@pytest.mark.parametrize("kind", VALUES)
def test_every_type_is_read_by_the_fast_path_with_nulls(kind: str) -> None:
    stored = [None, *(on_disk(type_of(kind), v) for v in VALUES[kind]), None]
    table = read_avro_columns(avro_file(one_column(kind), [{"c": v} for v in stored]))
    column = table.column("c").combine_chunks()
    if pa.types.is_date(column.type):
        column = column.cast(pa.int32())
    if pa.types.is_temporal(column.type):
        column = column.cast(pa.int64())
    assert repr(column.to_pylist()) == repr([None, *VALUES[kind], None])


@pytest.mark.parametrize("kind", VALUES)
def test_the_row_reader_gives_the_same_table(kind: str) -> None:
    stored = [None, *(on_disk(type_of(kind), v) for v in VALUES[kind]), None]
    data = avro_file(one_column(kind), [{"c": v} for v in stored])
    fast, slow = read_avro_columns(data), read_avro_rows(data)
    assert fast.schema.equals(slow.schema, check_metadata=True)
    assert fast.equals(slow)


def test_an_all_null_column_has_no_values() -> None:
    for kind in VALUES:
        data = avro_file(one_column(kind), [{"c": None}] * 3)
        assert read_avro_columns(data).column("c").null_count == 3


@pytest.mark.usefixtures("no_rows")
def test_nested_types_maps_of_both_forms_and_nulls_everywhere(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    columns = struct(
        field(1, "by_name", map_of(10, "string", 11, "long")),
        field(2, "by_id", map_of(12, "int", 13, "binary")),
        field(
            3, "items", list_of(14, struct(field(15, "x", "decimal(4, 1)"), field(16, "u", "uuid")))
        ),
        field(4, "s", struct(field(17, "l", list_of(18, "date")), field(19, "none", "unknown"))),
    )
    rows: list[dict[str, Any]] = [
        {
            "by_name": {"a": 1, "b": None},
            "by_id": [{"key": 1, "value": b"x"}, {"key": 2, "value": None}],
            "items": [{"x": b"\x00\x0f", "u": b"u" * 16}, None, {"x": None, "u": None}],
            "s": {"l": [1, None], "none": None},
        },
        {"by_name": None, "by_id": None, "items": None, "s": None},
        {"by_name": {}, "by_id": [], "items": [], "s": {"l": None, "none": None}},
    ]
    data = avro_file(avro_record(columns, "table"), rows)
    fast = read_avro_columns(data)
    fast.validate(full=True)
    monkeypatch.undo()
    assert fast.equals(read_avro_rows(data))
    assert fast.column("by_name").to_pylist() == [[("a", 1), ("b", None)], None, []]
    assert [None if v is None else len(v) for v in fast.column("items").to_pylist()] == [3, None, 0]
    assert fast.column("s").to_pylist()[1] is None


@pytest.mark.usefixtures("no_rows")
def test_a_repeated_named_type_is_resolved() -> None:
    fixed = {"type": "fixed", "name": "f", "size": 2}
    fields = [{"name": "a", "type": fixed}, {"name": "b", "type": ["null", "f"]}]
    data = avro_file({"type": "record", "name": "r", "fields": fields}, [{"a": b"xy", "b": b"zz"}])
    assert read_avro_columns(data).to_pylist() == [{"a": b"xy", "b": b"zz"}]


@pytest.mark.usefixtures("no_rows")
def test_null_may_be_the_second_branch() -> None:
    fields = [{"name": "a", "type": ["long", "null"]}]
    data = avro_file({"type": "record", "name": "r", "fields": fields}, [{"a": 1}, {"a": None}])
    assert read_avro_columns(data).column("a").to_pylist() == [1, None]


@pytest.mark.usefixtures("no_rows")
def test_decimals_of_any_length_of_bytes_are_read() -> None:
    decimal = {"type": "bytes", "logicalType": "decimal", "precision": 20, "scale": 2}
    fields = [{"name": "a", "type": ["null", decimal]}]
    plain = {"type": "record", "name": "r", "fields": [{"name": "a", "type": ["null", "bytes"]}]}
    schema = {"type": "record", "name": "r", "fields": fields}
    stored = [b"\x01", b"\xff", None, b"\x00\x80", b"\xff\x00\x00\x00\x00\x00\x00\x00\x01"]
    data = avro_file(plain, [{"a": v} for v in stored])
    container = parse_container(data, "x")
    assert container.schema != schema
    data = data.replace(*_swapped_schemas(container.metadata["avro.schema"], schema))
    values = read_avro_columns(data).column("a").to_pylist()
    expected = [None if v is None else int.from_bytes(v, "big", signed=True) for v in stored]
    assert [None if v is None else int(v.scaleb(2)) for v in values] == expected


def _swapped_schemas(old: str, schema: Any) -> tuple[bytes, bytes]:
    new = json.dumps(schema)
    before, after = (zigzag(len(text)) + text.encode() for text in (old, new))
    return before, after


@pytest.mark.usefixtures("no_rows")
def test_only_asked_columns_are_read_and_records_are_inlined() -> None:
    columns = struct(
        field(1, "a", "long", required=True),
        field(2, "r", struct(field(3, "b", "string"), field(4, "c", "int")), required=True),
    )
    data = avro_file(avro_record(columns, "t"), [{"a": 1, "r": {"b": "x", "c": 2}}])
    table = read_avro_columns(data, columns={1, 4}, inline={2})
    assert table.to_pylist() == [{"a": 1, "r.c": 2}]
    assert table.schema.field("r.c").metadata == {b"PARQUET:field_id": b"4"}


def test_what_the_column_reader_cannot_read_is_read_by_rows() -> None:
    enum = {"type": "enum", "name": "e", "symbols": ["A", "B"]}
    schema = {"type": "record", "name": "r", "fields": [{"name": "a", "type": enum}]}
    assert read_avro_columns(avro_file(schema, [{"a": "B"}])).to_pylist() == [{"a": "B"}]


def test_a_file_without_records_has_its_columns() -> None:
    table = read_avro_columns(avro_file(one_column("uuid"), []))
    assert table.num_rows == 0 and table.schema.field("c").type == pa.binary(16)


def test_key_value_metadata_is_on_the_table() -> None:
    data = avro_file(one_column("long"), [])
    marked = parse_container(data, "x")
    assert "avro.schema" in marked.metadata
    assert not (read_avro_columns(data).schema.metadata or {})


def test_an_unknown_codec_is_named() -> None:
    data = avro_file(one_column("long"), LONG_ROWS, "deflate").replace(b"deflate", b"lzma-99")
    with pytest.raises(UnsupportedError, match=r"here\.avro.*'lzma-99'.*deflate"):
        read_avro_columns(data, location="here.avro")


def test_a_file_that_is_not_avro_is_named() -> None:
    with pytest.raises(CorruptFileError, match=r"here\.avro is not an Avro file"):
        read_avro_columns(b"PAR1....", location="here.avro")


@pytest.mark.parametrize("codec", CODECS)
def test_a_truncated_file_is_named_wherever_it_is_cut(codec: str) -> None:
    data = avro_file(one_column("string"), [{"c": f"value {n}"} for n in range(300)], codec)
    full = read_avro_columns(data).num_rows
    for cut in range(0, len(data), 7):
        if _is_cut_between_blocks(data, cut):  # can't be seen: Avro has no end mark
            assert read_avro_columns(data[:cut]).num_rows < full
            continue
        with pytest.raises(CorruptFileError, match=r"here\.avro"):
            read_avro_columns(data[:cut], location="here.avro")


def _is_cut_between_blocks(data: bytes, cut: int) -> bool:
    first, *rest = parse_container(data, "x").blocks
    begin = first.start - len(zigzag(first.rows)) - len(zigzag(first.end - first.start))
    return cut in {begin, *(block.end + 16 for block in (first, *rest))}


def test_damaged_records_are_named_as_corrupt() -> None:
    data = avro_file(one_column("string"), [{"c": "x" * 30}] * 50)
    container = parse_container(data, "x")
    block = container.blocks[0]
    bad = bytearray(data)
    bad[block.start : block.start + 12] = b"\xff" * 12
    with pytest.raises(CorruptFileError, match=r"here\.avro"):
        read_avro_columns(bytes(bad), location="here.avro")


def test_a_damaged_sync_marker_is_seen() -> None:
    data = bytearray(avro_file(one_column("long"), LONG_ROWS))
    data[-1] ^= 0xFF
    with pytest.raises(CorruptFileError, match="sync marker"):
        read_avro_columns(bytes(data))


def test_a_malformed_schema_is_corrupt_and_a_wide_union_unsupported() -> None:
    data = avro_file(one_column("long"), [])
    with pytest.raises(CorruptFileError, match="schema"):
        read_avro_columns(data.replace(b'"fields"', b'"feilds"'))
    wide = {"type": "record", "name": "r", "fields": [{"name": "a", "type": ["long", "string"]}]}
    with pytest.raises(UnsupportedError, match="union of 2 types"):
        read_avro_columns(avro_file(wide, [{"a": 1}]))


def test_uuid_stays_sixteen_bytes() -> None:
    value = uuid.UUID(int=5).bytes
    table = read_avro_columns(avro_file(one_column("uuid"), [{"c": value}]))
    assert table.column("c").to_pylist() == [value]


def test_any_damage_inside_records_is_corrupt_or_other_values_but_no_other_error() -> None:
    rows = [{"c": [{"key": n, "value": b"v" * n}]} for n in range(40)]
    schema = avro_record(struct(field(1, "c", map_of(2, "int", 3, "binary"))), "t")
    container = parse_container(avro_file(schema, rows), "x")
    first, last = container.blocks[0].start, container.blocks[0].end
    for at in range(first, last, 5):
        bad = bytearray(container.data)
        bad[at] ^= 0xFF
        try:
            read_avro_columns(bytes(bad), location="here.avro")
        except CorruptFileError as error:
            message = str(error)
            assert "here.avro" in message  # some damage just makes other values


@pytest.mark.timeout(60)
def test_a_child_made_by_fork_reads_what_its_parent_reads():
    """The threads of polars don't come along, and whoever waits for them waits for ever."""
    data = avro_file(one_column("long"), [{"c": at} for at in range(100)])
    expected = read_avro_columns(data)
    child = os.fork()
    if not child:
        try:
            os._exit(0 if read_avro_columns(data).equals(expected) else 1)
        finally:
            os._exit(2)
    for _ in range(200):
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            assert status == 0
            return
        time.sleep(0.1)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    pytest.fail("the child hangs")
