"""The read options of a table in a query: which snapshot to read, and how to split tasks."""

from __future__ import annotations

from collections.abc import Mapping

from iceberg_spark.errors import InvalidOptionError
from iceberg_spark.scan.change_bounds import CHANGE_TIMES, is_changes, refuse_change_times
from iceberg_spark.scan.read_options import ReadOptions, read_options
from iceberg_spark.spark.sql.references import TableReference

_SAID_BY_THE_QUERY = {
    "path": "name the table",
    "row-filter": "say it in WHERE",
    "columns": "name them in SELECT",
    "metadata-columns": "name them in SELECT",
    "case-sensitive": "set spark.sql.caseSensitive",
    "time-zone": "set spark.sql.session.timeZone",
    "pushdown": "conditions of the query choose files already",
}


def parse_query_options(
    reference: TableReference,
    selector: str | None,
    time_zone: str | None,
    defaults: Mapping[str, str],
) -> ReadOptions:
    """Parse the options of `WITH (...)`; timestamps are in the time zone of the session.

    `defaults` are the options that the session's settings define.

    Raises InvalidOptionError for an unknown option, and for one that a query replaces by a clause.
    """
    options = dict(reference.options)
    if len({name.lower() for name in options}) < len(options):
        raise InvalidOptionError("An option is there twice, in two spellings: leave one out")
    for name in options:
        if name.lower() in _SAID_BY_THE_QUERY:
            raise InvalidOptionError(
                f"Option '{name}' is not for a query: {_SAID_BY_THE_QUERY[name.lower()]}"
            )
    if not is_changes(selector):
        refuse_change_times(options)
    zone = {} if time_zone is None else {"time-zone": time_zone}
    all_options = {**defaults, **zone, **options, "path": reference.name}
    parsed = read_options(all_options, plain=False, others=CHANGE_TIMES)
    if parsed.storage:
        name = next(iter(parsed.storage))
        raise InvalidOptionError(f"Option '{name}' is not for a query: give it to the catalog")
    return parsed
