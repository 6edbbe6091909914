"""Changes of a partition spec: what each makes, and which exclude each other."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from iceberg_spark.errors import InvalidSchemaError
from iceberg_spark.spec.apply_updates import apply
from iceberg_spark.spec.metadata import TableMetadata
from iceberg_spark.spec.partition import PartitionSpec
from iceberg_spark.spec.spec_evolution import SpecUpdate
from iceberg_spark.spec.transform_text import parse_term
from iceberg_spark.spec.updates import AddPartitionSpec, SetDefaultSpec
from tests.builders import metadata, schema

Change = Callable[[SpecUpdate], None]
COLUMNS = schema(
    ("id", "long"), ("ts", "timestamptz"), ("category", "string"), ("data", "string"),
    ("d", "date"),
)  # fmt: skip
PARTITIONED = ("category", "days(ts)", "bucket(16, id) as shard")
both_versions = pytest.mark.parametrize("version", [1, 2])


def table(partition_by: Sequence[str] = (), version: int = 2) -> TableMetadata:
    return metadata(COLUMNS, partition_by, format_version=version)


def term(update: SpecUpdate, text: str) -> Any:
    return parse_term(text, update.schema)[:2]


def add(text: str, name: str | None = None) -> Change:
    return lambda update: update.add_field(*term(update, text), name)


def remove(name: str) -> Change:
    return lambda update: update.remove_field(name)


def remove_term(text: str) -> Change:
    return lambda update: update.remove_term(*term(update, text))


def rename(name: str, new: str) -> Change:
    return lambda update: update.rename_field(name, new)


def reorder(*names: str) -> Change:
    return lambda update: update.reorder(names)


def changed(base: TableMetadata, *changes: Change) -> TableMetadata:
    """The table after one update of its spec."""
    update = SpecUpdate(base)
    for change in changes:
        change(update)
    return apply(base, (AddPartitionSpec(update.apply()), SetDefaultSpec()), now_ms=base_time(base))


def base_time(base: TableMetadata) -> int:
    return base.last_updated_ms + 1


def shown(spec: PartitionSpec) -> list[str]:
    """Each field as `id name transform(column)`."""
    return [
        f"{part.field_id} {part.name} {part.transform}({COLUMNS.find_column_name(part.source_id)})"
        for part in spec.fields
    ]


def refused(*changes: Change, match: str, of: TableMetadata | None = None) -> None:
    with pytest.raises(InvalidSchemaError, match=match):
        changed(of or table(PARTITIONED), *changes)


@both_versions
@pytest.mark.parametrize(
    ("text", "field"),
    [
        ("category", "1000 category identity(category)"),
        ("years(ts)", "1000 ts_year year(ts)"),
        ("months(d)", "1000 d_month month(d)"),
        ("days(ts)", "1000 ts_day day(ts)"),
        ("hours(ts)", "1000 ts_hour hour(ts)"),
        ("bucket(16, id)", "1000 id_bucket_16 bucket[16](id)"),
        ("truncate(4, data)", "1000 data_trunc_4 truncate[4](data)"),
    ],
)
def test_a_field_without_a_name_gets_one(text: str, field: str, version: int):
    assert shown(changed(table(version=version), add(text)).spec) == [field]


@both_versions
def test_fields_are_added_at_the_end_with_new_ids(version: int):
    base = table(PARTITIONED, version)
    made = changed(base, add("truncate(4, data)"), add("bucket(8, id)", "small"))
    assert shown(made.spec)[3:] == [
        "1003 data_trunc_4 truncate[4](data)",
        "1004 small bucket[8](id)",
    ]
    assert made.last_partition_id == 1004


def test_an_hour_may_be_added_to_a_day_that_is_there():
    assert shown(changed(table(["days(ts)"]), add("hours(ts)")).spec)[1:] == [
        "1001 ts_hour hour(ts)"
    ]


@pytest.mark.parametrize("how", [remove("ts_day"), remove_term("days(ts)")])
def test_version_2_drops_a_removed_field(how: Change):
    made = changed(table(PARTITIONED), how)
    assert shown(made.spec) == ["1000 category identity(category)", "1002 shard bucket[16](id)"]


@pytest.mark.parametrize("how", [remove("ts_day"), remove_term("days(ts)")])
def test_version_1_puts_a_void_field_in_its_place(how: Change):
    assert shown(changed(table(PARTITIONED, 1), how).spec) == [
        "1000 category identity(category)",
        "1001 ts_day void(ts)",
        "1002 shard bucket[16](id)",
    ]


@both_versions
def test_a_spec_of_nothing_or_of_void_fields_is_unpartitioned(version: int):
    base = table(PARTITIONED, version)
    made = changed(base, remove("ts_day"), remove("shard"), remove("category"))
    assert made.spec.is_unpartitioned
    assert len(made.spec.fields) == (3 if version == 1 else 0)


@both_versions
def test_a_renamed_field_keeps_its_id(version: int):
    made = changed(table(PARTITIONED, version), rename("shard", "id_bucket"))
    assert shown(made.spec)[2] == "1002 id_bucket bucket[16](id)"


def test_a_new_field_may_take_the_name_of_a_removed_one():
    new = (remove("shard"), add("truncate(2, category)", "shard"))
    assert shown(changed(table(PARTITIONED), *new).spec)[-1] == "1003 shard truncate[2](category)"
    assert shown(changed(table(PARTITIONED, 1), *new).spec) == [
        "1000 category identity(category)",
        "1001 ts_day day(ts)",
        "1002 shard_1002 void(id)",
        "1003 shard truncate[2](category)",
    ]


def test_a_new_field_has_the_name_of_its_column_only_as_its_identity():
    """Java lets a spec be changed so, though not a table be created; PyIceberg refuses both."""
    new = (remove("category"), add("truncate(2, category)", "category"))
    with pytest.raises(InvalidSchemaError, match="only the identity of that column"):
        changed(table(PARTITIONED), *new)


def test_version_1_renames_a_void_field_whose_name_is_wanted_again():
    gone = changed(table(PARTITIONED, 1), remove("category"))
    again = changed(gone, add("category"))
    assert shown(again.spec)[0] == "1000 category_1000 void(category)"
    assert shown(again.spec)[3] == "1003 category identity(category)"
    no_day = changed(table(PARTITIONED, 1), remove("ts_day"))
    renamed = changed(no_day, rename("shard", "ts_day"))
    assert [part.name for part in renamed.spec.fields] == ["category", "ts_day_1001", "ts_day"]


def test_version_2_gives_an_equal_earlier_field_its_id_again():
    base = table(PARTITIONED)
    again = changed(changed(base, remove("shard")), add("bucket(16, id)"))
    assert shown(again.spec)[2] == "1002 shard bucket[16](id)"
    assert again.last_partition_id == 1002
    assert again.default_spec_id == base.default_spec_id
    other_name = changed(changed(base, remove("shard")), add("bucket(16, id)", "b"))
    assert shown(other_name.spec)[2] == "1003 b bucket[16](id)"


def test_version_1_gives_no_id_again():
    gone = changed(table(PARTITIONED, 1), remove("shard"))
    assert shown(changed(gone, add("bucket(16, id)", "shard")).spec)[2:] == [
        "1002 shard_1002 void(id)",
        "1003 shard bucket[16](id)",
    ]


@both_versions
def test_a_field_removed_and_added_in_one_update_stays(version: int):
    base = table(PARTITIONED, version)
    assert changed(base, remove("shard"), add("bucket(16, id)")) is base
    named = changed(base, remove("shard"), add("bucket(16, id)", "b"))
    assert shown(named.spec)[2] == "1002 b bucket[16](id)"


def test_fields_are_reordered_and_keep_their_ids():
    made = changed(table(PARTITIONED), add("d"), reorder("d", "shard", "category", "ts_day"))
    assert shown(made.spec) == [
        "1003 d identity(d)",
        "1002 shard bucket[16](id)",
        "1000 category identity(category)",
        "1001 ts_day day(ts)",
    ]


def test_version_1_keeps_the_order():
    refused(reorder("shard"), match="format-version 1.*upgrade", of=table(PARTITIONED, 1))


@pytest.mark.parametrize("names", [("shard",), ("shard", "category", "ts_day", "x")])
def test_reorder_needs_every_field(names: tuple[str, ...]):
    refused(reorder(*names), match="every partition field once: category, ts_day, shard")


@pytest.mark.parametrize(
    ("changes", "match"),
    [
        ([add("category")], "'category' is the same"),
        ([add("bucket(16, id)", "x")], "'shard' is the same"),
        ([add("d"), add("d")], "'d' is the same"),
        ([add("d", "x"), add("data", "x")], "the same update adds '1003: x"),
        ([add("days(d)"), add("months(d)")], "the same update adds 'd_day'"),
        ([add("truncate(2, category)", "shard")], "the spec has a field of that name"),
        ([add("bucket(4, id)", "data")], "Column 'data' and partition field 'data' of spec"),
        ([add("hours(d)")], "hour can't be used on column 'd' of type date"),
        ([add("d"), remove("d")], "the same update adds it"),
        ([add("days(d)"), remove_term("days(d)")], "the same update adds it"),
        ([remove("x")], "the fields are: category, ts_day, shard"),
        ([remove_term("bucket(8, id)")], r"bucket\[8\]\(id\): the spec has"),
        ([rename("x", "y")], "Can't rename partition field 'x'"),
        ([add("d"), rename("d", "y")], "the same update adds it"),
        ([rename("shard", "y"), remove("shard")], "the same update renames it"),
        ([remove("shard"), rename("shard", "y")], "the same update removes it"),
        ([rename("shard", "ts_day")], "Two partition fields are named 'ts_day'"),
        ([rename("shard", "")], "to nothing"),
    ],
)
def test_a_change_that_does_not_go_is_refused(changes: list[Change], match: str):
    refused(*changes, match=match)
