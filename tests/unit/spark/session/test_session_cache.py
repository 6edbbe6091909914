"""A statement asks its session once for what several of its parts want to know."""

import threading
from typing import Any

import pytest

from iceberg_spark.spark.session.session_cache import bypass_cache, cached, session_cache, setting


class Conf:
    """Settings that count how often they are asked."""

    def __init__(self) -> None:
        self.value, self.times = "a", 0

    def get(self, _name: str, *default: str | None) -> str:
        self.times, self.default = self.times + 1, default
        return self.value


class Session:
    def __init__(self) -> None:
        self.conf = Conf()


def asked(session: Any) -> str | None:
    return setting(session, "spark.sql.some", None)


def test_inside_a_block_a_session_is_queried_once() -> None:
    session = Session()
    with session_cache(session):  # type: ignore[arg-type]
        assert asked(session) == "a"
        session.conf.value = "b"
        assert asked(session) == "a"
    assert session.conf.times == 1


def test_outside_a_block_and_in_the_next_one_the_session_is_queried_again() -> None:
    session = Session()
    for value in ("a", "b"):
        session.conf.value = value
        with session_cache(session):  # type: ignore[arg-type]
            assert asked(session) == value
    session.conf.value = "c"
    assert asked(session) == "c"


def test_a_block_inside_has_the_answers_of_that_around_it() -> None:
    session = Session()
    with session_cache(session):  # type: ignore[arg-type]
        asked(session)
        with session_cache(session):  # type: ignore[arg-type]
            asked(session)
        asked(session)
    assert session.conf.times == 1


def test_cached_results_belong_to_their_session() -> None:
    one, other = Session(), Session()
    other.conf.value = "b"
    with session_cache(one):  # type: ignore[arg-type]
        assert (asked(one), asked(other)) == ("a", "b")
        with session_cache(other):  # type: ignore[arg-type]
            assert (asked(one), asked(other)) == ("a", "b")
        assert (asked(one), asked(other)) == ("a", "b")


def test_a_default_is_part_of_the_cache_key() -> None:
    session = Session()
    with session_cache(session):  # type: ignore[arg-type]
        setting(session, "spark.sql.some", "x")  # type: ignore[arg-type]
        setting(session, "spark.sql.some", "y")  # type: ignore[arg-type]
    assert session.conf.times == 2


def test_without_a_default_the_default_of_spark_is_read() -> None:
    session = Session()
    setting(session, "spark.sql.some")  # type: ignore[arg-type]
    assert session.conf.default == ()


def test_a_bypass_reads_the_session_and_leaves_the_cache() -> None:
    session = Session()
    with session_cache(session):  # type: ignore[arg-type]
        asked(session)
        with bypass_cache():
            session.conf.value = "b"
            assert asked(session) == "b"
        assert asked(session) == "a"


def test_another_thread_asks_itself() -> None:
    session, found = Session(), []
    with session_cache(session):  # type: ignore[arg-type]
        asked(session)
        session.conf.value = "b"
        thread = threading.Thread(target=lambda: found.append(asked(session)))
        thread.start()
        thread.join()
    assert found == ["b"]


def test_an_answer_of_none_is_an_answer_and_a_fault_is_none() -> None:
    session: Any = Session()
    said = iter([None, 1])
    with session_cache(session):
        assert cached(session, "what", lambda: next(said)) is None
        assert cached(session, "what", lambda: next(said)) is None
        for _ in range(2):
            with pytest.raises(ZeroDivisionError):
                cached(session, "other", lambda: 1 // 0)
