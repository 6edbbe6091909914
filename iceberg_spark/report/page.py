"""The report as one HTML document: no script, no request, and every text of the table escaped."""

from __future__ import annotations

import html
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from iceberg_spark.catalog.catalog import LoadedTable
from iceberg_spark.maintenance.upkeep_plan import MaintenanceItem
from iceberg_spark.report.charts import (
    bytes_text,
    commits_chart,
    graph_chart,
    growth_chart,
    heat_chart,
    masked_chart,
    sizes_chart,
)
from iceberg_spark.report.file_facts import FileFacts, file_facts
from iceberg_spark.report.history_facts import commits, growth, snapshot_graph
from iceberg_spark.report.limits import REPORT
from iceberg_spark.spec.calendar_text import timestamp_text
from iceberg_spark.spec.metadata import TableMetadata
from iceberg_spark.spec.partition import PartitionSpec
from iceberg_spark.spec.printable import printable
from iceberg_spark.spec.schema import Schema
from iceberg_spark.spec.secrets import is_secret
from iceberg_spark.spec.types import ListType, MapType, StructType

_STYLE = """
:root { color-scheme: light dark; --page: #ffffff; --card: #f4f6f8; --ink: #1f2933;
  --muted: #52606d; --grid: #d5dbe1; --append: #1f6feb; --overwrite: #b35900; --delete: #c4262e;
  --replace: #7a3fc4; --other: #5f6b76; --target: #a3195b; --added: #116329; --removed: #a40e26; }
@media (prefers-color-scheme: dark) {
  :root { --page: #14181d; --card: #1e242b; --ink: #e6eaee; --muted: #a9b4be; --grid: #3a444e;
  --append: #6cb0ff; --overwrite: #f0a35c; --delete: #ff8182; --replace: #c297ff;
  --other: #a3aeb8; --target: #ff8fc0; --added: #6fdd8b; --removed: #ff9ba3; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 60rem; padding: 1rem; background: var(--page); color: var(--ink);
  font: 15px/1.5 system-ui, sans-serif; }
h1 { font-size: 1.5rem; margin: 0; overflow-wrap: anywhere; }
h2 { font-size: 1.15rem; margin: 2rem 0 .5rem; }
p, figcaption { color: var(--muted); margin: .25rem 0 .75rem; max-width: 45rem; }
code, .text { overflow-wrap: break-word; }
figure { margin: 0; }
.scroll { overflow-x: auto; }
.scroll:focus-visible { outline: 2px solid var(--append); }
svg { display: block; min-width: 34rem; width: 100%; height: auto; }
table { border-collapse: collapse; width: 100%; font-size: .9rem; }
th, td { padding: .3rem .6rem .3rem 0; text-align: left; vertical-align: top;
  border-bottom: 1px solid var(--grid); }
.text { min-width: 6.5rem; }
td.text:first-child { min-width: 11rem; overflow-wrap: anywhere; }
.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
dl { display: grid; grid-template-columns: repeat(auto-fill, minmax(9rem, 1fr)); gap: .5rem;
  margin: 1rem 0; }
dl div { background: var(--card); border-radius: .4rem; padding: .5rem .75rem; }
dt { color: var(--muted); font-size: .8rem; }
dd { margin: 0; font-size: 1.15rem; font-variant-numeric: tabular-nums; overflow-wrap: anywhere; }
pre { background: var(--card); border-radius: .4rem; padding: .5rem .75rem; margin: .5rem 0;
  overflow-x: auto; font-size: .85rem; }
.added { color: var(--added); } .removed { color: var(--removed); }
"""
_HEAD = (
    '<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">'
    # Even if a text were not escaped, the browser would run no script and load nothing.
    '<meta http-equiv="Content-Security-Policy" content="default-src \'none\'; '
    "style-src 'unsafe-inline'\">"
)
_SIGNS = {"+": "added", "-": "removed"}


