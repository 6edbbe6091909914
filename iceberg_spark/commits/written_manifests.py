"""The manifests that the tries of one commit write, and which of them a later try can use."""

from __future__ import annotations

from dataclasses import dataclass, field

from iceberg_spark.commits.manifest_filter import FilteredManifests
from iceberg_spark.commits.manifest_merge import MergedManifests
from iceberg_spark.errors import ValidationException
from iceberg_spark.spec.manifest_file import ManifestFile
from iceberg_spark.spec.metadata import TableMetadata
from iceberg_spark.spec.partition import PartitionSpec
from iceberg_spark.spec.schema import Schema
from iceberg_spark.spec.types import NestedField


@dataclass(frozen=True, slots=True)
class ManifestForm:
    """What a manifest is encoded by: the format version, the schema and the partition specs."""

    format_version: int
    schema: Schema
    specs: tuple[PartitionSpec, ...]

    @classmethod
    def of(cls, base: TableMetadata) -> ManifestForm:
        """Return the form of manifests that are written for a base."""
        return cls(base.format_version, base.schema, tuple(base.partition_specs.values()))


@dataclass(slots=True)
class WrittenManifests:
    """Manifests by what they were written for.

    `filtered_deletes` is by the number below which deletes are needless: a try after others'
    commits has its own. A manifest of version 1 must not enter a list of version 2, so all are
    forgotten when the base has another form; `clean_up` removes their files.
    """

    added: tuple[ManifestFile, ...] | None = None
    filtered: FilteredManifests = field(default_factory=FilteredManifests)
    filtered_deletes: dict[int, FilteredManifests] = field(default_factory=dict)
    merged: MergedManifests = field(default_factory=MergedManifests)
    _form: ManifestForm | None = None
    _planned: Schema | None = None

    def use_for(self, base: TableMetadata) -> None:
        """Forget the manifests that do not fit a base."""
        form = ManifestForm.of(base)
        if self._form is not None and form != self._form:
            self.added = None
            self.filtered = FilteredManifests()
            self.filtered_deletes = {}
            self.merged = MergedManifests()
        self._form = form
        self._planned = self._planned or base.schema

    def check_required_columns(self, base: TableMetadata) -> None:
        """Refuse new rows for a base that requires columns which they were written without.

        The rows were written for the schema of the first try. Raises ValidationException.
        """
        planned, schema = self._planned, base.schema
        if planned is None or planned == schema:
            return
        for field_id in schema.field_ids:
            parent = schema.parent_id(field_id)
            if parent is not None and planned.get(parent) is None:
                continue  # the parent decides: an optional new struct may have required fields
            if _may_be_missing(schema.find_field(field_id), planned.get(field_id)):
                raise ValidationException(
                    f"Column '{schema.find_column_name(field_id)}' of {base.location} is required "
                    "since another commit, and the rows of this change may lack a value for it; "
                    "write them again"
                )


def _may_be_missing(column: NestedField, before: NestedField | None) -> bool:
    """Return whether rows for a former schema may have no value in a column that needs one."""
    if not column.required:
        return False
    return not before.required if before is not None else column.initial_default is None
