"""Variants and columns of unknown type in frames, on both engines, and changes of such rows."""

import datetime as dt
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import functions as sf

import iceberg_spark as ice
from iceberg_spark.api.table import Table
from iceberg_spark.engines import delete_change

DDL = (
    "id bigint, v variant, st struct<a: int, w: variant>, l array<variant>, m map<string, variant>"
)
JSON = [
    '{"a": 1, "b": "x", "c": {"d": [1, 2.5, null, true]}}',
    '{"a": 20000000000, "b": "y"}',
    "[]",
    '"text"',
    None,
    '{"a": null}',
]
VERSION_3 = {"format-version": "3"}


def frame(spark: Any, first: int = 0) -> Any:
    rows = [(first + number, text) for number, text in enumerate(JSON)]
    plain = spark.createDataFrame(rows, "id bigint, j string")
    return plain.selectExpr(
        "id",
        "parse_json(j) v",
        "if(id % 2 = 0, named_struct('a', cast(id as int), 'w', parse_json(j)), null) st",
        "array(parse_json(j), parse_json('1')) l",
        "map('k', parse_json(j)) m",
    )


def shown(rows: Any) -> list[tuple[Any, ...]]:
    """The rows as JSON, in the order of their ids."""
    texts = rows.select(
        "id",
        sf.expr("to_json(v)"),
        "st.a",
        sf.expr("to_json(st.w)"),
        sf.expr("to_json(l[0])"),
        sf.expr("size(l)"),
        sf.expr("to_json(m['k'])"),
    )
    return sorted(map(tuple, texts.collect()))


def make(spark: Any, tmp_path: Path, **properties: str) -> Table:
    table = ice.create_table(str(tmp_path / "t"), DDL, properties=VERSION_3 | properties)
    table.append(frame(spark))
    return table.refresh()


def test_variants_are_written_and_read_by_both_engines(any_spark: Any, tmp_path: Path) -> None:
    table = make(any_spark, tmp_path)
    expected = shown(frame(any_spark))
    for engine in ("native", "arrow"):
        assert shown(table.scan().to_df(any_spark, engine=engine)) == expected
    plain = any_spark.read.format("pyiceberg-lite").load(table.location())
    assert shown(plain) == expected
    read = table.scan().to_df(any_spark, engine="native")
    assert read.where("variant_get(v, '$.a', 'bigint') > 1").count() == 1
    assert read.where("v is null").count() == 1
    assert table.scan("v is null").to_df(any_spark).count() == 1
    assert table.scan("v is not null").count() == 5


def test_rows_with_variants_are_changed(spark: Any, tmp_path: Path) -> None:
    table = make(spark, tmp_path)
    table.delete("id = 2")
    table.refresh().update({"v": "parse_json('7')"}, where="variant_get(v, '$.b', 'string') = 'y'")
    source = frame(spark, 4).where("id in (5, 9)")
    merge = table.refresh().merge(source, "t.id = s.id")
    merge.when_matched_update_all().when_not_matched_insert_all().execute()
    table.refresh().upsert(frame(spark, 20).where("id = 20"), keys=["id"])
    read = table.refresh().scan().to_df(spark)
    found = {row[0]: row[1] for row in shown(read)}
    assert found[1] == "7"
    assert sorted(found) == [0, 1, 3, 4, 5, 9, 20]
    assert found[20] == shown(frame(spark))[0][1]


def test_a_shredded_file_is_read_by_both_engines(spark: Any, tmp_path: Path) -> None:
    """Types vary, so that some values fit their columns and others don't."""
    table = ice.create_table(str(tmp_path / "t"), "id bigint, v variant", properties=VERSION_3)
    made = spark.range(200).selectExpr(
        "id",
        """case when id % 7 = 0 then parse_json('[1, {"x": 2}]') when id % 11 = 0 then null
           when id % 13 = 0 then parse_json(concat('{"n": "', id, '", "other": {"z": 1}}'))
           else parse_json(concat('{"n": ', id, ', "s": "', repeat('t', cast(id as int)),
           '", "d": ', id, '.25, "l": [1, ', id, '], "o": {"p": true, "q": ', id, '}}')) end v""",
    )
    folder = str(tmp_path / "shredded")
    columns = "n bigint, s string, d decimal(9, 2), l array<int>, o struct<p boolean, q int>"
    spark.conf.set("spark.sql.variant.writeShredding.enabled", "true")
    spark.conf.set("spark.sql.variant.forceShreddingSchemaForTest", columns)
    try:
        made.coalesce(1).write.parquet(folder)
    finally:
        spark.conf.unset("spark.sql.variant.writeShredding.enabled")
        spark.conf.unset("spark.sql.variant.forceShreddingSchemaForTest")
    (file,) = Path(folder).glob("*.parquet")
    assert "typed_value" in str(pq.ParquetFile(file).schema)
    table.add_files([str(file)])
    table.refresh()
    text = "id", "to_json(v)", "variant_get(v, '$.o.q', 'int')", "schema_of_variant(v)"
    expected = sorted(map(str, made.selectExpr(*text).collect()))
    for engine in ("native", "arrow"):
        rows = table.scan().to_df(spark, engine=engine).selectExpr(*text)
        assert sorted(map(str, rows.collect())) == expected
    table.delete("variant_get(v, '$.o.q', 'int') = 5")
    assert table.refresh().scan().count() == 199


