"""The slots in which nodes keep values from forward for backward: version checks, released values,
results rebuilt on demand.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final, NoReturn

from dovetail_kernel import (
    TensorBase,
    VersionCounter,
    dispatch_state,
    share_storage,
    share_version,
    wrap,
)
from dovetail_kernel.signature import GRAD
from dovetail_kernel.tensor import DETACHED

from . import engine_ops
from .accumulate import AccumulateGrad
from .autograd_meta import AutogradMeta
from .node import EdgeTuple, Node

SECOND_TIME: Final = (
    "Trying to backward through the graph a second time (or directly access saved tensors after "
    "they have already been "
    "freed). Saved intermediate values of the graph are freed when you call .backward() or "
    "autograd.grad(). Specify "
    "retain_graph=True if you need to backward through the graph a second time or if you need to "
    "access saved tensors "
    "after calling backward."
)


class Released:
    """Stands in a slot whose saved value was freed; every way of reading a saved value fails on
    it.
    """

    __slots__ = ()

    @property
    def _counter(self) -> NoReturn:
        raise RuntimeError(SECOND_TIME)

    array = _counter

    def __iter__(self) -> Iterator[Any]:
        raise RuntimeError(SECOND_TIME)

    def __repr__(self) -> str:
        return "<released>"


RELEASED: Final = Released()


class Packed:
    """A saved tensor in the hands of saved-tensor hooks.

    Parameters
    ----------
    value
        What `pack` returned.
    unpack
        How to get the tensor back.
    edge
        Its place in the graph; None if it has none, or is an output of the node that saved it.
    """

    __slots__ = ("edge", "unpack", "value")

    def __init__(self, value: Any, unpack: Any, edge: EdgeTuple | None) -> None:
        self.value = value
        self.unpack = unpack
        self.edge = edge

    def open(self) -> TensorBase:
        """Return the tensor as the unpack hook gives it, in place of the graph that it had when
        it was packed.
        """
        tensor = self.unpack(self.value)
        if not isinstance(tensor, TensorBase):
            raise TypeError(
                "Output of saved tensor unpack_hook expected to be a Tensor but got result of "
                "type "
                f"{type(tensor).__name__}. "
                f"Return the tensor from {describe_function(self.unpack)}."
            )
        return placed(tensor, self.edge)


def placed(tensor: TensorBase, edge: EdgeTuple | None) -> TensorBase:
    """Return `tensor`, or a twin of it, whose gradients go to `edge`."""
    if edge is None and not tensor._signature & GRAD:
        return tensor
    if edge is not None and (
        tensor is edge[-1] or (tensor._grad_fn is edge[0] and tensor.output_nr == edge[1])
    ):
        return tensor
    twin = wrap(tensor.array, tensor._backend, type(tensor))
    twin._counter = share_version(tensor)
    twin._storage = share_storage(tensor)
    if edge is None:
        return twin
    twin._signature |= GRAD
    node = edge[0]
    if isinstance(node, AccumulateGrad):
        meta = twin._meta = AutogradMeta()
        meta.accumulator, meta.original = node, node.variable
    else:
        twin._grad_fn, twin.output_nr = node.presented(), edge[1]
    return twin


def describe_function(function: object) -> str:
    """Return the name of `function` and where it is defined, for messages."""
    name = getattr(function, "__qualname__", type(function).__name__)
    code = getattr(function, "__code__", None)
    return f"{name} ({code.co_filename}:{code.co_firstlineno})" if code is not None else str(name)


def save_result(tensor: TensorBase) -> tuple[Any, VersionCounter, int]:
    """Return what a node keeps of its own output `tensor`: the tensor itself would be a reference
    cycle.
    """
    counter = share_version(tensor)
    return tensor.array, counter, counter.value


def save_result_tensor(tensor: TensorBase) -> tuple[TensorBase, VersionCounter, int]:
    """Return what a node without array body keeps of its own output: a twin of the tensor, outside
    the graph.
    """
    counter = share_version(tensor)
    return engine_ops.twin(tensor), counter, counter.value


def current_version(tensor: TensorBase) -> int:
    """Return the version of `tensor`, without making a counter."""
    counter = tensor._counter
    return 0 if counter is None else counter.value


def save_input(tensor: TensorBase | None) -> int:
    """Return the version under which to save `tensor`, and refuse an inference tensor: it has none.

    A function that is being transformed may capture one, which is not written inside of it.

    Raises
    ------
    RuntimeError
        If `tensor` is an inference tensor, outside of transforms.
    """
    if tensor is None:
        return 0
    if tensor.is_inference() and not dispatch_state().transformed:
        raise RuntimeError(
            "Inference tensors cannot be saved for backward. Please do not use Tensors created in "
            "inference mode in "
            "computation tracked by autograd. To work around this, you can make a clone to get a "
            "normal tensor and use "
            "it in autograd, or use `dovetail.no_grad()` instead of `dovetail.inference_mode()`."
        )
    return current_version(tensor)


def save_inputs(tensors: Iterable[TensorBase | None]) -> tuple[int, ...]:
    """Return the versions under which to save the tensors of a list. Raises the error of
    `save_input`.
    """
    return tuple([save_input(tensor) for tensor in tensors])


def raise_modified(node: Node, name: str) -> NoReturn:
    """Raise the error for the saved value `name` of `node`, which was written in place since it was
    saved.
    """
    value = getattr(node, "_" + name)
    if isinstance(value, TensorBase):
        raise modified(
            value,
            current_version(value),
            getattr(node, f"_{name}_version"),
            value._grad_fn,
            value.output_nr,
        )
    array, counter, expected = value
    (output_nr,) = [each.output for each in node._formula_record.saved if each.name == name]
    raise modified(rebuild(node, array), counter.value, expected, node, output_nr)


def rebuild(node: Node, array: Any) -> TensorBase:
    """Return a new leaf around a saved result of `node`: an array, or the twin that
    `save_result_tensor` made.
    """
    if isinstance(array, TensorBase):
        return engine_ops.twin(array)
    assert node._array_backend is not None
    return wrap(array, node._array_backend)


def modified(
    tensor: TensorBase, version: int, expected: int, maker: Node | None, output_nr: int
) -> RuntimeError:
    """Return the error for a saved tensor that has `version` instead of `expected`."""
    if version // DETACHED != expected // DETACHED:
        return RuntimeError(
            "Trying to use a saved tensor that has been detached in-place, i.e. with .detach_(). "
            "This is not "
            "supported, please use out-of-place `.detach()` instead"
        )
    origin = ""
    if maker is not None:
        origin = (
            f", which is output {output_nr} of "
            f"{maker.name().removesuffix('Backward0').removesuffix('Backward')},"
        )
    kind = _TYPE_NAMES.get(str(tensor.dtype).rpartition(".")[2], str(tensor.dtype))
    return RuntimeError(
        "one of the variables needed for gradient computation has been modified by an inplace "
        "operation: "
        f"[dovetail.{kind} {list(tensor.array.shape)}]{origin} is at version {version}; expected "
        f"version {expected} "
        "instead. Hint: enable anomaly detection to find the operation that failed to compute its "
        "gradient, with "
        "dovetail.autograd.set_detect_anomaly(True, check_nan=False), or clone the tensor before "
        "writing to it."
    )


_TYPE_NAMES: Final = {
    "float16": "HalfTensor", "bfloat16": "BFloat16Tensor", "float32": "FloatTensor",
    "float64": "DoubleTensor",
    "complex64": "ComplexFloatTensor", "complex128": "ComplexDoubleTensor", "uint8": "ByteTensor",
    "int8": "CharTensor", "int16": "ShortTensor", "int32": "IntTensor", "int64": "LongTensor",
    "bool": "BoolTensor",
}  # fmt: skip


def unpack_input(node: Node, name: str, value: Any) -> TensorBase | None:
    """Return the saved input in slot ``_<name>`` after checking its version: the uncommon cases of
    `Node.unpack_*`.
    """
    if value is None:
        return None
    if type(value) is Packed:
        return value.open()
    counter = value._counter
    if (0 if counter is None else counter.value) != getattr(node, f"_{name}_version"):
        raise_modified(node, name)
    if not value._signature & GRAD and _had_history(node, name):
        raise RuntimeError(
            "Trying to use a saved tensor that has been detached in-place, i.e. with .detach_(). "
            "This is not "
            "supported, please use out-of-place `.detach()` instead."
        )
    tensor: TensorBase = value
    return tensor


def _had_history(node: Node, name: str) -> bool:
    """Return whether the input `name` of `node` came out of another node."""
    inputs, edges = node._formula_record.inputs, node.next_edges
    if name not in inputs or len(inputs) != len(edges):
        return False
    edge = edges[inputs.index(name)]
    return edge is not None and not edge[0]._is_leaf_node


def unpack_result(node: Node, name: str, output_nr: int, value: Any) -> TensorBase | None:
    """Return a new tensor equal to the saved result in slot ``_<name>``, with its place in the
    graph.
    """
    if value is None:
        return None
    if type(value) is Packed:
        opened = value.open()
        tensor = engine_ops.twin(opened)
    else:
        array, counter, expected = value
        if counter.value != expected:
            raise_modified(node, name)
        tensor = rebuild(node, array)
        tensor._counter = counter
    if is_differentiable(node, output_nr, tensor):
        tensor._grad_fn = node
        tensor.output_nr = output_nr
        tensor._signature |= GRAD
    return tensor


def is_differentiable(node: Node, output_nr: int, tensor: TensorBase) -> bool:
    """Return whether `tensor`, a result of `node`, has gradients."""
    flags = node._formula_record.output_differentiability
    return (flags is None or flags[output_nr]) and (
        tensor.dtype.is_floating_point or tensor.dtype.is_complex
    )


def unpack_list(node: Node, name: str, values: Any) -> list[TensorBase | None] | None:
    """Return the saved list of tensors in slot ``_<name>`` after checking every version."""
    if values is None:
        return None
    versions = getattr(node, f"_{name}_version") if values is not RELEASED else ()
    tensors: list[TensorBase | None] = []
    for value, expected in zip(values, versions, strict=True):
        if type(value) is Packed:
            value = value.open()
        elif value is not None and current_version(value) != expected:
            raise modified(value, current_version(value), expected, value._grad_fn, value.output_nr)
        tensors.append(value)
    return tensors
