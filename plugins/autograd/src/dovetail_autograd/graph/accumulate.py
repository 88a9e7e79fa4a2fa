"""AccumulateGrad: the node at the end of every path, which adds a gradient to ``.grad`` of its
leaf.
"""

from __future__ import annotations

from functools import partial
from itertools import pairwise
from threading import RLock
from typing import TYPE_CHECKING, Any, Final
from weakref import ref

from dovetail_kernel import TensorBase, VersionCounter, backend_of_signature, is_grad_enabled, wrap
from dovetail_kernel.keys import NOT_PLAIN
from dovetail_kernel.signature import DTYPE_MASK, GRAD, INFERENCE, NORMAL, VIEW, WRAPPED_BIT
from dovetail_kernel.tensor import bare_tensor_maker, holders

from . import engine_ops
from .node import Node

if TYPE_CHECKING:
    from dovetail_kernel import Backend, dtype

    from .autograd_meta import AutogradMeta
    from .hooks import NodeHooks

_PLAIN = ~(GRAD | VIEW | NOT_PLAIN | INFERENCE)

LAST = 2**64 - 1
"""Sequence number of every AccumulateGrad: it runs as soon as its gradient is complete."""


class _Watch:
    """Notes whether any leaf ever had hooks, so that it matters when its gradient is complete."""

    leaves = False


watch: Final = _Watch()


def watch_leaves() -> None:
    """Note that a leaf has hooks."""
    watch.leaves = True


