"""What is checked of a function of the Array API, against `array-api-strict` and NumPy."""

from __future__ import annotations

import inspect
import warnings
from functools import reduce
from typing import Any

import array_api_strict as strict
import numpy as np
from array_api_calls import ALL, Dtype
from array_api_modules import MODULES
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

import dovetail.array_api as xp

TOLERANCES = {"float32": 2e-5, "complex64": 2e-5, "float64": 1e-11, "complex128": 1e-11}
WIDER = (
    "sum",
    "prod",
    "cumulative_sum",
    "cumulative_prod",
    "max",
    "min",
    "sort",
    "argsort",
    "diff",
)
"""Functions of bools, on which the standard is silent: they are computed, as NumPy does."""

# isin takes real numbers too: the standard says of integers that they should be given, not must.
UNREFUSED = (*WIDER, "linalg.trace", "fft.irfftn", "isin")


def reference(name: str) -> Any:
    """Return what computes what a function should give: NumPy where array-api-strict is wrong."""
    return np if name == "isin" else strict


def function(lib: Any, name: str) -> Any:
    return reduce(getattr, name.split("."), lib)


def given_to(lib: Any, value: Any) -> Any:
    """Return an argument of a call as a library takes it."""
    if isinstance(value, np.ndarray | np.generic):
        return np.array(value) if lib is np else lib.asarray(np.array(value))
    if isinstance(value, Dtype):
        return getattr(lib, value.name)
    return [given_to(lib, each) for each in value] if isinstance(value, list) else value


def called(lib: Any, name: str, drawn: Any) -> Any:
    """Return the result of a call, or the exception."""
    args, kwargs = drawn
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            return function(lib, name)(
                *[given_to(lib, each) for each in args],
                **{key: given_to(lib, each) for key, each in kwargs.items()},
            )
    except Exception as error:
        return error


def dtype_name(value: Any) -> str:
    return str(value).rpartition(".")[2]


def difference(name: str, ours: Any, theirs: Any) -> str:
    """Return how two results differ, in words; nothing if they do not."""
    if isinstance(theirs, Exception):
        return ""  # what both refuse is checked apart
    if isinstance(ours, Exception):
        return f"{type(ours).__name__}: {ours}"
    if isinstance(theirs, tuple | list):
        if len(ours) != len(theirs):
            return f"{len(ours)} results instead of {len(theirs)}"
        found = [difference(name, a, b) for a, b in zip(ours, theirs, strict=True)]
        return next((each for each in found if each), "")
    if not hasattr(theirs, "dtype"):
        return "" if ours == theirs else f"{ours!r} instead of {theirs!r}"
    if dtype_name(ours.dtype) != dtype_name(theirs.dtype):
        return f"dtype {ours.dtype} instead of {theirs.dtype}"
    mine, other = np.asarray(ours.cpu()), np.asarray(theirs)
    if mine.shape != other.shape:
        return f"shape {mine.shape} instead of {other.shape}"
    rtol = TOLERANCES.get(dtype_name(ours.dtype), 0)
    with np.errstate(all="ignore"):
        scale = np.max(np.abs(np.nan_to_num(other, posinf=0, neginf=0)), initial=0)
        is_alike = np.isclose(mine, other, rtol, rtol * float(scale) + rtol, equal_nan=True)
    # A complex number of which a part is NaN or infinite says no more than that.
    if mine.dtype.kind == "c":
        is_alike |= ~np.isfinite(mine) & ~np.isfinite(other)
    if not is_alike.all():
        place = tuple(np.argwhere(~is_alike)[0])
        return f"{mine[place]} instead of {other[place]} at {place}"
    return ""


def check_values(name: str, dtype: str, examples: int) -> None:
    """Raise an AssertionError for a call whose result is not the reference's."""
    calls = next(entries[name][1] for entries in MODULES.values() if name in entries)

    @seed(len(name) * 31 + ALL.index(dtype))
    @settings(
        max_examples=examples,
        deadline=None,
        database=None,
        phases=(Phase.generate,),
        suppress_health_check=list(HealthCheck),
    )
    @given(st.data())
    def compare(data: Any) -> None:
        drawn = calls(data.draw, dtype)
        wrong = difference(name, called(xp, name, drawn), called(reference(name), name, drawn))
        assert not wrong, f"{name}{drawn}: {wrong}"

    compare()


def check_refusals(name: str) -> None:
    """Raise an AssertionError for a dtype that the reference refuses by TypeError and we do not."""
    dtypes, calls = next(entries[name] for entries in MODULES.values() if name in entries)

    @settings(max_examples=12, deadline=None, database=None, phases=(Phase.generate,))
    @seed(1)
    @given(st.data(), st.sampled_from([each for each in ALL if each not in dtypes]))
    def compare(data: Any, dtype: str) -> None:
        try:
            drawn = calls(data.draw, dtype)
        except (TypeError, ValueError, KeyError):
            return  # such calls are of numbers
        if isinstance(called(strict, name, drawn), TypeError):
            ours = called(xp, name, drawn)
            assert isinstance(ours, TypeError), f"{name} of {dtype} is {ours!r}"

    if set(dtypes) != set(ALL) and name not in UNREFUSED:
        compare()


def parameters(lib: Any, name: str) -> list[tuple[Any, ...]]:
    found = inspect.signature(function(lib, name)).parameters.values()
    return [
        (each.name, each.kind, None if each.name in ("device", "copy") else each.default)
        for each in found
    ]


def check_signature(name: str) -> None:
    """Raise an AssertionError for parameters that are not the reference's."""
    ours, theirs = parameters(xp, name), parameters(strict, name)
    assert ours == theirs, f"{name}{ours} instead of {theirs}"
