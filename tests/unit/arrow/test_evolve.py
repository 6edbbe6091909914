"""File columns to the requested schema by field id (specification, "Column Projection")."""

from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from iceberg_spark.arrow.evolve import evolution, needed_leaves
from iceberg_spark.arrow.file_fields import file_fields, ids_of, prune_fields
from iceberg_spark.arrow.schema import to_arrow
from iceberg_spark.arrow.values import to_scalar
from iceberg_spark.errors import CorruptFileError
from iceberg_spark.spec.name_mapping import from_schema
from iceberg_spark.spec.schema import Schema
from iceberg_spark.spec.types import StringType
from tests.builders import field, list_of, map_of, schema, struct, type_of


def evolve(
    file: pa.RecordBatch, wanted: Schema, constants: dict | None = None, ids: dict | None = None
) -> pa.RecordBatch:
    """Prune to what is needed, as a Parquet reader does, then evolve."""
    fields = file_fields(file.schema, ids)
    leaves = needed_leaves(fields, wanted.fields, constants or {})
    given = prune_fields(fields, leaves)
    batch = cut(file, given)
    made = evolution(given, wanted.fields, constants or {}, "f.parquet").apply(batch)
    made.validate(full=True)
    assert made.schema.equals(to_arrow(wanted), check_metadata=True)
    assert [column.type for column in made.columns] == to_arrow(wanted).types
    return made


def cut(file: pa.RecordBatch, given: tuple) -> pa.RecordBatch:
    target = pa.schema([pa.field(one.name, one.kind) for one in given])
    columns = [prune_array(file.column(one.name), one.kind) for one in given]
    if not columns:
        return pa.RecordBatch.from_struct_array(
            pa.Array.from_buffers(pa.struct([]), file.num_rows, [None])
        )
    return pa.RecordBatch.from_arrays(columns, schema=target)


def prune_array(array: pa.Array, kind: pa.DataType) -> pa.Array:
    if array.type == kind or not pa.types.is_nested(kind):
        return array
    return pa.array(prune_value(array.to_pylist(), kind), kind)


def prune_value(values: list, kind: pa.DataType) -> list:
    return [one(value, kind) for value in values]


def one(value: Any, kind: pa.DataType) -> Any:
    if value is None:
        return None
    if pa.types.is_struct(kind):
        return {child.name: one(value[child.name], child.type) for child in kind}
    if pa.types.is_map(kind):
        return [(one(k, kind.key_type), one(v, kind.item_type)) for k, v in value]
    if pa.types.is_list(kind):
        return [one(item, kind.value_type) for item in value]
    return value


def batch(table: Schema, rows: list[dict]) -> pa.RecordBatch:
    return pa.RecordBatch.from_pylist(rows, schema=to_arrow(table))


OLD = schema(field(1, "a", "int"), field(2, "b", "string"), field(3, "c", "double"))
ROWS = [{"a": 1, "b": "x", "c": 0.5}, {"a": None, "b": None, "c": None}]


def test_the_specifications_example_renamed_reordered_and_missing():
    wanted = schema(
        field(3, "measurement", "double"), field(2, "name", "string"), field(4, "a", "int")
    )
    assert evolve(batch(OLD, ROWS), wanted).to_pylist() == [
        {"measurement": 0.5, "name": "x", "a": None},
        {"measurement": None, "name": None, "a": None},
    ]


def test_a_column_dropped_and_added_again_under_its_name_is_another():
    wanted = schema(field(1, "a", "int"), field(9, "b", "string"))
    assert evolve(batch(OLD, ROWS[:1]), wanted).to_pylist() == [{"a": 1, "b": None}]


def test_equal_columns_are_shared_not_copied():
    file = batch(OLD, ROWS)
    wanted = schema(field(3, "renamed", "double"), field(2, "b", "string"))
    made = evolve(file, wanted)
    for name, index in (("c", 0), ("b", 1)):
        theirs = [b.address for b in file.column(name).buffers() if b]
        assert [b.address for b in made.column(index).buffers() if b] == theirs


