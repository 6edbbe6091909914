"""Table properties for the encoding of files, looked up for data or for delete files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from iceberg_spark.errors import InvalidOptionError

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
