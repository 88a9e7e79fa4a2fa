"""Generated text becomes code: the one place where text is compiled, and shown to tracebacks."""

from __future__ import annotations

import linecache
from functools import lru_cache
from types import CodeType
from typing import Any


def compile_source(source: str, name: str, bindings: dict[str, Any]) -> Any:
    """Run `source` with `bindings` as its globals and return what it calls `name`.

    Equal texts share their code; the text is shown in tracebacks.
    """
    namespace = {"__name__": "dovetail.generated", **bindings}
    exec(_compile(source, name), namespace)
    return namespace[name]


@lru_cache(maxsize=4096)
def _compile(source: str, name: str) -> CodeType:
    filename = f"<dovetail {name} {hash(source) & 0xFFFFFFFF:08x}>"
    linecache.cache[filename] = (len(source), None, source.splitlines(keepends=True), filename)
    return compile(source, filename, "exec")


__all__ = ["compile_source"]
