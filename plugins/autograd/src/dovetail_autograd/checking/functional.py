"""Products with Jacobians and Hessians, and these themselves, of functions of tensors:
``autograd.functional``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dovetail_kernel import TensorBase, restoring

from ..graph.engine_ops import operator
from ..transforms.forward_mode.duals import cut
from ..transforms.jacobians import jacfwd
from .functional_arguments import (
    GradMode,
    check_single,
    detached,
    fresh_inputs,
    gradients,
    outputs_of,
    result,
    scalar_gradient,
    tensors_of,
    vector_of,
    zero_seeds,
)
from .jacobian_blocks import batched_blocks, blocks_row_by_row
from .strict_checks import check_depends, check_grads

Tensors = TensorBase | tuple[TensorBase, ...]


@restoring()
def vjp(
    func: Callable[..., object],
    inputs: Tensors,
    v: object = None,
    create_graph: bool = False,
    strict: bool = False,
) -> tuple[Any, Any]:
    """Return the output of `func` and the product of `v` with its Jacobian.

    Parameters
    ----------
    func
        Takes tensors, and returns a tensor or a tuple of tensors.
    inputs
        Its arguments: a tensor, or a tuple of tensors.
    v
        The vector, of the shape of the output. Default: 1, for an output of a single element.
    create_graph
        Record the computation, so that both results can be differentiated. Default: False.
    strict
        Raise an error if the output does not depend on an input, instead of returning zeros.
        Default: False.

    Returns
    -------
    tuple
        ``(output, product)``; the product has the structure of `inputs`.

    Raises
    ------
    TypeError
        If `inputs`, `v` or the output are not tensors.
    RuntimeError
        If `v` is missing or has another size than the output, or if `strict` is violated.
    """
    is_tuple, given = tensors_of(inputs, "inputs", "vjp")
    with GradMode(True):
        leaves = fresh_inputs(given, create_graph)
        is_outputs_tuple, outputs = outputs_of(func(*leaves), "vjp")
        check_depends(outputs, "outputs", strict)
    vector = vector_of(v, outputs, is_outputs_tuple, "vjp")
    with GradMode(create_graph):
        product = gradients(outputs, leaves, vector, create_graph)
        product = check_grads(product, leaves, strict, create_graph, "back")
    return result(outputs, is_outputs_tuple, create_graph), result(product, is_tuple, create_graph)


@restoring()
def jvp(
    func: Callable[..., object],
    inputs: Tensors,
    v: object = None,
    create_graph: bool = False,
    strict: bool = False,
) -> tuple[Any, Any]:
    """Return the output of `func` and the product of its Jacobian with `v`, by the double-backward
    trick.

    Parameters
    ----------
    func, inputs, create_graph, strict
        As for `vjp`.
    v
        The vector, of the shape of `inputs`. Default: 1, for an input of a single element.

    Returns
    -------
    tuple
        ``(output, product)``; the product has the structure of the output.

    Raises
    ------
    TypeError, RuntimeError
        As `vjp`.
    """
    is_tuple, given = tensors_of(inputs, "inputs", "jvp")
    vector = vector_of(v, given, is_tuple, "jvp")
    with GradMode(True):
        leaves = fresh_inputs(given, create_graph)
        is_outputs_tuple, outputs = outputs_of(func(*leaves), "jvp")
        check_depends(outputs, "outputs", strict)
        seeds = zero_seeds(outputs)
        rows = check_grads(gradients(outputs, leaves, seeds, True), leaves, strict, True, "back")
    with GradMode(create_graph):
        product = gradients(rows, seeds, vector, create_graph)
        product = check_grads(product, outputs, strict, create_graph, "back_trick")
    return result(outputs, is_outputs_tuple, create_graph), result(
        product, is_outputs_tuple, create_graph
    )


@restoring()
def vhp(
    func: Callable[..., object],
    inputs: Tensors,
    v: object = None,
    create_graph: bool = False,
    strict: bool = False,
) -> tuple[Any, Any]:
    """Return the output of the scalar function `func` and the product of `v` with its Hessian.

    Parameters and errors are those of `vjp`; `v` and the product have the structure of `inputs`.
    """
    is_tuple, given = tensors_of(inputs, "inputs", "vhp")
    vector = vector_of(v, given, is_tuple, "vhp")
    with GradMode(True):
        leaves = fresh_inputs(given, create_graph)
        output, jacobian_ = scalar_gradient(func, leaves, strict, "vhp")
    with GradMode(create_graph):
        product = gradients(jacobian_, leaves, vector, create_graph)
        product = check_grads(product, leaves, strict, create_graph, "double_back")
    return result([output], False, create_graph), result(product, is_tuple, create_graph)


@restoring()
def hvp(
    func: Callable[..., object],
    inputs: Tensors,
    v: object = None,
    create_graph: bool = False,
    strict: bool = False,
) -> tuple[Any, Any]:
    """Return the output of the scalar function `func` and the product of its Hessian with `v`.

    Parameters and errors are those of `vjp`; `v` and the product have the structure of `inputs`.
    `vhp` is faster, and returns the same for a function with continuous second derivatives.
    """
    is_tuple, given = tensors_of(inputs, "inputs", "hvp")
    vector = vector_of(v, given, is_tuple, "hvp")
    with GradMode(True):
        leaves = fresh_inputs(given, create_graph)
        output, jacobian_ = scalar_gradient(func, leaves, strict, "hvp")
        seeds = zero_seeds(leaves)
        rows = check_grads(
            gradients(jacobian_, leaves, seeds, True), leaves, strict, True, "double_back"
        )
    with GradMode(create_graph):
        product = gradients(rows, seeds, vector, create_graph)
        product = check_grads(product, leaves, strict, create_graph, "double_back_trick")
    return result([output], False, create_graph), result(product, is_tuple, create_graph)


@restoring()
def jacobian(
    func: Callable[..., object],
    inputs: Tensors,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    strategy: str = "reverse-mode",
) -> Any:
    """Return the Jacobian of `func` at `inputs`.

    Parameters
    ----------
    func, inputs, create_graph, strict
        As for `vjp`.
    vectorize
        Compute all rows at once, by `vmap`. Default: False: one by one.
    strategy
        ``'reverse-mode'`` (default), or ``'forward-mode'``, which needs `vectorize` and is faster
        for few inputs.

    Returns
    -------
    Tensor or tuple
        For one input and one output, a tensor whose shape is the output's shape followed by the
        input's shape; for several, a tuple per output with an entry per input.

    Raises
    ------
    TypeError, RuntimeError
        As `vjp`, and for `strict` together with `vectorize` or the forward mode.
    NotImplementedError
        For the forward mode without `vectorize`, or with `create_graph`.
    AssertionError
        For any other `strategy`.
    """
    if strategy not in ("forward-mode", "reverse-mode"):
        raise AssertionError(
            'Expected strategy to be either "forward-mode" or '
            '"reverse-mode". Hint: If your function has more outputs '
            'than inputs, "forward-mode" tends to be more '
            'performant. Otherwise, prefer to use "reverse-mode".'
        )
    is_tuple, given = tensors_of(inputs, "inputs", "jacobian")
    _check_combination(strategy, create_graph, strict, vectorize)
    if strategy == "forward-mode":
        return _forward_jacobian(func, given, is_tuple)
    with GradMode(True):
        leaves = fresh_inputs(given, create_graph)
        is_outputs_tuple, outputs = outputs_of(func(*leaves), "jacobian")
        check_depends(outputs, "outputs", strict)
        rows = batched_blocks if vectorize else blocks_row_by_row
        found = rows(outputs, leaves, create_graph, strict)
        blocks = [[detached(block, create_graph) for block in row] for row in found]
    per_output = [tuple(row) if is_tuple else row[0] for row in blocks]
    return tuple(per_output) if is_outputs_tuple else per_output[0]


def hessian(
    func: Callable[..., object],
    inputs: Tensors,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    outer_jacobian_strategy: str = "reverse-mode",
) -> Any:
    """Return the Hessian of the scalar function `func` at `inputs`.

    Parameters
    ----------
    func, inputs, create_graph, strict, vectorize
        As for `jacobian`.
    outer_jacobian_strategy
        How to differentiate the gradient: ``'reverse-mode'`` (default) or ``'forward-mode'``.

    Returns
    -------
    Tensor or tuple
        For one input, a tensor whose shape is the input's shape repeated twice; for several, a
        tuple of tuples of such tensors.

    Raises
    ------
    TypeError, RuntimeError, NotImplementedError, AssertionError
        As `jacobian`.
    """
    if outer_jacobian_strategy not in ("forward-mode", "reverse-mode"):
        raise AssertionError('Expected strategy to be either "forward-mode" or "reverse-mode".')
    is_tuple, given = tensors_of(inputs, "inputs", "hessian")

    def scalar(*values: Any) -> Any:
        is_output_tuple, outputs = outputs_of(func(*values), "hessian")
        check_single(outputs, is_output_tuple, "hessian")
        check_depends(outputs, "outputs", strict)
        return operator("squeeze", "default")(outputs[0])

    def gradient(*values: Any) -> Any:
        found = jacobian(scalar, values, create_graph=True, strict=False)
        check_depends(found, "jacobian", strict)
        return found

    found = jacobian(gradient, given, create_graph, strict, vectorize, outer_jacobian_strategy)
    return found if is_tuple else found[0][0]


def _check_combination(strategy: str, create_graph: bool, strict: bool, vectorize: bool) -> None:
    """Check that `jacobian` can do together what it was asked for. Raises RuntimeError for `strict`
    together with `vectorize` or the forward mode, and NotImplementedError for the forward mode
    without `vectorize`, or with `create_graph`.
    """
    name = "dovetail.autograd.functional.jacobian"
    if strategy == "reverse-mode":
        if strict and vectorize:
            raise RuntimeError(
                f"{name}: `strict=True` and `vectorized=True` are not supported together. Please "
                "either set `strict=False` or `vectorize=False`."
            )
    elif create_graph:
        raise NotImplementedError(
            f'{name}: `create_graph=True` and `strategy="forward-mode"` are not supported together '
            '(yet). Please either set `create_graph=False` or `strategy="reverse-mode"`.'
        )
    elif strict:
        raise RuntimeError(
            f'{name}: `strict=True` and `strategy="forward-mode"` are not supported together '
            '(yet). Please either set `strict=False` or `strategy="reverse-mode"`.'
        )
    elif not vectorize:
        raise NotImplementedError(
            "Computing Jacobian using forward-AD or forward-over-reverse Hessian is only "
            "implemented for `vectorize=True`. Set it."
        )


def _forward_jacobian(
    func: Callable[..., object], given: tuple[TensorBase, ...], is_tuple: bool
) -> Any:
    is_outputs_tuple = False

    def call(*values: Any) -> Any:
        nonlocal is_outputs_tuple
        is_outputs_tuple, outputs = outputs_of(func(*values), "jacobian")
        return outputs

    found = jacfwd(call, tuple(range(len(given))))(*[cut(each) for each in given])
    per_output = [tuple(row) if is_tuple else row[0] for row in found]
    return tuple(per_output) if is_outputs_tuple else per_output[0]
