"""The builders that change a table's partitioning and its sort order."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from iceberg_spark.api.commit_on_exit import CommitOnExit
from iceberg_spark.errors import InvalidInputError, InvalidSchemaError
from iceberg_spark.spec.compatibility import check_order
from iceberg_spark.spec.metadata import TableMetadata
from iceberg_spark.spec.partition import PartitionSpec
from iceberg_spark.spec.sort import UNSORTED, NullOrder, SortDirection, SortField, SortOrder
from iceberg_spark.spec.spec_evolution import SpecUpdate
from iceberg_spark.spec.transform_text import parse_sort_field, parse_term, parse_transform
from iceberg_spark.spec.transforms import IdentityTransform, Transform


class UpdateSpec(CommitOnExit):
    """Collects changes of partition fields; nothing happens before `commit`.

    Files that are there keep their partitions; new ones are written in the new spec, and queries
    plan with each file's own. Methods return the builder and raise InvalidSchemaError, naming
    field, rule and way out.
    """

    __slots__ = ("_add", "_case_sensitive", "_default", "_update")

    def __init__(
        self,
        metadata: TableMetadata,
        add: Callable[[PartitionSpec, PartitionSpec, bool], None],
        *,
        case_sensitive: bool,
    ) -> None:
        self._add = add
        self._case_sensitive = case_sensitive
        self._default = True
        super().__init__()
        self._update = SpecUpdate(metadata)

    def __repr__(self) -> str:
        try:
            text = repr(self._update.apply())
        except InvalidSchemaError as error:
            text = str(error)
        return f"UpdateSpec, {self._state}: {text}"

    def add_field(self, field: str, name: str | None = None) -> UpdateSpec:
        """Add a partition field.

        Args:
            field: "region", "days(ts)", "bucket(16, id)", "truncate(4, s) as t".
            name: Its name; by default one like `ts_day`, `id_bucket_16`, `s_trunc_4`.

        Examples:
            >>> t.update_spec().add_field("days(ts)", name="day").commit()
        """
        source_id, transform, default_name = self._term(field)
        self._update.add_field(source_id, transform, name or default_name)
        return self

    def remove_field(self, field: str) -> UpdateSpec:
        """Remove a partition field.

        In format version 1 a void field, always NULL, replaces it.

        Args:
            field: The name of the field, or its term ("days(ts)").

        Examples:
            >>> t.update_spec().remove_field("region").commit()
        """
        if "(" in field and not any(part.name == field for part in self._update.spec.fields):
            source_id, transform, _ = self._term(field)
            self._update.remove_term(source_id, transform)
        else:
            self._update.remove_field(field)
        return self

    def rename_field(self, name: str, new_name: str) -> UpdateSpec:
        """Rename a partition field.

        Args:
            name: The name of the field.
            new_name: The new name.

        Examples:
            >>> t.update_spec().rename_field("region", "area").commit()
        """
        self._update.rename_field(name, new_name)
        return self

    def reorder(self, names: Sequence[str]) -> UpdateSpec:
        """Give the fields another order. Format version 1 does not allow it.

        Args:
            names: All names after the update.

        Examples:
            >>> t.update_spec().add_field("days(ts)").reorder(["ts_day", "region"]).commit()
        """
        self._update.reorder(names)
        return self

    def add_non_default_spec(self) -> UpdateSpec:
        """Only add the spec. The table's default spec stays.

        Examples:
            >>> t.update_spec().add_field("days(ts)").add_non_default_spec().commit()
        """
        self._default = False
        return self

    def commit(self) -> None:
        """Commit the changes. If the result is the default spec, nothing is committed.

        Raises:
            InvalidSchemaError: A change is not allowed.
            CommitFailedException: Other commits came first, too often.
            ValidationException: Another commit changed the partitioning since the table was loaded.

        Examples:
            >>> t.update_spec().add_field("days(ts)").commit()
        """
        self._done = True
        self._add(self._update.apply(), self._update.spec, self._default)

    def _term(self, text: str) -> tuple[int, Transform, str | None]:
        return parse_term(text, self._update.schema, self._case_sensitive)


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
