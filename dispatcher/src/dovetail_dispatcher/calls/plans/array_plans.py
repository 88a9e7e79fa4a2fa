"""Plans of routes that call an array kernel: unwrap, promote, call, then wrap or write, as the
operator's schema and kind say.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from dovetail_kernel import Backend, backends_of_signature, dtype, dtype_of_signature
from dovetail_kernel import bool as bool_
from dovetail_kernel.signature import DTYPE_MASK, NORMAL, ZERO_DIM

from ...schema.function_schema import TENSOR, TENSOR_LIST
from ...sockets import BASE_OPERATORS, PROMOTION
from ...table.kernels import Kernel
from ...table.operator import Operator
from ..arrays.array_wrapping import array_wrapper, dtype_of
from ..arrays.immutable_array_writes import note_unmarked_views, note_views
from ..plan import RoutePlan, Step, Value, argument_value
from ..promotion.key_dtypes import check_writable_as
from ..steps.arguments import CheckOperand
from ..steps.array_results import CheckView, ExpectDtype, UnpackArrays
from ..steps.kernel_calls import CallKernel
from ..steps.results import (
    NoteViews,
    Signature,
    WrapArray,
    WrapArrays,
    WrapReturns,
    WrapUnlessMasked,
)
from ..steps.writes import (
    CheckInferenceWrite,
    CheckOverlap,
    CopyBetweenBackends,
    CountWrite,
    WriteInto,
    WriteOut,
)
from .array_calls import (
    COMPUTED,
    ArrayCall,
    Promotion,
    calls_of,
    check_own,
    check_written,
    given_arrays,
    kernel_call,
    moves,
    promoted_operands,
)

_OF_MEMORY = ("shared_out", "partial_out")
_REFUSED_OUTS = (*_OF_MEMORY, "other_out", "any_out", "typed_out")
"""Words of `Operator.refuses` that are no dtypes; the first ones ask what `out` shares."""

_ARRAY, _RETURNED, _RESULT = Value("array"), Value("returned"), Value("result")


def array_plan(
    op: Operator, kernel: Kernel, backend: Backend, key: int, *, inference: bool
) -> RoutePlan:
    """Return the plan of `op` through the array kernel `kernel`, for calls with `key`. Raises
    RuntimeError if the key alone says that the call is wrong: an in-place result that cannot be
    cast to its destination.
    """
    call = ArrayCall(op, kernel, backend, key, inference)
    several_backends = len(backends_of_signature(key)) > 1
    if several_backends and op.name == BASE_OPERATORS.plug.copy:
        return _copy_between_backends(call)
    if op.refuses:
        PROMOTION.plug.check_operands(op, key, call.common, call.computed)
    if not call.by_schema:
        call.array_results.check_writes()
    moved = moves(call) if several_backends else []
    promotion = promoted_operands(call)
    first = (*moved, *promotion.steps)
    if call.facts.written is not None:
        return _writing(call, promotion).beginning_with(*first)
    if call.facts.outs:
        return _writing_out(call, promotion).beginning_with(*first)
    plan = _wrapping(call, promotion)
    plan = plan.beginning_with(*first) if first else plan
    return plan if backend.arrays.mutable_arrays else plan.ending_with(*_notes(call))


# -- results ---------------------------------------------------------------------------------------


def _wrapping(call: ArrayCall, promotion: Promotion) -> RoutePlan:
    """Return the plan that makes new tensors of what the kernel returns."""
    kinds = call.facts.kinds
    if kinds == [TENSOR]:
        compute = kernel_call(call, promotion, (_ARRAY,))
        wraps = _wraps(call, promotion, _ARRAY, _RESULT)
        return RoutePlan(call.op, (compute, *wraps), (_RESULT,))
    if kinds and all([kind == TENSOR for kind in kinds]):
        return _wrapping_several(call, promotion)
    results = (_RESULT,) if kinds else ()
    if not call.by_schema:
        compute = kernel_call(call, promotion, (_RETURNED,))
        wrap = call.array_results.wrapping(call.base)
        step = WrapReturns(_RETURNED, _RESULT, wrap, given_arrays(call), call.facts.shows)
        return RoutePlan(call.op, (compute, step), results)
    if kinds == [TENSOR_LIST]:
        arrays = Value("arrays")
        compute = kernel_call(call, promotion, (arrays,))
        signature = _signature(call, promotion).replaced(may_be_zero_dim=True)
        lift = call.backend.arrays.asarray
        each = WrapArray(arrays, _RESULT, signature, lift, call.facts.shows)
        step_ = WrapArrays(each, array_wrapper(call.backend, call.base))
        return RoutePlan(call.op, (compute, step_), (_RESULT,))
    return RoutePlan(call.op, (kernel_call(call, promotion, (_RESULT,)),), results)


def _wrapping_several(call: ArrayCall, promotion: Promotion) -> RoutePlan:
    numbers = range(len(call.schema.returns))
    arrays = tuple([Value(f"array{number}") for number in numbers])
    results = tuple([Value(f"result{number}") for number in numbers])
    steps: list[Step] = [kernel_call(call, promotion, arrays if call.by_schema else (_RETURNED,))]
    if not call.by_schema:
        steps.append(UnpackArrays(_RETURNED, arrays, call.array_results.several))
    for number, (array, result) in enumerate(zip(arrays, results, strict=True)):
        steps += _wraps(call, promotion, array, result, arrays[:number])
    return RoutePlan(call.op, tuple(steps), results)


def _wraps(
    call: ArrayCall,
    promotion: Promotion,
    array: Value,
    result: Value,
    earlier: tuple[Value, ...] = (),
) -> list[Step]:
    """Return the steps that make a tensor of an array: for kernels of others, after a check."""
    may_be_none = "output_mask" in call.facts.given
    wrap: Step = (
        WrapUnlessMasked(array, result, array_wrapper(call.backend, call.base))
        if may_be_none
        else _wrap(call, promotion, array, result)
    )
    if call.by_schema:
        return [wrap]
    results, shared = call.array_results, call.facts.shows
    if shared is not None:
        return [CheckView(array, shared, results.view), wrap]
    steps: list[Step] = [check_own(call, array, earlier, may_be_none)]
    if isinstance(wrap, WrapArray) and wrap.signature.is_known:
        assert wrap.signature.dtype is not None
        native = call.backend.arrays.native_dtypes[wrap.signature.dtype]
        steps.append(ExpectDtype(array, native, results.expect_dtype))
    return [*steps, wrap]


def _wrap(call: ArrayCall, promotion: Promotion, array: Value, result: Value) -> WrapArray:
    signature, shared = _signature(call, promotion), call.facts.shows
    if not call.by_schema:
        signature = signature.replaced(may_be_zero_dim=True)
        unknown = call.array_results.unknown_dtype
        return WrapArray(
            array, result, signature, None, shared, call.makes_writable, unknown_dtype=unknown
        )
    # A pointwise kernel returns arrays of all arrays with dimensions.
    may_be_scalar = not call.is_pointwise or call.key & ZERO_DIM or not call.key & DTYPE_MASK
    lift = call.backend.arrays.to_scalar_array if may_be_scalar else None
    return WrapArray(array, result, signature, lift, shared, call.makes_writable)


def _signature(call: ArrayCall, promotion: Promotion) -> Signature:
    """Return what is known of the signature of a result."""
    known, rule = promotion.dtype, call.op.promotion
    if rule == "operands" or (rule == "complex_to_real" and known is not None and known.is_complex):
        known = None
    elif known is not None and rule == "bool_result":
        known = bool_
    arrays = call.backend.arrays
    if known is not None:
        return Signature(call.base, known, True, bool(call.key & ZERO_DIM), arrays)
    return Signature(call.base, call.common, False, True, arrays)


def _notes(call: ArrayCall) -> list[Step]:
    """Return the step that notes how a view shows its base, where arrays cannot be written."""
    shared, note = call.facts.shows, note_views
    if call.op.kind == "unmarked_view":
        shared, note = argument_value(call.facts.inputs[0]), note_unmarked_views
    if shared is None or len(call.schema.returns) != 1:
        return []
    others = call.facts.inputs[1:]
    args = tuple([argument_value(a) for a in others if not a.kwarg_only])
    kwargs = tuple([argument_value(a) for a in others if a.kwarg_only])
    return [NoteViews(call.op, note, _RESULT, shared, args, kwargs)]


# -- writes ----------------------------------------------------------------------------------------


def _writing(call: ArrayCall, promotion: Promotion) -> RoutePlan:
    """Return the plan that computes and writes into the argument that the schema marks, counts the
    write, and returns what the schema says.
    """
    assert call.facts.written is not None
    written = argument_value(call.facts.written)
    # What is called value is a number, which is read before anything is written.
    others = [a for a in call.facts.tensors if a is not call.facts.written and a.name != "value"]
    checks = [CheckOverlap(written, argument_value(a)) for a in others]
    rule = call.op.promotion
    casts_to = None if rule in ("bool_result", "operands") else promotion.dtype
    if casts_to is not None:
        _check_cast(call, casts_to)
    kernel = call.kernel
    writes = kernel.out_function is not None or kernel.general_out_function is not None
    computing: list[Step]
    if (
        writes
        and call.backend.arrays.mutable_arrays
        and casts_to is not None
        and not promotion.casts
    ):
        computing = [_call_into(call, promotion, written)]
    else:
        computed = _computed(call, promotion)
        computing = [
            kernel_call(call, promotion, (_ARRAY,)),
            *check_written(call, (_ARRAY,)),
            WriteInto(written, _ARRAY, computed, call.rewording),
        ]
    return RoutePlan(
        call.op,
        (*_inference_checks(call, written), *checks, *computing, CountWrite(written)),
        (written,) if call.schema.returns else (),
    )


def _inference_checks(call: ArrayCall, written: Value) -> list[Step]:
    return [CheckInferenceWrite(written)] if call.base & NORMAL else []


def _call_into(call: ArrayCall, promotion: Promotion, written: Value) -> CallKernel:
    """Return the call that has the kernel write into the array of the argument."""
    kernel, functions = call.kernel, {}
    if kernel.general_out_function is None:
        functions["kernel"] = kernel.fn
    else:
        functions["general_out_function"] = kernel.general_out_function
    if kernel.out_function is not None:
        functions["out_function"] = kernel.out_function
    general, fast = calls_of(call, promotion, functions)
    if kernel.general_out_function is not None:
        general = general.replaced(out=written)
    else:
        checked = None if call.by_schema else call.array_results.array
        general = general.replaced(written=written, checked=checked)
    rewording = call.rewording
    if rewording is not None:
        call_error = partial(rewording.call_error, writes=True)
        rewording = rewording.replaced(call_error=call_error, writes=True)
    if fast is None:
        return CallKernel((), general, rewording=rewording)
    fast = fast.replaced(out=written)
    return CallKernel((), general, fast, call.facts.defaults, rewording)


def _computed(call: ArrayCall, promotion: Promotion) -> Value | Callable[..., Any] | None:
    """Return what tells the dtype of the result, where a write has to check that it can be cast."""
    rule = call.op.promotion
    by_kernel = call.op.variant_of is not None or not call.by_schema
    if by_kernel and (rule in ("none", "operands") or _promotes_optional(call)):
        return dtype_of(call.backend)
    found_per_call = promotion.casts and promotion.dtype is None
    return COMPUTED if found_per_call and rule != "bool_result" else None


def _promotes_optional(call: ArrayCall) -> bool:
    """Return whether tensors that may be None count for the dtype of the result: these the kernel
    promotes itself.
    """
    return any([a.name in call.op.promote and a.kind == "Tensor?" for a in call.facts.inputs])


def _check_cast(call: ArrayCall, computed: dtype) -> None:
    """Refuse at once what the key alone shows to be uncastable."""
    bits = call.key & DTYPE_MASK
    if bits & (bits - 1):
        return
    if call.op.promotion == "complex_to_real" and computed.is_complex:
        name = call.op.base_name.rstrip("_")
        raise RuntimeError(
            f"In-place {name} is not supported for complex tensors. Use the out-of-place operator."
        )
    check_writable_as(computed, dtype_of_signature(bits))


def _copy_between_backends(call: ArrayCall) -> RoutePlan:
    """Return the plan that writes what a tensor of another backend holds; the destination may be of
    either.
    """
    written, source = (argument_value(a) for a in call.facts.inputs[:2])
    return RoutePlan(
        call.op,
        (
            *_inference_checks(call, written),
            CopyBetweenBackends(written, source),
            CountWrite(written),
        ),
        (written,),
    )


def _writing_out(call: ArrayCall, promotion: Promotion) -> RoutePlan:
    """Return the plan that computes, then writes into the ``out=`` tensors, which take the shape of
    the results.
    """
    arrays = tuple([Value(f"array{number}") for number, _ in enumerate(call.facts.outs)])
    checks = _operand_checks(call)
    unpacks = not call.by_schema and len(arrays) > 1
    steps: list[Step] = [kernel_call(call, promotion, (_RETURNED,) if unpacks else arrays)]
    if unpacks:
        several = partial(call.array_results.of_count, len(arrays))
        steps.append(UnpackArrays(_RETURNED, arrays, several))
    steps += check_written(call, arrays)
    refused = tuple([word for word in call.op.refuses if word in _REFUSED_OUTS])
    asks_memory = any([word in _OF_MEMORY for word in refused])
    reads = tuple([a.value for a in call.facts.arrays]) if asks_memory else ()
    write = WriteOut(tuple(call.facts.outs), arrays, refused, reads)
    steps += [write, *map(CountWrite, call.facts.outs)]
    results = tuple(call.facts.outs) if call.schema.returns else ()
    return RoutePlan(call.op, (*checks, *steps), results)


def _operand_checks(call: ArrayCall) -> list[Step]:
    """Return the check of the first operand, where the dtypes of ``out=`` hide its own in the key
    and nothing promotes it.
    """
    hidden = call.op.promotion == "none" and call.common is None
    operands = [a for a in call.facts.inputs if a.kind == TENSOR and not a.is_out]
    if not (hidden and operands and set(call.op.refuses).difference(_REFUSED_OUTS)):
        return []
    return [CheckOperand(argument_value(operands[0]), PROMOTION.plug.operand_check(call.op))]
