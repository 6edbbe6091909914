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
        """Add a field such as "region", "days(ts)", "bucket(16, id)", "truncate(4, s) as t".

        Without a name it gets one like `ts_day`, `id_bucket_16`, `s_trunc_4`.
        """
        source_id, transform, default_name = self._term(field)
        self._update.add_field(source_id, transform, name or default_name)
        return self

    def remove_field(self, field: str) -> UpdateSpec:
        """Remove a field by its name, or by its term ("days(ts)").

        In format version 1 a void field, always null, replaces it.
        """
        if "(" in field and not any(part.name == field for part in self._update.spec.fields):
            source_id, transform, _ = self._term(field)
            self._update.remove_term(source_id, transform)
        else:
            self._update.remove_field(field)
        return self

    def rename_field(self, name: str, new_name: str) -> UpdateSpec:
        """Rename a field."""
        self._update.rename_field(name, new_name)
        return self

    def reorder(self, names: Sequence[str]) -> UpdateSpec:
        """Give the fields another order, all by their names after the update; not in v1."""
        self._update.reorder(names)
        return self

    def add_non_default_spec(self) -> UpdateSpec:
        """Only add the spec: the table's default stays."""
        self._default = False
        return self

    def commit(self) -> None:
        """Commit the changes; nothing happens if the result is the default spec already.

        Raises InvalidSchemaError, CommitFailedException, and ValidationException when the
        partitioning was changed by another commit since the table was loaded.
        """
        self._done = True
        self._add(self._update.apply(), self._update.spec, self._default)

    def _term(self, text: str) -> tuple[int, Transform, str | None]:
        return parse_term(text, self._update.schema, self._case_sensitive)
