"""``import torch`` that imports Dovetail: `as_torch`, the basis of ``dovetail run``."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.metadata import Distribution, DistributionFinder
from importlib.metadata import version as _version_of
from importlib.util import find_spec
from os import PathLike
from types import ModuleType
from typing import Any, Final

from dovetail_kernel import Layout, MemoryFormat, Size, dtype, rename_places

from .names.missing import absent_module, names_of
from .torch_version import TorchVersion

TORCH_VERSION: Final = "2.13.0"
"""The version of PyTorch whose names and behaviour Dovetail follows."""

_HERE: Final = "dovetail"
_ROOTS: Final = {"torch": _HERE, "functorch": f"{_HERE}.functorch"}
"""What stands for each package of PyTorch's distribution."""
_BY_FILE: Final = (f"{_HERE}.nn.modules", f"{_HERE}.nn.parameter")
"""Where classes name the file of their topic, which PyTorch has, too."""


class _TorchDistribution(Distribution):
    """What packages that ask for the version of ``torch`` find: name and version, no files."""

    def read_text(self, filename: str) -> str | None:
        if filename != "METADATA":
            return None
        return f"Metadata-Version: 2.1\nName: torch\nVersion: {TORCH_VERSION}\n"

    def locate_file(self, path: str | PathLike[str]) -> Any:
        raise FileNotFoundError(f"{path}: 'torch' is Dovetail in this process and has no files")


class _TorchFinder(MetaPathFinder, Loader):
    """Finds ``torch.x`` where ``dovetail.x`` is; both names then mean one module.

    ``torch`` itself is a module of its own with Dovetail's names, since its ``__version__`` is
    PyTorch's.
    """

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname.partition(".")[0] not in _ROOTS:
            return None
        here = _name_here(fullname)
        if not _is_module(here):
            module, _, name = here.rpartition(".")
            raise ModuleNotFoundError(
                f"No module named {fullname!r}: {absent_module(module, name)}", name=fullname
            )
        return ModuleSpec(fullname, self, is_package=True)

    def find_distributions(
        self, context: DistributionFinder.Context | None = None
    ) -> Iterable[Distribution]:
        if context is not None and context.name == "torch":
            yield _TorchDistribution()

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return _torch() if spec.name == "torch" else None

    def exec_module(self, module: ModuleType) -> None:
        if module.__name__ != "torch":
            here = import_module(_name_here(module.__name__))
            vars(here).setdefault("__getattr__", names_of(here.__name__))
            sys.modules[module.__name__] = here
            _name_inner_modules(here)


def _name_here(name: str) -> str:
    """Return the name of the module that stands for one of PyTorch's."""
    root, dot, inner = name.partition(".")
    return f"{_ROOTS[root]}{dot}{inner}"


def _name_inner_modules(package: ModuleType) -> None:
    """Let ``torch.x.y`` be found at once where ``dovetail.x.y`` is imported: an import that made
    it would put the module in place of a function of its name: ``nn.utils.weight_norm``.
    """
    prefix = f"{package.__name__}."
    for name in [each for each in sys.modules if each.startswith(prefix)]:
        sys.modules.setdefault(f"torch{name.removeprefix(_HERE)}", sys.modules[name])


def _is_module(name: str) -> bool:
    try:
        return name in sys.modules or find_spec(name) is not None
    except ModuleNotFoundError:  # a parent is missing, or is no package
        return False


def _torch() -> ModuleType:
    """Return a module with all names of Dovetail, and PyTorch's version."""
    here = import_module(_HERE)
    torch = ModuleType("torch", here.__doc__)
    own = {"__name__", "__doc__", "__package__", "__loader__", "__spec__", "__path__", "__file__"}
    vars(torch).update((name, value) for name, value in vars(here).items() if name not in own)
    vars(torch)["__file__"] = here.__file__
    vars(torch)["__version__"] = TorchVersion(f"{TORCH_VERSION}+dovetail")
    vars(torch)["__getattr__"] = here.__getattr__
    vars(torch)["__dir__"] = here.__dir__
    vars(torch)["torch"] = torch
    return torch


@contextmanager
def as_torch() -> Iterator[ModuleType]:
    """Make ``import torch`` and imports of its modules return Dovetail inside a block.

    If PyTorch is already imported, it is removed from ``sys.modules`` and restored after the block.
    Modules imported in the block keep using Dovetail, so use a separate process if the rest of the
    program needs PyTorch. ``torch.save`` writes PyTorch's format.

    Yields
    ------
    ModuleType
        The module that ``import torch`` returns.

    Raises
    ------
    ModuleNotFoundError
        In the block, for a PyTorch module that Dovetail lacks; the message has the closest name.

    Examples
    --------
    ::

        with dovetail.as_torch():
            import einops
            einops.rearrange(dovetail.ones(2, 3), "a b -> b a")
    """
    with standing_in():
        yield import_module("torch")


@contextmanager
def standing_in() -> Iterator[MetaPathFinder]:
    """Let imports of ``torch`` find Dovetail inside a block, as `as_torch` does.

    Yields
    ------
    MetaPathFinder
        The finder of its modules.
    """
    from .serialization.settings import get_default_save_format, set_default_save_format

    finder, save_format = _TorchFinder(), get_default_save_format()
    aside = _take_torch_modules()
    sys.meta_path.insert(0, finder)
    try:
        set_default_save_format("torch")  # other programs read what this one saves
        with _named_as_in_torch():
            yield finder
    finally:
        set_default_save_format(save_format)
        sys.meta_path.remove(finder)
        _take_torch_modules()
        sys.modules.update(aside)


@contextmanager
def _named_as_in_torch() -> Iterator[None]:
    """Let classes name PyTorch's modules, as programs ask (``m.__module__.startswith("torch.nn")``)
    and pickles; by those of tensors, libraries that take arrays of any library (opt_einsum, einx,
    autoray) choose what to call. Let the texts of dtypes, layouts and sizes begin as PyTorch's,
    too: programs cut ``torch.`` off ``str(x.dtype)``.
    """
    texts = (dtype, Layout, MemoryFormat, Size)
    try:
        rename_places("torch", _BY_FILE)
        for each in texts:
            each._package = "torch"
        yield
    finally:
        rename_places()
        for each in texts:
            each._package = _HERE


def _take_torch_modules() -> dict[str, ModuleType]:
    """Return the modules of ``torch`` that are imported, after taking them out."""
    names = [name for name in sys.modules if name.partition(".")[0] in _ROOTS]
    return {name: sys.modules.pop(name) for name in names}


def notice() -> str:
    """Return the line that says that ``torch`` is Dovetail."""
    return f"dovetail {_version_of('dovetail')} stands in for torch in this process"