def test_columns_of_nothing_are_nulls_in_frames(any_spark: Any, tmp_path: Path) -> None:
    rows = any_spark.range(3).selectExpr(
        "id",
        "null u",
        "named_struct('n', null, 'i', id) st",
        "array(null) l",
        "map('k', null) m",
    )
    options = {"format-version": "3"}
    place = str(tmp_path / "t")
    rows.write.format("pyiceberg-lite").options(**options).mode("append").save(place)
    table = ice.load_table(place)
    table.append(rows)
    read = table.refresh().scan().to_df(any_spark)
    assert [each.dataType.simpleString() for each in read.schema.fields] == [
        "bigint",
        "void",
        "struct<n:void,i:bigint>",
        "array<void>",
        "map<string,void>",
    ]
    assert sorted(read.where("u is null").toArrow().to_pylist(), key=lambda row: row["id"])[4] == {
        "id": 2,
        "u": None,
        "st": {"n": None, "i": 2},
        "l": [None],
        "m": [("k", None)],
    }


def test_geometries_are_sparks_where_the_session_has_them(spark: Any, tmp_path: Path) -> None:
    point = bytes.fromhex("0101000000000000000000f03f0000000000000040")
    table = ice.create_table(
        str(tmp_path / "t"), "id bigint, g geometry, l array<geography>", properties=VERSION_3
    )
    table.append(pa.table({"id": [1, 2], "g": [point, None], "l": [[point, None], None]}))
    before = spark.conf.get("spark.sql.geospatial.enabled")
    try:
        spark.conf.set("spark.sql.geospatial.enabled", "false")
        with pytest.raises(ice.errors.UnsupportedError, match="'g' has type geometry"):
            table.refresh().scan().to_df(spark)
        spark.conf.set("spark.sql.geospatial.enabled", "true")
        frame = table.refresh().scan().to_df(spark)
        table.append(frame.where("id = 1").selectExpr("id + 2 as id", "g", "l"))
        shown = table.refresh().scan().to_df(spark).selectExpr("id", "st_asbinary(g)", "size(l)")
        assert sorted((a, b and bytes(b), c) for a, b, c in shown.collect()) == [
            (1, point, 2),
            (2, None, None),
            (3, point, 2),
        ]
    finally:
        spark.conf.set("spark.sql.geospatial.enabled", before)
    assert sorted(row["id"] for row in table.scan().to_arrow().to_pylist() if row["g"]) == [1, 3]


def test_nanoseconds_are_missed_by_name_and_other_columns_read(spark: Any, tmp_path: Path) -> None:
    table = ice.create_table(str(tmp_path / "t"), "id bigint", properties=VERSION_3)
    table.update_schema().add_column("at", "timestamp_ns").commit()
    at = pa.array([dt.datetime(2024, 1, 1, tzinfo=dt.UTC).timestamp() * 10**9], pa.timestamp("ns"))
    table.refresh().append(pa.table({"id": [1], "at": at}))
    with pytest.raises(ice.errors.UnsupportedError, match="'at' has type timestamp_ns"):
        table.refresh().scan().to_df(spark)
    read = table.scan(selected_fields=("id",), row_filter="at > '2023-12-31 00:00:00'").to_df(spark)
    assert read.count() == 1


def test_rows_with_nanoseconds_are_deleted_and_other_changes_name_the_column(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(delete_change, "IN_PROCESS_BYTES", 0)  # or Spark would not be asked
    table = ice.create_table(
        str(tmp_path / "t"),
        "id bigint, at timestamp_ns",
        properties={**VERSION_3, "write.delete.mode": "merge-on-read"},
    )
    moments = pa.array([1, -1, 3, 4, 5, 6], pa.timestamp("ns"))
    table.append(pa.table({"id": list(range(6)), "at": moments}))
    table.refresh().delete("id % 3 = 2 and length(cast(id as string)) = 1")  # by Spark alone
    table.update_properties().set({"write.delete.mode": "copy-on-write"}).commit()
    table.refresh().delete("at = '1970-01-01 00:00:00.000000004'")
    left = table.refresh().scan().to_arrow().sort_by("id")
    assert left["id"].to_pylist() == [0, 1, 4]
    assert left["at"].cast(pa.int64()).to_pylist() == [1, -1, 5]
    source = spark.createDataFrame([(1,)], "id bigint")
    changes: dict[str, Callable[[], object]] = {
        "an update": lambda: table.update({"id": "id + 1"}, where="id = 1"),
        "a merge": lambda: table.merge(source, "t.id = s.id").when_matched_delete().execute(),
        "a copy-on-write delete": lambda: table.delete("length(cast(id as string)) = 1"),
    }
    for what, change in changes.items():
        with pytest.raises(ice.errors.UnsupportedError, match=rf"'at' has type .*{what} writes"):
            change()
