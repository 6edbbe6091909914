"""Run scripts (`BEGIN ... END`) that change Iceberg tables, statement by statement."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import BooleanType

from iceberg_spark.errors import InvalidInputError
from iceberg_spark.spark.catalyst.classic_queries import syntax_error
from iceberg_spark.spark.session.own_methods import run_sql
from iceberg_spark.spark.session.session_dialect import session_dialect
from iceberg_spark.spark.sql.query import Args
from iceberg_spark.spark.sql.statements.read import Query, read_statement
from iceberg_spark.spark.sql.statements.script import (
    Block,
    Body,
    Choice,
    Declaration,
    Repetition,
    ScriptStatement,
    Step,
    declared_names,
)
from iceberg_spark.spark.sql.statements.session_state import ExecuteImmediate
from iceberg_spark.spec.quoted_name import quoted
from iceberg_spark.statements.answers import nothing

RunWith: TypeAlias = Callable[[SparkSession, str, Args, Mapping[str, Any]], DataFrame]
"""Runs one statement, with the values of parameters and the DataFrames that it names."""


def run_script(
    spark: SparkSession,
    script: Block,
    text: str,
    args: Args,
    frames: Mapping[str, Any],
    run: RunWith,
) -> DataFrame:
    """Run a script and return the rows of its last query; each change is a commit.

    The script's variables are variables of the session until their block ends. Raises
    InvalidInputError for a variable that the session has already, the errors of statements, and
    Spark's error for a script that its parser refuses, before anything runs.
    """
    error = None if frames else syntax_error(spark, text)  # with {fields} it is not SQL yet
    if error is not None:
        raise error
    if args and not isinstance(args, Mapping):
        raise InvalidInputError("The parameters of a script need names: write :name for each ?")
    _check_names(spark, declared_names(script.body))
    running = _Running(spark, lambda statement: run(spark, statement, args, frames))
    running.step(script)
    return nothing(spark) if running.result is None else running.result


def _check_names(spark: SparkSession, names: list[str]) -> None:
    for name in names:
        is_twice = names.count(name) > 1
        if is_twice or _is_variable(spark, name):
            reason = "in the script twice" if is_twice else "a variable of the session, too"
            raise InvalidInputError(f"DECLARE {name}: the name is {reason}: use another name")


def _is_variable(spark: SparkSession, name: str) -> bool:
    try:
        return bool(run_sql(spark, f"SELECT session.{quoted(name)}").columns)
    except AnalysisException:
        return False


@dataclass(slots=True)
class _Running:
    """A script that runs; `result` are the rows of the last query."""

    spark: SparkSession
    run: Callable[[str], DataFrame]
    result: DataFrame | None = field(default=None)

    def step(self, step: Step) -> None:
        match step:
            case ScriptStatement(text):
                self._statement(text)
            case Declaration(text=text):
                self.run(text)
            case Block(body):
                with _variables(self.spark, body):
                    self._steps(body)
            case Choice(branches, otherwise):
                chosen = (inner for condition, inner in branches if self._is_true(condition))
                self._steps(next(chosen, otherwise))
            case Repetition(condition, body):
                while self._is_true(condition):
                    self._steps(body)

    def _steps(self, body: Body) -> None:
        for step in body:
            self.step(step)

    def _statement(self, text: str) -> None:
        """Run a statement; the rows of a query are collected at once, as Spark does in scripts."""
        frame = self.run(text)
        if frame.columns and _is_query(self.spark, text):
            self.result = self.spark.createDataFrame(frame.collect(), frame.schema)

    def _is_true(self, condition: str) -> bool:
        frame = self.run(f"SELECT ({condition})")
        if not isinstance(frame.schema[0].dataType, BooleanType):
            raise InvalidInputError(f"The condition {condition} is not boolean")
        return bool(frame.collect()[0][0])


def _is_query(spark: SparkSession, text: str) -> bool:
    """Return whether a statement has the rows of a query; those of commands are no result."""
    try:
        statement = read_statement(text, session_dialect(spark))
    except InvalidInputError:
        return True  # in Spark's grammar only, as some queries are
    return isinstance(statement, Query | ExecuteImmediate)


@contextmanager
def _variables(spark: SparkSession, body: Body) -> Iterator[None]:
    """Drop the variables of a block when it ends."""
    names = [name for step in body if isinstance(step, Declaration) for name in step.names]
    try:
        yield
    finally:
        for name in names:
            run_sql(spark, f"DROP TEMPORARY VARIABLE IF EXISTS {quoted(name)}")
