"""Changes of a schema: what each makes, and which exclude each other (Java: SchemaUpdate)."""

from collections.abc import Callable
from typing import Any

import pytest

from iceberg_spark.errors import InvalidSchemaError
from iceberg_spark.spec.schema import Schema
from iceberg_spark.spec.schema_evolution import SchemaUpdate
from tests.builders import field, list_of, map_of, schema, struct, type_of

Change = Callable[[SchemaUpdate], None]
LAST = 23

TABLE = schema(
    field(1, "id", "int", required=True),
    field(2, "data", "string"),
    field(
        3,
        "preferences",
        struct(field(8, "feature1", "boolean", required=True), field(9, "feature2", "boolean")),
    ),
    field(
        4,
        "locations",
        map_of(
            10,
            struct(field(20, "address", "string", required=True)),
            11,
            struct(field(12, "lat", "float", required=True), field(13, "long", "float")),
        ),
        required=True,
    ),
    field(5, "points", list_of(14, struct(field(15, "x", "long"), field(16, "y", "long")))),
    field(6, "doubles", list_of(17, "double", required=True)),
    field(7, "properties", map_of(18, "string", 19, "string")),
)


def update(**options: Any) -> SchemaUpdate:
    return SchemaUpdate(options.pop("of", TABLE), LAST, **options)


def after(*changes: Change, **options: Any) -> Schema:
    """The table's schema after changes made one after the other."""
    one = update(**options)
    for change in changes:
        change(one)
    return one.apply()


def refused(*changes: Change, match: str, **options: Any) -> None:
    """The last change, or applying them all, is refused; those before it are not."""
    one = update(**options)
    for change in changes[:-1]:
        change(one)

    def rest() -> None:
        changes[-1](one)
        one.apply()

    with pytest.raises(InvalidSchemaError, match=match):
        rest()


def add(path: str, kind: Any = "int", **rest: Any) -> Change:
    parent, _, name = path.rpartition(".")
    return lambda one: one.add_column(parent or None, name, type_of(kind), **rest)


def delete(name: str) -> Change:
    return lambda one: one.delete_column(name)


def rename(name: str, new: str) -> Change:
    return lambda one: one.rename_column(name, new)


def widen(name: str, kind: Any) -> Change:
    return lambda one: one.update_type(name, type_of(kind))


def document(name: str, doc: str | None) -> Change:
    return lambda one: one.update_doc(name, doc)


def optional(name: str) -> Change:
    return lambda one: one.make_optional(name)


def require(name: str) -> Change:
    return lambda one: one.require(name)


def identify(*names: str) -> Change:
    return lambda one: one.set_identifier_fields(names)


def first(name: str) -> Change:
    return lambda one: one.move_first(name)


def before(name: str, other: str) -> Change:
    return lambda one: one.move_before(name, other)


def behind(name: str, other: str) -> Change:
    return lambda one: one.move_after(name, other)


def names(made: Schema, parent: str | None = None) -> list[str]:
    fields = made.fields if parent is None else made.find_type(parent).fields  # type: ignore[union-attr]
    return [one.name for one in fields]


def test_no_change_returns_the_schema_itself():
    assert after() is TABLE
    assert after(widen("id", "int"), document("id", None), optional("data")) is TABLE


def test_added_columns_come_last_with_ids_above_all_ever_given():
    made = after(add("topic", "string", doc="d"), add("preferences.new"), add("points.z", "long"))
    assert made.find_field("topic") == field(24, "topic", "string", doc="d")
    assert made.find_field("preferences.new").field_id == 25
    assert made.find_field("points.element.z").field_id == 26
    assert names(made)[-1] == "topic"


def test_a_map_stands_for_the_struct_of_its_values():
    assert names(after(add("locations.alt", "float")), "locations.value") == ["lat", "long", "alt"]


