"""Columns of the types of version 3 in Arrow: written and read in every format, nested too."""

import json
import struct
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql.types import VariantVal

import iceberg_spark as ice
from iceberg_spark.api.table import Table
from iceberg_spark.arrow.variant_layout import VARIANT
from iceberg_spark.errors import InvalidInputError, InvalidSchemaError, UnsupportedError
from iceberg_spark.spec import types as t

DDL = """id bigint, v variant, ns timestamp_ns, tzns timestamptz_ns, u unknown, g geometry,
    su struct<x: unknown, y: int, v: variant>, only struct<x: unknown>, lu array<unknown>,
    lv array<variant>, mu map<string, unknown>, mv map<string, variant>, ln array<timestamp_ns>"""
FORMATS = ("parquet", "orc", "avro")
NANOS = 1704067200123456789  # 2024-01-01 00:00:00.123456789


def variant(number: int) -> dict[str, bytes]:
    """The variant {"a": number}, encoded by hand."""
    return {"metadata": b"\x11\x01\x00\x01a", "value": bytes([2, 1, 0, 0, 2, 12, number])}


def point(x: float, y: float, *rest: float, order: str = "<") -> bytes:
    code = {2: 1, 3: 1001, 4: 3001}[2 + len(rest)]
    return struct.pack(f"{order}BI{2 + len(rest)}d", order == "<", code, x, y, *rest)


def line(*pairs: tuple[float, float]) -> bytes:
    flat = [number for pair in pairs for number in pair]
    return struct.pack(f"<BII{len(flat)}d", 1, 2, len(pairs), *flat)


def make(tmp_path: Path, ddl: str = DDL, form: str = "parquet", **more: Any) -> Table:
    properties = {"format-version": "3", "write.format.default": form}
    return ice.create_table(str(tmp_path / "t"), ddl, properties=properties, **more)


def rows() -> pa.Table:
    nothing = pa.null()
    one, two = variant(1), variant(2)
    columns: dict[str, tuple[pa.DataType, list[Any]]] = {
        "id": (pa.int64(), [1, 2, 3]),
        "v": (VARIANT, [one, None, two]),
        "ns": (pa.timestamp("ns"), [1, None, NANOS]),
        "tzns": (pa.timestamp("ns", "UTC"), [5, None, -(10**9)]),
        "u": (nothing, [None] * 3),
        "g": (pa.binary(), [point(1, 2), None, line((-3, 9), (0.5, 1))]),
        "su": (
            pa.struct([("x", nothing), ("y", pa.int32()), ("v", VARIANT)]),
            [{"x": None, "y": 1, "v": one}, None, {"x": None, "y": None, "v": None}],
        ),
        "only": (pa.struct([("x", nothing)]), [{"x": None}, None, {"x": None}]),
        "lu": (pa.list_(nothing), [[None, None], [], None]),
        "lv": (pa.list_(VARIANT), [[one, None], [], None]),
        "mu": (pa.map_(pa.string(), nothing), [[("k", None)], [], None]),
        "mv": (pa.map_(pa.string(), VARIANT), [[("k", two), ("l", None)], [], None]),
        "ln": (pa.list_(pa.timestamp("ns")), [[1, None], [], None]),
    }
    return pa.table({name: pa.array(values, kind) for name, (kind, values) in columns.items()})


@pytest.mark.parametrize("form", FORMATS)
def test_every_format_gives_back_what_was_written(tmp_path: Path, form: str) -> None:
    table = make(tmp_path, form=form)
    table.append(rows())
    read = table.refresh().scan().to_arrow()
    assert read.cast(rows().schema).equals(rows())
    assert read.schema.field("v").type == VARIANT
    assert table.scan("v is null or g is null").count() == 1
    assert table.scan("u is null").count() == 3
    later = table.scan("ns > '2024-01-01 00:00:00.123456788'").to_arrow()
    assert later["id"].to_pylist() == [3]
    table.delete("id = 3")
    assert table.refresh().scan().to_arrow().cast(rows().schema).equals(rows().slice(0, 2))


def test_parquet_files_say_what_their_columns_are(tmp_path: Path) -> None:
    ddl = "v variant, lv array<variant>, g geometry, u unknown, ns timestamp_ns"
    table = make(tmp_path, ddl)
    with table.update_schema() as update:
        update.add_column("gg", t.GeographyType("OGC:CRS84", "karney"))
        update.add_column("far", t.GeometryType("EPSG:" + "3" * 200))
    table.refresh().append(pa.table({"g": [point(1, 2)]}))
    (file,) = (tmp_path / "t" / "data").glob("*.parquet")
    shown = str(pq.ParquetFile(file).schema)
    assert "group field_id=1 v (Variant(1))" in shown
    assert "element (Variant(1))" in shown
    assert " g (Geometry(crs=))" in shown
    assert "gg (Geography(crs=OGC:CRS84, algorithm=karney))" in shown
    assert f"far (Geometry(crs=EPSG:{'3' * 200}))" in shown
    assert "u" not in pq.ParquetFile(file).schema_arrow.names


