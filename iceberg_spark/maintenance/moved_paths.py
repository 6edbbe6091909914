"""Paths below one folder replaced by paths below another, in metadata and in manifests.

Source: Java's RewriteTablePathUtil.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from iceberg_spark.errors import InvalidInputError, ValidationException
from iceberg_spark.io import location
from iceberg_spark.spec.data_file import only_path
from iceberg_spark.spec.metadata import TableMetadata
from iceberg_spark.spec.properties import (
    FOLDER_STORAGE_PATH,
    OBJECT_STORE_PATH,
    WRITE_DATA_PATH,
    WRITE_METADATA_PATH,
)
from iceberg_spark.spec.reserved import DELETE_FILE_PATH_ID

Column: TypeAlias = Any  # pyarrow ships no types
Table: TypeAlias = Any

_FOLDERS = (WRITE_DATA_PATH, WRITE_METADATA_PATH, OBJECT_STORE_PATH, FOLDER_STORAGE_PATH)

_UPWARD = re.compile(r"(?:^|/)\.\.(?:/|$)")


@dataclass(frozen=True, slots=True)
class Move:
    """From one prefix of paths to another; both are folders, without a slash at the end."""

    source: str
    target: str

    @classmethod
    def of(cls, source: str, target: str) -> Move:
        """Check two prefixes. Raises InvalidInputError."""
        move = cls(source.rstrip("/"), target.rstrip("/"))
        if not move.source or not move.target:
            raise InvalidInputError("source_prefix and target_prefix must not be empty")
        if move.source == move.target:
            raise InvalidInputError(f"source_prefix and target_prefix are the same: {source}")
        return move

    def path(self, path: str) -> str:
        """Return the moved path. Raises ValidationException for one outside the source."""
        return self._under(self.target, path)

    def staged(self, path: str, staging: str) -> str:
        """Return where the rewritten form of a file is stored until it is copied."""
        return self._under(staging.rstrip("/"), path)

    def _under(self, folder: str, path: str) -> str:
        if path.rstrip("/") == self.source:
            return folder
        if _UPWARD.search(path[len(self.source) :]):
            raise ValidationException(
                f"{path} leads out of its folder by '..', so its new location is unknown. "
                "Nothing was rewritten"
            )
        if not path.startswith(f"{self.source}/"):
            raise ValidationException(
                f"{path} is not below the source prefix {self.source}, as metadata spells it, so "
                "it can't be moved. Nothing was rewritten"
            )
        return f"{folder}{path[len(self.source) :]}"

    def paths(self, paths: Column) -> Column:
        """Return the moved paths of a column; nulls stay. Raises as `path`."""
        outside = pc.or_(
            pc.invert(pc.starts_with(paths, f"{self.source}/")),
            pc.match_substring_regex(paths, _UPWARD.pattern),
        )
        if pc.any(outside).as_py():
            self.path(paths.filter(outside)[0].as_py())
        rest = pc.utf8_slice_codeunits(paths, len(self.source))
        return pc.binary_join_element_wise(pa.scalar(self.target), rest, "")

    def metadata(self, metadata: TableMetadata) -> TableMetadata:
        """Return metadata with every path of the table moved."""
        properties = dict(metadata.properties)
        for name in _FOLDERS:
            if name in properties and location.is_absolute(properties[name]):
                properties[name] = self.path(properties[name])
        snapshots = {
            number: snapshot
            if snapshot.manifest_list is None
            else replace(snapshot, manifest_list=self.path(snapshot.manifest_list))
            for number, snapshot in metadata.snapshots.items()
        }
        return replace(
            metadata,
            location=self.path(metadata.location),
            properties=properties,
            snapshots=snapshots,
            metadata_log=tuple(
                replace(entry, metadata_file=self.path(entry.metadata_file))
                for entry in metadata.metadata_log
            ),
            statistics=tuple(map(self._statistics, metadata.statistics)),
            partition_statistics=tuple(map(self._statistics, metadata.partition_statistics)),
        )

    def _statistics(self, file: Mapping[str, Any]) -> Mapping[str, Any]:
        return {**file, "statistics-path": self.path(str(file["statistics-path"]))}

    def entries(self, entries: Table, sizes: Mapping[str, int]) -> Table:
        """Return a manifest's entries with moved paths.

        `sizes` has the bytes of rewritten delete files. The bounds of the paths in a position
        delete file are moved if it refers to one path, otherwise left out.
        """
        names = entries.schema.names
        paths = entries.column("file_path")
        changed = {"file_path": self.paths(paths)}
        if "referenced_data_file" in names:
            changed["referenced_data_file"] = self.paths(entries.column("referenced_data_file"))
        if sizes:
            new = [sizes.get(path) for path in paths.to_pylist()]
            old = entries.column("file_size_in_bytes")
            changed["file_size_in_bytes"] = pc.coalesce(pa.array(new, pa.int64()), old)
            changed |= self._bounds(entries)
        for name, column in changed.items():
            index = names.index(name)
            entries = entries.set_column(index, entries.schema.field(index), column)
        return entries

    def _bounds(self, entries: Table) -> dict[str, Any]:
        """Return the bounds of delete files (a loop over files, which are few)."""
        lower, upper = (entries.column(n).to_pylist() for n in ("lower_bounds", "upper_bounds"))
        moved = [self._pair(*pair) for pair in zip(lower, upper, strict=True)]
        return {
            name: pa.array([pair[side] for pair in moved], entries.schema.field(name).type)
            for side, name in enumerate(("lower_bounds", "upper_bounds"))
        }

    def _pair(self, lower: Any, upper: Any) -> tuple[Any, Any]:
        low, high = _bound(lower), _bound(upper)
        if low is None and high is None:
            return lower, upper
        path = only_path(low, high)
        moved = None if path is None else self.path(path).encode()
        return _with_path(lower, moved), _with_path(upper, moved)


def _with_path(bounds: Any, path: bytes | None) -> list[dict[str, Any]]:
    """Return bounds with another path, or with none."""
    others = [bound for bound in bounds or () if bound["key"] != DELETE_FILE_PATH_ID]
    return others if path is None else [*others, {"key": DELETE_FILE_PATH_ID, "value": path}]


def _bound(bounds: Any) -> bytes | None:
    return next(
        (bound["value"] for bound in bounds or () if bound["key"] == DELETE_FILE_PATH_ID), None
    )
