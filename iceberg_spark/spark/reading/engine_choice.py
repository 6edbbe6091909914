"""Which engine reads which planned files, and why.

Bounds on the driver: a few passes over the columns of the plan (some ms for 100,000 files), and
the footers of the files that Spark may read (see `footers`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from iceberg_spark.io.fsspec_io import allowed_stores
from iceberg_spark.io.location import store_of
from iceberg_spark.read.leaf_columns import LeafColumn
from iceberg_spark.scan.plan import ScanPlan
from iceberg_spark.scan.split import Longs
from iceberg_spark.spark.deletes.files_with_deletes import DirtyFiles, find_files_with_deletes
from iceberg_spark.spark.reading.asked_columns import (
    column_reason,
    data_fields,
    key_fields,
    key_reason,
)
from iceberg_spark.spark.reading.footer_columns import (
    BY_FIELD_ID,
    FileColumns,
    Found,
    file_columns,
)
from iceberg_spark.spark.session.engine import Engine
from iceberg_spark.spec import reserved

Mask: TypeAlias = npt.NDArray[np.bool_]

BY_ID = "by field id"
BY_NAME = "by name, as the files have no field ids"
MAX_RELATIONS = 16
"""So many native groups at most: a plan that is looked at should read well."""
_KINDS = "metadata columns, file columns or partition values"
MANY_FILES = 5_000
SMALL_FILE_BYTES = 1024 * 1024
"""More files than that, and smaller ones, take Spark's driver longer to list than Java to plan."""
SEVERAL_FILES = 128
TINY_FILE_BYTES = 64 * 1024
"""More files than that, and smaller ones, are read by the Arrow engine, which takes 0.4 ms a file,
where Spark's reader takes 1.3 ms; so it pays even if Spark would read one column of many. Fewer
files are not worth starting Python workers for."""
MANY_SMALL_FILES = "many small files, which Spark lists and opens slowly"

_HIDDEN = r"(/[._][^/]*|\._COPYING_)$"
_GLOB = r"[*?\[\]{}\\]"
_ODD = r"//|/\.\.?(/|$)|^$"
_PARTS = r"^(?P<prefix>(?:[A-Za-z][A-Za-z0-9+.-]*:(?://[^/]*)?)?)(?P<rest>/.*)$"


@dataclass(frozen=True, slots=True)
class FileGroup:
    """Files that one engine reads in one way; `rows` are their rows in `ScanPlan.files`.

    `columns` says where the columns are in native files. `prefix` is how the table spells the
    start of the paths ("file:", "s3://bucket", ""). `spec_id` and `partition_index` are
    set where they are the same for all files, as metadata columns need it. `deletes` is what
    deletes rows of native files, None for clean ones.
    """

    engine: Engine
    reason: str
    rows: Longs
    prefix: str = ""
    is_local: bool = True
    columns: FileColumns = BY_FIELD_ID
    spec_id: int | None = None
    partition_index: int | None = None
    deletes: DirtyFiles | None = None

    @property
    def label(self) -> str:
        """The engine and the reason, for people."""
        return (
            f"{self.engine} {self.reason}" if self.engine == "native" else f"arrow: {self.reason}"
        )


@dataclass(frozen=True, slots=True)
class Reach:
    """What Spark's side of a session can do: the schemes it has file systems for, and so on.

    `isolated`: relations keep the settings that they were made with (classic sessions).
    `unfit_setting`: a setting of the session that Spark's reader must not be used with.
    """

    isolated: bool = True
    unfit_setting: str | None = None
    has_file_system: Callable[[str], bool] = lambda scheme: scheme in {"", "file"}


@dataclass(frozen=True, slots=True)
class _Paths:
    column: Any
    prefix: Any
    rest: Any


