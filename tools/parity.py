"""Compares operators with PyTorch's on its own table of them, `op_db`.

``python tools/parity.py`` runs the whole table and prints how many entries pass by family, and
what fails that is not in the list of exceptions; ``python tools/parity.py NAME ...`` runs entries
whose names begin so, and says why each fails. Ends with status 1 if something fails that is not
listed, or passes that is.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Iterator
from multiprocessing import get_context
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests" / "support"))


def main() -> int:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("names", nargs="*", help="beginnings of names of entries (all)")
    parser.add_argument("--check", action="append", help="forward, gradients or errors (all)")
    parser.add_argument("--json", type=Path, help="write the outcomes to this file")
    parser.add_argument("--jobs", type=int, default=2, help="how many processes run (2)")
    options = parser.parse_args()

    from op_db_checks import CHECKS, entries, family_of

    chosen = [
        (name, check)
        for name in sorted(entries())
        if not options.names or name.startswith(tuple(options.names))
        for check in options.check or CHECKS
    ]
    outcomes = list(outcomes_of(chosen, options.jobs))
    if options.json:
        options.json.write_text(json.dumps([vars(each) for each in outcomes], indent=1) + "\n")
    print_table(outcomes, lambda name: family_of(entries()[name]))
    return print_surprises(outcomes)


def outcomes_of(chosen: list[tuple[str, str]], jobs: int) -> Iterator[Any]:
    """Yield the outcomes of checks, run in several processes."""
    if jobs == 1 or len(chosen) < 12:
        yield from filter(None, map(run_one, chosen))
        return
    with get_context("spawn").Pool(jobs) as pool:
        yield from filter(None, pool.imap(run_one, chosen, chunksize=4))


def run_one(pair: tuple[str, str]) -> Any:
    """Run one check of one entry."""
    from op_db_checks import run

    return run(*pair)


def print_table(outcomes: list[Any], family_of: Any) -> None:
    """Print how many entries passed, by family and check."""
    from op_db_checks import CHECKS

    passed: Counter[tuple[str, str]] = Counter()
    total: Counter[tuple[str, str]] = Counter()
    for each in outcomes:
        for family in (family_of(each.entry), "all"):
            # Error inputs are counted one by one: an entry has some that have nothing in common.
            single = each.check == "errors"
            passed[family, each.check] += each.passed if single else each.is_passed
            total[family, each.check] += each.count if single else 1
    print(f"{'family':32}" + "".join([f"{check:>14}" for check in CHECKS]))
    families = sorted({family for family, _ in total} - {"all"})
    for family in [*families, "all"]:
        cells = [f"{passed[family, check]}/{total[family, check]}" for check in CHECKS]
        print(f"{family:32}" + "".join([f"{cell:>14}" for cell in cells]))


def print_surprises(outcomes: list[Any]) -> int:
    """Print what failed and is not listed, and what is listed and passed; return the status."""
    from op_db_exceptions import exceptions

    listed = exceptions()
    surprises = 0
    for each in outcomes:
        reason = listed.get((each.entry, each.check))
        if each.is_passed and reason is not None:
            surprises += 1
            print(f"{each.entry} {each.check}: passes; take it off the list of exceptions")
        elif not each.is_passed and reason is None:
            surprises += 1
            print(f"{each.entry} {each.check}: {each.passed}/{each.count}; {each.reason}")
    return 1 if surprises else 0


if __name__ == "__main__":
    sys.exit(main())
