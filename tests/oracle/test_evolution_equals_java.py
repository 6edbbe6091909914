"""Every change of schema, spec and order on twin tables: the same outcome, the same ids."""

import json
from typing import Any

import pytest
from pyspark.sql import SparkSession

import iceberg_spark as ice
from iceberg_spark.spec.schema import Schema
from tests.builders import field, list_of, map_of, schema, struct
from tests.oracle.evolving import Update, definition, javas, metadata_of, ours, twins, versions

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
    field(21, "k", struct(field(22, "a", "long", required=True)), required=True),
    field(23, "d", "date"),
    field(24, "p", "decimal(9, 2)"),
)
DEEP = struct(
    field(1, "a", "int"),
    field(2, "m", map_of(101, struct(field(7, "k", "int")), 102, list_of(9, "int"))),
    field(3, "b", struct(field(10, "c", "date"))),
)
OTHER = schema(
    field(1, "n", "int", required=True),
    field(2, "points", list_of(3, struct(field(4, "z", "double"), field(5, "x", "long")))),
    field(
        6,
        "preferences",
        struct(
            field(7, "new", struct(field(70, "q", list_of(71, "int")))),
            field(20, "feature1", "boolean"),
        ),
    ),
    field(
        40,
        "locations",
        map_of(
            41,
            struct(field(42, "address", "string", required=True)),
            43,
            struct(field(44, "alt", "float"), field(45, "lat", "double", required=True)),
        ),
        required=True,
    ),
    field(60, "id", "long", required=True, doc="key"),
    field(61, "p", "decimal(5, 2)"),
)

