"""Bounds of the fields that our Parquet writer shreds (specification: "Bounds for Variant")."""

import datetime as dt
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import iceberg_spark as ice
from iceberg_spark.arrow.variant.bounds import BoundsReader, FieldBound, ValueKind
from iceberg_spark.arrow.variant.encode import NULL, array_of, encode, object_of
from iceberg_spark.arrow.variant_layout import VARIANT

SHREDDED = {"format-version": "3", "write.parquet.shred-variants": "true"}
TEN, TWENTY = encode(pa.array([10, 20])).to_pylist()
TEXT = encode(pa.array(["x"])).to_pylist()[0]


def variants(*objects: dict[str, bytes] | bytes | None) -> pa.Array:
    """Objects of encoded values, other values, and nulls."""
    rows = []
    for one in objects:
        if one is None:
            rows.append(None)
            continue
        if isinstance(one, bytes):
            rows.append({"metadata": b"\x01\x00\x00", "value": one})
            continue
        keys = [key.encode() for key in sorted(one)]
        ends = [sum(map(len, keys[:at])) for at in range(len(keys) + 1)]
        metadata = bytes((0x11, len(keys), *ends)) + b"".join(keys)
        value = object_of(list(range(len(keys))), [one[key] for key in sorted(one)])
        rows.append({"metadata": metadata, "value": value})
    return pa.array(rows, VARIANT)


def bounds(
    tmp_path: Path, appended: Sequence[pa.Array], key: str = "a", **properties: str
) -> tuple[FieldBound | None, FieldBound | None]:
    """The bounds of a field of a file, to which row groups come one by one."""
    table = ice.create_table(
        str(tmp_path / "t"), "id bigint, v variant", properties=SHREDDED | properties
    )
    chunks = pa.chunked_array(list(appended), VARIANT)
    table.append(pa.table({"id": pa.array(range(len(chunks)), pa.int64()), "v": chunks}))
    (row,) = table.refresh().inspect.files().to_pylist()
    found = [dict(row[name]).get(2) for name in ("lower_bounds", "upper_bounds")]
    reader = BoundsReader()
    low, high = (None if one is None else reader.bound(one, (key,)) for one in found)
    return low, high


def whole(value: int) -> FieldBound:
    return FieldBound(ValueKind.INTEGER, value)


def test_a_shredded_field_has_the_least_and_the_greatest_value(tmp_path: Path) -> None:
    first, second = variants({"a": TEN}, {"a": TWENTY}), variants({"a": TEN})
    assert bounds(tmp_path, [first, second]) == (whole(10), whole(20))


NO_MATTER = {
    "null": variants({"a": TEN}, {"a": NULL}, {"a": TWENTY}),
    "missing": variants({"a": TEN}, {"b": TEXT}, {"a": TWENTY}),
    "not a variant": variants({"a": TEN}, None, {"a": TWENTY}),
    "no object": variants({"a": TEN}, TEXT, array_of([TEXT]), {"a": TWENTY}),
    "others": variants({"a": TEN, "b": TEXT}, {"a": TWENTY, "b": TEN}),
}


@pytest.mark.parametrize("case", NO_MATTER)
def test_what_has_no_value_of_the_field_does_not_matter(tmp_path: Path, case: str) -> None:
    assert bounds(tmp_path, [NO_MATTER[case]]) == (whole(10), whole(20))


def test_a_field_with_a_value_of_another_type_has_no_bounds(tmp_path: Path) -> None:
    """It comes after the rows by which the file's columns are chosen."""
    rows = variants({"a": TEN}, {"a": TWENTY}, {"a": TEXT})
    few = {"write.parquet.variant-inference-buffer-size": "2"}
    assert bounds(tmp_path, [rows], **few) == (None, None)


def test_a_field_with_nan_has_no_bounds_and_zeros_have_signs(tmp_path: Path) -> None:
    numbers = [float("nan"), 1.0, -0.0, 0.0]
    values = [{"a": one} for one in encode(pa.array(numbers)).to_pylist()]
    assert bounds(tmp_path / "nan", [variants(*values)]) == (None, None)
    low, high = bounds(tmp_path / "zeros", [variants(*values[2:])])
    assert str((low and low.value, high and high.value)) == "(-0.0, 0.0)"


def test_texts_are_cut_and_bounds_are_left_out_as_the_metrics_mode_says(tmp_path: Path) -> None:
    texts = encode(pa.array(["a text of its own", "\U0010ffff" * 17])).to_pylist()
    rows = variants(*({"a": one} for one in texts))
    key = "write.metadata.metrics.default"
    low = FieldBound(ValueKind.TEXT, "a text of its ow")
    assert bounds(tmp_path / "16", [rows]) == (low, None)
    high = FieldBound(ValueKind.TEXT, "\U0010ffff" * 17)
    least = FieldBound(ValueKind.TEXT, "a text of its own")
    assert bounds(tmp_path / "full", [rows], **{key: "full"}) == (least, high)
    assert bounds(tmp_path / "counts", [rows], **{key: "counts"}) == (None, None)
    assert bounds(tmp_path / "none", [rows], **{key: "none"}) == (None, None)


@pytest.mark.parametrize("key", ["it's", "a.b", "\\", "\n", "é", ""])
def test_any_key_is_found_again(tmp_path: Path, key: str) -> None:
    assert bounds(tmp_path, [variants({key: TEN})], key) == (whole(10), whole(10))


def test_dates_and_times_have_bounds_as_they_are_kept(tmp_path: Path) -> None:
    noon = dt.datetime(1969, 12, 31, 12, tzinfo=dt.UTC)
    arrays: list[tuple[pa.Array, Any, ValueKind]] = [
        (pa.array([noon.date()]), -1, ValueKind.DATE),
        (pa.array([noon], pa.timestamp("us", "UTC")), -43_200_000_000, ValueKind.INSTANT),
        (pa.array([noon.replace(tzinfo=None)], pa.timestamp("us")), -43_200_000_000,
         ValueKind.WALL_CLOCK),
        (pa.array([True]), True, ValueKind.FLAG),
    ]  # fmt: skip
    for number, (array, value, kind) in enumerate(arrays):
        rows = variants({"a": encode(array).to_pylist()[0]})
        found = bounds(tmp_path / str(number), [rows])
        assert found == (FieldBound(kind, value),) * 2


def test_files_that_are_not_shredded_have_none_and_other_columns_keep_theirs(
    tmp_path: Path,
) -> None:
    off = {"write.parquet.shred-variants": "false"}
    assert bounds(tmp_path / "off", [variants({"a": TEN})], **off) == (None, None)
    assert bounds(tmp_path / "on", [variants({"a": TEN})]) == (whole(10), whole(10))
    table = ice.load_table(str(tmp_path / "on" / "t"))
    (row,) = table.inspect.files().to_pylist()
    assert row["readable_metrics"]["id"]["upper_bound"] == 0
    assert json.dumps(row["readable_metrics"], default=str)


def test_a_column_of_nothing_before_it_moves_no_bounds(tmp_path: Path) -> None:
    columns = "u unknown, v variant, id bigint"
    table = ice.create_table(str(tmp_path / "t"), columns, properties=SHREDDED)
    rows = {"u": pa.nulls(1), "v": variants({"a": TEN}), "id": pa.array([7], pa.int64())}
    table.append(pa.table(rows))
    (row,) = table.refresh().inspect.files().to_pylist()
    assert sorted(dict(row["lower_bounds"])) == [2, 3]
    assert BoundsReader().bound(dict(row["lower_bounds"])[2], ("a",)) == whole(10)
