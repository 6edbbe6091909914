"""Which storage properties are secrets, and which of them Spark hides in a plan."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping

from iceberg_spark.errors import InvalidOptionError, redact
from iceberg_spark.spec.secrets import is_secret

_HIDDEN_BY_SPARK = re.compile(r"secret|password|token|access[.]?key", re.IGNORECASE)
"""The default of `spark.redaction.regex`: a data source runs in a process without the session,
and can't read the session's own expression."""
_VARIABLES = (
    "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AZURE_STORAGE_ACCOUNT_KEY",
    "AZURE_STORAGE_SAS_TOKEN", "AZURE_STORAGE_TOKEN", "AZURE_CLIENT_SECRET",
)  # fmt: skip
_SHORTEST_SECRET = 4  # shorter values are part of too many words


def shown_by_spark(options: Mapping[str, str]) -> tuple[str, ...]:
    """Return the names of secrets among options that Spark shows in plans and event logs."""
    return tuple(
        name
        for name, value in options.items()
        if is_secret(name, value) and _HIDDEN_BY_SPARK.search(name) is None
    )


def secrets_of(properties: Iterable[tuple[str, str]]) -> tuple[str, ...]:
    """Return the secret values among storage properties, the longest first."""
    secrets = (v for k, v in properties if len(v) >= _SHORTEST_SECRET and is_secret(k, v))
    return tuple(sorted(secrets, key=len, reverse=True))


def secrets_of_environment() -> tuple[str, ...]:
    """Return the secrets that the stores' clients take from environment variables."""
    return secrets_of((name, os.environ.get(name, "")) for name in _VARIABLES)


def blot(text: str, hidden: Iterable[str]) -> str:
    """Return a text with each hidden value, and passwords in URLs, replaced by stars."""
    for value in hidden:
        text = text.replace(value, "***")
    return redact(text)


def cause_without_secrets(error: BaseException, hidden: Iterable[str] = ()) -> BaseException | None:
    """Return an error as another's cause, None if a text in its own chain contains a secret.

    A traceback shows the full cause: a store's driver quotes the answer of the store, and S3
    repeats the session token of a request that it refuses.
    """
    values = tuple(hidden)
    chain: list[BaseException] = []
    link: BaseException | None = error
    while link is not None and link not in chain:
        chain.append(link)
        link = link.__cause__ or link.__context__
    texts = [f"{link} {link!r}" for link in chain]
    return error if all(blot(text, values) == text for text in texts) else None


def refuse_shown_secrets(options: Mapping[str, str]) -> None:
    """Refuse secrets that Spark would show: it writes options into its plan and event log.

    Options whose names match the default of `spark.redaction.regex` are allowed.
    """
    shown = shown_by_spark(options)
    if shown:
        what = "the location" if shown[0].lower() == "path" else f"option '{shown[0]}'"
        raise InvalidOptionError(
            f"A secret in {what} would be visible in Spark's plans and event log, since "
            "spark.redaction.regex does not hide it. Configure it for a catalog (.pyiceberg.yaml, "
            "PYICEBERG_CATALOG__*) or in the environment of the store's library, or call "
            "iceberg_spark.enable(spark): then options stay out of plans"
        )
