"""Columns and values with `${...}`: Spark's parser would put a setting in their place."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import functions as sf

import iceberg_spark as ice
from iceberg_spark.spark.session.expressions import without_variables

NAME, VALUE = "${env:HOME}", "${env:PATH}"
MODES = {"2": "copy-on-write", "3": "merge-on-read"}
COLUMNS = ("id", NAME, "v", "s")


def row(key: int, name: str, v: str) -> dict[str, Any]:
    return {"id": key, NAME: name, "v": v, "s": {NAME: name}}


@pytest.fixture(params=MODES)
def table(request: pytest.FixtureRequest, tmp_path: Path) -> ice.Table:
    text, inner = pa.string(), pa.struct([(NAME, pa.string())])
    schema = pa.schema(list(zip(COLUMNS, (pa.int64(), text, text, inner), strict=True)))
    modes = {f"write.{verb}.mode": MODES[request.param] for verb in ("delete", "update", "merge")}
    properties = {"format-version": request.param, **modes}
    table = ice.create_table(str(tmp_path / "t"), schema, properties=properties)
    rows = [row(1, "a", "x"), row(2, VALUE, "y"), row(3, "c", "z")]
    table.append(pa.Table.from_pylist(rows, schema))
    return table


def rows(table: ice.Table) -> list[tuple[int, str, str]]:
    found = table.refresh().scan().to_arrow().sort_by("id").to_pylist()
    assert all(one["s"] == {NAME: one[NAME]} for one in found)
    return [(one["id"], one[NAME], one["v"]) for one in found]


def test_statements_change_tables_with_such_columns(any_spark: Any, table: ice.Table) -> None:
    place = f"`{table.location()}`"
    ice.sql(any_spark, f"UPDATE {place} SET v = upper(v) WHERE id + 1 = 2")
    assert rows(table) == [(1, "a", "X"), (2, VALUE, "y"), (3, "c", "z")]
    table.scan().to_df(any_spark).createOrReplaceTempView("given")
    merge = f"""MERGE INTO {place} t USING (SELECT * FROM given WHERE id < 3) u ON t.id = u.id + 1
                WHEN MATCHED AND t.id = 2 THEN UPDATE SET v = u.v WHEN MATCHED THEN UPDATE SET *
                WHEN NOT MATCHED BY SOURCE THEN DELETE"""
    ice.sql(any_spark, merge)
    assert rows(table) == [(2, VALUE, "X"), (2, VALUE, "y")]
    ice.sql(any_spark, f"INSERT INTO {place} SELECT * FROM given WHERE id = 3")
    ice.sql(any_spark, f"DELETE FROM {place} WHERE upper(v) = 'X'")
    assert rows(table) == [(2, VALUE, "y"), (3, "c", "z")]


def test_verbs_take_such_names_and_values(any_spark: Any, table: ice.Table) -> None:
    table.update({NAME: f"'{VALUE}'", f"s.`{NAME}`": f"'{VALUE}'"}, f"upper(`{NAME}`) = 'C'")
    assert rows(table)[2] == (3, VALUE, "z")
    source = table.scan("id = 1").to_df(any_spark).withColumn("v", sf.lit(VALUE))
    merge = table.merge(source, f"t.`{NAME}` = s.`{NAME}`")
    merge.when_matched_update_all().when_not_matched_insert_all().execute()
    assert rows(table)[0] == (1, "a", VALUE)
    table.delete(f"upper(`{NAME}`) = upper('{VALUE}')")
    assert rows(table) == [(1, "a", VALUE)]
    table.append(source)
    table.delete(ice.col(NAME) == "a")
    assert rows(table) == []


def test_a_statement_means_what_its_variables_are(any_spark: Any, table: ice.Table) -> None:
    place = f"`{table.location()}`"
    ice.sql(any_spark, f"UPDATE {place} SET v = '${{system:file.separator}}' WHERE id = 1")
    ice.sql(any_spark, f"UPDATE {place} SET v = '${{env:NO_SUCH_NAME}}' WHERE id = 2")
    assert [v for _, _, v in rows(table)] == ["/", "${env:NO_SUCH_NAME}", "z"]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("`${env:HOME}`", "a"),
        ("t . `${env:HOME}` -- ${env:HOME}", "a"),
        ("(s).`${env:HOME}`", "b"),
        ("array(s)[0].`${env:HOME}`", "b"),
        ("""concat('${env:HOME}', "'${env:HOME}")""", "${env:HOME}'${env:HOME}"),
        ("`it's \\ ${env:HOME}`", "c"),
        ("to_json(named_struct('${env:HOME}', 1))", '{"${env:HOME}":1}'),
        ("to_json(struct(1 AS `${env:HOME}'`))", '{"${env:HOME}\'":1}'),
    ],
)
def test_a_text_without_variables_means_the_same(any_spark: Any, text: str, value: str) -> None:
    columns = [
        sf.lit("a").alias(NAME),
        sf.struct(sf.lit("b").alias(NAME)).alias("s"),
        sf.lit("c").alias("it's \\ ${env:HOME}"),
    ]
    frame = any_spark.range(1).select(*columns).alias("t")
    safe = without_variables(text)
    assert "${" not in safe
    assert [tuple(one) for one in frame.select(sf.expr(safe)).collect()] == [(value,)]
