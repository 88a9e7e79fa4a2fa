"""PyTorch dtypes without tensors: `dovetail.complex32` and others."""

from __future__ import annotations

from dovetail_kernel import NamedDtype, named_dtype


def __getattr__(name: str) -> NamedDtype:
    try:
        return named_dtype(name)
    except KeyError:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}") from None
