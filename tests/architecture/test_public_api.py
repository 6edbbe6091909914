"""A change of the public surface shows in a review."""

from scripts.public_api import FILE, described, surface


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
