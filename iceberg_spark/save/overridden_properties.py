"""Table properties that the options of a write stand in for."""

from __future__ import annotations

from collections.abc import Mapping

from iceberg_spark.spec import properties as names
from iceberg_spark.spec.arguments import boolean_option, choice_option, positive_option

_FORMATS = ("parquet", "orc", "avro")
_DISTRIBUTION_MODES = (
    names.WRITE_DISTRIBUTION_MODE,
    names.DELETE_DISTRIBUTION_MODE,
    names.UPDATE_DISTRIBUTION_MODE,
    names.MERGE_DISTRIBUTION_MODE,
)
_CODECS = tuple(
    f"write.{kind}{file_format}.compression-codec"
    for kind in ("", "delete.")
    for file_format in _FORMATS
)
_LEVELS = ("write.parquet.compression-level", "write.delete.parquet.compression-level")


def overridden_properties(options: Mapping[str, str]) -> dict[str, str]:
    """Return table properties with the values of options, whose names are in lower case.

    Raises InvalidOptionError for a bad value.

    >>> overridden_properties({"delete-granularity": "partition"})
    {'write.delete.granularity': 'partition'}
    """
    _check(options)
    properties_of = {
        "delete-format": (names.DELETE_DEFAULT_FILE_FORMAT,),
        "target-delete-file-size-bytes": (names.DELETE_TARGET_FILE_SIZE_BYTES,),
        "delete-granularity": (names.DELETE_GRANULARITY,),
        "advisory-partition-size": (names.ADVISORY_PARTITION_SIZE_BYTES,),
        "shred-variants": (names.PARQUET_SHRED_VARIANTS,),
        "variant-inference-buffer-size": (names.PARQUET_VARIANT_INFERENCE_ROWS,),
        "distribution-mode": _DISTRIBUTION_MODES,
        "compression-codec": _CODECS,
        "compression-level": _LEVELS,
    }
    return {
        name: options[option]
        for option, properties in properties_of.items()
        if option in options
        for name in properties
    }


def _check(options: Mapping[str, str]) -> None:
    choice_option(options, "delete-format", _FORMATS)
    choice_option(options, "delete-granularity", names.CHOICES[names.DELETE_GRANULARITY])
    choice_option(options, "distribution-mode", names.CHOICES[names.WRITE_DISTRIBUTION_MODE])
    boolean_option(options, "shred-variants", default=False)
    for name in (
        "target-delete-file-size-bytes", "advisory-partition-size", "variant-inference-buffer-size"
    ):  # fmt: skip
        positive_option(options, name)
