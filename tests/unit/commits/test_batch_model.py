"""Which batches are skipped, next to a model that never forgets: rollbacks, branches, expiry."""

import os
import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import product

import pytest

from iceberg_spark import Table
from iceberg_spark.commits.batch_token import committed_version
from iceberg_spark.spec.txn import Token
from tests.unit.api.tables import make
from tests.unit.commits.batches import ROW, append, expired_by_others, head


@dataclass
class Made:
    """A snapshot as the model has it: it never forgets."""

    parent: int | None
    batch: tuple[str, int] | None


@dataclass
class Model:
    made: dict[int, Made] = field(default_factory=dict)
    heads: dict[str, int] = field(default_factory=dict)

    def lineage(self, branch: str) -> Iterator[Made]:
        at = self.heads.get(branch)
        while at is not None:
            yield self.made[at]
            at = self.made[at].parent

    def has(self, app: str, version: int, branch: str) -> bool:
        batches = [one.batch for one in self.lineage(branch) if one.batch]
        return any(name == app and said >= version for name, said in batches)

    def note(self, table: Table, branch: str, batch: tuple[str, int] | None) -> None:
        """Take over what a commit made."""
        at = table.refresh().refs()[branch].snapshot_id
        self.made[at] = Made(self.heads.get(branch), batch)
        self.heads[branch] = at


APPS, BRANCHES = ("a", "b"), ("main", "dev")


class Play:
    """Verbs drawn at random, on a table and on the model."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.table = make()
        self.model = Model()
        self.last = dict.fromkeys(APPS, 0)
        self.commit("main", None)
        self.table.manage_snapshots().create_branch(head(self.table), "dev").commit()
        self.model.heads["dev"] = self.model.heads["main"]

    def step(self) -> None:
        draw = self.random.choice([
            self.batch, self.batch, self.batch, self.plain, self.roll_back, self.forward,
            self.our_expiry, self.others_expiry,
        ])  # fmt: skip
        draw()

    def commit(self, branch: str, batch: tuple[str, int] | None) -> None:
        if batch is None:
            self.table.append(ROW, branch=branch)
        else:
            append(self.table, *batch, branch)
        self.model.note(self.table, branch, batch)

    def plain(self) -> None:
        self.commit(self.random.choice(BRANCHES), None)

    def batch(self) -> None:
        app, branch = self.random.choice(APPS), self.random.choice(BRANCHES)
        version = max(1, self.last[app] + self.random.choice([-2, -1, 0, 1]))
        self.last[app] = max(version, self.last[app])
        if self.model.has(app, version, branch):
            before = self.table.refresh().refs()
            append(self.table, app, version, branch)
            assert self.table.refresh().refs() == before, (app, version, branch)
        else:
            self.commit(branch, (app, version))

    def roll_back(self) -> None:
        kept = {each.snapshot_id for each in self.table.refresh().snapshots()}
        chain = []
        at: int | None = self.model.heads["main"]
        while at is not None and at in kept:
            chain.append(at)
            at = self.model.made[at].parent
        to = self.random.choice(chain[:3])
        self.table.manage_snapshots().rollback_to_snapshot(to).commit()
        self.model.heads["main"] = to

    def forward(self) -> None:
        self.table.manage_snapshots().replace_branch(self.model.heads["main"], "dev").commit()
        self.model.heads["dev"] = self.model.heads["main"]

    def our_expiry(self) -> None:
        self.table.maintenance.expire_snapshots(
            older_than=1 << 60, retain_last=self.random.choice([1, 2, 3])
        )

    def others_expiry(self) -> None:
        heads = set(self.model.heads.values())
        there = [each.snapshot_id for each in self.table.refresh().snapshots()]
        gone = [one for one in there if one not in heads and self.random.random() < 0.6]
        if gone:
            expired_by_others(self.table, *gone)

    def check(self) -> None:
        now, io = self.table.refresh().metadata, self.table.io
        for app, branch in product(APPS, BRANCHES):
            for version in range(1, self.last[app] + 2):
                found = committed_version(now, io, Token(app, version, branch)) is not None
                assert found == self.model.has(app, version, branch), (app, version, branch)


@pytest.mark.parametrize("seed", range(int(os.environ.get("TOKEN_SEEDS", "3"))))
def test_what_is_skipped_is_what_a_model_that_never_forgets_has(seed: int) -> None:
    play = Play(seed)
    for _ in range(25):
        play.step()
        play.check()
