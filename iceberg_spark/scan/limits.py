"""Numbers by which planning bounds its memory and its work."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class PlanningLimits:
    """Limits of one planning."""

    manifest_readers: int = 4
    """Threads that read and decode manifests; more would only add memory, since the decoders
    release the GIL."""
    local_bytes_a_core: int = 128 * 1024 * 1024
    """Bytes of manifests a core: up to so many, `auto` planning reads them in this process (Java:
    `BaseDistributedDataScan`)."""
    task_manifest_bytes: int = 8 * 1024 * 1024
    """Bytes of manifests that a task reads: as many as a manifest is written to have."""
    entries_at_once: int = 50_000
    """Entries: manifests of one spec are evaluated together up to about this number."""
    uncombined_tables: int = 8
    """Tables of manifests that are joined without a copy; more are copied into one."""
    hashed_paths: int = 10_000
    """Paths that deletes refer to: from this number on their hashes are kept for all lookups."""
    pairs_at_once: int = 2_000_000
    """Candidates, pairs of a data file and a delete file."""
    tasks_at_once: int = 16_384
    """Scan tasks whose values are Python objects at a time."""
    changed_tasks_at_once: int = 4_096
    """Scan tasks of changed files that are created at a time."""
    kept_plans: int = 16
    """Cached plans, each with the metadata of its table."""
    kept_filter_characters: int = 16 * 1024
    """Characters of a filter's text; plans with longer ones are not cached."""
    kept_plan_bytes: int = 128 * 1024 * 1024
    """Bytes of Arrow memory of all cached plans, including columns shared with the cache of
    manifests."""
    sorted_entry_bytes: int = 64 * 1024 * 1024
    """Bytes of entries of manifests to rewrite that are held in memory; more go to the local
    disk."""
    sampled_manifest_bytes: int = 4 * 1024 * 1024
    """Bytes of the longest manifest from which column sizes are estimated."""
    least_adaptive_split: int = 16 * 1024 * 1024
    """Bytes: a split that adapts to the scan's size is no smaller (Java: `TableScanUtil`)."""


@dataclass(frozen=True, slots=True)
class LookUpLimits:
    """When files are opened to look for values in their Bloom filters."""

    least_files: int = 2
    """Files: a single one is read at once."""
    most_files: int = 2_000
    """Files of which footers and filters are read: 0.3 ms of CPU and two requests each."""
    sampled_files: int = 32
    """Files that are opened first ..."""
    least_share: float = 0.1
    """... and the share of them that has to be left out, or the others are not opened."""
    useful_share: float = 0.25
    """Share of the files without the values that Bloom filters have to leave out, at least."""
    threads: int = 8
    """Files that are opened at a time."""


PLANNING = PlanningLimits()
LOOK_UPS = LookUpLimits()
