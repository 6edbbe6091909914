"""Which engine reads which files, and why.

Cost on the driver: a few passes over the columns of the plan (some ms for 100,000 files), and the
footers of files that Spark may read (see `footers`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeAlias
from urllib.parse import urlsplit

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from iceberg_spark.io.allowed_places import allowed_places
from iceberg_spark.io.location import store_of
from iceberg_spark.scan.plan import ScanPlan
from iceberg_spark.scan.split import Longs
from iceberg_spark.spark.deletes.files_with_deletes import DeleteGroup, find_files_with_deletes
from iceberg_spark.spark.reading.column_plan import ColumnPlan, column_plans
from iceberg_spark.spark.reading.footer_columns import FindMisread
from iceberg_spark.spark.reading.limits import NATIVE
from iceberg_spark.spark.reading.requested_columns import (
    RequestedColumns,
    requested_columns,
    with_keys,
)
from iceberg_spark.spark.session.engine import Engine

Mask: TypeAlias = npt.NDArray[np.bool_]

BY_ID = "by field id"
BY_NAME = "by name, as the files have no field ids"
_KINDS = "metadata columns, file columns or partition values"
MANY_SMALL_FILES = "many small files, which Spark lists and opens slowly"

_LOCAL = frozenset({"", "file"})
_HIDDEN = r"(/[._][^/]*|\._COPYING_)$"
_GLOB = r"[*?\[\]{}\\]"
_ODD = r"//|/\.\.?(/|$)|^$"
_PARTS = r"^(?P<prefix>(?:[A-Za-z][A-Za-z0-9+.-]*:(?://[^/]*)?)?)(?P<rest>/.*)$"


@dataclass(frozen=True, slots=True)
class FileGroup:
    """Files that one engine reads the same way; `rows` are their indices in `ScanPlan.files`.

    `columns` is how Spark reads their columns. `deletes` are their deletes, None without any.
    """

    reason: str
    rows: Longs
    columns: ColumnPlan | None = None
    is_local: bool = True
    deletes: DeleteGroup | None = None

    @property
    def engine(self) -> Engine:
        """The engine that reads the files."""
        return "arrow" if self.columns is None else "native"

    @property
    def label(self) -> str:
        """The engine and the reason, as text."""
        return (
            f"{self.engine} {self.reason}" if self.engine == "native" else f"arrow: {self.reason}"
        )


@dataclass(frozen=True, slots=True)
class Reach:
    """What a session's Spark can read.

    `isolated`: relations keep the settings of their session (classic sessions).
    `gives_file_values`: relations can have values of their files as columns. `unfit_setting`: a
    setting with which Spark's reader must not be used.
    """

    isolated: bool = True
    unfit_setting: str | None = None
    has_file_system: Callable[[str], bool] = lambda prefix: prefix.partition(":")[0] in _LOCAL
    """Whether it has one for a store, by what stands before its paths: `s3://bucket`."""
    setting: Callable[[str, str], str | None] = lambda _prefix, _name: None
    """A setting of such a store's file system, by its name."""
    gives_file_values: bool = False
    find_misread: FindMisread = lambda _plan, _rows, _columns: {}
    """Finds files that Spark's reader misreads, where the driver reads no footers."""


@dataclass(frozen=True, slots=True)
class _Paths:
    column: Any
    prefix: Any
    rest: Any


def choose_engines(plan: ScanPlan, reach: Reach) -> list[FileGroup]:
    """Return groups that contain every file once, native ones first.

    The first rule that excludes a file from Spark's reader decides. Without one, the file is
    native.
    """
    if _are_many_and_small(plan):
        return [FileGroup(MANY_SMALL_FILES, np.arange(len(plan), dtype=np.int64))]
    requested = requested_columns(plan.context, isolated=reach.isolated)
    left: Mask = np.ones(len(plan), np.bool_)
    arrow: list[FileGroup] = []
    paths = _paths(plan)
    for reason, mask in _rules(plan, paths, reach, requested):
        rows = np.flatnonzero(mask & left)
        if len(rows):
            arrow.append(FileGroup(reason, rows))
            left[rows] = False
    if isinstance(requested, str) or not left.any():
        return arrow
    has_deletes = left & _have_deletes(plan)
    if has_deletes.any() and reach.gives_file_values:
        native, beyond = _native_with_deletes(
            plan, paths, np.flatnonzero(left), requested, reach, has_file_values=True
        )
        return [*native, *arrow, *beyond]
    native, beyond = _native(plan, paths, np.flatnonzero(left & ~has_deletes), requested, reach)
    if has_deletes.any():
        with_deletes, refused = _native_with_deletes(
            plan, paths, np.flatnonzero(has_deletes), requested, reach
        )
        native, beyond = [*native, *with_deletes], [*beyond, *refused]
    return [*native, *arrow, *beyond]


