"""Everything that users call says what it does."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from importlib import import_module
from typing import Any

import pytest

import dovetail
from dovetail_aten import plain_signature

MODULES = [
    "",
    *("amp", "autograd", "backends", "distributions", "fft", "func", "library", "linalg", "nn"),
    *("autograd.forward_ad", "autograd.functional", "autograd.graph", "fx", "jit", "masked"),
    *("nn.functional", "nn.init", "nn.utils", "optim", "optim.lr_scheduler", "special"),
    *("overrides", "profiler", "signal.windows", "sparse", "utils.checkpoint"),
    *("testing", "utils", "utils.data", "utils._python_dispatch"),
]


def public(module: str) -> dict[str, Any]:
    """Return the callables of a module by name; of `Tensor`, those that do not begin with _."""
    if module == "Tensor":
        names = [name for name in dir(dovetail.Tensor) if not name.startswith("_")]
        found = {name: inspect.getattr_static(dovetail.Tensor, name) for name in names}
        return {name: value for name, value in found.items() if inspect.isfunction(value)}
    holder = import_module(f"dovetail.{module}".rstrip("."))
    found = {name: getattr(holder, name) for name in holder.__all__}
    return {
        name: value
        for name, value in found.items()
        if callable(value) and not isinstance(value, dovetail.dtype)
    }


@pytest.mark.parametrize("module", [*MODULES, "Tensor"])
def test_every_public_callable_has_a_docstring(module: str) -> None:
    assert [name for name, value in public(module).items() if not inspect.getdoc(value)] == []


def generated() -> Iterator[tuple[str, Any]]:
    for module in [*MODULES, "Tensor"]:
        for name, value in public(module).items():
            names = getattr(value, "__globals__", {})
            if names.get("__name__", "").startswith("dovetail_aten._generated.functions"):
                yield f"{module}.{name}".lstrip("."), value


def test_a_docstring_begins_with_how_the_function_is_called() -> None:
    differing = {}
    for name, function in generated():
        signature = plain_signature(function)
        first = re.sub(r"\[.*?\]", "", (function.__doc__ or "").partition("\n")[0])
        given = re.findall(r"[(,] *\*?(\w+)", first)
        kinds = [each.kind for each in signature.parameters.values()]
        plain = [each for each in signature.parameters if not each.endswith("s_")]
        if inspect.Parameter.VAR_KEYWORD not in kinds and set(given) != set(plain):
            differing[name] = given, plain
    assert differing == {}


def test_every_argument_is_explained() -> None:
    silent, explained = [], 0
    for name, function in generated():
        lines = (inspect.getdoc(function) or "").splitlines()
        for line, behind in zip(lines, [*lines[1:], ""], strict=False):
            is_argument = re.fullmatch(r"\w+ : .+", line)
            explained += bool(is_argument)
            if is_argument and not behind.startswith("    "):
                silent.append(f"{name}: {line.strip()}")
    assert silent == []
    assert explained > 1000
