"""Writes the docstrings of the operators: as hatchling's hook when the distribution is built or
installed in place, and for make.

    python hatch_build.py

They are made of the declarations, which takes PyYAML and the code generator. A source distribution
has them already.
"""

from __future__ import annotations

import runpy
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any, Final

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

HERE: Final = Path(__file__).resolve().parent
PACKAGE: Final = HERE / "src" / "dovetail_aten"
LOWER_LAYERS: Final = [HERE.parents[1] / name / "src" for name in ("kernel", "dispatcher")]
"""What the generator imports, in a checkout: there it need not be installed."""


def run_generator(arguments: list[str]) -> None:
    """Run the code generator of this folder, even if what it generates is broken or not there.

    The package `dovetail_aten` imports the generated modules. An empty package stands in its place,
    through which the generator finds its own modules.
    """
    package = ModuleType(PACKAGE.name)
    package.__path__ = [str(PACKAGE)]
    sys.modules[PACKAGE.name] = package
    sys.path[:0] = [str(path) for path in LOWER_LAYERS if path.is_dir()]
    sys.argv[1:] = arguments
    runpy.run_module(f"{PACKAGE.name}.codegen", run_name="__main__", alter_sys=False)


class Docstrings(BuildHookInterface[Any]):
    """Writes the docstrings before a distribution is built of them."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Write them, in a checkout; what a source distribution has is what it was built with."""
        if LOWER_LAYERS[0].is_dir():
            subprocess.run([sys.executable, __file__], check=True)


if __name__ == "__main__":
    run_generator(["--docstrings"])