def test_a_nested_type_gets_its_own_id_first_then_all_of_a_level():
    kind = struct(
        field(1, "a", "int"),
        field(2, "m", map_of(1001, struct(field(7, "k", "int")), 1002, list_of(9, "int"))),
        field(3, "b", "int"),
    )
    made = after(add("s", kind))
    found = {name: made.find_field(name).field_id for name in made.column_names if name[0] == "s"}
    assert found == {
        "s": 24, "s.a": 25, "s.m": 26, "s.b": 27, "s.m.key": 28, "s.m.value": 29,
        "s.m.key.k": 30, "s.m.value.element": 31,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("changes", "match"),
    [
        ([add("data")], "Can't add column 'data': the table has a column of that name"),
        ([add("preferences.feature1")], "'preferences.feature1'"),
        ([add("points.x")], "'points.x'"),
        ([add("nowhere.x")], "there is no struct 'nowhere'"),
        ([add("data.x")], "'data' is no struct but string"),
        ([add("doubles.x")], "'doubles' is no struct but double"),
        ([delete("preferences"), add("preferences.n")], "the same update deletes it"),
        ([add("n", required=True)], "Can't add column 'n' as required"),
        ([add("n"), add("n")], "Two fields are named 'n'"),
        ([rename("data", "n"), add("n")], "Two fields are named 'n'"),
    ],
)
def test_an_add_that_does_not_go_is_refused(changes: list[Change], match: str):
    refused(*changes, match=match)


def test_a_required_column_is_added_where_that_is_allowed_or_it_has_a_default():
    assert after(add("n", required=True), allow_incompatible_changes=True).find_field("n").required
    made = after(add("n", required=True, default=3)).find_field("n")
    assert (made.initial_default, made.write_default) == (3, 3)


def test_a_deleted_column_can_be_added_again_with_another_id():
    made = after(delete("data"), add("data", "date"))
    assert made.find_field("data") == field(24, "data", "date")
    nested = after(delete("preferences.feature1"), add("preferences.feature1", "int"))
    assert nested.find_field("preferences.feature1").field_id == 24


@pytest.mark.parametrize(
    ("name", "gone"),
    [
        ("data", {"data"}),
        ("preferences", {"preferences", "preferences.feature1", "preferences.feature2"}),
        ("preferences.feature2", {"preferences.feature2"}),
        ("points.y", {"points.element.y"}),
        ("locations.lat", {"locations.value.lat"}),
        ("doubles", {"doubles", "doubles.element"}),
    ],
)
def test_a_delete_takes_what_is_below_with_it(name: str, gone: set[str]):
    assert set(TABLE.column_names) - set(after(delete(name)).column_names) == gone


@pytest.mark.parametrize(
    ("changes", "match"),
    [
        ([delete("n")], "Can't delete column 'n': the table has: id, data"),
        ([add("n"), delete("n")], "Can't delete column 'n'"),
        ([add("preferences.n"), delete("preferences")], "the same update adds columns to it"),
        ([rename("data", "n"), delete("data")], "the same update changes it"),
        ([widen("id", "long"), delete("id")], "the same update changes it"),
        ([delete("doubles.element")], "Can't delete the element of list 'doubles'"),
        ([delete("properties.value")], "Can't delete the value of map 'properties'"),
    ],
)
def test_a_delete_that_does_not_go_is_refused(changes: list[Change], match: str):
    refused(*changes, match=match)


def test_a_rename_keeps_id_type_and_place():
    made = after(rename("id", "key"), rename("points.x", "X"), rename("preferences", "p"))
    assert made.find_field("key") == field(1, "key", "int", required=True)
    assert made.find_field("points.X").field_id == 15
    assert made.find_field("p.feature1").field_id == 8
    assert names(made)[:3] == ["key", "data", "p"]


def test_two_columns_swap_their_names():
    made = after(rename("id", "data"), rename("data", "id"))
    assert [one.field_id for one in made.fields[:2]] == [1, 2]
    assert names(made)[:2] == ["data", "id"]


@pytest.mark.parametrize(
    ("changes", "match"),
    [
        ([rename("n", "m")], "Can't rename column 'n'"),
        ([add("n"), rename("n", "m")], "Can't rename column 'n'"),
        ([delete("data"), rename("data", "n")], "the same update deletes it"),
        ([rename("data", "id")], "Two fields are named 'id'"),
        ([rename("data", "")], "to nothing"),
    ],
)
def test_a_rename_that_does_not_go_is_refused(changes: list[Change], match: str):
    refused(*changes, match=match)


@pytest.mark.parametrize(
    ("name", "wide"),
    [("id", "long"), ("locations.lat", "double"), ("locations.value.long", "double")],
)
def test_a_type_is_widened_and_the_rest_kept(name: str, wide: str):
    made = after(document(name, "why"), widen(name, wide)).find_field(name)
    old = TABLE.find_field(name)
    assert made == field(old.field_id, old.name, wide, old.required, doc="why")


