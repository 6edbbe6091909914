"""Any entries come back from a manifest, by the fast path and by the row reader alike."""

import tempfile
import uuid
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from iceberg_spark.formats.avro.columns import read_avro_columns, read_avro_rows
from iceberg_spark.manifest.entries import manifest_entries
from iceberg_spark.spec.data_file import DataFile, DataFileContent, FileFormat, ManifestEntry
from iceberg_spark.spec.manifest_file import ManifestContent
from iceberg_spark.spec.partition_type import partition_type
from tests.unit.manifest.manifests import ADDED, ALL_KINDS, EXISTING, identity_spec, read, written

LONGS = st.integers(0, 2**63 - 1)
BOUNDS = st.none() | st.dictionaries(st.integers(0, 2**31 - 1), st.binary(max_size=20), max_size=4)
COUNTS = st.none() | st.dictionaries(st.integers(0, 2**31 - 1), LONGS, max_size=4)


def _decimal(precision: int, scale: int) -> st.SearchStrategy[Decimal]:
    most = 10**precision - 1
    return st.integers(-most, most).map(lambda n: Decimal((int(n < 0), _digits(abs(n)), -scale)))


def _digits(number: int) -> tuple[int, ...]:
    return tuple(int(digit) for digit in str(number))


MICROS = st.integers(-(2**55), 2**55)
PARTITION = st.tuples(*(
    st.none() | one
    for one in (
        st.booleans(),
        st.integers(-(2**31), 2**31 - 1),
        st.integers(-(2**63), 2**63 - 1),
        st.floats(width=32, allow_nan=False),
        st.floats(allow_nan=False),
        _decimal(9, 2),
        _decimal(38, 10),
        st.integers(-700_000, 2_900_000),
        st.integers(0, 86_399_999_999),
        MICROS,
        MICROS,
        MICROS,
        MICROS,
        st.text(max_size=8),
        st.binary(min_size=16, max_size=16).map(lambda raw: uuid.UUID(bytes=raw)),
        st.binary(min_size=3, max_size=3),
        st.binary(max_size=8),
    )
))  # fmt: skip
FILES = st.builds(
    DataFile,
    content=st.just(DataFileContent.DATA),
    file_path=st.text(min_size=1, max_size=30),
    file_format=st.sampled_from(FileFormat),
    partition=PARTITION,
    record_count=st.integers(0, 2**40),
    file_size_in_bytes=LONGS,
    column_sizes=COUNTS,
    value_counts=COUNTS,
    null_value_counts=COUNTS,
    nan_value_counts=COUNTS,
    lower_bounds=BOUNDS,
    upper_bounds=BOUNDS,
    key_metadata=st.none() | st.binary(max_size=9),
    split_offsets=st.none() | st.lists(LONGS, max_size=3).map(tuple),
    equality_ids=st.none() | st.lists(st.integers(0, 9), max_size=3).map(tuple),
    sort_order_id=st.none() | st.integers(0, 9),
    referenced_data_file=st.none() | st.text(max_size=9),
)
ENTRIES = st.lists(
    st.builds(
        ManifestEntry,
        status=st.just(EXISTING) | st.just(ADDED),
        data_file=FILES,
        snapshot_id=LONGS,
        data_sequence_number=LONGS,
        file_sequence_number=LONGS,
    ),
    max_size=5,
)
CODECS = st.sampled_from(["uncompressed", "gzip", "snappy", "zstd"])


@settings(max_examples=60)
@given(ENTRIES, CODECS)
def test_entries_come_back_as_they_were(entries: list[Any], codec: str) -> None:
    spec = identity_spec(ALL_KINDS)
    kind = partition_type(spec, ALL_KINDS)
    with tempfile.TemporaryDirectory() as folder:
        manifest = written(Path(folder), entries, ALL_KINDS, spec=spec, codec=codec)
        table = read(replace(manifest, sequence_number=1), ALL_KINDS, spec)
        data = Path(manifest.manifest_path).read_bytes()
    table.validate(full=True)
    assert manifest_entries(table, 0, kind) == entries
    fast, slow = (one(data, inline=(2, 102)) for one in (read_avro_columns, read_avro_rows))
    assert fast.schema.equals(slow.schema, check_metadata=True) and fast.equals(slow)
    assert manifest.content is ManifestContent.DATA
    assert manifest.added_files_count == sum(one.status is ADDED for one in entries)
