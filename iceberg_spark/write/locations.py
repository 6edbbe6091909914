"""Locations of new data and delete files (Java's LocationProviders and OutputFileFactory)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import mmh3

from iceberg_spark.errors import InvalidOptionError, UnsupportedError
from iceberg_spark.io import location
from iceberg_spark.spec.data_file import FileFormat
from iceberg_spark.spec.partition import PartitionSpec
from iceberg_spark.spec.partition_path import partition_path
from iceberg_spark.spec.properties import (
    FOLDER_STORAGE_PATH,
    OBJECT_STORE_ENABLED,
    OBJECT_STORE_PARTITIONED_PATHS,
    OBJECT_STORE_PATH,
    WRITE_DATA_PATH,
    bool_property,
)
from iceberg_spark.spec.schema import Schema
from iceberg_spark.write.context import TaskId, WriteContext
from iceberg_spark.write.delete_files import DELETES

_PROVIDER = "write.location-provider.impl"
_REMOVED = (FOLDER_STORAGE_PATH, OBJECT_STORE_PATH)
_HASH_BITS, _FOLDER_BITS, _FOLDERS = 20, 4, 3


def check_locations(properties: Mapping[str, str]) -> None:
    """Raise for properties that put files where this library would not look for them."""
    if _PROVIDER in properties:
        raise UnsupportedError(
            f"The table's files are named by the Java class of property {_PROVIDER}: this library "
            "can't write to it"
        )
    for key in _REMOVED:
        if key in properties:
            raise InvalidOptionError(
                f"Table property {key} is no longer used; set {WRITE_DATA_PATH}"
            )


def data_folder(table_location: str, properties: Mapping[str, str]) -> str:
    """Return the folder of all data files, without a trailing slash."""
    default = f"{table_location.rstrip('/')}/data"
    return properties.get(WRITE_DATA_PATH, default).rstrip("/")


def file_name(context: WriteContext, task: TaskId, count: int, kind: FileFormat, end: str) -> str:
    """Return the name of a task's file number `count`; `end` follows the number."""
    stem = f"{task.partition:05d}-{task.attempt}-{context.write_id}-{count:05d}{end}"
    return f"{stem}.{kind.lower()}"


def file_location(
    context: WriteContext,
    spec: PartitionSpec,
    schema: Schema,
    partition: tuple[Any, ...],
    name: str,
) -> str:
    """Return the location of a partition's file: Hive-style folders, or hashed object storage."""
    properties = context.properties
    folder = data_folder(context.table_location, properties)
    below = partition_path(spec, schema, partition) if not spec.is_unpartitioned else ""
    if not bool_property(properties, OBJECT_STORE_ENABLED):
        return location.join(folder, below, name)
    with_partitions = bool_property(properties, OBJECT_STORE_PARTITIONED_PATHS)
    above = f"{below}/" if below and with_partitions else ""
    tail = f"{above}{name}"
    hashed = _hashed(f"{above}{_of_any_attempt(name, context.write_id)}")
    table = context.table_location.rstrip("/")
    if not folder.startswith(table):
        return f"{folder}/{hashed}/{'/'.join(table.split('/')[-2:])}/{tail}"
    between = "/" if with_partitions else "-"
    return f"{folder}/{hashed}{between}{tail}"


def _of_any_attempt(name: str, write_id: str) -> str:
    """Return the common part of a file's name in all attempts of a task.

    So the files of a retried task's first attempt are in the same folders as the final ones, where
    `remove_strays` finds them.
    """
    task, marker, number = name.partition(f"-{write_id}-")
    if not marker:
        return name
    return f"{task.split('-')[0]}{marker}{DELETES if DELETES in number else number}"


def _hashed(name: str) -> str:
    """Return 20 bits of the name's hash as folders, e.g. 1001/1001/1001/10011001."""
    bits = f"{mmh3.hash(name.encode(), 0, signed=False):032b}"[-_HASH_BITS:]
    cut = _FOLDER_BITS * _FOLDERS
    parts = [bits[start : start + _FOLDER_BITS] for start in range(0, cut, _FOLDER_BITS)]
    return "/".join([*parts, bits[cut:]])
