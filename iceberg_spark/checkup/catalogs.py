"""Whether catalogs, and the stores of their warehouses, can be reached."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from iceberg_spark.catalog.catalog import Catalog
from iceberg_spark.catalog.filesystem import WAREHOUSE
from iceberg_spark.catalog.rest.rest_catalog import RestCatalog
from iceberg_spark.checkup.report import Finding, State
from iceberg_spark.errors import UnsupportedError
from iceberg_spark.io.storage import open_storage

_NO_TABLE = "iceberg_spark_doctor.no_table"


def first_line(error: BaseException) -> str:
    """Return the first line of an error's text, cut: traces of Java are long."""
    lines = str(error).strip().splitlines()
    return (lines[0] if lines else type(error).__name__)[:200]


def catalog_findings(
    name: str, load: Callable[[], Catalog], properties: Mapping[str, str], advice: str
) -> Iterator[Finding]:
    """Yield whether a catalog answers, and whether its warehouse can be read.

    Args:
        name: The name of the catalog.
        load: Loads the catalog.
        properties: Its properties. A `warehouse` that is a location is tried, but not that of a
            REST catalog.
        advice: Where its properties come from.
    """
    what = f"catalog {name}"
    try:
        catalog = load()
        catalog.table_exists(_NO_TABLE)
    except UnsupportedError as error:
        yield Finding(what, State.NOTE, first_line(error))
        return
    except Exception as error:  # noqa: BLE001 - an error of any client is a finding
        yield Finding(what, State.WRONG, first_line(error), advice)
        return
    yield Finding(what, State.OK, "reachable")
    warehouse = properties.get(WAREHOUSE, "")
    # A REST server gives credentials with each table, and its warehouse may be a name.
    if "/" in warehouse and not isinstance(catalog, RestCatalog):
        yield _store_finding(f"store of {name}", warehouse, properties)


def _store_finding(what: str, warehouse: str, properties: Mapping[str, str]) -> Finding:
    try:
        open_storage(properties).exists(f"{warehouse.rstrip('/')}/{_NO_TABLE}")
    except Exception as error:  # noqa: BLE001 - an error of any client is a finding
        advice = "look at the storage properties (s3.endpoint, s3.access-key-id, ...)"
        return Finding(what, State.WRONG, first_line(error), advice)
    return Finding(what, State.OK, "reachable")
