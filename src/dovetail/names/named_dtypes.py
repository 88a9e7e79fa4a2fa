"""PyTorch dtypes without tensors: `dovetail.complex32` and others."""

from __future__ import annotations

from dovetail_kernel import NamedDtype, named_dtype


def __getattr__(name: str) -> NamedDtype:
    return named_dtype(name)
