"""Names of ``torch._C`` whose objects lie elsewhere in Dovetail: where each is imported from when a
program asks for it.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any, Final

_PLAIN: Final = {
    "dovetail": """
        AcceleratorError Event Future Generator OutOfMemoryError PyTorchFileReader ScriptFunction
        ScriptModule Size Stream Tag autocast_decrement_nesting autocast_increment_nesting
        clear_autocast_cache default_generator device finfo fork get_autocast_cpu_dtype
        get_autocast_dtype get_autocast_gpu_dtype get_default_dtype get_num_interop_threads
        get_num_threads iinfo is_anomaly_check_nan_enabled is_anomaly_enabled
        is_autocast_cache_enabled is_autocast_cpu_enabled is_autocast_enabled is_grad_enabled
        is_inference_mode_enabled layout memory_format set_anomaly_enabled
        set_autocast_cache_enabled set_autocast_cpu_dtype set_autocast_cpu_enabled
        set_autocast_dtype set_autocast_enabled set_autocast_gpu_dtype set_flush_denormal
        set_num_interop_threads set_num_threads wait""",
    "dovetail_autograd": "_FunctionBase",
    "dovetail.autograd.variable": "_LegacyVariableBase",
    "dovetail._C.queries": """
        _WeakTensorRef _any_requires_grad _get_default_device _has_storage _increment_version
        _infer_size _is_alias_of _is_tracing _non_sym_sizes _set_grad_enabled _storage_id
        _data_address qscheme""",
    "dovetail._C.script_settings": """
        _jit_can_fuse_on_cpu _jit_override_can_fuse_on_cpu _jit_override_can_fuse_on_gpu
        _jit_set_profiling_executor _jit_set_profiling_mode _jit_set_texpr_fuser_enabled
        _jit_texpr_fuser_enabled""",
}

PLACES: Final = {
    name: (module, name) for module, names in _PLAIN.items() for name in names.split()
} | {
    "StorageBase": ("dovetail_kernel", "Storage"),
    "TensorBase": ("dovetail._C", "_TensorBase"),
    "_LinAlgError": ("dovetail_aten.linalg", "LinAlgError"),
    "_autograd": ("dovetail._C._autograd", ""),
    "_functorch": ("dovetail._C._functorch", ""),
    "_collect_all": ("dovetail.futures", "collect_all"),
    "_enter_dual_level": ("dovetail.autograd.forward_ad", "enter_dual_level"),
    "_exit_dual_level": ("dovetail.autograd.forward_ad", "exit_dual_level"),
    "_from_dlpack": ("dovetail", "from_dlpack"),
    "_get_deterministic_algorithms": ("dovetail", "are_deterministic_algorithms_enabled"),
    "_get_deterministic_algorithms_warn_only": (
        "dovetail",
        "is_deterministic_algorithms_warn_only_enabled",
    ),
    "_get_float32_matmul_precision": ("dovetail", "get_float32_matmul_precision"),
    "_get_warnAlways": ("dovetail", "is_warn_always_enabled"),
    "_is_autocast_available": ("dovetail.amp", "is_autocast_available"),
    "_parallel_info": ("dovetail.__config__", "parallel_info"),
    "_return_types": ("dovetail.return_types", ""),
    "_set_default_dtype": ("dovetail", "set_default_dtype"),
    "_set_default_tensor_type": ("dovetail", "set_default_tensor_type"),
    "_set_deterministic_algorithms": ("dovetail", "use_deterministic_algorithms"),
    "_set_float32_matmul_precision": ("dovetail", "set_float32_matmul_precision"),
    "_set_multithreading_enabled": ("dovetail_autograd", "set_multithreading_enabled"),
    "_set_warnAlways": ("dovetail", "set_warn_always"),
    "_storage_address": ("dovetail._C.queries", "_storage_id"),
    "_show_config": ("dovetail.__config__", "show"),
    "_to_dlpack": ("dovetail.utils.dlpack", "to_dlpack"),
}
"""Module and name there of each; no name stands for the module itself."""


def core_name(name: str) -> Any:
    """Return the object that ``_C`` has as `name`. Raises KeyError if there is none."""
    place, attribute = PLACES[name]
    module = import_module(place)
    return getattr(module, attribute) if attribute else module
