"""Instructions for the steps of the dispatcher that call tensor kernels and check their results."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from dovetail_dispatcher.calls import (
    CallFunction,
    CallTensorKernel,
    CheckAliases,
    CheckIdentity,
    CheckReturns,
    CheckTensor,
    Step,
)
from dovetail_kernel import tensor_class

from .assembler import Assembler


def _call_function(step: CallFunction, to: Assembler) -> None:
    to.call(step.function, map(to.value, step.arguments), to.register(step.result))


def _call_tensor_kernel(step: CallTensorKernel, to: Assembler) -> None:
    operands = [to.constant(bound) for _, bound in step.first]
    operands += [to.value(each) for each in step.arguments]
    operands += [to.value(each) for _, each in step.keywords]
    names = tuple([name for name, _ in step.keywords])
    to.call(step.kernel, operands, to.register(step.result), names=names)


def _check_tensor(step: CheckTensor, to: Assembler) -> None:
    result = to.register(step.result)
    fits = to.emit("UNLESS_OTHER_CLASS", result, objects=(tensor_class(),))
    to.call(step.checked, [to.at(result)], result)
    to.land(fits)


def _check_returns(step: CheckReturns, to: Assembler) -> None:
    to.call(step.checked, [to.value(step.result)], to.register(step.result))


def _check_aliases(step: CheckAliases, to: Assembler) -> None:
    check, result, tensors = step.check, to.value(step.result), [to.value(t) for t in step.tensors]

    def check_shared(result: Any, *tensors: Any) -> None:
        check(result, tensors)

    if not step.is_one_tensor:
        to.call(check_shared, [result, *tensors])
        return
    new = to.emit("UNLESS_SHARED", to.register(step.result), operands=tensors)
    to.call(check_shared, [result, *tensors])
    to.land(new)


def _check_identity(step: CheckIdentity, to: Assembler) -> None:
    written, is_only, wrong_identity = step.written, step.is_only, step.wrong_identity
    numbers = [number for number, _ in written]

    def check(result: Any, *arguments: Any) -> None:
        for number, argument in zip(numbers, arguments, strict=True):
            if (result if is_only else result[number]) is not argument:
                raise wrong_identity()

    to.call(check, [to.value(step.result), *[to.value(each) for _, each in written]])


OF_TENSOR_KERNELS: Final[dict[type[Step], Callable[[Any, Assembler], None]]] = {
    CallFunction: _call_function,
    CallTensorKernel: _call_tensor_kernel,
    CheckAliases: _check_aliases,
    CheckIdentity: _check_identity,
    CheckReturns: _check_returns,
    CheckTensor: _check_tensor,
}
"""Adds the instructions of a step, by its class."""
