"""Steps over all columns of a frame, in a few round trips to Java however many columns there are.

PySpark makes a dozen round trips for every `Column` that it builds, and one for every name that it
hands over. So names and expressions travel as one text, and thousands of columns are told apart by
plain names, `c0`, `c1`, ..., that no setting of a session's parser reads otherwise.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pyspark.sql import DataFrame

_SEPARATORS = tuple(map(chr, (*range(9), *range(14, 32))))
"""Control characters; a pattern of such a character means the character."""


def by_position(frame: DataFrame) -> DataFrame:
    """Return the frame with its columns named `c0`, `c1`, ...: no name is ambiguous then."""
    return renamed(frame, [plain(place) for place in range(len(frame.schema.fields))])


def plain(place: int) -> str:
    """Return what `by_position` calls the column at a place."""
    return f"c{place}"


def renamed(frame: DataFrame, names: Sequence[str]) -> DataFrame:
    """Return the frame with its columns called otherwise: what `toDF` does."""
    java = _java_texts(frame, names)
    if java is None:
        return frame.toDF(*names)
    return DataFrame(frame._jdf.toDF(java), frame.sparkSession)


def selected(frame: DataFrame, texts: Sequence[str]) -> DataFrame:
    """Return expressions over the frame, each an SQL text: what `selectExpr` does.

    They are parsed by the settings of the frame's session.
    """
    java = _java_texts(frame, texts)
    if java is None:
        return frame.selectExpr(*texts)
    return DataFrame(frame._jdf.selectExpr(java), frame.sparkSession)


def picked(frame: DataFrame, names: Sequence[str]) -> DataFrame:
    """Return the columns that are called exactly so, in this order."""
    given = frame.columns
    if given == list(names):
        return frame
    places = {name: place for place, name in enumerate(given)}
    chosen = selected(by_position(frame), [plain(places[name]) for name in names])
    return renamed(chosen, names)


def _java_texts(frame: DataFrame, texts: Sequence[str]) -> Any:
    """Return texts as an array of Java's; None where there is no Java, and where it is no help."""
    java = getattr(frame, "_jdf", None)
    if java is None or not texts:
        return None
    free = (each for each in _SEPARATORS if not any(each in text for text in texts))
    separator = next(free, None)
    if separator is None:
        return None
    session: Any = frame.sparkSession
    pattern = session._jvm.java.util.regex.Pattern.compile(separator)
    return pattern.split(separator.join(texts), -1)
