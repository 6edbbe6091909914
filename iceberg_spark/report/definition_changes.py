"""The history of schemas and partition specs, each as a diff to the version before it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise

from iceberg_spark.report.limits import REPORT
from iceberg_spark.spec.metadata import TableMetadata
from iceberg_spark.spec.partition import PartitionSpec
from iceberg_spark.spec.schema import Schema
from iceberg_spark.spec.types import ListType, MapType, StructType


@dataclass(frozen=True, slots=True)
class Change:
    """A line of a diff: "+" was added, "-" was removed, "~" was changed, "…" is not shown."""

    sign: str
    text: str


@dataclass(frozen=True, slots=True)
class Version:
    """A schema or a partition spec, and what it changed; the first one adds everything."""

    number: int
    changes: tuple[Change, ...]
    is_current: bool
    since_ms: int | None
    """The time of the first snapshot that has it, None without such a snapshot."""


def schema_versions(metadata: TableMetadata) -> tuple[Version, ...]:
    """Return the newest schemas, oldest first, with the columns that each changed."""
    since: dict[int, int] = {}
    for snapshot in metadata.snapshots.values():
        if snapshot.schema_id is not None:
            earlier = since.get(snapshot.schema_id, snapshot.timestamp_ms)
            since[snapshot.schema_id] = min(earlier, snapshot.timestamp_ms)
    columns = {number: _columns(metadata.schemas[number]) for number in _newest(metadata.schemas)}
    return _versions(columns, metadata.current_schema_id, since)


def spec_versions(metadata: TableMetadata) -> tuple[Version, ...]:
    """Return the newest partition specs, oldest first, with the fields that each changed."""
    fields = {
        number: _fields(metadata.partition_specs[number], metadata)
        for number in _newest(metadata.partition_specs)
    }
    return _versions(fields, metadata.default_spec_id, {})


def _newest(numbers: Iterable[int]) -> list[int]:
    """Return the numbers of the versions that are shown, and of the one before them."""
    return sorted(numbers)[-REPORT.schema_versions - 1 :]


def _versions(
    definitions: Mapping[int, Mapping[int, str]], current: int, since: Mapping[int, int]
) -> tuple[Version, ...]:
    empty: Mapping[int, str] = {}
    steps = list(pairwise([(-1, empty), *definitions.items()]))[-REPORT.schema_versions :]
    return tuple(
        Version(
            number,
            _cut(list(_diff(before, after))),
            number == current,
            since.get(number),
        )
        for (_, before), (number, after) in steps
    )


def _cut(changes: list[Change]) -> tuple[Change, ...]:
    hidden = len(changes) - REPORT.changes
    more = [Change("…", f"{hidden:,} more changes")] if hidden > 0 else []
    return (*changes[: REPORT.changes], *more)


def _diff(before: Mapping[int, str], after: Mapping[int, str]) -> Iterator[Change]:
    for number, text in after.items():
        if number not in before:
            yield Change("+", text)
        elif before[number] != text:
            yield Change("~", f"{before[number]}  →  {text}")
    for number, text in before.items():
        if number not in after:
            yield Change("-", text)


def _columns(schema: Schema) -> dict[int, str]:
    """Return each column as a line, nested ones by their full name."""
    lines = {}
    for number in sorted(schema.field_ids):
        field = schema.find_field(number)
        match field.field_type:
            case StructType():
                kind = "struct"
            case ListType():
                kind = "list"
            case MapType():
                kind = "map"
            case other:
                kind = str(other)
        required = " required" if field.required else ""
        lines[number] = f"{schema.find_column_name(number)} {kind}{required}"
    return lines


def _fields(spec: PartitionSpec, metadata: TableMetadata) -> dict[int, str]:
    return {
        part.field_id: f"{part.name} = {part.transform}({_sources(part.source_ids, metadata)})"
        for part in spec.fields
    }


def _sources(source_ids: tuple[int, ...], metadata: TableMetadata) -> str:
    names = (metadata.schema.find_column_name(number) for number in source_ids)
    return ", ".join(
        name or f"dropped column {number}" for name, number in zip(names, source_ids, strict=True)
    )
