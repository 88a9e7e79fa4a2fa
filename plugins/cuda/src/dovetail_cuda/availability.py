"""Whether CUDA can be used here, and what to do if not."""

from __future__ import annotations

from typing import Final

_OLDEST_CUPY: Final = 14
_INSTALL: Final = (
    "Install it for your CUDA version: pip install cupy-cuda12x or pip install cupy-cuda13x"
)


def unavailable_because() -> str | None:
    """Return None if CuPy can use a CUDA device, else the reason and a remedy."""
    try:
        import cupy
    except ModuleNotFoundError as error:
        if error.name != "cupy":
            return (
                f"CuPy cannot be imported ({error}). Install the "
                f"package it misses: pip install {error.name}"
            )
        return f"CuPy is not installed. {_INSTALL}"
    except ImportError as error:
        return f"CuPy cannot be imported ({error}). {_INSTALL}"
    if int(cupy.__version__.partition(".")[0]) < _OLDEST_CUPY:
        return f"CuPy {cupy.__version__} is too old, {_OLDEST_CUPY} is needed. {_INSTALL}"
    try:
        count = cupy.cuda.runtime.getDeviceCount()
    except cupy.cuda.runtime.CUDARuntimeError as error:
        return (
            f"the CUDA driver does not answer ({error}). Install or update the NVIDIA driver "
            "until nvidia-smi lists a "
            "GPU, or use device='cpu'"
        )
    if not count:
        return (
            "there is no CUDA device. Check nvidia-smi and the "
            "variable CUDA_VISIBLE_DEVICES, or use device='cpu'"
        )
    return None


def device_count() -> int:
    """Return the number of CUDA devices; 0 if CUDA is unavailable."""
    if unavailable_because() is not None:
        return 0
    import cupy

    count: int = cupy.cuda.runtime.getDeviceCount()
    return count
