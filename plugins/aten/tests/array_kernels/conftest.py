"""Array kernels called directly on NumPy arrays, and the comparison with PyTorch.

Every test runs with the generic kernels and with those that the cpu has instead.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from dovetail_aten.kernel_support import KernelTable, array_kernel_table

BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
TOLERANCES = {"float16": 2e-3, "bfloat16": 2e-2, "float32": 3e-6, "complex64": 3e-6}


@pytest.fixture(scope="session", params=("generic", "cpu"))
def table(request: pytest.FixtureRequest) -> KernelTable:
    """The kernels that every backend has, on NumPy, and those of the cpu."""
    cpu = pytest.importorskip("dovetail_cpu", reason="the capabilities of some backend are needed")
    if request.param == "generic":
        return array_kernel_table(np, cpu.CpuArrays())
    from dovetail_cpu.kernels.table import FAST_FAMILIES

    return array_kernel_table(np, cpu.CpuArrays(), families=FAST_FAMILIES)


@pytest.fixture
def kernel(table: KernelTable) -> Callable[..., Any]:
    """Call a kernel by the name of its operator, without warnings of NumPy's about infinities."""

    def call(name: str, *args: Any, **kwargs: Any) -> Any:
        with np.errstate(all="ignore"):
            return table.kernels[name].fn(*args, **kwargs)

    return call


@pytest.fixture
def compare(table: KernelTable) -> Callable[..., None]:
    """Compare a kernel with PyTorch: values, dtypes, shapes; no argument may be written to."""
    torch = pytest.importorskip("torch", reason="PyTorch is what the kernels are compared with")

    def to_torch(value: Any) -> Any:
        if isinstance(value, np.ndarray):
            if value.dtype == BFLOAT16:
                return torch.from_numpy(value.astype(np.float32)).to(torch.bfloat16)
            return torch.from_numpy(np.array(value))
        if isinstance(value, np.dtype):
            return torch.bfloat16 if value == BFLOAT16 else getattr(torch, str(value))
        return [to_torch(each) for each in value] if isinstance(value, list) else value

    def check(ours: Any, theirs: Any, inputs: Sequence[np.ndarray], view: bool) -> None:
        if isinstance(theirs, tuple | list):
            assert len(ours) == len(theirs)
            for our, their in zip(ours, theirs, strict=True):
                check(our, their, inputs, view)
        elif theirs is None or isinstance(theirs, bool | int | float):
            assert ours == theirs
        else:
            dtype = str(theirs.dtype).removeprefix("torch.")
            assert str(ours.dtype) == dtype
            assert tuple(np.shape(ours)) == tuple(theirs.shape)
            wide = (
                theirs.to(torch.float32).numpy()
                if dtype == "bfloat16"
                else theirs.resolve_conj().numpy()
            )
            tolerance = TOLERANCES.get(dtype, 1e-12)
            given = np.asarray(ours, np.float32) if dtype == "bfloat16" else ours
            np.testing.assert_allclose(given, wide, rtol=tolerance, atol=tolerance)
            for each in inputs:
                shares = np.shares_memory(ours, each) if isinstance(ours, np.ndarray) else False
                assert view or not shares, "the result aliases an argument"

    def run(name: str, *args: Any, view: bool = False, **kwargs: Any) -> None:
        base, _, overload = name.partition(".")
        operator = getattr(getattr(torch.ops.aten, base), overload or "default")
        expected = operator(
            *map(to_torch, args), **{key: to_torch(value) for key, value in kwargs.items()}
        )
        given = [*args, *kwargs.values()]
        given += [item for each in given if isinstance(each, list) for item in each]
        inputs = [each for each in given if isinstance(each, np.ndarray)]
        before = [each.copy() for each in inputs]
        with np.errstate(all="ignore"):
            result = table.kernels[name].fn(*args, **kwargs)
        check(result, expected, inputs, view)
        for each, copy in zip(inputs, before, strict=True):
            np.testing.assert_array_equal(each, copy, err_msg="an argument was written to")

    return run
