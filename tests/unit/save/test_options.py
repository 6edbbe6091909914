"""Options are parsed once, early, and what is wrong is named (contract: "Spark data source")."""

import pytest

from iceberg_spark.errors import InvalidOptionError
from iceberg_spark.save.write_options import WRITE_OPTIONS, write_options
from iceberg_spark.scan.incremental import CHANGE_TIMES
from iceberg_spark.scan.read_options import READ_OPTIONS, read_options
from iceberg_spark.spec.arguments import split_list
from iceberg_spark.spec.runtime_names import READ_OPTIONS as JAVA_READ_OPTIONS
from iceberg_spark.spec.runtime_names import SNAPSHOT_PROPERTY, write_defaults
from iceberg_spark.spec.runtime_names import WRITE_OPTIONS as JAVA_WRITE_OPTIONS
from iceberg_spark.streams.stream_options import STREAM_OPTIONS


def test_keys_are_case_insensitive() -> None:
    options = read_options({"PATH": "/t", "Snapshot-ID": "7", "VERSIONASOF": "main"})
    assert (options.path, options.snapshot_id, options.version_as_of) == ("/t", 7, "main")


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ("snapshot_id", "snapshot-id"),
        ("rowfilter", "row-filter"),
        ("versionasoff", "versionAsOf"),
        ("column", "columns"),
    ],
)
def test_an_unknown_read_option_names_the_nearest(given: str, meant: str) -> None:
    with pytest.raises(InvalidOptionError, match=f"'{given}'.*'{meant}'"):
        read_options({"path": "/t", given: "1"})


def test_an_unknown_write_option_names_the_nearest() -> None:
    with pytest.raises(InvalidOptionError, match=r"'mergeschem'.*'mergeSchema'"):
        write_options({"path": "/t", "mergeschem": "true"})


@pytest.mark.parametrize("given", ["foo", "parallelism", "x"])
def test_an_unknown_option_far_from_all_others_gets_no_suggestion(given: str) -> None:
    for parse in (read_options, write_options):
        with pytest.raises(InvalidOptionError, match=f"^Unknown option '{given}'; remove it$"):
            parse({"path": "/t", given: "1"})


def test_every_option_of_javas_runtime_is_known() -> None:
    """Those of streams are refused by a batch, and times of changes by other loads."""
    for option in JAVA_READ_OPTIONS:
        assert option.name in (*READ_OPTIONS, *STREAM_OPTIONS, *CHANGE_TIMES, "path")
    for option in JAVA_WRITE_OPTIONS:
        assert option.name in WRITE_OPTIONS or option.name == f"{SNAPSHOT_PROPERTY}*"


def test_an_option_with_a_bad_value_is_named() -> None:
    for name, text in {
        "delete-format": "csv",
        "delete-granularity": "row",
        "distribution-mode": "all",
        "isolation-level": "dirty",
        "validate-from-snapshot-id": "first",
        "shred-variants": "yes",
        "advisory-partition-size": "0",
        "target-delete-file-size-bytes": "-1",
        "variant-inference-buffer-size": "many",
        "output-spec-id": "x",
        "use-table-distribution-and-ordering": "maybe",
        "merge-schema": "1",
    }.items():
        with pytest.raises(InvalidOptionError, match=f"'{name}'"):
            write_options({"path": "/t", name: text}, plain=False)


def test_options_stand_in_for_table_properties() -> None:
    options = write_options(
        {
            "path": "/t",
            "delete-format": "avro",
            "target-delete-file-size-bytes": "7",
            "delete-granularity": "partition",
            "advisory-partition-size": "8",
            "shred-variants": "true",
            "variant-inference-buffer-size": "9",
        }
    )
    assert options.overrides == {
        "write.delete.format.default": "avro",
        "write.delete.target-file-size-bytes": "7",
        "write.delete.granularity": "partition",
        "write.spark.advisory-partition-size-bytes": "8",
        "write.parquet.shred-variants": "true",
        "write.parquet.variant-inference-buffer-size": "9",
    }


