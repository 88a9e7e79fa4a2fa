"""Compiled loops return what the kernels of the cpu do: for infinities, NaN, zeros with their
signs, subnormal numbers, and however arrays lie in memory.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from overlay_samples import sampled

import dovetail
from dovetail.nn import functional as f

SPECIAL = [
    *(0.0, -0.0, math.inf, -math.inf, math.nan, 1e-45, -1e-45, 1e-40, 3e38, -3e38, 88.8, -88.8),
    *(103.5, -103.9, 1e-20, -1e-20, 3.0, -3.0, 6.0, 1.0, -1.0, 20.0, 20.5, 0.5, 1e-8),
]

Call = Callable[..., Any]

OF_ONE: dict[str, Call] = {
    "sigmoid": dovetail.sigmoid,
    "silu": f.silu,
    "gelu": f.gelu,
    "gelu by tanh": lambda x: f.gelu(x, approximate="tanh"),
    "mish": f.mish,
    "softplus": f.softplus,
    "softplus of another slope": lambda x: f.softplus(x, 2.0, 5.0),
    "logsigmoid": f.logsigmoid,
    "elu": f.elu,
    "elu of another slope": lambda x: f.elu(x, 0.3),
    "selu": f.selu,
    "celu": lambda x: f.celu(x, 2.0),
    "relu": f.relu,
    "relu6": f.relu6,
    "leaky_relu": f.leaky_relu,
    "leaky_relu of no slope": lambda x: f.leaky_relu(x, 0.0),
    "hardtanh": f.hardtanh,
    "hardswish": f.hardswish,
    "hardsigmoid": f.hardsigmoid,
    "clamp": lambda x: x.clamp(-2, 0.5),
    "clamp to zero": lambda x: x.clamp(0.0, 3.0),
    "tanh": dovetail.tanh,
    "exp": dovetail.exp,
    "expm1": dovetail.expm1,
    "log": dovetail.log,
    "log1p": dovetail.log1p,
    "erf": dovetail.erf,
    "erfc": dovetail.erfc,
    "atan": dovetail.atan,
    "sinh": dovetail.sinh,
    "rsqrt": dovetail.rsqrt,
    "logit": dovetail.logit,
    "softmax": lambda x: x.softmax(-1),
    "softmax of columns": lambda x: x.softmax(0),
    "log_softmax": lambda x: x.log_softmax(-1),
    "log_softmax of columns": lambda x: x.log_softmax(0),
    "logsumexp": lambda x: x.logsumexp(-1),
    "cumsum": lambda x: x.cumsum(-1),
    "cumsum of columns": lambda x: x.cumsum(0),
    "cumprod": lambda x: x.cumprod(-1),
    "cummax": lambda x: x.cummax(-1)[0],
    "places of cummax": lambda x: x.cummax(-1)[1],
    "places of cummin": lambda x: x.cummin(0)[1],
}
OF_TWO: dict[str, Call] = {
    "add": lambda x, y: dovetail.add(x, y, alpha=0.5),
    "addcmul": lambda x, y: dovetail.addcmul(x, y, y, value=0.5),
    "addcdiv": lambda x, y: dovetail.addcdiv(x, x, y, value=0.5),
    "lerp": lambda x, y: dovetail.lerp(x, y, 0.25),
    "lerp from the other end": lambda x, y: dovetail.lerp(x, y, 0.75),
    "mse_loss": lambda x, y: f.mse_loss(x, y, reduction="none"),
    "smooth_l1_loss": lambda x, y: f.smooth_l1_loss(x, y, reduction="none", beta=0.5),
    "huber_loss": lambda x, y: f.huber_loss(x, y, reduction="none", delta=2.0),
}
LAYOUTS = ("in rows", "in columns", "with gaps", "backwards")
CASES = [
    (name, call, count, dtype, how)
    for count, calls in enumerate((OF_ONE, OF_TWO), 1)
    for name, call in calls.items()
    for dtype in ("float32", "float64")
    for how in LAYOUTS
]
TOLERANCES = {"float32": 2e-6, "float64": 4e-15}
"""Relative; beside it, of numbers that are not very small, a third of it absolute."""
SUMS = ("cumsum", "cumsum of columns")
"""Their numbers are held in double precision, and the cpu's are not."""
OF_SINGLE_ERF = ("gelu", "float32")
"""As in PyTorch it is ``1 + erf``, which has no digits left where it is small. The cpu has them if
elements are few.
"""


