"""`gradcheck` of forward mode: tangents compared with differences of function values, one by one
and batched.
"""

from __future__ import annotations

from typing import Any

from dovetail_kernel import TensorBase, restoring

from ..engine.tasks.roots import as_tuple
from ..forward_ad import dual_level, make_dual, unpack_dual
from ..graph.engine_ops import filled_like, list_operator, operator
from ..transforms.batching.mapping import vmap
from ..transforms.forward_mode.dual_interpreter import JvpLevel, attached_dual
from ..transforms.wrapped.levels import leaves_levels
from .gradcheck_jacobian import (
    FAST_MODE,
    Check,
    GradcheckError,
    Move,
    elements,
    project,
    require_alike,
    show,
)


def check_forward(check: Check) -> None:
    """Compare the tangents that forward mode computes with differences. Raises GradcheckError if
    they differ, or a tangent has another shape or dtype than its output.
    """
    for input_nr in check.inputs:
        value = check.arguments[input_nr]

        def compute(
            direction: TensorBase,
            move: Move,
            where: str,
            input_nr: int = input_nr,
            value: TensorBase = value,
        ) -> tuple[list[list[complex]], list[TensorBase]]:
            quotients = check.quotients(value, move, where)
            return quotients, _tangents(check, input_nr, direction)

        for unit in check.units(value):
            pairs = check.along(value, unit, compute)
            for output_nr, position in enumerate(check.outputs):
                found = [elements(tangents[output_nr]) for _, tangents in pairs]
                expected = [quotients[output_nr] for quotients, _ in pairs]
                if not check.are_close(found, expected):
                    output = pairs[0][1][output_nr]
                    model = output if output.dtype.is_complex else value
                    raise GradcheckError(
                        f"{_prefix(check, value, unit)}Jacobian computed with forward mode "
                        f"mismatch for output {position} with respect to input {input_nr},\n"
                        f"numerical:{show(expected, model)}\nanalytical:{show(found, model)}\n"
                        f"{FAST_MODE * check.fast_mode}"
                    )


def _prefix(check: Check, value: TensorBase, unit: complex) -> str:
    if not value.dtype.is_complex or check.fast_mode:
        return ""
    part = "imaginary" if unit == 1j else "real"
    return f"While considering the {part} part of complex inputs only, "


def check_batched_forward(check: Check) -> None:
    """Compare the tangents for a batch of directions with those for one after another. Raises
    GradcheckError if they differ, or an operator does not work on a batch.
    """
    for input_nr in check.inputs:
        value = check.arguments[input_nr]
        directions = [project(value, seed=seed) for seed in range(2)]

        def push(direction: TensorBase, input_nr: int = input_nr) -> tuple[TensorBase, ...]:
            return tuple(_pushed(check, input_nr, direction))

        try:
            together = vmap(push)(operator("stack", "default")(directions, 0))
        except RuntimeError as error:
            raise GradcheckError(
                f"While computing batched gradients, encountered exception: {error}. Without the "
                "batch there is none: "
                "an operator lacks a batching rule, or has a wrong one."
            ) from error
        alone = [push(each) for each in directions]
        for position, batch, *singles in zip(check.outputs, together, *alone, strict=True):
            for row, single in zip(list_operator("unbind", "int")(batch, 0), singles, strict=True):
                require_alike(single, row, "along a batch of tangents")
                if not bool((abs(row.array - single.array) <= 1e-6).all()):
                    raise GradcheckError(
                        f"For output {position} and input {input_nr}:\n\nThe batched tangent of "
                        f"forward mode differs from that computed alone.\nGot:\n{row!r}\n\n"
                        f"Expected:\n{single!r}"
                    )


@restoring(*dual_level.variables)
def _tangents(check: Check, input_nr: int, direction: TensorBase) -> list[TensorBase]:
    """Return the tangents of the outputs as dual tensors give them."""
    with dual_level():
        given = list(check.arguments)
        for each in check.inputs:  # functions may ask every input for its tangent
            own = direction if each == input_nr else filled_like(given[each], 0)
            given[each] = make_dual(given[each], own)
        outputs = as_tuple(check.func(*given))
        unpacked = [unpack_dual(outputs[position]) for position in check.outputs]
    tangents = []
    for output, (primal, tangent) in zip(check.outputs.values(), unpacked, strict=True):
        require_alike(output, primal, "along a tangent")
        if tangent is not None and tuple(tangent.array.shape) != tuple(primal.array.shape):
            raise GradcheckError(
                "Analytical gradient has incorrect size: that of forward mode, a tangent."
            )
        if check.check_dtypes and tangent is not None and tangent.dtype != primal.dtype:
            raise GradcheckError(
                f"Expected tangent to have dtype {primal.dtype}, but got {tangent.dtype}."
            )
        tangents.append(filled_like(primal, 0) if tangent is None else tangent)
    return tangents


@leaves_levels
def _pushed(check: Check, input_nr: int, direction: TensorBase) -> list[TensorBase]:
    """Return the tangents of the outputs at a level that nests with others."""
    with JvpLevel() as level:
        given: list[Any] = list(check.arguments)
        given[input_nr] = attached_dual(level, given[input_nr], direction)
        returned = as_tuple(check.func(*given))
        outputs = [returned[position] for position in check.outputs]
        found = [(level.primal(each), level.tangent(each)) for each in outputs]
    return [filled_like(primal, 0) if tangent is None else tangent for primal, tangent in found]
