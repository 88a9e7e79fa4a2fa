"""One call: the entry that checks its arguments, the route composed for its key, and what both run.

May import `testing` and what lies below.
"""

from .array_errors import (
    any_bool_error,
    broadcast_error,
    broadcast_shape,
    shape_of_output_error,
    unsupported_error,
)
from .arrays.alias_checks import tensors_among
from .arrays.array_wrapping import array_wrapper
from .arrays.array_writes import (
    check_inference_write,
    check_overlap,
    resize_out,
    write_into,
    write_out,
    write_outs,
)
from .arrays.immutable_array_writes import become, hulls, keep_views, note_views, replace, views_of
from .entry_forms import EntryForm, Parameter, form_of
from .entry_support import COMMON, entry_bindings
from .plan import Around, CallFunction, Expression, Operand, RoutePlan, Step, Value, argument_value
from .plans.array_calls import quiet
from .plans.composition import Composition
from .plans.tensor_plans import strip_defaults
from .printer import Printer
from .promotion.key_dtypes import check_writable_as
from .promotion.scalar_operands import OF_NUMBER, category_of_number, tensor_of_number
from .python_signatures import LateSignature, parameters_of, signature_of
from .routes import MAX_ROUTES, redispatch_route
from .steps.arguments import (
    ArrayOf,
    CastArray,
    CheckOperand,
    MoveToBackend,
    NativeDtype,
    NumberToTensor,
    PromoteOperands,
)
from .steps.array_results import UnpackArrays
from .steps.conditions import IfCondition
from .steps.kernel_calls import CallKernel, KernelCall, TranslateErrors
from .steps.results import (
    MarkInside,
    Signature,
    WrapArray,
    WrapArrays,
    WrapUnlessMasked,
    mark_inside,
)
from .steps.tensor_kernels import (
    BumpVersion,
    CallTensorKernel,
    CheckAliases,
    CheckIdentity,
    CheckReturns,
    CheckTensor,
    InState,
)
from .steps.writes import CheckInferenceWrite, CheckOverlap, CountWrite, WriteInto, WriteOut
from .templates.arguments import default_text, parameter
from .templates.entry import INDENT, compose_entry, numbers_allowed, symbol, with_short_traceback

__all__ = [
    "COMMON",
    "INDENT",
    "MAX_ROUTES",
    "OF_NUMBER",
    "Around",
    "ArrayOf",
    "BumpVersion",
    "CallFunction",
    "CallKernel",
    "CallTensorKernel",
    "CastArray",
    "CheckAliases",
    "CheckIdentity",
    "CheckInferenceWrite",
    "CheckOperand",
    "CheckOverlap",
    "CheckReturns",
    "CheckTensor",
    "Composition",
    "CountWrite",
    "EntryForm",
    "Expression",
    "IfCondition",
    "InState",
    "KernelCall",
    "LateSignature",
    "MarkInside",
    "MoveToBackend",
    "NativeDtype",
    "NumberToTensor",
    "Operand",
    "Parameter",
    "Printer",
    "PromoteOperands",
    "RoutePlan",
    "Signature",
    "Step",
    "TranslateErrors",
    "UnpackArrays",
    "Value",
    "WrapArray",
    "WrapArrays",
    "WrapUnlessMasked",
    "WriteInto",
    "WriteOut",
    "any_bool_error",
    "argument_value",
    "array_wrapper",
    "become",
    "broadcast_error",
    "broadcast_shape",
    "category_of_number",
    "check_inference_write",
    "check_overlap",
    "check_writable_as",
    "compose_entry",
    "default_text",
    "entry_bindings",
    "form_of",
    "hulls",
    "keep_views",
    "mark_inside",
    "note_views",
    "numbers_allowed",
    "parameter",
    "parameters_of",
    "quiet",
    "redispatch_route",
    "replace",
    "resize_out",
    "shape_of_output_error",
    "signature_of",
    "strip_defaults",
    "symbol",
    "tensor_of_number",
    "tensors_among",
    "unsupported_error",
    "views_of",
    "with_short_traceback",
    "write_into",
    "write_out",
    "write_outs",
]
