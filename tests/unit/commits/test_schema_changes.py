"""Columns added by name, and schema changes against those of others."""

import pytest

from iceberg_spark.commits.append import AppendFiles
from iceberg_spark.commits.set_schema import SetSchema
from iceberg_spark.errors import InvalidSchemaError, ValidationException
from iceberg_spark.spec.schema import Schema
from iceberg_spark.spec.types import StructType
from iceberg_spark.spec.union_by_name import union_by_name
from tests.builders import field, list_of, map_of, metadata, schema, struct
from tests.unit.commits.tables import COLUMNS, IO, file, live, make_table, reloaded, run


def union(current: Schema, other: Schema, last: int = 100, case_sensitive: bool = True) -> Schema:
    return union_by_name(current, other, last_column_id=last, case_sensitive=case_sensitive)


def test_missing_columns_are_added_at_the_end_with_new_ids():
    merged = union(schema(("a", "int")), schema(("x", "string"), ("a", "int"), ("y", "date")))
    assert (
        merged.fields
        == schema(field(1, "a", "int"), field(101, "x", "string"), field(102, "y", "date")).fields
    )


def test_ids_are_above_all_that_the_table_ever_gave():
    merged = union(schema(("a", "int")), schema(("b", "int")), last=7)
    assert merged.find_field("b").field_id == 8


def test_new_columns_are_optional():
    merged = union(schema(("a", "int")), schema(field(1, "b", "int", required=True)))
    assert merged.find_field("b").optional


def test_a_new_struct_gets_ids_in_javas_order():
    inner = struct(field(5, "p", struct(field(6, "q", "int"))), field(7, "r", "int"))
    merged = union(schema(("a", "int")), schema(field(1, "s", inner), field(2, "t", "int")))
    found = {name: merged.find_field(name).field_id for name in ("s", "s.p", "s.r", "s.p.q", "t")}
    assert found == {"s": 101, "s.p": 102, "s.r": 103, "s.p.q": 104, "t": 105}


def test_nested_columns_are_added_where_they_are_missing():
    def part(at: int, more: tuple[str, ...]) -> StructType:
        return struct(field(at, "x", "int"), *(field(at + 50, name, "int") for name in more))

    def nested(*more: str) -> Schema:
        return schema(
            field(1, "s", part(11, more)),
            field(2, "l", list_of(3, part(12, more))),
            field(4, "m", map_of(5, "string", 6, part(13, more))),
        )

    merged = union(nested(), nested("y"))
    assert merged.find_field("s.y").field_id == 101
    assert merged.find_field("l.element.y").field_id == 102
    assert merged.find_field("m.value.y").field_id == 103
    assert merged.find_field("l.element.x").field_id == 12


@pytest.mark.parametrize(
    ("have", "more", "merged"),
    [
        ("int", "long", "long"),
        ("long", "int", "long"),
        ("float", "double", "double"),
        ("double", "float", "double"),
        ("decimal(9, 2)", "decimal(12, 2)", "decimal(12, 2)"),
        ("decimal(12, 2)", "decimal(9, 2)", "decimal(12, 2)"),
    ],
)
def test_the_wider_type_holds_both(have: str, more: str, merged: str):
    assert union(schema(("a", have)), schema(("a", more))).fields == schema(("a", merged)).fields


@pytest.mark.parametrize(
    ("have", "more"),
    [
        ("int", "string"),
        ("decimal(9, 2)", "decimal(9, 3)"),
        ("int", "double"),
        ("date", "timestamp"),
    ],
)
def test_types_that_do_not_go_together_are_named(have: str, more: str):
    with pytest.raises(InvalidSchemaError, match=r"Column 's\.a' is"):
        union(
            schema(field(1, "s", struct(field(2, "a", have)))),
            schema(field(1, "s", struct(field(2, "a", more)))),
        )


def test_a_column_becomes_optional_when_the_rows_have_it_so():
    merged = union(schema(field(1, "a", "int", required=True)), schema(("a", "int")))
    assert merged.find_field("a").optional


def test_an_identifier_column_stays_required():
    current = schema(field(1, "a", "int", required=True), identifier_field_ids=[1])
    with pytest.raises(InvalidSchemaError, match="'a' identifies rows"):
        union(current, schema(("a", "int")))


def test_names_may_differ_by_case_if_requested():
    assert len(union(schema(("a", "int")), schema(("A", "int")))) == 2
    merged = union(schema(("a", "int")), schema(("A", "long")), case_sensitive=False)
    assert merged.fields == schema(("a", "long")).fields


def test_the_same_columns_change_nothing():
    current = schema(("a", "int"), ("b", "string"))
    assert union(current, schema(("b", "string"), ("a", "int"))) is current


def test_a_schema_change_lands_with_the_rows_that_need_it():
    table = make_table()
    wider = union(COLUMNS, schema(("new", "int")), table.metadata.last_column_id)
    table = run(table, SetSchema(wider, table.metadata), AppendFiles([file(table, "a")]))
    metadata = reloaded(table).metadata
    assert metadata.schema.find_field("new").field_id == 4
    assert metadata.last_column_id == 4
    head = metadata.current_snapshot
    assert head is not None and head.schema_id == metadata.current_schema_id == 1
    assert live(metadata) == {"a"}


def test_a_schema_that_is_current_changes_nothing():
    table = make_table()
    assert run(table, SetSchema(table.metadata.schema, table.metadata)) is table


def test_a_schema_that_another_commit_changed_since_is_a_conflict():
    planned = make_table()
    last = planned.metadata.last_column_id
    theirs = SetSchema(union(COLUMNS, schema(("x", "int")), last), planned.metadata)
    newest = run(planned, theirs)
    ours = SetSchema(union(COLUMNS, schema(("y", "int")), last), planned.metadata)
    with pytest.raises(ValidationException, match=r"schema of .* was changed"):
        run(planned, ours)
    assert reloaded(planned) == newest


def test_a_schema_change_goes_with_appends_of_others():
    planned = make_table()
    run(planned, AppendFiles([file(planned, "late")]))
    wider = union(COLUMNS, schema(("new", "int")), planned.metadata.last_column_id)
    table = run(planned, SetSchema(wider, planned.metadata))
    assert table.metadata.schema.find_id("new") == 4
    assert live(table.metadata) == {"late"}


@pytest.mark.parametrize(
    ("field_text", "allowed"),
    [("d", False), ("bucket(4, d)", False), ("days(d)", True), ("months(d)", True)],
)
def test_a_date_becomes_a_timestamp_where_partition_values_stay(field_text: str, allowed: bool):
    dated = metadata(schema(("id", "long"), ("d", "date")), [field_text], format_version=3)
    change = SetSchema(schema(("id", "long"), ("d", "timestamp")), dated)
    if allowed:
        assert len(change.prepare(dated, IO).updates) == 2
    else:
        with pytest.raises(InvalidSchemaError, match="'d' can't become timestamp: partition field"):
            change.prepare(dated, IO)
