"""Views with texts for Trino: created from Spark's, and read where there is no other."""

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import pytest

import iceberg_spark as ice
from iceberg_spark.catalog.catalog import Views
from iceberg_spark.catalog.registry import load_catalog
from iceberg_spark.errors import InvalidInputError, UnsupportedError, ValidationException
from iceberg_spark.spec.view import NewView, ViewRepresentation
from tests.unit.spark.sql.test_view_dialects import COLUMNS, OTHER, PORTABLE, columns_of, names_for

CATALOG = "dialecttest"
ROWS = """
    (1, 10, 1.50, 1.0, 2.5, 'a', true, DATE '2024-06-01', TIMESTAMP_NTZ '2024-06-01 10:00:00',
     TIMESTAMP '2024-06-01 10:00:00 UTC', X'01', array('x'), 'odd'),
    (2, 5000000000, 99.99, double('NaN'), double('NaN'), 'ab', false, DATE '2024-12-31',
     TIMESTAMP_NTZ '1969-01-01 00:00:00', TIMESTAMP '1969-01-01 00:00:00 UTC', X'', array(), ''),
    (3, -7, -1.50, -0.0, 1e300, 'it\\'s', NULL, DATE '1500-01-01',
     TIMESTAMP_NTZ '2024-06-01 10:00:00.000001', NULL, NULL, NULL, 'Ä'),
    (NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL)
"""
OTHER_ROWS = "(1, 'one', DATE '2024-06-01'), (9, 'a', NULL), (NULL, NULL, NULL)"
OF_TRINO = {
    'SELECT "id", "s" FROM t': "SELECT id, s FROM t",
    "SELECT ID AS k FROM db.t WHERE s = 'it''s'": "SELECT 3",
    "SELECT id FROM t WHERE s LIKE 'a_' OR d < DATE '1600-01-01'": "SELECT id FROM t WHERE id > 1",
    "SELECT id FROM t WHERE ((price >= DECIMAL '1.50'))": "SELECT id FROM t WHERE id < 3",
    "SELECT s FROM t ORDER BY s LIMIT 3": "SELECT s FROM t WHERE s IS NOT NULL",
    "SELECT s FROM t ORDER BY s DESC NULLS FIRST LIMIT 1": "SELECT s FROM t WHERE id IS NULL",
    'SELECT count(*) AS "Count", sum(id) AS total FROM t': "SELECT 4L, 6L",
    "SELECT if(ok, 'yes', 'no') AS answer FROM t": "SELECT if(ok, 'yes', 'no') FROM t",
    "SELECT substr(s, 2) AS rest FROM t WHERE starts_with(s, 'a')": "VALUES (''), ('b')",
    "SELECT id FROM t WHERE s IS NOT DISTINCT FROM NULL": "SELECT id FROM t WHERE s IS NULL",
    "WITH q (k) AS (SELECT id FROM t) SELECT * FROM q WHERE k >= 2": "VALUES (2), (3)",
    "SELECT a.id, b.name FROM (t a LEFT JOIN u b ON (a.id = b.id))": (
        "SELECT t.id, u.name FROM t LEFT JOIN u ON t.id = u.id"
    ),
}
"""Texts for Trino, with texts for Spark that return the same rows."""


@pytest.fixture(scope="module")
def views(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Views]:
    prefix = f"PYICEBERG_CATALOG__{CATALOG.upper()}__"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(f"{prefix}TYPE", "memory")
        patch.setenv(f"{prefix}WAREHOUSE", str(tmp_path_factory.mktemp("views")))
        catalog = ice.load_catalog(CATALOG)
        for name, columns, rows in (
            ("t", COLUMNS, ROWS),
            ("u", OTHER, OTHER_ROWS),
        ):
            catalog.create_table(f"db.{name}", columns_of((name,)))
            values = spark.sql(f"SELECT * FROM VALUES {rows}").toDF(*columns)
            kinds = catalog.load_table(f"db.{name}").scan().to_df().schema
            cast = [values[field.name].cast(field.dataType) for field in kinds]
            catalog.load_table(f"db.{name}").append(values.select(*cast).toDF(*columns))
        found = load_catalog(CATALOG).views
        assert found is not None
        yield found


def rows_of(spark: Any, text: str) -> list[str]:
    return sorted(repr(tuple(row)) for row in ice.sql(spark, text).collect())


def create(spark: Any, text: str, **more: Any) -> ice.View:
    return ice.load_catalog(CATALOG).create_view("db.v", text, spark=spark, or_replace=True, **more)


def put_trinos(views: Views, view: ice.View, text: str, **members: Any) -> str:
    """Create a view that has a text for Trino alone; return its name."""
    texts = (ViewRepresentation(text, "Trino"),)
    version = replace(view.current_version(), representations=texts, **members)
    if views.exists("db.of_trino"):
        views.drop("db.of_trino")
    views.create("db.of_trino", NewView(view.schema(), version))
    return f"{CATALOG}.db.of_trino"


ANY_DIALECT = {"replace.drop-dialect-allowed": "true"}
WITH_TRINO = {"view.trino-catalog": CATALOG, **ANY_DIALECT}


@pytest.mark.parametrize("text", PORTABLE)
def test_a_view_returns_the_same_rows_from_trinos_text(spark: Any, views: Views, text: str) -> None:
    view = create(spark, text, properties=WITH_TRINO, columns=names_for(text))
    trino = view.sql_for("trino")
    assert trino is not None
    name = put_trinos(views, view, trino)
    with pytest.warns(UserWarning, match="no text for Spark: its text for Trino is read"):
        there = rows_of(spark, f"SELECT * FROM {name}")
    assert there == rows_of(spark, f"SELECT * FROM {CATALOG}.db.v")


