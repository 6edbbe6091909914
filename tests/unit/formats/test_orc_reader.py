"""ORC files: ids in attributes, stripes and their rows, Java's types."""

import datetime as dt
from pathlib import Path

import pyarrow as pa
import pyarrow.orc as po
import pytest

from iceberg_spark.errors import CorruptFileError
from iceberg_spark.formats.orc_tail import Stripe, stripes
from iceberg_spark.spec.data_file import FileFormat
from tests.builders import field, list_of, map_of, schema, struct
from tests.unit.formats.reading import DATA, batches, read_file, spans

ORC = FileFormat.ORC


def with_id(name: str, kind: pa.DataType, number: int) -> pa.Field:
    return pa.field(name, kind, metadata={"iceberg.id": str(number)})


def test_ids_are_read_from_attributes_at_any_depth(tmp_path: Path):
    path = tmp_path / "f"
    kind = pa.struct(
        [with_id("old", pa.int32(), 2), with_id("l", pa.list_(with_id("e", pa.int64(), 4)), 3)]
    )
    table = pa.table(
        [pa.array([{"old": 1, "l": [5]}, None], kind)], pa.schema([with_id("st", kind, 1)])
    )
    po.write_table(table, str(path))
    wanted = schema(
        field(1, "renamed", struct(field(3, "list", list_of(4, "long")), field(2, "new", "long")))
    )
    assert read_file(path, ORC, wanted).to_pylist() == [
        {"renamed": {"list": [5], "new": 1}},
        {"renamed": None},
    ]


def test_a_file_that_java_wrote_in_another_time_zone():
    """Instants stay instants; wall clock times stay, even in the hour that New York skips."""
    wanted = schema(
        field(1, "id", "long"),
        field(3, "ts", "timestamptz"),
        field(4, "ntz", "timestamp"),
        field(6, "d", "decimal(9, 2)"),
        field(9, "b", "binary"),
        field(8, "dt", "date"),
    )
    found = read_file(DATA / "java_new_york.orc", ORC, wanted).to_pylist()
    assert [row["id"] for row in found] == list(range(10))
    assert found[0]["ts"] == dt.datetime(2024, 7, 1, 12, 0, 0, 123456, dt.UTC)
    assert found[0]["ntz"] == dt.datetime.fromisoformat("2024-03-10T02:30:00.654321")
    assert found[1]["dt"] == dt.date(1960, 1, 2)
    assert str(found[0]["d"]) == "-5.00"
    assert found[9]["b"] == b"b9"


def test_nested_columns_that_java_wrote():
    names = read_file(
        DATA / "java_new_york.orc",
        ORC,
        schema(
            field(10, "st", struct(field(14, "a", "int"), field(15, "l", list_of(16, "string")))),
            field(11, "m", map_of(17, "string", 18, struct(field(19, "x", "double")))),
        ),
    ).to_pylist()
    assert names[0] == {"st": None, "m": None}
    assert names[1] == {"st": {"a": 1, "l": ["x", "y"]}, "m": [("k1", {"x": 1.0})]}


def test_time_uuid_and_fixed_are_stored_as_long_and_binary(tmp_path: Path):
    path = tmp_path / "f"
    fields = [
        with_id("t", pa.int64(), 1),
        with_id("u", pa.binary(), 2),
        with_id("f", pa.binary(), 3),
    ]
    po.write_table(
        pa.table([[1, None], [b"a" * 16, None], [b"ab", None]], pa.schema(fields)), str(path)
    )
    wanted = schema(field(1, "t", "time"), field(2, "u", "uuid"), field(3, "f", "fixed[2]"))
    assert read_file(path, ORC, wanted).to_pylist() == [
        {"t": dt.time(0, 0, 0, 1), "u": b"a" * 16, "f": b"ab"},
        {"t": None, "u": None, "f": None},
    ]


def test_tinyint_and_smallint_are_int(tmp_path: Path):
    path = tmp_path / "f"
    fields = [with_id("a", pa.int8(), 1), with_id("b", pa.int16(), 2)]
    po.write_table(pa.table([[1], [2]], pa.schema(fields)), str(path))
    found = read_file(path, ORC, schema(field(1, "a", "int"), field(2, "b", "long")))
    assert found.to_pylist() == [{"a": 1, "b": 2}]


def test_a_timestamp_that_arrow_cannot_hold_is_read(tmp_path: Path):
    path = tmp_path / "far"
    column = pa.array([253_402_300_799_000_000, None, -1], pa.timestamp("us"))
    po.write_table(pa.table([column], pa.schema([with_id("t", pa.timestamp("us"), 1)])), str(path))
    found = read_file(path, ORC, schema(field(1, "t", "timestamp")))
    assert found["t"].cast(pa.int64()).to_pylist() == [253_402_300_799_000_000, None, -1]


def test_such_a_timestamp_is_refused_in_nanoseconds(tmp_path: Path):
    path = tmp_path / "far"
    column = pa.array([253_402_300_799_000_000], pa.timestamp("us"))
    po.write_table(pa.table([column], pa.schema([with_id("t", pa.timestamp("us"), 1)])), str(path))
    with pytest.raises(CorruptFileError, match=r"Column 't' of .*far holds a value"):
        read_file(path, ORC, schema(field(1, "t", "timestamp_ns")))


def test_a_dotted_name_is_not_a_path(tmp_path: Path):
    path = tmp_path / "f"
    inner = pa.struct([with_id("b", pa.int32(), 2)])
    fields = [with_id("a", inner, 1), with_id("a.b", pa.int32(), 3)]
    po.write_table(
        pa.table([pa.array([{"b": 1}], inner), pa.array([2], pa.int32())], pa.schema(fields)),
        str(path),
    )
    assert read_file(path, ORC, schema(field(3, "a.b", "int"))).to_pylist() == [{"a.b": 2}]


def test_stripes_are_found_in_the_tail_and_skipped_without_being_read(tmp_path: Path):
    path = tmp_path / "f"
    numbers = pa.array([(i * 7919) % 1_000_003 for i in range(60_000)])
    table = pa.table([numbers], pa.schema([with_id("a", pa.int64(), 1)]))
    po.write_table(table, str(path), stripe_size=1024, compression="uncompressed")
    file = po.ORCFile(str(path))
    found = stripes(file.reader.serialized_file_tail())
    assert len(found) == file.nstripes > 2
    assert found[0].offset == 3
    assert [s.first_row for s in found] == [
        sum(file.read_stripe(j).num_rows for j in range(i)) for i in range(file.nstripes)
    ]
    second = batches(path, ORC, ["a"], start=found[1].offset, length=1)
    assert spans(second) == [(found[1].first_row, found[1].rows)]
    assert second[0].rows.column(0).equals(numbers.slice(found[1].first_row, found[1].rows))


def test_a_tail_that_is_none_is_refused():
    assert stripes(b"") == ()
    for bad in (b"\x80", b"\x12\x05\x00", b"\x0b"):
        with pytest.raises(ValueError, match="ORC tail"):
            stripes(bad)
    footer = bytes([0x1A, 4, 0x08, 3, 0x28, 9])
    assert stripes(bytes([0x12, len(footer)]) + footer) == (Stripe(3, 0, 9),)
