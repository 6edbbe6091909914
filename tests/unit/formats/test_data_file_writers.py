"""What the Parquet, ORC and Avro writers put into a file: ids, types, sizes, offsets."""

from __future__ import annotations

import io
import json
import uuid
from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal

import fastavro
import pyarrow as pa
import pyarrow.orc as po
import pyarrow.parquet as pq
import pytest

from iceberg_spark.arrow.schema import to_arrow
from iceberg_spark.errors import InvalidOptionError, UnsupportedError
from iceberg_spark.formats.avro.data_writer import AvroFileWriter, avro_layout
from iceberg_spark.formats.file_writer import WriterProperties, WrittenFile
from iceberg_spark.formats.metrics_modes import metrics_modes
from iceberg_spark.formats.orc_tail import stripes
from iceberg_spark.formats.orc_writer import OrcFileWriter, orc_layout
from iceberg_spark.formats.parquet_writer import (
    ParquetFileWriter,
    dictionary_columns,
    parquet_layout,
    parquet_options,
)
from iceberg_spark.spec.schema import Schema
from iceberg_spark.spec.types import (
    BinaryType,
    BooleanType,
    DateType,
    DecimalType,
    DoubleType,
    FixedType,
    FloatType,
    IntegerType,
    ListType,
    LongType,
    MapType,
    NestedField,
    StringType,
    StructType,
    TimestampType,
    TimestamptzType,
    TimeType,
    UUIDType,
)

UUID = uuid.UUID("f79c3e09-677c-4bbd-a479-3f349cb785e7").bytes
SCHEMA = Schema(
    NestedField(1, "b", BooleanType(), required=True),
    NestedField(2, "i", IntegerType()),
    NestedField(3, "l", LongType()),
    NestedField(4, "f", FloatType()),
    NestedField(5, "d", DoubleType()),
    NestedField(6, "dec9", DecimalType(9, 2)),
    NestedField(7, "dec18", DecimalType(18, 2)),
    NestedField(8, "dec38", DecimalType(38, 2)),
    NestedField(9, "day", DateType()),
    NestedField(10, "time", TimeType()),
    NestedField(11, "ts", TimestampType()),
    NestedField(12, "tz", TimestamptzType()),
    NestedField(13, "s", StringType(), doc="text"),
    NestedField(14, "u", UUIDType()),
    NestedField(15, "fx", FixedType(3)),
    NestedField(16, "bin", BinaryType()),
    NestedField(
        17,
        "st",
        StructType(NestedField(18, "u", UUIDType()), NestedField(19, "time", TimeType())),
    ),
    NestedField(20, "li", ListType(21, UUIDType())),
    NestedField(22, "m", MapType(23, StringType(), 24, FixedType(2))),
)
MOMENT = datetime(2024, 1, 1, 12, 30, 0, 1, UTC)
ROW = {
    "b": True,
    "i": -1,
    "l": 2**40,
    "f": 1.5,
    "d": -2.5,
    "dec9": Decimal("1.25"),
    "dec18": Decimal("-1.25"),
    "dec38": Decimal("1.25"),
    "day": MOMENT.date(),
    "time": MOMENT.time(),
    "ts": MOMENT.replace(tzinfo=None),
    "tz": MOMENT,
    "s": "text",
    "u": UUID,
    "fx": b"abc",
    "bin": b"\x00",
    "st": {"u": UUID, "time": MOMENT.time()},
    "li": [UUID, None],
    "m": [("k", b"ab"), ("l", None)],
}
NULLS = {name: (True if name == "b" else None) for name in ROW}
KEYS = {"iceberg.schema": "{}"}


class Kept(io.BytesIO):
    """A sink whose bytes stay after it is closed."""

    data = b""

    def close(self) -> None:
        if not self.closed:
            self.data = self.getvalue()
        super().close()


def rows(*values: dict) -> pa.Table:
    return pa.Table.from_pylist(list(values or (ROW, NULLS)), schema=to_arrow(SCHEMA))


def parquet(*tables: pa.Table, schema: Schema = SCHEMA, **properties) -> tuple[bytes, WrittenFile]:
    sink = Kept()
    options = WriterProperties(properties)
    layout = parquet_layout(schema, options, metrics_modes(schema, properties), KEYS)
    writer = ParquetFileWriter(sink, layout)
    for table in tables:
        writer.write(table)
    return finished(writer, sink)


def orc(*tables: pa.Table, **properties) -> tuple[bytes, WrittenFile]:
    sink = Kept()
    layout = orc_layout(SCHEMA, WriterProperties(properties), metrics_modes(SCHEMA, properties))
    writer = OrcFileWriter(sink, layout, lambda: io.BytesIO(sink.data))
    for table in tables:
        writer.write(table)
    return finished(writer, sink)


