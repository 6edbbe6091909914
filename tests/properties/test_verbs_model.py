"""Random sequences of the verbs that need no session, against a list of rows.

VERB_EXAMPLES=500 runs many more of them.
"""

from __future__ import annotations

import os
import time
import uuid
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

import iceberg_spark as ice
from iceberg_spark.errors import (
    CommitFailedException,
    IcebergError,
    InvalidInputError,
    ValidationException,
)
from tests.verb_expressions import COLUMNS, Expr, predicates
from tests.verb_model import (
    Change,
    Delete,
    DynamicOverwrite,
    Part,
    Rows,
    Upsert,
    View,
    after,
    kinds_of,
    run,
)
from tests.verb_strategies import PARTS, changes, partitionings

SCHEMA = "id bigint, g string, v int, d date, f double, s struct<k int, t string>"
TYPES = {"v": "int", "d": "date", "f": "double", "s": "struct<k int, t string>"}
FORMATS = ("parquet", "parquet", "orc", "avro")
MODES = ("copy-on-write", "merge-on-read")
MAIN, SIDE = "main", "side"
properties = st.fixed_dictionaries(
    {
        "write.delete.mode": st.sampled_from(MODES),
        "write.delete.granularity": st.sampled_from(["file", "partition"]),
        "write.format.default": st.sampled_from(FORMATS),
        "write.delete.format.default": st.sampled_from(FORMATS),
        "commit.manifest.min-count-to-merge": st.sampled_from(["2", "100"]),
        "write.metadata.metrics.default": st.sampled_from(["truncate(16)", "none", "counts"]),
    }
)


