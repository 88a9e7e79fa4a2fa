"""What there is in the library, counted from the code, for the README: in an interpreter of its
own, since whatever else a process has imported may have put names into the library.
"""

from __future__ import annotations

import inspect
import subprocess
import sys
from pathlib import Path

import dovetail
from dovetail import nn, optim
from dovetail.testing import op_infos
from dovetail_dispatcher import _C

__all__ = ["with_counts", "write_counts"]

BEGIN, END = "<!-- counts -->\n", "<!-- end -->"


def counts() -> str:
    """Return the paragraph that says how much there is."""
    infos = op_infos("aten")
    names = [n for n in _C._dispatch_get_all_op_names() if n.startswith("aten::")]
    bases = {name.partition(".")[0] for name in names}
    modules = subclasses(nn, nn.Module)
    optimizers = subclasses(optim, optim.Optimizer)
    distributions = subclasses(dovetail.distributions, dovetail.distributions.Distribution)
    return (
        f"In numbers, counted by `make docs`: {len(bases):,} operators of the base library, in "
        f"{len(names):,} overloads; {len(infos):,} sets of\n"
        "samples, on which every generic check runs; "
        f"{modules} modules, {optimizers} optimizers and {distributions} probability "
        "distributions.\n"
    )


def subclasses(package: object, base: type) -> int:
    """Return how many classes derived from `base` a package makes public, beside `base`."""
    found = {getattr(package, name) for name in dir(package) if name[0] != "_"}
    return sum([inspect.isclass(e) and issubclass(e, base) and e is not base for e in found])


def with_counts(text: str) -> str:
    """Return a text with the paragraph between its marks."""
    head, _, rest = text.partition(BEGIN)
    counted = subprocess.run(
        [sys.executable, __file__], capture_output=True, text=True, check=True
    ).stdout
    return f"{head}{BEGIN}{counted}{END}{rest.partition(END)[2]}"


def write_counts(readme: Path) -> None:
    """Write the paragraph into the README, if another stands there."""
    text = readme.read_text(encoding="utf-8")
    written = with_counts(text)
    if written != text:
        readme.write_text(written, encoding="utf-8")


if __name__ == "__main__":
    print(counts(), end="")
