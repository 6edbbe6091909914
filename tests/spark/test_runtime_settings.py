"""Session settings and write options of Java's runtime: what they do to files and snapshots."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from pyspark.sql import functions as sf

import iceberg_spark as ice
from iceberg_spark.errors import InvalidOptionError, ValidationException

SETTING = "spark.sql.iceberg."


@contextmanager
def settings(session: Any, **texts: str) -> Iterator[None]:
    """Set `spark.sql.iceberg.*` while the block runs; names have `_` for `-`."""
    names = {f"{SETTING}{key.replace('_', '-')}": text for key, text in texts.items()}
    for name, text in names.items():
        session.conf.set(name, text)
    try:
        yield
    finally:
        for name in names:
            session.conf.unset(name)


def codecs(table: ice.Table, content: int = 0) -> set[str]:
    """The codecs of a table's Parquet files: data (0), position deletes (1), by keys (2)."""
    files = table.refresh().inspect.files().filter(pc.field("content") == content)
    paths = [urlsplit(path).path for path in files["file_path"].to_pylist()]
    return {pq.read_metadata(path).row_group(0).column(0).compression for path in paths}


WRITERS: dict[str, Callable[[Any, str], Any]] = {
    "INSERT": lambda lake, name: lake.sql(f"INSERT INTO {name} SELECT id, 'a' FROM range(9)"),
    "writeTo": lambda lake, name: rows(lake).writeTo(name).append(),
    "overwrite": lambda lake, name: rows(lake).writeTo(name).overwrite(sf.lit(True)),
    "insertInto": lambda lake, name: rows(lake).write.insertInto(name),
    "save": lambda lake, name: rows(lake).write.format("pyiceberg-lite").mode("append").save(name),
    "saveAsTable": lambda lake, name: rows(lake).write.mode("append").saveAsTable(name),
    "create": lambda lake, name: rows(lake).writeTo(name).createOrReplace(),
    "CTAS": lambda lake, name: lake.sql(
        f"CREATE OR REPLACE TABLE {name} AS SELECT id, 'a' AS region FROM range(9)"
    ),
}


def rows(lake: Any) -> Any:
    return lake.range(9).withColumn("region", sf.lit("a"))


def table_of(lake: Any, name: str = "lake.db.t", **definition: Any) -> ice.Table:
    return ice.create_table(name, "id bigint, region string", **definition)


@pytest.mark.parametrize("writer", WRITERS)
def test_settings_are_defaults_of_every_writer(lake: Any, writer: str) -> None:
    table = table_of(lake)
    with settings(lake, compression_codec="gzip", **{"snapshot-property.job": "nightly"}):
        WRITERS[writer](lake, "lake.db.t")
    assert codecs(table) == {"GZIP"}
    assert table.current_snapshot().summary["job"] == "nightly"


def test_row_level_changes_take_the_settings(lake: Any) -> None:
    modes = {f"write.{verb}.mode": "merge-on-read" for verb in ("delete", "update", "merge")}
    table = table_of(lake, properties=modes)
    lake.sql("INSERT INTO lake.db.t SELECT id, 'a' FROM range(9)")
    merge = (
        "MERGE INTO lake.db.t t USING (SELECT 3L AS id) s ON t.id = s.id WHEN MATCHED THEN DELETE"
    )
    with settings(lake, compression_codec="gzip", **{"snapshot-property.job": "nightly"}):
        lake.sql("DELETE FROM lake.db.t WHERE id = 1")
        lake.sql("UPDATE lake.db.t SET region = 'b' WHERE id = 2")
        lake.sql(merge)
        source = lake.createDataFrame([(4,)], "id bigint")
        source.mergeInto("lake.db.t", sf.expr("t.id = source.id")).whenMatched().delete().merge()
    assert codecs(table, 1) == {"GZIP"} and codecs(table) == {"ZSTD", "GZIP"}
    told = [dict(snapshot.summary).get("job") for snapshot in table.snapshots()]
    assert told == [None, *["nightly"] * 4]


