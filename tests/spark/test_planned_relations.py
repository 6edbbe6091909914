"""Relations that are given their files, each with values of its own, in place of listing them."""

import hashlib
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame, SparkSession

import iceberg_spark as ice
from iceberg_spark.spark.catalyst import planned_relations
from iceberg_spark.spark.catalyst.classic_frame import estimated_bytes
from iceberg_spark.spark.catalyst.planned_relations import gives_file_values
from iceberg_spark.spark.reading.parquet_files import RelationFiles, files_relation, mark_of
from iceberg_spark.spark.session import compiled_java
from iceberg_spark.spark.session.classic_session import is_connect, java_packages


def relation(spark: SparkSession, folder: Path, **values: list[Any]) -> DataFrame:
    """Three files of two rows each, the first with ids 0 and 1, and values of the files."""
    paths, sizes = [], []
    for number in range(3):
        path = folder / f"{number}.parquet"
        pq.write_table(pa.table({"id": [2 * number, 2 * number + 1]}), path)
        paths.append(f"file:{path}")
        sizes.append(path.stat().st_size)
    kinds = {"text": pa.string(), "number": pa.int32(), "long": pa.int64()}
    given = {name: pa.array(column, kinds[name]) for name, column in values.items()}
    files = RelationFiles(paths, sizes, [2, 2, 2], given)
    kind = spark.range(0).schema
    return files_relation(spark, kind, files, mark_of(kind, files))


def rows(frame: DataFrame) -> list[tuple[Any, ...]]:
    return sorted((tuple(row) for row in frame.collect()), key=repr)


def scanned(frame: DataFrame) -> int:
    """How many files a frame's scan reads."""
    frame.collect()
    plan = frame._jdf.queryExecution().executedPlan()
    (leaf,) = [plan.collectLeaves().apply(0)]
    return int(leaf.metrics().apply("numFiles").value())


def test_each_file_has_its_values(spark: SparkSession, tmp_path: Path) -> None:
    frame = relation(
        spark, tmp_path, text=["a'b", "ü c", "x\ty"], number=[7, None, -1], long=[2**40, 0, None]
    )
    assert rows(frame) == [
        (0, "a'b", 7, 2**40), (1, "a'b", 7, 2**40), (2, "ü c", None, 0), (3, "ü c", None, 0),
        (4, "x\ty", -1, None), (5, "x\ty", -1, None),
    ]  # fmt: skip


def test_filters_by_values_of_files_leave_files_out(spark: SparkSession, tmp_path: Path) -> None:
    frame = relation(spark, tmp_path, number=[7, None, 9])
    for condition, ids in (
        ("number = 9", [4, 5]),
        ("number is null", [2, 3]),
        ("number > 5 and number < 9", [0, 1]),
        ("number = 1", []),
    ):
        found = frame.where(condition).select("id")
        assert [row.id for row in found.collect()] == ids
        assert scanned(frame.where(condition).select("id")) == len(ids) / 2


def test_values_are_read_by_rows_as_in_batches(spark: SparkSession, tmp_path: Path) -> None:
    frame = relation(spark, tmp_path, text=["a", "b", "c"])
    expected = rows(frame)
    session = frame.sparkSession
    session.conf.set("spark.sql.parquet.enableVectorizedReader", "false")
    try:
        assert rows(relation(session, tmp_path, text=["a", "b", "c"])) == expected
    finally:
        session.conf.unset("spark.sql.parquet.enableVectorizedReader")


def test_refreshing_a_view_or_a_path_changes_nothing(spark: SparkSession, tmp_path: Path) -> None:
    """Spark's own index would list its files again, and forget their values."""
    frame = relation(spark, tmp_path, number=[7, 8, 9])
    expected = rows(frame)
    frame.createOrReplaceTempView("refreshed")
    cached = frame.where("id >= 0").cache()
    try:
        assert rows(cached) == expected
        spark.catalog.refreshTable("refreshed")
        spark.catalog.refreshByPath(str(tmp_path))
        assert rows(cached) == expected
        assert rows(spark.table("refreshed")) == expected
    finally:
        cached.unpersist()
        spark.catalog.dropTempView("refreshed")