def render(loaded: LoadedTable, advice: Sequence[MaintenanceItem]) -> str:
    """Return the report of a table as an HTML document.

    Raises what `file_facts` raises, and ModuleNotFoundError without matplotlib.
    """
    metadata = loaded.metadata
    files = file_facts(metadata, loaded.io)
    sections = (
        _advice(advice), _growth(metadata), _graph(metadata), _sizes(files), _partitions(files),
        _deletes(files), _planning(files),
        _versions("Schema", schema_versions(metadata), len(metadata.schemas)),
        _versions("Partitioning", spec_versions(metadata), len(metadata.partition_specs)),
        _properties(metadata),
    )  # fmt: skip
    title = _text(loaded.identifier)
    return (
        f'<!DOCTYPE html>\n<html lang="en"><head>{_HEAD}<title>{title}</title>'
        f"<style>{_STYLE}</style></head><body><main><h1>{title}</h1>"
        f"{_summary(metadata, files)}{''.join(sections)}</main></body></html>\n"
    )


def _summary(metadata: TableMetadata, files: FileFacts) -> str:
    head = metadata.branch_head()
    rows = "0" if head is None else head.summary.get("total-records", "unknown")
    delete_files = sum(kind.files for kind in files.deletes.kinds)
    counted = f"{int(rows):,}" if rows.isdecimal() and len(rows) < 19 else rows
    cards = {
        "rows before deletes" if delete_files else "rows": counted,
        "data": bytes_text(files.sizes.total),
        "data files": f"{files.sizes.files:,}",
        "delete files": f"{delete_files:,}",
        "partitions": f"{files.partitions.count:,}" if files.partitions.count else "none",
        "snapshots": f"{len(metadata.snapshots):,}",
        "last commit (UTC)": "never" if head is None else _when(head.timestamp_ms),
        "format version": str(metadata.format_version),
    }
    items = "".join(
        f"<div><dt>{_text(name)}</dt><dd>{_text(value)}</dd></div>" for name, value in cards.items()
    )
    return f"<p><code>{_text(metadata.location)}</code></p><dl>{items}</dl>"


def _advice(advice: Sequence[MaintenanceItem]) -> str:
    if not advice:
        return _section("What to do", "Nothing: the maintenance plan is empty.", "")
    rows = (
        (f"{item.action}()", item.reason, item.gain,
         f"{bytes_text(item.bytes)}, {item.requests:,} requests")
        for item in advice
    )  # fmt: skip
    return _section(
        "What to do",
        "In this order: t.maintenance.run(), or iceberg-spark maintenance run.",
        _table(("step", "why", "gain", "cost"), rows),
    )


def _growth(metadata: TableMetadata) -> str:
    if not metadata.snapshots:
        return _section("Growth", "No commit yet.", "")
    facts, commit_facts = growth(metadata), commits(metadata)
    counts = ", ".join(f"{counts.sum():,} {name}" for name, counts in commit_facts.counts.items())
    return _section(
        "Growth",
        "Totals of the main branch after each commit.",
        _figure(growth_chart(facts), "Rows, bytes and data files over time")
        + "<h2>Commits</h2>"
        + _figure(commits_chart(commit_facts), f"Commits over time, by operation: {counts}."),
    )


def _graph(metadata: TableMetadata) -> str:
    facts = snapshot_graph(metadata)
    if not facts.nodes:
        return ""
    hidden = len(metadata.snapshots) - len(facts.nodes)
    text = "Oldest on the left; a dotted line skips snapshots."
    if hidden:
        text += f" {hidden:,} older snapshots are not shown."
    references = sorted(metadata.refs.items())[: REPORT.graph_references]
    rows = [
        (name, str(ref.snapshot_ref_type), str(ref.snapshot_id), _committed(metadata, name))
        for name, ref in references
    ]
    body = _figure(graph_chart(facts), text)
    if rows:
        body += _table(("name", "kind", "snapshot", "committed (UTC)"), rows)
    more = len(metadata.refs) - len(rows)
    note = f"{more:,} more branches and tags are not listed." if more > 0 else ""
    return _section("Snapshots, branches and tags", note, body)


def _sizes(files: FileFacts) -> str:
    sizes = files.sizes
    if not sizes.files:
        return _section("File sizes", "No data file.", "")
    text = (
        f"{sizes.files:,} data files, half of them smaller than {bytes_text(sizes.median)}; the "
        f"target is {bytes_text(sizes.target)}."
    )
    return _section("File sizes", "", _figure(sizes_chart(sizes), text))


