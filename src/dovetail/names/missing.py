"""Errors for missing names and modules, and names that are imported on first access."""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from importlib import import_module
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any, Final

from dovetail_kernel import publish, publish_loaded

_PLACES: Final = (
    "dovetail",
    "dovetail.nn.functional",
    "dovetail.nn",
    "dovetail.linalg",
    "dovetail.special",
    "dovetail.fft",
    "dovetail.func",
    "dovetail.autograd",
    "dovetail.utils",
    "dovetail.nn.utils",
)
"""Where a name is looked for that its module does not have."""

_REASONS: Final = {
    "sparse": "dovetail.sparse_coo_tensor and sparse_csr_tensor make tensors of sparse layouts.",
    "qat": "Quantized dtypes are not supported: keep tensors floating.",
    "intrinsic": "Quantized dtypes are not supported: keep tensors floating.",
    "quantiz": "Quantized dtypes are not supported: keep tensors floating.",
    "jit": "Programs run as they stand, without a compiler.",
    "export": "Programs run as they stand: a graph cannot be exported. Save the state_dict.",
    "_inductor": "Programs run as they stand, without a compiler.",
    "nested": "Nested tensors are not supported: pad, and pass a mask.",
}
"""Why what begins with such a word is not there, and what to do."""


class AbsentNameError(AttributeError):
    """A module of Dovetail does not have a name; says why, if known, and names the nearest.

    The text is made when it is asked for: ``hasattr`` searches nothing.
    """

    def __init__(self, module: str, attribute: str, remedy: str = "") -> None:
        super().__init__(module, attribute)
        self.module = module
        self.attribute = attribute
        self.remedy = remedy

    def __str__(self) -> str:
        return absence(self.module, self.attribute, self.remedy)


def absence(module: str, attribute: str, remedy: str = "", *, as_module: bool = False) -> str:
    """Return the sentences that say that `module` has no `attribute`, and what to use: what there
    is in its place, `remedy`, or the nearest name.

    Parameters
    ----------
    as_module
        It was imported as a module.
    """
    from .module_remedies import remedy_of  # for messages alone

    sentences = [f"module {module!r} has no attribute {attribute!r}: it is not in Dovetail."]
    remedy = remedy_of(module, attribute, as_module=as_module) or remedy
    reason = next(
        iter([text for word, text in _REASONS.items() if attribute.startswith(word)]), None
    )
    if remedy:
        sentences.append(remedy)
    elif reason is not None:
        sentences.append(reason)
    elif (nearest := _nearest(module, attribute)) is not None:
        sentences.append(f"The nearest is {nearest}.")
    else:
        sentences.append(f"dir({module}) lists what there is.")
    return " ".join(sentences)


def absent_module(module: str, name: str) -> str:
    """Return the sentences that say that the package `module` has no module `name`, and what to
    use: also what the package says of its names.
    """
    try:
        getattr(sys.modules.get(module), name)
    except AbsentNameError as error:
        return absence(module, name, error.remedy, as_module=True)
    except Exception:  # of a package that says nothing, or is not there itself
        pass
    return absence(module, name, as_module=True)


def _nearest(module: str, attribute: str) -> str | None:
    from difflib import get_close_matches  # for messages alone

    for place in _PLACES:
        if place != module and attribute in dir(import_module(place)):
            return f"{place}.{attribute}"
    here = [name for name in dir(sys.modules[module]) if not name.startswith("_")]
    close = get_close_matches(attribute, here, n=1, cutoff=0.7)
    return f"{module}.{close[0]}" if close else None


def names_of(
    module: str,
    submodules: Collection[str] = (),
    elsewhere: Mapping[str, str] = {},
    remedy: str = "",
    remedies: Mapping[str, str] = {},
    *,
    prefix: str = "",
    pickled: str = "",
    namespace: Mapping[str, object] | None = None,
) -> Callable[[str], Any]:
    """Return the ``__getattr__`` of a public module, and publish its names (see
    `dovetail_kernel.publish`). Call this at the end of the module.

    Parameters
    ----------
    module
        The module's ``__name__``.
    submodules
        Submodules, imported on first access.
    elsewhere
        Names, with the modules that define them, which are imported on first access.
    remedy
        Advice for the other names.
    remedies
        Advice for single names.
    prefix, pickled, namespace
        As for `dovetail_kernel.publish`.

    Returns
    -------
    Callable
        Gives the value of a name, or raises `AbsentNameError`.
    """

    def attribute_of_module(name: str) -> Any:
        if name == "__path__":  # so that imports of what would be inside ask the finders
            return []
        if name in submodules:
            return import_module(f"{module}.{name}")
        if name in elsewhere:
            value = getattr(import_module(elsewhere[name]), name)
            publish_loaded()
            setattr(sys.modules[module], name, value)
            return value
        from .refused_names import is_refused_module, refused  # for names that are missing alone

        if (value := refused(module, name)) is not None:
            return value
        if is_refused_module(f"{module}.{name}"):
            return import_module(f"{module}.{name}")
        raise AbsentNameError(module, name, remedies.get(name, remedy))

    publish(module, pickled, prefix, elsewhere, namespace)
    return attribute_of_module


def serve_names(
    module: str,
    submodules: Collection[str] = (),
    elsewhere: Mapping[str, str] = {},
    remedy: str = "",
    *,
    prefix: str = "",
) -> None:
    """Give a public module the ``__getattr__`` that `names_of` makes, at the end of the module.

    A type checker does not see it there, and so does not take any name for one of the module's.

    Parameters
    ----------
    module, submodules, elsewhere, remedy, prefix
        As for `names_of`.
    """
    vars(sys.modules[module])["__getattr__"] = names_of(
        module, submodules, elsewhere, remedy, prefix=prefix
    )


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
        from .refused_names import is_refused_module  # for modules that are missing alone

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
        serve_names(module.__name__)


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
