"""Catalogs in a database: their rows, namespaces and URLs."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
import sqlalchemy

from iceberg_spark.catalog.catalog import Namespaces
from iceberg_spark.catalog.pointer_catalog import PointerCatalog
from iceberg_spark.catalog.registry import load_catalog, resolve
from iceberg_spark.catalog.sql_catalog import database_url, engine_of, sql_catalog
from iceberg_spark.catalog.sql_tables import SqlTables
from iceberg_spark.errors import (
    InvalidInputError,
    NamespaceAlreadyExistsError,
    NamespaceNotEmptyError,
    NoSuchNamespaceError,
    NoSuchTableError,
    StorageError,
    TableAlreadyExistsError,
    UnsupportedError,
)
from iceberg_spark.spec.new_table import new_table_updates
from iceberg_spark.spec.requirements import AssertCreate
from tests.builders import schema
from tests.unit.spec.test_next_view import new

V0 = """CREATE TABLE iceberg_tables (catalog_name VARCHAR(255) NOT NULL,
table_namespace VARCHAR(255) NOT NULL, table_name VARCHAR(255) NOT NULL,
metadata_location VARCHAR(1000), previous_metadata_location VARCHAR(1000),
PRIMARY KEY (catalog_name, table_namespace, table_name))"""


@pytest.fixture
def catalog(tmp_path: Path) -> PointerCatalog:
    return catalog_at(tmp_path)


@pytest.fixture
def namespaces(catalog: PointerCatalog) -> Namespaces:
    return catalog.namespaces


def catalog_at(folder: Path, name: str = "c") -> PointerCatalog:
    return sql_catalog(name, {"uri": f"sqlite:///{folder}/c.db", "warehouse": f"{folder}/wh"})


def create(catalog: PointerCatalog, name: str = "db.t") -> None:
    updates = new_table_updates(schema(("id", "long")), location=catalog.location_of(name))
    catalog.commit(name, [AssertCreate()], updates, None)


def ran(folder: Path, *statements: str) -> list[tuple[str, ...]]:
    with closing(sqlite3.connect(folder / "c.db")) as connection:
        found = [connection.execute(text).fetchall() for text in statements]
        connection.commit()
    return found[-1]


def test_a_table_has_the_row_that_java_and_pyiceberg_write(
    catalog: PointerCatalog, tmp_path: Path
) -> None:
    catalog.namespaces.create(("a", "b"), {})
    create(catalog, "a.b.t")
    place = catalog.load("a.b.t").metadata_location
    assert place.startswith(f"{tmp_path}/wh/a/b/t/metadata/00000-")
    assert ran(tmp_path, "SELECT * FROM iceberg_tables") == [
        ("c", "a.b", "t", place, None, "TABLE")
    ]


def test_a_schema_without_types_stays_as_it_is_and_works(tmp_path: Path) -> None:
    ran(tmp_path, V0)
    catalog = catalog_at(tmp_path)
    catalog.namespaces.create(("db",), {})
    create(catalog)
    assert catalog.namespaces.list_tables(("db",)) == [("db", "t")]
    columns = ran(tmp_path, "SELECT name FROM pragma_table_info('iceberg_tables')")
    assert ("iceberg_type",) not in columns


def test_a_schema_without_types_has_no_views(tmp_path: Path) -> None:
    ran(tmp_path, V0)
    catalog = catalog_at(tmp_path)
    catalog.namespaces.create(("db",), {})
    create(catalog)
    assert catalog.views is not None and catalog.views.list_views(("db",)) == []
    assert not catalog.views.exists("db.t")
    with pytest.raises(UnsupportedError, match="iceberg_type"):
        catalog.views.create("db.v", new("SELECT 1"))
    assert list(tmp_path.glob("wh/db/v/**/*.json")) == []


def test_a_view_has_the_row_that_java_writes(catalog: PointerCatalog, tmp_path: Path) -> None:
    catalog.namespaces.create(("db",), {})
    assert catalog.views is not None
    base = catalog.views.create("db.v", new("SELECT 1"))
    first = ran(tmp_path, "SELECT metadata_location FROM iceberg_tables")[0][0]
    assert first.startswith(f"{tmp_path}/wh/db/v/metadata/00000-")
    catalog.views.replace("db.v", base, new("SELECT 2"))
    ((*names, newest, before, kind),) = ran(tmp_path, "SELECT * FROM iceberg_tables")
    assert (names, before, kind) == (["c", "db", "v"], first, "VIEW")
    assert newest.startswith(f"{tmp_path}/wh/db/v/metadata/00001-")


def test_a_view_is_no_table_and_holds_its_name(catalog: PointerCatalog, tmp_path: Path) -> None:
    catalog.namespaces.create(("db",), {})
    ran(tmp_path, "INSERT INTO iceberg_tables VALUES ('c', 'db', 'v', 'x', NULL, 'VIEW')")
    assert not catalog.table_exists("db.v")
    assert catalog.namespaces.list_tables(("db",)) == []
    with pytest.raises(TableAlreadyExistsError):
        create(catalog, "db.v")
    with pytest.raises(NamespaceNotEmptyError, match="has table or view v"):
        catalog.namespaces.drop(("db",))


def test_a_row_without_type_is_a_table(catalog: PointerCatalog, tmp_path: Path) -> None:
    catalog.namespaces.create(("db",), {})
    create(catalog)
    ran(tmp_path, "UPDATE iceberg_tables SET iceberg_type = NULL")
    assert catalog.table_exists("db.t")
    assert catalog.namespaces.list_tables(("db",)) == [("db", "t")]


def test_catalogs_of_one_database_are_distinguished_by_name(tmp_path: Path) -> None:
    one, other = catalog_at(tmp_path, "one"), catalog_at(tmp_path, "other")
    for each in (one, other):
        each.namespaces.create(("db",), {"of": each.name})
    create(one)
    assert not other.table_exists("db.t")
    assert other.namespaces.properties(("db",)) == {"of": "other"}


def test_a_namespace_is_there_from_its_creation_to_its_drop(namespaces: Namespaces) -> None:
    namespaces.create(("db",), {"owner": "me"})
    assert namespaces.properties(("db",)) == {"owner": "me"}
    with pytest.raises(NamespaceAlreadyExistsError):
        namespaces.create(("db",), {})
    namespaces.drop(("db",))
    assert not namespaces.exists(("db",))
    with pytest.raises(NoSuchNamespaceError):
        namespaces.drop(("db",))


def test_namespaces_are_listed_a_level_at_a_time(namespaces: Namespaces) -> None:
    for name in (("a",), ("a", "x", "deep"), ("a", "y"), ("ab",), ("A",)):
        namespaces.create(name, {})
    assert namespaces.list_namespaces(()) == [("A",), ("a",), ("ab",)]
    assert namespaces.list_namespaces(("a",)) == [("a", "x"), ("a", "y")]
    assert namespaces.exists(("a", "x"))
    with pytest.raises(NoSuchNamespaceError):
        namespaces.list_namespaces(("none",))


@pytest.mark.parametrize("name", ["a_", "a%", "a\\", "a'b", 'a"b', "ä"])
def test_a_name_is_no_pattern(namespaces: Namespaces, name: str) -> None:
    namespaces.create(("axb", "y"), {})
    assert not namespaces.exists((name,))
    namespaces.create((name, "z"), {})
    assert namespaces.list_namespaces((name,)) == [(name, "z")]


def test_a_namespace_with_something_in_it_is_not_dropped(catalog: PointerCatalog) -> None:
    catalog.namespaces.create(("db",), {})
    catalog.namespaces.create(("db", "below"), {})
    with pytest.raises(NamespaceNotEmptyError, match=r"namespace db\.below"):
        catalog.namespaces.drop(("db",))
    catalog.namespaces.drop(("db", "below"))
    create(catalog)
    with pytest.raises(NamespaceNotEmptyError, match="table or view t"):
        catalog.namespaces.drop(("db",))


def test_properties_are_removed_and_set_at_once(namespaces: Namespaces) -> None:
    namespaces.create(("db",), {"a": "1", "b": "2"})
    namespaces.update_properties(("db",), {"a", "exists"}, {"b": "3", "c": "4"})
    assert namespaces.properties(("db",)) == {"b": "3", "c": "4"}
    namespaces.update_properties(("db",), {"b", "c"}, {})
    assert namespaces.exists(("db",))


def test_a_namespace_that_only_a_table_makes_takes_properties(
    catalog: PointerCatalog, tmp_path: Path
) -> None:
    catalog.namespaces.create(("db",), {})
    create(catalog)
    ran(tmp_path, "DELETE FROM iceberg_namespace_properties")  # as Java's older ones have them
    catalog.namespaces.update_properties(("db",), (), {"a": "1"})
    assert catalog.namespaces.properties(("db",)) == {"a": "1"}


def test_a_table_is_created_in_a_namespace_that_is_there(catalog: PointerCatalog) -> None:
    with pytest.raises(NoSuchNamespaceError, match=r"create_namespace\('db'\)"):
        create(catalog)
    with pytest.raises(InvalidInputError, match="is a path"):
        create(catalog, "db.")


def test_the_root_namespace_has_tables_and_views(catalog: PointerCatalog, tmp_path: Path) -> None:
    create(catalog, "t")
    assert catalog.load("t").metadata_location.startswith(f"{tmp_path}/wh/t/metadata/00000-")
    namespaces = catalog.namespaces
    assert namespaces.list_tables(()) == [("t",)]
    assert namespaces.list_namespaces(()) == []
    assert namespaces.exists(()) and namespaces.properties(()) == {}
    namespaces.create(("db",), {})
    namespaces.rename_table("t", "db.t")
    assert namespaces.list_tables(()) == []
    namespaces.rename_table("db.t", "u")
    catalog.drop_table("u")
    assert not catalog.table_exists("u")


def test_a_namespaces_location_is_the_parent_of_its_tables(
    catalog: PointerCatalog, tmp_path: Path
) -> None:
    catalog.namespaces.create(("db",), {"location": f"{tmp_path}/mine/"})
    assert catalog.location_of("db.t") == f"{tmp_path}/mine/t"


def test_a_renamed_table_keeps_its_files(catalog: PointerCatalog) -> None:
    for name in ("db", "other"):
        catalog.namespaces.create((name,), {})
    create(catalog)
    before = catalog.load("db.t").metadata_location
    catalog.namespaces.rename_table("db.t", "other.u")
    assert catalog.load("other.u").metadata_location == before
    assert not catalog.table_exists("db.t")
    create(catalog, "db.t2")
    with pytest.raises(TableAlreadyExistsError):
        catalog.namespaces.rename_table("db.t2", "other.u")
    with pytest.raises(NoSuchTableError):
        catalog.namespaces.rename_table("db.t", "db.t3")
    with pytest.raises(NoSuchNamespaceError):
        catalog.namespaces.rename_table("other.u", "none.u")


def test_a_database_that_can_not_be_opened_is_no_missing_table(tmp_path: Path) -> None:
    catalog = catalog_at(tmp_path / "no" / "folder")
    with pytest.raises(StorageError, match="unable to open"):
        catalog.load("db.t")


class Ending:
    """A database whose transactions end with an error."""

    def __init__(self, error: Exception) -> None:
        self.error = error

    @contextmanager
    def begin(self) -> Iterator[None]:
        yield
        raise self.error


LOST = {"connection_invalidated": True}


@pytest.mark.parametrize(
    ("kind", "about", "ours"),
    [
        ("ProgrammingError", {}, UnsupportedError),
        ("DataError", {}, UnsupportedError),
        ("NotSupportedError", {}, UnsupportedError),
        ("ProgrammingError", LOST, StorageError),
        ("DatabaseError", {}, StorageError),
        ("DBAPIError", {}, StorageError),
        ("OperationalError", {}, StorageError),
        ("InternalError", {}, StorageError),
    ],
)
def test_what_a_database_did_not_refuse_may_have_landed(
    kind: str, about: dict[str, bool], ours: type[Exception]
) -> None:
    """After a refusal the metadata file of the commit is deleted."""
    error = getattr(sqlalchemy.exc, kind)("COMMIT", None, Exception("said"), **about)
    tables = SqlTables(Ending(error), makes_tables=False)
    tables._typed = True
    with pytest.raises(ours, match="said"), tables.transaction():
        pass


def test_a_database_without_tables_is_refused_where_none_are_to_be_made(tmp_path: Path) -> None:
    properties = {"uri": f"sqlite:///{tmp_path}/c.db", "init_catalog_tables": "false"}
    with pytest.raises(UnsupportedError, match="init_catalog_tables"):
        sql_catalog("c", properties).load("db.t")


@pytest.mark.parametrize(
    ("properties", "url"),
    [
        ({"uri": "sqlite:////f/c.db"}, "sqlite:////f/c.db"),
        ({"uri": "jdbc:sqlite:/f/c.db"}, "sqlite:////f/c.db"),
        ({"uri": "postgresql://u:p@h:1/d"}, "postgresql://u:p@h:1/d"),
        (
            {"uri": "jdbc:postgresql://h/d", "jdbc.user": "u", "jdbc.password": "p/@"},
            "postgresql://u:p%2F%40@h/d",
        ),
        (
            {"uri": "jdbc:postgresql://h/d?user=u&password=p&sslmode=require"},
            "postgresql://u:p@h/d?sslmode=require",
        ),
    ],
)
def test_urls_are_taken_as_pyiceberg_and_java_spell_them(
    properties: dict[str, str], url: str
) -> None:
    assert database_url(properties).render_as_string(hide_password=False) == url


@pytest.mark.parametrize("uri", ["sqlite://", "sqlite:///:memory:", "jdbc:sqlite::memory:"])
def test_a_database_in_memory_is_refused(uri: str) -> None:
    with pytest.raises(UnsupportedError, match="give a file"):
        load_catalog("c", uri=uri)


def test_a_bad_url_is_named_without_what_it_holds() -> None:
    with pytest.raises(InvalidInputError) as caught:
        load_catalog("c", type="sql", uri="pass:word@nonsense")
    assert "word" not in str(caught.value)


@pytest.mark.parametrize(
    "properties",
    [
        {"type": "jdbc", "uri": "jdbc:sqlite:/f/c.db"},
        {"catalog-impl": "org.apache.iceberg.jdbc.JdbcCatalog", "uri": "sqlite:////f/c.db"},
        {"uri": "sqlite:////f/c.db"},
    ],
)
def test_javas_names_of_the_kind_are_known(properties: dict[str, str]) -> None:
    assert repr(load_catalog("c", **properties)) == "SqlCatalog(c)"


def test_sqlite_asks_for_no_name_and_password(tmp_path: Path) -> None:
    """As Java's driver, which passes them over."""
    uri = f"jdbc:sqlite:{tmp_path}/c.db?user=me&password=hush"
    given = {"uri": uri, "jdbc.user": "me", "jdbc.password": "hush"}
    catalog = load_catalog("c", type="jdbc", warehouse=f"{tmp_path}", **given)
    assert catalog.namespaces is not None and catalog.namespaces.list_namespaces(()) == []
    assert (tmp_path / "c.db").exists()


