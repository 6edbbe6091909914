"""Table properties with types, and the reserved field ids."""

import pytest

from iceberg_spark.errors import InvalidOptionError
from iceberg_spark.spec import properties as p
from iceberg_spark.spec.reserved import METADATA_COLUMN_NAMES, metadata_columns
from tests.builders import struct


def test_an_unset_property_has_its_default():
    assert p.int_property({}, p.COMMIT_NUM_RETRIES) == 4
    assert p.bool_property({}, p.MANIFEST_MERGE_ENABLED) is True
    assert p.text_property({}, p.PARQUET_COMPRESSION) == "zstd"
    assert p.text_property({}, p.DELETE_DEFAULT_FILE_FORMAT, "avro") == "avro"
    assert p.int_property({}, "mine", 7) == 7


def test_a_set_property_is_read_with_its_type():
    found = {
        p.COMMIT_NUM_RETRIES: "9",
        p.MANIFEST_MERGE_ENABLED: "FALSE",
        p.DELETE_MODE: "Merge-On-Read",
    }
    assert p.int_property(found, p.COMMIT_NUM_RETRIES) == 9
    assert p.bool_property(found, p.MANIFEST_MERGE_ENABLED) is False
    assert p.text_property(found, p.DELETE_MODE) == "merge-on-read"


@pytest.mark.parametrize(
    ("read", "key", "value", "message"),
    [
        (p.int_property, p.SPLIT_SIZE, "big", "must be an integer"),
        (p.positive_property, p.SPLIT_SIZE, "0", "must be at least 1"),
        (p.text_property, p.WRITE_DISTRIBUTION_MODE, "x", "must be one of: none, hash, range"),
    ],
)
def test_a_bad_value_names_the_property(read, key, value, message):
    with pytest.raises(InvalidOptionError, match=f"'{key}' is '{value}'; it {message}"):
        read({key: value}, key)


@pytest.mark.parametrize("value", ["yes", "1", "", " true", "on"])
def test_what_is_neither_true_nor_false_is_read_as_java_reads_it_and_is_not_stored(value: str):
    assert p.bool_property({p.GC_ENABLED: value}, p.GC_ENABLED) is False
    with pytest.raises(InvalidOptionError, match=f"'{p.GC_ENABLED}' is '{value}'; it must be true"):
        p.check_known_values({p.GC_ENABLED: value})
    for good in ("true", "FALSE"):
        p.check_known_values({p.GC_ENABLED: good})


def test_properties_with_a_prefix_are_found_by_what_follows():
    found = p.with_prefix(
        {"write.metadata.metrics.column.a.b": "full", "x": "y"}, p.METRICS_MODE_COLUMN_PREFIX
    )
    assert found == {"a.b": "full"}


@pytest.mark.parametrize("key", sorted(p.POSITIVE))
def test_a_number_of_which_nothing_can_be_made_is_not_stored(key):
    p.check_known_values({key: "1"})
    with pytest.raises(InvalidOptionError, match=f"'{key}' is '0'; it must be at least 1"):
        p.check_known_values({key: "0"})


def test_values_are_text():
    with pytest.raises(InvalidOptionError, match="'a' must be text, not 1"):
        p.check_known_values({"a": 1})


def test_metadata_columns_have_reserved_ids():
    columns = metadata_columns(struct())
    assert tuple(columns) == METADATA_COLUMN_NAMES
    lineage = [2_147_483_540, 2_147_483_539]
    assert [one.field_id for one in columns.values()] == [
        *range(2_147_483_646, 2_147_483_641, -1),
        *lineage,
    ]
