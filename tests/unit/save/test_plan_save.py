"""What a save asks for is checked before a file is written."""

from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest

import iceberg_spark as ice
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
