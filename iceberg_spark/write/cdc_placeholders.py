"""Values that Debezium leaves out of an update because the source did not send them.

PostgreSQL keeps long values apart (TOAST) and leaves unchanged ones out of its log. Debezium puts
`unavailable.value.placeholder` in their place, in a form of the column's type.
Source: Debezium, "PostgreSQL connector", "Toasted values".
"""

from __future__ import annotations

import base64
import hashlib
import json
import uuid
from typing import Any

UNAVAILABLE = "__unavailable"
"""The column of changes with the names of the columns whose values were left out."""
PLACEHOLDER = "__debezium_unavailable_value"
_AS_HEX = "hex:"


class Placeholder:
    """Recognizes the placeholder: as text, binary text, a list of texts or bytes, a map."""

    def __init__(self, placeholder: str) -> None:
        raw = (
            bytes.fromhex(placeholder.removeprefix(_AS_HEX))
            if placeholder.startswith(_AS_HEX)
            else placeholder.encode()
        )
        text = raw.decode(errors="replace")
        # Java's UUID.nameUUIDFromBytes: the placeholder in uuid[]
        digest = uuid.UUID(bytes=hashlib.md5(raw, usedforsecurity=False).digest(), version=3)
        self._bytes = list(raw)
        self._texts = frozenset(
            {
                text,
                base64.b64encode(raw).decode(),
                base64.urlsafe_b64encode(raw).decode(),
                raw.hex(),
                json.dumps({text: text}, separators=(",", ":")),
                str(digest),
            }
        )

    def is_value(self, value: Any) -> bool:
        """Return whether a value of JSON is the placeholder."""
        match value:
            case str():
                return value in self._texts
            case [str() as text]:
                return text in self._texts
            case [int(), *_]:
                return bool(value == self._bytes)
            case dict() if len(value) == 1:
                return next(iter(value)) in self._texts
            case _:
                return False
