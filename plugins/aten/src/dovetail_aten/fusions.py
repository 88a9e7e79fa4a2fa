"""Composites that are computed and recorded as one call: a linear layer with bias, and cross
entropy of classes.
"""

from __future__ import annotations

from typing import Any, Final

from dovetail_dispatcher.table.fusion import Fusion
from dovetail_kernel import DTYPES, int64

_REAL: Final = tuple([each.bit for each in DTYPES if each.is_floating_point])


def linear_backward(node: Any, k: Any, edges: Any, grad: Any) -> Any:
    """Return the gradients of bias, input and weight of ``input @ weight.T + bias``."""
    bias_edge, input_edge, _ = edges
    grad_bias = grad_input = None
    if bias_edge is not None:
        grad_bias = (
            k.sum_to(grad, bias_edge[0].input_metadata[0]) if bias_edge[0]._is_leaf_node else grad
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


def cross_entropy_backward(node: Any, k: Any, edges: Any, grad: Any) -> Any:
    """Return the gradient of the logits of a cross entropy between classes."""
    target = node._target
    version = target._counter
    if version is not None and version.value != node._target_version:
        node.unpack_target()
    logits = k.cross_entropy_backward(
        grad,
        node.log_probabilities,
        target.array,
        node._reduction,
        node._ignore_index,
        node.total_weight,
    )
    return (logits,)


LINEAR: Final = Fusion(
    operator="aten::linear",
    inner="aten::t",
    outer="aten::addmm",
    inputs=("bias", "input", "weight"),
    place=2,
    unless="bias is None or input.array.ndim != 2 or weight.array.ndim != 2 or bias.array.ndim != "
    "1",
    takes=_REAL.__contains__,
    helper="linear",
    arguments=("input", "weight", "bias"),
    saved={"_mat1": "input", "weight": "weight"},
    saved_arrays={"weight_array": "weight"},
    backward=linear_backward,
    source="weight",
    inner_result=lambda node: node.weight_array.T,
    inner_shape=lambda shape: shape[::-1],
    outer_values={"_beta": 1, "_alpha": 1, "_mat2_is_column_major": True},
)

CROSS_ENTROPY: Final = Fusion(
    operator="aten::cross_entropy_loss",
    inner="aten::_log_softmax",
    outer="aten::nll_loss_forward",
    inputs=("self",),
    place=0,
    unless="weight is not None or label_smoothing != 0.0 or self.array.ndim != 2 or "
    "target.array.ndim != 1",
    takes=tuple([bit | int64.bit for bit in _REAL]).__contains__,
    helper="cross_entropy",
    arguments=("self", "target", "reduction", "ignore_index"),
    kept=("log_probabilities", "total_weight"),
    saved={"_target": "target", "_reduction": "reduction", "_ignore_index": "ignore_index"},
    backward=cross_entropy_backward,
    source="log_probabilities",
    inner_result=lambda node: node.log_probabilities,
    inner_shape=lambda shape: shape,
    inner_results={"_result": "log_probabilities"},
    outer_results={"_total_weight": "total_weight"},
    inner_values={"_dim": 1},
    outer_values={"_weight": None, "_weight_version": 0},
)

FUSIONS: Final = (LINEAR, CROSS_ENTROPY)
