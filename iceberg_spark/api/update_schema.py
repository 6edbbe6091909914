"""The builder that changes a table's columns."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from iceberg_spark.api.commit_on_exit import CommitOnExit
from iceberg_spark.api.schema_input import SchemaInput, TypeInput, as_schema, as_type
from iceberg_spark.errors import InvalidInputError, InvalidSchemaError
from iceberg_spark.expr import default_value as defaults
from iceberg_spark.spec.format_version import rules_of
from iceberg_spark.spec.metadata import TableMetadata
from iceberg_spark.spec.schema import Schema
from iceberg_spark.spec.schema_evolution import SchemaUpdate
from iceberg_spark.spec.types import IcebergType, StructType
from iceberg_spark.spec.union_by_name import add_union

ColumnPath: TypeAlias = str | tuple[str, ...]
"""A column: "a.b", or a tuple of its names if one of them has a dot in it."""


class UpdateSchema(CommitOnExit):
    """Collects changes of columns; nothing happens before `commit`, no file is ever rewritten.

    Names are those that the columns have before the update. Methods return the builder and raise
    InvalidSchemaError, naming column, rule and way out, for a change that is not allowed or does
    not go with another one of the same update.
    """

    __slots__ = ("_add", "_update")

    def __init__(
        self,
        metadata: TableMetadata,
        add: Callable[[Schema, Schema], None],
        *,
        allow_incompatible_changes: bool,
        case_sensitive: bool,
    ) -> None:
        self._add = add
        super().__init__()
        self._update = SchemaUpdate(
            metadata.schema,
            metadata.last_column_id,
            format_version=metadata.format_version,
            case_sensitive=case_sensitive,
            allow_incompatible_changes=allow_incompatible_changes,
        )

    def __repr__(self) -> str:
        try:
            text = repr(self._update.apply())
        except InvalidSchemaError as error:
            text = str(error)
        return f"UpdateSchema, {self._state}: {text}"

    def case_sensitive(self, case_sensitive: bool) -> UpdateSchema:
        """Set whether the case of names counts; call it before the changes."""
        self._update.case_sensitive = case_sensitive
        return self

    def add_column(
        self,
        path: ColumnPath,
        type: TypeInput,
        doc: str | None = None,
        required: bool = False,
        default_value: Any = None,
    ) -> UpdateSchema:
        """Add a column, "a.b" to struct a (or the struct in list or map a), with new ids.

        The type is DDL text ("bigint", "struct<a: int>") or a PySpark, Arrow or Iceberg type. A
        required column needs a default or `allow_incompatible_changes`. A default, from
        format-version 3 on, is also what the rows have that are there already; those of structs
        and maps are dicts, of lists lists.
        """
        full = _name(path)
        *above, name = full.split(".") if isinstance(path, str) else path
        kind = as_type(type, full, format_version=self._update.format_version)
        if isinstance(kind, StructType) and isinstance(default_value, Mapping):
            kind, default_value = defaults.struct_with_defaults(full, kind, default_value), {}
        default = self._default(full, kind, default_value)
        parent = ".".join(above) or None
        self._update.add_column(parent, name, kind, doc=doc, required=required, default=default)
        return self

    def delete_column(self, path: ColumnPath) -> UpdateSchema:
        """Delete a column; its id is never used again."""
        self._update.delete_column(_name(path))
        return self

    def rename_column(self, path: ColumnPath, new_name: str) -> UpdateSchema:
        """Rename a column; the new name is its own, without those of its parents."""
        self._update.rename_column(_name(path), new_name)
        return self

    def update_column(
        self,
        path: ColumnPath,
        type: TypeInput | None = None,
        doc: str | None = None,
        required: bool | None = None,
    ) -> UpdateSchema:
        """Widen a column's type, change its doc, let it hold nulls or (when allowed) no longer.

        int becomes long, float double, a decimal one of more digits and the same scale; in
        format-version 3 also date timestamp, unknown any type.
        """
        name = _name(path)
        if type is not None:
            kind = as_type(type, name, format_version=self._update.format_version)
            self._update.update_type(name, kind)
        if doc is not None:
            self._update.update_doc(name, doc)
        if required is not None:
            (self._update.require if required else self._update.make_optional)(name)
        return self

    def make_column_optional(self, path: ColumnPath) -> UpdateSchema:
        """Let a column hold nulls."""
        self._update.make_optional(_name(path))
        return self

    def set_default_value(self, path: ColumnPath, default_value: Any) -> UpdateSchema:
        """Set the value that writers use from now on for rows without one; None for no default.

        That of a struct is {} or none: set those of its fields by their paths.
        """
        name = _name(path)
        kind = self._update.column(name).field_type
        self._update.update_default(name, self._default(name, kind, default_value))
        return self

    def move_first(self, path: ColumnPath) -> UpdateSchema:
        """Move a column before all others of its struct."""
        self._update.move_first(_name(path))
        return self

    def move_before(self, path: ColumnPath, before_path: ColumnPath) -> UpdateSchema:
        """Move a column right before another one of its struct."""
        self._update.move_before(_name(path), _name(before_path))
        return self

    def move_after(self, path: ColumnPath, after_path: ColumnPath) -> UpdateSchema:
        """Move a column right after another one of its struct."""
        self._update.move_after(_name(path), _name(after_path))
        return self

    def set_identifier_fields(self, *fields: str) -> UpdateSchema:
        """Set the columns that identify a row, by their names after the update; none for none."""
        self._update.set_identifier_fields(fields)
        return self

    def union_by_name(self, new_schema: SchemaInput) -> UpdateSchema:
        """Add the columns that another schema has, widen types and take over docs, by name."""
        theirs = as_schema(new_schema, format_version=self._update.format_version)
        add_union(self._update, theirs)
        return self

    def commit(self) -> None:
        """Commit the changes; without any, or to what is there already, nothing is committed.

        Raises InvalidSchemaError, CommitFailedException, and ValidationException when the schema
        was changed by another commit since the table was loaded.
        """
        self._done = True
        self._add(self._update.apply(), self._update.schema)

    def _default(self, name: str, kind: IcebergType, value: Any) -> Any:
        """Return a default in canonical form."""
        if value is None:
            return None
        if not rules_of(self._update.format_version).has_defaults:
            raise InvalidSchemaError(
                f"Column '{name}' can't have a default: that needs format-version 3, and the "
                f"table has {self._update.format_version}; add it without one"
            )
        return defaults.default_value(name, kind, value)


def _name(path: ColumnPath) -> str:
    match path:
        case str(text) if all(text.split(".")):
            return text
        case (str(), *_) if all(map(_is_name, path)):
            return ".".join(path)
        case _:
            raise InvalidInputError(f"Column path {path!r} must be names like 'a.b' or ('a', 'b')")


def _is_name(part: object) -> bool:
    return isinstance(part, str) and part != ""
