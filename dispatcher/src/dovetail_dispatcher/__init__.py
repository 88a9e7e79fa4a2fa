"""The dispatcher of Dovetail: operators declared by schemas, kernels registered per key, and the
calls between.
"""

from typing import TYPE_CHECKING

from dovetail_kernel import forward_old_places, names_on_demand, publish

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
    from .interception.interceptable_attributes import accesses, interceptable, operator_modules
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
    from .table.registry import forget_all_routes
    from .table.source_locations import short_place
    from .table.updates.condition_switch import without_conditions
    from .table.updates.pending import PendingKernel, check_pending

_fallback_kernels.install()

_ON_DEMAND = {
    "calls.fake_context": ("get_ctx",),
    "inspection.argument_keys": ("ArgumentKeys",),
    "inspection.checks.opcheck": (
        "OpCheckError",
        "opcheck",
    ),
    "inspection.decisions": (
        "Decision",
        "Step",
    ),
    "inspection.explanation": (
        "Explanation",
        "FunctionExplanation",
        "explain",
        "explain_function",
    ),
    "inspection.notebook_trees": ("InNotebooks",),
    "inspection.python_text": ("python_text",),
    "inspection.queries.dumps": (
        "DispatchTable",
        "dispatch_table",
    ),
    "inspection.queries.kernel_handles": ("get_kernel",),
    "inspection.traces.annotations": ("Annotation",),
    "inspection.traces.spans": (
        "CallSpan",
        "Observer",
        "Span",
        "open_span",
    ),
    "inspection.traces.tracing": ("Trace",),
    "interception.function_modes": (
        "BaseTorchFunctionMode",
        "TorchFunctionMode",
    ),
    "interception.interceptable_attributes": (
        "accesses",
        "interceptable",
        "operator_modules",
    ),
    "interception.intercepted_functions": (
        "ask_arguments",
        "is_overridable",
        "overridable",
        "redispatch_function",
    ),
    "interception.mode_stacks": (
        "dispatch_modes",
        "function_modes",
    ),
    "interception.overrides": (
        "handle_torch_function",
        "has_torch_function",
        "has_torch_function_unary",
        "has_torch_function_variadic",
        "overridden_name",
        "wrap_torch_function",
    ),
    "interception.python_dispatch": (
        "TorchDispatchMode",
        "enable_reentrant_dispatch",
    ),
    "registration.custom_op_definition": ("CustomOpDef",),
    "registration.custom_ops": ("custom_op",),
    "registration.define_and_impl": (
        "define",
        "impl",
    ),
    "registration.register": (
        "impl_abstract",
        "register_autocast",
        "register_autograd",
        "register_fake",
        "register_kernel",
        "register_torch_dispatch",
        "register_vmap",
    ),
    "schema.class_types": ("ClassType",),
    "schema.function_schema": (
        "AliasInfo",
        "Argument",
        "NoDefault",
    ),
    "schema.types": (
        "AnyClassType",
        "AnyEnumType",
        "AnyType",
        "AwaitType",
        "BoolType",
        "CapsuleType",
        "ComplexType",
        "DeviceObjType",
        "DictType",
        "FloatType",
        "FutureType",
        "GeneratorType",
        "IntType",
        "LayoutType",
        "ListType",
        "MemoryFormatType",
        "NoneType",
        "NumberType",
        "OptionalType",
        "QSchemeType",
        "QuantizerType",
        "RRefType",
        "ScalarTypeType",
        "StorageType",
        "StreamObjType",
        "StringType",
        "SymBoolType",
        "SymIntType",
        "TensorType",
        "TupleType",
        "UnionType",
        "VarType",
    ),
    "table.registry": ("forget_all_routes",),
    "table.source_locations": ("short_place",),
    "table.updates.condition_switch": ("without_conditions",),
    "table.updates.pending": (
        "PendingKernel",
        "check_pending",
    ),
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
    "forget_all_routes",
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
__getattr__ = names_on_demand(__name__, _ON_DEMAND)
publish(
    __name__,
    lazy={name: f"{__name__}.{place}" for place, names in _ON_DEMAND.items() for name in names},
)
