"""Array kernels called directly on NumPy arrays, and the comparison with PyTorch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from dovetail_aten.kernel_support import KernelTable, array_kernel_table
from dovetail_cpu import CpuArrays
from dovetail_cpu.kernels.table import FAST_FAMILIES

TOLERANCES = {"float16": 2e-3, "float32": 3e-6, "complex64": 3e-6}


@pytest.fixture(scope="session")
def table() -> KernelTable:
    """The kernels of the cpu."""
    return array_kernel_table(np, CpuArrays(), families=FAST_FAMILIES)


@pytest.fixture(scope="session")
def generic_table() -> KernelTable:
    """The kernels that every backend has, on NumPy."""
    return array_kernel_table(np, CpuArrays())


@pytest.fixture
def kernel(table: KernelTable) -> Callable[..., Any]:
    """Call a kernel of the cpu by name, without warnings of NumPy's about infinities."""

    def call(name: str, *args: Any, **kwargs: Any) -> Any:
        with np.errstate(all="ignore"):
            return table.kernels[name].fn(*args, **kwargs)

    return call


@pytest.fixture
def compare(table: KernelTable) -> Callable[..., None]:
    """Compare a kernel with PyTorch: values, dtypes, shapes; no argument may be written to."""
    torch = pytest.importorskip("torch", reason="PyTorch is what the kernels are compared with")

    def to_torch(value: Any) -> Any:
        return torch.from_numpy(value.copy()) if isinstance(value, np.ndarray) else value

    def check(ours: Any, theirs: Any) -> None:
        if isinstance(theirs, tuple | list):
            for our, their in zip(ours, theirs, strict=True):
                check(our, their)
        elif theirs is None:
            assert ours is None
        else:
            dtype = str(theirs.dtype).removeprefix("torch.")
            assert (str(ours.dtype), np.shape(ours)) == (dtype, tuple(theirs.shape))
            tolerance = TOLERANCES.get(dtype, 1e-12)
            np.testing.assert_allclose(ours, theirs.numpy(), rtol=tolerance, atol=tolerance)

    def run(name: str, *args: Any, **kwargs: Any) -> None:
        base, _, overload = name.partition(".")
        operator = getattr(getattr(torch.ops.aten, base), overload or "default")
        expected = operator(*map(to_torch, args), **kwargs)
        before = [each.copy() if isinstance(each, np.ndarray) else each for each in args]
        with np.errstate(all="ignore"):
            check(table.kernels[name].fn(*args, **kwargs), expected)
        for each, copy in zip(args, before, strict=True):
            np.testing.assert_array_equal(each, copy, err_msg="an argument was written to")

    return run
