"""Settings and options of writes do to files and snapshots what they do with Java's runtime."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as sf

import iceberg_spark as ice
from iceberg_spark.spec.runtime_names import (
    READ_OPTIONS,
    SESSION_SETTINGS,
    WRITE_OPTIONS,
    RuntimeName,
)

SETTING = "spark.sql.iceberg."
NAMES = {
    "SparkSQLProperties": SESSION_SETTINGS,
    "SparkReadOptions": READ_OPTIONS,
    "SparkWriteOptions": WRITE_OPTIONS,
}
NO_NAMES = {"BINDING", "COMPENSATION"}
"""Values of a setting, and no settings."""


@pytest.fixture(scope="module")
def ours(java: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """An enabled session with a catalog `mine`; `java` has its own catalog `j`."""
    session = java.newSession()
    place = str(tmp_path_factory.mktemp("settings"))
    catalog = "spark.sql.catalog.mine"
    for key, value in {"type": "sql", "uri": f"sqlite:///{place}/c.db", "warehouse": place}.items():
        session.conf.set(f"{catalog}.{key}", value)
    ice.enable(session)
    for one, name in ((java, "j"), (session, "mine")):
        one.sql(f"CREATE NAMESPACE IF NOT EXISTS {name}.settings")
    yield session
    ice.disable(session)


@contextmanager
def settings(session: SparkSession, texts: Mapping[str, str]) -> Iterator[None]:
    for name, text in texts.items():
        session.conf.set(f"{SETTING}{name}", text)
    try:
        yield
    finally:
        for name in texts:
            session.conf.unset(f"{SETTING}{name}")


@pytest.mark.parametrize("kind", NAMES)
def test_every_name_of_javas_runtime_is_listed(java: SparkSession, kind: str) -> None:
    loader = java._jvm.Thread.currentThread().getContextClassLoader()
    fields = loader.loadClass(f"org.apache.iceberg.spark.{kind}").getFields()
    texts = [field.get(None) for field in fields if field.getType().getSimpleName() == "String"]
    names = {text.rstrip(".") for text in texts} - NO_NAMES
    assert names == {listed(name) for name in NAMES[kind]}


def listed(name: RuntimeName) -> str:
    return name.name.removesuffix("*").rstrip(".")


def result(session: SparkSession, table: str) -> Any:
    """What a table's files and snapshots are, whoever wrote them."""
    files = session.sql(
        f"SELECT content, file_format, spec_id, sort_order_id, record_count, file_path "
        f"FROM {table}.files"
    ).collect()
    snapshots = session.sql(f"SELECT operation, summary['job'] FROM {table}.snapshots").collect()
    told = sorted((*file[:5], codec(file.file_path)) for file in files)
    return told, [tuple(row) for row in snapshots]


def codec(path: str) -> str:
    if not path.endswith(".parquet"):
        return ""
    return str(pq.read_metadata(urlsplit(path).path).row_group(0).column(0).compression)


def rows(session: SparkSession, region: str = "a") -> Any:
    return session.range(9).withColumn("region", sf.lit(region)).coalesce(1)


def create(session: SparkSession, table: str) -> None:
    session.sql(f"DROP TABLE IF EXISTS {table}")
    session.sql(
        f"CREATE TABLE {table} (id bigint, region string) USING iceberg "
        "PARTITIONED BY (region) TBLPROPERTIES ('write.delete.mode' = 'merge-on-read')"
    )


def append(session: SparkSession, table: str, **options: str) -> None:
    named = {key.replace("_", "-"): value for key, value in options.items()}
    rows(session).writeTo(table).options(**named).append()


def evolve(session: SparkSession, table: str) -> None:
    session.sql(f"ALTER TABLE {table} WRITE ORDERED BY id DESC")
    session.sql(f"ALTER TABLE {table} REPLACE PARTITION FIELD region WITH bucket(2, id)")
    session.sql(f"ALTER TABLE {table} WRITE ORDERED BY id")


