"""What there is in the library, counted from the code, for the READMEs: in an interpreter of its
own, since whatever else a process has imported may have put names into the library.
"""

from __future__ import annotations

import inspect
import json
import subprocess
import sys
from pathlib import Path

import dovetail
from dovetail import nn, optim
from dovetail.testing import op_infos
from dovetail.testing.runs import chosen_checks
from dovetail_aten import codegen
from dovetail_dispatcher import _C

__all__ = ["counted_pages", "write_counts"]

BEGIN, END = "<!-- counts -->\n", "<!-- end -->"
SELECTED = ("linear", "relu", "mse_loss")
"""The operators of the selective build in the README of the base library."""


def of_library() -> str:
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


def of_conformance() -> str:
    """Return the sentence that says what ``dovetail conformance`` runs."""
    return (
        f"There are {len(op_infos('aten')):,} sets of samples, one for each overload that is not "
        f"derived from another, and {len(chosen_checks(()))} checks.\n"
    )


def of_selective_build() -> str:
    """Return the sentence that says how much a selective build has."""
    library = codegen.Library.of_folder(Path(inspect.getfile(codegen)).parents[1])
    build = codegen.read_build(library, codegen.Selection("ops.yaml", SELECTED))
    included = {each.base_name for each in build.included}
    declared = {each.base_name for each in build.functions}
    needed = f"The example needs {len(included)} of the {len(declared)} operators"
    return f"{needed} that are declared here.\n"


PARAGRAPHS = {
    "README.md": of_library,
    "plugins/cpu/README.md": of_conformance,
    "plugins/aten/README.md": of_selective_build,
}
"""What stands between the marks of a page."""


def subclasses(package: object, base: type) -> int:
    """Return how many classes derived from `base` a package makes public, beside `base`."""
    found = {getattr(package, name) for name in dir(package) if name[0] != "_"}
    return sum([inspect.isclass(e) and issubclass(e, base) and e is not base for e in found])


def counted_pages(root: Path) -> dict[Path, str]:
    """Return the pages with numbers, text by path, as they have to be."""
    command = [sys.executable, __file__]
    made = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    pages = {}
    for name, paragraph in json.loads(made).items():
        head, mark, rest = (root / name).read_text(encoding="utf-8").partition(BEGIN)
        pages[root / name] = f"{head}{mark}{paragraph}{END}{rest.partition(END)[2]}"
    return pages


def write_counts(root: Path) -> None:
    """Write the paragraphs into their pages, if others stand there."""
    for page, text in counted_pages(root).items():
        if page.read_text(encoding="utf-8") != text:
            page.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    print(json.dumps({name: paragraph() for name, paragraph in PARAGRAPHS.items()}))
