"""Typed access to members of parsed JSON objects; every error names the member and its place."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any, TypeVar

from iceberg_spark.errors import CorruptFileError, IcebergError

T = TypeVar("T")
MAX_INT = (1 << 31) - 1
MAX_LONG = (1 << 63) - 1
MAX_NESTING = 64
"""Levels of structs, lists and maps in a schema: Arrow's streams carry no more."""
_MOST_LEVELS = 200  # of JSON; Python's recursion ends near 1,000 calls


def as_object(node: Any, what: str) -> Mapping[str, Any]:
    """Return the node if it is a JSON object. Raises CorruptFileError."""
    if not isinstance(node, dict):
        raise CorruptFileError(f"{what} must be a JSON object, not {_kind(node)}")
    return node


def as_list(node: Any, what: str) -> list[Any]:
    """Return the node if it is a JSON array. Raises CorruptFileError."""
    if not isinstance(node, list):
        raise CorruptFileError(f"{what} must be a JSON array, not {_kind(node)}")
    return node


def as_int(node: Any, what: str) -> int:
    """Return the node if it is a 32-bit integer. Raises CorruptFileError."""
    return _integer(node, what, MAX_INT)


def as_long(node: Any, what: str) -> int:
    """Return the node if it is a 64-bit integer. Raises CorruptFileError."""
    return _integer(node, what, MAX_LONG)


def _integer(node: Any, what: str, largest: int) -> int:
    if type(node) is int and -largest - 1 <= node <= largest:  # nearly every one
        return node
    if not isinstance(node, int) or isinstance(node, bool):
        raise CorruptFileError(f"{what} must be an integer, not {_kind(node)}")
    if not -largest - 1 <= node <= largest:
        raise CorruptFileError(f"{what} is out of range: {node}")
    return node


def as_text(node: Any, what: str) -> str:
    """Return the node if it is a JSON string. Raises CorruptFileError."""
    if not isinstance(node, str):
        raise CorruptFileError(f"{what} must be a string, not {_kind(node)}")
    return node


def as_bool(node: Any, what: str) -> bool:
    """Return the node if it is true or false. Raises CorruptFileError."""
    if not isinstance(node, bool):
        raise CorruptFileError(f"{what} must be true or false, not {_kind(node)}")
    return node


def _kind(node: Any) -> str:
    return {
        "dict": "an object",
        "list": "an array",
        "str": f"the string '{node}'"[:80],
        "NoneType": "null",
    }.get(type(node).__name__, str(node))


def required(node: Mapping[str, Any], key: str, read: Callable[[Any, str], T]) -> T:
    """Return a member that must be there. Raises CorruptFileError naming it."""
    if key not in node:
        raise CorruptFileError(f"The required field '{key}' is missing")
    return read(node[key], f"'{key}'")


def optional(node: Mapping[str, Any], key: str, read: Callable[[Any, str], T]) -> T | None:
    """Return a member, None where it is missing or null. Raises CorruptFileError naming it."""
    value = node.get(key)
    return None if value is None else read(value, f"'{key}'")


def text_map(node: Any, what: str) -> dict[str, str]:
    """Return an object whose values are strings. Raises CorruptFileError naming the key."""
    members = as_object(node, what)
    for key, value in members.items():
        if not isinstance(value, str):
            as_text(value, f"{what}.{key}")
    return dict(members)


def int_list(node: Any, what: str) -> tuple[int, ...]:
    """Return an array of 32-bit integers. Raises CorruptFileError."""
    return tuple(as_int(part, what) for part in as_list(node, what))


def parse_array(node: Any, what: str, read: Callable[[Any], T]) -> tuple[T, ...]:
    """Read every element of an array; errors name the index.

    After an error all elements are read again, to format their paths only in that case.
    """
    nodes = as_list(node, what)
    try:
        return tuple(map(read, nodes))
    except IcebergError:
        return tuple(read_node(f"{what}[{index}]", read, part) for index, part in enumerate(nodes))


def read_node(where: str, read: Callable[[Any], T], node: Any) -> T:
    """Return read(node); an error is raised again with the place in front of its message."""
    try:
        return read(node)
    except IcebergError as cause:
        raise type(cause)(f"{where}: {cause}") from cause


def unknown_members(node: Mapping[str, Any], known_names: Collection[str]) -> dict[str, Any] | None:
    """Return the members that this library doesn't know, None if there are none.

    Raises CorruptFileError for one that is nested too deeply to be written again.
    """
    if isinstance(known_names, frozenset) and known_names.issuperset(node):
        return None
    unknown = {key: value for key, value in node.items() if key not in known_names} or None
    if unknown is not None:
        check_depth(unknown)
    return unknown


def check_depth(node: Any) -> None:
    """Raise CorruptFileError for JSON that is nested too deeply to be read."""
    level = [node]
    for _ in range(_MOST_LEVELS):
        below = [child for parent in level for child in _children(parent)]
        level = [child for child in below if isinstance(child, dict | list)]
        if not level:
            return
    raise CorruptFileError(f"It is nested more than {_MOST_LEVELS} levels deep")


def _children(node: Any) -> Iterable[Any]:
    match node:
        case dict():
            return node.values()
        case list():
            return node
        case _:
            return ()


_ESCAPED_HALF = re.compile(r"\\u[dD][89a-fA-F]")
"""A half of a character, of which two make one."""


def parse_json(text: str | bytes, what: str) -> Any:
    """Return parsed JSON. Raises CorruptFileError starting with `what`."""
    try:
        node = json.loads(text)
        if _ESCAPED_HALF.search(text if isinstance(text, str) else text.decode("latin-1")):
            json.dumps(node, ensure_ascii=False).encode()
    except json.JSONDecodeError as cause:
        raise CorruptFileError(
            f"{what} is not JSON, or not complete JSON: {cause.msg} at line {cause.lineno}, "
            f"column {cause.colno}"
        ) from cause
    except UnicodeDecodeError as cause:
        raise CorruptFileError(f"{what} is not UTF-8 text; is it compressed?") from cause
    except UnicodeEncodeError as cause:
        half = cause.object[cause.start]
        raise CorruptFileError(f"{what} has half a character, {half!a}, in a text") from cause
    except (ValueError, RecursionError) as cause:  # a number of thousands of digits, or nesting
        raise CorruptFileError(f"{what} can't be read as JSON: {cause}") from cause
    else:
        return node
