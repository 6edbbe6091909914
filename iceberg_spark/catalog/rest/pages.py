"""Lists that a server sends in pages."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from iceberg_spark.catalog.rest.answers import NAMESPACE, Answer, LostAnswerError
from iceberg_spark.catalog.rest.session import RestSession
from iceberg_spark.catalog.rest.settings import PAGE_SIZE
from iceberg_spark.catalog.rest.transport import Request
from iceberg_spark.errors import UnsupportedError

_NEXT = "next-page-token"
_MOST_PAGES = 100_000
"""Pages of a list: ten million tables at a hundred. A hostile server always has another page."""


def pages(
    session: RestSession, path: str, query: Mapping[str, str], key: str, what: str
) -> Iterator[Any]:
    """Yield the members of a list, page after page.

    Raises NoSuchNamespaceError, UnsupportedError for a list that does not end.
    """
    size = session.config.settings.page_size
    token, seen = "", {""}
    for _ in range(_MOST_PAGES):
        parameters = {**query, **({"pageToken": token, "pageSize": str(size)} if size else {})}
        request = Request("GET", path, parameters)
        node = session.read(request, NAMESPACE, what, lambda answer: _page(answer, key))
        yield from node[key]
        token = node.get(_NEXT) or ""
        if token in seen:  # the last page, or a server that repeats a page
            return
        seen.add(token)
        query = {**query, "pageToken": token}
    raise UnsupportedError(
        f"Can't {what}: the server gave {_MOST_PAGES:,} pages and names another one; set "
        f"{PAGE_SIZE} to get larger ones"
    )


def _page(answer: Answer, key: str) -> dict[str, Any]:
    node = answer.node()
    if not isinstance(node.get(key), list):
        raise LostAnswerError(f"{answer.url} answered without a list of {key}")
    return node
