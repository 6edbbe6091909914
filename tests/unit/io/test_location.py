"""Locations as metadata spells them."""

import pytest

from iceberg_spark.io import location


@pytest.mark.parametrize("spelling", ["/a/b", "file:/a/b", "file:///a/b", "file:/a//b/", "/a/b/"])
def test_every_spelling_of_a_local_file_is_the_same_file(spelling: str):
    assert location.normalise(spelling) == "file:/a/b"
    assert location.same_file(spelling, "/a/b")


@pytest.mark.parametrize("spelling", ["s3://b/k", "s3a://b/k", "s3n://b//k/"])
def test_s3_schemes_name_one_store(spelling: str):
    assert location.same_file(spelling, "s3://b/k")


def test_different_files_are_not_the_same():
    assert not location.same_file("/a/b", "/a/c")
    assert not location.same_file("s3://a/b", "gs://a/b")


def test_locations_are_not_percent_decoded():
    assert location.strip_scheme("file:/a%20b/c d") == "/a%20b/c d"
    assert not location.same_file("/a%20b", "/a b")


def test_strip_scheme_gives_what_the_operating_system_opens():
    assert location.strip_scheme("file:///a/b") == "/a/b"
    assert location.strip_scheme("file://localhost/a/b") == "/a/b"
    assert location.strip_scheme("s3://b/k") == "b/k"


def test_join_puts_one_slash_between_parts():
    assert location.join("file:/a/", "metadata", "/v1.json") == "file:/a/metadata/v1.json"
    assert location.join("s3://b", "k") == "s3://b/k"


def test_parent_and_name_are_the_two_parts_of_a_location():
    assert location.parent("s3://b/t/f.avro") == "s3://b/t"
    assert location.name("s3://b/t/f.avro") == "f.avro"


def test_a_path_with_a_colon_later_on_is_local():
    assert location.scheme("/a/b=10:30") == "file"
    assert location.is_absolute("/a/b=10:30")


@pytest.mark.parametrize("path", ["a/b", "db.t", "t"])
def test_relative_names_are_not_absolute(path: str):
    assert not location.is_absolute(path)


@pytest.mark.parametrize(
    ("spelling", "same"),
    [
        ("/x/../a/b", "/a/b"),
        ("file:///a/./b/.", "/a/b"),
        ("FILE:/a/b", "/a/b"),
        ("/../a", "/a"),
        ("s3://b/x/../k", "s3a://b/k"),
        ("s3://b/../k", "s3://b/k"),
        ("http://h/a%20b", "http://h/a b"),
    ],
)
def test_dots_are_resolved_as_text(spelling: str, same: str):
    assert location.normalise(spelling) == location.normalise(same)


def test_a_local_path_is_opened_with_its_dots_resolved_as_java_does():
    assert location.strip_scheme("file:/a/link/../b") == "/a/b"
    assert location.strip_scheme("/a..b/c") == "/a..b/c"
