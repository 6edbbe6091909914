"""The builder that replaces a table's sort order."""

from __future__ import annotations

from collections.abc import Callable

from iceberg_spark.api.commit_on_exit import CommitOnExit
from iceberg_spark.errors import InvalidInputError, InvalidSchemaError
from iceberg_spark.spec.compatibility import check_order
from iceberg_spark.spec.metadata import TableMetadata
from iceberg_spark.spec.sort import UNSORTED, NullOrder, SortDirection, SortField, SortOrder
from iceberg_spark.spec.transform_text import parse_sort_field, parse_term, parse_transform
from iceberg_spark.spec.transforms import IdentityTransform, Transform

_FIRST_IN = {
    SortDirection.ASC: NullOrder.NULLS_FIRST,
    SortDirection.DESC: NullOrder.NULLS_LAST,
}


class UpdateSortOrder(CommitOnExit):
    """Collects the fields of a new sort order; nothing happens before `commit`.

    The new order replaces the old one; without a field the table becomes unsorted. Files that are
    there keep the order they were written in. Methods return the builder and raise
    InvalidSchemaError for a column that can't be sorted by.
    """

    __slots__ = ("_add", "_case_sensitive", "_fields", "_metadata")

    def __init__(
        self, metadata: TableMetadata, add: Callable[[SortOrder], None], *, case_sensitive: bool
    ) -> None:
        self._metadata = metadata
        self._add = add
        self._case_sensitive = case_sensitive
        self._fields: list[SortField] = []
        super().__init__()

    def __repr__(self) -> str:
        lines = "".join(f"\n  {key}" for key in self._fields)
        return f"UpdateSortOrder, {self._state}:{lines or ' unsorted'}"

    def asc(
        self,
        column: str,
        transform: Transform | str | None = None,
        null_order: NullOrder | str | None = None,
    ) -> UpdateSortOrder:
        """Sort by a column, smallest first.

        Args:
            column: A column ("id"), or a transform of one ("days(ts)").
            transform: The transform, if `column` has none ("bucket[16]").
            null_order: "nulls first" (default) or "nulls last".

        Examples:
            >>> t.update_sort_order().asc("days(ts)", null_order="nulls last").commit()
        """
        return self._sort_by(column, transform, SortDirection.ASC, null_order)

    def desc(
        self,
        column: str,
        transform: Transform | str | None = None,
        null_order: NullOrder | str | None = None,
    ) -> UpdateSortOrder:
        """Sort by a column, largest first.

        Args:
            column: A column ("id"), or a transform of one ("days(ts)").
            transform: The transform, if `column` has none ("bucket[16]").
            null_order: "nulls first" or "nulls last" (default).

        Examples:
            >>> t.update_sort_order().desc("ts").commit()
        """
        return self._sort_by(column, transform, SortDirection.DESC, null_order)

    def add_field(self, field: str) -> UpdateSortOrder:
        """Sort by a field that is written as in `create_table`.

        Args:
            field: Text such as "bucket(16, id) desc nulls first".

        Examples:
            >>> t.update_sort_order().add_field("bucket(16, id) desc nulls first").commit()
        """
        self._take(parse_sort_field(field, self._metadata.schema, self._case_sensitive))
        return self

    def commit(self) -> None:
        """Commit the order. If the table has it as its default already, nothing is committed.

        Examples:
            >>> t.update_sort_order().asc("id").commit()
        """
        self._done = True
        self._add(SortOrder(1, tuple(self._fields)) if self._fields else UNSORTED)

    def _sort_by(
        self,
        column: str,
        transform: Transform | str | None,
        direction: SortDirection,
        null_order: NullOrder | str | None,
    ) -> UpdateSortOrder:
        source_id, written, name = parse_term(column, self._metadata.schema, self._case_sensitive)
        if name is not None:
            raise InvalidSchemaError(f"Can't read '{column}': a sort field has no name")
        if isinstance(transform, str):
            transform = parse_transform(transform)
        if transform is not None and written != IdentityTransform():
            raise InvalidInputError(f"'{column}' is a transform already; leave '{transform}' out")
        nulls = _FIRST_IN[direction] if null_order is None else _null_order(null_order)
        self._take(SortField((source_id,), transform or written, direction, nulls))
        return self

    def _take(self, field: SortField) -> None:
        check_order(SortOrder(1, (field,)), self._metadata.schema)
        self._fields.append(field)


def _null_order(text: str) -> NullOrder:
    words = text.lower().replace("_", "-").replace(" ", "-")
    try:
        return NullOrder(words)
    except ValueError:
        raise InvalidInputError(
            f"null_order '{text}' must be 'nulls first' or 'nulls last'"
        ) from None
