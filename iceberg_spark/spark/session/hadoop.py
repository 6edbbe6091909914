"""Hadoop's file systems as the session's readers use them, and their settings."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from pyspark.sql import SparkSession

from iceberg_spark.spark.session.classic_session import hadoop_file_system, is_connect


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
