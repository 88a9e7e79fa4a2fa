"""Names of a package that stand in the stub beside its ``__init__.py``: the one list of them, for
type checkers and for Python, which imports their modules when they are first asked for.

A stub is read as type checkers read it: ``from .adam import Adam as Adam`` makes ``Adam`` public,
``from .hooks import Hook`` a name that is found and not public, ``from .losses import *`` what that
module lists in ``__all__``, or else defines, and a name with an annotation or a definition is one
that ``__init__.py`` has itself. A name that begins with an underscore is in no ``__all__``.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from importlib import import_module
from os.path import splitext
from types import FunctionType, ModuleType
from typing import Any, Final, NamedTuple

from .public_places import defining_module, loaded_names, publish, publish_loaded

__all__ = ["CompleteModule", "Stub", "attach_stub", "read_stub"]

_IMPORT: Final = re.compile(r"^from (\.*)(\S*) import (?:\(([^)]*)\)|(.*))$", re.MULTILINE)
_OWN: Final = re.compile(r"^(?:def |class )?(?!from\b|import\b)(\w+)(?=[:(]| = )", re.MULTILINE)


class CompleteModule(ModuleType):
    """A module with a stub whose ``__dict__`` has all of its public names: looking at it imports
    what attributes import on first access. Programs collect classes there.

    Python looks up the attributes of such a module more slowly than those of a plain one.
    """

    @property
    def __dict__(self) -> dict[str, Any]:  # type: ignore[override]
        namespace = loaded_names(self)
        for name in namespace["__all__"]:
            getattr(self, name)
        return namespace


class Stub(NamedTuple):
    """Names listed in the stub of a module."""

    public: list[str]
    submodules: frozenset[str]
    private: list[str]
    """Names that it exports, and that begin with an underscore."""
    elsewhere: dict[str, str]
    """Names, with the modules that define them."""


def read_stub(module: str) -> Stub:
    """Return the names in the stub of a module that is being imported."""
    spec: Any = sys.modules[module].__spec__
    text = spec.loader.get_data(splitext(spec.origin)[0] + ".pyi").decode()  # in archives, too
    package = module if spec.submodule_search_locations is not None else spec.parent
    public, submodules, elsewhere = list[str](), set[str](), dict[str, str]()
    for dots, inner, several, single in _IMPORT.findall(text):
        around = package.split(".")[: package.count(".") + 2 - len(dots)] if dots else []
        source = ".".join([*around, *filter(None, [inner])])
        for each in (several or single).split(","):
            name, _, renamed = each.strip().partition(" as ")
            if name == "*":
                names = _names_of_star(import_module(source))
                public += names
                elsewhere.update(dict.fromkeys(names, source))
            elif name:
                if renamed:
                    public.append(name)
                if source == package:
                    submodules.add(name)
                else:
                    elsewhere[name] = source
    public += _OWN.findall(text)
    names = [name for name in dict.fromkeys(public) if not name.startswith("_")]
    private = [name for name in public if name.startswith("_")]
    return Stub(names, frozenset(submodules), private, elsewhere)


def _names_of_star(module: ModuleType) -> list[str]:
    """Return what a star imports: what ``__all__`` lists, else the functions and classes that the
    module defines, for Python as for type checkers.
    """
    listed: list[str] | None = getattr(module, "__all__", None)
    if listed is not None:
        return listed
    return [
        name
        for name, value in vars(module).items()
        if name[0] != "_"
        and isinstance(value, (FunctionType, type))
        and defining_module(value) == module.__name__
    ]


def attach_stub(
    module: str,
    *,
    publishes: bool = False,
    pickled: str = "",
    missing: Callable[[str], object] | None = None,
) -> Callable[[str], Any]:
    """Set a module's ``__all__`` and ``__dir__`` from its stub, and return its ``__getattr__``,
    which imports the names on first access. Call this at the end of the module.

    Submodules from which the stub imports names are attributes too. If a name is also the name of a
    submodule, import the name in ``__init__.py``: importing the submodule sets it on the package.

    Parameters
    ----------
    module
        The module's ``__name__``.
    publishes
        Whether to call `publish` for the module.
    pickled
        As for `publish`.
    missing
        Function called with any other name; default: raise AttributeError.
    """
    namespace = loaded_names(sys.modules[module])
    public, submodules, private, elsewhere = read_stub(module)
    namespace["__all__"] = public
    namespace["__dir__"] = lambda: sorted({*namespace, *public, *submodules})
    later = {name: source for name, source in elsewhere.items() if name not in namespace}
    prefix = f"{module}."
    inner = {
        s.removeprefix(prefix).partition(".")[0] for s in elsewhere.values() if s.startswith(prefix)
    }
    for name in later.keys() & [*public, *private]:
        module_of_name = sys.modules.get(later[name])
        if module_of_name is not None and name in (names := loaded_names(module_of_name)):
            namespace[name] = names[name]
    if publishes:
        publish(module, pickled, lazy=later)

    def found(name: str) -> Any:
        if name in submodules or (name in inner and name not in later):
            return import_module(f"{module}.{name}")
        if name not in later:
            if missing is not None:
                return missing(name)
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        value = namespace[name] = getattr(import_module(later[name]), name)
        publish_loaded()
        return value

    return found
