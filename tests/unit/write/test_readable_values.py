"""`add_files` and `snapshot` refuse values that no reader could read afterwards, by column."""

from __future__ import annotations

import io
import struct
from pathlib import Path
from typing import Any

import fastavro
import pyarrow as pa
import pyarrow.orc as po
import pyarrow.parquet as pq
import pytest

import iceberg_spark as ice
from iceberg_spark.errors import InvalidInputError, InvalidSchemaError, UnsupportedError
from iceberg_spark.write import describe_imported


def texts(*values: bytes) -> pa.Array:
    """Return a column of text with any bytes."""
    ends = [0]
    for value in values:
        ends.append(ends[-1] + len(value))
    offsets = struct.pack(f"<{len(ends)}i", *ends)
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(b"".join(values))]
    return pa.Array.from_buffers(pa.string(), len(values), buffers)


def nanos(*values: int | None, zone: str | None = None) -> pa.Array:
    return pa.array(values, pa.timestamp("ns", zone))


def parquet(path: Path, column: pa.Array, **options: Any) -> str:
    pq.write_table(pa.table({"id": range(len(column)), "c": column}), path, **options)
    return str(path)


def avro(path: Path, kind: Any, value: Any) -> str:
    fields = [{"name": "id", "type": "long"}, {"name": "c", "type": kind}]
    with path.open("wb") as file:
        schema = {"type": "record", "name": "r", "fields": fields}
        fastavro.writer(file, schema, [{"id": 0, "c": value}])
    return str(path)


FAR = 1 << 60
"""Milliseconds that a long of microseconds can't hold."""
STRUCTS_IN_A_LIST = pa.struct([("x", pa.list_(pa.struct([("y", pa.int32())])))])
UUID_TEXT = b"f79c3e09-677c-4bbd-a479-3f349cb785e7"
UNREADABLE = {
    "nanoseconds": (nanos(1000, None, 1001), "timestamp_ntz", "c"),
    "instants in nanoseconds": (nanos(1001, zone="UTC"), "timestamp", "c"),
    "in a struct": (
        pa.StructArray.from_arrays([nanos(1000, 1001)], ["x"]),
        "struct<x timestamp_ntz>",
        "c.x",
    ),
    "in a list": (
        pa.array([[1000], [1001]], pa.list_(pa.timestamp("ns"))),
        "array<timestamp_ntz>",
        "c.element",
    ),
    "in a map": (
        pa.array([[("a", 1001)]], pa.map_(pa.string(), pa.timestamp("ns"))),
        "map<string, timestamp_ntz>",
        "c.value",
    ),
    "times in nanoseconds": (pa.array([1001], pa.time64("ns")), "time", "c"),
    "far milliseconds": (pa.array([1, FAR], pa.timestamp("ms")), "timestamp_ntz", "c"),
    "far days": (pa.array([(1 << 31) - 1], pa.int32()).cast(pa.date32()), "timestamp_ntz", "c"),
    "text": (texts(b"a", b"\xff\xfe"), "string", "c"),
    "text in a list": (
        pa.ListArray.from_arrays(pa.array([0, 2], pa.int32()), texts(b"a", b"\xff")),
        "array<string>",
        "c.element",
    ),
    "bytes as text": (pa.array([b"a", b"\xff", b"z"]), "string", "c"),
    "UUIDs as bytes of text": (pa.array([UUID_TEXT]), "uuid", "c"),
    "bytes of another length": (pa.array([b"ab", b"abc"]), "fixed(2)", "c"),
}


def check_refused(folder: Path, path: str, kind: str, column: str) -> None:
    table = ice.create_table(str(folder / "t"), f"id bigint, c {kind}")
    before = sorted((folder / "t").rglob("*"))
    with pytest.raises(InvalidInputError) as refused:
        table.add_files(path)
    assert f"olumn '{column}' of {path}" in str(refused.value)
    assert table.refresh().current_snapshot() is None
    assert sorted((folder / "t").rglob("*")) == before


