"""The class of modules made of graphs, for ``isinstance`` and annotations: there are none."""

from __future__ import annotations

from typing import Any

from ..nn import Module

__all__ = ["GraphModule"]


class GraphModule(Module):
    """A module made of a graph. Making one raises RuntimeError: nothing is traced to a graph."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise RuntimeError(
            "GraphModule: a module cannot be made of a graph. dovetail.jit.trace records the calls "
            "of one."
        )
