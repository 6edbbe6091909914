"""Other limits than usual, for a test."""

from dataclasses import replace
from types import ModuleType

import pytest


def set_limits(
    monkeypatch: pytest.MonkeyPatch, module: ModuleType, name: str, **limits: int
) -> None:
    """Let a module use limits of which some are others."""
    monkeypatch.setattr(module, name, replace(getattr(module, name), **limits))
