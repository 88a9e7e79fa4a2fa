"""Everything that users call says what it does."""

from __future__ import annotations

import inspect
import re

import pytest
from public_callables import MODULES, generated, public


@pytest.mark.parametrize("module", [*MODULES, "Tensor"])
def test_every_public_callable_has_a_docstring(module: str) -> None:
    assert [name for name, value in public(module).items() if not inspect.getdoc(value)] == []


def test_a_docstring_begins_with_how_the_function_is_called() -> None:
    differing = {}
    for name, function in generated():
        calls = (function.__doc__ or "").partition("\n\n")[0]
        plain = re.sub(r"=[\[(].*?[\])]", "", calls)  # without defaults that are lists
        given = re.findall(r"[(,] *\*?(\w+)", plain)
        shown = [*inspect.signature(function).parameters]
        if {*given} != {*shown}:
            differing[name] = given, shown
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
