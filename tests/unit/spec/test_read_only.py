"""What was decoded of a table is shared, so its texts can't be changed."""

import copy
import json
import pickle

import pytest

from iceberg_spark.spec.snapshot_json import ReadOnly

TEXTS = ReadOnly({"a": "1", "b": "2"})


@pytest.mark.parametrize(
    "change",
    [
        lambda texts: texts.update(a="2"),
        lambda texts: texts.__setitem__("a", "2"),
        lambda texts: texts.__delitem__("a"),
        lambda texts: texts.__ior__({"c": "3"}),
        lambda texts: texts.setdefault("c", "3"),
        lambda texts: texts.pop("a"),
        lambda texts: texts.popitem(),
        lambda texts: texts.clear(),
    ],
)
def test_no_change_is_taken(change):
    with pytest.raises(TypeError, match="dict"):
        change(TEXTS)
    assert TEXTS == {"a": "1", "b": "2"}


def test_copies_are_ones_own():
    for own in (dict(TEXTS), TEXTS | {}, TEXTS.copy(), {**TEXTS}):
        own["a"] = "3"
    assert TEXTS["a"] == "1"


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_they_go_to_other_processes(protocol: int):
    there = pickle.loads(pickle.dumps(TEXTS, protocol))
    assert (there, type(there)) == (TEXTS, ReadOnly)


def test_they_are_copied_and_written_as_a_dict_is():
    assert copy.deepcopy(TEXTS) == TEXTS
    assert json.dumps(TEXTS) == json.dumps(dict(TEXTS))
