"""Tables drawn row by row, so that a plan can be checked against every row."""

import math
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

from iceberg_spark.expr.transform_value import transform_value
from iceberg_spark.spec.partition import PartitionSpec
from iceberg_spark.spec.reserved import DELETE_FILE_PATH_ID, DELETE_FILE_POS_ID
from iceberg_spark.spec.transform_text import parse_partition_spec
from iceberg_spark.spec.types import LongType, StringType
from iceberg_spark.spec.values import to_bytes
from tests.builders import schema

COLUMNS = schema(("k", "long"), ("s", "string"), ("x", "double"))
K, S, X = 1, 2, 3
SPECS = {
    number: PartitionSpec(number, parse_partition_spec(parts, COLUMNS).fields)
    for number, parts in enumerate([[], ["k"], ["truncate(1, s)", "bucket(2, k)"], ["x"]])
}
SOURCES = {0: (), 1: (K,), 2: (S, K), 3: (X,)}
VALUES = {
    K: st.sampled_from([None, 0, 1, 2, 11]),
    S: st.sampled_from([None, "a", "ab", "b"]),
    X: st.sampled_from([None, math.nan, -0.0, 0.0, 1.5]),
}
ROWS = st.fixed_dictionaries(VALUES)


@dataclass(frozen=True)
class File:
    """A data file: its rows, and its manifest entry."""

    path: str
    spec_id: int
    partition: tuple[Any, ...]
    sequence: int
    rows: list[dict[int, Any]]
    entry: dict[str, Any]


@dataclass(frozen=True)
class Delete:
    """A delete file: positions by path, or keys of equality columns."""

    path: str
    spec_id: int
    partition: tuple[Any, ...]
    sequence: int
    entry: dict[str, Any]
    aims_at: str | None = None
    positions: frozenset[tuple[str, int]] = frozenset()
    ids: tuple[int, ...] = ()
    keys: frozenset[tuple[str, ...]] = frozenset()

    def applies_to(self, file: File) -> bool:
        """The rules of the specification, for one file."""
        same = self.spec_id == file.spec_id and exact(self.partition) == exact(file.partition)
        if self.ids:
            return file.sequence < self.sequence and (same or SPECS[self.spec_id].is_unpartitioned)
        return file.sequence <= self.sequence and same and self.aims_at in (None, file.path)

    def deletes(self, file: File, position: int) -> bool:
        """Whether the delete file, if it applies, removes a row."""
        if self.ids:
            return key_of(file.rows[position], self.ids) in self.keys
        return (file.path, position) in self.positions


def exact(values: Any) -> tuple[str, ...]:
    """Values told apart as partition tuples and equality keys are: null, NaN, -0.0 and 0.0."""
    return tuple(map(repr, values))


def key_of(row: dict[int, Any], ids: tuple[int, ...]) -> tuple[str, ...]:
    return exact([row[field_id] for field_id in ids])


def partition_of(row: dict[int, Any], spec_id: int) -> tuple[Any, ...]:
    return tuple(
        transform_value(part.transform, COLUMNS.find_type(part.source_id), row[part.source_id])
        for part in SPECS[spec_id].fields
    )


def is_nan(value: Any) -> bool:
    return isinstance(value, float) and math.isnan(value)


def statistics(rows: list[dict[int, Any]], ids: Any) -> dict[str, Any]:
    """What a writer notes about rows, for some columns."""
    noted: dict[str, list[dict[str, Any]]] = {
        name: []
        for name in ("lower_bounds", "upper_bounds", "null_value_counts", "nan_value_counts",
                     "value_counts")
    }  # fmt: skip
    for field_id in ids:
        kind = COLUMNS.find_type(field_id)
        values = [row[field_id] for row in rows]
        ordinary = [one for one in values if one is not None and not is_nan(one)]
        counts = {
            "value_counts": len(values),
            "null_value_counts": values.count(None),
            "nan_value_counts": sum(one is not None and is_nan(one) for one in values),
        }
        for name, many in counts.items():
            noted[name].append({"key": field_id, "value": many})
        if ordinary:
            low, high = min(ordinary), max(ordinary)
            noted["lower_bounds"].append({"key": field_id, "value": to_bytes(kind, low)})
            noted["upper_bounds"].append({"key": field_id, "value": to_bytes(kind, high)})
    return noted