class AccumulateGrad(Node):
    """Node that adds gradients to ``variable.grad``; one per leaf.

    To record a call has to cost nothing here, so the leaf keeps its accumulator. The edges, which
    have the leaf as a third entry, keep it alive as long as a graph leads to it. A node that was
    presented to the user holds its leaf as well; then the leaf holds the node weakly, and makes
    another one when it has died.

    Attributes
    ----------
    leaf
        Weak reference to the leaf.
    held
        The leaf, if this node was presented.
    meta
        The leaf's AutogradMeta, where its gradient is.
    lock
        Held while that is changed. Operators may run then, which a mode sees: its code may ask for
        this node, or run a backward that reaches the leaf.
    plain_signature
        The signature of a plain tensor of the leaf's backend and dtype.
    strides
        The strides of the leaf's array: a gradient that is kept has them too. None for a wrapped
        leaf, whose gradients never come as arrays.
    """

    __slots__ = (
        "__weakref__",
        "array_type",
        "arrays",
        "held",
        "is_mutable",
        "leaf",
        "lock",
        "make_tensor",
        "meta",
        "plain_signature",
        "strides",
    )
    _is_leaf_node = True

    def __init__(self, variable: TensorBase, meta: AutogradMeta, lock: RLock) -> None:
        array = variable.array
        backend = backend_of_signature(variable._signature)
        # The dead reference takes the place of this node, which holds `meta` and with it the
        # gradient. A callback without Python code: an interrupt that came in one would be lost.
        self.leaf = ref(variable, partial(setattr, meta, "accumulator"))
        self.held: TensorBase | None = None
        self.meta = meta
        self.lock = lock
        self.plain_signature = variable._signature & _PLAIN | NORMAL
        self.make_tensor = bare_tensor_maker()
        self.next_edges = ()
        self.sequence_nr = LAST
        self.input_metadata = (array.shape, array.dtype)
        self._array_backend: Backend | None = backend
        self.arrays = backend.arrays
        self.array_type = type(array)
        self.is_mutable = backend.arrays.mutable_arrays
        is_wrapped = variable._signature & WRAPPED_BIT
        self.strides = None if is_wrapped else getattr(array, "strides", None)
        self._node_hooks = None

    @property
    def variable(self) -> TensorBase:
        """The leaf."""
        leaf = self.leaf()
        assert leaf is not None  # an edge holds the leaf that it leads to
        return leaf

    def name(self) -> str:
        return "dovetail::autograd::AccumulateGrad"

    def presented(self) -> AccumulateGrad:
        """Return this node, which holds its leaf from now on."""
        if self.held is None:
            with self.lock:
                self.held = self.variable
                if self.meta.accumulator is self:
                    self.meta.accumulator = None
                    self.meta.presented = ref(self)
        return self

    def _make_hooks(self) -> NodeHooks:
        watch_leaves()
        return super()._make_hooks()

    def accumulate_array(self, grad: Any) -> None:
        """Add the array `grad` to the leaf's gradient, or make it the leaf's gradient.

        The engine's local variable and the tuple it came in hold `grad` once each, at every call;
        without further references it becomes the gradient as it is, else a copy does. `UNSHARED` is
        how many references that makes here. A caller that held it only once would give away what
        something else holds, as another leaf that waits for the same array. A view of a whole
        array, as two transpositions make it, counts as that array.
        """
        meta = self.meta
        with self.lock:
            present = meta.grad
            if present is None:
                if self.is_mutable:
                    strides = self.strides
                    if holders([grad], 0) > UNSHARED or grad.strides != strides:
                        grad = copy_like(grad, self.variable.array)
                    elif grad.base is not None:
                        held = [grad.base]
                        # The base of what as_strided made is no array, or one of raw bytes.
                        whole = (
                            holders(held, 0) == 1
                            and held[0].__class__ is grad.__class__
                            and (held[0].shape, held[0].dtype) == (grad.shape, grad.dtype)
                        )
                        grad = (
                            held[0]
                            if whole and held[0].strides == strides
                            else copy_like(grad, self.variable.array)
                        )
                if grad.__class__ is not self.array_type:
                    grad = self.arrays.to_scalar_array(grad)
                # As `wrap` does it, without a frame of its own.
                meta.grad = tensor = self.make_tensor()
                tensor.array = grad
                tensor._signature = self.plain_signature
                tensor._grad_fn = None
                tensor.output_nr = 0
                tensor._storage = None
                tensor._counter = None
                tensor._meta = None
            elif (
                present._signature == self.plain_signature and present.array.shape == grad.shape
            ):  # the leaf may have had another shape when it got its gradient
                add_in_place(present, grad, self.is_mutable)
            elif present.is_sparse:
                meta.grad = engine_ops.add(present, self.wrap(grad))
            else:
                engine_ops.add_(present, self.wrap(grad))

    def wrap(self, grad: Any) -> TensorBase:
        """Return a new tensor around the array `grad`, which has the leaf's shape and dtype."""
        if grad.__class__ is not self.array_type:
            grad = self.arrays.to_scalar_array(grad)
        tensor = self.make_tensor()
        tensor.array = grad
        tensor._signature = self.plain_signature
        tensor._grad_fn = None
        tensor.output_nr = 0
        tensor._storage = None
        tensor._counter = None
        tensor._meta = None
        return tensor

    def accumulate_tensor(self, grad: TensorBase, is_unshared: bool = False) -> None:
        """Add the tensor `grad` to the leaf's gradient, in place unless the backward is recorded;
        or make it the leaf's gradient.

        Parameters
        ----------
        is_unshared
            Whether nothing but the caller holds `grad`, so that it may become the gradient as it
            is. Default: False.
        """
        variable = self.variable
        meta = self.meta
        with self.lock:
            while True:
                present = meta.grad
                made = self._sum(present, grad, is_unshared)
                if meta.grad is present:  # else a mode that saw the operators ran a backward
                    meta.grad = made
                    break
        if meta.post_accumulate:
            run_post_accumulate_hooks(variable, meta.post_accumulate)

    def _sum(self, present: TensorBase | None, grad: TensorBase, is_unshared: bool) -> TensorBase:
        """Return the gradient that the leaf has next: `present` itself where `grad` was added in
        place.
        """
        variable = self.variable
        recording = is_grad_enabled()
        if present is None:
            if grad._signature & NOT_PLAIN and not recording:
                return engine_ops.clone(engine_ops.detach(grad))
            if is_unshared and not recording and self._can_own(grad):
                return engine_ops.detach(grad)
            if engine_ops.needs_dispatch(grad):
                return engine_ops.copy_in_layout(grad, variable, _is_dense(variable.array))
            return wrap(copy_like(grad.array, variable.array), grad._backend)
        if recording or (present.is_sparse and not grad.is_sparse):
            return engine_ops.add(present, grad)
        is_plain = present._signature == self.plain_signature and present.shape == grad.shape
        if is_plain and not engine_ops.needs_dispatch(grad):
            add_in_place(present, grad.array, self.is_mutable)
        else:
            engine_ops.add_(present, grad)
        return present

    def apply_tensors(self, *grads: TensorBase | None) -> tuple[()]:
        """Accumulate the gradient that is given, if any, as a call of the node does."""
        (grad,) = grads
        if grad is not None:
            self.accumulate_tensor(grad)
        elif self.meta.post_accumulate:
            run_post_accumulate_hooks(self.variable, self.meta.post_accumulate)
        return ()

    @property
    def requires_grad(self) -> bool:
        """Whether the leaf requires grad: True, for else it had no such node."""
        return True

    def _can_own(self, grad: TensorBase) -> bool:
        """Return whether the array of `grad`, which nothing else holds, is nothing else's memory
        and laid out as the leaf's.
        """
        if not self.is_mutable:
            return True
        if holders([grad.array], 0) > 1 or grad._signature & WRAPPED_BIT:
            return False
        return grad.array.base is None and bool(grad.stride() == self.variable.stride())

    def give_dtype(self, wanted: dtype | None) -> None:
        """Accumulate gradients of another dtype than the leaf's; None: of whichever comes."""
        shape = self.variable.array.shape
        if wanted is None:
            self.input_metadata = (shape, None)
            self.plain_signature = 0
            self._array_backend = None
        else:
            self.input_metadata = (shape, self.arrays.native_dtypes[wanted])
            self.plain_signature = self.plain_signature & ~DTYPE_MASK | wanted.bit

    def rest(self, resting: bool) -> None:
        """Ignore gradients because the leaf does not require grad, or accumulate them again."""
        self.__class__ = RestingAccumulateGrad if resting else AccumulateGrad


