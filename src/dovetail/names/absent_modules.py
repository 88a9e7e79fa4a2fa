"""Errors for imports of modules that are not in Dovetail."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Final

from .absent_names import absent_module, names_of
from .refused_names import is_refused_module

_HERE: Final = __name__.partition(".")[0]


class _AbsentModules:
    """Says of ``dovetail.x`` what there is in its place, and makes the modules that are there for
    names that refuse: asked last.
    """

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        module, _, name = fullname.rpartition(".")
        if fullname.partition(".")[0] != _HERE or not module:
            return None
        if is_refused_module(fullname):
            return ModuleSpec(fullname, self, is_package=True)  # type: ignore[arg-type]
        if _is_only_asked():
            return None
        raise ModuleNotFoundError(
            f"No module named {fullname!r}: {absent_module(module, name)}", name=fullname
        )

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return None

    def exec_module(self, module: ModuleType) -> None:
        vars(module)["__getattr__"] = names_of(module.__name__)


def _is_only_asked() -> bool:
    """Return whether `importlib.util.find_spec` asks, which says None of what there is not."""
    frame = sys._getframe()
    while frame.f_back is not None and frame.f_globals.get("__name__") in (
        __name__,
        "importlib._bootstrap",
    ):
        frame = frame.f_back
    return frame.f_globals.get("__name__") == "importlib.util"


_finder: Final = _AbsentModules()


def report_absent_modules() -> None:
    """Ask the finder after all others, once."""
    if _finder not in sys.meta_path:
        sys.meta_path.append(_finder)
