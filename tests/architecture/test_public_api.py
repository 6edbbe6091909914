"""A change of the public surface shows in a review."""

import iceberg_spark
from scripts.public_api import FILE, described, surface
from tests.architecture.source import ROOT


def test_public_api_txt_is_up_to_date():
    assert FILE.read_text(encoding="utf-8") == surface(), "run `make public-api` and look at it"


class Sample:
    def run(self, limit=None, *, force=False):
        return limit, force

    @property
    def size(self):
        return 1

    def _hidden(self):
        return None


def test_a_class_shows_its_public_methods_and_properties(monkeypatch):
    monkeypatch.setattr(Sample, "__module__", "iceberg_spark.sample")
    assert list(described("Sample", Sample)) == [
        "Sample: class",
        "Sample.run(self, limit=None, *, force=False)",
        "Sample.size: property",
    ]


def test_no_public_name_is_a_room_s() -> None:
    # Python sets a package's attribute to a room when that is imported: it would hide the name.
    package = ROOT / "iceberg_spark"
    rooms = {path.parent.name for path in package.glob("*/__init__.py")}
    modules = {path.stem for path in package.glob("*.py")}
    assert not (rooms | modules) & set(iceberg_spark.__all__)
