"""Catalogs that only a session's settings describe: `spark.sql.catalog.NAME.*`, as for Java."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

import iceberg_spark as ice
from iceberg_spark.catalog.filesystem import FileSystemCatalog
from iceberg_spark.errors import (
    IcebergError,
    InvalidInputError,
    InvalidOptionError,
    NoSuchTableError,
    UnsupportedError,
)
from iceberg_spark.spark.session import session_catalogs
from iceberg_spark.spark.session.classic_session import is_connect
from iceberg_spark.spark.session.session_catalogs import session_catalog
from iceberg_spark.spark.sql.enabled_sessions import is_enabled

FORMAT = "pyiceberg-lite"
PREFIX = "spark.sql.catalog."


@pytest.fixture
def lake(any_spark: Any, tmp_path: Path) -> Iterator[Any]:
    """Yield an enabled session that alone knows the catalog `lake`, spelt as for Java."""
    settings = {
        "lake": "org.apache.iceberg.spark.SparkCatalog",
        "lake.type": "hadoop",
        "lake.warehouse": str(tmp_path),
        "lake.io-impl": "org.apache.iceberg.hadoop.HadoopFileIO",
        "lake.header.x": "a=1, b={2}, spark.sql.catalog.lake.y=3",
        "lake.table-default.owner": "session",
    }
    for key, value in settings.items():
        any_spark.conf.set(PREFIX + key, value)
    ice.enable(any_spark)
    yield any_spark
    ice.disable(any_spark)
    for key in settings:
        any_spark.conf.unset(PREFIX + key)


@pytest.fixture
def table(lake: Any) -> Any:
    made = ice.create_table("lake.db.t", "id bigint, k string", partition_by=["k"])
    made.append(pa.table({"id": [1, 2], "k": ["a", "b"]}))
    return made


def ids(frame: Any) -> list[int]:
    return sorted(row.id for row in frame.select("id").collect())


def test_values_keep_what_separates_settings(lake: Any, tmp_path: Path) -> None:
    assert session_catalog(lake, "lake") == {
        "type": "hadoop",
        "warehouse": str(tmp_path),
        "io-impl": "org.apache.iceberg.hadoop.HadoopFileIO",
        "header.x": "a=1, b={2}, spark.sql.catalog.lake.y=3",
        "table-default.owner": "session",
    }


def test_every_function_and_verb_knows_the_catalog(lake: Any, table: Any, tmp_path: Path) -> None:
    assert table.location() == f"{tmp_path}/db/t"
    assert table.properties == {"owner": "session"}
    assert ice.load_catalog("lake").list_tables("db") == [("db", "t")]
    ice.load_table("lake.db.t").delete("id = 1")
    assert ids(ice.load_table("lake.db.t").scan().to_df(lake)) == [2]
    assert ids(lake.read.format(FORMAT).load("lake.db.t")) == [2]
    assert ids(lake.read.table("`lake`.db.t")) == [2]
    assert ids(ice.sql(lake, "select * from lake.db.t where k = 'b'")) == [2]


def test_metadata_tables_are_read_through_it(lake: Any, table: Any) -> None:
    table.append(pa.table({"id": [3], "k": ["a"]}))
    by_hook = lake.read.format(FORMAT).load("lake.db.t#files")
    by_text = ice.sql(lake, "select * from lake.db.t.files")
    for frame in (by_hook, by_text):
        assert sorted(row.record_count for row in frame.collect()) == [1, 1, 1]
    assert by_hook.schema == by_text.schema
    first = table.snapshots()[0].snapshot_id
    then = lake.read.format(FORMAT).option("snapshot-id", first).load("lake.db.t#files")
    assert then.count() == 2
    assert ice.sql(lake, "select * from lake.db.t.snapshots").count() == 2


def test_a_catalog_that_sees_tables_everywhere_has_metadata_tables(
    lake: Any, table: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(FileSystemCatalog, "table_exists", lambda *_: True)  # as Java's server
    assert ice.sql(lake, "select * from lake.db.t.snapshots").count() == 1
    with pytest.raises(NoSuchTableError, match=r"db/nowhere/snapshots"):
        ice.sql(lake, "select * from lake.db.nowhere.snapshots")


@pytest.mark.parametrize("name", ["lake.``", "lake.`x/y`", "lake.db.``", "lake.db.`x/y`"])
def test_a_name_in_a_catalog_is_never_a_location(
    lake: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """The text `lake.x/y` would be a folder of the current directory."""
    monkeypatch.chdir(tmp_path)
    before = set(tmp_path.iterdir())
    with pytest.raises(InvalidInputError, match=r"empty part|has a slash"):
        ice.sql(lake, f"CREATE TABLE {name} (id bigint) USING iceberg")
    with pytest.raises(NoSuchTableError if "/" in name else InvalidInputError):
        ice.sql(lake, f"SELECT * FROM {name}")
    assert set(tmp_path.iterdir()) == before


def test_frames_are_saved_to_it(lake: Any) -> None:
    frame = lake.range(3)
    frame.write.format(FORMAT).save("lake.db.made")
    frame.write.format(FORMAT).mode("append").save("lake.db.made")
    made = ice.load_table("lake.db.made")
    assert made.properties == {"owner": "session"}
    assert made.scan().count() == 6


def test_streams_are_read_and_written_through_it(
    lake: Any, table: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if not is_connect(lake):  # whose events show options as they are
        lake.conf.set(f"{PREFIX}lake.token", "hush-hush")
    with table.manage_snapshots() as snapshots:
        snapshots.create_branch(table.current_snapshot().snapshot_id, "side")
    table.append(pa.table({"id": [3], "k": ["on main"]}))
    try:
        reader = lake.readStream  # used again: the first name's branch is not the second's
        for name, read in (("`lake`.db.t.branch_side", [1, 2]), ("lake.db.t", [1, 2, 3])):
            rows = reader.table(name)
            rows.explain(extended=True)
            query = (
                rows.writeStream.format(FORMAT)
                .option("checkpointLocation", str(tmp_path / f"checkpoint{len(read)}"))
                .trigger(availableNow=True)
                .toTable(f"`lake`.`db`.copy{len(read)}")
            )
            assert query.awaitTermination(120)
            query.explain(extended=True)
            assert ids(lake.read.table(f"lake.db.copy{len(read)}")) == read
        changes = reader.table("lake.db.t.changes")
        assert changes.columns[:2] == ["id", "k"]
        assert "_change_type" in changes.columns
    finally:
        lake.conf.unset(f"{PREFIX}lake.token")
    said = capsys.readouterr().out
    assert "hush-hush" not in said
    assert len(said) > 100


def test_names_that_are_no_streams_are_refused(lake: Any, table: Any) -> None:
    reader = lake.readStream
    writer = lake.readStream.format("rate").load().writeStream
    for name in ("lake.db.t.tag_x", "lake.db.t.snapshots"):
        with pytest.raises(UnsupportedError, match=r"lake\.db\.t\.branch_"):
            reader.table(name)
        with pytest.raises(UnsupportedError, match=r"lake\.db\.t\.branch_"):
            writer.toTable(name)
    with pytest.raises(InvalidOptionError, match=r"'side'.*'main'"):
        reader.option("Branch", "main").table("lake.db.t.branch_side")
    with pytest.raises(UnsupportedError, match=r"readStream.*load\('lake\.db\.t#changes'\)"):
        lake.readStream.changes("lake.db.t")
    with pytest.raises(UnsupportedError, match=r"scan\(\)\.changes"):
        lake.read.changes("`lake`.db.t")


def test_what_is_configured_outside_the_session_comes_first(
    lake: Any, table: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYICEBERG_CATALOG__LAKE__WAREHOUSE", str(tmp_path / "other"))
    other = ice.create_table("lake.db.t", "id bigint")
    assert other.location() == f"{tmp_path}/other/db/t"


def test_catalogs_of_others_stay_spark_s(lake: Any, table: Any) -> None:
    lake.conf.set(f"{PREFIX}theirs", "org.example.Catalog")
    lake.conf.set(f"{PREFIX}theirs.warehouse", "/nowhere")
    try:
        with pytest.raises((PySparkException, Py4JError), match=r"org\.example\.Catalog"):
            ice.sql(lake, "select * from theirs.db.t").collect()
    finally:
        lake.conf.unset(f"{PREFIX}theirs")
        lake.conf.unset(f"{PREFIX}theirs.warehouse")


def test_the_plain_source_says_where_session_catalogs_are_seen(lake: Any, table: Any) -> None:
    ice.disable(lake)
    with pytest.raises(PySparkException, match=r"seen by ice\.load_table, ice\.sql"):
        lake.read.format(FORMAT).load("lake.db.t").collect()
    with pytest.raises(PySparkException, match="not by the plain source"):
        assert lake.readStream.format(FORMAT).load("lake.db.t").schema


def test_a_name_that_nobody_describes_is_an_error(lake: Any) -> None:
    with pytest.raises(InvalidInputError, match="'sea' is not configured"):
        ice.load_table("sea.db.t")


@pytest.mark.parametrize(
    ("key", "value", "is_ours"),
    [
        ("type", "nessie", False),
        ("type", "bigquery", False),
        ("catalog-impl", "org.example.OwnCatalog", False),
        ("catalog-impl", "org.apache.iceberg.rest.RESTCatalog", True),
        ("type", "REST", True),
        ("uri", "thrift://localhost:1", True),
    ],
)
def test_a_java_catalog_of_a_kind_that_is_not_there_is_left_to_spark(
    any_spark: Any, key: str, value: str, is_ours: bool
) -> None:
    """Where Spark has a class for it, which may be able to; else the kind is an error."""
    any_spark.conf.set(f"{PREFIX}other.{key}", value)
    try:
        assert session_catalogs.is_ours(any_spark, "other")
        any_spark.conf.set(f"{PREFIX}other", "org.apache.iceberg.spark.SparkCatalog")
        assert session_catalogs.is_ours(any_spark, "other") is is_ours
    finally:
        any_spark.conf.unset(f"{PREFIX}other.{key}")
        any_spark.conf.unset(f"{PREFIX}other")


def test_a_catalog_named_local_is_the_sessions_where_it_is_described(
    any_spark: Any, tmp_path: Path
) -> None:
    """As in the quickstart of Iceberg for Spark; else it is the one that needs no configuration."""
    settings = {
        "local": "org.apache.iceberg.spark.SparkCatalog",
        "local.type": "hadoop",
        "local.warehouse": str(tmp_path),
    }
    assert session_catalogs.is_ours(any_spark, "local")
    for key, value in settings.items():
        any_spark.conf.set(PREFIX + key, value)
    ice.enable(any_spark)
    try:
        any_spark.sql("CREATE TABLE local.db.t (id bigint)")
        any_spark.sql("INSERT INTO local.db.t VALUES (7)")
        assert ids(any_spark.table("local.db.t")) == [7]
        assert ids(any_spark.read.format(FORMAT).load("local.db.t")) == [7]
        assert (tmp_path / "db" / "t" / "metadata").is_dir()
    finally:
        ice.disable(any_spark)
        for key in settings:
            any_spark.conf.unset(PREFIX + key)


def test_a_catalog_without_views_has_none_to_show(lake: Any, table: ice.Table) -> None:
    """Java: SparkCatalog.listViews."""
    for text in ("SHOW VIEWS IN lake.db", "SHOW VIEWS IN lake LIKE 'v*'"):
        assert [row for row in lake.sql(text).collect() if not row.isTemporary] == []


def test_a_catalog_that_is_spelt_as_javas_is_chosen_by_its_name(lake: Any, table: Any) -> None:
    """Spark, asked whether that is a database of its own, would look for Java's class."""
    lake.sql("USE lake")
    try:
        assert [tuple(row) for row in lake.sql("SHOW CURRENT NAMESPACE").collect()] == [
            ("lake", "")
        ]
        assert [row[0] for row in lake.sql("SHOW NAMESPACES").collect()] == ["db"]
        assert ids(lake.sql("SELECT * FROM db.t")) == [1, 2]
    finally:
        lake.sql("USE spark_catalog.default")
    assert lake.sql("SHOW TABLES IN lake").collect() == []


