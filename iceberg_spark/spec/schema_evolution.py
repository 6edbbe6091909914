"""Changes of a schema, one after the other, and the schema that results.

Rules: specification, "Schema Evolution". Which changes exclude each other, and when that is
checked, is as in Java (SchemaUpdate).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any

from iceberg_spark.errors import (
    ColumnAlreadyExistsError,
    InvalidInputError,
    InvalidSchemaError,
    NoSuchColumnError,
)
from iceberg_spark.spec.format_version import rules_of
from iceberg_spark.spec.fresh_ids import assign_fresh_ids
from iceberg_spark.spec.nearest import did_you_mean, name_list
from iceberg_spark.spec.schema import Schema
from iceberg_spark.spec.types import (
    PRIMITIVES,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IcebergType,
    IntegerType,
    ListType,
    LongType,
    MapType,
    NestedField,
    StructType,
    TimestampNanoType,
    TimestampType,
    UnknownType,
    child_fields,
)
from iceberg_spark.spec.values import MICROS_PER_DAY, NANOS_PER_DAY

ROOT = -1
"""Stands for the table where a parent's id is expected."""


class MovePosition(Enum):
    """Where a column is moved to among its siblings."""

    FIRST = "first"
    BEFORE = "before"
    AFTER = "after"


@dataclass(frozen=True, slots=True)
class Move:
    """One column moved; `sibling` is the other column for BEFORE and AFTER."""

    field_id: int
    position: MovePosition
    sibling: int = ROOT


