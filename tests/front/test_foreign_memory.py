"""Tensors over memory that other libraries made: with gaps, expanded, reversed, in packed records,
off the boundaries of elements. They are read, written, copied, pickled and saved right, or refused.
"""

from __future__ import annotations

import copy
import io
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dovetail
from dovetail.library import Library

pytestmark = pytest.mark.cpu_only(reason="NumPy's memory is the cpu's")


def numbers(count: int) -> Any:
    return np.arange(count, dtype="f4")


def with_gaps() -> Any:
    return np.ndarray((4, 3), "f4", numbers(20).tobytes(), strides=(20, 4))


class Exporter:
    """Exports an array as its own memory, as libraries do that are not NumPy."""

    def __init__(self, array: Any) -> None:
        self.array = array

    def __dlpack__(self, **options: Any) -> Any:
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self) -> Any:
        return self.array.__dlpack_device__()


FOREIGN: dict[str, Callable[[], Any]] = {
    "gaps": lambda: dovetail.from_numpy(with_gaps()),
    "gaps, exported": lambda: dovetail.from_dlpack(Exporter(numbers(20).reshape(4, 5)[:, :3])),
    "gaps, transposed": lambda: dovetail.from_dlpack(
        Exporter(numbers(20).reshape(4, 5)[1:, 1:3].T)
    ),
    "expanded": lambda: dovetail.from_numpy(np.broadcast_to(numbers(3)[:, None], (3, 5))),
    "expanded, exported": lambda: dovetail.from_dlpack(
        Exporter(np.lib.stride_tricks.as_strided(numbers(1), (5,), (0,)))
    ),
    "overlapping": lambda: dovetail.from_numpy(
        np.lib.stride_tricks.as_strided(numbers(10), (4, 3), (8, 4))
    ),
    "reversed twice": lambda: dovetail.from_numpy(
        np.ndarray((5,), "f4", numbers(5).tobytes(), offset=16, strides=(-4,))[::-1]
    ),
    "a part": lambda: dovetail.from_numpy(numbers(10)[3:7]),
    "of another dtype": lambda: dovetail.from_numpy(numbers(10)[2:6].view("i8")),
    "off the boundaries": lambda: dovetail.from_numpy(
        np.frombuffer(b"\1" + numbers(4).tobytes(), "u1")[1:].view("f4")
    ),
    "bfloat16": lambda: dovetail.from_dlpack(
        dovetail.arange(20.0).to(dovetail.bfloat16).reshape(4, 5)[:, 1:3]
    ),
    "nothing": lambda: dovetail.from_numpy(numbers(20).reshape(4, 5)[1:, :0]),
}


def saved_and_loaded(x: Any) -> Any:
    file = io.BytesIO()
    dovetail.save({"x": x, "part": x[1:]}, file)
    file.seek(0)
    loaded = dovetail.load(file)
    assert loaded["part"].tolist() == x[1:].tolist()
    return loaded["x"]


ROUTES: dict[str, Callable[[Any], Any]] = {
    "save and load": saved_and_loaded,
    "deepcopy": copy.deepcopy,
    "deepcopy beside a view": lambda x: copy.deepcopy([x[1:], x])[1],
    "copy": copy.copy,
    "pickle": lambda x: pickle.loads(pickle.dumps(x)),
    "pickle beside a view": lambda x: pickle.loads(pickle.dumps([x[1:], x]))[1],
    "clone": lambda x: x.clone(),
    "contiguous": lambda x: x.contiguous(),
    "as_strided": lambda x: x.as_strided(tuple(x.shape), x.stride()),
    "as_strided with its offset": lambda x: x.as_strided(
        tuple(x.shape), x.stride(), x.storage_offset()
    ),
    "from_dlpack": dovetail.from_dlpack,
    "as_tensor": dovetail.as_tensor,
    "asarray": dovetail.asarray,
    "detach": lambda x: x.detach(),
}


@pytest.mark.parametrize("route", ROUTES)
@pytest.mark.parametrize("memory", FOREIGN)
@pytest.mark.filterwarnings("ignore:The given NumPy array is not writable")
def test_foreign_memory_keeps_its_elements_on_every_route(memory: str, route: str) -> None:
    x = FOREIGN[memory]()
    made = ROUTES[route](x)
    assert made.tolist() == x.tolist()
    assert made.dtype is x.dtype
    assert made.shape == x.shape


