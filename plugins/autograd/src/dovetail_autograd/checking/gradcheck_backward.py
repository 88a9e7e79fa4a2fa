"""`gradcheck` of backward mode: gradients compared with differences of function values, batched
gradients, undefined ones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from dovetail_kernel import TensorBase

from ..engine.interface.backward import grad
from ..engine.tasks.roots import as_tuple
from ..graph import engine_ops
from ..recording.function import Function
from .gradcheck_jacobian import (
    GradcheckError,
    Jacobian,
    analytical_column,
    differentiable_outputs,
    directional,
    numerical_jacobian,
    parts_of,
    project,
    show,
)

_NONDETERMINISTIC = (
    "If your op relies on non-deterministic operations this failure might be expected: call "
    "gradcheck/gradgradcheck with "
    "`nondet_tol=<tol>` as a keyword argument."
)


def check_constant(
    func: Callable[..., object],
    arguments: tuple[object, ...],
    differentiable: list[int],
    eps: float,
) -> None:
    """Check that a function whose outputs do not require grad does not vary with its inputs.

    Raises
    ------
    GradcheckError
        If it does.
    """
    values = as_tuple(func(*arguments))
    for output_nr in range(len(values)):
        for part in parts_of(values[output_nr]):
            for input_nr in differentiable:
                jacobian = numerical_jacobian(
                    lambda *a: as_tuple(func(*a)),
                    arguments,
                    input_nr,
                    output_nr,
                    values[output_nr],
                    part,
                    eps,
                )
                if any([abs(entry) > 1e-9 for row in jacobian for entry in row]):
                    raise GradcheckError("Numerical gradient for function expected to be zero")


@dataclass(frozen=True)
class BackwardCheck:
    """Compares the gradients of a function with differences of its values.

    Attributes
    ----------
    func, arguments
        The function, and what it is called with.
    eps, atol, rtol, nondet_tol, check_dtypes
        As for `gradcheck`.
    """

    func: Callable[..., Any]
    arguments: tuple[Any, ...]
    eps: float
    atol: float
    rtol: float
    nondet_tol: float
    check_dtypes: bool

    def compare(
        self, outputs: Sequence[TensorBase], differentiable: Sequence[int], fast_mode: bool
    ) -> None:
        """Compare the gradients of all `outputs` by the inputs at the positions `differentiable`.

        Raises
        ------
        GradcheckError
            At the first that differs.
        """
        compare = self._compare_projections if fast_mode else self._compare_jacobians
        for output_nr, output in enumerate(outputs):
            for part in parts_of(output):
                for input_nr in differentiable:
                    compare(output_nr, output, part, input_nr)

    def _outputs(self, *given: Any) -> tuple[TensorBase, ...]:
        return differentiable_outputs(self.func(*given))

    def _compare_jacobians(
        self, output_nr: int, output: TensorBase, part: complex, input_nr: int
    ) -> None:
        value = self.arguments[input_nr]
        analytical = _analytical(output, value, part, self.check_dtypes)
        again = _analytical(output, value, part, False)
        numerical = numerical_jacobian(
            self._outputs, self.arguments, input_nr, output_nr, output, part, self.eps
        )
        for left, right in _entries(analytical, numerical):
            if not abs(left - right) <= self.atol + self.rtol * abs(right):
                raise GradcheckError(
                    f"{_prefix(output, part)}Jacobian mismatch for output {output_nr} with "
                    f"respect to input {input_nr},\n"
                    f"numerical:{show(numerical, value)}\nanalytical:{show(analytical, value)}\n"
                )
        for left, right in _entries(analytical, again):
            if abs(left - right) > self.nondet_tol:
                raise _nondeterministic(self.nondet_tol)

    def _compare_projections(
        self, output_nr: int, output: TensorBase, part: complex, input_nr: int
    ) -> None:
        numerical, analytical, again = directional(
            self._outputs,
            self.arguments,
            input_nr,
            output_nr,
            output,
            part,
            self.eps,
            self.check_dtypes,
        )
        if not abs(numerical - analytical) <= self.atol + self.rtol * abs(numerical):
            raise GradcheckError(
                f"{_prefix(output, part)}Jacobian mismatch for output {output_nr} with respect to "
                f"input {input_nr},\n"
                f"numerical:{numerical}\nanalytical:{analytical}\n\nThe above quantities "
                "relating the numerical and analytical jacobians are computed in fast mode: call "
                "gradcheck with fast_mode=False to see both.\n"
            )
        if abs(analytical - again) > self.nondet_tol:
            raise _nondeterministic(self.nondet_tol)


def _entries(left: Jacobian, right: Jacobian) -> Iterator[tuple[complex, complex]]:
    for row, other in zip(left, right, strict=True):
        yield from zip(row, other, strict=True)


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
    columns = [
        analytical_column(output, value, index, part, check_dtype)
        for index in range(output.numel())
    ]
    return (
        [list(row) for row in zip(*columns, strict=True)]
        if columns
        else [[] for _ in range(value.numel())]
    )


def check_batched(
    arguments: tuple[Any, ...], differentiable: list[int], outputs: tuple[TensorBase, ...]
) -> None:
    """Check that a batch of gradients of an output gives what they give one after another.

    Raises
    ------
    GradcheckError
        If it does not.
    """
    # Most checks need no transforms, which take their time to load.
    from ..transforms.batching.batched_gradients import stack, unstack

    wanted = tuple([arguments[index] for index in differentiable])
    for output in outputs:
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


def check_undefined(
    func: Any, arguments: tuple[Any, ...], differentiable: list[int], count: int
) -> None:
    """Check that an undefined gradient for one output or all of them is taken for zero.

    Raises
    ------
    GradcheckError
        If it is not.
    """
    wanted = tuple([arguments[index] for index in differentiable])
    for undefined in [
        set(range(count)),
        *([{index} for index in range(count)] if count > 1 else []),
    ]:
        outputs = differentiable_outputs(func(*arguments))
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
