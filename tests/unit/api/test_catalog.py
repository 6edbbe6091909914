"""Catalogs as users see them: by name and properties, tables by identifier."""

import uuid
from pathlib import Path

import pytest

import iceberg_spark as ice
from iceberg_spark import TableCatalog
from iceberg_spark.errors import (
    InvalidInputError,
    NoSuchTableError,
    TableAlreadyExistsError,
    UnsupportedError,
)
from tests.unit.api.tables import ids, rows


@pytest.fixture(params=["filesystem", "hadoop", "memory", "sql"])
def catalog(request: pytest.FixtureRequest, tmp_path: Path) -> TableCatalog:
    name, uri = f"cat_{uuid.uuid4().hex}", f"sqlite:///{tmp_path}/c.db"
    made = ice.load_catalog(name, type=request.param, warehouse=str(tmp_path / "wh"), uri=uri)
    if request.param == "sql":
        made.create_namespace("db")
    return made


def test_a_table_is_created_and_loaded_by_its_identifier(catalog: TableCatalog):
    made = catalog.create_table("db.t", "id bigint", partition_by="id", properties={"a": "1"})
    made.append(rows(id=[1]))
    assert ids(catalog.load_table("db.t")) == [1]
    assert made.properties["a"] == "1"
    assert made.location().endswith("/wh/db/t")


@pytest.mark.parametrize("name", [("db", "a.t"), ("db.a", "t"), ("db.a.t", "x")])
def test_a_part_with_a_dot_names_no_other_table(catalog: TableCatalog, name: tuple[str, ...]):
    if catalog._catalog.namespaces is not None:
        catalog.create_namespace_if_not_exists("db.a")
    catalog.create_table("db.a.t", "id bigint")
    for asked in (catalog.load_table, catalog.drop_table, catalog.table_exists, ice.load_table):
        with pytest.raises(InvalidInputError, match="has a dot"):
            asked(name)
    assert catalog.table_exists(("db", "a", "t"))


def test_a_table_exists_or_not(catalog: TableCatalog):
    assert not catalog.table_exists("db.t")
    catalog.create_table("db.t", "id bigint")
    assert catalog.table_exists("db.t")
    with pytest.raises(TableAlreadyExistsError, match="t"):
        catalog.create_table("db.t", "id bigint")


def test_a_dropped_table_is_gone(catalog: TableCatalog):
    catalog.create_table("db.t", "id bigint").append(rows(id=[1]))
    catalog.drop_table("db.t", purge=True)
    with pytest.raises(NoSuchTableError, match="t"):
        catalog.load_table("db.t")


def test_a_configured_catalog_is_found_by_the_first_part_of_an_identifier(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    monkeypatch.setenv("PYICEBERG_CATALOG__PROD__TYPE", "filesystem")
    monkeypatch.setenv("PYICEBERG_CATALOG__PROD__WAREHOUSE", str(tmp_path))
    ice.create_table("prod.db.t", "id bigint").append(rows(id=[1]))
    assert ids(ice.load_table("prod.db.t")) == [1]
    assert ids(ice.load_table(str(tmp_path / "db" / "t"))) == [1]


def test_a_catalog_shows_its_name_and_no_property():
    catalog = ice.load_catalog("prod", type="memory", token="hush")
    assert (catalog.name, repr(catalog)) == ("prod", "TableCatalog(prod)")


@pytest.mark.parametrize(
    ("kind", "says"), [("in-memory", "in-memory.*filesystem"), ("bigquery", "(?i)bigquery")]
)
def test_a_kind_that_is_not_supported_says_so(kind: str, says: str):
    with pytest.raises(UnsupportedError, match=says):
        ice.load_catalog("prod", type=kind)


@pytest.mark.parametrize("kind", ["rest", "hive", "sql"])
def test_a_kind_that_needs_an_address_says_so(kind: str):
    with pytest.raises(InvalidInputError, match="property uri"):
        ice.load_catalog("prod", type=kind)


def test_an_unknown_kind_is_named():
    with pytest.raises(InvalidInputError, match=r"'nessie2'.*filesystem"):
        ice.load_catalog("prod", type="nessie2")