def test_relations_of_other_values_are_not_the_same_to_spark(
    spark: SparkSession, tmp_path: Path
) -> None:
    """Or Spark would take what it has of one, cached or exchanged, for the other."""
    one = relation(spark, tmp_path, number=[7, 8, 9])
    same = relation(spark, tmp_path, number=[7, 8, 9])
    other = relation(spark, tmp_path, number=[1, 2, 3])
    assert one.sameSemantics(same) and not one.sameSemantics(other)
    one.cache()
    try:
        assert sorted(row.number for row in other.collect()) == [1, 1, 2, 2, 3, 3]
    finally:
        one.unpersist()


def test_a_value_is_joined_with_as_any_other_column(spark: SparkSession, tmp_path: Path) -> None:
    """Spark prunes files by what such a join's other side has while the query runs."""
    frame = relation(spark, tmp_path, number=[7, 8, 9])
    small = spark.createDataFrame([(8, "y"), (5, "n")], "number int, s string").where("s = 'y'")
    joined = frame.join(small, "number")
    assert rows(joined.select("id")) == [(2,), (3,)]


def forget_classes() -> None:
    compiled_java._object.cache_clear()
    compiled_java._compiled.cache_clear()


def test_a_class_that_is_compiled_again_is_another(spark: SparkSession, tmp_path: Path) -> None:
    """As where a notebook loads changed modules anew."""
    before = rows(relation(spark, tmp_path, number=[7, 8, 9]))
    forget_classes()
    assert rows(relation(spark, tmp_path, number=[7, 8, 9], long=[1, 2, 3])) == [
        (*row, 1 + number // 2) for number, row in enumerate(before)
    ]


def make_table(path: Path) -> ice.Table:
    properties = {"format-version": "3", "write.delete.mode": "merge-on-read"}
    table = ice.create_table(str(path), "id bigint, s string", properties=properties)
    for start in (0, 10, 20):
        table.append(pa.table({"id": range(start, start + 10), "s": [f"s{start}"] * 10}))
    table.delete("id in (3, 14, 15)")
    table.upsert(pa.table({"id": [7, 28], "s": ["new", "new"]}), keys=["id"])
    return table.refresh()


def test_a_spark_on_which_this_does_not_fit_joins_the_values(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = make_table(tmp_path / "t")
    names = ("_file", "_pos", "_row_id", "_last_updated_sequence_number", "_deleted")
    expected = rows(table.scan(metadata_columns=names).to_df(spark))
    monkeypatch.setattr(planned_relations, "compiled_object", lambda *_: None)
    assert not gives_file_values(spark)
    frame = table.scan(metadata_columns=names, engine="native").to_df(spark)
    assert rows(frame) == expected
    assert "file_size" in frame._jdf.queryExecution().toString()


def test_two_frames_of_one_plan_are_joined(spark: SparkSession, tmp_path: Path) -> None:
    table = make_table(tmp_path / "t")
    first, second = (table.scan(row_filter="id > 25").to_df(spark) for _ in range(2))
    pairs = first.join(second, first.id == second.id + 1).select(first.id, second.s).collect()
    assert sorted(map(tuple, pairs)) == [(27, "s20"), (28, "s20"), (29, "new")]


def test_both_kinds_of_sessions_agree(any_spark: Any, tmp_path: Path) -> None:
    table = make_table(tmp_path / "t")
    names = ["_file", "_pos", "_deleted", "_partition"]
    if not is_connect(any_spark):  # where the Arrow engine gives them
        names += ["_row_id", "_last_updated_sequence_number"]
    scan = table.scan(metadata_columns=names)
    native = scan.to_df(any_spark, engine="native")
    assert rows(native) == rows(scan.to_df(any_spark, engine="arrow"))
    assert native.where("_file like '%nothing%'").count() == 0
    first = min(row["_file"] for row in native.collect())
    assert {row["_file"] for row in native.where(f"_file = '{first}'").collect()} == {first}


def test_a_file_whose_name_is_in_the_way_of_no_uri(any_spark: Any, tmp_path: Path) -> None:
    for name in ("with blank", "per%20cent", "über", "a+b&c=d;e,f'g"):
        table = make_table(tmp_path / name)
        frame = table.scan(metadata_columns=("_file",)).to_df(any_spark, engine="native")
        assert {row["_file"] for row in frame.collect()} == {
            task.file_path for task in table.scan().plan_files()
        }


def test_a_relation_of_some_columns_says_what_they_take(
    spark: SparkSession, tmp_path: Path
) -> None:
    """Rows times the widths of their types, as Java says of a scan: joins are chosen by it."""
    place = str(tmp_path / "t")
    columns = (
        "id bigint, n int, m decimal(12,2), w decimal(30,2), s string, st struct<a: int, b: string>"
    )
    table = ice.create_table(place, columns)
    table.append(
        spark.range(1000).selectExpr(
            "id", "int(id) AS n", "cast(id AS decimal(12,2)) AS m",
            "cast(id AS decimal(30,2)) AS w",
            "string(id) AS s", "named_struct('a', int(id), 'b', string(id)) AS st",
        )
    )  # fmt: skip
    widths = {"id": 8, "n, m": 4 + 8, "w": 16, "id, st": 8 + (4 + 4)}
    for query, width in widths.items():
        said = estimated_bytes(ice.sql(spark, f"select {query} from `{place}`"))
        assert said == 1000 * width, query


def test_texts_say_what_they_take_in_files(spark: SparkSession, tmp_path: Path) -> None:
    """Of a few values a file has each once: such a table is broadcast that Java shuffles.

    A table of comments is not, though its rows would take as much as those by Spark's widths.
    """
    place = str(tmp_path / "t")
    table = ice.create_table(place, "id bigint, flag string, words string, st struct<b: string>")
    words = [hashlib.sha512(f"{row}".encode()).hexdigest() for row in range(5000)]
    flags = [f"a flag of {row % 3}" for row in range(5000)]
    inside = [{"b": word} for word in words]
    columns = {"id": range(5000), "flag": flags, "words": words, "st": inside}
    table.append(pa.table(columns))

    def said(column: str) -> float:
        size = estimated_bytes(ice.sql(spark, f"select {column} from `{place}`"))
        assert size is not None
        return size / 5000

    assert said("id, flag") == 8 + 4
    assert 60 < said("words") < 128
    assert 60 < said("st.b") < 128


def test_a_size_that_is_no_long_is_the_largest() -> None:
    """Rows are counted by whoever wrote the manifest: nothing keeps them from being 2^62."""
    files = RelationFiles(["a", "b"], [1, 1], [2**62, 2**62], row_bytes=100.0)
    assert files.read_bytes == 2**63 - 1


def test_rows_without_columns_take_something(spark: SparkSession, tmp_path: Path) -> None:
    """A broadcast of rows of which only the number is asked would be of all rows yet."""
    table = ice.create_table(str(tmp_path / "t"), "id bigint")
    table.append(spark.range(1000))
    relation = ice.sql(spark, f"select 1 from `{tmp_path / 't'}`")
    assert estimated_bytes(relation) == 1000 * (8 + 4)  # a row, and the number that is selected


def test_long_texts_are_most_of_what_a_table_takes(spark: SparkSession, tmp_path: Path) -> None:
    """By the widths of types alone a text is 20 bytes; tables of documents would be broadcast."""
    place = str(tmp_path / "t")
    numbers = [f"n{number}" for number in range(30)]
    table = ice.create_table(
        place, ", ".join(f"{name} bigint" for name in numbers) + ", text string"
    )
    texts = [
        "".join(hashlib.sha512(f"{row} {n}".encode()).hexdigest() for n in range(20))
        for row in range(2000)
    ]
    table.append(pa.table({**dict.fromkeys(numbers, range(2000)), "text": texts}))
    size = table.refresh().scan().plan_files().metrics.total_file_size_in_bytes
    text, number = (
        estimated_bytes(ice.sql(spark, f"select {c} from `{place}`")) for c in ("text", "n3")
    )
    assert text is not None and number is not None
    assert text > 0.5 * size and number < 0.3 * size


def test_a_class_that_does_not_fit_is_none(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compiled_java, "_PACKAGE", "of_nobody")
    packages = java_packages(spark)
    room = planned_relations.__package__
    forget_classes()
    try:
        assert compiled_java._object(packages, "PlannedRelations", room) is None
    finally:
        forget_classes()
