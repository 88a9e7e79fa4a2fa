"""`asarray` of everything that holds numbers: what it shares, copies and refuses, as in PyTorch."""

from __future__ import annotations

import array
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import dovetail

Maker = Callable[[Any], Any]
SOURCES: dict[str, Maker] = {
    "a leaf": lambda lib: lib.ones(2),
    "a leaf that requires grad": lambda lib: lib.ones(2, requires_grad=True),
    "a result": lambda lib: lib.ones(2, requires_grad=True) * 2,
    "ints": lambda lib: lib.ones(2, dtype=lib.int64),
    "an array": lambda lib: np.ones(3),
    "a strided array": lambda lib: np.ones(6)[::2],
    "a transposed array": lambda lib: np.ones((2, 3)).T,
    "a reversed array": lambda lib: np.ones(3)[::-1],
    "an array in foreign byte order": lambda lib: np.ones(3, dtype=">f4"),
    "complex": lambda lib: np.array([1 + 2j]),
    "text": lambda lib: np.array(["a"]),
    "a NumPy number": lambda lib: np.float64(3),
    "a NumPy int": lambda lib: np.int32(3),
    "a capsule": lambda lib: np.arange(3.0).__dlpack__(),
    "bytes": lambda lib: bytearray(b"\x01\x02\x03\x04" * 4),
    "a memory view": lambda lib: memoryview(np.ones((2, 3))),
    "an array of the library": lambda lib: array.array("f", [1.0, 2.0, 3.0]),
    "a number": lambda lib: 3,
    "a sequence": lambda lib: [[1, 2], [3, 4.0]],
    "tensors": lambda lib: [lib.tensor(1), lib.tensor(2)],
    "nothing": lambda lib: [],
    "a range": lambda lib: range(3),
    "an object": lambda lib: object(),
}
BUFFERS = ("bytes", "a memory view", "an array of the library")
OPTIONS: list[dict[str, Any]] = [
    {},
    {"copy": True},
    {"copy": False},
    {"dtype": "float32"},
    {"dtype": "int32"},
    {"dtype": "float64", "copy": False},
    {"dtype": "float32", "copy": False},
    {"device": "cpu"},
    {"device": "meta"},
    {"device": "meta", "copy": False},
    {"requires_grad": True},
    {"requires_grad": True, "copy": True},
    {"dtype": "float32", "requires_grad": True},
]


def described(lib: Any, make: Maker, options: dict[str, Any]) -> Any:
    """Return what `asarray` gives: its dtype, shape, strides, what it shares and records."""
    source = make(lib)
    given = {k: getattr(lib, v) if k == "dtype" else v for k, v in options.items()}
    try:
        made = lib.asarray(source, **given)
    except Exception as error:
        name = lib.__name__
        return type(error).__name__, str(error).replace(f"{name}.", "")[:27]
    shown = [str(made.dtype).rpartition(".")[2], tuple(made.shape), tuple(made.stride())]
    shown += [made is source, made.requires_grad, made.is_leaf, made.device.type]
    if made.is_meta:
        return shown
    shown.append(made.tolist())
    if isinstance(source, np.ndarray) and source.size:
        source[...] = 7
        shown.append(bool((made == 7).all()))
    if isinstance(source, bytearray):
        source[0] = 77
        shown.append(made.view(lib.uint8).flatten()[0].item() == 77)
    return shown


@pytest.mark.cpu_only(reason="NumPy and the PyTorch of the tests share memory on the CPU")
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", SOURCES)
def test_asarray_shares_and_copies_as_pytorch_does(kind: str) -> None:
    differing = []
    for options in OPTIONS:
        if kind == "an object" and "dtype" in options:
            continue  # PyTorch says that a real number is needed, here that there is none
        if kind in BUFFERS and options.keys() == {"copy", "requires_grad"}:
            continue  # PyTorch gives the clone of a leaf, whose gradient is lost
        ours, theirs = (described(lib, SOURCES[kind], options) for lib in (dovetail, torch))
        if ours != theirs:
            differing.append((options, ours, theirs))
    assert differing == []


def test_what_asarray_detaches_leaves_the_leaf_as_it_is() -> None:
    """PyTorch switches the leaf itself off, and the program around it computes no gradients."""
    leaf = dovetail.ones(2, requires_grad=True)
    shared = dovetail.asarray(leaf, requires_grad=False)
    assert leaf.requires_grad
    assert not shared.requires_grad
    shared[0] = 5.0
    assert leaf.tolist() == [5.0, 1.0]


def test_an_object_with_dlpack_is_not_copied() -> None:
    """PyTorch takes it for a sequence as soon as `copy` is given."""

    class Source:
        array = np.arange(3.0)

        def __dlpack__(self, **options: Any) -> Any:
            return self.array.__dlpack__()

        def __dlpack_device__(self) -> Any:
            return self.array.__dlpack_device__()

    shared = dovetail.asarray(Source(), copy=False)
    Source.array[0] = 9.0
    assert shared.tolist() == [9.0, 1.0, 2.0]


def test_bytes_that_cannot_be_written_are_not_written() -> None:
    source = b"\x01\x02"
    shared = dovetail.asarray(source, dtype=dovetail.uint8)
    shared[0] = 3
    assert shared.tolist() == [3, 2]
    assert source == b"\x01\x02"


def test_a_copy_flag_that_is_no_bool_is_refused() -> None:
    with pytest.raises(TypeError, match=r"argument 'copy' must be bool, not int. Give True, False"):
        dovetail.asarray([1.0], copy=1)  # type: ignore[arg-type]
