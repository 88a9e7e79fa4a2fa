"""The libraries below CuPy, and detection of calls that wait for a device."""

from __future__ import annotations

from typing import Final

from .plugin import is_available, of_plugin

_MODES: Final = {"default": 0, "warn": 1, "error": 2}


def get_arch_list() -> list[str]:
    """Return the architectures for which kernels can be compiled (on first use): ``["sm_75",
    "sm_80", …]``. Empty without CUDA.
    """
    if not is_available():
        return []
    return [f"sm_{number}" for number in of_plugin("libraries").architectures()]


def get_gencode_flags() -> str:
    """Return `get_arch_list` as arguments of NVIDIA's compiler; empty without CUDA."""
    numbers = [name.removeprefix("sm_") for name in get_arch_list()]
    return " ".join([f"-gencode compute=compute_{each},code=sm_{each}" for each in numbers])


def current_blas_handle() -> int:
    """Return the cuBLAS handle of the current device."""
    handle: int = of_plugin("libraries").blas_handle()
    return handle


def current_solver_handle() -> int:
    """Return the cuSOLVER handle of the current device."""
    handle: int = of_plugin("libraries").solver_handle()
    return handle


def set_sync_debug_mode(debug_mode: int | str) -> None:
    """Set the reaction to calls that wait for the device, in all threads.

    Parameters
    ----------
    debug_mode
        ``"default"`` (0): nothing; ``"warn"`` (1): a UserWarning; ``"error"`` (2): a RuntimeError.
        Detected are reads of values (`item`, `tolist`, `cpu`, `bool`, printing), `nonzero`, masks
        as indices, and copies of page-locked memory, but not waits inside other operators, such as
        `unique`, `bincount`, `equal`.

    Raises
    ------
    RuntimeError
        For any other mode.
    AssertionError
        If CUDA is not available, with the reason.
    """
    plugin = of_plugin("waiting")
    mode = _MODES.get(debug_mode, -1) if isinstance(debug_mode, str) else debug_mode
    if mode not in _MODES.values():
        raise RuntimeError(
            f"invalid value of debug_mode, expected one of `default`, `warn`, `error`, not "
            f"{debug_mode!r}. Their numbers are 0, 1 and 2."
        )
    plugin.set_debug_mode(mode)


def get_sync_debug_mode() -> int:
    """Return the value set by `set_sync_debug_mode`, as a number; initially 0."""
    mode: int = of_plugin("waiting").debug_mode()
    return mode


def ipc_collect() -> None:
    """Do nothing: processes share no device memory.

    Raises
    ------
    AssertionError
        If CUDA is not available, with the reason.
    """
    of_plugin("devices")
