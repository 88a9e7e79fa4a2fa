"""Memory that a program does not write is filled when it asks for deterministic algorithms."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

import dovetail

torch = pytest.importorskip("torch", reason="PyTorch is the oracle of these tests")

MAKERS: dict[str, Callable[[Any, Any], Any]] = {
    "empty": lambda lib, kind: lib.empty(3, dtype=kind),
    "empty of a format": lambda lib, kind: lib.empty(
        1, 2, 2, 2, dtype=kind, memory_format=lib.channels_last
    ),
    "empty_like": lambda lib, kind: lib.empty_like(lib.zeros(3, dtype=kind)),
    "empty_like of a transposed tensor": lambda lib, kind: lib.empty_like(
        lib.zeros(3, 2, dtype=kind).t()
    ),
    "empty_strided": lambda lib, kind: lib.empty_strided((2, 2), (4, 1), dtype=kind),
    "empty_permuted": lambda lib, kind: lib.empty_permuted((2, 3), (1, 0), dtype=kind),
    "new_empty": lambda lib, kind: lib.zeros(1, dtype=kind).new_empty(2),
    "new_empty_strided": lambda lib, kind: lib.zeros(1, dtype=kind).new_empty_strided((2,), (1,)),
    "new": lambda lib, kind: lib.zeros(1, dtype=kind).new(3),
    "resize_": lambda lib, kind: lib.zeros(2, dtype=kind).resize_(4),
    "resize_as_": lambda lib, kind: lib.zeros(2, dtype=kind).resize_as_(lib.zeros(4)),
    "resize_ of nothing": lambda lib, kind: lib.empty(0, dtype=kind).resize_(2),
    "resize_ within the storage": lambda lib, kind: lib.zeros(2, 2, dtype=kind)[:, 0].resize_(4),
}
# CUDA warns of what it cannot do the same way twice.
pytestmark = pytest.mark.filterwarnings("ignore:operators that add where several elements meet")
DTYPES = ("float32", "float16", "bfloat16", "complex64", "int16", "uint8", "int64", "bool")


@pytest.fixture(autouse=True)
def deterministic() -> Iterator[None]:
    try:
        for lib in (dovetail, torch):
            lib.use_deterministic_algorithms(True)
        yield
    finally:
        for lib in (dovetail, torch):
            lib.utils.deterministic.fill_uninitialized_memory = True
            lib.use_deterministic_algorithms(False)


@pytest.mark.parametrize("maker", MAKERS)
@pytest.mark.parametrize("kind", DTYPES)
def test_new_memory_is_filled_as_there(maker: str, kind: str) -> None:
    ours, theirs = (MAKERS[maker](lib, getattr(lib, kind)) for lib in (dovetail, torch))
    assert str(ours.tolist()) == str(theirs.tolist())
    assert ours.stride() == theirs.stride()


def test_memory_is_left_where_one_of_the_settings_is_off() -> None:
    def is_filled() -> bool:
        zeros = [dovetail.zeros(1000) for _ in range(16)]  # whose memory may be taken again
        del zeros
        return all([bool(dovetail.empty(1000).isnan().all()) for _ in range(2)])

    assert is_filled()
    dovetail.utils.deterministic.fill_uninitialized_memory = False
    assert not is_filled()
    dovetail.utils.deterministic.fill_uninitialized_memory = True
    assert is_filled()
    dovetail.use_deterministic_algorithms(False)
    assert not is_filled()


def test_the_setting_takes_bools_alone() -> None:
    for lib in (dovetail, torch):
        with pytest.raises(RuntimeError, match="expected a bool"):
            lib.utils.deterministic.fill_uninitialized_memory = "yes"
