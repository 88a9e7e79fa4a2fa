"""`backward` and `grad`: checks their arguments, makes the first gradients, and runs the engine."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dovetail_dispatcher import overridable
from dovetail_kernel import TensorBase, warn_user, warn_user_once
from dovetail_kernel.short_tracebacks import shorten_traceback
from dovetail_kernel.signature import GRAD

from ...graph import engine_ops
from ...sockets import BATCHED_GRAD
from ..active_levels import active_levels, is_in_transform
from ..engine import execute_plainly
from ..imperative_engine import check_used, default_engine, wanted_edge
from ..tasks.roots import Output, as_tuple, make_grads, plain_root


@overridable
def backward(
    tensors: Output | Sequence[Output],
    grad_tensors: TensorBase | Sequence[TensorBase | None] | None = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    grad_variables: TensorBase | Sequence[TensorBase | None] | None = None,
    inputs: Output | Sequence[Output] | None = None,
) -> None:
    """Add the gradients of `tensors` to the ``.grad`` of the leaves of their graph.

    Parameters
    ----------
    tensors
        One or several tensors, or gradient edges, to differentiate.
    grad_tensors
        The initial gradient of each; None means 1, for a real scalar.
    retain_graph
        Keep the saved values of the graph for another backward. Default: the value of
        `create_graph`.
    create_graph
        Record the backward itself.
    grad_variables
        Deprecated name of `grad_tensors`.
    inputs
        Accumulate only into these tensors. Default: into every leaf.

    Raises
    ------
    RuntimeError
        For outputs without graph, gradients of another shape, an empty `inputs`, or values freed by
        an earlier run.
    """
    if active_levels():
        _check_not_in_transform()
    if grad_variables is not None:
        warn_user("`grad_variables` is deprecated. Use `grad_tensors` instead.", FutureWarning)
        if grad_tensors is not None:
            raise RuntimeError(
                "`grad_tensors` and `grad_variables` (deprecated) arguments both passed. Use "
                "`grad_tensors`."
            )
        grad_tensors = grad_variables
    given = None if inputs is None else as_tuple(inputs)
    if given is not None and not given:
        raise RuntimeError(
            "`inputs` argument to `backward()` cannot be empty. Leave it out to reach every leaf."
        )
    outputs = as_tuple(tensors)
    grads = make_grads(outputs, grad_tensors)
    if create_graph:
        warn_user_once(
            "Using backward() with create_graph=True will create a reference cycle between the "
            "parameter and its "
            "gradient which can cause a memory leak. We recommend using autograd.grad when "
            "creating the graph to avoid "
            "this. If you have to use this function, make sure to reset the .grad fields of your "
            "parameters to None "
            "after use to break the cycle and avoid the leak."
        )
    keep_graph = create_graph if retain_graph is None else retain_graph
    default_engine.run_backward(outputs, grads, keep_graph, create_graph, given, True, True)


def _check_not_in_transform() -> None:
    if is_in_transform():
        raise RuntimeError(
            "backward() called inside a functorch transform. This is not supported, please use "
            "dovetail.func.grad or "
            "dovetail.func.vjp instead or call backward() outside of functorch transforms."
        )


def backward_of_one(
    tensor: TensorBase,
    gradient: TensorBase | None,
    retain_graph: bool | None,
    create_graph: bool,
    inputs: Any,
) -> None:
    """Do what `backward` does for one tensor, with a way of its own to the engine in the common
    case.
    """
    if create_graph or inputs is not None:
        backward((tensor,), (gradient,), retain_graph, create_graph, None, inputs)
        return
    if active_levels():
        _check_not_in_transform()
    try:
        root = plain_root(tensor, gradient)
        if root is not None:
            execute_plainly(root, bool(retain_graph))
            return
        grads = make_grads((tensor,), (gradient,))
        default_engine.run_backward((tensor,), grads, bool(retain_graph), False, None, True, True)
    except Exception as error:
        shorten_traceback(error)
        raise


@overridable
def grad(
    outputs: Output | Sequence[Output],
    inputs: Output | Sequence[Output],
    grad_outputs: TensorBase | Sequence[TensorBase | None] | None = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    only_inputs: bool = True,
    allow_unused: bool | None = None,
    is_grads_batched: bool = False,
    materialize_grads: bool = False,
) -> tuple[TensorBase | None, ...]:
    """Return the gradients of `outputs` with respect to `inputs`, without changing any ``.grad``.

    Parameters
    ----------
    outputs
        One or several tensors, or gradient edges, to differentiate.
    inputs
        One or several tensors, or gradient edges, with respect to which to differentiate.
    grad_outputs
        The initial gradient of each output; None means 1, for a real scalar.
    retain_graph
        Keep the saved values of the graph. Default: the value of `create_graph`.
    create_graph
        Record the backward itself, for higher derivatives.
    only_inputs
        Ignored, as in PyTorch: False warns.
    allow_unused
        Return None for an input that `outputs` do not depend on. Default: the value of
        `materialize_grads`.
    is_grads_batched
        The first dimension of `grad_outputs` runs over several gradients; the results are stacked
        likewise.
    materialize_grads
        Return zeros instead of None; with `create_graph` they require grad.

    Returns
    -------
    tuple
        One gradient per input, after the hooks of the input. PyTorch omits the hooks of an input if
        another input is deeper in the graph.

    Raises
    ------
    RuntimeError
        For an unused input, outputs without graph, gradients of another shape, or values freed by
        an earlier run.
    ValueError
        If `allow_unused` is False and `materialize_grads` True.
    """
    if not only_inputs:
        warn_user(
            "only_inputs argument is deprecated and is ignored now (defaults to True). To "
            "accumulate gradient for other parts of the graph, please use "
            "dovetail.autograd.backward.",
            FutureWarning,
        )
    if materialize_grads and allow_unused is False:
        raise ValueError(
            "Expected allow_unused to be True or not passed when materialize_grads=True, but got: "
            "allow_unused=False."
        )
    if allow_unused is None:
        allow_unused = materialize_grads
    wanted = as_tuple(inputs)
    if not wanted:
        raise RuntimeError(
            "`inputs` argument to `grad()` cannot be empty. Name at least one tensor."
        )
    given = as_tuple(outputs)
    keep_graph = create_graph if retain_graph is None else retain_graph
    found: tuple[TensorBase | None, ...]
    root = None
    if len(given) == 1 and not is_grads_batched:
        seeds = (None,) if grad_outputs is None else as_tuple(grad_outputs)
        root = plain_root(given[0], seeds[0]) if len(seeds) == 1 else None
    if root is not None:
        edges = [wanted_edge(each, False) for each in wanted]
        found = tuple(execute_plainly(root, bool(keep_graph), edges, bool(create_graph)))
        if not allow_unused:
            check_used(found)
    elif is_grads_batched:
        found = BATCHED_GRAD.plug(
            grad, given, inputs, as_tuple(grad_outputs), retain_graph, create_graph, allow_unused
        )
    else:
        found = default_engine.run_backward(  # type: ignore[assignment]
            given, make_grads(given, grad_outputs), keep_graph, create_graph, wanted, allow_unused
        )
    if materialize_grads:
        pairs = zip(wanted, found, strict=True)
        return tuple(
            [_zeros_for(each, create_graph) if got is None else got for each, got in pairs]
        )
    return found


def grad_or_zeros(
    outputs: Sequence[TensorBase],
    inputs: Sequence[TensorBase],
    grad_outputs: Sequence[TensorBase] | None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
) -> list[TensorBase]:
    """Return what `grad` does, with zeros that require no grad for an input that was not used."""
    found = grad(outputs, inputs, grad_outputs, retain_graph, create_graph, allow_unused=True)
    return [
        engine_ops.filled_like(each, 0) if gradient is None else gradient
        for each, gradient in zip(inputs, found, strict=True)
    ]


def _zeros_for(given: Output, requires_grad: bool) -> TensorBase:
    """Return the gradient of an input that was not used: a leaf, if the backward is recorded."""
    if not isinstance(given, TensorBase):
        raise RuntimeError(
            "materialize_grads cannot be used when the given input is a GradientEdge, and nothing "
            "leads there. Give the tensor."
        )
    zeros = engine_ops.filled_like(given, 0)
    if requires_grad:
        zeros._signature |= GRAD
    return zeros
