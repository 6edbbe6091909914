"""Equality deletes: what equal means, and which columns count."""

import math
from decimal import Decimal
from pathlib import Path
from uuid import UUID

import pytest

from iceberg_spark.bounded_cache import BoundedCache
from iceberg_spark.errors import CorruptFileError
from iceberg_spark.spec.data_file import FileFormat
from iceberg_spark.spec.schema import Schema
from iceberg_spark.spec.types import NestedField
from tests.builders import field, list_of, schema, struct
from tests.unit.read.files import context, equality_deletes, name_mapping, read, task, write

ID = field(1, "id", "long")
S = field(2, "s", "string")
D = field(3, "d", "double")
TABLE = schema(ID, S, D)
FORMATS = pytest.mark.parametrize("file_format", [f for f in FileFormat if f != "PUFFIN"])


def rows(*values: tuple[object, object, object]) -> list[dict[str, object]]:
    return [dict(zip(("id", "s", "d"), row, strict=True)) for row in values]


def live(tmp_path: Path, data, *deletes, table: Schema = TABLE, **rest) -> list[object]:
    """The values of the first column of the rows that are left."""
    path = write(tmp_path / "data", rest.pop("written", table), data)
    cache = rest.pop("cache", None)
    read_schema = schema(table.fields[0])
    found = read(context(table, read_schema, **rest), task(path, delete_files=deletes), cache)
    return found.column(0).to_pylist()


@FORMATS
def test_deletes_of_every_format_take_equal_rows(tmp_path: Path, file_format: FileFormat):
    deletes = equality_deletes(
        tmp_path / "d", schema(ID), [{"id": 2}, {"id": 99}], file_format=file_format
    )
    data = rows((1, "a", 1.0), (2, "b", 2.0), (2, "c", 3.0), (3, "d", 4.0))
    assert live(tmp_path, data, deletes) == [1, 3]


def test_null_equals_null(tmp_path: Path):
    deletes = equality_deletes(tmp_path / "d", schema(S), [{"s": None}])
    data = rows((1, "a", 1.0), (2, None, 2.0), (3, "", 3.0))
    assert live(tmp_path, data, deletes) == [1, 3]


def test_null_is_no_value_unless_it_is_deleted(tmp_path: Path):
    deletes = equality_deletes(tmp_path / "d", schema(ID), [{"id": 0}])
    assert live(tmp_path, rows((None, "a", 1.0), (0, "b", 1.0)), deletes) == [None]
    deletes = equality_deletes(tmp_path / "e", schema(ID), [{"id": None}])
    assert live(tmp_path, rows((None, "a", 1.0), (0, "b", 1.0)), deletes) == [0]


@pytest.mark.parametrize("keys", [(D,), (D, S)])
def test_nan_equals_nan_and_minus_zero_differs_from_zero(tmp_path: Path, keys):
    table = schema(*keys)
    data = rows((1, "a", math.nan), (2, "a", -0.0), (3, "a", 0.0), (4, "a", None))
    for value, left in ((math.nan, [2, 3, 4]), (-0.0, [1, 3, 4]), (0.0, [1, 2, 4])):
        row = {"d": value, "s": "a"}
        deletes = equality_deletes(
            tmp_path / f"d{value}", table, [{f.name: row[f.name] for f in keys}]
        )
        assert live(tmp_path, data, deletes) == left


def test_nan_of_a_float_equals_nan_after_promotion_to_double(tmp_path: Path):
    old = schema(field(3, "d", "float"))
    deletes = equality_deletes(tmp_path / "d", old, [{"d": math.nan}, {"d": 0.5}])
    assert live(tmp_path, rows((1, "", math.nan), (2, "", 0.5), (3, "", 0.1)), deletes) == [3]


def test_all_columns_of_a_key_have_to_be_equal(tmp_path: Path):
    keys = schema(ID, S)
    deletes = equality_deletes(
        tmp_path / "d", keys, [{"id": 1, "s": "a"}, {"id": 2, "s": None}, {"id": None, "s": "c"}]
    )
    data = rows(
        (1, "a", 0.0), (1, "b", 0.0), (2, None, 0.0), (2, "", 0.0), (None, "c", 0.0), (3, "a", 0.0)
    )
    assert live(tmp_path, data, deletes) == [1, 2, 3]