def test_a_default_of_the_session_gives_way_to_an_option_of_any_spelling() -> None:
    defaults = write_defaults(
        {
            "spark.sql.iceberg.merge-schema": "true",
            "spark.sql.iceberg.snapshot-property.job": "nightly",
            "spark.sql.iceberg.vectorization.enabled": "false",
        }
    )
    assert defaults == {"merge-schema": "true", "snapshot-property.job": "nightly"}
    options = write_options({"path": "/t", "mergeSchema": "false"}, defaults=defaults)
    assert not options.merge_schema and options.snapshot_properties == {"job": "nightly"}
    options = write_options({"path": "/t", "snapshot-property.job": "x"}, defaults=defaults)
    assert options.merge_schema and options.snapshot_properties == {"job": "x"}


def test_storage_properties_pass_through_and_stay_out_of_the_repr() -> None:
    options = read_options({"path": "/t", "s3.secret-access-key": "hush"})
    assert options.storage == {"s3.secret-access-key": "hush"}
    assert "hush" not in repr(options)


def test_prefixed_options_are_collected() -> None:
    options = write_options(
        {"path": "/t", "snapshot-property.a": "1", "table-property.write.format.default": "orc"}
    )
    assert options.snapshot_properties == {"a": "1"}
    assert options.table_properties == {"write.format.default": "orc"}


def test_a_list_is_split_outside_parentheses_and_backticks() -> None:
    assert split_list("bucket(16, id), days(ts) ,`a,b`, c.d") == (
        "bucket(16, id)",
        "days(ts)",
        "`a,b`",
        "c.d",
    )


def test_timestamp_as_of_is_seconds_or_a_text_with_a_zone() -> None:
    def parse(**options: str) -> int | None:
        return read_options({"path": "/t", **options}).as_of_timestamp_ms

    assert parse(timestampAsOf="1700000000") == 1_700_000_000_000
    assert parse(timestampAsOf="2024-01-01 00:00:00+00:00") == 1_704_067_200_000
    tokyo = {"timestampAsOf": "2024-01-01 09:00:00", "time-zone": "Asia/Tokyo"}
    assert parse(**tokyo) == 1_704_067_200_000
    with pytest.raises(InvalidOptionError, match="time-zone"):
        parse(timestampAsOf="2024-01-01 09:00:00")
    with pytest.raises(InvalidOptionError, match="timestampAsOf"):
        parse(timestampAsOf="yesterday")


@pytest.mark.parametrize("mode", ["hash", "range"])
def test_a_distribution_points_to_what_can_do_it(mode: str) -> None:
    with pytest.raises(InvalidOptionError, match=r"table\.append.*repartition"):
        write_options({"path": "/t", "distribution-mode": mode})


def test_the_plain_source_has_the_arrow_engine_alone() -> None:
    assert write_options({"path": "/t", "engine": "arrow"}).engine == "arrow"
    assert write_options({"path": "/t", "engine": "Native"}, plain=False).engine == "native"
    with pytest.raises(InvalidOptionError, match=r"'engine' = 'native'.*enable"):
        write_options({"path": "/t", "engine": "native"})
    with pytest.raises(InvalidOptionError, match="'engine' must be one of"):
        write_options({"path": "/t", "engine": "x"}, plain=False)
    with pytest.raises(InvalidOptionError, match="'engine' does not go with"):
        write_options({"path": "/t", "write-mode": "upsert", "engine": "arrow"}, plain=False)
    given = {"path": "/t", "write-mode": "upsert", "distribution-mode": "hash"}
    with pytest.raises(InvalidOptionError, match="'distribution-mode' does not go with"):
        write_options(given, plain=False)


def test_a_compression_level_is_a_number() -> None:
    assert write_options({"path": "/t", "compression-level": "7"}).compression_level == 7
    with pytest.raises(InvalidOptionError, match=r"'compression-level'.*'x'"):
        write_options({"path": "/t", "compression-level": "x"})


def test_a_load_without_a_table_says_so() -> None:
    with pytest.raises(InvalidOptionError, match=r"load\(\) or save\(\)"):
        read_options({})


@pytest.mark.parametrize(
    ("name", "value"),
    [("split-size", "big"), ("lookback", "0"), ("pushdown", "maybe"), ("end-snapshot-id", "x")],
)
def test_a_value_of_the_wrong_kind_names_the_option(name: str, value: str) -> None:
    with pytest.raises(InvalidOptionError, match=f"'{name}'.*{value}"):
        read_options({"path": "/t", name: value})
