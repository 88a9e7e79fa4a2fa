"""`dovetail.signal.windows` and `hann_window` with its kin: SciPy's values, and errors."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.signal import get_window

import dovetail
from dovetail.signal import windows

WINDOWS = {
    "bartlett": ({}, "bartlett"),
    "blackman": ({}, "blackman"),
    "cosine": ({}, "cosine"),
    "exponential": ({"tau": 2.0}, ("exponential", None, 2.0)),
    "gaussian": ({"std": 1.5}, ("gaussian", 1.5)),
    "general_cosine": ({"a": [0.5, 0.3, 0.2]}, ("general_cosine", [0.5, 0.3, 0.2])),
    "general_hamming": ({"alpha": 0.6}, ("general_hamming", 0.6)),
    "hamming": ({}, "hamming"),
    "hann": ({}, "hann"),
    "kaiser": ({"beta": 8.0}, ("kaiser", 8.0)),
    "nuttall": ({}, "nuttall"),
}
OPERATORS = {"bartlett": (), "blackman": (), "hamming": (), "hann": (), "kaiser": (8.0,)}


@pytest.mark.parametrize("name", WINDOWS)
@pytest.mark.parametrize("length", [1, 2, 7, 8])
@pytest.mark.parametrize("sym", [True, False])
def test_a_window_is_that_of_scipy(name, length, sym):
    keywords, kind = WINDOWS[name]
    made = getattr(windows, name)(length, sym=sym, dtype=dovetail.float64, **keywords)
    np.testing.assert_allclose(
        made.cpu().numpy(), get_window(kind, length, fftbins=not sym), atol=1e-14
    )


@pytest.mark.parametrize("name", OPERATORS)
@pytest.mark.parametrize("periodic", [True, False])
def test_the_operators_give_the_same_windows(name, periodic):
    made = getattr(dovetail, f"{name}_window")(
        9, periodic, *OPERATORS[name], dtype=dovetail.float64
    )
    keywords = {"beta": 8.0} if name == "kaiser" else {}
    other = getattr(windows, name)(9, sym=not periodic, dtype=dovetail.float64, **keywords)
    np.testing.assert_allclose(made.cpu().numpy(), other.cpu().numpy(), atol=1e-14)


@pytest.mark.parametrize("name", WINDOWS)
def test_a_window_of_nothing_is_empty_and_may_require_grad(name):
    made = getattr(windows, name)(0, requires_grad=True, **WINDOWS[name][0])
    assert made.shape == (0,)
    assert made.requires_grad
    assert made.is_leaf


@pytest.mark.parametrize(
    ("name", "arguments", "error", "text"),
    [
        ("hann", {"M": -1}, ValueError, "requires non-negative window length, got M=-1"),
        ("hann", {"M": 3, "dtype": dovetail.int64}, ValueError, "expects float32 or float64"),
        ("hann", {"M": 3, "width": 2}, TypeError, "unexpected keyword argument 'width'"),
        ("gaussian", {"M": 3, "std": 0}, ValueError, "Standard deviation must be positive"),
        ("exponential", {"M": 3, "tau": -1}, ValueError, "Tau must be positive, got: -1"),
        ("exponential", {"M": 3, "center": 1}, ValueError, "Center must be None for symmetric"),
        ("kaiser", {"M": 3, "beta": -1}, ValueError, "beta must be non-negative, got: -1"),
        ("general_cosine", {"M": 3, "a": []}, ValueError, "Coefficients cannot be empty"),
        ("general_cosine", {"M": 3, "a": None}, TypeError, "Coefficients must be a list/tuple"),
    ],
)
def test_parameters_out_of_range_are_refused(name, arguments, error, text):
    with pytest.raises(error, match=text):
        getattr(windows, name)(**arguments)


def test_a_window_operator_names_the_length_and_the_dtype_that_it_refuses():
    with pytest.raises(RuntimeError, match="hann_window requires non-negative window_length"):
        dovetail.hann_window(-1)
    with pytest.raises(RuntimeError, match="kaiser_window expects floating point dtypes"):
        dovetail.kaiser_window(3, dtype=dovetail.int64)
