"""The doctor without a session: what it finds, how it shows it, and that it never fails."""

import sys
from pathlib import Path

import pytest

import iceberg_spark as ice
from iceberg_spark.catalog.config import configured_names
from iceberg_spark.catalog.rest.rest_catalog import RestCatalog
from iceberg_spark.checkup import examine
from iceberg_spark.checkup.report import Finding, Report, State
from iceberg_spark.checkup.session import worker_finding
from iceberg_spark.errors import InvalidTypeError


@pytest.fixture(autouse=True)
def nothing_configured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("PYICEBERG_HOME", str(tmp_path))
    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)
    monkeypatch.chdir(tmp_path)


def finding(report: Report, what: str) -> Finding:
    return next(one for one in report.findings if one.what == what)


def test_a_wrong_java_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "none"))
    report = ice.doctor()
    assert not report.ok
    assert "JAVA_HOME" in finding(report, "Java").to_do
    (tmp_path / "bin").mkdir()
    java = tmp_path / "bin" / "java"
    java.write_text("#!/bin/sh\necho 'openjdk version \"11.0.2\" 2019' >&2\n")
    java.chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    assert "11" in finding(ice.doctor(), "Java").found
    java.write_text("#!/bin/sh\necho 'openjdk version \"21\" 2024' >&2\n")
    assert finding(ice.doctor(), "Java").state is State.OK


def test_a_python_of_the_workers_without_the_package_is_told(tmp_path: Path):
    bare = tmp_path / "python3"
    bare.write_text(f"#!/bin/sh\necho {sys.version.split()[0]}\n")
    bare.chmod(0o755)
    told = worker_finding(str(bare))
    assert told.state is State.WRONG
    assert "without iceberg_spark" in told.found
    assert f"PYSPARK_PYTHON={sys.executable}" in told.to_do
    bare.write_text("#!/bin/sh\necho 3.9.1 iceberg_spark pyspark_pyiceberg_lite\n")
    assert "both must be the same" in worker_finding(str(bare)).found
    assert worker_finding(str(tmp_path / "none")).state is State.WRONG
    assert worker_finding(sys.executable).state is State.OK


def test_configured_catalogs_are_tried(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / ".pyiceberg.yaml").write_text(
        f"catalog:\n  Lake:\n    type: filesystem\n    warehouse: {tmp_path}\n"
        "  far:\n    type: rest\n    uri: http://localhost:1\n"
    )
    monkeypatch.setenv("PYICEBERG_CATALOG__ODD__TYPE", "hadop")
    assert configured_names() == ["far", "lake", "odd"]
    report = ice.doctor()
    assert finding(report, "catalog lake").state is State.OK
    assert finding(report, "catalog far").state is not State.OK
    assert "hadop" in finding(report, "catalog odd").found
    assert not report.ok


def test_the_store_of_a_catalogs_warehouse_is_tried(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    sql = f"type: sql\n    uri: sqlite:///{tmp_path}/c.db\n    warehouse:"
    (tmp_path / ".pyiceberg.yaml").write_text(
        f"catalog:\n  near:\n    {sql} {tmp_path}\n"
        f"  far:\n    {sql} s3://bucket/wh\n    s3.endpoint: http://localhost:1\n"
        "    s3.access-key-id: a\n    s3.secret-access-key: hidden\n    io.timeout-s: 0.5\n"
    )
    report = ice.doctor()
    assert finding(report, "store of near").state is State.OK
    assert finding(report, "catalog far").state is State.OK
    far = finding(report, "store of far")
    assert far.state is State.WRONG
    assert "s3.endpoint" in far.to_do
    assert "hidden" not in repr(report)


def test_the_warehouse_of_a_rest_catalog_is_not_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(RestCatalog, "table_exists", lambda *_: False)
    catalog = f"type: rest\n    uri: http://localhost:1\n    warehouse: s3://bucket/{tmp_path.name}"
    (tmp_path / ".pyiceberg.yaml").write_text(f"catalog:\n  far:\n    {catalog}\n")
    names = [found.what for found in ice.doctor().findings]
    assert "catalog far" in names
    assert "store of far" not in names


def test_extras_are_named_by_what_is_used(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(examine, "find_spec", lambda name: None if name == "obstore" else object())
    extras = finding(ice.doctor(), "extras")
    assert extras.found.endswith(
        "not installed: obstore (s3://, gs://, abfss://; extra s3, gcs or adls)"
    )


def test_a_broken_configuration_is_a_finding(tmp_path: Path):
    (tmp_path / ".pyiceberg.yaml").write_text("catalog: [unclosed")
    assert "could not be checked" in finding(ice.doctor(), "catalogs").found


def test_the_report_reads_well_and_escapes():
    report = Report(
        (
            Finding("Java", State.OK, "17"),
            Finding("a <b>", State.WRONG, "<script>", "do & that"),
        )
    )
    assert repr(report).splitlines() == [
        "ok     Java   17",
        "WRONG  a <b>  <script>",
        "              -> do & that",
        "1 wrong: see the arrows.",
    ]
    assert "<script>" not in report._repr_html_()
    assert "do &amp; that" in report._repr_html_()
    assert "Nothing is wrong." in repr(Report(report.findings[:1]))


def test_what_is_no_session_is_refused():
    with pytest.raises(InvalidTypeError, match="SparkSession is needed"):
        ice.doctor("local[2]")
