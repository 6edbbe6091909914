"""Table schema: fields by id and by name (specification: "Schemas and Data Types")."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from iceberg_spark.errors import ColumnAlreadyExistsError, InvalidSchemaError
from iceberg_spark.spec.nearest import did_you_mean, name_list
from iceberg_spark.spec.printable import printable
from iceberg_spark.spec.quoted_name import quoted_parts
from iceberg_spark.spec.shown import html_table, shown_type
from iceberg_spark.spec.types import (
    IcebergType,
    ListType,
    MapType,
    NestedField,
    StructType,
    child_fields,
)


@dataclass(frozen=True, slots=True, init=False, repr=False)
class Schema:
    """The fields of a table, indexed once by id and by full name.

    Full names join nested names by dots; list elements are `element`, map parts `key` and
    `value`; a name may be quoted with backquotes, like in SQL. `list.a` finds `list.element.a`
    and `map.a` finds `map.value.a` if no column has that name (as Java's IndexByName).
    `extra` holds unknown JSON members. Raises
    InvalidSchemaError for a repeated id or full name.
    """

    fields: tuple[NestedField, ...]
    schema_id: int
    identifier_field_ids: tuple[int, ...]
    extra: Mapping[str, Any] | None = field(repr=False, compare=False)
    _by_id: dict[int, NestedField] = field(repr=False, compare=False)
    _name_of: dict[int, str] = field(repr=False, compare=False)
    _id_of: dict[str, int] = field(repr=False, compare=False)
    _id_of_lower: dict[str, int | None] = field(repr=False, compare=False)
    _id_of_short: dict[str, int] = field(repr=False, compare=False)
    _parent_of: dict[int, int] = field(repr=False, compare=False)

    def __init__(
        self,
        *fields: NestedField,
        schema_id: int = 0,
        identifier_field_ids: Iterable[int] = (),
        extra: Mapping[str, Any] | None = None,
    ) -> None:
        put = object.__setattr__
        put(self, "fields", fields)
        put(self, "schema_id", schema_id)
        put(self, "identifier_field_ids", tuple(sorted(identifier_field_ids)))
        put(self, "extra", extra)
        for name in ("_by_id", "_name_of", "_id_of", "_id_of_lower", "_id_of_short", "_parent_of"):
            put(self, name, {})
        self._index(fields, "", "", None)

    def _index(
        self, fields: Iterable[NestedField], prefix: str, short: str, parent: NestedField | None
    ) -> None:
        for child in fields:
            name = f"{prefix}{child.name}"
            self._check_new(child.field_id, name)
            self._by_id[child.field_id] = child
            self._name_of[child.field_id] = name
            self._id_of[name] = child.field_id
            lower = name.lower()
            self._id_of_lower[lower] = None if lower in self._id_of_lower else child.field_id
            self._id_of_short.setdefault(f"{short}{child.name}", child.field_id)
            if parent is not None:
                self._parent_of[child.field_id] = parent.field_id
            below = short if _is_left_out(child, parent) else f"{short}{child.name}."
            self._index(child_fields(child.field_type), f"{name}.", below, child)

    def _check_new(self, field_id: int, name: str) -> None:
        if field_id in self._by_id:
            raise InvalidSchemaError(
                f"Field id {field_id} is used twice, by '{self._name_of[field_id]}' and '{name}'"
            )
        if name in self._id_of:
            raise ColumnAlreadyExistsError(f"Two fields are named '{name}'")

    def __reduce__(self) -> tuple[object, ...]:
        return _rebuild, (self.fields, self.schema_id, self.identifier_field_ids, self.extra)

    def __hash__(self) -> int:
        # Not of the fields themselves: the default of a struct has no hash.
        return hash((self.schema_id, tuple(self._name_of.items())))

    def __iter__(self) -> Iterator[NestedField]:
        return iter(self.fields)

    def __len__(self) -> int:
        return len(self.fields)

    def __repr__(self) -> str:
        keys = ", ".join(self._name_of.get(key, str(key)) for key in self.identifier_field_ids)
        identifiers = f", identifier fields: {keys}" if keys else ""
        lines = "".join(f"\n  {child!s}" for child in self.fields)
        return printable(f"Schema {self.schema_id}{identifiers}{lines}")

    def _repr_html_(self) -> str:
        rows = [
            (
                child.name,
                shown_type(child.field_type),
                "required" if child.required else "",
                "key" if child.field_id in self.identifier_field_ids else "",
                child.doc or "",
            )
            for child in self.fields
        ]
        return html_table("Schema", ("column", "type", "", "", "comment"), rows, "no column")

    def __str__(self) -> str:
        return "table {\n" + "\n".join(f"  {child}" for child in self.fields) + "\n}"

    @property
    def field_ids(self) -> tuple[int, ...]:
        """Every field id, nested ones too, in depth-first order."""
        return tuple(self._by_id)

    @property
    def column_names(self) -> tuple[str, ...]:
        """Every full name, nested ones too, in depth-first order."""
        return tuple(self._name_of.values())

    @property
    def highest_field_id(self) -> int:
        """The largest field id, 0 for an empty schema."""
        return max(self._by_id, default=0)

    def as_struct(self) -> StructType:
        """Return the top-level fields as a struct type.

        Examples:
            >>> t.schema().as_struct()
        """
        return StructType(*self.fields)

    def get(self, field_id: int) -> NestedField | None:
        """Return the field with that id, or None.

        Args:
            field_id: The id of a field.

        Examples:
            >>> t.schema().get(1)
        """
        return self._by_id.get(field_id)

    def find_field(self, name_or_id: str | int, case_sensitive: bool = True) -> NestedField:
        """Return a field.

        Args:
            name_or_id: The full name ("a.b") or the id.
            case_sensitive: Whether names are case-sensitive.

        Raises:
            InvalidSchemaError: There is no such column; the message names the columns.

        Examples:
            >>> t.schema().find_field("amount").field_id
        """
        field_id = (
            name_or_id if isinstance(name_or_id, int) else self._lookup(name_or_id, case_sensitive)
        )
        field = None if field_id is None else self._by_id.get(field_id)
        if field is None:
            close = did_you_mean(str(name_or_id), self.column_names)
            raise InvalidSchemaError(
                f"No column '{name_or_id}'; the table has: {name_list(self.column_names)}{close}"
            )
        return field

    def find_id(
        self, name: str, case_sensitive: bool = True, *, as_spelled: bool = False
    ) -> int | None:
        """Return the id of a column, or None.

        Args:
            name: The full name ("a.b").
            case_sensitive: Whether names are case-sensitive.
            as_spelled: Backquotes are part of the name.

        Examples:
            >>> t.schema().find_id("amount")
        """
        look = self._lookup_name if as_spelled else self._lookup
        return look(name, case_sensitive)

    def _lookup(self, name: str, case_sensitive: bool) -> int | None:
        field_id = self._lookup_name(name, case_sensitive)
        if field_id is None and (parts := quoted_parts(name)) is not None:
            return self._lookup_name(".".join(parts), case_sensitive)
        return field_id

    def _lookup_name(self, name: str, case_sensitive: bool) -> int | None:
        field_id = self._id_of.get(name, self._id_of_short.get(name))
        if case_sensitive or field_id is not None:
            return field_id
        lower = name.lower()
        if lower in self._id_of_lower and self._id_of_lower[lower] is None:
            alike = ", ".join(
                candidate for candidate in self.column_names if candidate.lower() == lower
            )
            raise InvalidSchemaError(
                f"Column '{name}' is ambiguous: columns {alike} differ only by case"
            )
        field_id = self._id_of_lower.get(lower)
        if field_id is not None:
            return field_id
        return next(
            (short_id for text, short_id in self._id_of_short.items() if text.lower() == lower),
            None,
        )

    def find_type(self, name_or_id: str | int, case_sensitive: bool = True) -> IcebergType:
        """Return the type of a field.

        Args:
            name_or_id: The full name ("a.b") or the id.
            case_sensitive: Whether names are case-sensitive.

        Examples:
            >>> t.schema().find_type("amount")
        """
        return self.find_field(name_or_id, case_sensitive).field_type

    def find_column_name(self, field_id: int) -> str | None:
        """Return the full name of an id, or None.

        Args:
            field_id: The id of a field.

        Examples:
            >>> t.schema().find_column_name(1)
        """
        return self._name_of.get(field_id)

    def parent_id(self, field_id: int) -> int | None:
        """Return the id of the field that contains this one, None at the top.

        Args:
            field_id: The id of a field.

        Examples:
            >>> t.schema().parent_id(1)
        """
        return self._parent_of.get(field_id)

    def path_ids(self, field_id: int) -> tuple[int, ...]:
        """Return the ids from the top-level field down to this one.

        Args:
            field_id: The id of a field.

        Examples:
            >>> t.schema().path_ids(1)
        """
        path = [field_id]
        while (parent := self._parent_of.get(path[-1])) is not None:
            path.append(parent)
        return tuple(reversed(path))


def _is_left_out(child: NestedField, parent: NestedField | None) -> bool:
    """Return whether short names omit this field: a struct that is an element or map value."""
    return (
        parent is not None
        and isinstance(parent.field_type, ListType | MapType)
        and isinstance(child.field_type, StructType)
        and child.name != "key"
    )


def _rebuild(
    fields: tuple[NestedField, ...],
    schema_id: int,
    ids: tuple[int, ...],
    extra: Mapping[str, Any] | None,
) -> Schema:
    return Schema(*fields, schema_id=schema_id, identifier_field_ids=ids, extra=extra)
