"""Every type that Spark and Iceberg share goes through the data source unchanged."""

import datetime as dt
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from chispa.schema_comparer import assert_schema_equality

import iceberg_spark as ice

EVERY_TYPE = """
    select true b, 1 i, cast(2 as bigint) l, cast(1.5 as float) f, 2.5d d,
      cast(3.25 as decimal(9,2)) d9, cast(-4.5 as decimal(18,4)) d18,
      cast(12345678901234567890.5 as decimal(38,10)) d38,
      date'1969-12-31' dt, timestamp'{moment}' ts,
      timestamp_ntz'2024-02-29 12:00:00.000001' tn, 'grün €' s, X'00FF' bin,
      named_struct('a', 1, 'b', named_struct('c', 'x')) st, array(1, null, 3) ar,
      array(named_struct('x', 1), null) ast, map('k', 1.5d, 'z', null) m,
      map(1, array('a', null)) ml
    union all select {nulls}
"""


@contextmanager
def settings(session: Any, **values: str) -> Iterator[None]:
    """Set Spark settings, their dots written as two underscores, for a while."""
    named = {key.replace("__", "."): value for key, value in values.items()}
    before = {key: session.conf.get(key) for key in named}
    try:
        for key, value in named.items():
            session.conf.set(key, value)
        yield
    finally:
        for key, value in before.items():
            session.conf.set(key, value)


@pytest.mark.parametrize(
    ("zone", "ansi", "file_format"),
    [
        ("UTC", "true", "parquet"),
        ("America/Los_Angeles", "false", "parquet"),
        ("Asia/Kolkata", "true", "orc"),
        ("America/Los_Angeles", "true", "avro"),
    ],
)
def test_every_type_comes_back_equal(
    any_spark: Any, tmp_path: Path, zone: str, ansi: str, file_format: str
) -> None:
    with settings(any_spark, spark__sql__session__timeZone=zone, spark__sql__ansi__enabled=ansi):
        # ORC through Arrow can't hold a fraction of a second before 1970: it is refused
        moment = "1969-12-31 23:59:59" + ("" if file_format == "orc" else ".999999")
        query = EVERY_TYPE.format(nulls=", ".join(["null"] * 18), moment=moment)
        frame = any_spark.sql(query).coalesce(1)
        location = str(tmp_path / "t")
        writer = frame.write.format("pyiceberg-lite").mode("append")
        writer.option("write-format", file_format).save(location)
        back = any_spark.read.format("pyiceberg-lite").load(location)
        assert sorted(map(str, back.collect())) == sorted(map(str, frame.collect()))
        assert_schema_equality(back.schema, frame.schema, ignore_nullable=True)


def test_float_specials_come_back(spark: Any, tmp_path: Path) -> None:
    query = "values (double('NaN')), (-0.0d), (double('-inf')) as t(d)"
    location = str(tmp_path / "t")
    spark.sql(query).write.format("pyiceberg-lite").mode("append").save(location)
    shown = [str(row.d) for row in spark.read.format("pyiceberg-lite").load(location).collect()]
    assert sorted(shown) == ["-0.0", "-inf", "nan"]


def test_uuid_shows_as_text_and_fixed_as_binary(spark: Any, tmp_path: Path) -> None:
    location = str(tmp_path / "t")
    table = ice.create_table(
        location,
        ice.Schema(
            ice.NestedField(1, "u", ice.UUIDType()),
            ice.NestedField(2, "x", ice.FixedType(4)),
            ice.NestedField(3, "us", ice.ListType(4, ice.UUIDType())),
        ),
    )
    one = uuid.UUID("f79c3e09-677c-4bbd-a479-3f349cb785e7")
    ids = pa.array([one.bytes, None], pa.binary(16))
    lists = pa.array([[one.bytes, None], None], pa.list_(pa.binary(16)))
    table.append(pa.table({"u": ids, "x": pa.array([b"abcd", None], pa.binary(4)), "us": lists}))
    frame = spark.read.format("pyiceberg-lite").load(location)
    assert frame.schema.simpleString() == "struct<u:string,x:binary,us:array<string>>"
    rows = sorted(frame.collect(), key=lambda row: row.u is None)
    assert (rows[0].u, bytes(rows[0].x), rows[0].us) == (str(one), b"abcd", [str(one), None])
    assert (rows[1].u, rows[1].x, rows[1].us) == (None, None, None)


def test_uuid_text_is_written_to_a_uuid_column(spark: Any, tmp_path: Path) -> None:
    location = str(tmp_path / "t")
    ice.create_table(location, ice.Schema(ice.NestedField(1, "u", ice.UUIDType())))
    text = "f79c3e09-677c-4bbd-a479-3f349cb785e7"
    frame = spark.createDataFrame([(text,), (None,)], "u string")
    frame.write.format("pyiceberg-lite").mode("append").save(location)
    back = spark.read.format("pyiceberg-lite").load(location).collect()
    assert sorted(str(row.u) for row in back) == ["None", text]


def test_time_is_refused_and_can_be_left_out(spark: Any, tmp_path: Path) -> None:
    location = str(tmp_path / "t")
    table = ice.create_table(location, "id bigint, t time")
    table.append(pa.table({"id": [1], "t": [dt.time(1, 2, 3)]}))
    with pytest.raises(Exception, match=r"'t' has type time.*columns"):
        spark.read.format("pyiceberg-lite").load(location).collect()
    frame = spark.read.format("pyiceberg-lite").option("columns", "id").load(location)
    assert frame.collect()[0].id == 1


def test_comments_and_nullability_are_the_tables(any_spark: Any, tmp_path: Path) -> None:
    location = str(tmp_path / "t")
    ice.create_table(location, "id bigint not null comment 'the key', s struct<a: int>")
    fields = any_spark.read.format("pyiceberg-lite").load(location).schema.fields
    assert [(f.name, f.nullable, dict(f.metadata)) for f in fields] == [
        ("id", False, {"comment": "the key"}),
        ("s", True, {}),
    ]


def test_decimals_keep_their_scale(spark: Any, tmp_path: Path) -> None:
    location = str(tmp_path / "t")
    frame = spark.sql("select cast(1 as decimal(10,3)) d")
    frame.write.format("pyiceberg-lite").mode("append").save(location)
    back = spark.read.format("pyiceberg-lite").load(location)
    assert back.collect()[0].d == Decimal("1.000")
    assert back.schema["d"].dataType.simpleString() == "decimal(10,3)"
