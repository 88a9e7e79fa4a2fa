"""What an array kernel is called with: how the arguments of a call take part in it, how they are
promoted, and the call itself.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache, partial
from inspect import CO_VARARGS, CO_VARKEYWORDS
from typing import Final

from dovetail_kernel import Backend, bfloat16, float16
from dovetail_kernel import dtype as DType
from dovetail_kernel.devices import PlanFacts
from dovetail_kernel.signature import INFERENCE, NORMAL, PYTHON_SCALAR

from ...record import Record
from ...schema import Argument
from ...schema.function_schema import TENSOR
from ...sockets import BASE_OPERATORS, PROMOTION
from ...table.kernels import Kernel
from ...table.operator import Operator
from ..array_errors import call_error
from ..arrays.array_results import ArrayResults
from ..arrays.array_wrapping import on_backend
from ..plan import Operand, Step, Value, argument_value
from ..promotion.key_dtypes import static_dtype
from ..promotion.scalar_operands import category_of_number, number_cache
from ..steps.arguments import (
    ArrayOf,
    CastArray,
    MoveToBackend,
    NativeDtype,
    NumberToTensor,
    PromoteOperands,
)
from ..steps.array_results import CheckOwn, CheckWritten
from ..steps.kernel_calls import CallKernel, ErrorStateCall, KernelCall, TranslateErrors
from ..templates.entry import numbers_allowed
from .schema_facts import facts_of

COMPUTED: Final = Value("computed")
"""The dtype that a call computes in, where it is found per call."""

_HALF_BITS: Final = float16.bit | bfloat16.bit

_COMPUTE_NOTHING = ("view", "factory")
"""Kinds of operators whose kernels have nothing to warn of."""


class ArrayCall:
    """What an array route is composed for: every fact that the steps depend on.

    Attributes
    ----------
    facts
        How the schema's arguments take part in it.
    common, computed
        The dtype of the operands, and the one that they compute in, if the key says it.
    by_schema
        Whether the kernel returns what its schema says, so that nothing is checked.
    base
        Backend and flags of the signatures of new results.
    """

    def __init__(
        self, op: Operator, kernel: Kernel, backend: Backend, key: int, inference: bool
    ) -> None:
        self.op, self.kernel, self.backend, self.key = op, kernel, backend, key
        self.schema = op.schema
        self.facts = facts = facts_of(self.schema)
        promotion = PROMOTION.plug
        self.common = common = static_dtype(key)
        self.computed = None if common is None else promotion.computing_dtype(common, op.promotion)
        self.by_schema = kernel.returns_by_schema
        self.is_pointwise = op.kind == "pointwise"
        detaches = op.name == BASE_OPERATORS.plug.detach
        self.makes_writable = detaches and not key & NORMAL and not inference
        if facts.is_view:  # a view is as normal as what it shows, wherever it is made
            inference = not key & NORMAL
        self.base = backend.bit | (INFERENCE if inference else NORMAL)
        self.in_single = bool(key & _HALF_BITS and op.half) and promotion.computes_in_single(
            op, kernel, key
        )
        self.rewording: TranslateErrors | None = None
        if self.is_pointwise:
            self.rewording = TranslateErrors(partial(call_error, op), facts.operands)

    @property
    def array_results(self) -> ArrayResults:
        """What checks the results of the kernel, if that does not return by the schema."""
        return ArrayResults(self.op, self.kernel, self.backend)


# -- arguments -------------------------------------------------------------------------------------


def moves(call: ArrayCall) -> list[Step]:
    move = partial(on_backend, call.backend)
    return [MoveToBackend(each.value, move) for each in call.facts.arrays]


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
    given = dict(call.facts.given)
    for each in call.facts.dtypes:
        asked, may_be_none = call.backend.arrays.asked_dtypes, each.kind.endswith("?")
        given[each.name] = NativeDtype(argument_value(each), asked, may_be_none)
    tensors = call.facts.tensors
    if not op.promote or not tensors:
        return Promotion(given)
    promoted = [a for a in tensors if a.name in op.promote]
    computed = call.computed if len(promoted) == len(tensors) else None
    if computed is None:
        return _promotion_per_call(call, given, promoted)
    steps: tuple[Step, ...] = ()
    if key & PYTHON_SCALAR and numbers_allowed(call.schema, op.promote):
        number = argument_value(promoted[1])
        own = PROMOTION.plug.dtype_of_number(computed, op.promotion, call.in_single)
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
    function, unchanged = PROMOTION.plug.promoter(
        call.backend, call.op, category, is_operand=is_operand, in_single=call.in_single
    )
    operands = tuple(map(argument_value, promoted))
    promote = PromoteOperands(operands, function, unchanged, tuple(arrays.values()), COMPUTED)
    return Promotion({**given, **arrays}, (promote,), casts=True)


# -- the call --------------------------------------------------------------------------------------


def kernel_call(call: ArrayCall, promotion: Promotion, results: tuple[Value, ...]) -> CallKernel:
    """Return the step that calls the kernel and gets new arrays."""
    kernel = call.kernel
    functions = {"kernel": kernel.fn}
    if call.in_single:
        functions = {"kernel": PROMOTION.plug.in_single(call.backend, kernel.fn)}
    elif kernel.fast_path is not None:
        functions["fast_path"] = kernel.fast_path
    general, fast = calls_of(call, promotion, functions)
    defaults = () if fast is None else call.facts.defaults
    return CallKernel(results, general, fast, defaults, call.rewording)


def calls_of(
    call: ArrayCall, promotion: Promotion, functions: Mapping[str, Callable[..., object]]
) -> tuple[KernelCall, KernelCall | None]:
    """Return how a route calls a kernel: with all arguments, and with the tensors alone.

    Parameters
    ----------
    functions
        What is called by its role: first with all arguments, then, if there is a second one, with
        the tensors alone.
    """
    facts, operands = call.facts, promotion.operands
    tensors = tuple(map(operands.__getitem__, facts.arrays_of))
    computes = call.op.kind not in _COMPUTE_NOTHING
    arrays = call.backend.arrays
    joins = call.is_pointwise and len(tensors) > 1
    specs = arrays.lower(functions, PlanFacts(computes, joins))
    state = arrays.error_state if computes else None
    calls: list[KernelCall] = []
    decisive = _decisive(tensors) if joins else ()
    for role, function in functions.items():
        spec = specs[role]
        given, keywords = (tensors, ()) if calls else _all_arguments(call, promotion, function)
        quiet = None if state is None else _known_quiet(*state[1:], not spec.warns)
        target, ordered = spec.function, spec.ordered
        if ordered is not None and not decisive:
            target, ordered = ordered, None
        calls.append(
            KernelCall(
                role,
                target,
                given,
                keywords,
                ordered=ordered,
                decisive=() if ordered is None else decisive,
                quiet=quiet,
            )
        )
    return calls[0], calls[1] if len(calls) > 1 else None


def _decisive(tensors: Sequence[Operand]) -> tuple[Operand, ...]:
    """Return the arguments of an elementwise call: the result is in C order if they all are, and
    of one shape. None of them if one may be missing.
    """
    given = [ArrayOf(each.value) if isinstance(each, CastArray) else each for each in tensors]
    if any([isinstance(each, ArrayOf) and each.kind != TENSOR for each in given]):
        return ()
    return tuple(given)


def _all_arguments(
    call: ArrayCall, promotion: Promotion, function: Callable[..., object]
) -> tuple[tuple[Operand, ...], tuple[tuple[str, Operand], ...]]:
    """Return what `function` is given by position and by keyword."""
    facts, operands = call.facts, promotion.operands
    positional = tuple(map(operands.__getitem__, facts.positional))
    if not facts.keywords:
        return positional, ()
    heeded = _heeded(call, function)
    names = [name for name in facts.keywords if heeded is None or name in heeded]
    return positional, tuple(zip(names, map(operands.__getitem__, names), strict=True))


def _heeded(call: ArrayCall, function: Callable[..., object]) -> tuple[str, ...] | None:
    """Return the parameters of a kernel of ours that takes others as ``**options``, which it does
    not read: they need not be handed over. None for any other function, which is given all.
    """
    while (inner := getattr(function, "__wrapped__", None)) is not None:
        function = inner
    code = getattr(function, "__code__", None)
    if code is None or not code.co_flags & CO_VARKEYWORDS or not call.kernel.is_our_own:
        return None
    named = code.co_argcount + code.co_kwonlyargcount
    rest = code.co_varnames[named + bool(code.co_flags & CO_VARARGS)]
    return code.co_varnames[:named] if rest == "options" else None


def quiet(backend: Backend, function: Callable[..., object]) -> ErrorStateCall | None:
    """Return the context that silences floating-point warnings of an array function; None if it
    issues none.
    """
    state = backend.arrays.error_state
    if state is None:
        return None
    return _known_quiet(*state[1:], not backend.arrays.may_warn(function))


_known_quiet: Final = lru_cache(maxsize=16)(ErrorStateCall)


# -- what comes back -------------------------------------------------------------------------------


def given_arrays(call: ArrayCall) -> tuple[ArrayOf, ...]:
    """Return the arrays of the tensors among the arguments, which a new result may not share."""
    return call.facts.arrays


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
    if call.by_schema:
        return []
    check = call.array_results.array
    own = call.backend.arrays
    return [CheckWritten(each, own.array_types[0], own.dtype_bits, check) for each in arrays]
