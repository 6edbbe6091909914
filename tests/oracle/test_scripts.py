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
    "loops": """BEGIN
        DECLARE i INT DEFAULT 0;
        outer_loop: LOOP
            SET i = i + 1;
            IF i > 6 THEN LEAVE outer_loop; END IF;
            IF i % 2 = 0 THEN ITERATE outer_loop; END IF;
            INSERT INTO {t} VALUES (i * 10, 'loop');
        END LOOP outer_loop;
        r: REPEAT
            SET i = i - 1;
            IF i = 4 THEN ITERATE r; END IF;
            INSERT INTO {t} VALUES (i, 'repeat');
        UNTIL i < 3 OR CAST(NULL AS boolean) END REPEAT r;
        w: WHILE true DO b: BEGIN DELETE FROM {t} WHERE id = 3; LEAVE w; END b; END WHILE;
        SELECT i;
        END""",
    "rows of a query": """BEGIN
        DECLARE v STRING DEFAULT 'outer';
        FOR r AS SELECT id, v, named_struct('n', id * 2) AS s FROM {t} ORDER BY id DESC DO
            INSERT INTO {t} SELECT r.id + 100, r.v || r.s.n;
            FOR q AS SELECT id FROM {t} WHERE id < 2 DO
                MERGE INTO {t} t USING (SELECT q.id + 101 AS id, r.v || q.id AS v) s ON t.id = s.id
                    WHEN MATCHED THEN UPDATE SET v = s.v WHEN NOT MATCHED THEN INSERT *;
            END FOR;
            SET v = 'kept';
        END FOR;
        l: FOR SELECT id + 1 FROM {t} ORDER BY id DO
            IF `(id + 1)` = 2 THEN ITERATE l; END IF;
            DELETE FROM {t} WHERE id = `(id + 1)`;
            LEAVE l;
        END FOR l;
        FOR SELECT id FROM {t} WHERE false DO DELETE FROM {t}; END FOR;
        SELECT v;
        END""",
    "cases": """BEGIN
        CASE WHEN CAST(NULL AS boolean) THEN DELETE FROM {t}; WHEN 1 = 1 THEN
            UPDATE {t} SET v = CASE WHEN id = 1 THEN 'one' ELSE v END; ELSE DELETE FROM {t};
        END CASE;
        CASE (SELECT max(id) FROM {t}) WHEN 1 THEN DELETE FROM {t}; WHEN '2' THEN
            INSERT INTO {t} VALUES (3, 'three'); END CASE;
        CASE CAST(NULL AS int) WHEN NULL THEN DELETE FROM {t}; ELSE
            INSERT INTO {t} VALUES (4, 'else'); END CASE;
        END""",
    "labels of blocks": """BEGIN
        outside: BEGIN
            DECLARE id BIGINT DEFAULT 1;
            BEGIN
                DECLARE id BIGINT DEFAULT id + 1;
                SET outside.id = outside.id + 10;
                DELETE FROM {t} WHERE id = outside.id - 10;
                INSERT INTO {t} VALUES (outside.id, 'outside'), (session.taken, 'session');
                SELECT id, outside.id AS a;
            END;
            SET id = DEFAULT;
            INSERT INTO {t} SELECT id, 'default';
        END outside;
        BEGIN
            DECLARE taken STRING DEFAULT 'x';
            SELECT taken, session.taken AS a, system.session.taken AS b;
        END;
        END""",
    "handlers": """BEGIN
        DECLARE n INT DEFAULT 0;
        DECLARE c CONDITION FOR SQLSTATE '22012';
        DECLARE EXIT HANDLER FOR c SELECT 'never';
        DECLARE EXIT HANDLER FOR SQLEXCEPTION INSERT INTO {t} VALUES (n, 'last');
        BEGIN
            DECLARE EXIT HANDLER FOR DIVIDE_BY_ZERO BEGIN
                INSERT INTO {t} VALUES (n, 'div'); END;
            INSERT INTO {t} VALUES (9, 'nine');
            BEGIN DECLARE n INT DEFAULT 60; IF 1 / 0 = 1 THEN SELECT n; END IF; END;
            DELETE FROM {t};
        END;
        BEGIN
            DECLARE EXIT HANDLER FOR SQLSTATE '42P01', SQLSTATE VALUE '42P02' SET n = n + 1;
            DELETE FROM {t}_nothing WHERE id = 1;
            DELETE FROM {t};
        END;
        BEGIN
            DECLARE EXIT HANDLER FOR UNRESOLVED_COLUMN BEGIN SELECT 'column'; END;
            UPDATE {t} SET v = nothing;
        END;
        w: WHILE n < 9 DO
            BEGIN
                DECLARE EXIT HANDLER FOR SQLEXCEPTION SET n = n + 2;
                INSERT INTO {t} VALUES ('x', 'no number');
                SET n = n - 1;
            END;
        END WHILE;
        FOR SELECT 1 / 0 AS x FROM {t} DO DELETE FROM {t}; END FOR;
        DELETE FROM {t};
        END""",
    "errors in handlers": """BEGIN
        DECLARE EXIT HANDLER FOR SQLEXCEPTION INSERT INTO {t} VALUES (7, 'outer');
        BEGIN
            DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN
                SELECT 1 / 0; INSERT INTO {t} VALUES (8, 'never'); END;
            DELETE FROM {t}_nothing;
        END;
        l: BEGIN
            DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN
                LEAVE l; INSERT INTO {t} VALUES (8, 'never'); END;
            DELETE FROM {t}_nothing;
        END;
        INSERT INTO {t} VALUES (9, 'goes on');
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
    for session in (java, classic, remote):
        session.sql("DECLARE OR REPLACE VARIABLE taken INT DEFAULT 77")
    yield {"java": java, "classic": classic, "connect": remote}
    for session in (classic, remote):
        ice.disable(session)
    remote.stop()


def test_a_script_runs_in_its_session_where_another_one_is_active(
    java: SparkSession, sessions: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SPARK_CONNECT_MODE_ENABLED", "1")
    session = new_connect_session(java)  # PySpark leaves the first one of a process active
    for key in ("type", "uri", "warehouse"):
        name = f"spark.sql.catalog.scripts.{key}"
        session.conf.set(name, sessions["connect"].conf.get(name))
    ice.enable(session)
    try:
        table = new_table(session, "connect", "other")
        script = f"BEGIN DELETE FROM {table} WHERE id < 0; SELECT count(*) AS n FROM {table}; END"
        assert session.sql(script).columns == ["n"]
        odd = "SELECT any_value(id, false) OVER (ORDER BY id) FROM range(0)"
        session.sql(f"DELETE FROM {table} WHERE id IN ({odd})")
    finally:
        ice.disable(session)
        session.stop()


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


def test_variables_of_the_session_with_the_names_of_a_script_keep_their_values(
    sessions: dict[str, Any],
) -> None:
    for way in ("java", "classic"):
        session = sessions[way]
        table = new_table(session, way, "v")
        script = f"""BEGIN DECLARE taken STRING DEFAULT 'x'; DECLARE x INT;
            FOR SELECT id AS taken FROM {table} DO DELETE FROM {table} WHERE id = taken; END FOR;
            SELECT taken, session.taken AS outer; END"""
        assert session.sql(script).collect() == [("x", 77)]
        assert session.sql("SELECT taken").collect() == [(77,)]
        with pytest.raises(AnalysisException):
            session.sql("SELECT x")


def test_a_name_is_declared_once_in_a_block_as_with_java(sessions: dict[str, Any]) -> None:
    for way in ("java", "classic"):
        session = sessions[way]
        table = new_table(session, way, "v")
        for script in (
            "DECLARE x INT; DECLARE X INT",
            "FOR SELECT 1 AS a, 2 AS a DO SELECT 1; END FOR",
        ):
            with pytest.raises(AnalysisException) as caught:
                session.sql(f"BEGIN {script}; DELETE FROM {table}; END")
            assert caught.value.getCondition() == "VARIABLE_ALREADY_EXISTS"
        assert session.table(table).count() == 2


def test_a_handler_sees_the_variables_of_its_block(sessions: dict[str, Any]) -> None:
    """Spark 4.1 takes the outermost variable of the name; that is not the rule of the standard."""
    session = sessions["classic"]
    table = new_table(session, "classic", "v")
    session.sql(f"""BEGIN DECLARE n INT DEFAULT 3;
        BEGIN DECLARE n INT DEFAULT 4;
            DECLARE EXIT HANDLER FOR SQLEXCEPTION INSERT INTO {table} VALUES (n, 'handler');
            BEGIN DECLARE n INT DEFAULT 5; DELETE FROM {table} WHERE id = 1 / 0; END;
        END; END""")
    assert session.table(table).where("v = 'handler'").collect() == [(4, "handler")]


@pytest.mark.parametrize("way", ["classic", "connect"])
def test_a_condition_that_is_not_boolean_has_sparks_condition(
    sessions: dict[str, Any], way: str
) -> None:
    table = new_table(sessions[way], way, "v")
    with pytest.raises(InvalidInputError, match="INVALID_BOOLEAN_STATEMENT"):
        sessions[way].sql(f"BEGIN IF 1 THEN DELETE FROM {table}; END IF; END")


def test_parameters_of_a_script_have_names(sessions: dict[str, Any]) -> None:
    session = sessions["classic"]
    table = new_table(session, "classic", "v")
    with pytest.raises(InvalidInputError, match="need names"):
        session.sql(f"BEGIN DELETE FROM {table} WHERE id = ?; END", [1])
    assert session.table(table).count() == 2


def test_a_handler_with_continue_goes_on_behind_the_statement(sessions: dict[str, Any]) -> None:
    setting = "spark.sql.scripting.continueHandlerEnabled"
    rows = []
    for way in ("java", "classic"):
        session = sessions[way]
        table = new_table(session, way, "v")
        script = f"""BEGIN DECLARE n INT DEFAULT 9;
            DECLARE CONTINUE HANDLER FOR SQLEXCEPTION SET n = n + 1;
            DELETE FROM {table}_nothing;
            IF 1 / 0 = 1 THEN DELETE FROM {table}; ELSE DELETE FROM {table}; END IF;
            CASE 1 / 0 WHEN 1 THEN DELETE FROM {table}; ELSE DELETE FROM {table}; END CASE;
            WHILE 1 / 0 = 1 DO DELETE FROM {table}; END WHILE;
            REPEAT INSERT INTO {table} VALUES (n, 'pass'); UNTIL 1 / 0 = 1 END REPEAT;
            FOR SELECT 1 / 0 AS x FROM {table} DO DELETE FROM {table}; END FOR;
            INSERT INTO {table} VALUES (n, 'last'); END"""
        with pytest.raises(Exception, match="CONTINUE"):
            session.sql(script)
        session.conf.set(setting, "true")
        session.sql(script)
        session.conf.unset(setting)
        rows.append(sorted(session.table(table).collect()))
    assert rows[0] == rows[1]
