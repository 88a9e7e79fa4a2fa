"""The dispatcher of Dovetail: operators declared by schemas, kernels registered per key, and the calls between."""

from typing import TYPE_CHECKING, Any

from . import fallback_kernels as _fallback_kernels
from . import transactions as _transactions
from .array_kernels import NoArrayKernelError, array_kernels
from .kernels import Kernel, fallthrough_kernel
from .library import Library, _scoped_library
from .operator import Operator
from .ops import OpOverload, OpOverloadPacket, ops
from .schema import FunctionSchema, SchemaError, infer_schema, parse_schema
from .tags import Tag
from .transactions import transaction

if TYPE_CHECKING:
    from .custom_ops import CustomOpDef, custom_op
    from .dumps import DispatchTable, dispatch_table
    from .explanation import Explanation, explain
    from .fake_context import get_ctx
    from .function_modes import BaseTorchFunctionMode, TorchFunctionMode
    from .functional import (
        define,
        impl,
        impl_abstract,
        register_autocast,
        register_autograd,
        register_fake,
        register_kernel,
        register_torch_dispatch,
        register_vmap,
    )
    from .intercepted_attributes import interceptable, operator_modules
    from .intercepted_functions import is_overridable, overridable
    from .kernel_handles import get_kernel
    from .mode_stacks import dispatch_modes
    from .operator_checks import OpCheckError, opcheck
    from .overrides import (
        handle_torch_function,
        has_torch_function,
        has_torch_function_unary,
        has_torch_function_variadic,
        overridden_name,
        wrap_torch_function,
    )
    from .pending import PendingKernel, check_pending
    from .places import short_place
    from .python_dispatch import TorchDispatchMode
    from .spans import CallSpan, Span
    from .tracing import Trace

_fallback_kernels.install()
_transactions.install()

_ON_DEMAND = {
    "BaseTorchFunctionMode": "function_modes",
    "short_place": "places",
    "Trace": "tracing",
    "Span": "spans",
    "CallSpan": "spans",
    "CustomOpDef": "custom_ops",
    "DispatchTable": "dumps",
    "Explanation": "explanation",
    "PendingKernel": "pending",
    "check_pending": "pending",
    "TorchDispatchMode": "python_dispatch",
    "TorchFunctionMode": "function_modes",
    "custom_op": "custom_ops",
    "define": "functional",
    "dispatch_modes": "mode_stacks",
    "dispatch_table": "dumps",
    "explain": "explanation",
    "OpCheckError": "operator_checks",
    "get_ctx": "fake_context",
    "get_kernel": "kernel_handles",
    "impl": "functional",
    "impl_abstract": "functional",
    "opcheck": "operator_checks",
    "register_autocast": "functional",
    "handle_torch_function": "overrides",
    "has_torch_function": "overrides",
    "has_torch_function_unary": "overrides",
    "has_torch_function_variadic": "overrides",
    "interceptable": "intercepted_attributes",
    "is_overridable": "intercepted_functions",
    "operator_modules": "intercepted_attributes",
    "overridable": "intercepted_functions",
    "overridden_name": "overrides",
    "register_autograd": "functional",
    "register_fake": "functional",
    "register_kernel": "functional",
    "wrap_torch_function": "overrides",
    "register_torch_dispatch": "functional",
    "register_vmap": "functional",
}
"""Names that most programs do not use, and their modules."""

__all__ = [
    "BaseTorchFunctionMode",
    "CallSpan",
    "CustomOpDef",
    "DispatchTable",
    "Explanation",
    "FunctionSchema",
    "Kernel",
    "Library",
    "NoArrayKernelError",
    "OpCheckError",
    "OpOverload",
    "OpOverloadPacket",
    "Operator",
    "PendingKernel",
    "SchemaError",
    "Span",
    "Tag",
    "TorchDispatchMode",
    "TorchFunctionMode",
    "Trace",
    "_scoped_library",
    "array_kernels",
    "check_pending",
    "custom_op",
    "define",
    "dispatch_modes",
    "dispatch_table",
    "explain",
    "fallthrough_kernel",
    "get_ctx",
    "get_kernel",
    "handle_torch_function",
    "has_torch_function",
    "has_torch_function_unary",
    "has_torch_function_variadic",
    "impl",
    "impl_abstract",
    "infer_schema",
    "interceptable",
    "is_overridable",
    "opcheck",
    "operator_modules",
    "ops",
    "overridable",
    "overridden_name",
    "parse_schema",
    "register_autocast",
    "register_autograd",
    "register_fake",
    "register_kernel",
    "register_torch_dispatch",
    "register_vmap",
    "short_place",
    "transaction",
    "wrap_torch_function",
]


def __getattr__(name: str) -> Any:
    if name not in _ON_DEMAND:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    value = globals()[name] = getattr(import_module(f".{_ON_DEMAND[name]}", __name__), name)
    return value