def test_another_uri_takes_no_configured_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYICEBERG_CATALOG__PROD__URI", "sqlite:////f/c.db")
    monkeypatch.setenv("PYICEBERG_CATALOG__PROD__S3__SECRET_ACCESS_KEY", "s3cret")
    monkeypatch.setenv("PYICEBERG_CATALOG__PROD__WAREHOUSE", "/w")
    assert load_catalog("prod").properties["s3.secret-access-key"] == "s3cret"
    assert load_catalog("prod", uri="sqlite:////f/c.db").properties["s3.secret-access-key"]
    other = load_catalog("prod", uri="sqlite:////f/other.db")
    assert "s3cret" not in str(dict(other.properties))
    assert other.properties["warehouse"] == "/w"


def test_local_needs_no_configuration(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    catalog, identifier = resolve("local.db.t")
    catalog.namespaces.create(("db",), {})  # type: ignore[union-attr]
    create(catalog, identifier)  # type: ignore[arg-type]
    found, _ = resolve("local.db.t")
    assert found.load("db.t").metadata.location == f"{tmp_path}/iceberg_spark/warehouse/db/t"


def test_connections_to_databases_beyond_the_bound_are_closed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    closed: list[bool] = []
    dispose = sqlalchemy.Engine.dispose  # really: others' engines are among those that go

    def noted(engine: sqlalchemy.Engine, close: bool) -> None:
        closed.append(close)
        dispose(engine, close)

    monkeypatch.setattr(sqlalchemy.Engine, "dispose", noted)
    urls = [sqlalchemy.make_url(f"sqlite:///{tmp_path}/{number}.db") for number in range(9)]
    first = engine_of(urls[0])
    assert engine_of(urls[0]) is first
    closed.clear()
    for url in urls[1:]:
        engine_of(url)
    assert closed
    assert all(closed)
    assert engine_of(urls[0]) is not first
