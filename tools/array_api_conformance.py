"""Writes the table of docs/array_api.md: which functions give what the standard says.

python tools/array_api_conformance.py [calls of each function and dtype, default 25]
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests" / "support"))

from array_api_checks import check_refusals, check_signature, check_values  # noqa: E402 - found by the path above
from array_api_modules import MODULES  # noqa: E402

PAGE = ROOT / "docs" / "array_api.md"

MARK = "<!-- checks -->\n"
"""What the table stands behind, to the end of the page."""


def passes(check: Callable[..., Any], *args: Any) -> str:
    """Return why a check fails; nothing if it passes."""
    try:
        check(*args)
    except AssertionError as error:
        return str(error).splitlines()[0]
    return ""


def main() -> None:
    """Run every check, and write the page."""
    calls = int(sys.argv[1]) if len(sys.argv) > 1 else 25
    rows, failures, total, passed = [], [], 0, 0
    for module, entries in MODULES.items():
        found: list[str] = []
        for name, (dtypes, _) in entries.items():
            found += [passes(check_values, name, dtype, calls) for dtype in dtypes]
            found += [passes(check_signature, name), passes(check_refusals, name)]
        wrong = [each for each in found if each]
        failures += [f"- {module}: `{each[:160]}`" for each in wrong]
        rows.append(f"| {module} | {len(entries)} | {len(found) - len(wrong)} of {len(found)} |")
        total, passed = total + len(found), passed + len(found) - len(wrong)
        print(rows[-1], flush=True)
    count = sum(map(len, MODULES.values()))
    table = ["| module | functions | checks passed |", "|---|---|---|", *rows]
    table.append(f"| all | {count} | {passed} of {total} |")
    head, mark, _ = PAGE.read_text(encoding="utf-8").partition(MARK)
    text = f"{head}{mark}\nWith {calls} calls of each:\n\n" + "\n".join(table) + "\n"
    if failures:
        text += "\n" + "\n".join(failures) + "\n"
    PAGE.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
