"""The builder that changes a table's partitioning."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from iceberg_spark.api.commit_on_exit import CommitOnExit
from iceberg_spark.errors import InvalidSchemaError
from iceberg_spark.spec.metadata import TableMetadata
from iceberg_spark.spec.partition import PartitionSpec
from iceberg_spark.spec.spec_evolution import SpecUpdate
from iceberg_spark.spec.transform_text import parse_term
from iceberg_spark.spec.transforms import Transform


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