def test_variants_in_other_layouts_are_taken_and_others_missed(tmp_path: Path) -> None:
    table = make(tmp_path, "v variant")
    other = pa.struct([("value", pa.large_binary()), ("metadata", pa.binary_view())])
    table.append(pa.table({"v": pa.array([variant(7), None], other)}))
    assert table.refresh().scan().to_arrow()["v"].to_pylist() == [variant(7), None]
    with pytest.raises(InvalidSchemaError, match=r"'v' is variant.*parse_json"):
        table.append(pa.table({"v": ["{}"]}))
    half = pa.array([{"metadata": b"\x11", "value": None}], other)
    with pytest.raises(InvalidInputError, match="'v'"):
        table.append(pa.table({"v": half}))


def bounds(table: Table, column: str) -> tuple[tuple[float, ...], tuple[float, ...]] | None:
    """The box of a column of the only file."""
    (file,) = table.refresh().inspect.files().to_pylist()
    number = table.schema().find_id(column)
    low, high = dict(file["lower_bounds"]).get(number), dict(file["upper_bounds"]).get(number)
    if low is None:
        return None
    return tuple(struct.unpack(f"<{len(each) // 8}d", each) for each in (low, high))  # type: ignore[return-value]


NAN = float("nan")
BOXES: dict[str, tuple[list[bytes | None], Any]] = {
    "points": ([point(1, 2), None, point(-3, 9)], ((-3, 2), (1, 9))),
    "big endian": ([point(1, 2, order=">")], ((1, 2), (1, 2))),
    "z": ([point(1, 2, 5), point(0, 0)], ((0, 0, 5), (1, 2, 5))),
    "z and m": ([point(1, 2, 5, 7)], ((1, 2, 5, 7), (1, 2, 5, 7))),
    "no number": ([point(1, NAN), point(5, 6)], ((1, 6), (5, 6))),
    "no y at all": ([point(1, NAN)], None),
    "a line": ([line((0, 5), (-1, 8))], ((-1, 5), (0, 8))),
    "a collection": (
        [struct.pack("<BII", 1, 7, 2) + point(1, 1) + line((4, 0))],
        ((1, 0), (4, 1)),
    ),
    "no geometry": ([b"nothing"], None),
    "too short": ([line((1, 2), (3, 4))[:-1]], None),
    "only nulls": ([None], None),
}


@pytest.mark.parametrize("case", BOXES)
def test_bounds_of_geometries_are_their_corners(tmp_path: Path, case: str) -> None:
    values, expected = BOXES[case]
    table = make(tmp_path, "g geometry")
    table.append(pa.table({"g": pa.array(values, pa.binary())}))
    assert bounds(table, "g") == expected


def test_geographies_of_lines_have_no_bounds(tmp_path: Path) -> None:
    table = make(tmp_path, "g geography")
    table.append(pa.table({"g": [line((179, 0), (-179, 0))]}))
    assert bounds(table, "g") is None


def test_variants_are_shredded_where_the_property_says_so(tmp_path: Path) -> None:
    table = make(tmp_path, "id bigint, v variant, l array<variant>")
    table.update_properties().set({"write.parquet.shred-variants": "true"}).commit()
    rows = [variant(number) for number in range(1, 120)]
    text = {"metadata": variant(1)["metadata"], "value": b"\x09ab"}
    rows += [None, text, {**text, "value": b"\x02\x01\x00\x00\x03\x09ab"}]
    given = pa.table(
        {
            "id": list(range(len(rows))),
            "v": pa.array(rows, VARIANT),
            "l": pa.array([[one] for one in rows], pa.list_(VARIANT)),
        }
    )
    table.refresh().append(given)
    (file,) = (tmp_path / "t" / "data").glob("*.parquet")
    kind = pq.ParquetFile(file).schema_arrow.field("v").type
    assert kind.field("typed_value").type.field("a").type.field("typed_value").type == pa.int64()
    shown = [
        row["v"] and VariantVal(row["v"]["value"], row["v"]["metadata"]).toPython()
        for row in table.refresh().scan().to_arrow().to_pylist()
    ]
    assert shown == [*({"a": number} for number in range(1, 120)), None, "ab", {"a": "ab"}]
    assert table.scan("v is null").count() == 1
    plain = ice.create_table(
        str(tmp_path / "p"),
        "v variant",
        properties={"format-version": "3", "write.parquet.shred-variants": "true"},
    )
    plain.append(pa.table({"v": pa.array([text, None], VARIANT)}))
    assert plain.refresh().scan().to_arrow()["v"].to_pylist() == [text, None]