@pytest.mark.parametrize(
    ("old", "new", "value", "expected"),
    [
        ("int", "long", -5, -5),
        ("float", "double", 0.1, 0.10000000149011612),
        ("decimal(9, 2)", "decimal(20, 2)", Decimal("-1.10"), Decimal("-1.10")),
        ("date", "timestamp", 1, 86_400_000_000),
        ("date", "timestamp_ns", 1, 86_400_000_000_000),
    ],
)
def test_promotions(old: str, new: str, value: Any, expected: Any):
    file = batch(schema(("x", old)), [{"x": value}, {"x": None}])
    made = evolve(file, schema(("x", new))).column(0)
    wanted = pa.array([expected, None], made.type)
    assert made.equals(wanted)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("long", "int"), ("double", "float"), ("decimal(9, 2)", "decimal(9, 3)"),
        ("decimal(20, 2)", "decimal(9, 2)"), ("string", "int"), ("int", "string"),
        ("date", "timestamptz"), ("int", "double"), ("fixed[3]", "uuid"),
    ],
)  # fmt: skip
def test_what_is_no_promotion_is_refused(old: str, new: str):
    file = batch(schema(("x", old)), [{"x": None}])
    with pytest.raises(CorruptFileError, match=r"'x' of f\.parquet"):
        evolve(file, schema(("x", new)))


def test_nested_and_primitive_do_not_become_each_other():
    kinds = ["int", struct(field(2, "a", "int")), list_of(3, "int"), map_of(4, "int", 5, "int")]
    for old in kinds:
        for new in kinds:
            if old != new:
                with pytest.raises(CorruptFileError, match="'x'"):
                    evolve(batch(schema(("x", old)), [{"x": None}]), schema(("x", new)))


def test_a_date_outside_the_range_of_timestamps_fails():
    file = batch(schema(("x", "date")), [{"x": 2**31 - 1}])
    with pytest.raises(CorruptFileError, match="'x'"):
        evolve(file, schema(("x", "timestamp")))


def test_a_promotion_inside_struct_list_and_map():
    old = schema(
        field(1, "st", struct(field(2, "a", "int"))),
        field(3, "l", list_of(4, "float")),
        field(5, "m", map_of(6, "int", 7, "decimal(9, 2)")),
    )
    new = schema(
        field(1, "st", struct(field(2, "a", "long"))),
        field(3, "l", list_of(4, "double")),
        field(5, "m", map_of(6, "long", 7, "decimal(10, 2)")),
    )
    rows = [
        {"st": {"a": 1}, "l": [0.5, None], "m": [(1, Decimal("1.10"))]},
        {"st": None, "l": None, "m": None},
        {"st": {"a": None}, "l": [], "m": []},
    ]
    assert evolve(batch(old, rows), new).to_pylist() == rows
    assert evolve(batch(old, rows).slice(1), new).to_pylist() == rows[1:]


NESTED = schema(
    field(1, "st", struct(field(2, "a", "int"), field(3, "b", "string"))),
    field(4, "l", list_of(5, struct(field(6, "x", "int")))),
    field(7, "m", map_of(8, "string", 9, struct(field(10, "y", "int")))),
)
NESTED_ROWS = [
    {
        "st": {"a": 1, "b": "p"},
        "l": [{"x": 1}, None, {"x": 2}],
        "m": [("k", {"y": 1}), ("n", None)],
    },
    {"st": None, "l": None, "m": None},
    {"st": {"a": None, "b": None}, "l": [], "m": []},
    {"st": {"a": 2, "b": "q"}, "l": [{"x": 3}], "m": [("k", {"y": 2})]},
]


