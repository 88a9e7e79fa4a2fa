"""What is written and what is read may lie in one memory, and share no element."""

from __future__ import annotations

import numpy as np
import pytest

import dovetail

PAIRS = {
    "columns": (np.s_[:, 0], np.s_[:, 3]),
    "blocks of columns": (np.s_[:, :2], np.s_[:, 2:4]),
    "even and odd rows": (np.s_[::2], np.s_[1::2]),
    "rows": (np.s_[0], np.s_[1]),
    "a checkerboard": (np.s_[::2, ::2], np.s_[1::2, 1::2]),
}


@pytest.mark.parametrize("name", PAIRS)
def test_parts_without_a_shared_element_are_combined_in_place(name):
    written, read = PAIRS[name]
    values = np.arange(24, dtype=np.float32).reshape(4, 6)
    x = dovetail.tensor(values)
    x[written].add_(x[read])
    values[written] += values[read]
    np.testing.assert_array_equal(x.cpu().numpy(), values)


@pytest.mark.parametrize("name", PAIRS)
def test_they_are_on_the_meta_device_too(name):
    written, read = PAIRS[name]
    x = dovetail.ones(4, 6, device="meta")
    x[written].mul_(x[read])


@pytest.mark.parametrize("device", [None, "meta"], ids=["default", "meta"])
def test_parts_that_share_some_elements_are_refused(device):
    x = dovetail.ones(4, 6, device=device)
    with pytest.raises(RuntimeError, match="refer to a single memory location"):
        x[:, :3].mul_(x[:, 1:4])
