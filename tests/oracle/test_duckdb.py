"""DuckDB reads what we wrote, and we read what DuckDB wrote."""

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pyspark.sql import SparkSession

import iceberg_spark as ice
from iceberg_spark import Table
from iceberg_spark.errors import IcebergError
from tests.oracle import duckdb_reader, rows
from tests.oracle.compare import assert_same_rows, same_rows
from tests.oracle.delete_tables import alter
from tests.oracle.engines import DUCKDB
from tests.oracle.java_api import delete_equal, frame, global_place, identifier, location, read
from tests.oracle.java_tables import Case, delete_unsorted_positions
from tests.oracle.product import read_arrow, read_both, read_spark
from tests.oracle.test_java_reads_what_we_wrote import CASES, Written, create


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_duckdb_reads_what_we_wrote_or_refuses_as_recorded(
    java: SparkSession, case: Written
) -> None:
    path = location(java, f"duck_reads_{case.name}")
    create(path, case)
    ice.load_table(path).append(case.rows(0, 20))
    ice.load_table(path).append(case.rows(20, 24))
    refusal = DUCKDB.refusal(Case(case.version, case.file_format, case.partitioning, "none"))
    if refusal is not None:
        with pytest.raises(Exception, match=refusal.error):
            duckdb_reader.read(path)
        return
    assert_same_rows(case.rows(0, 24), duckdb_reader.read(path), what="DuckDB by the location")


def test_duckdb_reads_our_newest_metadata_file(java: SparkSession) -> None:
    path = location(java, "duck_by_file")
    create(path, Written(2, "parquet", "days_bucket"))
    ice.load_table(path).append(rows.table(0, 20))
    ice.load_table(path).overwrite(rows.table(5, 9))
    newest = max(Path(path, "metadata").glob("v*.metadata.json"))
    assert_same_rows(rows.table(5, 9), duckdb_reader.read(str(newest)))


UPSERTS = pa.table(
    {
        "id": pa.array([2, 4, None, 4, 9], pa.int64()),
        "k": ["B", "x", "n", "y", None],
        "_op": ["U", "I", "I", "U", "D"],
    }
)


def upserted(folder: Path, partition_by: list[str], source: pa.Table, **properties: str) -> Table:
    """Rows replaced and deleted by key, twice inside of one batch too."""
    named = {key.replace("_", "-"): value for key, value in properties.items()}
    table = ice.create_table(
        str(folder / "t"), "id bigint, k string", partition_by=partition_by, properties=named
    )
    table.append(pa.table({"id": [1, 2, 3, 9], "k": ["a", "b", None, "c"]}))
    table.upsert(source, ["id"], global_delete=partition_by == ["k"])
    table.upsert(source.slice(0, 1), ["id"], global_delete=partition_by == ["k"])
    return table


@pytest.mark.parametrize("partition_by", [[], ["bucket(3, id)"], ["k"]], ids=str)
def test_duckdb_reads_our_equality_deletes(tmp_path: Path, partition_by: list[str]) -> None:
    table = upserted(tmp_path, partition_by, UPSERTS.filter(pc.field("id") > 0))
    kinds = {each.content.name for task in table.scan().plan_files() for each in task.delete_files}
    assert kinds == {"EQUALITY_DELETES", "POSITION_DELETES"}
    found = table.scan().to_arrow()
    assert set(found["k"].to_pylist()) == {"a", "B", None, "y"}
    assert_same_rows(found, duckdb_reader.read(table.metadata_location))


def test_duckdb_loses_rows_whose_key_is_null_to_any_equality_delete(tmp_path: Path) -> None:
    table = upserted(tmp_path, [], UPSERTS)
    found = table.scan().to_arrow()
    assert None in found["id"].to_pylist()
    left = found.filter(pc.field("id").is_valid())
    assert_same_rows(left, duckdb_reader.read(table.metadata_location))


@pytest.mark.parametrize(
    ("partition_by", "delete_format", "shown"),
    [
        (["bucket(3, id)"], "parquet", "Comparison on NULL values"),
        ([], "avro", "'AVRO' not supported for deletes"),
        ([], "orc", "'ORC' not supported for deletes"),
    ],
)
def test_duckdb_does_not_read_equality_deletes_of_a_null_partition_or_of_other_formats(
    tmp_path: Path, partition_by: list[str], delete_format: str, shown: str
) -> None:
    properties = {"write.delete.format.default": delete_format}
    table = upserted(tmp_path, partition_by, UPSERTS, **properties)
    table.upsert(pa.table({"id": pa.array([None], pa.int64()), "k": ["m"]}), ["id"])
    with pytest.raises(Exception, match=shown):
        duckdb_reader.read(table.metadata_location)


