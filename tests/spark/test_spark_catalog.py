"""Spark's own analyzer resolves Iceberg tables in classic sessions."""

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.errors import AnalysisException, IllegalArgumentException
from pyspark.sql import SparkSession
from pyspark.sql.functions import udtf

import iceberg_spark as ice
from iceberg_spark.catalog import table_name
from iceberg_spark.errors import (
    InvalidInputError,
    NoSuchSnapshotError,
    NoSuchTableError,
    UnsupportedError,
)
from iceberg_spark.spark.catalyst import spark_catalog
from iceberg_spark.spark.catalyst.capabilities import capabilities
from iceberg_spark.spark.sql import resolved_relations
from iceberg_spark.spark.sql.subquery_views import with_subquery_views
from tests.spark.settings import settings

RULES = "extraOptimizations"


@pytest.fixture(scope="module")
def session(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """An enabled session with a catalog `sc` that has views, and the table `sc.d.t`."""
    place = str(tmp_path_factory.mktemp("catalog"))
    catalog = "spark.sql.catalog.sc"
    uri = f"sqlite:///{place}/catalog.db"
    with settings(
        spark, {f"{catalog}.type": "sql", f"{catalog}.uri": uri, f"{catalog}.warehouse": place}
    ):
        ice.enable(spark)
        spark.sql("CREATE NAMESPACE sc.d")
        spark.sql(
            "CREATE TABLE sc.d.t (id bigint, region string, s struct<a: int, b: string>) "
            "PARTITIONED BY (truncate(10, id)) "
            "TBLPROPERTIES ('write.delete.mode' = 'merge-on-read')"
        )
        spark.sql(
            "INSERT INTO sc.d.t SELECT id, concat('r', id % 3), "
            "named_struct('a', cast(id AS int), 'b', 'x') FROM range(100)"
        )
        spark.sql("DELETE FROM sc.d.t WHERE id = 7")
        yield spark
        ice.disable(spark)


def rows(session: Any, text: str, **more: Any) -> list[tuple[Any, ...]]:
    return [tuple(row) for row in session.sql(text, **more).collect()]


def described(session: Any) -> dict[str, str]:
    """The settings of the catalog."""
    keys = (f"spark.sql.catalog.sc.{name}" for name in ("type", "uri", "warehouse"))
    return {key: session.conf.get(key) for key in keys}


QUERIES: dict[str, list[tuple[Any, ...]]] = {
    "SELECT count(*) FROM sc.d.t": [(99,)],
    "SELECT t.id, d.t.region, sc.d.t.s.a FROM sc.d.t WHERE id = 8": [(8, "r2", 8)],
    "WITH t AS (SELECT 1 AS id) SELECT id FROM t": [(1,)],
    "WITH x AS (SELECT * FROM sc.d.t) SELECT count(*) FROM x JOIN x AS y USING (id)": [(99,)],
    "SELECT count(*) FROM sc.d.t a WHERE EXISTS (SELECT 1 FROM sc.d.t b WHERE b.id = a.id + 90)":
        [(9,)],
    "SELECT (SELECT max(id) FROM sc.d.t) AS most": [(99,)],
    "SELECT id FROM sc.d.t WHERE id IN (SELECT id + 1 FROM sc.d.t WHERE id = 3)": [(4,)],
    "SELECT _pos >= 0, _spec_id, _partition.id_trunc FROM sc.d.t WHERE id = 42": [(True, 0, 40)],
    "SELECT count(DISTINCT _file) FROM sc.d.t": [(10,)],
    "SELECT count(*) FROM sc.d.t.snapshots": [(2,)],
    "SELECT count(*) FROM sc.d.t.files WHERE content = 0": [(10,)],
    "SELECT _change_type, id FROM sc.d.t.changes WHERE id = 7 ORDER BY _change_ordinal":
        [("INSERT", 7), ("DELETE", 7)],
    "SELECT count(*) FROM sc.d.t.branch_main": [(99,)],
    "SELECT count(*) FROM sc.d.t VERSION AS OF 'main'": [(99,)],
    "SELECT count(*) FROM IDENTIFIER('sc.d.' || 't')": [(99,)],
    "SELECT count(*) FROM (VALUES (1), (2) AS v(a)) AS w JOIN sc.d.t ON a = id": [(2,)],
    "SELECT x FROM (SELECT 1 AS x WHERE (SELECT count(*) FROM sc.d.t) = 99)": [(1,)],
    "FROM sc.d.t |> WHERE id < 2 |> AGGREGATE count(*)": [(2,)],
    "SELECT sc.system.truncate(10, id) FROM sc.d.t WHERE id = 57": [(50,)],
    "SELECT count(*) FROM sc.d.t WITH (versionAsOf = 'main')": [(99,)],
}  # fmt: skip


@pytest.mark.parametrize("text", QUERIES)
def test_a_query_has_its_rows(session: Any, text: str) -> None:
    assert rows(session, text) == QUERIES[text]


@pytest.mark.parametrize("text", QUERIES)
def test_a_query_has_its_rows_without_the_rule(session: Any, text: str) -> None:
    experimental = session._jsparkSession.experimental()
    before = experimental.extraOptimizations()
    nil = getattr(getattr(session._jvm, "scala.collection.immutable.Nil$"), "MODULE$")
    set_rules = getattr(experimental, f"{RULES}_$eq")
    set_rules(nil)
    try:
        assert rows(session, text) == QUERIES[text]
    finally:
        set_rules(before)


def test_a_query_has_its_rows_where_the_catalog_does_not_compile(
    session: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = session.newSession()
    monkeypatch.setattr(spark_catalog, "compiled_object", lambda *_: None)
    with settings(other, described(session)):
        ice.enable(other)
        assert rows(other, "SELECT count(*) FROM sc.d.t WHERE id < 50") == [(49,)]
        ice.disable(other)


def test_the_capability_is_reported(session: Any) -> None:
    assert capabilities(session)["tables resolved by Spark"]


def test_files_are_planned_by_the_filters_of_the_query(
    session: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    plans: list[int] = []

    def counted(*args: Any, **options: Any) -> Any:
        made = plan(*args, **options)
        plans.append(len(made))
        return made

    plan = resolved_relations.plan
    monkeypatch.setattr(resolved_relations, "plan", counted)
    assert rows(session, "SELECT id FROM sc.d.t WHERE id BETWEEN 20 AND 21") == [(20,), (21,)]
    assert plans == [1]


def test_only_the_fields_of_a_struct_that_are_used_are_read(session: Any) -> None:
    frame = session.sql("SELECT s.a FROM sc.d.t WHERE id > 50")
    plan = frame._jdf.queryExecution().executedPlan().toString()
    assert "s:struct<a:int>" in plan and "b:string" not in plan


def test_an_unknown_column_suggests_those_of_the_whole_table(session: Any) -> None:
    with pytest.raises(AnalysisException, match="`region`, ") as caught:
        session.sql("SELECT regon FROM sc.d.t")
    assert caught.value.getCondition() == "UNRESOLVED_COLUMN.WITH_SUGGESTION"


def test_a_missing_table_is_named_with_one_that_is_near(session: Any) -> None:
    with pytest.raises(NoSuchTableError, match=r"d\.tt .*did you mean 't'\?.*line 1 pos 14"):
        session.sql("SELECT * FROM sc.d.tt")
    with pytest.raises(AnalysisException):
        session.sql("SELECT * FROM sc.nowhere.t")


def test_tables_are_listed_only_for_the_message_of_an_error(
    session: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    names: list[str] = []

    def counted(_: Any, identifier: str) -> str:
        names.append(identifier)
        return ""

    monkeypatch.setattr(table_name, "_near_name", counted)
    assert not session._jsparkSession.catalog().tableExists("sc.d.tt")
    assert names == []
    with pytest.raises(NoSuchTableError):
        session.sql("SELECT * FROM sc.d.tt")
    assert names == ["d.tt"]


def test_a_view_cannot_be_read_as_of(session: Any) -> None:
    session.sql("CREATE VIEW sc.d.some AS SELECT id, region FROM t WHERE id < 30")
    assert rows(session, "SELECT count(*) FROM sc.d.some WHERE region = 'r1'") == [(9,)]
    with pytest.raises(InvalidInputError, match="has no versions"):
        session.sql("SELECT * FROM sc.d.some VERSION AS OF 1")
    session.sql("DROP VIEW sc.d.some")


def test_a_view_whose_text_no_longer_fits_fails_when_it_is_named(session: Any) -> None:
    session.sql("CREATE TABLE sc.d.base AS SELECT 1 AS id, 'x' AS k")
    session.sql("CREATE VIEW sc.d.late AS SELECT id, k FROM base")
    session.sql("ALTER TABLE sc.d.base DROP COLUMN k")
    with pytest.raises(AnalysisException) as caught:
        session.sql("SELECT * FROM sc.d.late")
    assert caught.value.getCondition() == "UNRESOLVED_COLUMN.WITH_SUGGESTION"
    session.sql("DROP VIEW sc.d.late")


def test_a_name_like_the_text_of_an_error_is_a_name(session: Any) -> None:
    with pytest.raises(NoSuchSnapshotError) as caught:
        session.sql("SELECT * FROM sc.d.t VERSION AS OF 1")
    text = str(caught.value)
    with pytest.raises(NoSuchTableError):
        session.sql(f"SELECT * FROM sc.d.`{text.replace('.', ' ')}`")
    with pytest.raises(AnalysisException) as missing:
        session.sql("SELECT * FROM sc.t")
    assert missing.value.getCondition() == "TABLE_OR_VIEW_NOT_FOUND"


def test_an_error_while_a_query_runs_has_its_own_text(
    session: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    frame = session.sql("SELECT id FROM sc.d.t")
    monkeypatch.setattr(resolved_relations, "plan", lambda *_, **__: 1 / 0)
    with pytest.raises(IllegalArgumentException) as caught:
        frame.collect()
    assert str(caught.value) == "division by zero"


def test_a_script_that_spark_runs_does_not_create_tables(session: Any) -> None:
    with pytest.raises(Exception, match=r"is changed by spark\.sql of an enabled session"):
        session.sql("BEGIN EXECUTE IMMEDIATE 'CREATE TABLE sc.d.made (id INT)'; END")
    assert not session.catalog.tableExists("sc.d.made")


def test_spark_knows_what_use_chose(session: Any) -> None:
    session.sql("USE sc.d")
    try:
        assert rows(session, "SELECT current_catalog(), current_schema()") == [("sc", "d")]
        assert rows(session, "SELECT count(*) FROM t") == [(99,)]
        assert "sc" in {catalog.name for catalog in session.catalog.listCatalogs()}
        with pytest.raises(AnalysisException) as caught:
            session.sql("SELECT nothing_of_the_kind(1)")
        assert caught.value.getCondition() == "UNRESOLVED_ROUTINE"
        assert rows(session, "SHOW FUNCTIONS LIKE 'abs'") == [("abs",)]
        assert session.catalog.listFunctions(pattern="abs*")
    finally:
        session.sql("USE spark_catalog.default")
    assert rows(session, "SELECT current_catalog()") == [("spark_catalog",)]


def test_a_temporary_view_shows_the_newest_rows(session: Any) -> None:
    session.sql("CREATE TABLE sc.d.live AS SELECT 1 AS id")
    session.sql("CREATE OR REPLACE TEMPORARY VIEW live AS SELECT id FROM sc.d.live")
    frame = session.sql("SELECT id FROM sc.d.live")
    session.sql("INSERT INTO sc.d.live VALUES (2)")
    assert rows(session, "SELECT count(*) FROM live") == [(2,)]
    assert frame.count() == 1, "a DataFrame keeps the snapshot of its creation"
    session.sql("DROP VIEW live")


def test_a_table_is_cached_and_let_go(session: Any) -> None:
    session.sql("CREATE TABLE sc.d.cached AS SELECT * FROM sc.d.t")
    session.sql("CACHE TABLE sc.d.cached")
    frame = session.sql("SELECT count(*) FROM sc.d.cached WHERE id < 50")
    assert "InMemory" in frame._jdf.queryExecution().optimizedPlan().toString()
    assert frame.collect() == [(49,)]
    plan = (
        session.table("sc.d.cached").groupBy("region").count()._jdf.queryExecution().optimizedPlan()
    )
    assert "InMemory" in plan.toString()
    assert session.catalog.isCached("sc.d.cached")
    session.sql("INSERT INTO sc.d.cached VALUES (1000, 'new', NULL)")
    assert rows(session, "SELECT count(*) FROM sc.d.cached") == [(100,)], "another snapshot is read"
    session.sql("DELETE FROM sc.d.cached WHERE id = 1000")
    session.sql("UNCACHE TABLE sc.d.cached")
    frame = session.sql("SELECT count(*) FROM sc.d.cached WHERE id < 50")
    assert "InMemory" not in frame._jdf.queryExecution().optimizedPlan().toString()


def test_spark_tables_are_filled_from_iceberg_tables(session: Any) -> None:
    session.sql("CREATE TABLE copied USING parquet AS SELECT id FROM sc.d.t WHERE id < 5")
    try:
        session.sql("INSERT INTO copied SELECT id FROM sc.d.t WHERE id >= 98")
        assert rows(session, "SELECT count(*), max(id) FROM copied") == [(7, 99)]
    finally:
        session.sql("DROP TABLE copied")


def test_spark_runs_a_script_that_reads_tables(session: Any) -> None:
    script = "BEGIN DECLARE n INT DEFAULT 5; SELECT count(*) FROM sc.d.t WHERE id < n; END"
    assert rows(session, script) == [(5,)]
    loop = "FOR r AS SELECT id FROM sc.d.t WHERE id < 3 DO SELECT r.id; END FOR"
    assert rows(session, f"BEGIN {loop}; END") == [(2,)]


def test_a_merge_takes_rows_of_a_query_that_only_spark_reads(session: Any) -> None:
    session.sql(
        """MERGE INTO sc.d.t t USING
           (SELECT -1L AS id, max(id) FROM (SELECT id FROM sc.d.t) TABLESAMPLE (100 PERCENT) q) s
           ON t.id = s.id
           WHEN MATCHED THEN DELETE"""
    )
    assert rows(session, "SELECT count(*) FROM sc.d.t") == [(99,)]


ONLY_SPARK = "SELECT max(id) FROM (SELECT id FROM sc.d.few) TABLESAMPLE (100 PERCENT) s"
"""A query that Spark's parser reads and this library's does not."""


def test_rows_are_changed_by_queries_that_only_spark_reads(session: Any) -> None:
    session.sql("CREATE TABLE sc.d.few AS SELECT id FROM range(3)")
    session.sql("CREATE TABLE sc.d.changed AS SELECT id, 'a' AS v FROM range(5)")
    session.sql(f"DELETE FROM sc.d.changed WHERE id IN ({ONLY_SPARK}) AND id > 1")
    largest = "SELECT max(id) + 1 FROM (SELECT id FROM sc.d.few) TABLESAMPLE (100 PERCENT) s"
    session.sql(f"UPDATE sc.d.changed AS c SET v = 'b' WHERE c.id = ({largest})")
    session.sql(f"UPDATE sc.d.changed SET v = (SELECT ({largest})) WHERE id = 4")
    rows_now = rows(session, "SELECT id, v FROM sc.d.changed ORDER BY id")
    assert rows_now == [(0, "a"), (1, "a"), (3, "b"), (4, "3")]
    with pytest.raises(AnalysisException) as caught:
        session.sql(f"DELETE FROM sc.d.changed WHERE nothing IN ({ONLY_SPARK})")
    assert caught.value.getCondition() == "UNRESOLVED_COLUMN.WITH_SUGGESTION"
    inner = (
        "SELECT 1 FROM (SELECT id FROM sc.d.few WHERE few.id = c.id) TABLESAMPLE (100 PERCENT) s"
    )
    with pytest.raises(InvalidInputError, match="can't be parsed"):  # it refers to the table around
        session.sql(f"DELETE FROM sc.d.changed AS c WHERE EXISTS ({inner})")


def test_a_query_that_only_spark_reads_has_one_version_in_a_statement(session: Any) -> None:
    session.sql("CREATE TABLE sc.d.pinned AS SELECT id FROM range(3)")
    condition = (
        "id < (SELECT 1 + count(*) FROM (SELECT id FROM sc.d.pinned) TABLESAMPLE (100 PERCENT) s)"
    )
    with with_subquery_views(session, [condition]) as (text,):
        counts = [session.range(9).where(text).count()]
        session.sql("INSERT INTO sc.d.pinned VALUES (7)")
        counts.append(session.range(9).where(text).count())
    assert counts == [4, 4]
    assert session.range(9).where(condition).count() == 5


def test_threads_query_at_the_same_time(session: Any) -> None:
    counts: list[int] = []

    def query(number: int) -> None:
        text = f"SELECT count(*) FROM sc.d.t WHERE id >= {number * 10} AND id < {number * 10 + 10}"
        counts.append(session.sql(text).collect()[0][0])

    threads = [threading.Thread(target=query, args=(number,)) for number in range(1, 5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert counts == [10] * 4


def test_rows_that_the_arrow_engine_would_read_are_counted_from_metadata(session: Any) -> None:
    session.sql("CREATE TABLE sc.d.orc (id bigint) TBLPROPERTIES ('write.format.default' = 'orc')")
    session.sql("INSERT INTO sc.d.orc SELECT id FROM range(7)")
    counted = session.sql("SELECT count(*) FROM sc.d.orc")
    assert counted.collect()[0][0] == 7
    assert "MapInArrow" not in counted._jdf.queryExecution().toString()
    assert rows(session, "SELECT count(*), count(DISTINCT a.id) FROM sc.d.orc a, sc.d.orc") == [
        (49, 7)
    ]
    assert rows(
        session, "SELECT count(*), sum(1), (SELECT count(1) FROM sc.d.orc) FROM sc.d.orc"
    ) == [(7, 7, 7)]
    assert rows(session, "SELECT count(*) FROM sc.d.orc WHERE id > 2") == [(4,)]
    assert rows(session, "SELECT count(*) FROM sc.d.orc WHERE rand(1) < 2") == [(7,)]
    parts = "SELECT count(DISTINCT part) FROM (SELECT spark_partition_id() AS part FROM sc.d.orc)"
    assert rows(session, parts) == [(1,)]
    session.sql("ALTER TABLE sc.d.orc SET TBLPROPERTIES ('write.delete.mode' = 'merge-on-read')")
    session.sql("DELETE FROM sc.d.orc WHERE id = 3")
    assert rows(session, "SELECT count(*) FROM sc.d.orc") == [(6,)]


def test_a_column_that_spark_has_no_type_for_is_named(session: Any, tmp_path: Path) -> None:
    table = ice.load_catalog("sc").create_table("d.times", pa.schema({"id": pa.int64()}))
    with table.update_schema() as update:
        update.add_column("at", "time")
    table.append(pa.table({"id": [1]}))
    assert rows(session, "SELECT id FROM sc.d.times") == [(1,)]
    if session.version < "4.2":
        with pytest.raises((UnsupportedError, Exception), match="at is time"):
            session.sql("SELECT at FROM sc.d.times").collect()


def test_catalogs_are_gone_with_the_session(session: Any) -> None:
    other = session.newSession()
    with settings(other, described(session)):
        ice.enable(other)
        assert rows(other, "SELECT count(*) FROM sc.d.t") == [(99,)]
        other.sql("USE sc.d")
        ice.disable(other)
    assert other.catalog.currentCatalog() == "spark_catalog"
    with pytest.raises(Exception, match=r"TABLE_OR_VIEW_NOT_FOUND|REQUIRES_SINGLE_PART"):
        other.sql("SELECT count(*) FROM sc.d.t").collect()


def test_a_statement_takes_a_query_that_only_spark_can_read(session: Any) -> None:
    values = "SELECT a FROM (VALUES (1L), (2L) AS v(a)) AS w JOIN sc.d.t ON a = id"
    session.sql(f"CREATE TABLE sc.d.taken AS {values}")
    session.sql(f"INSERT INTO sc.d.taken {values}")
    assert rows(session, "SELECT count(*), sum(a) FROM sc.d.taken") == [(4, 6)]
    with pytest.raises(AnalysisException):
        session.sql("INSERT INTO sc.d.taken SELECT a FROM FROM sc.d.t")
    session.sql("DROP TABLE sc.d.taken")


def test_a_stream_is_joined_with_a_table(session: Any, tmp_path: Path) -> None:
    stream = session.readStream.format("rate-micro-batch").option("rowsPerBatch", 20).load()
    stream.createOrReplaceTempView("ticks")
    joined = session.sql("SELECT t.id, region FROM ticks JOIN sc.d.t ON ticks.value = t.id")
    query = (
        joined.writeStream.format("memory")
        .queryName("joined_ticks")
        .option("checkpointLocation", str(tmp_path))
        .trigger(once=True)
        .start()
    )
    query.awaitTermination()
    assert rows(session, "SELECT count(*) FROM joined_ticks") == [(19,)]


def test_a_view_of_a_frame_shows_what_spark_shows(session: Any) -> None:
    """PySpark 4.1 keeps the plan, and later ones load the table again: never an error."""
    session.sql("CREATE TABLE sc.d.shown AS SELECT 1 AS id")
    session.table("sc.d.shown").createOrReplaceTempView("shown")
    session.sql("INSERT INTO sc.d.shown VALUES (2)")
    assert rows(session, "SELECT count(*) FROM shown") in ([(1,)], [(2,)])
    session.catalog.dropTempView("shown")


def test_explain_says_when_spark_alone_can_read_a_query(session: Any) -> None:
    text = "SELECT a FROM (VALUES (1L), (2L) AS v(a)) AS w JOIN sc.d.t ON a = id"
    assert ice.explain(session, text).startswith("Spark alone can parse this query")


def test_a_table_function_takes_an_iceberg_table(session: Any) -> None:
    class CountRows:
        def __init__(self) -> None:
            self._counts: dict[str, int] = {}

        def eval(self, row: Any) -> None:
            self._counts[row["region"]] = self._counts.get(row["region"], 0) + 1

        def terminate(self) -> Iterator[tuple[str, int]]:
            yield from self._counts.items()

    session.udtf.register("count_rows", udtf(CountRows, returnType="region string, n int"))
    parted = "SELECT * FROM count_rows(TABLE(sc.d.t) PARTITION BY region)"
    single = "SELECT * FROM count_rows(TABLE(SELECT * FROM sc.d.t) WITH SINGLE PARTITION)"
    expected = [("r0", 34), ("r1", 32), ("r2", 33)]
    assert sorted(rows(session, parted)) == sorted(rows(session, single)) == expected


@pytest.mark.parametrize(
    "clause", ["SELECT TRANSFORM (id, region)", "MAP id, region", "REDUCE id, region"]
)
def test_a_script_of_the_shell_transforms_the_rows_of_a_table(session: Any, clause: str) -> None:
    text = f"{clause} USING 'cat' AS (i STRING, r STRING) FROM sc.d.t WHERE id < 2"
    assert rows(session, text) == [("0", "r0"), ("1", "r1")]
