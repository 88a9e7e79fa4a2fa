"""`dovetail.array_api` is the Array API: signatures, results, dtypes and errors of every function.

`DOVETAIL_CALLS=100` draws more calls of each function, of all dtypes.
"""

from __future__ import annotations

import os
import random
from typing import Any

import numpy as np
import pytest

import dovetail
import dovetail.array_api as xp

pytest.importorskip("array_api_strict", reason="array-api-strict is the reference")

from array_api_checks import check_refusals, check_signature, check_values
from array_api_modules import MODULES

CALLS = int(os.environ.get("DOVETAIL_CALLS", "0"))
ENTRIES = {name: dtypes for entries in MODULES.values() for name, (dtypes, _) in entries.items()}
SEED = int(os.environ.get("DOVETAIL_FIRST_CALL", "0"))


@pytest.mark.parametrize("name", ENTRIES)
def test_a_function_gives_what_the_standard_says(name: str) -> None:
    dtypes = ENTRIES[name]
    if not CALLS:
        dtypes = tuple(random.Random(f"{name} {SEED}").sample(dtypes, min(2, len(dtypes))))
    for dtype in dtypes:
        check_values(name, dtype, CALLS or 3)


@pytest.mark.parametrize("name", ENTRIES)
def test_a_function_has_the_parameters_of_the_standard(name: str) -> None:
    check_signature(name)


@pytest.mark.parametrize(
    "name", random.Random(SEED).sample(list(ENTRIES), 20 if not CALLS else 170)
)
def test_a_function_refuses_dtypes_by_a_type_error(name: str) -> None:
    check_refusals(name)


def test_every_name_of_the_standard_is_there() -> None:
    import array_api_strict

    flags = ("array_api_strict", "ArrayAPIStrictFlags", "__version__", "Device")
    names = [n for n in array_api_strict.__all__ if not any(flag in n for flag in flags)]
    assert [name for name in names if not hasattr(xp, name)] == []
    assert set(array_api_strict.linalg.__all__) <= {*dir(xp.linalg)}
    assert set(array_api_strict.fft.__all__) <= {*dir(xp.fft)}


def test_a_tensor_says_what_its_namespace_is() -> None:
    assert dovetail.ones(2).__array_namespace__() is xp
    assert dovetail.ones(2).__array_namespace__(api_version="2025.12") is xp
    with pytest.raises(ValueError, match="unrecognized Array API version"):
        dovetail.ones(2).__array_namespace__(api_version="1999.01")


def test_the_namespace_says_what_it_has() -> None:
    info = xp.__array_namespace_info__()
    assert info.default_device() in info.devices()
    assert info.capabilities()["data-dependent shapes"]
    assert set(info.dtypes(kind="unsigned integer")) == {"uint8", "uint16", "uint32", "uint64"}
    assert set(info.dtypes(kind=("bool", "real floating"))) == {"bool", "float32", "float64"}
    assert info.default_dtypes()["integral"] is dovetail.int64


SPECIAL: dict[str, Any] = {
    "arrays without dimensions promote": lambda: (
        xp.add(xp.asarray(1.0, dtype=xp.float64), xp.ones(2, dtype=xp.float32)).dtype,
        xp.float64,
    ),
    "sums of uint8": lambda: (xp.sum(xp.ones(3, dtype=xp.uint8)).dtype, xp.uint64),
    "uint16 beside uint8": lambda: (
        xp.add(xp.ones(1, dtype=xp.uint16), xp.ones(1, dtype=xp.uint8)).dtype,
        xp.uint16,
    ),
    "int8 beside uint8": lambda: (xp.result_type(xp.int8, xp.uint8), xp.int16),
    "sign of NaN": lambda: (bool(xp.isnan(xp.sign(xp.asarray(xp.nan)))), True),
    "clip without bounds": lambda: (xp.clip(xp.asarray([3, 1])).tolist(), [3, 1]),
    "a range backwards": lambda: (tuple(xp.arange(1, 0).shape), (0,)),
    "places": lambda: (type(xp.nonzero(xp.asarray([0, 1]))), tuple),
    "finfo": lambda: (xp.finfo(xp.complex64).dtype, xp.float32),
    "expm1 of infinity": lambda: (
        xp.expm1(xp.asarray(complex(np.inf, 0))).tolist(),
        complex(np.inf),
    ),
    "a device": lambda: (xp.ones(2).to_device("cpu").device, xp.Device("cpu")),
}


@pytest.mark.parametrize("name", SPECIAL)
def test_what_differs_from_pytorch_is_the_standards(name: str) -> None:
    found, expected = SPECIAL[name]()
    assert found == expected


def test_signed_integers_and_uint64_do_not_promote() -> None:
    with pytest.raises(TypeError, match="no integer dtype holds both"):
        xp.add(xp.ones(1, dtype=xp.uint64), xp.ones(1, dtype=xp.int8))


def test_gradients_go_through_functions_of_the_namespace() -> None:
    x = dovetail.tensor([1.0, 2.0], requires_grad=True)
    xp.sum(xp.multiply(xp.exp(x), 2.0)).backward()
    assert x.grad.tolist() == pytest.approx((2 * np.exp([1.0, 2.0])).tolist(), rel=1e-6)
