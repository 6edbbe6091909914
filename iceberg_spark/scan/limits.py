"""Numbers by which planning bounds its memory and its work."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class PlanningLimits:
    """How much planning looks at in one go."""

    manifest_readers: int = 4
    """Threads that read and decode manifests; more would only add memory, since the decoders
    release the GIL."""
    entries_at_once: int = 50_000
    """Entries: manifests of one spec are looked at together up to about so many."""
    uncombined_tables: int = 8
    """Tables of manifests that are joined as they are; more are copied into one."""
    hashed_paths: int = 10_000
    """Paths that deletes aim at: of so many the hashes are kept, not made for each lookup."""
    pairs_at_once: int = 2_000_000
    """Candidates, pairs of a data file and a delete file."""
    tasks_at_once: int = 16_384
    """Scan tasks whose values are Python objects at a time."""
    changed_tasks_at_once: int = 4_096
    """Scan tasks of changed files that are made at a time."""
    kept_plans: int = 16
    """Plans that are kept for who plans the same again, each with the metadata of its table."""
    kept_filter_characters: int = 16 * 1024
    """Characters of a filter as it is written out; plans by longer ones are not kept."""
    kept_plan_bytes: int = 128 * 1024 * 1024
    """Bytes of Arrow memory that kept plans may hold together, columns they share with the cache of
    manifests included."""
    sampled_manifest_bytes: int = 4 * 1024 * 1024
    """Bytes of the longest manifest that is asked what its files' columns take."""
    least_adaptive_split: int = 16 * 1024 * 1024
    """Bytes: a split that adapts to the scan's size is no smaller (Java: `TableScanUtil`)."""


PLANNING = PlanningLimits()