class RestingAccumulateGrad(AccumulateGrad):
    """The accumulator of a leaf that required grad when its graph was recorded, and does not
    now.
    """

    __slots__ = ()

    def accumulate_array(self, grad: object) -> None:
        """Drop the gradient."""

    def accumulate_tensor(self, grad: TensorBase, is_unshared: bool = False) -> None:
        """Drop the gradient; as in PyTorch, hooks run all the same."""
        if self.meta.post_accumulate:
            run_post_accumulate_hooks(self.variable, self.meta.post_accumulate)


def add_in_place(present: TensorBase, grad: object, is_mutable: bool) -> None:
    """Add the array `grad` to the tensor `present` of the same dtype, and count the write."""
    if is_mutable:
        array = present.array
        array += grad
    else:
        present.array = present.array + grad
    counter = present._counter
    if counter is None:
        present._counter = VersionCounter(1)
    else:
        counter.value += 1


def copy_like(grad: Any, model: object) -> Any:
    """Return a copy of the array `grad` whose dimensions lie in memory in the order of those of
    `model`.

    A model that is not dense, or whose order is the usual one, gives the usual order.
    """
    strides = getattr(model, "strides", ())
    for outer, inner in pairwise(strides):
        if outer < inner:
            break
    else:
        return grad.copy()
    if not hasattr(grad, "transpose"):
        return grad.copy()
    if not _is_dense(model):
        return grad.copy()
    order = _order(strides)
    inverse = sorted(range(len(order)), key=order.__getitem__)
    return grad.transpose(order).copy().transpose(inverse)


def _order(strides: tuple[int, ...]) -> list[int]:
    """Return the dimensions in the order in which they lie in memory."""
    return sorted(range(len(strides)), key=lambda dim: -strides[dim])


def _is_dense(array: Any) -> bool:
    """Return whether `array` is known to fill its memory, each place once."""
    strides = getattr(array, "strides", None)
    if strides is None:
        return False
    expected = array.dtype.itemsize
    for dim in reversed(_order(strides)):
        if array.shape[dim] != 1:
            if strides[dim] != expected:
                return False
            expected *= array.shape[dim]
    return True


def run_post_accumulate_hooks(variable: TensorBase, hooks: Any) -> None:
    """Call every post-accumulate hook with the leaf, which it may return. Raises TypeError if a
    hook returns a value that is not a tensor, and RuntimeError if it returns another tensor.
    """
    for hook in tuple(hooks.values()):
        result = hook(variable)
        if result is None or result is variable:
            continue
        if not isinstance(result, TensorBase):
            raise TypeError(
                f"expected Variable, but hook returned '{type(result).__name__}'. Return None, and "
                "change variable.grad instead."
            )
        raise RuntimeError(
            "Tensor post accumulate grad hooks should return None. Change variable.grad instead."
        )


class _Probe:
    __slots__ = ()

    def accumulate_array(self, grad: Any) -> int:
        return holders([grad], 0)


def _count_holders() -> int:
    """Count those that have a gradient which nothing else holds, where the engine has it."""
    grads = (object(),)
    target = _Probe()
    grad = grads[0]
    return target.accumulate_array(grad)


UNSHARED: Final = _count_holders()
