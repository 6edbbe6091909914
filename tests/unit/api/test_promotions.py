"""Columns whose type version 3 lets widen: old files, their bounds and partitions."""

import datetime as dt
from pathlib import Path

import pyarrow as pa
import pytest

import iceberg_spark as ice

DAYS = [dt.date(1969, 12, 31), dt.date(1970, 1, 2), None, dt.date(2200, 1, 1)]


@pytest.mark.parametrize("form", ["parquet", "orc", "avro"])
@pytest.mark.parametrize("kind", ["timestamp_ntz", "timestamp_ns"])
def test_a_date_becomes_a_timestamp_and_unknown_anything(
    tmp_path: Path, form: str, kind: str
) -> None:
    table = ice.create_table(
        str(tmp_path / "t"),
        "id bigint, d date, u unknown, st struct<d: date>",
        partition_by=["days(d)"],
        properties={"format-version": "3", "write.format.default": form},
    )
    inner = pa.array([{"d": DAYS[0]}, None, {"d": None}, {"d": DAYS[3]}])
    table.append(pa.table({"id": [1, 2, 3, 4], "d": pa.array(DAYS), "st": inner}))
    with table.refresh().update_schema() as update:
        update.update_column("d", kind).update_column("u", "string").update_column("st.d", kind)
    later = pa.array([dt.date(1970, 1, 2)]).cast(pa.timestamp("us"))
    table.refresh().append(pa.table({"id": [5], "u": ["x"], "d": later}))
    found = {
        condition: sorted(table.refresh().scan(condition).to_arrow()["id"].to_pylist())
        for condition in (
            "d >= '1970-01-02 00:00:00'",
            "d = '1970-01-02 00:00:00'",
            "d < '1970-01-01 00:00:00'",
            "u is null",
            "u = 'x'",
            "st.d > '2000-01-01 00:00:00'",
        )
    }
    assert list(found.values()) == [[2, 4, 5], [2, 5], [1], [1, 2, 3, 4], [5], [4]]


def test_days_beyond_nanoseconds_bound_all_that_they_hold(tmp_path: Path) -> None:
    table = ice.create_table(str(tmp_path / "t"), "d date", properties={"format-version": "3"})
    for day in (dt.date(9999, 1, 1), dt.date(2000, 1, 1)):
        table.append(pa.table({"d": pa.array([day])}))
    table.refresh().update_schema().update_column("d", "timestamp_ns").commit()
    assert table.refresh().scan("d = '2000-01-01 00:00:00'").count() == 1
    with pytest.raises(ice.errors.CorruptFileError, match=r"Column 'd' of .*timestamp_ns"):
        table.scan("d > '2001-01-01 00:00:00'").to_arrow()
