"""The page of the kinds of steps: `docs/plans.md`.

python tests/support/step_kinds.py           print whether the page is up to date
python tests/support/step_kinds.py --write   write it
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from importlib import import_module
from inspect import get_annotations
from pathlib import Path
from pkgutil import walk_packages
from typing import Final

from plan_examples import examples

import dovetail_autograd
import dovetail_dispatcher.calls
from dovetail_dispatcher.calls.plan import Expression, Step
from dovetail_dispatcher.record import Record

PAGE: Final = Path(__file__).parents[2] / "docs" / "plans.md"

_HEAD: Final = """\
# Plans

A route is composed as data, a `RoutePlan`: ordered steps, which are printed or executed. This page
lists all kinds of steps with their fields, for authors of executors. The operands of a step are
*values* (arguments of the operator, or results of earlier steps) and *expressions* of values.
[Architecture](architecture.md#plans) explains how plans are composed; `explain` shows the printed
text of a plan. `python tests/support/step_kinds.py --write` writes this page.
"""

_PLANS: Final = """\
As `repr` shows them, without compiled code and in one thread. Functions are shown by their names.
`f` and `e` are float32 tensors of two dimensions, `d` is double, `z` has no dimension; `g(x)` is a
leaf that requires grad, `n(x)` is a non-leaf with a graph, `view(x)` is a view, `inf` is an
inference tensor, `meta` is on the device meta, and `mirror` is on a third-party backend.
"""


def kinds(base: type[Record]) -> list[type[Record]]:
    """Return the classes of steps or expressions that plans are made of, by module and name."""
    for package in (dovetail_dispatcher.calls, dovetail_autograd):
        for found in walk_packages(package.__path__, f"{package.__name__}."):
            import_module(found.name)
    return sorted(set(_below(base)), key=lambda each: (each.__module__, each.__name__))


def parts() -> list[type[Record]]:
    """Return the classes of the records that fields of steps hold."""
    own = re.compile(r"\.(calls\.steps|recording)\.")
    others = set(kinds(Record)) - set(kinds(Step)) - set(kinds(Expression))
    return [each for each in kinds(Record) if each in others and own.search(each.__module__)]


def _below(base: type[Record]) -> Iterator[type[Record]]:
    for each in base.__subclasses__():
        if each.__module__.startswith("dovetail_"):
            below = list(_below(each))
            yield from below
            if not below:  # others are abstract
                yield each


def page() -> str:
    """Return the text of the page."""
    return "\n".join(
        [
            _HEAD,
            "## Steps\n",
            *_rows(kinds(Step)),
            "## Expressions\n",
            *_rows(kinds(Expression)),
            "## Parts of steps\n",
            *_rows(parts()),
            "## Forty plans\n",
            _PLANS,
            examples().rstrip() + "\n",
        ]
    )


def _rows(classes: list[type[Record]]) -> Iterator[str]:
    room = ""
    for each in classes:
        if each.__module__ != room:
            room = each.__module__
            yield f"### `{room}`\n\n| kind | fields | meaning |\n|---|---|---|"
        yield f"| `{each.__name__}` | {_fields(each)} | {_meaning(each)} |" + _end(each, classes)


def _end(each: type[Record], classes: list[type[Record]]) -> str:
    following = classes[classes.index(each) + 1 :]
    return "" if following and following[0].__module__ == each.__module__ else "\n"


def _fields(cls: type[Record]) -> str:
    types: dict[str, str] = {}
    for each in reversed(cls.__mro__):
        types |= get_annotations(each)
    fields = [f"`{name}: {types[name]}`" for name in cls._fields]
    return ", ".join(fields).replace("|", "\\|")


def _meaning(cls: type[Record]) -> str:
    return " ".join((cls.__doc__ or "").split("\n\n")[0].split())


def main() -> int:
    """Write the page, or say whether it is up to date; return the exit status."""
    if "--write" in sys.argv[1:]:
        PAGE.write_text(page(), "utf-8")
        return 0
    is_current = PAGE.read_text("utf-8") == page()
    print("up to date" if is_current else f"{PAGE.name} is not: give --write")
    return not is_current


if __name__ == "__main__":
    sys.exit(main())
