"""Columns of any name through every verb, both engines and both row-level modes."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import iceberg_spark as ice
from iceberg_spark.errors import InvalidSchemaError

FORMAT = "pyiceberg-lite"
NAMES = (
    "Odd.Name x", "a`b", "it's", 'say "x"', "naïve ☃", "select", "_metadata", "t", "s", "-", "1",
    "*", "c0", "k0", " ", "a.b.c", "x`", "x[0]", "a\\b", "{z}", "a\nb", "value",
    "__clause", "__action", "__source_row", "__merge_run", "__upsert_sequence", "__row1",
    "matched_row", "old", "new",
)  # fmt: skip
ODD = "Odd.Name x"
SCHEMA = pa.schema(
    [
        ("id", pa.int64()),
        *((name, pa.string()) for name in NAMES),
        ("st", pa.struct([(name, pa.string()) for name in NAMES])),
    ]
)


def q(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def rows(*numbers: int, of: str = "v") -> pa.Table:
    odd = [dict.fromkeys(NAMES, f"{of}{number}") for number in numbers]
    made = [{"id": n, **each, "st": each} for n, each in zip(numbers, odd, strict=True)]
    return pa.Table.from_pylist(made, schema=SCHEMA)


def read(table: Any, spark: Any = None) -> dict[int, Any]:
    scan = table.scan()
    found = scan.to_arrow() if spark is None else scan.to_df(spark).toArrow()
    return {row["id"]: row for row in found.to_pylist()}


@pytest.fixture(params=["copy-on-write", pytest.param("merge-on-read", marks=pytest.mark.slow)])
def table(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    modes = {f"write.{verb}.mode": request.param for verb in ("delete", "update", "merge")}
    return ice.create_table(
        str(tmp_path / "t"),
        SCHEMA,
        partition_by=[f"bucket(2, {q('a`b')})"],
        sort_order=[f"{q(ODD)} desc", f"st.{q('a.b.c')}"],
        properties=modes,
    )


def test_every_verb_takes_columns_of_any_name(spark: Any, table: Any) -> None:
    table.append(spark.createDataFrame(rows(1, 2, 3)), engine="arrow")
    table.append(spark.createDataFrame(rows(4, 5, 6)))
    expected = read_of(rows(1, 2, 3, 4, 5, 6))
    assert read(table) == read(table, spark) == expected

    sets = {q(name): f"upper({q(name)})" for name in NAMES}
    sets |= {f"st.{q(name)}": f"concat({q(name)}, st.{q(name)})" for name in NAMES}
    table.update(sets, where=f"{q(' ')} in ('v1', 'v4') and length(st.{q('a.b.c')}) = 2")
    for number in (1, 4):
        for name in NAMES:
            expected[number][name] = f"V{number}"
            expected[number]["st"][name] = f"v{number}v{number}"
    assert read(table, spark) == expected

    everything = " and ".join(f"lower({q(name)}) = 'v2'" for name in NAMES)
    table.delete(f"{everything} and st.{q('*')} = 'v2'")
    del expected[2]
    source = spark.createDataFrame(rows(3, 7, of="m"))
    (
        table.merge(source, f"t.id = s.id and t.{q(ODD)} <> s.{q(ODD)}")
        .when_matched_update({q(name): f"concat(t.{q(name)}, s.{q(name)})" for name in NAMES})
        .when_not_matched_insert_all()
        .execute()
    )
    for name in NAMES:
        expected[3][name] = "v3m3"
    expected |= read_of(rows(7, of="m"))
    assert read(table) == read(table, spark) == expected

    change = rows(8, of="v").set_column(0, "id", pa.array([8])).slice(0, 1)
    keyed = change.set_column(SCHEMA.get_field_index("a`b"), "a`b", pa.array(["v5"]))
    table.upsert(spark.createDataFrame(keyed), keys=[q("a`b")], order_by=[q(ODD)])
    del expected[5]
    expected |= read_of(keyed)
    table.overwrite(
        spark.createDataFrame(rows(9)), overwrite_filter=f"{q('it' + chr(39) + 's')} = 'v6'"
    )
    del expected[6]
    expected |= read_of(rows(9))
    assert read(table) == read(table, spark) == expected


def test_reads_and_the_source_s_options_take_quoted_names(spark: Any, table: Any) -> None:
    table.append(rows(1, 2, 3))
    location = table.location()
    scan = table.scan(selected_fields=(q(ODD), f"st.{q('a`b')}"), row_filter=f"{q('*')} = 'v2'")
    assert scan.to_arrow().to_pylist() == [{ODD: "v2", "st": {"a`b": "v2"}}]
    assert scan.to_df(spark).toArrow().to_pylist() == [{ODD: "v2", "st": {"a`b": "v2"}}]
    reader = spark.read.format(FORMAT).options(
        **{"columns": f"{q('a.b.c')},id", "row-filter": f"st.{q('*')} = 'v3'"}
    )
    assert [tuple(row) for row in reader.load(location).collect()] == [(3, "v3")]
    writer = spark.createDataFrame(rows(3, of="u")).coalesce(1).write.format(FORMAT).mode("append")
    writer.options(**{"write-mode": "upsert", "equality-fields": f"id,{q('a`b')}"}).save(location)
    said = q('say "x"')
    query = f"select x.st.{said} r, {q('1')} from `{location}` x where x.{q('{z}')} = 'u3'"
    assert [tuple(row) for row in ice.sql(spark, query).collect()] == [("u3", "u3")]


def test_names_that_differ_by_case_go_through_both_paths(spark: Any, tmp_path: Path) -> None:
    kind = pa.schema([("id", pa.int64()), ("Id", pa.int64()), ("v", pa.string())])
    table = ice.create_table(str(tmp_path / "t"), kind)
    data = pa.table([[1, 2], [3, 4], ["a", "b"]], schema=kind)
    frame = spark.createDataFrame(data)
    table.append(frame)
    table.upsert(frame.limit(2).coalesce(1), keys=["Id"], order_by=["v"])
    assert table.scan().to_arrow().sort_by("id") == data


def read_of(data: pa.Table) -> dict[int, Any]:
    return {row["id"]: row for row in data.to_pylist()}


def test_names_that_a_change_needs_itself_are_refused_before_it(spark: Any, tmp_path: Path) -> None:
    own = pa.table({"id": [1, 2], "__Iceberg_clause": [1, 2]})
    placed = pa.table({"id": [1, 2], "_File": ["a", "b"]})
    table = ice.create_table(str(tmp_path / "t"), own.schema)
    table.append(own)
    with pytest.raises(InvalidSchemaError, match="The table has column '__Iceberg_clause'"):
        table.merge(own, "t.id = s.id").when_matched_update_all().execute()
    with pytest.raises(InvalidSchemaError, match="The frame has column '__Iceberg_clause'"):
        table.upsert(spark.createDataFrame(own).coalesce(1), keys=["id"])
    plain = ice.create_table(str(tmp_path / "u"), pa.schema([("id", pa.int64())]))
    for source, named in ((own, "__Iceberg_clause"), (placed, "_File")):
        merge = plain.merge(spark.createDataFrame(source), "t.id = s.id")
        with pytest.raises(InvalidSchemaError, match=f"The source has column '{named}'"):
            merge.when_not_matched_insert_all().execute()
    assert len(table.snapshots()) == 1
    assert not plain.snapshots()
