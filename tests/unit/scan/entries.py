"""Manifest entries as tables, one keyword for each thing a test is about."""

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from iceberg_spark.manifest.schemas import entry_schema
from iceberg_spark.spec.partition import UNPARTITIONED, PartitionSpec
from iceberg_spark.spec.partition_type import partition_type
from iceberg_spark.spec.reserved import DELETE_FILE_PATH_ID, DELETE_FILE_POS_ID
from iceberg_spark.spec.schema import Schema
from iceberg_spark.spec.transform_text import parse_partition_spec
from iceberg_spark.spec.types import LongType, StringType, StructType
from iceberg_spark.spec.values import to_bytes
from tests.builders import schema

COLUMNS = schema(("id", "long"), ("s", "string"), ("x", "double"), ("u", "uuid"))
BY_ID = parse_partition_spec(["id"], COLUMNS)
NO_FIELDS = StructType()


def kind_of(spec: PartitionSpec, columns: Schema = COLUMNS) -> StructType:
    return partition_type(spec, columns)


def stat(column: str | int, value: Any, columns: Schema = COLUMNS) -> tuple[int, bytes]:
    """A bound as manifests hold it: field id and bytes."""
    found = columns.find_field(column)
    return found.field_id, to_bytes(found.field_type, value)


def bounds(**values: tuple[Any, Any]) -> dict[str, Any]:
    """`bounds(id=(1, 9))`: lower and upper bounds of columns by name."""
    return {
        "lower_bounds": [_pair(stat(name, low)) for name, (low, _) in values.items()],
        "upper_bounds": [_pair(stat(name, high)) for name, (_, high) in values.items()],
    }


def counts(kind: str, **values: int) -> dict[str, Any]:
    """`counts("null_value_counts", id=0)`: counts of columns by name."""
    return {
        kind: [_pair((COLUMNS.find_field(name).field_id, many)) for name, many in values.items()]
    }


def _pair(item: tuple[int, Any]) -> dict[str, Any]:
    return {"key": item[0], "value": item[1]}


def data(
    path: str, sequence: int = 1, partition: Sequence[Any] = (), **more: Any
) -> dict[str, Any]:
    """An entry of a data file; the partition is given by value."""
    return {
        "status": 1,
        "content": 0,
        "file_path": path,
        "file_format": "PARQUET",
        "partition": tuple(partition),
        "record_count": 10,
        "file_size_in_bytes": 100,
        "data_sequence_number": sequence,
        **more,
    }


def position(
    path: str,
    sequence: int = 1,
    partition: Sequence[Any] = (),
    paths: tuple[str, str] | None = None,
    positions: tuple[int, int] | None = None,
    **more: Any,
) -> dict[str, Any]:
    """An entry of a position delete file, with the bounds of the paths and positions in it."""
    lower: list[dict[str, Any]] = []
    upper: list[dict[str, Any]] = []
    for pair, field_id, kind in (
        (paths, DELETE_FILE_PATH_ID, StringType()),
        (positions, DELETE_FILE_POS_ID, LongType()),
    ):
        if pair is not None:
            lower.append(_pair((field_id, to_bytes(kind, pair[0]))))
            upper.append(_pair((field_id, to_bytes(kind, pair[1]))))
    found = {"content": 1, "lower_bounds": lower, "upper_bounds": upper, **more}
    return data(path, sequence, partition, **found)


def vector(
    target: str, sequence: int = 1, partition: Sequence[Any] = (), **more: Any
) -> dict[str, Any]:
    """An entry of the deletion vector of a data file."""
    found = {
        "content": 1, "file_format": "PUFFIN", "referenced_data_file": target,
        "content_offset": 4, "content_size_in_bytes": 40, "record_count": 3,
    }  # fmt: skip
    path = more.pop("path", "v.puffin")
    return data(path, sequence, partition, **(found | more))


def equality(
    path: str, ids: Sequence[int], sequence: int = 2, partition: Sequence[Any] = (), **more: Any
) -> dict[str, Any]:
    """An entry of an equality delete file."""
    return data(path, sequence, partition, content=2, equality_ids=list(ids), **more)


def table(
    *entries: Mapping[str, Any], spec: PartitionSpec = UNPARTITIONED, columns: Schema = COLUMNS
) -> pa.Table:
    """An entry table as `read_manifest` returns it."""
    wanted = entry_schema(kind_of(spec, columns))
    names = [str(part.field_id) for part in spec.fields]
    rows = [
        {**entry, "partition": dict(zip(names, entry["partition"], strict=True))}
        for entry in entries
    ]
    arrays = [_array([row.get(one.name) for row in rows], one.type) for one in wanted]
    return pa.Table.from_arrays(arrays, schema=wanted)


def _array(values: list[Any], kind: pa.DataType) -> pa.Array:
    if pa.types.is_struct(kind) and kind.num_fields == 0:
        return pa.Array.from_buffers(kind, len(values), [None], 0, 0, children=[])
    return pa.array(values, kind)
