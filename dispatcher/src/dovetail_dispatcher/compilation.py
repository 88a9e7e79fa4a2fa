"""Compilation of generated text, with its source shown in tracebacks."""

from __future__ import annotations

import linecache
from collections.abc import Callable, Mapping
from functools import lru_cache
from types import CodeType, FunctionType
from typing import Any
from weakref import finalize


def compile_source(source: str, name: str, bindings: Mapping[str, object]) -> Any:
    """Run `source` with `bindings` as its globals and return its object `name`.

    Equal texts share their code. Tracebacks show the text as long as the code exists.
    """
    namespace = {"__name__": "dovetail.generated", **bindings}
    exec(_compile(source, name), namespace)
    made = namespace[name]
    if isinstance(made, FunctionType) and name not in made.__code__.co_names:
        del namespace[name]  # or function and globals would hold each other, and all they hold
    return made


def compile_functions(
    source: str, title: str, names: dict[str, object]
) -> dict[str, Callable[..., Any]]:
    """Return the functions that `source` defines, by name, with `names` as their globals.

    The text is not executed: the functions have no defaults, and imported names refer to the
    globals. Tracebacks show the text as long as the first function exists.

    Parameters
    ----------
    title
        Name of the file in tracebacks.
    """
    codes = [each for each in _compile(source, title).co_consts if isinstance(each, CodeType)]
    return {each.co_name: FunctionType(each, names) for each in codes}


def exchange_code(function: FunctionType, code: CodeType) -> None:
    """Replace the code of `function`, from its next call on. It is used for functions whose body is
    compiled at the first call, and for functions that check for overrides while some exist.
    """
    function.__code__ = code


@lru_cache(maxsize=1024)
def _compile(source: str, name: str) -> CodeType:
    filename = f"<dovetail {name} {hash(source) & 0xFFFFFFFF:08x}>"
    lines = source.splitlines(keepends=True)
    linecache.cache[filename] = (len(source), None, lines, filename)
    code = compile(source, filename, "exec")
    if source.startswith(("def ", "import ")):
        body = next(iter([each for each in code.co_consts if isinstance(each, CodeType)]))
        finalize(body, _forget, filename, lines).atexit = False
    return code


def _forget(filename: str, lines: list[str]) -> None:
    """Drop the text of code that is gone, unless equal text was compiled since."""
    shown = linecache.cache.get(filename)
    if shown is not None and any([each is lines for each in shown]):
        del linecache.cache[filename]
