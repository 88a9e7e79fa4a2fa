"""Activations, losses and layer normalization as array kernels: against PyTorch, and backward
against forward.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import dovetail_kernel as dk
from dovetail_aten.families.activations.kernels.rectifiers import Rectifiers
from dovetail_aten.families.activations.kernels.sigmoids import Sigmoids
from dovetail_aten.families.losses.kernels.likelihood import Likelihood
from dovetail_aten.families.losses.kernels.losses import Losses
from dovetail_aten.families.normalization.kernels.normalization import Normalization
from dovetail_aten.families.softmax.kernels import Softmax
from dovetail_aten.kernel_support import KernelTable

DTYPES = {
    np.dtype(native): dtype
    for native, dtype in {
        np.bool_: dk.bool,
        np.uint8: dk.uint8,
        np.int8: dk.int8,
        np.int16: dk.int16,
        np.int32: dk.int32,
        np.int64: dk.int64,
        np.float16: dk.float16,
        np.float32: dk.float32,
        np.float64: dk.float64,
        np.complex64: dk.complex64,
        np.complex128: dk.complex128,
    }.items()
}
NATIVE_DTYPES = {dtype: native for native, dtype in DTYPES.items()}


class NumPyCapabilities:
    """What these families ask of a backend, in plain NumPy."""

    dtypes = DTYPES
    native_dtypes = NATIVE_DTYPES
    checks_bounds = True
    lazy = False

    def compiled(self, operator: str, reference: Callable[..., Any]) -> Callable[..., Any]:
        return reference

    def number(self, value: complex, native_dtype: Any) -> Any:
        array = np.asarray(value).astype(native_dtype)
        array.flags.writeable = False
        return array

    def clone(self, array: Any) -> Any:
        return np.array(array)

    def is_contiguous(self, array: Any) -> bool:
        return bool(array.flags.c_contiguous)

    def contiguous(self, array: Any) -> Any:
        return np.ascontiguousarray(array)

    def in_order(self, function: Callable[..., Any]) -> Callable[..., Any]:
        return function

    def erf(self, array: Any) -> Any:
        return np.vectorize(math.erf, otypes=[np.float64])(array).astype(array.dtype)

    def index_put(self, array: Any, key: Any, values: Any, accumulate: bool) -> Any:
        assert not accumulate
        result = np.array(array)
        result[key] = values
        return result


TABLE = KernelTable()
for family in (Rectifiers, Sigmoids, Softmax, Losses, Likelihood, Normalization):
    family.define(np, TABLE, NumPyCapabilities())


def call(name: str, *args: Any, **kwargs: Any) -> Any:
    return TABLE.kernels[name].fn(*args, **kwargs)


@pytest.fixture(autouse=True)
def silence() -> Iterator[None]:
    """A backend keeps NumPy's floating-point warnings from the user."""
    with np.errstate(all="ignore"):
        yield


def random(
    shape: tuple[int, ...], dtype: Any = np.float64, seed: int = 0, scale: float = 2.0
) -> Any:
    return np.asarray(np.random.default_rng(seed).normal(0, scale, shape)).astype(dtype)


FORWARD: dict[str, tuple[str, tuple[Any, ...], dict[str, Any]]] = {
    "relu": ("relu", (), {}),
    "threshold": ("threshold", (0.5, 7.0), {}),
    "hardtanh": ("hardtanh", (), {}),
    "hardtanh with bounds": ("hardtanh", (-0.5, 2.0), {}),
    "leaky_relu": ("leaky_relu", (), {}),
    "leaky_relu of slope 0": ("leaky_relu", (0.0,), {}),
    "leaky_relu of negative slope": ("leaky_relu", (-0.5,), {}),
    "leaky_relu of steep slope": ("leaky_relu", (3.0,), {}),
    "elu": ("elu", (), {}),
    "elu with numbers": ("elu", (2.0, 3.0, 0.5), {}),
    "gelu": ("gelu", (), {}),
    "gelu with tanh": ("gelu", (), {"approximate": "tanh"}),
    "silu": ("silu", (), {}),
    "softplus": ("softplus", (), {}),
    "softplus with numbers": ("softplus", (2.0, 3.0), {}),
    "log_sigmoid": ("log_sigmoid_forward", (), {}),
    "softmax": ("_softmax", (-1, False), {}),
    "log_softmax": ("_log_softmax", (-1, False), {}),
}

