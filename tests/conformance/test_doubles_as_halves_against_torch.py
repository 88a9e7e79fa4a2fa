"""float64 converted to half precision: to float16 it is rounded once, where PyTorch rounds to
float32 first; to bfloat16 both round twice.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import dovetail


def _copied(lib: Any, values: np.ndarray, kind: str) -> Any:
    return lib.empty(len(values), dtype=getattr(lib, kind)).copy_(lib.tensor(values))


CONVERSIONS: dict[str, Callable[[Any, np.ndarray, str], Any]] = {
    "to": lambda lib, values, kind: lib.tensor(values).to(getattr(lib, kind)),
    "tensor of an array": lambda lib, values, kind: lib.tensor(values, dtype=getattr(lib, kind)),
    "copy_": _copied,
}


def _beside_halfway(kind: str) -> np.ndarray:
    """Return the numbers halfway between neighbours of a dtype, and the float64 beside them."""
    bits = torch.arange(1 << 16, dtype=torch.int32).to(torch.int16)
    numbers = bits.view(getattr(torch, kind)).double().numpy()
    numbers = np.sort(numbers[np.isfinite(numbers)])
    halfway = (numbers[1:] + numbers[:-1]) / 2
    return np.concatenate([np.nextafter(halfway, end) for end in (np.inf, -np.inf)] + [halfway])


@pytest.mark.parametrize("how", CONVERSIONS)
def test_float16_is_the_nearest_number(how: str) -> None:
    values = _beside_halfway("float16")
    ours, theirs = [
        CONVERSIONS[how](lib, values, "float16").double().cpu().numpy() for lib in (dovetail, torch)
    ]
    twice = torch.tensor(values).float().half().double().numpy()
    np.testing.assert_array_equal(ours, values.astype(np.float16).astype(np.float64))
    np.testing.assert_array_equal(theirs, twice)
    assert (np.abs(ours - values) <= np.abs(theirs - values)).all()
    assert (ours != theirs).any()


@pytest.mark.parametrize("how", CONVERSIONS)
def test_bfloat16_is_pytorchs(how: str) -> None:
    values = _beside_halfway("bfloat16")
    ours, theirs = [
        CONVERSIONS[how](lib, values, "bfloat16").double().cpu().numpy()
        for lib in (dovetail, torch)
    ]
    np.testing.assert_array_equal(ours, theirs)
