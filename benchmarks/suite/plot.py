"""Draw results as a picture for the documentation: ``python -m benchmarks.suite.plot FILE...``.

One row per group, on a logarithmic axis of time against PyTorch: a bar from the lower to the upper
quartile of the ratios of its rows, a mark at their geometric mean, a line at 1. Several files, of
several commits, stand below each other in each group. The picture is SVG, written without any
library: ``--out FILE.svg`` (default: benchmarks/results/suite.svg).
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

from . import report
from .machine import RESULTS

WIDTH, LEFT, RIGHT, ROW = 760, 210, 40, 18
LOW, HIGH = 1 / 16, 16
COLOURS = ("#b7b7b7", "#3465a4", "#cc5c00", "#4e9a06")


def place(ratio: float) -> float:
    """Return the horizontal place of a ratio."""
    share = math.log(min(max(ratio, LOW), HIGH) / LOW) / math.log(HIGH / LOW)
    return LEFT + share * (WIDTH - LEFT - RIGHT)


def drawing(results: list[dict[str, Any]]) -> str:
    """Return the picture of some results as SVG."""
    groups = list(dict.fromkeys(row["group"] for each in results for row in each["rows"]))
    height = 40 + len(groups) * (ROW * len(results) + 10) + 20 * len(results)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" '
        'font-family="sans-serif" font-size="12">'
    ]
    for ratio in (1 / 16, 1 / 4, 1, 4, 16):
        x, label = place(ratio), f"{ratio:g}" if ratio >= 1 else f"1/{round(1 / ratio)}"
        stroke = "#444" if ratio == 1 else "#ddd"
        parts.append(f'<line x1="{x:.1f}" x2="{x:.1f}" y1="20" y2="{height}" stroke="{stroke}"/>')
        parts.append(f'<text x="{x:.1f}" y="14" text-anchor="middle">{label}</text>')
    y = 30
    for group in groups:
        parts.append(f'<text x="4" y="{y + 13}">{escape(group)}</text>')
        for colour, each in zip(COLOURS * len(results), results, strict=False):
            rows = [row for row in each["rows"] if row["group"] == group and "ratio" in row]
            if rows:
                parts += bar(rows, y, colour)
            y += ROW
        y += 10
    for colour, each in zip(COLOURS * len(results), results, strict=False):
        parts.append(f'<rect x="4" y="{y}" width="12" height="12" fill="{colour}"/>')
        about = f"{each['commit']}, {each['threads']} thread(s), Python {each['python']}"
        parts.append(f'<text x="22" y="{y + 11}">{escape(about)}</text>')
        y += 20
    return "\n".join([*parts, "</svg>\n"])


def bar(rows: list[dict[str, Any]], y: float, colour: str) -> list[str]:
    """Return the bar of the rows of a group, and its mark."""
    ratios = [row["ratio"] for row in rows]
    low, _, high = statistics.quantiles(ratios, n=4) if len(ratios) > 1 else ratios * 3
    mean = report.mean(rows)
    begin, end, mark = place(low), place(high), place(mean)
    return [
        f'<rect x="{begin:.1f}" y="{y + 4}" width="{max(end - begin, 1):.1f}" height="8" '
        f'fill="{colour}" opacity="0.5"/>',
        f'<rect x="{mark - 2:.1f}" y="{y + 1}" width="4" height="14" fill="{colour}"/>',
        f'<text x="{LEFT - 6}" y="{y + 13}" text-anchor="end">{mean:.2f}</text>',
    ]


def main() -> None:
    """Read the files and write the picture."""
    parser = argparse.ArgumentParser(prog="benchmarks.suite.plot")
    parser.add_argument("files", type=Path, nargs="+")
    parser.add_argument("--out", type=Path, default=RESULTS / "suite.svg")
    options = parser.parse_args()
    results = [json.loads(path.read_text(encoding="utf-8")) for path in options.files]
    options.out.write_text(drawing(results), encoding="utf-8")
    print(options.out)


if __name__ == "__main__":
    main()