FILTERS = {
    "bucket": "id IN (1, 6, 12)",
    "day": "ts >= TIMESTAMPTZ '2024-01-02 00:00:00+00'",
    "prefix": "s LIKE 'a%'",
    "decimal": "dec9 > 0.5",
}


@pytest.mark.parametrize("by", FILTERS)
def test_duckdb_prunes_by_our_metadata_rightly(java: SparkSession, by: str) -> None:
    path, text = location(java, f"duck_filter_{by}"), FILTERS[by]
    create(path, Written(2, "parquet", "days_bucket"))
    ice.load_table(path).append(rows.table(0, 20))
    ice.load_table(path).append(rows.table(20, 40))
    given = rows.table(0, 40)
    with duckdb_reader.connect() as connection:
        connection.register("given", given)
        expected = connection.sql(f"SELECT * FROM given WHERE {text}").to_arrow_table()
        query = f"SELECT * FROM iceberg_scan('{path}') WHERE {text}"
        actual = connection.sql(query).to_arrow_table()
    assert 0 < expected.num_rows < 40
    assert_same_rows(expected, actual)


def test_duckdb_and_we_apply_the_same_deletes_to_our_files(java: SparkSession) -> None:
    """Position and equality deletes by Java; no NULL keys, which DuckDB cannot compare."""
    name = "duck_deletes"
    path = location(java, name)
    create(path, Written(2, "parquet", "unpartitioned"))
    alter(java, name, "SET TBLPROPERTIES ('write.delete.mode'='merge-on-read')")
    ice.load_table(path).append(rows.table(0, 20))
    ice.load_table(path).append(rows.table(20, 40))
    java.sql(f"DELETE FROM {identifier(name)} WHERE id % 7 = 2")
    delete_unsorted_positions(java, name, "PARQUET")
    query = "SELECT * FROM VALUES (4L), (5L), (31L) AS v(id)"
    delete_equal(java, name, query, ["id"], only=[global_place(java)])
    ice.load_table(path).append(rows.table(4, 6))
    expected = read(java, path)
    assert_same_rows(expected, duckdb_reader.read(path), what="DuckDB")
    assert_same_rows(expected, read_both(java, path), what="both engines")


def test_duckdbs_metadata_lacks_a_required_field_and_is_refused_by_name(
    java: SparkSession, tmp_path: Path
) -> None:
    """DuckDB's COPY leaves out what the specification requires of version 2; Java refuses too."""
    metadata = copy_by_duckdb(rows.table(0, 10), tmp_path / "made")
    for reader in (read, read_spark):
        with pytest.raises(Exception, match="last-sequence-number"):
            reader(java, metadata)
    with pytest.raises(IcebergError, match="last-sequence-number"):
        read_arrow(metadata)


def test_we_read_and_filter_files_and_manifests_that_duckdb_made(
    java: SparkSession, tmp_path: Path
) -> None:
    metadata = mended(copy_by_duckdb(rows.table(0, 30), tmp_path / "mended"))
    assert_same_rows(rows.table(0, 30), read_both(java, metadata), what="both engines")
    assert_same_rows(rows.table(0, 30), read_spark(java, metadata), what="the Spark frame")
    for text in ("id IN (3, 12)", "s LIKE 'a%'", "d > 1.0", "dt < '1990-01-01'"):
        expected = frame(java, rows.table(0, 30)).where(text).toArrow()
        assert_same_rows(expected, read_both(java, metadata, row_filter=text), what=text)


def test_duckdb_appends_only_by_rewriting_the_table(tmp_path: Path) -> None:
    """Without a REST catalog DuckDB creates or replaces tables; it cannot go on with one."""
    copy_by_duckdb(rows.table(0, 10), tmp_path / "again")
    copy_by_duckdb(rows.table(10, 12), tmp_path / "again")
    left = duckdb_reader.read(str(tmp_path / "again"))
    assert not same_rows(pa.concat_tables([rows.table(0, 10), rows.table(10, 12)]), left)


def copy_by_duckdb(table: pa.Table, folder: Path) -> str:
    """Let DuckDB write an Iceberg table; return its newest metadata file."""
    with duckdb_reader.connect() as connection:
        connection.register("given", table)
        connection.sql(f"COPY (SELECT * FROM given) TO '{folder}' (FORMAT iceberg)")
    hint = (folder / "metadata" / "version-hint.text").read_text().strip()
    return str(folder / "metadata" / f"{hint}.metadata.json")


def mended(path: str) -> str:
    """Write the metadata again with what DuckDB leaves out; return the new file."""
    metadata = json.loads(Path(path).read_text())
    last = max(snapshot["sequence-number"] for snapshot in metadata["snapshots"])
    target = Path(path).with_name("v1.metadata.json")
    required = {"last-sequence-number": last, "sort-orders": [{"order-id": 0, "fields": []}]}
    target.write_text(json.dumps(metadata | required))
    return str(target)
