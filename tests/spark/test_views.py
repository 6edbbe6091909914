"""Views in queries, on classic sessions and over Connect, of a catalog in memory."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest
from pyspark.errors import PySparkException
from pyspark.sql.types import DataType

import iceberg_spark as ice
from iceberg_spark.catalog.catalog import Views
from iceberg_spark.catalog.registry import load_catalog
from iceberg_spark.errors import (
    IcebergError,
    InvalidInputError,
    InvalidSchemaError,
    NoSuchTableError,
    UnsupportedError,
)
from iceberg_spark.spark.sql import query
from iceberg_spark.spark.sql.view_columns import can_widen
from iceberg_spark.spec.view import (
    NewView,
    ViewMetadata,
    ViewRepresentation,
    ViewVersion,
)
from tests.unit.spark.sql.test_view_columns import KINDS

CATALOG = "viewtest"


@pytest.fixture
def views(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> Iterator[Views]:
    monkeypatch.setenv(f"PYICEBERG_CATALOG__{CATALOG.upper()}__TYPE", "memory")
    monkeypatch.setenv(f"PYICEBERG_CATALOG__{CATALOG.upper()}__WAREHOUSE", str(tmp_path))
    table = ice.load_catalog(CATALOG).create_table("db.t", "id int, s string")
    table.append(pa.table({"id": pa.array([1, 2], pa.int32()), "s": ["a", "b"]}))
    found = load_catalog(CATALOG).views
    assert found is not None
    yield found
    for name in every(found):
        found.drop(name)
    ice.load_catalog(CATALOG).drop_table("db.t", purge=True)


def every(views: Views) -> dict[str, ViewMetadata]:
    """All views there are, by name."""
    spaces = [space for space in (("db",), ("db", "t"), ("other",)) if there_is(space)]
    names = [".".join(name) for space in spaces for name in views.list_views(space)]
    return {name: views.load(name) for name in names}


def there_is(namespace: tuple[str, ...]) -> bool:
    return ice.load_catalog(CATALOG).namespace_exists(namespace)


def create(spark: Any, name: str, text: str, **more: Any) -> ice.View:
    return ice.load_catalog(CATALOG).create_view(name, text, spark=spark, **more)


def read(spark: Any, text: str) -> list[tuple[Any, ...]]:
    return sorted(tuple(row) for row in ice.sql(spark, text.replace("CAT", CATALOG)).collect())


def test_a_stored_view_runs_no_code(any_spark: Any, views: Views) -> None:
    create(any_spark, "db.v", "SELECT id FROM t")
    harmless = views.load("db.v")
    for name, text in {
        "called": "SELECT reflect('java.lang.System', 'getProperty', 'user.home') AS id",
        "substituted": "SELECT '${env:HOME}' AS id",
    }.items():
        stored = (ViewRepresentation(text, "spark"),)
        hostile = replace(harmless.current_version, representations=stored)
        views.create(f"db.{name}", NewView(harmless.schema, hostile))
        for stated in (f"SELECT * FROM CAT.db.{name}", f"SELECT 1 FROM (TABLE CAT.db.{name}) AS a"):
            with pytest.raises(UnsupportedError, match=rf"View viewtest\.db\.{name} uses"):
                read(any_spark, stated)


def test_views_of_views_are_read_by_their_own_names(any_spark: Any, views: Views) -> None:
    any_spark.range(9).createOrReplaceTempView("t")  # the view does not see it
    columns = {"number": "its number", "{name}": ""}
    create(any_spark, "db.v", "SELECT id, concat(s, '{}') FROM t; ", columns=columns)
    create(any_spark, "other.w", "WITH t AS (SELECT * FROM db.v) SELECT *, 1 AS one FROM t")
    found = ice.sql(any_spark, f"SELECT w.* FROM {CATALOG}.other.w JOIN t ON t.id = w.number")
    assert sorted(map(tuple, found.collect())) == [(1, "a{}", 1), (2, "b{}", 1)]
    assert found.columns == ["number", "{name}", "one"]
    assert found.schema[0].metadata == {"comment": "its number"}
    assert read(any_spark, "SELECT v.number FROM CAT.db.v WHERE v.`{name}` = 'b{}'") == [(2,)]
    explained = ice.explain(any_spark, f"SELECT * FROM {CATALOG}.other.w")
    assert f"in view {CATALOG}.other.w, in view {CATALOG}.db.v, {CATALOG}.db.t" in explained
    any_spark.catalog.dropTempView("t")


def test_an_enabled_session_reads_views_by_name(any_spark: Any, views: Views) -> None:
    create(any_spark, "db.v", "SELECT max(id) AS m FROM t")
    ice.enable(any_spark)
    try:
        assert [tuple(row) for row in any_spark.read.table(f"{CATALOG}.db.v").collect()] == [(2,)]
        with pytest.raises(NoSuchTableError):
            any_spark.read.option("branch", "b").table(f"{CATALOG}.db.v")
        with pytest.raises(NoSuchTableError):
            any_spark.read.table(f"{CATALOG}.db.none")
    finally:
        ice.disable(any_spark)


def test_a_views_columns_stay_what_they_were(any_spark: Any, views: Views) -> None:
    create(any_spark, "db.v", "SELECT * FROM t")
    table = ice.load_table(f"{CATALOG}.db.t")
    table.update_schema().add_column("more", "int").rename_column("s", "text").commit()
    assert ice.sql(any_spark, f"SELECT * FROM {CATALOG}.db.v").columns == ["id", "s"]
    table.refresh().update_schema().update_column("id", "bigint").commit()
    with pytest.raises(InvalidSchemaError, match=r"id of view .*is int, .*bigint now"):
        read(any_spark, "SELECT * FROM CAT.db.v")
    table.refresh().update_schema().delete_column("id").delete_column("more").commit()
    with pytest.raises(InvalidSchemaError, match="2 columns, and its text gives 1"):
        read(any_spark, "SELECT * FROM CAT.db.v")


def test_what_can_not_be_read_says_so(spark: Any, views: Views) -> None:
    made = create(spark, "db.v", "SELECT id FROM t").metadata
    version = made.current_version

    def put(name: str, text: str, **members: Any) -> None:
        one = ViewRepresentation(text, members.pop("dialect", "spark"))
        changed: ViewVersion = replace(version, representations=(one,), **members)
        views.create(name, NewView(made.schema, changed))

    put("db.a", "SELECT * FROM db.b")
    put("db.b", "SELECT * FROM a")
    put("db.flink", "SELECT id FROM t", dialect="flink")
    put("db.away", "SELECT id FROM t", default_catalog="elsewhere")
    put("db.dot", "SELECT id FROM t", default_namespace=("d.b",))
    put("db.lost", "SELECT id FROM gone")
    put("db.command", "DROP TABLE t")
    put("db.hidden", "SELECT * FROM some_function(TABLE(t))")
    refused: dict[str, tuple[type[Exception], str]] = {
        "a": (InvalidInputError, r"made of itself.*db\.a -> .*db\.b -> .*db\.a"),
        "flink": (UnsupportedError, "no text for Spark; dialects it has: flink"),
        "away": (InvalidInputError, "no catalog elsewhere is known"),
        "dot": (InvalidInputError, "'d.b' is one part of a name and has a dot"),
        "lost": (NoSuchTableError, r"db\.gone"),
        "command": (InvalidInputError, "Only queries"),
        "hidden": (InvalidInputError, "names a table by TABLE"),
        "v VERSION AS OF 1": (InvalidInputError, "is a view"),
        "none": (NoSuchTableError, r"db\.none"),
    }
    for name, (kind, said) in refused.items():
        with pytest.raises(kind, match=said):
            read(spark, f"SELECT * FROM CAT.db.{name}")


def test_views_that_double_at_each_level_have_a_bound(spark: Any, views: Views) -> None:
    made = create(spark, "db.v0", "SELECT id FROM t").metadata
    for level in range(1, 21):
        text = f"SELECT id FROM v{level - 1} UNION ALL SELECT id FROM v{level - 1}"
        stored = (ViewRepresentation(text, "spark"),)
        version = replace(made.current_version, representations=stored)
        views.create(f"db.v{level}", NewView(made.schema, version))
    assert len(read(spark, "SELECT * FROM CAT.db.v3")) == 16
    with pytest.raises(InvalidInputError, match=r"reads more than 1,000 views, .* double"):
        read(spark, "SELECT * FROM CAT.db.v20")


def test_a_view_is_planned_once_in_a_statement(
    spark: Any, views: Views, monkeypatch: pytest.MonkeyPatch
) -> None:
    create(spark, "db.v0", f"SELECT id FROM {CATALOG}.db.t")
    for level in range(1, 6):
        below = f"{CATALOG}.db.v{level - 1}"
        text = f"SELECT a.id FROM {below} a JOIN {below} b ON a.id = b.id + {level % 2}"
        create(spark, f"db.v{level}", text)
    planned: list[str] = []
    own = query.plan_query

    def counted(spark: Any, text: str, *more: Any, **named: Any) -> Any:
        planned.append(text)
        return own(spark, text, *more, **named)

    joined = f"SELECT a.id, b.id FROM {CATALOG}.db.v1 a JOIN {CATALOG}.db.v1 b ON a.id = b.id"
    assert read(spark, joined) == [(2, 2)]
    monkeypatch.setattr(query, "plan_query", counted)
    assert read(spark, f"SELECT id FROM {CATALOG}.db.v5") == []
    assert read(spark, f"SELECT id FROM {CATALOG}.db.v2") == [(2,)]
    assert len(planned) == 6 + 3


def test_a_random_view_has_other_values_in_each_place(any_spark: Any, views: Views) -> None:
    create(any_spark, "db.random", "SELECT id, rand() AS x FROM t")
    joined = "SELECT a.id FROM CAT.db.random a JOIN CAT.db.random b ON a.id = b.id AND a.x = b.x"
    assert read(any_spark, joined) == []


def test_a_view_may_name_its_tables_by_table(spark: Any, views: Views) -> None:
    create(spark, "db.v", "SELECT id FROM t WHERE (id, s) IN (TABLE t)")
    spark.sql("SELECT 1 AS id, 'x' AS s").createOrReplaceTempView("t")  # the view's own comes first
    assert read(spark, "SELECT count(*) FROM CAT.db.v") == read(
        spark, "SELECT count(*) FROM CAT.db.t"
    )
    with pytest.raises(NoSuchTableError, match="none_of_ours"):
        create(spark, "db.w", "TABLE t UNION ALL TABLE none_of_ours")
    spark.catalog.dropTempView("t")


def test_a_view_below_a_tables_name_is_found(spark: Any, views: Views) -> None:
    create(spark, "db.t.v", "SELECT 7 AS a")
    assert read(spark, "SELECT * FROM CAT.db.t.v") == [(7,)]
    assert read(spark, "SELECT count(*) FROM CAT.db.t.snapshots") == [(1,)]


@pytest.mark.parametrize(
    ("text", "more", "kind"),
    [
        ("SELECT * FROM nowhere", {}, NoSuchTableError),
        ("SELECT * FROM db.new", {}, NoSuchTableError),
        ("SELECT nothing FROM t", {}, PySparkException),
        ("SELECT id, id FROM t", {}, InvalidSchemaError),
        ("SELECT id, s AS ID FROM t", {}, InvalidSchemaError),
        ("SELECT id FROM t", {"columns": ["a", "b"]}, InvalidInputError),
        ("SELECT id FROM t", {"columns": "id"}, TypeError),
        ("SELECT 1 AS a WHERE 1 = :p", {}, PySparkException),
        ("DROP TABLE t", {}, InvalidInputError),
        ("SELECT id FROM v", {"or_replace": True}, IcebergError),
        (b"SELECT 1", {}, TypeError),
    ],
)
def test_what_is_no_view_is_not_created(
    spark: Any, views: Views, text: Any, more: dict[str, Any], kind: type[Exception]
) -> None:
    create(spark, "db.v", "SELECT id FROM t")
    before = every(views)
    with pytest.raises(kind):
        create(spark, "db.v" if more.get("or_replace") else "db.new", text, **more)
    assert every(views) == before


def test_types_widen_as_spark_says(spark: Any) -> None:
    java = spark._jvm.org.apache.spark.sql

    def javas(kind: DataType) -> Any:
        return java.types.DataType.fromJson(kind.json())

    cast = java.catalyst.expressions.Cast
    for name, given in KINDS.items():
        found = {other: can_widen(given, kind) for other, kind in KINDS.items()}
        wanted = {k: cast.canUpCast(javas(given), javas(kind)) for k, kind in KINDS.items()}
        assert found == wanted, name
