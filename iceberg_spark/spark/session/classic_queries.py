"""Queries over frames under names, and unions of a type, as plans that classic Spark makes at once.

What PySpark does for each frame (a view is made and dropped, a union is analysed) takes Spark some
milliseconds each; here frames become part of a plan, which is analysed once.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from iceberg_spark.spark.session.classic_session import (
    frame_of_plan,
    is_connect,
    java_class,
    java_list,
    java_static,
)
from iceberg_spark.spark.session.compiled_java import compiled_object

_SESSION = "org.apache.spark.sql.classic.SparkSession"
_EXECUTION = "org.apache.spark.sql.execution."
_PLANS = "org.apache.spark.sql.catalyst.plans.logical."


def query_of_frames(
    session: SparkSession, text: str, frames: Mapping[str, DataFrame]
) -> DataFrame | None:
    """Return a query's frame, in whose text each name is named once and means a frame.

    None over Connect, and for what Spark takes for a script. Raises what `session.sql` does.
    The names are those of common table expressions around the query, which take their places: else
    Spark would not find what it has cached of the frame.
    """
    if is_connect(session):
        return None
    parsed = _parsed(session, text)
    if str(parsed.getClass().getSimpleName()) == "CompoundBody":
        return None
    nothing = java_static(session, "scala.Option", "empty")()
    alias = _companion(session, "SubqueryAlias")
    named = java_class(session, "scala.Tuple3")
    tables = [
        named(name, alias.apply(name, _plan(frame)), nothing) for name, frame in frames.items()
    ]
    whole = java_class(session, f"{_PLANS}UnresolvedWith")(parsed, _seq(session, tables), False)
    frame = frame_of_plan(session, whole)
    java = compiled_object(session, "InlinedTables")
    if java is None:
        return frame
    return frame_of_plan(session, java.inlined(_plan(frame), " ".join(frames)))


def explained(frame: DataFrame, mode: str = "simple") -> DataFrame | None:
    """Return the row that EXPLAIN gives of a frame's plan; None over Connect.

    `mode` is "simple", "extended", "codegen", "cost" or "formatted".
    """
    session = frame.sparkSession
    if is_connect(session):
        return None
    known = java_static(session, f"{_EXECUTION}ExplainMode", "fromString")(mode)
    return frame_of_plan(
        session, java_class(session, f"{_EXECUTION}command.ExplainCommand")(_plan(frame), known)
    )


def called(frame: DataFrame, name: Sequence[str]) -> DataFrame:
    """Return a frame whose columns may stand behind a table's name, whole or in part.

    Over Connect behind its last part.
    """
    session = frame.sparkSession
    if is_connect(session):
        return frame.alias(name[-1])
    alias = _companion(session, "SubqueryAlias")
    return frame_of_plan(session, alias.apply(_seq(session, name), _plan(frame)))


def union_as(session: SparkSession, kind: StructType, frames: Sequence[DataFrame]) -> DataFrame:
    """Return the rows of some frames as a frame of exactly this type, which is the session's.

    A union has the session and the field metadata of its first member, here one without rows,
    which the optimizer drops.
    """
    if is_connect(session):
        frame = session.range(1).where("false").select().to(kind)
        for one in frames:
            frame = frame.union(one)
        return frame
    inside: Any = session
    typed = inside._jsparkSession.parseDataType(kind.json())
    plan = _companion(session, "LocalRelation").apply(typed)
    for one in frames:
        plan = _companion(session, "Union").apply(plan, _plan(one))
    if frames and plan.resolved():  # else types are to be widened: there is nothing else to analyse
        plan.setAnalyzed()
    return frame_of_plan(session, plan)


def _parsed(session: SparkSession, text: str) -> Any:
    inside: Any = session
    with _active(session):
        return inside._jsparkSession.sessionState().sqlParser().parsePlan(text)


@contextmanager
def _active(session: SparkSession) -> Iterator[None]:
    """Have Spark's parser read the settings of a session: those of the thread's active one."""
    inside: Any = session
    make_active = java_static(session, _SESSION, "setActiveSession")
    before = java_static(session, _SESSION, "getActiveSession")()
    make_active(inside._jsparkSession)
    try:
        yield
    finally:
        if before.isDefined():
            make_active(before.get())
        else:
            java_static(session, _SESSION, "clearActiveSession")()


def _companion(session: SparkSession, plan: str) -> Any:
    """Return the object of Scala's that makes plans of a class."""
    return java_static(session, f"{_PLANS}{plan}$", "MODULE$")


def _plan(frame: DataFrame) -> Any:
    inside: Any = frame
    return inside._jdf.logicalPlan()


def _seq(session: SparkSession, values: Sequence[Any]) -> Any:
    """Return values as an immutable sequence of Scala's."""
    made = java_list(session, values)
    as_scala = java_static(session, "scala.jdk.javaapi.CollectionConverters", "asScala")
    return as_scala(made).toSeq()
