"""Relations are read without rows that joins drop, by keys of others; never without more."""

import random
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession

import iceberg_spark as ice
from iceberg_spark.spark.reading import filter_by_keys, prune_files
from tests.spark.keyed_tables import (
    ALL,
    BY_SPARK,
    broadcasting,
    filters,
    in_order,
    limit,
    named,
    without,
)


@pytest.fixture
def shuffled(enabled: SparkSession) -> Iterator[SparkSession]:
    with broadcasting(enabled, "-1"):
        yield enabled


QUERIES = {
    # of a nation, its customers, their orders, and the lines of these
    "select * from lines l join orders r on l.o = r.o join customers s on r.c = s.c"
    " join nations t on s.n = t.n where name = 'n2'": 3,
    "select sum(amount) from lines l, orders r where l.o = r.o and day = date '1970-01-05'": 1,
    "select * from lines l left semi join orders r on l.o = r.o and r.day < date '1970-01-03'": 1,
    # a side whose rows stay without a match is whole
    "select * from lines l left join orders r on l.o = r.o and day = date '1970-01-05'": 0,
    "select * from lines l full join orders r on l.o = r.o and day = date '1970-01-05'": 0,
    "select * from orders r left join lines l on l.o = r.o where day = date '1970-01-05'": 1,
    "select * from orders r left anti join lines l on l.o = r.o where day = date '1970-01-05'": 1,
    # groups
    "select * from (select o, count(*) k from lines group by o) l join orders r on l.o = r.o"
    " where day = date '1970-01-05'": 1,
    "select * from (select count(*) k, max(o) o from lines) l join orders r on l.o = r.o"
    " where day = date '1970-01-05'": 0,
    "select * from (select *, row_number() over (order by amount) k from lines) l"
    " join orders r on l.o = r.o where day = date '1970-01-05'": 0,
    "select * from (select * from lines order by amount limit 40) l join orders r on l.o = r.o"
    " where day = date '1970-01-05'": 0,
    # subqueries that the optimizer makes joins of
    "select * from orders r where day < date '1970-01-05' and exists"
    " (select 1 from lines l where l.o = r.o and amount % 3 = 1)": 1,
    "select * from orders r where day < date '1970-01-05' and not exists"
    " (select 1 from lines l where l.o = r.o and amount % 3 = 1)": 1,
    "select * from orders r where day < date '1970-01-05' and 900 <"
    " (select sum(amount) from lines l where l.o = r.o)": 1,
    "select * from orders r where day < date '1970-01-05' and o not in"
    " (select o from lines where o is not null)": 0,
    # one table in several places
    "select count(*) from lines a join lines b on a.o = b.o join orders r on b.o = r.o"
    " where day = date '1970-01-05'": 2,
    "with x as (select * from lines) select count(*) from x a join orders r on a.o = r.o"
    " where day = date '1970-01-05' and exists"
    " (select 1 from x b where b.amount = a.amount + 1)": 1,
    "with x as (select * from lines) select x.o, (select max(amount) from x) from x"
    " join orders r on x.o = r.o where day = date '1970-01-05'": 1,
    # texts, and what is no equality of columns
    "select * from lines l join orders r on l.code = r.code where r.day = date '1970-01-05'": 1,
    "select * from lines l join orders r on l.o = r.o where r.code like '%3'": 1,
    "select * from lines l join orders r on l.o = r.o where r.code like '%\u00e4%'": 1,
    "select * from lines l join orders r on l.o = r.o where contains(r.code, '%')": 0,
    "select * from lines l join orders r on l.o = r.o where not r.code like '%3'": 0,
    "select * from lines l join orders r on l.o = r.o where upper(r.code) like '%3'": 0,
    "select * from lines l join orders r on l.o = r.o + 1 where day = date '1970-01-05'": 0,
    "select * from lines l join orders r on l.o <=> r.o where day = date '1970-01-05'": 0,
    "select * from lines l join orders r on l.o = r.o or l.code = r.code"
    " where day = date '1970-01-05'": 0,
    # union and set operations
    "select o from lines union all select l.o from lines l join orders r on l.o = r.o"
    " where day = date '1970-01-05'": 1,
    "select l.o from lines l join orders r on l.o = r.o where day = date '1970-01-05'"
    " intersect select o from orders": 1,
    # no row at all
    "select * from lines l join orders r on l.o = r.o where day = date '1999-01-05'": 0,
}  # fmt: skip


