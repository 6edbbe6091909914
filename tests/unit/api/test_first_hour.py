"""What somebody new gets wrong, and that each answer says what to do."""

import datetime as dt
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import iceberg_spark as ice
from iceberg_spark import Table
from iceberg_spark.api.schema_input import as_schema
from iceberg_spark.errors import IcebergError, InvalidOptionError
from iceberg_spark.save.plan_save import check_creation_options, plan_upsert
from iceberg_spark.save.write_options import write_options
from iceberg_spark.spec import properties
from iceberg_spark.spec.properties import property_warnings
from tests.unit.api.tables import ids, make, new_location, rows

COLUMNS = "id bigint, name string, ts timestamp"
Use = Callable[[Table], Any]

MISTAKES: dict[str, tuple[Use, str]] = {
    "a table named by None": (lambda _: ice.load_table(None), "text or a Path"),
    "an empty name": (lambda _: ice.load_table(" "), "is empty"),
    "a Path of a store": (
        lambda _: ice.load_table(Path("s3://bucket/t")),
        r"drops a slash of 's3://'",
    ),
    "a snapshot asked of load_table": (
        lambda t: ice.load_table(t.location(), snapshot_id=1),
        r"t\.scan\(snapshot_id=\.\.\.\)",
    ),
    "a misspelt argument": (
        lambda _: ice.create_table(new_location(), COLUMNS, partitioned_by="name"),
        "did you mean 'partition_by'",
    ),
    "properties that are a list": (
        lambda _: ice.create_table(new_location(), COLUMNS, properties=["a"]),
        "Properties must be a dict",
    ),
    "a property that has no text": (
        lambda _: ice.create_table(new_location(), COLUMNS, properties={"a": [1]}),
        "Property 'a' must be text",
    ),
    "a misspelt transform": (
        lambda _: ice.create_table(new_location(), COLUMNS, partition_by="dayz(ts)"),
        "did you mean 'day'",
    ),
    "a misspelt type": (
        lambda _: ice.create_table(new_location(), "id integr"),
        "Unknown type 'integr'.*did you mean 'integer'.*bigint",
    ),
    "a misspelt type in a struct": (
        lambda _: ice.create_table(new_location(), "id int comment 'a b', s struct<a: strng>"),
        "Unknown type 'strng'",
    ),
    "a misspelt type in a map": (
        lambda _: ice.create_table(new_location(), "m map<string, intt>"),
        "Unknown type 'intt'",
    ),
    "a misspelt type of a new column": (
        lambda t: t.update_schema().add_column("x", "strng"),
        "did you mean 'string'",
    ),
    "a partition column in other case": (
        lambda _: ice.create_table(new_location(), COLUMNS, partition_by="NAME"),
        "did you mean 'name'.*case",
    ),
    "a list of rows": (lambda t: t.append([{"id": 1}]), r"Table\.from_pylist"),
    "a dict of columns": (lambda t: t.append({"id": [1]}), r"pyarrow\.table\(rows\)"),
    "a path for rows": (lambda t: t.append("/data/x.parquet"), "read files first"),
    "no rows": (lambda t: t.append(None), "not NoneType"),
    "columns in other case": (
        lambda t: t.append(rows(ID=[1])),
        r"'id' is spelt 'ID'.*case_sensitive=False",
    ),
    "a misspelt column": (lambda t: t.append(rows(id=[1], nmae=["a"])), "did you mean 'name'"),
    "a pandas column of several types": (
        lambda t: t.append(pd.DataFrame({"name": ["a", 1]})),
        r"name.*astype",
    ),
    "an engine that is none": (lambda t: t.append(rows(id=[1]), engine="spark"), "native, arrow"),
    "a distribution that is none": (
        lambda t: t.append(rows(id=[1]), distribution_mode="hsh"),
        "did you mean 'hash'",
    ),
    "snapshot properties in a list": (
        lambda t: t.append(rows(id=[1]), snapshot_properties=["a"]),
        "snapshot_properties must be a dict",
    ),
    "a filter on a misspelt column": (
        lambda t: t.scan("nmae = 'a'").to_arrow(),
        "did you mean 'name'",
    ),
    "a filter on a column in other case": (
        lambda t: t.scan("NAME = 'a'").to_arrow(),
        "did you mean 'name'.*case",
    ),
    "a misspelt column selected": (
        lambda t: t.scan(selected_fields=("nmae",)).to_arrow(),
        "did you mean 'name'",
    ),
    "columns by number": (lambda t: t.scan(selected_fields=(1,)), "list of names"),
    "a misspelt metadata column": (
        lambda t: t.scan(metadata_columns="_fle").to_arrow(),
        "did you mean '_file'",
    ),
    "a snapshot id in quotes": (lambda t: t.scan(snapshot_id="7"), "without quotes"),
    "a snapshot for its id": (
        lambda t: t.scan(snapshot_id=t.current_snapshot()),
        "pass its snapshot_id",
    ),
    "a time without a zone": (
        lambda t: t.scan(as_of_timestamp_ms=dt.datetime(2024, 1, 1)),  # noqa: DTZ001
        "tzinfo=UTC",
    ),
    "a time as text": (lambda t: t.scan(as_of_timestamp_ms="2024-01-01"), "datetime with a zone"),
    "a misspelt branch": (lambda t: t.scan(branch="mian").to_arrow(), "did you mean 'main'"),
    "a branch that is no text": (lambda t: t.scan(branch=1), "branch must be text"),
    "a time zone that is no text": (lambda t: t.scan(time_zone=1), "time_zone must be text"),
    "half a row as limit": (lambda t: t.scan(limit=0.5), "limit must be an integer"),
    "a frame without a session": (lambda t: t.scan().to_df("spark"), "SparkSession is needed"),
    "sql without a session": (lambda _: ice.sql(None, "select 1"), r"sql\(spark, query\)"),
    "enable without a session": (lambda _: ice.enable(None), "SparkSession is needed"),
    "register without a session": (lambda _: ice.register(None), "SparkSession is needed"),
    "a merge on columns": (lambda t: t.merge(rows(id=[1]), ["id"]), r"t\.id = s\.id"),
    "a merge of nothing": (lambda t: t.merge(rows(id=[1]), None), r"t\.id = s\.id"),
    "a misspelt key": (lambda t: t.upsert(rows(id=[1]), ["idd"]), "did you mean 'id'"),
    "files that are None": (lambda t: t.add_files(None), "locations of Parquet files"),
    "properties set as a list": (lambda t: t.update_properties().set(["a"]), "set.. takes a dict"),
    "properties removed as a list": (
        lambda t: t.update_properties().remove(["a"]),
        r"remove\('a', 'b'\)",
    ),
    "a misspelt column to rename": (
        lambda t: t.update_schema().rename_column("nmae", "x"),
        "did you mean 'name'",
    ),
    "a tag's arguments turned round": (
        lambda t: t.manage_snapshots().create_tag("x", 3),
        "snapshot_id must be an integer",
    ),
}


