"""The meta device against what the operators really do on the cpu: shapes, dtypes and strides of
every operator.
"""

from __future__ import annotations

from typing import Any

import pytest
from operator_samples import operators, samples

import dovetail as dt
from dovetail_aten.meta.registration import DATA_DEPENDENT
from dovetail_dispatcher.table import registry
from dovetail_kernel import DispatchKey

OTHER_STRIDES = ("erf", "erfc", "index.Tensor")
"""Operators whose cpu kernels do not keep PyTorch's order of dimensions in memory; meta tells
PyTorch's.
"""


def on_meta(value: Any) -> Any:
    if isinstance(value, dt.Tensor):
        return geometry(value)
    if isinstance(value, list):
        return [on_meta(item) for item in value]
    if isinstance(value, dict) and "device" in value:
        return {**value, "device": dt.device("meta")}
    return value


def geometry(tensor: Any) -> Any:
    """Return a meta tensor with the strides of `tensor`, in a memory as large."""
    size = tensor.untyped_storage().nbytes() // tensor.element_size()
    memory = dt.empty(size, dtype=tensor.dtype, device="meta")
    return memory.as_strided(tuple(tensor.shape), tensor.stride(), tensor.storage_offset())


def call(name: str, arguments: tuple[Any, ...]) -> list[Any]:
    base, _, overload = name.partition(".")
    keywords: dict[str, Any] = (
        arguments[-1] if arguments and isinstance(arguments[-1], dict) else {}
    )
    positional = arguments[:-1] if keywords else arguments
    keywords = {
        key: dt.device(value) if key == "device" else value for key, value in keywords.items()
    }
    with dt.no_grad():
        result = getattr(getattr(dt.ops.aten, base), overload or "default")(*positional, **keywords)
    return list(result) if isinstance(result, list | tuple) else [result]


def is_inplace(name: str) -> bool:
    return name.partition(".")[0].endswith("_")


def strides_that_matter(tensor: Any) -> list[int]:
    """Return the strides of dimensions with several elements: the others are of no account."""
    if 0 in tensor.shape:
        return []
    return [stride for size, stride in zip(tensor.shape, tensor.stride(), strict=True) if size > 1]


@pytest.mark.cpu_only(reason="the strides are those of the cpu's kernels")
@pytest.mark.parametrize("name", operators())
def test_meta_tells_shape_dtype_and_strides(name: str) -> None:
    for arguments in samples(name):
        copies = tuple(
            a.clone() if is_inplace(name) and isinstance(a, dt.Tensor) else a for a in arguments
        )
        expected = call(name, copies)
        found = call(name, tuple(on_meta(argument) for argument in arguments))
        assert all(tensor.is_meta for tensor in found)
        assert [tuple(t.shape) for t in found] == [tuple(t.shape) for t in expected], arguments
        assert [t.dtype for t in found] == [t.dtype for t in expected], arguments
        if name in OTHER_STRIDES:
            continue
        assert [strides_that_matter(t) for t in found] == [
            strides_that_matter(t) for t in expected
        ], arguments


@pytest.mark.parametrize("name", DATA_DEPENDENT)
def test_operators_whose_shape_depends_on_data_have_no_meta_kernel(name: str) -> None:
    assert not any(op.newest(DispatchKey.Meta) for op in registry.operators[name].values())


def test_every_operator_has_samples() -> None:
    missing = [
        name
        for name in operators()
        if not samples(name) and name not in ("_local_scalar_dense", "log_sigmoid_forward")
    ]
    assert missing == []
