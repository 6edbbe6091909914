"""What an enabled session raises is this library's error and PySpark's, with Spark's condition."""

import pickle
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import (
    AnalysisException,
    ParseException,
    PySparkException,
    SparkRuntimeException,
)
from pyspark.sql import SparkSession

import iceberg_spark as ice
from iceberg_spark import errors
from iceberg_spark.pyspark_hooks.spark_errors import spark_error
from tests.spark.settings import settings


@pytest.fixture(scope="module")
def enabled(
    spark: SparkSession, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[SparkSession]:
    """A session with a catalog `e` and a table `e.d.t`."""
    catalog = "spark.sql.catalog.e"
    place = str(tmp_path_factory.mktemp("errors"))
    uri = f"sqlite:///{place}/catalog.db"
    with settings(
        spark, {f"{catalog}.type": "sql", f"{catalog}.uri": uri, f"{catalog}.warehouse": place}
    ):
        ice.enable(spark)
        spark.sql("CREATE NAMESPACE e.d")
        spark.sql("CREATE TABLE e.d.t (id bigint, region string)")
        yield spark
        ice.disable(spark)


CASES: dict[str, tuple[Callable[[SparkSession], Any], type, str]] = {
    "a missing table in a query": (
        lambda s: s.sql("SELECT * FROM e.d.nothing"),
        errors.NoSuchTableError,
        "TABLE_OR_VIEW_NOT_FOUND",
    ),
    "a missing table by name": (
        lambda s: s.table("e.d.nothing"),
        errors.NoSuchTableError,
        "TABLE_OR_VIEW_NOT_FOUND",
    ),
    "a missing table by a reader": (
        lambda s: s.read.table("e.d.nothing"),
        errors.NoSuchTableError,
        "TABLE_OR_VIEW_NOT_FOUND",
    ),
    "a missing table of a writer": (
        lambda s: s.range(1).writeTo("e.d.nothing").append(),
        errors.NoSuchTableError,
        "TABLE_OR_VIEW_NOT_FOUND",
    ),
    "DROP of a missing table": (
        lambda s: s.sql("DROP TABLE e.d.nothing"),
        errors.NoSuchTableError,
        "TABLE_OR_VIEW_NOT_FOUND",
    ),
    "a table that exists": (
        lambda s: s.sql("CREATE TABLE e.d.t (id bigint)"),
        errors.TableAlreadyExistsError,
        "TABLE_OR_VIEW_ALREADY_EXISTS",
    ),
    "a namespace that exists": (
        lambda s: s.sql("CREATE NAMESPACE e.d"),
        errors.NamespaceAlreadyExistsError,
        "SCHEMA_ALREADY_EXISTS",
    ),
    "a missing namespace": (
        lambda s: s.sql("DESCRIBE NAMESPACE e.nothing"),
        errors.NoSuchNamespaceError,
        "SCHEMA_NOT_FOUND",
    ),
    "a namespace with a table": (
        lambda s: s.sql("DROP NAMESPACE e.d"),
        errors.NamespaceNotEmptyError,
        "SCHEMA_NOT_EMPTY",
    ),
    "a change of a metadata table": (
        lambda s: s.sql("INSERT INTO e.d.t.snapshots SELECT * FROM e.d.t.snapshots"),
        errors.UnsupportedError,
        "UNSUPPORTED_FEATURE.TABLE_OPERATION",
    ),
    "a partition described": (
        lambda s: s.sql("DESCRIBE e.d.t PARTITION (id = 1)"),
        errors.UnsupportedError,
        "NOT_SUPPORTED_COMMAND_FOR_V2_TABLE",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_an_error_is_both(enabled: SparkSession, case: str) -> None:
    run, ours, condition = CASES[case]
    with pytest.raises(AnalysisException) as caught:
        run(enabled)
    error = caught.value
    assert isinstance(error, ours)
    assert isinstance(error, errors.IcebergError)
    assert error.getCondition() == condition
    assert error.getSqlState()
    assert str(error).startswith(f"[{condition}] ")


@pytest.mark.parametrize(
    "text", ["SELEC 1 FROM e.d.t", "SELECT * FROM e.d.t WHERE id = = 3", "OPTIMIZE e.d.t"]
)
def test_a_syntax_error_is_sparks_own(enabled: SparkSession, text: str) -> None:
    with pytest.raises(ParseException) as caught:
        enabled.sql(text)
    assert caught.value.getCondition() == "PARSE_SYNTAX_ERROR"
    assert "^^^" in str(caught.value)


def test_a_statement_that_spark_parses_is_named_whole(enabled: SparkSession) -> None:
    text = "ANALYZE TABLE e.d.t COMPUTE STATISTICS"
    with pytest.raises(errors.UnsupportedError, match=text) as caught:
        enabled.sql(text)
    assert isinstance(caught.value, AnalysisException)


def test_functions_of_the_library_raise_its_own_errors(enabled: SparkSession) -> None:
    with pytest.raises(errors.InvalidInputError, match="OPTIMIZE") as unread:
        ice.sql(enabled, "OPTIMIZE e.d.t")
    assert not isinstance(unread.value, AnalysisException)
    with pytest.raises(errors.NoSuchTableError) as caught:
        ice.sql(enabled, "SELECT * FROM e.d.nothing")
    assert not isinstance(caught.value, AnalysisException)


@pytest.mark.parametrize(
    "text",
    [
        "SELECT * FROM e.d.nothing",
        "SELECT nothing FROM e.d.t",
        "SELEC * FROM e.d.t",
        "INSERT INTO e.d.t VALUES ('a', 'a')",
        "DELETE FROM e.d.t WHERE sum(id) > 1",
    ],
)
def test_a_traceback_starts_at_the_hook(enabled: SparkSession, text: str) -> None:
    with pytest.raises(AnalysisException) as caught:
        enabled.sql(text)
    assert len(caught.traceback) <= 4
    assert caught.value.__cause__ is None


TYPOS = {
    "a column": "SELECT nothing FROM e.d.t",
    "a word": "SELEC * FROM e.d.t",
    "a table": "SELECT * FROM e.d.nothing",
    "a value": "INSERT INTO e.d.t SELECT CAST('x' AS int), 'a'",
    "a condition": "DELETE FROM e.d.t WHERE nothing = 1",
}


@pytest.mark.parametrize("typo", TYPOS)
def test_a_typo_prints_few_lines(enabled: SparkSession, typo: str) -> None:
    assert printed_lines(enabled, TYPOS[typo]) <= 25


@pytest.fixture
def enabled_connect(enabled: SparkSession, connect_spark: Any) -> Iterator[Any]:
    """A session like `enabled`, over Connect."""
    names = [f"spark.sql.catalog.e.{key}" for key in ("type", "uri", "warehouse")]
    with settings(connect_spark, {name: enabled.conf.get(name) for name in names}):
        ice.enable(connect_spark)
        yield connect_spark
        ice.disable(connect_spark)


@pytest.mark.parametrize("typo", TYPOS)
def test_a_typo_prints_few_lines_over_connect(enabled_connect: Any, typo: str) -> None:
    assert printed_lines(enabled_connect, TYPOS[typo]) <= 25


def test_a_query_that_only_classic_sessions_parse_is_refused_over_connect_with_its_words(
    enabled: SparkSession, enabled_connect: Any
) -> None:
    text = "SELECT -interval -1 day 1 hour -1 minute 1 second AS i FROM e.d.t"
    assert enabled.sql(text).columns == ["i"]
    with pytest.raises(AnalysisException, match="hour") as caught:
        enabled_connect.sql(text)
    assert "a classic session leaves this query to Spark's parser" in str(caught.value)
    assert printed_lines(enabled_connect, text) <= 25


def test_a_query_that_names_no_iceberg_table_goes_to_spark_over_connect(
    enabled_connect: Any,
) -> None:
    odd = "SELECT -interval -1 day 1 hour -1 minute 1 second AS i"
    enabled_connect.sql("USE e.d")
    try:
        assert enabled_connect.sql("SELECT * FROM (VALUES (1) AS t(a)) AS s").collect() == [(1,)]
        assert enabled_connect.sql(odd).columns == ["i"]
        for table in ("t", "d.t", "e.d.t", "IDENTIFIER('e.' || 'd.' || 't')"):
            with pytest.raises(AnalysisException, match="a classic session leaves this query"):
                enabled_connect.sql(f"{odd} FROM {table}")
    finally:
        enabled_connect.sql("USE spark_catalog.default")


def test_fields_of_variants_in_brackets_are_read_over_connect(
    enabled_connect: Any,
) -> None:
    text = """SELECT parse_json('{"a b": [7]}'):['a b'][0]::int AS a, shuffle(array(1), 5) AS s
        FROM e.d.t RIGHT JOIN range(1) ON true"""
    assert [tuple(row) for row in enabled_connect.sql(text).collect()] == [(7, [1])]


def printed_lines(session: Any, text: str) -> int:
    with pytest.raises(PySparkException) as caught:
        session.sql(text)
    return len("".join(traceback.format_exception(caught.value)).splitlines())


def test_an_error_while_a_statement_runs_is_sparks_too() -> None:
    error = spark_error(errors.ValidationException("another commit came first"))
    assert isinstance(error, errors.ValidationException)
    assert isinstance(error, SparkRuntimeException)
    assert str(error) == "another commit came first"


def test_an_error_is_pickled_as_both() -> None:
    error = spark_error(errors.NoSuchTableError("No table e.d.nothing"))
    again = pickle.loads(pickle.dumps(error))
    assert isinstance(again, errors.NoSuchTableError)
    assert isinstance(again, AnalysisException)
    assert (str(again), again.getCondition()) == (str(error), error.getCondition())


def test_attributes_of_an_error_stay(tmp_path: Path) -> None:
    given = errors.InvalidInputError("wrong")
    given.hint = "this"  # type: ignore[attr-defined]
    both = spark_error(given)
    assert both.hint == "this"  # type: ignore[attr-defined]
    assert isinstance(both, ValueError)
