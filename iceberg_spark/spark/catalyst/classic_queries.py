"""Unions of DataFrames as one type, aliases of several parts, and errors of Spark's parser."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any, TypeAlias

from pyspark.errors import ParseException, PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from iceberg_spark.spark.session.classic_session import (
    frame_of_plan,
    is_connect,
    java_list,
    java_static,
)
from iceberg_spark.spark.session.own_methods import run_sql

_EXPLAINED = re.compile(r"\s*(?!EXPLAIN\b|BEGIN\b|DECLARE\b)", re.IGNORECASE)
"""Statements that may follow EXPLAIN in Spark's grammar: no script and no other EXPLAIN."""
_SCRIPT = re.compile(r"\s*BEGIN\b", re.IGNORECASE)
_ENDS = "; \t\r\n"
_PLANS = "org.apache.spark.sql.catalyst.plans.logical."


@dataclass(frozen=True, slots=True, eq=False)
class TypedRows:
    """DataFrames whose rows together have exactly one type, as the session sees it."""

    kind: StructType
    frames: Sequence[DataFrame]

    def frame(self, session: SparkSession) -> DataFrame:
        """Return the rows as one DataFrame.

        It is a union. A union has the session and the field metadata of its first member, which is
        an empty relation here. The optimizer drops it.
        """
        return reduce(DataFrame.union, self.frames, _empty_frame(session, self.kind))


Rows: TypeAlias = DataFrame | TypedRows


def frame_of(rows: Rows, session: SparkSession) -> DataFrame:
    """Return rows as a DataFrame."""
    return rows.frame(session) if isinstance(rows, TypedRows) else rows


def _empty_frame(session: SparkSession, kind: StructType) -> DataFrame:
    if is_connect(session):
        return session.range(1).where("false").select().to(kind)
    inside: Any = session
    java = inside._jsparkSession.parseDataType(kind.json())
    return frame_of_plan(session, _companion(session, "LocalRelation").apply(java))


def syntax_error(
    session: SparkSession, text: str, args: Mapping[str, Any] | None = None
) -> PySparkException | None:
    """Return the error of Spark's parser for a text; None if it is valid.

    Over Connect the server parses an EXPLAIN of the text, or a script in which a script is never
    run. So the position counts what is before the text, too.
    """
    inside: Any = session
    is_script = _SCRIPT.match(text) is not None
    try:
        if not is_connect(session):
            inside._jsparkSession.sessionState().sqlParser().parsePlan(text)
        elif is_script:
            run_sql(session, f"BEGIN IF FALSE THEN {text.rstrip(_ENDS)}\n; END IF; END", args)
        elif _EXPLAINED.match(text):
            run_sql(session, f"EXPLAIN {text}")
    except PySparkException as error:
        return error if is_script or isinstance(error, ParseException) else None
    return None


def qualify_columns(frame: DataFrame, name: Sequence[str]) -> DataFrame:
    """Return a DataFrame whose columns can be qualified with a table's name, or the end of it.

    Over Connect they can be qualified with its last part.
    """
    session = frame.sparkSession
    if is_connect(session):
        return frame.alias(name[-1])
    alias = _companion(session, "SubqueryAlias")
    return frame_of_plan(session, alias.apply(_seq(session, name), _plan(frame)))


def _of_java(frames: Iterable[DataFrame]) -> Iterator[Any]:
    inside: Iterable[Any] = frames
    return (frame._jdf for frame in inside)


def _companion(session: SparkSession, plan: str) -> Any:
    """Return the Scala object that creates plans of a class."""
    return java_static(session, f"{_PLANS}{plan}$", "MODULE$")


def _plan(frame: DataFrame) -> Any:
    inside: Any = frame
    return inside._jdf.logicalPlan()


def _seq(session: SparkSession, values: Sequence[Any]) -> Any:
    """Return values as an immutable Scala sequence."""
    java = java_list(session, values)
    as_scala = java_static(session, "scala.jdk.javaapi.CollectionConverters", "asScala")
    return as_scala(java).toSeq()
