"""The interface of every writer of one file, and the table properties that it obeys."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

import pyarrow as pa

from iceberg_spark.errors import InvalidOptionError
from iceberg_spark.formats.metrics import Metrics


@dataclass(frozen=True, slots=True)
class WrittenFile:
    """A finished file: bytes, metrics, and where it may be split."""

    size: int
    metrics: Metrics
    split_offsets: tuple[int, ...] | None = None


class FileWriter(Protocol):
    """An open file of one format; rows are tables of `arrow.schema.to_arrow(schema)`."""

    @property
    def bytes_written(self) -> int:
        """Bytes that are in the file so far."""
        ...

    def write(self, table: pa.Table) -> None:
        """Encode a table; in Parquet it becomes one row group."""
        ...

    def close(self) -> WrittenFile:
        """Finish and close the file, durably."""
        ...

    def abort(self) -> None:
        """Give the file up; whoever opened it deletes it."""
        ...


_DATA, _DELETES = "write.", "write.delete."


@dataclass(frozen=True, slots=True)
class WriterProperties:
    """Properties under `write.` (data) or, where set, `write.delete.` (delete files).

    Every getter raises InvalidOptionError naming the property whose value is bad. Source:
    Java's TableProperties.
    """

    properties: Mapping[str, str]
    deletes: bool = False

    def name(self, key: str) -> str:
        """Return the full name of the property that decides about `key`."""
        full = f"{_DELETES}{key}"
        return full if self.deletes and full in self.properties else f"{_DATA}{key}"

    def text(self, key: str, default: str) -> str:
        """Return a property's value, or the default."""
        return self.properties.get(self.name(key), default)

    def codec(self, file_format: str, default: str, names: Mapping[str, str]) -> str:
        """Return the library's name of the compression codec of a format."""
        key = f"{file_format}.compression-codec"
        text = self.text(key, default)
        name = names.get(text.strip().lower())
        if name is None:
            raise InvalidOptionError(
                f"{self.name(key)}: unknown codec '{text}'; use one of {', '.join(sorted(names))}"
            )
        return name

    def optional_int(self, key: str) -> int | None:
        """Return a whole number, None where the property is not set."""
        text = self.properties.get(self.name(key))
        if text is None or text.strip().lower() in ("", "null"):
            return None
        try:
            return int(text)
        except ValueError:
            raise InvalidOptionError(f"{self.name(key)}: '{text}' is not a whole number") from None

    def is_on(self, key: str) -> bool:
        """Return whether a property is true; it is false where it is not set."""
        text = self.text(key, "false").strip().lower()
        if text not in ("true", "false"):
            raise InvalidOptionError(f"{self.name(key)}: '{text}' is neither true nor false")
        return text == "true"

    def positive_int(self, key: str, default: int) -> int:
        """Return an integer above 0, or the default."""
        value = self.optional_int(key)
        if value is None:
            return default
        if value <= 0:
            raise InvalidOptionError(f"{self.name(key)}: {value} is not above 0")
        return value