def _are_many_and_small(plan: ScanPlan) -> bool:
    size = plan.metrics.total_file_size_in_bytes
    many = len(plan) > NATIVE.listed_files and size < NATIVE.listed_file_bytes * len(plan)
    return many or (len(plan) > NATIVE.several_files and size < NATIVE.tiny_file_bytes * len(plan))


def _have_deletes(plan: ScanPlan) -> Mask:
    if not plan.metrics.files_with_deletes:
        return np.zeros(len(plan), np.bool_)
    return _mask(pc.greater(pc.list_value_length(plan.files.column("delete_rows")), 0))


def _native_with_deletes(
    plan: ScanPlan,
    paths: _Paths,
    rows: Longs,
    requested: RequestedColumns,
    reach: Reach,
    *,
    has_file_values: bool = False,
) -> tuple[list[FileGroup], list[FileGroup]]:
    """Return native groups with their deletes, and those that the Arrow engine has to read.

    With `has_file_values` (see `find_files_with_deletes`) they may include files without deletes.
    """
    files_with_deletes = find_files_with_deletes(plan, rows, has_file_values=has_file_values)
    reasons = defaultdict[str, list[int]](list)
    for row, why in files_with_deletes.refused.items():
        reasons[why].append(row)
    native: list[FileGroup] = []
    beyond: list[FileGroup] = []
    for group in files_with_deletes.groups:
        more = with_keys(requested, group.keys)
        if isinstance(more, str):
            reasons[more] += group.rows.tolist()
            continue
        parts, others = _native(plan, paths, group.rows, more, reach)
        beyond += others
        if not (group.has_positions or group.equality):
            native += parts
            continue
        for part in parts:
            own = group.part(np.isin(group.rows, part.rows))
            native.append(
                replace(part, rows=own.rows, deletes=own, reason=f"{part.reason}, {own.text}")
            )
    arrow = [FileGroup(why, np.sort(chosen)) for why, chosen in reasons.items()]
    return native, [*arrow, *beyond]


def rows_of(groups: Sequence[FileGroup]) -> Longs:
    """Return the rows of several groups in the order of the plan."""
    if not groups:
        return np.empty(0, np.int64)
    return np.sort(np.concatenate([group.rows for group in groups]))


def _paths(plan: ScanPlan) -> _Paths:
    column = plan.files.column("file_path").combine_chunks()
    parts = pc.extract_regex(column, _PARTS)
    prefix, rest = (pc.fill_null(pc.struct_field(parts, name), "") for name in ("prefix", "rest"))
    return _Paths(column, prefix, rest)


def _rules(
    plan: ScanPlan, paths: _Paths, reach: Reach, requested: RequestedColumns | str
) -> Iterator[tuple[str, Mask]]:
    """Yield reasons against Spark's reader with the files that they concern, cheap ones first."""
    everything = np.ones(len(plan), np.bool_)
    formats = plan.files.column("file_format")
    for name in ("ORC", "AVRO"):
        yield {"AVRO": "Avro"}.get(name, name), _mask(pc.equal(formats, name))
    if plan.added_residuals:  # a relation applies the filter of the scan, if any
        added = pa.array(sorted(plan.added_residuals), pa.int32())
        column = plan.files.column("residual_index")
        yield "filter that the catalog adds", _mask(pc.is_in(column, value_set=added))
    against = reach.unfit_setting or (requested if isinstance(requested, str) else None)
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
    properties = plan.context.io.properties
    allowed = allowed_places(properties)
    for prefix in pc.unique(paths.prefix).to_pylist():
        scheme = prefix.partition(":")[0]
        if allowed is not None and not allowed.may_read(prefix):  # Arrow's tasks refuse it
            yield "scheme that is not the table's", _mask(pc.equal(paths.prefix, prefix))
        if not reach.has_file_system(prefix) or (scheme == "file" and len(prefix) > len("file://")):
            yield (
                f"Spark has no file system for {prefix or scheme}",
                _mask(pc.equal(paths.prefix, prefix)),
            )
        # Keys and endpoints of the table's own, vended ones among them, are not Hadoop's.
        foreign = _foreign_property(prefix, properties, reach)
        if foreign is not None:
            yield (
                f"storage properties for {prefix} are the table's, not Spark's ({foreign})",
                _mask(pc.equal(paths.prefix, prefix)),
            )


def _foreign_property(prefix: str, properties: Mapping[str, str], reach: Reach) -> str | None:
    kind = store_of(prefix)
    if kind == "s3":
        bucket = prefix.partition("://")[2]
        return foreign_s3_property(properties, bucket, partial(reach.setting, prefix))
    return next(
        (name for name in properties if name.startswith(_PROPERTIES_OF.get(kind, ()))), None
    )


