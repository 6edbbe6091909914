"""The session whose settings decide how Spark's readers read a group of files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from pyspark.sql import SparkSession

from iceberg_spark.spark.session.classic_session import all_settings, hadoop_file_system, is_connect
from iceberg_spark.spark.session.long_texts import settings_text
from iceberg_spark.spark.session.session_cache import bypass_cache

FIELD_IDS = "spark.sql.parquet.fieldId.read.enabled"
EXACT_DATES = "spark.sql.datetime.java8API.enabled"
"""With it, Spark passes dates to its Parquet reader as java.time.LocalDate. The calendar of
java.sql.Date lacks 5 to 14 October 1582. Classic sessions use `PlannedRelations.java` instead.
"""
LISTING_THRESHOLD = "spark.sql.sources.parallelPartitionDiscovery.threshold"
V1_SOURCES = "spark.sql.sources.useV1SourceList"
ON_THE_DRIVER = str(2**31 - 1)

NEEDED: Mapping[str, str] = {
    FIELD_IDS: "true",
    "spark.sql.parquet.fieldId.read.ignoreMissing": "false",
    "spark.sql.parquet.int96TimestampConversion": "false",
    "spark.sql.parquet.enableVectorizedReader": "true",
    "spark.sql.parquet.enableNestedColumnVectorizedReader": "true",
    "spark.sql.parquet.recordLevelFilter.enabled": "false",
    "spark.sql.legacy.parquet.returnNullStructIfAllFieldsMissing": "false",
    "spark.sql.parquet.ignoreVariantAnnotation": "false",
    "spark.sql.variant.allowReadingShredded": "true",
    V1_SOURCES: "avro,csv,json,kafka,orc,parquet,text",
    "spark.sql.parser.quotedRegexColumnNames": "false",
}
"""Settings that reading by field id needs. Only V1 sources have row positions, and a quoted name
has to be a name.
"""


def reading_session(spark: SparkSession, *, local: bool) -> SparkSession:
    """Return the session that creates relations.

    A classic relation reads with the settings of the session that created it, also as a part of
    another session's DataFrame. So a session of the library creates it, with the user's settings
    and those in NEEDED: settings that the user changes later do not change the meaning of a column,
    and the user's session stays unchanged. Over Connect, the user's session resolves and runs every
    plan. There the settings are set in it and stay, because every action resolves the plan again.

    Args:
        spark: the user's session.
        local: all files are on local disks. The driver lists many of them faster than a job would.
    """
    settings = {LISTING_THRESHOLD: ON_THE_DRIVER} if local else {}
    if is_connect(spark):
        for key, value in {FIELD_IDS: "true", EXACT_DATES: "true", **settings}.items():
            spark.conf.set(key, value)
        return spark
    with bypass_cache():  # the session that is made has the settings of now
        return _new_session(spark, settings_text(spark), local)


def unfit_setting(spark: SparkSession) -> str | None:
    """Return a setting of a Connect session with which Spark's reader could read wrong values."""
    if not is_connect(spark):
        return None
    for key, value in NEEDED.items():
        if key == FIELD_IDS:
            continue
        setting = spark.conf.get(key, value)
        fits = "parquet" in str(setting).split(",") if key == V1_SOURCES else setting == value
        if not fits:
            return f"{key}={setting}"
    return None


@lru_cache(maxsize=8)
def _new_session(spark: SparkSession, users: str | None, local: bool) -> SparkSession:  # noqa: ARG001 (the key)
    session = spark.newSession()
    settings = {**all_settings(spark), **NEEDED, "spark.sql.caseSensitive": "true"}
    if local:
        settings[LISTING_THRESHOLD] = ON_THE_DRIVER
    current = all_settings(session)
    for key, value in settings.items():
        if current.get(key) != value and (session.conf.isModifiable(key) or _is_of_a_store(key)):
            session.conf.set(key, value)
    return session


def _is_of_a_store(key: str) -> bool:
    """Return whether a setting configures Hadoop's access to a store, which Spark cannot modify.

    Other Hadoop settings are not copied: some change how a file is read. Paths name their store.
    """
    return key.startswith("fs.") and key != "fs.defaultFS"


def hadoop_of(session: SparkSession) -> HadoopOfJava | HadoopOfServer:
    """Return the Hadoop file systems and settings of a session."""
    return HadoopOfServer(session) if is_connect(session) else HadoopOfJava(session)


@dataclass(slots=True)
class HadoopOfJava:
    """Hadoop in a classic session.

    The settings come from the file systems themselves: Hadoop caches one for each store, whatever a
    session sets later. They have core-site.xml, `spark.hadoop.*`, the session's settings and
    defaults.
    """

    session: SparkSession
    _file_systems: dict[str, Any] = field(default_factory=dict)

    def has_file_system(self, prefix: str) -> bool:
        """Return whether a store (`s3://bucket`) has a file system that works."""
        return self._file_system(prefix) is not None

    def setting(self, prefix: str, name: str) -> str | None:
        """Return a setting of a store's file system. It may be a secret: never print it."""
        file_system = self._file_system(prefix)
        value = None if file_system is None else file_system.getConf().get(name)
        return None if value is None else str(value)

    def _file_system(self, prefix: str) -> Any:
        if prefix not in self._file_systems:
            try:
                self._file_systems[prefix] = hadoop_file_system(self.session, prefix)
            except Exception:  # noqa: BLE001 (no class, or one that lacks others: Java has many words)
                self._file_systems[prefix] = None
        return self._file_systems[prefix]


@dataclass(frozen=True, slots=True)
class HadoopOfServer:
    """Hadoop on a Connect server, of which the client only knows `spark.hadoop.*`."""

    session: SparkSession

    def has_file_system(self, prefix: str) -> bool:
        """Return whether the settings name a class for a store's scheme."""
        return bool(self.setting(prefix, f"fs.{prefix.partition(':')[0]}.impl"))

    def setting(self, _prefix: str, name: str) -> str | None:
        """Return a setting. It may be a secret: never print it."""
        return self.session.conf.get(f"spark.hadoop.{name}", None)
