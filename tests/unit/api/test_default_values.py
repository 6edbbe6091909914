"""Defaults of columns: what old rows have, and what rows get that are written without a value."""

import datetime as dt
import uuid
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import iceberg_spark as ice
from iceberg_spark.api.table import Table
from iceberg_spark.errors import InvalidSchemaError
from iceberg_spark.spec.types import NestedField, StringType, StructType

UTC = dt.UTC
KEY = uuid.UUID("f79c3e09-677c-4bbd-a479-3f349cb785e7")
NOON = dt.datetime.fromisoformat("2024-02-29T12:30:01.123456")
COLUMNS: dict[str, tuple[str, Any, Any]] = {  # name: type, default as given, as read
    "bo": ("boolean", True, True),
    "i": ("int", -5, -5),
    "l": ("bigint", 1 << 40, 1 << 40),
    "f": ("float", 0.1, 0.10000000149011612),
    "d": ("double", 0.1, 0.1),
    "de": ("decimal(9, 2)", 3.1, Decimal("3.10")),
    "wide": (
        "decimal(38, 10)",
        Decimal("-1234567890123456789.5"),
        Decimal("-1234567890123456789.5"),
    ),
    "dt": ("date", dt.date(1969, 12, 31), dt.date(1969, 12, 31)),
    "ti": ("time", dt.time(1, 2, 3, 4), dt.time(1, 2, 3, 4)),
    "ts": ("timestamp_ntz", NOON, NOON),
    "tz": ("timestamp", NOON.replace(tzinfo=UTC), NOON.replace(tzinfo=UTC)),
    "s": ("string", "it's \\ é", "it's \\ é"),
    "u": ("uuid", str(KEY), KEY),
    "fx": ("fixed[2]", b"\x00\xff", b"\x00\xff"),
    "b": ("binary", b"", b""),
    "li": ("array<int>", [1, None], [1, None]),
    "m": ("map<string, decimal(3, 1)>", {"k": 1.5}, [("k", Decimal("1.5"))]),
    "st": ("struct<x: int, y: string>", {"x": 0, "y": "q"}, {"x": 0, "y": "q"}),
    "e": ("struct<x: int>", {}, {"x": None}),
}
FORMATS = ("parquet", "orc", "avro")


def make(tmp_path: Path, form: str = "parquet", version: str = "3") -> Table:
    properties = {"format-version": version, "write.format.default": form}
    table = ice.create_table(
        str(tmp_path / "t"), "id bigint not null, n struct<a: bigint>", properties=properties
    )
    table.append(pa.table({"id": [1, 2], "n": [{"a": 1}, None]}))
    return table


def all_types(table: Table) -> Table:
    with table.update_schema() as update:
        for name, (kind, given, _) in COLUMNS.items():
            update.add_column(name, kind, required=name == "i", default_value=given)
        update.add_column("n.b", "string", default_value="inner")
        update.add_column("nothing", "string")
    return table.refresh()


@pytest.mark.parametrize("form", FORMATS)
def test_rows_before_a_column_and_rows_without_it_have_its_default(
    tmp_path: Path, form: str
) -> None:
    table = all_types(make(tmp_path, form))
    table.append(pa.table({"id": [3], "n": [{"a": 3}]}))
    rows = sorted(table.refresh().scan().to_arrow().to_pylist(), key=lambda row: row["id"])
    expected = {name: read for name, (_, _, read) in COLUMNS.items()} | {"nothing": None}
    inner = [{"a": 1, "b": "inner"}, None, {"a": 3, "b": "inner"}]
    for number, row in enumerate(rows):
        assert row == {"id": number + 1, "n": inner[number], **expected}


@pytest.mark.parametrize("form", FORMATS)
def test_a_changed_default_is_that_of_rows_to_come(tmp_path: Path, form: str) -> None:
    table = all_types(make(tmp_path, form))
    with table.update_schema() as update:
        update.set_default_value("s", "new").set_default_value("l", None)
        update.set_default_value("n.b", "other").set_default_value("st", None)
        update.set_default_value("nothing", "something")
    table.refresh().append(pa.table({"id": [3], "n": [{"a": 3}]}))
    names = ("id", "s", "l", "n", "st", "nothing")
    rows = table.refresh().scan(selected_fields=names).to_arrow()
    old, inner = {"x": 0, "y": "q"}, {"a": 3, "b": "other"}
    assert sorted(rows.to_pylist(), key=lambda row: row["id"])[1:] == [
        {"id": 2, "n": None, "l": 1 << 40, "s": "it's \\ é", "st": old, "nothing": None},
        {"id": 3, "n": inner, "l": None, "s": "new", "st": None, "nothing": "something"},
    ]


