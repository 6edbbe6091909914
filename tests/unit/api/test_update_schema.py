"""`t.update_schema()`: its words, its commit, and what old rows look like afterwards."""

from datetime import date
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import types as s

import iceberg_spark as ice
from iceberg_spark.errors import IcebergError, InvalidSchemaError, ValidationException
from iceberg_spark.spec.schema import Schema
from iceberg_spark.spec.types import FixedType, LongType, StringType, StructType, TimestamptzType
from tests.unit.api.tables import files_below, ids, make, rows


@pytest.mark.parametrize("kind", ["bigint", "long", LongType(), pa.int64(), s.LongType()], ids=type)
def test_a_type_is_ddl_text_or_pysparks_or_arrows_or_ours(kind: Any):
    table = make()
    table.update_schema().add_column("n", kind).commit()
    assert table.schema().find_type("n") == LongType()


def test_text_is_sparks_ddl_or_a_name_that_only_iceberg_has():
    table = make()
    with table.update_schema() as update:
        update.add_column("ts", "timestamp").add_column("f", "fixed[16]")
    assert table.schema().find_type("ts") == TimestamptzType()
    assert table.schema().find_type("f") == FixedType(16)


@pytest.mark.parametrize("kind", ["no type", "", 7, None])
def test_what_is_no_type_is_refused(kind: Any):
    with pytest.raises(IcebergError):
        make().update_schema().add_column("n", kind)


def test_a_path_is_dotted_text_or_a_tuple():
    table = make(schema="id bigint, s struct<a: int>")
    with table.update_schema() as update:
        update.add_column("s.b", "int", doc="why").add_column(("s", "c.d"), "int")
        update.add_column(("x.y",), "int")
    assert table.schema().find_field("s.b").doc == "why"
    assert [one.name for one in table.schema().find_type("s").fields] == ["a", "b", "c.d"]  # type: ignore[union-attr]
    table.update_schema().rename_column(("x.y",), "z").delete_column(("s", "c.d")).commit()
    assert table.schema().column_names == ("id", "s", "s.a", "s.b", "z")


@pytest.mark.parametrize("path", ["", "a.", (), ("a", ""), 7])
def test_what_is_no_path_is_refused(path: Any):
    with pytest.raises((IcebergError, TypeError)):
        make().update_schema().add_column(path, "int")


def test_every_change_in_one_update_and_old_rows_in_the_new_shape():
    table = make(schema="id int, k string, gone string, f float, d decimal(5,2)")
    table.append(
        pa.table(
            {"id": [1], "k": ["a"], "gone": ["x"], "f": [0.5], "d": [None]},
            schema=pa.schema(
                [("id", pa.int32()), ("k", pa.string()), ("gone", pa.string()),
                 ("f", pa.float32()), ("d", pa.decimal128(5, 2))]
            ),
        )
    )  # fmt: skip
    with table.update_schema() as update:
        update.update_column("id", "bigint", doc="the key").rename_column("k", "key")
        update.delete_column("gone").update_column("f", type="double")
        update.update_column("d", "decimal(9,2)").add_column("n", "array<date>").move_first("n")
    assert table.scan().to_arrow().to_pylist() == [
        {"n": None, "id": 1, "key": "a", "f": 0.5, "d": None}
    ]
    assert table.scan("id = 1 and f = 0.5").count() == 1
    table.append(rows(n=[[date(2024, 1, 1)]], id=[2**40], key=["b"]))
    assert ids(table) == [1, 2**40]
    assert table.scan("id > 5").count() == 1


def test_a_deleted_columns_id_is_never_given_again():
    table = make()
    for _ in range(3):
        table.update_schema().add_column("n", "struct<a: int>").commit()
        table.update_schema().delete_column("n").commit()
    table.update_schema().add_column("n", "int").commit()
    assert table.schema().find_field("n").field_id == 9


def test_nothing_is_committed_for_no_change(tmp_path: Path):
    table = make(tmp_path / "t")
    before = files_below(tmp_path)
    with table.update_schema():
        pass
    table.update_schema().update_column("id", "bigint").move_first("id").commit()
    table.update_schema().union_by_name("k string").commit()
    assert files_below(tmp_path) == before


def test_a_change_back_finds_the_schema_that_was():
    table = make()
    table.update_schema().rename_column("k", "n").commit()
    table.update_schema().rename_column("n", "k").commit()
    assert table.schema().schema_id == 0
    assert len(table.metadata.schemas) == 2


