"""Metadata names no store but the table's own, unless the user allows its scheme."""

import re
import socket
from pathlib import Path
from typing import Any

import pytest

import iceberg_spark as ice
from iceberg_spark.errors import IcebergError
from tests.hostile.rig import HostileTable
from tests.unit.api.tables import ids, make, rows

SCHEMES = [
    "ftp://127.0.0.1:{port}/x", "http://127.0.0.1:{port}/x", "memory://x/y", "github://o:r@m/x",
    "zip://x::http://127.0.0.1:{port}/x", "simplecache::http://127.0.0.1:{port}/x",
    "s3://127.0.0.1:{port}/x", "sftp://127.0.0.1:{port}/x", "reference://x", "data:,x",
]  # fmt: skip


@pytest.fixture
def port() -> Any:
    """A port that fails the test when somebody connects."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0)
        yield server.getsockname()[1]
        with pytest.raises(BlockingIOError):
            server.accept()


@pytest.mark.parametrize("what", ["list", "manifest", "data"])
@pytest.mark.parametrize("spelling", SCHEMES)
def test_a_foreign_scheme_is_refused_before_anything_connects(
    tmp_path: Path, port: int, what: str, spelling: str
) -> None:
    hostile = HostileTable(tmp_path / "t")
    hostile.load().append(rows(id=[1], k=["a"]))
    hostile.names(what, spelling.format(port=port))
    table = hostile.load()
    scheme = re.escape(spelling.split(":", maxsplit=1)[0])
    with pytest.raises(IcebergError, match=rf"scheme '{scheme}'.*io\.allowed-schemes"):
        table.scan().to_arrow()
    if what != "data":
        with pytest.raises(IcebergError, match=r"io\.allowed-schemes"):
            table.delete("id = 1")


def test_a_scheme_that_is_allowed_is_opened(tmp_path: Path) -> None:
    hostile = HostileTable(tmp_path / "t")
    table = hostile.load()
    table.append(rows(id=[1], k=["a"]))
    data = next((tmp_path / "t" / "data").rglob("*.parquet"))
    with table.io.limited_to(frozenset({"memory"})).create("memory://allowed/x") as out:
        out.write(data.read_bytes())
    hostile.names("data", "memory://allowed/x")
    with pytest.raises(IcebergError, match=r"io\.allowed-schemes"):
        ids(ice.load_table(str(tmp_path / "t")))
    allowed = ice.load_catalog(
        "allowing", **{"type": "filesystem", "warehouse": str(tmp_path),
                       "io.allowed-schemes": "s3a://, memory"},
    )  # fmt: skip
    assert ids(allowed.load_table("t")) == [1]


def test_names_of_one_store_are_one_scheme(tmp_path: Path) -> None:
    io = make(tmp_path / "t").io
    for spelling in ("/a", "file:/a", "file:///a", "FILE:/a"):
        assert not io.exists(spelling)
    s3 = io.limited_to(frozenset({"s3"}))
    for spelling in ("s3://b/k", "s3a://b/k", "s3n://b/k"):
        s3._check_scheme("open", spelling)


def test_a_tables_own_words_widen_nothing(tmp_path: Path) -> None:
    """Its `location` and `write.*.path` are metadata: who writes that could name any store."""
    elsewhere = {"write.data.path": "memory://elsewhere/data"}
    wanted = r"memory://elsewhere.*write\.data\.path.*in file\..*io\.allowed-schemes"
    with pytest.raises(IcebergError, match=wanted):
        make(tmp_path / "t", **elsewhere).append(rows(id=[1], k=["a"]))
    properties = {"type": "filesystem", "warehouse": str(tmp_path), "io.allowed-schemes": "memory"}
    allowing = ice.load_catalog("allowing", **properties)
    table = allowing.load_table("t")
    table.append(rows(id=[1], k=["a"]))
    assert ids(table) == [1]
    with pytest.raises(IcebergError, match=r"io\.allowed-schemes"):
        ids(ice.load_table(str(tmp_path / "t")))


def test_a_write_path_in_the_same_store_is_read_and_written(tmp_path: Path) -> None:
    table = make(tmp_path / "t", **{"write.data.path": str(tmp_path / "elsewhere")})
    table.append(rows(id=[1], k=["a"]))
    assert ids(ice.load_table(str(tmp_path / "t"))) == [1]
    assert list((tmp_path / "elsewhere").rglob("*.parquet"))
