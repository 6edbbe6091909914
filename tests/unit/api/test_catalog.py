"""Catalogs as users see them: by name and properties, tables by identifier."""

import uuid
from pathlib import Path

import pytest

import iceberg_spark as ice
from iceberg_spark import TableCatalog
from iceberg_spark.errors import (
    InvalidInputError,
    NamespaceAlreadyExistsError,
    NamespaceNotEmptyError,
    NoSuchNamespaceError,
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


@pytest.mark.parametrize(
    ("name", "message"),
    [(("db", ""), "empty part"), (("", "t"), "empty part"), (("db", "x/y"), "has a slash")],
)
def test_a_name_with_an_empty_part_or_a_slash_is_not_a_location(
    catalog: TableCatalog, name: tuple[str, ...], message: str
) -> None:
    with pytest.raises(InvalidInputError, match=message):
        catalog.create_table(name, "id bigint")


@pytest.mark.parametrize("name", [("db", "a.t"), ("db.a", "t"), ("db.a.t", "x")])
def test_a_part_with_a_dot_names_no_other_table(catalog: TableCatalog, name: tuple[str, ...]):
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


def test_a_kind_that_is_not_supported_says_so():
    with pytest.raises(UnsupportedError, match=r"(?i)bigquery"):
        ice.load_catalog("prod", type="bigquery")


@pytest.mark.parametrize("kind", ["rest", "hive", "sql"])
def test_a_kind_that_needs_an_address_says_so(kind: str):
    with pytest.raises(InvalidInputError, match="property uri"):
        ice.load_catalog("prod", type=kind)


def test_an_unknown_kind_is_named():
    with pytest.raises(InvalidInputError, match=r"'nessie2'.*filesystem"):
        ice.load_catalog("prod", type="nessie2")


@pytest.fixture(params=["memory", "sql"])
def named(request: pytest.FixtureRequest, tmp_path: Path) -> TableCatalog:
    """A catalog whose namespaces are more than folders."""
    uri = f"sqlite:///{tmp_path}/c.db"
    return ice.load_catalog(uuid.uuid4().hex, type=request.param, warehouse=f"{tmp_path}", uri=uri)


def test_namespaces_are_made_listed_and_dropped(named: TableCatalog):
    named.create_namespace(("a", "b"), {"k": "v"})
    named.create_namespace_if_not_exists("a.b", {"k": "other"})
    with pytest.raises(NamespaceAlreadyExistsError):
        named.create_namespace("a.b")
    assert (named.list_namespaces(), named.list_namespaces("a")) == ([("a",)], [("a", "b")])
    named.create_table("a.b.t", "id bigint")
    assert (named.list_tables("a.b"), named.list_tables("a")) == ([("a", "b", "t")], [])
    for namespace in ("a", "a.b"):
        with pytest.raises(NamespaceNotEmptyError):
            named.drop_namespace(namespace)
    named.purge_table("a.b.t")
    assert named.load_namespace_properties("a.b")["k"] == "v"
    named.drop_namespace("a.b")
    verbs = (named.list_tables, named.list_namespaces, named.drop_namespace)
    for verb in (*verbs, named.load_namespace_properties, named.update_namespace_properties):
        with pytest.raises(NoSuchNamespaceError):
            verb("a.b")


def test_changed_properties_of_a_namespace_are_told(named: TableCatalog):
    named.create_namespace("db", {"gone": "1", "kept": "2", "set": "3"})
    changed = named.update_namespace_properties("db", {"gone", "never"}, {"set": "4", "new": "5"})
    assert (changed.removed, changed.updated) == (["gone"], ["new", "set"])
    assert changed.missing == ["never"]
    found = named.load_namespace_properties("db")
    assert {key: found.get(key) for key in ("gone", "kept", "set", "new")} == {
        "gone": None, "kept": "2", "set": "4", "new": "5",
    }  # fmt: skip


def test_tables_get_other_names_and_come_in_by_their_metadata(named: TableCatalog, tmp_path: Path):
    named.create_namespace("db", {"location": f"{tmp_path}/elsewhere"})
    table = named.create_table("db.t", "id bigint")
    assert table.location() == f"{tmp_path}/elsewhere/t"
    table.append(rows(id=[1]))
    at = named.load_table("db.t").metadata_location
    assert ids(named.rename_table("db.t", "db.u")) == [1]
    assert ids(named.register_table("db.r", at)) == [1]
    assert named.list_tables("db") == [("db", "r"), ("db", "u")]
    for taken in (
        lambda: named.rename_table("db.u", "db.r"),
        lambda: named.register_table("db.u", at),
    ):
        with pytest.raises(TableAlreadyExistsError):
            taken()
    for absent in (
        lambda: named.rename_table("db.u", "no.u"),
        lambda: named.register_table("no.u", at),
    ):
        with pytest.raises(NoSuchNamespaceError):
            absent()
    with pytest.raises(NoSuchTableError):
        named.rename_table("db.t", "db.v")
