"""`gradcheck` and `gradgradcheck`: derivatives compared with differences of function values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

from dovetail_kernel import TensorBase, warn_user

from ..engine.interface.backward import grad
from ..engine.tasks.roots import as_tuple
from .gradcheck_backward import check_backward, check_batched, check_constant, check_undefined
from .gradcheck_jacobian import Check, GradcheckError, differentiable_outputs, perturbable, project

Function = Callable[..., TensorBase | Sequence[TensorBase]]
"""A function of tensors, whose gradients are checked."""


def gradcheck(
    func: Function,
    inputs: TensorBase | Sequence[object],
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
    masked: bool | None = None,
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
        Maximum difference between two backward runs.
    check_undefined_grad
        Also check that undefined gradients of outputs are treated as zeros.
    check_grad_dtypes
        Also check that gradients have the dtype of the input.
    check_batched_grad
        Also check that gradients of stacked output gradients are the stacked gradients.
    check_batched_forward_grad
        Also check that forward mode gives the same results for a batch of tangents as for single
        tangents.
    check_forward_ad
        Also compare the tangents of forward mode with differences. Default: False.
    check_backward_ad
        Compare the gradients of backward mode with differences. Default: True.
    fast_mode
        Compare one random projection of the Jacobian instead of all of it.
    masked
        Must be True for sparse inputs, whose gradients are those of the elements that they store.

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
        If no mode is checked, or if batches are checked without their mode.
    """
    func, arguments = _by_values(func, as_tuple(inputs))
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
    differentiable = _check_inputs(arguments)
    try:
        if isinstance(func, _OfValues) and not masked:
            raise GradcheckError(
                "Jacobian mismatch: the gradient by a sparse input is that of the elements that it "
                "stores, not of those that are zero. Pass masked=True to compare only these."
            )
        returned = as_tuple(func(*arguments))
        differentiable_outputs(returned)
        outputs = {index: each for index, each in enumerate(returned) if each.requires_grad}
        check = Check(
            *(func, arguments, differentiable, outputs, eps, atol, rtol, nondet_tol),
            *(check_grad_dtypes, fast_mode),
        )
        if not outputs:
            check_constant(check)
            return True
        if check_backward_ad:
            check_backward(check)
        if check_forward_ad:
            # Most checks need no transforms, which take their time to load.
            from .gradcheck_forward import check_batched_forward, check_forward

            check_forward(check)
            if check_batched_forward_grad:
                check_batched_forward(check)
        if check_backward_ad:
            if check_batched_grad:
                check_batched(check)
            if check_undefined_grad:
                check_undefined(check)
    except GradcheckError:
        if raise_exception:
            raise
        return False
    return True


def gradgradcheck(
    func: Function,
    inputs: TensorBase | Sequence[object],
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
    masked: bool = False,
) -> bool:
    """Compare the gradients of the gradients of `func` with differences of the gradients.

    Parameters
    ----------
    grad_outputs
        Initial gradients of the outputs. Default: reproducible random numbers.
    gen_non_contig_grad_outputs
        Whether the random gradients are non-contiguous. Default: False.
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
    func, arguments = _by_values(func, as_tuple(inputs))
    differentiable = _check_inputs(arguments)
    if grad_outputs is None:
        outputs = differentiable_outputs(func(*arguments))
        gradients = tuple(
            [
                project(
                    output, index, requires_grad=True, noncontiguous=gen_non_contig_grad_outputs
                )
                for index, output in enumerate(outputs)
            ]
        )
    else:
        gradients = as_tuple(grad_outputs)

    def first_order(*args: Any) -> tuple[TensorBase, ...]:
        given, grads = args[: len(arguments)], args[len(arguments) :]
        wanted = tuple([given[index] for index in differentiable])
        outputs = differentiable_outputs(func(*given))
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
        masked=masked,
    )


class _OfValues:
    """A function of the values of sparse tensors.

    Parameters
    ----------
    func
        The function of the sparse tensors.
    sparse
        The tensors by their positions among the arguments.
    """

    def __init__(self, func: Function, sparse: dict[int, TensorBase]) -> None:
        self._func = func
        self._sparse = sparse

    def __call__(self, *args: object) -> Any:
        given = list(args)
        for index, tensor in self._sparse.items():
            given[index] = cast(Any, tensor)._with_values(given[index])
        return self._func(*given)


def _by_values(func: Function, arguments: tuple[Any, ...]) -> tuple[Function, tuple[Any, ...]]:
    """Return a function and its arguments with values in the place of sparse tensors that require
    grad: what they store is all that has a gradient.
    """
    sparse = {
        index: each
        for index, each in enumerate(arguments)
        if hasattr(each, "_with_values") and each.requires_grad
    }
    if not sparse:
        return func, arguments
    given = list(arguments)
    for index, tensor in sparse.items():
        given[index] = tensor._values().clone().requires_grad_()
    return _OfValues(func, sparse), tuple(given)


def _check_inputs(arguments: tuple[object, ...]) -> list[int]:
    """Return the positions of the inputs that require grad. Raises ValueError if there are none,
    and RuntimeError if one has a dimension of stride 0.
    """
    differentiable = []
    for index, value in enumerate(arguments):
        if not isinstance(value, TensorBase) or not value.requires_grad:
            continue
        differentiable.append(index)
        if str(value.dtype).rpartition(".")[2] not in ("float64", "complex128"):
            warn_user(
                f"Input #{index} requires gradient and is not a double precision floating point "
                "or complex. This "
                "check will likely fail if all the inputs are not of double precision floating "
                "point or complex."
            )
        if not perturbable(value):
            raise RuntimeError(
                f"The {index}th input has a dimension with stride 0. gradcheck only supports "
                "inputs that are "
                "non-overlapping to be able to compute the numerical gradients correctly. You "
                "should call .contiguous "
                "on the input before passing it to gradcheck."
            )
    if not differentiable:
        raise ValueError(
            "gradcheck expects at least one input tensor to require gradient, but none of them "
            "have requires_grad=True."
        )
    return differentiable


__all__ = ["GradcheckError", "gradcheck", "gradgradcheck"]