BACKWARD: dict[str, tuple[str, Callable[[Any, Any], Any]]] = {
    "relu": ("relu", lambda g, x: call("threshold_backward", g, x, 0)),
    "threshold": ("threshold", lambda g, x: call("threshold_backward", g, x, 0.5)),
    "hardtanh": ("hardtanh", lambda g, x: call("hardtanh_backward", g, x, -1, 1)),
    "hardtanh with bounds": ("hardtanh", lambda g, x: call("hardtanh_backward", g, x, -0.5, 2.0)),
    "leaky_relu": ("leaky_relu", lambda g, x: call("leaky_relu_backward", g, x, 0.01, False)),
    "elu": ("elu", lambda g, x: call("elu_backward", g, 1, 1, 1, False, x)),
    "elu with numbers": ("elu", lambda g, x: call("elu_backward", g, 2.0, 3.0, 0.5, False, x)),
    "gelu": ("gelu", lambda g, x: call("gelu_backward", g, x)),
    "gelu with tanh": ("gelu", lambda g, x: call("gelu_backward", g, x, approximate="tanh")),
    "silu": ("silu", lambda g, x: call("silu_backward", g, x)),
    "softplus": ("softplus", lambda g, x: call("softplus_backward", g, x, 1, 20)),
    "softplus with numbers": ("softplus", lambda g, x: call("softplus_backward", g, x, 2.0, 3.0)),
    "log_sigmoid": (
        "log_sigmoid_forward",
        lambda g, x: call("log_sigmoid_backward", g, x, call("log_sigmoid_forward", x)[1]),
    ),
    "softmax": (
        "_softmax",
        lambda g, x: call("_softmax_backward_data", g, call("_softmax", x, -1, False), -1, x.dtype),
    ),
    "log_softmax": (
        "_log_softmax",
        lambda g, x: call(
            "_log_softmax_backward_data", g, call("_log_softmax", x, -1, False), -1, x.dtype
        ),
    ),
}


def slopes(function: Callable[[Any], Any], x: Any, grad: Any, step: float = 1e-6) -> Any:
    """Return the gradient of ``sum(function(x) * grad)`` by central differences."""
    result = np.zeros(x.shape)
    for place in np.ndindex(x.shape):
        above, below = x.copy(), x.copy()
        above[place] += step
        below[place] -= step
        result[place] = ((function(above) - function(below)) * grad).sum() / (2 * step)
    return result


def forward_of(case: str) -> Callable[[Any], Any]:
    name, args, kwargs = FORWARD[case]

    def function(x: Any) -> Any:
        result = call(name, x, *args, **kwargs)
        return result[0] if isinstance(result, tuple) else result

    return function


# -- backward against forward ----------------------------------------------------------------------


@pytest.mark.parametrize("case", BACKWARD)
def test_a_backward_kernel_gives_the_slope_of_its_forward_kernel(case: str) -> None:
    x, grad = random((3, 5)), random((3, 5), seed=1)
    np.testing.assert_allclose(
        BACKWARD[case][1](grad, x), slopes(forward_of(case), x, grad), atol=1e-6
    )


@pytest.mark.parametrize("case", BACKWARD)
def test_a_backward_kernel_treats_many_elements_as_it_treats_few(case: str) -> None:
    x, grad = random((400, 30), np.float32), random((400, 30), np.float32, seed=1)
    whole, piece = BACKWARD[case][1](grad, x), BACKWARD[case][1](grad[:2], x[:2])
    np.testing.assert_allclose(whole[:2], piece, rtol=1e-6)


@pytest.mark.parametrize("case", FORWARD)
def test_a_forward_kernel_treats_many_elements_as_it_treats_few(case: str) -> None:
    x = random((400, 30), np.float32)
    np.testing.assert_allclose(forward_of(case)(x)[:2], forward_of(case)(x[:2]), rtol=1e-6)


def test_elu_backward_from_the_result_gives_the_slope_at_the_input() -> None:
    x, grad = random((3, 5)), random((3, 5), seed=1)
    result = call("elu", x, 2.0, 3.0, 0.5)
    expected = call("elu_backward", grad, 2.0, 3.0, 0.5, False, x)
    np.testing.assert_allclose(call("elu_backward", grad, 2.0, 3.0, 0.5, True, result), expected)


