"""The plain source's reader: what travels to Spark's tasks."""

import pickle
from typing import Any

from iceberg_spark.catalog.metadata_file import Codec, encode_metadata
from iceberg_spark.catalog.pinned import PinnedTable
from iceberg_spark.catalog.planned_io import PlannedPages, ServerPlannedIO
from iceberg_spark.io.storage import open_storage
from iceberg_spark.scan.read_options import read_options
from iceberg_spark.spark.datasource.reader import BatchReader
from tests.builders import scan_of
from tests.unit.catalog.rest.planning_server import task
from tests.unit.catalog.rest.test_server_plan import IO, table, tasks


class OwnCredentials:
    """A planner whose plans have credentials of their own."""

    table = "db.t"

    def plan(self, _: Any) -> PlannedPages:
        io = open_storage({"s3.access-key-id": "of-plan"})
        return PlannedPages((tasks(task("a")),), ServerPlannedIO(io, self))


def test_tasks_open_files_by_the_credentials_of_the_catalogs_plan():
    base = table()
    io = ServerPlannedIO(IO, OwnCredentials())
    content = encode_metadata(base, Codec.GZIP)
    pinned = PinnedTable("c.db.t", "/w/t/m.gz.metadata.json", io, {}, content)
    reader = BatchReader(pinned, scan_of(base), read_options({"path": "c.db.t"}), None)
    (partition,) = reader.partitions()
    sent = pickle.loads(pickle.dumps(partition))
    assert [one.file_path for one in sent.tasks] == ["/w/t/data/a.parquet"]
    assert sent.io.properties["s3.access-key-id"] == "of-plan"
