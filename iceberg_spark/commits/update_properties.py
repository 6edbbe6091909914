"""Set and remove table properties (Java: PropertiesUpdate)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from iceberg_spark.commits.action import ActionCommit
from iceberg_spark.errors import InvalidInputError
from iceberg_spark.io.file_io import FileIO
from iceberg_spark.spec.metadata import TableMetadata
from iceberg_spark.spec.name_mapping import NameMapping, to_json
from iceberg_spark.spec.properties import (
    DEFAULT_NAME_MAPPING,
    FORMAT_VERSION,
    check_known_values,
    int_property,
)
from iceberg_spark.spec.updates import (
    RemoveProperties,
    SetProperties,
    TableUpdate,
    UpgradeFormatVersion,
)


class UpdateProperties:
    """Set and remove properties; `format-version` upgrades the table instead of being stored.

    Applies to any newer metadata: the last commit that sets a property wins.
    """

    def __init__(
        self, changes: Mapping[str, str] | None = None, removals: Iterable[str] = ()
    ) -> None:
        self._changes = dict(changes or {})
        self._removals = tuple(dict.fromkeys(removals))
        both = self._changes.keys() & set(self._removals)
        if both:
            raise InvalidInputError(f"Property '{min(both)}' is to be set and removed at once")
        stored = {key: value for key, value in self._changes.items() if key != FORMAT_VERSION}
        check_known_values(stored)

    def validate(self, base: TableMetadata, io: FileIO) -> None:
        """Check nothing: the last commit that sets a property wins."""

    def prepare(self, base: TableMetadata, io: FileIO) -> ActionCommit:  # noqa: ARG002 (writes none)
        """Return the updates that change the properties."""
        changes = dict(self._changes)
        updates: list[TableUpdate] = []
        if FORMAT_VERSION in changes:
            version = int_property(changes, FORMAT_VERSION, base.format_version)
            updates.append(UpgradeFormatVersion(version))
            del changes[FORMAT_VERSION]
        if changes:
            updates.append(SetProperties(changes))
        if self._removals:
            updates.append(RemoveProperties(self._removals))
        return ActionCommit(tuple(updates))

    def clean_up(self, io: FileIO, committed: TableMetadata | None) -> None:
        """Remove nothing: the action writes no files."""


def set_name_mapping(mapping: NameMapping) -> UpdateProperties:
    """Return the action that stores a name mapping (specification: "Column Projection")."""
    return UpdateProperties({DEFAULT_NAME_MAPPING: to_json(mapping)})
