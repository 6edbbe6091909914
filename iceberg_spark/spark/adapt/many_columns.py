"""Steps over all columns of a frame, in a few round trips to Java however many columns there are.

PySpark makes a dozen round trips for every `Column` that it builds, and one for every name that it
hands over. So names and expressions travel as one text (`classic_frame`), and thousands of columns
are told apart by plain names, `c0`, `c1`, ..., that no setting of a session's parser reads
otherwise.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import DataFrame

from iceberg_spark.spark.catalyst import classic_frame
from iceberg_spark.spec.quoted_name import quote


def by_position(frame: DataFrame) -> DataFrame:
    """Return the frame with its columns named `c0`, `c1`, ...: no name is ambiguous then."""
    return rename_columns(frame, [plain(index) for index in range(len(frame.schema.fields))])


def plain(index: int) -> str:
    """Return what `by_position` calls the column at a place."""
    return f"c{index}"


def rename_columns(frame: DataFrame, names: Sequence[str]) -> DataFrame:
    """Return the frame with its columns called otherwise: what `toDF` does."""
    return classic_frame.rename_columns(frame, names)


def select_texts(frame: DataFrame, texts: Sequence[str]) -> DataFrame:
    """Return expressions over the frame, each an SQL text: what `selectExpr` does.

    They are parsed by the settings of the frame's session.
    """
    return classic_frame.select_texts(frame, texts)


def select_as(frame: DataFrame, texts: Sequence[str], names: Sequence[str]) -> DataFrame:
    """Return expressions over the frame under these names.

    One step and not two: Spark's optimizer takes a time for each pair of steps that grows with
    the square of their columns.
    """
    pairs = zip(texts, names, strict=True)
    return select_texts(frame, [f"{text} as {quote(name)}" for text, name in pairs])


def pick_columns(frame: DataFrame, names: Sequence[str]) -> DataFrame:
    """Return the columns that are called exactly so, in this order."""
    columns = frame.columns
    if columns == list(names):
        return frame
    indices = {name: index for index, name in enumerate(columns)}
    return select_as(by_position(frame), [plain(indices[name]) for name in names], names)