def test_fields_added_inside_struct_list_and_map_are_null():
    wanted = schema(
        field(1, "st", struct(field(11, "new", "long"), field(3, "renamed", "string"))),
        field(4, "l", list_of(5, struct(field(6, "x", "long"), field(12, "z", "string")))),
        field(
            7, "m", map_of(8, "string", 9, struct(field(13, "w", "date"), field(10, "y", "int")))
        ),
    )
    expected = [
        {
            "st": {"new": None, "renamed": "p"},
            "l": [{"x": 1, "z": None}, None, {"x": 2, "z": None}],
            "m": [("k", {"w": None, "y": 1}), ("n", None)],
        },
        {"st": None, "l": None, "m": None},
        {"st": {"new": None, "renamed": None}, "l": [], "m": []},
        {
            "st": {"new": None, "renamed": "q"},
            "l": [{"x": 3, "z": None}],
            "m": [("k", {"w": None, "y": 2})],
        },
    ]
    file = batch(NESTED, NESTED_ROWS)
    assert evolve(file, wanted).to_pylist() == expected
    for begin in range(4):
        assert evolve(file.slice(begin, 2), wanted).to_pylist() == expected[begin : begin + 2]


def test_a_null_struct_differs_from_a_struct_of_missing_fields():
    wanted = schema(
        field(1, "st", struct(field(11, "new", "int"))),
        field(4, "l", list_of(5, struct(field(12, "new", "int")))),
        field(7, "m", map_of(8, "string", 9, struct(field(13, "new", "int")))),
    )
    found = evolve(batch(NESTED, NESTED_ROWS), wanted).to_pylist()
    assert found[0] == {
        "st": {"new": None},
        "l": [{"new": None}, None, {"new": None}],
        "m": [("k", {"new": None}), ("n", None)],
    }
    assert found[1] == {"st": None, "l": None, "m": None}


def test_only_needed_columns_are_read_and_the_cheapest_stands_for_a_struct():
    fields = file_fields(to_arrow(NESTED))
    assert [one.leaves for one in fields] == [(0, 1), (2,), (3, 4)]

    def needed(*wanted):
        return sorted(needed_leaves(fields, wanted, {}))

    assert needed(field(1, "st", struct(field(3, "b", "string")))) == [1]
    assert needed(field(1, "st", struct(field(99, "new", "int")))) == [0]
    assert needed(field(7, "m", map_of(8, "string", 9, struct(field(99, "n", "int"))))) == [3, 4]
    assert needed(field(50, "gone", "int")) == []
    costly = to_arrow(
        schema(
            field(
                1,
                "st",
                struct(
                    field(2, "l", list_of(3, "int")), field(4, "s", "string"), field(5, "d", "date")
                ),
            )
        )
    )
    assert sorted(
        needed_leaves(file_fields(costly), [field(1, "st", struct(field(99, "n", "int")))], {})
    ) == [2]


class TestDefaults:
    def test_a_missing_column_has_its_initial_default_not_the_write_default(self):
        wanted = schema(
            field(1, "a", "int"),
            field(7, "n", "long", initial_default=5, write_default=6),
            field(8, "t", "timestamptz", initial_default=1_000_000),
            field(9, "s", "string", True, initial_default="x"),
            field(10, "w", "int", write_default=3),
        )
        made = evolve(batch(OLD, ROWS), wanted)
        assert made.column("n").to_pylist() == [5, 5]
        assert made.column("t").cast(pa.int64()).to_pylist() == [1_000_000, 1_000_000]
        assert made.column("s").to_pylist() == ["x", "x"]
        assert made.column("w").to_pylist() == [None, None]

    def test_a_null_in_the_file_stays_null(self):
        wanted = schema(field(1, "a", "int", initial_default=5))
        assert evolve(batch(OLD, ROWS), wanted).column("a").to_pylist() == [1, None]

    @pytest.mark.parametrize(
        ("default", "written", "expected"),
        [
            (None, None, None),
            (None, {"x": 3}, {"x": 3, "y": 0}),
            ({}, None, {"x": 0, "y": 0}),
            ({}, {"y": -1}, {"x": 0, "y": -1}),
        ],
    )
    def test_the_specifications_table_of_struct_defaults(self, default, written, expected):
        x, y = field(2, "x", "int", initial_default=0), field(3, "y", "int", initial_default=0)
        wanted = schema(field(1, "point", struct(x, y), initial_default=default))
        if written is None:
            file = batch(schema(field(9, "other", "int")), [{"other": 1}])
        else:
            kept = [one for one in (x, y) if one.name in written]
            file = batch(schema(field(1, "point", struct(*kept))), [{"point": written}])
        assert evolve(file, wanted).to_pylist() == [{"point": expected}]

    def test_defaults_inside_lists_and_maps(self):
        wanted = schema(
            field(4, "l", list_of(5, struct(field(12, "z", "string", initial_default="d")))),
            field(7, "m", map_of(8, "string", 9, struct(field(13, "w", "int", initial_default=1)))),
        )
        assert evolve(batch(NESTED, NESTED_ROWS[:2]), wanted).to_pylist() == [
            {"l": [{"z": "d"}, None, {"z": "d"}], "m": [("k", {"w": 1}), ("n", None)]},
            {"l": None, "m": None},
        ]

    def test_a_required_column_without_a_value_is_refused(self):
        with pytest.raises(CorruptFileError, match=r"'st\.must'.*f\.parquet"):
            evolve(
                batch(NESTED, NESTED_ROWS),
                schema(field(1, "st", struct(field(99, "must", "int", True)))),
            )


