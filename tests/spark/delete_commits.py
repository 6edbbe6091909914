"""Deletes committed with the writers that row-level changes use."""

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from iceberg_spark import Table
from iceberg_spark.arrow.schema import to_arrow
from iceberg_spark.commits.commit import commit
from iceberg_spark.commits.row_delta import RowDelta
from iceberg_spark.scan.task import FileScanTask
from iceberg_spark.spec.data_file import DataFile
from iceberg_spark.write.context import TaskId
from iceberg_spark.write.equality_delete_writer import equality_schema, write_equality_deletes
from iceberg_spark.write.new_write import write_context
from iceberg_spark.write.position_delete_writer import write_position_deletes


def delete_keys(
    table: Table, rows: Sequence[dict[str, Any]], spec_id: int | None = None, at: tuple = ()
) -> None:
    """Commit an equality delete of these keys, in one partition or, without one, wherever.

    Names may be of fields in structs, as in `st.a`.
    """
    metadata = table.metadata
    schema = metadata.schema
    ids = [schema.find_field(name).field_id for name in rows[0]]
    spec = metadata.partition_specs[metadata.default_spec_id if spec_id is None else spec_id]
    kind = equality_schema(schema, ids)
    keys = pa.Table.from_pylist([nested(row) for row in rows], schema=to_arrow(kind))
    files = write_equality_deletes(
        write_context(metadata),
        table.io,
        keys.to_batches(),
        equality_ids=ids,
        spec=spec,
        partition=at,
        task=TaskId(),
    )
    commit_deletes(table, files)


def nested(row: dict[str, Any]) -> dict[str, Any]:
    """A row in which the fields of structs are given by their full names."""
    made: dict[str, Any] = {}
    for name, value in row.items():
        *above, last = name.split(".")
        place = made
        for step in above:
            place = place.setdefault(step, {})
        place[last] = value
    return made


def delete_positions(
    table: Table, pairs: Sequence[tuple[FileScanTask, Sequence[int]]], granularity: str = "file"
) -> None:
    """Commit position deletes of data files of one partition."""
    metadata = table.metadata
    first = pairs[0][0]
    paths = [task.file_path for task, positions in pairs for _ in positions]
    numbers = [position for _, positions in pairs for position in positions]
    files = write_position_deletes(
        write_context(metadata),
        table.io,
        pa.table({"file_path": paths, "pos": pa.array(numbers, pa.int64())}),
        spec=metadata.partition_specs[first.spec_id],
        partition=first.partition,
        granularity=granularity,
        task=TaskId(),
    )
    commit_deletes(table, files)


def commit_deletes(table: Table, deletes: Sequence[DataFile]) -> None:
    """Commit delete files in one snapshot."""
    commit(table._catalog, table.identifier, RowDelta(deletes=deletes), table._loaded)
    table.refresh()
