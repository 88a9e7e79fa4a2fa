"""``repr`` of tensors, compared with PyTorch character by character (but for the name of the
package).
"""

from __future__ import annotations

import importlib
import math
import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import torch

import dovetail
import dovetail_aten

SHAPES = [
    (),
    (1,),
    (3,),
    (0,),
    (0, 3),
    (2, 0),
    (2, 3),
    (2, 2, 3),
    (50,),
    (1001,),
    (40, 40),
    (3, 400),
    (7, 7, 30),
    (1200, 1),
]
DTYPES = [
    "float32",
    "float64",
    "float16",
    "bfloat16",
    "int64",
    "int32",
    "int8",
    "uint8",
    "bool",
    "complex64",
    "complex128",
]
SCALES = [1.0, 1000.0, 1e-5, 1e9, 0.1]
SPECIAL = [
    [1.0, np.inf], [np.nan, np.nan], [0.0, 0.0], [-0.0, 1.0], [-np.inf, 1.5], [1e8 + 1, 1.0],
    [1e-4, 1.0], [1e-5, 1.0],
    [1001.0, 1.0], [1000.0, 1.0], [np.nan, 1.5, 1e-6], [1e10], [0.0], [123456.0], [1.5, 2000.0],
    [-1.0], [1e-45, 1],
    [-np.inf, np.nan], [1 + 2j, -1 - 2j], [complex(np.nan, 1), 1j], [complex(1, -np.inf)],
    [complex(1, -0.0)],
]  # fmt: skip
OPTIONS: list[dict[str, Any]] = [
    {"precision": 2}, {"threshold": 10}, {"edgeitems": 1, "threshold": 5}, {"linewidth": 40},
    {"profile": "short"},
    {"sci_mode": True}, {"sci_mode": False}, {"precision": 8, "sci_mode": True},
]  # fmt: skip


def sample(shape: tuple[int, ...], dtype: str, scale: float) -> Any:
    numbers = np.random.default_rng(0).standard_normal(shape) * scale
    if dtype == "bool":
        return torch.from_numpy(np.asarray(numbers > 0))
    if "complex" in dtype:
        numbers = numbers + 1j * np.random.default_rng(1).standard_normal(shape)
    elif "int" in dtype:
        numbers = np.clip(numbers, 0, 100)
    return torch.from_numpy(np.asarray(numbers)).to(getattr(torch, dtype))


def ours(tensor: Any) -> Any:
    if tensor.dtype is torch.bfloat16:
        return dovetail_aten.from_numpy(tensor.float().numpy()).bfloat16()
    return dovetail_aten.from_numpy(tensor.numpy())


def unwrapped(text: str) -> str:
    """Return the text with its dtype on the last line, where a name of another length may not have
    fitted.
    """
    return re.sub(r",\s+dtype=", ", dtype=", text).replace("torch.", "dovetail.")


@pytest.fixture
def printoptions() -> Iterator[Any]:
    def choose(**options: Any) -> None:
        torch.set_printoptions(**options)
        dovetail_aten.set_printoptions(**options)

    yield choose
    choose(profile="default")


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES)
def test_a_tensor_prints_as_in_pytorch(shape: tuple[int, ...], dtype: str) -> None:
    for scale in SCALES:
        tensor = sample(shape, dtype, scale)
        assert unwrapped(repr(ours(tensor))) == unwrapped(repr(tensor))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("shape", [(3,), (1001,), (2, 3)])
def test_whole_floats_print_without_decimals(shape: tuple[int, ...], dtype: str) -> None:
    tensor = sample(shape, dtype, 1000.0).round()
    assert unwrapped(repr(ours(tensor))) == unwrapped(repr(tensor))


@pytest.mark.parametrize("numbers", SPECIAL, ids=str)
def test_special_numbers_print_as_in_pytorch(numbers: list[Any]) -> None:
    tensor = torch.tensor(numbers)
    assert repr(ours(tensor)) == repr(tensor)


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_print_options_mean_what_they_mean_in_pytorch(
    options: dict[str, Any], printoptions: Any
) -> None:
    printoptions(**options)
    for shape in SHAPES:
        for dtype in ("float32", "int64", "complex64"):
            tensor = sample(shape, dtype, 1.0)
            assert unwrapped(repr(ours(tensor))) == unwrapped(repr(tensor))


@pytest.mark.parametrize("shape", [(), (2, 3), (0,)])
def test_a_meta_tensor_prints_its_size(shape: tuple[int, ...]) -> None:
    assert repr(dovetail_aten.zeros(shape, device="meta")) == repr(
        torch.zeros(shape, device="meta")
    )


@pytest.mark.cpu_only(reason="the texts name no device")
@pytest.mark.parametrize("shape", [(0,), (3,), (2, 30), (2, 2, 2)])
def test_classes_of_others_print_themselves_by_the_parts_of_texts(shape: tuple[int, ...]) -> None:
    def texts(lib: Any) -> list[str]:
        parts = importlib.import_module(f"{lib.__name__}._tensor_str")
        x = lib.arange(math.prod(shape), dtype=lib.float32).reshape(shape)
        numbers = parts._tensor_str(x, 7)
        long = ["a=1", "b=" + "x" * 70, "c=2"]
        return [
            numbers,
            parts._add_suffixes(f"Classic({numbers}", long, 8, False),
            parts._add_suffixes("Classic(", long, 8, True),
            parts._add_suffixes("Classic(", [], 8, True),
            parts._str_intern(x, tensor_contents="..."),
            str(parts.PRINT_OPTS.threshold),
        ]

    assert texts(dovetail) == texts(torch)
