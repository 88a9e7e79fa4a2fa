"""The microkernel of Dovetail: tensors without operators, dispatch keys and state, and the plugin
manager.
"""

from .devices.allocator import Allocator, DataPtr, MemoryStatistics
from .devices.array_backend import ArrayBackend
from .devices.backends import (
    Backend,
    all_backends,
    backend,
    backend_of_array,
    backend_of_signature,
    backends_of_signature,
    has_backend,
    on_new_backend,
    wrapped_backend,
)
from .devices.backends import rebuild_backend as rebuild_backend  # for pickles
from .devices.device import Device, DeviceLike, get_default_device, set_default_device
from .devices.lowering import BySize
from .devices.memory import is_writable
from .errors import AcceleratorError, PluginError, PluginNotFoundError, name_of_distribution
from .fork_locks import renewed_after_fork
from .gc_pause import collection_paused
from .keys.dispatch_key import (
    DispatchKey,
    backend_key,
    dispatch_key_for_device,
    is_included_in_alias,
    parse_dispatch_key,
)
from .keys.dispatch_keyset import (
    DispatchKeySet,
    after_ADInplaceOrView_keyset,
    after_autograd_keyset,
    full_after,
    full_keyset,
    runtime_keys,
)
from .keys.dispatch_keyset import rebuild_key_set as rebuild_key_set  # for pickles
from .keys.guard import DecoratingGuard, Guard, restoring
from .keys.interception import disabled_torch_dispatch_impl, disabled_torch_function_impl
from .keys.state import (
    AutoDispatchBelowADInplaceOrView,
    AutoDispatchBelowAutograd,
    DisableTorchFunction,
    DisableTorchFunctionSubclass,
    DispatchState,
    ExcludeDispatchKeyGuard,
    ForceDispatchKeyGuard,
    IncludeDispatchKeyGuard,
    PreserveDispatchKeyGuard,
    SetExcludeDispatchKeyGuard,
    dispatch_state,
    is_grad_enabled,
    set_grad_enabled,
    set_state,
    state,
)
from .old_places import forward_old_places
from .on_demand import names_on_demand
from .plugins.hookspecs import BackendSpec, hookimpl, hookspec
from .plugins.manager import PluginManager, plugin_manager
from .plugins.overlays import use_overlay, use_requested_overlays
from .plugins.plugin_records import PluginRecord
from .public_places import defining_module, publish, publish_loaded, publish_name
from .short_tracebacks import set_full_tracebacks
from .sockets import AutogradInterface
from .tensor.dataless import DatalessArray
from .tensor.dlpack_device import DLDeviceType
from .tensor.new_tensors import (
    replace_array,
    set_tensor_class,
    show_view,
    signature_of,
    tensor_class,
    wrap,
)
from .tensor.ownership import tensors_on_storage
from .tensor.resized_storage import make_writable, resize_storage
from .tensor.size import Size
from .tensor.storage import Storage, new_storage, share_storage, without_wrappers
from .tensor.tensor_base import TensorBase
from .tensor.version import VersionCounter, bump_version, share_version
from .types.dtype import (
    ALIASES,
    BY_NAME,
    DTYPES,
    bfloat16,
    complex64,
    complex128,
    dtype,
    dtype_of_signature,
    float16,
    float32,
    float64,
    int8,
    int16,
    int32,
    int64,
    uint8,
    uint16,
    uint32,
    uint64,
)
from .types.dtype import bool_ as bool
from .types.dtype_info import finfo, iinfo
from .types.immutable import rebuild_named as rebuild_named  # for pickles
from .types.layout import (
    Layout,
    MemoryFormat,
    channels_last,
    channels_last_3d,
    contiguous_format,
    jagged,
    preserve_format,
    sparse_bsc,
    sparse_bsr,
    sparse_coo,
    sparse_csc,
    sparse_csr,
    strided,
)
from .types.named_dtype import NamedDtype, named_dtype
from .types.promotion import (
    PYTHON_DTYPES,
    can_cast,
    get_default_dtype,
    promote_types,
    result_dtype,
    scalar_category,
    scalar_dtype,
    set_default_dtype,
)
from .user_warning import (
    is_warn_always_enabled,
    reset_once_warnings,
    set_warn_always,
    warn_user,
    warn_user_once,
)

