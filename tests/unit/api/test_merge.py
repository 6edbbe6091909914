"""What a merge's builder refuses before anything runs."""

from typing import Any

import pytest

from iceberg_spark.errors import InvalidInputError
from tests.unit.api.tables import make, rows


@pytest.mark.parametrize(
    ("build", "shown"),
    [
        (lambda m: m.when_matched_delete().when_matched_update_all(), "no condition"),
        (
            lambda m: m.when_not_matched_insert_all().when_not_matched_insert({"id": "1"}),
            "no condition",
        ),
        (lambda m: m.when_matched_delete(condition=5), "SQL text"),
        (lambda m: m.when_matched_update([("k", "1")]), "dict"),
        (lambda m: m.execute(max_attempts=0), "max_attempts"),
    ],
)
def test_clauses_that_cannot_be_are_refused(build: Any, shown: str):
    merge = make().merge(rows(id=[1]), "t.id = s.id")
    with pytest.raises(InvalidInputError, match=shown):
        build(merge)


def test_a_clause_with_a_condition_may_stand_before_others():
    merge = make().merge(rows(id=[1]), "t.id = s.id").when_matched_delete("s.id = 1")
    assert len(merge.when_matched_update_all().when_not_matched_insert_all().request.clauses) == 3
    assert len(merge.request.clauses) == 1


@pytest.mark.parametrize(
    "run",
    [
        lambda t: t.update({"id": "id + 1"}),
        lambda t: t.merge(rows(id=[1]), "t.id = s.id").when_matched_delete().execute(),
        lambda t: t.scan().to_df(),
    ],
)
def test_what_runs_on_spark_says_how_to_start_it(run: Any):
    with pytest.raises(InvalidInputError, match=r"runs on Spark.*SparkSession\.builder"):
        run(make())
