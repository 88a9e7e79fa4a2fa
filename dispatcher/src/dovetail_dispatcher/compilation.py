"""Generated text becomes code: the one place where text is compiled, and shown to tracebacks."""

from __future__ import annotations

import linecache
from functools import lru_cache
from types import CodeType
from typing import Any, Final
from weakref import WeakValueDictionary, finalize

_in_use: Final[WeakValueDictionary[tuple[str, str], CodeType]] = WeakValueDictionary()


def compile_source(source: str, name: str, bindings: dict[str, Any]) -> Any:
    """Run `source` with `bindings` as its globals and return what it calls `name`.

    Equal texts share their code; the text is shown in tracebacks.
    """
    namespace = {"__name__": "dovetail.generated", **bindings}
    exec(_compile(source, name), namespace)
    made = namespace[name]
    if name not in made.__code__.co_names:
        del namespace[name]  # or function and globals would hold each other, and all they hold
    return made


@lru_cache(maxsize=512)
def _compile(source: str, name: str) -> CodeType:
    code = _in_use.get((source, name))
    if code is None:
        filename = f"<dovetail {name} {hash(source) & 0xFFFFFFFF:08x}>"
        code = compile(source, filename, "exec")
        function = next(each for each in code.co_consts if isinstance(each, CodeType))
        _in_use[source, name] = code
        linecache.cache[filename] = (len(source), None, source.splitlines(keepends=True), filename)
        finalize(function, linecache.cache.pop, filename, None).atexit = False
    return code


__all__ = ["compile_source"]