@pytest.mark.parametrize(
    ("name", "function"),
    [("sigmoid_backward", lambda x: 1 / (1 + np.exp(-x))), ("tanh_backward", np.tanh)],
)
def test_a_gradient_from_the_result_gives_the_slope_of_the_function(
    name: str, function: Callable[[Any], Any]
) -> None:
    x, grad = random((3, 5)), random((3, 5), seed=1)
    np.testing.assert_allclose(call(name, grad, function(x)), slopes(function, x, grad), atol=1e-6)


def test_prelu_backward_gives_the_slopes_of_both_arguments() -> None:
    x, weight, grad = random((3, 5)), random((3, 5), seed=2), random((3, 5), seed=1)
    to_self, to_weight = call("_prelu_kernel_backward", grad, x, weight)
    np.testing.assert_allclose(
        to_self, slopes(lambda v: call("_prelu_kernel", v, weight), x, grad), atol=1e-6
    )
    np.testing.assert_allclose(
        to_weight, slopes(lambda v: call("_prelu_kernel", x, v), weight, grad), atol=1e-6
    )


@pytest.mark.parametrize("reduction", [0, 1, 2])
@pytest.mark.parametrize(
    ("name", "more"),
    [
        ("mse_loss", ()),
        ("smooth_l1_loss", (1.0,)),
        ("smooth_l1_loss", (0.4,)),
        ("smooth_l1_loss", (0.0,)),
    ],
)
def test_the_gradient_of_a_difference_loss_is_its_slope(
    name: str, more: tuple[float, ...], reduction: int
) -> None:
    x, target = random((3, 5)), random((3, 5), seed=2)
    grad = random((3, 5), seed=1) if reduction == 0 else np.asarray(1.7)
    expected = slopes(lambda v: call(name, v, target, reduction, *more), x, grad)
    np.testing.assert_allclose(
        call(f"{name}_backward", grad, x, target, reduction, *more), expected, atol=1e-6
    )


@pytest.mark.parametrize("reduction", [0, 1, 2])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("ignore_index", [-100, 2])
@pytest.mark.parametrize("classes", [4, 5000])
def test_the_gradient_of_nll_loss_is_its_slope(
    reduction: int, weighted: bool, ignore_index: int, classes: int
) -> None:
    x, target = random((5, classes)), np.array([0, 2, 3, 2, 1])
    weight = np.abs(random((classes,), seed=3)) if weighted else None
    grad = random((5,), seed=1) if reduction == 0 else np.asarray(1.7)
    total = call("nll_loss_forward", x, target, weight, reduction, ignore_index)[1]
    result = call("nll_loss_backward", grad, x, target, weight, reduction, ignore_index, total)
    expected = slopes(
        lambda v: call(
            "nll_loss_forward", np.hstack([v, x[:, 4:]]), target, weight, reduction, ignore_index
        )[0],
        x[:, :4],
        grad,
    )
    np.testing.assert_allclose(result[:, :4], expected, atol=1e-6)
    assert not result[:, 4:].any()


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("normalized_shape", [(4,), (3, 4), (2, 3, 4)])
def test_the_gradients_of_layer_norm_are_its_slopes(
    normalized_shape: tuple[int, ...], weighted: bool
) -> None:
    x, grad = random((2, 3, 4)), random((2, 3, 4), seed=1)
    weight, bias = (
        (random(normalized_shape, seed=2), random(normalized_shape, seed=3))
        if weighted
        else (None, None)
    )

    def forward(x: Any, weight: Any, bias: Any) -> Any:
        return call("native_layer_norm", x, normalized_shape, weight, bias, 1e-5)[0]

    _, mean, rstd = call("native_layer_norm", x, normalized_shape, weight, bias, 1e-5)
    mask = (True, weighted, weighted)
    found = call(
        "native_layer_norm_backward", grad, x, normalized_shape, mean, rstd, weight, bias, mask
    )
    np.testing.assert_allclose(
        found[0], slopes(lambda v: forward(v, weight, bias), x, grad), atol=1e-6
    )
    if not weighted:
        assert found[1:] == (None, None)
        return
    np.testing.assert_allclose(
        found[1], slopes(lambda v: forward(x, v, bias), weight, grad), atol=1e-6
    )
    np.testing.assert_allclose(
        found[2], slopes(lambda v: forward(x, weight, v), bias, grad), atol=1e-6
    )


