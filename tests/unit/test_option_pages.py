"""The pages name each option and each metadata table that the code knows."""

import re

import pytest

from iceberg_spark.inspect.names import MetadataTable
from iceberg_spark.save.write_options import WRITE_OPTIONS, WRITE_PREFIXES
from iceberg_spark.scan.read_options import READ_OPTIONS
from iceberg_spark.streams.stream_options import STREAM_OPTIONS
from tests.documentation import ROOT


def names_in(*pages: str) -> set[str]:
    texts = [(ROOT / "docs" / page).read_text(encoding="utf-8") for page in pages]
    return set(re.findall(r"`([A-Za-z0-9_.*-]+)`", "\n".join(texts)))


@pytest.mark.parametrize(
    ("known", "pages"),
    [
        (READ_OPTIONS, ("reading.md", "settings.md")),
        (STREAM_OPTIONS, ("streams.md",)),
        (WRITE_OPTIONS, ("writing.md", "settings.md", "streams.md")),
        ([f"{prefix}*" for prefix in WRITE_PREFIXES], ("writing.md", "settings.md")),
        ([table.value for table in MetadataTable], ("metadata-tables.md",)),
    ],
)
def test_each_name_is_on_its_page(known: list[str], pages: tuple[str, ...]) -> None:
    assert set(known) - names_in(*pages) == set()
