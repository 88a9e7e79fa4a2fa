"""Products with Jacobians and Hessians, and these themselves, of functions of tensors:
``autograd.functional``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from dovetail_kernel.keys.state import set_state, state
from dovetail_kernel.tensor.tensor_base import TensorBase
from dovetail_kernel.types.signature import GRAD, NO_GRAD

from ..engine.backward import grad
from ..graph.engine_ops import filled_like, operator
from ..graph.function_node import DIFFERENTIABLE
from ..transforms.duals import cut
from ..transforms.jacobians import jacfwd
from .jacobian_blocks import batched_blocks, blocks_row_by_row
from .strict_checks import check_depends, check_grads

Tensors = TensorBase | tuple[TensorBase, ...]


def vjp(
    func: Callable[..., Any],
    inputs: Tensors,
    v: Any = None,
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
        The vector, shaped as the output. Default: 1, for an output of a single element.
    create_graph
        Record the computation, so that both results can be differentiated. Default: False.
    strict
        Raise where the output does not depend on an input, instead of returning zeros. Default:
        False.

    Returns
    -------
    tuple
        ``(output, product)``; the product is nested as `inputs`.

    Raises
    ------
    TypeError
        If `inputs`, `v` or the output are no tensors.
    RuntimeError
        If `v` is of another size than the output, is missing, or what `strict` forbids.
    """
    is_tuple, given = _tensors(inputs, "inputs", "vjp")
    with _GradMode(True):
        leaves = _inputs(given, create_graph)
        is_outputs_tuple, outputs = _outputs(func(*leaves), "vjp")
        check_depends(outputs, "outputs", strict)
    vector = _vector(v, outputs, is_outputs_tuple, "vjp")
    with _GradMode(create_graph):
        product = _grad(outputs, leaves, vector, create_graph)
        product = check_grads(product, leaves, strict, create_graph, "back")
    return _result(outputs, is_outputs_tuple, create_graph), _result(
        product, is_tuple, create_graph
    )


