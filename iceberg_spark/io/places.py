"""Keys of locations: one key for all spellings of a file, links followed.

They show that a file is still used, so all spellings that may be one file share a key. Different
keys mean different files; two files of an object store may share one (`location.normalise`).
"""

from __future__ import annotations

import errno
import os
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from iceberg_spark.io import location
from iceberg_spark.io.foreign_errors import named_errors

Column: TypeAlias = Any  # pyarrow ships no types

_NOT_NAMES = ("", ".", "..")
_NO_FOLDER = (errno.ENOENT, errno.ENOTDIR, errno.ENAMETOOLONG, errno.ELOOP)


class Places:
    """Keys of locations; folders are resolved once: use an instance for one pass over a table."""

    __slots__ = ("_folders", "_links", "_real")

    def __init__(self) -> None:
        self._folders: dict[str, str] = {}
        self._real = RealPaths()
        self._links: dict[str, str] = {}  # keys of links to files, and of their targets

    def key(self, path: str) -> str:
        """Return the key of one location."""
        folder, slash, name = path.rpartition("/")
        if not slash or name in _NOT_NAMES:
            folder, _, name = location.normalise(path).rpartition("/")
        key = f"{self.folder(folder)}/{name}"
        return self._links.get(key, key)

    def keys(self, paths: Column) -> Column:
        """Return the keys of a column of locations: by folder, since files are many."""
        folders, names = split_paths(paths)
        encoded = folders.dictionary_encode()
        folder_keys = pa.array(
            [self.folder(folder) for folder in encoded.dictionary.to_pylist()], pa.string()
        )
        keys = pc.binary_join_element_wise(folder_keys.take(encoded.indices), names, "/")
        odd = pc.or_(
            pc.is_in(names, value_set=pa.array(_NOT_NAMES)),
            pc.invert(pc.match_substring(paths, "/")),
        )
        if self._links:
            links = pa.array(self._links, pa.string())
            odd = pc.or_(odd, pc.is_in(keys, value_set=links))
        if not pc.any(odd).as_py():
            return keys
        single = [self.key(path) for path in paths.filter(odd).to_pylist()]
        return pc.replace_with_mask(keys, odd, pa.array(single, pa.string()))

    def folder(self, folder: str) -> str:
        """Return the key of a folder."""
        key = self._folders.get(folder)
        if key is None:
            key = self._folders[folder] = self._resolved(folder)
        return key

    def _resolved(self, folder: str) -> str:
        normal = location.normalise(folder)
        kind = location.store_of(folder)
        if kind != location.LOCAL:
            return _without_host(normal) if kind in location.HADOOP else normal
        real = self._real.of(normal.removeprefix("file:"))
        for name, target in _linked_files(real).items():
            self._links[f"file:{real.rstrip('/')}/{name}"] = f"file:{target}"
        return f"file:{real.rstrip('/')}"


def _without_host(normal: str) -> str:
    """Return a Hadoop location without host: `hdfs:///a` and `hdfs://nn/a` may be one."""
    kind, _, rest = normal.partition("://")
    return f"{kind}:///{rest.partition('/')[2]}"


def _linked_files(folder: str) -> dict[str, str]:
    """Return the names in a local folder that are links, and their targets.

    Raises StorageError if that is unknown: a link must not be mistaken for a file.
    """
    try:
        with os.scandir(folder) as entries:
            return {e.name: os.path.realpath(e.path) for e in entries if e.is_symlink()}
    except ValueError:  # no name that could be one
        return {}
    except OSError as error:
        if error.errno in _NO_FOLDER:
            return {}
        with named_errors("list", folder, location.LOCAL):
            raise


class RealPaths:
    """Caches resolved folders: use an instance for one pass over a table."""

    __slots__ = ("_real_paths",)

    def __init__(self) -> None:
        self._real_paths: dict[str, str] = {}

    def of(self, path: str) -> str:
        """Return `os.path.realpath` of a path; cached unless it contains `.`, `..` or `//`."""
        if not path.startswith("/"):
            return os.path.realpath(path)
        real = self._real_paths.get(path)
        if real is None:
            real = self._real_paths[path] = self._followed(path)
        return real

    def _followed(self, path: str) -> str:
        above, _, name = path.rstrip("/").rpartition("/")
        if name in ("", ".", ".."):
            return os.path.realpath(path)
        child = f"{self.of(above or '/').rstrip('/')}/{name}"
        return os.path.realpath(child) if os.path.islink(child) else child


def split_paths(paths: Column) -> tuple[Column, Column]:
    """Return the parts of each location before and after its last slash.

    Both parts of a location without a slash are the location. Splitting at the slash takes a fifth
    of the time of regular expressions, which handle only locations without one.
    """
    if isinstance(paths, pa.Array) and not paths.null_count:
        parts = pc.split_pattern(paths, "/", max_splits=1, reverse=True).flatten()
        if len(parts) == 2 * len(paths):
            even = np.arange(0, len(parts), 2)
            return parts.take(pa.array(even)), parts.take(pa.array(even + 1))
    folders = pc.replace_substring_regex(paths, "(?s)/[^/]*$", "")
    return folders, pc.replace_substring_regex(paths, "(?s)^.*/", "")
