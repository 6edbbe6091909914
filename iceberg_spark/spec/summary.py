"""Snapshot summaries (specification, "Optional Snapshot Summary Fields"; Java: SnapshotSummary)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping

from iceberg_spark.spec.data_file import DataFile, DataFileContent, FileFormat
from iceberg_spark.spec.partition import partition_key

PARTITION_PREFIX = "partitions."
PARTITIONS_INCLUDED = "partition-summaries-included"
CHANGED_PARTITION_COUNT = "changed-partition-count"
STAGED_WAP_ID = "wap.id"
PUBLISHED_WAP_ID = "published-wap-id"
SOURCE_SNAPSHOT_ID = "source-snapshot-id"
REPLACE_PARTITIONS = "replace-partitions"
_ADDED_ORDER = (
    "added-data-files", "deleted-data-files", "added-equality-delete-files",
    "removed-equality-delete-files", "added-position-delete-files",
    "removed-position-delete-files", "added-delete-files", "removed-delete-files", "added-dvs",
    "removed-dvs", "added-records", "deleted-records", "added-files-size", "removed-files-size",
    "added-position-deletes", "removed-position-deletes", "added-equality-deletes",
    "removed-equality-deletes",
)  # fmt: skip
# Total, and the counts that raise and lower it.
_TOTALS = (
    ("total-records", "added-records", "deleted-records"),
    ("total-files-size", "added-files-size", "removed-files-size"),
    ("total-data-files", "added-data-files", "deleted-data-files"),
    ("total-delete-files", "added-delete-files", "removed-delete-files"),
    ("total-position-deletes", "added-position-deletes", "removed-position-deletes"),
    ("total-equality-deletes", "added-equality-deletes", "removed-equality-deletes"),
)


def changes(
    added: Iterable[DataFile],
    removed: Iterable[DataFile] = (),
    *,
    path_of: Callable[[DataFile], str] | None = None,
    partition_limit: int = 0,
) -> dict[str, str]:
    """Return the counts of files, rows and bytes (without zeros) and of changed partitions.

    `path_of` returns a file's partition path; with it, and at most `partition_limit` changed
    partitions (`write.summary.partition-limit`), each partition gets a summary of its own.
    """
    counts: Counter[str] = Counter()
    partitions: dict[Hashable, Counter[str]] = {}
    for files, is_added in ((added, True), (removed, False)):
        for file in files:  # one addition per file: the files of one commit are values already
            file_counts = _counts(file, is_added)
            counts.update(file_counts)
            key = (
                path_of(file)
                if path_of
                else (file.partition_spec_id, partition_key(file.partition))
            )
            partitions.setdefault(key if file.partition else "", Counter()).update(file_counts)
    summary = _texts(counts)
    summary[CHANGED_PARTITION_COUNT] = str(len(partitions))
    if path_of is not None and 0 < len(partitions) <= partition_limit:
        summary[PARTITIONS_INCLUDED] = "true"
        for path, file_counts in partitions.items():
            if path != "":
                texts = ",".join(f"{key}={value}" for key, value in _texts(file_counts).items())
                summary[f"{PARTITION_PREFIX}{path}"] = texts
    return summary


def _counts(file: DataFile, is_added: bool) -> dict[str, int]:
    is_vector = file.file_format is FileFormat.PUFFIN
    size = file.content_size_in_bytes if is_vector else file.file_size_in_bytes
    gone = "added" if is_added else "removed"
    sizes = {f"{gone}-files-size": size or 0}
    match file.content:
        case DataFileContent.DATA:
            verb = "added" if is_added else "deleted"
            return sizes | {f"{verb}-data-files": 1, f"{verb}-records": file.record_count}
        case DataFileContent.POSITION_DELETES:
            files = f"{gone}-dvs" if is_vector else f"{gone}-position-delete-files"
            deletes = f"{gone}-position-deletes"
        case DataFileContent.EQUALITY_DELETES:
            files = f"{gone}-equality-delete-files"
            deletes = f"{gone}-equality-deletes"
    return sizes | {f"{gone}-delete-files": 1, files: 1, deletes: file.record_count}


def _texts(counts: Mapping[str, int]) -> dict[str, str]:
    return {key: str(counts[key]) for key in _ADDED_ORDER if counts.get(key, 0) > 0}


def totals(previous: Mapping[str, str] | None, changed: Mapping[str, str]) -> dict[str, str]:
    """Return the totals after a commit.

    `previous` is the summary of the branch's head, None if the branch is empty. A total is left
    out if the head lacks it, or if it is not a number or would fall below zero.
    """
    sums: dict[str, str] = {}
    for total, raised, lowered in _TOTALS:
        start = "0" if previous is None else previous.get(total)
        if start is None or not start.isdecimal():
            continue
        value = int(start) + int(changed.get(raised, 0)) - int(changed.get(lowered, 0))
        if value >= 0:
            sums[total] = str(value)
    return sums
