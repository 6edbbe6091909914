"""A new file of any store for writers, with every error converted to an IcebergError."""

from __future__ import annotations

from types import TracebackType
from typing import Any, Protocol, Self

from iceberg_spark.io.foreign_errors import named_errors


class Unfinished(Protocol):
    """A file that is being written, with the store's own errors."""

    @property
    def closed(self) -> bool:
        """Whether nothing more can be written."""
        ...

    def write(self, data: Any, /) -> int:
        """Write bytes."""
        ...

    def flush(self) -> None:
        """Write what is buffered."""
        ...

    def tell(self) -> int:
        """Return how many bytes were written."""
        ...

    def close(self) -> None:
        """Make the file durable; it is gone again where that fails."""
        ...

    def discard(self) -> None:
        """Leave no file behind, as far as the store allows it. Raises nothing of the store's."""
        ...


class NewFile:
    """A new file that is durable once closed, and gone if its `with` block or `close` fails.

    A full disk or a refused upload shows at any write, or at the close only: both raise
    StorageError naming the file.
    """

    __slots__ = ("_errors", "_file", "mode")

    def __init__(self, file: Unfinished, errors: named_errors) -> None:
        self._file = file
        self._errors = errors
        self.mode = "wb"

    @property
    def closed(self) -> bool:
        """Whether it was closed."""
        return self._file.closed

    def write(self, data: Any) -> int:
        """Write bytes. Raises StorageError."""
        with self._errors:
            return self._file.write(data)

    def flush(self) -> None:
        """Write what is buffered. Raises StorageError."""
        with self._errors:
            self._file.flush()

    def tell(self) -> int:
        """Return how many bytes were written."""
        with self._errors:
            return self._file.tell()

    def readable(self) -> bool:
        """Return False."""
        return False

    def writable(self) -> bool:
        """Return True."""
        return True

    def seekable(self) -> bool:
        """Return False."""
        return False

    def close(self) -> None:
        """Make the file durable. Raises StorageError, and leaves no half of it then."""
        with self._errors:
            self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if kind is None:
            self.close()
        else:
            self._file.discard()
