"""The options of `rewrite_data_files`: Java's names, defaults and checks.

Source: Java's SizeBasedFileRewritePlanner, BinPackRewriteFilePlanner, RewriteDataFilesSparkAction,
SparkShufflingDataRewritePlanner, SparkShufflingFileRewriteRunner, SparkZOrderFileRewriteRunner.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from iceberg_spark.errors import InvalidOptionError
from iceberg_spark.spec.arguments import (
    boolean_option,
    choice_option,
    integer_option,
    known_options,
)
from iceberg_spark.spec.metadata import TableMetadata
from iceberg_spark.spec.properties import WRITE_TARGET_FILE_SIZE_BYTES, int_property

_LARGEST_INT, _LARGEST_LONG = (1 << 31) - 1, (1 << 63) - 1
_GB = 1024**3

_EVERY = (
    "target-file-size-bytes", "min-file-size-bytes", "max-file-size-bytes", "min-input-files",
    "rewrite-all", "max-file-group-size-bytes", "max-file-group-input-files",
    "delete-file-threshold", "delete-ratio-threshold", "rewrite-job-order",
    "max-files-to-rewrite", "max-concurrent-file-group-rewrites", "partial-progress.enabled",
    "partial-progress.max-commits", "partial-progress.max-failed-commits",
    "use-starting-sequence-number", "output-spec-id", "remove-dangling-deletes",
)  # fmt: skip
_SHUFFLING = ("compression-factor", "shuffle-partitions-per-file")
_Z_ORDER = ("max-output-size", "var-length-contribution")


class Strategy(StrEnum):
    """How rows are arranged, named like Java's runners."""

    BIN_PACK = "BIN-PACK"
    SORT = "SORT"
    Z_ORDER = "Z-ORDER"


VALID_OPTIONS: Mapping[Strategy, tuple[str, ...]] = {
    Strategy.BIN_PACK: _EVERY,
    Strategy.SORT: (*_EVERY, *_SHUFFLING),
    Strategy.Z_ORDER: (*_EVERY, *_SHUFFLING, *_Z_ORDER),
}
"""The options of each strategy."""


class JobOrder(StrEnum):
    """Which groups are rewritten first."""

    NONE = "none"
    BYTES_ASC = "bytes-asc"
    BYTES_DESC = "bytes-desc"
    FILES_ASC = "files-asc"
    FILES_DESC = "files-desc"


@dataclass(frozen=True, slots=True)
class FileSizes:
    """Sizes in bytes: files below `least` or above `most` are rewritten to about `target`."""

    target: int
    least: int
    most: int
    factor: float = 1.0  # `compression-factor`: estimates the input as larger


@dataclass(frozen=True, slots=True)
class GroupOptions:
    """Which files are rewritten, and together with which others; sizes are bytes."""

    sizes: FileSizes
    min_input_files: int = 5
    rewrite_all: bool = False
    max_group_bytes: int = 100 * _GB
    max_group_files: int = _LARGEST_LONG
    delete_file_threshold: int = _LARGEST_INT
    delete_ratio_threshold: float = 0.3
    job_order: JobOrder = JobOrder.NONE
    max_files: int | None = None


@dataclass(frozen=True, slots=True)
class RewriteOptions:
    """All options of a rewrite, without the strategy and the files."""

    groups: GroupOptions
    output_spec_id: int
    max_concurrent_groups: int | None = None
    partial_progress: bool = False
    max_commits: int = 10
    max_failed_commits: int = 10
    use_starting_sequence_number: bool = True
    remove_dangling_deletes: bool = False
    shuffle_partitions_per_file: int = 1
    max_output_size: int = _LARGEST_INT
    var_length_contribution: int = 8


