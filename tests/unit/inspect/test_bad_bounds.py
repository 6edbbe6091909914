"""Bounds of partitions that are no values of their type."""

import re
from pathlib import Path

import fastavro
import pytest

import iceberg_spark as ice
from iceberg_spark.errors import CorruptFileError
from tests.unit.api.tables import make, rows


def test_a_bad_bound_of_a_listed_manifest_names_the_manifest(tmp_path: Path) -> None:
    table = make(tmp_path / "t", partition_by=["id"])
    for number in (1, 2):
        table.append(rows(id=[number], k=["a"]))
    listed = Path(table.current_snapshot().manifest_list.removeprefix("file:"))
    with listed.open("rb") as source:
        reader = fastavro.reader(source)
        records, schema, kept = list(reader), reader.writer_schema, reader.metadata
    records[1]["partitions"][0]["lower_bound"] = b""
    with listed.open("wb") as out:
        own = {key: value for key, value in kept.items() if not key.startswith("avro.")}
        fastavro.writer(out, schema, records, metadata=own)
    named = re.escape(records[1]["manifest_path"])
    with pytest.raises(CorruptFileError, match=f"{named}.*0 bytes"):
        ice.load_table(str(tmp_path / "t")).inspect.manifests()
