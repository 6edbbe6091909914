"""Adding Parquet files as they lie: single files, Hive-style folders, the name mapping."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from iceberg_spark import Table
from iceberg_spark.errors import (
    CorruptFileError,
    InvalidInputError,
    InvalidSchemaError,
    NoSuchFileError,
)
from iceberg_spark.spec.name_mapping import parse
from tests.unit.api.tables import files_below, ids, make, rows

MAPPING = "schema.name-mapping.default"


def parquet(path: Path, data: pa.Table) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(data, path)
    return str(path)


def test_files_are_added_where_they_lie(tmp_path: Path):
    one = parquet(tmp_path / "in" / "1.parquet", rows(id=[1], k=["a"]))
    two = parquet(tmp_path / "in" / "2.parquet", rows(k=["b"], id=[2]))
    table = make(tmp_path / "t")
    table.add_files([one, two])
    assert table.scan().to_arrow().sort_by("id").to_pylist() == [
        {"id": 1, "k": "a"},
        {"id": 2, "k": "b"},
    ]
    assert {task.file_path for task in table.scan().plan_files()} == {one, two}
    assert not (tmp_path / "t" / "data").exists()


def test_one_path_will_do(tmp_path: Path):
    table = make(tmp_path / "t")
    table.add_files(parquet(tmp_path / "1.parquet", rows(id=[1])))
    assert ids(table) == [1]


def test_the_name_mapping_is_set_in_the_same_commit(tmp_path: Path):
    table = make(tmp_path / "t")
    table.add_files(parquet(tmp_path / "1.parquet", rows(id=[1])))
    mapping = parse(table.properties[MAPPING])
    assert [(each.field_id, list(each.names)) for each in mapping.fields] == [
        (1, ["id"]),
        (2, ["k"]),
    ]
    assert len(table.metadata.metadata_log) == 1


def test_a_name_mapping_that_is_there_is_kept_and_used(tmp_path: Path):
    own = '[{"field-id": 1, "names": ["number"]}]'
    table = make(tmp_path / "t", **{MAPPING: own})
    table.add_files(parquet(tmp_path / "1.parquet", rows(number=[1])))
    assert table.properties[MAPPING] == own
    assert ids(table) == [1]


def test_a_hive_folder_gives_partition_values_by_its_names(tmp_path: Path):
    parquet(tmp_path / "in" / "k=a" / "1.parquet", rows(id=[1]))
    parquet(tmp_path / "in" / "k=b%2Fc" / "2.parquet", rows(id=[2]))
    parquet(tmp_path / "in" / "k=__HIVE_DEFAULT_PARTITION__" / "3.parquet", rows(id=[3]))
    parquet(tmp_path / "in" / "_temporary" / "4.parquet", rows(id=[4]))
    table = make(tmp_path / "t", partition_by=["k"])
    table.add_files(str(tmp_path / "in"))
    assert table.scan().to_arrow().sort_by("id").to_pylist() == [
        {"id": 1, "k": "a"},
        {"id": 2, "k": "b/c"},
        {"id": 3, "k": None},
    ]
    assert len(table.scan(row_filter="k = 'a'").plan_files()) == 1


def test_a_single_file_of_a_hive_folder_gets_its_partition(tmp_path: Path):
    table = make(tmp_path / "t", partition_by=["k"])
    table.add_files(parquet(tmp_path / "in" / "k=a" / "1.parquet", rows(id=[1])))
    assert table.scan().to_arrow().to_pylist() == [{"id": 1, "k": "a"}]


def test_a_file_that_the_table_has_already_is_refused(tmp_path: Path):
    table = make(tmp_path / "t")
    path = parquet(tmp_path / "1.parquet", rows(id=[1]))
    table.add_files(path)
    for again in (path, f"file:{path}"):
        with pytest.raises(InvalidInputError, match=r"1\.parquet is a data file of the table"):
            table.add_files(again)
    table.add_files(path, check_duplicate_files=False)
    assert ids(table) == [1, 1]


def test_a_file_is_refused_a_second_time_in_one_commit(tmp_path: Path):
    table = make(tmp_path / "t")
    path = parquet(tmp_path / "1.parquet", rows(id=[1]))
    with pytest.raises(InvalidInputError, match=r"1\.parquet"):
        table.add_files([path, path])
    transaction = table.transaction()
    transaction.add_files(path)
    with pytest.raises(InvalidInputError, match=r"1\.parquet is a data file"), transaction:
        transaction.add_files(path)
    assert ids(table.refresh()) == []


def test_added_files_are_pruned_by_their_metrics(tmp_path: Path):
    table = make(tmp_path / "t")
    for number in (1, 2):
        table.add_files(parquet(tmp_path / f"{number}.parquet", rows(id=[number])))
    assert len(table.scan(row_filter="id = 2").plan_files()) == 1


def test_snapshot_properties_are_written_to_the_summary(tmp_path: Path):
    table = make(tmp_path / "t")
    path = parquet(tmp_path / "1.parquet", rows(id=[1]))
    table.add_files(path, snapshot_properties={"job": "import"})
    assert table.current_snapshot().summary["job"] == "import"


def test_a_refused_file_stays_where_it_is(tmp_path: Path):
    path = Path(parquet(tmp_path / "1.parquet", rows(id=[1])))
    table = make(tmp_path / "t")
    transaction = table.transaction()
    transaction.add_files(str(path))
    with pytest.raises(KeyError), transaction:
        raise KeyError("mine")
    assert path.exists()


def test_what_can_not_be_added_is_named_and_nothing_changes(tmp_path: Path):
    table = make(tmp_path / "t", schema="id bigint not null, k string")
    wrong = parquet(tmp_path / "wrong.parquet", rows(id=["x"]))
    other = parquet(tmp_path / "lacks.parquet", rows(k=["x"]))
    junk = tmp_path / "junk.parquet"
    junk.write_bytes(b"not parquet at all")
    (tmp_path / "empty").mkdir()
    before = files_below(tmp_path)
    for path, error, shown in (
        (wrong, InvalidSchemaError, r"'id'.*string|wrong\.parquet"),
        (other, InvalidSchemaError, "id"),
        (str(junk), CorruptFileError, r"junk\.parquet"),
        (str(tmp_path / "gone.parquet"), NoSuchFileError, r"gone\.parquet"),
        (str(tmp_path / "empty"), InvalidInputError, "empty"),
        ([], InvalidInputError, "No files"),
    ):
        with pytest.raises(error, match=shown):
            table.add_files(path)
    assert files_below(tmp_path) == before


def test_a_file_with_row_ids_of_another_table_is_refused(tmp_path: Path):
    other = make(tmp_path / "o", format_version="3")
    other.append(rows(id=[1, 2], k=["a", "b"]))
    other.delete("id = 1")  # the row that is left is written with its id
    (task,) = other.refresh().scan().plan_files()
    table = make(tmp_path / "t", format_version="3")
    table.append(rows(id=[3, 4], k=["a", "b"]))
    with pytest.raises(InvalidSchemaError, match="'_row_id', the row ids of another table"):
        table.add_files(task.file_path)
    assert ids(table.refresh()) == [3, 4]


def counts_of(table: Table, column: str) -> list[tuple[int, int]]:
    """The value and null counts of a column, a pair for each file."""
    field_id = table.schema().find_field(column).field_id
    files = table.inspect.files().select(["value_counts", "null_value_counts"]).to_pylist()
    return sorted(
        (dict(f["value_counts"])[field_id], dict(f["null_value_counts"])[field_id]) for f in files
    )


def test_a_partition_column_that_files_lack_has_counts(tmp_path: Path):
    """Else Trino returns rows of the NULL partition for `k < 'b'`."""
    folder = tmp_path / "in"
    parquet(folder / "k=a" / "1.parquet", rows(id=[1, 2]))
    parquet(folder / "k=__HIVE_DEFAULT_PARTITION__" / "2.parquet", rows(id=[3]))
    table = make(tmp_path / "t", partition_by=["k"])
    table.add_files(str(folder))
    assert counts_of(table, "k") == [(1, 1), (2, 0)]


@pytest.mark.parametrize("file_format", ["parquet", "orc", "avro"])
def test_a_partition_column_without_metrics_has_counts(tmp_path: Path, file_format: str):
    properties = {"write.metadata.metrics.default": "none", "write.format.default": file_format}
    table = make(tmp_path / "t", partition_by=["k"], **properties)
    table.append(rows(id=[1, 2, 3], k=["a", "a", None]))
    assert counts_of(table, "k") == [(1, 1), (2, 0)]


@pytest.mark.parametrize("prefix", ["file://", "file:"])
def test_paths_without_a_scheme_get_that_of_the_table(tmp_path: Path, prefix: str):
    added = parquet(tmp_path / "1.parquet", rows(id=[1], k=["a"]))
    table = make(f"{prefix}{tmp_path}/t")
    table.add_files(added)
    assert [task.file_path for task in table.scan().plan_files()] == [f"{prefix}{added}"]
    assert ids(table) == [1]
