"""Texts that are not UTF-8, which Spark makes of any bytes: it reads and changes them as such."""

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import iceberg_spark as ice
from iceberg_spark.errors import CorruptFileError


@pytest.mark.parametrize("form", ["parquet", "orc"])
def test_both_engines_hand_them_on_as_they_are(
    any_spark: SparkSession, tmp_path: Path, form: str
) -> None:
    table = ice.create_table(
        str(tmp_path / "t"),
        "id bigint, v string, s struct<a: string>",
        properties={"write.format.default": form},
    )
    text = "cast(unhex('61FF') as string)"
    table.append(any_spark.range(3).selectExpr("id", f"{text} v", f"named_struct('a', {text}) s"))
    table.delete("id = 1")
    for engine in ("arrow", "auto"):
        shown = table.scan().to_df(any_spark, engine=engine).selectExpr("id", "hex(v)", "hex(s.a)")
        assert sorted(map(tuple, shown.collect())) == [(0, "61FF", "61FF"), (2, "61FF", "61FF")]
    with pytest.raises(CorruptFileError, match=r"Field 'v' of .* is not UTF-8"):
        table.scan().to_arrow()
