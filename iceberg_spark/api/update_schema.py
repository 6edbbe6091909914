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
        """Set whether the case of names counts; call it before the changes.

        Args:
            case_sensitive: Whether names are case-sensitive.

        Examples:
            >>> t.update_schema().case_sensitive(False).delete_column("AMOUNT").commit()
        """
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
        """Add a column. A field of a list or map is added to the struct in it.

        Args:
            path: The new column: "a.b" is a field of the struct a.
            type: DDL text ("bigint", "struct<a: int>") or a PySpark, Arrow or Iceberg type.
            doc: A comment.
            required: Whether it holds no NULLs. That needs a default or
                `allow_incompatible_changes`.
            default_value: From format version 3 on: the value of existing rows, and of new rows
                without one. Those of structs and maps are dicts.

        Examples:
            >>> t.update_schema().add_column("note", "string", doc="free text").commit()
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
        """Delete a column. Its id is never used again.

        Args:
            path: The column: "a.b", or a tuple of names.

        Examples:
            >>> t.update_schema().delete_column("amount").commit()
        """
        self._update.delete_column(_name(path))
        return self

    def rename_column(self, path: ColumnPath, new_name: str) -> UpdateSchema:
        """Rename a column.

        Args:
            path: The column: "a.b", or a tuple of names.
            new_name: The new name alone, without the names of its parents.

        Examples:
            >>> t.update_schema().rename_column("amount", "price").commit()
        """
        self._update.rename_column(_name(path), new_name)
        return self

    def update_column(
        self,
        path: ColumnPath,
        type: TypeInput | None = None,
        doc: str | None = None,
        required: bool | None = None,
    ) -> UpdateSchema:
        """Widen a column's type, change its comment, or whether it holds NULLs.

        int becomes long, float double, a decimal one of more digits and the same scale; in format
        version 3 also date timestamp, and unknown any type.

        Args:
            path: The column: "a.b", or a tuple of names.
            type: The wider type.
            doc: The new comment.
            required: False lets the column hold NULLs; True needs `allow_incompatible_changes`.

        Examples:
            >>> t.update_schema().update_column("amount", doc="in euros").commit()
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
        """Let a column hold NULLs.

        Args:
            path: The column: "a.b", or a tuple of names.

        Examples:
            >>> t.update_schema().make_column_optional("id").commit()
        """
        self._update.make_optional(_name(path))
        return self

    def set_default_value(self, path: ColumnPath, default_value: Any) -> UpdateSchema:
        """Set the value of new rows without one (format version 3).

        Args:
            path: The column: "a.b", or a tuple of names.
            default_value: The value, None for no default. That of a struct is {} or None: set those
                of its fields by their paths.

        Examples:
            >>> t.update_properties().set({"format-version": "3"}).commit()
            >>> t.update_schema().set_default_value("amount", 0.0).commit()
        """
        name = _name(path)
        kind = self._update.column(name).field_type
        self._update.update_default(name, self._default(name, kind, default_value))
        return self

    def move_first(self, path: ColumnPath) -> UpdateSchema:
        """Move a column before all others of its struct.

        Args:
            path: The column: "a.b", or a tuple of names.

        Examples:
            >>> t.update_schema().move_first("ts").commit()
        """
        self._update.move_first(_name(path))
        return self

    def move_before(self, path: ColumnPath, before_path: ColumnPath) -> UpdateSchema:
        """Move a column right before another one of its struct.

        Args:
            path: The column: "a.b", or a tuple of names.
            before_path: The column that follows.

        Examples:
            >>> t.update_schema().move_before("ts", "amount").commit()
        """
        self._update.move_before(_name(path), _name(before_path))
        return self

    def move_after(self, path: ColumnPath, after_path: ColumnPath) -> UpdateSchema:
        """Move a column right after another one of its struct.

        Args:
            path: The column: "a.b", or a tuple of names.
            after_path: The column in front.

        Examples:
            >>> t.update_schema().move_after("ts", "id").commit()
        """
        self._update.move_after(_name(path), _name(after_path))
        return self

    def set_identifier_fields(self, *fields: str) -> UpdateSchema:
        """Set the columns that identify a row.

        Args:
            *fields: Their names after the update; none for no identifier.

        Examples:
            >>> update = t.update_schema(allow_incompatible_changes=True)
            >>> update.update_column("id", required=True).set_identifier_fields("id").commit()
        """
        self._update.set_identifier_fields(fields)
        return self

    def union_by_name(self, new_schema: SchemaInput) -> UpdateSchema:
        """Add the columns of another schema, widen types and take over comments, by name.

        Args:
            new_schema: DDL text, or a PySpark, Arrow or Iceberg schema.

        Examples:
            >>> t.update_schema().union_by_name("id bigint, note string").commit()
        """
        theirs = as_schema(new_schema, format_version=self._update.format_version)
        add_union(self._update, theirs)
        return self

    def commit(self) -> None:
        """Commit the changes. If nothing changes, nothing is committed.

        Raises:
            InvalidSchemaError: A change is not allowed.
            CommitFailedException: Other commits came first, too often.
            ValidationException: Another commit changed the schema since the table was loaded.

        Examples:
            >>> t.update_schema().add_column("note", "string").commit()
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