@pytest.mark.parametrize("memory", FOREIGN)
def test_the_storage_of_foreign_memory_reaches_from_its_first_element_to_its_last(
    memory: str,
) -> None:
    x = FOREIGN[memory]()
    reach = sum((n - 1) * s for n, s in zip(x.shape, x.stride(), strict=True)) + 1
    assert x.untyped_storage().nbytes() == (reach * x.element_size() if x.numel() else 0)
    assert x.storage_offset() == 0
    if x.numel():
        assert x.untyped_storage().data_ptr() == x.data_ptr()


def test_a_tensor_of_a_part_of_an_array_does_not_see_the_rest():
    x = dovetail.from_numpy(numbers(10)[3:7])
    assert x.as_strided((2,), (1,), 0).tolist() == [3.0, 4.0]
    with pytest.raises(RuntimeError, match=r"storage size of 20 .* for storage of size 16"):
        x.as_strided((5,), (1,), 0)
    with pytest.raises(RuntimeError, match="invalid storage offset -3"):
        x.as_strided((2,), (1,), -3)


def test_a_view_that_begins_before_its_memory_writes_nothing():
    whole = dovetail.arange(10.0)
    for offset in (-2, -(10**10), -(2**63)):
        with pytest.raises(RuntimeError, match=f"invalid storage offset {offset}: .*size 40"):
            whole.as_strided((3,), (1,), offset).fill_(7)
    assert whole.tolist() == list(range(10))


RECORDS = np.zeros(4, dtype=[("flag", "i1"), ("number", "f4")])
TAKEN = {
    "from_numpy": dovetail.from_numpy,
    "as_tensor": dovetail.as_tensor,
    "asarray": dovetail.asarray,
    "tensor": dovetail.tensor,
}


@pytest.mark.parametrize("name", TAKEN)
@pytest.mark.parametrize(
    "array",
    [
        RECORDS["number"],
        RECORDS["number"][:1],
        RECORDS["number"][::2],
        np.zeros((3, 3), "f4")[:, :2].view("c8"),
    ],
    ids=["packed", "one", "stepped", "pairs"],
)
def test_strides_that_are_no_multiple_of_the_item_size_are_refused(name: str, array: Any) -> None:
    with pytest.raises(ValueError, match="not a multiple of the element byte size"):
        TAKEN[name](array)


@pytest.mark.parametrize("name", TAKEN)
def test_negative_strides_are_refused(name: str) -> None:
    with pytest.raises(ValueError, match="one stride in the given numpy array is negative"):
        TAKEN[name](numbers(4)[::-1])


@pytest.mark.parametrize("device", ["cpu", "meta"])
@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda x: x[1:9].view(dovetail.float32), r"storage_offset\(\) must be divisible by 4"),
        (
            lambda x: x[:15].view(3, 5)[:, :4].view(dovetail.float32),
            r"self.stride\(0\) must be divisible by 4 .*, but got 5",
        ),
        (
            lambda x: dovetail.view_as_complex(x.to(dovetail.float32)[1:9].view(4, 2)),
            "storage_offset divisible by 2",
        ),
        (
            lambda x: dovetail.view_as_complex(x[:15].to(dovetail.float32).view(5, 3)[:, :2]),
            "a stride divisible by 2 for all but last dimension",
        ),
        (
            lambda x: dovetail.view_as_complex(x[:8].to(dovetail.float32).view(2, 4).t()[:2]),
            "a last dimension with stride 1",
        ),
    ],
)
def test_wider_elements_begin_at_multiples_of_their_size(
    make: Any, words: str, device: str
) -> None:
    x = dovetail.zeros(16, dtype=dovetail.uint8, device=device)
    with pytest.raises(RuntimeError, match=words):
        make(x)


@pytest.mark.parametrize("route", ["save and load", "deepcopy", "pickle", "copy", "clone"])
def test_what_a_kernel_returns_backwards_is_copied_forwards(route: str) -> None:
    library = Library("backwards", "DEF")
    library.define("reverse(Tensor x) -> Tensor")
    library.array_impl("reverse", lambda x: x.copy()[::-1], "CPU")
    try:
        x = dovetail.ops.backwards.reverse(dovetail.arange(5.0))
        made = ROUTES[route](x)
    finally:
        library._destroy()
    assert made.tolist() == [4.0, 3.0, 2.0, 1.0, 0.0]


def test_no_strides_are_made_that_describe_no_tensor():
    for device in ("cpu", "meta"):
        with pytest.raises(RuntimeError, match="mismatch in length of strides and shape"):
            dovetail.empty_strided((2, 3), (1,), device=device)
        with pytest.raises(RuntimeError, match="integer multiplication overflow"):
            dovetail.empty_strided((2**40, 2**40), (0, 0), device=device)
        with pytest.raises(RuntimeError, match="Storage size calculation overflowed"):
            dovetail.empty_strided((3,), (2**62,), device=device)