@st.composite
def files(draw: Any, number: int) -> File:
    """A file of one to four rows of one partition, with statistics of some columns."""
    spec_id = draw(st.sampled_from(sorted(SPECS)))
    rows = draw(st.lists(ROWS, min_size=1, max_size=4))
    fixed = {field_id: rows[0][field_id] for field_id in SOURCES[spec_id]}
    rows = [row | fixed for row in rows]
    partition = partition_of(rows[0], spec_id)
    sequence = draw(st.integers(1, 3))
    path = f"f{number}"
    entry = _entry(path, 0, partition, sequence, len(rows))
    entry |= statistics(rows, draw(st.sets(st.sampled_from([K, S, X]))))
    return File(path, spec_id, partition, sequence, rows, entry)


def _entry(
    path: str, content: int, partition: tuple[Any, ...], sequence: int, rows: int
) -> dict[str, Any]:
    return {
        "status": 1,
        "content": content,
        "file_path": path,
        "file_format": "PARQUET",
        "partition": partition,
        "record_count": rows,
        "file_size_in_bytes": 100,
        "data_sequence_number": sequence,
    }


@st.composite
def equality_deletes(draw: Any, number: int) -> Delete:
    """Keys of some columns, in a partition or for all."""
    spec_id = draw(st.sampled_from(sorted(SPECS)))
    ids = tuple(sorted(draw(st.sets(st.sampled_from([K, S, X]), min_size=1))))
    rows = draw(st.lists(ROWS, min_size=1, max_size=3))
    partition = partition_of(rows[0], spec_id)
    sequence = draw(st.integers(1, 4))
    path = f"e{number}"
    entry = _entry(path, 2, partition, sequence, len(rows)) | {"equality_ids": list(ids)}
    entry |= statistics(rows, draw(st.sets(st.sampled_from([K, S, X]))))
    keys = frozenset(key_of(row, ids) for row in rows)
    return Delete(path, spec_id, partition, sequence, entry, ids=ids, keys=keys)


@st.composite
def position_deletes(draw: Any, number: int, data: list[File]) -> Delete:
    """Positions in files of one partition, in one of them or in any."""
    one = draw(st.sampled_from(data))
    mates = [
        file
        for file in data
        if file.spec_id == one.spec_id and exact(file.partition) == exact(one.partition)
    ]
    chosen = [one] if draw(st.booleans()) else mates
    every = [(file.path, position) for file in chosen for position in range(len(file.rows))]
    positions = draw(st.sets(st.sampled_from(every), min_size=1))
    sequence = draw(st.integers(1, 4))
    path = f"p{number}"
    entry = _entry(path, 1, one.partition, sequence, len(positions))
    named = {name for name, _ in positions}
    aims_at = None
    if draw(st.booleans()):
        entry |= _position_bounds(positions)
        aims_at = next(iter(named)) if len(named) == 1 else None
    elif len(named) == 1 and draw(st.booleans()):
        aims_at = entry["referenced_data_file"] = next(iter(named))
    return Delete(path, one.spec_id, one.partition, sequence, entry, aims_at, frozenset(positions))


def _position_bounds(positions: set[tuple[str, int]]) -> dict[str, Any]:
    names = sorted(name for name, _ in positions)
    places = sorted(place for _, place in positions)
    sides = {}
    for side, at in (("lower_bounds", 0), ("upper_bounds", -1)):
        sides[side] = [
            {"key": DELETE_FILE_PATH_ID, "value": to_bytes(StringType(), names[at])},
            {"key": DELETE_FILE_POS_ID, "value": to_bytes(LongType(), places[at])},
        ]
    return sides


@st.composite
def tables(draw: Any) -> tuple[list[File], list[Delete]]:
    """Some data files and some delete files."""
    count = draw(st.integers(1, 5))
    data = [draw(files(number)) for number in range(count)]
    deletes = [draw(equality_deletes(number)) for number in range(draw(st.integers(0, 3)))]
    deletes += [draw(position_deletes(number, data)) for number in range(draw(st.integers(0, 3)))]
    return data, deletes
