"""Frames of plans that were made lately: to make one again costs nothing.

Each takes dozens of round trips to Java, and is made again for every query of the same table.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, SparkSession

from iceberg_spark.read.delete_cache import DeleteCache
from iceberg_spark.scan.context import ScanContext
from iceberg_spark.scan.delete_index import DeleteIndex
from iceberg_spark.scan.plan import ScanPlan
from iceberg_spark.spark.reading.limits import KEPT
from iceberg_spark.spark.session.long_texts import settings_text, still_says
from iceberg_spark.spec.data_file import DataFileContent

_frames = DeleteCache(KEPT.frame_bytes)


@dataclass(frozen=True, slots=True, eq=False)
class AskedFrames:
    """What of a plan its frames depend on, and all that they depend on beside it.

    Plans are the same whose tables of files are: these are kept as long as this is, and no plan has
    those of a plan by another filter. `settings` and `storage` may hold secrets.
    """

    files: pa.Table
    deletes: DeleteIndex
    context: ScanContext
    session: SparkSession
    settings: str = field(repr=False)
    filters: bool
    storage: Mapping[str, str] = field(repr=False)

    @classmethod
    def of(cls, plan: ScanPlan, session: SparkSession, settings: str, *, filters: bool) -> Self:
        """Return what the frames of a plan depend on, but for the table's metadata."""
        storage = dict(plan.context.io.properties)
        return cls(plan.files, plan.deletes, plan.context, session, settings, filters, storage)

    def __hash__(self) -> int:
        return hash((id(self.files), self.settings, self.filters))

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, AskedFrames)
            and self.files is other.files
            and self.deletes is other.deletes
            and self.session is other.session
            and self.settings == other.settings
            and self.filters == other.filters
            and self.storage == other.storage
            and self.context == other.context
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
    asked = AskedFrames.of(plan, session, settings, filters=filters)

    def sized() -> tuple[Any, int]:
        frames = made()
        is_kept = frames is not None and still_says(session, settings)
        return frames, _bytes_of(plan) if is_kept else KEPT.frame_bytes + 1

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
