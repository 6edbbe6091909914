"""The patch of `enable` under threads, for several sessions and both kinds of them."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import iceberg_spark as ice

_NOT_FOUND = r"(?i)not.found|\bep\b"
"""What Spark says of a catalog that it doesn't know."""


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A catalog `ep` with a table `d.t` of ids 0 to 9."""
    monkeypatch.setenv("PYICEBERG_CATALOG__EP__URI", f"sqlite:///{tmp_path}/ep.db")
    monkeypatch.setenv("PYICEBERG_CATALOG__EP__WAREHOUSE", str(tmp_path / "ep"))
    ice.load_catalog("ep").create_namespace("d")
    return tmp_path


def methods(kind: type) -> dict[str, Any]:
    found = vars(kind).items()
    return {name: one for name, one in found if callable(one) or isinstance(one, property)}


def counted(frame: Any) -> int:
    return int(frame.selectExpr("count(*) AS n").collect()[0].n)


def test_threads_that_turn_it_on_and_off_get_right_answers(spark: SparkSession, home: Path) -> None:
    """Each thread has a session; whoever enables or disables leaves the others' as they are."""
    ice.sql(spark, "CREATE TABLE ep.d.t AS SELECT id FROM range(10)")
    kinds = (type(spark), type(spark.range(0)), type(spark.catalog))
    before = [methods(kind) for kind in kinds]
    sessions = [spark.newSession() for _ in range(4)]

    def work(number: int) -> list[int]:
        session, found = sessions[number], []
        for turn in range(3):
            ice.enable(session)
            found.append(counted(session.sql("SELECT * FROM ep.d.t WHERE id < 5")))
            frame = session.table("ep.d.t").where("id >= 5")
            session.sql(f"CREATE TABLE ep.d.t_{number}_{turn} AS SELECT 1 AS id")
            frame.createOrReplaceTempView("mine")
            found.append(counted(session.sql("SELECT * FROM mine WHERE id < 7")))
            ice.disable(session)
            with pytest.raises(Exception, match=_NOT_FOUND):
                session.sql("SELECT * FROM ep.d.t").collect()
        return found

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(work, range(4))) == [[5, 2] * 3] * 4
    assert len(ice.load_catalog("ep").list_tables("d")) == 13
    assert [methods(kind) for kind in kinds] == before


def test_a_session_is_enabled_by_itself(
    spark: SparkSession, connect_session: Any, home: Path
) -> None:
    """Classic beside Connect, and two classic ones: only what is enabled knows our tables."""
    ice.sql(spark, "CREATE TABLE ep.d.t AS SELECT id FROM range(10)")
    other, text = spark.newSession(), "SELECT * FROM ep.d.t"

    def over_connect(works: bool) -> None:
        with pytest.MonkeyPatch.context() as mode:  # functions make columns of Connect
            mode.setenv("SPARK_CONNECT_MODE_ENABLED", "1")
            if works:
                assert connect_session.sql(text).where("id > 7").count() == 2
            else:
                with pytest.raises(Exception, match=_NOT_FOUND):
                    connect_session.sql(text).collect()

    try:
        ice.enable(connect_session)
        over_connect(works=True)
        for session in (spark, other):
            with pytest.raises(Exception, match=_NOT_FOUND):
                session.sql(text).collect()
        ice.enable(other)
        ice.disable(connect_session)
        assert other.sql(text).where("id > 5").count() == 4
        over_connect(works=False)
    finally:
        ice.disable(other)
        ice.disable(connect_session)


