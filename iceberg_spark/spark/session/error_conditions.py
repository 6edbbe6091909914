"""Spark's error conditions for errors of this library, by their classes or one by one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from iceberg_spark.errors import (
    ColumnAlreadyExistsError,
    ExtraFieldsError,
    IcebergError,
    IncompatibleTypeError,
    MergeCardinalityError,
    MissingFieldsError,
    NamespaceAlreadyExistsError,
    NamespaceNotEmptyError,
    NoSuchColumnError,
    NoSuchNamespaceError,
    NoSuchProcedureError,
    NoSuchTableError,
    NoSuchViewError,
    NotEnoughColumnsError,
    NullValueError,
    TableAlreadyExistsError,
    TooManyColumnsError,
    ViewAlreadyExistsError,
)
from iceberg_spark.lazy import LazyModule
from iceberg_spark.scan.read_options import InvalidTimestampError

_pyspark_errors = LazyModule("pyspark.errors")

_KEY = "_spark_condition"

E = TypeVar("E", bound=IcebergError)


@dataclass(frozen=True, slots=True)
class ErrorCondition:
    """An error condition of Spark and its SQLSTATE.

    Spark raises it when it analyses a statement, or with `at_runtime` while the statement runs.
    """

    name: str
    sql_state: str
    at_runtime: bool = False


INVALID_ASSIGNMENTS = ErrorCondition(
    "DATATYPE_MISMATCH.INVALID_ROW_LEVEL_OPERATION_ASSIGNMENTS", "42K09"
)
AMBIGUOUS_COLUMN_NAME = ErrorCondition("INCOMPATIBLE_DATA_FOR_TABLE.AMBIGUOUS_COLUMN_NAME", "KD000")
CANNOT_FIND_DATA = ErrorCondition("INCOMPATIBLE_DATA_FOR_TABLE.CANNOT_FIND_DATA", "KD000")
EXTRA_COLUMNS = ErrorCondition("INCOMPATIBLE_DATA_FOR_TABLE.EXTRA_COLUMNS", "KD000")
STRUCT_MISSING_FIELDS = ErrorCondition("INCOMPATIBLE_DATA_FOR_TABLE.STRUCT_MISSING_FIELDS", "KD000")
COLUMN_ALREADY_EXISTS = ErrorCondition("COLUMN_ALREADY_EXISTS", "42711")
FIELD_NOT_FOUND = ErrorCondition("FIELD_NOT_FOUND", "42704")
INVALID_FIELD_NAME = ErrorCondition("INVALID_FIELD_NAME", "42000")
UNSUPPORTED_COLUMN_CHANGE = ErrorCondition("NOT_SUPPORTED_CHANGE_COLUMN", "0A000")
UPDATED_STRUCT = ErrorCondition("CANNOT_UPDATE_FIELD.STRUCT_TYPE", "0A000")
UPDATED_ARRAY = ErrorCondition("CANNOT_UPDATE_FIELD.ARRAY_TYPE", "0A000")
UPDATED_MAP = ErrorCondition("CANNOT_UPDATE_FIELD.MAP_TYPE", "0A000")
UNSUPPORTED_COMMAND = ErrorCondition("NOT_SUPPORTED_COMMAND_FOR_V2_TABLE", "0A000")
UNSUPPORTED_OPERATION = ErrorCondition("UNSUPPORTED_FEATURE.TABLE_OPERATION", "0A000")
OVERWRITE_BY_SUBQUERY = ErrorCondition("UNSUPPORTED_FEATURE.OVERWRITE_BY_SUBQUERY", "0A000")
INVALID_EXTRACT = ErrorCondition("INVALID_EXTRACT_BASE_FIELD_TYPE", "42000")
NO_DEFAULT_VALUE = ErrorCondition("NO_DEFAULT_COLUMN_VALUE_AVAILABLE", "42608")
NON_PARTITION_COLUMN = ErrorCondition("NON_PARTITION_COLUMN", "42000")
STATIC_PARTITION_COLUMN = ErrorCondition("STATIC_PARTITION_COLUMN_IN_INSERT_COLUMN_LIST", "42713")
NO_PARTITION_MANAGEMENT = ErrorCondition(
    "INVALID_PARTITION_OPERATION.PARTITION_MANAGEMENT_IS_UNSUPPORTED", "42601"
)
UNRESOLVED_COLUMN = ErrorCondition("UNRESOLVED_COLUMN.WITH_SUGGESTION", "42703")
UNRESOLVED_ROUTINE = ErrorCondition("UNRESOLVED_ROUTINE", "42883")
REQUIRED_PARAMETER = ErrorCondition("REQUIRED_PARAMETER_NOT_FOUND", "4274K")
UNKNOWN_PARAMETER = ErrorCondition("UNRECOGNIZED_PARAMETER_NAME", "4274K")
CAST_INVALID_INPUT = ErrorCondition("CAST_INVALID_INPUT", "22018", at_runtime=True)
CAST_OVERFLOW = ErrorCondition("CAST_OVERFLOW", "22003", at_runtime=True)
STORE_OVERFLOW = ErrorCondition("CAST_OVERFLOW_IN_TABLE_INSERT", "22003", at_runtime=True)
DEFAULT_PLACEMENT = ErrorCondition("DEFAULT_PLACEMENT_INVALID", "42608")
_DEFAULT = "INVALID_DEFAULT_VALUE"
DEFAULT_TYPE = ErrorCondition(f"{_DEFAULT}.DATA_TYPE", "42623")
UNRESOLVED_DEFAULT = ErrorCondition(f"{_DEFAULT}.UNRESOLVED_EXPRESSION", "42623")
SUBQUERY_DEFAULT = ErrorCondition(f"{_DEFAULT}.SUBQUERY_EXPRESSION", "42623")
RANDOM_DEFAULT = ErrorCondition(f"{_DEFAULT}.NON_DETERMINISTIC", "42623")
_VIEW_COLUMNS = "CREATE_VIEW_COLUMN_ARITY_MISMATCH"
FEW_VIEW_COLUMNS = ErrorCondition(f"{_VIEW_COLUMNS}.NOT_ENOUGH_DATA_COLUMNS", "21S01")
MANY_VIEW_COLUMNS = ErrorCondition(f"{_VIEW_COLUMNS}.TOO_MANY_DATA_COLUMNS", "21S01")
CONFLICTING_NAMESPACE = ErrorCondition("SHOW_COLUMNS_WITH_CONFLICT_NAMESPACE", "42K05")
NO_TABLE_OR_VIEW = ErrorCondition("TABLE_OR_VIEW_NOT_FOUND", "42P01")
NO_VIEW_CATALOG = ErrorCondition("UNSUPPORTED_FEATURE.CATALOG_OPERATION", "0A000")
NO_FUNCTION_CATALOG = ErrorCondition("MISSING_CATALOG_ABILITY.FUNCTIONS", "0A000")
ARGUMENT_TYPE = ErrorCondition("DATATYPE_MISMATCH.UNEXPECTED_INPUT_TYPE", "42K09")
ARGUMENT_COUNT = ErrorCondition("WRONG_NUM_ARGS.WITHOUT_SUGGESTION", "42605")
POSITIONAL_ARGUMENT = ErrorCondition("UNEXPECTED_POSITIONAL_ARGUMENT", "4274K")
_TWICE = "DUPLICATE_ROUTINE_PARAMETER_ASSIGNMENT"
NAMED_TWICE = ErrorCondition(f"{_TWICE}.DOUBLE_NAMED_ARGUMENT_REFERENCE", "4274K")
POSITIONAL_AND_NAMED = ErrorCondition(f"{_TWICE}.BOTH_POSITIONAL_AND_NAMED", "4274K")
AMBIGUOUS_REFERENCE = ErrorCondition("AMBIGUOUS_REFERENCE", "42704")
INVALID_BOOLEAN_STATEMENT = ErrorCondition("INVALID_BOOLEAN_STATEMENT", "22546")
VARIABLE_ALREADY_EXISTS = ErrorCondition("VARIABLE_ALREADY_EXISTS", "42723")
NOT_BOOLEAN = ErrorCondition("DATATYPE_MISMATCH.BINARY_OP_DIFF_TYPES", "42K09")
JOIN_NOT_BOOLEAN = ErrorCondition("JOIN_CONDITION_IS_NOT_BOOLEAN_TYPE", "42K0E")
MISSING_GROUP_BY = ErrorCondition("MISSING_GROUP_BY", "42803")
UNSUPPORTED_EXPRESSION = ErrorCondition("UNSUPPORTED_EXPR_FOR_OPERATOR", "42K0E")
NO_MERGE_ACTION = ErrorCondition("NO_MERGE_ACTION_SPECIFIED", "42K0E", at_runtime=True)
MERGE_AGGREGATE = ErrorCondition("UNSUPPORTED_MERGE_CONDITION.AGGREGATE", "42K0E")
MERGE_NON_DETERMINISTIC = ErrorCondition("UNSUPPORTED_MERGE_CONDITION.NON_DETERMINISTIC", "42K0E")

COLUMN_TYPE = "INVALID_COLUMN_OR_FIELD_DATA_TYPE"
"""The condition of `DataFrame.to`, by which this library stores values in the table's types."""
CONDITIONS: Mapping[type[IcebergError], tuple[str, str]] = {
    NoSuchTableError: ("TABLE_OR_VIEW_NOT_FOUND", "42P01"),
    NoSuchViewError: ("VIEW_NOT_FOUND", "42P01"),
    NoSuchNamespaceError: ("SCHEMA_NOT_FOUND", "42704"),
    TableAlreadyExistsError: ("TABLE_OR_VIEW_ALREADY_EXISTS", "42P07"),
    ViewAlreadyExistsError: ("VIEW_ALREADY_EXISTS", "42P07"),
    NamespaceAlreadyExistsError: ("SCHEMA_ALREADY_EXISTS", "42P06"),
    NamespaceNotEmptyError: ("SCHEMA_NOT_EMPTY", "2BP01"),
    NoSuchColumnError: ("UNRESOLVED_COLUMN.WITH_SUGGESTION", "42703"),
    ColumnAlreadyExistsError: ("FIELD_ALREADY_EXISTS", "42710"),
    TooManyColumnsError: ("INSERT_COLUMN_ARITY_MISMATCH.TOO_MANY_DATA_COLUMNS", "21S01"),
    NotEnoughColumnsError: ("INSERT_COLUMN_ARITY_MISMATCH.NOT_ENOUGH_DATA_COLUMNS", "21S01"),
    MissingFieldsError: ("INCOMPATIBLE_DATA_FOR_TABLE.CANNOT_FIND_DATA", "KD000"),
    ExtraFieldsError: ("INCOMPATIBLE_DATA_FOR_TABLE.EXTRA_STRUCT_FIELDS", "KD000"),
    IncompatibleTypeError: ("INCOMPATIBLE_DATA_FOR_TABLE.CANNOT_SAFELY_CAST", "KD000"),
    NullValueError: ("NOT_NULL_ASSERT_VIOLATION", "42000"),
    MergeCardinalityError: ("MERGE_CARDINALITY_VIOLATION", "23K01"),
    InvalidTimestampError: ("INVALID_TIME_TRAVEL_TIMESTAMP_EXPR.OPTION", "42K0E"),
    NoSuchProcedureError: ("FAILED_TO_LOAD_ROUTINE", "38000"),
}
"""Spark's error condition and SQLSTATE of each class that Java's catalogs raise a condition for."""


