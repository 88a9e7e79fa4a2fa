"""AccumulateGrad: the node at the end of every path, which adds a gradient to ``.grad`` of its leaf."""

from __future__ import annotations

from sys import getrefcount
from threading import Lock
from typing import TYPE_CHECKING, Any

from dovetail_kernel.signature import GRAD, NORMAL, OVERRIDES, VIEW
from dovetail_kernel.state import is_grad_enabled
from dovetail_kernel.tensor_base import TensorBase, tensor_class, wrap
from dovetail_kernel.version import VersionCounter

from . import calls
from .node import Node

if TYPE_CHECKING:
    from dovetail_kernel.backends import Backend

if TYPE_CHECKING:
    pass

_PLAIN = ~(GRAD | VIEW | OVERRIDES)

LAST = 2**64 - 1
"""Sequence number of every AccumulateGrad: it runs as soon as its gradient is complete."""


class AccumulateGrad(Node):
    """Adds gradients to ``variable.grad``. One per leaf, which holds it weakly; it holds the leaf.

    It is made anew for every graph of the leaf, and so has to be cheap. A lock per leaf makes concurrent backwards add
    up.
    """

    __slots__ = ("__weakref__", "arrays", "lock", "plain_signature", "variable")
    is_leaf = True

    variable: TensorBase

    def __init__(self, variable: TensorBase, backend: Backend, lock: Lock) -> None:
        array = variable.array
        self.variable = variable
        self.plain_signature = variable._signature & _PLAIN | NORMAL
        self.lock = lock
        self.next_edges = ()
        self.sequence_nr = LAST
        self.input_metadata = (array.shape, array.dtype)
        self.backend = backend
        self.arrays = backend.arrays
        self.hooks = None

    def name(self) -> str:
        """Return the name of the node."""
        return "dovetail::autograd::AccumulateGrad"

    def accumulate_array(self, grad: Any) -> None:
        """Add the array `grad` to the leaf's gradient, or make it the leaf's gradient.

        The caller's local variable and its iteration hold `grad` once each; if nobody else does it becomes the
        gradient as it is, else a copy. `UNSHARED` is how many references that makes here.
        """
        variable = self.variable
        meta = variable._meta
        with self.lock:
            present = meta.grad
            if present is None:
                if (
                    getrefcount(grad) > UNSHARED or grad.base is not None or grad.strides != variable.array.strides
                ) and self.arrays.mutable_arrays:
                    grad = copy_like(grad, variable.array)
                meta.grad = self.wrap(grad)
            elif present._signature == self.plain_signature:
                add_in_place(present, grad, self.arrays)
            else:
                meta.grad = calls.add(present, self.wrap(grad))
        if meta.post_accumulate:
            run_post_accumulate_hooks(variable, meta.post_accumulate)

    def wrap(self, grad: Any) -> TensorBase:
        """Return a new tensor around the array `grad`, which has the leaf's shape and dtype."""
        if not isinstance(grad, self.arrays.array_types):
            grad = self.arrays.asarray(grad)
        tensor = tensor_class()()
        tensor.array = grad
        tensor._signature = self.plain_signature
        tensor._grad_fn = None
        tensor.output_nr = 0
        tensor._storage = None
        tensor._counter = None
        tensor._meta = None
        return tensor

    def accumulate_tensor(self, grad: TensorBase) -> None:
        """Add the tensor `grad` to the leaf's gradient; out of place where a graph of the backward is recorded."""
        variable = self.variable
        meta = variable._meta
        with self.lock:
            present = meta.grad
            recording = is_grad_enabled()
            if present is None:
                if recording and grad._signature & GRAD:
                    meta.grad = calls.clone(grad)
                elif grad._signature & OVERRIDES:
                    meta.grad = calls.clone(calls.detach(grad))
                else:
                    meta.grad = wrap(copy_like(grad.array, variable.array), grad._backend)
            elif recording or present._signature != self.plain_signature or grad._signature & OVERRIDES:
                meta.grad = calls.add(present, grad)
            else:
                add_in_place(present, grad.array, self.arrays)
        if meta.post_accumulate:
            run_post_accumulate_hooks(variable, meta.post_accumulate)


def add_in_place(present: TensorBase, grad: Any, arrays: Any) -> None:
    """Add the array `grad` to the tensor `present` of the same dtype, and count the write."""
    if arrays.mutable_arrays:
        array = present.array
        array += grad
    else:
        present.array = present.array + grad
    counter = present._counter
    if counter is None:
        present._counter = VersionCounter(1)
    else:
        counter.value += 1


def copy_like(grad: Any, model: Any) -> Any:
    """Return a copy of the array `grad` whose dimensions lie in memory in the order of those of `model`.

    A model that is not dense, or whose order is the usual one, gives the usual order.
    """
    strides = getattr(model, "strides", None)
    if strides is None or not hasattr(grad, "transpose") or len(strides) < 2:
        return grad.copy()
    order = sorted(range(len(strides)), key=lambda dim: -strides[dim])
    if order == list(range(len(strides))) or not _is_dense(model, order):
        return grad.copy()
    inverse = sorted(range(len(order)), key=order.__getitem__)
    return grad.transpose(order).copy().transpose(inverse)


def _is_dense(array: Any, order: list[int]) -> bool:
    expected = array.dtype.itemsize
    for dim in reversed(order):
        if array.shape[dim] != 1:
            if array.strides[dim] != expected:
                return False
            expected *= array.shape[dim]
    return True


def run_post_accumulate_hooks(variable: TensorBase, hooks: Any) -> None:
    """Call every post-accumulate hook with the leaf.

    Raises
    ------
    RuntimeError
        If a hook returns anything.
    """
    for hook in tuple(hooks.values()):
        if hook(variable) is not None:
            raise RuntimeError("Tensor post accumulate grad hooks should return None. Change variable.grad instead.")


class _Probe:
    __slots__ = ()

    def accumulate_array(self, grad: Any) -> int:
        return getrefcount(grad)


def _count_references() -> int:
    """Return the references to a gradient nobody shares, counted in the very situation that the engine makes."""
    grads = (object(),)
    target = _Probe()
    for _, grad in zip((None,), grads, strict=False):
        return target.accumulate_array(grad)
    raise AssertionError


UNSHARED = _count_references()
