"""Manifests and manifest lists as Avro sees them: file metadata, schema, records."""

import json
from pathlib import Path
from typing import Any

import fastavro
from pyspark.sql import SparkSession

from tests.oracle.java_api import location, read


def open_avro(path: str) -> tuple[dict[str, str], dict[str, Any], list[dict[str, Any]]]:
    """Return an Avro file's key-value metadata, writer schema and records."""
    with Path(path).open("rb") as stream:
        reader = fastavro.reader(stream)
        records = list(reader)
    metadata = {key: value for key, value in reader.metadata.items() if key != "avro.schema"}
    return metadata, json.loads(reader.metadata["avro.schema"]), records


def manifest_paths(java: SparkSession, name: str) -> list[str]:
    """Return the manifests of the current snapshot, as Java lists them."""
    return read(java, f"{location(java, name)}#manifests")["path"].to_pylist()


def manifest_lists(java: SparkSession, name: str) -> list[str]:
    """Return the manifest lists of all snapshots, oldest first."""
    snapshots = read(java, f"{location(java, name)}#snapshots").sort_by("committed_at")
    return snapshots["manifest_list"].to_pylist()


def without_docs(node: Any) -> Any:
    """Return an Avro schema without its `doc` texts."""
    if isinstance(node, list):
        return [without_docs(child) for child in node]
    if isinstance(node, dict):
        return {key: without_docs(child) for key, child in node.items() if key != "doc"}
    return node
