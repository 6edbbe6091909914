"""Tables whose reports have every section."""

from pathlib import Path

import pyarrow as pa
import pytest

import iceberg_spark as ice

HOSTILE = "<script>alert(1)</script>"


@pytest.fixture
def hostile(tmp_path: Path) -> ice.Table:
    """A table whose names and values are markup for HTML, SVG and matplotlib."""
    table = ice.create_table(
        tmp_path / "t",
        f"id bigint, `{HOSTILE}` string",
        partition_by=[f"`{HOSTILE}`"],
        properties={"note": "<img src=x onerror=alert(2)>", "write.delete.mode": "merge-on-read"},
    )
    for start in range(0, 60, 10):
        names = ["<b>a</b>", "$x^2$"] * 5
        table.append(pa.table({"id": range(start, start + 10), HOSTILE: names}))
    table.delete("id IN (1, 2, 3)")
    changes = table.manage_snapshots().create_branch(None, "<i>audit</i> $b_1$")
    changes.create_tag(None, '" onload="alert(3)').commit()
    with table.update_schema() as update:
        update.rename_column("id", "<u>key</u>").add_column("added", "int")
    return table