@pytest.mark.parametrize("form", FORMATS)
def test_filters_take_defaults_for_values_whatever_statistics_say(
    tmp_path: Path, form: str
) -> None:
    table = all_types(make(tmp_path, form))
    table.append(pa.table({"id": [3], "n": [{"a": 3}], "i": pa.array([7], pa.int32())}))
    table.refresh()
    for condition, ids in {
        "i = -5": {1, 2},
        "i > 0": {3},
        "i is null": set(),
        "s like 'it%'": {1, 2, 3},
        "tz < '2024-03-01 00:00:00+00:00'": {1, 2, 3},
        "dt <> DATE'1969-12-31'": set(),
        "nothing is null": {1, 2, 3},
        "st.y = 'q' and li is not null": {1, 2, 3},
        "n.b = 'inner'": {1, 3},
    }.items():
        scan = table.scan(condition)
        assert set(scan.to_arrow()["id"].to_pylist()) == ids, condition
        assert scan.count() == len(ids), condition


def test_deletes_and_upserts_meet_rows_by_their_defaults(tmp_path: Path) -> None:
    table = all_types(make(tmp_path))
    table.update_spec().add_field("i").commit()
    table.refresh().append(pa.table({"id": [3, 4], "i": pa.array([7, -5], pa.int32())}))
    table.refresh().delete("i = -5 and id > 1")
    assert sorted(table.refresh().scan().to_arrow()["id"].to_pylist()) == [1, 3]
    table.overwrite(pa.table({"id": [5]}), overwrite_filter="i = -5")
    rows = table.refresh().scan(selected_fields=("id", "i")).to_arrow().to_pylist()
    assert sorted(map(tuple, (row.values() for row in rows))) == [(3, 7), (5, -5)]


def test_a_date_that_becomes_a_timestamp_takes_its_default_along(tmp_path: Path) -> None:
    table = all_types(make(tmp_path))
    table.update_schema().update_column("dt", "timestamp_ntz").update_column("i", "bigint").commit()
    row = table.refresh().scan("id = 1").to_arrow().to_pylist()[0]
    assert (row["dt"], row["i"]) == (dt.datetime.fromisoformat("1969-12-31"), -5)


def test_a_required_column_without_a_write_default_must_be_given(tmp_path: Path) -> None:
    table = all_types(make(tmp_path))
    table.update_schema().set_default_value("i", None).commit()
    with pytest.raises(InvalidSchemaError, match="lacks required columns: 'i'"):
        table.refresh().append(pa.table({"id": [3]}))


BAD = {
    "another type": ("int", "many", "'many' of column 'c' is not a int"),
    "too large": ("int", 1 << 31, "is not a int"),
    "more digits": ("decimal(3, 1)", Decimal("1.25"), "is not a decimal"),
    "not finite": ("double", float("nan"), "finite"),
    "variant": ("variant", 1, "can't have a default"),
    "unknown": ("unknown", 1, "can't have a default"),
    "geometry": ("geometry", b"", "can't have a default"),
    "no such field": ("struct<x: int>", {"z": 1}, "has a field 'z'"),
    "required field": ("struct<x: int not null>", {}, "'x' is required"),
    "no list": ("array<int>", 5, "is not a list<int>"),
    "a part": ("array<int>", ["x"], "'c.element'"),
}


@pytest.mark.parametrize("case", BAD)
def test_a_default_that_is_none_is_refused(tmp_path: Path, case: str) -> None:
    kind, given, message = BAD[case]
    table = make(tmp_path)
    with pytest.raises(InvalidSchemaError, match=message):
        table.update_schema().add_column("c", kind, default_value=given)


def test_a_struct_has_its_fields_defaults_set_one_by_one(tmp_path: Path) -> None:
    table = all_types(make(tmp_path))
    with pytest.raises(InvalidSchemaError, match="set the defaults of its fields"):
        table.update_schema().set_default_value("st", {"x": 1})


def test_older_tables_refuse_defaults_by_their_version(tmp_path: Path) -> None:
    table = make(tmp_path, version="2")
    with pytest.raises(InvalidSchemaError, match=r"'c'.*format-version 3"):
        table.update_schema().add_column("c", "int", default_value=1)
    with pytest.raises(InvalidSchemaError, match=r"'n\.a'.*format-version 3"):
        table.update_schema().set_default_value("n.a", 1)


def test_a_union_takes_over_both_defaults(tmp_path: Path) -> None:
    table = make(tmp_path)
    field = NestedField(9, "c", StringType(), initial_default="old", write_default="new")
    inner = NestedField(8, "a", StringType(), initial_default="x", write_default="y")
    other = ice.Schema(field, NestedField(7, "p", StructType(inner)))
    table.update_schema().union_by_name(other).commit()
    made = table.refresh().schema()
    assert [
        (made.find_field(name).initial_default, made.find_field(name).write_default)
        for name in ("c", "p.a")
    ] == [("old", "new"), ("x", "y")]
