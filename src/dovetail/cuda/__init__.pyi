from typing import Any

from dovetail_kernel import AcceleratorError as AcceleratorError
from dovetail_kernel import OutOfMemoryError as OutOfMemoryError

from . import amp, nvtx, profiler
from .devices import can_device_access_peer as can_device_access_peer
from .devices import current_device as current_device
from .devices import device as device
from .devices import device_count as device_count
from .devices import device_of as device_of
from .devices import get_device_capability as get_device_capability
from .devices import get_device_name as get_device_name
from .devices import get_device_properties as get_device_properties
from .devices import init as init
from .devices import is_bf16_supported as is_bf16_supported
from .devices import is_initialized as is_initialized
from .devices import is_tf32_supported as is_tf32_supported
from .devices import set_device as set_device
from .devices import synchronize as synchronize
from .graphs import CUDAGraph as CUDAGraph
from .graphs import graph as graph
from .graphs import graph_pool_handle as graph_pool_handle
from .graphs import is_current_stream_capturing as is_current_stream_capturing
from .graphs import make_graphed_callables as make_graphed_callables
from .legacy_constructors import (
    BFloat16Tensor,
    BoolTensor,
    ByteTensor,
    CharTensor,
    DoubleTensor,
    FloatTensor,
    HalfTensor,
    IntTensor,
    LongTensor,
    ShortTensor,
)
from .libraries import current_blas_handle as current_blas_handle
from .libraries import current_solver_handle as current_solver_handle
from .libraries import get_arch_list as get_arch_list
from .libraries import get_gencode_flags as get_gencode_flags
from .libraries import get_sync_debug_mode as get_sync_debug_mode
from .libraries import ipc_collect as ipc_collect
from .libraries import set_sync_debug_mode as set_sync_debug_mode
from .memory import empty_cache as empty_cache
from .memory import get_per_process_memory_fraction as get_per_process_memory_fraction
from .memory import max_memory_allocated as max_memory_allocated
from .memory import max_memory_cached as max_memory_cached
from .memory import max_memory_reserved as max_memory_reserved
from .memory import mem_get_info as mem_get_info
from .memory import memory_allocated as memory_allocated
from .memory import memory_cached as memory_cached
from .memory import memory_reserved as memory_reserved
from .memory import memory_stats as memory_stats
from .memory import memory_stats_as_nested_dict as memory_stats_as_nested_dict
from .memory import memory_summary as memory_summary
from .memory import reset_max_memory_allocated as reset_max_memory_allocated
from .memory import reset_max_memory_cached as reset_max_memory_cached
from .memory import reset_peak_memory_stats as reset_peak_memory_stats
from .memory import set_per_process_memory_fraction as set_per_process_memory_fraction
from .monitoring import clock_rate as clock_rate
from .monitoring import device_memory_used as device_memory_used
from .monitoring import list_gpu_processes as list_gpu_processes
from .monitoring import memory_usage as memory_usage
from .monitoring import power_draw as power_draw
from .monitoring import temperature as temperature
from .monitoring import utilization as utilization
from .plugin import is_available as is_available
from .plugin import why_unavailable as why_unavailable
from .random import get_rng_state as get_rng_state
from .random import get_rng_state_all as get_rng_state_all
from .random import initial_seed as initial_seed
from .random import manual_seed as manual_seed
from .random import manual_seed_all as manual_seed_all
from .random import seed as seed
from .random import seed_all as seed_all
from .random import set_rng_state as set_rng_state
from .random import set_rng_state_all as set_rng_state_all
from .streams import Event as Event
from .streams import ExternalStream as ExternalStream
from .streams import Stream as Stream
from .streams import StreamContext as StreamContext
from .streams import current_stream as current_stream
from .streams import default_stream as default_stream
from .streams import get_stream_from_external as get_stream_from_external
from .streams import set_stream as set_stream
from .streams import stream as stream

default_generators: tuple[Any, ...]
has_half: bool
has_magma: bool
