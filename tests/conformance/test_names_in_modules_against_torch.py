"""``__dict__`` of a module has the public names of PyTorch's, imported or not: programs choose
optimizers there by their names, and collect classes of distributions.
"""

from __future__ import annotations

import inspect
import subprocess
import sys
from importlib import import_module
from types import ModuleType
from typing import Any

import pytest
import torch

import dovetail

MODULES = [
    *("optim", "optim.lr_scheduler", "distributions", "distributions.transforms", "utils.data"),
    *("nn.modules", "nn.modules.activation", "nn.modules.loss", "nn.utils", "func"),
    *("profiler", "testing", "autograd", "library", "linalg", "special", "fft"),
]


def _named(module: ModuleType) -> set[str]:
    """Return the names of the classes and functions of a module that it has itself defined, or its
    inner modules.
    """
    return {
        name
        for name, value in vars(module).items()
        if not name.startswith("_")
        and (inspect.isclass(value) or inspect.isroutine(value))
        and str(getattr(value, "__module__", None)).startswith(module.__name__)
    }


def _found(lib: Any, name: str) -> ModuleType:
    return import_module(f"{lib.__name__}.{name}")


@pytest.mark.parametrize("name", MODULES)
def test_the_names_of_pytorch_are_in_the_namespace(name: str) -> None:
    ours = _found(dovetail, name)
    missing = _named(_found(torch, name)) - vars(ours).keys()
    assert not {each for each in missing if hasattr(ours, each)}


def test_classes_are_collected_and_chosen_by_name() -> None:
    def optimizers(lib: Any) -> list[str]:
        kinds = vars(lib.optim).items()
        base = lib.optim.Optimizer
        return sorted(n for n, v in kinds if isinstance(v, type) and issubclass(v, base))

    assert optimizers(dovetail) == optimizers(torch)
    weight = dovetail.nn.Parameter(dovetail.ones(1))
    assert isinstance(dovetail.optim.__dict__["Adam"]([weight]), dovetail.optim.Adam)


def test_importing_a_package_does_not_import_its_names() -> None:
    program = "import sys, dovetail; dovetail.optim; print('dovetail.optim.adamax' in sys.modules)"
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    assert found.stdout.split() == [b"False"]
