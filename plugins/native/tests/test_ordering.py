"""Sorted, selected and distinct elements against their references."""

from __future__ import annotations

import random
from collections.abc import Callable
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

SHAPES = ((), (1,), (7,), (0,), (2, 3), (4, 1), (3, 1, 2), (0, 3), (2, 3, 4), (2, 2, 3, 2))
SHAPES += ((2, 32), (2, 33), (3, 65), (300, 2))
"""Rows on both sides of 32 keys, the most that are sorted by insertion."""
DTYPES = ("f4", "f8", "f2", "bfloat16", "i8", "i4", "i2", "i1", "u8", "u4", "u2", "u1", "?")

Arguments = tuple[list[Any], dict[str, Any]]


def elements(layout: str, shape: tuple[int, ...], dtype: str, seed: int) -> Any:
    """Return numbers of which many are equal, with all that is special to the dtype."""
    x = np.round(numbers(shape, "f4", seed, special=True))
    with np.errstate(all="ignore"):
        if dtype == "bfloat16":
            x = x.astype(ml_dtypes.bfloat16)
        elif dtype[0] != "f":
            x = np.asarray(np.nan_to_num(x, posinf=5, neginf=3)).astype("i8").astype(dtype)
        else:
            x = x.astype(dtype)
    return np.asarray(LAYOUTS[layout](np.asarray(x)))


def axis(x: Any, drawn: random.Random) -> int:
    return drawn.randrange(-x.ndim - 1, x.ndim + 1)


def flag(drawn: random.Random) -> bool:
    return drawn.random() < 0.5


def along(x: Any, drawn: random.Random) -> Arguments:
    return [x, axis(x, drawn), flag(drawn)], {}


ARGUMENTS: dict[str, Callable[[Any, random.Random], Arguments]] = {
    "topk": lambda x, d: ([x, d.choice((-1, 0, 1, 2, 3, 30, 33, 65)), axis(x, d), flag(d)], {}),
    "sort": lambda x, d: ([x, *d.choice(([], [axis(x, d), flag(d)]))], {}),
    "sort.stable": lambda x, d: (
        [x],
        {"stable": flag(d), **d.choice(({}, {"dim": axis(x, d), "descending": flag(d)}))},
    ),
    "kthvalue": lambda x, d: ([x, d.choice((-1, 0, 1, 2, 9, 33)), axis(x, d), flag(d)], {}),
    "_unique2": lambda x, d: ([x, *d.choice(([], [True, flag(d), flag(d)]))], {}),
    "median": lambda x, d: ([x], {}),
    "nanmedian": lambda x, d: ([x], {}),
    "median.dim": along,
    "nanmedian.dim": along,
    "mode": along,
}


def outcome(call: Callable[..., Any], given: Arguments) -> Any:
    try:
        results = call(*given[0], **given[1])
    except Exception as error:
        return type(error), str(error)
    return [
        (
            each.shape,
            each.dtype,
            each.tobytes(),
            [s for s, n in zip(each.strides, each.shape, strict=True) if n > 1 and each.size],
        )
        for each in (results if isinstance(results, tuple) else (results,))
    ]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", ARGUMENTS)
def test_results_have_the_bits_of_the_reference(name: str, dtype: str) -> None:
    compiled, drawn, fitted = kernel(name), random.Random(f"{name} {dtype}"), 0
    for layout in LAYOUTS:
        for number, shape in enumerate(SHAPES):
            x = elements(layout, shape, dtype, number)
            for _ in range(3):
                given = ARGUMENTS[name](x, drawn)
                found = outcome(compiled, given)
                assert found == outcome(compiled.__wrapped__, given), (layout, shape, given)
                fitted += isinstance(found, list)
    assert fitted > 60


def long_rows() -> dict[str, Any]:
    """Return long rows whose keys have few, some and all bits, and lie in orders that are slow for
    selection by pivots.
    """
    random = np.random.default_rng(7)
    count = 9000
    pipe = np.concatenate([np.arange(count // 2), np.arange(count - count // 2)[::-1]])
    return {
        "few integers": random.integers(-900, 900, count),
        "all integers": random.integers(-(2**63), 2**63 - 1, count),
        "far apart": np.where(random.random(count) < 0.5, -(2**62), 2**62) + random.integers(0, 9),
        "one number": np.full(count, 3.0),
        "rising": np.arange(count).astype("f4"),
        "falling": np.arange(count)[::-1].astype("f8"),
        "up and down": pipe.astype("f4"),
        "single precision": random.normal(size=count).astype("f4"),
        "double precision": random.normal(size=count),
        "with NaN": np.where(random.random(count) < 0.4, np.nan, random.normal(size=count)),
    }


@pytest.mark.parametrize("kind", long_rows())
def test_long_rows_have_the_bits_of_the_reference(kind: str) -> None:
    x = long_rows()[kind]
    for count in (4095, 4096, 9000):
        row = x[:count]
        calls: list[tuple[str, Arguments]] = [
            ("sort", ([row, 0, descending], {})) for descending in (False, True)
        ]
        calls += [("topk", ([row, k, 0, k % 3 > 0], {})) for k in (1, 2, 16, 255, 256, 600, count)]
        calls += [("kthvalue", ([row, k], {})) for k in (1, 2, 100, count // 2, count)]
        calls += [(name, ([row, 0], {})) for name in ("median.dim", "nanmedian.dim", "mode")]
        calls += [("_unique2", ([row, True, True, True], {}))]
        for name, given in calls:
            compiled = kernel(name)
            found = outcome(compiled, given)
            assert found == outcome(compiled.__wrapped__, given), (name, count)
            assert isinstance(found, list)


def test_indices_of_equal_elements_rise_in_both_directions() -> None:
    x = dovetail.tensor([2.0, 1.0, 2.0, -0.0, 0.0, 1.0] * 20)
    for descending in (False, True):
        values, indices = x.sort(descending=descending)
        equal = values[1:] == values[:-1]
        assert bool((indices[1:] > indices[:-1])[equal].all())
