"""Which properties are secrets, and that none gets into a table's metadata.

Metadata is read by everybody who reads the table, and copied with it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from iceberg_spark.errors import InvalidInputError, InvalidOptionError, redact

_SECRET = re.compile(
    r"secret|password|passwd|token(?!-expires)|access.?key|account.?key|private.?key|credential"
    r"|connection.?string|(?:^|[._-])(?:sas|key)(?:$|[._-])|session-kwargs"
    r"|^header\..*(?:auth|cookie|signature)",
    re.IGNORECASE,
)
_NO_SECRET = re.compile(r"kms-key-id", re.IGNORECASE)  # using the key needs separate rights
_OF_STORAGE = ("s3.", "gcs.", "adls.", "hdfs.", "hf.", "client.", "catalog.")
_ADVICE = (
    "leave it out, and give credentials as storage properties (s3.secret-access-key=...), in a "
    "catalog's configuration (.pyiceberg.yaml, PYICEBERG_CATALOG__*) or in the environment of the "
    "store's library"
)


def is_secret(name: str, value: str = "") -> bool:
    """Return whether a property must never be shown: by its name, or a password in its URL."""
    by_name = _SECRET.search(name) is not None and _NO_SECRET.search(name) is None
    return by_name or redact(value) != value


def check_place(location: str) -> None:
    """Refuse to store a location with a password or a signature. Raises InvalidInputError."""
    if redact(location) != location:
        raise InvalidInputError(
            f"The location {location} contains a secret, which all readers of the table's metadata "
            f"could see: {_ADVICE}"
        )


def check_stored(properties: Mapping[str, str]) -> None:
    """Refuse table properties that contain secrets. Raises InvalidOptionError."""
    for name, value in properties.items():
        by_name = name.lower().startswith(_OF_STORAGE) and is_secret(name)
        if by_name or redact(value) != value:
            raise InvalidOptionError(
                f"Table property '{name}' contains a secret, which all readers of the table's "
                f"metadata could see: {_ADVICE}"
            )
