"""The Jacobian of recorded outputs in blocks, one per output and input: row by row, or all rows at
once.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dovetail_kernel import TensorBase

from ..engine.interface.backward import grad, grad_or_zeros
from ..graph.engine_ops import filled_like, list_operator, operator
from ..transforms.batching.mapping import vmap
from ..transforms.jacobians import basis
from .strict_checks import check_grads


def blocks_row_by_row(
    outputs: Sequence[TensorBase], leaves: Sequence[TensorBase], create_graph: bool, strict: bool
) -> list[list[TensorBase]]:
    """Return the Jacobian, per output and input, one backward per element of the outputs."""
    blocks = []
    for index, output in enumerate(outputs):
        rows: list[Sequence[TensorBase]] = []
        shape = tuple(output.array.shape)
        flat = operator("reshape", "default")(output, [-1])
        for element in list_operator("unbind", "int")(flat, 0):
            if not output.requires_grad:
                rows.append([filled_like(leaf, 0) for leaf in leaves])
                continue
            found = grad(
                [element], leaves, retain_graph=True, create_graph=create_graph, allow_unused=True
            )
            rows.append(check_grads(found, leaves, strict, create_graph, f"output {index}"))
        block = []
        for position, leaf in enumerate(leaves):
            size = (*shape, *leaf.array.shape)
            if rows:
                stacked = operator("stack", "default")([row[position] for row in rows], 0)
                block.append(operator("view", "default")(stacked, list(size)))
            else:
                block.append(operator("new_zeros", "default")(leaf, list(size)))
        blocks.append(block)
    return blocks


def batched_blocks(
    outputs: Sequence[TensorBase], leaves: Sequence[TensorBase], create_graph: bool, strict: bool
) -> list[list[TensorBase]]:
    """Return the Jacobian, per output and input, by one batched backward."""
    used = [output for output in outputs if output.requires_grad]
    rows: Sequence[TensorBase] = ()
    if used:

        def pull(*seeds: TensorBase) -> Any:
            return grad_or_zeros(used, leaves, seeds, True, create_graph)

        rows = vmap(pull)(*basis(used))
    blocks = []
    start = 0
    for output in outputs:
        sizes = [(*output.array.shape, *leaf.array.shape) for leaf in leaves]
        if not output.requires_grad:
            blocks.append(
                [
                    operator("new_zeros", "default")(leaf, list(size))
                    for leaf, size in zip(leaves, sizes, strict=True)
                ]
            )
            continue
        count = output.numel()
        parts = [operator("narrow", "default")(row, 0, start, count) for row in rows]
        blocks.append(
            [operator("reshape", "default")(p, list(s)) for p, s in zip(parts, sizes, strict=True)]
        )
        start += count
    return blocks
