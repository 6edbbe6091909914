"""The scan that the options of a load ask for."""

from __future__ import annotations

from collections.abc import Mapping

from iceberg_spark.scan.context import ScanContext
from iceberg_spark.scan.request import scan_request
from iceberg_spark.scan.split import SplitOptions, split_options
from iceberg_spark.spark.adapt.options import ReadOptions
from iceberg_spark.spec.metadata import TableMetadata


def requested_scan(
    options: ReadOptions, metadata: TableMetadata, storage: Mapping[str, str]
) -> ScanContext:
    """Return the pinned and bound scan; `storage` is what workers open files with.

    Raises what `scan_request` raises.
    """
    return scan_request(
        metadata,
        row_filter=options.row_filter,
        selected_fields=options.columns,
        snapshot_id=options.snapshot_id,
        version_as_of=options.version_as_of,
        as_of_timestamp_ms=options.as_of_timestamp_ms,
        branch=options.branch,
        tag=options.tag,
        start_snapshot_id=options.start_snapshot_id,
        end_snapshot_id=options.end_snapshot_id,
        metadata_columns=options.metadata_columns,
        case_sensitive=options.case_sensitive,
        time_zone=options.time_zone,
        batch_rows=options.batch_size,
        io_properties=storage,
    )


def requested_split(options: ReadOptions, metadata: TableMetadata) -> SplitOptions:
    """Return how tasks are split and grouped: the load's options over the table's properties."""
    return split_options(
        metadata.properties,
        split_size=options.split_size,
        lookback=options.lookback,
        open_file_cost=options.file_open_cost,
    )