@pytest.fixture
def table() -> Table:
    made = make(schema=COLUMNS)
    made.append(rows(id=[1, 2], name=["a", "b"]))
    return made


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_told_with_a_way_out(mistake: str, table: Table):
    use, told = MISTAKES[mistake]
    before = table.metadata_location
    with pytest.raises(IcebergError, match=re.compile(told, re.DOTALL)):
        use(table)
    assert table.refresh().metadata_location == before


def test_a_message_does_not_list_thousands_of_columns():
    table = make(schema=", ".join(f"column_{n} int" for n in range(2_000)))
    with pytest.raises(IcebergError, match=r"and 1960 more; did you mean 'column_7'") as caught:
        table.scan(selected_fields=("colunm_7",)).to_arrow()
    assert len(str(caught.value)) < 1_000


def test_a_table_is_named_by_a_path_object(tmp_path: Path):
    make(tmp_path / "t").append(rows(id=[1]))
    assert ids(ice.load_table(tmp_path / "t")) == [1]
    made = ice.create_table(tmp_path / "u", "id bigint", partition_by=None, sort_order=None)
    assert made.location() == str(tmp_path / "u")


def test_a_tilde_is_the_home_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    made = ice.create_table("~/t/", "id bigint")
    assert made.location() == str(tmp_path / "t")
    assert [path.name for path in tmp_path.iterdir()] == ["t"]
    assert ice.load_table("~/t").metadata_location == made.metadata_location


