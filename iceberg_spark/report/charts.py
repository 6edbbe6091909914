"""Charts as SVG that takes its colours and its font from the page, so that dark mode works.

matplotlib draws them without a display and without any global state of pyplot. It writes colours as
numbers: each of `_COLOURS` stands for a CSS variable of the page and is replaced in the result.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from io import StringIO
from typing import Any

import numpy as np

from iceberg_spark.lazy import LazyModule
from iceberg_spark.report.file_facts import DeleteDebt, Partitions, Sizes
from iceberg_spark.report.history_facts import Commits, Floats, Growth, SnapshotGraph
from iceberg_spark.spec.printable import printable

_matplotlib = LazyModule("matplotlib")
_figure = LazyModule("matplotlib.figure")
_dates = LazyModule("matplotlib.dates")
_ticker = LazyModule("matplotlib.ticker")
_collections = LazyModule("matplotlib.collections")
_patches = LazyModule("matplotlib.patches")

_WIDTH = 7.2
"""Inches, of 72 units each: the width of the page's column at a readable size of text."""
_COLOURS = {
    "ink": "#010101",
    "grid": "#020202",
    "append": "#010102",
    "overwrite": "#010103",
    "delete": "#010104",
    "replace": "#010105",
    "other": "#010106",
    "target": "#010107",
}
_SETTINGS = {
    "svg.fonttype": "none",  # text stays text: it can be searched, and has the page's font
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": _COLOURS["grid"],
    "axes.labelcolor": _COLOURS["ink"],
    "axes.titlecolor": _COLOURS["ink"],
    "axes.titlesize": 9,
    "axes.titlelocation": "left",
    "axes.axisbelow": True,
    "text.color": _COLOURS["ink"],
    "text.parse_math": False,
    "xtick.color": _COLOURS["ink"],
    "ytick.color": _COLOURS["ink"],
    "grid.color": _COLOURS["grid"],
    "grid.linewidth": 0.6,
}
_SHORTEST = 10 / 86_400
"""Days that a time axis shows at least: one commit alone has no span."""
_BYTES = ("B", "KB", "MB", "GB", "TB", "PB")
_FONT = re.compile(r"font-family: [^;\"]+")
_PROLOG = re.compile(r"^.*?(?=<svg )|<metadata>.*?</metadata>", re.DOTALL)
_GROUP = re.compile(r'<g id="[^"]*"')
_SIZE = re.compile(r'(?<=<svg) ([^>]*?)width="[^"]*" ?([^>]*?)height="[^"]*"')


def growth_chart(facts: Growth) -> str:
    """Return rows, bytes and data files over time, one below the other."""
    with _svg("growth", 4.2) as (figure, chart):
        axes = figure.subplots(3, 1, sharex=True)
        for axis, (name, totals) in zip(axes, facts.totals.items(), strict=True):
            axis.step(
                _moments(facts.times), totals, where="post", color=_COLOURS["append"], linewidth=1.5
            )
            axis.set_title(name)
            _count_axis(axis.yaxis, is_bytes=name == "bytes")
        _time_axis(axes[-1])
    return chart[0]


def commits_chart(facts: Commits) -> str:
    """Return commits over time, stacked by operation."""
    with _svg("commits", 2.2) as (figure, chart):
        axis = figure.subplots()
        width = (facts.edges[1] - facts.edges[0]) / 86_400_000
        base = np.zeros(len(facts.edges) - 1)
        for operation, counts in facts.counts.items():
            bars = np.flatnonzero(counts)
            axis.bar(
                _moments(facts.edges[:-1][bars]), counts[bars], width * 0.9, base[bars],
                align="edge", color=_COLOURS[operation], label=operation,
            )  # fmt: skip
            base += counts
        _legend(axis, len(facts.counts))
        _count_axis(axis.yaxis)
        _time_axis(axis)
    return chart[0]


def graph_chart(facts: SnapshotGraph) -> str:
    """Return snapshots as dots, oldest on the left, with the names of branches and tags."""
    lanes = 1 + max((node.lane for node in facts.nodes), default=0)
    with _svg("graph", 1.2 + 0.35 * lanes) as (figure, chart):
        axis = figure.subplots()
        for edge in facts.edges:
            ends = facts.nodes[edge.parent], facts.nodes[edge.child]
            axis.plot(
                [node.position for node in ends], [-node.lane for node in ends],
                color=_COLOURS["ink"], linewidth=0.8, zorder=1,
                linestyle="dotted" if edge.skips else "solid",
            )  # fmt: skip
        operations = sorted({node.operation for node in facts.nodes})
        for operation in operations:
            nodes = [node for node in facts.nodes if node.operation == operation]
            axis.scatter(
                [node.position for node in nodes], [-node.lane for node in nodes], 28,
                color=_COLOURS[operation], label=operation, zorder=2,
            )  # fmt: skip
        for node in facts.nodes:
            if node.references:
                axis.annotate(
                    _short(", ".join(node.references)), (node.position, -node.lane), (0, 7),
                    textcoords="offset points", ha="right" if node.position else "left",
                )  # fmt: skip
        _legend(axis, len(operations))
        axis.set_axis_off()
        axis.margins(0.04, 0.35)
    return chart[0]


