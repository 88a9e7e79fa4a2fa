"""Compares operators with PyTorch's on its own table of them, `op_db`; modules on `module_db`.

``python tools/parity.py`` runs the whole table and prints how many entries pass by family, and
what fails that is not in the list of exceptions; ``python tools/parity.py NAME ...`` runs entries
whose names begin so, and says why each fails. ``--table module_db`` takes the modules, and
``--table layout`` the strides of results for tensors in other memory orders. Ends with
status 1 if something fails that is not listed, or passes that is.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Iterator
from functools import partial
from importlib import import_module
from multiprocessing import get_context
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests" / "support"))


def main() -> int:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("names", nargs="*", help="beginnings of names of entries (all)")
    parser.add_argument("--check", action="append", help="name of a check (all)")
    parser.add_argument("--table", choices=["op_db", "module_db", "layout"], default="op_db")
    parser.add_argument("--json", type=Path, help="write the outcomes to this file")
    parser.add_argument("--jobs", type=int, default=2, help="how many processes run (2)")
    options = parser.parse_args()

    table = import_module(f"{options.table}_checks")
    chosen = [
        (name, check)
        for name in sorted(table.entries())
        if not options.names or name.startswith(tuple(options.names))
        for check in options.check or table.CHECKS
    ]
    outcomes = list(outcomes_of(options.table, chosen, options.jobs))
    if options.json:
        options.json.write_text(json.dumps([vars(each) for each in outcomes], indent=1) + "\n")
    print_table(outcomes, table)
    return print_surprises(outcomes, import_module(f"{options.table}_exceptions").exceptions())


def outcomes_of(table: str, chosen: list[tuple[str, str]], jobs: int) -> Iterator[Any]:
    """Yield the outcomes of checks, run in several processes."""
    if jobs == 1 or len(chosen) < 12:
        yield from filter(None, map(partial(run_one, table), chosen))
        return
    with get_context("spawn").Pool(jobs) as pool:
        yield from filter(None, pool.imap(partial(run_one, table), chosen, chunksize=4))


def run_one(table: str, pair: tuple[str, str]) -> Any:
    """Run one check of one entry."""
    return import_module(f"{table}_checks").run(*pair)


def print_table(outcomes: list[Any], table: Any) -> None:
    """Print how many entries passed, by family and check."""
    passed: Counter[tuple[str, str]] = Counter()
    total: Counter[tuple[str, str]] = Counter()
    for each in outcomes:
        for family in (table.family_of(table.entries()[each.entry]), "all"):
            # Error inputs are counted one by one: an entry has some that have nothing in common.
            single = each.check == "errors"
            passed[family, each.check] += each.passed if single else each.is_passed
            total[family, each.check] += each.count if single else 1
    print(f"{'family':32}" + "".join([f"{check:>14}" for check in table.CHECKS]))
    families = sorted({family for family, _ in total} - {"all"})
    for family in [*families, "all"]:
        cells = [f"{passed[family, check]}/{total[family, check]}" for check in table.CHECKS]
        print(f"{family:32}" + "".join([f"{cell:>14}" for cell in cells]))


def print_surprises(outcomes: list[Any], listed: dict[tuple[str, str], str]) -> int:
    """Print what failed and is not listed, and what is listed and passed; return the status."""
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