DEFAULT = "spark.sql.defaultCatalog"


@pytest.fixture
def by_default(lake: Any, table: Any) -> Iterator[Any]:
    """Yield a session that was enabled with `lake` as its default catalog."""
    ice.disable(lake)
    before = lake.conf.get(DEFAULT)
    lake.conf.set(DEFAULT, "lake")
    ice.enable(lake)
    yield lake
    ice.disable(lake)
    lake.conf.set(DEFAULT, before)


def test_names_alone_are_of_the_default_catalog(by_default: Any) -> None:
    """Spark would look for its class, which is Java's."""
    spark = by_default
    assert [tuple(row) for row in spark.sql("SHOW CURRENT NAMESPACE").collect()] == [("lake", "")]
    assert ids(spark.sql("SELECT * FROM db.t")) == ids(spark.table("db.t")) == [1, 2]
    spark.sql("INSERT INTO db.t VALUES (3, 'c')")
    assert [row[1] for row in spark.sql("SHOW TABLES IN db").collect()] == ["t"]
    spark.range(5).createOrReplaceTempView("seen")
    assert ids(spark.sql("SELECT t.id FROM db.t t JOIN seen USING (id)")) == [1, 2, 3]
    spark.sql("USE db")
    assert ids(spark.sql("SELECT t.id FROM t JOIN seen USING (id)")) == [1, 2, 3]
    assert spark.catalog.currentCatalog() == "lake"
    spark.sql("USE spark_catalog.default")
    assert spark.catalog.currentCatalog() == "spark_catalog"
    assert not spark.catalog.tableExists("t")
    spark.catalog.dropTempView("seen")


def test_a_session_has_its_default_catalog_again(by_default: Any) -> None:
    ice.enable(by_default)
    assert by_default.conf.get(DEFAULT) == "spark_catalog"
    ice.disable(by_default)
    assert by_default.conf.get(DEFAULT) == "lake"
    by_default.conf.set(DEFAULT, "spark_catalog")
    ice.enable(by_default)
    assert ids(by_default.table("lake.db.t")) == [1, 2]
    assert by_default.catalog.currentCatalog() == "spark_catalog"


def test_a_default_catalog_that_is_described_wrongly_enables_nothing(any_spark: Any) -> None:
    settings = {"wrong.type": "nowhere", "wrong.warehouse": "/x"}
    before = any_spark.conf.get(DEFAULT)
    for key, value in settings.items():
        any_spark.conf.set(PREFIX + key, value)
    any_spark.conf.set(DEFAULT, "wrong")
    try:
        with pytest.raises(IcebergError):
            ice.enable(any_spark)
        assert any_spark.conf.get(DEFAULT) == "wrong"
        assert not is_enabled(any_spark)
    finally:
        any_spark.conf.set(DEFAULT, before)
        for key in settings:
            any_spark.conf.unset(PREFIX + key)