def test_an_infinite_gradient_does_not_leak_through_a_closed_rectifier() -> None:
    for shape in ((3,), (5000,)):
        grad, x = np.full(shape, np.inf, np.float32), np.full(shape, -1, np.float32)
        assert not call("threshold_backward", grad, x, 0).any()


def test_the_gradient_passes_a_rectifier_at_nan() -> None:
    for shape in ((3,), (5000,)):
        x = np.full(shape, np.nan, np.float32)
        assert (call("threshold_backward", np.ones_like(x), x, 0) == 1).all()


def test_kernels_leave_their_inputs_alone() -> None:
    for case, (_, backward) in BACKWARD.items():
        x, grad = random((3, 5)), random((3, 5), seed=1)
        x.flags.writeable = grad.flags.writeable = False
        assert not np.shares_memory(forward_of(case)(x), x)
        assert not np.shares_memory(backward(grad, x), grad), case


# -- errors ----------------------------------------------------------------------------------------

X = np.zeros((2, 3), np.float32)
LONGS = np.zeros(2, np.int64)
ERRORS: dict[str, tuple[type[Exception], str, Callable[[], Any]]] = {
    "relu of bools": (RuntimeError, "Boolean inputs not supported", lambda: call("relu", X > 0)),
    "relu of complex": (NotImplementedError, "complex", lambda: call("relu", X * 1j)),
    "elu of ints": (NotImplementedError, "'Long'", lambda: call("elu", LONGS)),
    "gelu of ints": (NotImplementedError, "'Long'", lambda: call("gelu", LONGS)),
    "softmax of ints": (NotImplementedError, "'Long'", lambda: call("_softmax", LONGS, 0, False)),
    "softmax along no dim": (
        IndexError,
        "Dimension out of range",
        lambda: call("_softmax", X, 2, False),
    ),
    "gelu approximated somehow": (
        RuntimeError,
        "approximate argument",
        lambda: call("gelu", X, approximate="x"),
    ),
    "hardtanh of bytes": (
        RuntimeError,
        "unsigned type",
        lambda: call("hardtanh", LONGS.astype(np.uint8)),
    ),
    "elu not invertible": (
        RuntimeError,
        "negative slope",
        lambda: call("elu_backward", X, -1, 1, 1, True, X),
    ),
    "mse of ints": (NotImplementedError, "mse_cpu", lambda: call("mse_loss", LONGS, LONGS)),
    "smooth_l1 beta": (
        RuntimeError,
        "negative values for beta",
        lambda: call("smooth_l1_loss", X, X, 1, -1.0),
    ),
    "class too large": (
        IndexError,
        "Target 3 is out of bounds",
        lambda: call("nll_loss_forward", X, LONGS + 3, None, 1, -100),
    ),
    "class negative": (
        IndexError,
        "Target -1 is out of bounds",
        lambda: call("nll_loss_forward", X, LONGS - 1, None, 1, -100),
    ),
    "class in gradient": (
        IndexError,
        "Target 3 is out of bounds",
        lambda: call("nll_loss_backward", np.ones(()), X, LONGS + 3, None, 2, -100, np.ones(())),
    ),
    "int32 classes": (
        RuntimeError,
        "Long or Byte",
        lambda: call("nll_loss_forward", X, LONGS.astype("i4"), None, 1, -100),
    ),
    "too few classes": (
        RuntimeError,
        "size mismatch",
        lambda: call("nll_loss_forward", X, LONGS[:1], None, 1, -100),
    ),
    "weights": (
        RuntimeError,
        "all 3 classes",
        lambda: call("nll_loss_forward", X, LONGS, X[0, :2], 1, -100),
    ),
    "layer_norm shape": (
        RuntimeError,
        "Given normalized_shape",
        lambda: call("native_layer_norm", X, (2,), None, None, 1e-5),
    ),
    "layer_norm dtypes": (
        RuntimeError,
        "mixed dtype",
        lambda: call("native_layer_norm", X, (3,), np.ones(3), None, 1e-5),
    ),
}


@pytest.mark.parametrize("case", ERRORS)
def test_bad_input_raises_what_pytorch_raises(case: str) -> None:
    error, words, function = ERRORS[case]
    with pytest.raises(error, match=words):
        function()


# -- against PyTorch -------------------------------------------------------------------------------


@pytest.fixture
def torch() -> Any:
    return pytest.importorskip("torch", reason="PyTorch is the oracle here, and not installed")


