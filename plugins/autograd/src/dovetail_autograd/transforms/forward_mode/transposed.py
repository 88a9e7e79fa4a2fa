"""Tangents without a forward formula: the transpose of the backward formula, by the double-backward
trick.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from dovetail_dispatcher import OpOverload
from dovetail_dispatcher.table import Formula, PythonFormula
from dovetail_kernel import TensorBase, dispatch_state, set_state, state
from dovetail_kernel.keys import AUTOGRAD_KEYS
from dovetail_kernel.signature import GRAD, NO_GRAD

from ...engine.interface.backward import grad_or_zeros
from ...engine.node_runs.validate_gradient import conform_tensor
from ...graph.engine_ops import filled_like
from ...graph.flatten import flatten
from ...graph.function_node import DIFFERENTIABLE
from ...graph.node import Node
from ..wrapped.wrapped_calls import map_tensors
from .duals import cut, is_tracked


def tangents_by_transposing(
    op: OpOverload,
    formula: Formula | PythonFormula,
    primals: Mapping[str, object],
    tangents: Mapping[str, object],
    args: Sequence[object],
    kwargs: Mapping[str, object],
) -> tuple[Any, list[Any]]:
    """Return the results of a call and their tangents.

    Parameters
    ----------
    op
        The operator, functional.
    formula
        Its backward formula.
    primals, tangents
        The arguments by name, and their tangents: None where there is none, a list for a list of
        tensors.
    args, kwargs
        The arguments as the call has them.

    Raises
    ------
    NotImplementedError
        If the backward formula of a user is not made of differentiable operators.
    RuntimeError
        Below Autograd, where nothing is recorded.
    """
    names = (
        formula.inputs
        if isinstance(formula, Formula)
        else [a.name for a in op._schema.arguments if a.is_tensor_like]
    )
    flat_primals = _flat([primals[name] for name in names])
    flat_tangents = _flat(
        [tangents[name] if tangents[name] is not None else _nones(primals[name]) for name in names]
    )
    before = state()
    given = (
        []
        if before & NO_GRAD
        else [each for each in (*flat_primals, *flat_tangents) if each is not None]
    )
    wanted = any([is_tracked(each) for each in given])
    leaves = {
        id(primal): _leaf(primal)
        for primal, tangent in zip(flat_primals, flat_tangents, strict=True)
        if tangent is not None
    }
    try:
        set_state(before & ~NO_GRAD)
        leaf_args, leaf_kwargs = map_tensors(lambda each: leaves.get(id(each), each), args, kwargs)
        outputs = op(*leaf_args, **leaf_kwargs)
        results = list(outputs) if len(op._schema.returns) > 1 else [outputs]
        flat_results = _flat(results)
        node = _recorded_node(op, flat_results)
        if node is None:
            return outputs, [None] * len(results)
        seeds, made = _seeds(node, flat_results)
        gradients = flatten(node, node.apply_tensors(*seeds))
        found = _transpose(op, formula, node, gradients, flat_primals, flat_tangents, made, wanted)
    finally:
        set_state(before)
    if not any([each.requires_grad for each in given]):
        outputs = _cut(outputs)
        found = [None if each is None else cut(each) for each in found]
    return outputs, _like(results, iter(found))


def _recorded_node(op: OpOverload, results: Sequence[TensorBase | None]) -> Any:
    """Return the node that the call recorded; None if it does not depend on what is wanted."""
    for each in results:
        if each is not None and each._grad_fn is not None:
            return each._grad_fn
    if dispatch_state().excluded | AUTOGRAD_KEYS == dispatch_state().excluded:
        raise RuntimeError(
            f"forward AD of {op.name()} differentiates its backward formula, which is not recorded "
            "below Autograd, as in inference mode. Leave inference mode."
        )
    return None


def _seeds(
    node: Node, results: Sequence[TensorBase | None]
) -> tuple[list[TensorBase | None], list[TensorBase | None]]:
    """Return zeros to begin the inner backward with, per output of `node` and per result."""
    per_output: list[TensorBase | None] = [None] * node._num_outputs
    per_result: list[TensorBase | None] = [None] * len(results)
    for position, each in enumerate(results):
        if each is not None and each._grad_fn is node and each._signature & DIFFERENTIABLE:
            seed = filled_like(each, 0)
            seed._signature |= GRAD
            per_output[each.output_nr] = per_result[position] = seed
    return per_output, per_result


def _transpose(
    op: OpOverload,
    formula: Formula | PythonFormula,
    node: Node,
    gradients: Sequence[TensorBase | None],
    primals: Sequence[TensorBase | None],
    tangents: Sequence[TensorBase | None],
    seeds: Sequence[TensorBase | None],
    create_graph: bool,
) -> list[TensorBase | None]:
    outputs: list[TensorBase] = []
    weights: list[TensorBase] = []
    for index, (gradient, primal, tangent) in enumerate(
        zip(gradients, primals, tangents, strict=True)
    ):
        if gradient is None or tangent is None or primal is None:
            continue
        if not gradient.requires_grad:
            if isinstance(formula, PythonFormula):
                raise NotImplementedError(
                    f"Trying to use forward AD with {op.name()} that does not support it because "
                    "its backward "
                    f"({formula.where}) is not differentiable in the gradient that it gets. Write "
                    "it with operators."
                )
            continue
        shape = tuple(primal.array.shape)
        outputs.append(conform_tensor(node, index, gradient, shape, primal.dtype, None))
        weights.append(tangent)
    wanted = [seed for seed in seeds if seed is not None]
    found = iter(grad_or_zeros(outputs, wanted, weights, create_graph=create_graph))
    return [None if seed is None else next(found) for seed in seeds]


def _leaf(primal: TensorBase) -> TensorBase:
    if primal.requires_grad:
        return primal
    leaf = cut(primal)
    leaf._signature |= GRAD
    return leaf


def _cut(outputs: object) -> Any:
    if isinstance(outputs, TensorBase):
        return cut(outputs)
    if isinstance(outputs, (list, tuple)):
        return type(outputs)([_cut(each) for each in outputs])
    return outputs


def _nones(value: object) -> Any:
    return [None] * len(value) if isinstance(value, (list, tuple)) else None


def _flat(values: Sequence[object]) -> list[Any]:
    flat: list[Any] = []
    for value in values:
        flat.extend(value if isinstance(value, (list, tuple)) else [value])
    return flat


def _like(results: Sequence[object], flat: Any) -> list[Any]:
    return [
        [next(flat) for _ in result] if isinstance(result, (list, tuple)) else next(flat)
        for result in results
    ]
