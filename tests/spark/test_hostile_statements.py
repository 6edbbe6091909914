"""Statements that are easily read wrong: each works or is refused by name."""

from pathlib import Path
from typing import Any

import pytest

import iceberg_spark as ice
from iceberg_spark.errors import InvalidInputError, NoSuchTableError, UnsupportedError

MANY = " OR ".join(f"id = {number}" for number in range(1500))
WORKS: dict[str, list[tuple[Any, ...]]] = {
    "SELECT id FROM st.d.h -- ; c\n WHERE s = '1;--' /* ; 'x */ ;": [(1,)],
    "/* a /* nested */ b */ SELECT 'DELETE FROM st.d.h; ' || s FROM st.d.h WHERE id = 1":
        [("DELETE FROM st.d.h; 1;--",)],
    "FROM st.d.h |> WHERE id > 2 |> SELECT id": [(3,)],
    "SELECT n.id FROM st.d.h n WHERE id = session.hostile": [(2,)],
    "UPDATE st.d.h SET s = 'it''s; --' WHERE id = hostile": [],
    "WITH RECURSIVE r(n) AS (SELECT min(id) FROM st.d.h UNION ALL SELECT n + 1 FROM r WHERE n < 3) "
    "SELECT r.n, s FROM r JOIN st.d.h ON id = n WHERE n = 2": [(2, "it's; --")],
    f"SELECT count(*) FROM st.d.h WHERE {MANY}": [(4,)],
    "DESCRIBE QUERY SELECT id AS `a b` FROM st.d.h": [("a b", "bigint", None)],
    "DESC WITH q AS (SELECT 1 AS n) SELECT n, id FROM q, st.d.h":
        [("n", "int", None), ("id", "bigint", None)],
    "REFRESH TABLE st.d.h": [],
}  # fmt: skip
REFUSED = {
    "SELECT 1; DELETE FROM st.d.h": InvalidInputError,
    "DELETE FROM st.d.h; SELECT 1": InvalidInputError,
    "BEGIN DELETE FROM st.d.h; SELECT 1; END": InvalidInputError,
    "EXPLAIN DELETE FROM st.d.h": UnsupportedError,
    "EXPLAIN EXTENDED INSERT INTO st.d.h VALUES (1, 'a')": UnsupportedError,
    "EXPLAIN CALL st.system.rollback_to_snapshot('d.h', 1)": UnsupportedError,
    "CACHE TABLE st.d.h": UnsupportedError,
    "CACHE LAZY TABLE hostile_cache AS SELECT * FROM st.d.h": UnsupportedError,
    "CREATE GLOBAL TEMPORARY VIEW hostile_view AS SELECT * FROM st.d.h": UnsupportedError,
    "OPTIMIZE st.d.h": UnsupportedError,
    "VACUUM st.d.h": UnsupportedError,
    "ALTER TABLE st.d.h SET LOCATION '/tmp/x'": InvalidInputError,
    "ALTER TABLE st.d.h ADD CONSTRAINT c CHECK (id > 0)": InvalidInputError,
    "TRUNCATE TABLE st.d.h PARTITION (id = 1)": InvalidInputError,
    "FROM st.d.h INSERT INTO st.d.h SELECT *": InvalidInputError,
    "INSERT OVERWRITE DIRECTORY '/tmp/x' USING parquet SELECT * FROM st.d.h": InvalidInputError,
    "REFRESH TABLE st.d.nowhere": NoSuchTableError,
    "EXECUTE IMMEDIATE 'DELETE FROM st.d.h'": Exception,
    "DELETE FROM IDENTIFIER('st.d.h')": Exception,
}
PARAMETERS = [
    ("SELECT count(*) FROM st.d.h WHERE id = :select OR s = :from", {"select": 3, "from": "'"}, 1),
    ("DELETE FROM st.d.h WHERE s = :where", {"where": "' OR 1 = 1 --"}, None),
    ("SELECT count(*) FROM st.d.h WHERE s <> :a", {"a": "'; DROP TABLE st.d.h; --"}, 4),
]


def test_hostile_statements_do_what_they_say_or_nothing(any_spark: Any, sql_home: Path) -> None:
    ice.enable(any_spark)
    try:
        any_spark.sql("CREATE TABLE st.d.h AS SELECT id, id || ';--' AS s FROM range(4)")
        any_spark.sql("DECLARE OR REPLACE VARIABLE hostile INT = 2")
        for text, rows in WORKS.items():
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
        any_spark.sql("DROP TEMPORARY VARIABLE IF EXISTS hostile")
        ice.disable(any_spark)