TOLERANCE = {np.float16: 2e-3, np.float32: 2e-6, np.float64: 1e-12}
FLOATS = pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
SPECIAL = (np.nan, np.inf, -np.inf, -0.0, 0.0, 30.0, -200.0, 1e-3)


def same(ours: Any, theirs: Any, dtype: Any) -> None:
    if isinstance(theirs, tuple | list):
        for one, other in zip(ours, theirs, strict=True):
            same(one, other, dtype)
        return
    theirs = theirs.numpy()
    assert (ours.shape, ours.dtype) == (theirs.shape, theirs.dtype)
    np.testing.assert_allclose(ours, theirs, rtol=TOLERANCE[dtype], atol=TOLERANCE[dtype])


def arrays(dtype: Any) -> dict[str, Any]:
    return {
        "matrix": random((8, 9), dtype),
        "0-d": random((), dtype),
        "empty": np.zeros((0, 3), dtype),
        "empty rows": np.zeros((3, 0), dtype),
        "strided": random((8, 9), dtype).T[::2, ::-1],
        "large": random((300, 40), dtype),
    }


def to_torch(torch: Any, array: Any) -> Any:
    return torch.from_numpy(np.array(array))


@FLOATS
@pytest.mark.parametrize("layout", arrays(np.float32))
@pytest.mark.parametrize("case", FORWARD)
def test_a_forward_kernel_agrees_with_pytorch(
    torch: Any, case: str, layout: str, dtype: Any
) -> None:
    name, args, kwargs = FORWARD[case]
    x = arrays(dtype)[layout]
    same(
        call(name, x, *args, **kwargs),
        getattr(torch.ops.aten, name)(to_torch(torch, x), *args, **kwargs),
        dtype,
    )


BACKWARD_ARGUMENTS: dict[str, Callable[[Any, Any], tuple[Any, ...]]] = {
    "threshold_backward": lambda g, x: (g, x, 0),
    "hardtanh_backward": lambda g, x: (g, x, -0.5, 2.0),
    "leaky_relu_backward": lambda g, x: (g, x, 0.01, False),
    "elu_backward": lambda g, x: (g, 2.0, 3.0, 0.5, False, x),
    "gelu_backward": lambda g, x: (g, x),
    "silu_backward": lambda g, x: (g, x),
    "softplus_backward": lambda g, x: (g, x, 2.0, 3.0),
    "sigmoid_backward": lambda g, x: (g, x),
    "tanh_backward": lambda g, x: (g, x),
    "_prelu_kernel_backward": lambda g, x: (g, x, x),
    "mse_loss_backward": lambda g, x: (g, x, x[..., ::-1] if x.ndim else x, 0),
}


@FLOATS
@pytest.mark.parametrize("layout", arrays(np.float32))
@pytest.mark.parametrize("name", BACKWARD_ARGUMENTS)
def test_a_backward_kernel_agrees_with_pytorch(
    torch: Any, name: str, layout: str, dtype: Any
) -> None:
    x = arrays(dtype)[layout]
    args = BACKWARD_ARGUMENTS[name](random(x.shape, dtype, seed=1), x)
    theirs = [to_torch(torch, each) if isinstance(each, np.ndarray) else each for each in args]
    expected = getattr(torch.ops.aten, name)(*theirs)
    found = call(name, *args)
    if dtype is np.float16:
        # Half-precision products of several large factors differ by roundings of their size.
        expected = [
            each.numpy() for each in (expected if isinstance(expected, tuple) else (expected,))
        ]
        for one, other in zip(
            found if isinstance(found, tuple) else (found,), expected, strict=True
        ):
            assert one.dtype == other.dtype
            np.testing.assert_allclose(one, other, rtol=4e-3, atol=1e-2)
        return
    if dtype is np.float32:
        expected = [
            each.numpy() for each in (expected if isinstance(expected, tuple) else (expected,))
        ]
        for one, other in zip(
            found if isinstance(found, tuple) else (found,), expected, strict=True
        ):
            assert one.dtype == other.dtype
            np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-5)
        return
    same(found, expected, dtype)