def jvp(
    func: Callable[..., Any],
    inputs: Tensors,
    v: Any = None,
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
        The vector, shaped as `inputs`. Default: 1, for an input of a single element.

    Returns
    -------
    tuple
        ``(output, product)``; the product is nested as the output.

    Raises
    ------
    TypeError, RuntimeError
        As `vjp`.
    """
    is_tuple, given = _tensors(inputs, "inputs", "jvp")
    vector = _vector(v, given, is_tuple, "jvp")
    with _GradMode(True):
        leaves = _inputs(given, create_graph)
        is_outputs_tuple, outputs = _outputs(func(*leaves), "jvp")
        check_depends(outputs, "outputs", strict)
        seeds = _seeds(outputs)
        rows = check_grads(_grad(outputs, leaves, seeds, True), leaves, strict, True, "back")
        check_depends(rows, "grad_inputs", strict)
    with _GradMode(create_graph):
        product = _grad(rows, seeds, vector, create_graph)
        product = check_grads(product, outputs, strict, create_graph, "back_trick")
    return _result(outputs, is_outputs_tuple, create_graph), _result(
        product, is_outputs_tuple, create_graph
    )


def vhp(
    func: Callable[..., Any],
    inputs: Tensors,
    v: Any = None,
    create_graph: bool = False,
    strict: bool = False,
) -> tuple[Any, Any]:
    """Return the output of the scalar function `func` and the product of `v` with its Hessian.

    Parameters and errors are those of `vjp`; `v` and the product are nested as `inputs`.
    """
    is_tuple, given = _tensors(inputs, "inputs", "vhp")
    vector = _vector(v, given, is_tuple, "vhp")
    with _GradMode(True):
        leaves = _inputs(given, create_graph)
        output, jacobian_ = _scalar_gradient(func, leaves, strict, "vhp")
    with _GradMode(create_graph):
        product = _grad(jacobian_, leaves, vector, create_graph)
        product = check_grads(product, leaves, strict, create_graph, "double_back")
    return _result([output], False, create_graph), _result(product, is_tuple, create_graph)


def hvp(
    func: Callable[..., Any],
    inputs: Tensors,
    v: Any = None,
    create_graph: bool = False,
    strict: bool = False,
) -> tuple[Any, Any]:
    """Return the output of the scalar function `func` and the product of its Hessian with `v`.

    Parameters and errors are those of `vjp`; `v` and the product are nested as `inputs`. `vhp`
    costs less, and for a function with continuous second derivatives gives the same.
    """
    is_tuple, given = _tensors(inputs, "inputs", "hvp")
    vector = _vector(v, given, is_tuple, "hvp")
    with _GradMode(True):
        leaves = _inputs(given, create_graph)
        output, jacobian_ = _scalar_gradient(func, leaves, strict, "hvp")
        seeds = _seeds(leaves)
        rows = check_grads(
            _grad(jacobian_, leaves, seeds, True), leaves, strict, True, "double_back"
        )
        check_depends(rows, "hessian", strict)
    with _GradMode(create_graph):
        product = _grad(rows, seeds, vector, create_graph)
        product = check_grads(product, leaves, strict, create_graph, "double_back_trick")
    return _result([output], False, create_graph), _result(product, is_tuple, create_graph)


def jacobian(
    func: Callable[..., Any],
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
        Compute all rows at once, by `vmap`. Default: False, one after another.
    strategy
        ``'reverse-mode'`` (default), or ``'forward-mode'``, which needs `vectorize` and is faster
        for few inputs.

    Returns
    -------
    Tensor or tuple
        For one input and one output a tensor of the shape of the output followed by that of the
        input; for several a tuple per output, of one entry per input.

    Raises
    ------
    TypeError, RuntimeError
        As `vjp`, and for `strict` together with `vectorize` or the forward mode.
    NotImplementedError
        For the forward mode without `vectorize`, or with `create_graph`.
    AssertionError
        For another `strategy`.
    """
    if strategy not in ("forward-mode", "reverse-mode"):
        raise AssertionError(
            'Expected strategy to be either "forward-mode" or '
            '"reverse-mode". Hint: If your function has more outputs '
            'than inputs, "forward-mode" tends to be more '
            'performant. Otherwise, prefer to use "reverse-mode".'
        )
    is_tuple, given = _tensors(inputs, "inputs", "jacobian")
    name = "dovetail.autograd.functional.jacobian"
    if strategy == "forward-mode":
        if create_graph:
            raise NotImplementedError(
                f"{name}: `create_graph=True` and "
                '`strategy="forward-mode"` are not supported together '
                "(yet). Please "
                'either set `create_graph=False` or `strategy="reverse-mode"`.'
            )
        if strict:
            raise RuntimeError(
                f'{name}: `strict=True` and `strategy="forward-mode"` are '
                "not supported together (yet). Please either "
                'set `strict=False` or `strategy="reverse-mode"`.'
            )
        if not vectorize:
            raise NotImplementedError(
                "Computing Jacobian using forward-AD or forward-over-reverse Hessian is only "
                "implemented for "
                "`vectorize=True`. Set it."
            )
        return _forward_jacobian(func, given, is_tuple)
    if strict and vectorize:
        raise RuntimeError(
            f"{name}: `strict=True` and `vectorized=True` are not supported together. Please "
            "either set "
            "`strict=False` or `vectorize=False`."
        )
    with _GradMode(True):
        leaves = _inputs(given, create_graph)
        is_outputs_tuple, outputs = _outputs(func(*leaves), "jacobian")
        check_depends(outputs, "outputs", strict)
        rows = batched_blocks if vectorize else blocks_row_by_row
        found = rows(outputs, leaves, create_graph, strict)
        blocks = [[_detached(block, create_graph) for block in row] for row in found]
    per_output = [tuple(row) if is_tuple else row[0] for row in blocks]
    return tuple(per_output) if is_outputs_tuple else per_output[0]


def hessian(
    func: Callable[..., Any],
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
        For one input a tensor of its shape twice over; for several a tuple of tuples of them.

    Raises
    ------
    TypeError, RuntimeError, NotImplementedError, AssertionError
        As `jacobian`.
    """
    if outer_jacobian_strategy not in ("forward-mode", "reverse-mode"):
        raise AssertionError('Expected strategy to be either "forward-mode" or "reverse-mode".')
    is_tuple, given = _tensors(inputs, "inputs", "hessian")

    def scalar(*values: Any) -> Any:
        is_output_tuple, outputs = _outputs(func(*values), "hessian")
        _check_single(outputs, is_output_tuple, "hessian")
        check_depends(outputs, "outputs", strict)
        return operator("squeeze", "default")(outputs[0])

    def gradient(*values: Any) -> Any:
        found = jacobian(scalar, values, create_graph=True, strict=False)
        check_depends(found, "jacobian", strict)
        return found

    found = jacobian(gradient, given, create_graph, strict, vectorize, outer_jacobian_strategy)
    return found if is_tuple else found[0][0]


# -- pieces ----------------------------------------------------------------------------------------


class _GradMode:
    """Grad mode on for the block if `on`, else as it is."""

    def __init__(self, on: bool) -> None:
        self._on = on
        self._before = 0

    def __enter__(self) -> None:
        self._before = state()
        if self._on:
            set_state(self._before & ~NO_GRAD)

    def __exit__(self, *exception: object) -> None:
        set_state(self._before)


def _tensors(value: Any, name: str, function: str) -> tuple[bool, tuple[TensorBase, ...]]:
    """Return whether `value` is a tuple, and it as a tuple of tensors."""
    is_tuple = isinstance(value, tuple)
    given = value if is_tuple else (value,)
    for index, each in enumerate(given):
        if not isinstance(each, TensorBase):
            where = f"the value at index {index}" if is_tuple else f"the given {name}"
            raise TypeError(
                f"The {name} given to {function} must be either a Tensor or a tuple of Tensors "
                f"but {where} has type "
                f"{type(each)}."
            )
    return is_tuple, given


def _outputs(value: Any, function: str) -> tuple[bool, tuple[TensorBase, ...]]:
    return _tensors(value, "outputs of the user-provided function", function)


def _inputs(given: Sequence[TensorBase], create_graph: bool) -> tuple[TensorBase, ...]:
    """Return new tensors to differentiate by: with `create_graph` still attached to the graph of
    those given.
    """
    made = []
    for tensor in given:
        if not tensor._signature & DIFFERENTIABLE:
            raise RuntimeError(
                "only Tensors of floating point dtype can require gradients, but an input is "
                f"{tensor.dtype}. Convert "
                "it first."
            )
        if create_graph and tensor.requires_grad:
            made.append(operator("alias", "default")(tensor))
        else:
            leaf = cut(tensor)
            leaf._signature |= GRAD
            made.append(leaf)
    return tuple(made)


def _vector(
    v: Any, like: Sequence[TensorBase], is_tuple: bool, function: str
) -> tuple[TensorBase, ...]:
    """Return `v` as a tuple of tensors shaped as `like`, which are inputs, or for `vjp` the
    outputs.
    """
    if v is None:
        if len(like) != 1 or like[0].numel() != 1:
            what = (
                "user-provided function returns"
                if function == "vjp"
                else "input to the user-provided function is"
            )
            raise RuntimeError(
                f"The vector v can only be None if the {what} a single Tensor with a single "
                "element. Give v."
            )
        return (filled_like(like[0], 1),)
    _, given = _tensors(v, "v", function)
    if len(given) != len(like):
        if is_tuple:
            raise RuntimeError(
                f"v is a tuple of invalid length: should be {len(like)} but got {len(given)}."
            )
        raise RuntimeError("The given v should contain a single Tensor.")
    for index, (each, model) in enumerate(zip(given, like, strict=True)):
        if tuple(each.array.shape) != tuple(model.array.shape):
            entry = f"Entry {index} of v" if is_tuple else "v"
            raise RuntimeError(
                f"{entry} has invalid size: should be {model.shape} but got {each.shape}."
            )
    return given


def _seeds(tensors: Sequence[TensorBase]) -> tuple[TensorBase, ...]:
    """Return zeros like `tensors` that require grad."""
    made = []
    for tensor in tensors:
        seed = filled_like(tensor, 0)
        seed._signature |= GRAD
        made.append(seed)
    return tuple(made)


def _grad(
    outputs: Sequence[TensorBase],
    inputs: Sequence[TensorBase],
    seeds: Sequence[TensorBase] | None,
    create_graph: bool,
) -> tuple[TensorBase | None, ...]:
    """Return the gradients, None where there is no dependence."""
    used = [index for index, output in enumerate(outputs) if output.requires_grad]
    if not used:
        return (None,) * len(inputs)
    given = None if seeds is None else [seeds[index] for index in used]
    return grad(
        [outputs[i] for i in used], inputs, given, create_graph=create_graph, allow_unused=True
    )


def _check_single(outputs: Sequence[TensorBase], is_tuple: bool, function: str) -> None:
    if is_tuple:
        raise RuntimeError(f"The function given to {function} should return a single Tensor")
    if outputs[0].numel() != 1:
        raise RuntimeError(
            f"The Tensor returned by the function given to {function} should contain a single "
            "element"
        )


def _scalar_gradient(
    func: Callable[..., Any], leaves: tuple[TensorBase, ...], strict: bool, function: str
) -> tuple[TensorBase, tuple[TensorBase, ...]]:
    """Return the output of a scalar function and its gradient, recorded."""
    is_tuple, outputs = _outputs(func(*leaves), function)
    check_depends(outputs, "outputs", strict)
    _check_single(outputs, is_tuple, function)
    found = check_grads(_grad(outputs, leaves, None, True), leaves, strict, False, "back")
    check_depends(found, "jacobian", strict)
    return outputs[0], found


def _detached(tensor: TensorBase, create_graph: bool) -> TensorBase:
    return tensor if create_graph or not tensor._signature & GRAD else cut(tensor)


def _result(tensors: Sequence[TensorBase], is_tuple: bool, create_graph: bool) -> Any:
    made = tuple([_detached(each, create_graph) for each in tensors])
    return made if is_tuple else made[0]


def _forward_jacobian(
    func: Callable[..., Any], given: tuple[TensorBase, ...], is_tuple: bool
) -> Any:
    is_outputs_tuple = False

    def call(*values: Any) -> Any:
        nonlocal is_outputs_tuple
        is_outputs_tuple, outputs = _outputs(func(*values), "jacobian")
        return outputs

    found = jacfwd(call, tuple(range(len(given))))(*[cut(each) for each in given])
    per_output = [tuple(row) if is_tuple else row[0] for row in found]
    return tuple(per_output) if is_outputs_tuple else per_output[0]


__all__ = ["hessian", "hvp", "jacobian", "jvp", "vhp", "vjp"]
