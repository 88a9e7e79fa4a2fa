"""The steps of an LSTM on the overlay give what those of the cpu do, and so do their gradients."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import dovetail
from dovetail import ops

LIMITS = {"float32": 4e-6, "float64": 1e-14}
CASES = [
    # steps, batch, hidden size, bias, reverse, the results that are used
    (5, 3, 8, True, False, (0, 1)),
    (4, 2, 70, True, True, (0,)),
    (1, 1, 1, False, False, (1,)),
    (3, 17, 5, False, True, (0, 1)),
    (2, 3, 8, True, False, (0, 1, 2)),
]


def operands(dtype: str, steps: int, batch: int, size: int, with_bias: bool) -> list[Any]:
    """Return gates, states, weight and bias."""
    rng = np.random.default_rng(steps)
    shapes = [(steps, batch, 4 * size), (batch, size), (batch, size), (4 * size, size)]
    shapes += [(4 * size,)] if with_bias else []
    return [rng.standard_normal(shape).astype(dtype) for shape in shapes]


def results(arrays: list[Any], reverse: bool, used: tuple[int, ...]) -> list[Any]:
    """Return what the operator gives, and the gradients of all operands."""
    leaves = [dovetail.from_numpy(each.copy("K")).requires_grad_() for each in arrays]
    bias = leaves[4] if len(leaves) > 4 else None
    made = ops.aten._lstm_sequence(*leaves[:4], bias, reverse)
    loss = sum([(made[place] * (place + 0.5)).sin().sum() for place in used])
    return [*made, *dovetail.autograd.grad(loss, leaves)]


def compare(found: list[Any], expected: list[Any], limit: float) -> None:
    """Compare lists of tensors."""
    for one, other in zip(found, expected, strict=True):
        mine, theirs = one.detach().numpy(), other.detach().numpy()
        assert mine.dtype == theirs.dtype
        assert mine.flags.c_contiguous
        np.testing.assert_allclose(mine, theirs, limit, limit * 10)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(("steps", "batch", "size", "with_bias", "reverse", "used"), CASES)
def test_all_steps_and_their_gradients(
    dtype: str,
    steps: int,
    batch: int,
    size: int,
    with_bias: bool,
    reverse: bool,
    used: tuple[int, ...],
    request: pytest.FixtureRequest,
) -> None:
    arrays = operands(dtype, steps, batch, size, with_bias)
    expected = results(arrays, reverse, used)
    request.getfixturevalue("loops_for_all_sizes")
    compare(results(arrays, reverse, used), expected, LIMITS[dtype])


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_gates_that_are_infinite_huge_tiny_or_no_number(
    dtype: str, request: pytest.FixtureRequest
) -> None:
    special = [0.0, -0.0, math.inf, -math.inf, math.nan, 1e-45, -1e-40, 3e38, -3e38, 88.8, -103.9]
    size = len(special)
    gates = np.zeros((1, 4 * size, 4 * size), dtype)
    for gate in range(4):
        rows = gates[0, gate * size : (gate + 1) * size, gate * size : (gate + 1) * size]
        rows[...] = np.array(special).astype(dtype)
    state = np.linspace(-2, 2, 4 * size * size).astype(dtype).reshape(-1, size)
    arrays = [gates, np.zeros_like(state), state, np.zeros((4 * size, size), dtype)]

    def run() -> list[Any]:
        made = ops.aten._lstm_sequence(*[dovetail.from_numpy(each) for each in arrays])
        return [each.numpy() for each in made]

    expected = run()
    request.getfixturevalue("loops_for_all_sizes")
    for found, wanted in zip(run(), expected, strict=True):
        np.testing.assert_allclose(found, wanted, LIMITS[dtype], 1e-37)


def test_operands_with_gaps_and_wrong_shapes_go_to_the_kernel_beneath(
    request: pytest.FixtureRequest,
) -> None:
    arrays = operands("float32", 3, 4, 6, with_bias=True)
    arrays[0] = np.repeat(arrays[0], 2, 2)[..., ::2]
    arrays[3] = np.asfortranarray(arrays[3])
    expected = results(arrays, False, (0, 1))
    request.getfixturevalue("loops_for_all_sizes")
    compare(results(arrays, False, (0, 1)), expected, LIMITS["float32"])
    gates, hx, cx, weight, bias = map(dovetail.from_numpy, arrays)
    with pytest.raises(RuntimeError, match="Expected a weight of shape"):
        ops.aten._lstm_sequence(gates.contiguous(), hx, cx, weight[:, :5].contiguous(), bias)
    with pytest.raises(RuntimeError, match="Expected gates of at least one step"):
        ops.aten._lstm_sequence(gates[:0].contiguous(), hx, cx, weight.contiguous(), bias)