def case_id(value: Any) -> str:
    """Return how a case is called."""
    return "" if callable(value) else str(value)


def laid_out(array: Any, how: str) -> Any:
    """Return an array with the same elements that lies in memory in another way."""
    if how == "in columns":
        return np.asfortranarray(array)
    if how == "with gaps":
        wide = np.zeros((array.shape[0], 2 * array.shape[1]), array.dtype)
        wide[:, ::2] = array
        return wide[:, ::2]
    if how == "backwards":
        return np.ascontiguousarray(array[::-1])[::-1]
    return array


def numbers(dtype: str, seed: int) -> Any:
    """Return a matrix with special numbers in it, all of them in a row of their own too."""
    rng = np.random.default_rng(seed)
    made = (rng.standard_normal((6, len(SPECIAL))) * 5).astype(dtype)
    made[0] = np.array(SPECIAL).astype(dtype)
    made[1, ::5] = made[0, ::5]
    made[2, 3] = math.nan
    made[3, 4] = -math.inf
    return made


def compare(found: Any, expected: Any, name: str, tolerance: float, least: float) -> None:
    """Compare two arrays, very small numbers to an error of `least`, with the signs of zeros."""
    found, expected = found.detach().numpy(), expected.detach().numpy()
    assert found.dtype == expected.dtype and found.shape == expected.shape
    if expected.dtype.kind != "f":
        np.testing.assert_array_equal(found, expected, name)
        return
    ordinary = np.abs(expected) > 1e-30
    np.testing.assert_allclose(
        found[ordinary], expected[ordinary], tolerance, tolerance / 3, err_msg=name
    )
    np.testing.assert_allclose(
        found[~ordinary], expected[~ordinary], tolerance, least, err_msg=name
    )
    zeros = (found == 0) & (expected == 0)
    np.testing.assert_array_equal(
        np.signbit(found[zeros]), np.signbit(expected[zeros]), f"signs of zeros of {name}"
    )


@pytest.mark.parametrize(("name", "call", "count", "dtype", "how"), sampled(CASES), ids=case_id)
def test_a_loop_returns_what_the_cpu_does(
    name: str, call: Call, count: int, dtype: str, how: str, request: pytest.FixtureRequest
) -> None:
    arrays = [laid_out(numbers(dtype, seed), how) for seed in range(count)]
    if count == 2:
        arrays[1] = laid_out(np.ascontiguousarray(arrays[1][::-1]), how)

    def results() -> list[Any]:
        leaves = [dovetail.from_numpy(each.copy("K")).requires_grad_() for each in arrays]
        made = call(*leaves)
        if not made.is_floating_point():
            return [made]
        grad = dovetail.from_numpy(np.linspace(-1, 2, made.numel(), dtype=dtype)).reshape(
            made.shape
        )
        return [made, *dovetail.autograd.grad(made, leaves, grad)]

    expected = results()
    request.getfixturevalue("loops_for_all_sizes")
    for number, (found, wanted) in enumerate(zip(results(), expected, strict=True)):
        tolerance = TOLERANCES[dtype] * (10 if name in SUMS else 1)
        least = 1e-7 if (name, dtype) == OF_SINGLE_ERF else 3e-45  # two subnormal numbers
        compare(found, wanted, f"{name}, result {number}", tolerance, least)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_probabilities_down_to_the_least_subnormal_number(
    dtype: str, loops_for_all_sizes: None
) -> None:
    least = {"float32": -104.5, "float64": -746.0}[dtype]
    x = np.concatenate([[0.0], np.linspace(least, least / 4, 20_000)]).astype(dtype)
    found = dovetail.from_numpy(x[None]).softmax(-1).numpy()[0]
    power = np.exp(x.astype(np.longdouble))
    expected = power / power.sum()
    tiny = np.finfo(dtype).smallest_subnormal
    error = np.abs(found - expected)
    assert (error <= np.maximum(4 * np.finfo(dtype).eps * expected, 1.01 * tiny)).all()
    assert found[1] == 0 and 0 < found[found > 0].min() <= 2 * tiny
