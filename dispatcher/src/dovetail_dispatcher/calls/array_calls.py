"""What an array kernel is called with: how the arguments of a call take part in it, how they are
promoted, and the call itself.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, partial
from inspect import CO_VARARGS, CO_VARKEYWORDS
from typing import Any, Final

from dovetail_kernel import Backend
from dovetail_kernel import dtype as DType
from dovetail_kernel.types.signature import INFERENCE, NORMAL, PYTHON_SCALAR

from ..record import Record
from ..schema import Argument
from ..schema.function_schema import OPTIONAL_TENSOR, TENSOR
from ..sockets import BASE_OPERATORS
from ..table.kernels import Kernel
from ..table.operator import Operator
from .array_errors import call_error
from .array_results import ArrayResults
from .array_wrapping import on_backend
from .half_precision import computes_in_single, has_halves, in_single, precision_of_number
from .number_operands import category_of_number, number_cache
from .plan import Operand, Step, Value, argument_value
from .promotion_rules import computing_dtype, promoter, static_dtype
from .steps.arguments import (
    ArrayOf,
    CastArray,
    MoveToBackend,
    NativeDtype,
    NumberToTensor,
    PromoteOperands,
)
from .steps.array_results import CheckOwn, CheckWritten
from .steps.kernel_calls import CallKernel, KernelCall, Large, Quiet, Rewording
from .templates.entry import numbers_allowed

COMPUTED: Final = Value("computed")
"""The dtype that a call computes in, where it is found per call."""

_COMPUTE_NOTHING = ("view", "factory")
"""Kinds of operators whose kernels have nothing to warn of."""


class ArrayCall:
    """What an array route is composed for, and how the schema's arguments take part in it."""

    def __init__(
        self, op: Operator, kernel: Kernel, backend: Backend, key: int, inference: bool
    ) -> None:
        self.op, self.kernel, self.backend, self.key = op, kernel, backend, key
        self.schema = schema = op.schema
        self.is_pointwise = op.kind == "pointwise"
        self.is_view = schema._is_view_op()
        self.inputs = [a for a in schema.arguments if not a.is_out]
        self.outs = [argument_value(a) for a in schema.arguments if a.is_out]
        self.written = next(iter([a for a in self.inputs if a.is_write]), None)
        self.tensors = [a for a in self.inputs if a.kind == TENSOR]
        detaches = op.name == BASE_OPERATORS.plug.detach
        self.makes_writable = detaches and not key & NORMAL and not inference
        if self.is_view:  # a view is as normal as what it shows, wherever it is made
            inference = not key & NORMAL
        self.base = backend.bit | (INFERENCE if inference else NORMAL)
        self.in_single = computes_in_single(op, kernel, key)
        self.rewording: Rewording | None = None
        if self.is_pointwise:
            operands = [a for a in self.inputs if a.kind in (TENSOR, OPTIONAL_TENSOR)]
            self.rewording = Rewording(
                partial(call_error, op), tuple([argument_value(a) for a in operands])
            )

    @property
    def array_results(self) -> ArrayResults:
        """What checks the results of the kernel, if that does not return by the schema."""
        return ArrayResults(self.op, self.kernel, self.backend)


# -- arguments -------------------------------------------------------------------------------------


def moves(call: ArrayCall) -> list[Step]:
    move = partial(on_backend, call.backend)
    return [MoveToBackend(argument_value(a), move) for a in call.inputs if a.is_tensor_like]


class Promotion(Record):
    """How the arguments of a call reach the kernel.

    Attributes
    ----------
    operands
        What the kernel is given for each input.
    steps
        What is done before.
    dtype
        The dtype that is computed in, if the key says it.
    casts
        Whether arguments may be of another dtype than what the kernel is given.
    """

    operands: dict[str, Operand]
    steps: tuple[Step, ...] = ()
    dtype: DType | None = None
    casts: bool = False