class SchemaUpdate:
    """Collects changes of a schema, each checked immediately; names are the base schema's.

    Every name is a full one ("a.b"; elements of lists and values of maps may be left out, as in
    "list.a"). Methods raise InvalidSchemaError naming the column, the rule and the way out.
    """

    def __init__(
        self,
        schema: Schema,
        last_column_id: int,
        *,
        format_version: int = 2,
        case_sensitive: bool = True,
        allow_incompatible_changes: bool = False,
    ) -> None:
        self.schema = schema
        self.case_sensitive = case_sensitive
        self._last_id = last_column_id
        self.format_version = format_version
        self._incompatible = allow_incompatible_changes
        self._deletes: dict[int, None] = {}
        self._updates: dict[int, NestedField] = {}
        self._added: dict[int, list[int]] = {}
        self._added_ids: dict[str, int] = {}
        self._parents: dict[int, int] = {}
        self._moves: dict[int, list[Move]] = {}
        self._identifiers: list[str] | None = None

    def add_column(
        self,
        parent: str | None,
        name: str,
        kind: IcebergType,
        *,
        doc: str | None = None,
        required: bool = False,
        default: Any = None,  # a canonical value of the type
    ) -> None:
        """Add a column at the end of the table (no parent) or of a struct.

        A list or map as the parent stands for the struct in it. Ids in `kind` don't matter.
        """
        holder = ROOT if parent is None else self._struct_named(parent, name)
        full = name if parent is None else f"{self.schema.find_column_name(holder)}.{name}"
        shown = name if parent is None else f"{parent}.{name}"
        existing = self._find(shown)
        if existing is not None and existing.field_id not in self._deletes:
            raise ColumnAlreadyExistsError(
                f"Can't add column '{shown}': the table has a column of that name; delete or "
                "rename that one first"
            )
        if required and default is None and not self._incompatible:
            raise InvalidSchemaError(
                f"Can't add column '{full}' as required: existing rows have no value "
                "for it; add it as optional, with a default (format-version 3), or with "
                "allow_incompatible_changes=True"
            )
        field = NestedField(ROOT, name, kind, required, doc, default, default)
        fresh = assign_fresh_ids(Schema(field), last_column_id=self._last_id)
        added = fresh.fields[0]
        self._last_id = fresh.highest_field_id
        self._added_ids[self._key(full)] = added.field_id
        self._parents[added.field_id] = holder
        self._updates[added.field_id] = added
        self._added.setdefault(holder, []).append(added.field_id)

    def delete_column(self, name: str) -> None:
        """Delete a column; one that this update adds to or changes can't be deleted."""
        field = self._existing(name, "delete")
        if field.field_id in self._added:
            raise InvalidSchemaError(
                f"Can't delete column '{name}': the same update adds columns to it"
            )
        if field.field_id in self._updates:
            raise InvalidSchemaError(f"Can't delete column '{name}': the same update changes it")
        self._deletes[field.field_id] = None

    def rename_column(self, name: str, new_name: str) -> None:
        """Rename a column; `new_name` is its own name, without those of its parents."""
        if not new_name:
            raise InvalidSchemaError(f"Can't rename column '{name}' to nothing")
        field = self._existing(name, "rename")
        self._not_deleted(field, name, "rename")
        current = self._updates.get(field.field_id, field)
        self._updates[field.field_id] = replace(current, name=new_name)
        if self._identifiers is not None and name in self._identifiers:
            self._identifiers.remove(name)
            self._identifiers.append(_sibling(name, new_name))

    def update_type(self, name: str, kind: IcebergType) -> None:
        """Widen a primitive column; a nested type may only be repeated unchanged."""
        field = self._to_update(name)
        if _is_repeated(field.field_type, kind):
            return
        if not isinstance(kind, PRIMITIVES) or not can_promote(
            field.field_type, kind, self.format_version
        ):
            raise InvalidSchemaError(
                f"Can't change the type of column '{name}' from {field.field_type} to {kind}; "
                f"allowed are {allowed_promotions(self.format_version)}: add a new column instead"
            )
        self._updates[field.field_id] = replace(
            field,
            field_type=kind,
            initial_default=promoted_value(field.field_type, kind, field.initial_default),
            write_default=promoted_value(field.field_type, kind, field.write_default),
        )

    def update_doc(self, name: str, doc: str | None) -> None:
        """Give a column another doc, or none."""
        field = self._to_update(name)
        self._update(field, replace(field, doc=doc))

    def update_default(self, name: str, default: Any) -> None:  # a canonical value of the type
        """Set the value that writers use from now on for rows without a value."""
        field = self._to_update(name)
        self._update(field, replace(field, write_default=default))

    def make_optional(self, name: str) -> None:
        """Allow nulls in a column."""
        field = self._found_to_update(name)
        if field.required:
            self._not_deleted(field, name, "change")
            self._updates[field.field_id] = replace(field, required=False)

    def require(self, name: str) -> None:
        """Make a column required: must be allowed, since existing rows may hold nulls."""
        field = self._found_to_update(name)
        if field.required:
            return
        is_new = self._key(name) in self._added_ids and field.initial_default is not None
        if not is_new and not self._incompatible:
            raise InvalidSchemaError(
                f"Can't make column '{name}' required: existing rows may hold nulls; "
                "if none does, use update_schema(allow_incompatible_changes=True)"
            )
        self._not_deleted(field, name, "change")
        self._updates[field.field_id] = replace(field, required=True)

    def move_first(self, name: str) -> None:
        """Move a column before its siblings."""
        self._move(name, Move(self._to_move(name, name), MovePosition.FIRST))

    def move_before(self, name: str, other: str) -> None:
        """Move a column right before another one of the same struct."""
        self._move_next_to(name, other, MovePosition.BEFORE)

    def move_after(self, name: str, other: str) -> None:
        """Move a column right after another one of the same struct."""
        self._move_next_to(name, other, MovePosition.AFTER)

    def column(self, name: str) -> NestedField:
        """Return a column as the changes so far leave it, without those below it."""
        return self._found_to_update(name)

    def set_identifier_fields(self, names: Iterable[str]) -> None:
        """Set the columns that identify a row, by the names they have after this update."""
        self._identifiers = list(dict.fromkeys(names))

    def apply(self) -> Schema:
        """Return the resulting schema; the base schema itself if nothing changes.

        Raises InvalidSchemaError for repeated names, changed map keys, and deleted or unsuitable
        identifier columns.
        """
        self._check_identifiers_stay()
        changed = self._schema(self._fields(self.schema.fields, ROOT))
        same_keys = changed.identifier_field_ids == self.schema.identifier_field_ids
        return self.schema if same_keys and changed.fields == self.schema.fields else changed

    def _schema(self, fields: tuple[NestedField, ...]) -> Schema:
        extra = self.schema.extra
        plain = Schema(*fields, extra=extra)
        if not self.case_sensitive:
            check_case(plain)
        ids = self.schema.identifier_field_ids
        if self._identifiers is not None:
            ids = tuple(self._identifier(plain, name) for name in self._identifiers)
        number = self.schema.schema_id
        return Schema(*fields, schema_id=number, identifier_field_ids=ids, extra=extra)

    def _identifier(self, changed: Schema, name: str) -> int:
        field_id = changed.find_id(name, self.case_sensitive)
        if field_id is None:
            available = ", ".join(changed.column_names)
            raise InvalidSchemaError(
                f"Can't identify rows by '{name}': there is no such column; there are: {available}"
            )
        return field_id

    def _check_identifiers_stay(self) -> None:
        ids: Iterable[int] = self.schema.identifier_field_ids
        if self._identifiers is not None:
            fields = (self._find(name) for name in self._identifiers)
            ids = [field.field_id for field in fields if field is not None]
        for field_id in ids:
            for holder in self.schema.path_ids(field_id):
                if holder in self._deletes:
                    raise InvalidSchemaError(
                        f"Can't delete column '{self.schema.find_column_name(holder)}': "
                        f"'{self.schema.find_column_name(field_id)}' identifies rows; set other "
                        "identifier columns with set_identifier_fields"
                    )

    def _fields(self, fields: tuple[NestedField, ...], parent: int) -> tuple[NestedField, ...]:
        remaining = []
        for field in fields:
            if field.field_id not in self._deletes:
                newest = self._updates.get(field.field_id, field)
                remaining.append(replace(newest, field_type=self._type(newest.field_type, newest)))
        remaining += [self._updates[number] for number in self._added.get(parent, ())]
        for move in self._moves.get(parent, ()):
            self._apply_move(remaining, move)
        return tuple(remaining)

    def _type(self, kind: IcebergType, field: NestedField) -> IcebergType:
        match kind:
            case StructType(fields=fields):
                return StructType(*self._fields(fields, field.field_id))
            case ListType():
                element = self._part(kind.element_field, f"the element of list '{field.name}'")
                return ListType(kind.element_id, element.field_type, element.required)
            case MapType():
                self._check_key(kind, field.name)
                value = self._part(kind.value_field, f"the value of map '{field.name}'")
                return MapType(
                    kind.key_id, kind.key_type, kind.value_id, value.field_type, value.required
                )
            case _:
                return kind

    def _part(self, part: NestedField, what: str) -> NestedField:
        if part.field_id in self._deletes:
            raise InvalidSchemaError(f"Can't delete {what}; delete the whole column")
        newest = self._updates.get(part.field_id, part)
        return replace(newest, field_type=self._type(newest.field_type, newest))

    def _check_key(self, kind: MapType, name: str) -> None:
        touched = (
            kind.key_id in self._deletes
            or kind.key_id in self._updates
            or kind.key_id in self._added
        )
        if touched or self._type(kind.key_type, kind.key_field) != kind.key_type:
            raise InvalidSchemaError(
                f"Can't change the keys of map '{name}': they may not be deleted, widened, "
                "renamed or added to; add a new column instead"
            )

    def _apply_move(self, fields: list[NestedField], move: Move) -> None:
        moved = fields.pop(self._position(fields, move.field_id))
        match move.position:
            case MovePosition.FIRST:
                fields.insert(0, moved)
            case MovePosition.BEFORE:
                fields.insert(self._position(fields, move.sibling), moved)
            case MovePosition.AFTER:
                fields.insert(self._position(fields, move.sibling) + 1, moved)

    def _position(self, fields: list[NestedField], field_id: int) -> int:
        for index, field in enumerate(fields):
            if field.field_id == field_id:
                return index
        name = self.schema.find_column_name(field_id)
        raise InvalidSchemaError(f"Can't move column '{name}': the same update deletes it")

    def _move_next_to(self, name: str, other: str, position: MovePosition) -> None:
        field_id = self._to_move(name, name)
        sibling = self._to_move(other, f"{name}' {position.value} '{other}")
        if field_id == sibling:
            raise InvalidSchemaError(f"Can't move column '{name}' {position.value} itself")
        self._move(name, Move(field_id, position, sibling))

    def _move(self, name: str, move: Move) -> None:
        parent = self._parent(move.field_id)
        if parent != ROOT:
            kind = self.schema.find_type(parent)
            if not isinstance(kind, StructType):
                raise InvalidSchemaError(
                    f"Can't move '{name}': only fields of structs have an order, and it is in "
                    f"{kind}"
                )
        if move.position is not MovePosition.FIRST and parent != self._parent(move.sibling):
            raise InvalidSchemaError(f"Can't move column '{name}' to a different struct")
        self._moves.setdefault(parent, []).append(move)

    def _to_move(self, name: str, move: str) -> int:
        added = self._added_ids.get(self._key(name))
        if added is not None:
            return added
        field = self._find(name)
        if field is None:
            column_names = self.schema.column_names
            raise InvalidSchemaError(
                f"Can't move column '{move}': there is no '{name}'; the table has: "
                f"{name_list(column_names)}{did_you_mean(name, column_names)}"
            )
        return field.field_id

    def _parent(self, field_id: int) -> int:
        parent_id = self._parents.get(field_id)
        if parent_id is None:
            holder = self.schema.parent_id(field_id)
            parent_id = ROOT if holder is None else holder
        return parent_id

    def _struct_named(self, parent: str, name: str) -> int:
        """Return the id of the struct that a column is added to."""
        holder = self._find(parent)
        if holder is None:
            raise InvalidSchemaError(
                f"Can't add column '{parent}.{name}': there is no struct '{parent}' (for a column "
                f"of the table with a dot in its name write a tuple: ('{parent}.{name}',))"
            )
        match holder.field_type:
            case ListType() as kind:
                holder = kind.element_field
            case MapType() as kind:
                holder = kind.value_field
            case _:
                pass
        if not isinstance(holder.field_type, StructType):
            raise InvalidSchemaError(
                f"Can't add column '{parent}.{name}': '{parent}' is no struct but "
                f"{holder.field_type}"
            )
        self._not_deleted(holder, parent, "add to")
        return holder.field_id

    def _update(self, field: NestedField, changed: NestedField) -> None:
        if changed != field:
            self._updates[field.field_id] = changed

    def _to_update(self, name: str) -> NestedField:
        field = self._found_to_update(name)
        self._not_deleted(field, name, "change")
        return field

    def _found_to_update(self, name: str) -> NestedField:
        field = self._find(name)
        number = self._added_ids.get(self._key(name)) if field is None else field.field_id
        if number is not None and number in self._updates:
            return self._updates[number]
        return self._existing(name, "change") if field is None else field

    def _existing(self, name: str, verb: str) -> NestedField:
        field = self._find(name)
        if field is None:
            column_names = self.schema.column_names
            raise NoSuchColumnError(
                f"Can't {verb} column '{name}': the table has: {name_list(column_names)}"
                f"{did_you_mean(name, column_names)}"
            )
        return field

    def _not_deleted(self, field: NestedField, name: str, verb: str) -> None:
        if field.field_id in self._deletes:
            raise InvalidSchemaError(f"Can't {verb} column '{name}': the same update deletes it")

    def _find(self, name: str) -> NestedField | None:
        field_id = self.schema.find_id(name, self.case_sensitive, as_spelled=True)
        return None if field_id is None else self.schema.get(field_id)

    def _key(self, name: str) -> str:
        return name if self.case_sensitive else name.lower()


