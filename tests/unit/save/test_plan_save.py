"""What a save asks for is checked before a file is written."""

from pathlib import Path

import pyarrow as pa
import pytest

import iceberg_spark as ice
from iceberg_spark.errors import InvalidOptionError
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
