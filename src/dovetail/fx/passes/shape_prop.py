"""`ShapeProp`: notes the shapes and dtypes of results in a graph."""

from __future__ import annotations

from typing import Any, NamedTuple

from dovetail_aten import Tensor
from dovetail_kernel import channels_last, channels_last_3d, contiguous_format

from ..interpreter import Interpreter
from ..node import Node, map_aggregate

__all__ = ["ShapeProp", "TensorMetadata"]


class TensorMetadata(NamedTuple):
    """What is known of a result.

    Attributes
    ----------
    shape, dtype, requires_grad, stride
        Those of the tensor.
    memory_format
        ``contiguous_format``, ``channels_last``, ``channels_last_3d``, or None.
    is_quantized, qparams
        False, and an empty dict.
    """

    shape: Any
    dtype: Any
    requires_grad: bool
    stride: tuple[int, ...]
    memory_format: Any
    is_quantized: bool
    qparams: dict[str, Any]


class ShapeProp(Interpreter):
    """Runs a graph, and notes what results are under ``tensor_meta`` in the ``meta`` of nodes.

    Parameters
    ----------
    gm
        The GraphModule.
    """

    def run_node(self, n: Node) -> Any:
        """Run a node, and note what its result is."""
        result = super().run_node(n)
        found = False

        def note(value: object) -> Any:
            nonlocal found
            if not isinstance(value, Tensor):
                return value
            found = True
            return _metadata(value)

        metadata = map_aggregate(result, note)
        if found:
            n.meta["tensor_meta"] = metadata
        n.meta["type"] = type(result)
        return result

    def propagate(self, *args: Any) -> Any:
        """Run the graph with arguments, and return what it returns."""
        return super().run(*args)


def _metadata(tensor: Tensor) -> TensorMetadata:
    formats = (
        contiguous_format,
        *((channels_last,) if tensor.dim() == 4 else ()),
        *((channels_last_3d,) if tensor.dim() == 5 else ()),
    )
    held = [each for each in formats if tensor.is_contiguous(memory_format=each)]
    return TensorMetadata(
        tensor.shape,
        tensor.dtype,
        tensor.requires_grad,
        tensor.stride(),
        held[0] if held else None,
        False,
        {},
    )
