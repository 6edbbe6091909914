"""Add files that another writer wrote, together with a name mapping to read them by."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import pyarrow as pa
import pyarrow.compute as pc

from iceberg_spark.commits.action import ActionCommit
from iceberg_spark.commits.append import AppendFiles
from iceberg_spark.errors import InvalidInputError, ValidationException
from iceberg_spark.io import location
from iceberg_spark.io.file_io import FileIO
from iceberg_spark.scan.planner import plan
from iceberg_spark.scan.request import ScanRequest, scan_context
from iceberg_spark.spec.data_file import DataFile
from iceberg_spark.spec.metadata import TableMetadata
from iceberg_spark.spec.name_mapping import NameMapping, from_schema, parse, to_json
from iceberg_spark.spec.properties import DEFAULT_NAME_MAPPING
from iceberg_spark.spec.snapshot import Snapshot
from iceberg_spark.spec.updates import SetProperties


class AddFiles:
    """Append files without field ids, and set a name mapping if the table has none.

    Each attempt looks for the files in its base, so that two writers cannot both add a file. This
    raises InvalidInputError, unless `check_duplicate_files` is off. The files are described by the
    column names of `planned`. A base where these names mean other columns is a ValidationException.
    """

    def __init__(
        self,
        files: Sequence[DataFile],
        planned: TableMetadata,
        *,
        check_duplicate_files: bool = True,
        branch: str | None = None,
        snapshot_properties: Mapping[str, str] | None = None,
    ) -> None:
        self._files = tuple(files)
        self._mapping = _mapping_of(planned)
        self._checks = check_duplicate_files
        self._checked: Snapshot | None = None
        self._branch = branch
        self._append = AppendFiles(files, branch=branch, snapshot_properties=snapshot_properties)

    def validate(self, base: TableMetadata, io: FileIO) -> None:
        """Check nothing: `prepare` also sees the files that earlier actions added."""

    def prepare(self, base: TableMetadata, io: FileIO) -> ActionCommit:
        """Return the updates that set the name mapping and append the files to this base."""
        self.check(base, io)
        mapping = _mapping_of(base)
        if mapping != self._mapping:
            raise ValidationException(
                f"Another commit changed the columns of {base.location}, and the files are read "
                "by the names of columns: look at the schema and add them again"
            )
        appended = self._append.prepare(base, io)
        if DEFAULT_NAME_MAPPING in base.properties:
            return appended
        named = SetProperties({DEFAULT_NAME_MAPPING: to_json(mapping)})
        return replace(appended, updates=(named, *appended.updates))

    def check(self, base: TableMetadata, io: FileIO) -> None:
        """Raise InvalidInputError if a file is a live data file of the branch.

        Does not check the same head of the branch twice.
        """
        head = base.branch_head(self._branch)
        if not self._checks or head is None or head == self._checked:
            return
        _check_not_there(base, io, self._branch, self._files)
        self._checked = head

    def clean_up(self, io: FileIO, committed: TableMetadata | None) -> None:
        """Remove manifests and manifest lists that the committed snapshot does not use."""
        self._append.clean_up(io, committed)


def _mapping_of(metadata: TableMetadata) -> NameMapping:
    """Return the name mapping by which files without field ids are read."""
    stored = metadata.properties.get(DEFAULT_NAME_MAPPING)
    return from_schema(metadata.schema) if stored is None else parse(stored)


def _check_not_there(
    metadata: TableMetadata, io: FileIO, branch: str | None, files: Sequence[DataFile]
) -> None:
    """Raise InvalidInputError if a file is a live data file of the branch.

    Source: PyIceberg's and Java's `check_duplicate_files`.
    """
    names_only = ScanRequest(branch=branch, selected_fields=(), metadata_columns=("_file",))
    paths = plan(metadata, io, scan_context(metadata, names_only)).files.column("file_path")
    names = pa.array({location.name(file.file_path) for file in files}, pa.string())
    alike = paths.filter(pc.is_in(pc.replace_substring_regex(paths, "^.*/", ""), names))
    there = {location.normalise(path) for path in alike.to_pylist()}
    twice = [file.file_path for file in files if location.normalise(file.file_path) in there]
    if twice:
        raise InvalidInputError(
            f"File {twice[0]} is a data file of the table already"
            + (f", and {len(twice) - 1} others are" if len(twice) > 1 else "")
            + "; check_duplicate_files=False adds it again"
        )
