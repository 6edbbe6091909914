"""`FROM t WITH (key = value)`: options of a read in a query (Spark: optionsClause)."""

from typing import Any

import pyarrow as pa
import pytest
from pyspark.errors import ParseException

import iceberg_spark as ice
from iceberg_spark.errors import InvalidInputError, InvalidOptionError


@pytest.fixture
def table(lake: Any) -> ice.Table:
    made = ice.create_table("lake.db.t", "id bigint, k string")
    for number in (1, 2, 3):
        made.append(pa.table({"id": [number], "k": ["abc"[number - 1]]}))
    return made


def ids(lake: Any, text: str) -> list[int]:
    return sorted(row[0] for row in lake.sql(text).collect())


def test_options_choose_the_snapshot_that_a_query_reads(lake: Any, table: ice.Table) -> None:
    first, second, third = (one.snapshot_id for one in table.snapshots())
    table.manage_snapshots().create_branch(first, "b").create_tag(second, "eoy").commit()
    for clause, wanted in {
        f"WITH (`snapshot-id` = {first})": [1],
        f"with ('snapshot-id' = '{second}')": [1, 2],
        "WITH (`Branch` = 'b')": [1],
        "WITH (tag = eoy)": [1, 2],
        f"WITH (`as-of-timestamp` {table.snapshots()[1].timestamp_ms})": [1, 2],
        f"WITH (`start-snapshot-id` = {first}, `end-snapshot-id` = {third})": [2, 3],
        "WITH (`split-size` = 5)": [1, 2, 3],
        "WITH (versionAsOf = 'eoy')": [1, 2],
        "WITH (timestampAsOf = '2100-01-01 00:00:00')": [1, 2, 3],
    }.items():
        assert ids(lake, f"SELECT id FROM lake.db.t {clause}") == wanted, clause
        assert ids(lake, f"SELECT x.id FROM lake.db.t {clause} AS x WHERE x.id > 0") == wanted


def test_options_stand_wherever_a_table_does(lake: Any, table: ice.Table) -> None:
    first, second, _ = (one.snapshot_id for one in table.snapshots())
    for text, wanted in {
        f"WITH w AS (SELECT * FROM lake.db.t WITH (`snapshot-id` = {first})) SELECT id FROM w": [1],
        f"""SELECT t.id FROM lake.db.t
            JOIN lake.db.t WITH (`snapshot-id` = {second} -- (of then)
            ) o ON t.id = o.id""": [1, 2],
        f"""SELECT id FROM lake.db.t WHERE id NOT IN (
            SELECT id FROM `{table.location()}` WITH (`snapshot-id` = {first}))""": [2, 3],
        f"TABLE lake.db.t WITH (`snapshot-id` = {first})": [1],
        f"""SELECT id FROM lake.db.t WITH (`snapshot-id` = {second})
            TABLESAMPLE (100 PERCENT) s""": [1, 2],
        f"SELECT id FROM lake.db.t WITH (`snapshot-id` = {second}) |> WHERE id = 2": [2],
        f"SELECT count(*) FROM lake.db.t.files WITH (`snapshot-id` = {second})": [2],
        f"SELECT id FROM lake.db.t.changes WITH (`start-snapshot-id` = {second})": [3],
    }.items():
        assert ids(lake, text) == wanted, text
    lake.sql(
        f"INSERT INTO lake.db.t SELECT id + 10, k FROM lake.db.t WITH (`snapshot-id` = {first})"
    )
    assert ids(lake, "SELECT id FROM lake.db.t") == [1, 2, 3, 11]
    hidden = f"SELECT *, _file FROM lake.db.t WITH (`snapshot-id` = {first})"
    assert lake.sql(hidden).columns == ["id", "k", "_file"]


def test_a_statement_of_rows_reads_a_version_by_options(lake: Any, table: ice.Table) -> None:
    first = table.snapshots()[0].snapshot_id
    lake.sql(
        "DELETE FROM lake.db.t WHERE id IN "
        f"(SELECT id FROM lake.db.t WITH (`snapshot-id` = {first}))"
    )
    assert ids(lake, "SELECT id FROM lake.db.t") == [2, 3]


def test_options_of_a_table_of_sparks_stay_sparks(lake: Any, table: ice.Table) -> None:
    lake.range(2, 4).createOrReplaceTempView("v")
    assert ids(lake, "SELECT t.id FROM lake.db.t WITH (`split-size` = 9) JOIN v USING (id)") == [
        2,
        3,
    ]
    lake.catalog.dropTempView("v")


def test_options_that_mean_nothing_in_a_query_are_refused(lake: Any, table: ice.Table) -> None:
    first = table.snapshots()[0].snapshot_id
    for clause, error, said in (
        ("WITH (`snapshot` = 1)", InvalidOptionError, "did you mean 'snapshot-id'"),
        ("WITH (`row-filter` = 'id = 1')", InvalidOptionError, "use a WHERE clause"),
        ("WITH (columns = 'id')", InvalidOptionError, "name them in SELECT"),
        ("WITH (`s3.endpoint` = 'x')", InvalidOptionError, "give it to the catalog"),
        ("WITH (`start-timestamp` = 1)", InvalidOptionError, "is for changes"),
        (f"VERSION AS OF {first} WITH (branch = 'main')", InvalidInputError, "select the snapshot"),
        (f"WITH (`snapshot-id` = {first}, branch = 'main')", InvalidOptionError, "branch"),
        ("WITH (a = 1, a = 2)", ParseException, "DUPLICATE_KEY"),
        ("WITH (tag = 'a', Tag = 'b')", InvalidOptionError, "two spellings"),
        ("WITH (path = '/x')", InvalidOptionError, "name the table"),
        (f"WITH (branch = 'main') VERSION AS OF {first}", ParseException, "near 'AS'"),
    ):
        with pytest.raises(error, match=said):
            lake.sql(f"SELECT id FROM lake.db.t {clause}").collect()
    for text in (f"lake.db.t.branch_main WITH (`snapshot-id` = {first})",
                 f"lake.db.t.changes WITH (`snapshot-id` = {first})"):  # fmt: skip
        with pytest.raises(InvalidInputError if "branch" in text else InvalidOptionError):
            lake.sql(f"SELECT * FROM {text}").collect()
    assert ids(lake, "SELECT id FROM lake.db.t") == [1, 2, 3]


def test_options_take_parameters(lake: Any, table: ice.Table) -> None:
    first = table.snapshots()[0].snapshot_id
    text = "SELECT id FROM lake.db.t WITH (`snapshot-id` = {}) WHERE id < {}"
    named = lake.sql(text.format(":snapshot", ":most"), args={"snapshot": first, "most": 9})
    placed = lake.sql(text.format("?", "?"), args=[first, 9])
    framed = lake.sql(text.format("{snapshot}", "9"), snapshot=first)
    for frame in (named, placed, framed):
        assert [row[0] for row in frame.collect()] == [1]


def test_a_function_called_with_leaves_out_no_rows(lake: Any, table: ice.Table) -> None:
    """Its call was taken for options, and the rest of its list chose the files."""
    lake.udf.register("with", lambda *_: 1, "bigint")
    try:
        found = ids(lake, "SELECT id FROM lake.db.t WHERE id IN (2, with(1))")
    except InvalidInputError:  # what sqlglot can't read is refused
        found = [1, 2]
    assert found == [1, 2]
    aliased = "SELECT with.a FROM lake.db.t AS with(a, b) WHERE with.a = 1"
    assert ids(lake, aliased) == [1]