# One update after the other on the same twins; each is compared, also when it is refused.
SCHEMA_UPDATES: dict[str, Update] = {
    "nothing": [("widen", "id", "int")],
    "add": [("add", "n", "int"), ("add", "n2", "string", {"doc": "why"})],
    "add deep": [("add", "deep", DEEP), ("add", "after", "int")],
    "add nested": [
        ("add", "preferences.x", "int"), ("add", "points.x2", "long"),
        ("add", "locations.alt", "float"), ("add", "points.element.x3", DEEP),
    ],
    "add what is there": [("add", "data", "int")],
    "add nested what is there": [("add", "points.x", "int")],
    "add twice": [("add", "t", "int"), ("add", "t", "int")],
    "add below nothing": [("add", "nowhere.x", "int")],
    "add below text": [("add", "data.x", "int")],
    "add to a list of doubles": [("add", "doubles.x", "int")],
    "add to a map key": [("add", "locations.key.zip", "int")],
    "add required": [("add", "r", "int", {"required": True})],
    "delete and add": [("delete", "data"), ("add", "data", "date")],
    "delete and add nested": [("delete", "points.y"), ("add", "points.y", "int")],
    "delete and update": [("delete", "data"), ("doc", "data", "x")],
    "update and delete": [("doc", "data", "x"), ("delete", "data")],
    "add to and delete": [("add", "preferences.q", "int"), ("delete", "preferences")],
    "delete and add to": [("delete", "preferences"), ("add", "preferences.q", "int")],
    "delete above and add to below": [("delete", "deep"), ("add", "deep.b.q", "int")],
    "delete missing": [("delete", "zzz")],
    "delete what is added": [("add", "zzz", "int"), ("delete", "zzz")],
    "delete a map key": [("delete", "properties.key")],
    "delete a map value": [("delete", "properties.value")],
    "delete an element": [("delete", "doubles.element")],
    "delete twice": [("delete", "n2"), ("delete", "n2")],
    "rename": [("rename", "n", "m"), ("rename", "points.x", "X"), ("rename", "preferences", "pr")],
    "rename to what is there": [("rename", "id", "data")],
    "rename what is added": [("add", "zzz", "int"), ("rename", "zzz", "q")],
    "rename missing": [("rename", "zzz", "q")],
    "rename what is deleted": [("delete", "m"), ("rename", "m", "q")],
    "rename a map key": [("rename", "locations.key.address", "q")],
    "rename and add": [("rename", "m", "q"), ("add", "m", "int")],
    "swap": [("rename", "m", "after"), ("rename", "after", "m")],
    "widen": [
        ("widen", "id", "long"), ("widen", "locations.lat", "double"),
        ("widen", "p", "decimal(18, 2)"),
    ],
    "widen and rename": [("widen", "m", "long"), ("rename", "m", "w"), ("doc", "m", "wide")],
    "widen what is added": [("add", "v", "int"), ("widen", "v", "long"), ("doc", "v", "new")],
    "widen a struct": [("widen", "pr", "long")],
    "optional": [
        ("optional", "locations.lat"), ("optional", "doubles.element"), ("optional", "id"),
    ],
    "require": [("require", "data")],
    "require what is required": [("require", "k")],
    "move": [("first", "data"), ("before", "p", "id"), ("after", "id", "properties")],
    "move nested": [("first", "points.y"), ("after", "locations.lat", "locations.long")],
    "move what is added": [
        ("add", "u", "int"), ("add", "t", "int"), ("first", "t"), ("after", "u", "t"),
    ],
    "move before itself": [("before", "id", "id")],
    "move missing": [("first", "zzz")],
    "move behind missing": [("after", "id", "zzz")],
    "move to another struct": [("before", "points.y", "pr.feature1")],
    "move out": [("before", "points.y", "id")],
    "move an element": [("first", "doubles.element")],
    "move a map value": [("first", "properties.value")],
    "move what is deleted": [("delete", "t"), ("first", "t")],
    "move what is deleted and added": [("delete", "t"), ("add", "t", "date"), ("first", "t")],
    "identify by what is optional": [("identify", "data")],
    "identify by nothing there": [("identify", "zzz")],
    "identify": [("identify", "k.a")],
    "move an identifier": [("first", "k")],
    "delete an identifier": [("delete", "k.a")],
    "delete above an identifier": [("delete", "k")],
    "delete an identifier and name others": [("delete", "k"), ("identify",)],
    "union": [("union", OTHER)],
    "union again": [("union", OTHER)],
    "union of what does not go": [("union", schema(("data", "int")))],
    "back to what was": [("rename", "data", "data")],
}  # fmt: skip
ALLOWED: dict[str, Update] = {
    "add required": [("add", "r", "int", {"required": True})],
    "require": [("require", "data")],
    "identify by what is new": [
        ("add", "q", "string", {"required": True}), ("identify", "q", "id"),
    ],
    "rename an identifier": [("rename", "q", "q2")],
}  # fmt: skip
LOOSE: dict[str, Update] = {
    "add": [("add", "ID", "int")],
    "rename": [("rename", "DATA", "Dd")],
    "widen": [("widen", "ID", "long")],
    "move": [("after", "dD", "Id"), ("first", "POINTS.Y")],
    "add and move": [("add", "New", "int"), ("first", "NEW")],
    "add alike": [("add", "alike", "int"), ("add", "ALIKE", "int")],
    "delete": [("delete", "PREFERENCES.Feature1")],
}


def compare(
    java: SparkSession, places: tuple[str, str], updates: dict[str, Update], **options: Any
) -> None:
    """Make every update on both; outcome, definition and number of versions must be equal."""
    ours_at, javas_at = places
    for name, update in updates.items():
        mine = ours(ours_at, update, **options)
        theirs = javas(java, javas_at, update, **options)
        assert (mine is None) == (theirs is None), f"{name}: we say {mine}, Java says {theirs}"
        assert definition(ours_at) == definition(javas_at), name
        assert versions(ours_at) == versions(javas_at), f"{name}: not the same number of commits"


@pytest.mark.parametrize("version", [1, 2])
def test_changes_of_columns(java: SparkSession, version: int) -> None:
    places = twins(java, f"columns_v{version}", TABLE, properties={"format-version": str(version)})
    compare(java, places, SCHEMA_UPDATES)


