"""Settings of a whole program: determinism, precision, threads, and the legacy default tensor
type.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

import dovetail_aten as aten
import dovetail_cpu
from dovetail_aten.front_end import matmul_precision
from dovetail_kernel import UNINITIALIZED, dtype, set_default_dtype, warn_user

from .. import cuda

_MODES = ("default", "warn", "error")
_PRECISIONS = ("highest", "high", "medium")

_debug_mode = 0


def use_deterministic_algorithms(mode: bool, *, warn_only: bool = False) -> None:
    """Ask for operators that give the same bits each time.

    On the cpu all of them do, whether they are asked to or not; memory that they do not write is
    filled then (see `dovetail.utils.deterministic`). Those of CUDA that add where
    several elements meet (``index_add``, ``scatter_add``, ``put_``, the gradients of indexing) add
    in any order; since they are not checked, a warning says so where there is CUDA.

    Raises
    ------
    TypeError
        If an argument is not a bool.
    """
    for name, value in (("mode", mode), ("warn_only", warn_only)):
        if not isinstance(value, bool):
            raise TypeError(
                f"use_deterministic_algorithms(): argument {name!r} must be bool, not "
                f"{type(value).__name__}"
            )
    _set_debug_mode(0 if not mode else 1 if warn_only else 2)


def are_deterministic_algorithms_enabled() -> bool:
    """Return whether deterministic operators are requested."""
    return _debug_mode > 0


def is_deterministic_algorithms_warn_only_enabled() -> bool:
    """Return whether deterministic operators are requested with ``warn_only=True``."""
    return _debug_mode == 1


def set_deterministic_debug_mode(debug_mode: int | str) -> None:
    """Set the mode of `use_deterministic_algorithms` by "default", "warn" and "error", or 0, 1 and
    2.

    Raises
    ------
    TypeError, RuntimeError
        For any other value.
    """
    if isinstance(debug_mode, str):
        if debug_mode not in _MODES:
            raise RuntimeError(
                "invalid value of debug_mode, expected one of `default`, `warn`, `error`, but got "
                f"{debug_mode}"
            )
        debug_mode = _MODES.index(debug_mode)
    if not isinstance(debug_mode, int):
        raise TypeError(f"debug_mode must be str or int, but got {type(debug_mode)}")
    if debug_mode not in (0, 1, 2):
        raise RuntimeError(
            f"invalid value of debug_mode, expected 0, 1, or 2, but got {debug_mode}"
        )
    _set_debug_mode(debug_mode)


def get_deterministic_debug_mode() -> int:
    """Return 0 by default, 1 if deterministic operators are requested with warnings, and 2 with
    errors.
    """
    return _debug_mode


def _set_debug_mode(value: int) -> None:
    global _debug_mode
    _debug_mode = value
    UNINITIALIZED.change(deterministic=value > 0)
    if value and cuda.is_available():
        warn_user(
            "operators that add where several elements meet are not deterministic on CUDA, and "
            "are not checked. Run on the cpu where all bits must be the same."
        )


def set_float32_matmul_precision(precision: str) -> None:
    """Set the precision of float32 matrix products: "highest" means float32; "high" and "medium"
    allow TF32 on CUDA devices that support it. Other values are ignored with a warning.
    """
    if precision not in _PRECISIONS:
        warn_user(
            f"{precision} is not one of 'highest', 'high', or 'medium'; the current"
            "setFloat32MatmulPrecision call has no effect."
        )
        return
    matmul_precision.set_precision(precision)


def get_float32_matmul_precision() -> str:
    """Return the value set by `set_float32_matmul_precision`; "highest" at first."""
    return matmul_precision.get_precision()


def get_num_threads() -> int:
    """Return the number of threads for operators on large tensors; initially ``OMP_NUM_THREADS`` or
    the number of processors of this process.
    """
    return dovetail_cpu.get_num_threads()


def set_num_threads(num: int) -> None:
    """Set the number of threads for operators on large cpu tensors.

    This also sets the number of threads of NumPy's BLAS.

    Raises
    ------
    RuntimeError
        For a value that is not a positive integer.
    ValueError
        For one beyond int32.
    """
    if type(num) is not int:
        raise RuntimeError(f"set_num_threads expects an int, but got {type(num).__name__}")
    if abs(num) >= 2**31:
        raise ValueError("Overflow when unpacking long")
    if num <= 0:
        raise RuntimeError("set_num_threads expects a positive integer")
    dovetail_cpu.set_num_threads(num)
    import_module("threadpoolctl").threadpool_limits(num, user_api="blas")


def get_num_interop_threads() -> int:
    """Return 1: operators run one after the other."""
    return 1


def set_num_interop_threads(num: int) -> None:
    """Accept a number of inter-op threads and ignore it; there is only one.

    Raises
    ------
    RuntimeError
        For a value that is not a positive integer.
    """
    given: Any = num
    if not isinstance(given, int) or given <= 0:
        raise RuntimeError("set_num_interop_threads expects a positive integer")


def set_flush_denormal(mode: bool) -> bool:
    """Return whether `mode` is supported: denormal numbers are always kept.

    Raises
    ------
    RuntimeError
        If `mode` is not a bool.
    """
    if mode.__class__ is not bool:
        raise RuntimeError(
            f"flush_denormal expects a bool, but got {type(mode).__name__}. Give True or False."
        )
    return not mode


def set_default_tensor_type(t: object) -> None:
    """Set the default dtype from a tensor class or its name.

    Deprecated: use `set_default_dtype`.

    Raises
    ------
    TypeError
        If it is not a floating-point tensor class of the cpu.
    """
    warn_user(
        "set_default_tensor_type() is deprecated as of PyTorch 2.1, please use set_default_dtype() "
        "and set_default_device() as alternatives."
    )
    name = t.rpartition(".")[2] if isinstance(t, str) else getattr(t, "__name__", "")
    found = getattr(getattr(aten, name, None), "dtype", None)
    if not isinstance(found, dtype):
        raise TypeError(
            f"invalid type object: {t!r:.60} is not a class of tensors. Use set_default_dtype()."
        )
    if not found.is_floating_point:
        raise TypeError("only floating-point types are supported as the default type")
    set_default_dtype(found)
