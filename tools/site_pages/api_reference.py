"""Pages of the API reference: one for each module, from the docstrings."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

import dovetail

from .files import write_text

__all__ = ["write_reference"]

MODULES = {
    "dovetail": "functions and classes of the front end",
    "dovetail.nn": "modules",
    "dovetail.nn.functional": "functions of modules",
    "dovetail.nn.init": "initial values",
    "dovetail.optim": "optimizers",
    "dovetail.optim.lr_scheduler": "schedules",
    "dovetail.autograd": "graphs and derivatives",
    "dovetail.func": "transforms of functions",
    "dovetail.library": "operators of your own",
    "dovetail.backends": "backends of your own",
    "dovetail.linalg": "linear algebra",
    "dovetail.fft": "Fourier transforms",
    "dovetail.special": "special functions",
    "dovetail.distributions": "distributions",
    "dovetail.utils": "drawings, checkpoints, profiles",
    "dovetail.utils.data": "data sets and loaders",
    "dovetail.amp": "mixed precision",
    "dovetail.testing": "checks of operators",
}


def write_reference(folder: Path) -> None:
    """Write a page for each module, and one that lists them."""
    listed = "\n".join(f"   {_page(module)}" for module in MODULES)
    head = _title("API reference")
    text = "From the docstrings of the code. Every operator is a function, most are methods too."
    write_text(
        folder / "index.rst",
        f"{head}\n{text}\n\n.. toctree::\n   :maxdepth: 1\n\n{listed}\n   tensor\n",
    )
    described: dict[int, str] = {}
    for module, about in MODULES.items():
        write_text(folder / f"{_page(module)}.rst", _of_module(module, about, described))
    write_text(
        folder / "tensor.rst",
        f"{_title('dovetail.Tensor')}\n"
        ".. autoclass:: dovetail.Tensor\n   :members:\n   :inherited-members:\n",
    )


def _page(module: str) -> str:
    return module.replace(".", "_")


def _title(text: str) -> str:
    return f"{text}\n{'=' * len(text)}\n"


def _of_module(module: str, about: str, described: dict[int, str]) -> str:
    """Return the page of a module; what has an entry on another page is named alone."""
    holder = import_module(module)
    names = {name for name in getattr(holder, "__all__", ()) if _is_shown(getattr(holder, name))}
    entries, elsewhere = [], []
    for name in sorted(names, key=str.lower):
        value = getattr(holder, name)
        if id(value) in described:
            elsewhere.append(f"``{name}`` ({described[id(value)]})")
            continue
        described[id(value)] = module
        is_class = isinstance(value, type)
        entries.append(
            f".. {'autoclass' if is_class else 'autofunction'}:: {module}.{name}\n"
            + ("   :members:\n" if is_class else "")
        )
    also = f"Described elsewhere: {', '.join(elsewhere)}.\n\n" if elsewhere else ""
    text = f"{about[0].upper()}{about[1:]}.\n\n"
    return f"{_title(module)}\n{text}{also}" + "\n".join(entries) + "\n"


def _is_shown(value: object) -> bool:
    is_documented = callable(value) and bool(getattr(value, "__doc__", None))
    return is_documented and not isinstance(value, dovetail.dtype) and value is not dovetail.Tensor
