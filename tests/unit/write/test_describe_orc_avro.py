"""ORC and Avro files that lie somewhere already: what they say of themselves, and refusals."""

import struct
from pathlib import Path

import fastavro
import pyarrow as pa
import pyarrow.orc as po
import pytest

import iceberg_spark as ice
from iceberg_spark.errors import (
    CorruptFileError,
    InvalidInputError,
    InvalidSchemaError,
    UnsupportedError,
)
from iceberg_spark.formats.avro.head import avro_head
from iceberg_spark.formats.orc_statistics import orc_columns
from iceberg_spark.io.fsspec_io import FsspecIO
from iceberg_spark.save.added_files import files_to_add
from iceberg_spark.spec.data_file import DataFile

IO = FsspecIO({})
LONG = {"type": "record", "name": "r", "fields": [{"name": "id", "type": "long"}]}


def orc(path: Path, columns: dict, **options: object) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    po.write_table(pa.table(columns), path, **options)
    return str(path)


def avro(path: Path, numbers: range, **options: object) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as file:
        fastavro.writer(file, LONG, ({"id": number} for number in numbers), **options)
    return str(path)


def added(folder: Path, schema: str, path: str, by: str | None = None) -> DataFile:
    """The entry of a file in a new table."""
    table = ice.create_table(str(folder), schema, partition_by=[by] if by else [])
    (file,) = files_to_add(table.metadata, IO, path).files
    return file


def tail_of(path: str) -> bytes:
    return po.ORCFile(path).reader.serialized_file_tail()


def test_a_value_below_a_null_struct_is_a_null_one(tmp_path: Path) -> None:
    """Java counts none, and would leave such a file out of a search for nulls."""
    given = pa.array([{"x": 1}, None, {"x": None}], pa.struct([("x", pa.int32())]))
    path = orc(tmp_path / "f.orc", {"st": given})
    table = ice.create_table(str(tmp_path / "t"), "st struct<x int>")
    table.add_files(path)
    (row,) = table.inspect.files().to_pylist()
    assert dict(row["null_value_counts"]) == {1: 1, 2: 2}
    assert table.scan("st.x is null").count() == 2


def test_floats_and_timestamps_of_orc_have_counts_and_no_bounds(tmp_path: Path) -> None:
    """A NaN in front hides a stripe's other values, and fractions before 1970 are written oddly."""
    path = orc(
        tmp_path / "f.orc",
        {"d": [float("nan"), 5.0], "t": pa.array([-1, 5], pa.timestamp("us"))},
    )
    table = ice.create_table(str(tmp_path / "t"), "d double, t timestamp_ntz")
    table.add_files(path)
    (row,) = table.inspect.files().to_pylist()
    assert dict(row["value_counts"]) == {1: 2, 2: 2}
    assert not row["lower_bounds"] and not row["upper_bounds"]
    assert table.scan("d = 5").count() == 1


def test_long_texts_of_orc_have_no_bounds_where_the_file_has_only_parts(tmp_path: Path) -> None:
    path = orc(tmp_path / "f.orc", {"s": ["a", "b" * 5000]})
    (column,) = orc_columns(tail_of(path))[1:]
    table = ice.create_table(str(tmp_path / "t"), "s string")
    table.add_files(path)
    assert column.text is None or column.text == ("a", "b" * 5000)
    assert table.scan("s > 'b'").count() == 1


def test_extremes_of_writers_before_2017_are_not_believed(tmp_path: Path) -> None:
    tail = tail_of(orc(tmp_path / "f.orc", {"id": [1, 2]}))
    assert [one.ints for one in orc_columns(tail)] == [None, (1, 2)]
    old = tail.replace(b"\x30\x06\x82\xf4\x03", b"\x30\x05\x82\xf4\x03")  # the writer's version
    assert old != tail
    assert [(one.values, one.ints) for one in orc_columns(old)] == [(2, None), (2, None)]


def test_files_without_an_ending_say_by_their_bytes_what_they_are(tmp_path: Path) -> None:
    folder = tmp_path / "files"
    orc(folder / "000000_0", {"id": [1]})
    avro(folder / "000001_0", range(2, 4))
    table = ice.create_table(str(tmp_path / "t"), "id bigint")
    table.add_files(str(folder))
    assert sorted(table.scan().to_arrow()["id"].to_pylist()) == [1, 2, 3]
    formats = set(table.inspect.files()["file_format"].to_pylist())
    assert formats == {"ORC", "AVRO"}


