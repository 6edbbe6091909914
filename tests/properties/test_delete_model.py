"""Random appends, deletes and overwrites against a dict of rows: without Spark, both modes."""

import uuid
from typing import Any

import pyarrow as pa
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

import iceberg_spark as ice

VALUES = st.one_of(st.none(), st.integers(0, 5))
TEXTS = st.one_of(st.none(), st.sampled_from(["a", "b", "c"]))
ROWS = st.lists(st.tuples(VALUES, TEXTS), min_size=1, max_size=8)
PREDICATES = {
    "v = 2": lambda v, _: v == 2,
    "v >= 3": lambda v, _: v is not None and v >= 3,
    "k = 'a'": lambda _, k: k == "a",
    "k <> 'a' and v < 4": lambda v, k: k not in (None, "a") and v is not None and v < 4,
    "v is null or k = 'c'": lambda v, k: v is None or k == "c",
    "k in ('a', 'b') and v in (1, 5)": lambda v, k: k in ("a", "b") and v in (1, 5),
    "true": lambda _v, _k: True,
}


class Deletes(RuleBasedStateMachine):
    """The rows are a multiset; the model is the list of them."""

    @initialize(
        mode=st.sampled_from(["copy-on-write", "merge-on-read"]),
        granularity=st.sampled_from(["file", "partition"]),
        partition_by=st.sampled_from([(), ("k",), ("bucket(2, v)",)]),
        file_format=st.sampled_from(["parquet", "orc", "avro"]),
    )
    def create(self, mode: str, granularity: str, partition_by: Any, file_format: str) -> None:
        self.table = ice.create_table(
            f"memory://deletes/{uuid.uuid4().hex}",
            "v int, k string",
            partition_by=partition_by,
            properties={
                "write.delete.mode": mode,
                "write.delete.granularity": granularity,
                "write.format.default": file_format,
            },
        )
        self.rows: list[tuple[Any, Any]] = []

    @rule(rows=ROWS)
    def append(self, rows: list[tuple[Any, Any]]) -> None:
        self.table.append(_table(rows))
        self.rows += rows

    @rule(where=st.sampled_from(sorted(PREDICATES)))
    def delete(self, where: str) -> None:
        gone = [row for row in self.rows if PREDICATES[where](*row)]
        assert self.table.delete(where).deleted == len(gone)
        self.rows = [row for row in self.rows if not PREDICATES[where](*row)]

    @rule(where=st.sampled_from(sorted(PREDICATES)), rows=ROWS)
    def overwrite(self, where: str, rows: list[tuple[Any, Any]]) -> None:
        self.table.overwrite(_table(rows), where)
        self.rows = [row for row in self.rows if not PREDICATES[where](*row)] + rows

    @rule()
    def switch_mode(self) -> None:
        now = self.table.properties["write.delete.mode"]
        other = "merge-on-read" if now == "copy-on-write" else "copy-on-write"
        self.table.update_properties().set({"write.delete.mode": other}).commit()

    @invariant()
    def the_rows_are_the_model(self) -> None:
        if not hasattr(self, "table"):
            return
        found = self.table.scan().to_arrow()
        columns = (found[name].to_pylist() for name in ("v", "k"))
        assert sorted(zip(*columns, strict=True), key=repr) == sorted(self.rows, key=repr)


def _table(rows: list[tuple[Any, Any]]) -> pa.Table:
    values, texts = zip(*rows, strict=True)
    return pa.table({"v": pa.array(values, pa.int32()), "k": pa.array(texts, pa.string())})


TestDeletes = Deletes.TestCase
TestDeletes.settings = settings(max_examples=15, stateful_step_count=10, deadline=None)