def promoted_operands(call: ArrayCall) -> Promotion:
    op, key = call.op, call.key
    given = {a.name: _operand(a, call.backend) for a in call.inputs}
    if not op.promote or not call.tensors:
        return Promotion(given)
    promoted = [a for a in call.tensors if a.name in op.promote]
    common = static_dtype(key) if len(promoted) == len(call.tensors) else None
    if common is None:
        return _promotion_per_call(call, given, promoted)
    computed = computing_dtype(common, op.promotion)
    steps: tuple[Step, ...] = ()
    if key & PYTHON_SCALAR and numbers_allowed(call.schema, op.promote):
        number = argument_value(promoted[1])
        own = precision_of_number(computed) if call.in_single else computed
        steps = (NumberToTensor(number, *number_cache(call.backend, own)),)
        promoted = promoted[:1]
    if key & computed.bit:
        return Promotion(given, steps, computed, casts=call.in_single)
    arrays = call.backend.arrays
    for argument in promoted:
        value = argument_value(argument)
        given[argument.name] = CastArray(value, arrays.cast, arrays.native_dtypes[computed])
    return Promotion(given, steps, computed, casts=True)


def _promotion_per_call(
    call: ArrayCall, given: dict[str, Operand], promoted: list[Argument]
) -> Promotion:
    """Return the promotion of operands whose dtypes the key does not say."""
    arrays = {a.name: Value(f"{a.name}_array") for a in promoted}
    category = category_of_number(call.key & PYTHON_SCALAR)
    is_operand = category >= 0 and numbers_allowed(call.schema, call.op.promote)
    promote = PromoteOperands(
        tuple(map(argument_value, promoted)),
        promoter(call.backend, call.op, category, is_operand=is_operand, in_single=call.in_single),
        tuple(arrays.values()),
        COMPUTED,
    )
    return Promotion({**given, **arrays}, (promote,), casts=True)


def _operand(argument: Argument, backend: Backend) -> Operand:
    """Return what an array kernel is given for an argument that is not promoted."""
    value, kind = argument_value(argument), argument.kind
    if argument.is_tensor_like:
        return _array_of(value, kind)
    if kind in ("ScalarType", "ScalarType?"):
        return NativeDtype(value, backend.arrays.asked_dtypes, kind.endswith("?"))
    return value


@lru_cache(maxsize=1024)
def _array_of(value: Value, kind: str) -> ArrayOf:
    return ArrayOf(value, kind)


# -- the call --------------------------------------------------------------------------------------


def kernel_call(call: ArrayCall, promotion: Promotion, results: tuple[Value, ...]) -> CallKernel:
    kernel = call.kernel
    if call.in_single:
        general = general_call(call, promotion, "kernel", in_single(call.backend, kernel.fn))
        return CallKernel(results, general, rewording=call.rewording)
    general = general_call(call, promotion, "kernel", kernel.fn)
    if kernel.fast_path is None:
        return CallKernel(results, general, rewording=call.rewording)
    fast = call_of_tensors(call, promotion, "fast_path", kernel.fast_path)
    return CallKernel(results, general, fast, defaults(call), call.rewording)


def general_call(
    call: ArrayCall, promotion: Promotion, role: str, function: Callable[..., Any]
) -> KernelCall:
    """Return the call of `function` with all arguments."""
    function = _for_dtype(call, function)
    positional = [promotion.operands[a.name] for a in call.inputs if not a.kwarg_only]
    heeded = _heeded(call, function)
    keywords = [
        (a.name, promotion.operands[a.name])
        for a in call.inputs
        if a.kwarg_only and (heeded is None or a.name in heeded)
    ]
    return _call_by_size(call, promotion, role, function, tuple(positional), tuple(keywords))


def _heeded(call: ArrayCall, function: Callable[..., Any]) -> tuple[str, ...] | None:
    """Return the parameters of a kernel of ours that takes others as ``**options``, which it does
    not read: they need not be handed over. None for any other function, which is given all.
    """
    while (inner := getattr(function, "__wrapped__", None)) is not None:
        function = inner
    code = getattr(function, "__code__", None)
    if not call.kernel.is_our_own or code is None or not code.co_flags & CO_VARKEYWORDS:
        return None
    named = code.co_argcount + code.co_kwonlyargcount
    rest = code.co_varnames[named + bool(code.co_flags & CO_VARARGS)]
    return code.co_varnames[:named] if rest == "options" else None


