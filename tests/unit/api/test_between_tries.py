"""What another writer commits between the plan of a change and its commit."""

from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import iceberg_spark as ice
from iceberg_spark import Table, TableCatalog
from iceberg_spark.errors import CommitFailedException, InvalidInputError, ValidationException
from tests.interleavings.schedule import scheduled
from tests.unit.api.tables import QUICK, ids, rows

BEFORE_THE_COMMIT = 2
"""The call of the catalog that moves the pointer; before it a verb loads and looks up the table."""
Writer = Callable[[], object]


@pytest.fixture
def catalog(tmp_path: Path) -> TableCatalog:
    made = ice.load_catalog(f"tries {tmp_path.name}", type="memory", warehouse=str(tmp_path))
    made.create_namespace("db")
    return made


def table_in(catalog: TableCatalog, version: int = 2, *, merges: bool = False) -> Table:
    properties = {**QUICK, "format-version": str(version)}
    if merges:
        properties["commit.manifest.min-count-to-merge"] = "2"
    table = catalog.create_table("db.t", "id bigint, k string", properties=properties)
    table.append(rows(id=[1, 2], k=["a", "a"]))
    table.append(rows(id=[3, 4], k=["b", "b"]))
    return table


def run_overtaken(verb: Writer, other: Writer, call: int = BEFORE_THE_COMMIT) -> None:
    with scheduled(call, other) as trace:
        verb()
    assert len(trace.calls) > call


def maintenance(action: str, **options: object) -> Callable[[Table], object]:
    return lambda table: getattr(table.maintenance, action)(**options)


def upgrade(catalog: TableCatalog, version: int) -> None:
    table = catalog.load_table("db.t")
    table.update_properties().set({"format-version": str(version)}).commit()


CACHED: dict[str, Callable[[Table], object]] = {
    "rewrite_manifests": lambda table: table.maintenance.rewrite_manifests(),
    "append": lambda table: table.append(rows(id=[5], k=["c"])),
    "overwrite": lambda table: table.overwrite(rows(id=[5], k=["c"]), "id = 3"),
    "dynamic overwrite": lambda table: table.dynamic_partition_overwrite(rows(id=[5], k=["c"])),
}


@pytest.mark.parametrize("verb", CACHED)
@pytest.mark.parametrize("version", [2, 3])
def test_a_try_after_an_upgrade_writes_its_manifests_again(
    catalog: TableCatalog, verb: str, version: int
) -> None:
    """A manifest of version 1 in a table of version 2 can't be read."""
    table = table_in(catalog, 1, merges=verb != "rewrite_manifests")
    run_overtaken(lambda: CACHED[verb](table), lambda: upgrade(catalog, version))
    newest = catalog.load_table("db.t")
    assert newest.metadata.format_version == version
    assert newest.maintenance.check().problems == ()
    assert newest.scan().to_arrow().num_rows > 0


def test_a_rewrite_that_was_planned_before_an_upgrade_gives_no_row_a_second_id(
    catalog: TableCatalog,
) -> None:
    table = table_in(catalog, 2)

    def other() -> None:
        upgrade(catalog, 3)
        catalog.load_table("db.t").append(rows(id=[9], k=["c"]))

    with pytest.raises(ValidationException, match="other row ids"):
        run_overtaken(lambda: table.delete("id = 1"), other)
    assert ids(catalog.load_table("db.t")) == [1, 2, 3, 4, 9]


def test_a_compaction_that_was_planned_before_an_upgrade_is_planned_again(
    catalog: TableCatalog,
) -> None:
    table, before = table_in(catalog, 2), {}

    def other() -> None:
        upgrade(catalog, 3)
        catalog.load_table("db.t").append(rows(id=[9], k=["c"]))
        before.update(row_ids(catalog))

    compact = maintenance("rewrite_data_files", options={"rewrite-all": True})
    run_overtaken(lambda: compact(table), other)
    assert row_ids(catalog) == before


def row_ids(catalog: TableCatalog) -> dict[int, int]:
    found = catalog.load_table("db.t").scan(selected_fields=("id", "_row_id")).to_arrow()
    return dict(zip(found["id"].to_pylist(), found["_row_id"].to_pylist(), strict=True))


def test_the_row_ids_of_a_transaction_that_was_overtaken_are_not_those_of_others(
    catalog: TableCatalog,
) -> None:
    table = table_in(catalog, 3)

    def both() -> None:
        with table.transaction() as changes:
            changes.append(rows(id=[5, 6], k=["c", "c"]))
            changes.delete("id = 5")

    other = catalog.load_table("db.t")
    with pytest.raises(ValidationException, match="other row ids"):
        run_overtaken(both, lambda: other.append(rows(id=[7], k=["d"])), call=1)
    assert ids(catalog.load_table("db.t")) == [1, 2, 3, 4, 7]


def parquet(path: Path, **columns: list[object]) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table(columns), path)
    return str(path)


def rename_and_add(catalog: TableCatalog) -> None:
    """Rename `k` to `old`, and add another column `k`."""
    table = catalog.load_table("db.t")
    table.update_schema().rename_column("k", "old").commit()
    table.update_schema().add_column("k", "string").commit()


def test_files_are_not_added_with_the_names_of_a_former_schema(
    catalog: TableCatalog, tmp_path: Path
) -> None:
    """Later files' `k` would be read as `old`."""
    table = table_in(catalog)
    path = parquet(tmp_path / "in" / "1.parquet", id=[5], k=["c"])
    with pytest.raises(ValidationException, match="add them again"):
        run_overtaken(lambda: table.add_files(path), lambda: rename_and_add(catalog))
    table.add_files(path)
    assert {"id": 5, "old": None, "k": "c"} in table.scan().to_arrow().to_pylist()