def test_required_became_optional():
    file = batch(schema(field(1, "a", "int", True)), [{"a": 1}])
    assert evolve(file, schema(field(1, "a", "int"))).to_pylist() == [{"a": 1}]


def test_an_unknown_column_is_null_even_if_the_file_has_one():
    made = evolve(batch(OLD, ROWS), schema(field(1, "a", "unknown"), field(9, "b", "unknown")))
    assert made.to_pylist() == [{"a": None, "b": None}] * 2
    assert needed_leaves(file_fields(to_arrow(OLD)), [field(1, "a", "unknown")], {}) == frozenset()


def test_unknown_in_the_file_promotes_to_any_type():
    file = pa.record_batch([pa.nulls(2)], schema=to_arrow(schema(("a", "unknown"))))
    assert evolve(file, schema(("a", "decimal(9, 2)"))).to_pylist() == [{"a": None}] * 2


class TestIdsOfFilesWithoutIds:
    def test_every_name_of_the_mapping_counts_at_any_depth(self):
        bare = pa.RecordBatch.from_pylist(
            NESTED_ROWS,
            schema=pa.schema(
                [
                    ("st", pa.struct([("a", pa.int32()), ("b", pa.string())])),
                    ("l", pa.list_(pa.struct([("x", pa.int32())]))),
                    ("m", pa.map_(pa.string(), pa.struct([("y", pa.int32())]))),
                ]
            ),
        )
        assert evolve(bare, NESTED, ids=ids_of(from_schema(NESTED))).to_pylist() == NESTED_ROWS

    def test_an_element_without_id_in_a_list_with_one_is_the_element(self):
        kind = pa.list_(pa.field("array", pa.int32(), metadata={"PARQUET:field_id": "-1"}))
        listed = pa.field("l", kind, metadata={"PARQUET:field_id": "1"})
        file = pa.record_batch([pa.array([[1], None], kind)], schema=pa.schema([listed]))
        made = evolve(file, schema(field(1, "l", list_of(2, "long"))))
        assert made.to_pylist() == [{"l": [1]}, {"l": None}]

    def test_an_id_of_the_file_wins_over_the_mapping(self):
        file = batch(OLD, ROWS[:1])
        wanted = schema(field(2, "b", "string"), field(7, "a", "int"))
        assert evolve(file, wanted, ids={("a",): 7}).to_pylist() == [{"b": "x", "a": None}]

    def test_constants_stand_for_what_has_no_id_of_its_own(self):
        constants = {2: to_scalar(StringType(), "p"), 3: to_scalar(type_of("double"), None)}
        file = pa.RecordBatch.from_pydict({"a": pa.array([1], pa.int32()), "b": ["x"]})
        made = evolve(file, OLD, constants, {("a",): 1, ("b",): 2})
        assert made.to_pylist() == [{"a": 1, "b": "p", "c": None}]
        made = evolve(batch(OLD, ROWS[:1]), OLD, constants)
        assert made.to_pylist() == ROWS[:1]


