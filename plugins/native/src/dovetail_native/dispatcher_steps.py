"""Instructions for the steps of the dispatcher: arguments, array kernels, results, writes."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any, Final

from dovetail_dispatcher.calls import (
    BumpVersion,
    CallKernel,
    CheckInferenceWrite,
    CheckOperand,
    CheckOverlap,
    CountWrite,
    IfCondition,
    InState,
    KernelCall,
    MarkInside,
    MoveToBackend,
    NumberToTensor,
    PromoteOperands,
    Step,
    TakeShortcut,
    TranslateErrors,
    UnpackArrays,
    Value,
    WrapArray,
    WrapArrays,
    WrapUnlessMasked,
    WriteInto,
    WriteOut,
    check_inference_write,
    check_overlap,
    mark_inside,
    write_into,
    write_out,
    write_outs,
)
from dovetail_kernel import bump_version, share_storage
from dovetail_kernel.signature import DTYPE_MASK, NORMAL, ZERO_DIM
from dovetail_kernel.tensor import WritableCounter

from ._core import OPERANDS, UfuncLoop
from .assembler import Assembler, NotLoweredError
from .tensor_kernel_steps import OF_TENSOR_KERNELS
from .ufunc_loops import compiled_kernel

Lowerings = dict[type[Step], Callable[[Any, Assembler], None]]

_IS_KNOWN, _IS_SHARED, _IS_WRITABLE, _IS_LIST = 1, 2, 4, 8


def lower_all(steps: tuple[Step, ...], to: Assembler) -> None:
    """Add the instructions of steps."""
    for step in steps:
        kind = type(step)
        if kind not in LOWERINGS and kind.__module__.startswith("dovetail_autograd."):
            import_module("dovetail_native.autograd_steps")  # adds its own to the table
        lower = LOWERINGS.get(kind)
        if lower is None:
            raise NotLoweredError(type(step).__name__)
        lower(step, to)


# -- arguments -------------------------------------------------------------------------------------


def _number_to_tensor(step: NumberToTensor, to: Assembler) -> None:
    to.emit("NUMBER", to.register(step.value), objects=(step.known, step.remember))


def _promote(step: PromoteOperands, to: Assembler) -> None:
    arrays = Value("promoted_arrays")
    first, operands = to.block((arrays, step.computed)), [*map(to.value, step.operands)]
    made = to.block(step.arrays)
    if step.unchanged is not None:
        several = to.emit(
            "UNLESS_ONE_DTYPE",
            to.register(step.computed),
            bits=DTYPE_MASK,
            objects=(step.unchanged,),
            operands=operands,
        )
        for number, (_, register, _) in enumerate(operands):
            to.emit("SET", made + number, operands=[(OPERANDS["ARRAY"], register, None)])
        over = to.emit("JUMP")
        to.land(several)
    objects = (step.promote, None, None, None, None, None)
    to.emit("CALL", first, flags=2, objects=objects, operands=operands)
    to.emit("UNPACK", made, first, flags=len(step.arrays), objects=(None,))
    if step.unchanged is not None:
        to.land(over)


def _check_operand(step: CheckOperand, to: Assembler) -> None:
    to.call(step.check, [to.value(step.operand)])


def _move(step: MoveToBackend, to: Assembler) -> None:
    to.call(step.on_backend, [to.value(step.value)], to.register(step.value))


def _if_condition(step: IfCondition, to: Assembler) -> None:
    asked = [to.operand(each) for each in (*step.arguments, *[o for _, o in step.keywords])]
    names = tuple([name for name, _ in step.keywords]) or None
    no = to.emit("UNLESS_TRUE", objects=(step.when, names), operands=asked)
    route, given = step.build(step.plan), map(to.value, step.given)
    objects = (route, None, None, None, None, None)
    to.emit("CALL", to.block(step.made), flags=len(step.made), objects=objects, operands=given)
    over = to.emit("JUMP")
    to.land(no)
    lower_all(step.otherwise, to)
    to.land(over)


def _take_shortcut(step: TakeShortcut, to: Assembler) -> None:
    tensor, result = to.register(step.tensor), to.register(step.result)
    jumps = [_unless_default(value, default, to) for value, default in step.defaults]
    if step.other_ndim >= 0:
        has_others = to.emit("UNLESS_NDIM", tensor, bits=step.other_ndim)
        jumps.append(to.emit("JUMP"))
        to.land(has_others)
    jumps += [to.emit("UNLESS_NDIM", to.register(v), bits=count) for v, count in step.ndims]
    if step.is_contiguous is not None:
        jumps.append(to.emit("UNLESS_CONTIGUOUS", tensor, objects=(step.is_contiguous,)))
    if step.plan is None:
        to.emit("SET", result, operands=[to.at(tensor)])
    else:
        to.call(step.build(step.plan), map(to.operand, step.given), result)
    over = to.emit("JUMP")
    to.land(*jumps)
    lower_all(step.otherwise, to)
    to.land(over)


# -- array kernels ---------------------------------------------------------------------------------


def _call_kernel(step: CallKernel, to: Assembler) -> None:
    reword = _rewording(step.rewording, to)
    if step.fast is None or step.defaults is None:
        _kernel_call(step.general, step.results, reword, to)
        return
    jumps = [_unless_default(value, default, to) for value, default in step.defaults]
    _kernel_call(step.fast, step.results, reword, to)
    if jumps:
        over = to.emit("JUMP")
        to.land(*jumps)
        _kernel_call(step.general, step.results, reword, to)
        to.land(over)


def _unless_default(value: Value, default: object, to: Assembler) -> int:
    is_constant = default is None or isinstance(default, bool)
    return to.emit("UNLESS_DEFAULT", to.register(value), flags=int(is_constant), objects=(default,))


def _rewording(rewording: TranslateErrors | None, to: Assembler) -> Any:
    if rewording is None:
        return None
    return rewording.call_error, bytes([to.register(each) for each in rewording.operands])


def _kernel_call(call: KernelCall, results: tuple[Value, ...], reword: Any, to: Assembler) -> None:
    operands = [to.operand(each, reword) for each in call.arguments]
    operands += [to.operand(each, reword) for _, each in call.keywords]
    names = tuple([name for name, _ in call.keywords])
    if call.out is not None:
        names += ("out",)
        operands.append((OPERANDS["ARRAY"], to.register(call.out), None))
    function = compiled_kernel(call.function)
    if call.ordered is not None and not getattr(function, "lays_out", False):
        function = call.ordered
    objects = (function, names or None, *_error_state(call, function), reword)
    if call.written is None:
        first, count = to.block(results), len(results)
    else:
        first, count = to.fresh(), 1
    to.emit("CALL", first, flags=count, objects=objects, operands=operands)
    if call.written is not None:
        if call.checked is not None:
            to.call(call.checked, [to.at(first)], first, reword=reword)
        _write(to.register(call.written), first, reword, to)


def _error_state(call: KernelCall, function: Callable[..., Any]) -> tuple[Any, Any, Any]:
    """Return what sets the quiet error state, what leaves it, and the state.

    A function that warns in the name of its caller is silent in a route of Python text, which has
    no name; here the caller is another. Loops never warn, and functions without a name do not.
    """
    quiet = call.quiet
    if quiet is None or getattr(function, "never_warns", False):
        return None, None, None
    if quiet.is_nameless and not isinstance(function, UfuncLoop):
        raise NotLoweredError("method of a ufunc")
    return quiet.enter, quiet.leave, quiet.state


def _unpack_arrays(step: UnpackArrays, to: Assembler) -> None:
    to.emit(
        "UNPACK",
        to.block(step.arrays),
        to.register(step.returned),
        flags=len(step.arrays),
        objects=(step.several,),
    )


def _wrap_array(step: WrapArray, to: Assembler, flags: int = 0) -> None:
    signature, arrays = step.signature, step.signature.arrays
    usual: Any = None
    usual_0d: Any = None
    native: Any = None
    if signature.dtype is not None:
        usual = usual_0d = signature.base | signature.dtype.bit
        if signature.may_be_zero_dim:
            usual_0d = usual | ZERO_DIM
        native = arrays.native_dtypes[signature.dtype]
    flags |= _IS_KNOWN if signature.is_known else 0
    flags |= _IS_SHARED if step.shared is not None else 0
    flags |= _IS_WRITABLE if step.shared is not None and step.is_writable else 0
    to.emit(
        "WRAP",
        to.register(step.result),
        to.register(step.array),
        0 if step.shared is None else to.register(step.shared),
        flags=flags,
        objects=(
            usual,
            usual_0d,
            native,
            signature.base,
            arrays.dtype_bits,
            ZERO_DIM,
            step.output_nr,
            arrays.array_types[0],
            step.lift,
            share_storage,
            step.unknown_dtype,
            WritableCounter,
        ),
    )


def _wrap_arrays(step: WrapArrays, to: Assembler) -> None:
    _wrap_array(step.each, to, _IS_LIST)


def _wrap_unless_masked(step: WrapUnlessMasked, to: Assembler) -> None:
    wrap = step.wrap

    def wrapped(array: Any) -> Any:
        return None if array is None else wrap(array, None)

    to.call(wrapped, [to.value(step.array)], to.register(step.result))


# -- writes ----------------------------------------------------------------------------------------


def _check_inference_write(step: CheckInferenceWrite, to: Assembler) -> None:
    is_inference = to.emit("UNLESS_BITS", to.register(step.written), bits=NORMAL)
    over = to.emit("JUMP")
    to.land(is_inference)
    to.call(check_inference_write, [to.value(step.written)])
    to.land(over)


def _check_overlap(step: CheckOverlap, to: Assembler) -> None:
    read, written = to.register(step.read), to.register(step.written)
    apart = to.emit("UNLESS_SAME_STORAGE", read, written)
    to.call(check_overlap, [to.at(written), to.at(read)])
    to.land(apart)


def _write_into(step: WriteInto, to: Assembler) -> None:
    reword = _rewording(step.rewording, to)
    written, array = to.register(step.written), to.register(step.array)
    if isinstance(step.computed, Value):
        computed = [to.at(written), to.at(array), to.value(step.computed)]
        to.call(write_into, computed, reword=reword)
    else:
        _write(written, array, reword, to, step.computed)


def _write(
    written: int, array: int, reword: Any, to: Assembler, dtype_of: Callable[..., Any] | None = None
) -> None:
    """Write an array into the memory of a tensor: one of the tensor's dtype without the check that
    the dtype, which `dtype_of` finds, can be cast. None: it is known that it can.
    """
    stored = to.emit("UNLESS_STORED", written, array, bits=int(dtype_of is None))
    computed = to.constant(None)
    if dtype_of is not None:
        dtype = to.fresh()
        to.call(dtype_of, [to.at(array)], dtype, reword=reword)
        computed = to.at(dtype)
    to.call(write_into, [to.at(written), to.at(array), computed], reword=reword)
    to.land(stored)


def _write_out(step: WriteOut, to: Assembler) -> None:
    values = [to.value(value) for value in (*step.outs, *step.arrays, *step.reads)]
    refuses = to.constant(step.refuses)
    if len(step.outs) > 1:
        to.call(write_outs, [to.constant(len(step.outs)), refuses, *values])
        return
    stored = to.emit(
        "UNLESS_STORED",
        to.register(step.outs[0]),
        to.register(step.arrays[0]),
        flags=1,
        operands=values[2:],
    )
    to.call(write_out, [*values[:2], refuses, *values[2:]] if step.refuses else values)
    to.land(stored)


def _count_write(step: CountWrite, to: Assembler) -> None:
    to.emit("COUNT_WRITE", to.register(step.written))


def _bump_version(step: BumpVersion, to: Assembler) -> None:
    if "[" in step.kind:
        raise NotLoweredError("BumpVersion of a list")
    absent = to.emit("UNLESS_GIVEN", to.register(step.written))
    to.call(bump_version, [to.value(step.written)])
    to.land(absent)


# -- states ----------------------------------------------------------------------------------------


def _mark_inside(step: MarkInside, to: Assembler) -> None:
    if step.is_list:
        raise NotLoweredError("MarkInside of a list")
    to.call(mark_inside, map(to.value, step.results))


def _in_state(step: InState, to: Assembler) -> None:
    to.emit("ENTER_STATE", objects=(step.transition,))
    lower_all(step.steps, to)
    to.emit("LEAVE_STATE")


LOWERINGS: Final[Lowerings] = {
    BumpVersion: _bump_version,
    CallKernel: _call_kernel,
    CheckInferenceWrite: _check_inference_write,
    CheckOperand: _check_operand,
    CheckOverlap: _check_overlap,
    CountWrite: _count_write,
    IfCondition: _if_condition,
    InState: _in_state,
    MarkInside: _mark_inside,
    MoveToBackend: _move,
    NumberToTensor: _number_to_tensor,
    PromoteOperands: _promote,
    TakeShortcut: _take_shortcut,
    UnpackArrays: _unpack_arrays,
    WrapArray: _wrap_array,
    WrapArrays: _wrap_arrays,
    WrapUnlessMasked: _wrap_unless_masked,
    WriteInto: _write_into,
    WriteOut: _write_out,
    **OF_TENSOR_KERNELS,
}
"""Adds the instructions of a step, by its class."""
