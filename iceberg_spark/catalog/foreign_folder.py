"""What a folder without an Iceberg table contains, by a few short listings.

Used only if a table was not found or is to be created.
"""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import pyarrow.fs as pafs

from iceberg_spark.catalog.metadata_file import METADATA_FOLDER
from iceberg_spark.catalog.versions import newest_version
from iceberg_spark.errors import InvalidInputError, StoragePermissionError, UnsupportedError
from iceberg_spark.io import location
from iceberg_spark.io.file_io import FileIO
from iceberg_spark.io.foreign_errors import named_errors
from iceberg_spark.spec.secrets import check_place

_OWN = (METADATA_FOLDER, "data")
_CHOICES = ("branch_", "tag_", "snapshot_id_", "at_timestamp_")
_MARKS = {"_delta_log": "a Delta table", ".hoodie": "a Hudi table"}
_KINDS = {
    ".parquet": "Parquet", ".parq": "Parquet", ".orc": "ORC", ".avro": "Avro", ".csv": "CSV",
    ".json": "JSON", ".jsonl": "JSON", ".ndjson": "JSON",
}  # fmt: skip
_TAKEN = ("Parquet", "ORC", "Avro")
_PACKED = (".gz", ".bz2", ".zst", ".snappy", ".lz4")
_DEPTH = 4
_NAMED = 5


@dataclass(frozen=True, slots=True)
class ForeignFolder:
    """What is at a location, and what the user can do, each as part of a sentence.

    `is_data`: it holds other rows. `is_owned`: a table, of Iceberg or another format, owns every
    file in it.
    """

    what: str
    advice: str
    is_data: bool = False
    is_owned: bool = False

    def __str__(self) -> str:
        return f"it is {self.what}: {self.advice}"


def foreign_folder(io: FileIO, folder: str) -> ForeignFolder | None:
    """Describe a location without a table, None if it contains nothing known.

    Never fails: returns None for a store that cannot be listed.
    """
    try:
        return _inside(io, folder) or _look(io, folder)
    except Exception:  # noqa: BLE001 - a driver's own errors too: this adds to a message only
        return None


def check_free(io: FileIO, folder: str, *, requested: bool) -> None:
    """Refuse to create a table where another table or its data is.

    Refuses a location that holds a secret before any access. `requested` says that the user asked
    for the new table. A save that would create a table implicitly is also refused next to plain
    data files, whose rows the table would not show.

    Raises:
        InvalidInputError: the location is in use, or holds a secret.
        StorageError: a store fails, so the location may be in use.
    """
    check_place(folder)
    with suppress(StoragePermissionError, UnsupportedError):  # a server may create it
        _refuse_taken(io, folder, requested=requested)


def _refuse_taken(io: FileIO, folder: str, *, requested: bool) -> None:
    with named_errors("list", folder, location.store_of(folder)):
        foreign = _inside(io, folder) or _look(io, folder)
    if foreign is not None and (foreign.is_owned or (foreign.is_data and not requested)):
        raise InvalidInputError(
            f"No Iceberg table is at {folder}, and none is made there, for it is {foreign.what}. "
            f"Choose another location, or {foreign.advice}"
        )


def _inside(io: FileIO, folder: str) -> ForeignFolder | None:
    """Describe a table's own `data` or `metadata` folder or one below, and names of branches."""
    parts = folder.rstrip("/").split("/")
    above = "/".join(parts[:-1])
    if parts[-1].startswith(_CHOICES) and above and _is_table(io, above):
        what = f"what a branch or version of the table {above} is called"
        return ForeignFolder(what, "choose that by an option, or in SQL", is_owned=True)
    for depth in range(len(parts) - 1, 2 if "://" in folder else 0, -1):  # never up to a bucket
        table = "/".join(parts[:depth])
        if parts[depth] in _OWN and table and _is_table(io, table):
            what = f"in the folder '{parts[depth]}' of the table {table}"
            return ForeignFolder(what, "give that table's location", is_owned=True)
    name, hash_mark, shown = folder.rpartition("#")
    if hash_mark and name and _is_table(io, name):
        advice = f"load {name}, then t.inspect.{shown}(), or use spark.read...load(...)"
        return ForeignFolder(f"the metadata table '{shown}' of {name}", advice)
    return None


