"""The classes of the nodes of graphs by name: ``isinstance(y.grad_fn, AddBackward0)``."""

from typing import Any

from dovetail_autograd import AccumulateGrad, DelayedError, UndefinedGrad, node_kind, node_names

__all__ = ["AccumulateGrad", "DelayedError", "UndefinedGrad"]


def __getattr__(name: str) -> Any:
    try:
        return node_kind(name)
    except LookupError:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}") from None


def __dir__() -> list[str]:
    return sorted({*globals(), *node_names()})
