"""The libraries below CuPy, and calls that wait for a device, found while they are made."""

from __future__ import annotations

from typing import Final

from .plugin import is_available, of_plugin

_MODES: Final = {"default": 0, "warn": 1, "error": 2}


def get_arch_list() -> list[str]:
    """Return the architectures that kernels can be compiled for, which happens at their first use:
    ``["sm_75", "sm_80", …]``. Empty where there is no CUDA.
    """
    if not is_available():
        return []
    return [f"sm_{number}" for number in of_plugin("libraries").architectures()]


def get_gencode_flags() -> str:
    """Return `get_arch_list` as arguments of NVIDIA's compiler; empty where there is no CUDA."""
    numbers = [name.removeprefix("sm_") for name in get_arch_list()]
    return " ".join([f"-gencode compute=compute_{each},code=sm_{each}" for each in numbers])


def current_blas_handle() -> int:
    """Return the handle of cuBLAS that the current device uses."""
    handle: int = of_plugin("libraries").blas_handle()
    return handle


def current_solver_handle() -> int:
    """Return the handle of cuSOLVER that the current device uses."""
    handle: int = of_plugin("libraries").solver_handle()
    return handle


def set_sync_debug_mode(debug_mode: int | str) -> None:
    """Decide what happens where a call waits for the device, in all threads.

    Parameters
    ----------
    debug_mode
        ``"default"`` (0): nothing; ``"warn"`` (1): a UserWarning; ``"error"`` (2): a RuntimeError.
        Found are values that are read (`item`, `tolist`, `cpu`, `bool`, printing), `nonzero`, masks
        as indices, and copies of page-locked memory; not what waits inside of other operators, such
        as `unique`, `bincount`, `equal`.

    Raises
    ------
    RuntimeError
        For another mode.
    AssertionError
        Where CUDA is not available, with the reason.
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
    """Return the value set by `set_sync_debug_mode`, as a number; 0 at first."""
    mode: int = of_plugin("waiting").debug_mode()
    return mode


def ipc_collect() -> None:
    """Return at once: processes share no memory of a device, so none is to be collected.

    Raises
    ------
    AssertionError
        Where CUDA is not available, with the reason.
    """
    of_plugin("devices")
