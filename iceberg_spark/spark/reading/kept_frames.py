"""Frames of plans that were made lately: to make one again costs nothing.

Each takes dozens of round trips to Java, and is made again for every query of the same table.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow.compute as pc
from pyspark.sql import DataFrame, SparkSession

from iceberg_spark.read.delete_cache import DeleteCache
from iceberg_spark.scan.plan import ScanPlan
from iceberg_spark.spark.reading.limits import KEPT
from iceberg_spark.spark.session.classic_session import settings_text
from iceberg_spark.spec.data_file import DataFileContent

_frames = DeleteCache(KEPT.frame_bytes)


@dataclass(frozen=True, slots=True, eq=False)
class AskedFrames:
    """A plan, and all that its frames depend on beside it.

    Plans are the same whose tables of files are: these are kept as long as this is, and no plan has
    those of a plan by another filter. `storage` may hold secrets.
    """

    plan: ScanPlan
    session: SparkSession
    settings: str
    filters: bool
    storage: Mapping[str, str] = field(repr=False)

    def __hash__(self) -> int:
        return hash((id(self.plan.files), self.settings, self.filters))

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, AskedFrames)
            and self.plan.files is other.plan.files
            and self.plan.deletes is other.plan.deletes
            and self.session is other.session
            and self.settings == other.settings
            and self.filters == other.filters
            and self.storage == other.storage
            and self.plan.context == other.plan.context
        )


def kept_frames(
    plan: ScanPlan,
    session: SparkSession,
    made: Callable[[], Sequence[DataFrame] | None],
    *,
    filters: bool,
) -> Sequence[DataFrame] | None:
    """Return the frames of a plan that were made before, or what `made` makes.

    Where it makes None that is not kept, nor is anything over Connect.
    """
    settings = settings_text(session)
    if settings is None:
        return made()
    storage = dict(plan.context.io.properties)
    asked = AskedFrames(plan, session, settings, filters, storage)

    def sized() -> tuple[Any, int]:
        frames = made()
        return frames, KEPT.frame_bytes + 1 if frames is None else _bytes_of(plan)

    found: Sequence[DataFrame] | None = _frames.get_or_load(asked, sized)
    return found


def _bytes_of(plan: ScanPlan) -> int:
    """Return what the frames of a plan hold in Java, about: paths, bits of rows, tables of keys."""
    files = len(plan) * KEPT.file_bytes
    if not plan.metrics.files_with_deletes:
        return KEPT.plan_bytes + files
    bits = plan.metrics.total_record_count // 8
    deletes = plan.deletes.files
    by_key = pc.equal(deletes.column("content"), DataFileContent.EQUALITY_DELETES)
    keys = pc.sum(deletes.filter(by_key).column("record_count")).as_py() or 0
    return KEPT.plan_bytes + files + bits + keys * KEPT.key_bytes