def test_the_partition_of_an_orc_file_is_found_in_its_statistics(tmp_path: Path) -> None:
    schema, by = "id bigint, day date", "months(day)"
    days = pa.array([19723, 19730], pa.int32()).cast(pa.date32())
    path = orc(tmp_path / "f.orc", {"id": [1, 2], "day": days})
    file = added(tmp_path / "t", schema, path, by)
    assert file.partition == ((2024 - 1970) * 12,)
    apart = pa.array([0, 900], pa.int32()).cast(pa.date32())
    wide = orc(tmp_path / "g.orc", {"id": [1, 2], "day": apart})
    with pytest.raises(InvalidInputError, match="must have one value"):
        added(tmp_path / "u", schema, wide, by)


def test_the_partition_of_an_avro_file_is_its_folders_alone(tmp_path: Path) -> None:
    path = avro(tmp_path / "in" / "p=1" / "f.avro", range(3))
    file = added(tmp_path / "t", "id bigint, p int", path, "p")
    assert (file.partition, file.record_count, file.lower_bounds) == ((1,), 3, None)
    alone = avro(tmp_path / "f.avro", range(3))
    with pytest.raises(InvalidInputError, match="statistics don't determine"):
        added(tmp_path / "u", "id bigint", alone, "bucket(4, id)")


def test_a_folder_that_contradicts_an_orc_file_is_refused(tmp_path: Path) -> None:
    path = orc(tmp_path / "in" / "p=1" / "f.orc", {"p": [2, 2]})
    with pytest.raises(InvalidInputError, match="has other values"):
        added(tmp_path / "t", "p bigint", path, "p")


@pytest.mark.parametrize("given", ["id int", "id string", "other bigint"])
def test_files_that_do_not_fit_are_refused(tmp_path: Path, given: str) -> None:
    for path in (orc(tmp_path / "f.orc", {"id": [1 << 40]}), avro(tmp_path / "f.avro", range(2))):
        with pytest.raises(InvalidSchemaError):
            added(tmp_path / f"t{path[-3:]}", given, path)


def test_timestamps_of_orc_have_to_be_of_the_tables_kind(tmp_path: Path) -> None:
    for zone, kind in ((None, "timestamp"), ("UTC", "timestamp_ntz")):
        path = orc(tmp_path / f"{kind}.orc", {"t": pa.array([1], pa.timestamp("us", zone))})
        with pytest.raises(InvalidSchemaError, match="append their rows"):
            added(tmp_path / kind, f"t {kind}", path)
        nested = pa.array([[1]], pa.list_(pa.timestamp("us", zone)))
        path = orc(tmp_path / f"{kind}_nested.orc", {"t": nested})
        with pytest.raises(InvalidSchemaError, match="append their rows"):
            added(tmp_path / f"{kind}_nested", f"t array<{kind}>", path)


@pytest.mark.parametrize("rows", [0, 1, 20_000])
def test_the_rows_of_an_avro_file_are_counted_without_reading_them(
    tmp_path: Path, rows: int
) -> None:
    path = avro(tmp_path / "f.avro", range(rows), sync_interval=100, metadata={"k": "v" * 200_000})
    head = avro_head(IO, path)
    assert (head.rows, head.file_size) == (rows, Path(path).stat().st_size)
    assert head.schema.names == ["id"]