@FLOATS
@pytest.mark.parametrize("name", ["_softmax_backward_data", "_log_softmax_backward_data"])
@pytest.mark.parametrize("dim", [0, 1])
def test_a_softmax_gradient_agrees_with_pytorch(
    torch: Any, name: str, dim: int, dtype: Any
) -> None:
    grad = random((8, 9), dtype, seed=1, scale=0.5)
    output = call(
        "_softmax" if name == "_softmax_backward_data" else "_log_softmax",
        random((8, 9), dtype),
        dim,
        False,
    )
    kind = {np.float16: torch.float16, np.float32: torch.float32, np.float64: torch.float64}[dtype]
    expected = getattr(torch.ops.aten, name)(
        to_torch(torch, grad), to_torch(torch, output), dim, kind
    )
    same(call(name, grad, output, dim, np.dtype(dtype)), expected, dtype)


@pytest.mark.parametrize(
    "case", [case for case in FORWARD if "softmax" not in case and case != "gelu"]
)
def test_infinities_nan_and_zeros_come_out_as_in_pytorch(torch: Any, case: str) -> None:
    name, args, kwargs = FORWARD[case]
    for value in SPECIAL:
        x = np.array([value], np.float32)
        same(
            call(name, x, *args, **kwargs),
            getattr(torch.ops.aten, name)(to_torch(torch, x), *args, **kwargs),
            np.float32,
        )


@pytest.mark.parametrize("name", ["_softmax", "_log_softmax"])
@pytest.mark.parametrize(
    "row", [(-np.inf, -np.inf), (-np.inf, 1.0), (np.inf, 1.0), (np.nan, 1.0), (1e30, -1e30)]
)
def test_softmax_of_infinities_is_that_of_pytorch(
    torch: Any, name: str, row: tuple[float, float]
) -> None:
    x = np.array([row], np.float32)
    same(
        call(name, x, 1, False),
        getattr(torch.ops.aten, name)(to_torch(torch, x), 1, False),
        np.float32,
    )


TARGETS = {"plain": [0, 2, 1, 1], "ignored": [0, -100, 1, -100], "all ignored": [-100] * 4}


@FLOATS
@pytest.mark.parametrize("targets", TARGETS)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("reduction", [0, 1, 2])
def test_nll_loss_agrees_with_pytorch(
    torch: Any, reduction: int, weighted: bool, targets: str, dtype: Any
) -> None:
    x, target = random((4, 3), dtype), np.array(TARGETS[targets])
    weight = np.array([1, 2, 3], dtype) if weighted else None
    aten = torch.ops.aten
    their_weight = None if weight is None else to_torch(torch, weight)
    expected = aten.nll_loss_forward(
        to_torch(torch, x), to_torch(torch, target), their_weight, reduction, -100
    )
    found = call("nll_loss_forward", x, target, weight, reduction, -100)
    same(found, expected, dtype)
    grad = random((4,) if reduction == 0 else (), dtype, seed=1)
    gradient = aten.nll_loss_backward(
        *(
            to_torch(torch, grad),
            to_torch(torch, x),
            to_torch(torch, target),
            their_weight,
            reduction,
            -100,
            expected[1],
        )
    )
    same(
        call("nll_loss_backward", grad, x, target, weight, reduction, -100, found[1]),
        gradient,
        dtype,
    )


@pytest.mark.parametrize("reduction", [0, 1, 2])
@pytest.mark.parametrize("target", [1, -100, [1], [-100]])
def test_nll_loss_of_one_sample_agrees_with_pytorch(
    torch: Any, target: Any, reduction: int
) -> None:
    x, weight, target = random((3,), np.float32), np.array([1, 2, 3], np.float32), np.array(target)
    for own, theirs in ((None, None), (weight, to_torch(torch, weight))):
        expected = torch.ops.aten.nll_loss_forward(
            to_torch(torch, x), to_torch(torch, target), theirs, reduction, -100
        )
        same(call("nll_loss_forward", x, target, own, reduction, -100), expected, np.float32)


@pytest.mark.parametrize("reduction", [0, 1, 2])
def test_nll_loss_of_no_samples_agrees_with_pytorch(torch: Any, reduction: int) -> None:
    x, target = np.zeros((0, 3), np.float32), np.zeros(0, np.int64)
    expected = torch.ops.aten.nll_loss_forward(
        to_torch(torch, x), to_torch(torch, target), None, reduction, -100
    )
    same(call("nll_loss_forward", x, target, None, reduction, -100), expected, np.float32)


