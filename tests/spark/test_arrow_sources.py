"""Arrow rows given to a merge are the frame's rows, however Arrow lays them out."""

from datetime import UTC, date, datetime, time
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import iceberg_spark as ice
from iceberg_spark.errors import InvalidInputError, InvalidSchemaError
from iceberg_spark.spark.adapt.arrow_rows import frame_of

CLOCK = datetime(2024, 3, 10, 2, 30)  # noqa: DTZ001 (a wall clock)
INSTANT = CLOCK.replace(tzinfo=UTC)
TIMES = pa.struct([("t", pa.timestamp("us", "UTC")), ("l", pa.list_(pa.string()))])
COLUMNS: dict[str, tuple[pa.DataType, list[Any]]] = {
    "id": (pa.int64(), [0, 1, 2, 3]),
    "st": (TIMES, [{"t": INSTANT, "l": ["a"]}, None, {"t": None, "l": None}, {"t": None, "l": []}]),
    "clocks": (pa.list_(pa.timestamp("us")), [[CLOCK], None, [], [CLOCK, None]]),
    "structs": (pa.list_(TIMES), [[{"t": INSTANT, "l": []}], None, [], [None]]),
    "m": (pa.map_(pa.string(), TIMES), [[("k", {"t": INSTANT, "l": []})], None, [], [("z", None)]]),
    "pairs": (pa.list_(pa.int32(), 2), [[1, 2], None, [3, 4], [5, 6]]),
    "texts": (pa.large_list(pa.string_view()), [["a"], None, [], ["d", None]]),
    "codes": (pa.dictionary(pa.int32(), pa.string()), ["a", None, "b", "a"]),
    "u8": (pa.uint8(), [1, None, 255, 3]),
    "u32": (pa.uint32(), [1, None, 2**32 - 1, 3]),
    "half": (pa.float16(), [1.0, None, 2.5, 3.0]),
    "day": (pa.date64(), [date(2024, 1, 1), None, date(1, 1, 1), None]),
    "at": (pa.time32("s"), [time(1), None, time(2), time(23, 59, 59)]),
    "bytes": (pa.binary_view(), [b"abc", None, b"", b"x"]),
    "ns": (pa.timestamp("ns"), [CLOCK, None, CLOCK, None]),
    "small": (pa.decimal32(5, 2), [Decimal("1.25"), None, Decimal(0), Decimal("0.01")]),
    "none": (pa.null(), [None] * 4),
}  # fmt: skip
ROWS = pa.table({name: pa.array(values, kind) for name, (kind, values) in COLUMNS.items()})


@pytest.mark.parametrize(
    "given",
    [
        ROWS,
        ROWS.slice(1, 2),
        pa.concat_tables([ROWS.slice(1), ROWS.slice(0, 1), ROWS.slice(0, 0)]),
        ROWS.slice(0, 0),
        pa.Table.from_batches([], ROWS.schema),
    ],
    ids=["whole", "slice", "slices", "no rows", "no batches"],
)
def test_a_frame_has_the_rows_of_any_arrow_table(spark: Any, given: pa.Table) -> None:
    expected = sorted(given.to_pylist(), key=lambda row: row["id"])
    assert frame_of(spark, given).orderBy("id").toArrow().to_pylist() == expected


def test_what_spark_can_not_hold_is_refused_by_name(spark: Any) -> None:
    for kind, error in ((pa.uint64(), InvalidSchemaError), (pa.timestamp("ns"), InvalidInputError)):
        with pytest.raises(error, match="odd"):
            frame_of(spark, pa.table({"odd": pa.array([1], kind)}))


def test_a_merge_takes_a_slice_and_a_reader_without_rows(spark: Any, tmp_path: Path) -> None:
    table = ice.create_table(str(tmp_path / "t"), "id bigint, l array<string>, n int")
    given = pa.table(
        {"id": [1, 2, 3], "l": [["a"], None, ["c"]], "n": pa.array([1, 2, 3], "uint8")}
    )
    none = pa.RecordBatchReader.from_batches(given.schema, [])
    for source in (given.slice(1), none):
        merge = table.merge(source, "t.id = s.id").when_matched_update_all()
        merge.when_not_matched_insert_all().execute()
    assert table.refresh().scan().to_arrow().to_pylist() == given.slice(1).to_pylist()