def test_an_option_wins_over_a_setting_and_a_setting_over_a_property(lake: Any) -> None:
    table = table_of(lake, properties={"write.parquet.compression-codec": "snappy"})
    with settings(lake, compression_codec="gzip", **{"snapshot-property.job": "nightly"}):
        rows(lake).writeTo("lake.db.t").option("compression-codec", "zstd").option(
            "snapshot-property.job", "hourly"
        ).append()
        assert codecs(table) == {"ZSTD"}
        assert table.current_snapshot().summary["job"] == "hourly"
        lake.sql("INSERT OVERWRITE lake.db.t WITH (`compression-codec` = 'lz4') VALUES (1, 'a')")
        assert codecs(table) == {"LZ4"}
        lake.sql("INSERT OVERWRITE lake.db.t VALUES (1, 'a')")
        assert codecs(table) == {"GZIP"}
    lake.sql("INSERT OVERWRITE lake.db.t VALUES (1, 'a')")
    assert codecs(table) == {"SNAPPY"}


def test_a_staged_snapshot_has_the_id_of_the_session(lake: Any) -> None:
    table = table_of(lake, properties={"write.wap.enabled": "true"})
    lake.conf.set("spark.wap.id", "mine")
    try:
        with settings(lake, **{"snapshot-property.wap.id": "nightly"}):
            rows(lake).writeTo("lake.db.t").option("snapshot-property.wap.id", "other").append()
    finally:
        lake.conf.unset("spark.wap.id")
    assert [dict(one.summary)["wap.id"] for one in table.refresh().snapshots()] == ["mine"]


def test_a_bad_setting_is_named_by_the_error(lake: Any) -> None:
    table_of(lake)
    message = r"spark.sql.iceberg.\* .*'distribution-mode'"
    bad = settings(lake, distribution_mode="all")
    with bad, pytest.raises(InvalidOptionError, match=message):
        lake.sql("INSERT INTO lake.db.t VALUES (1, 'a')")


def test_a_new_table_takes_options_that_are_about_existing_ones(lake: Any) -> None:
    options = {
        "isolation-level": "serializable", "merge-schema": "true", "mergeSchema": "true",
        "delete-granularity": "file", "compression-strategy": "speed", "compression-codec": "gzip",
    }  # fmt: skip
    rows(lake).writeTo("lake.db.made").options(**options).create()
    rows(lake).writeTo("lake.db.made").options(**options).createOrReplace()
    table = ice.load_table(f"{lake.conf.get('spark.sql.catalog.lake.warehouse')}/db/made")
    assert codecs(table) == {"GZIP"} and table.scan().count() == 9


def test_a_compaction_writes_files_as_the_session_says(lake: Any) -> None:
    table = table_of(lake)
    lake.sql("INSERT INTO lake.db.t VALUES (1, 'a')")
    with settings(lake, compression_codec="gzip", distribution_mode="range"):
        lake.sql("CALL lake.system.rewrite_data_files('db.t', options => map('rewrite-all', true))")
    assert codecs(table) == {"GZIP"} and table.scan().count() == 1


def test_a_statement_writes_to_the_branch_of_its_option(lake: Any) -> None:
    table = table_of(lake)
    lake.sql("INSERT INTO lake.db.t VALUES (1, 'a')")
    lake.sql("ALTER TABLE lake.db.t CREATE BRANCH b")
    lake.sql("INSERT INTO lake.db.t WITH (branch = 'b') VALUES (2, 'a')")
    assert table.refresh().scan().count() == 1
    assert table.scan(branch="b").count() == 2
    for text, message in {
        "INSERT INTO lake.db.t.branch_b WITH (branch = 'c') VALUES (3, 'a')": "leave one out",
        "INSERT INTO lake.db.t WITH (`merge-schema` = true) VALUES (3, 'a')": "SCHEMA EVOLUTION",
        "INSERT OVERWRITE lake.db.t WITH (`overwrite-mode` = 'dynamic') VALUES (3, 'a')":
            "partitionOverwriteMode",
    }.items():  # fmt: skip
        with pytest.raises(InvalidOptionError, match=message):
            lake.sql(text)


def test_a_level_of_the_session_leaves_other_formats_alone(lake: Any) -> None:
    table = table_of(lake, properties={"write.format.default": "orc"})
    with settings(lake, compression_level="3"):
        lake.sql("INSERT INTO lake.db.t VALUES (1, 'a')")
    assert table.refresh().scan().count() == 1