def test_an_avro_file_that_is_cut_off_or_changed_is_refused(tmp_path: Path) -> None:
    path = Path(avro(tmp_path / "f.avro", range(1000), sync_interval=100))
    whole = path.read_bytes()
    for cut in (3, 40, len(whole) // 2, len(whole) - 1):
        path.write_bytes(whole[:cut])
        with pytest.raises(CorruptFileError, match=r"f\.avro"):
            avro_head(IO, str(path))
    path.write_bytes(whole[:-16] + bytes(16))
    with pytest.raises(CorruptFileError, match="sync marker"):
        avro_head(IO, str(path))


def test_an_avro_file_that_could_not_be_read_is_not_added(tmp_path: Path) -> None:
    path = avro(tmp_path / "f.avro", range(3), codec="bzip2")
    with pytest.raises(UnsupportedError, match="bzip2"):
        added(tmp_path / "t", "id bigint", path)


def test_folders_of_orc_and_avro_become_tables(tmp_path: Path) -> None:
    orc(tmp_path / "o" / "p=7" / "000000_0", {"id": [1]})
    beside = ice.snapshot(str(tmp_path / "o"), str(tmp_path / "beside"))
    assert beside.scan().to_arrow().to_pylist() == [{"id": 1, "p": 7}]
    avro(tmp_path / "a" / "f.avro", range(3))
    moved = ice.migrate(str(tmp_path / "a"))
    moved.append(pa.table({"id": [9]}))
    moved.delete("id = 1")
    assert sorted(moved.scan().to_arrow()["id"].to_pylist()) == [0, 2, 9]


def test_timestamps_of_avro_that_others_wrote_are_instants(tmp_path: Path) -> None:
    kinds = {"t": "timestamp-micros", "w": "local-timestamp-micros"}
    fields = [
        {"name": name, "type": {"type": "long", "logicalType": kind}}
        for name, kind in kinds.items()
    ]
    (tmp_path / "a").mkdir()
    schema = {"type": "record", "name": "r", "fields": fields}
    with (tmp_path / "a" / "f.avro").open("wb") as file:
        fastavro.writer(file, schema, [{"t": 5, "w": 5}])
    table = ice.snapshot(str(tmp_path / "a"), str(tmp_path / "t"))
    assert [str(field.field_type) for field in table.schema().fields] == [
        "timestamptz",
        "timestamp",
    ]


def test_wall_clocks_of_avro_that_iceberg_wrote_stay_wall_clocks(tmp_path: Path) -> None:
    properties = {"write.format.default": "avro"}
    kinds = "w timestamp_ntz, t timestamp, st struct<w timestamp_ntz>"
    made = ice.create_table(str(tmp_path / "made"), kinds, properties=properties)
    made.append(pa.table({"w": [None]}, schema=pa.schema([("w", pa.timestamp("us"))])))
    table = ice.snapshot(str(tmp_path / "made" / "data"), str(tmp_path / "t"))
    assert str(table.schema()).split("}")[0].count("timestamptz") == 1
    assert [str(field.field_type) for field in table.schema().fields][:2] == [
        "timestamp",
        "timestamptz",
    ]


def test_bounds_of_orc_are_those_of_the_values(tmp_path: Path) -> None:
    path = orc(tmp_path / "f.orc", {"id": [5, None, -3], "flag": [False, None, False]})
    file = added(tmp_path / "t", "id bigint, flag boolean", path)
    assert file.lower_bounds == {1: struct.pack("<q", -3), 2: b"\x00"}
    assert file.upper_bounds == {1: struct.pack("<q", 5), 2: b"\x00"}
    assert file.null_value_counts == {1: 1, 2: 1}
    assert len(file.split_offsets) == 1


def test_texts_of_orc_that_hold_a_nul_have_no_bounds(tmp_path: Path) -> None:
    """Writers in C++ compare them up to the NUL: least and greatest are the first of these two."""
    path = orc(tmp_path / "f.orc", {"s": ["a\0b", "a\0c"]})
    table = ice.create_table(str(tmp_path / "t"), "s string")
    table.add_files(path)
    assert table.scan("s > 'a\0b'").count() == 1
    with pytest.raises(InvalidInputError, match="statistics don't determine"):
        added(tmp_path / "u", "s string", path, "s")


def test_texts_of_orc_between_others_may_hold_a_nul(tmp_path: Path) -> None:
    texts = ["a\0c", "a\0b", "a", "ab", "a\0z", "b"]
    file = added(tmp_path / "t", "s string", orc(tmp_path / "f.orc", {"s": texts}))
    assert file.lower_bounds == {1: b"a"} and file.upper_bounds == {1: b"b"}


@pytest.mark.parametrize("told", [b"\x78\x03", b"\x08\x05"])  # another field, more than all
def test_an_orc_column_that_does_not_say_its_values_has_no_metrics(
    tmp_path: Path, told: bytes
) -> None:
    path = Path(orc(tmp_path / "f.orc", {"i": [7, 8, 9]}))
    before, found, after = path.read_bytes().rpartition(b"\x08\x03\x12")
    assert found
    path.write_bytes(before + told + b"\x12" + after)
    table = ice.create_table(str(tmp_path / "t"), "i bigint")
    table.add_files(str(path))
    (row,) = table.inspect.files().to_pylist()
    assert row["record_count"] == 3 and not row["null_value_counts"] and not row["lower_bounds"]
    assert table.scan("i = 8").count() == table.scan("i is null").count() + 1 == 1
    with pytest.raises(InvalidInputError, match="statistics don't determine"):
        added(tmp_path / "u", "i bigint", str(path), "i")


def test_a_file_with_two_columns_of_one_name_of_the_table_is_refused(tmp_path: Path) -> None:
    """The name mapping keeps a column's former name."""
    table = ice.create_table(str(tmp_path / "t"), "x bigint")
    table.add_files(orc(tmp_path / "f.orc", {"x": [1]}))
    with table.update_schema() as change:
        change.rename_column("x", "y")
    both = orc(tmp_path / "g.orc", {"y": [5, 6], "x": [100, 200]})
    with pytest.raises(InvalidSchemaError, match="two columns for 'y' of the table, 'y' and 'x'"):
        table.refresh().add_files(both)


def test_an_avro_file_that_claims_more_records_than_it_has_bytes_is_refused(tmp_path: Path) -> None:
    path = Path(avro(tmp_path / "f.avro", range(1), codec="null"))
    whole = path.read_bytes()
    block = b"\x02\x02\x00"  # one record, a byte
    assert whole.count(block) == 1
    for count in (b"\xd0\x0f", b"\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01"):
        path.write_bytes(whole.replace(block, count + block[1:]))
        with pytest.raises(CorruptFileError, match="damaged: it claims"):
            avro_head(IO, str(path))


@pytest.mark.parametrize("ending", ["orc", "parquet"])
def test_folders_that_are_called_as_files_are_folders(tmp_path: Path, ending: str) -> None:
    folder = tmp_path / f"x.{ending}"
    orc(folder / "part-0.orc", {"id": [1]})
    alone = orc(tmp_path / "f.orc", {"id": [2]})
    table = ice.create_table(str(tmp_path / "t"), "id bigint")
    table.add_files([str(folder), alone])
    assert sorted(table.scan().to_arrow()["id"].to_pylist()) == [1, 2]


def test_avro_files_below_metadata_are_rows_where_no_table_is(tmp_path: Path) -> None:
    avro(tmp_path / "in" / "a.avro", range(2))
    avro(tmp_path / "in" / "metadata" / "b.avro", range(3))
    table = ice.create_table(str(tmp_path / "t"), "id bigint")
    table.add_files(str(tmp_path / "in"))
    assert table.scan().count() == 5
    (tmp_path / "in" / "metadata" / "v1.metadata.json").write_text("{}")
    again = ice.create_table(str(tmp_path / "u"), "id bigint")
    again.add_files(str(tmp_path / "in"))
    assert again.scan().count() == 2


def test_avro_types_of_one_name_in_two_namespaces_are_kept_apart(tmp_path: Path) -> None:
    def pair(first: str, second: str, **more: str) -> dict:
        fields = [{"name": first, "type": "int"}, {"name": second, "type": "int"}]
        return {"type": "record", "name": "P", "fields": fields, **more}

    kinds = {"a": pair("u", "v"), "b": pair("v", "u", namespace="y"), "c": "P"}
    fields = [{"name": name, "type": kind} for name, kind in kinds.items()]
    schema = {"type": "record", "name": "R", "namespace": "x", "fields": fields}
    row = {"a": {"u": 1, "v": 2}, "b": {"v": 3, "u": 4}, "c": {"u": 5, "v": 6}}
    (tmp_path / "a").mkdir()
    with (tmp_path / "a" / "f.avro").open("wb") as file:
        fastavro.writer(file, schema, [row])
    table = ice.snapshot(str(tmp_path / "a"), str(tmp_path / "t"))
    assert table.scan().to_arrow().to_pylist() == [row]
