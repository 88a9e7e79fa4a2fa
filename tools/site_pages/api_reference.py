"""Pages of the API reference: one for each module, from the docstrings."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

import dovetail

from .files import write_text

__all__ = ["write_reference"]

MODULES = {
    "Tensors and functions": {
        "dovetail": "functions, dtypes and classes of the front end",
        "dovetail.linalg": "linear algebra",
        "dovetail.fft": "Fourier transforms",
        "dovetail.special": "special functions",
        "dovetail.sparse": "sums and products of sparse tensors",
        "dovetail.masked": "reductions that leave out masked elements",
        "dovetail.signal.windows": "windows of signals",
        "dovetail.distributions": "probability distributions",
    },
    "Models and training": {
        "dovetail.nn": "layers, losses and containers",
        "dovetail.nn.functional": "layers and losses as functions",
        "dovetail.nn.init": "initial values of parameters",
        "dovetail.nn.utils": "gradient clipping, weight norms, fused layers",
        "dovetail.nn.utils.rnn": "packed and padded sequences",
        "dovetail.nn.utils.parametrize": "parameters computed from other parameters",
        "dovetail.optim": "optimizers",
        "dovetail.optim.lr_scheduler": "learning rate schedules",
        "dovetail.utils.data": "data sets and loaders",
        "dovetail.amp": "mixed precision",
    },
    "Derivatives": {
        "dovetail.autograd": "backward, gradients, custom functions, gradcheck",
        "dovetail.autograd.graph": "nodes, hooks on saved tensors, plans of a backward",
        "dovetail.autograd.forward_ad": "forward mode with dual numbers",
        "dovetail.autograd.functional": "Jacobians, Hessians and products with them",
        "dovetail.func": "grad, vjp, jvp, vmap and other transforms of functions",
        "dovetail.utils.checkpoint": "recompute activations in backward to save memory",
    },
    "Operators and backends": {
        "dovetail.library": "define operators and register kernels",
        "dovetail.backends": "register backends",
        "dovetail.testing": "checks of operators, and comparisons of tensors",
        "dovetail.overrides": "intercept functions: __torch_function__ and its modes",
        "dovetail.utils._python_dispatch": "intercept operators: __torch_dispatch__ and its modes",
    },
    "Inspection": {
        "dovetail.utils": "drawings of graphs and tensors, explanations of gradients",
        "dovetail.profiler": "time and memory by operator",
        "dovetail.fx": "programs as graphs that can be read, changed and run",
        "dovetail.jit": "traced functions; decorators that return their function unchanged",
    },
}
"""Modules with a page, by group, each with what it is for."""


def write_reference(folder: Path) -> None:
    """Write a page for each module, and one that lists them."""
    described: dict[int, str] = {}
    parts = [f"{_title('API reference')}\nWritten from the docstrings.\n"]
    for group, modules in MODULES.items():
        rows = []
        for module, about in modules.items():
            write_text(folder / f"{_page(module)}.rst", _of_module(module, about, described))
            rows.append(_row(_page(module), about))
        if "dovetail" in modules:
            about = "attributes and methods of tensors; most functions are methods too"
            rows.insert(1, _row("tensor", about))
        head = ".. list-table::\n   :widths: 40 60\n   :align: left\n"
        parts.append(f"{_title(group, '-')}\n{head}\n{''.join(rows)}")
    pages = [_page(module) for modules in MODULES.values() for module in modules]
    pages.insert(1, "tensor")
    listed = "".join(f"   {page}\n" for page in pages)
    parts.append(f".. toctree::\n   :hidden:\n   :maxdepth: 1\n\n{listed}")
    write_text(folder / "index.rst", "\n".join(parts))
    write_text(
        folder / "tensor.rst",
        f"{_title('dovetail.Tensor')}\n"
        ".. autoclass:: dovetail.Tensor\n   :members:\n   :inherited-members:\n",
    )


def _row(page: str, about: str) -> str:
    return f"   * - :doc:`{page}`\n     - {about}\n"


def _page(module: str) -> str:
    return module.replace(".", "_")


def _title(text: str, line: str = "=") -> str:
    return f"{text}\n{line * len(text)}\n"


def _of_module(module: str, about: str, described: dict[int, str]) -> str:
    """Return the page of a module; what has an entry on another page is named alone."""
    holder = import_module(module)
    names = {name for name in getattr(holder, "__all__", ()) if _is_shown(getattr(holder, name))}
    entries, elsewhere = [], []
    for name in sorted(names, key=lambda name: (name.startswith("_"), name.lower())):
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
