"""A save whose table was dropped and made anew between its plan and its commit."""

from pathlib import Path

import pyarrow as pa
import pytest

import iceberg_spark as ice
from iceberg_spark.engines.write_rows import write_rows
from iceberg_spark.errors import ValidationException
from iceberg_spark.save.commit_save import commit_save, commit_upsert
from iceberg_spark.save.plan_save import TablePlace, plan_save, plan_upsert
from iceberg_spark.save.write_options import WriteOptions, write_options
from iceberg_spark.spec.schema import Schema
from iceberg_spark.write.cdc_writer import UpsertedFiles

ROWS = pa.table({"id": pa.array([1, 2], pa.int64())})


@pytest.fixture
def catalog(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ice.TableCatalog:
    monkeypatch.setenv("PYICEBERG_CATALOG__C__URI", f"sqlite:///{tmp_path}/c.db")
    monkeypatch.setenv("PYICEBERG_CATALOG__C__WAREHOUSE", str(tmp_path / "w"))
    made = ice.load_catalog("c")
    made.create_namespace("db")
    made.create_table("db.t", "id bigint")
    return made


def make_anew(catalog: ice.TableCatalog) -> None:
    catalog.purge_table("db.t")
    catalog.create_table("db.t", "other bigint, id bigint")


@pytest.mark.parametrize("overwrite", [False, True])
def test_rows_are_not_saved_in_another_table_of_the_same_name(
    catalog: ice.TableCatalog, tmp_path: Path, overwrite: bool
):
    options = write_options({"path": "c.db.t"})
    table = catalog.load_table("db.t")
    plan = plan_save(options, table.schema(), overwrite=overwrite)
    make_anew(catalog)
    files = write_rows(ROWS, plan.context, plan.context.io, plan.align)
    with pytest.raises(ValidationException, match="another table by now"):
        commit_save(TablePlace("c.db.t", {}), plan, files)
    assert catalog.load_table("db.t").current_snapshot() is None
    assert not list(tmp_path.rglob("*.parquet"))


def test_changes_are_not_saved_in_another_table_of_the_same_name(catalog: ice.TableCatalog):
    options = write_options({"path": "c.db.t", "write-mode": "upsert", "equality-fields": "id"})
    plan = plan_upsert(options, catalog.load_table("db.t").schema(), overwrite=False)
    make_anew(catalog)
    with pytest.raises(ValidationException, match="another table by now"):
        commit_upsert(TablePlace("c.db.t", {}), plan, UpsertedFiles((), ()))
    assert catalog.load_table("db.t").current_snapshot() is None


def options() -> WriteOptions:
    return write_options({"path": "c.db.t"})


def schema_of(catalog: ice.TableCatalog) -> Schema:
    return catalog.load_table("db.t").schema()


def require_another_column(catalog: ice.TableCatalog) -> None:
    changed = catalog.load_table("db.t").update_schema(allow_incompatible_changes=True)
    changed.add_column("n", "int", required=True).commit()


@pytest.mark.parametrize("overwrite", [False, True])
def test_rows_are_not_saved_without_a_column_that_is_required_since_their_plan(
    catalog: ice.TableCatalog, tmp_path: Path, overwrite: bool
) -> None:
    """Nobody could read the table."""
    plan = plan_save(options(), schema_of(catalog), overwrite=overwrite)
    files = write_rows(ROWS, plan.context, plan.context.io, plan.align)
    require_another_column(catalog)
    with pytest.raises(ValidationException, match=r"Column 'n' .* is required"):
        commit_save(TablePlace("c.db.t", {}), plan, files)
    assert catalog.load_table("db.t").current_snapshot() is None
    assert not list(tmp_path.rglob("*.parquet"))


def test_rows_are_saved_next_to_a_new_optional_column(catalog: ice.TableCatalog) -> None:
    plan = plan_save(options(), schema_of(catalog), overwrite=False)
    files = write_rows(ROWS, plan.context, plan.context.io, plan.align)
    catalog.load_table("db.t").update_schema().add_column("n", "int").commit()
    commit_save(TablePlace("c.db.t", {}), plan, files)
    assert catalog.load_table("db.t").scan().to_arrow()["n"].to_pylist() == [None, None]