def _sibling(name: str, new_name: str) -> str:
    """Return the full name of a renamed column."""
    above, dot, _ = name.rpartition(".")
    return f"{above}{dot}{new_name}"


def _is_repeated(existing: IcebergType, repeated: IcebergType) -> bool:
    """Return whether a type is repeated unchanged, ignoring ids and missing docs."""
    olds, news = child_fields(existing), child_fields(repeated)
    if not olds or type(existing) is not type(repeated) or len(olds) != len(news):
        return existing == repeated
    for old, new in zip(olds, news, strict=True):
        alike = replace(new, field_id=old.field_id, field_type=old.field_type)
        is_same = replace(alike, doc=new.doc or old.doc) == old
        if not is_same or not _is_repeated(old.field_type, new.field_type):
            return False
    return True


def check_case(schema: Schema) -> None:
    """Refuse names that differ only by case. Raises InvalidSchemaError."""
    seen: dict[str, str] = {}
    for name in schema.column_names:
        other = seen.setdefault(name.lower(), name)
        if other != name:
            raise InvalidSchemaError(
                f"Columns '{other}' and '{name}' would differ only by case, and names are "
                "not case-sensitive here"
            )


ALLOWED = "int to long, float to double, decimal(p, s) to a larger p with the same s"
ALLOWED_FROM_V3 = "date to timestamp or timestamp_ns, unknown to any type"