def choose_engines(plan: ScanPlan, reach: Reach) -> list[FileGroup]:
    """Return groups that hold every planned file once, native ones first.

    A file goes to the first rule that speaks against Spark's reader; what none speaks against
    is native.
    """
    if _are_many_and_small(plan):
        return [FileGroup("arrow", MANY_SMALL_FILES, np.arange(len(plan), dtype=np.int64))]
    left: Mask = np.ones(len(plan), np.bool_)
    arrow: list[FileGroup] = []
    paths = _paths(plan)
    for reason, mask in _rules(plan, paths, reach):
        rows = np.flatnonzero(mask & left)
        if len(rows):
            arrow.append(FileGroup("arrow", reason, rows))
            left[rows] = False
    dirty = left & _dirty(plan)
    native, beyond = _native(plan, paths, np.flatnonzero(left & ~dirty), reach)
    if dirty.any():
        with_deletes, refused = _native_dirty(plan, paths, np.flatnonzero(dirty), reach)
        native, beyond = [*native, *with_deletes], [*beyond, *refused]
    return [*native, *arrow, *beyond]


def _are_many_and_small(plan: ScanPlan) -> bool:
    size = plan.metrics.total_file_size_in_bytes
    many = len(plan) > MANY_FILES and size < SMALL_FILE_BYTES * len(plan)
    return many or (len(plan) > SEVERAL_FILES and size < TINY_FILE_BYTES * len(plan))


def _dirty(plan: ScanPlan) -> Mask:
    if not plan.metrics.files_with_deletes:
        return np.zeros(len(plan), np.bool_)
    return _mask(pc.greater(pc.list_value_length(plan.files.column("delete_rows")), 0))


def _native_dirty(
    plan: ScanPlan, paths: _Paths, rows: Longs, reach: Reach
) -> tuple[list[FileGroup], list[FileGroup]]:
    """Return native groups with their deletes, and those that the Arrow engine has to read."""
    found = find_files_with_deletes(plan, rows)
    reasons = defaultdict[str, list[int]](list)
    for row, why in found.refused.items():
        reasons[why].append(row)
    native: list[FileGroup] = []
    beyond: list[FileGroup] = []
    for dirty in found.groups:
        against = key_reason(plan.context, dirty.keys, isolated=reach.isolated)
        if against:
            reasons[against] += dirty.rows.tolist()
            continue
        parts, others = _native(plan, paths, dirty.rows, reach, dirty.keys)
        beyond += others
        for part in parts:
            own = dirty.part(np.isin(dirty.rows, part.rows))
            native.append(
                replace(part, rows=own.rows, deletes=own, reason=f"{part.reason}, {own.text}")
            )
    arrow = [FileGroup("arrow", why, np.sort(chosen)) for why, chosen in reasons.items()]
    return native, [*arrow, *beyond]


def rows_of(groups: Sequence[FileGroup]) -> Longs:
    """Return the rows of several groups in the plan's order."""
    if not groups:
        return np.empty(0, np.int64)
    return np.sort(np.concatenate([group.rows for group in groups]))


def _paths(plan: ScanPlan) -> _Paths:
    column = plan.files.column("file_path").combine_chunks()
    parts = pc.extract_regex(column, _PARTS)
    prefix, rest = (pc.fill_null(pc.struct_field(parts, name), "") for name in ("prefix", "rest"))
    return _Paths(column, prefix, rest)


def _rules(plan: ScanPlan, paths: _Paths, reach: Reach) -> Iterator[tuple[str, Mask]]:
    """Yield reasons against Spark's reader with the files that they concern, cheap ones first."""
    everything = np.ones(len(plan), np.bool_)
    formats = plan.files.column("file_format")
    for name in ("ORC", "AVRO"):
        yield {"AVRO": "Avro"}.get(name, name), _mask(pc.equal(formats, name))
    against = reach.unfit_setting or column_reason(plan.context, isolated=reach.isolated)
    if against:
        yield against, everything
        return
    if pc.count_distinct(paths.column).as_py() < len(plan):
        # What differs from file to file is joined to the rows: each copy would come twice.
        yield "file that is listed more than once", _repeated(paths.column)
    yield "file name starts with _ or .", _mask(pc.match_substring_regex(paths.rest, _HIDDEN))
    yield (
        "path has characters that Spark expands",
        _mask(pc.match_substring_regex(paths.column, _GLOB)),
    )
    yield "path that Spark would spell otherwise", _mask(pc.match_substring_regex(paths.rest, _ODD))
    allowed = allowed_stores(plan.context.io_properties)
    for prefix in pc.unique(paths.prefix).to_pylist():
        scheme = prefix.partition(":")[0]
        if allowed is not None and store_of(prefix) not in allowed:  # Arrow's tasks refuse it
            yield "scheme that is not the table's", _mask(pc.equal(paths.prefix, prefix))
        if not reach.has_file_system(scheme) or (scheme == "file" and len(prefix) > len("file://")):
            yield (
                f"Spark has no file system for {prefix or scheme}",
                _mask(pc.equal(paths.prefix, prefix)),
            )


