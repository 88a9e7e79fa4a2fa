"""A number that the dtype of another operand, or of an argument, cannot hold is used as in PyTorch,
or refused as there: it is never cut to that dtype first.
"""

from __future__ import annotations

import itertools
import re
from typing import Any

import numpy as np
import pytest

import dovetail
from dovetail.testing import op_infos
from dovetail_testing.checks.samples import dtypes_of, samples_of

torch = pytest.importorskip("torch", reason="PyTorch is the oracle of these tests")

DTYPES = ("bool", "uint8", "int8", "int16", "int64", "float16", "float32", "complex64")
INTS = re.compile(r"(Optional\[)?List\[int\]\]?")
NUMBERS = (3, 200, 300, -1, 2**40, 2.5, True)


def outcome(lib: Any, function: Any) -> Any:
    """Return the dtype and the values of a result, or that there is an error."""
    try:
        result = function(lib)
    except (RuntimeError, TypeError):
        return "refused"
    return str(result.dtype).split(".")[1], np.asarray(result.cpu().numpy()).tolist()


def differing(calls: dict[str, Any]) -> dict[str, tuple[Any, Any]]:
    """Return the outcomes of the calls in which the libraries differ."""
    both = {name: (outcome(dovetail, f), outcome(torch, f)) for name, f in calls.items()}
    assert sum(theirs != "refused" for _, theirs in both.values()) > len(both) / 3
    return {name: each for name, each in both.items() if not agree(*each)}


def agree(ours: Any, theirs: Any) -> bool:
    if "refused" in (ours, theirs):
        return bool(ours == theirs)
    return ours[0] == theirs[0] and np.allclose(ours[1], theirs[1], 1e-3, equal_nan=True)


@pytest.mark.parametrize("rounding", [None, "floor", "trunc"])
@pytest.mark.parametrize("form", ["number", "tensor"])
def test_quotients_divide_by_the_number_that_is_given(rounding: str | None, form: str) -> None:
    def quotient(lib: Any, dtype: str, value: Any, is_written: bool) -> Any:
        x = lib.tensor([7, 0, 3]).to(getattr(lib, dtype))
        divisor = value if form == "number" else lib.tensor(value)
        return (x.div_ if is_written else x.div)(divisor, rounding_mode=rounding)

    cases = itertools.product(DTYPES, NUMBERS, (False, True))
    assert not differing({str(case): lambda lib, case=case: quotient(lib, *case) for case in cases})


@pytest.mark.parametrize("name", ["add", "sub", "rsub"])
def test_factors_that_do_not_fit_are_refused(name: str) -> None:
    def scaled(lib: Any, dtype: str, alpha: Any, other: Any) -> Any:
        x = lib.tensor([7, 0, 3]).to(getattr(lib, dtype))
        return getattr(lib, name)(x, x if other is None else other, alpha=alpha)

    factors = [n for n in NUMBERS if n is not True]
    cases = [
        *itertools.product([d for d in DTYPES if d != "bool"], factors, (None, 2)),
        *itertools.product(["float16", "float32"], [1e300, -1e300, 65504.0], (None, 2)),
    ]
    assert not differing({str(case): lambda lib, case=case: scaled(lib, *case) for case in cases})


def test_outer_products_are_computed_in_the_dtype_of_the_sum() -> None:
    def product(lib: Any, *dtypes: str) -> Any:
        own, one, other = (getattr(lib, each) for each in dtypes)
        vectors = lib.tensor([100, 3]).to(one), lib.tensor([100, 7]).to(other)
        return lib.addr(lib.ones(2, 2).to(own), *vectors, beta=2, alpha=3)

    cases = itertools.product(DTYPES, DTYPES, DTYPES)
    assert not differing({str(case): lambda lib, case=case: product(lib, *case) for case in cases})


def test_tensors_of_floats_are_no_lists_of_ints() -> None:
    cpu, tried = dovetail.device("cpu"), 0
    for info in op_infos("aten"):
        declared = info.operator.schema.arguments
        lists = [each.name for each in declared if INTS.fullmatch(str(each.real_type))]
        dtype = next(iter(sorted(dtypes_of(info, "out", cpu), key=lambda d: d.name != "float32")))
        sample = next(iter(samples_of(info, "out", cpu, dtype)), None) if lists else None
        if sample is None:
            continue
        names = [each.name for each in declared]
        given = dict(zip(names, sample.arguments, strict=False)) | sample.kwargs
        floats = [dovetail.tensor([1.0, 2.0]), [dovetail.tensor(2.5), 1], dovetail.tensor([2.5])]
        for name, value in itertools.product(lists, floats):
            with pytest.raises((RuntimeError, TypeError)):
                info.operator.handle(**given | {name: value})
            tried += 1
    assert tried > 300
    truncated = torch.ops.aten.avg_pool2d(torch.ones(1, 4, 4), [torch.tensor(2.5), 2])
    assert tuple(truncated.shape) == (1, 2, 2)  # in PyTorch


@pytest.mark.parametrize("number", [0j, 2 + 0j, 1j, 1 - 2j])
@pytest.mark.parametrize("name", ["var", "std", "var_mean", "std_mean", "histc"])
def test_complex_numbers_are_real_numbers_if_nothing_is_lost(name: str, number: complex) -> None:
    def called(lib: Any) -> Any:
        x = lib.tensor([1.0, 2.0, 4.0, 7.0])
        if name == "histc":
            return lib.histc(x, 4, max=number)
        result = getattr(lib, name)(x, 0, correction=number)
        return result if isinstance(result, lib.Tensor) else result[0]

    assert agree(*[outcome(lib, called) for lib in (dovetail, torch)])


def test_powers_of_two_that_single_precision_cannot_hold_are_applied_as_in_pytorch() -> None:
    mantissas, exponents = zip(
        *itertools.product([1e-38, -1e-30, 1.5, 3e38, 0.0], range(-300, 301, 7)), strict=True
    )
    found, expected = [
        lib.ldexp(lib.tensor(mantissas), lib.tensor(exponents)).tolist()
        for lib in (dovetail, torch)
    ]
    assert found == expected
    assert 0 < found[exponents.index(197)] < 1e22  # though the power is infinite


def test_airy_ai_of_great_numbers_is_as_in_pytorch() -> None:
    numbers = [150.0, 250.0, 1e7, 1e300, float("inf"), float("nan")]
    found, expected = [
        lib.special.airy_ai(lib.tensor(numbers, dtype=lib.float64)) for lib in (dovetail, torch)
    ]
    np.testing.assert_allclose(found.numpy(), expected.numpy(), 1e-9, 1e-300)