def test_an_identifier_may_be_a_tuple(tmp_path: Path):
    catalog = ice.load_catalog("c", type="filesystem", warehouse=tmp_path)
    made = catalog.create_table(("db", "t"), "id bigint")
    assert made.location() == str(tmp_path / "db" / "t")
    assert catalog.table_exists(("db", "t"))
    assert catalog.load_table("db.t").metadata_location == made.metadata_location


def test_numbers_of_numpy_and_times_with_a_zone_are_taken(table: Table):
    current = table.current_snapshot()
    assert current is not None
    assert ids(table, snapshot_id=np.int64(current.snapshot_id), limit=np.int8(1)) == [1]
    at = dt.datetime.fromtimestamp(current.timestamp_ms / 1000, dt.UTC)
    assert ids(table, as_of_timestamp_ms=at) == [1, 2]
    table.manage_snapshots().create_tag(np.int64(current.snapshot_id), "x").commit()
    assert table.refs()["x"].snapshot_id == current.snapshot_id


def test_a_pandas_frame_is_appended_overwritten_and_upserted():
    """NaN is null, the nameless index goes, nanoseconds are cut to what Iceberg has."""
    table = make(schema="id bigint, name string, x double, at timestamp_ntz")
    frame = pd.DataFrame(
        {
            "id": [1, 2],
            "name": ["a", None],
            "x": [1.5, float("nan")],
            "at": pd.to_datetime(["2024-01-01", "2024-01-02"]),
        }
    )
    table.append(frame)
    stored = table.scan().to_arrow().to_pylist()
    assert stored == [
        {"id": 1, "name": "a", "x": 1.5, "at": dt.datetime(2024, 1, 1)},  # noqa: DTZ001
        {"id": 2, "name": None, "x": None, "at": dt.datetime(2024, 1, 2)},  # noqa: DTZ001
    ]
    table.upsert(frame.tail(1).assign(name="c"), ["id"])
    assert sorted(table.scan().to_arrow()["name"].to_pylist()) == ["a", "c"]
    table.overwrite(frame.head(1).assign(id=7), "id = 1")
    assert ids(table) == [2, 7]
    with table.transaction() as tx:
        tx.append(frame[frame.id > 1])
    assert ids(table) == [2, 2, 7]


def test_a_named_index_of_pandas_becomes_columns():
    table = make(schema="k string, n bigint")
    table.append(pd.DataFrame({"k": ["a", "b", "a"], "n": [1, 2, 3]}).groupby("k").sum())
    assert sorted(table.scan().to_arrow()["n"].to_pylist()) == [2, 4]
    assert table.scan("k = 'a'").to_arrow()["n"].to_pylist() == [4]


def test_times_of_pandas_finer_than_microseconds_are_refused():
    table = make(schema="at timestamp_ntz")
    with pytest.raises(IcebergError, match="lose data"):
        table.append(pd.DataFrame({"at": [pd.Timestamp("2024-01-01 00:00:00.000000001")]}))


def test_whatever_gives_an_arrow_stream_is_appended():
    table = make()
    table.append(pl.DataFrame({"id": [1, 2], "k": ["a", "b"]}))
    assert ids(table) == [1, 2]


def test_pandas_is_not_needed(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    table = make()
    table.append(rows(id=[1], k=["a"]))
    with pytest.raises(IcebergError, match="not list"):
        table.append([1])


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("write.fromat.default", "write.format.default"),
        ("write.target-file-size", "write.target-file-size-bytes"),
        ("read.split.targetsize", "read.split.target-size"),
        ("commit.retry.num-retry", "commit.retry.num-retries"),
        ("history.expire.max-snapshot-age", "history.expire.max-snapshot-age-ms"),
    ],
)
def test_a_property_that_nobody_knows_is_told_and_kept(name: str, meant: str, table: Table):
    told = f"'{name}' is unknown to Iceberg.*did you mean '{meant}'"
    with pytest.warns(UserWarning, match=told):
        made = ice.create_table(new_location(), COLUMNS, properties={name: "1"})
    assert made.properties[name] == "1"
    with pytest.warns(UserWarning, match=told):
        table.update_properties().set({name: "1"}).commit()


