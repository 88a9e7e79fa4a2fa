"""Compiled functions of every element against their references, in every layout."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("dovetail_native._core", reason="built without a C compiler")

import dovetail

from .compiled_kernels import UNITS, close, kernel, skip_uncompiled
from .layouts import LAYOUTS, numbers

DTYPES = ("f4", "f8")
SHAPES = ((), (1,), (0,), (3, 0, 2), (5,), (33, 17), (2, 3, 40), (3000,))
OF_ONE: dict[str, tuple[tuple[Any, ...], ...]] = {
    "celu": ((), (0.5,), (2,)),
    "clamp": ((-1, 1), (None, 0.5), (0, None), (1, -1), (-0.0, 0.0)),
    "clamp_max": ((0,), (1.5,)),
    "clamp_min": ((0,), (-1.5,)),
    "deg2rad": ((),),
    "elu": ((), (0.5,), (1.7, 1.05), (1, 1, 0.5), (-2.0, 0.5, 3)),
    "erf": ((),),
    "erfc": ((),),
    "expm1": ((),),
    "frac": ((),),
    "gelu": ((),),
    "hardshrink": ((), (0,), (2.5,)),
    "hardsigmoid": ((),),
    "hardswish": ((),),
    "hardtanh": ((), (-2, 0.5), (0, 6)),
    "leaky_relu": ((), (1,), (0,), (-2.0,), (3.0,)),
    "log1p": ((),),
    "logit": ((), (0.1,), (0.6,)),
    "mish": ((),),
    "nan_to_num": ((), (1.5,), (None, 2, -3), (0, None, 7.0)),
    "rad2deg": ((),),
    "relu": ((),),
    "round": ((),),
    "rsqrt": ((),),
    "sigmoid": ((),),
    "sign": ((),),
    "silu": ((),),
    "sinc": ((),),
    "softplus": ((), (2,), (1, 3.0), (0.5, -1)),
    "softshrink": ((), (0,), (2.0,)),
    "special_spherical_bessel_j0": ((),),
    "threshold": ((0, 0), (0.5, 20), (-1.0, -7)),
}
"""Operators of one array, with the other arguments that are tried."""
OF_TWO: dict[str, tuple[tuple[Any, ...], ...]] = {
    "_prelu_kernel": ((),),
    "clamp.Tensor": ((),),
    "clamp_max.Tensor": ((),),
    "clamp_min.Tensor": ((),),
    "copysign.Tensor": ((),),
    "gelu_backward": ((),),
    "hardshrink_backward": ((0.5,), (0,)),
    "hardsigmoid_backward": ((),),
    "hardswish_backward": ((),),
    "heaviside": ((),),
    "hypot": ((),),
    "logaddexp": ((),),
    "logaddexp2": ((),),
    "nextafter": ((),),
    "hardtanh_backward": ((-1, 1), (0, 6), (-0.5, 2.0)),
    "leaky_relu_backward": ((0.01, False), (0.3, True), (-0.5, False)),
    "mish_backward": ((),),
    "sigmoid_backward": ((),),
    "silu_backward": ((),),
    "softplus_backward": ((1, 20), (2, 20), (1, 3.0)),
    "softshrink_backward": ((0.5,), (2,)),
    "special_xlog1py": ((),),
    "tanh_backward": ((),),
    "threshold_backward": ((0,), (0.5,), (-1.0,)),
    "xlogy.Tensor": ((),),
}
EXACT = {
    *("clamp", "clamp_max", "clamp_min", "hardshrink", "hardtanh", "relu", "sign", "threshold"),
    *("_prelu_kernel", "copysign.Tensor", "frac", "heaviside", "nan_to_num", "nextafter", "round"),
    *("clamp.Tensor", "clamp_max.Tensor", "clamp_min.Tensor"),
    *("hardshrink_backward", "hardtanh_backward", "softshrink_backward", "threshold_backward"),
}
"""What only chooses."""


def compare(name: str, dtype: str, special: bool, *arguments: Any, **keywords: Any) -> None:
    """Compare a kernel with its reference: in double precision, or, with special numbers, which
    overflow in one and not in the other, in its own.
    """
    compiled = kernel(name)
    before = [np.array(x) for x in arguments if isinstance(x, np.ndarray)]
    is_wider = not special and name != "nextafter"
    exact = [x.astype("f8") if isinstance(x, np.ndarray) and is_wider else x for x in arguments]
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


@pytest.mark.parametrize("special", (False, True))
@pytest.mark.parametrize("dtype", DTYPES)
def test_the_first_derivative_of_digamma(dtype, special):
    for seed, shape in enumerate(SHAPES):
        for layout in LAYOUTS.values():
            x = layout(numbers(shape, dtype, seed, special))
            found = kernel("polygamma")(1, x)
            with np.errstate(all="ignore"):
                expected = np.asarray(kernel("polygamma").__wrapped__(1, x))
                # The sine near a pole has the digits of the distance to it.
                scale = np.minimum(np.abs(expected) ** 1.5 * 4, 1e30)
            close(found, expected, 8 * UNITS[dtype], np.where(np.isfinite(scale), scale, 1))
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(
            kernel("polygamma")(2, x), kernel("polygamma").__wrapped__(2, x)
        )


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
    for name in (
        "gelu",
        "mish",
        "softplus",
        "elu",
        "erf",
        "log1p",
        "sigmoid",
        "sin",
        "cos",
        "lgamma",
    ):
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
    skip_uncompiled()
    x = dovetail.linspace(-3, 3, 50)
    text = str(dovetail.explain(dovetail.ops.aten.gelu.default, x))
    assert "compiled (table/elementwise.c:" in text


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", ("remainder", "fmod"))
def test_what_divisions_leave_is_exact(name, dtype, layout):
    generator = np.random.default_rng(0)
    compiled = kernel(f"{name}.Tensor")
    for shape in ((), (0,), (65,), (40, 70), (3, 5, 100)):
        x = generator.standard_normal(shape) * 10.0 ** generator.integers(-3, 4, shape)
        x = np.where(generator.random(shape) < 0.1, np.round(x) * 0.7, x).astype(dtype)
        odd = np.resize([np.inf, -np.inf, np.nan, 0.0, -0.0, 3e38, -1.0, 1e-45], shape)
        few = np.array([0.7, -0.7, 3, 1e-30, np.inf, 0], dtype)
        divisors = (x[::-1] if shape else x, *few)
        for given in (LAYOUTS[layout](x), odd.astype(dtype)):
            for divisor in map(np.asarray, divisors):
                with np.errstate(all="ignore"):
                    same_rest(compiled(given, divisor), compiled.__wrapped__(given, divisor))


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_quotients_are_rounded_down(dtype, layout):
    generator = np.random.default_rng(0)
    compiled = kernel("floor_divide")
    for shape in ((0,), (65,), (40, 70)):
        x = generator.standard_normal(shape) * 10.0 ** generator.integers(-3, 6, shape)
        odd = np.resize([np.inf, -np.inf, np.nan, 0.0, -0.0, 3e38, -1.0, 1e-45, 7, -7], shape)
        for each in (x.astype(dtype), np.round(x).astype(dtype), odd.astype(dtype)):
            given = LAYOUTS[layout](each)
            few = np.array([0.7, -0.7, 3, 1e-30, np.inf, 0, -0.0, 0.1], dtype)
            for divisor in (x.astype(dtype)[::-1], *few):
                with np.errstate(all="ignore"):
                    expected = compiled.__wrapped__(given, np.asarray(divisor))
                same_rest(compiled(given, np.asarray(divisor)), expected)
    for at, written in enumerate((x.astype(dtype), x.astype(dtype) + 1)):
        operands = [x.astype(dtype), x.astype(dtype) + 1]
        expected = compiled(*operands)
        operands[at] = written
        assert compiled(*operands, out=written) is written
        np.testing.assert_array_equal(written, expected)
    modes = kernel("div.Tensor_mode")
    np.testing.assert_array_equal(
        modes(x.astype(dtype), few[0], rounding_mode="floor"),
        compiled(x.astype(dtype), np.asarray(few[0])),
    )


@pytest.mark.parametrize("dtype", DTYPES)
def test_ways_between_two_arrays(dtype):
    compiled = kernel("lerp.Tensor")
    x, end, weight = [numbers((3, 400), dtype, seed, False) for seed in range(3)]
    for given in (weight, weight[:1], weight[:, :1], np.zeros_like(weight), np.ones_like(weight)):
        found, expected = compiled(x, end, given), compiled.__wrapped__(x, end, given)
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("dtype", DTYPES)
def test_gradients_of_prelu(dtype):
    compiled = kernel("_prelu_kernel_backward")
    grad, x = [numbers((4, 300), dtype, seed, seed == 1) for seed in range(2)]
    weight = numbers((4, 1), dtype, 2, False)
    with np.errstate(all="ignore"):
        pairs = zip(compiled(grad, x, weight), compiled.__wrapped__(grad, x, weight), strict=True)
    for found, expected in pairs:
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("dtype", DTYPES)
def test_powers_have_the_signs_of_pythons(dtype):
    of_arrays, of_numbers = kernel("pow.Tensor_Tensor"), kernel("pow.Tensor_Scalar")
    few = [0.0, -0.0, *(sign * x for x in (1, 2, 3, 0.5, 2.5, np.inf) for sign in (1, -1))]
    few += [np.nan, 1e-40, 1e10]
    x, y = [each.ravel() for each in np.meshgrid(np.array(few, dtype), np.array(few, dtype))]
    for base, exponent in ((x, y), (numbers((3000,), dtype, 0, False), np.array(3.0, dtype))):
        with np.errstate(all="ignore"):
            expected = np.power(base, exponent)
        found = of_arrays(base, exponent)
        np.testing.assert_array_equal(np.isnan(found), np.isnan(expected))
        is_number = ~np.isnan(expected)
        np.testing.assert_array_equal(np.signbit(found[is_number]), np.signbit(expected[is_number]))
        np.testing.assert_allclose(found, expected, rtol=4 * UNITS[dtype])
    for exponent in few:
        with np.errstate(all="ignore"):
            found, expected = of_numbers(x, exponent), of_numbers.__wrapped__(x, exponent)
        np.testing.assert_allclose(found, expected, rtol=4 * UNITS[dtype])
    written = x.copy()
    assert of_numbers(written, 2.5, out=written) is written
    np.testing.assert_array_equal(written, of_numbers(x, 2.5))


@pytest.mark.parametrize("dtype", (*DTYPES, "f2"))
@pytest.mark.parametrize("name", ("remainder", "fmod"))
def test_what_division_by_a_number_leaves(name, dtype):
    compiled = kernel(f"{name}.Scalar")
    x = (np.random.default_rng(0).standard_normal((40, 70)) * 20).astype(dtype)
    for divisor in (0.75, -3, 2.5, 0, 1e300, 10**400):
        with np.errstate(all="ignore"):
            try:
                expected = compiled.__wrapped__(x, divisor)
            except (OverflowError, RuntimeError) as error:
                with pytest.raises(type(error)):
                    compiled(x, divisor)
                continue
            same_rest(compiled(x, divisor), expected)


def same_rest(found: Any, expected: Any) -> None:
    """Check that numbers are equal, with the signs of zeros."""
    assert found.dtype == expected.dtype
    np.testing.assert_array_equal(found, expected)
    is_number = ~np.isnan(expected)
    np.testing.assert_array_equal(np.signbit(found)[is_number], np.signbit(expected)[is_number])


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_the_binary_entropy_of_every_element(dtype, layout):
    from dovetail_aten.families.losses.kernels.losses import Losses
    from dovetail_kernel import backend

    skip_uncompiled()
    family = Losses(np, backend("cpu").arrays)
    assert family._entropies != family._binary_entropies
    edges = np.array([0, 1, 1e-40, 1e-300, 1 - 1e-7, np.nextafter(1, 0), np.nan, -1, 2, 0.5])
    for seed, shape in enumerate(SHAPES):
        drawn = np.random.default_rng(seed).random((2, *shape))
        drawn.reshape(-1)[: 2 * edges.size] = np.tile(edges, 2)[: drawn.size]
        x, target = [LAYOUTS[layout](each.astype(dtype)) for each in drawn]
        with np.errstate(all="ignore"):
            found, expected = [
                np.asarray(compute(x, target))
                for compute in (family._entropies, family._binary_entropies)
            ]
            close(found, expected, 8 * UNITS[dtype])
        valid = bool(((x >= 0) & (x <= 1)).all())
        if x.size:
            assert family._are_probabilities(x) == valid
            assert family._are_probabilities(np.clip(np.nan_to_num(x), 0, 1))


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_cross_products_are_those_of_the_reference(dtype, layout):
    compiled = kernel("linalg_cross")
    for seed, shape in enumerate(((3,), (4, 3), (3, 5), (2, 3, 7), (5, 4, 3), (3, 0), (1, 3))):
        x, y = [LAYOUTS[layout](numbers(shape, dtype, seed + i, True)) for i in (0, 50)]
        for dim in [at for at in range(-len(shape), len(shape)) if shape[at] == 3]:
            for other in (y, y[:1] if len(shape) > 1 and shape[0] != 3 else y):
                with np.errstate(all="ignore"):
                    found = compiled(x, other, dim=dim)
                    expected = compiled.__wrapped__(x, other, dim=dim)
                np.testing.assert_array_equal(found, expected)
                assert found.dtype == expected.dtype
                assert found.flags.c_contiguous


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", ("complex", "polar"))
def test_complex_numbers_of_two_arrays(name, dtype, layout):
    compiled = kernel(name)
    for seed, shape in enumerate(SHAPES):
        x, y = [LAYOUTS[layout](numbers(shape, dtype, seed + i, True)) for i in (0, 50)]
        y = np.where(np.abs(y) < 1e10, y, y.dtype.type(3)) if name == "polar" else y
        for other in (y, y[..., :1]) if y.ndim and y.size else (y,):
            with np.errstate(all="ignore"):
                found, expected = compiled(x, other), np.asarray(compiled.__wrapped__(x, other))
            assert found.dtype == expected.dtype == np.dtype(f"c{2 * x.itemsize}")
            size = np.where(np.isfinite(x), np.abs(x), 1)
            for part in ("real", "imag"):
                close(getattr(found, part), getattr(expected, part), 8 * UNITS[dtype], size)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_hubers_loss_of_every_element(dtype, layout):
    from dovetail_aten.families.losses.kernels.losses import Losses
    from dovetail_kernel import backend

    skip_uncompiled()
    family = Losses(np, backend("cpu").arrays)
    for shape in SHAPES:
        x, target = [LAYOUTS[layout](numbers(shape, dtype, seed, True)) for seed in (0, 1)]
        for bound in (1.0, 0.25, 3):
            with np.errstate(all="ignore"):
                found, expected = [
                    compute(x, target, bound) for compute in (family._bent, family._huber_terms)
                ]
            assert family._bent != family._huber_terms
            assert np.shape(found) == np.shape(expected)
            np.testing.assert_array_equal(found, expected)