def with_condition(error: E, condition: ErrorCondition) -> E:
    """Return an error for which an enabled session reports a condition.

    Examples:
        >>> from iceberg_spark.errors import InvalidSchemaError
        >>> error = with_condition(InvalidSchemaError("Two columns 'a'"), COLUMN_ALREADY_EXISTS)
        >>> condition_of(error).sql_state
        '42711'
    """
    vars(error)[_KEY] = condition
    return error


def condition_of(error: IcebergError) -> ErrorCondition | None:
    """Return the condition that an error was given, None for the condition of its class."""
    condition: ErrorCondition | None = vars(error).get(_KEY)
    return condition


def spark_condition(error: Exception) -> tuple[str | None, str | None]:
    """Return the condition and the SQLSTATE that an enabled session reports for an error.

    They are those that the error was given, of its class, or of Spark's error that caused it.
    """
    if not isinstance(error, IcebergError):
        return _condition_of_spark(error)
    own = condition_of(error)
    if own is not None:
        return own.name, own.sql_state
    for base in type(error).__mro__:
        if base in CONDITIONS:
            return CONDITIONS[base]
    condition, sql_state = _condition_of_spark(error.__cause__)
    if condition == COLUMN_TYPE:
        return CONDITIONS[IncompatibleTypeError]
    return condition, sql_state


def _condition_of_spark(error: Any) -> tuple[str | None, str | None]:
    if isinstance(error, _pyspark_errors.PySparkException):
        return error.getCondition(), error.getSqlState()
    return None, None