def can_promote(narrow: IcebergType, wide: IcebergType, format_version: int = 2) -> bool:
    """Return whether a column of one type may become the other; not for equal types."""
    match narrow, wide:
        case (IntegerType(), LongType()) | (FloatType(), DoubleType()):
            return True
        case DecimalType() as less, DecimalType() as more:
            return less.scale == more.scale and less.precision < more.precision
        case DateType(), TimestampType() | TimestampNanoType():
            return rules_of(format_version).has_new_types
        case UnknownType(), kind:
            return rules_of(format_version).has_new_types and not isinstance(kind, UnknownType)
        case _:
            return False


def promoted_value(narrow: IcebergType, wide: IcebergType, value: Any) -> Any:
    """Return a canonical value, None too, as one of the wider type.

    Raises InvalidInputError for a date out of the range of timestamps in nanoseconds.
    """
    if value is None or not isinstance(narrow, DateType):
        return value
    if isinstance(wide, TimestampNanoType):
        moment = value * NANOS_PER_DAY
        if not -(1 << 63) <= moment < 1 << 63:
            raise InvalidInputError(f"Day {value} from 1970 is beyond {wide}")
        return moment
    return value * MICROS_PER_DAY


def allowed_promotions(format_version: int) -> str:
    """Return the allowed promotions of a format version, for error messages."""
    return f"{ALLOWED}; {ALLOWED_FROM_V3}" if rules_of(format_version).has_new_types else ALLOWED
