"""`gradcheck` and `gradgradcheck`: derivatives compared with differences of function values."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

from dovetail_kernel.tensor.tensor_base import TensorBase

from ..engine.backward import as_tuple, grad
from ..graph import engine_ops as calls
from ..recording.function import Function
from .gradcheck_jacobian import (
    GradcheckError,
    Jacobian,
    analytical_column,
    directional,
    numerical_jacobian,
    parts_of,
    perturbable,
    project,
    show,
)

_NONDETERMINISTIC = (
    "If your op relies on non-deterministic operations this failure might be expected: call "
    "gradcheck/gradgradcheck with "
    "`nondet_tol=<tol>` as a keyword argument."
)


def gradcheck(
    func: Callable[..., TensorBase | Sequence[TensorBase]],
    inputs: TensorBase | Sequence[Any],
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_batched_forward_grad: bool = False,
    check_forward_ad: bool = False,
    check_backward_ad: bool = True,
    fast_mode: bool = False,
) -> bool:
    """Compare the gradients of `func` with differences of its values.

    Parameters
    ----------
    func
        Takes `inputs` and returns a tensor or several.
    inputs
        Arguments; those that require grad should be float64 or complex128.
    eps
        Step of the differences.
    atol, rtol
        Tolerances of the comparison.
    raise_exception
        Raise if the check fails; else return False.
    nondet_tol
        How far two backwards may be apart.
    check_undefined_grad
        Also check that undefined gradients of outputs are taken for zeros.
    check_grad_dtypes
        Also check that gradients have the dtype of the input.
    check_batched_grad
        Also check that gradients of stacked output gradients are the stacked gradients.
    check_batched_forward_grad
        Also check that forward mode on a batch of tangents gives what it gives on one after
        another.
    check_forward_ad
        Also compare the tangents of forward mode with differences. Default: False.
    check_backward_ad
        Compare the gradients of backward mode with differences. Default: True.
    fast_mode
        Compare one random projection of the Jacobian instead of all of it.

    Returns
    -------
    bool
        Whether the check passed.

    Raises
    ------
    ValueError
        If no input requires grad.
    RuntimeError
        For an input with a dimension of stride 0.
    GradcheckError
        If the check fails.
    AssertionError
        If neither mode is to be checked, or the batches of one that is not.
    """
    arguments = as_tuple(inputs)
    if not (check_forward_ad or check_backward_ad):
        raise AssertionError(
            "Expected at least one of check_forward_ad or check_backward_ad to be True"
        )
    if check_batched_grad and not check_backward_ad:
        raise AssertionError(
            "Setting check_batched_grad=True requires check_backward_ad to be True"
        )
    if check_batched_forward_grad and not check_forward_ad:
        raise AssertionError(
            "Setting check_batched_forward_grad=True requires check_forward_ad to be True"
        )
    if not raise_exception:
        try:
            return gradcheck(
                func,
                arguments,
                eps=eps,
                atol=atol,
                rtol=rtol,
                nondet_tol=nondet_tol,
                check_undefined_grad=check_undefined_grad,
                check_grad_dtypes=check_grad_dtypes,
                check_batched_grad=check_batched_grad,
                check_batched_forward_grad=check_batched_forward_grad,
                check_forward_ad=check_forward_ad,
                check_backward_ad=check_backward_ad,
                fast_mode=fast_mode,
            )
        except GradcheckError:
            return False
    differentiable = _check_inputs(arguments)
    returned = as_tuple(func(*arguments))
    outputs = _differentiable_outputs(returned)
    if not outputs:
        _check_constant(func, arguments, differentiable, eps)
        return True
    if check_forward_ad:
        from .gradcheck_forward import check_batched_forward, check_forward

        positions = [index for index, each in enumerate(returned) if each.requires_grad]
        check_forward(
            func,
            arguments,
            differentiable,
            positions,
            eps=eps,
            atol=atol,
            rtol=rtol,
            fast_mode=fast_mode,
            check_dtypes=check_grad_dtypes,
        )
        if check_batched_forward_grad:
            check_batched_forward(func, arguments, differentiable, positions)
    if not check_backward_ad:
        return True
    compare = _compare_fast if fast_mode else _compare_slow
    for output_nr, output in enumerate(outputs):
        for part in parts_of(output):
            for input_nr in differentiable:
                compare(
                    func,
                    arguments,
                    output_nr,
                    output,
                    part,
                    input_nr,
                    eps,
                    atol,
                    rtol,
                    nondet_tol,
                    check_grad_dtypes,
                )
    if check_batched_grad:
        _check_batched(arguments, differentiable, outputs)
    if check_undefined_grad:
        _check_undefined(func, arguments, differentiable, len(outputs))
    return True


def gradgradcheck(
    func: Callable[..., TensorBase | Sequence[TensorBase]],
    inputs: TensorBase | Sequence[Any],
    grad_outputs: TensorBase | Sequence[TensorBase] | None = None,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    gen_non_contig_grad_outputs: bool = False,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_fwd_over_rev: bool = False,
    check_rev_over_rev: bool = True,
    fast_mode: bool = False,
) -> bool:
    """Compare the gradients of the gradients of `func` with differences of the gradients.

    Parameters
    ----------
    grad_outputs
        Gradients of the outputs to begin with. Default: reproducible random numbers.
    gen_non_contig_grad_outputs
        Accepted for compatibility: random gradients are contiguous.
    check_fwd_over_rev, check_rev_over_rev
        Differentiate the gradients in forward mode, and in backward mode. Default: False and True.

    Returns
    -------
    bool
        Whether the check passed. The other parameters and errors are those of `gradcheck`.
    """
    if not (check_fwd_over_rev or check_rev_over_rev):
        raise AssertionError(
            "Expected at least one of check_fwd_over_rev or check_rev_over_rev to be True"
        )
    for name, wanted in (
        ("check_undefined_grad", check_undefined_grad),
        ("check_batched_grad", check_batched_grad),
    ):
        if wanted and not check_rev_over_rev:
            raise AssertionError(f"Setting {name}=True requires check_rev_over_rev to be True")
    arguments = as_tuple(inputs)
    differentiable = _check_inputs(arguments)
    if grad_outputs is None:
        outputs = _differentiable_outputs(func(*arguments))
        gradients = tuple(
            [
                project(output, seed=index, requires_grad=True)
                for index, output in enumerate(outputs)
            ]
        )
    else:
        gradients = as_tuple(grad_outputs)

    def first_order(*args: Any) -> tuple[TensorBase, ...]:
        given, grads = args[: len(arguments)], args[len(arguments) :]
        wanted = tuple([given[index] for index in differentiable])
        outputs = _differentiable_outputs(func(*given))
        found = grad(outputs, wanted, grads, create_graph=True, allow_unused=True)
        return tuple([each for each in found if each is not None])

    return gradcheck(
        first_order,
        (*arguments, *gradients),
        eps=eps,
        atol=atol,
        rtol=rtol,
        raise_exception=raise_exception,
        nondet_tol=nondet_tol,
        check_undefined_grad=check_undefined_grad,
        check_grad_dtypes=check_grad_dtypes,
        check_batched_grad=check_batched_grad,
        check_forward_ad=check_fwd_over_rev,
        check_backward_ad=check_rev_over_rev,
        fast_mode=fast_mode,
    )


def _check_inputs(arguments: tuple[Any, ...]) -> list[int]:
    """Return the positions of the inputs that require grad.

    Raises
    ------
    ValueError
        If there are none.
    RuntimeError
        If one has a dimension of stride 0.
    """
    differentiable = []
    for index, value in enumerate(arguments):
        if not isinstance(value, TensorBase) or not value.requires_grad:
            continue
        differentiable.append(index)
        if str(value.dtype).rpartition(".")[2] not in ("float64", "complex128"):
            warnings.warn(
                f"Input #{index} requires gradient and is not a double precision floating point "
                "or complex. This "
                "check will likely fail if all the inputs are not of double precision floating "
                "point or complex.",
                UserWarning,
                stacklevel=3,
            )
        if not perturbable(value):
            raise RuntimeError(
                f"The {index}th input has a dimension with stride 0. gradcheck only supports "
                "inputs that are "
                "non-overlapping to be able to compute the numerical gradients correctly. You "
                "should call .contiguous "
                "on the input before passing it to gradcheck."
            )
        value.retain_grad()
    if not differentiable:
        raise ValueError(
            "gradcheck expects at least one input tensor to require gradient, but none of them "
            "have requires_grad=True."
        )
    return differentiable


def _differentiable_outputs(returned: Any) -> tuple[TensorBase, ...]:
    values = as_tuple(returned)
    for value in values:
        if not isinstance(value, TensorBase):
            raise ValueError(
                f"Expected the function to return Tensors, but got {type(value).__name__}."
            )
    return tuple([value for value in values if value.requires_grad])


def _check_constant(
    func: Any, arguments: tuple[Any, ...], differentiable: list[int], eps: float
) -> None:
    values = as_tuple(func(*arguments))
    for output_nr in range(len(values)):
        for part in parts_of(values[output_nr]):
            for input_nr in differentiable:
                jacobian = numerical_jacobian(
                    lambda *a: as_tuple(func(*a)), arguments, input_nr, output_nr, part, eps
                )
                if any([abs(entry) > 1e-9 for row in jacobian for entry in row]):
                    raise GradcheckError("Numerical gradient for function expected to be zero")


def _compare_slow(
    func: Any,
    arguments: tuple[Any, ...],
    output_nr: int,
    output: TensorBase,
    part: complex,
    input_nr: int,
    eps: float,
    atol: float,
    rtol: float,
    nondet_tol: float,
    check_grad_dtypes: bool,
) -> None:
    value = arguments[input_nr]
    analytical = _analytical(output, value, part, check_grad_dtypes)
    again = _analytical(output, value, part, False)
    numerical = numerical_jacobian(
        lambda *a: _differentiable_outputs(func(*a)), arguments, input_nr, output_nr, part, eps
    )
    for row, other in zip(analytical, numerical, strict=True):
        for left, right in zip(row, other, strict=True):
            if not abs(left - right) <= atol + rtol * abs(right):
                prefix = _prefix(output, part)
                raise GradcheckError(
                    f"{prefix}Jacobian mismatch for output {output_nr} with respect to input "
                    f"{input_nr},\n"
                    f"numerical:{show(numerical, value)}\nanalytical:{show(analytical, value)}\n"
                )
    for row, other in zip(analytical, again, strict=True):
        for left, right in zip(row, other, strict=True):
            if abs(left - right) > nondet_tol:
                raise _nondeterministic(nondet_tol)


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


def _compare_fast(
    func: Any,
    arguments: tuple[Any, ...],
    output_nr: int,
    output: TensorBase,
    part: complex,
    input_nr: int,
    eps: float,
    atol: float,
    rtol: float,
    nondet_tol: float,
    check_grad_dtypes: bool,
) -> None:
    def outputs(*given: Any) -> tuple[TensorBase, ...]:
        return _differentiable_outputs(func(*given))

    numerical, analytical, again = directional(
        outputs, arguments, input_nr, output_nr, output, part, eps, check_grad_dtypes
    )
    if not abs(numerical - analytical) <= atol + rtol * abs(numerical):
        message = (
            f"{_prefix(output, part)}Jacobian mismatch for output {output_nr} with respect to "
            f"input {input_nr},\n"
            f"numerical:{numerical}\nanalytical:{analytical}\n\nThe above quantities relating the "
            "numerical and "
            "analytical jacobians are computed in fast mode: call gradcheck with fast_mode=False "
            "to see both.\n"
        )
        raise GradcheckError(message)
    if abs(analytical - again) > nondet_tol:
        raise _nondeterministic(nondet_tol)


def _check_batched(
    arguments: tuple[Any, ...], differentiable: list[int], outputs: tuple[TensorBase, ...]
) -> None:
    from ..transforms.batched_gradients import stack, unstack

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
    def forward(ctx: Any, value: Any) -> Any:
        return calls.clone(value)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        return None


def _check_undefined(
    func: Any, arguments: tuple[Any, ...], differentiable: list[int], count: int
) -> None:
    """Check that an undefined gradient for one output or all of them is taken for zero."""
    wanted = tuple([arguments[index] for index in differentiable])
    for undefined in [
        set(range(count)),
        *([{index} for index in range(count)] if count > 1 else []),
    ]:
        outputs = _differentiable_outputs(func(*arguments))
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


__all__ = ["GradcheckError", "gradcheck", "gradgradcheck"]
