"""Compiled factors, inverses, solutions and spectra of small matrices: the bits, layouts, infos and
errors of the references.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

pytest.importorskip("dovetail_native._core", reason="built without a C compiler")

from dovetail_dispatcher import compiled_code

from .compiled_kernels import kernel
from .layouts import LAYOUTS, numbers

pytestmark = [
    pytest.mark.skipif(not compiled_code.is_in_force(), reason="it is switched off"),
    pytest.mark.cpu_only(reason="the kernels are those of the cpu"),
]

Calls = list[tuple[tuple[Any, ...], dict[str, Any]]]


def symmetric(x: np.ndarray) -> np.ndarray:
    """Return positive-definite matrices made of others."""
    turned = x.conj().swapaxes(-2, -1)
    return (x @ turned + np.eye(x.shape[-1])).astype(x.dtype)


def systems(x: np.ndarray) -> Calls:
    sides = [x, x[..., :1], x.reshape(-1)[: x.shape[-1]], x[..., :1].sum(-1), x[..., :1, :]]
    return [
        *[((x, side), options) for side in sides for options in ({}, {"check_errors": True})],
        ((x, x), {"left": False}),
        ((x[:1], x), {}),
        ((x, x.astype("f4")), {}),
    ]


CALLS: dict[str, Callable[[np.ndarray], Calls]] = {
    "linalg_cholesky_ex": lambda x: [
        *[((made,), {}) for made in (symmetric(x), x)],
        ((symmetric(x),), {"upper": True}),
        ((symmetric(x),), {"check_errors": True}),
    ],
    "linalg_inv_ex": lambda x: [((x,), {}), ((x,), {"check_errors": True}), ((x * 0,), {})],
    "linalg_solve_ex": systems,
    "linalg_qr": lambda x: [((x, *mode), {}) for mode in ((), ("reduced",), ("r",), ("complete",))],
    "_linalg_eigh": lambda x: [
        ((x, *rest), {}) for rest in ((), ("L",), ("U",), ("u", True), ("L", False), ("X",))
    ],
    "_linalg_svd": lambda x: [
        *[((x, *rest), {}) for rest in ((), (True,), (False, True), (False, False))],
        ((x,), {"driver": "gesvd"}),
    ],
}
OF_ANY_SHAPE = ("_linalg_svd", "linalg_qr")
SHAPES = (
    (1, 1),
    (3, 3),
    (5, 5),
    (2, 3, 3),
    (2, 2, 4, 4),
    (3, 5),
    (5, 2),
    (0, 0),
    (2, 0, 3, 3),
    (3,),
)
DTYPES = ("f4", "f8", "c8", "c16", "f2", "i8")


def outcome(call: Callable[..., Any], *args: Any, **options: Any) -> Any:
    """Return what a call returns as bytes with shapes, dtypes and strides, or its error."""
    try:
        with np.errstate(all="ignore"):
            made = call(*args, **options)
    except Exception as error:
        return type(error), str(error)
    return [
        (each.shape, each.dtype, told(each), np.ascontiguousarray(each).tobytes())
        for each in map(np.asarray, made)
    ]


def told(array: np.ndarray) -> list[int]:
    """Return the strides that matter."""
    several = zip(array.strides, array.shape, strict=True)
    return [step for step, size in several if size > 1] if array.size else []


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", CALLS)
def test_results_are_those_of_the_reference(name: str, layout: str) -> None:
    compiled, computed = kernel(name), 0
    for seed, shape in enumerate(SHAPES):
        for dtype in DTYPES:
            x = np.asarray(numbers(shape, "f8", seed, special=False)).astype(dtype)
            x = x + 1j * x[..., ::-1] if dtype[0] == "c" and x.ndim else x
            x = np.asarray(LAYOUTS[layout](x.astype(dtype)))
            if x.ndim < 2 or (name not in OF_ANY_SHAPE and shape[-1] != shape[-2]):
                calls: Calls = [((x,) * (1 + (name == "linalg_solve_ex")), {})]
            else:
                calls = CALLS[name](x) if dtype not in ("f2", "i8") else [((x, x)[:1], {})]
            for args, options in calls:
                found = outcome(compiled, *args, **options)
                assert found == outcome(compiled.__wrapped__, *args, **options), (shape, dtype)
                computed += isinstance(found, list)
    assert computed > 20


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("odd", (0.0, np.nan, np.inf, -1.0))
def test_matrices_that_fail_are_those_of_the_reference(name: str, odd: float) -> None:
    compiled = kernel(name)
    for dtype in DTYPES[:4]:
        batch = np.stack([symmetric(numbers((4, 4), "f8", n, special=False)) for n in range(3)])
        batch[1, :, 2] = batch[1, 2, :] = odd
        for x in (batch.astype(dtype), batch[1].astype(dtype), batch[0].astype(dtype)):
            for args in ((x, x), (x, x[..., 0])) if name == "linalg_solve_ex" else ((x,),):
                found, expected = outcome(compiled, *args), outcome(compiled.__wrapped__, *args)
                assert found == expected, (dtype, x.shape)


def test_large_matrices_are_left_to_the_reference() -> None:
    x = symmetric(np.random.default_rng(0).random((80, 80)))
    for name, calls in CALLS.items():
        for args, options in calls(x)[:1]:
            found = outcome(kernel(name), *args, **options)
            assert found == outcome(kernel(name).__wrapped__, *args, **options)