@pytest.mark.parametrize("name", UNREADABLE)
def test_a_value_that_no_reader_could_read_is_refused_by_column(tmp_path: Path, name: str) -> None:
    values, kind, column = UNREADABLE[name]
    check_refused(tmp_path, parquet(tmp_path / "f.parquet", values), kind, column)


@pytest.mark.parametrize(
    ("values", "kind", "column"),
    [
        (pa.array([1, None]), "bigint not null", "c"),
        (pa.array([{"x": 1}, {"x": None}]), "struct<x bigint not null>", "c.x"),
        (
            pa.array([{"x": [{"y": 1}, {}]}], STRUCTS_IN_A_LIST),
            "struct<x array<struct<y: int not null>>>",
            "c.x.element.y",
        ),
    ],
)
def test_a_null_in_a_required_column_is_refused(
    tmp_path: Path, values: pa.Array, kind: str, column: str
) -> None:
    table = ice.create_table(str(tmp_path / "t"), f"id bigint, c {kind}")
    path = parquet(tmp_path / "f.parquet", values)
    with pytest.raises(InvalidInputError, match=rf"{path} can't be added: Column '{column}' is re"):
        table.add_files(path)
    assert table.refresh().current_snapshot() is None


def test_nulls_of_an_optional_parent_are_no_nulls_of_its_required_fields(tmp_path: Path) -> None:
    table = ice.create_table(str(tmp_path / "t"), "id bigint, c struct<x bigint not null>")
    table.add_files(parquet(tmp_path / "f.parquet", pa.array([{"x": 1}, None])))
    assert table.scan("c is null").count() == 1


def test_an_orc_file_without_nulls_fits_a_required_column(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(describe_imported, "open_data_file")
    po.write_table(pa.table({"c": [1, 2]}), tmp_path / "f.orc")
    table = ice.create_table(str(tmp_path / "t"), "c bigint not null")
    table.add_files(str(tmp_path / "f.orc"))
    assert table.scan().count() == 2


def test_an_avro_file_without_nulls_fits_a_required_column(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = avro(tmp_path / "f.avro", ["null", "long"], None)
    table = ice.create_table(str(tmp_path / "t"), "id bigint, c bigint not null")
    with pytest.raises(InvalidInputError, match="Column 'c' is required"):
        table.add_files(path)
    monkeypatch.delattr(describe_imported, "open_data_file")
    table.add_files(avro(tmp_path / "g.avro", "long", 1))
    assert table.scan().count() == 1


def test_a_snapshot_of_version_3_keeps_nanoseconds(tmp_path: Path) -> None:
    source = tmp_path / "source"
    source.mkdir()
    parquet(source / "f.parquet", nanos(1001))
    version = {"format-version": 3}
    table = ice.snapshot(str(source), str(tmp_path / "t"), properties=version)
    assert str(table.schema().find_type("c")) == "timestamp_ns"
    assert table.scan().to_arrow().column("c").cast("int64").to_pylist() == [1001]


def test_a_column_without_statistics_is_read(tmp_path: Path) -> None:
    values = pa.array([1, FAR], pa.timestamp("ms"))
    path = parquet(tmp_path / "f.parquet", values, write_statistics=False)
    check_refused(tmp_path, path, "timestamp_ntz", "c")


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        (nanos(1001), "timestamp_ntz"),
        (texts(b"a", b"\xff"), "string"),
        (pa.array([b"\xff"]), "string"),
    ],
    ids=["nanoseconds", "text", "bytes as text"],
)
def test_values_of_orc_are_refused_by_column(tmp_path: Path, values: pa.Array, kind: str) -> None:
    path = tmp_path / "f.orc"
    po.write_table(pa.table({"id": range(len(values)), "c": values}), path)
    check_refused(tmp_path, str(path), kind, "c")


