"""Parquet files: what is read of them, and files of other writers."""

import datetime as dt
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from iceberg_spark.arrow.file_fields import file_fields
from iceberg_spark.arrow.schema import to_arrow, to_arrow_field
from iceberg_spark.expr.bind import bind
from iceberg_spark.expr.parse import parse_predicate
from iceberg_spark.formats.data_file import ReadRequest
from iceberg_spark.formats.open_file import open_data_file
from iceberg_spark.formats.parquet_reader import may_match_groups
from iceberg_spark.spec.data_file import FileFormat
from tests.builders import field, list_of, map_of, schema, struct
from tests.unit.formats.reading import DATA, IO, batches, read_file, spans

PARQUET = FileFormat.PARQUET


def test_batches_carry_the_position_of_their_first_row(tmp_path: Path):
    path = tmp_path / "f"
    pq.write_table(pa.table({"a": range(10)}), path, row_group_size=4)
    assert spans(batches(path, PARQUET, ["a"], batch_rows=3))[0] == (0, 3)
    assert sum(rows for _, rows in spans(batches(path, PARQUET, ["a"], batch_rows=3))) == 10
    assert spans(batches(path, PARQUET, [], batch_rows=3)) == [
        (0, 3), (3, 1), (4, 3), (7, 1), (8, 2),
    ]  # fmt: skip


def test_a_row_group_belongs_to_the_range_it_starts_in(tmp_path: Path):
    path = tmp_path / "f"
    pq.write_table(pa.table({"a": range(9)}), path, row_group_size=3)
    metadata = pq.ParquetFile(path).metadata
    starts = [
        min(
            metadata.row_group(i).column(0).dictionary_page_offset,
            metadata.row_group(i).column(0).data_page_offset,
        )
        for i in range(3)
    ]
    cut = [0, *starts[1:], path.stat().st_size]
    for i in range(3):
        found = batches(path, PARQUET, ["a"], start=cut[i], length=cut[i + 1] - cut[i])
        assert spans(found) == [(3 * i, 3)]
    assert spans(batches(path, PARQUET, ["a"], start=starts[1] + 1, length=10**9)) == [(6, 3)]


def test_only_wanted_columns_are_read_also_inside_structs(tmp_path: Path):
    path = tmp_path / "f"
    rows = [{"st": {"a": 1, "b": "x"}, "c.d": 2}]
    table = schema(
        field(1, "st", struct(field(2, "a", "int"), field(3, "b", "string"))),
        field(4, "c.d", "int"),
    )
    pq.write_table(pa.Table.from_pylist(rows, to_arrow(table)), path)
    with open_data_file(IO, str(path), PARQUET) as file:
        fields = file_fields(file.schema)
        (found,) = file.batches(ReadRequest(fields, frozenset((1, 2))))
    assert found.rows.to_pylist() == [{"st": {"b": "x"}, "c.d": 2}]


def test_a_dotted_name_is_not_a_path(tmp_path: Path):
    path = tmp_path / "f"
    nested, dotted = field(1, "a", struct(field(2, "b", "int"))), field(3, "a.b", "int")
    arrow = pa.schema([to_arrow_field(nested), to_arrow_field(dotted)])
    pq.write_table(pa.Table.from_pylist([{"a": {"b": 1}, "a.b": 2}], arrow), path)
    assert read_file(path, PARQUET, schema(dotted)).to_pylist() == [{"a.b": 2}]
    assert read_file(path, PARQUET, schema(nested)).to_pylist() == [{"a": {"b": 1}}]


def test_files_of_sparks_legacy_writer():
    """INT96 timestamps, lists of two levels, decimals in fixed bytes, no field ids."""
    wanted = schema(
        field(1, "id", "long"),
        field(2, "ts", "timestamptz"),
        field(3, "l", list_of(4, struct(field(5, "a", "int"), field(6, "b", "string")))),
        field(7, "l2", list_of(8, "int")),
        field(9, "m", map_of(10, "string", 11, "int")),
        field(12, "st", struct(field(13, "p", "long"), field(14, "q", "string"))),
        field(15, "d", "decimal(9, 2)"),
        field(16, "e", "decimal(25, 2)"),
    )
    found = read_file(DATA / "spark_legacy.parquet", PARQUET, wanted, by_name=True)
    assert found.slice(3, 1).to_pylist() == [
        {
            "id": 3,
            "ts": dt.datetime(2024, 7, 1, 12, 0, 0, 123456, dt.UTC),
            "l": [{"a": 1, "b": "x"}],
            "l2": [1, None],
            "m": [("a", 1)],
            "st": {"p": 3, "q": None},
            "d": Decimal("3.00"),
            "e": Decimal("3.00"),
        }
    ]


def test_int96_timestamps_are_cut_to_microseconds(tmp_path: Path):
    path = tmp_path / "f"
    column = pa.array([1_500, 10**18 + 1], pa.timestamp("ns"))
    pq.write_table(pa.table({"t": column}), path, use_deprecated_int96_timestamps=True)
    found = read_file(path, PARQUET, schema(field(1, "t", "timestamptz")), by_name=True)
    assert found.column(0).cast(pa.int64()).to_pylist() == [1, 10**15]


