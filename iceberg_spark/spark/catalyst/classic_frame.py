"""Operations on DataFrames through PySpark's internals, and their replacements over Connect.

A classic DataFrame has a Java DataFrame (`_jdf`), which returns its plan and takes thousands of
names in one call.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from pyspark.sql import DataFrame, DataFrameReader, SparkSession
from pyspark.sql.pandas.functions import pandas_udf
from pyspark.util import PythonEvalType

from iceberg_spark.spark.session.classic_session import java_texts
from iceberg_spark.spark.session.expressions import expression, without_variables
from iceberg_spark.spec.quoted_name import quoted_parts

_BETWEEN = "\x01"
_KEEP_COLUMNS = frozenset({
    "CollectMetrics", "Deduplicate", "Drop", "Filter", "Hint", "Limit", "NADrop", "Offset",
    "Repartition", "RepartitionByExpression", "Sample", "Sort", "StatSampleBy", "SubqueryAlias",
    "WithWatermark",
})  # fmt: skip
"""Connect plans whose columns are those of the plan below: all, or all that are not dropped."""


def rename_columns(frame: DataFrame, names: Sequence[str]) -> DataFrame:
    """Return the DataFrame with other column names, as `toDF`, but in few round trips."""
    texts = java_texts(frame.sparkSession, names)
    if texts is None:
        return frame.toDF(*names)
    return DataFrame(_java(frame).toDF(texts), frame.sparkSession)


def select_texts(frame: DataFrame, texts: Sequence[str]) -> DataFrame:
    """Return SQL expressions over the DataFrame, as `selectExpr`, but in few round trips."""
    texts = [without_variables(text) for text in texts]
    java = java_texts(frame.sparkSession, texts)
    if java is None:
        return frame.selectExpr(*texts)
    return DataFrame(_java(frame).selectExpr(java), frame.sparkSession)


def read_parquet(
    session: SparkSession, reader: DataFrameReader, paths: Sequence[str], *, many: int
) -> DataFrame:
    """Read Parquet files. If there are at least `many`, their paths are sent in one round trip."""
    texts = java_texts(session, paths) if len(paths) >= many else None
    if texts is None:
        return reader.parquet(*paths)
    inside: Any = reader
    read: DataFrame = inside._df(inside._jreader.parquet(texts))
    return read


def arrow_function(
    frame: DataFrame, task: Callable[..., Any], kind: str, arguments: str
) -> tuple[Any, Any] | None:
    """Return the Java DataFrame and a column that applies a task to Arrow batches.

    `arguments` is the SQL text of one expression with the columns that the task takes. Returns None
    over Connect.
    """
    inside = _java(frame)
    if inside is None:
        return None
    function: Any = pandas_udf(task, kind, PythonEvalType.SQL_MAP_ARROW_ITER_UDF)  # type: ignore[call-overload]
    return inside, function(expression(arguments))._jc


def physical_plan(frame: DataFrame) -> str:
    """Return the physical plan as text without running it. Over Connect, `explain`'s output."""
    inside = _java(frame)
    if inside is not None:
        return str(inside.queryExecution().executedPlan().toString())
    return _explained(frame, mode="simple")


def optimized_plan(frame: DataFrame) -> str:
    """Return the optimized logical plan as text. Over Connect, that part of `explain`."""
    inside = _java(frame)
    if inside is not None:
        return str(inside.queryExecution().optimizedPlan().toString())
    _, _, after = _explained(frame, extended=True).partition("== Optimized Logical Plan ==")
    return after.partition("== Physical Plan ==")[0]


def estimated_bytes(frame: DataFrame) -> int | None:
    """Return the size of a DataFrame that Spark estimates, None over Connect."""
    inside = _java(frame)
    if inside is None:
        return None
    return int(str(inside.queryExecution().optimizedPlan().stats().sizeInBytes()))


def alias_of(frame: DataFrame) -> str | None:
    """Return the qualifier of all columns of a DataFrame: an alias, or the name of a table or view.

    None if the columns have no qualifier, or several. Over Connect only the client's plan is
    available: None if a column was computed or selected after the alias.
    """
    inside = _java(frame)
    if inside is None:
        return _connect_alias(frame)
    plan = inside.queryExecution().analyzed()
    if str(plan.nodeName()) == "SubqueryAlias":
        return str(plan.identifier().name())
    output = plan.output()
    shared: str | None = None
    for index in range(output.size()):
        qualifier = str(output.apply(index).qualifier().mkString(_BETWEEN))
        if not qualifier or shared not in (None, qualifier):
            return None
        shared = qualifier
    return None if shared is None else shared.rpartition(_BETWEEN)[2]


def is_deterministic(frame: DataFrame) -> bool:
    """Return whether a DataFrame certainly has the same values each time; never over Connect."""
    inside = _java(frame)
    return inside is not None and bool(inside.queryExecution().analyzed().deterministic())


def has_attribute(frame: DataFrame, attribute: Any) -> bool:
    """Return whether a Java attribute is one of a classic DataFrame's columns."""
    output = _java(frame).queryExecution().analyzed().outputSet()
    return bool(output.contains(attribute))


def own_plan_ids(frame: DataFrame) -> frozenset[int]:
    """Return the ids of the Connect plans whose columns a DataFrame has under the same names.

    A column that is taken from a DataFrame has the id of that DataFrame's plan.
    """
    return frozenset(int(plan._plan_id) for plan in _plans_of_same_columns(frame))


def lineage(frame: DataFrame) -> str | None:
    """Return the RDDs of a DataFrame as text, None over Connect."""
    inside = _java(frame)
    return None if inside is None else str(inside.queryExecution().toRdd().toDebugString())


def _connect_alias(frame: DataFrame) -> str | None:
    for plan in _plans_of_same_columns(frame):
        kind = type(plan).__name__
        if kind == "SubqueryAlias":
            return str(plan._alias)
        if kind == "Read":
            name = str(plan.table_name)
            return (quoted_parts(name) or name.split("."))[-1]
    return None


def _plans_of_same_columns(frame: DataFrame) -> Iterator[Any]:
    """Yield the Connect plan of a DataFrame, then the plans below it that have its columns."""
    inside: Any = frame
    plan = inside._plan
    while plan is not None:
        yield plan
        plan = plan._child if type(plan).__name__ in _KEEP_COLUMNS else None


def _java(frame: DataFrame) -> Any:
    return getattr(frame, "_jdf", None)


def _explained(frame: DataFrame, **options: Any) -> str:
    explain: Any = frame._explain_string  # PySpark annotates it as a column
    return str(explain(**options))
