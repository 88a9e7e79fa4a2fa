"""The dispatcher of Dovetail: operators declared by schemas, kernels registered per key, and the
calls between.
"""

from typing import TYPE_CHECKING, Any

from dovetail_kernel import forward_old_places, publish, publish_loaded

from .calls import fallback_kernels as _fallback_kernels
from .calls.ops import ops
from .calls.overloads import OpOverload, OpOverloadPacket
from .registration.library import Library
from .registration.scoped_library import _scoped_library
from .schema import FunctionSchema, SchemaError, infer_schema, parse_schema
from .table.kernel_namespace import NoArrayKernelError, kernel_namespace
from .table.kernels import Kernel, fallthrough_kernel
from .table.operator import Operator
from .table.tags import Tag
from .table.updates.transactions import transaction

if TYPE_CHECKING:
    from .calls.fake_context import get_ctx
    from .inspection.checks.opcheck import OpCheckError, opcheck
    from .inspection.explanation import Explanation, FunctionExplanation, explain, explain_function
    from .inspection.notebook_trees import InNotebooks
    from .inspection.python_text import python_text
    from .inspection.queries.dumps import DispatchTable, dispatch_table
    from .inspection.queries.kernel_handles import get_kernel
    from .inspection.traces.annotations import Annotation
    from .inspection.traces.spans import CallSpan, Observer, Span, open_span
    from .inspection.traces.tracing import Trace
    from .interception.function_modes import BaseTorchFunctionMode, TorchFunctionMode
    from .interception.interceptable_attributes import (
        accesses,
        interceptable,
        operator_modules,
    )
    from .interception.intercepted_functions import (
        ask_arguments,
        is_overridable,
        overridable,
        redispatch_function,
    )
    from .interception.mode_stacks import dispatch_modes, function_modes
    from .interception.overrides import (
        handle_torch_function,
        has_torch_function,
        has_torch_function_unary,
        has_torch_function_variadic,
        overridden_name,
        wrap_torch_function,
    )
    from .interception.python_dispatch import TorchDispatchMode, enable_reentrant_dispatch
    from .registration.custom_op_definition import CustomOpDef
    from .registration.custom_ops import custom_op
    from .registration.define_and_impl import define, impl
    from .registration.register import (
        impl_abstract,
        register_autocast,
        register_autograd,
        register_fake,
        register_kernel,
        register_torch_dispatch,
        register_vmap,
    )
    from .table.source_locations import short_place
    from .table.updates.condition_switch import without_conditions
    from .table.updates.pending import PendingKernel, check_pending

_fallback_kernels.install()

_ON_DEMAND = {
    "BaseTorchFunctionMode": "interception.function_modes",
    "short_place": "table.source_locations",
    "Annotation": "inspection.traces.annotations",
    "InNotebooks": "inspection.notebook_trees",
    "Observer": "inspection.traces.spans",
    "open_span": "inspection.traces.spans",
    "Trace": "inspection.traces.tracing",
    "Span": "inspection.traces.spans",
    "CallSpan": "inspection.traces.spans",
    "CustomOpDef": "registration.custom_op_definition",
    "DispatchTable": "inspection.queries.dumps",
    "Explanation": "inspection.explanation",
    "FunctionExplanation": "inspection.explanation",
    "PendingKernel": "table.updates.pending",
    "check_pending": "table.updates.pending",
    "TorchDispatchMode": "interception.python_dispatch",
    "TorchFunctionMode": "interception.function_modes",
    "custom_op": "registration.custom_ops",
    "define": "registration.define_and_impl",
    "accesses": "interception.interceptable_attributes",
    "dispatch_modes": "interception.mode_stacks",
    "enable_reentrant_dispatch": "interception.python_dispatch",
    "function_modes": "interception.mode_stacks",
    "redispatch_function": "interception.intercepted_functions",
    "dispatch_table": "inspection.queries.dumps",
    "explain": "inspection.explanation",
    "explain_function": "inspection.explanation",
    "OpCheckError": "inspection.checks.opcheck",
    "get_ctx": "calls.fake_context",
    "get_kernel": "inspection.queries.kernel_handles",
    "impl": "registration.define_and_impl",
    "impl_abstract": "registration.register",
    "opcheck": "inspection.checks.opcheck",
    "register_autocast": "registration.register",
    "handle_torch_function": "interception.overrides",
    "has_torch_function": "interception.overrides",
    "has_torch_function_unary": "interception.overrides",
    "has_torch_function_variadic": "interception.overrides",
    "interceptable": "interception.interceptable_attributes",
    "ask_arguments": "interception.intercepted_functions",
    "is_overridable": "interception.intercepted_functions",
    "operator_modules": "interception.interceptable_attributes",
    "overridable": "interception.intercepted_functions",
    "overridden_name": "interception.overrides",
    "python_text": "inspection.python_text",
    "register_autograd": "registration.register",
    "register_fake": "registration.register",
    "register_kernel": "registration.register",
    "wrap_torch_function": "interception.overrides",
    "register_torch_dispatch": "registration.register",
    "register_vmap": "registration.register",
    "without_conditions": "table.updates.condition_switch",
    # Parts of traces, which pickles name.
    "ArgumentKeys": "inspection.argument_keys",
    "Decision": "inspection.decisions",
    "Step": "inspection.decisions",
    # Parts of schemas, likewise.
    **dict.fromkeys(("AliasInfo", "Argument", "NoDefault"), "schema.function_schema"),
    **dict.fromkeys(
        (
            *("AnyClassType", "AnyEnumType", "AnyType", "AwaitType", "BoolType", "CapsuleType"),
            *("ComplexType", "DeviceObjType", "DictType", "FloatType", "FutureType"),
            *("GeneratorType", "IntType", "LayoutType", "ListType", "MemoryFormatType"),
            *("NoneType", "NumberType", "OptionalType", "QSchemeType", "QuantizerType"),
            *("RRefType", "ScalarTypeType", "StorageType", "StreamObjType", "StringType"),
            *("SymBoolType", "SymIntType", "TensorType", "TupleType", "UnionType", "VarType"),
        ),
        "schema.types",
    ),
    "ClassType": "schema.class_types",
}
"""Names that most programs do not use, and their modules."""

__all__ = [
    "Annotation",
    "BaseTorchFunctionMode",
    "CallSpan",
    "CustomOpDef",
    "DispatchTable",
    "Explanation",
    "FunctionExplanation",
    "FunctionSchema",
    "InNotebooks",
    "Kernel",
    "Library",
    "NoArrayKernelError",
    "Observer",
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
    "accesses",
    "ask_arguments",
    "check_pending",
    "custom_op",
    "define",
    "dispatch_modes",
    "dispatch_table",
    "enable_reentrant_dispatch",
    "explain",
    "explain_function",
    "fallthrough_kernel",
    "function_modes",
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
    "kernel_namespace",
    "opcheck",
    "open_span",
    "operator_modules",
    "ops",
    "overridable",
    "overridden_name",
    "parse_schema",
    "python_text",
    "redispatch_function",
    "register_autocast",
    "register_autograd",
    "register_fake",
    "register_kernel",
    "register_torch_dispatch",
    "register_vmap",
    "short_place",
    "transaction",
    "without_conditions",
    "wrap_torch_function",
]
forward_old_places(__name__, f"{__name__}.old_places")
publish(__name__, lazy={name: f"{__name__}.{module}" for name, module in _ON_DEMAND.items()})


def __getattr__(name: str) -> Any:
    if name not in _ON_DEMAND:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    value = globals()[name] = getattr(import_module(f".{_ON_DEMAND[name]}", __name__), name)
    publish_loaded()
    return value