def test_each_set_of_key_columns_deletes_on_its_own(tmp_path: Path):
    by_id = equality_deletes(tmp_path / "d1", schema(ID), [{"id": 1}])
    by_s = equality_deletes(tmp_path / "d2", schema(S), [{"s": "b"}])
    pair = [{"id": 3, "s": "c"}]
    by_pair = equality_deletes(tmp_path / "d3", schema(ID, S), pair)
    swapped = equality_deletes(tmp_path / "d4", schema(S, ID), [{"s": "d", "id": 4}], ids=(2, 1))
    data = rows(*((i, s, 0.0) for i, s in zip(range(1, 7), "abcdef", strict=True)))
    assert live(tmp_path, data, by_id, by_s, by_pair, swapped) == [5, 6]


def test_other_columns_of_the_delete_file_do_not_count(tmp_path: Path):
    other = rows((2, "other", 99.0))
    deletes = equality_deletes(tmp_path / "d", TABLE, other, ids=(1,))
    assert live(tmp_path, rows((1, "a", 0.0), (2, "b", 0.0)), deletes) == [1]


def test_text_is_compared_byte_by_byte(tmp_path: Path):
    deletes = equality_deletes(tmp_path / "d", schema(S), [{"s": "a"}, {"s": ""}, {"s": "é"}])
    texts = ["a", "A", "a ", "", "é", "e\u0301"]
    data = rows(*((i, text, 0.0) for i, text in enumerate(texts)))
    assert live(tmp_path, data, deletes) == [1, 2, 5]


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        ("boolean", [True, False, None]),
        ("int", [-1, 2**31 - 1, None, 0]),
        ("long", [-(2**63), 2**63 - 1, None, 0]),
        ("float", [0.1, -1.5, None, math.inf]),
        ("decimal(9, 2)", [Decimal("1.10"), Decimal("-1.10"), None, Decimal("0.00")]),
        ("decimal(38, 4)", [Decimal("9" * 34 + ".9999"), Decimal("-1.0000"), None]),
        ("date", [0, -1, 20_000, None]),
        ("time", [0, 86_399_999_999, None]),
        ("timestamp", [0, -1, 253_402_300_799_999_999, None]),
        ("timestamptz", [0, -1, 1_700_000_000_000_000, None]),
        ("string", ["a", "b", None, ""]),
        ("uuid", [UUID(int=1).bytes, UUID(int=2**127).bytes, None]),
        ("fixed[3]", [b"abc", b"abd", None]),
        ("binary", [b"a", b"", None, b"\x00"]),
    ],
)
def test_keys_of_every_type(tmp_path: Path, kind: str, values: list[object]):
    table = schema(ID, field(4, "k", kind))
    data = [{"id": i, "k": value} for i, value in enumerate(values)]
    for i, value in enumerate(values):
        deletes = equality_deletes(tmp_path / f"d{i}", schema(table.fields[1]), [{"k": value}])
        left = [j for j in range(len(values)) if j != i]
        assert live(tmp_path, data, deletes, table=table) == left
        both = equality_deletes(tmp_path / f"b{i}", table, [{"id": i, "k": value}])
        assert live(tmp_path, data, both, table=table) == left


def test_a_nested_key_is_null_where_its_struct_is_null(tmp_path: Path):
    """Unlike Java, which tells the two apart."""
    nested = field(5, "st", struct(field(6, "a", "int"), field(7, "b", "int")))
    table = schema(ID, nested)
    key = schema(field(5, "st", struct(field(6, "a", "int"))))
    deletes = equality_deletes(tmp_path / "d", key, [{"st": {"a": None}}], [6])
    structs = [None, {"a": None, "b": 1}, {"a": 2, "b": None}]
    data = [{"id": n, "st": value} for n, value in enumerate(structs)]
    assert live(tmp_path, data, deletes, table=table) == [2]