class Verbs(RuleBasedStateMachine):
    """`rows` is the model of each branch; `stale` a handle that did not see the newest commits."""

    @initialize(
        parts=partitionings,
        sort_order=st.sampled_from([(), ("id desc nulls last",)]),
        properties=properties,
        version=st.sampled_from(["2", "3"]),
    )
    def create(
        self, parts: tuple[Part, ...], sort_order: Any, properties: dict[str, str], version: str
    ) -> None:
        self.view = View({kind: (kind, kind) for kind in COLUMNS})
        self.parts = parts
        self.rows: dict[str, Rows] = {MAIN: []}
        self.snapshots: dict[int, tuple[Rows, View]] = {}
        self.table = ice.create_table(
            f"memory://verbs/{uuid.uuid4().hex}",
            SCHEMA,
            partition_by=[part.text(self.view) for part in parts],
            sort_order=sort_order,
            properties=properties | {"commit.retry.min-wait-ms": "1", "format-version": version},
        )
        self.look_again()

    @rule()
    def look_again(self) -> None:
        self.stale = ice.load_table(self.table.location())
        self.stale_view, self.stale_rows = self.view, self.rows[MAIN]

    # -------------------------------------------------------------------------------- changes

    @rule(change=changes, branch=st.sampled_from([MAIN, MAIN, SIDE]))
    def change(self, change: Change, branch: str) -> None:
        branch = branch if branch in self.rows else MAIN
        fitted = self.fitted(change, branch)
        if fitted is None:
            return
        before = self.rows[branch]
        result = self.run(fitted, self.table, branch=branch)
        self.rows[branch] = after(fitted, before, self.view)
        if isinstance(fitted, Delete):
            assert result.deleted >= len(before) - len(self.rows[branch])
        self.note(branch)

    @rule(
        branch=st.sampled_from([MAIN, MAIN, SIDE]),
        order=st.sampled_from([None, None, "{} desc", "zorder({})"]),
        options=st.fixed_dictionaries(
            {"rewrite-all": st.booleans(), "min-input-files": st.integers(1, 3)},
            optional={"max-files-to-rewrite": st.integers(1, 3)},
        ),
    )
    def compact(self, branch: str, order: str | None, options: dict[str, Any]) -> None:
        """No row changes."""
        if branch not in self.rows or not self.view.has({"v"}):
            return
        by = None if order is None else order.format(self.view.sql("v"))
        self.table.maintenance.rewrite_data_files(sort_order=by, branch=branch, options=options)
        self.note(branch)

    @rule(several=st.lists(changes, min_size=2, max_size=3))
    def transaction(self, several: list[Change]) -> None:
        made: list[Change] = []
        with self.table.transaction() as tx:
            for each in several:
                fitted = self.fitted(each, MAIN)
                if fitted is not None and not isinstance(each, DynamicOverwrite):
                    self.run(fitted, tx)
                    made.append(fitted)
        for each in made:
            self.rows[MAIN] = after(each, self.rows[MAIN], self.view)
        self.note(MAIN)

    @rule(change=changes)
    def change_by_one_who_looked_earlier(self, change: Change) -> None:
        """It is as if done now, or refused; what changes no row that it saw is no commit."""
        if isinstance(change, DynamicOverwrite) or not self.same_columns(kinds_of(change)):
            return
        if isinstance(change, Upsert):
            change = replace(change, global_delete=True)
        head, files = self.head(MAIN), self.files()
        try:
            with self.stale.transaction() as tx:  # it stays on the version that it began with
                run(change, tx, self.stale, self.stale_view)
        except (ValidationException, CommitFailedException):
            assert self.files() == files
            return
        self.table.refresh()
        if self.head(MAIN) == head:
            seen = self.stale_view.shown(self.stale_rows)
            assert self.stale_view.shown(after(change, self.stale_rows, self.stale_view)) == seen
        else:
            self.rows[MAIN] = after(change, self.rows[MAIN], self.stale_view)
            self.note(MAIN)
        self.look_again()

    def fitted(self, change: Change, branch: str) -> Change | None:
        """The change as it can be made of the table as it is, None if it can't."""
        if not self.view.has(kinds_of(change)):
            return None
        if not isinstance(change, DynamicOverwrite):
            return change
        tasks = self.table.scan(branch=None if branch == MAIN else branch).plan_files()
        if not {task.spec_id for task in tasks} <= {self.table.spec().spec_id}:
            return None
        return replace(change, parts=self.parts)

    def same_columns(self, kinds: Iterable[str]) -> bool:
        """Whether the earlier view has these kinds, as columns that are still there."""
        if not (self.stale_view.has(kinds) and self.view.has(kinds)):
            return False
        heads = {kind.split(".")[0] for kind in kinds}
        return all(self.stale_view.columns[h][0] == self.view.columns[h][0] for h in heads)

    def run(self, change: Change, target: Any, **options: Any) -> Any:
        """An upsert whose keys don't give the partition says what to pass, and leaves nothing."""
        files = self.files("data")
        try:
            return run(change, target, self.table, self.view, **options)
        except InvalidInputError as error:
            if not isinstance(change, Upsert) or "global_delete=True" not in str(error):
                raise
        assert self.files("data") == files
        everywhere = replace(change, global_delete=True)
        return run(everywhere, target, self.table, self.view, **options)

    # ------------------------------------------------------------------- what changes no row

    @rule(by_position=st.booleans(), branch=st.sampled_from([MAIN, SIDE]))
    def rewrite_deletes(self, by_position: bool, branch: str) -> None:
        branch = branch if branch in self.rows else MAIN
        upkeep = self.table.maintenance
        if by_position:
            upkeep.rewrite_position_deletes(branch=branch)
        else:
            upkeep.convert_equality_deletes(branch=branch)
            kinds = {
                delete.content.name
                for task in self.table.scan(branch=None if branch == MAIN else branch).plan_files()
                for delete in task.delete_files
            }
            assert "EQUALITY_DELETES" not in kinds
        self.note(branch)

    @rule()
    def expire(self) -> None:
        self.table.maintenance.expire_snapshots(older_than=int(time.time() * 1000) + 1000)
        self.snapshots = {
            key: kept
            for key, kept in self.snapshots.items()
            if key in self.table.metadata.snapshots
        }
        self.look_again()

    @rule(given=properties)
    def set_properties(self, given: dict[str, str]) -> None:
        self.table.update_properties().set(given).commit()

    @rule()
    def upgrade(self) -> None:
        self.table.update_properties().set({"format-version": "3"}).commit()
        self.look_again()

    @rule(kind=st.sampled_from(COLUMNS), name=st.sampled_from(["n1", "n2", "é `x"]))
    def rename(self, kind: str, name: str) -> None:
        if not self.view.has([kind]) or name in [n for _, n in self.view.columns.values()]:
            return
        with self.table.update_schema() as update:
            update.rename_column((self.view.name(kind),), name)
        self.view = View({**self.view.columns, kind: (self.view.columns[kind][0], name)})

    @rule(kind=st.sampled_from(sorted(TYPES)))
    def drop_or_add(self, kind: str) -> None:
        if kind not in self.view.columns:
            token = f"{kind}#{uuid.uuid4().hex[:6]}"
            with self.table.update_schema() as update:
                update.add_column(kind, TYPES[kind])
            self.view = View({**self.view.columns, kind: (token, kind)})
            return
        try:
            with self.table.update_schema() as update:
                update.delete_column((self.view.name(kind),))
        except IcebergError:
            assert any(part.kind.split(".")[0] == kind for part in self.parts)
            return
        self.view = View({k: v for k, v in self.view.columns.items() if k != kind})

    @rule()
    def widen(self) -> None:
        if not self.view.has(["v"]):
            return
        with self.table.update_schema() as update:
            update.update_column((self.view.name("v"),), "bigint")

    @rule(part=st.sampled_from(PARTS))
    def partition(self, part: Part) -> None:
        if not self.view.has([part.kind]):
            return
        with self.table.update_spec() as update:
            if part in self.parts:
                fields = self.table.spec().fields
                update.remove_field(fields[self.parts.index(part)].name)
                self.parts = tuple(each for each in self.parts if each != part)
            else:
                update.add_field(part.text(self.view))
                self.parts = (*self.parts, part)

    # ----------------------------------------------------------------- branches and snapshots

    @precondition(lambda self: self.table.current_snapshot() is not None)
    @rule()
    def branch_off(self) -> None:
        head = self.head(MAIN)
        assert head is not None
        manage = self.table.manage_snapshots()
        if SIDE in self.rows:
            manage.replace_branch(head, SIDE).commit()
        else:
            manage.create_branch(head, SIDE).commit()
        self.rows[SIDE] = self.rows[MAIN]

    @precondition(lambda self: SIDE in self.rows)
    @rule()
    def fast_forward(self) -> None:
        try:
            self.table.manage_snapshots().fast_forward(MAIN, SIDE).commit()
        except (ValidationException, InvalidInputError):
            return
        self.rows[MAIN] = self.rows[SIDE]

    @precondition(lambda self: bool(self.snapshots))
    @rule(data=st.data(), rolls_back=st.booleans())
    def earlier_snapshot(self, data: st.DataObject, rolls_back: bool) -> None:
        chosen = data.draw(st.sampled_from(list(self.snapshots)))
        manage = self.table.manage_snapshots()
        try:
            if rolls_back:
                manage.rollback_to_snapshot(chosen).commit()
            else:
                manage.set_current_snapshot(chosen).commit()
        except (ValidationException, InvalidInputError):
            assert rolls_back
            return
        self.rows[MAIN] = self.snapshots[chosen][0]

    # -------------------------------------------------------------------------------- reading

    @rule(where=predicates, branch=st.sampled_from([MAIN, SIDE]))
    def read_some(self, where: Expr, branch: str) -> None:
        if branch not in self.rows or not self.view.has(where.kinds):
            return
        named = None if branch == MAIN else branch
        scan = self.table.scan(where.text(self.view.sql), branch=named)
        matches = self.view.matching(where)
        expected = [row for row in self.rows[branch] if matches(row)]
        assert self.view.read(scan.to_arrow()) == self.view.shown(expected)
        assert scan.count() == len(expected)

    @precondition(lambda self: bool(self.snapshots))
    @rule(data=st.data())
    def read_earlier(self, data: st.DataObject) -> None:
        chosen = data.draw(st.sampled_from(list(self.snapshots)))
        rows, view = self.snapshots[chosen]
        assert view.read(self.table.scan(snapshot_id=chosen).to_arrow()) == view.shown(rows)

    @rule(data=st.data())
    def read_changes(self, data: st.DataObject) -> None:
        """What came and went leads from the rows of one snapshot to those of another."""
        known = list(self.lineage())
        if len(known) < 2:
            return
        end = data.draw(st.integers(0, len(known) - 2))
        start = data.draw(st.integers(end + 1, len(known) - 1))
        found = self.table.scan().changes(known[start], known[end]).to_arrow()
        came = pc.is_in(found["_change_type"], pa.array(["INSERT", "UPDATE_AFTER"]))
        rows = self.view.shown(self.snapshots[known[start]][0])
        rows.update(self.view.read(found.filter(came)))
        rows.subtract(self.view.read(found.filter(pc.invert(came))))
        left = {row: times for row, times in rows.items() if times}
        assert left == self.view.shown(self.snapshots[known[end]][0])

    def lineage(self) -> Iterator[int]:
        """The snapshots behind main, newest first, as far as they are there."""
        snapshots = self.table.metadata.snapshots
        number = self.head(MAIN)
        while number in snapshots and number in self.snapshots:
            yield number
            number = snapshots[number].parent_snapshot_id

    @rule()
    def no_file_is_left_over(self) -> None:
        inspect = self.table.inspect
        known = set(inspect.all_files()["file_path"].to_pylist())
        assert self.files("data") == known
        lists = {str(each.manifest_list) for each in self.table.snapshots()}
        manifests = set(inspect.all_manifests()["path"].to_pylist())
        found = {path for path in self.files("metadata") if path.endswith(".avro")}
        assert found == lists | manifests

    @invariant()
    def the_rows_are_the_model(self) -> None:
        if not hasattr(self, "table"):
            return
        for branch, rows in self.rows.items():
            found = self.table.scan(branch=None if branch == MAIN else branch).to_arrow()
            assert self.view.read(found) == self.view.shown(rows), branch

    # -------------------------------------------------------------------------------- helpers

    def note(self, branch: str) -> None:
        head = self.head(branch)
        if head is not None:
            self.snapshots.setdefault(head, (self.rows[branch], self.view))

    def head(self, branch: str) -> int | None:
        head = self.table.metadata.branch_head(branch)
        return None if head is None else head.snapshot_id

    def files(self, folder: str = "") -> set[str]:
        return {info.path for info in self.table.io.list(f"{self.table.location()}/{folder}")}


EXAMPLES = int(os.environ.get("VERB_EXAMPLES", "15"))
TestVerbs = Verbs.TestCase
TestVerbs.settings = settings(
    max_examples=EXAMPLES,
    stateful_step_count=30,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)
