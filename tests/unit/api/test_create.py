"""Creating tables: every form of a schema, partitioning and order as texts, properties."""

from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import types as spark

import iceberg_spark as ice
from iceberg_spark.errors import (
    IcebergError,
    InvalidInputError,
    InvalidOptionError,
    InvalidSchemaError,
    InvalidTypeError,
    TableAlreadyExistsError,
    UnsupportedError,
)
from tests.unit.api.tables import make, new_location

SPARK = spark.StructType(
    [
        spark.StructField("id", spark.LongType(), False),
        spark.StructField("tags", spark.ArrayType(spark.StringType())),
    ]
)
ARROW = pa.schema([pa.field("id", pa.int64(), False), ("tags", pa.list_(pa.string()))])
DDL = "id bigint not null, tags array<string>"
ICEBERG = ice.Schema(
    ice.NestedField(7, "id", ice.LongType(), True),
    ice.NestedField(9, "tags", ice.ListType(5, ice.StringType())),
)


@pytest.mark.parametrize("given", [SPARK, ARROW, DDL, ICEBERG], ids=lambda it: type(it).__name__)
def test_every_form_of_a_schema_makes_the_same_table(given: Any):
    made = make(schema=given).schema()
    assert [(f.field_id, f.name, str(f.field_type), f.required) for f in made.fields] == [
        (1, "id", "long", True),
        (2, "tags", "list<string>", False),
    ]
    assert made.find_field("tags.element").field_id == 3


def test_partitioning_is_given_by_texts():
    table = make(
        schema="id bigint, ts timestamp, s string, region string",
        partition_by=["days(ts)", "bucket(16, id)", "truncate(4, s)", "region"],
    )
    assert [(part.name, str(part.transform)) for part in table.spec().fields] == [
        ("ts_day", "day"),
        ("id_bucket", "bucket[16]"),
        ("s_trunc", "truncate[4]"),
        ("region", "identity"),
    ]


def test_one_text_will_do_for_partitioning_and_order():
    table = ice.create_table(
        new_location(), "id bigint, k string", partition_by="k", sort_order="id"
    )
    assert [part.name for part in table.spec().fields] == ["k"]
    assert [key.direction for key in table.sort_order().fields] == ["asc"]


def test_the_sort_order_is_given_by_texts():
    order = ["id desc nulls last", "bucket(4, k)"]
    table = ice.create_table(new_location(), "id bigint, k string", sort_order=order)
    assert [
        (str(key.transform), str(key.direction), str(key.null_order))
        for key in table.sort_order().fields
    ] == [("identity", "desc", "nulls-last"), ("bucket[4]", "asc", "nulls-first")]


def test_a_new_table_has_format_version_2_and_only_the_properties_it_was_given():
    table = ice.create_table(new_location(), "id bigint", properties={"owner": "me"})
    assert (table.metadata.format_version, table.properties) == (2, {"owner": "me"})


def test_the_property_format_version_chooses_the_version_and_is_not_stored():
    table = ice.create_table(new_location(), "id bigint", properties={"format-version": 1})
    assert (table.metadata.format_version, table.properties) == (1, {})


def test_a_table_that_could_not_be_written_is_not_created():
    where = new_location()
    with pytest.raises(UnsupportedError, match=r"'format-version' is 4.*use 1, 2, 3"):
        ice.create_table(where, "id bigint", properties={"format-version": "4"})
    assert ice.create_table(where, "id bigint").snapshots() == []


def test_a_location_below_a_file_is_named(tmp_path: Any):
    (tmp_path / "f").write_text("a file")
    with pytest.raises(IcebergError, match=r"/f/t/metadata/.*no folder can be created there"):
        make(tmp_path / "f" / "t")


def test_a_second_table_at_the_same_place_is_refused():
    table = make()
    with pytest.raises(TableAlreadyExistsError, match=table.location()):
        make(table.location())


@pytest.mark.parametrize(
    ("arguments", "error", "shown"),
    [
        ({"schema": 5}, InvalidTypeError, "not int"),
        ({"schema": "id bigint, id int"}, InvalidSchemaError, "'id'"),
        ({"schema": "id decimal(50, 2)"}, InvalidSchemaError, "decimal.50, 2.*1 to 38"),
        ({"schema": pa.schema([("u", pa.uint64())])}, InvalidSchemaError, "'u'.*uint64"),
        ({"partition_by": ["foo(id)"]}, InvalidSchemaError, "'foo'.*known: identity"),
        ({"partition_by": ["days(nope)"]}, InvalidSchemaError, "'nope'.*id, k"),
        ({"partition_by": ["days(id)"]}, InvalidSchemaError, "day.*long"),
        ({"partition_by": ["bucket(0, id)"]}, InvalidSchemaError, "bucket"),
        ({"partition_by": 5}, InvalidTypeError, "partition_by.*5"),
        ({"sort_order": ["nope"]}, InvalidSchemaError, "'nope'"),
        ({"sort_order": [1]}, InvalidTypeError, "sort_order.*1"),
        ({"properties": {"write.format.default": "csv"}}, InvalidOptionError, "csv.*parquet"),
        ({"properties": {"format-version": "9"}}, UnsupportedError, "9"),
        ({"properties": {"format-version": "two"}}, InvalidOptionError, "two"),
        ({"properties": {"uuid": "1"}}, InvalidOptionError, "uuid"),
    ],
)
def test_what_makes_no_table_is_named_and_nothing_is_written(
    arguments: dict[str, Any], error: type[Exception], shown: str, tmp_path: Any
):
    given = {"schema": "id bigint, k string"} | arguments
    with pytest.raises(error, match=shown):
        ice.create_table(str(tmp_path / "t"), **given)
    assert list(tmp_path.iterdir()) == []


def test_columns_that_differ_by_case_are_two_columns_to_case_sensitive_readers():
    """Java's core takes such a schema too; only readers without case can't tell them apart."""
    table = make(schema="id bigint, ID bigint")
    table.append(pa.table({"id": [1], "ID": [2]}))
    assert table.scan(row_filter="ID = 2").to_arrow().to_pylist() == [{"id": 1, "ID": 2}]
    with pytest.raises(InvalidInputError, match="'Id' is ambiguous: columns id, ID"):
        table.scan(row_filter="Id = 1", case_sensitive=False).to_arrow()
    with pytest.raises(InvalidInputError, match="'Id' is ambiguous: columns id, ID"):
        table.scan(selected_fields=("Id",), case_sensitive=False).to_arrow()


def test_a_column_may_have_a_metadata_columns_name_but_not_be_read_with_it():
    """Java: such a table is made, and a read that asks for the metadata column fails."""
    table = make(schema="id bigint, _file string")
    table.append(pa.table({"id": [1], "_file": ["own"]}))
    assert table.scan().to_arrow().to_pylist() == [{"id": 1, "_file": "own"}]
    assert table.scan(selected_fields="_file").to_arrow().to_pylist() == [{"_file": "own"}]
    with pytest.raises(InvalidSchemaError, match=r"'_file'.*rename"):
        table.scan(selected_fields="id", metadata_columns=["_file"]).to_arrow()


def test_a_location_below_another_catalogs_name_needs_a_configured_catalog():
    with pytest.raises(InvalidInputError, match="'prod' is not configured"):
        ice.create_table("prod.db.t", "id bigint")