def avro(*tables: pa.Table, **properties) -> tuple[bytes, WrittenFile]:
    sink = Kept()
    layout = avro_layout(SCHEMA, to_arrow(SCHEMA), WriterProperties(properties), KEYS)
    writer = AvroFileWriter(sink, layout)
    for table in tables:
        writer.write(table)
    return finished(writer, sink)


def finished(writer, sink: Kept) -> tuple[bytes, WrittenFile]:
    written = writer.close()
    assert sink.closed
    assert written.size == len(sink.data)
    return sink.data, written


def test_parquet_has_the_rows_and_a_row_group_for_each_table() -> None:
    data, written = parquet(rows(), rows(ROW))
    file = pq.ParquetFile(io.BytesIO(data))
    assert file.metadata.num_row_groups == 2
    second = file.metadata.row_group(1).column(0)
    assert written.split_offsets == (4, second.dictionary_page_offset or second.data_page_offset)
    read = file.read().cast(to_arrow(SCHEMA))
    assert read.to_pylist() == rows(ROW, NULLS, ROW).to_pylist()


def test_parquet_types_are_the_specifications() -> None:
    schema = str(pq.ParquetFile(io.BytesIO(parquet(rows())[0])).schema)
    for expected in (
        "required boolean field_id=1 b;",
        "optional int32 field_id=6 dec9 (Decimal(precision=9, scale=2));",
        "optional int64 field_id=7 dec18 (Decimal(precision=18, scale=2));",
        "optional fixed_len_byte_array(16) field_id=8 dec38 (Decimal(precision=38, scale=2));",
        "optional int32 field_id=9 day (Date);",
        "field_id=10 time (Time(isAdjustedToUTC=false, timeUnit=microseconds));",
        "field_id=11 ts (Timestamp(isAdjustedToUTC=false, timeUnit=microseconds",
        "field_id=12 tz (Timestamp(isAdjustedToUTC=true, timeUnit=microseconds",
        "optional fixed_len_byte_array(16) field_id=14 u (UUID);",
        "optional fixed_len_byte_array(3) field_id=15 fx;",
        "optional fixed_len_byte_array(16) field_id=18 u (UUID);",
        "optional fixed_len_byte_array(16) field_id=21 element (UUID);",
        "required binary field_id=23 key (String);",
        "optional fixed_len_byte_array(2) field_id=24 value;",
    ):
        assert expected in schema


def test_parquet_footers_hold_the_given_keys_and_not_arrows_schema() -> None:
    footer = pq.ParquetFile(io.BytesIO(parquet(rows())[0])).metadata
    assert footer.metadata == {b"iceberg.schema": b"{}"}


def test_parquet_column_sizes_are_by_leaf_and_follow_the_modes() -> None:
    properties = {
        "write.metadata.metrics.default": "none",
        "write.metadata.metrics.column.l": "counts",
        "write.metadata.metrics.column.m.value": "full",
    }
    data, written = parquet(rows(), **properties)
    group = pq.ParquetFile(io.BytesIO(data)).metadata.row_group(0)
    sizes = {
        group.column(index).path_in_schema: group.column(index).total_compressed_size
        for index in range(group.num_columns)
    }
    assert written.metrics.column_sizes == {3: sizes["l"], 24: sizes["m.key_value.value"]}


def test_parquet_pages_are_zstd_unless_said_otherwise() -> None:
    def codec(**properties: str) -> str:
        file = pq.ParquetFile(io.BytesIO(parquet(rows(), **properties)[0]))
        return file.metadata.row_group(0).column(2).compression

    assert codec() == "ZSTD"
    for name in ("gzip", "snappy", "uncompressed"):
        assert codec(**{"write.parquet.compression-codec": name}) == name.upper()


@pytest.mark.parametrize(
    ("properties", "message"),
    [
        ({"write.parquet.compression-codec": "lzo"}, "write.parquet.compression-codec.*'lzo'"),
        ({"write.parquet.compression-level": "99"}, "levels"),
        ({"write.parquet.compression-level": "x"}, "'x'"),
        ({"write.parquet.page-size-bytes": "0"}, "page-size-bytes"),
    ],
)
def test_a_bad_parquet_property_is_named(properties: dict, message: str) -> None:
    with pytest.raises(InvalidOptionError, match=message):
        parquet_options(WriterProperties(properties))


def test_delete_files_have_properties_of_their_own() -> None:
    given = {
        "write.parquet.compression-codec": "gzip",
        "write.delete.parquet.compression-codec": "snappy",
    }
    assert parquet_options(WriterProperties(given, deletes=True)).codec == "snappy"
    assert parquet_options(WriterProperties(given)).codec == "gzip"
    del given["write.delete.parquet.compression-codec"]
    assert parquet_options(WriterProperties(given, deletes=True)).codec == "gzip"