def rewrite_options(
    options: Mapping[str, object], strategy: Strategy, metadata: TableMetadata
) -> RewriteOptions:
    """Parse the options of a rewrite; keys in any case, values as text or as Python values.

    Raises:
        InvalidOptionError: the strategy does not support an option (the message names the nearest
            one), or Java refuses a value.
    """
    texts = {key: _text(value) for key, value in options.items()}
    values = known_options(texts, VALID_OPTIONS[strategy], ())
    partial = boolean_option(values, "partial-progress.enabled", default=False)
    commits = _int(values, "partial-progress.max-commits", 10, lambda n: n > 0 or not partial)
    concurrent = integer_option(values, "max-concurrent-file-group-rewrites")
    if concurrent is not None:
        _require(concurrent >= 1, "max-concurrent-file-group-rewrites", concurrent, "at least 1")
    return RewriteOptions(
        groups=_groups(values, metadata),
        output_spec_id=_output_spec(values, metadata),
        max_concurrent_groups=concurrent,
        partial_progress=partial,
        max_commits=commits,
        max_failed_commits=_int(values, "partial-progress.max-failed-commits", commits),
        use_starting_sequence_number=boolean_option(
            values, "use-starting-sequence-number", default=True
        ),
        remove_dangling_deletes=boolean_option(values, "remove-dangling-deletes", default=False),
        shuffle_partitions_per_file=_int(values, "shuffle-partitions-per-file", 1, _above_zero),
        max_output_size=_int(values, "max-output-size", _LARGEST_INT, _above_zero),
        var_length_contribution=_int(values, "var-length-contribution", 8, _above_zero),
    )


def _groups(values: Mapping[str, str], metadata: TableMetadata) -> GroupOptions:
    ratio = _float(values, "delete-ratio-threshold", 0.3)
    _require(0 < ratio <= 1, "delete-ratio-threshold", ratio, "above 0 and at most 1")
    order = choice_option(values, "rewrite-job-order", tuple(JobOrder))
    most = integer_option(values, "max-files-to-rewrite")
    if most is not None:
        _require(most > 0, "max-files-to-rewrite", most, "above 0")
    return GroupOptions(
        sizes=_sizes(values, int_property(metadata.properties, WRITE_TARGET_FILE_SIZE_BYTES)),
        min_input_files=_int(values, "min-input-files", 5, _above_zero),
        rewrite_all=boolean_option(values, "rewrite-all", default=False),
        max_group_bytes=_int(values, "max-file-group-size-bytes", 100 * _GB, _above_zero),
        max_group_files=_int(values, "max-file-group-input-files", _LARGEST_LONG, _above_zero),
        delete_file_threshold=_int(
            values, "delete-file-threshold", _LARGEST_INT, lambda n: n >= 0, "at least 0"
        ),
        delete_ratio_threshold=ratio,
        job_order=JobOrder.NONE if order is None else JobOrder(order),
        max_files=most,
    )


def _sizes(values: Mapping[str, str], default_target: int) -> FileSizes:
    target = _int(values, "target-file-size-bytes", default_target, _above_zero)
    least = _int(values, "min-file-size-bytes", int(target * 0.75), lambda n: n >= 0, "at least 0")
    most = _int(values, "max-file-size-bytes", int(target * 1.8))
    _require(
        target > least,
        "target-file-size-bytes",
        target,
        f"above 'min-file-size-bytes' ({least}), or all new files will be too small",
    )
    _require(
        target < most,
        "target-file-size-bytes",
        target,
        f"below 'max-file-size-bytes' ({most}), or all new files will be too large",
    )
    factor = _float(values, "compression-factor", 1.0)
    _require(factor > 0, "compression-factor", factor, "above 0")
    return FileSizes(target, least, most, factor)


def _output_spec(values: Mapping[str, str], metadata: TableMetadata) -> int:
    spec_id = _int(values, "output-spec-id", metadata.default_spec_id)
    spec_ids = ", ".join(str(number) for number in metadata.partition_specs)
    _require(spec_id in metadata.partition_specs, "output-spec-id", spec_id, f"one of {spec_ids}")
    return spec_id


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _above_zero(value: int) -> bool:
    return value > 0


def _int(
    values: Mapping[str, str],
    name: str,
    default: int,
    is_valid: Callable[[int], bool] = lambda _: True,
    requirement: str = "above 0",
) -> int:
    value = integer_option(values, name)
    if value is None:
        return default
    _require(is_valid(value), name, value, requirement)
    return value


def _float(values: Mapping[str, str], name: str, default: float) -> float:
    text = values.get(name)
    if text is None:
        return default
    try:
        return float(text)
    except ValueError:
        raise InvalidOptionError(f"Option '{name}' must be a number, not '{text}'") from None


def _require(holds: bool, name: str, value: object, requirement: str) -> None:
    if not holds:
        raise InvalidOptionError(f"Option '{name}' must be {requirement}; it is {value}")
