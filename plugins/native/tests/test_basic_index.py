"""Compiled indexing by ints, slices, None and an ellipsis, by tensors, and writing by these: it
does what its text does.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import pytest

core = pytest.importorskip("dovetail_native._core", reason="built without a C compiler")
dovetail = pytest.importorskip("dovetail", reason="the front end is not installed")

from dovetail_dispatcher import compiled_code  # noqa: E402 - after what may be missing

from .recorder import Recorder  # noqa: E402

pytestmark = [
    pytest.mark.skipif(not compiled_code.is_in_force(), reason="it is switched off"),
    pytest.mark.cpu_only(reason="the entry is the same on all devices"),
]

BOUNDS = (None, 0, 1, 2, -1, -2, 5, -7, sys.maxsize, -sys.maxsize - 1, 1 << 70, True, 1.5)
OTHERS = (True, 1.0, "0", [0], (0,), slice(0, 1, 0), slice(None, None, -1), 1 << 70, object())


def drawn_item(drawn: random.Random) -> Any:
    kind = drawn.random()
    if kind < 0.3:
        return drawn.randrange(-3, 3)
    if kind < 0.6:
        most = len(BOUNDS) if drawn.random() < 0.2 else 7
        return slice(*drawn.choices(BOUNDS[:most], k=2), drawn.choice((None, 1, 2)))
    if kind < 0.75:
        return slice(None)
    return drawn.choice(OTHERS) if kind > 0.97 else drawn.choice((None, ...))


def drawn_index(drawn: random.Random) -> Any:
    if drawn.random() < 0.3:
        return drawn_item(drawn)
    return tuple([drawn_item(drawn) for _ in range(drawn.randrange(5))])


def tensors() -> list[Any]:
    x = dovetail.arange(24.0).reshape(2, 3, 4)
    r = dovetail.arange(6.0, requires_grad=True)
    with dovetail.inference_mode():
        inference = dovetail.arange(6).reshape(3, 2)
    return [
        x,
        x.permute(2, 0, 1),
        x[:, :0],
        dovetail.tensor(1.0),
        r,
        (r * 2).reshape(2, 3),
        inference,
        dovetail.nn.Parameter(x),
        x.to("meta"),
        x.to(dovetail.bfloat16),
    ]


def nodes(tensor: Any) -> list[str]:
    found, node = [], tensor.grad_fn
    while node is not None:
        found.append(node.name())
        node = node.next_functions[0][0] if node.next_functions else None
    return found


def outcome(call: Callable[..., Any], tensor: Any, index: Any) -> Any:
    try:
        made = call(tensor, index)
    except Exception as error:
        return type(error), str(error)
    on_cpu = made.device.type == "cpu"
    return (
        repr(made),
        made._signature,
        nodes(made),
        made is tensor,
        made._base is None,
        made.untyped_storage() is tensor.untyped_storage(),
        made.storage_offset() if on_cpu else None,
        made.stride() if on_cpu else None,
    )


@pytest.mark.parametrize("mode", [nullcontext, dovetail.no_grad, dovetail.inference_mode])
def test_indices_select_what_the_text_selects(
    mode: Callable[[], AbstractContextManager[Any]],
) -> None:
    entry = dovetail.Tensor.__getitem__
    assert type(entry) is core.Entry
    drawn = random.Random(0)
    fitting = 0
    for _ in range(120):
        index = drawn_index(drawn)
        for tensor in tensors():
            with mode():
                found = outcome(entry, tensor, index)
                assert found == outcome(entry.text, tensor, index), (tensor.shape, index)
            fitting += isinstance(found[0], str)
    assert fitting > 300


INDEX_TENSORS = [
    dovetail.tensor([0, 1, -1]),
    dovetail.tensor([[0], [1]]),
    dovetail.tensor([5]),
    dovetail.tensor([], dtype=dovetail.int64),
    dovetail.tensor([0, 1], dtype=dovetail.int32),
    dovetail.tensor([0.0]),
    dovetail.tensor(1),
    dovetail.tensor(True),
    dovetail.tensor([True, False]),
    dovetail.tensor([True, False, True]),
    dovetail.tensor([[True, False, True]] * 2),
    dovetail.tensor([1, 0], dtype=dovetail.uint8),
    dovetail.ones(2, dtype=dovetail.int64, device="meta"),
    dovetail.tensor([0, 1], requires_grad=False).as_subclass(dovetail.nn.Parameter),
]


def mixed_indices(seed: int, count: int) -> list[Any]:
    """Return tuples of tensors and lists of places and others."""
    drawn = random.Random(seed)
    usual = [dovetail.tensor(each) for each in ([0, 1, -1], [[0], [1]], [1])]
    usual += [[0, -1, 1], [1], [0, 1 << 70], [0, True], [[0], [1]], []]
    return [
        tuple(
            [
                drawn.choice(usual if drawn.random() < 0.7 else INDEX_TENSORS)
                if drawn.random() < 0.5
                else drawn_item(drawn)
                for _ in range(drawn.randrange(1, 4))
            ]
        )
        for _ in range(count)
    ]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("mode", [nullcontext, dovetail.no_grad, dovetail.inference_mode])
def test_tensors_of_indices_select_what_the_text_selects(
    mode: Callable[[], AbstractContextManager[Any]],
) -> None:
    entry = dovetail.Tensor.__getitem__
    fitting = 0
    for index in [*INDEX_TENSORS, *mixed_indices(2, 120)]:
        for tensor in tensors():
            with mode():
                found = outcome(entry, tensor, index)
                assert found == outcome(entry.text, tensor, index), (tensor.shape, index)
            fitting += isinstance(found[0], str)
    assert fitting > 50


def written(call: Callable[..., Any], number: int, index: Any, value: Any) -> Any:
    tensor = [
        each.clone() if each.is_leaf and not each.requires_grad else each for each in tensors()
    ][number]
    before = None if tensor.is_inference() else tensor._version
    try:
        assert call(tensor, index, value) is None
    except Exception as error:
        return type(error), str(error)
    return (
        repr(tensor),
        tensor._signature,
        nodes(tensor),
        before is None or tensor._version - before,
    )


VALUES = [
    *(0.5, 2, -1, float("nan"), 1e300, 1 << 40, 300, True, 1j, "0", None, [1.0]),
    dovetail.tensor(2.0),
    dovetail.tensor(3, dtype=dovetail.int64),
    dovetail.ones(4),
    dovetail.ones(1, 4),
    dovetail.ones(3, 4, dtype=dovetail.float64),
    dovetail.ones(2, 3, 4, requires_grad=True),
    dovetail.ones(4, device="meta"),
]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("mode", [nullcontext, dovetail.no_grad, dovetail.inference_mode])
def test_values_are_written_as_the_text_writes_them(
    mode: Callable[[], AbstractContextManager[Any]],
) -> None:
    entry = dovetail.Tensor.__setitem__
    assert type(entry) is core.Entry
    drawn = random.Random(1)
    fixed = [0, (0, 1), ..., (slice(None), 1), slice(None), slice(0, 1), (), None, INDEX_TENSORS[0]]
    fitting = 0
    masks = [INDEX_TENSORS[9], INDEX_TENSORS[8], INDEX_TENSORS[10]]
    indices = [*masks, *mixed_indices(3, 25), *[drawn_index(drawn) for _ in range(25)]]
    for index in [*fixed, *indices]:
        for value in VALUES:
            for number in range(len(tensors())):
                with mode():
                    found = written(entry, number, index, value)
                    expected = written(entry.text, number, index, value)
                assert found == expected, (number, index, value)
                fitting += isinstance(found[0], str)
    assert fitting > 300


def test_element_of_the_memory_that_is_written_is_read_first() -> None:
    for call in (dovetail.Tensor.__setitem__, dovetail.Tensor.__setitem__.text):
        x = dovetail.arange(6.0).reshape(2, 3)
        call(x, slice(None), x[1, 2])
        assert x.tolist() == [[5.0] * 3] * 2
        line = dovetail.arange(6.0)
        with pytest.raises(RuntimeError, match="single memory location"):
            call(line, slice(1, None), line[:-1])


def test_gradients_go_through_indices() -> None:
    x = dovetail.arange(6.0, requires_grad=True)
    (x.reshape(2, 3)[1, None, ..., :2] * 3).sum().backward()
    assert x.grad.tolist() == [0, 0, 0, 3, 3, 0]
    base = dovetail.zeros(2, 3)
    base[:, 1].add_(dovetail.ones(2, requires_grad=True))
    assert base.requires_grad
    assert base.tolist() == [[0, 1, 0], [0, 1, 0]]


def test_modes_subclasses_and_transforms_see_indices() -> None:
    class Sub(dovetail.Tensor):  # type: ignore[misc, name-defined]
        pass

    x = dovetail.ones(2, 3)
    with Recorder() as mode:
        assert x[1, None].shape == (1, 3)
    assert dovetail.Tensor.__getitem__ in mode.seen
    assert type(x.as_subclass(Sub)[0, :, None]) is Sub
    assert dovetail.func.vmap(lambda row: row[None, 1:])(x).shape == (2, 1, 2)
    with dovetail.autograd.forward_ad.dual_level():
        dual = dovetail.autograd.forward_ad.make_dual(x, x * 2)[0, 1:]
        assert dovetail.autograd.forward_ad.unpack_dual(dual).tangent.tolist() == [2, 2]


def test_indexing_keeps_nothing() -> None:
    x = dovetail.ones(2, 3, 4)
    index = (1, slice(1000, 2000), None, slice(0, 1, 0))
    counts = [sys.getrefcount(each) for each in (index, index[1], index[3])]
    for _ in range(200):
        x[index[:3]]
        with pytest.raises(ValueError, match="step"):
            x[index]
    assert [sys.getrefcount(each) for each in (index, index[1], index[3])] == counts