def test_known_properties_and_those_of_others_are_not_told(table: Table):
    table.update_properties().set(
        {
            "write.parquet.bloom-filter-enabled.column.id": "true",
            "write.metadata.metrics.column.name": "full",
            "write.upsert.enabled": "true",
            "owner": "me",
            "my.write.mode": "x",
        }
    ).commit()
    javas = (Path(__file__).parents[2] / "java_table_properties.txt").read_text().split()
    ours = [one for one in vars(properties).values() if isinstance(one, str) and "." in one]
    names = [*javas, *(one for one in ours if " " not in one)]
    assert property_warnings(dict.fromkeys(names, "")) == []


def test_a_codec_that_few_engines_read_is_warned_of(tmp_path: Path):
    name = "write.parquet.compression-codec"
    with pytest.warns(UserWarning, match=f"'{name}' = 'brotli'.*'zstd'"):
        table = ice.create_table(str(tmp_path / "t"), "id bigint", properties={name: "Brotli"})
    with pytest.warns(UserWarning, match="'write.delete.parquet.compression-codec' = 'brotli'"):
        table.update_properties().set({f"{name[:6]}delete.{name[6:]}": "brotli"}).commit()


def check(table: Table, **options: str) -> None:
    given = {key.replace("_", "-"): value for key, value in options.items()}
    check_creation_options(write_options({"path": "x", **given}), table.metadata)


def test_the_layout_of_a_save_is_the_tables_own_or_refused():
    table = make(schema=COLUMNS, partition_by=["days(ts)", "bucket(4, id)", "name"])
    check(table)
    check(table, partition_by="day(ts), bucket(4, ID), Name", format_version="2")
    for other in ("days(ts)", "days(ts), bucket(8, id), name", "months(ts), bucket(4, id), name"):
        with pytest.raises(
            InvalidOptionError, match=r"day\(ts\), bucket\[4\]\(id\), name.*update_spec"
        ):
            check(table, partition_by=other)
    with pytest.raises(InvalidOptionError, match=r"sorted by nothing.*leave the option out"):
        check(table, sort_order="id")
    with pytest.raises(InvalidOptionError, match=r"the table has 2.*update_properties"):
        check(table, format_version="1")
    with pytest.raises(InvalidOptionError, match="partitioned by nothing"):
        check(make(schema=COLUMNS), partition_by="name")


def test_another_value_of_a_property_is_told():
    table = make(schema=COLUMNS, **{"write.format.default": "orc"})
    check(table, **{"table-property.write.format.default": "orc"})
    with pytest.warns(UserWarning, match="this table has 'orc'"):
        check(table, **{"table-property.write.format.default": "avro"})
    with pytest.warns(UserWarning, match="this table has none"):
        check(table, **{"table-property.write.target-file-size-bytes": "5"})


def test_a_save_by_key_of_the_plain_source_is_held_to_the_tables_layout(tmp_path: Path):
    ice.create_table(tmp_path, "id bigint, k string", partition_by=["k"])
    given = {"path": str(tmp_path), "write-mode": "upsert", "equality-fields": "id,k"}
    frame = as_schema("id bigint, k string")
    plan_upsert(write_options({**given, "partition-by": "K"}), frame, overwrite=False)
    for option in ({"partition-by": "bucket(4, id)"}, {"sort-order": "id"}):
        with pytest.raises(InvalidOptionError, match=r"ed by (k|nothing): leave"):
            plan_upsert(write_options({**given, **option}), frame, overwrite=False)
    with pytest.warns(UserWarning, match="this table has none"):
        plan_upsert(write_options({**given, "table-property.a": "b"}), frame, overwrite=False)
