"""Places and counts against their references."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

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

SHAPES = ((), (1,), (7,), (0,), (2, 3), (4, 1), (3, 1, 2), (0, 3), (2, 3, 4))
DTYPES = ("f4", "f8", "f2", "i8", "i4", "u1", "?")
TRIALS = 12


def made(layout: str, shape: tuple[int, ...], dtype: str, seed: int) -> Any:
    """Return numbers of which many are equal, with NaN and zeros of both signs among them."""
    x = np.round(numbers(shape, "f4", seed, special=True))
    x = np.where(np.abs(x) > 5, np.float32("nan") if dtype[0] == "f" else 3, x)
    x = x if dtype[0] == "f" else np.nan_to_num(x)
    with np.errstate(all="ignore"):
        return np.asarray(LAYOUTS[layout](np.asarray(x.astype(dtype))))


def searched(x: Any, drawn: random.Random) -> tuple[list[Any], dict[str, Any]]:
    sequence = np.sort(x.reshape(-1)) if drawn.random() < 0.8 or not x.ndim else np.sort(x, -1)
    flags = {"right": drawn.random() < 0.5, "out_int32": drawn.random() < 0.2}
    flags["side"] = drawn.choice((None, None, "right"))
    if flags["side"]:
        flags["right"] = True
    return [sequence, drawn.choice((x, x[..., :1] if x.ndim else x, x.astype("f8")))], flags


ARGUMENTS: dict[str, Callable[[Any, random.Random], tuple[list[Any], dict[str, Any]]]] = {
    "nonzero": lambda x, d: ([x], {}),
    "searchsorted.Tensor": searched,
    "bincount": lambda x, d: ([np.abs(x), *d.choice(([], [None, 9], [None, -1]))], {}),
    "equal": lambda x, d: (
        [x, d.choice((x, x.copy(), x[:1] if x.ndim else x, -x if x.dtype != bool else x))],
        {},
    ),
}


def outcome(call: Callable[..., Any], args: list[Any], kwargs: dict[str, Any]) -> Any:
    try:
        results = call(*args, **kwargs)
    except Exception as error:
        return type(error), str(error)
    if isinstance(results, bool):
        return "a bool", results, type(results)
    results = results if isinstance(results, tuple) else (results,)
    return [
        (
            each.shape,
            each.dtype,
            str(each.tolist()),
            [s for s, n in zip(each.strides, each.shape, strict=True) if n > 1 and each.size],
        )
        for each in results
    ]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", ARGUMENTS)
def test_results_are_those_of_the_reference(name: str, layout: str) -> None:
    compiled, drawn, fitted = kernel(name), random.Random(f"{name} {layout}"), 0
    for number, shape in enumerate(SHAPES):
        for dtype in DTYPES:
            x = made(layout, shape, dtype, number)
            for _ in range(TRIALS):
                args, kwargs = ARGUMENTS[name](x, drawn)
                found = outcome(compiled, args, kwargs)
                assert found == outcome(compiled.__wrapped__, args, kwargs), (shape, dtype, args)
                fitted += not (isinstance(found, tuple) and len(found) == 2)
    assert fitted > 60


@pytest.mark.parametrize("name", ("float16", "bfloat16"))
def test_halves_and_truth_values_are_equal_by_value(name: str) -> None:
    ml_dtypes = pytest.importorskip("ml_dtypes")
    dtype = np.dtype(getattr(ml_dtypes, name, name))
    every = np.arange(1 << 16, dtype="u2").view(dtype)
    compiled = kernel("equal")
    for x in np.array([0.0, -0.0, 1.0, np.inf, -np.inf, np.nan, 1e-6]).astype(dtype):
        for other in (*every[::97], dtype.type(0.0), dtype.type(-0.0), -x, x):
            pair = np.array([x, x]), np.array([x, other])
            with np.errstate(all="ignore"):
                assert compiled(*pair) == bool((pair[0] == pair[1]).all())
    truths = np.array([0, 1, 2, 255], "u1").view("?")
    assert compiled(truths, np.array([False, True, True, True]))
    assert not compiled(truths, np.array([False, True, True, False]))
