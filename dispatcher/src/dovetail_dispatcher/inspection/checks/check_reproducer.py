"""Writes the program that repeats a check of `opcheck`, ready to be run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from dovetail_kernel import TensorBase

from ...table.operator import Operator
from ..python_text import python_text

_SHOWN: Final = 32
"""Tensors of more elements are made with random values."""


def reproducer(op: Operator, values: Sequence[object], check: str) -> str:
    """Return a program that runs one check of `op` again with arguments like `values`."""
    positional = [
        _text(v) for a, v in zip(op.schema.arguments, values, strict=True) if not a.kwarg_only
    ]
    keyword = [
        f"{a.name!r}: {_text(v)}"
        for a, v in zip(op.schema.arguments, values, strict=True)
        if a.kwarg_only
    ]
    given = f"[{', '.join(positional)}]" + (f", {{{', '.join(keyword)}}}" if keyword else "")
    return (
        "    import dovetail  # and the module that registers the operator\n"
        f"    op = dovetail.ops.{op.namespace}.{op.base_name}.{op.overload or 'default'}\n"
        f"    dovetail.library.opcheck(op, {given}, test_utils={check!r})\n"
    )


def _text(value: object) -> str:
    return python_text(value, lambda v: _tensor_text(v) if isinstance(v, TensorBase) else repr(v))


def _tensor_text(tensor: TensorBase) -> str:
    options = [f"dtype=dovetail.{tensor.dtype.name}"]
    if not tensor.is_cpu:
        options.append(f"device={str(tensor.device)!r}")
    if tensor.requires_grad:
        options.append("requires_grad=True")
    settings = ", ".join(options)
    if tensor.is_meta:
        return f"dovetail.empty({tuple(tensor.shape)}, {settings})"
    if tensor.numel() > _SHOWN:
        maker = "randn" if tensor.dtype.is_floating_point or tensor.dtype.is_complex else "ones"
        return f"dovetail.{maker}({tuple(tensor.shape)}, {settings})"
    host = tensor._backend.arrays.to_host(tensor.array)
    return f"dovetail.tensor({python_text(host.tolist())}, {settings})"
