"""CUDA devices, as ``torch.cuda``: asking costs nothing where the plugin is not installed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..absent_names import names_of as _names_of
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
from .graphs import CUDAGraph, graph, make_graphed_callables
from .memory import (
    empty_cache,
    max_memory_allocated,
    max_memory_reserved,
    mem_get_info,
    memory_allocated,
    memory_reserved,
    memory_stats,
    memory_summary,
    reset_peak_memory_stats,
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
    set_stream,
    stream,
)

__all__ = [
    "CUDAGraph",
    "Event",
    "ExternalStream",
    "OutOfMemoryError",
    "Stream",
    "StreamContext",
    "can_device_access_peer",
    "current_device",
    "current_stream",
    "default_stream",
    "device",
    "device_count",
    "device_of",
    "empty_cache",
    "get_device_capability",
    "get_device_name",
    "get_device_properties",
    "get_rng_state",
    "get_rng_state_all",
    "graph",
    "init",
    "initial_seed",
    "is_available",
    "is_bf16_supported",
    "is_initialized",
    "is_tf32_supported",
    "make_graphed_callables",
    "manual_seed",
    "manual_seed_all",
    "max_memory_allocated",
    "max_memory_reserved",
    "mem_get_info",
    "memory_allocated",
    "memory_reserved",
    "memory_stats",
    "memory_summary",
    "reset_peak_memory_stats",
    "seed",
    "seed_all",
    "set_device",
    "set_rng_state",
    "set_rng_state_all",
    "set_stream",
    "stream",
    "synchronize",
    "why_unavailable",
]

_NUMBERS = "BFloat16 Bool Byte Char Double Float Half Int Long Short"
_TYPES = {f"{number}Tensor": f"{__name__}.legacy_constructors" for number in _NUMBERS.split()}
_absent: Any = _names_of(__name__, ("amp", "nvtx"), _TYPES)

if TYPE_CHECKING:
    OutOfMemoryError = MemoryError
else:

    def __getattr__(name: str) -> Any:
        """Return what is imported when it is asked for: CuPy's error of memory that is not there,
        or MemoryError, from which it is derived, where there is no CUDA.
        """
        if name != "OutOfMemoryError":
            return _absent(name)
        if not is_available():
            return MemoryError
        return of_plugin("memory").OutOfMemoryError