def test_a_dictionary_is_for_columns_that_repeat() -> None:
    count = 3000
    table = pa.table(
        {
            "unique": range(count),
            "repeated": [n % 7 for n in range(count)],
            "flag": [True] * count,
            "nothing": pa.nulls(count, pa.string()),
            "st": [{"x": "a", "y": n} for n in range(count)],
            "li": [["a", str(n)] for n in range(count)],
            "m": pa.array([[("k", n)] for n in range(count)], pa.map_(pa.string(), pa.int64())),
        }
    )
    assert dictionary_columns(table) == ["repeated", "st.x", "m.key_value.key"]


def test_an_empty_parquet_file_is_a_file() -> None:
    data, written = parquet()
    assert pq.ParquetFile(io.BytesIO(data)).metadata.num_rows == 0
    assert (written.metrics.record_count, written.split_offsets) == (0, ())


def test_orc_has_the_rows() -> None:
    data, written = orc(rows(), rows(ROW))
    read = po.ORCFile(io.BytesIO(data)).read().to_pylist()
    micros = pa.array([MOMENT.time()]).cast(pa.int64())[0].as_py()
    assert [row["l"] for row in read] == [2**40, None, 2**40]
    assert [row["time"] for row in read] == [micros, None, micros]
    assert [row["st"] for row in read] == [{"u": UUID, "time": micros}, None, read[0]["st"]]
    assert [row["tz"] for row in read] == [MOMENT, None, MOMENT]
    assert [row["m"] for row in read][:2] == [ROW["m"], None]
    assert written.metrics.record_count == 3


def test_orc_slices_are_written_right() -> None:
    sliced = rows(NULLS, ROW, NULLS).slice(1, 1)
    read = po.ORCFile(io.BytesIO(orc(sliced)[0])).read().to_pylist()
    assert read == po.ORCFile(io.BytesIO(orc(rows(ROW))[0])).read().to_pylist()


def test_orc_writes_the_rows_of_a_slice_and_no_others() -> None:
    """Arrow's writer would begin at the first row of nested columns."""
    inner = StructType(NestedField(3, "x", LongType()))
    schema = Schema(
        NestedField(1, "id", LongType()),
        NestedField(2, "st", inner),
        NestedField(4, "li", ListType(5, StructType(NestedField(6, "k", StringType())))),
        NestedField(7, "m", MapType(8, StringType(), 9, LongType())),
    )
    values = [
        {"id": n, "st": {"x": n}, "li": [{"k": str(n)}], "m": [(str(n), n)]} for n in range(9)
    ]
    table = pa.Table.from_pylist(values, schema=to_arrow(schema))
    layout = orc_layout(schema, WriterProperties({}), metrics_modes(schema, {}))
    sink = Kept()
    writer = OrcFileWriter(sink, layout, lambda: io.BytesIO(sink.data))
    writer.write(pa.concat_tables([table.slice(3, 2), table.slice(6, 1)]))
    writer.write(table.slice(8))
    data, _ = finished(writer, sink)
    read = po.ORCFile(io.BytesIO(data)).read().to_pylist()
    assert read == [values[3], values[4], values[6], values[8]]


def test_orc_types_have_icebergs_attributes() -> None:
    schema = po.ORCFile(io.BytesIO(orc(rows())[0])).schema

    def attributes(field: pa.Field) -> dict[str, str]:
        found = {key.decode(): value.decode() for key, value in field.metadata.items()}
        return {key.removeprefix("iceberg."): value for key, value in found.items()}

    assert attributes(schema.field("b")) == {"id": "1", "required": "true"}
    assert attributes(schema.field("l"))["long-type"] == "LONG"
    assert attributes(schema.field("time"))["long-type"] == "TIME"
    assert attributes(schema.field("tz"))["timestamp-unit"] == "MICROS"
    assert attributes(schema.field("u"))["binary-type"] == "UUID"
    fixed = {"id": "15", "required": "false", "binary-type": "FIXED", "length": "3"}
    assert attributes(schema.field("fx")) == fixed
    assert attributes(schema.field("bin"))["binary-type"] == "BINARY"
    assert attributes(schema.field("st").type.field("time"))["id"] == "19"
    assert attributes(schema.field("li").type.value_field)["id"] == "21"
    assert attributes(schema.field("m").type.key_field) == {"id": "23", "required": "true"}
    assert attributes(schema.field("m").type.item_field)["length"] == "2"


def test_orc_offsets_are_those_of_its_stripes() -> None:
    data, written = orc(rows(*[ROW] * 2000), **{"write.orc.stripe-size-bytes": "1000"})
    file = po.ORCFile(io.BytesIO(data))
    found = tuple(stripe.offset for stripe in stripes(file.reader.serialized_file_tail()))
    assert written.split_offsets == found
    assert len(found) == file.nstripes >= 1


