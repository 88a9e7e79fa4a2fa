"""The names of ``torch._C`` that concern the dispatcher, for programs and tests written against
them.
"""

# ruff: noqa: F401, N816, N999 - the names are PyTorch's, and for others
# mypy: implicit-reexport

import dovetail_kernel as _kernel
from dovetail_kernel import DispatchKey, DispatchKeySet

from .calls.overloads import OpOverload as _DispatchOperatorHandle
from .inspection.queries.dumps import (
    _dispatch_check_all_invariants,
    _dispatch_check_invariants,
    _dispatch_dump,
    _dispatch_dump_table,
    _dispatch_find_dangling_impls,
    _dispatch_get_all_op_names,
    _dispatch_get_registrations_for_dispatch_key,
)
from .inspection.queries.kernel_handles import SafeKernelFunction as _SafeKernelFunction
from .inspection.queries.schema_queries import (
    _dispatch_get_backend_keyset_from_autograd,
    _dispatch_get_computed_kernel_for_dispatch_key,
    _dispatch_key_set,
    _dispatch_print_registrations_for_dispatch_key,
    _get_schema,
    _jit_get_all_schemas,
    _jit_get_schemas_for_operator,
    _meta_in_tls_dispatch_include,
    _set_meta_in_tls_dispatch_include,
)
from .inspection.queries.table_queries import (
    _dispatch_autogradother_backends,
    _dispatch_call_boxed,
    _dispatch_find_schema_or_throw,
    _dispatch_has_backend_fallback,
    _dispatch_has_computed_kernel_for_dispatch_key,
    _dispatch_has_kernel,
    _dispatch_has_kernel_for_any_dispatch_key,
    _dispatch_has_kernel_for_dispatch_key,
    _dispatch_kernel_for_dispatch_key_is_fallthrough,
    _dispatch_keys,
)
from .interception.local_keys import (
    _dispatch_tls_is_dispatch_key_excluded,
    _dispatch_tls_is_dispatch_key_included,
    _dispatch_tls_local_exclude_set,
    _dispatch_tls_local_include_set,
    _dispatch_tls_set_dispatch_key_excluded,
    _dispatch_tls_set_dispatch_key_included,
)
from .interception.mode_functions import (
    _DisableTorchDispatch,
    _dispatch_isTensorSubclassLike,
    _get_dispatch_stack_at,
    _get_function_stack_at,
    _is_torch_function_all_disabled,
    _is_torch_function_enabled,
    _is_torch_function_mode_enabled,
    _len_torch_dispatch_stack,
    _len_torch_function_stack,
    _pop_torch_dispatch_stack,
    _pop_torch_function_stack,
    _push_on_torch_dispatch_stack,
    _push_on_torch_function_stack,
)
from .interception.overrides import has_torch_function as _has_torch_function
from .interception.overrides import has_torch_function_unary as _has_torch_function_unary
from .interception.overrides import has_torch_function_variadic as _has_torch_function_variadic
from .registration.dispatch_module import _dispatch_library, _DispatchModule
from .schema import AliasInfo as _AliasInfo
from .schema import (
    AnyType,
    Argument,
    AwaitType,
    BoolType,
    ClassType,
    ComplexType,
    DeviceObjType,
    DictType,
    FloatType,
    FunctionSchema,
    FutureType,
    IntType,
    ListType,
    NoneType,
    NumberType,
    OptionalType,
    RRefType,
    StreamObjType,
    StringType,
    SymBoolType,
    SymIntType,
    TensorType,
    TupleType,
    Type,
    UnionType,
    parse_schema,
)
from .schema import GeneratorType as _GeneratorType

DisableTorchFunction = _kernel.DisableTorchFunction
DisableTorchFunctionSubclass = _kernel.DisableTorchFunctionSubclass
_disabled_torch_dispatch_impl = _kernel.disabled_torch_dispatch_impl
_disabled_torch_function_impl = _kernel.disabled_torch_function_impl
ExcludeDispatchKeyGuard = _kernel.ExcludeDispatchKeyGuard
_AutoDispatchBelowADInplaceOrView = _kernel.AutoDispatchBelowADInplaceOrView
_AutoDispatchBelowAutograd = _kernel.AutoDispatchBelowAutograd
_ExcludeDispatchKeyGuard = _kernel.ExcludeDispatchKeyGuard
_ForceDispatchKeyGuard = _kernel.ForceDispatchKeyGuard
_IncludeDispatchKeyGuard = _kernel.IncludeDispatchKeyGuard
_PreserveDispatchKeyGuard = _kernel.PreserveDispatchKeyGuard
_SetExcludeDispatchKeyGuard = _kernel.SetExcludeDispatchKeyGuard
_after_ADInplaceOrView_keyset = _kernel.after_ADInplaceOrView_keyset
_after_autograd_keyset = _kernel.after_autograd_keyset
_dispatch_is_included_in_alias = _kernel.is_included_in_alias
_dispatch_key_parse = _kernel.parse_dispatch_key
_dispatch_keyset_full_after = _kernel.full_after


def _parse_dispatch_key(name: str) -> DispatchKey | None:
    """Return the key called `name`, or None."""
    try:
        return _kernel.parse_dispatch_key(name)
    except RuntimeError:
        return None


def _dispatch_key_name(key: DispatchKey) -> str:
    """Return the name of a key."""
    return key.name


def _dispatch_key_for_device(device_type: str) -> str:
    """Return the name of the dense key of a device type; raises RuntimeError for anything else."""
    return _kernel.dispatch_key_for_device(device_type).name


def _dispatch_is_alias_key(key: DispatchKey) -> bool:
    """Return whether a key stands for several."""
    return key.is_alias


def _dispatch_keyset_full() -> DispatchKeySet:
    """Return the set of every key."""
    return _kernel.full_keyset


def _dispatch_keyset_to_string(keys: DispatchKeySet) -> str:
    """Return the printed form of a key set."""
    return repr(keys)


def _dispatch_num_backends() -> int:
    """Return the number of backends, those that only have a name included."""
    return len(_kernel.all_backends())


# What is imported and defined here, and no second list of it.
__all__ = [name for name in globals() if name[:2] != "__" and name != "_kernel"]
