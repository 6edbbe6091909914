"""Catalogs by name, and tables by what users call them."""

from pathlib import Path

import pytest

import iceberg_spark as ice
from iceberg_spark.catalog.config import configured_catalog
from iceberg_spark.catalog.filesystem import FileSystemCatalog
from iceberg_spark.catalog.memory import memory_catalog
from iceberg_spark.catalog.registry import catalog_of, load_catalog, overlaid, resolve
from iceberg_spark.errors import InvalidInputError, UnsupportedError


@pytest.fixture(autouse=True)
def no_configuration(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("PYICEBERG_HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("kind", ["filesystem", "hadoop", "FileSystem"])
def test_types_of_file_system_catalogs(kind: str):
    catalog = load_catalog("c", type=kind, warehouse="/w")
    assert isinstance(catalog, FileSystemCatalog)
    assert catalog.name == "c"


def test_a_warehouse_alone_means_a_file_system_catalog():
    assert isinstance(load_catalog("c", warehouse="/w"), FileSystemCatalog)


@pytest.mark.parametrize("kind", ["memory", "in-memory"])
def test_the_memory_catalog_is_shipped(kind: str):
    assert repr(load_catalog("c", type=kind)) == repr(memory_catalog("c")) == "MemoryCatalog(c)"


@pytest.mark.parametrize(
    "properties",
    [
        {"uri": "https://x"},
        {"type": "REST", "uri": "http://x"},
        {"catalog-impl": "org.apache.iceberg.rest.RESTCatalog", "uri": "http://x"},
    ],
)
def test_a_server_is_a_rest_catalog_without_a_request_so_far(properties: dict[str, str]):
    assert repr(load_catalog("c", **properties)) == "RestCatalog(c)"


def test_catalogs_that_are_not_there_yet_are_named():
    with pytest.raises(UnsupportedError, match="has type bigquery"):
        load_catalog("c", type="bigquery")


def test_an_unknown_type_is_an_error_that_names_the_known_ones():
    with pytest.raises(InvalidInputError, match="filesystem, hadoop, memory"):
        load_catalog("c", type="filesytem")


def test_the_error_of_an_unconfigured_catalog_names_the_places_of_configuration():
    with pytest.raises(InvalidInputError, match="PYICEBERG_CATALOG__PROD__WAREHOUSE"):
        load_catalog("prod")


def test_configuration_comes_from_the_file_and_the_environment_over_it(tmp_path: Path):
    (tmp_path / ".pyiceberg.yaml").write_text(
        "catalog:\n  Prod:\n    type: hadoop\n    warehouse: /file\n    s3.region: eu\n"
    )
    environment = {
        "PYICEBERG_CATALOG__PROD__WAREHOUSE": "/env",
        "PYICEBERG_CATALOG__PROD__S3__ACCESS_KEY_ID": "k",
        "PYICEBERG_CATALOG__OTHER__WAREHOUSE": "/no",
    }
    assert configured_catalog("prod", environment, (tmp_path,)) == {
        "type": "hadoop",
        "warehouse": "/env",
        "s3.region": "eu",
        "s3.access-key-id": "k",
    }


def test_properties_of_the_call_override_configured_ones(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PYICEBERG_CATALOG__PROD__WAREHOUSE", "/env")
    assert load_catalog("prod").properties["warehouse"] == "/env"
    assert load_catalog("prod", warehouse="/mine").properties["warehouse"] == "/mine"


def test_a_broken_configuration_file_is_named(tmp_path: Path):
    (tmp_path / ".pyiceberg.yaml").write_text("catalog: [\n")
    with pytest.raises(InvalidInputError, match=r"\.pyiceberg\.yaml"):
        load_catalog("prod")


@pytest.mark.parametrize(
    "table", ["/a/t", "file:/a/t", "s3://b/t", "/a/metadata/v3.metadata.json", "memory://x/t"]
)
def test_locations_stand_for_themselves(table: str):
    catalog, identifier = resolve(table, {"s3.region": "eu"})
    assert isinstance(catalog, FileSystemCatalog)
    assert identifier == table
    assert catalog.properties == {"s3.region": "eu"}


@pytest.mark.parametrize("table", ["warehouse/t", "./t", "t", "t/metadata/v1.metadata.json"])
def test_relative_paths_become_absolute(table: str, tmp_path: Path):
    _, identifier = resolve(table)
    assert identifier == str((tmp_path / table).resolve())


def test_a_dotted_name_is_catalog_and_table(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PYICEBERG_CATALOG__CAT__WAREHOUSE", "/w")
    catalog, identifier = resolve("cat.db.tbl")
    assert (catalog.name, identifier) == ("cat", "db.tbl")


@pytest.mark.parametrize("table", ["", "  ", "cat..t", "cat.db."])
def test_names_with_empty_parts_are_refused(table: str):
    with pytest.raises(InvalidInputError):
        resolve(table, {"warehouse": "/w"})


def test_a_catalog_gives_new_tables_its_properties(tmp_path: Path):
    given = {"table-default.a": "catalog", "table-default.b": "catalog", "table-override.c": "x"}
    catalog = ice.load_catalog("c", warehouse=str(tmp_path), **given)
    table = catalog.create_table("db.t", "id bigint", properties={"a": "own", "c": "own"})
    assert table.properties == {"a": "own", "b": "catalog", "c": "x"}


def test_a_foreign_storage_class_is_ignored_with_a_warning():
    with pytest.warns(UserWarning, match=r"com\.example\.IO, which is not used"):
        load_catalog("c", warehouse="/w", **{"io-impl": "com.example.IO"})
    load_catalog("c", warehouse="/w", **{"io-impl": "org.apache.iceberg.aws.s3.S3FileIO"})


def test_session_settings_are_read_for_undefined_names_only(monkeypatch: pytest.MonkeyPatch):
    session = {"uri": "https://one", "credential": "id:key", "header.x": "1"}
    assert overlaid("c", {}, lambda _: session) == {**session, "type": "rest"}
    assert overlaid("c", {"uri": "https://two"}, lambda _: session) == {
        "uri": "https://two",
        "header.x": "1",
        "type": "rest",
    }
    monkeypatch.setenv("PYICEBERG_CATALOG__C__WAREHOUSE", "/w")
    assert overlaid("c", {}, lambda _: session) == {}


@pytest.mark.parametrize("name", ["AUTHORIZATION", "PROXY-AUTHORIZATION", "COOKIE", "X-AUTH"])
def test_another_uri_gets_no_configured_header_with_credentials(
    monkeypatch: pytest.MonkeyPatch, name: str
):
    monkeypatch.setenv("PYICEBERG_CATALOG__C__URI", "https://one")
    monkeypatch.setenv(f"PYICEBERG_CATALOG__C__HEADER.{name}", "Bearer secret")
    assert "Bearer secret" in load_catalog("c").properties.values()
    assert dict(load_catalog("c", uri="https://two").properties) == {"uri": "https://two"}


def test_a_location_names_no_catalog():
    for place in ("/a/b.c.d", "s3://b/a.b.c", "a/b.c", "t", "t.", "v1.metadata.json"):
        assert catalog_of(place) is None
    assert catalog_of("cat.db.t") == "cat"


def test_a_catalog_without_a_name_is_the_configured_default_one(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    monkeypatch.setenv("PYICEBERG_HOME", str(tmp_path))
    lake = "catalog:\n  lake:\n    warehouse: /w\n  sea:\n    warehouse: /w\n"
    (tmp_path / ".pyiceberg.yaml").write_text(f"default-catalog: lake\n{lake}")
    assert load_catalog().name == "lake"
    monkeypatch.setenv("PYICEBERG_DEFAULT_CATALOG", "sea")
    assert load_catalog().name == "sea"