def call_of_tensors(
    call: ArrayCall, promotion: Promotion, role: str, function: Callable[..., Any]
) -> KernelCall:
    """Return the call of `function` with the tensors alone."""
    function = _for_dtype(call, function)
    tensors = tuple([promotion.operands[a.name] for a in call.inputs if a.is_tensor_like])
    return _call_by_size(call, promotion, role, function, tensors)


def _call_by_size(
    call: ArrayCall,
    promotion: Promotion,
    role: str,
    function: Callable[..., Any],
    given: tuple[Operand, ...],
    keywords: tuple[tuple[str, Operand], ...] = (),
) -> KernelCall:
    """Return the call of `function`, or of what the backend has for that size of a tensor."""
    large, tensors = None, [each for each in given if isinstance(each, ArrayOf) and each.is_one]
    if tensors and call.op.kind not in _COMPUTE_NOTHING:
        found = call.backend.arrays.by_size(function, promotion.dtype)
        if found is not None and (found.writes or not role.endswith("out_function")):
            function, large = found.few, Large(tensors[0], found.least, found.many)
    return KernelCall(role, function, given, keywords, large=large, quiet=_quiet(call, function))


def _for_dtype(call: ArrayCall, function: Callable[..., Any]) -> Callable[..., Any]:
    """Return what is called in the place of `function`; it is the backend's for half precision."""
    return call.backend.arrays.for_halves(function) if has_halves(call.key) else function


def _quiet(call: ArrayCall, function: Callable[..., Any]) -> Quiet | None:
    return None if call.op.kind in _COMPUTE_NOTHING else quiet(call.backend, function)


def quiet(backend: Backend, function: Callable[..., Any]) -> Quiet | None:
    """Return how floating-point warnings of an array function are kept from the user; None if there
    are none.
    """
    arrays = backend.arrays
    if arrays.error_state is None:
        return None
    if not arrays.may_warn(function):
        return Quiet()
    _, enter, leave, quiet = arrays.error_state
    return Quiet(enter, leave, quiet)


def defaults(call: ArrayCall) -> tuple[tuple[Value, Any], ...] | None:
    """Return the arguments that are no tensors with their defaults; None if one has no default."""
    others = [a for a in call.inputs if not a.is_tensor_like]
    if not all([a.has_default_value() for a in others]):
        return None
    return tuple([(argument_value(a), a.default_value) for a in others])


# -- what comes back -------------------------------------------------------------------------------


def given_arrays(call: ArrayCall) -> tuple[ArrayOf, ...]:
    """Return the arrays of the tensors among the arguments, which a new result may not share."""
    tensors = [a for a in call.inputs if a.is_tensor_like]
    return tuple([_array_of(argument_value(a), a.kind) for a in tensors])


def check_own(
    call: ArrayCall, array: Value, earlier: tuple[Value, ...], may_be_none: bool
) -> CheckOwn:
    """Return the step that checks that a result of another's kernel has memory of its own."""
    array_type = call.backend.arrays.array_types[0]
    shares = call.backend.arrays.mutable_arrays and call.op.name not in BASE_OPERATORS.plug.sharing
    given = given_arrays(call) if shares else ()
    looks_quickly = hasattr(array_type, "base") or not shares
    others = earlier if shares else ()
    own = call.array_results.own
    return CheckOwn(array, array_type, given, others, looks_quickly, may_be_none, own)


def check_written(call: ArrayCall, arrays: tuple[Value, ...]) -> list[Step]:
    """Return the steps that check the arrays of another's kernel before they are written."""
    if call.kernel.returns_by_schema:
        return []
    check = call.array_results.array
    own = call.backend.arrays
    return [CheckWritten(each, own.array_types[0], own.dtype_bits, check) for each in arrays]


__all__ = [
    "COMPUTED",
    "ArrayCall",
    "Promotion",
    "call_of_tensors",
    "check_own",
    "check_written",
    "defaults",
    "general_call",
    "given_arrays",
    "kernel_call",
    "moves",
    "promoted_operands",
    "quiet",
]