def test_the_session_says_how_rows_are_distributed(lake: Any) -> None:
    table = table_of(lake, partition_by=["region"])
    spread = lake.range(0, 40, 1, 4).withColumn("region", sf.expr("string(id % 2)"))
    with settings(lake, distribution_mode="none"):
        spread.writeTo("lake.db.t").append()
    assert table.refresh().inspect.files().num_rows == 8
    spread.writeTo("lake.db.t").overwrite(sf.lit(True))
    assert table.refresh().inspect.files().num_rows == 2


def test_rows_are_written_as_they_are_without_distribution_and_ordering(lake: Any) -> None:
    table = table_of(lake, partition_by=["region"], sort_order=["id desc"])
    spread = lake.range(0, 40, 1, 4).withColumn("region", sf.expr("string(id % 2)"))
    plain = {"use-table-distribution-and-ordering": "false", "distribution-mode": "hash"}
    spread.writeTo("lake.db.t").options(**plain).append()
    files = table.refresh().inspect.files()
    assert files.num_rows == 8 and set(files["sort_order_id"].to_pylist()) == {0}
    path = urlsplit(files["file_path"][0].as_py()).path
    ids = pq.ParquetFile(path).read()["id"].to_pylist()
    assert ids == sorted(ids)


def test_files_have_the_spec_and_the_order_that_options_name(lake: Any) -> None:
    table = table_of(lake, partition_by=["region"], sort_order=["id desc"])
    table.update_spec().remove_field("region").add_field("bucket(4, id)").commit()
    table.update_sort_order().asc("id").commit()
    assert (table.refresh().spec().spec_id, table.sort_order().order_id) == (1, 2)
    rows(lake).writeTo("lake.db.t").options(
        **{"output-spec-id": "0", "output-sort-order-id": "1"}
    ).append()
    (file,) = table.refresh().inspect.files().to_pylist()
    assert (file["spec_id"], file["sort_order_id"]) == (0, 1)
    assert file["partition"]["region"] == "a"
    ids = pq.ParquetFile(urlsplit(file["file_path"]).path).read()["id"].to_pylist()
    assert ids == sorted(ids, reverse=True)
    assert lake.sql("SELECT count(*) FROM lake.db.t WHERE region = 'a'").first()[0] == 9
    for name, known in {"output-spec-id": "0, 1", "output-sort-order-id": "1, 2"}.items():
        with pytest.raises(InvalidOptionError, match=f"'{name}' is 9, .*{known}"):
            rows(lake).writeTo("lake.db.t").option(name, "9").append()


@pytest.mark.parametrize("level", ["serializable", "snapshot"])
@pytest.mark.parametrize("way", ["overwrite", "overwritePartitions", "save", "INSERT OVERWRITE"])
def test_an_overwrite_conflicts_with_what_its_isolation_refuses(
    lake: Any, way: str, level: str
) -> None:
    table = table_of(lake, partition_by=["region"])
    lake.sql("INSERT INTO lake.db.t VALUES (1, 'a'), (2, 'a'), (3, 'b')")
    head = table.refresh().current_snapshot().snapshot_id
    options = {"isolation-level": level, "validate-from-snapshot-id": str(head)}

    def overwrite() -> None:
        if way == "INSERT OVERWRITE":
            told = ", ".join(f"`{name}` = '{text}'" for name, text in options.items())
            lake.sql(f"INSERT OVERWRITE lake.db.t WITH ({told}) SELECT id, 'a' FROM range(9)")
            return
        if way == "save":
            rows(lake).write.format("pyiceberg-lite").mode("overwrite").options(**options).save(
                "lake.db.t"
            )
            return
        writer = rows(lake).writeTo("lake.db.t").options(**options)
        writer.overwritePartitions() if way == "overwritePartitions" else writer.overwrite(
            sf.col("region") == "a"
        )

    lake.sql("INSERT INTO lake.db.t VALUES (4, 'a')")
    if level == "serializable":
        with pytest.raises(ValidationException):
            overwrite()
        assert table.refresh().scan().count() == 4
    else:
        overwrite()
    lake.sql("DELETE FROM lake.db.t WHERE id = 1")
    with pytest.raises(ValidationException):
        overwrite()
    options["validate-from-snapshot-id"] = str(table.refresh().current_snapshot().snapshot_id)
    overwrite()


