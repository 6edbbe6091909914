"""Arrow tables as pandas frames: values that pyarrow does not convert within lists."""

import uuid
from typing import Any

import pyarrow as pa
import pytest

from iceberg_spark.arrow.public_types import pandas_frame

UUID = uuid.UUID(int=7)
FIXED = pa.binary(16)


def test_a_uuid_column_has_uuids() -> None:
    stored = pa.array([UUID.bytes, None], FIXED)
    frame = pandas_frame(pa.table({"u": pa.ExtensionArray.from_storage(pa.uuid(), stored)}))
    assert frame["u"].tolist() == [UUID, None]


@pytest.mark.parametrize("element", [FIXED, pa.uuid()], ids=["fixed", "uuid"])
@pytest.mark.parametrize(
    ("of", "value", "expected"),
    [
        (pa.list_, lambda cell: [cell], [UUID.bytes]),
        (lambda kind: pa.map_(pa.string(), kind), lambda cell: [("k", cell)], [("k", UUID.bytes)]),
        (
            lambda kind: pa.list_(pa.struct([("x", kind)])),
            lambda cell: [{"x": cell}],
            [{"x": UUID.bytes}],
        ),
    ],
    ids=["list", "map", "struct in a list"],
)
def test_a_uuid_or_fixed_value_in_a_list_is_bytes(
    element: pa.DataType, of: Any, value: Any, expected: list[Any]
) -> None:
    rows = pa.table({"v": pa.array([value(UUID.bytes), None], of(FIXED))})
    frame = pandas_frame(rows.cast(pa.schema([("v", of(element))])))
    assert list(frame["v"][0]) == expected
    assert frame["v"][1] is None
