"""Composites that are computed and recorded as one call: a linear layer with bias."""

from __future__ import annotations

from typing import Any, ClassVar, Final

from dovetail_dispatcher.table import INNER, Always, Arguments, Fusion
from dovetail_kernel import DTYPES

_REAL: Final = tuple([each.bit for each in DTYPES if each.is_floating_point])


class Linear(Fusion):
    """``addmm(bias, input, t(weight))``."""

    operator = "aten::linear"
    inner = "aten::t"
    inner_arguments: ClassVar[Arguments] = {"self": "weight"}
    outer = "aten::addmm"
    outer_arguments: ClassVar[Arguments] = {
        "self": "bias",
        "mat1": "input",
        "mat2": INNER,
        "beta": Always(1),
        "alpha": Always(1),
        "mat2_is_column_major": Always(True),
    }
    dims: ClassVar[dict[str, int]] = {"input": 2, "weight": 2, "bias": 1}
    helper = "linear"
    helper_arguments = ("input", "weight", "bias")

    def takes(self, dtype_bits: int) -> bool:
        return dtype_bits in _REAL

    @staticmethod
    def backward(node: Any, k: Any, edges: Any, grad: Any) -> Any:
        bias_edge, input_edge, _ = edges
        grad_bias = grad_input = None
        if bias_edge is not None:
            grad_bias = (
                k.sum_to(grad, bias_edge[0].input_metadata[0])
                if bias_edge[0]._is_leaf_node
                else grad
            )
        if input_edge is not None:
            weight = node.weight
            version = weight._counter
            if version is not None and version.value != node.weight_version:
                node.presented().unpack_mat2()
            grad_input = k.mm(grad, node.weight_array)
        input = node._mat1
        version = input._counter
        if version is not None and version.value != node._mat1_version:
            node.unpack_mat1()
        return grad_bias, grad_input, k.mm(grad.T, input.array)

    def inner_result(self, node: Any) -> Any:
        return node.weight_array.T

    def inner_shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        return shape[::-1]


FUSIONS: Final = (Linear(),)