REFUSED = {
    "partition source": (lambda u: u.delete_column("p"), r"Column 'p' .*partition field .*remove"),
    "partition parent": (lambda u: u.delete_column("s"), r"Column 's\.q' can't be deleted"),
    "sort source": (lambda u: u.delete_column("o"), r"Column 'o' .* sort field .*order"),
    "identifier": (lambda u: u.delete_column("id"), r"'id' identifies rows"),
    "type": (lambda u: u.update_column("id", "int"), r"column 'id' from long to int; allowed are"),
    "required": (lambda u: u.add_column("n", "int", required=True), r"column 'n' as required"),
    "default": (lambda u: u.add_column("n", "int", default_value=3), r"'n'.*format-version 3"),
    "new type": (lambda u: u.add_column("n", "timestamp_ns"), r"'n'.*format-version 3"),
    "optional key": (lambda u: u.make_column_optional("id"), r"identifier field 'id' is optional"),
    "float key": (lambda u: u.set_identifier_fields("f"), r"identifier field 'f'"),
    "union": (lambda u: u.union_by_name("id string not null"), r"Column 'id' is long .* string"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_a_refused_change_leaves_everything_as_it_was(tmp_path: Path, case: str):
    change, message = REFUSED[case]
    table = ice.create_table(
        str(tmp_path / "t"),
        "id bigint not null, p int, o int, f double not null, s struct<q: int>",
        partition_by=["p", "bucket(4, s.q)"],
        sort_order=["o"],
    )
    table.update_schema().set_identifier_fields("id").commit()
    before, metadata = files_below(tmp_path), table.metadata
    with pytest.raises(InvalidSchemaError, match=message), table.update_schema() as update:
        change(update)
    assert files_below(tmp_path) == before
    assert table.metadata is metadata


def test_a_block_that_fails_commits_nothing():
    table = make()
    with pytest.raises(InvalidSchemaError), table.update_schema() as update:
        update.add_column("n", "int").delete_column("missing")
    assert table.refresh().schema().find_id("n") is None


def test_a_commit_inside_the_block_is_the_only_one():
    table = make()
    with table.update_schema() as update:
        update.add_column("n", "int").commit()
    assert len(table.metadata.metadata_log) == 1


def test_incompatible_changes_are_made_when_allowed():
    table = make()
    with table.update_schema(allow_incompatible_changes=True) as update:
        update.add_column("n", "int", required=True).update_column("id", required=True)
    assert table.schema().find_field("n").required
    assert table.schema().find_field("id").required


def test_the_case_of_names_counts_unless_it_is_not_to():
    table = make()
    table.update_schema(case_sensitive=False).rename_column("K", "n").commit()
    table.update_schema().case_sensitive(False).rename_column("N", "k").commit()
    assert table.schema().column_names == ("id", "k")


def test_a_change_of_the_schema_made_meanwhile_is_a_conflict():
    table = make()
    other = ice.load_table(table.location())
    begun = table.update_schema()
    other.update_schema().add_column("theirs", "int").commit()
    with pytest.raises(ValidationException, match="was changed by another commit"):
        begun.add_column("ours", "int").commit()
    assert table.refresh().schema().column_names == ("id", "k", "theirs")


def test_rows_appended_meanwhile_are_no_conflict():
    table = make()
    ice.load_table(table.location()).append(rows(id=[1], k=["a"]))
    table.update_schema().add_column("n", "int").commit()
    assert table.scan().to_arrow().to_pylist() == [{"id": 1, "k": "a", "n": None}]


def test_a_transaction_changes_columns_and_writes_to_them_in_one_commit():
    table = make()
    with table.transaction() as tx:
        tx.update_schema().add_column("n", "int").commit()
        with tx.update_schema() as update:
            update.rename_column("n", "m").add_column("o", "int")
        tx.append(rows(id=[1], k=["a"], m=pa.array([2], pa.int32()), o=pa.array([3], pa.int32())))
        assert table.refresh().schema().find_id("m") is None
    assert table.scan().to_arrow().to_pylist() == [{"id": 1, "k": "a", "m": 2, "o": 3}]
    assert len(table.metadata.metadata_log) == 1


def test_a_change_that_a_transaction_refuses_can_be_left_out():
    table = make(partition_by=["k"])
    with table.transaction() as tx:
        with pytest.raises(InvalidSchemaError, match="partition field"):
            tx.update_schema().delete_column("k").commit()
        tx.update_schema().add_column("n", "int").commit()
    assert table.schema().column_names == ("id", "k", "n")


def test_two_changes_begun_at_once_in_a_transaction_do_not_undo_each_other():
    table = make()
    with table.transaction() as tx:
        late = tx.update_schema().add_column("b", "int")
        tx.update_schema().add_column("a", "int").commit()
        with pytest.raises(ValidationException, match="begin it after"):
            late.commit()
    assert table.schema().column_names == ("id", "k", "a")


def test_column_properties_and_the_name_mapping_follow_the_columns():
    mapping = '[{"field-id":1,"names":["id"]},{"field-id":2,"names":["k"]}]'
    table = make(**{"schema.name-mapping.default": mapping})
    prefix = "write.metadata.metrics.column."
    table.update_properties().set({f"{prefix}k": "none", f"{prefix}id": "counts"}).commit()
    with table.update_schema() as update:
        update.rename_column("k", "key").delete_column("id").add_column("n", "struct<a: int>")
    table.update_schema().rename_column("n", "k").commit()
    properties = table.properties
    assert {key: value for key, value in properties.items() if "column" in key} == {
        f"{prefix}key": "none"
    }
    assert properties["schema.name-mapping.default"] == (
        '[{"field-id":1,"names":["id"]},{"field-id":2,"names":["key"]},'
        '{"field-id":3,"names":["n","k"],"fields":[{"field-id":4,"names":["a"]}]}]'
    )


def test_a_union_takes_new_columns_wider_types_and_docs():
    table = make(schema="id int, s struct<a: float>")
    table.update_schema().union_by_name(
        "id bigint comment 'key', s struct<a: double, b: int>, n string not null"
    ).commit()
    found = table.schema()
    assert found.find_field("id").doc == "key"
    assert found.find_field("s.b").field_id == 4
    assert found.find_field("n").optional
    assert found.find_type("n") == StringType()


def test_schemas_of_all_kinds_are_united():
    for given in (
        pa.schema([("n", pa.int64())]),
        s.StructType([s.StructField("n", s.LongType())]),
        Schema(*make(schema="n bigint").schema().fields),
    ):
        table = make()
        table.update_schema().union_by_name(given).commit()
        assert table.schema().find_type("n") == LongType()
    assert isinstance(table.schema().as_struct(), StructType)
