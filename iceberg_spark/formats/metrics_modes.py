"""Which metrics each column gets, from the table's properties.

Source: Java's MetricsConfig and MetricsModes (properties `write.metadata.metrics.*`).
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum

from iceberg_spark.spec.properties import (
    DEFAULT_METRICS_MODE,
    METRICS_MAX_INFERRED_COLUMNS,
    METRICS_MODE_COLUMN_PREFIX,
)
from iceberg_spark.spec.schema import Schema
from iceberg_spark.spec.types import IcebergType, ListType, MapType, NestedField, StructType

_MAX_INFERRED_DEFAULT = 100
_TRUNCATE = re.compile(r"truncate\((\d+)\)")
_log = logging.getLogger(__name__)


class ModeKind(Enum):
    """The amount of metrics of a column."""

    NONE = "none"
    COUNTS = "counts"
    TRUNCATE = "truncate"
    FULL = "full"


@dataclass(frozen=True, slots=True)
class MetricsMode:
    """A mode; `width` is in code points or bytes and only of truncate."""

    kind: ModeKind
    width: int | None = None

    @property
    def has_counts(self) -> bool:
        """True for all modes but none."""
        return self.kind is not ModeKind.NONE

    @property
    def has_bounds(self) -> bool:
        """True if lower and upper bounds are stored."""
        return self.kind in (ModeKind.TRUNCATE, ModeKind.FULL)


NONE = MetricsMode(ModeKind.NONE)
COUNTS = MetricsMode(ModeKind.COUNTS)
FULL = MetricsMode(ModeKind.FULL)
TRUNCATE_16 = MetricsMode(ModeKind.TRUNCATE, 16)
_NAMED = {"none": NONE, "counts": COUNTS, "full": FULL}


def parse_mode(text: str) -> MetricsMode | None:
    """Return the mode of a property value, None if it is no mode."""
    lower = text.strip().lower()
    cut = _TRUNCATE.fullmatch(lower)
    if cut and int(cut.group(1)) > 0:
        return MetricsMode(ModeKind.TRUNCATE, int(cut.group(1)))
    return _NAMED.get(lower)


def metrics_modes(
    schema: Schema, properties: Mapping[str, str], sorted_ids: Iterable[int] = ()
) -> dict[int, MetricsMode]:
    """Return the mode of every field id, nested ones too.

    Without `write.metadata.metrics.default` the first 100 columns (`max-inferred-column-
    defaults`) get truncate(16), the others none. Columns of the table's sort order get at least
    truncate(16). An invalid mode is logged and ignored.
    """
    chosen = _mode_of(properties, DEFAULT_METRICS_MODE, None)
    modes: dict[int, MetricsMode] = {}
    if chosen is not None:
        default = chosen
    else:
        default, modes = _inferred(schema, _limit(properties))
    promoted = default if default.has_bounds else TRUNCATE_16
    modes.update(dict.fromkeys(sorted_ids, promoted))
    for key in properties:
        if key.startswith(METRICS_MODE_COLUMN_PREFIX):
            field_id = schema.find_id(key.removeprefix(METRICS_MODE_COLUMN_PREFIX))
            mode = _mode_of(properties, key, default)
            if field_id is not None and mode is not None:
                modes[field_id] = mode
    return {field_id: modes.get(field_id, default) for field_id in schema.field_ids}


def _mode_of(
    properties: Mapping[str, str], key: str, fallback: MetricsMode | None
) -> MetricsMode | None:
    text = properties.get(key)
    if text is None:
        return fallback
    mode = parse_mode(text)
    if mode is None:
        default = fallback or TRUNCATE_16
        _log.warning("Table property %s=%r is no metrics mode; using %s", key, text, default)
        return default
    return mode


def _limit(properties: Mapping[str, str]) -> int:
    try:
        limit = int(properties.get(METRICS_MAX_INFERRED_COLUMNS, _MAX_INFERRED_DEFAULT))
    except ValueError:
        limit = -1
    if limit < 0:
        _log.warning(
            "Table property %s is no count; using %d",
            METRICS_MAX_INFERRED_COLUMNS,
            _MAX_INFERRED_DEFAULT,
        )
        return _MAX_INFERRED_DEFAULT
    return limit


def _inferred(schema: Schema, limit: int) -> tuple[MetricsMode, dict[int, MetricsMode]]:
    eligible = list(_breadth_first(schema.as_struct()))
    if len(eligible) <= limit:
        return TRUNCATE_16, {}
    return NONE, dict.fromkeys(eligible[:limit], TRUNCATE_16)


def _breadth_first(kind: IcebergType) -> Iterator[int]:
    """Yield primitive fields, those of a struct before those of the structs inside it."""
    children = _children(kind)
    yield from (child.field_id for child in children if not _children(child.field_type))
    for child in children:
        yield from _breadth_first(child.field_type)


def _children(kind: IcebergType) -> tuple[NestedField, ...]:
    match kind:
        case StructType(fields=fields):
            return fields
        case ListType():
            return (kind.element_field,)
        case MapType():
            return (kind.key_field, kind.value_field)
        case _:
            return ()
