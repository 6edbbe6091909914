"""Spark's error conditions for errors that share a class with others."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar

from iceberg_spark.errors import IcebergError

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
NO_FUNCTION_CATALOG = ErrorCondition("MISSING_CATALOG_ABILITY.FUNCTIONS", "0A000")
ARGUMENT_TYPE = ErrorCondition("DATATYPE_MISMATCH.UNEXPECTED_INPUT_TYPE", "42K09")
ARGUMENT_COUNT = ErrorCondition("WRONG_NUM_ARGS.WITHOUT_SUGGESTION", "42605")
POSITIONAL_ARGUMENT = ErrorCondition("UNEXPECTED_POSITIONAL_ARGUMENT", "4274K")
_TWICE = "DUPLICATE_ROUTINE_PARAMETER_ASSIGNMENT"
NAMED_TWICE = ErrorCondition(f"{_TWICE}.DOUBLE_NAMED_ARGUMENT_REFERENCE", "4274K")
POSITIONAL_AND_NAMED = ErrorCondition(f"{_TWICE}.BOTH_POSITIONAL_AND_NAMED", "4274K")
AMBIGUOUS_REFERENCE = ErrorCondition("AMBIGUOUS_REFERENCE", "42704")
NOT_BOOLEAN = ErrorCondition("DATATYPE_MISMATCH.BINARY_OP_DIFF_TYPES", "42K09")
JOIN_NOT_BOOLEAN = ErrorCondition("JOIN_CONDITION_IS_NOT_BOOLEAN_TYPE", "42K0E")
MISSING_GROUP_BY = ErrorCondition("MISSING_GROUP_BY", "42803")
UNSUPPORTED_EXPRESSION = ErrorCondition("UNSUPPORTED_EXPR_FOR_OPERATOR", "42K0E")
MERGE_AGGREGATE = ErrorCondition("UNSUPPORTED_MERGE_CONDITION.AGGREGATE", "42K0E")
MERGE_NON_DETERMINISTIC = ErrorCondition("UNSUPPORTED_MERGE_CONDITION.NON_DETERMINISTIC", "42K0E")


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
