"""The builder that changes branches, tags and the current snapshot."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Self

from iceberg_spark.api.commit_on_exit import CommitOnExit
from iceberg_spark.commits import manage_snapshots as change
from iceberg_spark.commits.action import Action
from iceberg_spark.commits.cherry_pick import CherryPick
from iceberg_spark.commits.manage_snapshots import NewBranch
from iceberg_spark.errors import InvalidInputError, InvalidTypeError
from iceberg_spark.spec.arguments import check_int, format_value, moment_ms
from iceberg_spark.spec.snapshot import SnapshotRefType

_BRANCH, _TAG = SnapshotRefType.BRANCH, SnapshotRefType.TAG


class ManageSnapshots(CommitOnExit):
    """Collects changes of references and of the current snapshot; nothing happens before `commit`.

    They are made in the order they are called, in one commit. Ages are ms. Names follow
    PyIceberg, and Java where it has none.
    """

    __slots__ = ("_land", "_steps")

    def __init__(self, land: Callable[[Sequence[Action]], None]) -> None:
        super().__init__()
        self._land = land
        self._steps: list[change.RefChange | NewBranch | CherryPick] = []

    def __repr__(self) -> str:
        lines = [f"  {step!r}" for step in self._steps] or ["  no change yet"]
        return "\n".join(["ManageSnapshots, not committed:", *lines])

    def create_branch(
        self,
        snapshot_id: int | None,
        branch_name: str,
        max_ref_age_ms: int | None = None,
        max_snapshot_age_ms: int | None = None,
        min_snapshots_to_keep: int | None = None,
    ) -> Self:
        """Create a branch.

        A table without a snapshot gets an empty one for the branch, as in Java.

        Args:
            snapshot_id: The snapshot of the branch; None means the current one.
            branch_name: The new branch.
            max_ref_age_ms: Milliseconds after which the branch may expire.
            max_snapshot_age_ms: Milliseconds after which its snapshots may expire.
            min_snapshots_to_keep: The number of its snapshots that are always kept.

        Examples:
            >>> t.manage_snapshots().create_branch(None, "test", min_snapshots_to_keep=2).commit()
        """
        retention = change.Retention(max_ref_age_ms, max_snapshot_age_ms, min_snapshots_to_keep)
        if snapshot_id is None:
            return self._then(
                NewBranch(change.CreateRef(_BRANCH, _name(branch_name), None, retention))
            )
        number = check_int(snapshot_id, "snapshot_id")
        return self._then(change.CreateRef(_BRANCH, _name(branch_name), number, retention))

    def create_tag(
        self, snapshot_id: int | None, tag_name: str, max_ref_age_ms: int | None = None
    ) -> Self:
        """Create a tag.

        Args:
            snapshot_id: The snapshot of the tag; None means the current one.
            tag_name: The new tag.
            max_ref_age_ms: Milliseconds after which the tag may expire.

        Examples:
            >>> t.manage_snapshots().create_tag(None, "eoy", max_ref_age_ms=86_400_000).commit()
        """
        number = None if snapshot_id is None else check_int(snapshot_id, "snapshot_id")
        retention = change.Retention(max_ref_age_ms)
        return self._then(change.CreateRef(_TAG, _name(tag_name), number, retention))

    def replace_branch(
        self,
        snapshot_id: int,
        branch_name: str,
        max_ref_age_ms: int | None = None,
        max_snapshot_age_ms: int | None = None,
        min_snapshots_to_keep: int | None = None,
    ) -> Self:
        """Point a branch to any snapshot. A retention that is not passed stays.

        Args:
            snapshot_id: The new snapshot.
            branch_name: The branch.
            max_ref_age_ms: Milliseconds after which the branch may expire.
            max_snapshot_age_ms: Milliseconds after which its snapshots may expire.
            min_snapshots_to_keep: The number of its snapshots that are always kept.

        Examples:
            >>> t.manage_snapshots().replace_branch(first_id, "audit").commit()
        """
        retention = change.Retention(max_ref_age_ms, max_snapshot_age_ms, min_snapshots_to_keep)
        number = check_int(snapshot_id, "snapshot_id")
        return self._then(change.ReplaceRef(_BRANCH, _name(branch_name), number, retention))

    def replace_tag(
        self, snapshot_id: int, tag_name: str, max_ref_age_ms: int | None = None
    ) -> Self:
        """Point a tag to another snapshot. A retention that is not passed stays.

        Args:
            snapshot_id: The new snapshot.
            tag_name: The tag.
            max_ref_age_ms: Milliseconds after which the tag may expire.

        Examples:
            >>> t.manage_snapshots().replace_tag(first_id, "monday").commit()
        """
        retention = change.Retention(max_ref_age_ms)
        number = check_int(snapshot_id, "snapshot_id")
        return self._then(change.ReplaceRef(_TAG, _name(tag_name), number, retention))

    def remove_branch(self, branch_name: str) -> Self:
        """Remove a branch. Its snapshots stay until they expire.

        Args:
            branch_name: The branch.

        Examples:
            >>> t.manage_snapshots().remove_branch("audit").commit()
        """
        return self._then(change.RemoveRef(_BRANCH, _name(branch_name)))

    def remove_tag(self, tag_name: str) -> Self:
        """Remove a tag. Its snapshot stays until it expires.

        Args:
            tag_name: The tag.

        Examples:
            >>> t.manage_snapshots().remove_tag("monday").commit()
        """
        return self._then(change.RemoveRef(_TAG, _name(tag_name)))

    def rename_branch(self, old_name: str, new_name: str) -> Self:
        """Rename a branch. Its retention stays.

        Args:
            old_name: The branch.
            new_name: The new name.

        Examples:
            >>> t.manage_snapshots().rename_branch("audit", "checked").commit()
        """
        return self._then(change.RenameBranch(_name(old_name), _name(new_name)))

    def fast_forward(self, branch_name: str, to: str) -> Self:
        """Move a branch forward to a snapshot that descends from its own.

        A missing branch is created, as in Java.

        Args:
            branch_name: The branch.
            to: The branch or tag whose snapshot it gets.

        Examples:
            >>> t.manage_snapshots().fast_forward("audit", "main").commit()
        """
        return self._then(change.FastForward(_name(branch_name), _name(to)))

    def set_min_snapshots_to_keep(self, branch_name: str, min_snapshots_to_keep: int) -> Self:
        """Set how many snapshots of a branch are always kept.

        Args:
            branch_name: The branch.
            min_snapshots_to_keep: At least 1.

        Examples:
            >>> t.manage_snapshots().set_min_snapshots_to_keep("audit", 3).commit()
        """
        retention = change.Retention(
            min_snapshots_to_keep=check_int(min_snapshots_to_keep, "min_snapshots_to_keep")
        )
        return self._then(change.SetRetention(_name(branch_name), retention))

    def set_max_snapshot_age_ms(self, branch_name: str, max_snapshot_age_ms: int) -> Self:
        """Set after how long snapshots of a branch may expire.

        Args:
            branch_name: The branch.
            max_snapshot_age_ms: Milliseconds.

        Examples:
            >>> t.manage_snapshots().set_max_snapshot_age_ms("audit", 7 * 86_400_000).commit()
        """
        retention = change.Retention(
            max_snapshot_age_ms=check_int(max_snapshot_age_ms, "max_snapshot_age_ms")
        )
        return self._then(change.SetRetention(_name(branch_name), retention))

    def set_max_ref_age_ms(self, name: str, max_ref_age_ms: int) -> Self:
        """Set after how long a branch or tag may expire.

        Args:
            name: The branch or tag.
            max_ref_age_ms: Milliseconds.

        Examples:
            >>> t.manage_snapshots().set_max_ref_age_ms("monday", 30 * 86_400_000).commit()
        """
        retention = change.Retention(check_int(max_ref_age_ms, "max_ref_age_ms"))
        return self._then(change.SetRetention(_name(name), retention))

    def rollback_to_snapshot(self, snapshot_id: int) -> Self:
        """Move main back to one of its own earlier snapshots.

        Args:
            snapshot_id: An ancestor of the current snapshot.

        Examples:
            >>> t.manage_snapshots().rollback_to_snapshot(first_id).commit()
        """
        return self._then(change.RollbackToSnapshot(check_int(snapshot_id, "snapshot_id")))

    def rollback_to_timestamp(self, timestamp_ms: int | datetime) -> Self:
        """Move main back to its newest snapshot before a time.

        Args:
            timestamp_ms: Milliseconds since 1970, or a datetime with a time zone.

        Examples:
            >>> newest_ms = t.history()[-1].timestamp_ms
            >>> t.manage_snapshots().rollback_to_timestamp(newest_ms).commit()
        """
        return self._then(change.RollbackToTimestamp(moment_ms(timestamp_ms, "timestamp_ms")))

    def set_current_snapshot(
        self, snapshot_id: int | None = None, ref_name: str | None = None
    ) -> Self:
        """Move main to any snapshot.

        Args:
            snapshot_id: The snapshot.
            ref_name: Or the branch or tag that has it.

        Examples:
            >>> t.manage_snapshots().set_current_snapshot(ref_name="monday").commit()
        """
        if (snapshot_id is None) == (ref_name is None):
            raise InvalidInputError("set_current_snapshot takes either snapshot_id or ref_name")
        if ref_name is not None:
            return self._then(change.SetCurrentSnapshot(_name(ref_name)))
        return self._then(change.SetCurrentSnapshot(check_int(snapshot_id, "snapshot_id")))

    def cherrypick(self, snapshot_id: int) -> Self:
        """Repeat an append or dynamic overwrite on main, or move main forward to a later snapshot.

        This publishes what was staged with `wap.id`.

        Args:
            snapshot_id: The snapshot with the change.

        Examples:
            >>> t.append(rows, branch="audit")
            >>> staged = t.refs()["audit"].snapshot_id
            >>> t.manage_snapshots().cherrypick(staged).commit()
        """
        return self._then(CherryPick(check_int(snapshot_id, "snapshot_id")))

    def commit(self) -> None:
        """Commit the changes at once. In a transaction they wait for its commit.

        Examples:
            >>> t.manage_snapshots().create_tag(None, "eoy").remove_branch("audit").commit()
        """
        actions: list[Action] = []
        pending: list[change.RefChange] = []
        for step in self._steps:
            if not isinstance(step, NewBranch | CherryPick):
                pending.append(step)
                continue
            actions += [change.ManageSnapshots(pending), step]
            pending = []
        actions.append(change.ManageSnapshots(pending))
        self._steps = []
        self._done = True
        self._land(actions)

    def _then(self, step: change.RefChange | NewBranch | CherryPick) -> Self:
        self._steps.append(step)
        self._done = False
        return self


def _name(value: str) -> str:
    if not value or not isinstance(value, str):
        raise InvalidTypeError(
            f"The name of a branch or tag must be text, not {format_value(value)}"
        )
    return value
