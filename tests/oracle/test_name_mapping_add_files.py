"""Files without field ids: Java's and our `add_files`, and the name mapping that reads them."""

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

import iceberg_spark as ice
from tests.oracle import duckdb_reader, rows
from tests.oracle.compare import assert_same_rows
from tests.oracle.delete_tables import alter
from tests.oracle.java_api import frame, identifier, load, location, read
from tests.oracle.java_tables import append, create
from tests.oracle.product import read_both, read_spark

MAPPING = "schema.name-mapping.default"


def parquet_files(folder: Path, count: int = 2) -> list[str]:
    """Write plain Parquet files, ten rows each; pyarrow writes no field ids here."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = [folder / f"part-{n}.parquet" for n in range(count)]
    for number, path in enumerate(paths):
        pq.write_table(rows.table(10 * number, 10 * number + 10), path)
    return [str(path) for path in paths]


def assert_readers_agree(java: SparkSession, path: str, expected: pa.Table) -> None:
    assert_same_rows(expected, read(java, path), what="Java")
    assert_same_rows(expected, read_both(java, path), what="the Arrow scan")
    assert_same_rows(expected, read_spark(java, path), what="the Spark frame")


def test_files_that_java_added_read_by_the_name_mapping(java: SparkSession, tmp_path: Path) -> None:
    name = "java_added"
    create(java, name, rows.DDL)
    append(java, name, 40, 46)
    parquet_files(tmp_path / "files")
    java.sql(
        f"CALL j.system.add_files(table => 'db.{name}', "
        f"source_table => '`parquet`.`{tmp_path / 'files'}`')"
    ).collect()
    path = location(java, name)
    expected = pa.concat_tables([rows.table(40, 46), rows.table(0, 20)])
    assert_readers_agree(java, path, expected)


def test_a_column_renamed_after_java_added_files_keeps_its_old_name_in_the_mapping(
    java: SparkSession, tmp_path: Path
) -> None:
    name = "java_added_renamed"
    create(java, name, rows.DDL)
    parquet_files(tmp_path / "files")
    java.sql(
        f"CALL j.system.add_files(table => 'db.{name}', "
        f"source_table => '`parquet`.`{tmp_path / 'files'}`')"
    ).collect()
    alter(java, name, "RENAME COLUMN s TO text")
    alter(java, name, "RENAME COLUMN st.a TO number")
    path = location(java, name)
    assert_readers_agree(java, path, read(java, path))


def test_a_hive_layout_that_java_added_takes_partition_values_from_metadata(
    java: SparkSession, tmp_path: Path
) -> None:
    """The partition columns are not in the files at all."""
    name = "java_added_hive"
    create(java, name, "id bigint, d double, region string, n int", "region, n")
    folder = tmp_path / "hive"
    java.sql(
        "SELECT id, CAST(id AS DOUBLE) AS d, "
        "IF(id % 3 = 0, 'no rth', 'süd/1') AS region, CAST(id % 2 AS INT) AS n FROM range(12)"
    ).coalesce(1).write.partitionBy("region", "n").parquet(str(folder))
    java.sql(
        f"CALL j.system.add_files(table => 'db.{name}', source_table => '`parquet`.`{folder}`')"
    ).collect()
    path = location(java, name)
    everything = read(java, path)
    assert everything.num_rows == 12
    assert_readers_agree(java, path, everything)
    for text in ("region = 'süd/1'", "n = 1 AND id > 4", "region LIKE 'no%'"):
        expected = frame(java, everything).where(text).toArrow()
        assert_same_rows(expected, read_both(java, path, row_filter=text), what=text)


def test_java_reads_the_files_that_we_added(java: SparkSession, tmp_path: Path) -> None:
    name = "we_added"
    path = location(java, name)
    ice.create_table(path, rows.SCHEMA)
    ice.load_table(path).append(rows.table(40, 46))
    ice.load_table(path).add_files(parquet_files(tmp_path / "files"))
    expected = pa.concat_tables([rows.table(40, 46), rows.table(0, 20)])
    assert_readers_agree(java, path, expected)
    java.sql(f"DELETE FROM {identifier(name)} WHERE id = 3")
    assert read_both(java, path).num_rows == expected.num_rows - 1


def test_java_reads_the_hive_folder_that_we_added(java: SparkSession, tmp_path: Path) -> None:
    name = "we_added_hive"
    path = location(java, name)
    create(java, name, "id bigint, d double, region string, n int", "region, n")
    folder = tmp_path / "hive"
    java.sql(
        "SELECT id, CAST(id AS DOUBLE) AS d, IF(id % 3 = 0, 'no rth', 'süd/1') AS region, "
        "CAST(id % 2 AS INT) AS n FROM range(12)"
    ).coalesce(1).write.partitionBy("region", "n").parquet(str(folder))
    ice.load_table(path).add_files(str(folder))
    everything = read(java, path)
    assert everything.num_rows == 12
    assert None not in everything["region"].to_pylist()
    assert_readers_agree(java, path, everything)


def test_our_name_mapping_is_the_one_java_writes(java: SparkSession, tmp_path: Path) -> None:
    ours, theirs = "mapping_ours", "mapping_java"
    paths = parquet_files(tmp_path / "files")
    for name in (ours, theirs):
        create(java, name, rows.DDL)
    ice.load_table(location(java, ours)).add_files(paths)
    java.sql(
        f"CALL j.system.add_files(table => 'db.{theirs}', "
        f"source_table => '`parquet`.`{tmp_path / 'files'}`')"
    ).collect()
    mappings = [json.loads(load(java, name).properties()[MAPPING]) for name in (ours, theirs)]
    assert mappings[0] == mappings[1]


@pytest.mark.parametrize("missing", ["s", "st", "m"])
def test_a_column_missing_from_an_added_file_reads_as_null(
    java: SparkSession, tmp_path: Path, missing: str
) -> None:
    name = f"we_added_without_{missing}"
    path = location(java, name)
    ice.create_table(path, rows.SCHEMA)
    file = tmp_path / "narrow.parquet"
    pq.write_table(rows.table(0, 10).drop_columns([missing]), file)
    ice.load_table(path).add_files([str(file)])
    everything = read(java, path)
    assert set(everything[missing].to_pylist()) == {None}
    assert_readers_agree(java, path, everything)


def test_parquet_that_duckdb_wrote_can_be_added(java: SparkSession, tmp_path: Path) -> None:
    file = tmp_path / "duck.parquet"
    with duckdb_reader.connect() as connection:
        connection.sql(
            "SELECT range AS id, range / 2 AS d, 's' || range AS s, [range] AS li, "
            "{'a': range, 'b': NULL::VARCHAR} AS st, DATE '2024-01-01' + range::INT AS dt "
            "FROM range(20)"
        ).write_parquet(str(file))
    path = location(java, "duck_added")
    ice.create_table(path, pq.read_schema(file))
    ice.load_table(path).add_files([str(file)])
    assert_readers_agree(java, path, pq.read_table(file))
    assert_same_rows(pq.read_table(file), duckdb_reader.read(path), what="DuckDB")
