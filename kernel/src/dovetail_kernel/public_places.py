"""Public places of classes and functions: the modules that users import them from, and that
``repr``, ``help`` and pickles name. Modules that define them may move; these places stay.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from types import FunctionType, ModuleType
from typing import Any, Final, ForwardRef

__all__ = [
    "defining_module",
    "loaded_names",
    "publish",
    "publish_loaded",
    "publish_name",
    "rename_places",
]

_OURS: Final = "dovetail"
_NAMESPACE: Final = vars(ModuleType)["__dict__"]
_classes: Final[dict[type, tuple[str, str]]] = {}
"""Published classes, their places, and the modules that define them."""
_shown: tuple[str, Sequence[str]] = _OURS, ()
"""What `rename_places` was given last."""
_lazy: Final[dict[str, Mapping[str, str]]] = {}
"""Names of modules that are imported when first asked for, and the modules that have them."""
_awaited: Final[dict[str, list[tuple[str, str]]]] = {}
"""Modules that are not imported yet, and for whom they have which names."""
_modules = 0
"""How many modules were imported when nothing was left to publish of them."""


def publish(
    module: str,
    pickled: str = "",
    prefix: str = "",
    lazy: Mapping[str, str] = {},
    namespace: Mapping[str, Any] | None = None,
) -> None:
    """Let the classes and functions in a module's ``__all__`` name it in ``__module__``.

    The place with the fewest dots wins, whatever is imported first, a public one over a private
    one, and one of the front end over those of the distributions below. What the module loads
    later is published by `publish_loaded`.

    Parameters
    ----------
    module
        The module's ``__name__``; call `publish` at the end of the module.
    pickled
        Names, separated by spaces, that occur in pickles but not in ``__all__``.
    prefix
        ``linalg_``, where ``dovetail.linalg.det`` is defined as ``linalg_det``.
    lazy
        Names that the module loads on first access, with the modules that define them.
    namespace
        The module's namespace, if it is still imported under another name.
    """
    global _modules
    if lazy:
        _modules = 0
        _lazy[module] = lazy
        for name, source in lazy.items():
            _awaited.setdefault(source, []).append((module, name))
    found = loaded_names(sys.modules[module]) if namespace is None else namespace
    for name in (*found.get("__all__", ()), *pickled.split()):
        if name in found:
            publish_name(module, name, found[name], prefix and prefix + name)
    publish_loaded()


def loaded_names(module: ModuleType) -> dict[str, Any]:
    """Return the namespace of a module, which ``vars`` of a `CompleteModule` completes."""
    namespace: dict[str, Any] = _NAMESPACE.__get__(module)
    return namespace


def publish_loaded() -> None:
    """Publish what modules load when they are asked for it, as far as its module is imported:
    call this after such an import, by whatever name.
    """
    global _modules
    if len(sys.modules) == _modules:
        return
    _modules = len(sys.modules)
    for source in _awaited.keys() & sys.modules.keys():
        found = loaded_names(sys.modules[source])
        awaited = _awaited.pop(source, [])
        for module, name in awaited:
            if name in found:
                publish_name(module, name, found[name])
            else:  # its module is being imported
                _modules = 0
                _awaited.setdefault(source, []).append((module, name))


def publish_name(module: str, name: str, value: Any, called: str = "") -> None:
    """Let `value` name `module` as its place, if it is a class or function of Dovetail that is
    called `name` (or `called`, and from now on `name`) and has no better place.
    """
    if value.__class__ is FunctionType:
        before, defined = value.__module__, value.__globals__["__name__"]
    elif isinstance(value, type):
        before, defined = _classes.get(value) or (value.__module__, value.__module__)
    else:
        return
    if value.__qualname__ not in (name, called):
        return
    if before == module:
        if value not in _classes and value.__class__ is not FunctionType:
            _name_place(value, before, defined)
        return
    if before.__class__ is not str or not before.startswith(_OURS):
        return
    place = _shortest(module, name, value, defined) if "." in module else module
    if before != defined and _rank(before) <= _rank(place):
        return  # published, at a better place
    if _rank(place)[:2] == (False, True) and _rank(before)[:2] == (False, False):
        return  # a private name for what a public module of the front end defines
    if value.__class__ is FunctionType:
        value.__module__ = place
        if called:
            value.__qualname__ = name
        return
    _name_place(value, place, defined)


def _name_place(cls: type, place: str, defined: str) -> None:
    _classes[cls] = place, defined
    root, by_file = _shown
    for package in by_file:
        if f"{defined}.".startswith(f"{package}."):
            place = ".".join(defined.split(".")[: package.count(".") + 2])
    shown = root + place.removeprefix(_OURS) if f"{place}.".startswith(f"{_OURS}.") else place
    if shown != cls.__module__:
        _keep_what_reads_the_module(cls, defined)
        type.__setattr__(cls, "__module__", shown)
    if shown != place and "." in shown and place in sys.modules:
        sys.modules.setdefault(shown, sys.modules[place])  # where `inspect` looks for the source


def rename_places(root: str = _OURS, by_file: Sequence[str] = ()) -> None:
    """Let published classes name their places under another package, also those that are published
    later. Without arguments, they name their places again.

    Parameters
    ----------
    root
        What stands for ``dovetail``.
    by_file
        Packages whose classes name the module or package within that defines them.
    """
    global _shown
    _shown = root, by_file
    for cls, (place, defined) in list(_classes.items()):
        _name_place(cls, place, defined)


def defining_module(value: object) -> str:
    """Return the name of the module whose code defines a function or class, wherever users import
    it from; of another object, the module that it names, or "".
    """
    if value.__class__ is FunctionType:
        return value.__globals__.get("__name__") or ""  # code may be run in any namespace
    if isinstance(value, type) and value in _classes:
        return _classes[value][1]
    return getattr(value, "__module__", None) or ""


def _shortest(module: str, name: str, value: object, defined: str) -> str:
    """Return the outermost package of `module` that has the same by the same name, loaded later."""
    package = module
    while package := package.rpartition(".")[0]:
        source = _lazy.get(package, {}).get(name)
        if source is None or loaded_names(sys.modules[package]).get(name, value) is not value:
            continue
        if source == module or f"{defined}.".startswith(f"{source}."):
            module = package
    return module


def _rank(place: str) -> tuple[bool, bool, int]:
    return place.partition(".")[0] != _OURS, "._" in place, place.count(".")


def _keep_what_reads_the_module(cls: type, defined: str) -> None:
    """Keep `typing.get_type_hints` right, which looks for the names of annotations in the module
    that a class names, and keep `inspect` from showing lines of that module as the class's.
    """
    annotations = vars(cls).get("__annotations__")
    if sys.version_info >= (3, 14) and annotations is None and hasattr(cls, "_fields"):
        from annotationlib import Format, get_annotations  # evaluated late, and kept as they are

        annotations = cls.__annotations__ = get_annotations(cls, format=Format.FORWARDREF)
    if annotations:
        for name, annotation in annotations.items():
            if annotation.__class__ is ForwardRef and annotation.__forward_module__ is None:
                annotation = annotation.__forward_arg__  # of a NamedTuple
            if annotation.__class__ is str:
                annotations[name] = ForwardRef(annotation, module=defined, is_class=True)
    if "__firstlineno__" in vars(cls):  # since Python 3.13
        type.__delattr__(cls, "__firstlineno__")
