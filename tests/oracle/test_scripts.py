"""Scripts (BEGIN ... END) that change tables give what Java's runtime gives."""

from collections.abc import Iterator
from typing import Any

import pytest
from pyspark.errors import AnalysisException, ParseException
from pyspark.sql import SparkSession

import iceberg_spark as ice
from iceberg_spark.errors import InvalidInputError
from tests.oracle.by_turns import new_connect_session

SCRIPTS = {
    "statements": """BEGIN
        INSERT INTO {t} VALUES (3, 'c');
        UPDATE {t} SET v = upper(v) WHERE id < 3;
        MERGE INTO {t} t USING (SELECT 2L AS id) s ON t.id = s.id WHEN MATCHED THEN DELETE;
        SELECT * FROM {t} ORDER BY id;
        END""",
    "variables": """BEGIN
        DECLARE n, m BIGINT DEFAULT 10;
        SET n = (SELECT max(id) FROM {t}) + n;
        INSERT INTO {t} VALUES (n, 'n'), (m, CASE WHEN m > 5 THEN 'more' ELSE 'less' END);
        BEGIN DECLARE k BIGINT = 1; DELETE FROM {t} WHERE id = k; END;
        SELECT n, m;
        END""",
    "conditions": """BEGIN
        DECLARE i BIGINT DEFAULT 0;
        WHILE i < 3 DO
            SET i = i + 1;
            IF i = 1 THEN INSERT INTO {t} VALUES (100, 'first');
            ELSEIF (SELECT count(*) FROM {t}) > 3 THEN DELETE FROM {t} WHERE id = 1;
            ELSE INSERT INTO {t} VALUES (100 + i, 'later'); END IF;
        END WHILE;
        IF CAST(NULL AS boolean) THEN TRUNCATE TABLE {t}; END IF;
        END""",
    "definitions": """BEGIN
        ALTER TABLE {t} ADD COLUMN w int;
        CREATE TABLE {t}_new AS SELECT * FROM {t};
        INSERT INTO {t}_new VALUES (9, 'x', 1);
        SELECT count(*) FROM {t}_new;
        DROP TABLE {t}_new;
        END""",
    "only truncates": "BEGIN TRUNCATE TABLE {t}; END",
    "empty": "BEGIN END",
    "parameters": "BEGIN INSERT INTO {t} VALUES (:id, 'p'); DELETE FROM {t} WHERE id < :id; END",
}


@pytest.fixture(scope="module")
def sessions(
    java: SparkSession, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[dict[str, Any]]:
    """Java's session, and enabled ones with the catalog `scripts`."""
    place = str(tmp_path_factory.mktemp("scripts"))
    settings = {"type": "sql", "uri": f"sqlite:///{place}/c.db", "warehouse": place}
    classic, remote = java.newSession(), new_connect_session(java)
    for session in (classic, remote):
        for key, value in settings.items():
            session.conf.set(f"spark.sql.catalog.scripts.{key}", value)
        ice.enable(session)
    classic.sql("CREATE NAMESPACE scripts.d")
    yield {"java": java, "classic": classic, "connect": remote}
    for session in (classic, remote):
        ice.disable(session)
    remote.stop()


def new_table(session: Any, way: str, name: str) -> str:
    table = f"j.scripts.{name}" if way == "java" else f"scripts.d.{name}"
    if way == "java":
        session.sql("CREATE NAMESPACE IF NOT EXISTS j.scripts")
    session.sql(f"DROP TABLE IF EXISTS {table}")
    session.sql(f"CREATE TABLE {table} (id bigint, v string) USING iceberg")
    session.sql(f"INSERT INTO {table} VALUES (1, 'a'), (2, 'b')")
    return table


@pytest.mark.parametrize("way", ["classic", "connect"])
@pytest.mark.parametrize("name", SCRIPTS)
def test_a_script_changes_tables_as_with_java(
    sessions: dict[str, Any], name: str, way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = []
    for runner in ("java", way):
        if runner == "connect":
            monkeypatch.setenv("SPARK_CONNECT_MODE_ENABLED", "1")
        session = sessions[runner]
        table = new_table(session, runner, "t")
        args = {"id": 2} if name == "parameters" else None
        result = session.sql(SCRIPTS[name].format(t=table), args)
        found.append((result.columns, result.collect(), sorted(session.table(table).collect())))
    assert found[0] == found[1]


def test_a_script_that_fails_keeps_what_was_done_and_drops_its_variables(
    sessions: dict[str, Any],
) -> None:
    script = """BEGIN DECLARE gone INT DEFAULT 7; INSERT INTO {t} VALUES (gone, 'x');
        SELECT * FROM {t}_nothing; DELETE FROM {t}; END"""
    counts = []
    for way in ("java", "classic"):
        session = sessions[way]
        table = new_table(session, way, "f")
        with pytest.raises(AnalysisException) as caught:
            session.sql(script.format(t=table))
        assert caught.value.getCondition() == "TABLE_OR_VIEW_NOT_FOUND"
        counts.append(session.table(table).count())
        with pytest.raises(AnalysisException):
            session.sql("SELECT gone")
    assert counts == [3, 3]


def test_a_script_with_a_syntax_error_does_nothing(sessions: dict[str, Any]) -> None:
    session = sessions["classic"]
    table = new_table(session, "classic", "s")
    with pytest.raises(ParseException):
        session.sql(f"BEGIN DELETE FROM {table}; SELEC 1; END")
    assert session.table(table).count() == 2


def test_names_of_variables_of_the_session_are_refused(sessions: dict[str, Any]) -> None:
    session = sessions["classic"]
    table = new_table(session, "classic", "v")
    session.sql("DECLARE OR REPLACE VARIABLE taken INT DEFAULT 1")
    for script in (
        f"BEGIN DECLARE taken INT; DELETE FROM {table}; END",
        f"BEGIN DECLARE x INT; BEGIN DECLARE X INT; DELETE FROM {table}; END; END",
    ):
        with pytest.raises(InvalidInputError, match="use another name"):
            session.sql(script)
    assert session.sql("SELECT taken").collect() == [(1,)]
    session.sql("DROP TEMPORARY VARIABLE taken")
    with pytest.raises(InvalidInputError, match="need names"):
        session.sql(f"BEGIN DELETE FROM {table} WHERE id = ?; END", [1])
    assert session.table(table).count() == 2