def test_a_setting_lets_pysparks_writers_widen_the_schema(lake: Any) -> None:
    table = table_of(lake)
    wider = rows(lake).withColumn("v", sf.lit(1))
    first = wider.withColumnRenamed("v", "u")
    first.writeTo("lake.db.t").option("merge-schema", "true").append()
    with settings(lake, merge_schema="true"):
        wider.writeTo("lake.db.t").append()
        with pytest.raises(ValueError, match="w"):
            wider.withColumnRenamed("v", "w").writeTo("lake.db.t").option(
                "mergeSchema", "false"
            ).append()
    assert list(table.refresh().schema().column_names) == ["id", "region", "u", "v"]


def test_a_setting_accepts_nullable_columns_for_required_ones(lake: Any) -> None:
    ice.create_table("lake.db.r", "id bigint not null")
    nothing = lake.sql("SELECT CAST(NULL AS bigint) AS id WHERE false")
    with settings(lake, check_nullability="false"):
        nothing.write.format("pyiceberg-lite").mode("append").save("lake.db.r")


def test_an_upsert_writes_deletes_as_options_say(lake: Any) -> None:
    table = table_of(lake)
    rows(lake).write.format("pyiceberg-lite").mode("append").options(
        **{"write-mode": "upsert", "equality-fields": "id", "delete-format": "avro"}
    ).save("lake.db.t")
    files = table.refresh().inspect.files().to_pylist()
    assert {(file["content"], file["file_format"]) for file in files} == {
        (0, "PARQUET"), (2, "AVRO")
    }  # fmt: skip


def test_settings_that_java_has_and_unknown_ones_change_nothing(lake: Any) -> None:
    table_of(lake)
    with settings(lake, **{"vectorization.enabled": "false", "no.such": "1"}):
        lake.sql("INSERT INTO lake.db.t VALUES (1, 'a')")
        assert lake.sql("SELECT * FROM lake.db.t").count() == 1


def test_a_setting_cuts_what_tasks_read(lake: Any) -> None:
    table = table_of(lake, properties={"write.format.default": "avro"})
    for _ in range(3):
        table.append(pa.table({"id": [1, 2], "region": ["a", "b"]}))
    with settings(lake, **{"read.split-size": "100000"}):
        for frame in (
            lake.table("lake.db.t"),
            lake.sql("SELECT * FROM lake.db.t"),
            lake.read.format("pyiceberg-lite").load("lake.db.t"),
        ):
            assert tasks_of(frame) == 3
        assert tasks_of(lake.read.option("split-size", "1000000000").table("lake.db.t")) == 1
    assert tasks_of(lake.table("lake.db.t")) == 1
    table.update_properties().set({"read.split.target-size": "100000"}).commit()
    assert tasks_of(lake.sql("SELECT * FROM lake.db.t")) == 3


def tasks_of(frame: Any) -> int:
    return frame.select(sf.spark_partition_id().alias("task")).distinct().count()


def test_read_options_of_java_without_effect_change_nothing(lake: Any) -> None:
    table_of(lake).append(pa.table({"id": [1], "region": ["a"]}))
    options = {
        "vectorization-enabled": "false", "locality": "true", "aggregate-push-down-enabled": "false"
    }  # fmt: skip
    assert lake.read.options(**options).table("lake.db.t").count() == 1
    assert lake.read.format("pyiceberg-lite").options(**options).load("lake.db.t").count() == 1


def test_a_stream_of_a_classic_session_takes_the_settings(lake: Any, tmp_path: Path) -> None:
    """Over Connect a process without a session writes the stream: it has options only."""
    table_of(lake).append(pa.table({"id": [1], "region": ["a"]}))
    copy = table_of(lake, "lake.db.copy")
    with settings(lake, compression_codec="gzip"):
        stream = lake.readStream.format("pyiceberg-lite").load("lake.db.t")
        writer = stream.writeStream.option("checkpointLocation", str(tmp_path / "c"))
        query = writer.trigger(availableNow=True).toTable("lake.db.copy")
        query.awaitTermination()
    assert codecs(copy) == {"ZSTD" if is_remote(lake) else "GZIP"}


def is_remote(session: Any) -> bool:
    return "connect" in type(session).__module__
