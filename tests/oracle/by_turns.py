"""Statements of ours by turns: one by the classic session, the next over Connect."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

import pytest
from pyspark.sql import SparkSession
from pyspark.sql.connect.session import SparkSession as ConnectSession

T = TypeVar("T")
WAYS = ("classic", "connect")


@dataclass(frozen=True)
class ByTurns:
    """`STATEMENTS_OVER=connect` has all of them go that way, `classic` the other."""

    classic: SparkSession
    remote: ConnectSession

    def run(self, turn: int, does: Callable[[Any], T]) -> T:
        """Return what is done with the session whose turn it is."""
        way = os.environ.get("STATEMENTS_OVER") or WAYS[turn % len(WAYS)]
        if way not in WAYS:
            raise ValueError(f"STATEMENTS_OVER is one of {WAYS}, not {way!r}")
        if way == "classic":
            return does(self.classic)
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("SPARK_CONNECT_MODE_ENABLED", "1")  # functions make Connect's columns
            return does(self.remote)

    @contextmanager
    def with_catalog(self, name: str, warehouse: str, **more: str) -> Iterator[None]:
        """Both sessions know a catalog while the block runs, in folders unless `more` says else."""
        settings = {"type": "hadoop", "warehouse": warehouse, **more}
        for session in (self.classic, self.remote):
            for key, value in settings.items():
                session.conf.set(f"spark.sql.catalog.{name}.{key}", value)
        yield
        for session in (self.classic, self.remote):
            for key in settings:
                session.conf.unset(f"spark.sql.catalog.{name}.{key}")


def new_connect_session(java: SparkSession) -> ConnectSession:
    """Return a session over Connect of the JVM in which `java` runs."""
    port = java.sparkContext.getConf().get("spark.connect.grpc.binding.port")
    return ConnectSession.builder.remote(f"sc://127.0.0.1:{port}").create()
