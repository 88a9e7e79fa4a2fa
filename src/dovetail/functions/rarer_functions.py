"""Rarely used top-level functions: inclusive ranges, norms of slices, device modules, and
predicates that are always False.
"""

from __future__ import annotations

from importlib import import_module
from types import ModuleType
from typing import Any

import dovetail_aten as aten
from dovetail_aten import Tensor, linalg
from dovetail_autograd import set_detect_anomaly
from dovetail_dispatcher import overridable
from dovetail_kernel import (
    Device,
    DeviceLike,
    float64,
    get_default_device,
    get_default_dtype,
    warn_user,
)

_segment_reduce = aten.segment_reduce  # the name that PyTorch's public one is another for


def range(
    start: float,
    end: float | None = None,
    step: float = 1,
    *,
    out: Tensor | None = None,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """Return ``start, start + step, …`` up to and including `end`.

    Deprecated, as in PyTorch: `arange` excludes its end, as Python's ``range`` does.

    Parameters
    ----------
    start, end, step
        Numbers.
    out
        Tensor to write to. Default: a new one.
    dtype
        Default: that of `out`, or the default dtype.
    device, requires_grad
        As for `arange`.

    Returns
    -------
    Tensor
        Of shape ``(floor((end - start) / step) + 1,)``.

    Raises
    ------
    TypeError
        Without `end`.
    RuntimeError
        If `end` is in the opposite direction, or if `step` is 0.
    """
    warn_user(
        "range is deprecated and will be removed in a future release because its behavior is "
        "inconsistent with Python's range builtin. Instead, use arange, which produces values in "
        "[start, end)."
    )
    if end is None:
        raise TypeError('range() missing 1 required positional arguments: "end". Give it.')
    if step == 0:
        raise RuntimeError("step must be nonzero, such as 1")
    if (end - start) * step < 0:
        raise RuntimeError(
            f"upper bound and lower bound inconsistent with step sign: {start} -> {end} by {step}"
        )
    wanted = get_default_dtype() if dtype is None else dtype
    count = int((end - start) / step) + 1
    numbers = aten.arange(count, dtype=float64, device=device)
    if out is not None:
        if dtype not in (None, out.dtype):
            raise RuntimeError(
                f"dtype {dtype.scalar_name} does not match dtype of out parameter "
                f"({out.dtype.scalar_name}). Leave dtype out."
            )
        if out.numel() != count:
            out.resize_(count)
        return out.copy_((numbers * step + start).reshape(out.shape))
    found: Tensor = (numbers * step + start).to(wanted)
    found.requires_grad_(requires_grad)
    return found


@overridable
def norm_except_dim(v: Tensor, pow: int = 2, dim: int = 0) -> Tensor:
    """Return the norm over all dimensions but `dim`.

    Parameters
    ----------
    v
        A weight.
    pow
        The order of the norm. Default: 2.
    dim
        The dimension to keep; -1 means none. Default: 0.

    Returns
    -------
    Tensor
        Tensor with size 1 in the other dimensions; 0-dimensional for ``dim=-1``.

    Raises
    ------
    IndexError
        If there is no such dimension.
    """
    if pow == 2:
        return slice_norms(v, dim)
    dims = None if dim == -1 else [each for each, _ in enumerate(v.shape) if each != dim]
    norm: Tensor = linalg.vector_norm(v, pow, dims, dims is not None)
    return norm


def slice_norms(tensor: Tensor, dim: int) -> Tensor:
    """Return the 2-norm over all dimensions but ``dim``, which are kept with size 1; ``dim=-1``:
    over all, as a number.
    """
    dims = None if dim == -1 else [each for each, _ in enumerate(tensor.shape) if each != dim]
    if dim != -1 and not 0 <= dim < max(tensor.dim(), 1):
        raise IndexError(
            f"Dimension out of range (expected to be in range of [{-tensor.dim()}, "
            f"{tensor.dim() - 1}], but got {dim}). Pass the dimension of the outputs."
        )
    if dims == []:  # a vector: each number is its own slice
        return tensor.abs()
    norm: Tensor = linalg.vector_norm(tensor, 2, dims, dims is not None)
    return norm


def get_device_module(device: DeviceLike | None = None) -> ModuleType:
    """Return the module of a device type: `dovetail.cpu`, `dovetail.cuda`.

    Parameters
    ----------
    device
        A device or its name. Default: the accelerator, or else the default device.

    Raises
    ------
    RuntimeError
        If the device type has no module.
    """
    here = import_module(__name__.partition(".")[0])
    place = (
        (here.accelerator.current_accelerator() or get_default_device())
        if device is None
        else device
    )
    kind = (place if isinstance(place, Device) else Device(place)).type
    if kind not in ("cpu", "cuda", "mps", "mtia", "xpu"):
        raise RuntimeError(
            f"Device '{kind}' does not have a corresponding module registered as "
            f"'dovetail.{kind}'. Only the cpu and cuda devices have one."
        )
    module: ModuleType = getattr(here, kind)
    return module


def set_anomaly_enabled(mode: bool, check_nan: bool = True) -> None:
    """Enable or disable anomaly mode, which finds the call that caused a NaN or an error in
    backward; see `autograd.detect_anomaly`.

    Parameters
    ----------
    mode
        Whether to enable it.
    check_nan
        Whether NaN is an error. Default: True.
    """
    set_detect_anomaly(mode, check_nan)


@overridable
def is_distributed(input: Tensor) -> bool:
    """Return False: a tensor is on a single device."""
    return False


def is_vulkan_available() -> bool:
    """Return False: there is no backend for Vulkan."""
    return False
