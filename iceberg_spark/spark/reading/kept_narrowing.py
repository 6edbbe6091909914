"""Which files frames need is kept a while: to ask Spark's optimizer takes dozens of round trips.

Dashboards make the same frames again and again. Equal plans of one session with equal settings have
equal filters, and the files of a mark never change. Plans that hold rows themselves are not kept.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from pyspark.sql import DataFrame, SparkSession

from iceberg_spark.spark.reading.limits import NARROWING
from iceberg_spark.spark.session.classic_plans import comparable_plan, holds_rows
from iceberg_spark.spark.session.classic_session import settings_text

Found: TypeAlias = Sequence[tuple[int, DataFrame]]
"""Relations with fewer files, each with the place of the one that it stands for."""


@dataclass(frozen=True, slots=True, eq=False)
class _Asked:
    """What was asked. `settings` may hold secrets; `plan` is Java's."""

    session: SparkSession
    settings: str = field(repr=False)
    marks: tuple[str | None, ...]
    by_joins_alone: bool
    plan: Any

    def is_same(self, other: _Asked) -> bool:
        """Whether both ask the same; Java is asked about plans of one session alone."""
        return (
            self.session is other.session
            and self.by_joins_alone == other.by_joins_alone
            and self.marks == other.marks
            and self.settings == other.settings
            and bool(self.plan.equals(other.plan))
        )


_kept: list[tuple[_Asked, Found]] = []
_lock = threading.Lock()


def kept_relations(
    frame: DataFrame, marks: tuple[str | None, ...], by_joins_alone: bool, made: Callable[[], Found]
) -> Found:
    """Return what was found before for an equal frame, or what `made` finds now.

    `marks` are those of its plan. Raises what `made` raises, and one of PLAN_ERRORS.
    """
    session = frame.sparkSession
    settings, plan = settings_text(session), comparable_plan(frame)
    if settings is None or plan is None:
        return made()
    asked = _Asked(session, settings, marks, by_joins_alone, plan)
    with _lock:
        before = list(_kept)
    known = next((one for one in before if one[0].is_same(asked)), None)
    if known is None:
        answer = (asked, made())
        if holds_rows(frame, NARROWING.leaves):
            return answer[1]
    else:
        answer = known
    with _lock:
        others = [one for one in _kept if one is not known]
        _kept[:] = [answer, *others][: NARROWING.kept_frames]
    return answer[1]


def forget_relations() -> None:
    """Forget what was found."""
    with _lock:
        _kept.clear()