@pytest.mark.parametrize(
    ("stored", "value", "kind"),
    [
        ({"type": "long", "logicalType": "local-timestamp-millis"}, FAR, "timestamp_ntz"),
        ({"type": "long", "logicalType": "timestamp-nanos"}, 1001, "timestamp"),
        ("bytes", b"\xff", "string"),
    ],
    ids=["milliseconds", "nanoseconds", "bytes as text"],
)
def test_values_of_avro_are_refused_by_column(
    tmp_path: Path, stored: Any, value: Any, kind: str
) -> None:
    check_refused(tmp_path, avro(tmp_path / "f.avro", stored, value), kind, "c")


READABLE = {
    "whole microseconds": (nanos(1000, None), "timestamp_ntz"),
    "milliseconds": (pa.array([5, None], pa.timestamp("ms")), "timestamp_ntz"),
    "days": (pa.array([5, None], pa.date32()), "timestamp_ntz"),
    "only nulls": (pa.nulls(2, pa.timestamp("ms")), "timestamp_ntz"),
    "text": (pa.array(["Ü", None]), "string"),
    "bytes of text": (pa.array([b"a", None]), "string"),
    "bytes of the length": (pa.array([b"ab", None]), "fixed(2)"),
}


@pytest.mark.parametrize("name", READABLE)
def test_readable_values_are_added(tmp_path: Path, name: str) -> None:
    values, kind = READABLE[name]
    table = ice.create_table(str(tmp_path / "t"), f"id bigint, c {kind}")
    table.add_files(parquet(tmp_path / "f.parquet", values))
    assert table.scan().to_arrow().column("c").null_count == values.null_count


@pytest.mark.parametrize("name", ["milliseconds", "days", "only nulls", "text"])
def test_columns_that_statistics_settle_are_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.delattr(describe_imported, "open_data_file")
    test_readable_values_are_added(tmp_path, name)


def test_int96_timestamps_are_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(describe_imported, "open_data_file")
    table = ice.create_table(str(tmp_path / "t"), "id bigint, c timestamp_ntz")
    path = parquet(tmp_path / "f.parquet", nanos(1000), use_deprecated_int96_timestamps=True)
    table.add_files(path)
    assert table.scan().count() == 1


def test_a_snapshot_of_unreadable_values_leaves_nothing_behind(tmp_path: Path) -> None:
    source = tmp_path / "source"
    source.mkdir()
    parquet(source / "f.parquet", nanos(1001))
    with pytest.raises(InvalidInputError, match=r"'c' of .*f.parquet"):
        ice.snapshot(str(source), str(tmp_path / "t"))
    assert not (tmp_path / "t").exists() or not any((tmp_path / "t").rglob("*.json"))
    with pytest.raises(InvalidInputError, match=r"'c' of .*f.parquet"):
        ice.migrate(str(source))
    assert [path.name for path in source.rglob("*") if path.is_file()] == ["f.parquet"]


def test_a_snapshot_of_a_type_that_iceberg_lacks_names_file_and_column(tmp_path: Path) -> None:
    source = tmp_path / "source"
    source.mkdir()
    parquet(source / "f.parquet", pa.array([1], pa.uint64()))
    with pytest.raises(InvalidSchemaError, match=r"f.parquet can't be added: Column 'c'"):
        ice.snapshot(str(source), str(tmp_path / "t"))


def test_a_map_with_optional_keys_is_refused_by_column(tmp_path: Path) -> None:
    """Parquet's own rule; Arrow's reader refuses the whole file."""
    source = tmp_path / "source"
    source.mkdir()
    sink = io.BytesIO()
    pq.write_table(pa.table({"m": pa.array([], pa.map_(pa.string(), pa.int32()))}), sink)
    required, optional = b"\x25\x00\x18\x03key", b"\x25\x02\x18\x03key"
    assert sink.getvalue().count(required) == 1
    path = source / "f.parquet"
    path.write_bytes(sink.getvalue().replace(required, optional))
    table = ice.create_table(str(tmp_path / "t"), "m map<string, int>")
    with pytest.raises(UnsupportedError, match=r"'m' of .*f.parquet is a map with optional keys"):
        table.add_files(str(path))
    with pytest.raises(UnsupportedError, match=r"'m' of .*f.parquet is a map with optional keys"):
        ice.snapshot(str(source), str(tmp_path / "s"))