def test_a_statement_is_of_the_session_whose_sql_it_was(spark: SparkSession, home: Path) -> None:
    """Its temporary views, time zone and case count: Spark's active session may be another."""
    other = spark.newSession()
    before = {key: spark.conf.get(key) for key in ("spark.sql.session.timeZone",)}
    for session, number, zone in ((spark, 1, "UTC"), (other, 2, "America/New_York")):
        ice.enable(session)
        session.sql(f"SELECT {number} AS id").createOrReplaceTempView("session_batch")
        session.conf.set("spark.sql.session.timeZone", zone)
    try:
        spark.sql("CREATE TABLE ep.d.of (id int, v int, ts timestamp)")
        spark.sql(
            "INSERT INTO ep.d.of SELECT id, 0, timestamp'2024-01-01 03:00:00+00:00' FROM range(9)"
        )
        batch = "IN (SELECT id FROM session_batch)"
        other.sql(f"DELETE FROM ep.d.of WHERE id {batch}")
        other.sql(
            f"UPDATE ep.d.of SET v = (SELECT max(id) FROM session_batch) WHERE id - 1 {batch}"
        )
        other.sql(
            "MERGE INTO ep.d.of t USING (SELECT 1) s ON t.id - 3 IN (SELECT id FROM session_batch) "
            "WHEN MATCHED THEN UPDATE SET v = 7"
        )
        wanted = [(i, {3: 2, 5: 7}.get(i, 0)) for i in range(9) if i != 2]
        assert sorted(map(tuple, spark.sql("SELECT id, v FROM ep.d.of").collect())) == wanted
        other.sql("DELETE FROM ep.d.of WHERE ts < '2024-01-01 00:00:00' AND id < 2")
        assert counted(spark.table("ep.d.of")) == len(wanted) - 2
        spark.sql("DELETE FROM ep.d.of WHERE ts < '2024-01-01 00:00:00'")
        assert counted(spark.table("ep.d.of")) == len(wanted) - 2
        with ThreadPoolExecutor(1) as pool:
            pool.submit(other.sql, f"DELETE FROM ep.d.of WHERE id - 5 {batch}").result()
        assert 7 not in [row.id for row in spark.table("ep.d.of").collect()]
        frame = other.sql("SELECT 8 AS id")
        ice.load_table("ep.d.of").merge(
            frame, "t.id = s.id AND t.ts < '2024-01-01 00:00:00'"
        ).when_matched_delete().execute()
        assert 8 not in [row.id for row in spark.table("ep.d.of").collect()]
    finally:
        for key, value in before.items():
            spark.conf.set(key, value)
        ice.disable(other)
        ice.disable(spark)
        spark.catalog.dropTempView("session_batch")


def test_what_use_chose_goes_with_disable(spark: SparkSession, home: Path) -> None:
    ice.enable(spark)
    try:
        spark.sql("USE ep.d")
        ice.disable(spark)
        ice.enable(spark)
        assert spark.sql("SHOW CURRENT NAMESPACE").collect()[0].catalog == "spark_catalog"
    finally:
        ice.disable(spark)


def test_methods_that_were_bound_before_know_the_tables(any_spark: Any, home: Path) -> None:
    """`sql = spark.sql` in the first cell of a notebook."""
    sql, table, exists = any_spark.sql, any_spark.table, any_spark.catalog.tableExists
    plain = type(any_spark).sql
    ice.enable(any_spark)
    try:
        sql("CREATE TABLE ep.d.t AS SELECT id FROM range(10)")
        assert counted(sql("SELECT * FROM ep.d.t WHERE id < :n", args={"n": 5})) == 5
        assert counted(table("ep.d.t")) == 10
        assert exists("ep.d.t")
        assert counted(plain(any_spark, "SELECT * FROM ep.d.t")) == 10
        assert sql("SELECT 1 AS one").collect()[0].one == 1
    finally:
        ice.disable(any_spark)
    assert type(any_spark).sql is plain
    assert sql("SELECT 1 AS one").collect()[0].one == 1
    with pytest.raises(Exception, match=_NOT_FOUND):
        sql("SELECT * FROM ep.d.t").collect()


def test_a_wrapper_of_another_library_calls_what_it_found_before(
    spark: SparkSession, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It keeps PySpark's function before `enable`, and replaces the method after that."""
    plain, texts = type(spark).sql, []

    def traced(self: Any, text: str, *args: Any, **named: Any) -> Any:
        texts.append(text)
        return plain(self, text, *args, **named)

    ice.sql(spark, "CREATE TABLE ep.d.t AS SELECT id FROM range(10)")
    ice.enable(spark)
    try:
        with monkeypatch.context() as patched:
            patched.setattr(type(spark), "sql", traced)
            assert counted(spark.sql("SELECT * FROM ep.d.t")) == 10
    finally:
        ice.disable(spark)
    assert texts == ["SELECT * FROM ep.d.t"]
    assert not any(name.startswith("_iceberg_spark") for name in vars(type(spark)))
