"""The examples of the documentation, all of them, as they stand; SQL by an enabled session."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import iceberg_spark as ice
from tests.documentation import PAGES, blocks, is_sql, needs_spark, run

WITH_SPARK = [page for page in PAGES if any(needs_spark(block) for block in blocks(page))]
OF_EVENTS = ("docs/reading.md", "docs/metadata-tables.md", "docs/schedule-maintenance.md")
"""Pages whose SQL is about a table that another page makes."""


@pytest.fixture
def readers_session(spark: Any) -> Iterator[Any]:
    """Yield the session, and undo what pages ask of it."""
    yield spark
    ice.disable(spark)


@pytest.fixture
def sql_spark(spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """An enabled session with `local`, and with `prod` that has the namespace `db`."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("PYICEBERG_CATALOG__PROD__URI", f"sqlite:///{tmp_path}/prod.db")
    monkeypatch.setenv("PYICEBERG_CATALOG__PROD__WAREHOUSE", str(tmp_path / "lake"))
    ice.load_catalog("prod").create_namespace("db")
    session = spark.newSession()
    ice.enable(session)
    yield session
    ice.disable(session)


def make_events_at(sql_spark: Any, location: str) -> None:
    sql_spark.sql(
        f"CREATE TABLE `{location}` (id bigint, ts timestamp) PARTITIONED BY (months(ts))"
    )
    moment = "timestamp'2024-01-01' + make_interval(0, 0, 0, id)"
    sql_spark.sql(f"INSERT INTO `{location}` SELECT id, {moment} FROM range(1000)")


def make_events(sql_spark: Any) -> None:
    moment = "timestamp'2024-01-01' + make_interval(0, 0, 0, id) AS ts"
    sql_spark.sql(f"CREATE TABLE prod.db.events AS SELECT id, {moment} FROM range(1000)")
    sql_spark.sql("ALTER TABLE prod.db.events CREATE TAG eoy")


@pytest.mark.parametrize("page", WITH_SPARK)
def test_examples_run(page: str, readers_session: Any, sql_spark: Any, tmp_path: Path) -> None:
    make_events_at(sql_spark, f"{tmp_path}/events")
    if page in OF_EVENTS:
        make_events(sql_spark)
    rows = readers_session.sql("SELECT 2L AS id, timestamp'2024-06-02' AS ts")
    given = {"spark": readers_session, "sql_spark": sql_spark, "df": rows, "frame": rows}
    run(page, blocks(page), tmp_path, **given)


def test_statements_of_catalogs_run(sql_spark: Any, tmp_path: Path) -> None:
    """Those of the page about catalogs, whose Python asks for servers."""
    make_events(sql_spark)
    chosen = [block for block in blocks("docs/catalogs.md") if is_sql(block)]
    assert chosen
    run("docs/catalogs.md", chosen, tmp_path, sql_spark=sql_spark)
