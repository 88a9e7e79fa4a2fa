"""The tensors that `autograd.functional` works on: arguments checked and made anew, vectors,
gradients, results.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from dovetail_kernel import Guard, TensorBase, set_state, state
from dovetail_kernel.keys import NOT_PLAIN
from dovetail_kernel.signature import GRAD, NO_GRAD
from dovetail_kernel.sockets import AUTOGRAD

from ..engine.interface.backward import grad
from ..graph.engine_ops import filled_like, operator
from ..graph.function_node import DIFFERENTIABLE
from ..transforms.forward_mode.duals import cut
from .strict_checks import check_depends, check_grads


class GradMode(Guard):
    """Grad mode on for the block if `on`, else as it is."""

    def __init__(self, on: bool) -> None:
        self._on = on

    def change(self) -> None:
        """Turn grad mode on, if it is to be."""
        if self._on:
            set_state(state() & ~NO_GRAD)


def tensors_of(value: Any, name: str, function: str) -> tuple[bool, tuple[TensorBase, ...]]:
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


def outputs_of(value: object, function: str) -> tuple[bool, tuple[TensorBase, ...]]:
    """Return whether a function returned a tuple, and what it returned as a tuple of tensors."""
    return tensors_of(value, "outputs of the user-provided function", function)


def fresh_inputs(given: Sequence[TensorBase], create_graph: bool) -> tuple[TensorBase, ...]:
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
            made.append(_alias(tensor))
        else:
            leaf = _without_graph(tensor)
            AUTOGRAD.plug.set_requires_grad(leaf, True)
            made.append(leaf)
    return tuple(made)


def vector_of(
    v: object, like: Sequence[TensorBase], is_tuple: bool, function: str
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
    _, given = tensors_of(v, "v", function)
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


def zero_seeds(tensors: Sequence[TensorBase]) -> tuple[TensorBase, ...]:
    """Return zeros like `tensors` that require grad."""
    made = []
    for tensor in tensors:
        seed = filled_like(tensor, 0)
        seed._signature |= GRAD
        made.append(seed)
    return tuple(made)


def gradients(
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


def check_single(outputs: Sequence[TensorBase], is_tuple: bool, function: str) -> None:
    """Check that a function returned one tensor of one element. Raises RuntimeError if it did
    not.
    """
    if is_tuple:
        raise RuntimeError(f"The function given to {function} should return a single Tensor")
    if outputs[0].numel() != 1:
        raise RuntimeError(
            f"The Tensor returned by the function given to {function} should contain a single "
            "element"
        )


def scalar_gradient(
    func: Callable[..., object], leaves: tuple[TensorBase, ...], strict: bool, function: str
) -> tuple[TensorBase, tuple[TensorBase, ...]]:
    """Return the output of a scalar function and its gradient, recorded."""
    is_tuple, outputs = outputs_of(func(*leaves), function)
    check_depends(outputs, "outputs", strict)
    check_single(outputs, is_tuple, function)
    found = check_grads(gradients(outputs, leaves, None, True), leaves, strict, False, "back")
    check_depends(found, "jacobian", strict)
    return outputs[0], found


def detached(tensor: TensorBase, create_graph: bool) -> TensorBase:
    """Return `tensor` outside its graph, unless with `create_graph`."""
    return tensor if create_graph or not tensor._signature & GRAD else _without_graph(tensor)


def _without_graph(tensor: TensorBase) -> TensorBase:
    """Return a leaf with the data of `tensor`, of its class if that overrides anything: its methods
    are called, as PyTorch calls them, since classes know these by name.
    """
    own: Any = tensor
    return own.detach() if tensor._signature & NOT_PLAIN else cut(tensor)


def _alias(tensor: TensorBase) -> Any:
    own: Any = tensor
    return own.view_as(own) if tensor._signature & NOT_PLAIN else operator("alias", "default")(own)


def result(tensors: Sequence[TensorBase], is_tuple: bool, create_graph: bool) -> Any:
    """Return `tensors` as the user gets them: `detached`, and a single one as it is unless
    `is_tuple`.
    """
    made = tuple([detached(each, create_graph) for each in tensors])
    return made if is_tuple else made[0]
