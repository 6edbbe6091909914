"""The options of a stream that is written: those of a save, without Spark's own."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from iceberg_spark.errors import InvalidOptionError
from iceberg_spark.save.write_options import WriteOptions, check_is_written, write_options

_SPARKS_OWN = frozenset(("checkpointlocation", "queryname", "outputmode", "triggerinterval"))


def written_stream_options(
    options: Mapping[str, str],
    *,
    plain: bool = True,
    defaults: Mapping[str, str] = MappingProxyType({}),
) -> WriteOptions:
    """Parse the options of `writeStream`; `plain` and `defaults` as in `write_options`.

    Raises InvalidOptionError, also for a batch of an application: a stream is one itself.
    UnsupportedError for a metadata table.
    """
    ours = {key: value for key, value in options.items() if key.lower() not in _SPARKS_OWN}
    parsed = write_options(ours, plain=plain, defaults=defaults)
    if parsed.token is not None:
        raise InvalidOptionError(
            "Options 'txnAppId' and 'txnVersion' are for saves: a stream's batches land once by "
            "the id of its query, which its checkpoint keeps"
        )
    check_is_written(parsed.path)
    return parsed
