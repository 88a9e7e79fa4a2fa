"""The names that are here, by PyTorch's modules: counted and listed from the code."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

import dovetail

from .files import write_text

__all__ = ["names_by_module", "write_names"]

MODULES = (
    "",
    "nn",
    "nn.functional",
    "nn.init",
    "nn.utils",
    "optim",
    "optim.lr_scheduler",
    "linalg",
    "fft",
    "special",
    "signal.windows",
    "autograd",
    "func",
    "library",
    "distributions",
    "utils.data",
    "amp",
    "testing",
)


def names_by_module() -> dict[str, list[str]]:
    """Return the public names of each module of `MODULES`, and of ``Tensor``."""
    found = {}
    for name in MODULES:
        module = import_module(f"dovetail.{name}".rstrip("."))
        listed = getattr(module, "__all__", None) or dir(module)
        found[f"torch.{name}".rstrip(".")] = _public(listed)
    found["torch.Tensor"] = _public(dir(dovetail.Tensor))
    return found


def _public(names: list[str]) -> list[str]:
    return sorted({name for name in names if not name.startswith("_")}, key=str.lower)


def write_names(path: Path) -> None:
    """Write the page with the table."""
    table = names_by_module()
    lines = [
        "# Names that are here",
        "",
        "Written from the code when this site is built. A name that is not listed raises an error",
        "that says so, and names the nearest that is.",
        "",
        "| PyTorch's module | names here |",
        "|---|---|",
        *(f"| [`{name}`](#{_anchor(name)}) | {len(names)} |" for name, names in table.items()),
        "",
    ]
    for name, names in table.items():
        lines += [f"({_anchor(name)})=", f"## {name}", "", " ".join(f"`{each}`" for each in names)]
        lines += [""]
    write_text(path, "\n".join(lines))


def _anchor(name: str) -> str:
    return "names-of-" + name.replace(".", "-").lower()
