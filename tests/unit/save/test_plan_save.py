"""What a save asks for is checked before a file is written."""

from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest

import iceberg_spark as ice
from iceberg_spark.commits.conflicts import Planned
from iceberg_spark.errors import InvalidOptionError, NoSuchTableError
from iceberg_spark.save.plan_save import plan_save
from iceberg_spark.save.write_options import write_options


@pytest.mark.parametrize("mode", ["static", "dynamic"])
def test_an_append_takes_no_overwrite_mode(tmp_path: Path, mode: str) -> None:
    """It was ignored: who wanted partitions to be replaced had their rows twice."""
    table = ice.create_table(str(tmp_path / "t"), "id bigint")
    table.append(pa.table({"id": [1]}))
    options = write_options({"path": table.location(), "Overwrite-Mode": mode})
    with pytest.raises(InvalidOptionError, match=r"mode\('overwrite'\)"):
        plan_save(options, table.schema(), overwrite=False)
    wanted = {"static": "everything", "dynamic": "partitions"}[mode]
    assert plan_save(options, table.schema(), overwrite=True).replaces == wanted


def test_a_table_that_was_dropped_meanwhile_is_not_made_anew(tmp_path: Path) -> None:
    """`writeTo(...).append()` found it; a new one would lack its partitions and properties."""
    table = ice.create_table(str(tmp_path / "t"), "id bigint")
    options = write_options({"path": str(tmp_path / "none")})
    with pytest.raises(NoSuchTableError):
        plan_save(replace(options, makes_table=False), table.schema(), overwrite=False)
    assert plan_save(options, table.schema(), overwrite=False).creation


def test_options_choose_the_spec_the_order_and_the_conflicts_of_a_save(tmp_path: Path) -> None:
    table = ice.create_table(
        str(tmp_path / "t"), "id bigint, k string", partition_by=["k"], sort_order=["id"]
    )
    table.append(pa.table({"id": [1], "k": ["a"]}))
    table.update_spec().remove_field("k").commit()
    table.update_sort_order().desc("id").commit()
    head = table.current_snapshot()
    assert head is not None
    options = write_options(
        {
            "path": table.location(),
            "output-spec-id": "0",
            "output-sort-order-id": "1",
            "isolation-level": "Snapshot",
            "validate-from-snapshot-id": str(head.snapshot_id),
        }
    )
    plan = plan_save(options, table.schema(), overwrite=True)
    assert (plan.context.spec.spec_id, plan.context.sort_order.order_id) == (0, 1)
    assert plan.planned == Planned(head.snapshot_id, refuse_new_data=False)


def test_a_save_without_distribution_and_ordering_leaves_rows_unsorted(tmp_path: Path) -> None:
    table = ice.create_table(str(tmp_path / "t"), "id bigint", sort_order=["id"])
    options = {"path": table.location(), "use-table-distribution-and-ordering": "false"}
    plan = plan_save(write_options(options), table.schema(), overwrite=False)
    assert plan.context.sort_order.is_unsorted
    assert plan.context.properties["write.distribution-mode"] == "none"


@pytest.mark.parametrize("name", ["output-spec-id", "output-sort-order-id"])
def test_an_id_that_the_table_lacks_is_refused(tmp_path: Path, name: str) -> None:
    table = ice.create_table(str(tmp_path / "t"), "id bigint")
    options = write_options({"path": table.location(), name: "7"})
    with pytest.raises(InvalidOptionError, match=f"'{name}' is 7"):
        plan_save(options, table.schema(), overwrite=False)