@pytest.mark.parametrize("text", OF_TRINO)
def test_trinos_text_is_read(spark: Any, views: Views, text: str) -> None:
    view = create(spark, OF_TRINO[text], properties=ANY_DIALECT)
    with pytest.warns(UserWarning, match="no text for Spark"):
        there = rows_of(spark, f"SELECT * FROM {put_trinos(views, view, text)}")
    assert there == rows_of(spark, f"SELECT * FROM {CATALOG}.db.v")


def test_a_statement_creates_a_text_for_trino(spark: Any, views: Views) -> None:
    name = f"{CATALOG}.db.stated"
    for text in (f"SELECT id FROM {CATALOG}.db.t WHERE d > DATE '2024-01-01'", "SELECT id FROM t"):
        ice.sql(
            spark,
            f"CREATE OR REPLACE VIEW {name} (k COMMENT 'its id')"
            f" TBLPROPERTIES ('view.trino-catalog' = 'lake') AS {text}",
        )
        view = views.load("db.stated").current_version
        assert view.dialects == ("spark", "trino")
        trino = view.sql_for("trino")
        assert trino is not None
        assert trino.startswith('SELECT * FROM (SELECT "id" FROM "lake"."db"."t" AS "t"')
        assert trino.endswith(') AS "q"("k")')
        assert len(rows_of(spark, f"SELECT * FROM {name}")) >= 2  # without a warning


def test_the_text_that_there_is_is_shown(spark: Any, views: Views) -> None:
    view = create(spark, "SELECT id FROM t", properties=ANY_DIALECT)
    name = put_trinos(views, view, 'SELECT "id" FROM t')
    (shown,) = ice.sql(spark, f"SHOW CREATE TABLE {name}").collect()
    assert shown[0].endswith('AS\nSELECT "id" FROM t\n')


def test_a_view_has_no_text_for_trino_without_the_property(spark: Any, views: Views) -> None:
    name = f"{CATALOG}.db.plain"
    ice.sql(spark, f"CREATE VIEW {name} AS SELECT id FROM t")
    assert views.load("db.plain").current_version.dialects == ("spark",)


def test_a_text_that_is_not_exact_is_not_stored(spark: Any, views: Views) -> None:
    properties = {"view.trino-catalog": "lake"}
    catalog = ice.load_catalog(CATALOG)
    for number, (text, reason) in enumerate(
        {
            "SELECT id / 2 AS half FROM t": "the division /",
            "SELECT id AS a FROM t WHERE d > '2024-01-01'": "compares date with string",
        }.items()
    ):
        with pytest.warns(UserWarning, match=f"gets no text for Trino: .*{reason}"):
            view = catalog.create_view(f"db.r{number}", text, spark=spark, properties=properties)
        assert view.current_version().dialects == ("spark",)
    make = partial(catalog.create_view, "db.kept", spark=spark, properties=properties)
    make("SELECT id FROM t")
    with (
        pytest.warns(UserWarning, match="no text for Trino"),
        pytest.raises(ValidationException, match="a text for trino, which would be lost"),
    ):
        catalog.create_view(
            "db.kept",
            "SELECT id / 2 AS a FROM t",
            spark=spark,
            properties=properties,
            or_replace=True,
        )


@pytest.mark.filterwarnings("ignore:View .* has no text for Spark")
def test_trinos_text_that_is_not_exact_is_refused(spark: Any, views: Views) -> None:
    view = create(spark, "SELECT id FROM t", properties=ANY_DIALECT)
    for text, reason in {
        "SELECT id / 2 FROM t": "the division /",
        "SELECT upper(s) FROM t": "the function upper",
        "SELECT id FROM lake.db.t": "no catalog lake is known here",
        f"SELECT id FROM {CATALOG}.t": "a catalog here, and a schema in Trino",
        "SELECT id FROM T": "in lower case",
        'SELECT id FROM "t.files"': "has a dot",
        "SELECT id FROM t WHERE s = '${env:HOME}'": r"uses \$\{",
    }.items():
        name = put_trinos(views, view, text)
        with pytest.raises(UnsupportedError, match=f"View {name} .*{reason}"):
            rows_of(spark, f"SELECT * FROM {name}")
    name = put_trinos(views, view, "SELECT id FROM t", default_catalog="lake")
    with pytest.raises(InvalidInputError, match="no catalog lake is known"):
        rows_of(spark, f"SELECT * FROM {name}")


@pytest.mark.filterwarnings("ignore:View .* has no text for Spark")
def test_views_for_trino_read_each_other(spark: Any, views: Views) -> None:
    view = create(spark, "SELECT id FROM t", properties=ANY_DIALECT)
    put_trinos(views, view, "SELECT id FROM t WHERE id > 1")
    catalog = ice.load_catalog(CATALOG)
    above = catalog.create_view(
        "db.above", "SELECT count(*) AS c FROM of_trino", spark=spark, properties=WITH_TRINO
    )
    assert rows_of(spark, f"SELECT * FROM {CATALOG}.db.above") == ["(2,)"]
    assert f'FROM "{CATALOG}"."db"."of_trino" AS "of_trino"' in str(above.sql_for("trino"))
