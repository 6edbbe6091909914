"""What every catalog with views promises: one suite, each catalog that keeps them itself."""

import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from iceberg_spark.catalog.catalog import Catalog, Views
from iceberg_spark.catalog.hive.hive_catalog import hive_catalog
from iceberg_spark.catalog.memory import memory_catalog
from iceberg_spark.errors import (
    NamespaceNotEmptyError,
    NoSuchNamespaceError,
    NoSuchTableError,
    NoSuchViewError,
    TableAlreadyExistsError,
    ViewAlreadyExistsError,
)
from tests.catalog.test_every_catalog import HIVE, create, in_database
from tests.unit.spec.test_next_view import new


@pytest.fixture(params=["memory", "sqlite", "postgres", HIVE])
def catalog(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Catalog]:
    """A catalog with the empty namespace `db`, which is this test's alone."""
    name, kind = f"c{uuid.uuid4().hex}", request.param
    if kind == "hive":
        made: Catalog = hive_catalog(name, request.getfixturevalue("hive").properties(tmp_path))
        made.namespaces.create(("db",), {})
        yield made
        for view in made.views.list_views(("db",)):
            made.views.drop(".".join(view))
        for table in made.namespaces.list_tables(("db",)):
            made.drop_table(".".join(table))
        made.namespaces.drop(("db",))
    elif kind == "memory":
        made = memory_catalog(name, {"warehouse": f"file://{tmp_path}"})
        made.namespaces.create(("db",), {})
        yield made
    else:
        server = request.getfixturevalue("postgres") if kind == "postgres" else None
        yield in_database(name, server.uri if server else f"sqlite:///{tmp_path}/c.db", tmp_path)


@pytest.fixture
def views(catalog: Catalog) -> Views:
    assert catalog.views is not None
    return catalog.views


def text_of(views: Views, name: str = "db.v") -> str | None:
    return views.load(name).current_version.sql_for("spark")


def test_a_created_view_is_found(views: Views) -> None:
    assert not views.exists("db.v") and views.list_views(("db",)) == []
    made = views.create("db.v", new("SELECT 1", comment="x"))
    assert views.load("db.v") == made and made.properties == {"comment": "x"}
    assert views.exists("db.v") and views.list_views(("db",)) == [("db", "v")]


def test_what_is_missing_is_an_error(views: Views) -> None:
    base = views.create("db.v", new("SELECT 1"))
    views.drop("db.v")
    for use in (
        lambda: views.load("db.v"),
        lambda: views.drop("db.v"),
        lambda: views.replace("db.v", base, new("SELECT 2")),
        lambda: views.update_properties("db.v", base, {"a": "b"}, ()),
        lambda: views.rename("db.v", "db.w"),
    ):
        with pytest.raises(NoSuchViewError):
            use()


def test_there_are_no_views_without_their_namespace(catalog: Catalog, views: Views) -> None:
    with pytest.raises(NoSuchNamespaceError):
        views.list_views(("none",))
    views.create("db.v", new("SELECT 1"))
    with pytest.raises(NoSuchNamespaceError):
        views.rename("db.v", "none.v")
    with pytest.raises(NamespaceNotEmptyError):
        catalog.namespaces.drop(("db",))
    assert text_of(views) == "SELECT 1"


def test_a_replaced_view_keeps_its_history(views: Views) -> None:
    base = views.create("db.v", new("SELECT 1", a="1"))
    changed = views.replace("db.v", base, new("SELECT 2", 7, b="2"))
    assert views.load("db.v") == changed and text_of(views) == "SELECT 2"
    assert [one.version_id for one in changed.version_log] == [1, 2]
    assert changed.view_uuid == base.view_uuid and changed.properties == {"a": "1", "b": "2"}


def test_a_view_goes_where_it_is_asked_to(views: Views, tmp_path: Path) -> None:
    asked = replace(new("SELECT 1", a="1"), location=f"{tmp_path}/else/v")
    base = views.create("db.v", asked)
    assert views.load("db.v") == base and base.location == f"{tmp_path}/else/v"
    assert views.replace("db.v", base, new("SELECT 2", 7)).location == base.location
    moved = views.replace("db.v", base, replace(new("SELECT 2", 8), location=f"{tmp_path}/moved"))
    assert views.load("db.v") == moved and moved.location == f"{tmp_path}/moved"
    views.rename("db.v", "db.w")
    assert views.load("db.w") == moved and text_of(views, "db.w") == "SELECT 2"
    assert len(list(tmp_path.glob("else/v/metadata/*"))) == 2
    assert len(list(tmp_path.glob("moved/metadata/*"))) == 1


def test_properties_are_set_and_taken_away(views: Views) -> None:
    base = views.create("db.v", new("SELECT 1", a="1", b="2"))
    views.update_properties("db.v", base, {"c": "3"}, ("a",))
    assert views.load("db.v").properties == {"b": "2", "c": "3"}


def test_a_renamed_view_is_the_same_view(views: Views) -> None:
    base = views.create("db.v", new("SELECT 1"))
    views.rename("db.v", "db.w")
    assert views.load("db.w") == base and not views.exists("db.v")
    assert views.list_views(("db",)) == [("db", "w")]
    views.create("db.v", new("SELECT 2"))
    with pytest.raises(ViewAlreadyExistsError):
        views.rename("db.v", "db.w")
    assert text_of(views) == "SELECT 2" and text_of(views, "db.w") == "SELECT 1"


def test_tables_and_views_share_their_names(catalog: Catalog, views: Views) -> None:
    create(catalog)
    views.create("db.v", new("SELECT 1"))
    assert catalog.namespaces.list_tables(("db",)) == [("db", "t")]
    assert views.list_views(("db",)) == [("db", "v")]
    assert not catalog.table_exists("db.v") and not views.exists("db.t")
    for use, error in (
        (lambda: views.create("db.v", new("SELECT 2")), ViewAlreadyExistsError),
        (lambda: views.create("db.t", new("SELECT 2")), ViewAlreadyExistsError),
        (lambda: views.rename("db.v", "db.t"), ViewAlreadyExistsError),
        (lambda: create(catalog, "db.v"), TableAlreadyExistsError),
        (lambda: catalog.namespaces.rename_table("db.t", "db.v"), TableAlreadyExistsError),
        (lambda: views.drop("db.t"), NoSuchViewError),
        (lambda: views.load("db.t"), NoSuchViewError),
        (lambda: catalog.drop_table("db.v"), NoSuchTableError),
        (lambda: catalog.load("db.v"), NoSuchTableError),
        (lambda: catalog.namespaces.rename_table("db.v", "db.w"), NoSuchTableError),
    ):
        with pytest.raises(error):
            use()
    assert text_of(views) == "SELECT 1" and catalog.table_exists("db.t")


def test_one_of_several_that_create_a_view_does(views: Views) -> None:
    def make(number: int) -> bool:
        try:
            views.create("db.v", new(f"SELECT {number}"))
        except ViewAlreadyExistsError:
            return False
        return True

    with ThreadPoolExecutor(4) as pool:
        assert sorted(pool.map(make, range(4))) == [False, False, False, True]


def test_changes_at_once_are_all_made(views: Views) -> None:
    base = views.create("db.v", new("SELECT 1"))

    def change(number: int) -> None:
        views.update_properties("db.v", base, {f"k{number}": ""}, ())

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(change, range(4)))
    assert sorted(views.load("db.v").properties) == ["k0", "k1", "k2", "k3"]
