"""One task read: filter, splits, metadata columns, errors."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from iceberg_spark.errors import CorruptFileError, NoSuchFileError
from iceberg_spark.expr.bind import bind
from iceberg_spark.expr.nodes import ALWAYS_FALSE
from iceberg_spark.expr.parse import parse_predicate
from iceberg_spark.read.task_reader import read_task
from iceberg_spark.spec import reserved
from iceberg_spark.spec.data_file import FileFormat
from iceberg_spark.spec.partition import PartitionField, PartitionSpec
from iceberg_spark.spec.schema import Schema
from iceberg_spark.spec.transforms import BucketTransform, IdentityTransform
from tests.builders import field, list_of, map_of, schema, struct
from tests.unit.read.files import IO, context, name_mapping, position_deletes, read, task, write

TABLE = schema(field(1, "id", "long"), field(2, "s", "string"))
ROWS = [{"id": i, "s": f"s{i}"} for i in range(10)]
FORMATS = pytest.mark.parametrize("file_format", [f for f in FileFormat if f != "PUFFIN"])


def bound(text: str, table: Schema = TABLE):
    return bind(table, parse_predicate(text))


@FORMATS
def test_every_row_of_every_format_in_order(tmp_path: Path, file_format: FileFormat):
    path = write(tmp_path / "f", TABLE, ROWS, file_format)
    assert read(context(TABLE), task(path, file_format)).to_pylist() == ROWS


@FORMATS
def test_rows_are_filtered_exactly_also_by_columns_outside_the_projection(
    tmp_path: Path, file_format: FileFormat
):
    path = write(tmp_path / "f", TABLE, ROWS, file_format)
    names = schema(field(2, "s", "string"))
    found = read(context(TABLE, names), task(path, file_format, residual=bound("id > 7")))
    assert found.to_pylist() == [{"s": "s8"}, {"s": "s9"}]


@FORMATS
@pytest.mark.parametrize(
    ("said", "message"),
    [
        ({"record_count": 9}, "10 rows, the table's metadata says 9"),
        ({"record_count": 11}, "10 rows, the table's metadata says 11"),
        ({"file_size_in_bytes": 0, "length": 0}, ".* bytes, the table's metadata says 0"),
        ({"file_size_in_bytes": -1, "length": -1}, ".* bytes, the table's metadata says -1"),
    ],
)
def test_a_file_with_other_rows_or_bytes_than_the_metadata_says_is_named(
    tmp_path: Path, file_format: FileFormat, said: dict[str, int], message: str
):
    path = write(tmp_path / "f", TABLE, ROWS, file_format)
    with pytest.raises(CorruptFileError, match=f"{path} has {message}"):
        read(context(TABLE), task(path, file_format, **said))


def test_a_footer_whose_number_of_rows_was_changed_is_an_error(tmp_path: Path):
    path = write(tmp_path / "f", TABLE, ROWS)
    whole = task(path)
    data = bytearray(Path(path).read_bytes())
    footer = len(data) - 8 - int.from_bytes(data[-8:-4], "little")
    at = data.index(bytes([0x16, 2 * len(ROWS), 0x19]), footer)  # field 3, then row groups
    data[at + 1] = 2 * (len(ROWS) - 1)
    Path(path).write_bytes(data)
    assert pq.read_metadata(path).num_rows == 9
    with pytest.raises(CorruptFileError, match="it says 9 rows, its row groups have 10"):
        read(context(TABLE), whole)


def test_a_residual_that_is_false_reads_no_file(tmp_path: Path):
    missing = task(str(tmp_path / "gone.parquet"), residual=ALWAYS_FALSE)
    assert list(read_task(context(TABLE), IO, missing)) == []


def test_a_filter_on_a_field_of_a_struct(tmp_path: Path):
    table = schema(field(1, "st", struct(field(2, "a", "int"), field(3, "b", "int"))))
    rows = [{"st": {"a": 1, "b": 1}}, {"st": None}, {"st": {"a": 3, "b": None}}]
    path = write(tmp_path / "f", table, rows)
    only_b = schema(field(1, "st", struct(field(3, "b", "int"))))
    found = read(context(table, only_b), task(path, residual=bound("st.a >= 2", table)))
    assert found.to_pylist() == [{"st": {"b": None}}]
    nulls = read(context(table), task(path, residual=bound("st.a IS NULL", table)))
    assert nulls.to_pylist() == [{"st": None}]


def test_batches_have_at_most_batch_rows(tmp_path: Path):
    path = write(tmp_path / "f", TABLE, ROWS)
    found = list(read_task(context(TABLE, batch_rows=3), IO, task(path)))
    assert [batch.num_rows for batch in found] == [3, 3, 3, 1]


@pytest.mark.parametrize("file_format", ["PARQUET", "ORC", "AVRO"])
def test_splits_read_every_row_once_and_know_its_position(tmp_path: Path, file_format: str):
    options = {
        "PARQUET": {"row_group_size": 1000},
        "ORC": {"stripe_size": 1024, "compression": "uncompressed"},
        "AVRO": {"sync_interval": 2000},
    }[file_format]
    kind = FileFormat(file_format)
    rows = [{"id": (i * 7919) % 1_000_003, "s": f"value {i}"} for i in range(40_000)]
    path = write(tmp_path / "f", TABLE, rows, kind, **options)
    size = Path(path).stat().st_size
    with_pos = Schema(*TABLE.fields, reserved.POS)
    parts = [
        read(context(TABLE, with_pos), task(path, kind, start=start, length=size // 7 + 1))
        for start in range(0, size, size // 7 + 1)
    ]
    whole = pa.concat_tables(parts)
    assert sum(part.num_rows > 0 for part in parts) > 3
    assert whole.column("_pos").to_pylist() == list(range(len(rows)))
    assert whole.select(["id", "s"]).to_pylist() == rows


def test_positions_stay_right_when_row_groups_are_skipped(tmp_path: Path):
    rows = [{"id": i // 10, "s": "x"} for i in range(100)]
    path = write(tmp_path / "f", TABLE, rows, row_group_size=10)
    wanted = schema(field(1, "id", "long"))
    found = read(
        context(TABLE, Schema(*wanted.fields, reserved.POS)),
        task(path, residual=bound("id IN (2, 3, 7)")),
    )
    assert found.column("_pos").to_pylist() == [*range(20, 40), *range(70, 80)]


def test_only_positions_are_read_without_touching_a_column(tmp_path: Path):
    path = write(tmp_path / "f", TABLE, ROWS, row_group_size=4)
    deletes = position_deletes(tmp_path / "d", [(path, 3)])
    found = read(context(TABLE, Schema(reserved.POS)), task(path, delete_files=(deletes,)))
    assert found.column("_pos").to_pylist() == [0, 1, 2, *range(4, 10)]


@FORMATS
def test_a_scan_of_no_columns_still_counts_rows(tmp_path: Path, file_format: FileFormat):
    path = write(tmp_path / "f", TABLE, ROWS, file_format)
    found = list(read_task(context(TABLE, Schema()), IO, task(path, file_format)))
    assert sum(batch.num_rows for batch in found) == 10
    filtered = task(path, file_format, residual=bound("id < 4"))
    found = list(read_task(context(TABLE, Schema()), IO, filtered))
    assert sum(batch.num_rows for batch in found) == 4


class TestMetadataColumns:
    BUCKET = PartitionSpec(1, (PartitionField((1,), 1001, BucketTransform(4), "id_bucket"),))
    IDENTITY = PartitionSpec(0, (PartitionField((2,), 1000, IdentityTransform(), "s"),))

    def test_file_and_spec_id(self, tmp_path: Path):
        path = write(tmp_path / "f", TABLE, ROWS[:2])
        read_schema = Schema(TABLE.fields[0], reserved.FILE, reserved.SPEC_ID)
        found = read(
            context(TABLE, read_schema, specs={1: self.BUCKET}),
            task(path, spec_id=1, partition=(3,)),
        )
        assert found.to_pylist() == [
            {"id": 0, "_file": path, "_spec_id": 1},
            {"id": 1, "_file": path, "_spec_id": 1},
        ]

    def test_partition_is_the_union_struct_with_nulls_for_other_specs(self, tmp_path: Path):
        path = write(tmp_path / "f", TABLE, ROWS[:2])
        union = struct(field(1000, "s", "string"), field(1001, "id_bucket", "int"))
        read_schema = Schema(reserved.partition_field(union))
        specs = {0: self.IDENTITY, 1: self.BUCKET}
        scan = context(TABLE, read_schema, specs=specs)
        found = read(scan, task(path, spec_id=1, partition=(3,)))
        assert found.to_pylist() == [{"_partition": {"s": None, "id_bucket": 3}}] * 2
        found = read(scan, task(path, spec_id=0, partition=("x",)))
        assert found.to_pylist() == [{"_partition": {"s": "x", "id_bucket": None}}] * 2

    def test_deleted_rows_come_too_and_are_marked_when_asked_for(self, tmp_path: Path):
        path = write(tmp_path / "f", TABLE, ROWS[:4])
        deletes = position_deletes(tmp_path / "d", [(path, 1), (path, 3)])
        read_schema = Schema(TABLE.fields[0], reserved.DELETED, reserved.POS)
        found = read(context(TABLE, read_schema), task(path, delete_files=(deletes,)))
        assert found.column("_deleted").to_pylist() == [False, True, False, True]
        found = read(
            context(TABLE, read_schema),
            task(path, delete_files=(deletes,), residual=bound("id >= 2")),
        )
        assert found.to_pylist() == [
            {"id": 2, "_deleted": False, "_pos": 2},
            {"id": 3, "_deleted": True, "_pos": 3},
        ]

    def test_nothing_is_marked_in_a_file_without_deletes(self, tmp_path: Path):
        path = write(tmp_path / "f", TABLE, ROWS[:2])
        found = read(context(TABLE, Schema(reserved.DELETED)), task(path))
        assert found.column("_deleted").to_pylist() == [False, False]


class TestColumnsThatTheFileLacks:
    SPEC = PartitionSpec(0, (PartitionField((9,), 1000, IdentityTransform(), "p"),))
    GROWN = schema(*TABLE.fields, field(9, "p", "string"))

    def test_an_identity_partition_value_stands_for_the_column(self, tmp_path: Path):
        path = write(tmp_path / "f", TABLE, ROWS[:2])
        scan = context(self.GROWN, specs={0: self.SPEC})
        found = read(scan, task(path, partition=("x",), residual=bound("p = 'x'", self.GROWN)))
        assert found.column("p").to_pylist() == ["x", "x"]
        found = read(scan, task(path, partition=(None,)))
        assert found.column("p").to_pylist() == [None, None]

    def test_a_value_in_the_file_wins_over_the_partition_value(self, tmp_path: Path):
        path = write(tmp_path / "f", self.GROWN, [{"id": 1, "s": "a", "p": "in the file"}])
        found = read(context(self.GROWN, specs={0: self.SPEC}), task(path, partition=("x",)))
        assert found.column("p").to_pylist() == ["in the file"]

    def test_the_partition_value_wins_over_a_name_mapping(self, tmp_path: Path):
        path = str(tmp_path / "f")
        pq.write_table(pa.table({"id": [1], "p": ["by name"]}), path)
        scan = context(
            self.GROWN, specs={0: self.SPEC}, name_mapping=name_mapping((1, "id"), (9, "p"))
        )
        found = read(scan, task(path, partition=("x",), residual=bound("p = 'x'", self.GROWN)))
        assert found.to_pylist() == [{"id": 1, "s": None, "p": "x"}]

    def test_a_name_mapping_wins_over_the_initial_default(self, tmp_path: Path):
        path = str(tmp_path / "f")
        pq.write_table(pa.table({"old name": [1]}), path)
        table = schema(
            field(1, "id", "long", initial_default=7), field(2, "n", "int", initial_default=8)
        )
        scan = context(table, name_mapping=name_mapping((1, "old name"), (2, "n")))
        assert read(scan, task(path)).to_pylist() == [{"id": 1, "n": 8}]

    def test_parquet_without_ids_and_mapping_is_read_by_position(self, tmp_path: Path):
        path = str(tmp_path / "f")
        pq.write_table(pa.table({"x": [1], "y": ["a"]}), path)
        assert read(context(TABLE), task(path)).to_pylist() == [{"id": 1, "s": "a"}]

    def test_orc_without_ids_and_mapping_is_read_by_name(self, tmp_path: Path):
        path = str(tmp_path / "f")
        pa.orc.write_table(pa.table({"s": ["a"], "id": [1]}), path)
        found = read(context(TABLE), task(path, FileFormat.ORC))
        assert found.to_pylist() == [{"id": 1, "s": "a"}]


class TestBadFiles:
    @FORMATS
    def test_a_missing_file_is_named(self, tmp_path: Path, file_format: FileFormat):
        path = str(tmp_path / "gone")
        with pytest.raises(NoSuchFileError, match="gone"):
            read(context(TABLE), task(path, file_format))

    @FORMATS
    @pytest.mark.parametrize("kept", [0, 3, 50, 0.5, 0.95])
    def test_a_truncated_file_is_named(self, tmp_path: Path, file_format: FileFormat, kept: float):
        path = Path(write(tmp_path / "cut", TABLE, ROWS * 50, file_format))
        data = path.read_bytes()
        path.write_bytes(data[: int(kept if kept >= 1 or not kept else len(data) * kept)])
        with pytest.raises(CorruptFileError, match="cut"):
            read(context(TABLE), task(str(path), file_format))

    def test_a_damaged_page_is_named(self, tmp_path: Path):
        path = Path(write(tmp_path / "bad", TABLE, ROWS * 50, compression="zstd"))
        data = bytearray(path.read_bytes())
        data[20:200] = bytes(180)
        path.write_bytes(data)
        with pytest.raises(CorruptFileError, match="bad"):
            read(context(TABLE), task(str(path)))

    def test_a_file_of_another_type_names_the_column(self, tmp_path: Path):
        path = write(tmp_path / "f", schema(field(1, "id", "string")), [{"id": "x"}])
        with pytest.raises(CorruptFileError, match=r"'id'.*f holds string.*long"):
            read(context(schema(field(1, "id", "long"))), task(path))

    def test_a_puffin_file_has_no_rows(self, tmp_path: Path):
        with pytest.raises(CorruptFileError, match="dv is listed as a file of rows"):
            read(context(TABLE), task(str(tmp_path / "dv"), FileFormat.PUFFIN))

    def test_a_spec_that_the_table_lacks_is_named(self, tmp_path: Path):
        path = write(tmp_path / "f", TABLE, ROWS)
        with pytest.raises(CorruptFileError, match="partition spec 5"):
            read(context(TABLE), task(path, spec_id=5))


def test_lists_and_maps_are_read_in_batches_that_cut_through_them(tmp_path: Path):
    table = schema(
        field(1, "l", list_of(2, struct(field(3, "a", "int")))),
        field(4, "m", map_of(5, "string", 6, "long")),
    )
    rows = [
        {"l": [{"a": j} for j in range(i % 4)] if i % 5 else None, "m": [(f"k{i}", i)]}
        for i in range(50)
    ]
    path = write(tmp_path / "f", table, rows)
    found = read(context(table, batch_rows=7), task(path))
    assert found.to_pylist() == rows


def test_a_required_field_of_a_null_struct(tmp_path: Path):
    table = schema(
        field(1, "st", struct(field(2, "a", "int", True), field(3, "b", "string", True))),
        field(4, "l", list_of(5, struct(field(6, "x", "int", True)), True)),
    )
    rows = [{"st": {"a": 1, "b": "x"}, "l": [{"x": 1}]}, {"st": None, "l": None}] * 3
    path = write(tmp_path / "f", table, rows)
    assert read(context(table, batch_rows=2), task(path)).to_pylist() == rows
    renamed = schema(field(1, "renamed", struct(field(2, "a", "long", True))))
    assert (
        read(context(renamed), task(path)).to_pylist()
        == [
            {"renamed": {"a": 1}},
            {"renamed": None},
        ]
        * 3
    )


@FORMATS
def test_files_of_another_store(tmp_path: Path, file_format: FileFormat):
    local = Path(write(tmp_path / "f", TABLE, ROWS, file_format))
    path = f"memory://reads/{file_format}"
    IO.replace(path, local.read_bytes())
    assert read(context(TABLE), task(path, file_format)).to_pylist() == ROWS
    deletes = position_deletes(tmp_path / "d", [(path, i) for i in range(9)])
    found = read(context(TABLE), task(path, file_format, delete_files=(deletes,)))
    assert found.to_pylist() == ROWS[9:]
    with pytest.raises(NoSuchFileError, match="memory://reads/gone"):
        read(context(TABLE), task("memory://reads/gone", file_format))
