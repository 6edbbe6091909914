"""Transforms, partition fields and sort fields from text.

Two kinds of text: the form stored in metadata (`bucket[16]`), and that of users in `partition_by`
and `sort_order` (`bucket(16, id)`, `days(ts)`, `id desc nulls last`), as Spark's DDL does.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from iceberg_spark.errors import InvalidSchemaError
from iceberg_spark.spec.compatibility import check_new_spec, check_order
from iceberg_spark.spec.nearest import did_you_mean
from iceberg_spark.spec.partition import (
    FIRST_PARTITION_FIELD_ID,
    PartitionField,
    PartitionSpec,
)
from iceberg_spark.spec.schema import Schema
from iceberg_spark.spec.sort import (
    UNSORTED,
    NullOrder,
    SortDirection,
    SortField,
    SortOrder,
)
from iceberg_spark.spec.transforms import (
    BucketTransform,
    DayTransform,
    HourTransform,
    IdentityTransform,
    MonthTransform,
    Transform,
    TruncateTransform,
    UnknownTransform,
    VoidTransform,
    YearTransform,
)

SIMPLE_TRANSFORMS: dict[str, Transform] = {
    str(transform): transform
    for transform in (
        IdentityTransform(), YearTransform(), MonthTransform(), DayTransform(), HourTransform(),
        VoidTransform(),
    )
}  # fmt: skip
_WITH_WIDTH = re.compile(r"(\w+)\s*\[\s*(\d{1,19})\s*\]")
MAX_WIDTH = (1 << 31) - 1


def parse_transform(text: str) -> Transform:
    """Return the transform of its stored text, such as `bucket[16]`; case does not matter.

    An unknown name becomes an UnknownTransform. Raises InvalidSchemaError for a
    width out of range.
    """
    name = text.strip()
    simple = SIMPLE_TRANSFORMS.get(name.lower())
    if simple is not None:
        return simple
    match = _WITH_WIDTH.fullmatch(name)
    if match is not None and match.group(1).lower() in ("bucket", "truncate"):
        return with_width(match.group(1).lower(), int(match.group(2)))
    return UnknownTransform(text)


def with_width(name: str, width: int) -> BucketTransform | TruncateTransform:
    """Return `bucket` or `truncate` with its parameter. Raises InvalidSchemaError."""
    if not 1 <= width <= MAX_WIDTH:
        need = "number of buckets" if name == "bucket" else "width"
        raise InvalidSchemaError(f"{name}[{width}]: the {need} must be 1 to {MAX_WIDTH}")
    return BucketTransform(width) if name == "bucket" else TruncateTransform(width)


# User-facing names of the transforms that take only a column (Java: Spark3Util).
_FUNCTIONS: dict[str, Transform] = {
    "identity": IdentityTransform(),
    "year": YearTransform(),
    "years": YearTransform(),
    "month": MonthTransform(),
    "months": MonthTransform(),
    "day": DayTransform(),
    "days": DayTransform(),
    "date": DayTransform(),
    "hour": HourTransform(),
    "hours": HourTransform(),
    "date_hour": HourTransform(),
    "void": VoidTransform(),
}
_WITH_ARGUMENT = ("bucket", "truncate")
# Suffixes of default names of partition fields (Java: PartitionSpec.Builder).
_SUFFIXES: dict[type, str] = {
    IdentityTransform: "",
    BucketTransform: "_bucket",
    TruncateTransform: "_trunc",
    YearTransform: "_year",
    MonthTransform: "_month",
    DayTransform: "_day",
    HourTransform: "_hour",
    VoidTransform: "_null",
}
_TOKEN = re.compile(r"\s*(?:(?P<quoted>`(?:[^`]|``)+`)|(?P<word>[^\s`(),.]+)|(?P<mark>[(),.]))")


@dataclass(frozen=True, slots=True)
class _Token:
    text: str
    is_mark: bool = False
    is_quoted: bool = False


def _tokens(text: str) -> list[_Token]:
    tokens, offset = [], 0
    stripped = text.strip()
    while offset < len(stripped):
        match = _TOKEN.match(stripped, offset)
        if match is None:
            raise InvalidSchemaError(f"Can't read '{text}' at '{stripped[offset:]}'")
        offset = match.end()
        if quoted := match.group("quoted"):
            tokens.append(_Token(quoted[1:-1].replace("``", "`"), is_quoted=True))
        elif mark := match.group("mark"):
            tokens.append(_Token(mark, is_mark=True))
        else:
            tokens.append(_Token(match.group("word")))
    return tokens


def _take(tokens: list[_Token], mark: str) -> bool:
    if tokens and tokens[0] == _Token(mark, is_mark=True):
        tokens.pop(0)
        return True
    return False


def _path(tokens: list[_Token], text: str) -> _Token:
    """Take a column name from the front; a dotted one becomes a single token."""
    parts: list[_Token] = []
    while True:
        if not tokens or tokens[0].is_mark:
            raise InvalidSchemaError(f"Can't read '{text}': a column name is missing")
        parts.append(tokens.pop(0))
        if not _take(tokens, "."):
            break
    name = ".".join(part.text for part in parts)
    return _Token(name, is_quoted=any(part.is_quoted for part in parts))


def _term(tokens: list[_Token], text: str) -> tuple[Transform, str]:
    """Take `column` or `function(...)` from the front: its transform and column name."""
    head = _path(tokens, text)
    if not _take(tokens, "("):
        return IdentityTransform(), head.text
    arguments = [_path(tokens, text)]
    while _take(tokens, ","):
        arguments.append(_path(tokens, text))
    if not _take(tokens, ")"):
        raise InvalidSchemaError(f"Can't read '{text}': a closing parenthesis is missing")
    return _call(head.text.lower(), arguments, text)


def _call(name: str, arguments: list[_Token], text: str) -> tuple[Transform, str]:
    numbers = [
        argument for argument in arguments if argument.text.isdecimal() and not argument.is_quoted
    ]
    columns = [argument for argument in arguments if argument not in numbers]
    if name in _WITH_ARGUMENT:
        if len(numbers) != 1 or len(columns) != 1:
            raise InvalidSchemaError(f"'{text}': {name} takes a number and a column")
        return with_width(name, int(numbers[0].text)), columns[0].text
    if name not in _FUNCTIONS:
        names = (*_FUNCTIONS, *_WITH_ARGUMENT)
        raise InvalidSchemaError(
            f"Unknown transform '{name}' in '{text}'; known: {', '.join(names)}"
            f"{did_you_mean(name, names)}"
        )
    if len(arguments) != 1:
        raise InvalidSchemaError(f"'{text}': {name} takes one column")
    return _FUNCTIONS[name], arguments[0].text


def parse_partition_field(
    text: str,
    schema: Schema,
    case_sensitive: bool = True,
    field_id: int = FIRST_PARTITION_FIELD_ID,
) -> PartitionField:
    """Return the partition field that a user wrote.

    Forms: `column`, `days(ts)`, `bucket(16, id)`, `truncate(4, s)`, each maybe followed by
    `as name`; nested columns as `a.b`, odd names in backticks. Without a name it gets Java's
    (`ts_day`, `id_bucket`, `s_trunc`). Raises InvalidSchemaError naming the text. The rules for
    a whole spec are `parse_partition_spec`'s.
    """
    source_id, transform, name = parse_term(text, schema, case_sensitive)
    default = f"{schema.find_column_name(source_id)}{_SUFFIXES[type(transform)]}"
    return PartitionField((source_id,), field_id, transform, name or default)


def parse_term(
    text: str, schema: Schema, case_sensitive: bool = True
) -> tuple[int, Transform, str | None]:
    """Return the source column's id, the transform and the name (None: default) of a field.

    Forms and errors as `parse_partition_field`.
    """
    tokens = _tokens(text)
    transform, column = _term(tokens, text)
    name = None
    if len(tokens) == 2 and tokens[0].text.lower() == "as" and not tokens[1].is_mark:
        name = tokens.pop().text
        tokens.pop()
    if tokens:
        raise InvalidSchemaError(f"Can't read '{text}' from '{tokens[0].text}' on")
    return schema.find_field(column, case_sensitive).field_id, transform, name


def parse_partition_spec(
    texts: Iterable[str], schema: Schema, case_sensitive: bool = True
) -> PartitionSpec:
    """Return the spec of the fields that a user wrote, field ids from 1000.

    Raises InvalidSchemaError for an unreadable text or a spec that breaks a rule
    (`compatibility.check_new_spec`).
    """
    fields = tuple(
        parse_partition_field(text, schema, case_sensitive, FIRST_PARTITION_FIELD_ID + index)
        for index, text in enumerate(texts)
    )
    spec = PartitionSpec(0, fields)
    check_new_spec(spec, schema)
    return spec


def parse_sort_field(text: str, schema: Schema, case_sensitive: bool = True) -> SortField:
    """Return the sort field of a user's text: a term, maybe `asc` or `desc`, maybe `nulls first`.

    Nulls come first in ascending and last in descending order unless the text says otherwise.
    Raises InvalidSchemaError naming the text.
    """
    tokens = _tokens(text)
    transform, column = _term(tokens, text)
    words = [token.text.lower() for token in tokens]
    direction = SortDirection.ASC
    if words and words[0] in tuple(SortDirection):
        direction = SortDirection(words.pop(0))
    nulls = NullOrder.NULLS_FIRST if direction is SortDirection.ASC else NullOrder.NULLS_LAST
    if words in (["nulls", "first"], ["nulls", "last"]):
        nulls, words = NullOrder("-".join(words)), []
    if words:
        raise InvalidSchemaError(
            f"Can't read '{text}' from '{words[0]}' on; write it like 'id desc nulls last'"
        )
    source_id = schema.find_field(column, case_sensitive).field_id
    return SortField((source_id,), transform, direction, nulls)


def parse_sort_order(
    texts: Iterable[str], schema: Schema, case_sensitive: bool = True
) -> SortOrder:
    """Return the sort order of the fields that a user wrote; unsorted when there are none.

    Raises InvalidSchemaError for a text that can't be read or a column that can't be sorted by.
    """
    fields = tuple(parse_sort_field(text, schema, case_sensitive) for text in texts)
    if not fields:
        return UNSORTED
    order = SortOrder(1, fields)
    check_order(order, schema)
    return order
