"""A commit of several tables lands in all of them or in none, or nobody can tell."""

import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import iceberg_spark as ice
from iceberg_spark.catalog.pointer_catalog import PointerCatalog
from iceberg_spark.errors import CommitFailedException, CommitStateUnknownException


def change_the_first_only(catalog: Any, changes: Sequence[Any]) -> None:
    """As Iceberg's reference of a REST server does it when it breaks off."""
    first = changes[0]
    catalog.commit(first.identifier, first.requirements, first.updates, first.base)
    raise CommitFailedException("the server broke off after the first table")


def test_tables_that_were_changed_one_after_the_other_are_an_unknown_state(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    catalog = ice.load_catalog(uuid.uuid4().hex, type="memory", warehouse=str(tmp_path))
    tx = catalog.transaction()
    for name in ("a", "b"):
        catalog.create_table(f"db.{name}", "id bigint")
        tx.load_table(f"db.{name}").append(pa.table({"id": [1]}))
    written = set(tmp_path.rglob("*.parquet"))
    monkeypatch.setattr(PointerCatalog, "commit_tables", change_the_first_only)
    with pytest.raises(CommitStateUnknownException, match=r"db\.a has this commit and db\.b does"):
        tx.commit_transaction()
    assert written <= set(tmp_path.rglob("*.parquet"))
    assert catalog.load_table("db.a").scan().count() == 1
