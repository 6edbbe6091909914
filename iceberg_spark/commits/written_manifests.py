"""The manifests that the attempts of one commit write, and which of them a later one can reuse."""

from __future__ import annotations

from dataclasses import dataclass, field

from iceberg_spark.commits.manifest_filter import FilteredManifests
from iceberg_spark.commits.manifest_merge import MergedManifests
from iceberg_spark.commits.required_columns import check_required_columns
from iceberg_spark.spec.manifest_file import ManifestFile
from iceberg_spark.spec.metadata import TableMetadata
from iceberg_spark.spec.partition import PartitionSpec
from iceberg_spark.spec.schema import Schema


@dataclass(frozen=True, slots=True)
class ManifestForm:
    """What the encoding of a manifest depends on: format version, schema and partition specs."""

    format_version: int
    schema: Schema
    specs: tuple[PartitionSpec, ...]

    @classmethod
    def of(cls, base: TableMetadata) -> ManifestForm:
        """Return the form of manifests that are written for a base."""
        return cls(base.format_version, base.schema, tuple(base.partition_specs.values()))


@dataclass(slots=True)
class WrittenManifests:
    """Written manifests by their inputs.

    `filtered_deletes` is keyed by the number below which deletes are not needed; an attempt after
    other commits has its own. A manifest of version 1 must not be listed by version 2. So all are
    dropped if the base has another form, and `clean_up` removes their files.
    """

    added: tuple[ManifestFile, ...] | None = None
    filtered: FilteredManifests = field(default_factory=FilteredManifests)
    filtered_deletes: dict[int, FilteredManifests] = field(default_factory=dict)
    merged: MergedManifests = field(default_factory=MergedManifests)
    _form: ManifestForm | None = None
    _planned: Schema | None = None

    def use_for(self, base: TableMetadata) -> None:
        """Drop the manifests that do not fit a base."""
        form = ManifestForm.of(base)
        if self._form is not None and form != self._form:
            self.added = None
            self.filtered = FilteredManifests()
            self.filtered_deletes = {}
            self.merged = MergedManifests()
        self._form = form
        self._planned = self._planned or base.schema

    def check_required_columns(self, base: TableMetadata) -> None:
        """Refuse new rows for a base that requires columns which they lack.

        The rows were written for the schema of the first attempt. Raises ValidationException.
        """
        if self._planned is not None:
            check_required_columns(base, self._planned)
