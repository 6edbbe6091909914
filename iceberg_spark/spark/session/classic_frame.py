"""What is done with frames by PySpark's internals, and what Connect does instead.

A classic frame has Java's (`_jdf`), which tells its plan and is handed thousands of names at once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from pyspark.sql import DataFrame, DataFrameReader, SparkSession
from pyspark.sql import functions as sf
from pyspark.sql.pandas.functions import pandas_udf
from pyspark.util import PythonEvalType

from iceberg_spark.spark.session.classic_session import java_texts


def renamed(frame: DataFrame, names: Sequence[str]) -> DataFrame:
    """Return the frame with its columns called otherwise: what `toDF` does, in few round trips."""
    texts = java_texts(frame.sparkSession, names)
    if texts is None:
        return frame.toDF(*names)
    return DataFrame(_java(frame).toDF(texts), frame.sparkSession)


def selected(frame: DataFrame, texts: Sequence[str]) -> DataFrame:
    """Return expressions over the frame, each an SQL text: `selectExpr`, in few round trips."""
    given = java_texts(frame.sparkSession, texts)
    if given is None:
        return frame.selectExpr(*texts)
    return DataFrame(_java(frame).selectExpr(given), frame.sparkSession)


def read_parquet(
    session: SparkSession, reader: DataFrameReader, paths: Sequence[str], *, many: int
) -> DataFrame:
    """Return what a reader reads of Parquet files; from `many` on they travel in one round trip."""
    texts = java_texts(session, paths) if len(paths) >= many else None
    if texts is None:
        return reader.parquet(*paths)
    inside: Any = reader
    read: DataFrame = inside._df(inside._jreader.parquet(texts))
    return read


def arrow_function(
    frame: DataFrame, task: Callable[..., Any], kind: str, arguments: str
) -> tuple[Any, Any] | None:
    """Return Java's frame, and a task over Arrow batches as its column; None over Connect.

    `arguments` is SQL text of the columns that the task takes, in one expression.
    """
    inside = _java(frame)
    if inside is None:
        return None
    function: Any = pandas_udf(task, kind, PythonEvalType.SQL_MAP_ARROW_ITER_UDF)  # type: ignore[call-overload]
    return inside, function(sf.expr(arguments))._jc


def physical_plan(frame: DataFrame) -> str:
    """Return the physical plan as text; nothing runs. Over Connect: what `explain` prints."""
    inside = _java(frame)
    if inside is not None:
        return str(inside.queryExecution().executedPlan().toString())
    return _explained(frame, mode="simple")


def optimized_plan(frame: DataFrame) -> str:
    """Return the optimized logical plan as text: over Connect a part of what `explain` prints."""
    inside = _java(frame)
    if inside is not None:
        return str(inside.queryExecution().optimizedPlan().toString())
    _, _, after = _explained(frame, extended=True).partition("== Optimized Logical Plan ==")
    return after.partition("== Physical Plan ==")[0]


def estimated_bytes(frame: DataFrame) -> int | None:
    """Return what Spark thinks that a frame holds, None over Connect, where it isn't told."""
    inside = _java(frame)
    if inside is None:
        return None
    return int(str(inside.queryExecution().optimizedPlan().stats().sizeInBytes()))


def alias_of(frame: DataFrame) -> str | None:
    """Return what `alias` called a frame, None where nothing did."""
    inside = _java(frame)
    if inside is None:
        whole: Any = frame
        named = type(whole._plan).__name__ == "SubqueryAlias"
        return str(whole._plan._alias) if named else None
    plan = inside.queryExecution().analyzed()
    named = str(plan.nodeName()) == "SubqueryAlias"
    return str(plan.identifier().name()) if named else None


def lineage(frame: DataFrame) -> str | None:
    """Return the RDDs below a frame as text, None over Connect, where nobody can look at them."""
    inside = _java(frame)
    return None if inside is None else str(inside.queryExecution().toRdd().toDebugString())


def _java(frame: DataFrame) -> Any:
    return getattr(frame, "_jdf", None)


def _explained(frame: DataFrame, **options: Any) -> str:
    explain: Any = frame._explain_string  # PySpark types it as a column
    return str(explain(**options))