def test_arrows_uuid_type_is_16_bytes(tmp_path: Path):
    path = tmp_path / "f"
    stored = pa.ExtensionArray.from_storage(pa.uuid(), pa.array([b"a" * 16], pa.binary(16)))
    pq.write_table(pa.table({"u": stored}), path)
    found = read_file(path, PARQUET, schema(field(1, "u", "uuid")), by_name=True)
    assert found.to_pylist() == [{"u": b"a" * 16}]


def test_a_categorical_column_is_read_as_plain_text(tmp_path: Path):
    path = tmp_path / "f"
    pq.write_table(pa.table({"s": pa.array(["a", None, "a"]).dictionary_encode()}), path)
    found = read_file(path, PARQUET, schema(field(1, "s", "string")), by_name=True)
    assert found.column("s").to_pylist() == ["a", None, "a"]


class TestSkippingByStatistics:
    @pytest.mark.parametrize(
        ("kind", "values", "predicate"),
        [
            ("int", [[1, 2], [5, 6]], "x > 4"),
            ("long", [[-5, 2], [2**40, 2**41]], "x >= 1099511627776"),
            ("float", [[0.5], [1.5]], "x = 1.5"),
            ("double", [[0.5], [1.5]], "x IN (1.5, 7)"),
            ("boolean", [[False], [True]], "x = true"),
            ("string", [["a", "b"], ["c", "é"]], "x = 'é'"),
            ("date", [[0, 1], [20_000]], "x > DATE '2020-01-01'"),
            ("timestamp", [[0], [10**15]], "x > TIMESTAMP_NTZ '1990-01-01 00:00:00'"),
            ("timestamptz", [[0], [10**15]], "x > TIMESTAMP '1990-01-01T00:00:00Z'"),
            ("decimal(9, 2)", [[Decimal("-1.50")], [Decimal("1.50")]], "x > 1.25"),
            ("decimal(38, 4)", [[Decimal("-1.5000")], [Decimal("9" * 30)]], "x > 1.25"),
            ("int", [[1, 2], [None, 6]], "x IS NULL"),
        ],
    )
    def test_row_groups_that_cannot_match_are_skipped(self, tmp_path, kind, values, predicate):
        table = schema(field(1, "x", kind))
        found = self.kept(tmp_path, table, table, values, predicate)
        assert found == [False, True]

    def test_bounds_of_a_promoted_column_are_compared_in_the_new_type(self, tmp_path):
        old, new = schema(field(1, "x", "int")), schema(field(1, "x", "long"))
        assert self.kept(tmp_path, old, new, [[1], [5]], "x > 4") == [False, True]
        old, new = schema(field(1, "x", "decimal(9, 2)")), schema(field(1, "x", "decimal(20, 2)"))
        values = [[Decimal("1.00")], [Decimal("5.00")]]
        assert self.kept(tmp_path, old, new, values, "x > 4") == [False, True]

    def test_a_column_without_statistics_or_not_in_the_file_never_skips(self, tmp_path):
        table = schema(field(1, "x", "int"))
        assert self.kept(tmp_path, table, table, [[1], [5]], "x > 4", write_statistics=False) == [
            True, True,
        ]  # fmt: skip
        wider = schema(field(1, "x", "int"), field(2, "y", "int"))
        assert self.kept(tmp_path, table, wider, [[1], [5]], "y > 4") == [True, True]

    def test_nan_is_larger_than_any_bound(self, tmp_path):
        table = schema(field(1, "x", "double"))
        values = [[0.5, float("nan")], [0.5, 0.6]]
        assert self.kept(tmp_path, table, table, values, "x > 4")[0]

    def test_a_field_of_a_struct_skips(self, tmp_path):
        table = schema(field(1, "st", struct(field(2, "a", "int"))))
        values = [[{"a": 1}], [{"a": 5}]]
        assert self.kept(tmp_path, table, table, values, "st.a > 4", name="st") == [False, True]

    def test_unsigned_bounds_are_not_trusted(self, tmp_path):
        path = tmp_path / "f"
        column = pa.array([0, 2**32 - 1], pa.uint32())
        pq.write_table(pa.table({"x": column}), path, row_group_size=1)
        table = schema(field(1, "x", "long"))
        bound = bind(table, parse_predicate("x > 4"))
        metadata = pq.ParquetFile(path).metadata
        fields = file_fields(pq.ParquetFile(path).schema_arrow, {("x",): 1})
        assert may_match_groups(metadata, (0, 1), fields, bound, "f") == [True, True]

    def kept(self, tmp_path, written, table, values, predicate, name="x", **options):
        path = tmp_path / "f"
        kind = to_arrow(written).field(name).type
        with pq.ParquetWriter(path, to_arrow(written), **options) as writer:
            for group in values:
                writer.write_table(pa.table([pa.array(group, kind)], to_arrow(written)))
        metadata = pq.ParquetFile(path).metadata
        fields = file_fields(pq.ParquetFile(path).schema_arrow)
        bound = bind(table, parse_predicate(predicate))
        return may_match_groups(metadata, (0, 1), fields, bound, "f")
