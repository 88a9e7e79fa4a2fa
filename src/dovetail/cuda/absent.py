"""Missing names of ``torch.cuda``, and their replacements."""

from __future__ import annotations

from typing import Final

_PROFILER: Final = "CuPy has the runtime: cupy.cuda.runtime; for profilers dovetail.cuda.profiler."
_ERRORS: Final = (
    "What the driver refuses is cupy.cuda.runtime.CUDARuntimeError; what a device finds later is "
    "dovetail.cuda.AcceleratorError."
)
_ALLOCATOR: Final = (
    "Memory comes from CuPy's allocator: cupy.cuda.set_allocator(function) changes it, "
    "cupy.cuda.set_allocator(None) takes every array from the driver, cupy.cuda.alloc(size) is "
    "memory of your own."
)
_POOL: Final = (
    "CuPy has pools: with cupy.cuda.using_allocator(cupy.cuda.MemoryPool().malloc): … makes arrays "
    "in one of their own."
)
_SNAPSHOT: Final = (
    "CuPy's pool does not list its blocks. memory_stats() counts their bytes, a "
    "cupy.cuda.MemoryHook sees every allocation."
)
_PINNED: Final = (
    "CuPy's pool of page-locked memory keeps no counts: "
    "cupy.get_default_pinned_memory_pool().n_free_blocks() is all it tells."
)
_STORAGE: Final = "Use x.untyped_storage(), or the storage of this name in dovetail on the cpu."
_KINDS: Final = (
    *("BFloat16", "Bool", "Byte", "Char", "ComplexDouble", "ComplexFloat"),
    *("Double", "Float", "Half", "Int", "Long", "Short"),
)

REMEDIES: Final = {
    "CUDAPluggableAllocator": _ALLOCATOR,
    "CudaError": _ERRORS,
    "DeferredCudaCallError": "Nothing is put off until CUDA starts: the first use starts it.",
    "GreenContext": "CuPy does not divide multiprocessors. Use streams with priorities.",
    "MemPool": _POOL,
    "caching_allocator_alloc": _ALLOCATOR,
    "caching_allocator_delete": _ALLOCATOR,
    "caching_allocator_disabled": _ALLOCATOR,
    "caching_allocator_enable": _ALLOCATOR,
    "change_current_allocator": _ALLOCATOR,
    "check_error": _ERRORS,
    "cudaStatus": _ERRORS,
    "cudart": _PROFILER,
    "gds": "Read files with dovetail.from_file or numpy.memmap, and copy: x.pin_memory().cuda().",
    "get_allocator_backend": _ALLOCATOR,
    "green_contexts": "CuPy does not divide multiprocessors. Use streams with priorities.",
    "host_memory_stats": _PINNED,
    "host_memory_stats_as_nested_dict": _PINNED,
    "jiterator": "A kernel in CUDA C++ is a cupy.ElementwiseKernel: docs/cuda.md.",
    "memory_snapshot": _SNAPSHOT,
    "nccl": "dovetail-mpi sends between processes; cupy.cuda.nccl is NCCL itself.",
    "reset_accumulated_host_memory_stats": _PINNED,
    "reset_accumulated_memory_stats": (
        "CuPy's pool accumulates nothing: reset_peak_memory_stats() begins peaks again."
    ),
    "reset_peak_host_memory_stats": _PINNED,
    "tunable": "CuPy takes the products that cuBLAS chooses, which cannot be tuned.",
    "use_mem_pool": _POOL,
    **dict.fromkeys([f"{kind}Storage" for kind in _KINDS], _STORAGE),
}
"""By their names; tests compare with PyTorch's."""
