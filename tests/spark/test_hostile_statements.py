"""Statements that are easily read wrong: each works or is refused by name."""

from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import AnalysisException, ParseException

import iceberg_spark as ice
from iceberg_spark.errors import (
    InvalidInputError,
    InvalidSchemaError,
    NoSuchTableError,
    UnsupportedError,
)
from iceberg_spark.spark.session.classic_session import is_connect

MANY = " OR ".join(f"id = {number}" for number in range(1500))
WORKS: dict[str, list[tuple[Any, ...]]] = {
    "SELECT id FROM st.d.h -- ; c\n WHERE s = '1;--' /* ; 'x */ ;": [(1,)],
    "/* a /* nested */ b */ SELECT 'DELETE FROM st.d.h; ' || s FROM st.d.h WHERE id = 1":
        [("DELETE FROM st.d.h; 1;--",)],
    "FROM st.d.h |> WHERE id > 2 |> SELECT id": [(3,)],
    "BEGIN FOR r AS SELECT id FROM st.d.h WHERE id > 9 DO DELETE FROM st.d.h; END FOR; END": [],
    "SELECT n.id FROM st.d.h n WHERE id = session.hostile": [(2,)],
    "UPDATE st.d.h SET s = 'it''s; --' WHERE id = hostile": [],
    "WITH RECURSIVE r(n) AS (SELECT min(id) FROM st.d.h UNION ALL SELECT n + 1 FROM r WHERE n < 3) "
    "SELECT r.n, s FROM r JOIN st.d.h ON id = n WHERE n = 2": [(2, "it's; --")],
    f"SELECT count(*) FROM st.d.h WHERE {MANY}": [(4,)],
    "DESCRIBE QUERY SELECT id AS `a b` FROM st.d.h": [("a b", "bigint", None)],
    "DESC WITH q AS (SELECT 1 AS n) SELECT n, id FROM q, st.d.h":
        [("n", "int", None), ("id", "bigint", None)],
    "REFRESH TABLE st.d.h": [],
    "SELECT count(*) FROM IDENTIFIER('st.d.h') -- IDENTIFIER('x')": [(4,)],
    "SELECT IDENTIFIER('id') FROM IDENTIFIER('st' || '.`d`.h') WHERE id = 3": [(3,)],
    "UPDATE IDENTIFIER(hostile_name) SET s = 'named' WHERE id = 3": [],
    "EXECUTE IMMEDIATE 'SELECT s FROM st.d.h WHERE id = 3'": [("named",)],
    "/* x */ EXECUTE IMMEDIATE hostile_text USING 'named' AS s, 2 AS least": [(1,)],
    "EXECUTE IMMEDIATE 'UPDATE st.d.h SET s = ? WHERE id = ?' USING concat('it', 's;'), 3": [],
    "EXECUTE IMMEDIATE 'SELECT s, id - 1 FROM IDENTIFIER(:t) WHERE id = :hostile + 1' "
    "INTO got, hostile USING 'st.d.h' AS t, hostile": [],
    "SELECT got, hostile": [("its;", 2)],
    "SET VAR got = (SELECT s FROM st.d.h WHERE id = 1), hostile = 2": [],
    "SELECT got": [("1;--",)],
    "EXECUTE IMMEDIATE 'SELECT 5 AS n'": [(5,)],
}  # fmt: skip
REFUSED = {
    "SELECT 1; DELETE FROM st.d.h": (InvalidInputError, ParseException),
    "DELETE FROM st.d.h; SELECT 1": (InvalidInputError, ParseException),
    "EXPLAIN DELETE FROM st.d.nowhere": NoSuchTableError,
    "EXPLAIN INSERT INTO st.d.nowhere VALUES (1, 'a')": NoSuchTableError,
    "OPTIMIZE st.d.h": AnalysisException,
    "VACUUM st.d.h": AnalysisException,
    "ALTER TABLE st.d.h ADD CONSTRAINT c CHECK (id > 0)": UnsupportedError,
    "TRUNCATE TABLE st.d.h PARTITION (id = 1)": UnsupportedError,
    "FROM st.d.h INSERT INTO st.d.h SELECT id": InvalidSchemaError,
    "INSERT OVERWRITE DIRECTORY '/tmp/x' USING parquet SELECT * FROM st.d.h": InvalidInputError,
    "REFRESH TABLE st.d.nowhere": NoSuchTableError,
    "EXECUTE IMMEDIATE 'DELETE FROM st.d.h; SELECT 1'": InvalidInputError,
    "EXECUTE IMMEDIATE 'DELETE FROM st.d.h WHERE id = ?'": InvalidInputError,
    "EXECUTE IMMEDIATE 'DELETE FROM st.d.h' INTO got": InvalidInputError,
    "EXECUTE IMMEDIATE (SELECT s FROM st.d.h WHERE id = 1)": Exception,
    "DELETE FROM IDENTIFIER('st.d.nowhere')": NoSuchTableError,
    "DELETE FROM IDENTIFIER('st.d.h WHERE true --')": Exception,
    "DELETE FROM IDENTIFIER(NULL)": Exception,
}
BY_SPARK = {
    "CACHE TABLE st.d.h": [],
    "SELECT count(*) FROM st.d.h": [(4,)],
    "UNCACHE TABLE st.d.h": [],
    "CACHE LAZY TABLE st.d.h OPTIONS ('storageLevel' 'DISK_ONLY')": [],
    "UNCACHE TABLE IF EXISTS st.d.h": [],
    "CREATE GLOBAL TEMPORARY VIEW hostile_view AS SELECT * FROM st.d.h": [],
    "SELECT count(*) FROM global_temp.hostile_view": [(4,)],
    "DROP VIEW global_temp.hostile_view": [],
    "BEGIN DECLARE n INT DEFAULT 2; SELECT s FROM st.d.h WHERE id = n; END": [("it's; --",)],
    "SELECT count(*) FROM (VALUES (1), (2) AS v(a)) AS w JOIN st.d.h ON a = id": [(2,)],
    "SELECT any_value(id, false) OVER w FROM st.d.h WHERE id = 1 WINDOW w AS (ORDER BY id)": [(1,)],
}
"""Statements that Spark runs by itself on classic sessions."""
EXPLAINED = {
    "DELETE FROM st.d.h WHERE id = 1": "Delete st.d.h",
    "UPDATE st.d.h AS x SET s = 'a' WHERE x.id = 2": "Update st.d.h",
    "INSERT INTO st.d.h VALUES (1, DEFAULT)": "Insert st.d.h",
    "INSERT OVERWRITE st.d.h SELECT * FROM st.d.h": "Insert st.d.h",
    "CREATE TABLE st.d.made AS SELECT * FROM st.d.h": "CreateTable st.d.made",
    "CREATE TABLE st.d.made (id int)": "CreateTable st.d.made",
    "TRUNCATE TABLE st.d.h": "Truncate st.d.h",
    "DROP TABLE st.d.h": "DropTable st.d.h",
    "ALTER TABLE st.d.h ADD COLUMN more int": "AlterTable st.d.h",
    "CALL st.system.rollback_to_snapshot('d.h', 1)": "Call st.system.rollback_to_snapshot",
    "SHOW TABLES IN st.d": "ShowTables st.d",
    """MERGE INTO st.d.h USING (SELECT 1L AS id) s ON h.id = s.id
       WHEN NOT MATCHED BY SOURCE THEN DELETE""": "Merge st.d.h",
}
VARIABLES = {
    "hostile": "INT = 2",
    "got": "STRING",
    "hostile_name": "STRING = 'st.d.h'",
    "hostile_text": "STRING = 'SELECT count(*) FROM st.d.h WHERE s = :s AND id > :least'",
}
PARAMETERS = [
    ("SELECT count(*) FROM st.d.h WHERE id = :select OR s = :from", {"select": 3, "from": "'"}, 1),
    ("DELETE FROM st.d.h WHERE s = :where", {"where": "' OR 1 = 1 --"}, None),
    ("SELECT count(*) FROM st.d.h WHERE s <> :a", {"a": "'; DROP TABLE st.d.h; --"}, 4),
    ("SELECT count(*) FROM IDENTIFIER(:t) WHERE id > :n", {"t": "st.d.h", "n": 1}, 2),
    ("SELECT ? + count(*) FROM IDENTIFIER(?) WHERE id > ?", [10, "st.d.h", 1], 12),
    ("EXECUTE IMMEDIATE :q USING :n AS n", {"q": "SELECT :n + count(*) FROM st.d.h", "n": 5}, 9),
]