def _repeated(paths: Any) -> Mask:
    counted = pc.value_counts(paths)
    several = counted.filter(pc.greater(counted.field("counts"), 1)).field("values")
    return _mask(pc.is_in(paths, value_set=several))


def _mask(column: Any) -> Mask:
    mask: Mask = pc.fill_null(column, False).to_numpy(zero_copy_only=False).astype(np.bool_)
    return mask


def _native(
    plan: ScanPlan, paths: _Paths, rows: Longs, reach: Reach, keys: Sequence[LeafColumn] = ()
) -> tuple[list[FileGroup], list[FileGroup]]:
    """Split the native files by what differs between relations; those beyond the limit are arrow.

    `keys` are columns that deletes need. The groups with the most files are kept.
    """
    context = plan.context
    wanted = (*data_fields(context), *key_fields(context, keys).values())
    found = defaultdict[Found, list[int]](list)
    columns_of = file_columns(plan, rows, wanted, isolated=reach.isolated)
    for row, columns in zip(rows.tolist(), columns_of, strict=True):
        found[columns].append(row)
    groups: list[FileGroup] = []
    beyond: list[FileGroup] = []
    for columns, members in found.items():
        chosen = np.array(members, np.int64)
        if isinstance(columns, str):
            beyond.append(FileGroup("arrow", columns, chosen))
        else:
            groups += _by_metadata_columns(plan, paths, chosen, columns)
    groups.sort(key=lambda group: -len(group.rows))
    if len(groups) > MAX_RELATIONS:
        why = f"more than {MAX_RELATIONS} kinds of {_KINDS}"
        beyond.append(FileGroup("arrow", why, rows_of(groups[MAX_RELATIONS:])))
    return groups[:MAX_RELATIONS], beyond


def _by_metadata_columns(
    plan: ScanPlan, paths: _Paths, rows: Longs, columns: FileColumns
) -> list[FileGroup]:
    """Split files by the metadata columns that are the same for a whole relation."""
    if not len(rows):
        return []
    wanted = {field.field_id for field in plan.context.read_schema}
    keys = [paths.prefix.dictionary_encode().indices if _asks(wanted, reserved.FILE_ID) else None]
    keys.append(plan.files.column("spec_id") if _asks(wanted, reserved.SPEC_ID_ID) else None)
    by_tuple = _asks(wanted, reserved.PARTITION_ID)
    keys.append(plan.files.column("partition_index") if by_tuple else None)
    parts = {str(at): key.take(pa.array(rows)) for at, key in enumerate(keys) if key is not None}
    if not parts:
        return [_described(plan, paths, rows, columns)]
    numbered = pa.table({**parts, "row": rows}).combine_chunks()
    found = numbered.group_by(list(parts)).aggregate([("row", "list")]).column("row_list")
    return [_described(plan, paths, np.sort(each.values.to_numpy()), columns) for each in found]


def _asks(wanted: set[int], field_id: int) -> bool:
    return field_id in wanted


def _described(plan: ScanPlan, paths: _Paths, rows: Longs, columns: FileColumns) -> FileGroup:
    first = int(rows[0])
    wanted = {field.field_id for field in plan.context.read_schema}
    schemes = pc.unique(paths.prefix.take(pa.array(rows))).to_pylist()
    local = all(prefix.partition(":")[0] in {"", "file"} for prefix in schemes)
    reason = BY_ID if columns.names is None else BY_NAME
    group = FileGroup("native", reason, rows, is_local=local, columns=columns)
    if reserved.FILE_ID in wanted:
        group = replace(group, prefix=paths.prefix[first].as_py())
    if wanted & {reserved.SPEC_ID_ID, reserved.PARTITION_ID}:
        group = replace(group, spec_id=plan.files.column("spec_id")[first].as_py())
    if reserved.PARTITION_ID in wanted:
        index = plan.files.column("partition_index")[first].as_py()
        group = replace(group, partition_index=index)
    return group
