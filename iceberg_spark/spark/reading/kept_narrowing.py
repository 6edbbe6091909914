"""What frames need is kept a while: to ask Spark's optimizer takes dozens of round trips.

Dashboards make the same frames again and again. The same plans of one session with equal settings
have the same filters, and the files of a mark never change. Plans that hold rows are not kept.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar

from pyspark.sql import DataFrame, SparkSession

from iceberg_spark.spark.reading.limits import NARROWING
from iceberg_spark.spark.session.classic_plans import comparable_plan, holds_rows, is_same_plan
from iceberg_spark.spark.session.long_texts import settings_text, still_says

Found = TypeVar("Found")


@dataclass(frozen=True, slots=True, eq=False)
class _Asked:
    """What was asked. `settings` may hold secrets; `plan` is Java's."""

    session: SparkSession
    settings: str = field(repr=False)
    marks: tuple[str | None, ...]
    way: str
    plan: Any

    def is_same(self, other: _Asked) -> bool:
        """Whether both ask the same; Java is asked about plans of one session alone."""
        return (
            self.session is other.session
            and self.way == other.way
            and self.marks == other.marks
            and self.settings == other.settings
            and is_same_plan(self.session, self.plan, other.plan)
        )


_kept: list[tuple[_Asked, Any]] = []
_lock = threading.Lock()


def kept_relations(
    frame: DataFrame, marks: tuple[str | None, ...], way: str, made: Callable[[], Found]
) -> Found:
    """Return what was found before for an equal frame, or what `made` finds now.

    `marks` are those of its plan, `way` says what is looked for. Raises what `made` raises, and
    one of PLAN_ERRORS.
    """
    session = frame.sparkSession
    settings, plan = settings_text(session), comparable_plan(frame)
    if settings is None or plan is None:
        return made()
    asked = _Asked(session, settings, marks, way, plan)
    with _lock:
        before = list(_kept)
    known = next((one for one in before if one[0].is_same(asked)), None)
    if known is None:
        found = made()
        if holds_rows(frame, NARROWING.leaves) or not still_says(session, settings):
            return found
        answer = (asked, found)
    else:
        answer = known
    with _lock:
        others = [one for one in _kept if one is not known]
        _kept[:] = [answer, *others][: NARROWING.kept_frames]
    kept: Found = answer[1]
    return kept


def forget_relations() -> None:
    """Forget what was found."""
    with _lock:
        _kept.clear()
