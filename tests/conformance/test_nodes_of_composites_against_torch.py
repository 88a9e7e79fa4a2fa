"""Composites that have a node of their own in PyTorch show that of their last part here, and give
the same gradient: the row "nodes of composites" of docs/differences.md.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dovetail

torch = pytest.importorskip("torch", reason="PyTorch is the oracle of these tests")

pytestmark = pytest.mark.cpu_only(reason="PyTorch is on the cpu")

NUMBERS = (np.arange(16, dtype=np.float64) * 0.37 % 1.3 - 0.4).reshape(1, 1, 4, 4)

CALLS: dict[str, Callable[[Any, Any], Any]] = {
    "Rot90Backward0": lambda lib, x: lib.rot90(x, 1, [2, 3]),
    "CdistBackward0": lambda lib, x: lib.cdist(x[0, 0], lib.ones(2, 4, dtype=lib.float64)),
    "EmbeddingBagBackward0": lambda lib, x: lib.nn.functional.embedding_bag(
        lib.tensor([0, 1, 1]), x[0, 0], lib.tensor([0, 2])
    ),
    "ReflectionPad2DBackward0": lambda lib, x: lib.nn.functional.pad(x, (1, 1, 1, 1), "reflect"),
    "ReplicationPad2DBackward0": lambda lib, x: lib.nn.functional.pad(x, (1, 1, 1, 1), "replicate"),
}
"""Calls, by the name of PyTorch's node."""


@pytest.mark.parametrize("node", CALLS)
def test_a_composite_has_the_node_of_its_last_part_and_the_same_gradient(node: str) -> None:
    def called(lib: Any) -> tuple[str, Any]:
        x = lib.tensor(NUMBERS.tolist(), dtype=lib.float64, requires_grad=True)
        made = CALLS[node](lib, x)
        (made * made).sum().backward()
        return made.grad_fn.name(), x.grad.tolist()

    ours, theirs = called(dovetail), called(torch)
    assert theirs[0] == node
    assert ours[0] != node
    assert np.allclose(ours[1], theirs[1])


def test_narrow_copy_of_a_dimension_that_is_not_there() -> None:
    with pytest.raises(IndexError, match="Dimension out of range"):
        dovetail.narrow_copy(dovetail.ones(2, 3), 5, 0, 1)
    with pytest.raises(RuntimeError):
        torch.narrow_copy(torch.ones(2, 3), 5, 0, 1)


WHOLE: dict[str, Callable[[Any, Any], Any]] = {
    "CholeskyInverseBackward0": lambda lib, x: lib.cholesky_inverse(
        lib.tril(x[0, 0]) + 2 * lib.eye(4)
    ),
    "CholeskySolveBackward0": lambda lib, x: lib.cholesky_solve(
        x[0, 0], lib.tril(x[0, 0]) + 2 * lib.eye(4)
    ),
    "LinalgHouseholderProductBackward0": lambda lib, x: lib.linalg.householder_product(
        x[0, 0], x[0, 0, 0]
    ),
    "LinalgLuSolveBackward0": lambda lib, x: lib.linalg.lu_solve(
        x[0, 0] + 2 * lib.eye(4), lib.tensor([2, 2, 4, 4], dtype=lib.int32), x[0, 0]
    ),
    "MultiMarginLossBackward0": lambda lib, x: lib.nn.functional.multi_margin_loss(
        x[0, 0], lib.tensor([0, 1, 2, 3])
    ),
    "MultilabelMarginLossBackward0": lambda lib, x: lib.nn.functional.multilabel_margin_loss(
        x[0, 0], lib.tensor([[0, 1, -1, 3], [2, -1, 0, 0], [-1, 0, 1, 2], [3, 2, 1, 0]])
    ),
    "NllLoss2DBackward0": lambda lib, x: lib.nn.functional.nll_loss(
        x, lib.zeros(1, 4, 4, dtype=lib.int64)
    ),
    "OrmqrBackward0": lambda lib, x: lib.ormqr(x[0, 0], x[0, 0, 0], x[0, 0], False, True),
    "PdistBackward0": lambda lib, x: lib.nn.functional.pdist(x[0, 0]),
    "TraceBackward0": lambda lib, x: lib.trace(x[0, 0]),
}
"""Calls of operators that were composites here, by the name of their node."""


@pytest.mark.parametrize("node", WHOLE)
def test_an_operator_with_a_formula_has_pytorch_s_node_and_gradient(node: str) -> None:
    def called(lib: Any) -> tuple[str, Any]:
        numbers = NUMBERS[:, :, :1].repeat(4, 2) if node == "NllLoss2DBackward0" else NUMBERS
        x = lib.tensor(numbers.tolist(), dtype=lib.float64, requires_grad=True)
        made = WHOLE[node](lib, x)
        (made * made).sum().backward()
        return made.grad_fn.name(), x.grad.tolist()

    ours, theirs = called(dovetail), called(torch)
    assert ours[0] == theirs[0] == node
    triangle = node.startswith("Cholesky")  # PyTorch's gradient is not that of the triangle alone
    assert np.allclose(*[np.tril(each[1]) if triangle else each[1] for each in (ours, theirs)])
