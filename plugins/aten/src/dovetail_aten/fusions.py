"""Composites that are computed and recorded as one call: a linear layer with bias, and cross
entropy of classes.
"""

from __future__ import annotations

from typing import Any, ClassVar, Final

from dovetail_dispatcher.table import INNER, Always, Arguments, Fusion
from dovetail_kernel import DTYPES, int64

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


class CrossEntropy(Fusion):
    """``nll_loss_forward(_log_softmax(self, 1), target, None, reduction, ignore_index)``."""

    operator = "aten::cross_entropy_loss"
    inner = "aten::_log_softmax"
    inner_arguments: ClassVar[Arguments] = {"self": "self", "dim": Always(1)}
    outer = "aten::nll_loss_forward"
    outer_arguments: ClassVar[Arguments] = {
        "self": INNER,
        "target": "target",
        "weight": Always(None),
        "reduction": "reduction",
        "ignore_index": "ignore_index",
    }
    dims: ClassVar[dict[str, int]] = {"self": 2, "target": 1}
    fixed: ClassVar[dict[str, Any]] = {"weight": None, "label_smoothing": 0.0}
    helper = "cross_entropy"
    helper_arguments = ("self", "target", "reduction", "ignore_index")
    kept = ("log_probabilities", "total_weight")

    def takes(self, dtype_bits: int) -> bool:
        return bool(dtype_bits & int64.bit) and dtype_bits & ~int64.bit in _REAL

    @staticmethod
    def backward(node: Any, k: Any, edges: object, grad: Any) -> Any:
        target = node._target
        version = target._counter
        if version is not None and version.value != node._target_version:
            node.unpack_target()
        output, ignore_index = node.log_probabilities, node._ignore_index
        classes = k.classes_in_range(target.array, output.shape[1], ignore_index)
        logits = k.cross_entropy_backward(
            grad, output, classes, node._reduction, ignore_index, node.total_weight
        )
        return (logits,)

    def inner_result(self, node: Any) -> Any:
        return node.log_probabilities

    def inner_shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        return shape


FUSIONS: Final = (Linear(), CrossEntropy())