@pytest.mark.parametrize("text", QUERIES)
@pytest.mark.parametrize("by_spark", [False, True])
def test_rows_are_those_without_filters(
    shuffled: SparkSession, monkeypatch: pytest.MonkeyPatch, text: str, by_spark: bool
) -> None:
    limit(monkeypatch, BY_SPARK if by_spark else ALL)
    expected = without(shuffled, named(text), monkeypatch)
    frame = shuffled.sql(named(text))
    if not by_spark:
        assert filters(frame) >= QUERIES[text]
        assert bool(filters(frame)) == bool(QUERIES[text])
    assert in_order(frame) == expected


def test_views_of_frames_are_read_so_too(
    shuffled: SparkSession, keyed_warehouse: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("lines", "orders"):
        frame = shuffled.read.format("pyiceberg-lite").load(str(keyed_warehouse / "db" / name))
        frame.createOrReplaceTempView(f"view_of_{name}")
    text = (
        "select * from view_of_lines l join view_of_orders r on l.o = r.o"
        " where day = date '1970-01-05'"
    )
    frame = shuffled.sql(text)
    assert filters(frame) == 1 and in_order(frame) == without(shuffled, text, monkeypatch)


def test_no_keys_are_read_where_conditions_leave_few_rows_of_a_frame(
    shuffled: SparkSession,
    keyed_warehouse: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    limit(monkeypatch, replace(ALL, least_rows=350))  # orders are 300
    lines = ice.create_table(str(tmp_path / "sold"), "o bigint, year bigint")
    for year in range(4):
        lines.refresh().append(pa.table({"o": range(100), "year": [year] * 100}))
    for place, name in (
        (tmp_path / "sold", "sold"),
        (keyed_warehouse / "db" / "orders", "ordered"),
    ):
        shuffled.read.format("pyiceberg-lite").load(str(place)).createOrReplaceTempView(name)
    text = "select * from sold l join ordered r on l.o = r.o where day = date '1970-01-05'"
    assert filters(shuffled.sql(text)) == 1
    few = f"{text} and year = 2"
    assert filters(shuffled.sql(few)) == 0
    assert in_order(shuffled.sql(few)) == without(shuffled, few, monkeypatch)


def test_keys_that_spark_reads_itself_leave_out_rows(
    shuffled: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    limit(monkeypatch, replace(BY_SPARK, rows=60))
    text = named(
        "select count(*) from lines l join orders r on l.o = r.o join customers s on r.c = s.c"
        " where s.n = 3"
    )
    frame = shuffled.sql(text)
    assert "bloom_filter_agg" in frame._jdf.queryExecution().toString()
    assert in_order(frame) == without(shuffled, text, monkeypatch)


def test_a_plan_says_what_its_keys_are(shuffled: SparkSession) -> None:
    text = "select * from lines l join orders r on l.o = r.o where day = date '1970-01-05'"
    said = shuffled.sql(named(text))._jdf.queryExecution().toString()
    assert "8 values of orders.o" in said


@pytest.mark.parametrize("mode", ["", "EXTENDED", "FORMATTED", "COST"])
def test_explain_as_a_statement_says_so_too(shuffled: SparkSession, mode: str) -> None:
    text = "select * from lines l join orders r on l.o = r.o where day = date '1970-01-05'"
    ((said,),) = shuffled.sql(f"EXPLAIN {mode} {named(text)}").collect()
    assert "might_contain" in said and "8 values of orders.o" in said
    with_text = named(text).replace("1970-01-05", "1970-01-0%s")
    for day in (6, 7):
        assert "might_contain" in shuffled.sql(f"EXPLAIN {with_text % day}").collect()[0][0]


def test_explain_of_what_is_wrong_says_what(enabled: SparkSession) -> None:
    lines = enabled.sql(f"EXPLAIN {named('select nope from lines l')}").collect()
    said = "\n".join(line for (line,) in lines)
    assert "nope" in said and "UNRESOLVED_COLUMN" in said


def test_rows_that_meet_a_broadcast_at_once_need_no_filter(enabled: SparkSession) -> None:
    text = "select * from lines l join orders r on l.o = r.o where day = date '1970-01-05'"
    assert filters(enabled.sql(named(text))) == 0


@pytest.fixture
def sides(tmp_path: Path) -> dict[str, str]:
    """Many short rows, fewer of them wide, of some days; a text is as large as 25 numbers."""
    texts = random.Random(7)
    wide = {
        "k": range(1000),
        "d": [at % 10 for at in range(1000)],
        "t": [texts.randbytes(100).hex() for _ in range(1000)],
    }
    made = {
        "short": ("k bigint", {"k": [at % 1500 for at in range(3000)]}),
        "wide": ("k bigint, d bigint, t string", wide),
        "days": ("d bigint, name string", {"d": range(10), "name": list("abbbbbbbbb")}),
    }
    for name, (columns, values) in made.items():
        ice.create_table(str(tmp_path / name), columns).append(pa.table(values))
    return {name: str(tmp_path / name) for name in made}


@pytest.mark.parametrize(("broadcast", "wanted"), [("100k", 0), ("-1", 3)])
def test_spark_reads_no_keys_for_rows_that_it_broadcasts(
    enabled: SparkSession,
    sides: dict[str, str],
    monkeypatch: pytest.MonkeyPatch,
    broadcast: str,
    wanted: int,
) -> None:
    """To read wide rows twice costs more than it saves where short ones are broadcast anyway."""
    limit(monkeypatch, BY_SPARK)
    monkeypatch.setattr(filter_by_keys, "KEYS", replace(BY_SPARK, share=0.5))
    text = (
        "select w.*, n.k as own from `{short}` n join `{wide}` w on n.k = w.k"
        " join `{days}` s on w.d = s.d where s.name = 'a'"
    ).format(**sides)
    with broadcasting(enabled, broadcast):
        frame = enabled.sql(text)
        assert filters(frame) == wanted
        assert in_order(frame) == without(enabled, text, monkeypatch)


@pytest.mark.parametrize(("columns", "wanted"), [("w.d", 0), ("w.d, w.t", 1)])
def test_sides_of_frames_are_as_large_as_what_is_asked_of_them(
    enabled: SparkSession,
    sides: dict[str, str],
    monkeypatch: pytest.MonkeyPatch,
    columns: str,
    wanted: int,
) -> None:
    for name, place in sides.items():
        frame = enabled.read.format("pyiceberg-lite").load(place)
        frame.createOrReplaceTempView(f"{name}_side")
    text = f"select n.k, {columns} from short_side n join wide_side w on n.k = w.k where w.d = 3"
    with broadcasting(enabled, "40k"):
        frame = enabled.sql(text)
        assert filters(frame) == wanted
        assert in_order(frame) == without(enabled, text, monkeypatch)


def test_a_table_that_a_query_joins_twice_is_broadcast_once(
    enabled: SparkSession, keyed_warehouse: Path
) -> None:
    for name in ("orders", "customers"):
        frame = enabled.read.format("pyiceberg-lite").load(str(keyed_warehouse / "db" / name))
        frame.createOrReplaceTempView(f"sized_{name}")
    frame = enabled.sql(
        "select r.o, a.c from sized_orders r join sized_customers a on r.c = a.c"
        " join sized_customers b on r.o = b.c where r.code > ''"
    )
    assert len(frame.collect()) > 9
    assert "ReusedExchange" in frame._jdf.queryExecution().executedPlan().toString()


def test_a_changed_table_is_planned_again(
    shuffled: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    large = ice.create_table(str(tmp_path / "large"), "k bigint, v int")
    large.append(pa.table({"k": range(500), "v": pa.array(range(500), pa.int32())}))
    small = ice.create_table(str(tmp_path / "small"), "k bigint, name string")
    small.append(pa.table({"k": [1, 2, 3, 4, 5], "name": ["a", "b", "a", "b", "a"]}))
    text = (
        f"select l.k from `{tmp_path}/large` l join `{tmp_path}/small` s on l.k = s.k"
        " where s.name = 'a'"
    )
    assert len(shuffled.sql(text).collect()) == 3
    before = shuffled.sql(text)
    small.append(pa.table({"k": [400], "name": ["a"]}))
    large.append(pa.table({"k": [400, 3], "v": pa.array([1, 1], pa.int32())}))
    assert len(shuffled.sql(text).collect()) == 6
    small.refresh().delete("k = 3")
    assert len(shuffled.sql(text).collect()) == 4
    assert len(before.collect()) == 3


def test_deletes_of_another_version_tell_no_keys(
    shuffled: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A relation of the same files with as many deletes stands for another version's rows."""
    large = ice.create_table(str(tmp_path / "large"), "k bigint, v int")
    large.append(pa.table({"k": range(500), "v": pa.array(range(500), pa.int32())}))
    by_reading = {"write.delete.mode": "merge-on-read"}
    small = ice.create_table(
        str(tmp_path / "small"), "k bigint, name string", properties=by_reading
    )
    small.append(pa.table({"k": range(20), "name": ["x", "y"] * 10}))
    small.delete("k = 19")
    before = small.refresh().current_snapshot()
    small.delete("k = 4")
    assert before is not None
    versions = {"before": f" VERSION AS OF {before.snapshot_id}", "now": ""}
    joined = f"select * from `{tmp_path}/large` l join %s s on l.k = s.k where name = 'x'"
    text = joined % f"`{tmp_path}/small`%s"
    for name, version in versions.items():
        shuffled.sql(f"select * from `{tmp_path}/small`{version} s").createOrReplaceTempView(name)
    counts = [len(shuffled.sql(text % version).collect()) for version in versions.values()]
    assert counts == [10, 9]
    assert [len(shuffled.sql(joined % name).collect()) for name in versions] == [10, 9]


def test_rows_that_spark_keeps_are_used(enabled: SparkSession) -> None:
    kept = enabled.sql(named("select * from lines l")).cache()
    kept.createOrReplaceTempView("kept_lines")
    try:
        text = named(
            "select * from orders r join kept_lines l on l.o = r.o where day < '1970-01-03'"
        )
        frame = enabled.sql(text)
        assert "InMemoryTableScan" in frame._jdf.queryExecution().executedPlan().toString()
    finally:
        kept.unpersist()
        enabled.catalog.dropTempView("kept_lines")


def test_the_current_date_is_that_of_the_plan(shuffled: SparkSession) -> None:
    text = "select * from lines l join orders r on l.o = r.o where day > current_date()"
    assert shuffled.sql(named(text)).collect() == []


def test_the_columns_stay_the_same(shuffled: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    text = named("select l.*, r.day from lines l join orders r on l.o = r.o where code > ''")
    text = text.replace("where code", "where r.code")
    frame = shuffled.sql(text)
    with monkeypatch.context() as patched:
        patched.setattr(prune_files, "filter_by_keys", lambda *_: None)
        other = shuffled.sql(text)
        assert other.count() == frame.count()
    assert frame.schema == other.schema
    assert frame.where(frame["amount"] < 10).count() == other.where("amount < 10").count()
    assert frame.join(frame.select("o").distinct(), "o").count() > 0


@pytest.mark.parametrize("sign", ["x", "#"])
def test_equal_plans_with_reordered_parts_are_planned_again(
    shuffled: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sign: str
) -> None:
    """Java takes `a AND b` for `b AND a`, and subqueries in them have other places then.

    Nor are texts taken for ids of columns, which Spark writes as `k#1`.
    """
    small = ice.create_table(str(tmp_path / "small"), "k bigint, code string")
    small.append(pa.table({"k": range(10), "code": [f"{sign}{k % 2}" for k in range(10)]}))
    large = ice.create_table(str(tmp_path / "large"), "g bigint, k bigint, code string")
    places = range(40)
    columns = {"g": [i // 4 for i in places], "k": [i % 10 for i in places], "code": ["2"] * 40}
    large.append(pa.table(columns))
    parts = [
        f"exists (select 1 from `{tmp_path}/large` b join `{tmp_path}/small` s on b.k = s.k"
        f" where b.g = a.g and s.code = '{sign}{number}'"
        f" and b.code <> '{sign}{number}')"
        for number in (0, 1)
    ]
    for first, second in (parts, parts[::-1]):
        text = f"select * from `{tmp_path}/large` a where {first} and {second}"
        assert len(in_order(shuffled.sql(text))) == 40
        assert in_order(shuffled.sql(text)) == without(shuffled, text, monkeypatch)


def test_a_filter_of_another_frame_over_the_same_files_tells_no_keys(
    shuffled: SparkSession, keyed_warehouse: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("lines", "orders"):
        frame = shuffled.read.format("pyiceberg-lite").load(str(keyed_warehouse / "db" / name))
        frame.createOrReplaceTempView(f"view_of_{name}")
    shuffled.sql(named("select * from orders where code = '\u00e43'")).collect()
    text = (
        "select r.o, code from view_of_orders r left join (select o from view_of_lines) l"
        " on r.o = l.o"
    )
    assert in_order(shuffled.sql(text)) == without(shuffled, text, monkeypatch)


def test_rows_below_random_values_are_all_read(
    shuffled: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a row's random value is depends on the rows before it."""
    text = named(
        "select l.amount, x from (select *, rand(3) x from lines where rand(4) < 0.5) l"
        " join orders r on l.o = r.o where day = date '1970-01-05'"
    )
    assert filters(shuffled.sql(text)) == 0
    assert in_order(shuffled.sql(text)) == without(shuffled, text, monkeypatch)


def taken_for(frame: DataFrame, column: str) -> int:
    """Return how many bytes Spark takes a relation's asked columns for, one of which this is."""
    plan = frame._jdf.queryExecution().optimizedPlan()
    while column not in str(plan.output().mkString(" ")) or "Join" in plan.nodeName():
        children = [plan.children().apply(at) for at in range(plan.children().length())]
        plan = next(one for one in children if column in str(one.output().mkString(" ")))
    return int(str(plan.stats().sizeInBytes()))


def test_a_relation_says_what_is_asked_of_it_not_what_all_columns_take(
    shuffled: SparkSession, tmp_path: Path
) -> None:
    wide = ice.create_table(str(tmp_path / "db" / "wide"), "w bigint, n int, a string, b string")
    texts = [f"{number:0200}" for number in range(3000)]
    numbers = pa.array(range(3000), pa.int32())
    wide.append(pa.table({"w": range(3000), "n": numbers, "a": texts, "b": texts}))
    frame = shuffled.read.format("pyiceberg-lite").load(str(tmp_path / "db" / "wide"))
    frame.createOrReplaceTempView("wide_view")
    text = "select w, o from {} x join keyed.db.orders r on x.w = r.o where x.n < 5000"
    by_name = shuffled.sql(text.format(f"`{tmp_path}/db/wide`"))
    by_view = shuffled.sql(text.format("wide_view"))
    said = [taken_for(one, "w#") for one in (by_name, by_view)]
    assert said[0] == pytest.approx(said[1], rel=0.01)
    assert said[0] < 3000 * 30
    assert in_order(by_name) == in_order(by_view)
