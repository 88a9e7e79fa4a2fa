"""The compiled step of an LSTM against its reference; plugins/cpu/tests has whole sequences."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

pytest.importorskip("dovetail_native._core", reason="built without a C compiler")

from .compiled_kernels import UNITS, close, kernel
from .layouts import LAYOUTS, numbers


def operands(shape, dtype, special=False, layout="C order"):
    """Return two rows of gates, a cell state and two biases."""
    gates = (*shape[:-1], 4 * shape[-1])
    made = [
        numbers(each, dtype, seed, special)
        for seed, each in enumerate((gates, gates, shape, gates[-1:], gates[-1:]))
    ]
    return [LAYOUTS[layout](each) for each in made]


@pytest.mark.parametrize("special", (False, True))
@pytest.mark.parametrize("dtype", ("f4", "f8"))
@pytest.mark.parametrize("shape", ((3,), (2, 3), (4, 64), (2, 3, 5), (0, 4)))
def test_a_step(shape, dtype, special):
    compiled = kernel("_thnn_fused_lstm_cell")
    given = operands(shape, dtype, special)
    held = [each.copy() for each in given]
    for biases in ((), (None, given[4]), given[3:]):
        found = compiled(*given[:3], *biases)
        with np.errstate(all="ignore"):
            expected = compiled.__wrapped__(*given[:3], *biases)
        for one, other in zip(found, expected, strict=True):
            assert one.flags.c_contiguous
            close(one, other, 16 * UNITS[dtype], 1)
    for one, other in zip(given, held, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_layouts_have_the_same_bits(layout):
    compiled = kernel("_thnn_fused_lstm_cell")
    given = operands((5, 7), "f4", layout=layout)
    copies = [each.copy("C") for each in given]
    for one, other in zip(compiled(*given), compiled(*copies), strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("dtype", (np.float16, ml_dtypes.bfloat16))
def test_half_precision_is_single_precision_rounded_once(dtype):
    compiled = kernel("_thnn_fused_lstm_cell")
    given = [each.astype(dtype) for each in operands((5, 7), "f4")]
    wide = compiled(*[each.astype("f4") for each in given])
    for one, other in zip(compiled(*given), wide, strict=True):
        np.testing.assert_array_equal(one, other.astype(dtype))


@pytest.mark.parametrize("dtype", ("f4", "f8"))
def test_the_hyperbolic_tangent_has_an_error_of_a_few_units(dtype):
    compiled = kernel("_thnn_fused_lstm_cell")
    random = np.random.default_rng(0)
    x = np.concatenate([random.normal(size=4000) * 10.0**power for power in range(-8, 3)])
    x = np.concatenate([x, [0.0, -0.0, 1e-40, -1e-40]]).astype(dtype)
    gates = np.zeros((4, x.size), dtype)
    gates[2] = x
    nothing = np.full(4 * x.size, -0.0, dtype)  # keeps signs of zeros
    found = compiled(gates.reshape(-1), nothing, np.zeros(x.size, dtype))[2]
    found, exact = found.reshape(4, -1)[2], np.tanh(x.astype(np.longdouble))
    units = np.abs(found - exact) / np.spacing(np.abs(exact).astype(dtype))
    assert units.max() <= 3
    np.testing.assert_array_equal(np.signbit(found), np.signbit(x))


def test_what_does_not_fit_is_refused():
    compiled = kernel("_thnn_fused_lstm_cell")
    gates, other, state, bias, _ = operands((2, 3), "f4")
    for wrong in (
        (gates[:, :-1], other, state),
        (gates, other[:1], state),
        (gates, other, state[:, :-1]),
        (gates, other.astype("f8"), state),
        (gates, other, state, bias[:-1]),
    ):
        with pytest.raises(RuntimeError):
            compiled(*wrong)