def _partitions(files: FileFacts) -> str:
    facts = files.partitions
    if not facts.count:
        return ""
    text = (
        f"{facts.count:,} partitions in their order. The largest has {facts.skew:,.1f} times the "
        "bytes of the median."
    )
    rows = [
        (part.name, f"{part.rows:,}", f"{part.files:,}", bytes_text(part.size),
         bytes_text(part.size / max(part.files, 1)))
        for part in facts.largest
    ]  # fmt: skip
    names = ("largest partitions", "#rows", "#files", "#data", "#per file")
    return _section("Partitions", "", _figure(heat_chart(facts), text) + _table(names, rows))


def _deletes(files: FileFacts) -> str:
    debt = files.deletes
    kinds = [kind for kind in debt.kinds if kind.files]
    if not kinds:
        return _section("Delete debt", "None: no delete file applies.", "")
    text = f"{debt.files_with_deletes:,} of {files.sizes.files:,} data files have deletes to apply."
    body = _table(
        ("kind", "#files", "#rows in them"),
        [(kind.name, f"{kind.files:,}", f"{kind.rows:,}") for kind in kinds],
    )
    if len(debt.masked_shares):
        body += _figure(
            masked_chart(debt), "Data files by the share of their rows that is deleted by position"
        )
    return _section("Delete debt", text, body)


def _planning(files: FileFacts) -> str:
    facts = files.manifests
    count = facts.data + facts.deletes
    per_manifest = facts.entries / count if count else 0
    return _section(
        "Planning cost",
        f"A scan without a filter reads the metadata file, the manifest list and {count:,} "
        f"manifests ({bytes_text(facts.size)}) before it opens a data file. A manifest has "
        f"{per_manifest:,.0f} entries on average.",
        _table(
            ("manifests", "#count"),
            (("of data files", f"{facts.data:,}"), ("of delete files", f"{facts.deletes:,}")),
        ),
    )


def _versions(title: str, versions: Sequence[Version], count: int) -> str:
    blocks = []
    for version in reversed(versions):
        current = ", current" if version.is_current else ""
        since = "" if version.since_ms is None else f", since {_when(version.since_ms)}"
        lines = "\n".join(
            f'<span class="{_SIGNS.get(change.sign, "")}">{change.sign} {_text(change.text)}</span>'
            for change in version.changes
        )
        blocks.append(
            f"<p>version {version.number}{current}{since}</p>"
            f'<pre tabindex="0">{lines or "no change"}</pre>'
        )
    hidden = count - len(versions)
    note = f"{hidden:,} older versions are not shown." if hidden > 0 else ""
    return _section(title, note, "".join(blocks))


def _properties(metadata: TableMetadata) -> str:
    if not metadata.properties:
        return _section("Properties", "None is set.", "")
    chosen = sorted(metadata.properties.items())[: REPORT.properties]
    rows = ((name, "***" if is_secret(name, value) else value) for name, value in chosen)
    hidden = len(metadata.properties) - len(chosen)
    note = f"{hidden:,} more are not shown." if hidden else ""
    return _section("Properties", note, _table(("property", "value"), rows))


def _section(title: str, text: str, body: str) -> str:
    paragraph = f"<p>{_text(text)}</p>" if text else ""
    return f"<section><h2>{title}</h2>{paragraph}{body}</section>"


def _figure(chart: str, caption: str) -> str:
    # The scrolling part takes the focus, so that the keyboard can scroll it too.
    return (
        f'<figure><div class="scroll" tabindex="0" role="img" aria-label="{_text(caption)}">'
        f"{chart}</div><figcaption>{_text(caption)}</figcaption></figure>"
    )