class TestSchemasThatChanged:
    def test_a_renamed_key_goes_by_its_id(self, tmp_path: Path):
        deletes = equality_deletes(
            tmp_path / "d", schema(field(2, "old", "string")), [{"old": "b"}]
        )
        table = schema(ID, field(2, "new", "string"), field(5, "old", "string"))
        data = [{"id": 1, "new": "b", "old": "x"}, {"id": 2, "new": "x", "old": "b"}]
        assert live(tmp_path, data, deletes, table=table) == [2]

    def test_an_int_key_meets_long_data_and_a_long_key_int_data(self, tmp_path: Path):
        narrow = equality_deletes(tmp_path / "d1", schema(field(1, "id", "int")), [{"id": 1}])
        wide = equality_deletes(tmp_path / "d2", schema(ID), [{"id": 2}, {"id": 2**40}])
        data = [{"id": i} for i in (1, 2, 3)]
        table = schema(ID)
        written = schema(field(1, "id", "int"))
        assert live(tmp_path, data, narrow, wide, table=table) == [3]
        assert live(tmp_path, data, narrow, wide, table=table, written=written) == [3]

    def test_a_decimal_key_meets_wider_data(self, tmp_path: Path):
        old = schema(field(4, "c", "decimal(9, 2)"))
        table = schema(ID, field(4, "c", "decimal(20, 2)"))
        deletes = equality_deletes(tmp_path / "d", old, [{"c": Decimal("1.50")}])
        data = [{"id": 1, "c": Decimal("1.50")}, {"id": 2, "c": Decimal("2.50")}]
        assert live(tmp_path, data, deletes, table=table) == [2]

    def test_a_dropped_key_is_still_read(self, tmp_path: Path):
        deletes = equality_deletes(tmp_path / "d", schema(S), [{"s": "b"}])
        data = rows((1, "a", 0.0), (2, "b", 0.0))
        left = live(
            tmp_path, data, deletes, table=schema(ID), written=TABLE, dropped_fields=schema(S)
        )
        assert left == [1]

    def test_a_key_dropped_and_added_again_is_two_columns(self, tmp_path: Path):
        deletes = equality_deletes(tmp_path / "d", schema(S), [{"s": "b"}])
        written = schema(ID, S)
        table = schema(ID, field(7, "s", "string"))
        data = [{"id": 1, "s": "a"}, {"id": 2, "s": "b"}]
        left = live(tmp_path, data, deletes, table=table, written=written, dropped_fields=schema(S))
        assert left == [1]

    def test_a_key_younger_than_the_file_is_null_there(self, tmp_path: Path):
        young = field(8, "c", "int")
        table = schema(ID, young)
        data = [{"id": 1}, {"id": 2}]
        none = equality_deletes(tmp_path / "d1", schema(young), [{"c": 5}])
        assert live(tmp_path, data, none, table=table, written=schema(ID)) == [1, 2]
        one = equality_deletes(tmp_path / "d2", table, [{"id": 2, "c": None}])
        assert live(tmp_path, data, one, table=table, written=schema(ID)) == [1]

    def test_a_key_younger_than_the_file_has_its_initial_default(self, tmp_path: Path):
        young = field(8, "c", "int", initial_default=5)
        deletes = equality_deletes(tmp_path / "d", schema(young), [{"c": 5}])
        assert (
            live(tmp_path, [{"id": 1}], deletes, table=schema(ID, young), written=schema(ID)) == []
        )

    def test_a_required_key_that_became_optional(self, tmp_path: Path):
        strict = schema(NestedField(1, "id", ID.field_type, True))
        deletes = equality_deletes(tmp_path / "d", strict, [{"id": 1}])
        assert live(tmp_path, [{"id": 1}, {"id": None}], deletes, table=schema(ID)) == [None]

    def test_keys_without_ids_are_found_by_the_name_mapping(self, tmp_path: Path):
        import_names = name_mapping((1, "id"), (2, "s"))
        plain = equality_deletes(tmp_path / "d", schema(S), [{"s": "b"}])
        data = rows((1, "a", 0.0), (2, "b", 0.0))
        assert live(tmp_path, data, plain, name_mapping=import_names) == [1]


