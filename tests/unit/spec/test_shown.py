"""Values in a notebook: tables and texts instead of quoted strings, and everything escaped."""

from iceberg_spark import (
    ListType,
    LongType,
    NestedField,
    PartitionField,
    PartitionSpec,
    Schema,
    Snapshot,
    SortOrder,
    StringType,
    StructType,
)
from iceberg_spark.row_level.row_level_change import ChangedRows
from iceberg_spark.spec.shown import ShownText, shown_time
from iceberg_spark.spec.transforms import BucketTransform


def test_a_schema_shows_columns_without_ids() -> None:
    element = StructType(NestedField(4, "x", LongType()))
    schema = Schema(
        NestedField(1, "id<b>", LongType(), required=True, doc="a & b"),
        NestedField(2, "tags", ListType(3, element)),
        identifier_field_ids=(1,),
    )
    shown = schema._repr_html_()
    assert "<td>id&lt;b&gt;</td><td>long</td><td>required</td><td>key</td>" in shown
    assert "<td>a &amp; b</td>" in shown
    assert "<td>tags</td><td>list&lt;struct&lt;x: long&gt;&gt;</td>" in shown


def test_a_spec_and_an_order_show_their_fields() -> None:
    field = PartitionField((1,), 1000, BucketTransform(4), "id_bucket")
    assert "<td>id_bucket</td><td>bucket[4]</td>" in PartitionSpec(0, (field,))._repr_html_()
    assert "unpartitioned" in PartitionSpec()._repr_html_()
    assert "unsorted" in SortOrder()._repr_html_()


def test_a_snapshot_shows_its_time_and_summary() -> None:
    shown = Snapshot(7, 86_400_000, summary={"operation": "append", "x": "<script>"})._repr_html_()
    assert "<b>Snapshot 7</b>" in shown
    assert "<td>committed</td><td>1970-01-02 00:00:00 UTC</td>" in shown
    assert "&lt;script&gt;" in shown
    assert shown_time(2**62) == f"{2**62} ms"


def test_counts_of_a_change_are_a_sentence() -> None:
    assert ChangedRows(1, 2, 3_000)._repr_html_() == (
        "<p>1 rows inserted, 2 updated, 3,000 deleted</p>"
    )


def test_a_text_is_shown_as_it_prints() -> None:
    text = ShownText("a <b>\nc")
    assert text == "a <b>\nc"
    assert text._repr_html_() == "<pre>a &lt;b&gt;\nc</pre>"


def test_a_type_without_nested_types_is_its_name() -> None:
    assert "<td>s</td><td>string</td>" in Schema(NestedField(1, "s", StringType()))._repr_html_()
