"""Which engine reads which files: one test for each reason."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import iceberg_spark as ice
from iceberg_spark import Table
from iceberg_spark.io.storage import open_storage
from iceberg_spark.scan.plan import ScanPlan
from iceberg_spark.spark.reading import engine_choice as module
from iceberg_spark.spark.reading import footers
from iceberg_spark.spark.reading.engine_choice import Reach, choose_engines
from iceberg_spark.spec.schema import Schema
from tests.builders import field, list_of, map_of, schema, struct
from tests.limits import set_limits

EVERYTHING = schema(
    field(1, "id", "long", True),
    field(2, "i", "int"),
    field(3, "f", "float"),
    field(4, "d", "double"),
    field(5, "dec", "decimal(9, 2)"),
    field(6, "dt", "date"),
    field(7, "ts", "timestamp"),
    field(8, "tz", "timestamptz"),
    field(9, "s", "string"),
    field(10, "b", "binary"),
    field(11, "fx", "fixed[4]"),
    field(12, "u", "uuid"),
    field(13, "bo", "boolean"),
    field(14, "st", struct(field(15, "a", "int"), field(16, "f", "float"))),
    field(17, "l", list_of(18, struct(field(19, "x", "int")))),
    field(20, "m", map_of(21, "string", 22, struct(field(23, "y", "int")))),
)


def made(folder: Path, columns: Any = "id bigint, k string", **options: Any) -> Table:
    return ice.create_table(str(folder / "t"), columns, **options)


def with_rows(table: Table) -> Table:
    table.append(pa.table({"id": [1, 2, 3], "k": ["a", "a", "b"]}))
    return table


def with_paths(plan: ScanPlan, path: str) -> ScanPlan:
    """The plan as if its (first) file were spelled like that, in a store that the table may use."""
    files = plan.files.slice(0, 1)
    at = files.schema.get_field_index("file_path")
    context = replace(plan.context, io=open_storage())
    return replace(plan, context=context, files=files.set_column(at, "file_path", pa.array([path])))


def labels(plan: ScanPlan, reach: Reach | None = None) -> list[str]:
    return [group.label for group in choose_engines(plan, reach or Reach())]


def of_schema(folder: Path, columns: Schema, **options: Any) -> list[str]:
    table = made(folder, columns, **options)
    table.append(pa.table({"id": pa.array([1], pa.int64())}))
    return labels(table.scan().plan_files())


def test_a_plain_parquet_table_of_every_shape_of_column_is_native(tmp_path: Path) -> None:
    assert of_schema(tmp_path, EVERYTHING) == ["native by field id"]


@pytest.mark.parametrize(("file_format", "shown"), [("orc", "ORC"), ("avro", "Avro")])
def test_other_formats_go_to_arrow(tmp_path: Path, file_format: str, shown: str) -> None:
    table = with_rows(made(tmp_path, properties={"write.format.default": file_format}))
    assert labels(table.scan().plan_files()) == [f"arrow: {shown}"]


def test_files_with_deletes_are_groups_of_their_own(tmp_path: Path) -> None:
    table = made(tmp_path, properties={"write.delete.mode": "merge-on-read"})
    with_rows(with_rows(table))
    table.delete("id = 1 and k = 'a'")
    plan = table.scan().plan_files()
    assert plan.metrics.files_with_deletes
    table.append(pa.table({"id": [9], "k": ["z"]}))
    groups = choose_engines(table.scan().plan_files(), Reach())
    assert [(g.label, len(g.rows)) for g in groups] == [
        ("native by field id", 1),
        ("native by field id, with position deletes", 2),
    ]


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("/t/data/_f.parquet", "file name starts with _ or ."),
        ("file:/t/data/.f.parquet", "file name starts with _ or ."),
        ("/t/f._COPYING_", "file name starts with _ or ."),
        ("/t/a*b.parquet", "path has characters that Spark expands"),
        ("/t[1]/f.parquet", "path has characters that Spark expands"),
        ("/t//f.parquet", "path that Spark would spell otherwise"),
        ("/t/../f.parquet", "path that Spark would spell otherwise"),
        ("t/f.parquet", "path that Spark would spell otherwise"),
        ("s3://b/f.parquet", "Spark has no file system for s3://b"),
        ("file://host/f.parquet", "Spark has no file system for file://host"),
    ],
)
def test_paths_that_spark_takes_otherwise_go_to_arrow(
    tmp_path: Path, path: str, reason: str
) -> None:
    plan = with_rows(made(tmp_path)).scan().plan_files()
    assert labels(with_paths(plan, path)) == [f"arrow: {reason}"]


def test_files_that_are_listed_twice_go_to_arrow(tmp_path: Path) -> None:
    table = made(tmp_path)
    for n in range(2):
        table.append(pa.table({"id": [n], "k": ["e"]}))
    twice = table.scan().plan_files().subset(np.array([0, 1, 0]))
    assert labels(twice) == ["native by field id", "arrow: file that is listed more than once"]


@pytest.mark.parametrize("path", ["/t/.h/_u/k=1/a b%20é.parquet", "file:///t/f", "file:/t/f"])
def test_folders_may_be_called_anything(tmp_path: Path, path: str) -> None:
    plan = with_rows(made(tmp_path)).scan().plan_files()
    assert labels(with_paths(plan, path)) == ["native by field id"]


def test_a_store_that_spark_knows_is_native(tmp_path: Path) -> None:
    plan = with_paths(with_rows(made(tmp_path)).scan().plan_files(), "s3://b/f.parquet")
    (group,) = choose_engines(plan, Reach(has_file_system=lambda prefix: prefix == "s3://b"))
    assert group.label == "native by field id"
    assert not group.is_local


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("s3://b/f.parquet", "s3.access-key-id"),
        ("s3a://b/f.parquet", "s3.endpoint"),
        ("gs://b/f.parquet", "gcs.oauth2.token"),
        ("abfss://c@a.dfs.core.windows.net/f.parquet", "adls.sas-token.a"),
    ],
)
def test_a_table_with_keys_of_its_own_is_not_read_with_sparks(path: str, name: str, tmp_path: Path):
    plan = with_paths(with_rows(made(tmp_path)).scan().plan_files(), path)
    own = replace(plan, context=replace(plan.context, io=open_storage({name: "given"})))
    (label,) = labels(own, Reach(has_file_system=lambda _: True))
    assert "are the table's, not Spark's" in label


@pytest.mark.parametrize(
    ("count", "size"), [("listed_files", "listed_file_bytes"), ("several_files", "tiny_file_bytes")]
)
def test_many_small_files_go_to_arrow(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, count: str, size: str
) -> None:
    plan = with_rows(with_rows(made(tmp_path))).scan().plan_files()
    assert labels(plan) == ["native by field id"]
    set_limits(monkeypatch, module, "NATIVE", **{count: 1})
    assert labels(plan) == ["arrow: many small files, which Spark lists and opens slowly"]
    set_limits(monkeypatch, module, "NATIVE", **{size: 1})
    assert labels(plan) == ["native by field id"]


@pytest.mark.parametrize(
    ("column", "reason"),
    [
        (field(2, "s", struct(field(3, "x", "int", initial_default=1))), "default inside a struct"),
        (
            field(2, "b", "binary", initial_default=b"x"),
            "default of a type that Spark's reader gives none",
        ),
        (
            field(2, "s", struct(field(3, "u", "uuid"))),
            "a type that Spark reads at the top level only",
        ),
        (field(2, "n", "timestamp_ns"), "a type that Spark's reader lacks"),
        (
            field(2, "_TMP_metadata_row_index", "long"),
            "a name under which Spark gives places of rows",
        ),
    ],
)
def test_columns_that_sparks_reader_gets_wrong_go_to_arrow(
    tmp_path: Path, column: Any, reason: str
) -> None:
    plan = with_rows(made(tmp_path)).scan().plan_files()
    wanted = schema(field(1, "id", "long"), column)
    context = replace(plan.context, table_schema=wanted, read_schema=wanted)
    (label,) = labels(replace(plan, context=context))
    assert label.startswith(f"arrow: {reason}")


def test_files_of_a_table_with_a_name_mapping_are_read_as_their_footers_say(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = with_rows(made(tmp_path))
    table.add_files([parquet_file(tmp_path / "plain.parquet")])
    groups = choose_engines(table.scan().plan_files(), Reach())
    assert {g.label for g in groups} == {
        "native by field id",
        "native by name, as the files have no field ids",
    }
    assert [len(g.rows) for g in groups] == [1, 1]
    set_limits(monkeypatch, footers, "FOOTERS", local=1)
    (label,) = labels(table.scan().plan_files())
    assert label.startswith("arrow: more than 1 files may have no field ids")


def test_only_files_that_prove_their_columns_may_be_filtered_by_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = made(tmp_path, "id bigint, d decimal(9, 2), s struct<a: int>")
    for kind in ("decimal(9, 2)", "decimal(12, 2)"):
        with table.update_schema() as update:
            update.update_column("d", kind)
        table.append(pa.table({"id": [1]}))
    plan = table.scan().plan_files()
    groups = choose_engines(plan, Reach())
    assert sorted((len(g.rows), g.columns.file.unproven) for g in groups) == [(1, ()), (1, (2,))]
    assert {g.engine for g in choose_engines(plan, Reach(isolated=False))} == {"native", "arrow"}
    set_limits(monkeypatch, footers, "FOOTERS", local=1)
    (group,) = choose_engines(plan, Reach())
    assert group.columns.file.unproven == (1, 2, 3)


def test_an_identity_column_that_a_file_lacks_is_its_partitions_value(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = made(tmp_path, partition_by=["k"])
    (tmp_path / "k=x").mkdir()
    ids = pa.field("id", pa.int64(), metadata={"PARQUET:field_id": "1"})
    pq.write_table(pa.table({"id": [7]}, schema=pa.schema([ids])), tmp_path / "k=x" / "f.parquet")
    table.add_files([str(tmp_path / "k=x" / "f.parquet")])
    table.update_properties().remove("schema.name-mapping.default").commit()
    plan = table.scan().plan_files()
    (group,) = choose_engines(plan, Reach())
    assert group.columns.file.constants == ((2, "x"),)
    set_limits(monkeypatch, footers, "FOOTERS", local=0)
    assert labels(plan) == [
        "arrow: footer that was not read, so that partition values may be missing"
    ]


def parquet_file(path: Path) -> str:
    pq.write_table(pa.table({"id": [7], "k": ["x"]}), path)
    return str(path)


def test_renamed_columns_are_native_only_where_no_setting_can_hide_them(tmp_path: Path) -> None:
    table = with_rows(made(tmp_path))
    with table.update_schema() as update:
        update.rename_column("k", "key")
    plan = table.scan().plan_files()
    assert labels(plan) == ["native by field id"]
    assert labels(plan, Reach(isolated=False)) == [
        "arrow: renamed column, which a setting of the session could hide ('key')"
    ]
    others = table.scan(selected_fields=("id",)).plan_files()
    assert labels(others, Reach(isolated=False)) == ["native by field id"]


def test_groups_are_split_by_partition_only_for_the_metadata_column(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = with_rows(made(tmp_path, partition_by=["k"]))
    assert len(table.scan().plan_files()) == 2
    assert len(labels(table.scan().plan_files())) == 1
    plan = table.scan(metadata_columns=("_partition",)).plan_files()
    assert labels(plan) == ["native by field id"] * 2
    set_limits(monkeypatch, module, "NATIVE", groups=1)
    assert labels(plan) == [
        "native by field id",
        "arrow: more than 1 kinds of metadata columns, file columns or partition values",
    ]


def test_explain_says_who_reads_what(tmp_path: Path) -> None:
    text = with_rows(made(tmp_path)).scan().explain()
    assert "on Spark        1 file: native by field id" in text
    forced = with_rows(made(tmp_path / "2")).scan(engine="arrow").explain()
    assert "on Spark        1 file: arrow, as asked for" in forced