class TestNestedKeys:
    ST = field(5, "st", struct(field(6, "a", "int"), field(7, "b", "string")))
    TABLE = schema(ID, ST)
    DATA = (
        {"id": 1, "st": {"a": 1, "b": "x"}},
        {"id": 2, "st": {"a": 2, "b": "x"}},
        {"id": 3, "st": None},
        {"id": 4, "st": {"a": None, "b": "y"}},
    )

    def test_a_key_in_a_struct(self, tmp_path: Path):
        keys = schema(field(5, "st", struct(field(6, "a", "int"))))
        deletes = equality_deletes(tmp_path / "d", keys, [{"st": {"a": 1}}], ids=(6,))
        assert live(tmp_path, list(self.DATA), deletes, table=self.TABLE) == [2, 3, 4]

    def test_a_null_struct_has_null_keys(self, tmp_path: Path):
        keys = schema(field(5, "st", struct(field(6, "a", "int"))))
        for name, row in (("d1", {"st": None}), ("d2", {"st": {"a": None}})):
            deletes = equality_deletes(tmp_path / name, keys, [row], ids=(6,))
            assert live(tmp_path, list(self.DATA), deletes, table=self.TABLE) == [1, 2]

    def test_a_key_in_a_list_is_refused(self, tmp_path: Path):
        table = schema(ID, field(5, "l", list_of(6, "int")))
        deletes = equality_deletes(tmp_path / "d", table, [{"id": 1, "l": [1]}], ids=(6,))
        with pytest.raises(CorruptFileError, match=r"l\.element"):
            live(tmp_path, [{"id": 1, "l": []}], deletes, table=table)


class TestSetsLargerThanTheCache:
    @pytest.mark.parametrize("keys", [schema(ID), schema(S), schema(ID, S)])
    @pytest.mark.parametrize("capacity", [0, 4_000, 100_000_000])
    def test_rows_are_the_same(self, tmp_path: Path, keys: Schema, capacity: int):
        data = [{"id": i * 3, "s": f"s{i}", "d": 0.0} for i in range(3000)]
        data += [{"id": None, "s": None, "d": 0.0}]
        gone = [row for i, row in enumerate(data) if i % 7 == 0 or row["id"] is None]
        doomed = [{f.name: row[f.name] for f in keys.fields} for row in gone * 2]
        halves = [
            equality_deletes(tmp_path / "d1", keys, doomed[: len(doomed) // 3]),
            equality_deletes(tmp_path / "d2", keys, doomed[len(doomed) // 3 :]),
        ]
        left = live(tmp_path, data, *halves, cache=BoundedCache(capacity))
        assert left == [row["id"] for i, row in enumerate(data) if i % 7 and row["id"] is not None]

    def test_nothing_stays_on_disk(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
        spilled = tmp_path / "spill"
        spilled.mkdir()
        monkeypatch.setattr("tempfile.tempdir", str(spilled))
        deletes = equality_deletes(tmp_path / "d", schema(S), [{"s": f"s{i}"} for i in range(99)])
        cache = BoundedCache(0)
        assert live(tmp_path, rows((1, "s5", 0.0), (2, "x", 0.0)), deletes, cache=cache) == [2]
        assert list(spilled.iterdir()) == []


def test_a_set_is_decoded_once_for_all_data_files(tmp_path: Path):
    deletes = equality_deletes(tmp_path / "d", schema(ID), [{"id": 2}])
    cache = BoundedCache()
    data = rows((1, "a", 0.0), (2, "b", 0.0))
    assert live(tmp_path, data, deletes, cache=cache) == [1]
    (tmp_path / "d").unlink()
    assert live(tmp_path, data, deletes, cache=cache) == [1]


def test_bad_delete_files_are_named(tmp_path: Path):
    data = rows((1, "a", 0.0))
    no_ids = equality_deletes(tmp_path / "noids", schema(ID), [{"id": 2}], ids=())
    with pytest.raises(CorruptFileError, match="noids"):
        live(tmp_path, data, no_ids)
    unknown = equality_deletes(tmp_path / "d", schema(field(77, "z", "int")), [{"z": 2}])
    with pytest.raises(CorruptFileError, match="field id 77"):
        live(tmp_path, data, unknown)
