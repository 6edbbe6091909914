"""Hadoop's file systems as a session's own readers have them, and how these are set up."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from pyspark.sql import SparkSession

from iceberg_spark.spark.session.classic_session import hadoop_file_system, is_connect


def hadoop_of(session: SparkSession) -> HadoopOfJava | HadoopOfServer:
    """Return what a session's Hadoop is asked through."""
    return HadoopOfServer(session) if is_connect(session) else HadoopOfJava(session)


@dataclass(slots=True)
class HadoopOfJava:
    """A classic session's, each asked for once.

    The file systems themselves are asked: Hadoop keeps one for each store, whatever a session sets
    later. They know core-site.xml, `spark.hadoop.*`, what a session had set, and defaults.
    """

    session: SparkSession
    _found: dict[str, Any] = field(default_factory=dict)

    def has_file_system(self, prefix: str) -> bool:
        """Return whether there is a file system for a store (`s3://bucket`) that works here."""
        return self._file_system(prefix) is not None

    def setting(self, prefix: str, name: str) -> str | None:
        """Return a setting of a store's file system; it may be a secret: never print."""
        file_system = self._file_system(prefix)
        value = None if file_system is None else file_system.getConf().get(name)
        return None if value is None else str(value)

    def _file_system(self, prefix: str) -> Any:
        if prefix not in self._found:
            try:
                self._found[prefix] = hadoop_file_system(self.session, prefix)
            except Exception:  # noqa: BLE001 (no class, or one that lacks others: Java has many words)
                self._found[prefix] = None
        return self._found[prefix]


@dataclass(frozen=True, slots=True)
class HadoopOfServer:
    """A Connect session's: of the server only `spark.hadoop.*` is told."""

    session: SparkSession

    def has_file_system(self, prefix: str) -> bool:
        """Return whether a class is set for a store's scheme."""
        return bool(self.setting(prefix, f"fs.{prefix.partition(':')[0]}.impl"))

    def setting(self, _prefix: str, name: str) -> str | None:
        """Return a setting; it may be a secret: never print."""
        return self.session.conf.get(f"spark.hadoop.{name}", None)