class TestLayouts:
    @pytest.mark.parametrize(
        ("kind", "wanted", "values"),
        [
            (pa.large_string(), "string", ["a", None]),
            (pa.string_view(), "string", ["a", None]),
            (pa.binary(), "string", [b"a", None]),
            (pa.dictionary(pa.int8(), pa.string()), "string", ["a", None, "a"]),
            (pa.dictionary(pa.int8(), pa.decimal128(9, 2)), "decimal(12, 2)", [Decimal("1.00")]),
            (pa.large_binary(), "binary", [b"a", None]),
            (pa.string(), "binary", ["a", None]),
            (pa.binary(), "uuid", [b"a" * 16, None]),
            (pa.int8(), "int", [1, None]),
            (pa.uint32(), "long", [2**32 - 1]),
            (pa.int64(), "time", [1, None]),
            (pa.timestamp("ms"), "timestamp", [1, -1, None]),
            (pa.timestamp("us"), "timestamptz", [1, None]),
            (pa.timestamp("us", "America/New_York"), "timestamptz", [1, None]),
            (pa.timestamp("ns", "UTC"), "timestamp", [1000, None]),
        ],
        ids=str,
    )
    def test_arrow_layouts_become_the_plain_one(self, kind, wanted, values):
        plain = kind.value_type if pa.types.is_dictionary(kind) else kind
        column = pa.array(values, plain)
        column = column.dictionary_encode() if plain != kind else column
        file = pa.record_batch([column], names=["x"])
        made = evolve(file, schema(("x", wanted)), ids={("x",): 1}).column(0)
        assert made.null_count == column.null_count
        if not pa.types.is_temporal(made.type):
            assert made.equals(pc.cast(pa.array(values, plain), made.type))

    def test_the_instant_is_kept_whatever_the_zone_and_unit(self):
        file = pa.record_batch([pa.array([1_500], pa.timestamp("ms", "Asia/Tokyo"))], names=["x"])
        made = evolve(file, schema(("x", "timestamptz")), ids={("x",): 1}).column(0)
        assert made.cast(pa.int64()).to_pylist() == [1_500_000]

    @pytest.mark.parametrize("kind", [pa.large_list, pa.list_view, lambda i: pa.list_(i, 2)])
    def test_lists_of_other_layouts(self, kind):
        file = pa.record_batch([pa.array([[1, 2], None, [3, 4]], kind(pa.int32()))], names=["x"])
        ids = {("x",): 1, ("x", "element"): 2}
        wanted = schema(field(1, "x", list_of(2, "long")))
        assert evolve(file, wanted, ids=ids).column(0).to_pylist() == [[1, 2], None, [3, 4]]

    @pytest.mark.parametrize(
        ("kind", "wanted", "value"),
        [
            (pa.timestamp("ns"), "timestamp", 1),
            (pa.date64(), "date", 5),
            (pa.binary(), "fixed[3]", b"ab"),
            (pa.binary(), "string", b"\xff"),
            (pa.timestamp("s"), "timestamp", 2**60),
        ],
    )
    def test_a_value_that_does_not_fit_names_the_column(self, kind, wanted, value):
        file = pa.record_batch([pa.array([value], kind)], names=["x"])
        with pytest.raises(CorruptFileError, match=r"'x' of f\.parquet"):
            evolve(file, schema(("x", wanted)), ids={("x",): 1})


def test_a_repeated_field_outside_a_list_group_has_the_lists_id_for_its_element():
    """Arrow gives the one id of such a Parquet field to the list and to its element."""
    number = {"PARQUET:field_id": "2"}
    element = pa.field("d", pa.struct([pa.field("x", pa.int32())]), metadata=number)
    file = pa.schema([pa.field("d", pa.list_(element), metadata=number)])
    wanted = schema(field(2, "d", list_of(3, struct(field(4, "x", "int")))))
    (stored,) = file_fields(file)
    assert (stored.own_id, stored.children[0].own_id) == (2, None)
    assert needed_leaves((stored,), wanted.fields, {}) == {0}
