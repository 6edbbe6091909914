"""Arrow tables as pandas frames."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from iceberg_spark.errors import UnsupportedError


def pandas_frame(rows: pa.Table) -> Any:
    """Return rows as a `pandas.DataFrame`.

    pyarrow converts no UUID and no fixed binary within a list. There they become bytes.

    Raises:
        UnsupportedError: pandas is not installed.
    """
    fields = [field.with_type(_convertible(field.type, in_list=False)) for field in rows.schema]
    schema = pa.schema(fields, rows.schema.metadata)
    convertible = rows if schema.types == rows.schema.types else rows.cast(schema)
    try:
        return convertible.to_pandas()
    except ImportError as error:
        raise UnsupportedError(
            f"to_pandas() needs pandas ({error}): pip install 'pandas<3', which "
            "iceberg-spark[spark] has too, or call to_arrow()"
        ) from error


def _convertible(kind: pa.DataType, *, in_list: bool) -> pa.DataType:
    """Return the type to convert from; `in_list` is for elements of lists and maps."""
    if pa.types.is_struct(kind):
        return pa.struct([_convertible_field(field, in_list=in_list) for field in kind])
    if pa.types.is_map(kind):
        key, value = kind.key_field, kind.item_field
        return pa.map_(
            _convertible_field(key, in_list=True), _convertible_field(value, in_list=True)
        )
    if pa.types.is_list(kind):
        return pa.list_(_convertible_field(kind.value_field, in_list=True))
    is_fixed = pa.types.is_fixed_size_binary(kind) or kind == pa.uuid()
    return pa.binary() if is_fixed and in_list else kind


def _convertible_field(field: pa.Field, *, in_list: bool) -> pa.Field:
    return field.with_type(_convertible(field.type, in_list=in_list))
