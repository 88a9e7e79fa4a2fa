"""The page with the results of the benchmark suite: a plot for each group, and the table."""

from __future__ import annotations

import json
from collections.abc import Iterable
from html import escape
from pathlib import Path
from statistics import geometric_mean
from typing import Any

from .files import write_text

__all__ = ["write_benchmarks"]

_ROW, _LEFT, _SCALE, _MOST = 18, 250, 150, 4.0


def _newest(results: Path) -> dict[str, Any] | None:
    """Return the newest result of the suite, with the rows that have a ratio; None without any."""
    files = sorted(results.glob("*.json"), key=lambda file: file.stat().st_mtime)
    if not files:
        return None
    found: dict[str, Any] = json.loads(files[-1].read_text(encoding="utf-8"))
    found["rows"] = [row for row in found["rows"] if row.get("ratio")]
    return found


def write_benchmarks(results: Path, made: Path) -> None:
    """Write the page of the newest result in `results`; one that says how to make it if there is
    none.
    """
    found = _newest(results)
    lines = ["# Benchmarks", ""]
    if found is None:
        lines += ["`make bench-suite` measures; there is no result in the repository.", ""]
        write_text(made / "benchmarks.md", "\n".join(lines))
        return
    rows = found["rows"]
    lines += [
        f"Written by `make bench-suite` at commit {found['commit']}: Python {found['python']},",
        f"NumPy {found['numpy']}, PyTorch {found['torch']}, {found['threads']} thread,",
        f"{found['machine']}. Times are microseconds; the ratio is ours to PyTorch's, so that less",
        "is better, with quartiles over alternating trials.",
        "",
    ]
    for group in dict.fromkeys(row["group"] for row in rows):
        chosen = [row for row in rows if row["group"] == group]
        name = f"benchmarks_{group.replace(' ', '_')}.svg"
        write_text(made / name, plot(group, chosen))
        mean = geometric_mean(row["ratio"] for row in chosen)
        lines += [
            f"## {group[0].upper()}{group[1:]}",
            "",
            f"{len(chosen)} rows; the geometric mean of the ratios is {mean:.2f}.",
            "",
            ":::{container} drawing",
            f"![{group}: ratios to PyTorch]({name})",
            ":::",
            "",
            "| call | mode | Dovetail | PyTorch | ratio |",
            "|---|---|---|---|---|",
            *(_line(row) for row in chosen),
            "",
        ]
    write_text(made / "benchmarks.md", "\n".join(lines))


def _line(row: dict[str, Any]) -> str:
    name = row["name"].replace("|", "\\|")
    return (
        f"| `{name}` | {row['mode']} | {row['dovetail']:.4g} | {row['torch']:.4g} | "
        f"{row['ratio']:.2f} |"
    )


def plot(title: str, rows: Iterable[dict[str, Any]]) -> str:
    """Return bars of the ratios, with a line at 1; those beyond 4 are cut, with their number."""
    rows = list(rows)
    width, height = _LEFT + _SCALE * _MOST + 90, _ROW * len(rows) + 46
    parts = []
    for number, row in enumerate(rows):
        y = 30 + _ROW * number
        length = min(row["ratio"], _MOST) * _SCALE
        colour = "#4f7d5c" if row["ratio"] <= 1 else "#b5713a"
        label = escape(f"{row['name']}, {row['mode']}"[:38])
        parts.append(
            f'<text x="{_LEFT - 8}" y="{y + 10}" text-anchor="end">{label}</text>'
            f'<rect x="{_LEFT}" y="{y}" width="{length:.1f}" height="12" fill="{colour}"/>'
            f'<text x="{_LEFT + length + 5:.1f}" y="{y + 10}">{row["ratio"]:.2f}</text>'
        )
    one = _LEFT + _SCALE
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height}" '
        f'viewBox="0 0 {width:.0f} {height}" role="img"><title>{escape(title)}</title>'
        '<rect width="100%" height="100%" fill="#fbfaf7"/>'
        '<g font-family="ui-monospace, Menlo, monospace" font-size="11" fill="#26241f">'
        f'<text x="{one}" y="18" text-anchor="middle">as PyTorch</text>'
        f'<line x1="{one}" x2="{one}" y1="24" y2="{height - 8}" stroke="#26241f"/>'
        f"{''.join(parts)}</g></svg>\n"
    )
