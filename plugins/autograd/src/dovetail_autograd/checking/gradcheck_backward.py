"""`gradcheck` of backward mode: gradients compared with differences of function values, batched
gradients, undefined ones.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, TypeAlias

from dovetail_kernel import TensorBase

from ..engine.interface.backward import grad
from ..engine.tasks.roots import as_tuple
from ..graph import engine_ops
from ..recording.function import Function
from .gradcheck_jacobian import (
    FAST_MODE,
    Check,
    GradcheckError,
    Jacobian,
    differentiable_outputs,
    elements,
    indices,
    parts_of,
    project,
    show,
    write,
)

_NONDETERMINISTIC = (
    "If your op relies on non-deterministic operations this failure might be expected: call "
    "gradcheck/gradgradcheck with "
    "`nondet_tol=<tol>` as a keyword argument."
)


def check_constant(check: Check) -> None:
    """Check that a function whose outputs do not require grad does not vary with its inputs. Raises
    GradcheckError if it does.
    """
    values = as_tuple(check.func(*check.arguments))
    every = replace(check, outputs=dict(enumerate(values)), fast_mode=False)
    for input_nr in check.inputs:
        for rows in _quotients(every, check.arguments[input_nr]).values():
            if any([abs(each) > 1e-9 for row in rows for output in row for each in output]):
                raise GradcheckError("Numerical gradient for function expected to be zero")


def check_backward(check: Check) -> None:
    """Compare the gradients of all outputs with differences. Raises GradcheckError at the first
    that differs.
    """
    known: dict[int, _Quotients] = {}
    compare = _compare_projections if check.fast_mode else _compare_jacobians
    for output_nr, output in enumerate(check.outputs.values()):
        for part in parts_of(output):
            for input_nr in check.inputs:
                if input_nr not in known:
                    known[input_nr] = _quotients(check, check.arguments[input_nr])
                found = {
                    unit: [[_part(each, part) for each in row[output_nr]] for row in rows]
                    for unit, rows in known[input_nr].items()
                }
                where = f"for output {output_nr} with respect to input {input_nr},\n"
                compare(check, output, part, check.arguments[input_nr], found, where)


_Quotients: TypeAlias = dict[complex, list[list[list[complex]]]]
"""Difference quotients by the unit of the direction: for every direction, those of each output."""


def _quotients(check: Check, value: TensorBase) -> _Quotients:
    return {
        unit: check.along(value, unit, lambda _, move, where: check.quotients(value, move, where))
        for unit in check.units(value)
    }


def _part(number: complex, part: complex) -> float:
    return complex(number).imag if part == 1j else complex(number).real


def _compare_jacobians(
    check: Check,
    output: TensorBase,
    part: complex,
    value: TensorBase,
    quotients: dict[complex, list[list[float]]],
    where: str,
) -> None:
    analytical = _analytical(output, value, part, check.check_dtypes)
    again = _analytical(output, value, part, False)
    numerical: Jacobian = [
        [sum(parts) for parts in zip(*rows, strict=True)]
        for rows in zip(
            *[[[unit * q for q in row] for row in rows] for unit, rows in quotients.items()],
            strict=True,
        )
    ]
    if not check.are_close(analytical, numerical):
        raise GradcheckError(
            f"{_prefix(output, part)}Jacobian mismatch {where}"
            f"numerical:{show(numerical, value)}\nanalytical:{show(analytical, value)}\n"
        )
    for row, other in zip(analytical, again, strict=True):
        if any([abs(a - b) > check.nondet_tol for a, b in zip(row, other, strict=True)]):
            raise _nondeterministic(check.nondet_tol)


def _compare_projections(
    check: Check,
    output: TensorBase,
    part: complex,
    value: TensorBase,
    quotients: dict[complex, list[list[float]]],
    where: str,
) -> None:
    """Compare a random projection of the Jacobian: by differences, analytically, and analytically
    once more.
    """
    weights = [each.real for each in map(complex, elements(project(output, seed=2)))]
    numerical = sum([w * q for w, q in zip(weights, quotients[1.0][0], strict=True)])
    gradient = engine_ops.filled_like(output, 0)
    for index, weight in zip(indices(output), weights, strict=True):
        write(gradient, index, weight * part)
    steps = [complex(each) for each in elements(project(value, seed=1))]

    def project_gradient() -> float:
        found = map(complex, _gradient(output, value, gradient, check.check_dtypes))
        return sum([g.real * s.real + g.imag * s.imag for g, s in zip(found, steps, strict=True)])

    analytical, again = project_gradient(), project_gradient()
    if not check.are_close([[analytical]], [[numerical]]):
        raise GradcheckError(
            f"{_prefix(output, part)}Jacobian mismatch {where}"
            f"numerical:{numerical}\nanalytical:{analytical}\n{FAST_MODE}"
        )
    if abs(analytical - again) > check.nondet_tol:
        raise _nondeterministic(check.nondet_tol)


def _prefix(output: TensorBase, part: complex) -> str:
    if not output.dtype.is_complex:
        return ""
    return (
        "While considering the "
        f"{'imaginary' if part == 1j else 'real'} part of "
        "complex outputs only, "
    )


def _nondeterministic(nondet_tol: float) -> GradcheckError:
    return GradcheckError(
        "Backward is not reentrant, i.e., running backward with same input and grad_output "
        "multiple times gives "
        "different values, although analytical gradient matches numerical gradient."
        f"The tolerance for nondeterminism was {nondet_tol}.\n\n{_NONDETERMINISTIC}"
    )


def _analytical(
    output: TensorBase, value: TensorBase, part: complex, check_dtype: bool
) -> Jacobian:
    columns = []
    for index in indices(output):
        gradient = engine_ops.filled_like(output, 0)
        write(gradient, index, part)
        columns.append(_gradient(output, value, gradient, check_dtype))
    if not columns:
        return [[] for _ in range(value.numel())]
    return [list(row) for row in zip(*columns, strict=True)]


def _gradient(
    output: TensorBase, value: TensorBase, gradient: TensorBase, check_dtype: bool
) -> list[complex]:
    (found,) = grad(output, value, gradient, retain_graph=True, allow_unused=True)
    if found is None:
        return [0.0] * value.numel()
    if check_dtype and found.dtype != value.dtype:
        raise GradcheckError(
            f"Expected gradient to have dtype {value.dtype}, but got {found.dtype}."
        )
    if tuple(found.array.shape) != tuple(value.array.shape):
        raise GradcheckError("Analytical gradient has incorrect size")
    return elements(found)


def check_batched(check: Check) -> None:
    """Check that a batch of gradients of an output gives what they give one after another. Raises
    GradcheckError if it does not.
    """
    # Most checks need no transforms, which take their time to load.
    from ..transforms.batching.batched_gradients import stack, unstack

    wanted = tuple([check.arguments[index] for index in check.inputs])
    for output in check.outputs.values():
        gradients = [project(output, seed=seed) for seed in range(2)]
        alone = [
            grad(output, wanted, each, retain_graph=True, allow_unused=True) for each in gradients
        ]
        together = grad(
            output,
            wanted,
            stack(gradients),
            retain_graph=True,
            allow_unused=True,
            is_grads_batched=True,
        )
        for position, batched in enumerate(together):
            expected = [each[position] for each in alone]
            if batched is None:
                continue
            for left, right in zip(unstack(batched), expected, strict=True):
                if right is not None and not bool((abs(left.array - right.array) <= 1e-6).all()):
                    raise GradcheckError(
                        "While computing batched gradients, got a result other than one by one."
                    )


class _Undefined(Function):
    """The identity, whose gradient is undefined."""

    @staticmethod
    def forward(ctx: object, value: Any) -> Any:
        return engine_ops.clone(value)

    @staticmethod
    def backward(ctx: object, *grads: Any) -> Any:
        return None


def check_undefined(check: Check) -> None:
    """Check that an undefined gradient for one output or all of them is taken for zero. Raises
    GradcheckError if it is not.
    """
    wanted = tuple([check.arguments[index] for index in check.inputs])
    count = len(check.outputs)
    for undefined in [
        set(range(count)),
        *([{index} for index in range(count)] if count > 1 else []),
    ]:
        outputs = differentiable_outputs(check.func(*check.arguments))
        chosen = tuple(
            [_Undefined.apply(each) for index, each in enumerate(outputs) if index in undefined]
        )
        gradients = tuple([project(each, seed=index) for index, each in enumerate(chosen)])
        try:
            found = grad(chosen, wanted, gradients, allow_unused=True)
        except RuntimeError as error:
            raise GradcheckError(
                "Expected backward function to handle undefined output grads. Please look at "
                "'Notes about undefined "
                "output gradients': treat a gradient that is None as zero."
            ) from error
        for each in found:
            if each is not None and bool((each.array != 0).any()):
                raise GradcheckError(
                    "Expected all input grads to be undefined or zero when all output grads are "
                    "undefined or zero."
                )