_PROPERTIES_OF = {"gs": ("gcs.",), "abfs": ("adls.",)}


def _repeated(paths: Any) -> Mask:
    counted = pc.value_counts(paths)
    several = counted.filter(pc.greater(counted.field("counts"), 1)).field("values")
    return _mask(pc.is_in(paths, value_set=several))


def _mask(column: Any) -> Mask:
    mask: Mask = pc.fill_null(column, False).to_numpy(zero_copy_only=False).astype(np.bool_)
    return mask


def _native(
    plan: ScanPlan, paths: _Paths, rows: Longs, requested: RequestedColumns, reach: Reach
) -> tuple[list[FileGroup], list[FileGroup]]:
    """Group native files by what differs between relations. Groups beyond the limit go to Arrow.

    The groups with the most files stay native.
    """
    groups: list[FileGroup] = []
    beyond: list[FileGroup] = []
    plans = column_plans(
        plan,
        rows,
        requested,
        paths.prefix,
        reach.find_misread,
        has_file_values=reach.gives_file_values,
    )
    for columns, chosen in plans:
        if isinstance(columns, str):
            beyond.append(FileGroup(columns, chosen))
            continue
        schemes = pc.unique(paths.prefix.take(pa.array(chosen))).to_pylist()
        is_local = all(prefix.partition(":")[0] in {"", "file"} for prefix in schemes)
        reason = BY_ID if columns.by_id else BY_NAME
        groups.append(FileGroup(reason, chosen, columns, is_local))
    groups.sort(key=lambda group: -len(group.rows))
    if len(groups) > NATIVE.groups:
        why = f"more than {NATIVE.groups} kinds of {_KINDS}"
        beyond.append(FileGroup(why, rows_of(groups[NATIVE.groups :])))
    return groups[: NATIVE.groups], beyond


Setting = Callable[[str], str | None]
"""A setting of Hadoop's by its name; None where it has none."""

_ENDPOINT = "s3.endpoint"
_KEYS = {
    "access-key-id": "access.key",
    "secret-access-key": "secret.key",
    "session-token": "session.token",
}
_PROVIDER = "aws.credentials.provider"
_OF_KEYS = ("SimpleAWSCredentialsProvider", "TemporaryAWSCredentialsProvider")
_SAY_NOTHING = frozenset({
    "s3.region", "client.region", "s3.connect-timeout", "s3.request-timeout",
    "s3.path-style-access", "s3.force-virtual-addressing", "s3.server-side-encryption",
    "s3.sse-kms-key-id", "s3.sse.type", "s3.sse.key",
})  # fmt: skip
"""Properties that change neither whose objects are read nor with whose rights."""


def foreign_s3_property(properties: Mapping[str, str], bucket: str, setting: Setting) -> str | None:
    """Return a storage property that differs from Hadoop's S3A settings; None if all agree.

    Settings of one bucket (`fs.s3a.bucket.NAME.*`) take precedence, as in S3A.
    """

    def of_s3a(name: str) -> str | None:
        return setting(f"fs.s3a.bucket.{bucket}.{name}") or setting(f"fs.s3a.{name}") or None

    remaining = {
        key: value
        for key, value in properties.items()
        if key.startswith(("s3.", "client.")) and value and key not in _SAY_NOTHING
    }
    keys = {
        name: remaining.pop(f"s3.{name}", None) or remaining.get(f"client.{name}") for name in _KEYS
    }
    for name in _KEYS:
        remaining.pop(f"client.{name}", None)
    endpoint = remaining.pop(_ENDPOINT, None)
    if remaining:
        return min(remaining)
    if endpoint is not None and _address(endpoint, of_s3a) != _address(of_s3a("endpoint"), of_s3a):
        return _ENDPOINT
    return _foreign_key(keys, of_s3a) if any(keys.values()) else None


def _foreign_key(keys: Mapping[str, str | None], of_s3a: Setting) -> str | None:
    for name, key in _KEYS.items():
        if keys[name] != of_s3a(key):
            return f"s3.{name}"
    provider = of_s3a(_PROVIDER)
    uses_keys = provider is None or any(name in provider for name in _OF_KEYS)
    return None if uses_keys else "s3.access-key-id"


def _address(endpoint: str | None, of_s3a: Setting) -> tuple[str, str] | None:
    """Return the scheme and host of an endpoint. Hadoop's may lack the scheme."""
    if endpoint is None:
        return None
    text = endpoint.strip()
    if "://" not in text:
        is_plain = (of_s3a("connection.ssl.enabled") or "true").strip().lower() == "false"
        text = f"{'http' if is_plain else 'https'}://{text}"
    parts = urlsplit(text.rstrip("/"))
    return parts.scheme.lower(), f"{parts.netloc.lower()}{parts.path}"
