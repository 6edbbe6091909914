"""A store of objects as an Arrow file system for readers: files by ranges, and listings."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager
from typing import Any, Protocol

import pyarrow as pa
import pyarrow.fs as pafs

from iceberg_spark.io.file_io import FileInfo
from iceberg_spark.io.range_file import RangeFile, Ranges


class _Objects(Protocol):
    """The methods used of the store."""

    def find(self, paths: list[str]) -> dict[str, FileInfo]: ...
    def walk(self, key: str) -> Iterator[tuple[str, FileInfo]]: ...
    def folders(self, key: str) -> list[str]: ...
    def files(self, key: str) -> list[tuple[str, FileInfo]]: ...
    def ranges(self, key: str) -> Ranges: ...


class ObjectFiles(pafs.FileSystemHandler):  # type: ignore[misc]  # pyarrow ships no types
    """Reads objects; methods that change the store raise an error."""

    def __init__(self, objects: _Objects, errors: AbstractContextManager[None]) -> None:
        self._objects = objects
        self._errors = errors

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ObjectFiles) and self._objects == other._objects

    def __hash__(self) -> int:
        return hash(type(self))

    def get_type_name(self) -> str:
        """Return the name that Arrow shows."""
        return "objects"

    def normalize_path(self, path: str) -> str:
        """Return the path unchanged."""
        return path

    def open_input_file(self, path: str) -> pa.NativeFile:
        """Open an object for reading anywhere."""
        file = RangeFile(self._objects.ranges(path), self._errors)
        file.size()
        return pa.PythonFile(file, mode="r")

    def open_input_stream(self, path: str) -> pa.NativeFile:
        """Open an object for reading."""
        return self.open_input_file(path)

    def get_file_info(self, paths: list[str]) -> list[pafs.FileInfo]:
        """Return the kind of each path: an object, a folder, or nothing."""
        with self._errors:
            return [self._info(path) for path in paths]

    def get_file_info_selector(self, selector: pafs.FileSelector) -> list[pafs.FileInfo]:
        """Return the content of a folder."""
        root = selector.base_dir.rstrip("/")
        with self._errors:
            if selector.recursive:
                infos = [_file(f"{root}/{name}", info) for name, info in self._objects.walk(root)]
            else:
                infos = self._right_below(root)
        if not infos and not selector.allow_not_found:
            raise FileNotFoundError(root)
        return infos

    def _right_below(self, root: str) -> list[pafs.FileInfo]:
        names = self._objects.folders(root)
        folders = [pafs.FileInfo(f"{root}/{name}", pafs.FileType.Directory) for name in names]
        files = [_file(f"{root}/{name}", info) for name, info in self._objects.files(root)]
        return [*folders, *files]

    def _info(self, path: str) -> pafs.FileInfo:
        objects = self._objects.find([path])
        if path in objects:
            return _file(path, objects[path])
        is_folder = next(self._objects.walk(path), None) is not None
        return pafs.FileInfo(path, pafs.FileType.Directory if is_folder else pafs.FileType.NotFound)

    def _refuse(self, *_: Any, **__: Any) -> Any:
        raise NotImplementedError("this file system is for reading")

    create_dir = delete_dir = delete_dir_contents = delete_root_dir_contents = _refuse
    delete_file = move = copy_file = open_output_stream = open_append_stream = _refuse


def _file(path: str, info: FileInfo) -> pafs.FileInfo:
    return pafs.FileInfo(
        path, pafs.FileType.File, size=info.size, mtime_ns=info.modified_ms * 1_000_000
    )