def _table(names: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table; columns whose name begins with "#" are numbers."""
    kinds = ["number" if name.startswith("#") else "text" for name in names]
    head = _cells('th scope="col"', [name.removeprefix("#") for name in names], kinds)
    body = "".join(f"<tr>{_cells('td', row, kinds)}</tr>" for row in rows)
    return (
        f'<div class="scroll" tabindex="0" role="region" aria-label="{_text(names[0])}">'
        f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def _cells(tag: str, texts: Sequence[str], kinds: Sequence[str]) -> str:
    end = tag.partition(" ")[0]
    return "".join(
        f'<{tag} class="{kind}">{_text(text)}</{end}>'
        for text, kind in zip(texts, kinds, strict=True)
    )


def _committed(metadata: TableMetadata, name: str) -> str:
    snapshot = metadata.snapshots.get(metadata.refs[name].snapshot_id)
    return "" if snapshot is None else _when(snapshot.timestamp_ms)


def _when(timestamp_ms: int) -> str:
    minutes, _, _ = timestamp_text(timestamp_ms, 3).rpartition(":")
    return minutes.replace("T", " ")


def _text(text: str) -> str:
    """Return a text for HTML: escaped, without secrets and control characters, and not too long."""
    shown = printable(text)
    return html.escape(shown if len(shown) <= REPORT.text else f"{shown[: REPORT.text]}…")


@dataclass(frozen=True, slots=True)
class Change:
    """A line of a diff: "+" was added, "-" was removed, "~" was changed, "…" is not shown."""

    sign: str
    text: str


@dataclass(frozen=True, slots=True)
class Version:
    """A schema or a partition spec, and what it changed; the first one adds everything."""

    number: int
    changes: tuple[Change, ...]
    is_current: bool
    since_ms: int | None
    """The time of the first snapshot that has it, None without such a snapshot."""


def schema_versions(metadata: TableMetadata) -> tuple[Version, ...]:
    """Return the newest schemas, oldest first, with the columns that each changed."""
    since: dict[int, int] = {}
    for snapshot in metadata.snapshots.values():
        if snapshot.schema_id is not None:
            earlier = since.get(snapshot.schema_id, snapshot.timestamp_ms)
            since[snapshot.schema_id] = min(earlier, snapshot.timestamp_ms)
    columns = {number: _columns(metadata.schemas[number]) for number in _newest(metadata.schemas)}
    return _latest_versions(columns, metadata.current_schema_id, since)


def spec_versions(metadata: TableMetadata) -> tuple[Version, ...]:
    """Return the newest partition specs, oldest first, with the fields that each changed."""
    fields = {
        number: _fields(metadata.partition_specs[number], metadata)
        for number in _newest(metadata.partition_specs)
    }
    return _latest_versions(fields, metadata.default_spec_id, {})


def _newest(numbers: Iterable[int]) -> list[int]:
    """Return the numbers of the versions that are shown, and of the one before them."""
    return sorted(numbers)[-REPORT.schema_versions - 1 :]


def _latest_versions(
    definitions: Mapping[int, Mapping[int, str]], current: int, since: Mapping[int, int]
) -> tuple[Version, ...]:
    empty: Mapping[int, str] = {}
    steps = list(pairwise([(-1, empty), *definitions.items()]))[-REPORT.schema_versions :]
    return tuple(
        Version(
            number,
            _cut(list(_diff(before, after))),
            number == current,
            since.get(number),
        )
        for (_, before), (number, after) in steps
    )


def _cut(changes: list[Change]) -> tuple[Change, ...]:
    hidden = len(changes) - REPORT.changes
    more = [Change("…", f"{hidden:,} more changes")] if hidden > 0 else []
    return (*changes[: REPORT.changes], *more)


def _diff(before: Mapping[int, str], after: Mapping[int, str]) -> Iterator[Change]:
    for number, text in after.items():
        if number not in before:
            yield Change("+", text)
        elif before[number] != text:
            yield Change("~", f"{before[number]}  →  {text}")
    for number, text in before.items():
        if number not in after:
            yield Change("-", text)


def _columns(schema: Schema) -> dict[int, str]:
    """Return each column as a line, nested ones by their full name."""
    lines = {}
    for number in sorted(schema.field_ids):
        field = schema.find_field(number)
        match field.field_type:
            case StructType():
                kind = "struct"
            case ListType():
                kind = "list"
            case MapType():
                kind = "map"
            case other:
                kind = str(other)
        required = " required" if field.required else ""
        lines[number] = f"{schema.find_column_name(number)} {kind}{required}"
    return lines


def _fields(spec: PartitionSpec, metadata: TableMetadata) -> dict[int, str]:
    return {
        part.field_id: f"{part.name} = {part.transform}({_sources(part.source_ids, metadata)})"
        for part in spec.fields
    }


def _sources(source_ids: tuple[int, ...], metadata: TableMetadata) -> str:
    names = (metadata.schema.find_column_name(number) for number in source_ids)
    return ", ".join(
        name or f"dropped column {number}" for name, number in zip(names, source_ids, strict=True)
    )