def test_incompatible_changes_where_they_are_allowed(java: SparkSession) -> None:
    compare(java, twins(java, "incompatible", TABLE), ALLOWED, allow_incompatible_changes=True)


def test_changes_without_regard_to_case(java: SparkSession) -> None:
    compare(java, twins(java, "loose", TABLE), LOOSE, case_sensitive=False)


PRIMITIVES = [
    "boolean", "int", "long", "float", "double", "date", "time", "timestamp", "timestamptz",
    "string", "uuid", "binary", "fixed[3]", "decimal(9, 2)", "decimal(9, 3)", "decimal(18, 2)",
]  # fmt: skip


def test_the_same_types_may_be_widened(java: SparkSession) -> None:
    columns = schema(*((f"c{at}", kind) for at, kind in enumerate(PRIMITIVES)))
    places = twins(java, "widened", columns)
    updates = {
        f"{old} to {new}": [("widen", f"c{at}", new), ("add", f"c{at}.never", "int")]
        for at, old in enumerate(PRIMITIVES)
        for new in PRIMITIVES
    }
    for name, update in updates.items():
        mine = ours(places[0], update) or ""
        theirs = javas(java, places[1], update) or ""
        assert ("Can't change the type" in mine) == ("Cannot change column type" in theirs), name


SOURCES = schema(
    ("id", "long"), ("ts", "timestamptz"), ("category", "string"), ("data", "string"),
    ("d", "date"), ("s", struct(field(20, "n", "int"))), ("l", list_of(21, "int")),
)  # fmt: skip
SPEC_UPDATES: dict[str, Update] = {
    "add": [("field", "category"), ("field", "days(ts)"), ("field", "bucket(16, id)", "shard")],
    "default names": [
        ("field", "truncate(4, data)"), ("field", "bucket(8, id)"), ("field", "months(d)"),
        ("field", "s.n"), ("field", "bucket(4, s.n)"),
    ],
    "add what is there": [("field", "category")],
    "add under another name what is there": [("field", "bucket(16, id)", "x")],
    "add twice": [("field", "data"), ("field", "data")],
    "add one name twice": [("field", "data", "q"), ("field", "hours(ts)", "q")],
    "add under a name that is there": [("field", "hours(ts)", "shard")],
    "add under the name of a column": [("field", "bucket(3, id)", "data")],
    "an hour beside a day": [("field", "hours(ts)")],
    "a year and a month": [("field", "years(d)"), ("field", "days(d)")],
    "a type that does not go": [("field", "hours(d)")],
    "a struct": [("field", "s")],
    "an element": [("field", "l.element")],
    "nothing there": [("field", "zzz")],
    "remove": [("unfield", "d_month"), ("unfield", "bucket(8, id)")],
    "remove missing": [("unfield", "zzz")],
    "remove a missing term": [("unfield", "bucket(99, id)")],
    "remove what is added": [("field", "years(d)"), ("unfield", "d_year")],
    "remove a term that is added": [("field", "years(d)"), ("unfield", "years(d)")],
    "rename": [("refield", "shard", "sh")],
    "rename missing": [("refield", "zzz", "q")],
    "rename what is added": [("field", "years(d)"), ("refield", "d_year", "q")],
    "rename to what is there": [("refield", "sh", "ts_day")],
    "rename and remove": [("refield", "sh", "q"), ("unfield", "sh")],
    "remove and rename": [("unfield", "sh"), ("refield", "sh", "q")],
    "remove and add": [("unfield", "sh"), ("field", "bucket(16, id)")],
    "remove and add under another name": [("unfield", "sh"), ("field", "bucket(16, id)", "shard")],
    "remove and add with another width": [
        ("unfield", "shard"), ("field", "bucket(32, id)", "shard"),
    ],
    "add again": [("field", "bucket(8, id)")],
    "add again under another name": [("unfield", "id_bucket_8"), ("field", "months(d)", "m")],
    "add again what had another name": [("field", "bucket(16, id)")],
    "remove an identity and add it": [("unfield", "category")],
    "an identity again": [("field", "category")],
    "not the default": [("field", "years(d)"), ("not default",)],
    "that one": [("field", "years(d)")],
}  # fmt: skip
SORT_UPDATES: dict[str, Update] = {
    "one": [("sort", "asc", "id", "nulls first")],
    "two": [("sort", "desc", "bucket(4, id)", "nulls last"), ("sort", "asc", "s.n", "nulls last")],
    "the same": [
        ("sort", "desc", "bucket(4, id)", "nulls last"), ("sort", "asc", "s.n", "nulls last"),
    ],
    "one again": [("sort", "asc", "id", "nulls first")],
    "other nulls": [("sort", "asc", "id", "nulls last")],
    "days": [("sort", "desc", "days(ts)", "nulls first")],
    "a type that does not go": [("sort", "asc", "hours(d)", "nulls first")],
    "a struct": [("sort", "asc", "s", "nulls first")],
    "nothing there": [("sort", "asc", "zzz", "nulls first")],
    "nothing": [("unsorted",)],
}  # fmt: skip


