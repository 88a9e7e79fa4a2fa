"""Budgets of routes: how many steps and calls each of some hundreds may have.

    python tests/support/route_budgets.py           print the routes that do more than they may
    python tests/support/route_budgets.py --write   write the present numbers, unless one grew
    python tests/support/route_budgets.py --write --allow-growth

A line of `tests/budgets/routes.txt` is the call and its state, the steps of the plan, and the calls
in its text.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Final

FILE: Final = Path(__file__).parents[1] / "budgets" / "routes.txt"

Budgets = dict[str, tuple[int, int]]
"""Steps and calls by the title of a route."""


def present() -> Budgets:
    """Return the present numbers, from a fresh process: what others registered must not show."""
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith("DOVETAIL_")
    }
    # With several threads, routes look at sizes too.
    environment |= {"OMP_NUM_THREADS": "1", "DOVETAIL_NATIVE": "0"}
    command = [sys.executable, __file__, "--collect"]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    if done.returncode:
        raise RuntimeError(f"the routes could not be collected:\n{done.stderr}")
    return {title: (steps, calls) for title, (steps, calls) in json.loads(done.stdout).items()}


def read(text: str) -> Budgets:
    """Return the budgets that a file with `text` has."""
    found: Budgets = {}
    for line in text.splitlines():
        title, steps, calls = line.rsplit(", ", 2)
        found[title] = int(steps.removesuffix(" steps")), int(calls.removesuffix(" calls"))
    return found


def written(budgets: Budgets) -> str:
    """Return the text of the file."""
    return "".join(
        [f"{title}, {steps} steps, {calls} calls\n" for title, (steps, calls) in budgets.items()]
    )


def problems(allowed: Budgets, now: Budgets) -> list[str]:
    """Return which routes do more than they may, are gone, or have no budget."""
    found = [f"{title}: the call has no such route any more." for title in allowed.keys() - now]
    found += [f"{title}: the route has no budget yet." for title in now.keys() - allowed]
    for title, (steps, calls) in now.items():
        most_steps, most_calls = allowed.get(title, (steps, calls))
        if steps > most_steps or calls > most_calls:
            found.append(
                f"{title}: {steps} steps and {calls} calls, of {most_steps} and {most_calls}."
            )
    hint = "Make it do less, or write the numbers: python tests/support/route_budgets.py --write"
    return [*sorted(found), hint] if found else []


def main() -> int:
    """Compare, or write; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--write", action="store_true", help="write the present numbers")
    parser.add_argument("--allow-growth", action="store_true", help="even where a route grew")
    parser.add_argument("--collect", action="store_true", help="print the numbers as JSON")
    options = parser.parse_args()
    if options.collect:
        from route_calls import collect

        print(json.dumps({t: work for works in collect().values() for t, work in works.items()}))
        return 0
    now = present()
    allowed = read(FILE.read_text("utf-8")) if FILE.exists() else {}
    if options.write:  # routes that come and go are no growth
        both = now.keys() & allowed.keys()
        allowed, checked = {t: allowed[t] for t in both}, {t: now[t] for t in both}
    else:
        checked = now
    refused = [] if options.write and options.allow_growth else problems(allowed, checked)
    for line in refused:
        print(line)
    if options.write and not refused:
        FILE.write_text(written(now), "utf-8")
    return bool(refused)


if __name__ == "__main__":
    sys.exit(main())
