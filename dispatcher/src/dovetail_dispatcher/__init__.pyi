from .calls.fake_context import get_ctx as get_ctx
from .calls.ops import ops as ops
from .calls.overloads import OpOverload as OpOverload
from .calls.overloads import OpOverloadPacket as OpOverloadPacket
from .inspection.argument_keys import ArgumentKeys
from .inspection.checks.opcheck import OpCheckError as OpCheckError
from .inspection.checks.opcheck import opcheck as opcheck
from .inspection.decisions import Decision, Step
from .inspection.explanation import Explanation as Explanation
from .inspection.explanation import FunctionExplanation as FunctionExplanation
from .inspection.explanation import explain as explain
from .inspection.explanation import explain_function as explain_function
from .inspection.notebook_trees import InNotebooks as InNotebooks
from .inspection.python_text import python_text as python_text
from .inspection.queries.dumps import DispatchTable as DispatchTable
from .inspection.queries.dumps import dispatch_table as dispatch_table
from .inspection.queries.kernel_handles import get_kernel as get_kernel
from .inspection.traces.annotations import Annotation as Annotation
from .inspection.traces.spans import CallSpan as CallSpan
from .inspection.traces.spans import Observer as Observer
from .inspection.traces.spans import Span as Span
from .inspection.traces.spans import open_span as open_span
from .inspection.traces.tracing import Trace as Trace
from .interception.function_modes import BaseTorchFunctionMode as BaseTorchFunctionMode
from .interception.function_modes import TorchFunctionMode as TorchFunctionMode
from .interception.interceptable_attributes import accesses as accesses
from .interception.interceptable_attributes import interceptable as interceptable
from .interception.interceptable_attributes import operator_modules as operator_modules
from .interception.intercepted_functions import ask_arguments as ask_arguments
from .interception.intercepted_functions import is_overridable as is_overridable
from .interception.intercepted_functions import overridable as overridable
from .interception.intercepted_functions import redispatch_function as redispatch_function
from .interception.mode_stacks import dispatch_modes as dispatch_modes
from .interception.mode_stacks import function_modes as function_modes
from .interception.overrides import handle_torch_function as handle_torch_function
from .interception.overrides import has_torch_function as has_torch_function
from .interception.overrides import has_torch_function_unary as has_torch_function_unary
from .interception.overrides import has_torch_function_variadic as has_torch_function_variadic
from .interception.overrides import overridden_name as overridden_name
from .interception.overrides import wrap_torch_function as wrap_torch_function
from .interception.python_dispatch import TorchDispatchMode as TorchDispatchMode
from .interception.python_dispatch import enable_reentrant_dispatch as enable_reentrant_dispatch
from .registration.custom_op_definition import CustomOpDef as CustomOpDef
from .registration.custom_ops import custom_op as custom_op
from .registration.define_and_impl import define as define
from .registration.define_and_impl import impl as impl
from .registration.library import Library as Library
from .registration.register import impl_abstract as impl_abstract
from .registration.register import register_autocast as register_autocast
from .registration.register import register_autograd as register_autograd
from .registration.register import register_fake as register_fake
from .registration.register import register_kernel as register_kernel
from .registration.register import register_torch_dispatch as register_torch_dispatch
from .registration.register import register_vmap as register_vmap
from .registration.scoped_library import _scoped_library as _scoped_library
from .schema import FunctionSchema as FunctionSchema
from .schema import SchemaError as SchemaError
from .schema import infer_schema as infer_schema
from .schema import parse_schema as parse_schema
from .schema.class_types import ClassType
from .schema.function_schema import AliasInfo, NoDefault
from .schema.function_schema import Argument as Argument
from .schema.types import (
    AnyClassType,
    AnyEnumType,
    AnyType,
    AwaitType,
    BoolType,
    CapsuleType,
    ComplexType,
    DeviceObjType,
    DictType,
    FloatType,
    FutureType,
    GeneratorType,
    IntType,
    LayoutType,
    ListType,
    MemoryFormatType,
    NoneType,
    NumberType,
    OptionalType,
    QSchemeType,
    QuantizerType,
    RRefType,
    ScalarTypeType,
    StorageType,
    StreamObjType,
    StringType,
    SymBoolType,
    SymIntType,
    TensorType,
    TupleType,
    UnionType,
    VarType,
)
from .table.kernel_namespace import NoArrayKernelError as NoArrayKernelError
from .table.kernel_namespace import kernel_namespace as kernel_namespace
from .table.kernels import Kernel as Kernel
from .table.kernels import fallthrough_kernel as fallthrough_kernel
from .table.operator import Operator as Operator
from .table.registry import forget_all_routes as forget_all_routes
from .table.source_locations import short_place as short_place
from .table.tags import Tag as Tag
from .table.updates.condition_switch import without_conditions as without_conditions
from .table.updates.pending import PendingKernel as PendingKernel
from .table.updates.pending import check_pending as check_pending
from .table.updates.transactions import transaction as transaction
