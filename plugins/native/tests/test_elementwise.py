"""Compiled functions of every element against their references, in every layout."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("dovetail_native._core", reason="built without a C compiler")

import dovetail

from .compiled_kernels import UNITS, close, kernel
from .layouts import LAYOUTS, numbers

DTYPES = ("f4", "f8")
SHAPES = ((), (1,), (0,), (3, 0, 2), (5,), (33, 17), (2, 3, 40), (3000,))
OF_ONE: dict[str, tuple[tuple[Any, ...], ...]] = {
    "celu": ((), (0.5,), (2,)),
    "clamp": ((-1, 1), (None, 0.5), (0, None), (1, -1), (-0.0, 0.0)),
    "clamp_max": ((0,), (1.5,)),
    "clamp_min": ((0,), (-1.5,)),
    "elu": ((), (0.5,), (1.7, 1.05), (1, 1, 0.5), (-2.0, 0.5, 3)),
    "erf": ((),),
    "erfc": ((),),
    "expm1": ((),),
    "gelu": ((),),
    "hardshrink": ((), (0,), (2.5,)),
    "hardsigmoid": ((),),
    "hardswish": ((),),
    "hardtanh": ((), (-2, 0.5), (0, 6)),
    "leaky_relu": ((), (1,), (0,), (-2.0,), (3.0,)),
    "log1p": ((),),
    "mish": ((),),
    "relu": ((),),
    "rsqrt": ((),),
    "sigmoid": ((),),
    "sign": ((),),
    "silu": ((),),
    "softplus": ((), (2,), (1, 3.0), (0.5, -1)),
    "softshrink": ((), (0,), (2.0,)),
    "threshold": ((0, 0), (0.5, 20), (-1.0, -7)),
}
"""Operators of one array, with the other arguments that are tried."""
OF_TWO: dict[str, tuple[tuple[Any, ...], ...]] = {
    "gelu_backward": ((),),
    "hardshrink_backward": ((0.5,), (0,)),
    "hardsigmoid_backward": ((),),
    "hardswish_backward": ((),),
    "hardtanh_backward": ((-1, 1), (0, 6), (-0.5, 2.0)),
    "leaky_relu_backward": ((0.01, False), (0.3, True), (-0.5, False)),
    "mish_backward": ((),),
    "sigmoid_backward": ((),),
    "silu_backward": ((),),
    "softplus_backward": ((1, 20), (2, 20), (1, 3.0)),
    "softshrink_backward": ((0.5,), (2,)),
    "tanh_backward": ((),),
    "threshold_backward": ((0,), (0.5,), (-1.0,)),
}
EXACT = {
    *("clamp", "clamp_max", "clamp_min", "hardshrink", "hardtanh", "relu", "sign", "threshold"),
    *("hardshrink_backward", "hardtanh_backward", "softshrink_backward", "threshold_backward"),
}
"""What only chooses."""


def compare(name: str, dtype: str, special: bool, *arguments: Any, **keywords: Any) -> None:
    """Compare a kernel with its reference: in double precision, or, with special numbers, which
    overflow in one and not in the other, in its own.
    """
    compiled = kernel(name)
    before = [np.array(x) for x in arguments if isinstance(x, np.ndarray)]
    exact = [x.astype("f8") if isinstance(x, np.ndarray) and not special else x for x in arguments]
    with np.errstate(all="ignore"):
        expected = np.asarray(compiled.__wrapped__(*exact, **keywords))
        found = compiled(*arguments, **keywords)
    assert isinstance(found, np.ndarray)
    assert not any(np.may_share_memory(found, x) for x in arguments if hasattr(x, "dtype"))
    expected = expected.astype(dtype)
    if name in EXACT:
        np.testing.assert_array_equal(found, expected)
        assert found.dtype == expected.dtype
        np.testing.assert_array_equal(np.signbit(found), np.signbit(expected))
    else:
        sizes = [np.where(np.isfinite(x), np.abs(x), 0) for x in before]
        scale = np.maximum(1, sizes[0] if len(sizes) == 1 else sizes[0] * np.maximum(1, sizes[1]))
        scale = np.minimum(scale, np.finfo(dtype).max / 2)
        close(found, expected, 8 * UNITS[dtype], np.broadcast_to(scale, found.shape))
    for x, old in zip([x for x in arguments if isinstance(x, np.ndarray)], before, strict=True):
        np.testing.assert_array_equal(x, old)


@pytest.mark.parametrize("special", (False, True))
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", OF_ONE)
def test_functions_of_one_array(name, dtype, special):
    for seed, shape in enumerate(SHAPES):
        for layout in LAYOUTS.values():
            x = layout(numbers(shape, dtype, seed, special))
            for more in OF_ONE[name]:
                compare(name, dtype, special, x, *more)


@pytest.mark.parametrize("special", (False, True))
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", OF_TWO)
def test_functions_of_a_gradient_and_an_array(name, dtype, special):
    layouts = list(LAYOUTS.values())
    for seed, shape in enumerate(SHAPES):
        for at, layout in enumerate(layouts):
            x = layout(numbers(shape, dtype, seed, special))
            grad = layouts[at - seed % 2](numbers(shape, dtype, seed + 50, False))
            for more in OF_TWO[name]:
                compare(name, dtype, special, grad, x, *more)


@pytest.mark.parametrize("dtype", DTYPES)
def test_gelu_by_tanh_and_elu(dtype):
    for seed, shape in enumerate(SHAPES):
        for special in (False, True):
            x, grad = numbers(shape, dtype, seed, special), numbers(shape, dtype, seed + 9, False)
            compare("gelu", dtype, special, x, approximate="tanh")
            compare("gelu_backward", dtype, special, grad, x, approximate="tanh")
            compare("log_sigmoid_backward", dtype, special, grad, x, x)
            compiled = kernel("elu_backward")
            for factors in ((1, 1, 1), (0.5, 2, 1.5), (1.7, 1.05, 0.3)):
                for is_result in (False, True):
                    arguments = grad, *factors, is_result, x
                    with np.errstate(all="ignore"):
                        expected = compiled.__wrapped__(*arguments)
                    scale = np.abs(grad) * np.minimum(np.maximum(np.abs(x), 1), 1e30) * 4
                    scale = np.where(np.isfinite(scale), scale, 1e30)
                    close(compiled(*arguments), np.asarray(expected), 8 * UNITS[dtype], scale)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(
    "shapes", (((3, 1), (1, 4)), ((4,), (2, 3, 4)), ((2, 3), ()), ((1, 0), (5, 1)))
)
def test_shapes_are_broadcast(shapes, dtype):
    grad, x = [numbers(shape, dtype, seed, False) for seed, shape in enumerate(shapes)]
    compare("silu_backward", dtype, False, grad, x)
    with pytest.raises(RuntimeError):
        kernel("silu_backward")(np.ones((2, 3), dtype), np.ones((2, 4), dtype))


def test_results_lie_in_memory_as_their_operands():
    x = np.zeros((3, 4, 5), "f4").transpose(2, 0, 1)
    assert kernel("silu")(x).strides == x.strides
    assert kernel("silu")(x[::2, ::-1]).flags.c_contiguous is False
    assert kernel("silu_backward")(x, x).strides == x.strides


@pytest.mark.parametrize("dtype", DTYPES)
def test_bits_depend_on_the_number_alone(dtype):
    x = numbers((4099,), dtype, 0, special=True)
    for name in ("gelu", "mish", "softplus", "elu", "erf", "log1p", "sigmoid"):
        expected = np.concatenate([kernel(name)(x[i : i + 1]) for i in range(len(x))])
        for layout in ("C order", "negative steps", "gaps", "unaligned"):
            found = kernel(name)(LAYOUTS[layout](x))
            assert found.tobytes() == expected.tobytes() or layout == "negative steps"
        assert kernel(name)(x[::-1])[::-1].tobytes() == expected.tobytes()


def test_other_dtypes_and_wrong_arguments_are_the_references():
    half, x = np.linspace(-2, 2, 9).astype("e"), np.ones(3, "f4")
    np.testing.assert_allclose(
        kernel("gelu")(half), kernel("gelu")(half.astype("f4")), rtol=2e-3, atol=1e-4
    )
    assert kernel("relu")(np.array([-1, 2])).tolist() == [0, 2]
    with pytest.raises(NotImplementedError):
        kernel("silu")(np.ones(3, "i8"))
    with pytest.raises(RuntimeError):
        kernel("gelu")(x, approximate="sigmoid")
    with pytest.raises(RuntimeError):
        kernel("clamp")(x)
    with pytest.raises(RuntimeError):
        kernel("softshrink")(x, -1.0)
    with pytest.raises(RuntimeError):
        kernel("celu")(x, 0)
    with pytest.raises(RuntimeError):
        kernel("leaky_relu_backward")(x, x, -0.5, True)
    with pytest.raises(RuntimeError):
        kernel("elu_backward")(x, -1, 1, 1, True, x)
    with pytest.raises(TypeError):
        kernel("silu")(x, 1)
    assert np.isnan(kernel("clamp")(x, float("nan"), None)).all()


def test_a_bound_that_the_dtype_cannot_hold_is_what_it_was():
    x = np.array([-np.inf, 1, np.inf], "f4")
    reference = kernel("clamp").__wrapped__
    for bound in (1e300, -1e300, 10**400):
        for arguments in ((x, bound, None), (x, None, bound)):
            outcomes = []
            for function in (kernel("clamp"), reference):
                try:
                    with np.errstate(all="ignore"):
                        outcomes.append(function(*arguments).tolist())
                except (RuntimeError, OverflowError) as error:
                    outcomes.append(type(error))
            assert outcomes[0] == outcomes[1]


@pytest.mark.cpu_only(reason="the compiled kernels are those of the cpu")
def test_tensors_reach_the_compiled_kernels():
    x = dovetail.linspace(-3, 3, 50)
    text = str(dovetail.explain(dovetail.ops.aten.gelu.default, x))
    assert "compiled (table/elementwise.c:" in text
