"""Two servers with one bucket and one path: what is kept of one is not taken for the other's."""

import re
from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pytest

import iceberg_spark as ice
from iceberg_spark.errors import NoSuchFileError
from iceberg_spark.io.allowed_places import storage_server
from iceberg_spark.io.storage import open_storage
from iceberg_spark.spark.deletes.position_bitmaps import position_words
from iceberg_spark.spark.reading.footers import footers
from tests.s3_server import Objects, s3_server

WHERE = "s3://bucket/t"


@pytest.fixture
def one() -> Iterator[Objects]:
    with s3_server() as objects:
        yield objects


@pytest.fixture
def other() -> Iterator[Objects]:
    with s3_server() as objects:
        yield objects


def table(at: Objects) -> ice.Table:
    return ice.load_table(WHERE, **at.properties)


def ids(at: Objects) -> list[int]:
    return sorted(table(at).scan().to_arrow()["id"].to_pylist())


def make(at: Objects, version: str) -> None:
    """A table with deletes of each kind that its version has."""
    settings = {"format-version": version, "write.delete.mode": "merge-on-read"}
    made = ice.create_table(WHERE, "id bigint, s string", properties=settings, **at.properties)
    made.append(pa.table({"id": [1, 2, 3, 4], "s": ["a", "b", "c", "d"]}))
    made.delete("id = 2")
    if version == "2":
        made.upsert(pa.table({"id": [3], "s": ["C"]}), ["id"])


@pytest.mark.parametrize(
    ("version", "lost"),
    [
        ("2", r"metadata/(?!snap).*\.avro$"),
        ("2", r"data/.*delete.*\.parquet$"),
        ("3", r"data/.*\.puffin$"),
    ],
)
def test_what_is_read_of_one_server_is_not_taken_for_another_s(
    one: Objects, other: Objects, version: str, lost: str
) -> None:
    make(one, version)
    assert 4 in ids(one) and 2 not in ids(one)
    other.stored.update({k: v for k, v in one.stored.items() if re.search(lost, k) is None})
    assert len(other.stored) < len(one.stored)
    with pytest.raises(NoSuchFileError):
        ids(other)
    other.stored.update(one.stored)
    assert ids(other) == ids(one)


def test_footers_and_words_of_deletes_are_of_their_server(one: Objects, other: Objects) -> None:
    make(one, "2")
    other.stored.update(one.stored)
    plan, theirs = table(one).scan().plan_files(), table(other).scan().plan_files()
    rows = np.arange(len(plan.files))
    other.stored.clear()
    assert None not in footers(plan, rows)
    assert footers(theirs, rows) == [None] * len(rows)
    assert len(position_words(plan.context.io, plan.tasks_at(rows))) == len(rows)
    with pytest.raises(NoSuchFileError):
        position_words(theirs.context.io, theirs.tasks_at(rows))


@pytest.mark.parametrize(
    "properties",
    [
        {"s3.endpoint": "http://elsewhere"},
        {"s3.access-key-id": "another tenant's"},
        {"s3.profile-name": "another"},
    ],
)
def test_servers_differ_by_what_leads_to_them(properties: dict[str, str]) -> None:
    known = {"s3.endpoint": "http://here", "s3.access-key-id": "mine"}
    at = storage_server(open_storage(known), f"{WHERE}/f")
    assert storage_server(open_storage({**known, **properties}), f"{WHERE}/f") != at