@pytest.mark.parametrize("mode", ["", "EXTENDED", "FORMATTED"])
def test_a_command_is_explained_and_not_run(any_spark: Any, sql_home: Path, mode: str) -> None:
    ice.enable(any_spark)
    try:
        any_spark.sql("CREATE TABLE st.d.h AS SELECT id, id || ';--' AS s FROM range(4)")
        version = ice.load_table("st.d.h").metadata_location
        for text, line in EXPLAINED.items():
            ((plan,),) = any_spark.sql(f"EXPLAIN {mode} {text}").collect()
            assert plan.splitlines()[1] == line, text
            assert ("Scan" in plan) == any(word in text for word in ("WHERE", "VALUES", "SELECT"))
        ((plan,),) = any_spark.sql("EXPLAIN DELETE FROM st.d.h WHERE id = ?", args=[7]).collect()
        assert "7" in plan
        assert ice.load_table("st.d.h").metadata_location == version
        assert not any_spark.catalog.tableExists("st.d.made")
    finally:
        ice.disable(any_spark)


def test_hostile_statements_do_what_they_say_or_nothing(any_spark: Any, sql_home: Path) -> None:
    ice.enable(any_spark)
    try:
        any_spark.sql("CREATE TABLE st.d.h AS SELECT id, id || ';--' AS s FROM range(4)")
        for name, kind in VARIABLES.items():
            any_spark.sql(f"DECLARE OR REPLACE VARIABLE {name} {kind}")
        for text, rows in WORKS.items():
            assert [tuple(row) for row in any_spark.sql(text).collect()] == rows, text
        for text, rows in BY_SPARK.items():
            if not is_connect(any_spark):
                assert [tuple(row) for row in any_spark.sql(text).collect()] == rows, text
        for text, args, count in PARAMETERS:
            found = any_spark.sql(text, args=args).collect()
            assert [row[0] for row in found] == ([] if count is None else [count]), text
        version = ice.load_table("st.d.h").metadata_location
        for text, error in REFUSED.items():
            with pytest.raises(error):
                any_spark.sql(text).collect()
            assert ice.load_table("st.d.h").metadata_location == version, text
    finally:
        for name in VARIABLES:
            any_spark.sql(f"DROP TEMPORARY VARIABLE IF EXISTS {name}")
        ice.disable(any_spark)