def sizes_chart(facts: Sizes) -> str:
    """Return data files by size, with a line at the target."""
    with _svg("sizes", 2.4) as (figure, chart):
        axis = figure.subplots()
        places = np.arange(len(facts.counts))
        axis.bar(places + 0.5, facts.counts, 0.9, color=_COLOURS["append"])
        target = float(np.interp(facts.target, facts.edges, np.arange(len(facts.edges))))
        axis.axvline(target, color=_COLOURS["target"], linewidth=1.5)
        axis.annotate(
            f"target {bytes_text(facts.target)} ", (target, 1), xycoords=("data", "axes fraction"),
            ha="right", va="top", color=_COLOURS["target"],
        )  # fmt: skip
        ticks = np.arange(0, len(facts.edges), max(1, len(facts.edges) // 9))
        axis.set_xticks(ticks, [bytes_text(facts.edges[tick]) for tick in ticks])
        axis.set_xlim(0, len(facts.counts))
        _count_axis(axis.yaxis)
    return chart[0]


def heat_chart(facts: Partitions) -> str:
    """Return rows, files and bytes of the partitions in order; more are darker."""
    with _svg("heat", 1.7) as (figure, chart):
        axis = figure.subplots()
        for line, values in enumerate(facts.heat.values()):
            top = float(values.max()) or 1.0
            # A share of 0 is still visible, so that the number of cells can be seen.
            shades = [(*_rgb("append"), max(0.08, float(value) / top)) for value in values]
            width = 1 / len(values)
            cells = [
                _patches.Rectangle((index * width, -line), width * 0.92, 0.86)
                for index in range(len(values))
            ]
            axis.add_collection(_collections.PatchCollection(cells, facecolors=shades, linewidth=0))
        axis.set_xlim(0, 1)
        axis.set_ylim(1 - len(facts.heat), 1)
        axis.set_yticks([0.43 - line for line in range(len(facts.heat))], list(facts.heat))
        axis.set_xticks([])
        axis.tick_params(length=0)
        axis.spines[:].set_visible(False)
    return chart[0]


def masked_chart(facts: DeleteDebt) -> str:
    """Return data files by the share of their rows that deletes of their own mask."""
    with _svg("masked", 2.0) as (figure, chart):
        axis = figure.subplots()
        counts, edges = np.histogram(facts.masked_shares, np.linspace(0, 1, 21))
        axis.bar(edges[:-1], counts, 0.045, align="edge", color=_COLOURS["delete"])
        axis.xaxis.set_major_formatter(_ticker.PercentFormatter(1, 0))
        axis.set_xlim(0, 1)
        _count_axis(axis.yaxis)
    return chart[0]


def bytes_text(size: float) -> str:
    """Return a size in a unit that keeps it short.

    Examples:
        >>> bytes_text(3 * 1024 * 1024)
        '3 MB'
    """
    unit = 0
    while abs(size) >= 1024 and unit < len(_BYTES) - 1:
        size, unit = size / 1024, unit + 1
    return f"{size:,.1f}".removesuffix(".0") + f" {_BYTES[unit]}"


@contextmanager
def _svg(name: str, height: float) -> Iterator[tuple[Any, list[str]]]:
    """Yield a figure to draw on, and a list that has its SVG after the block."""
    chart: list[str] = []
    # Identifiers inside the SVG are hashes: with the chart's name, no two on a page are the same.
    settings = {**_SETTINGS, "svg.hashsalt": name}
    with _matplotlib.rc_context(settings), warnings.catch_warnings():
        # The page's font has the glyphs that matplotlib's lacks and warns about.
        warnings.filterwarnings("ignore", "Glyph .* missing from font")
        figure = _figure.Figure(figsize=(_WIDTH, height), layout="constrained")
        yield figure, chart
        text = StringIO()
        figure.savefig(text, format="svg", transparent=True, metadata={"Date": None})
    chart.append(_for_page(text.getvalue()))


def _for_page(svg: str) -> str:
    """Return SVG that can stand in a page: page colours and font, no size, no doubled ids."""
    svg = _GROUP.sub("<g", _PROLOG.sub("", svg))
    svg = _SIZE.sub(r" \1\2", svg)
    svg = _FONT.sub("font-family: system-ui, sans-serif", svg)
    for name, number in _COLOURS.items():
        svg = svg.replace(number, f"var(--{name})")
    return svg.replace("<svg ", '<svg aria-hidden="true" ', 1)


def _rgb(name: str) -> tuple[float, ...]:
    number = _COLOURS[name]
    return tuple(int(number[start : start + 2], 16) / 255 for start in (1, 3, 5))


def _moments(times: Floats) -> list[datetime]:
    return [datetime.fromtimestamp(time / 1000, UTC) for time in times.tolist()]


def _time_axis(axis: Any) -> None:
    first, last = axis.dataLim.intervalx
    if last - first < _SHORTEST:
        middle = (first + last) / 2
        axis.set_xlim(middle - _SHORTEST / 2, middle + _SHORTEST / 2)
    locator = _dates.AutoDateLocator(minticks=3, maxticks=8)
    axis.xaxis.set_major_locator(locator)
    axis.xaxis.set_major_formatter(_dates.ConciseDateFormatter(locator))


def _count_axis(axis: Any, *, is_bytes: bool = False) -> None:
    axis.set_major_locator(_ticker.MaxNLocator(4, integer=True))
    axis.set_major_formatter(lambda value, _: bytes_text(value) if is_bytes else f"{value:,.0f}")
    axis.axes.set_ylim(bottom=0)
    axis.grid(visible=True)


def _legend(axis: Any, columns: int) -> None:
    if columns:
        axis.legend(
            loc="lower left", bbox_to_anchor=(0, 1), ncols=columns, frameon=False, borderpad=0
        )


def _short(text: str, most: int = 40) -> str:
    text = printable(text)
    return text if len(text) <= most else f"{text[: most - 1]}…"


def colour_names() -> Sequence[str]:
    """Return the CSS variables that the page must define."""
    return tuple(_COLOURS)
