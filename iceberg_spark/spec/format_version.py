"""The features of each format version: the only place that compares versions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from iceberg_spark.errors import UnsupportedError
from iceberg_spark.spec.properties import FORMAT_VERSION, int_property


@dataclass(frozen=True, slots=True)
class FormatVersion:
    """The rules of one format version (specification: "Format Versioning", appendix E).

    `is_written`: this library writes such tables, not only reads them. Structs of
    manifests and manifest lists are laid out by version in `manifest/schemas`.
    """

    number: int
    is_written: bool
    has_sequence_numbers: bool
    """And with them delete files, content of manifests, and counts that manifest lists require."""
    repeats_current: bool
    """Metadata repeats the current schema and spec outside their lists, for old readers."""
    inlines_manifests: bool
    """A snapshot may name its manifests itself, without a manifest list."""
    needs_sequential_partition_ids: bool
    """Partition field ids are 1000, 1001, ...: a field that is removed becomes void."""
    has_deletion_vectors: bool
    """New position deletes are deletion vectors; existing position delete files stay valid."""
    has_row_lineage: bool
    has_defaults: bool
    has_new_types: bool
    """Types of v3, and promotions to them and of dates."""

    @property
    def has_delete_files(self) -> bool:
        """Whether rows can be deleted by delete files, which sequence numbers put in order."""
        return self.has_sequence_numbers


_V1 = FormatVersion(
    1,
    is_written=True,
    has_sequence_numbers=False,
    repeats_current=True,
    inlines_manifests=True,
    needs_sequential_partition_ids=True,
    has_deletion_vectors=False,
    has_row_lineage=False,
    has_defaults=False,
    has_new_types=False,
)
_V2 = FormatVersion(
    2,
    is_written=True,
    has_sequence_numbers=True,
    repeats_current=False,
    inlines_manifests=False,
    needs_sequential_partition_ids=False,
    has_deletion_vectors=False,
    has_row_lineage=False,
    has_defaults=False,
    has_new_types=False,
)
_V3 = FormatVersion(
    3,
    is_written=True,
    has_sequence_numbers=True,
    repeats_current=False,
    inlines_manifests=False,
    needs_sequential_partition_ids=False,
    has_deletion_vectors=True,
    has_row_lineage=True,
    has_defaults=True,
    has_new_types=True,
)
FORMAT_VERSIONS = {version.number: version for version in (_V1, _V2, _V3)}
WRITTEN = tuple(number for number, rules in FORMAT_VERSIONS.items() if rules.is_written)
WRITTEN_VERSIONS = ", ".join(map(str, WRITTEN))
READ_VERSIONS = ", ".join(map(str, FORMAT_VERSIONS))


def rules_of(format_version: int) -> FormatVersion:
    """Return the rules of a version of `FORMAT_VERSIONS` (metadata of others is not read)."""
    return FORMAT_VERSIONS[format_version]


def check_writable_version(properties: Mapping[str, str]) -> int:
    """Return the version in properties. Raises UnsupportedError if it cannot be written."""
    version = int_property(properties, FORMAT_VERSION)
    if version > max(WRITTEN):
        raise UnsupportedError(
            f"Property '{FORMAT_VERSION}' is {version}: tables of format version "
            f"{version} can't be written; use {WRITTEN_VERSIONS}"
        )
    return max(version, min(WRITTEN))
