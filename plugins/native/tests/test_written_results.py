"""Kernels that write their result into the array that is given as `out`, which may be an input."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

core = pytest.importorskip("dovetail_native._core", reason="built without a C compiler")
dovetail = pytest.importorskip("dovetail", reason="the front end is not installed")

from dovetail_dispatcher import compiled_code  # noqa: E402 - after what may be missing

from .compiled_kernels import kernel  # noqa: E402
from .layouts import LAYOUTS, numbers  # noqa: E402

pytestmark = [
    pytest.mark.skipif(not compiled_code.is_in_force(), reason="it is switched off"),
    pytest.mark.cpu_only(reason="the kernels are those of the cpu"),
]

ONE = "expm1 log1p erf erfc gelu hardsigmoid hardswish mish relu rsqrt sigmoid sign silu"
TWO = "hardswish_backward mish_backward sigmoid_backward silu_backward tanh_backward"
CALLS: dict[str, tuple[int, tuple[Any, ...]]] = {
    **dict.fromkeys(ONE.split(), (1, ())),
    **dict.fromkeys(TWO.split(), (2, ())),
    "add.Tensor": (2, (0.3,)),
    "sub.Tensor": (2, (0.3,)),
    "addcdiv": (3, (0.5,)),
    "addcmul": (3, (0.5,)),
    "celu": (1, (0.7,)),
    "clamp": (1, (-0.5, 0.5)),
    "clamp_max": (1, (0.5,)),
    "clamp_min": (1, (0.5,)),
    "elu": (1, (0.7, 1.1, 0.9)),
    "hardshrink": (1, (0.5,)),
    "hardtanh": (1, (-0.5, 0.5)),
    "leaky_relu": (1, (0.1,)),
    "lerp.Scalar": (2, (0.3,)),
    "pow.Tensor_Scalar": (1, (3,)),
    "rsub.Scalar": (1, (2, 0.5)),
    "softplus": (1, (2.0, 1.0)),
    "softshrink": (1, (0.5,)),
    "threshold": (1, (0.2, 7.0)),
}
SHAPES = ((), (1,), (0,), (3, 0), (4, 5), (3, 31), (3, 32), (2, 3, 40), (2, 1500))
"""Rows on both sides of 32 elements, the fewest that are computed where they are."""
DTYPES = ("f4", "f8", "f2", ml_dtypes.bfloat16)
REPEATING = ("expanded", "one element", "overlapping")


def called(name: str, arrays: list[Any], **keywords: Any) -> Any:
    """Return what the kernel returns, whose last argument some have by keyword alone."""
    numbers_given = CALLS[name][1]
    if name.startswith(("add.", "sub.")):
        return kernel(name)(*arrays, alpha=numbers_given[0], **keywords)
    if name.startswith("addc"):
        return kernel(name)(*arrays, value=numbers_given[0], **keywords)
    return kernel(name)(*arrays, *numbers_given, **keywords)


def same(found: Any, expected: Any) -> None:
    """Check that numbers are equal, zeros have the same sign, and NaN is where it should be."""
    np.testing.assert_array_equal(found, expected)
    signs = [np.signbit(each) & ~np.isnan(each) for each in (found, expected)]
    np.testing.assert_array_equal(*signs)


def operands(name: str, layout: str, shape: tuple[int, ...], dtype: Any) -> list[Any]:
    return [
        LAYOUTS[layout](numbers(shape, "f4", seed, True).astype(dtype))
        for seed in range(CALLS[name][0])
    ]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("name", CALLS)
def test_a_result_has_the_same_bits_in_an_input_and_elsewhere(name: str, dtype: Any) -> None:
    for layout in LAYOUTS:
        for shape in SHAPES:
            given = operands(name, layout, shape, dtype)
            expected = np.array(called(name, given))
            targets = [LAYOUTS["gaps"](np.zeros_like(expected)), np.zeros(expected.shape, dtype)]
            if layout not in REPEATING:
                targets += given  # each is written in turn, and read before it is
            for at, target in enumerate(targets):
                arrays = operands(name, layout, shape, dtype)
                out = target if at < 2 else arrays[at - 2]
                assert called(name, arrays, out=out) is out
                same(out.astype("f8"), expected.astype("f8"))


@pytest.mark.parametrize("name", ("clamp", "relu", "silu", "add.Tensor"))
def test_parts_that_overlap_are_read_before_they_are_written(name: str) -> None:
    x = numbers((90,), "f4", 3, False)
    expected = called(name, [x[:-1].copy()] * CALLS[name][0])
    called(name, [x[:-1]] * CALLS[name][0], out=x[1:])
    np.testing.assert_array_equal(x[1:], expected)


def test_the_reference_computes_what_the_kernel_does_not() -> None:
    whole = np.arange(-3, 4)
    assert kernel("clamp")(whole, -1, 2, out=whole) is whole
    assert whole.tolist() == [-1, -1, -1, 0, 1, 2, 2]
    out = np.zeros(7)
    kernel("clamp")(whole, max=1, out=out)
    assert out.tolist() == [-1, -1, -1, 0, 1, 1, 1]
    with pytest.raises(TypeError, match="cast"):
        kernel("clamp")(whole, 0.5, None, out=whole)
    assert whole.tolist() == [-1, -1, -1, 0, 1, 2, 2]


def test_results_of_other_shapes_are_errors_that_write_nothing() -> None:
    x, out = np.ones((2, 3), "f4"), np.zeros((1, 3), "f4")
    for name, arrays in (("relu", [x]), ("add.Tensor", [x, x[:1]]), ("addcmul", [x, x, x])):
        with pytest.raises(ValueError, match="broadcast"):
            called(name, arrays, out=out)
    fixed = np.ones(3, "f4")
    fixed.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        kernel("clamp")(fixed, 2.0, out=fixed)
    assert (out == 0).all()
    assert (fixed == 1).all()


def test_tensors_are_written_where_they_are() -> None:
    x = dovetail.tensor([[-1.0, 0.5], [2.0, 3.0]])
    row, place = x[1], x.data_ptr()
    assert row.clamp_(max=2.5) is row
    assert x.relu_().tolist() == [[0.0, 0.5], [2.0, 2.5]]
    assert x.data_ptr() == place
    whole = dovetail.tensor([1, 5])
    assert whole.clamp_(2, 3).tolist() == [2, 3]
    with pytest.raises(RuntimeError, match="can't be cast"):
        whole.clamp_(0.5)
    with pytest.raises(RuntimeError, match="single memory location"):
        dovetail.ones(1).expand(3).relu_()


def test_slices_are_written_with_and_without_a_graph() -> None:
    x = dovetail.linspace(-2.0, 2.0, 8)
    x[2:].clamp_(-1.0, 1.0)
    leaf = dovetail.linspace(-2.0, 2.0, 8, requires_grad=True)
    made = leaf * 1
    made[2:].clamp_(-1.0, 1.0)
    assert made.tolist() == x.tolist()
    made.sum().backward()
    assert leaf.grad is not None
    assert leaf.grad.tolist() == [1, 1, 1, 1, 1, 1, 0, 0]


COPIED = ("float32", "float64", "float16", "bfloat16", "int64", "int16", "uint8", "bool")


@pytest.mark.parametrize("to", COPIED)
@pytest.mark.parametrize("source", COPIED)
def test_copies_in_another_dtype_are_those_of_numpy(source: str, to: str) -> None:
    values = [[0.0, 1.5, -2.0, 300.0], [2.0, 3.0, 40000.0, 5.0]]
    given = dovetail.tensor(values).to(getattr(dovetail, source))
    with np.errstate(all="ignore"):
        expected = given.to(getattr(dovetail, to)).tolist()
    for made in (
        dovetail.zeros(2, 4, dtype=getattr(dovetail, to)),
        dovetail.zeros(4, 2, dtype=getattr(dovetail, to)).t(),
        dovetail.zeros(2, 8, dtype=getattr(dovetail, to))[:, ::2],
    ):
        made.copy_(given)
        assert made.tolist() == expected
        made.copy_(given[1, 1])
        assert made.tolist() == [[made[0, 0].item()] * 4] * 2
