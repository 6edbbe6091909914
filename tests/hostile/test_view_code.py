"""A stored view is a query: no text of it runs code (`docs/security.md`)."""

import pytest

from iceberg_spark.errors import UnsupportedError
from iceberg_spark.expr.dialect import SPARK
from iceberg_spark.spark.sql.view_columns import check_no_code

CODE = {
    "SELECT TRANSFORM(id) USING 'cat /etc/passwd' AS (x) FROM t": "a program",
    "SELECT TRANSFORM(id)\nROW FORMAT DELIMITED using\n'sh -c id' FROM t": "a program",
    "FROM t MAP id USING 'sh' AS x": "a program",
    "FROM t REDUCE id USING r'sh' AS x": "a program",
    "SELECT reflect('java.lang.System', 'exit', 1)": "the function reflect",
    "SELECT `Reflect`  ('java.lang.System', 'getenv', 'HOME')": "the function reflect",
    "SELECT java_method/* */('a', 'b') FROM t": "the function java_method",
    "SELECT system.builtin.try_reflect('a', 'b')": "the function try_reflect",
    "SELECT IDENTIFIER('ref' || 'lect')('a', 'b')": r"IDENTIFIER\(\.\.\.\)",
    "SELECT '${env:AWS_SECRET_ACCESS_KEY}' AS s": r"\$\{",
    "SELECT ${spark:my.token}": r"\$\{",
    "WITH a AS (SELECT 1) SELECT (SELECT max(reflect('a', 'b')) FROM a)": "the function reflect",
}


@pytest.mark.parametrize("text", CODE)
def test_a_view_that_would_run_code_is_refused_by_name(text: str) -> None:
    with pytest.raises(UnsupportedError, match=f"View c.db.v uses {CODE[text]}.*view.allow-code"):
        check_no_code(text, "c.db.v", {}, SPARK)
    check_no_code(text, "c.db.v", {"view.allow-code": "true"}, SPARK)


@pytest.mark.parametrize(
    "text",
    [
        "SELECT a.id FROM a JOIN b USING (id)",
        "SELECT reflect, `java_method` FROM t",
        "SELECT 'reflect(1)' AS s, 'USING ''x''' AS u -- reflect('a')",
        "SELECT transform(a, x -> x + 1) FROM t",
        "SELECT '$' || '{x}' AS s",
    ],
)
def test_a_plain_query_is_not(text: str) -> None:
    check_no_code(text, "c.db.v", {}, SPARK)
