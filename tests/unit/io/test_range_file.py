"""A file read by ranges gives the bytes of a whole one, by few requests."""

import io
import random
from contextlib import nullcontext

import pytest

from iceberg_spark.io import object_files
from iceberg_spark.io.limits import RangeLimits
from iceberg_spark.io.object_files import Part, RangeFile

SMALL = RangeLimits(tail_bytes=100, least_bytes=50, part_bytes=300)


class Noted:
    """An object that notes what is asked of it."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.asked: list[tuple[int, int]] = []

    def tail(self, length: int) -> Part:
        return self.part(max(0, len(self.data) - length), length)

    def part(self, start: int, length: int) -> Part:
        self.asked.append((start, length))
        return Part(start, memoryview(self.data[start : start + length]), len(self.data))


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(object_files, "RANGES", SMALL)


def test_any_reads_give_the_bytes_of_a_whole_file():
    draw = random.Random(7)
    for size in [0, 1, 99, 100, 101, 1_000, 5_000]:
        data = draw.randbytes(size)
        ours, whole = RangeFile(Noted(data), nullcontext()), io.BytesIO(data)
        for _ in range(200):
            whence = draw.choice([io.SEEK_SET, io.SEEK_END])
            offset = draw.randint(0, size + 10) - (size if whence == io.SEEK_END else 0)
            if whence == io.SEEK_END and size + offset < 0:
                continue
            assert ours.seek(offset, whence) == whole.seek(offset, whence)
            length = draw.choice([-1, 0, 1, 40, 99, 500, 5_000])
            assert ours.read(length) == whole.read(length)
            assert ours.tell() == whole.tell()


def test_a_small_file_takes_one_request():
    noted = Noted(bytes(90))
    file = RangeFile(noted, nullcontext())
    assert (file.size(), file.seek(-8, io.SEEK_END), len(file.read(8))) == (90, 82, 8)
    file.seek(0)
    assert len(file.read(80)) == 80
    assert len(noted.asked) == 1


def test_small_reads_one_after_another_share_a_request():
    noted = Noted(bytes(1_000))
    file = RangeFile(noted, nullcontext())
    for _ in range(5):
        file.read(10)
    assert noted.asked == [(0, 50)]


def test_the_footer_stays_at_hand_while_pages_are_read():
    noted = Noted(bytes(1_000))
    file = RangeFile(noted, nullcontext())
    file.size()
    for start in (0, 300, 950):
        file.seek(start)
        file.read(20)
    assert noted.asked == [(900, 100), (0, 50), (300, 50)]


def test_a_large_read_is_fetched_in_parts():
    noted = Noted(random.Random(1).randbytes(1_000))
    file = RangeFile(noted, nullcontext())
    assert file.size() == 1_000
    assert file.read(850) == noted.data[:850]
    assert sorted(noted.asked[1:]) == [(0, 300), (300, 300), (600, 250)]


def test_a_part_that_comes_short_is_an_error():
    noted = Noted(bytes(1_000))
    file = RangeFile(noted, nullcontext())
    assert file.size() == 1_000
    noted.data = bytes(500)
    with pytest.raises(EOFError, match="its 1000 bytes were replaced"):
        file.read(850)


@pytest.mark.parametrize("length", [10, 850])
def test_an_answer_that_is_too_short_is_an_error(length: int):
    class Short(Noted):
        def part(self, start: int, length: int) -> Part:
            whole = super().part(start, length)
            return Part(start, whole.data[:-1], whole.object_size)

    file = RangeFile(Short(bytes(1_000)), nullcontext())
    file.size()
    with pytest.raises(EOFError, match="bytes were requested, and"):
        file.read(length)
