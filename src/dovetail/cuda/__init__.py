"""CUDA devices, as ``torch.cuda``: asking costs nothing where the plugin is not installed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dovetail_kernel import AcceleratorError

from ..names.missing import names_of as _names_of
from .absent import REMEDIES as _REMEDIES
from .devices import (
    can_device_access_peer,
    current_device,
    device,
    device_count,
    device_of,
    get_device_capability,
    get_device_name,
    get_device_properties,
    init,
    is_bf16_supported,
    is_initialized,
    is_tf32_supported,
    set_device,
    synchronize,
)
from .graphs import (
    CUDAGraph,
    graph,
    graph_pool_handle,
    is_current_stream_capturing,
    make_graphed_callables,
)
from .memory import (
    empty_cache,
    get_per_process_memory_fraction,
    max_memory_allocated,
    max_memory_cached,
    max_memory_reserved,
    mem_get_info,
    memory_allocated,
    memory_cached,
    memory_reserved,
    memory_stats,
    memory_stats_as_nested_dict,
    memory_summary,
    reset_max_memory_allocated,
    reset_max_memory_cached,
    reset_peak_memory_stats,
    set_per_process_memory_fraction,
)
from .plugin import is_available, of_plugin, why_unavailable
from .random import (
    get_rng_state,
    get_rng_state_all,
    initial_seed,
    manual_seed,
    manual_seed_all,
    seed,
    seed_all,
    set_rng_state,
    set_rng_state_all,
)
from .streams import (
    Event,
    ExternalStream,
    Stream,
    StreamContext,
    current_stream,
    default_stream,
    get_stream_from_external,
    set_stream,
    stream,
)

__all__ = [
    "AcceleratorError",
    "CUDAGraph",
    "Event",
    "ExternalStream",
    "OutOfMemoryError",
    "Stream",
    "StreamContext",
    "can_device_access_peer",
    "clock_rate",
    "current_blas_handle",
    "current_device",
    "current_solver_handle",
    "current_stream",
    "default_generators",
    "default_stream",
    "device",
    "device_count",
    "device_memory_used",
    "device_of",
    "empty_cache",
    "get_arch_list",
    "get_device_capability",
    "get_device_name",
    "get_device_properties",
    "get_gencode_flags",
    "get_per_process_memory_fraction",
    "get_rng_state",
    "get_rng_state_all",
    "get_stream_from_external",
    "get_sync_debug_mode",
    "graph",
    "graph_pool_handle",
    "has_half",
    "has_magma",
    "init",
    "initial_seed",
    "ipc_collect",
    "is_available",
    "is_bf16_supported",
    "is_current_stream_capturing",
    "is_initialized",
    "is_tf32_supported",
    "list_gpu_processes",
    "make_graphed_callables",
    "manual_seed",
    "manual_seed_all",
    "max_memory_allocated",
    "max_memory_cached",
    "max_memory_reserved",
    "mem_get_info",
    "memory_allocated",
    "memory_cached",
    "memory_reserved",
    "memory_stats",
    "memory_stats_as_nested_dict",
    "memory_summary",
    "memory_usage",
    "power_draw",
    "reset_max_memory_allocated",
    "reset_max_memory_cached",
    "reset_peak_memory_stats",
    "seed",
    "seed_all",
    "set_device",
    "set_per_process_memory_fraction",
    "set_rng_state",
    "set_rng_state_all",
    "set_stream",
    "set_sync_debug_mode",
    "stream",
    "synchronize",
    "temperature",
    "utilization",
    "why_unavailable",
]

has_half = True
"""Float16 is computed on every device."""
has_magma = False
"""MAGMA is not used: LAPACK's functions are cuSOLVER's."""

_NUMBERS = "BFloat16 Bool Byte Char Double Float Half Int Long Short"
_LIBRARIES = (
    "current_blas_handle current_solver_handle get_arch_list get_gencode_flags get_sync_debug_mode "
    "ipc_collect set_sync_debug_mode"
)
_MONITORING = (
    "clock_rate device_memory_used list_gpu_processes memory_usage power_draw temperature "
    "utilization"
)
_LATER = {
    **{f"{number}Tensor": f"{__name__}.legacy_constructors" for number in _NUMBERS.split()},
    **dict.fromkeys(_LIBRARIES.split(), f"{__name__}.libraries"),
    **dict.fromkeys(_MONITORING.split(), f"{__name__}.monitoring"),
}


if TYPE_CHECKING:
    from .libraries import (
        current_blas_handle,
        current_solver_handle,
        get_arch_list,
        get_gencode_flags,
        get_sync_debug_mode,
        ipc_collect,
        set_sync_debug_mode,
    )
    from .monitoring import (
        clock_rate,
        device_memory_used,
        list_gpu_processes,
        memory_usage,
        power_draw,
        temperature,
        utilization,
    )

    OutOfMemoryError = MemoryError
    default_generators: tuple[Any, ...]
else:
    _absent = _names_of(__name__, ("amp", "nvtx", "profiler"), _LATER, remedies=_REMEDIES)

    def __getattr__(name: str) -> Any:
        """Return what is imported or made when it is asked for: CuPy's error of memory that is not
        there, or MemoryError, from which it is derived, where there is no CUDA; the generators of
        the devices.
        """
        if name == "default_generators":
            from .random import generator_of

            return tuple([generator_of(index) for index in range(device_count())])
        if name != "OutOfMemoryError":
            return _absent(name)
        if not is_available():
            return MemoryError
        return of_plugin("memory").OutOfMemoryError
