"""Bounds of other writers are hints: no bound fails a query or hides a row of its file."""

import struct
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import fastavro
import pyarrow as pa
import pytest

import iceberg_spark as ice
from iceberg_spark import Table
from iceberg_spark.scan.planned_files import data_file
from tests.unit.api.tables import make, rows

NAN = struct.pack("<d", float("nan"))
BOUNDS: Mapping[str, tuple[bytes | None, bytes | None]] = {
    "no bytes": (b"", b""),
    "too few bytes": (b"\x01\x02\x03", b"\x01\x02\x03"),
    "too many bytes": (b"\x00" * 40, b"\xff" * 40),
    "not UTF-8": (b"\xff\xfe", b"\xff\xfe"),
    "no lower bound": (None, b""),
    "no upper bound": (b"\x80", None),
    "NaN": (NAN, NAN),
}
ANY = tuple(BOUNDS)
ARE_VALUES: Mapping[str, tuple[str, ...]] = {
    # cases whose bytes are a value of the type, so that they claim something
    "binary": ANY,
    "string": tuple(case for case in ANY if case != "not UTF-8"),
    "decimal": tuple(case for case in ANY if case != "no bytes"),
    "long": ("NaN",),
    "timestamp": ("NaN",),
}
COLUMNS: Mapping[str, tuple[str, str]] = {
    # type: column definition, literal of its one value
    "boolean": ("boolean", "true"),
    "int": ("int", "7"),
    "long": ("bigint", "7"),
    "float": ("float", "7.5"),
    "double": ("double", "7.5"),
    "decimal": ("decimal(9, 2)", "7.25"),
    "date": ("date", "date '2024-02-29'"),
    "timestamp": ("timestamp_ntz", "timestamp_ntz '2024-02-29 01:02:03'"),
    "string": ("string", "'Mützen'"),
    "binary": ("binary", "x'0708'"),
}
VALUES = {
    "boolean": True, "int": 7, "long": 7, "float": 7.5, "double": 7.5, "decimal": "7.25",
    "date": "2024-02-29", "timestamp": "2024-02-29T01:02:03", "string": "Mützen",
    "binary": b"\x07\x08",
}  # fmt: skip


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Table:
    """One row with a value of each type."""
    folder = tmp_path_factory.mktemp("bounds")
    ddl = ", ".join(f"c_{name} {kind}" for name, (kind, _) in COLUMNS.items())
    table = ice.create_table(str(folder / "t"), ddl)
    arrow = {}
    for column in table.scan().to_arrow().schema:
        arrow[column.name] = pa.array([VALUES[column.name[2:]]]).cast(column.type)
    table.append(pa.table(arrow))
    return table


def give_bounds(table: Table, lower: Mapping[int, Any], upper: Mapping[int, Any]) -> None:
    """Replace the entry of the table's only file by one with other bounds."""
    (file,) = map(data_file, table.refresh().scan().plan_files())
    bounds = (
        {number: bound for number, bound in side.items() if bound is not None}
        for side in (lower, upper)
    )
    lower_bounds, upper_bounds = bounds
    with table.transaction() as tx:
        tx.overwrite_files(
            add=[replace(file, lower_bounds=lower_bounds, upper_bounds=upper_bounds)],
            delete=[file],
        )


@pytest.mark.parametrize("case", BOUNDS)
def test_a_bound_that_is_no_value_of_its_type_is_unknown(table: Table, case: str) -> None:
    ids = [column.field_id for column in table.schema().fields]
    lower, upper = BOUNDS[case]
    give_bounds(table, dict.fromkeys(ids, lower), dict.fromkeys(ids, upper))
    for name, (_, literal) in COLUMNS.items():
        if case in ARE_VALUES.get(name, ()):
            continue
        column = f"c_{name}"
        conditions = [f"{column} = {literal}", f"{column} in ({literal})", f"{column} is not null"]
        if name != "boolean":
            conditions += [f"{column} <= {literal}", f"{column} >= {literal}"]
        for condition in conditions:
            assert table.scan(condition).count() == 1, condition
    assert table.inspect.files().num_rows == 1


def test_a_bound_cut_within_a_character_is_a_lower_bound_and_no_upper_bound(table: Table) -> None:
    column = table.schema().find_field("c_string").field_id
    cut = "Mü".encode()[:2]
    give_bounds(table, {column: cut}, {column: cut})
    assert table.scan("c_string = 'Mützen'").count() == 1
    assert table.scan("c_string > 'Mz'").plan_files()
    assert not table.scan("c_string < 'L'").plan_files()
    shown = table.inspect.files().column("readable_metrics")[0].as_py()["c_string"]
    assert shown["lower_bound"] == shown["upper_bound"] == "M\ufffd"


@pytest.mark.parametrize("name", ["int", "double", "decimal", "date", "string", "binary"])
def test_a_lower_bound_above_the_upper_bound_hides_no_equal_row(table: Table, name: str) -> None:
    column = table.schema().find_field(f"c_{name}").field_id
    low, high = {
        "int": (struct.pack("<i", -1), struct.pack("<i", -2)),
        "double": (struct.pack("<d", 9.0), struct.pack("<d", 8.0)),
        "decimal": (b"\x7f", b"\x7e"),
        "date": (struct.pack("<i", 9), struct.pack("<i", 8)),
        "string": (b"b", b"a"),
        "binary": (b"\xff", b"\x00"),
    }[name]
    give_bounds(table, {column: low}, {column: high})
    assert table.scan(f"c_{name} = {COLUMNS[name][1]}").count() == 1


def test_a_cut_bound_of_a_fixed_column_still_bounds_it(tmp_path: Path) -> None:
    schema = pa.schema([("f", pa.binary(20))])
    table = ice.create_table(str(tmp_path / "t"), schema)
    value = b"abcdefghijklmnopqrst"
    table.append(pa.table({"f": pa.array([value], pa.binary(20))}))
    column = table.schema().find_field("f").field_id
    give_bounds(table, {column: value[:16]}, {column: value[:16]})
    assert table.scan(f"f = x'{value.hex()}'").count() == 1
    assert table.inspect.files().num_rows == 1
    assert not table.scan(f"f = x'{b'b'.ljust(20).hex()}'").plan_files()


def test_a_bad_bound_of_a_listed_manifest_is_shown_as_it_is_stored(tmp_path: Path) -> None:
    table = make(tmp_path / "t", partition_by=["id"])
    for number in (1, 2):
        table.append(rows(id=[number], k=["a"]))
    listed = Path(table.current_snapshot().manifest_list.removeprefix("file:"))
    with listed.open("rb") as source:
        reader = fastavro.reader(source)
        records, schema, metadata = list(reader), reader.writer_schema, reader.metadata
    records[1]["partitions"][0]["lower_bound"] = b"\x01"
    with listed.open("wb") as out:
        own = {key: value for key, value in metadata.items() if not key.startswith("avro.")}
        fastavro.writer(out, schema, records, metadata=own)
    shown = ice.load_table(str(tmp_path / "t")).inspect.manifests()
    summaries = shown.column("partition_summaries").to_pylist()
    assert "0x01" in [each[0]["lower_bound"] for each in summaries]
    assert ice.load_table(str(tmp_path / "t")).scan("id = 1").count() == 1