def test_orc_slices_of_structs_with_nulls_keep_their_children() -> None:
    """Arrow itself writes the children of the array's first rows instead."""
    pair = StructType(NestedField(2, "a", IntegerType()), NestedField(3, "b", StringType()))
    outer = StructType(NestedField(11, "in", replace_ids(pair, 12)))
    schema = Schema(
        NestedField(1, "st", pair),
        NestedField(10, "out", outer),
        NestedField(20, "li", ListType(21, replace_ids(pair, 22))),
        NestedField(30, "m", MapType(31, StringType(), 32, replace_ids(pair, 33))),
    )
    made = []
    for n in range(12):
        inner = None if n % 3 == 0 else {"a": n, "b": str(n)}
        entries = [(str(n), inner)]
        made.append({"st": inner, "out": {"in": inner}, "li": [inner] * (n % 4), "m": entries})
    table = pa.Table.from_pylist(made, schema=to_arrow(schema))
    for first, count in ((0, 12), (1, 4), (5, 7), (11, 1)):
        sink = Kept()
        layout = orc_layout(schema, WriterProperties({}), metrics_modes(schema, {}))
        writer = OrcFileWriter(sink, layout, lambda kept=sink: io.BytesIO(kept.data))
        writer.write(table.slice(first, count))
        writer.write(table.slice(first, 1))
        finished(writer, sink)
        expected = made[first : first + count] + made[first : first + 1]
        assert po.read_table(io.BytesIO(sink.data)).to_pylist() == expected


def replace_ids(kind: StructType, first: int) -> StructType:
    fields = (replace(one, field_id=first + n) for n, one in enumerate(kind.fields))
    return StructType(*fields)


@pytest.mark.parametrize("column", ["ts", "st.at", "li.element", "m.value"])
def test_orc_refuses_fractions_of_seconds_before_1970(column: str) -> None:
    """Arrow would write them so that Java reads another second."""
    kind = TimestampType()
    schema = Schema(
        NestedField(1, "ts", kind),
        NestedField(2, "st", StructType(NestedField(3, "at", kind))),
        NestedField(4, "li", ListType(5, kind)),
        NestedField(6, "m", MapType(7, StringType(), 8, kind)),
    )
    for micros, fits in ((-1_000_000, True), (1, True), (-1, False)):
        value = pa.array([micros], pa.timestamp("us"))[0].as_py()
        given = {"ts": value, "st": {"at": value}, "li": [value], "m": [("k", value)]}
        row = {name: given[name] for name in given if name == column.partition(".")[0]}
        table = pa.Table.from_pylist([row], schema=to_arrow(schema))
        layout = orc_layout(schema, WriterProperties({}), metrics_modes(schema, {}))
        writer = OrcFileWriter(Kept(), layout, io.BytesIO)
        if fits:
            writer.write(table)
            continue
        with pytest.raises(UnsupportedError, match=f"'{column}'"):
            writer.write(table)
        writer.write(table.slice(1))  # values outside a slice do not count


def test_orc_is_zlib_unless_said_otherwise() -> None:
    assert po.ORCFile(io.BytesIO(orc(rows())[0])).compression == "ZLIB"
    data, _ = orc(rows(), **{"write.orc.compression-codec": "zstd"})
    assert po.ORCFile(io.BytesIO(data)).compression == "ZSTD"
    with pytest.raises(InvalidOptionError, match=r"write\.orc\.compression-codec"):
        orc(rows(), **{"write.orc.compression-codec": "lzo"})


def test_avro_tables_make_one_file() -> None:
    data, written = avro(rows(), rows(ROW))
    reader = fastavro.reader(io.BytesIO(data))
    read = list(reader)
    assert [row["l"] for row in read] == [2**40, None, 2**40]
    assert [row["dec38"] for row in read] == [Decimal("1.25"), None, Decimal("1.25")]
    assert reader.metadata["avro.codec"] == "deflate"
    assert reader.metadata["iceberg.schema"] == "{}"
    ids = [field["field-id"] for field in json.loads(reader.metadata["avro.schema"])["fields"]]
    assert ids == [field.field_id for field in SCHEMA.fields]
    assert written.split_offsets is None


def test_an_empty_avro_file_is_a_file() -> None:
    assert list(fastavro.reader(io.BytesIO(avro()[0]))) == []


def test_avro_codecs() -> None:
    data, _ = avro(rows(), **{"write.avro.compression-codec": "zstd"})
    assert fastavro.reader(io.BytesIO(data)).metadata["avro.codec"] == "zstandard"
    with pytest.raises(InvalidOptionError, match=r"write\.avro\.compression-codec"):
        avro(rows(), **{"write.avro.compression-codec": "lzo"})
