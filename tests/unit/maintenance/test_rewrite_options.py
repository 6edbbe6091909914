"""The options of a compaction: Java's defaults, and what it refuses."""

from typing import Any

import pytest

from iceberg_spark.errors import InvalidOptionError
from iceberg_spark.maintenance.rewrite_options import (
    FileSizes,
    GroupOptions,
    JobOrder,
    RewriteOptions,
    Strategy,
    rewrite_options,
)
from tests.unit.api.tables import make

MB = 1024**2


def read(strategy: Strategy = Strategy.Z_ORDER, **options: Any) -> RewriteOptions:
    given = {key.replace("__", ".").replace("_", "-"): value for key, value in options.items()}
    return rewrite_options(given, strategy, make().metadata)


def test_the_defaults_are_javas() -> None:
    sizes = FileSizes(512 * MB, 384 * MB, int(512 * MB * 1.8))
    assert read() == RewriteOptions(GroupOptions(sizes), output_spec_id=0)
    groups = read().groups
    assert (groups.min_input_files, groups.max_group_bytes) == (5, 100 * 1024 * MB)
    assert (groups.delete_file_threshold, groups.max_group_files) == (2**31 - 1, 2**63 - 1)
    assert groups.delete_ratio_threshold == 0.3
    assert (read().max_commits, read().max_failed_commits) == (10, 10)


def test_sizes_follow_the_target() -> None:
    table = make(**{"write.target_file_size_bytes": "1000"})
    sizes = rewrite_options({}, Strategy.BIN_PACK, table.metadata).groups.sizes
    assert sizes == FileSizes(1000, 750, 1800)
    assert read(target_file_size_bytes=99).groups.sizes == FileSizes(99, 74, 178)


def test_all_commits_may_fail_by_default() -> None:
    assert read(partial_progress__max_commits=3).max_failed_commits == 3
    options = {"partial-progress.max-failed-commits": "0", "partial-progress.enabled": True}
    asked = rewrite_options(options, Strategy.BIN_PACK, make().metadata)
    assert (asked.partial_progress, asked.max_failed_commits) == (True, 0)


def test_values_are_taken_as_text_or_as_they_are() -> None:
    assert read(rewrite_all=True) == read(rewrite_all="TRUE")
    assert read(MIN_INPUT_FILES="3") == read(min_input_files=3)
    assert read(rewrite_job_order="Bytes-Asc").groups.job_order is JobOrder.BYTES_ASC


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"target_file_size_bytes": 0}, "target-file-size-bytes' must be above 0"),
        ({"min_file_size_bytes": -1}, "min-file-size-bytes' must be at least 0"),
        ({"target_file_size_bytes": 3, "min_file_size_bytes": 5}, "above 'min-file-size-bytes'"),
        ({"target_file_size_bytes": 5, "max_file_size_bytes": 5}, "below 'max-file-size-bytes'"),
        ({"min_input_files": 0}, "min-input-files' must be above 0"),
        ({"max_file_group_size_bytes": 0}, "max-file-group-size-bytes' must be above 0"),
        ({"max_file_group_input_files": 0}, "max-file-group-input-files' must be above 0"),
        ({"delete_file_threshold": -1}, "delete-file-threshold' must be at least 0"),
        ({"delete_ratio_threshold": 0}, "delete-ratio-threshold' must be above 0"),
        ({"delete_ratio_threshold": 1.1}, "delete-ratio-threshold' must be above 0 and at most"),
        ({"delete_ratio_threshold": "nan"}, "delete-ratio-threshold' must be above 0"),
        ({"delete_ratio_threshold": "much"}, "must be a number, not 'much'"),
        ({"max_files_to_rewrite": 0}, "max-files-to-rewrite' must be above 0"),
        ({"rewrite_job_order": "foo"}, "one of none, bytes-asc"),
        ({"output_spec_id": 1234}, "output-spec-id' must be one of 0"),
        ({"max_concurrent_file_group_rewrites": 0}, "at least 1"),
        ({"compression_factor": 0}, "compression-factor' must be above 0"),
        ({"shuffle_partitions_per_file": 0}, "shuffle-partitions-per-file' must be above 0"),
        ({"max_output_size": 0}, "max-output-size' must be above 0"),
        ({"var_length_contribution": 0}, "var-length-contribution' must be above 0"),
        ({"target_file_size": 5}, "did you mean 'target-file-size-bytes'"),
        ({"rewrite_all": "yes"}, "must be true or false"),
    ],
)
def test_what_java_refuses_is_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidOptionError, match=message):
        read(**options)


def test_commits_must_be_possible_where_progress_is_partial() -> None:
    assert read(partial_progress__max_commits=0).max_commits == 0
    with pytest.raises(InvalidOptionError, match="max-commits"):
        read(partial_progress__max_commits=0, partial_progress__enabled=True)


@pytest.mark.parametrize(
    ("strategy", "option"),
    [
        (Strategy.BIN_PACK, "compression_factor"),
        (Strategy.BIN_PACK, "max_output_size"),
        (Strategy.SORT, "var_length_contribution"),
    ],
)
def test_an_option_of_another_strategy_is_refused(strategy: Strategy, option: str) -> None:
    with pytest.raises(InvalidOptionError, match="Unknown option"):
        read(strategy, **{option: 2})