def test_files_are_added_next_to_changes_that_rename_nothing(
    catalog: TableCatalog, tmp_path: Path
) -> None:
    """The other writer sets the same name mapping."""
    table, other = table_in(catalog), catalog.load_table("db.t")
    path = parquet(tmp_path / "in" / "1.parquet", id=[5], k=["c"])
    second = parquet(tmp_path / "in" / "2.parquet", id=[6], k=["c"])
    run_overtaken(lambda: table.add_files(path), lambda: other.add_files(second))
    assert ids(table) == [1, 2, 3, 4, 5, 6]


def test_two_writers_do_not_add_one_file(catalog: TableCatalog, tmp_path: Path) -> None:
    table, other = table_in(catalog), catalog.load_table("db.t")
    path = parquet(tmp_path / "in" / "1.parquet", id=[5], k=["c"])
    with pytest.raises(InvalidInputError, match="is a data file of the table already"):
        run_overtaken(lambda: table.add_files(path), lambda: other.add_files(path))
    assert ids(catalog.load_table("db.t")) == [1, 2, 3, 4, 5]


def test_an_upsert_is_refused_when_its_key_is_dropped_meanwhile(catalog: TableCatalog) -> None:
    """A compaction writes files without the key, so that the deletes do not reach their rows."""
    table = table_in(catalog)

    def other() -> None:
        newest = catalog.load_table("db.t")
        newest.update_schema().delete_column("id").commit()
        newest.maintenance.rewrite_data_files(options={"rewrite-all": True})

    with pytest.raises(ValidationException, match="was dropped"):
        run_overtaken(lambda: table.upsert(rows(id=[1], k=["z"]), ["id"]), other)
    assert catalog.load_table("db.t").scan().to_arrow().num_rows == 4


def test_a_vector_is_not_committed_for_a_data_file_that_was_removed_meanwhile(
    catalog: TableCatalog,
) -> None:
    table = table_in(catalog, 3)
    table.upsert(rows(id=[3], k=["z"]), ["id"])
    other = catalog.load_table("db.t")
    with pytest.raises(ValidationException, match="was removed by snapshot"):
        run_overtaken(
            table.maintenance.convert_equality_deletes,
            lambda: other.overwrite(rows(id=[7], k=["c"])),
        )
    assert catalog.load_table("db.t").maintenance.check().problems == ()


def test_an_append_lacks_no_column_that_is_required_meanwhile(catalog: TableCatalog) -> None:
    table = table_in(catalog)

    def other() -> None:
        changed = catalog.load_table("db.t").update_schema(allow_incompatible_changes=True)
        changed.add_column("n", "int", required=True).commit()

    for verb in (
        lambda: table.overwrite(rows(id=[5], k=["c"])),
        lambda: table.upsert(rows(id=[5], k=["c"]), ["id"]),
    ):
        with pytest.raises(ValidationException, match=r"Column 'n' .* is required"):
            run_overtaken(verb, other)
        dropped = catalog.load_table("db.t").update_schema()
        dropped.delete_column("n").commit()


def drop_and_create(catalog: TableCatalog) -> None:
    catalog.drop_table("db.t")
    table_in(catalog)


@pytest.mark.parametrize("moment", [BEFORE_THE_COMMIT - 1, BEFORE_THE_COMMIT])
def test_a_compaction_is_refused_when_another_table_has_the_name(
    catalog: TableCatalog, moment: int
) -> None:
    table = table_in(catalog)
    with pytest.raises(ValidationException, match="another table by now"):
        run_overtaken(
            lambda: table.maintenance.rewrite_data_files(options={"rewrite-all": True}),
            lambda: drop_and_create(catalog),
            moment,
        )


def test_an_expiry_deletes_no_file_of_a_table_that_is_renamed_meanwhile(
    catalog: TableCatalog,
) -> None:
    """It looks which files are in use after its commit; the name is another table's by then."""
    table = table_in(catalog)
    table.overwrite(rows(id=[5], k=["c"]))

    def other() -> None:
        catalog.rename_table("db.t", "db.u")
        table_in(catalog)

    run_overtaken(lambda: table.maintenance.expire_snapshots(older_than=1 << 60), other, 3)
    assert ids(catalog.load_table("db.u")) == [5]
    assert ids(catalog.load_table("db.t")) == [1, 2, 3, 4]


MAINTENANCE: dict[str, Callable[[Table], object]] = {
    "expire": maintenance("expire_snapshots", older_than=1 << 60),
    "rewrite_manifests": maintenance("rewrite_manifests"),
    "compact": maintenance("rewrite_data_files"),
    "convert": maintenance("convert_equality_deletes"),
    "table statistics": maintenance("compute_table_stats"),
}


@pytest.mark.parametrize("action", MAINTENANCE)
def test_maintenance_of_a_table_that_was_created_again_is_refused(
    catalog: TableCatalog, action: str
) -> None:
    table = table_in(catalog)
    drop_and_create(catalog)
    with pytest.raises(CommitFailedException, match="another table by now"):
        MAINTENANCE[action](table)


def test_orphan_removal_is_refused_when_another_table_has_the_name(catalog: TableCatalog) -> None:
    """Files of the renamed table, which is in the same folder, are not named by the new one."""
    table = table_in(catalog)

    def other() -> None:
        catalog.rename_table("db.t", "db.u")
        table_in(catalog)

    remove = maintenance("remove_orphan_files", older_than=1 << 42, allow_recent=True)
    with pytest.raises(ValidationException, match="another table by now"):
        run_overtaken(lambda: remove(table), other, 1)
    assert ids(catalog.load_table("db.u")) == [1, 2, 3, 4]