PRIMITIVES = [
    "boolean", "int", "long", "float", "double", "date", "time", "timestamp", "timestamptz",
    "string", "uuid", "binary", "fixed[3]", "fixed[4]", "decimal(9, 2)", "decimal(9, 3)",
    "decimal(18, 2)", "timestamp_ns", "timestamptz_ns", "unknown",
]  # fmt: skip
WIDER = {("int", "long"), ("float", "double"), ("decimal(9, 2)", "decimal(18, 2)")}


@pytest.mark.parametrize("old", PRIMITIVES)
def test_no_other_type_change_is_allowed(old: str):
    for new in PRIMITIVES:
        if old == new or (old, new) in WIDER:
            assert after(widen("c", new), of=schema(("c", old))).find_type("c") == type_of(new)
        else:
            refused(
                widen("c", new), match=r"Can't change the type of column 'c'", of=schema(("c", old))
            )


def test_a_nested_type_is_not_changed_as_a_whole():
    refused(widen("preferences", "string"), match="Can't change the type")
    refused(widen("data", struct(field(1, "a", "int"))), match="Can't change the type")


def test_a_nested_type_may_be_written_out_again():
    """Its ids are provisional then, and docs may be left out."""
    same = struct(field(1, "feature1", "boolean", required=True), field(2, "feature2", "boolean"))
    of = struct(field(7, "address", "string", required=True))
    to = struct(field(8, "lat", "float", required=True), field(9, "long", "float"))
    assert after(widen("preferences", same), widen("locations", map_of(1, of, 2, to))) is TABLE
    assert after(widen("doubles", list_of(5, "double", required=True))) is TABLE
    said = schema(field(1, "s", struct(field(2, "a", "int", doc="d"))))
    assert after(widen("s", struct(field(9, "a", "int"))), of=said) is said
    for other in (
        struct(field(9, "a", "int", doc="another")),
        struct(field(9, "a", "int", required=True)),
        struct(field(9, "a", "long")),
        struct(field(9, "A", "int")),
        struct(field(9, "a", "int"), field(10, "b", "int")),
        struct(),
    ):
        refused(widen("s", other), of=said, match="Can't change the type of column 's'")
    refused(widen("doubles", list_of(5, "double")), match="Can't change the type")


@pytest.mark.parametrize("new", ["timestamp", "timestamp_ns"])
def test_version_3_lets_a_date_become_a_timestamp(new: str):
    dated = schema(("c", "date"))
    assert after(widen("c", new), of=dated, format_version=3).find_type("c") == type_of(new)
    refused(widen("c", "timestamptz"), of=dated, format_version=3, match="Can't change the type")


def test_version_3_lets_unknown_become_any_type():
    for new in set(PRIMITIVES) - {"unknown"}:
        made = after(widen("c", new), of=schema(("c", "unknown")), format_version=3)
        assert made.find_type("c") == type_of(new)


@pytest.mark.parametrize("change", [widen, document])
def test_a_deleted_or_missing_column_is_not_changed(change: Callable[..., Change]):
    refused(delete("data"), change("data", "string"), match="the same update deletes it")
    refused(change("n", "string"), match="Can't change column 'n'")


def test_a_new_column_can_be_changed_in_the_same_update():
    made = after(add("n"), widen("n", "long"), document("n", "d"), before("n", "id"))
    assert made.fields[0] == field(24, "n", "long", doc="d")


def test_a_column_becomes_optional_and_required_only_where_that_is_allowed():
    assert after(optional("id")).find_field("id").optional
    refused(require("data"), match="Can't make column 'data' required")
    assert after(require("data"), allow_incompatible_changes=True).find_field("data").required
    assert after(require("id")) is TABLE


def test_a_new_column_with_a_default_becomes_required():
    assert after(add("n", default=1), require("n")).find_field("n").required
    refused(add("n"), require("n"), match="Can't make column 'n' required")


def test_list_elements_and_map_values_become_optional():
    assert not after(optional("doubles.element")).find_type("doubles").element_required  # type: ignore[union-attr]


@pytest.mark.parametrize(
    "change",
    [
        delete("properties.key"),
        delete("locations.key.address"),
        add("locations.key.zip"),
        rename("locations.key.address", "a"),
        document("properties.key", "d"),
    ],
)
def test_map_keys_are_not_changed(change: Change):
    refused(change, match="Can't change the keys of map")


