"""The page about catalog properties lists each property that the code reads, and no others."""

import ast
import re
from collections.abc import Iterator

import pyiceberg.catalog.dynamodb
import pyiceberg.catalog.glue

from scripts.catalog_properties_page import names
from tests.architecture.source import files

_PROPERTY = re.compile(
    r"(s3|gcs|adls|hdfs|client|glue|dynamodb|hive|iceberg\.hive|jdbc|ssl|io|tasks|rest)"
    r"[.-][A-Za-z0-9.-]*[A-Za-z0-9]"
)
_RECEIVERS = {"properties", "_properties", "catalog", "settings"}
_FROM_SERVERS = {
    "s3.session-token-expires-at-ms",
    "s3.remote-signing-enabled",
    "s3.signer.uri",
    "s3.signer.endpoint",
    "gcs.oauth2.token-expires-at",
}
"""Properties that REST servers send, and users do not set."""
_OF_TABLES = {
    "hive.metastore.table.owner",
    "hive.metastore.database.owner",
    "hive.metastore.database.owner-type",
    "engine.hive.enabled",
    "engine.hive.lock-enabled",
    "gc.enabled",
    "location",
}
"""Properties of tables and namespaces."""
_NOT_SET_BY_USERS = {"io.table-schemes", "client-id", "client-secret"}
"""What a table's own storage is limited to, and names without their prefix `adls.`."""


def _texts(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


def _keys(tree: ast.Module) -> Iterator[str]:
    """Keys of `properties.get("key")` and of `properties.get(KEY)`."""
    constants = {
        target.id: node.value
        for node in tree.body
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Attribute(value=receiver, attr="get"), args=[key, *_]):
                if getattr(receiver, "attr", getattr(receiver, "id", "")) in _RECEIVERS:
                    value = constants.get(key.id) if isinstance(key, ast.Name) else key
                    if isinstance(value, ast.Constant):
                        yield str(value.value)


def test_each_property_that_other_rooms_read_is_listed() -> None:
    others = [file for file in files("iceberg_spark") if "catalog.properties.get(" in file.text]
    read = {key for file in others for key in _keys(file.tree)}
    assert "use-nullable-query-schema" in read
    assert read - names() == set()


def test_each_property_that_the_code_reads_is_listed() -> None:
    prefixes = tuple(name for name in names() if name.endswith((".", ":")))
    read = {
        (file.path, text)
        for file in files("iceberg_spark/catalog", "iceberg_spark/io")
        for text in (*filter(_PROPERTY.fullmatch, _texts(file.tree)), *_keys(file.tree))
    }
    apart = _FROM_SERVERS | _OF_TABLES | _NOT_SET_BY_USERS | names()
    assert {r for r in read if r[1] not in apart and not r[1].startswith(prefixes)} == set()


def test_each_listed_property_is_read() -> None:
    texts = {text for file in files("iceberg_spark") for text in _texts(file.tree)}
    for module in (pyiceberg.catalog.glue, pyiceberg.catalog.dynamodb):
        texts |= {value for value in vars(module).values() if isinstance(value, str)}
    without_prefix = {name: name.partition(".")[2] for name in names()}  # as in f"s3.{name}"
    assert {name for name, end in without_prefix.items() if not {name, end} & texts} == set()