@pytest.mark.parametrize("transform", ["years(a)", "months(a)", "days(a)", "hours(a)", "a"])
def test_nanoseconds_lie_in_the_partitions_of_their_microseconds(
    tmp_path: Path, transform: str
) -> None:
    places = {}
    moments = [-1, 0, NANOS, -(10**9) - 1]
    for kind, unit in (("timestamp_ns", "ns"), ("timestamp_ntz", "us")):
        ticks = [each if unit == "ns" else each // 1000 for each in moments]
        table = ice.create_table(
            str(tmp_path / unit),
            f"a {kind}",
            partition_by=[transform, "bucket(16, a)"],
            properties={"format-version": "3"},
        )
        table.append(pa.table({"a": pa.array(ticks, pa.timestamp(unit))}))
        files = table.refresh().inspect.files().to_pylist()
        places[unit] = [file["partition"]["a_bucket"] for file in files]
        found = table.scan("a = '2024-01-01 00:00:00.123456789'").to_arrow()["a"]
        assert len(found) == 1
        assert table.scan("a < '1970-01-01 00:00:00'").count() == 2
    assert sorted(places["ns"]) == sorted(places["us"])


def test_frames_of_nanoseconds_make_such_columns_in_version_3(tmp_path: Path) -> None:
    given = pa.schema([("a", pa.timestamp("ns")), ("b", pa.timestamp("ns", "UTC"))])
    made = make(tmp_path, given).schema()
    assert [str(field.field_type) for field in made.fields] == ["timestamp_ns", "timestamptz_ns"]
    older = ice.create_table(str(tmp_path / "older"), given).schema()
    assert [str(field.field_type) for field in older.fields] == ["timestamp", "timestamptz"]


def test_encrypted_tables_are_refused_by_name(tmp_path: Path) -> None:
    table = make(tmp_path, "id bigint")
    table.append(pa.table({"id": [1]}))
    table.refresh().update_properties().set({"encryption.key-id": "k1"}).commit()
    table.refresh()
    for use in (lambda: table.scan().to_arrow(), lambda: table.append(pa.table({"id": [2]}))):
        with pytest.raises(UnsupportedError, match=r"/t is encrypted.*'k1'"):
            use()


def test_a_transform_of_several_columns_is_read_and_not_written_with(tmp_path: Path) -> None:
    table = make(tmp_path, "id bigint, k bigint")
    table.append(pa.table({"id": [1], "k": [2]}))
    newest = max((tmp_path / "t" / "metadata").glob("*.metadata.json"))
    document = json.loads(newest.read_text())
    field = {"source-ids": [1, 2], "field-id": 1000, "name": "both", "transform": "hilbert[4]"}
    document["partition-specs"].append({"spec-id": 1, "fields": [field]})
    document |= {"default-spec-id": 1, "last-partition-id": 1000}
    newest.write_text(json.dumps(document))
    table = ice.load_table(str(tmp_path / "t"))
    assert table.scan("k = 2").count() == 1
    assert table.spec().fields[0].source_ids == (1, 2)
    with pytest.raises(UnsupportedError, match="'both'"):
        table.append(pa.table({"id": [2], "k": [3]}))
    table.update_properties().set({"owner": "me"}).commit()
    kept = json.loads(max((tmp_path / "t" / "metadata").glob("*.metadata.json")).read_text())
    assert kept["partition-specs"][1]["fields"] == [field]


GEOMETRIES = {
    "geometry(4326)": "geometry",
    "geography(4326)": "geography",
    "geometry(3857)": "geometry(EPSG:3857)",
    "geometry('srid:3857')": "geometry(srid:3857)",
    "geography('OGC:CRS84', 'vincenty')": "geography(OGC:CRS84, vincenty)",
}


@pytest.mark.parametrize("text", GEOMETRIES)
def test_a_geometrys_crs_is_written_as_in_sparks_ddl(tmp_path: Path, text: str) -> None:
    table = make(tmp_path, f"id bigint, g {text}")
    table.update_schema().add_column("h", text).commit()
    kinds = [str(field.field_type) for field in table.refresh().schema().fields[1:]]
    assert kinds == [GEOMETRIES[text]] * 2


@pytest.mark.parametrize("text", ["geometry(any)", "geometry(4326, 'x')", "geography('a', 'flat')"])
def test_a_geometry_that_no_column_can_have_is_refused(tmp_path: Path, text: str) -> None:
    table = make(tmp_path, "id bigint")
    with pytest.raises(InvalidSchemaError):
        table.update_schema().add_column("h", text)


@pytest.mark.parametrize("file_format", ["parquet", "orc", "avro"])
def test_rows_of_nulls_alone_are_all_written(tmp_path: Path, file_format: str) -> None:
    """They take no bytes in memory."""
    properties = {"format-version": "3", "write.format.default": file_format}
    table = ice.create_table(str(tmp_path / "t"), "u unknown", properties=properties)
    table.append(pa.table({"u": pa.nulls(5)}))
    assert (table.scan().count(), table.scan().to_arrow().num_rows) == (5, 5)
