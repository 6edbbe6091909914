"""MERGE with schema evolution that adds a column called as a partition field, next to Java's."""

from collections.abc import Iterator
from functools import partial

import pytest
from pyspark.sql import SparkSession

import iceberg_spark as ice
from tests.oracle.by_turns import ByTurns
from tests.oracle.test_statements import content, kept, place, refused

DEFINITIONS = {
    "identity": [
        "CREATE TABLE {} (id int, region string) USING iceberg PARTITIONED BY (region)",
        "INSERT INTO {} VALUES (1, 'a')",
        "ALTER TABLE {} RENAME COLUMN region TO area",
    ],
    "bucket": [
        "CREATE TABLE {} (id int, area string) USING iceberg PARTITIONED BY (bucket(4, id))",
        "INSERT INTO {} VALUES (1, 'a')",
    ],
    "former": [
        "CREATE TABLE {} (id int, area string) USING iceberg PARTITIONED BY (bucket(4, id))",
        "INSERT INTO {} VALUES (1, 'a')",
        "ALTER TABLE {} DROP PARTITION FIELD id_bucket",
    ],
}
NAMES = {"identity": "region", "bucket": "id_bucket", "former": "id_bucket"}
MERGE = """MERGE WITH SCHEMA EVOLUTION INTO {} t
           USING (SELECT 1 AS id, 'b' AS area, 'n' AS {}) u ON t.id = u.id
           WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"""


@pytest.fixture
def both(
    java: SparkSession, by_turns: ByTurns, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[SparkSession]:
    java.sql("CREATE NAMESPACE IF NOT EXISTS j.names")
    with by_turns.with_catalog("o", str(tmp_path_factory.mktemp("ours"))):
        ice.sql(java, "CREATE NAMESPACE o.names")
        yield java


@pytest.mark.timeout(600)
def test_merge_refuses_a_column_called_as_a_field_as_javas_does(
    both: SparkSession, by_turns: ByTurns
) -> None:
    for turn, (name, definition) in enumerate(DEFINITIONS.items()):
        for statement in definition:
            both.sql(statement.format(f"j.names.{name}"))
            ice.sql(both, statement.format(f"o.names.{name}"))
        ours = place(both, "o", name, "names")
        before = kept(ours)
        theirs = MERGE.format(f"j.names.{name}", NAMES[name])
        java = refused(lambda text: both.sql(text).collect(), theirs)
        text = MERGE.format(f"o.names.{name}", NAMES[name])
        assert refused(partial(by_turns.run, turn), lambda one, text=text: ice.sql(one, text)), name
        assert java, name
        assert kept(ours) == before, name
        fits = MERGE.format(f"o.names.{name}", "other")
        by_turns.run(turn, lambda one, fits=fits: ice.sql(one, fits))
        both.sql(MERGE.format(f"j.names.{name}", "other"))
        assert content(ours) == content(place(both, "j", name, "names"))