@FLOATS
@pytest.mark.parametrize("reduction", [0, 1, 2])
@pytest.mark.parametrize(
    ("name", "more"), [("mse_loss", ()), ("smooth_l1_loss", (1.0,)), ("smooth_l1_loss", (0.4,))]
)
@pytest.mark.parametrize("shape", [(8, 9), (), (0,)])
def test_a_difference_loss_agrees_with_pytorch(
    torch: Any,
    shape: tuple[int, ...],
    name: str,
    more: tuple[float, ...],
    reduction: int,
    dtype: Any,
) -> None:
    x, target = random(shape, dtype), random(shape, dtype, seed=1)
    expected = getattr(torch.ops.aten, name)(
        to_torch(torch, x), to_torch(torch, target), reduction, *more
    )
    found = call(name, x, target, reduction, *more)
    assert found.dtype == expected.numpy().dtype
    np.testing.assert_allclose(
        found, expected.numpy(), rtol=2 * TOLERANCE[dtype], atol=2 * TOLERANCE[dtype]
    )


def test_mse_loss_of_a_0d_double_keeps_the_dtype_of_the_array(torch: Any) -> None:
    x, target = random((3,), np.float32), random(())
    same(
        call("mse_loss", x, target),
        torch.ops.aten.mse_loss(to_torch(torch, x), to_torch(torch, target)),
        np.float32,
    )


@pytest.mark.parametrize("reduction", [0, 1, 2])
@pytest.mark.parametrize("weighted", [False, True])
def test_binary_cross_entropy_agrees_with_pytorch(
    torch: Any, weighted: bool, reduction: int
) -> None:
    x, target = (
        random((8, 3), np.float32, scale=40),
        np.random.default_rng(1).random((8, 3), np.float32),
    )
    weights = (
        [random((3,), np.float32, seed=2) ** 2, random((3,), np.float32, seed=3) ** 2]
        if weighted
        else [None, None]
    )
    theirs = [None if each is None else to_torch(torch, each) for each in (x, target, *weights)]
    expected = torch.ops.aten.binary_cross_entropy_with_logits(*theirs, reduction).numpy()
    np.testing.assert_allclose(
        call("binary_cross_entropy_with_logits", x, target, *weights, reduction),
        expected,
        rtol=1e-5,
    )


@FLOATS
@pytest.mark.parametrize("weights", [None, "own", "single"])
@pytest.mark.parametrize("shape", [(5, 6), (2, 3, 6), (6,), (0, 6)])
def test_layer_norm_agrees_with_pytorch(
    torch: Any, shape: tuple[int, ...], weights: str | None, dtype: Any
) -> None:
    if weights == "single" and dtype is not np.float16:
        return
    x, grad = random(shape, dtype), random(shape, dtype, seed=1)
    of = np.float32 if weights == "single" else dtype
    weight, bias = (
        (None, None) if weights is None else (random((6,), of, seed=2), random((6,), of, seed=3))
    )
    theirs = [None if each is None else to_torch(torch, each) for each in (weight, bias)]
    expected = torch.ops.aten.native_layer_norm(to_torch(torch, x), [6], *theirs, 1e-5)
    found = call("native_layer_norm", x, (6,), weight, bias, 1e-5)
    tolerance = 4 * TOLERANCE[dtype]
    assert [each.dtype for each in found] == [each.numpy().dtype for each in expected]
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other.numpy(), rtol=tolerance, atol=tolerance)
    if weights is None:
        return
    gradients = torch.ops.aten.native_layer_norm_backward(
        *(
            to_torch(torch, grad),
            to_torch(torch, x),
            [6],
            *expected[1:],
            *theirs,
            [True, True, True],
        )
    )
    mine = call(
        "native_layer_norm_backward", grad, x, (6,), *found[1:], weight, bias, (True, True, True)
    )
    for one, other in zip(mine, gradients, strict=True):
        assert one.dtype == other.numpy().dtype
        np.testing.assert_allclose(one, other.numpy(), rtol=10 * tolerance, atol=4 * tolerance)


def test_layer_norm_over_nothing_has_mean_0_and_undefined_deviation() -> None:
    result, mean, rstd = call(
        "native_layer_norm", np.zeros((2, 0), np.float32), (0,), None, None, 1e-5
    )
    assert (result.shape, mean.tolist()) == ((2, 0), [[0.0], [0.0]])
    assert np.isnan(rstd).all()
