"""The compiled kernels of operators, and how their results are compared."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dovetail
from dovetail_aten.kernel_support import array_kernel_table
from dovetail_cpu import CpuArrays
from dovetail_dispatcher import compiled_code
from dovetail_dispatcher.table import registry
from dovetail_kernel import backend, backend_key
from dovetail_native import _core

UNITS = {"f4": 2.0**-23, "f8": 2.0**-52}


def skip_uncompiled() -> None:
    """Skip the test where compiled code is switched off."""
    dovetail.ones(1, device="cpu")
    if not compiled_code.is_in_force():
        pytest.skip("compiled code is switched off")


def kernel(name: str) -> Any:
    """Return the kernel of an operator on the cpu, which is compiled."""
    skip_uncompiled()
    base, _, overload = name.partition(".")
    found = registry.find(f"aten::{base}", overload).newest(backend_key("Dense", backend("cpu")))
    assert isinstance(found.fn, _core.CompiledKernel)
    return found.fn


def helper(name: str) -> Any:
    """Return what derivatives call by a name on the cpu, which is compiled."""
    skip_uncompiled()
    side = CpuArrays()
    found = array_kernel_table(np, side, compiled=side.compiled).helpers[name]
    assert isinstance(found, _core.CompiledKernel)
    return found


def close(found: np.ndarray, expected: np.ndarray, units: float, scale: Any = 1.0) -> None:
    """Check that what is finite agrees within `units`, and all else is the same."""
    assert (found.shape, found.dtype) == (expected.shape, expected.dtype)
    size = np.maximum(np.abs(np.where(np.isfinite(expected), expected, 0)), scale)
    with np.errstate(all="ignore"):
        error = np.abs(found.astype("f8") - expected.astype("f8"))
    same = (found == expected) | (np.isnan(found) & np.isnan(expected)) | (error <= units * size)
    assert same.all(), f"{found[~same][:4]} for {expected[~same][:4]}"
