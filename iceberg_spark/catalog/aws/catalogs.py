"""Catalogs in AWS Glue and DynamoDB, and why BigQuery is not supported."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NoReturn

from iceberg_spark.catalog.aws.dynamodb_pointers import DynamoDbCatalog
from iceberg_spark.catalog.aws.glue_pointers import GlueCatalog
from iceberg_spark.catalog.aws.namespaces import TheirNamespaces, Theirs
from iceberg_spark.catalog.pointer_catalog import PointerCatalog
from iceberg_spark.errors import UnsupportedError
from iceberg_spark.io.numbers import number
from iceberg_spark.io.storage import open_storage
from iceberg_spark.lazy import LazyModule

glue = LazyModule("pyiceberg.catalog.glue")
dynamodb = LazyModule("pyiceberg.catalog.dynamodb")
boto3 = LazyModule("boto3")

_ENDPOINT = "dynamodb.endpoint"
_RETRIES = "glue.max-retries"


def glue_catalog(name: str, properties: Mapping[str, str]) -> PointerCatalog:
    """Return a catalog in AWS Glue from PyIceberg's properties; does not connect yet."""
    settings = dict(properties)

    def make() -> Any:
        retries = int(number(settings, _RETRIES, 10))  # PyIceberg hands its text on to botocore
        return _with_client(glue, "GlueCatalog")(name, **{**settings, _RETRIES: retries})

    theirs = Theirs(name, make)
    return _catalog(name, settings, theirs, GlueCatalog(theirs, settings), glue_catalog)


def dynamodb_catalog(name: str, properties: Mapping[str, str]) -> PointerCatalog:
    """Return a catalog in DynamoDB from PyIceberg's properties; does not connect yet."""
    settings = dict(properties)

    def make() -> Any:
        kind = _with_client(dynamodb, "DynamoDbCatalog")
        if _ENDPOINT not in settings:
            return kind(name, **settings)
        session = boto3.Session(
            region_name=_first(settings, "region"),
            aws_access_key_id=_first(settings, "access-key-id"),
            aws_secret_access_key=_first(settings, "secret-access-key"),
            aws_session_token=_first(settings, "session-token"),
        )
        return kind(name, session.client("dynamodb", endpoint_url=settings[_ENDPOINT]), **settings)

    theirs = Theirs(name, make)
    return _catalog(name, settings, theirs, DynamoDbCatalog(theirs, settings), dynamodb_catalog)


def _first(properties: Mapping[str, str], key: str) -> str | None:
    return properties.get(f"dynamodb.{key}") or properties.get(f"client.{key}")


def no_bigquery_catalog(name: str, properties: Mapping[str, str]) -> NoReturn:  # noqa: ARG001
    """Raise UnsupportedError: PyIceberg's BigQuery catalog has no usable commit."""
    raise UnsupportedError(
        f"Catalog '{name}' has type bigquery: PyIceberg can't commit to it, so neither can we. Its "
        "tables are reached through BigLake's Iceberg REST catalog: type rest, uri "
        "https://biglake.googleapis.com/iceberg/v1/restcatalog, warehouse gs://BUCKET, "
        "header.x-goog-user-project and a token"
    )


def _catalog(
    name: str,
    properties: dict[str, str],
    theirs: Theirs,
    pointers: GlueCatalog | DynamoDbCatalog,
    made_by: Callable[[str, dict[str, str]], PointerCatalog],
) -> PointerCatalog:
    namespaces = TheirNamespaces(theirs, pointers, open_storage(properties))
    return PointerCatalog(name, properties, pointers, namespaces, made_by)


def _with_client(module: LazyModule, kind: str) -> Any:
    try:
        return getattr(module, kind)
    except ImportError as error:
        raise UnsupportedError(
            f"Catalogs of Amazon's services need PyIceberg and boto3 ({error}): "
            "pip install 'iceberg-spark[pyiceberg]'"
        ) from error
