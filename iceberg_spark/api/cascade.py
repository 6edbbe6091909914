"""Drop a namespace with all that is in it (SQL: DROP NAMESPACE ... CASCADE)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

from iceberg_spark.catalog.catalog import Catalog, Name, Namespaces, Views
from iceberg_spark.errors import NamespaceNotEmptyError, NoSuchNamespaceError, UnsupportedError
from iceberg_spark.maintenance.drop import drop_table


def drop_with_all(catalog: Catalog, listed: Namespaces, namespace: Name) -> None:
    """Drop a namespace, those below it, and all of their tables and views; files stay.

    It first checks for anything that cannot be dropped. Raises NamespaceNotEmptyError for that,
    before anything is dropped, and NoSuchNamespaceError.
    """
    namespaces = list(_innermost_first(listed, namespace))
    for member in namespaces:
        stays = listed.what_stays(member)
        if stays is not None:
            raise NamespaceNotEmptyError(
                f"Namespace {'.'.join(member)} of catalog '{catalog.name}' can't be dropped with "
                f"CASCADE, and nothing was dropped: {stays}"
            )
    contents = [
        (member, listed.list_tables(member), _views(catalog, member)) for member in namespaces
    ]
    for member, tables, views in contents:
        for table in tables:
            drop_table(catalog, ".".join(table), purge=False)
        for of_catalog, name in views:
            of_catalog.drop(".".join(name))
        with suppress(NoSuchNamespaceError):  # some are there by what is in them alone
            listed.drop(member)


def _innermost_first(listed: Namespaces, namespace: Name) -> Iterator[Name]:
    for inner in listed.list_namespaces(namespace):
        yield from _innermost_first(listed, inner)
    yield namespace


def _views(catalog: Catalog, namespace: Name) -> list[tuple[Views, Name]]:
    views = catalog.views
    if views is None:
        return []
    try:
        return [(views, name) for name in views.list_views(namespace)]
    except UnsupportedError:  # a server without views
        return []