@pytest.mark.parametrize("version", [1, 2])
def test_changes_of_partition_fields(java: SparkSession, version: int) -> None:
    places = twins(java, f"fields_v{version}", SOURCES, properties={"format-version": str(version)})
    compare(java, places, SPEC_UPDATES)
    sources: dict[str, Update] = {
        "delete a source": [("delete", "data")],
        "delete above a source": [("delete", "s")],
        "widen a source": [("widen", "s.n", "long")],
        "rename a source": [("rename", "ts", "at")],
    }
    compare(java, places, sources)


def test_a_field_that_is_not_an_identity_takes_no_name_of_a_column(java: SparkSession) -> None:
    """Java lets it take that of its own source; here the rule is one for every way in."""
    places = twins(java, "column_name", SOURCES)
    update: Update = [("field", "truncate(3, data)", "data")]
    assert "can't share a name" in (ours(places[0], update) or "")
    assert javas(java, places[1], update) is None
    assert ice.load_table(places[1]).spec().fields[0].name == "data"


def test_all_fields_removed(java: SparkSession) -> None:
    for version in ("1", "2"):
        places = twins(
            java, f"removed_v{version}", SOURCES, partition_by=["category", "bucket(4, id)"],
            properties={"format-version": version},
        )  # fmt: skip
        compare(java, places, {"all": [("unfield", "category"), ("unfield", "id_bucket")]})
        compare(java, places, {"their column": [("delete", "category")]})


def test_changes_of_the_sort_order(java: SparkSession) -> None:
    places = twins(java, "sorted", SOURCES)
    compare(java, places, SORT_UPDATES)
    compare(java, places, {"by data": [("sort", "asc", "data", "nulls first")]})
    compare(java, places, {"delete a source": [("delete", "data")]})


def test_the_name_mapping_and_column_properties_follow(java: SparkSession) -> None:
    mapping = '[{"field-id":1,"names":["id"]},{"field-id":2,"names":["data"]}]'
    properties = {
        "schema.name-mapping.default": mapping,
        "write.metadata.metrics.column.data": "none",
        "write.metadata.metrics.column.id": "counts",
    }
    columns: Schema = schema(("id", "long"), ("data", "string"))
    places = twins(java, "mapped", columns, properties=properties)
    updates: dict[str, Update] = {
        "rename and add": [("rename", "data", "text"), ("add", "n", struct(field(9, "a", "int")))],
        "take a name over": [("rename", "n", "data")],
        "delete": [("delete", "id")],
    }
    compare(java, places, updates)
    mine, theirs = (definition_properties(place) for place in places)
    assert mine == theirs


def definition_properties(path: str) -> dict[str, Any]:
    found = dict(metadata_of(path)["properties"])
    nodes = json.loads(found.pop("schema.name-mapping.default"))

    def plain(fields: list[dict[str, Any]]) -> Any:
        return [
            (one.get("field-id"), sorted(one["names"]), plain(one.get("fields", [])))
            for one in fields
        ]

    return {"mapping": plain(nodes), **found}
