"""Makes Dovetail stand in for torch in the Python processes that a program under ``dovetail run``
starts.

``dovetail run`` puts this folder on ``PYTHONPATH``, and Python imports ``sitecustomize`` when it
starts. The ``sitecustomize`` that was found before is executed too.
"""

from __future__ import annotations

import atexit
import os.path
import sys
from collections.abc import Iterable, Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import find_spec, module_from_spec
from types import ModuleType
from typing import Any

_FOLDER = os.path.dirname(os.path.abspath(__file__))
_PACKAGE = os.path.dirname(os.path.dirname(_FOLDER))


class _FirstImport(MetaPathFinder):
    """Waits for the first import of torch, so that other programs start as fast as before."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname.partition(".")[0] not in ("torch", "functorch"):
            return None
        finder = self._stand_in()
        return None if finder is None else finder.find_spec(fullname, path, target)

    def find_distributions(self, context: Any) -> Iterable[Any]:
        """Return the distribution ``torch`` that importlib.metadata asks for."""
        finder = self._stand_in() if context.name == "torch" else None
        return [] if finder is None else finder.find_distributions(context)

    def _stand_in(self) -> Any:
        sys.meta_path.remove(self)
        here = find_spec("dovetail")
        place = None if here is None or here.origin is None else os.path.dirname(here.origin)
        if place is None or os.path.realpath(place) != os.path.realpath(_PACKAGE):
            return None  # another environment's interpreter
        from dovetail.torch_imports import standing_in

        block = standing_in()
        atexit.register(block.__exit__, None, None, None)
        return block.__enter__()


def _execute_next() -> None:
    """Execute the sitecustomize that this module hides."""
    sys.path[:] = [each for each in sys.path if os.path.abspath(each) != _FOLDER]
    spec = PathFinder.find_spec("sitecustomize", sys.path)
    if spec is not None and spec.loader is not None:
        sys.modules["sitecustomize"] = module = module_from_spec(spec)
        spec.loader.exec_module(module)


waiting = _FirstImport()
sys.meta_path.insert(0, waiting)
_execute_next()
