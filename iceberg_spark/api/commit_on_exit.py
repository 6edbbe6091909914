"""What the builders of changes share: a `with` block that ends well commits what was collected."""

from __future__ import annotations

from abc import ABC, abstractmethod
from types import TracebackType
from typing import Self


class CommitOnExit(ABC):
    """A builder as a context manager; what was committed in its block is not committed again."""

    __slots__ = ("_done",)

    def __init__(self) -> None:
        self._done = False

    @abstractmethod
    def commit(self) -> None:
        """Commit what was collected, and note that it is done."""

    @property
    def _state(self) -> str:
        return "committed" if self._done else "not committed"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if error is None and not self._done:
            self.commit()
