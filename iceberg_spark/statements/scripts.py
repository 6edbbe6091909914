"""Run scripts (`BEGIN ... END`) that change Iceberg tables, statement by statement."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeAlias, TypeVar

from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import BooleanType

from iceberg_spark.errors import IcebergError, InvalidInputError
from iceberg_spark.spark.adapt.types import type_text
from iceberg_spark.spark.catalyst.classic_queries import syntax_error
from iceberg_spark.spark.row_level.kept_rows import checkpoint
from iceberg_spark.spark.session.error_conditions import (
    INVALID_BOOLEAN_STATEMENT,
    VARIABLE_ALREADY_EXISTS,
    spark_condition,
    with_condition,
)
from iceberg_spark.spark.session.own_methods import run_sql
from iceberg_spark.spark.session.session_dialect import session_dialect
from iceberg_spark.spark.sql.query import Args
from iceberg_spark.spark.sql.statements.read import Query, read_statement
from iceberg_spark.spark.sql.statements.script import (
    Block,
    Body,
    Choice,
    Declaration,
    ForEach,
    Handler,
    Jump,
    Repetition,
    ScriptStatement,
    Step,
    with_session_names,
)
from iceberg_spark.spark.sql.statements.session_state import ExecuteImmediate
from iceberg_spark.spec.quoted_name import quote
from iceberg_spark.statements.answers import nothing

RunWith: TypeAlias = Callable[[SparkSession, str, Args, Mapping[str, Any]], DataFrame]
"""Runs one statement, with the values of parameters and the DataFrames that it names."""

T = TypeVar("T")


def run_script(
    spark: SparkSession,
    script: Block,
    text: str,
    args: Args,
    frames: Mapping[str, Any],
    run: RunWith,
) -> DataFrame:
    """Run a script and return the rows of its last query; each change is a commit.

    The script's variables are variables of the session until their block ends. A variable of the
    session with the same name gets its value back then. Raises the errors of statements that no
    handler of the script catches, and Spark's error for a script that its parser refuses, before
    anything runs.
    """
    if args is not None and not isinstance(args, Mapping):
        raise InvalidInputError("The parameters of a script need names: write :name for each ?")
    if not frames:  # a text with {fields} is not SQL yet
        error = syntax_error(spark, text, args or None)
        if error is not None:
            raise error
    running = _Running(spark, lambda statement: run(spark, statement, args, frames))
    running.step(script)
    return nothing(spark) if running.result is None else running.result


@dataclass(slots=True, eq=False)
class _Variable:
    """A variable and its name in the session: another one while an inner variable hides it."""

    session_name: str
    definition: str | None = None

    @property
    def is_of_session(self) -> bool:
        """Whether the session had the variable before the script, with a definition not known."""
        return self.definition is None


@dataclass(slots=True, eq=False)
class _Scope:
    """A block or a FOR that runs, by its label, with its variables by their names in lower case."""

    label: str | None = None
    handlers: tuple[Handler, ...] = ()
    variables: dict[str, _Variable] = field(default_factory=dict)

    def handler_of(self, condition: str, state: str) -> Handler | None:
        """Return the handler of an error, the one with the narrowest condition.

        As in Spark, SQLEXCEPTION and NOT FOUND count in the last handler of a block only.
        """
        general = condition.partition(".")[0]
        for handler in self.handlers:
            if condition in handler.conditions:
                return handler
        for handler in self.handlers:
            if general in handler.conditions:
                return handler
        for handler in self.handlers:
            if state in handler.states:
                return handler
        for handler in self.handlers[-1:]:
            is_no_data = state.startswith("02")
            is_error = not is_no_data and not state.startswith("XX")
            if handler.catches_not_found if is_no_data else handler.catches_errors and is_error:
                return handler
        return None


class _Leave(Exception):
    """A block or loop ends: that of a label, or the block whose handler caught an error."""

    def __init__(self, target: str | _Scope) -> None:
        self.target = target
        super().__init__()


class _Iterate(Exception):
    """The next pass of the loop with a label begins."""

    def __init__(self, target: str) -> None:
        self.target = target
        super().__init__()


@contextmanager
def _caught(jump: type[_Leave | _Iterate], *targets: str | _Scope | None) -> Iterator[None]:
    try:
        yield
    except (_Leave, _Iterate) as error:
        if not isinstance(error, jump) or error.target not in targets:
            raise


@dataclass(slots=True)
class _Running:
    """A script that runs; `result` are the rows of the last query.

    `scopes` are the blocks around the current statement. `variables` has all variables of a name,
    the innermost one last. `handled` is the number of scopes around a handler that runs.
    """

    spark: SparkSession
    run_text: Callable[[str], DataFrame]
    result: DataFrame | None = None
    scopes: list[_Scope] = field(default_factory=list)
    variables: dict[str, list[_Variable]] = field(default_factory=dict)
    handled: int = 0

    def step(self, step: Step) -> None:
        match step:
            case ScriptStatement(text):
                self._attempt(partial(self._statement, text), None)
            case Declaration():
                self._attempt(partial(self._declare, step), None)
            case Block():
                with self._scope(_Scope(step.label, step.handlers)):
                    self._steps(step.body)
            case Choice():
                self._steps(self._attempt(partial(self._chosen, step), ()))
            case Repetition():
                self._repeat(step)
            case ForEach():
                self._for_each(step)
            case Jump(label, leaves):
                raise _Leave(label) if leaves else _Iterate(label)

    def _steps(self, body: Body) -> None:
        for step in body:
            self.step(step)

    def _run(self, text: str) -> DataFrame:
        names = {
            (scope.label, name): variable.session_name
            for scope in self.scopes
            if scope.label is not None
            for name, variable in scope.variables.items()
        }
        names |= {
            ("session", name): variables[0].session_name
            for name, variables in self.variables.items()
            if variables and variables[0].is_of_session
        }
        return self.run_text(with_session_names(text, names, session_dialect(self.spark)))

    def _statement(self, text: str) -> None:
        """Run a statement, and a query at once, as Spark does in scripts."""
        frame = self._run(text)
        if frame.columns and _is_query(self.spark, text):
            self.result = checkpoint(frame)

    def _attempt(self, call: Callable[[], T], skipped: T) -> T:
        """Run a part of a script; if it fails, run the handler of the error.

        Returns `skipped` if the script goes on after that. The handler runs in the block that
        declares it, and sees no variables of inner blocks. As in Spark, LEAVE in it ends the
        handler, and so does an error that a handler of an outer block catches.
        """
        try:
            return call()
        except (PySparkException, IcebergError) as error:
            depth, handler = self._handler_of(error)
            if handler is None:
                raise
        scopes, handled = self.scopes, self.handled
        scope = scopes[depth]
        if not handler.continues:
            for inner in reversed(scopes[max(depth + 1, handled) :]):
                self._drop(inner)
        self.scopes = [*scopes[:depth], _Scope(scope.label, (), scope.variables)]
        self.handled = depth + 1
        try:
            with _caught(_Leave, *scopes, *(outer.label for outer in scopes)):
                self.step(handler.body)
        finally:
            self.scopes, self.handled = scopes, handled
        if handler.continues:
            return skipped
        raise _Leave(scope)

    def _handler_of(self, error: PySparkException | IcebergError) -> tuple[int, Handler | None]:
        condition, state = spark_condition(error)
        for depth in reversed(range(len(self.scopes))):
            if condition is None or state is None:
                break
            handler = self.scopes[depth].handler_of(condition.upper(), state.upper())
            if handler is not None:
                return depth, handler
        return 0, None

    @contextmanager
    def _scope(self, scope: _Scope) -> Iterator[None]:
        outer = self.scopes
        self.scopes = [*outer, scope]
        try:
            with _caught(_Leave, scope, scope.label):
                yield
        finally:
            self.scopes = outer
            self._drop(scope)

    def _declare(self, declaration: Declaration) -> None:
        names = ", ".join(map(quote, declaration.names))
        with self._new_variables(declaration.names, declaration.definition):
            self._run(f"DECLARE OR REPLACE VARIABLE {names} {declaration.definition}")

    @contextmanager
    def _new_variables(self, names: Sequence[str], definition: str) -> Iterator[str]:
        """Add variables to the current block, which are declared while the context is open.

        Variables of the same names in outer blocks and in the session get other names first.
        Raises InvalidInputError if the block has one of them already.
        """
        scope = self.scopes[-1]
        for name in names:
            self._hide(name)
            scope.variables[name.lower()] = _Variable(name, definition)
            self.variables[name.lower()].append(scope.variables[name.lower()])
        yield definition

    def _hide(self, name: str) -> None:
        if name.lower() in self.scopes[-1].variables:
            message = f"The variable {name} exists already in this block: use another name"
            raise with_condition(InvalidInputError(message), VARIABLE_ALREADY_EXISTS)
        of_name = self.variables.setdefault(name.lower(), [])
        if not of_name and _is_variable(self.spark, name):
            of_name.append(_Variable(name))
        if of_name:
            of_name[-1].session_name = f"iceberg_spark_{uuid.uuid4().hex}"
            stash = of_name[-1].session_name
            run_sql(self.spark, f"DECLARE VARIABLE {stash} DEFAULT session.{quote(name)}")

    def _drop(self, scope: _Scope) -> None:
        """Drop the variables of a block that ends, and restore those that they hid."""
        for key, variable in reversed(list(scope.variables.items())):
            name = quote(variable.session_name)
            run_sql(self.spark, f"DROP TEMPORARY VARIABLE IF EXISTS {name}")
            self.variables[key].remove(variable)
            if self.variables[key]:
                hidden = self.variables[key][-1]
                stash, hidden.session_name = hidden.session_name, variable.session_name
                definition = hidden.definition or f"DEFAULT session.{stash}"
                self._run(f"DECLARE OR REPLACE VARIABLE {name} {definition}")
                run_sql(self.spark, f"SET VARIABLE session.{name} = session.{stash}")
                run_sql(self.spark, f"DROP TEMPORARY VARIABLE {stash}")
        scope.variables.clear()

    def _chosen(self, choice: Choice) -> Body:
        if choice.value is None:
            chosen = (body for condition, body in choice.branches if self._is_true(condition))
            return next(chosen, choice.otherwise)
        with _as_variable(self._run(f"SELECT ({choice.value})")) as name:
            equal = (
                body for value, body in choice.branches if self._is_true(f"{name} = ({value})")
            )
            return next(equal, choice.otherwise)

    def _is_true(self, condition: str) -> bool:
        frame = self._run(f"SELECT ({condition})")
        if not isinstance(frame.schema[0].dataType, BooleanType):
            error = InvalidInputError(f"The condition {condition} is not boolean")
            raise with_condition(error, INVALID_BOOLEAN_STATEMENT)
        return bool(frame.collect()[0][0])

    def _repeat(self, loop: Repetition) -> None:
        def holds(condition: str | None, skipped: bool) -> bool:
            if condition is None:
                return not skipped
            return self._attempt(partial(self._is_true, condition), skipped)

        with _caught(_Leave, loop.label):
            while holds(loop.condition, skipped=False):
                with _caught(_Iterate, loop.label):
                    self._steps(loop.body)
                if loop.until is not None and holds(loop.until, skipped=True):
                    break

    def _for_each(self, loop: ForEach) -> None:
        no_rows: Iterator[DataFrame] = iter(())
        rows = self._attempt(partial(self._rows, loop.query), no_rows)
        with _caught(_Leave, loop.label), self._scope(_Scope(loop.variable)):
            for row in rows:
                self._attempt(partial(self._assign, row), None)
                with _caught(_Iterate, loop.label):
                    self._steps(loop.body)

    def _rows(self, query: str) -> Iterator[DataFrame]:
        """Run a query, and return its rows, each as a DataFrame that is created when it is used."""
        rows = checkpoint(self._run(query))
        return (rows.offset(index).limit(1) for index in range(rows.count()))

    def _assign(self, row: DataFrame) -> None:
        """Set the variables of FOR to the values of a row; the first row declares them."""
        names = list(map(quote, row.columns))
        if not self.scopes[-1].variables:
            for name, field in zip(names, row.schema, strict=True):
                with self._new_variables([field.name], type_text(field.dataType)) as definition:
                    run_sql(self.spark, f"DECLARE OR REPLACE VARIABLE {name} {definition}")
        if names:
            _set_variables(row, names)


def _set_variables(row: DataFrame, names: Sequence[str]) -> None:
    spark, view = row.sparkSession, f"iceberg_spark_{uuid.uuid4().hex}"
    variables = ", ".join(f"session.{name}" for name in names)
    row.createTempView(view)
    try:
        run_sql(spark, f"SET VARIABLE ({variables}) = (SELECT * FROM {view})")  # noqa: S608
    finally:
        spark.catalog.dropTempView(view)


@contextmanager
def _as_variable(row: DataFrame) -> Iterator[str]:
    """Yield the name of a variable of the session with the only value of a DataFrame."""
    variable = f"iceberg_spark_{uuid.uuid4().hex}"
    kind = type_text(row.schema[0].dataType)
    run_sql(row.sparkSession, f"DECLARE VARIABLE {variable} {kind}")
    try:
        _set_variables(row, [variable])
        yield f"session.{variable}"
    finally:
        run_sql(row.sparkSession, f"DROP TEMPORARY VARIABLE {variable}")


def _is_query(spark: SparkSession, text: str) -> bool:
    """Return whether a statement has the rows of a query; those of commands are no result."""
    try:
        statement = read_statement(text, session_dialect(spark))
    except InvalidInputError:
        return True  # in Spark's grammar only, as some queries are
    return isinstance(statement, Query | ExecuteImmediate)


def _is_variable(spark: SparkSession, name: str) -> bool:
    try:
        return bool(run_sql(spark, f"SELECT session.{quote(name)}").columns)
    except AnalysisException:
        return False
