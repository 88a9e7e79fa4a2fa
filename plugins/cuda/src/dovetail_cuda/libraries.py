"""What CuPy tells of the libraries below it: compiler, BLAS, LAPACK, profiler."""

from __future__ import annotations

import cupy


def architectures() -> list[int]:
    """Return the architectures that the compiler of this CUDA makes kernels for: 80, 90, …."""
    return list(cupy.cuda.nvrtc.getSupportedArchs())


def blas_handle() -> int:
    """Return the handle of cuBLAS that the current device and stream use."""
    handle: int = cupy.cuda.device.get_cublas_handle()
    return handle


def solver_handle() -> int:
    """Return the handle of cuSOLVER that the current device and stream use."""
    handle: int = cupy.cuda.device.get_cusolver_handle()
    return handle


def profile(on: bool) -> None:
    """Let an attached profiler collect from now on, or no longer."""
    runtime = cupy.cuda.runtime
    runtime.profilerStart() if on else runtime.profilerStop()