Work = Callable[[SparkSession, str], Any]
WRITES: dict[str, Work] = {
    "append": append,
    "INSERT": lambda s, t: s.sql(f"INSERT INTO {t} SELECT id, 'a' FROM range(3)"),
    "DELETE": lambda s, t: (append(s, t), s.sql(f"DELETE FROM {t} WHERE id = 1")),
    "UPDATE": lambda s, t: (append(s, t), s.sql(f"UPDATE {t} SET region = 'b' WHERE id = 1")),
    "CTAS": lambda s, t: s.sql(f"CREATE OR REPLACE TABLE {t} USING iceberg AS SELECT 1L AS id"),
    "option": lambda s, t: append(s, t, compression_codec="zstd"),
    "overwritePartitions": lambda s, t: rows(s).writeTo(t).overwritePartitions(),
}


@pytest.mark.parametrize("write", WRITES)
def test_settings_do_to_a_write_what_they_do_in_java(
    java: SparkSession, ours: SparkSession, write: str
) -> None:
    outcomes = []
    for session, table in ((java, "j.settings.t"), (ours, "mine.settings.t")):
        create(session, table)
        with settings(session, {"compression-codec": "gzip", "snapshot-property.job": "nightly"}):
            WRITES[write](session, table)
        outcomes.append(result(session, table))
    assert outcomes[0] == outcomes[1]


OPTIONS: dict[str, Work] = {
    "write-format": lambda s, t: append(s, t, write_format="orc"),
    "output-spec-id": lambda s, t: append(s, t, output_spec_id="0"),
    "no distribution": lambda s, t: append(
        s, t, use_table_distribution_and_ordering="false", output_spec_id="0"
    ),
    "distribution-mode": lambda s, t: append(s, t, distribution_mode="none", output_spec_id="0"),
}


@pytest.mark.parametrize("option", OPTIONS)
def test_options_do_to_a_write_what_they_do_in_java(
    java: SparkSession, ours: SparkSession, option: str
) -> None:
    outcomes = []
    for session, table in ((java, "j.settings.t"), (ours, "mine.settings.t")):
        create(session, table)
        evolve(session, table)
        OPTIONS[option](session, table)
        outcomes.append(result(session, table))
    assert outcomes[0] == outcomes[1]


OVERWRITES: dict[str, Callable[[Any], Any]] = {
    "overwritePartitions": lambda writer: writer.overwritePartitions(),
    "overwrite": lambda writer: writer.overwrite(sf.col("region") == "a"),
}
MEANWHILE = {
    "rows in the partition": "INSERT INTO {t} VALUES (100, 'a')",
    "rows elsewhere": "INSERT INTO {t} VALUES (100, 'b')",
    "deletes in the partition": "DELETE FROM {t} WHERE id = 1",
}


CASES = (
    ("rows in the partition", "serializable", True),
    ("rows in the partition", "snapshot", True),
    ("rows in the partition", None, True),
    ("rows elsewhere", "serializable", True),
    ("rows elsewhere", "serializable", False),
    ("deletes in the partition", "snapshot", True),
)
"""What is committed meanwhile, the isolation level, and whether the first snapshot is named."""


@pytest.mark.parametrize(("meanwhile", "level", "has_snapshot"), CASES)
@pytest.mark.parametrize("overwrite", OVERWRITES)
def test_an_overwrite_conflicts_where_javas_does(
    java: SparkSession,
    ours: SparkSession,
    overwrite: str,
    meanwhile: str,
    level: str | None,
    has_snapshot: bool,
) -> None:
    outcomes = []
    for session, table in ((java, "j.settings.t"), (ours, "mine.settings.t")):
        create(session, table)
        append(session, table)
        first = session.sql(f"SELECT snapshot_id FROM {table}.snapshots").first()
        session.sql(MEANWHILE[meanwhile].format(t=table))
        options = {} if level is None else {"isolation-level": level}
        if has_snapshot:
            options["validate-from-snapshot-id"] = str(first[0])
        writer = rows(session).writeTo(table).options(**options)
        try:
            OVERWRITES[overwrite](writer)
            outcomes.append(result(session, table))
        except Exception as error:  # noqa: BLE001 - Java's comes through py4j
            outcomes.append("Validation" in f"{type(error).__name__} {error}")
    assert outcomes[0] == outcomes[1]
