"""Docstrings of the generated functions: one file of a library, which is read when one is asked
for.
"""

from __future__ import annotations

import sys
from functools import cache
from os.path import join
from types import FunctionType
from typing import Final

DOCSTRINGS: Final = "docstrings.json"
"""File of a generated package with the docstrings by the functions' names."""

_UNPACKED: Final = (
    "The docstrings of {package} have not been written. Write them: "
    "python -m dovetail_aten.codegen --docstrings, with --folder for another library than the base "
    "library."
)


def document(function: FunctionType) -> str | None:
    """Give a generated function its docstring, and return it; None if it has none."""
    before, generated, _ = function.__globals__["__name__"].partition("._generated")
    package = before + generated
    texts = documented(package)
    if texts is None:
        function.__doc__ = _UNPACKED.format(package=package)
    else:
        function.__doc__ = texts.get(function.__name__)
    return function.__doc__


@cache
def documented(package: str) -> dict[str, str] | None:
    """Return the docstrings of a generated package by the names of the functions; None if their
    file has not been written.
    """
    module = sys.modules[package]
    assert module.__spec__ is not None
    loader = module.__spec__.loader
    path = join(module.__path__[0], DOCSTRINGS)
    try:
        packed = loader.get_data(path)  # type: ignore[union-attr]  # of every importer of files
    except FileNotFoundError:
        return None
    import json  # with compiled code few processes ask for a docstring

    texts: dict[str, str] = json.loads(packed)
    return texts
