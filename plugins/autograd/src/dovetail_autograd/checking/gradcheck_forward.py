"""`gradcheck` of forward mode: tangents compared with differences of function values, one by one
and batched.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from dovetail_kernel import TensorBase, restoring

from ..engine.tasks.roots import as_tuple
from ..forward_ad import dual_level, make_dual, unpack_dual
from ..graph.engine_ops import filled_like, list_operator, operator
from ..transforms.batching.mapping import vmap
from ..transforms.forward_mode.dual_interpreter import JvpLevel, attached_dual
from ..transforms.wrapped.levels import leaves_levels
from .gradcheck_jacobian import (
    GradcheckError,
    Seen,
    changes,
    elements,
    indices,
    project,
    require_alike,
    show,
    write,
    write_all,
)


def check_forward(
    func: Callable[..., object],
    arguments: tuple[Any, ...],
    differentiable: Sequence[int],
    checked: Mapping[int, TensorBase],
    *,
    eps: float,
    atol: float,
    rtol: float,
    fast_mode: bool,
    check_dtypes: bool,
) -> None:
    """Compare the tangents that forward mode computes with differences.

    Parameters
    ----------
    differentiable
        Positions of the inputs to differentiate by.
    checked
        The differentiable outputs by their positions.
    fast_mode
        Along one random direction per input instead of each of its elements.

    Raises
    ------
    GradcheckError
        If they differ, or a tangent has another shape or dtype than its output.
    """
    for input_nr in differentiable:
        value = arguments[input_nr]
        for unit in (1.0, 1j) if value.dtype.is_complex and not fast_mode else (1.0,):
            directions = [project(value, seed=1)] if fast_mode else _units(value, unit)
            numerical = [
                _differences(func, arguments, input_nr, each, checked, eps) for each in directions
            ]
            analytical = [
                _tangents(func, arguments, input_nr, each, checked, check_dtypes)
                for each in directions
            ]
            for output_nr, position in enumerate(checked):
                found = [elements(row[output_nr]) for row in analytical]
                expected = [row[output_nr] for row in numerical]
                if not _close(found, expected, atol, rtol):
                    raise _mismatch(
                        position,
                        input_nr,
                        value,
                        unit,
                        analytical[0][output_nr],
                        found,
                        expected,
                        fast_mode,
                    )


def check_batched_forward(
    func: Callable[..., object],
    arguments: tuple[Any, ...],
    differentiable: Sequence[int],
    checked: Mapping[int, TensorBase],
) -> None:
    """Compare the tangents for a batch of directions with those for one after another.

    Raises
    ------
    GradcheckError
        If they differ, or an operator does not work on a batch.
    """
    for input_nr in differentiable:
        value = arguments[input_nr]
        directions = [project(value, seed=seed) for seed in range(2)]

        def push(direction: TensorBase, input_nr: int = input_nr) -> tuple[TensorBase, ...]:
            return tuple(_pushed(func, arguments, input_nr, direction, checked))

        try:
            together = vmap(push)(operator("stack", "default")(directions, 0))
        except RuntimeError as error:
            raise GradcheckError(
                f"While computing batched gradients, encountered exception: {error}. Without the "
                "batch there is none: "
                "an operator lacks a batching rule, or has a wrong one."
            ) from error
        alone = [push(each) for each in directions]
        for position, batch, *singles in zip(checked, together, *alone, strict=True):
            for row, single in zip(list_operator("unbind", "int")(batch, 0), singles, strict=True):
                require_alike(single, row, "along a batch of tangents")
                if not bool((abs(row.array - single.array) <= 1e-6).all()):
                    raise GradcheckError(
                        f"For output {position} and input {input_nr}:\n\nThe batched tangent of "
                        f"forward mode differs from that computed alone.\nGot:\n{row!r}\n\n"
                        f"Expected:\n{single!r}"
                    )


def _units(value: TensorBase, unit: complex) -> list[TensorBase]:
    made = []
    for index in indices(value):
        direction = filled_like(value, 0)
        write(direction, index, unit)
        made.append(direction)
    return made


@restoring(*dual_level.variables)
def _tangents(
    func: Callable[..., object],
    arguments: tuple[Any, ...],
    input_nr: int,
    direction: TensorBase,
    checked: Mapping[int, TensorBase],
    check_dtypes: bool,
) -> list[TensorBase]:
    """Return the tangents of the outputs as dual tensors give them."""
    with dual_level():
        given = list(arguments)
        given[input_nr] = make_dual(arguments[input_nr], direction)
        outputs = as_tuple(func(*given))
        unpacked = [unpack_dual(outputs[position]) for position in checked]
    tangents = []
    for output, (primal, tangent) in zip(checked.values(), unpacked, strict=True):
        require_alike(output, primal, "along a tangent")
        if tangent is not None and tuple(tangent.array.shape) != tuple(primal.array.shape):
            raise GradcheckError(
                "Analytical gradient has incorrect size: that of forward mode, a tangent."
            )
        if check_dtypes and tangent is not None and tangent.dtype != primal.dtype:
            raise GradcheckError(
                f"Expected tangent to have dtype {primal.dtype}, but got {tangent.dtype}."
            )
        tangents.append(filled_like(primal, 0) if tangent is None else tangent)
    return tangents


@leaves_levels
def _pushed(
    func: Callable[..., object],
    arguments: tuple[Any, ...],
    input_nr: int,
    direction: TensorBase,
    checked: Mapping[int, TensorBase],
) -> list[TensorBase]:
    """Return the tangents of the outputs at a level that nests with others."""
    with JvpLevel() as level:
        given = list(arguments)
        given[input_nr] = attached_dual(level, arguments[input_nr], direction)
        outputs = as_tuple(func(*given))
        found = [
            (level.primal(outputs[position]), level.tangent(outputs[position]))
            for position in checked
        ]
    return [filled_like(primal, 0) if tangent is None else tangent for primal, tangent in found]


def _differences(
    func: Callable[..., object],
    arguments: tuple[Any, ...],
    input_nr: int,
    direction: TensorBase,
    checked: Mapping[int, TensorBase],
    eps: float,
) -> list[list[complex]]:
    """Return, per output, the difference quotient along `direction`; the input is changed in place
    and put back.
    """
    value = arguments[input_nr]
    original = value.array.copy()

    def values() -> list[Seen]:
        outputs = as_tuple(func(*arguments))
        return [Seen(outputs[position]) for position in checked]

    try:
        write_all(value, original + eps * direction.array)
        above = values()
        write_all(value, original - eps * direction.array)
        below = values()
    finally:
        write_all(value, original)
    where = f"along a direction by {eps}"
    return [
        [each / (2 * eps) for each in changes(high, low, output, where)]
        for output, high, low in zip(checked.values(), above, below, strict=True)
    ]


def _close(
    found: list[list[complex]], expected: list[list[complex]], atol: float, rtol: float
) -> bool:
    pairs = [
        pair
        for row, other in zip(found, expected, strict=True)
        for pair in zip(row, other, strict=True)
    ]
    return all([abs(left - right) <= atol + rtol * abs(right) for left, right in pairs])


def _mismatch(
    position: int,
    input_nr: int,
    value: TensorBase,
    unit: complex,
    output: TensorBase,
    found: list[list[complex]],
    expected: list[list[complex]],
    fast_mode: bool,
) -> GradcheckError:
    prefix = ""
    if value.dtype.is_complex and not fast_mode:
        part = "imaginary" if unit == 1j else "real"
        prefix = f"While considering the {part} part of complex inputs only, "
    note = ""
    if fast_mode:
        note = (
            "\nThe above quantities relating the numerical and analytical jacobians are computed "
            "in fast mode: call "
            "gradcheck with fast_mode=False to see both.\n"
        )
    model = output if output.dtype.is_complex else value
    return GradcheckError(
        f"{prefix}Jacobian computed with forward mode mismatch for output {position} with respect "
        f"to input {input_nr},"
        f"\nnumerical:{show(expected, model)}\nanalytical:{show(found, model)}\n{note}"
    )