def test_columns_move_within_their_struct():
    assert names(after(first("data")))[:2] == ["data", "id"]
    assert names(after(behind("id", "properties")))[-1] == "id"
    assert names(after(before("properties", "data")))[:3] == ["id", "properties", "data"]
    assert names(after(first("points.y")), "points.element") == ["y", "x"]
    assert names(after(behind("locations.lat", "locations.long")), "locations.value") == [
        "long",
        "lat",
    ]


def test_moves_are_made_one_after_the_other():
    made = after(first("data"), behind("id", "preferences"), before("preferences", "data"))
    assert names(made)[:3] == ["preferences", "data", "id"]


def test_new_columns_move_too():
    made = after(add("n"), add("m"), before("m", "id"), behind("n", "m"))
    assert names(made)[:3] == ["m", "n", "id"]
    nested = after(add("preferences.n"), first("preferences.n"))
    assert names(nested, "preferences")[0] == "n"


def test_a_column_that_replaces_a_deleted_one_moves():
    made = after(delete("data"), add("data", "int"), first("data"))
    assert made.fields[0] == field(24, "data", "int")


@pytest.mark.parametrize(
    ("changes", "match"),
    [
        ([before("id", "id")], "before itself"),
        ([behind("id", "id")], "after itself"),
        ([first("n")], "there is no 'n'"),
        ([before("n", "id")], "there is no 'n'"),
        ([behind("id", "n")], "'id' after 'n': there is no 'n'"),
        ([before("id", "preferences.feature1")], "to a different struct"),
        ([before("preferences.feature1", "id")], "to a different struct"),
        ([before("preferences.feature1", "points.x")], "to a different struct"),
        ([first("properties.key")], "only fields of structs"),
        ([first("properties.value")], "only fields of structs"),
        ([first("doubles.element")], "only fields of structs"),
        ([delete("data"), first("data")], "the same update deletes it"),
    ],
)
def test_a_move_that_does_not_go_is_refused(changes: list[Change], match: str):
    refused(*changes, match=match)


def test_a_column_is_added_before_it_moves():
    refused(first("n"), match="there is no 'n'")


def test_identifier_columns_are_set_by_their_names_after_the_update():
    assert after(identify("id")).identifier_field_ids == (1,)
    new = after(identify("k"), add("k", "string", required=True), allow_incompatible_changes=True)
    assert new.identifier_field_ids == (24,)
    keyed = after(identify("id"))
    assert after(identify(), of=keyed).identifier_field_ids == ()


def test_identifier_columns_keep_their_part_when_renamed_and_moved():
    keyed = after(identify("id"))
    assert after(rename("id", "key"), behind("id", "data"), of=keyed).identifier_field_ids == (1,)
    assert after(identify("id"), rename("id", "key")).identifier_field_ids == (1,)


def test_an_identifier_column_is_deleted_only_when_others_are_set():
    keyed = schema(
        field(1, "id", "int", required=True),
        field(2, "s", struct(field(3, "k", "int", required=True)), required=True),
        identifier_field_ids=[1, 3],
    )
    refused(delete("id"), of=keyed, match="Can't delete column 'id': 'id' identifies rows")
    refused(delete("s"), of=keyed, match="Can't delete column 's': 's.k' identifies rows")
    assert names(after(delete("s"), identify("id"), of=keyed)) == ["id"]


def test_an_identifier_that_is_no_column_is_refused():
    refused(identify("n"), match="Can't identify rows by 'n'")


def test_case_is_told_apart_unless_asked_not_to():
    assert len(after(add("DATA"))) == len(TABLE) + 1
    refused(delete("DATA"), match="Can't delete column 'DATA'")
    loose: dict[str, Any] = {"case_sensitive": False}
    refused(add("DATA"), match="the table has a column of that name", **loose)
    refused(add("new"), add("NEW"), match="differ only by case", **loose)
    made = after(rename("DATA", "d"), widen("ID", "long"), first("PREFERENCES.feature2"), **loose)
    assert names(made)[:2] == ["id", "d"]
    assert names(made, "preferences")[0] == "feature2"
    assert names(after(add("New"), behind("NEW", "Id"), **loose))[1] == "New"