__all__ = [
    "ALIASES",
    "BY_NAME",
    "DTYPES",
    "PYTHON_DTYPES",
    "AcceleratorError",
    "Allocator",
    "ArrayBackend",
    "AutoDispatchBelowADInplaceOrView",
    "AutoDispatchBelowAutograd",
    "AutogradInterface",
    "Backend",
    "BackendSpec",
    "BySize",
    "DLDeviceType",
    "DataPtr",
    "DatalessArray",
    "DecoratingGuard",
    "Device",
    "DeviceLike",
    "DisableTorchFunction",
    "DisableTorchFunctionSubclass",
    "DispatchKey",
    "DispatchKeySet",
    "DispatchState",
    "ExcludeDispatchKeyGuard",
    "ForceDispatchKeyGuard",
    "Guard",
    "IncludeDispatchKeyGuard",
    "Layout",
    "MemoryFormat",
    "MemoryStatistics",
    "NamedDtype",
    "PluginError",
    "PluginManager",
    "PluginNotFoundError",
    "PluginRecord",
    "PreserveDispatchKeyGuard",
    "SetExcludeDispatchKeyGuard",
    "Size",
    "Storage",
    "TensorBase",
    "VersionCounter",
    "after_ADInplaceOrView_keyset",
    "after_autograd_keyset",
    "all_backends",
    "backend",
    "backend_key",
    "backend_of_array",
    "backend_of_signature",
    "backends_of_signature",
    "bfloat16",
    "bool",
    "bump_version",
    "can_cast",
    "channels_last",
    "channels_last_3d",
    "collection_paused",
    "complex64",
    "complex128",
    "contiguous_format",
    "defining_module",
    "disabled_torch_dispatch_impl",
    "disabled_torch_function_impl",
    "dispatch_key_for_device",
    "dispatch_state",
    "dtype",
    "dtype_of_signature",
    "finfo",
    "float16",
    "float32",
    "float64",
    "forward_old_places",
    "full_after",
    "full_keyset",
    "get_default_device",
    "get_default_dtype",
    "has_backend",
    "hookimpl",
    "hookspec",
    "iinfo",
    "int8",
    "int16",
    "int32",
    "int64",
    "is_grad_enabled",
    "is_included_in_alias",
    "is_warn_always_enabled",
    "is_writable",
    "jagged",
    "make_writable",
    "name_of_distribution",
    "named_dtype",
    "names_on_demand",
    "new_storage",
    "on_new_backend",
    "parse_dispatch_key",
    "plugin_manager",
    "preserve_format",
    "promote_types",
    "publish",
    "publish_loaded",
    "publish_name",
    "renewed_after_fork",
    "replace_array",
    "reset_once_warnings",
    "resize_storage",
    "restoring",
    "result_dtype",
    "runtime_keys",
    "scalar_category",
    "scalar_dtype",
    "set_default_device",
    "set_default_dtype",
    "set_full_tracebacks",
    "set_grad_enabled",
    "set_state",
    "set_tensor_class",
    "set_warn_always",
    "share_storage",
    "share_version",
    "show_view",
    "signature_of",
    "sparse_bsc",
    "sparse_bsr",
    "sparse_coo",
    "sparse_csc",
    "sparse_csr",
    "state",
    "strided",
    "tensor_class",
    "tensors_on_storage",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "use_overlay",
    "use_requested_overlays",
    "warn_user",
    "warn_user_once",
    "without_wrappers",
    "wrap",
    "wrapped_backend",
]

publish(__name__, "rebuild_backend rebuild_key_set rebuild_named")
forward_old_places(__name__, f"{__name__}.old_places")
