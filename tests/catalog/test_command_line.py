"""`iceberg-spark` on catalogs in servers: the root has no tables there, and a name two parts."""

import uuid
from pathlib import Path

import pytest

from iceberg_spark.cli.run import run

REST = pytest.param("rest", marks=pytest.mark.xdist_group("rest"))
HIVE = pytest.param("hive", marks=pytest.mark.xdist_group("hive"))


@pytest.mark.parametrize("kind", [REST, HIVE])
def test_catalog_lists_what_was_created_in_it(kind, request, tmp_path: Path, monkeypatch, capsys):
    server = request.getfixturevalue(kind)
    catalog, namespace = "prod", f"d{uuid.uuid4().hex[:8]}"
    settings = {"TYPE": kind, "URI": server.uri, "WAREHOUSE": str(tmp_path)}
    if kind == "rest":
        settings["WAREHOUSE"] = server.warehouse
    for name, value in settings.items():
        monkeypatch.setenv(f"PYICEBERG_CATALOG__PROD__{name}", value)

    def lines(*arguments: str) -> list[str]:
        assert run(arguments) == 0, capsys.readouterr().err
        return capsys.readouterr().out.splitlines()

    lines("create-namespace", f"{catalog}.{namespace}")
    lines("create", f"{catalog}.{namespace}.t", "--schema", "id bigint")
    assert f"{catalog}.{namespace}" in lines("namespaces", catalog)
    assert f"{catalog}.{namespace}.t" in lines("tables", catalog)
    assert lines("tables", f"{catalog}.{namespace}") == ["table", f"{catalog}.{namespace}.t"]
    lines("drop", f"{catalog}.{namespace}.t", "--yes")
    lines("drop-namespace", f"{catalog}.{namespace}", "--yes")
    assert f"{catalog}.{namespace}" not in lines("namespaces", catalog)