def _is_table(io: FileIO, folder: str) -> bool:
    """Return whether a table is there; False if a folder above the user's own cannot be read."""
    try:
        return newest_version(io, folder) is not None
    except StoragePermissionError:
        return False


def _look(io: FileIO, folder: str) -> ForeignFolder | None:
    files, path = _file_system(io, folder)
    here = _entries(files, path)
    if here is None:
        return _one_file(files.get_file_info(path))
    for mark, what in _MARKS.items():
        if any(entry.base_name == mark for entry in here):
            advice = f"read it with Spark's {what.split()[1]} package, and write its rows here"
            return ForeignFolder(what, advice, is_data=True, is_owned=True)
    tables = _tables(io, files, folder, here)
    if tables:
        advice = f"give one of them: {', '.join(tables)}"
        return ForeignFolder("a folder of tables", advice)
    return _files_below(files, here)


def _file_system(io: FileIO, folder: str) -> tuple[pafs.FileSystem, str]:
    """Return a file system that lists a folder; `io.arrow` refuses local folders."""
    if location.is_local(folder):
        return pafs.LocalFileSystem(), location.strip_scheme(folder)
    return io.arrow(folder)


def _entries(files: pafs.FileSystem, path: str) -> list[Any] | None:
    """Return the entries of a folder, None for a file."""
    if files.get_file_info(path).type == pafs.FileType.File:
        return None
    infos = files.get_file_info(pafs.FileSelector(path, allow_not_found=True))
    return sorted(infos, key=lambda info: str(info.path))


def _one_file(info: Any) -> ForeignFolder | None:
    kind = _kind(info.base_name)
    if kind is None:
        return ForeignFolder("a file", "give the location of a table, which is a folder")
    return ForeignFolder(f"one {kind} file", _advice(kind, "its rows"), is_data=True)


def _tables(io: FileIO, files: pafs.FileSystem, folder: str, here: list[Any]) -> list[str]:
    """Return names of tables directly in a folder; checks only a few of its folders."""
    folders = [entry for entry in here if entry.type == pafs.FileType.Directory]
    tables = []
    for entry in folders[:_NAMED]:
        metadata = files.get_file_info(f"{entry.path.rstrip('/')}/{METADATA_FOLDER}")
        below = location.join(folder, entry.base_name)
        if metadata.type == pafs.FileType.Directory and newest_version(io, below) is not None:
            tables.append(below)
    return tables


def _files_below(files: pafs.FileSystem, here: list[Any]) -> ForeignFolder | None:
    """Return data files by their names, here or in the first Hive-style folders."""
    columns: list[str] = []
    for _ in range(_DEPTH):
        kinds = Counter(kind for entry in here if (kind := _kind(entry.base_name)) is not None)
        if kinds:
            kind = kinds.most_common(1)[0][0]
            what = f"a folder of {kind} files"
            if columns:
                what += f" in Hive-style folders of {', '.join(columns)}"
            return ForeignFolder(what, _advice(kind, "their rows"), is_data=True)
        parts = [
            entry for entry in here if "=" in entry.base_name and _kind(entry.base_name) is None
        ]
        if not parts:
            return None
        columns.append(str(parts[0].base_name).partition("=")[0])
        here = _entries(files, parts[0].path) or []
    return None


def _kind(name: str) -> str | None:
    lower = name.lower()
    if lower.startswith(("_", ".")):
        return None
    for packed in _PACKED:
        lower = lower.removesuffix(packed)
    return next((kind for ending, kind in _KINDS.items() if lower.endswith(ending)), None)


def _advice(kind: str, what: str) -> str:
    read = f"read it with spark.read.{kind.lower()}"
    if kind == "Avro":
        read = "read it with spark.read.format('avro')"
    if kind in _TAKEN:
        creation = "or make a table with ice.create_table(...)"
        return f"{read}, {creation} and take it in by t.add_files(...), which copies nothing"
    return f"{read}, and append {what} to a table"
