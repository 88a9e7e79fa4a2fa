"""Print rows, the geometric mean of each group and family, and the worst rows."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

GOALS = {
    "small calls": 0.20,
    "around calls": 0.55,
    "custom operators": 0.10,
    "backward": 0.13,
    "medium arrays": 1.0,
    "large arrays": 0.65,
    "models": 0.42,
}

Measured = dict[str, Any]


def mean(rows: list[Measured]) -> float:
    """Return the geometric mean of the ratios."""
    return math.exp(sum(math.log(row["ratio"]) for row in rows) / len(rows))


def title(row: Measured) -> str:
    """Return the name and the mode of a row."""
    return row["name"] if row["mode"] == "plain" else f"{row['name']}  [{row['mode']}]"


def line(row: Measured, sides: tuple[str, ...]) -> str:
    """Return one row as a line of the table."""
    if "failed" in row:
        return f"  {title(row):52} failed: {row['failed']}"
    shown = "".join(f"{row[side]:12.2f}" for side in sides)
    if "ratio" not in row:
        return f"  {title(row):52}{shown}"
    low, _, high = row["quartiles"]
    return f"  {title(row):52}{shown}{row['ratio']:8.2f}   ({low:.2f}-{high:.2f})"


def summary(rows: list[Measured], sides: tuple[str, ...], worst: int = 10) -> str:
    """Return the geometric means by group and family, and the worst rows of each group."""
    lines: list[str] = []
    groups = dict.fromkeys(row["group"] for row in rows)
    for group in groups:
        members = [row for row in rows if row["group"] == group and "ratio" in row]
        if not members:
            continue
        goal = GOALS.get(group)
        lines.append("")
        lines.append(
            f"{group}: {mean(members):.3f} over {len(members)} rows"
            + (f", goal {goal:.2f}" if goal else "")
        )
        for mode in dict.fromkeys(row["mode"] for row in members):
            some = [row for row in members if row["mode"] == mode]
            if len(some) < len(members):
                lines.append(f"  {mode:24}{mean(some):8.3f} over {len(some)}")
        for family in dict.fromkeys(row["family"] for row in members):
            some = [row for row in members if row["family"] == family]
            lines.append(f"    {family:22}{mean(some):8.3f} over {len(some)}")
        lines.append(f"  worst {worst}:")
        ordered = sorted(members, key=lambda row: -row["ratio"])
        lines.extend(line(row, sides) for row in ordered[:worst])
    failed = [row for row in rows if "failed" in row]
    if failed:
        lines += ["", f"failed: {len(failed)} rows", *(line(row, sides) for row in failed)]
    return "\n".join(lines)


def write(path: Path, about: dict[str, Any], rows: list[Measured]) -> None:
    """Write the rows as JSON, one a line, with what was measured and where."""
    path.parent.mkdir(parents=True, exist_ok=True)
    body = ",\n".join("    " + json.dumps(rounded(row), ensure_ascii=False) for row in rows)
    head = json.dumps(about, ensure_ascii=False)[1:-1]
    path.write_text(f'{{{head},\n  "rows": [\n{body}\n  ]}}\n', encoding="utf-8")


def rounded(row: Measured) -> Measured:
    """Return the row with numbers of four digits."""

    def short(value: Any) -> Any:
        if isinstance(value, float):
            return float(f"{value:.4g}")
        return [short(each) for each in value] if isinstance(value, list) else value

    return {key: short(value) for key, value in row.items()}
