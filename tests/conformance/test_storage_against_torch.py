"""Storages, ``set_`` and ``resize_``: the same programs give the same here and in PyTorch."""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from typing import Any

import pytest
from same_programs import Programs, assert_same
from shrinking import smaller

import dovetail

torch = pytest.importorskip("torch", reason="PyTorch is the oracle of these tests")

pytestmark = [
    pytest.mark.cpu_only(reason="PyTorch is there on the cpu alone"),
    pytest.mark.filterwarnings("ignore:TypedStorage is deprecated"),
]

PROGRAMS = int(os.environ.get("DOVETAIL_PROGRAMS", "80"))
FIRST = int(os.environ.get("DOVETAIL_FIRST_PROGRAM", "0"))

program = Programs()


def outcome(call: Callable[[], Any]) -> Any:
    try:
        return call()
    except Exception as error:
        return type(error).__name__


# -- resize_ ---------------------------------------------------------------------------------------


@program("growth is seen by views of the same storage")
def _(lib: Any) -> Any:
    x = lib.arange(6.0)
    view, other = x[2:4], x.view(2, 3)
    x.resize_(12)[6:] = 0
    view.fill_(7)
    x[0] = 5
    same = x.untyped_storage().data_ptr() == view.untyped_storage().data_ptr()
    return x.tolist(), view.tolist(), other.tolist(), same, x.untyped_storage().nbytes()


@program("a smaller size leaves the storage as it is, and its elements come back")
def _(lib: Any) -> Any:
    x = lib.arange(6.0)
    sizes = [x.resize_(2, 2).tolist(), x.resize_(0).shape, x.resize_([]).tolist()]
    return sizes, x.untyped_storage().nbytes(), x.resize_(6).tolist(), x.dim()


@program("versions count where the size changes")
def _(lib: Any) -> Any:
    x = lib.arange(6.0)
    view = x[1:]
    found = [x.resize_(6)._version, x.resize_(3)._version, x.resize_(12)._version, view._version]
    x.untyped_storage().resize_(100)
    return found, x._version


@program("a view grows from where it begins")
def _(lib: Any) -> Any:
    x = lib.arange(6.0)
    view = x[2:]
    view.resize_(8)[4:] = -1
    return view.tolist(), view.storage_offset(), view._is_view(), x.untyped_storage().nbytes()


@program("the size given as numbers, a tuple, a size, by keyword")
def _(lib: Any) -> Any:
    x = lib.arange(6.0)
    calls = [x.resize_(2, 3), x.resize_((1, 2)), x.resize_(lib.Size([3])), x.resize_(size=(2, 2))]
    return [tuple(each.shape) for each in calls], x.tolist()


@program("memory formats")
def _(lib: Any) -> Any:
    x = lib.zeros(1, 2, 3, 1)
    x.resize_(1, 2, 3, 1, memory_format=lib.channels_last)
    first = x.stride()
    x.resize_(1, 2, 3, 2, memory_format=lib.channels_last)
    grown = x.stride()
    wrong = outcome(lambda: x.resize_(3, memory_format=lib.channels_last))
    kept = outcome(lambda: x.resize_(3, memory_format=lib.preserve_format))
    return first, grown, wrong, kept  # PyTorch has resized it by then


@program("the size of another tensor")
def _(lib: Any) -> Any:
    x = lib.arange(8.0)
    x.resize_as_(lib.ones(2, 2, dtype=lib.int64))
    nhwc = lib.ones(1, 2, 2, 2).contiguous(memory_format=lib.channels_last)
    y = lib.arange(8.0)
    y.resize_as_(nhwc, memory_format=lib.preserve_format)
    z = lib.arange(8.0).resize_as_(lib.ones(4, 2).t())
    return x.tolist(), y.stride(), z.stride(), lib.resize_as_(lib.arange(3.0), x[0]).tolist()


@program("tensors that require grad are refused, in whatever mode")
def _(lib: Any) -> Any:
    leaf = lib.ones(3, requires_grad=True)
    found = []
    for x in (leaf, leaf * 2, leaf[1:]):
        for function in (lambda x=x: x.resize_(2), lambda x=x: x.resize_as_(lib.ones(2))):
            found.append(outcome(function))
            with lib.no_grad():
                found.append(outcome(function))
    return found, leaf.detach().resize_(2).tolist(), lib.ones(2).resize_as_(leaf).requires_grad


@program("the words of the refusal")
def _(lib: Any) -> Any:
    return lib.ones(3, requires_grad=True).resize_(2)


@program("an expanded tensor gets elements of its own")
def _(lib: Any) -> Any:
    x = lib.arange(3.0)
    kept = x.expand(2, 3).resize_(2, 3).stride()
    wide = x.expand(2, 3).resize_(3, 2)
    wide[1:, 1:] = 0
    wide[2] = 0
    return kept, wide.tolist(), x.tolist(), wide.stride()


@program("what was saved for backward notices a size that changed")
def _(lib: Any) -> Any:
    w, x = lib.ones(6, requires_grad=True), lib.arange(6.0)
    y = (w * x).sum()
    x.resize_(3)
    return outcome(y.backward)


@program("what was saved for backward moves along")
def _(lib: Any) -> Any:
    w, x = lib.ones(6, requires_grad=True), lib.arange(6.0)
    y = (w * x).sum()
    x.untyped_storage().resize_(100)
    x.data.fill_(3)
    y.backward()
    return w.grad.tolist()


@program("memory that NumPy shows is not left for other")
def _(lib: Any) -> Any:
    x = lib.arange(6.0)
    array = x.numpy()
    found = outcome(lambda: x.resize_(30)), x.untyped_storage().resizable()
    array[0] = 9
    return found, x.resize_(
        3
    ).tolist()  # PyTorch has given it 30 elements of which 24 are elsewhere


@program("sizes that are none")
def _(lib: Any) -> Any:
    x = lib.arange(6.0)
    sizes: list[Any] = [(-1,), (2, -3), (2**62,)]
    found = [outcome(lambda size=size: x.resize_(size)) for size in sizes]
    too_large = outcome(lambda: x.resize_(2**45)).error
    return found, isinstance(too_large, RuntimeError), x.resize_(3).tolist()


@program("on the meta device")
def _(lib: Any) -> Any:
    x = lib.ones(2, 3, device="meta")
    view = x[1]
    x.resize_(30)
    storage = x.untyped_storage()
    return x.shape, storage.nbytes(), storage.data_ptr(), view.storage_offset(), view.shape


# -- set_ ------------------------------------------------------------------------------------------


@program("a tensor shows another's memory")
def _(lib: Any) -> Any:
    x, y = lib.arange(6.0), lib.arange(4.0)
    x.set_(y)
    x.fill_(1)
    return (
        y.tolist(),
        x.is_set_to(y),
        x._version,
        y._version,
        x.untyped_storage()._cdata == (y.untyped_storage()._cdata),
    )


@program("which tensors are set to each other")
def _(lib: Any) -> Any:
    x = lib.arange(6.0)
    others = [x[:], x.detach(), x[1:], x.view(2, 3), x.clone(), x[:0], lib.empty(0)]
    nothing, other = lib.empty(0), lib.tensor([])
    return [
        *[each.is_set_to(one) for each in (x, *others) for one in (x, *others)],
        nothing.is_set_to(other),
        nothing.is_set_to(nothing.detach()),
        x[2:2].is_set_to(x[2:2]),
        x[2:2].is_set_to(x[3:3]),
    ]


@program("parts of storages and tensors")
def _(lib: Any) -> Any:
    y = lib.arange(8.0)
    calls = [
        lambda x: x.set_(y.untyped_storage()),
        lambda x: x.set_(y.untyped_storage(), 1, (2,)),
        lambda x: x.set_(y.untyped_storage(), 1, (2, 2), (3, 1)),
        lambda x: x.set_(y.storage(), 1, (2,), (1,)),
        lambda x: x.set_(y, 2, (2, 3)),
        lambda x: x.set_(y, 0, (), ()),
        lambda x: x.set_(source=y),
        lambda x: x.set_(y[3:]),
        lambda x: x.set_(y.view(2, 4).t()),
        lambda x: x.set_(y, 4, (0,)),
    ]
    found = []
    for call in calls:
        x = call(lib.zeros(2))
        found.append((x.tolist(), x.stride(), x.storage_offset(), x._version, x.dim()))
    return found


@program("nothing at all")
def _(lib: Any) -> Any:
    x = lib.arange(6.0).set_()
    return x.tolist(), x.stride(), x.untyped_storage().nbytes(), x._version, x.dtype == lib.float32


@program("addresses and offsets of tensors without elements")
def _(lib: Any) -> Any:
    x = lib.arange(6.0)
    empty = [lib.zeros(0), lib.zeros(2, 0), x[6:], x[2:2], lib.zeros(2, 0)[1:], lib.zeros(0)[0:]]
    storages = [each.untyped_storage() for each in empty]
    same = [each.data_ptr() == x.data_ptr() for each in storages]
    grown = lib.zeros(0)
    grown.untyped_storage().resize_(8)
    return (
        [each.data_ptr() for each in empty],
        same,
        [each.data_ptr() == 0 for each in storages],
        [each.storage_offset() for each in (empty[0], empty[1], empty[5])],
        grown.untyped_storage().data_ptr() == 0,
        grown.storage().data_ptr() == 0,
    )


@program("a storage grows for what is to be shown of it")
def _(lib: Any) -> Any:
    y = lib.arange(3.0)
    x = lib.zeros(0).set_(y.untyped_storage(), 2, (3,))
    x[1:] = 8
    y[2] = 4
    return x.tolist(), y.tolist(), y.untyped_storage().nbytes()


@program("bytes are read as another dtype")
def _(lib: Any) -> Any:
    y = lib.arange(3)
    x = lib.zeros(0, dtype=lib.int32).set_(y.untyped_storage())
    odd = lib.zeros(0).set_(lib.arange(7, dtype=lib.uint8).untyped_storage())
    return x.tolist(), tuple(odd.shape)


@program("what set_ refuses")
def _(lib: Any) -> Any:
    storage = lib.arange(3.0).untyped_storage()
    calls: list[Any] = [
        lambda x: x.set_(lib.arange(3)),
        lambda x: x.set_(lib.arange(3).storage()),
        lambda x: x.set_(storage, -1, (1,), (1,)),
        lambda x: x.set_(storage, 0, (1,), (1, 1)),
        lambda x: x.set_(lib.ones(3, device="meta")),
        lambda x: x.set_(lib.ones(3, device="meta").untyped_storage()),
        lambda x: x.requires_grad_().set_(lib.ones(3)),
        lambda x: x.set_(3),
        lambda x: x.set_([1]),
    ]
    found = []
    for call in calls:
        x = lib.arange(2.0)
        found.append((outcome(lambda call=call, x=x: call(x)), x.tolist()))
    return found


@program("gradients stop at set_")
def _(lib: Any) -> Any:
    leaf = lib.ones(3, requires_grad=True)
    with lib.no_grad():
        leaf.set_(lib.full((2,), 3.0))
    y = leaf * 2
    y.set_(lib.ones(4))
    z = lib.ones(2).set_(leaf)
    return (
        leaf.requires_grad,
        leaf.tolist(),
        y.requires_grad,
        z.requires_grad,
        outcome(y.sum().backward),
    )


@program("a saved tensor that shows other memory is noticed")
def _(lib: Any) -> Any:
    w, x = lib.ones(6, requires_grad=True), lib.arange(6.0)
    y = (w * x).sum()
    x.set_(lib.ones(6))
    return outcome(y.backward)


@program("a view that is set elsewhere no longer writes to its base")
def _(lib: Any) -> Any:
    x = lib.arange(6.0)
    view = x[2:4]
    view.set_(lib.ones(3))
    view.fill_(3)
    return x.tolist(), view.tolist(), view._is_view(), view._base is x


@program("operators at work on tensors that were set")
def _(lib: Any) -> Any:
    x = lib.zeros(2, 3).set_(lib.arange(8.0), 1, (2, 3), (1, 2))
    return (x + 1).tolist(), x.sum().item(), (x @ x.t()).tolist(), x.contiguous().stride()


# -- storages --------------------------------------------------------------------------------------


@program("made of nothing, a number, bytes")
def _(lib: Any) -> Any:
    U = lib.UntypedStorage
    made = [U(), U(4), U([1, 2, 3]), U((1, 300, -1)), U(size=2), U(3, device="meta")]
    sizes = [(s.nbytes(), s.size(), len(s), s.element_size(), str(s.device)) for s in made]
    return sizes, made[2].tolist(), made[3].tolist(), list(made[2]), made[2][0], made[2][-1]


@program("what is no size")
def _(lib: Any) -> Any:
    U = lib.UntypedStorage
    return [outcome(lambda given=given: U(given)) for given in ("a", 1.5, None, [1.5], -1)]


@program("written and read")
def _(lib: Any) -> Any:
    s = lib.UntypedStorage([1, 2, 3, 4])
    s[0] = 300
    s[3] = -1
    first = s.tolist()
    s[1:3] = 7
    part = s[1:3]
    part[0] = 9
    return first, s.tolist(), part.tolist(), part.data_ptr() - s.data_ptr(), s.fill_(258).tolist()


@program("what indexing refuses")
def _(lib: Any) -> Any:
    s = lib.UntypedStorage([1, 2, 3, 4])
    calls: list[Any] = [
        lambda: s[9],
        lambda: s[-5],
        lambda: s["a"],
        lambda: s[0.5],
        lambda: s[::2],
        lambda: s.__setitem__(0, 1.5),
        lambda: s.__setitem__(9, 1),
        lambda: s.__setitem__("a", 7),
        lambda: s.__setitem__(slice(0, 4, 2), 7),
        lambda: s.__setitem__(slice(0, 2), lib.UntypedStorage([1, 2])),
        lambda: s.fill_(1.5),
        lambda: s.copy_(lib.UntypedStorage([9, 8])),
        lambda: s.copy_(lib.ones(4)),
        lambda: s.resize_(-1),
        lambda: s.resize_("a"),
        lambda: lib.ones(3, device="meta").untyped_storage()[0],
        lambda: lib.ones(3, device="meta").untyped_storage().tolist(),
    ]
    return [outcome(call) for call in calls], s.tolist()


@program("resized, copied, compared")
def _(lib: Any) -> Any:
    from copy import copy, deepcopy

    s = lib.UntypedStorage([1, 2, 3, 4])
    s.resize_(6)[4:]
    s[4:] = 0
    grown = s.tolist()
    twins = [copy(s), deepcopy(s), s.clone()]
    s.resize_(2)
    return (
        grown,
        s.tolist(),
        [each.tolist() for each in twins],
        s.copy_(lib.UntypedStorage([8, 9])).tolist(),
        s == s,
        s == s.clone(),
        s.cpu() is s,
        s.new().nbytes(),
        (s.is_cuda, s.is_shared(), s.resizable()),
    )


@program("a storage that is emptied and filled again")
def _(lib: Any) -> Any:
    x = lib.arange(6.0)
    view = x[2:4]
    x.untyped_storage().resize_(0)
    empty = x.untyped_storage().nbytes(), x.data_ptr(), x.shape, view.shape, x.numel()
    x.untyped_storage().resize_(24)
    x.fill_(2)
    view.add_(1)
    return empty, x.tolist(), view.tolist()


@program("tensors see what is written to their storage")
def _(lib: Any) -> Any:
    x = lib.zeros(2, dtype=lib.int32)
    storage = x.untyped_storage()
    storage[1] = 1
    storage.copy_(lib.tensor([256, 5], dtype=lib.int32).untyped_storage())
    storage[4] = 6
    return x.tolist(), storage.tolist(), storage is x[1:].untyped_storage()


@program("conversions")
def _(lib: Any) -> Any:
    names = ["bool", "byte", "char", "short", "int", "long", "half", "bfloat16", "float"]
    names += ["double", "complex_float", "complex_double"]
    s, t = lib.UntypedStorage([0, 1, 200]), lib.tensor([0.0, 1.5, 2.0]).storage()
    return [
        (getattr(each, name)().tolist(), str(getattr(each, name)().dtype).rpartition(".")[2])
        for name in names
        for each in (s, t)
    ]


@program("typed storages")
def _(lib: Any) -> Any:
    x = lib.arange(6.0)
    s = x.storage()
    s[0] = 5
    s[1:3] = 9
    seen = x.tolist()
    s.fill_(2)
    s.resize_(8)
    s[6:] = 1
    facts = s.size(), len(s), s.nbytes(), s.element_size(), str(s.device), s.dtype == lib.float32
    s.copy_(lib.tensor([5, 2**30, 7, 0, 0, 0, 0, 0], dtype=lib.int32).storage())
    return (
        seen,
        facts,
        s.tolist(),
        s[3],
        x.tolist(),
        s.data_ptr() == x.data_ptr(),
        s == x.storage(),
        s.pickle_storage_type(),
        s.clone().tolist(),
        s.cpu() is s,
        s.untyped()._cdata == x.untyped_storage()._cdata,
    )


@program("typed storages made by hand")
def _(lib: Any) -> Any:
    T = lib.TypedStorage
    x = lib.arange(3.0)
    made = [
        T(),
        T(3),
        T([1, 2]),
        T(3, dtype=lib.int32),
        lib.FloatStorage([1, 2]),
        lib.LongStorage(),
    ]
    wrapped = T(wrap_storage=x.untyped_storage(), dtype=lib.float32)
    return (
        [(s.size(), str(s.dtype).rpartition(".")[2]) for s in made],
        made[2].tolist(),
        wrapped.tolist(),
        isinstance(x.storage(), lib.FloatStorage),
        isinstance(x.storage(), lib.LongStorage),
        [lib.is_storage(each) for each in (wrapped, x.untyped_storage(), x, 1)],
        str(lib.FloatStorage.dtype).rpartition(".")[2],
    )


@program("what typed storages refuse")
def _(lib: Any) -> Any:
    s, T = lib.arange(6.0).storage(), lib.TypedStorage
    calls: list[Any] = [
        lambda: s[99],
        lambda: s["a"],
        lambda: s[::2],
        lambda: s[0.5],
        lambda: s[1:3],
        lambda: s.__setitem__(99, 1),
        lambda: s.copy_(lib.ones(2).storage()),
        lambda: s.resize_(-1),
        lambda: T(wrap_storage=3),
        lambda: T(wrap_storage=s.untyped()),
        lambda: T(2, 3),
        lambda: T("a"),
        lambda: T(3, dtype=3),
    ]
    return [outcome(call) for call in calls]


@program("memory that processes share")
def _(lib: Any) -> Any:
    x = lib.arange(3.0)
    view = x[1:]
    before = x.is_shared()
    made = x.share_memory_()
    view.fill_(7)
    return (
        before,
        made is x,
        x.is_shared(),
        view.is_shared(),
        x.tolist(),
        (lib.UntypedStorage(3).share_memory_().is_shared()),
    )


@pytest.mark.parametrize("name", program)
def test_a_program_on_storages_gives_what_it_gives_on_pytorch(name: str) -> None:
    assert_same(program[name])


# -- random programs -------------------------------------------------------------------------------


def random_steps(seed: int) -> list[tuple[Any, ...]]:
    """Return steps on a list of tensors: what is done, to which of them, and with which numbers."""
    draw = random.Random(seed)
    steps: list[tuple[Any, ...]] = []
    for _ in range(draw.randint(3, 14)):
        kind = draw.choice(
            ["new", "view", "view", "resize_", "resize_", "set_", "set_", "write", "storage"]
        )
        steps.append((kind, draw.randrange(1 << 20), draw.randrange(1 << 20), draw.random()))
    return steps


def in_bounds(tensors: list[Any]) -> bool:
    """Say whether every tensor lies within its storage: PyTorch reads beyond it."""
    return all(
        not x.numel()
        or (x.storage_offset() + sum((n - 1) * s for n, s in zip(x.shape, x.stride(), strict=True)))
        * x.element_size()
        < x.untyped_storage().nbytes()
        for x in tensors
    )


def steps_of(x: Any) -> list[int]:
    """Return the offset and the strides that lead from one element to another."""
    pairs = zip(x.shape, x.stride(), strict=True)
    offset = x.storage_offset() if x.numel() else 0
    return [offset, *[stride for size, stride in pairs if size > 1 and x.numel()]]


def overlaps(x: Any) -> bool:
    """Say whether elements share a place: what adding gives there depends on the order."""
    places = [0]
    for size, stride in zip(x.shape, x.stride(), strict=True):
        places = [place + step * stride for place in places for step in range(size)]
    return len(set(places)) < len(places)


def zeroed(lib: Any, storage: Any, start: int) -> None:
    """Set the bytes that are new in a storage, which nobody set, to 0."""
    line = lib.zeros(0, dtype=lib.uint8).set_(storage)
    line[start:].fill_(0)


def run(lib: Any, steps: list[tuple[Any, ...]]) -> list[Any]:
    dtypes = [lib.float32, lib.int16, lib.uint8, lib.int64]
    tensors: list[Any] = [lib.arange(6, dtype=lib.int16)]
    said: list[Any] = []

    def step(kind: str, a: int, b: int, r: float) -> Any:
        x, y = tensors[a % len(tensors)], tensors[b % len(tensors)]
        sizes = [(a >> 4) % 4, (b >> 4) % 5][: (a >> 8) % 3]
        before = {t.untyped_storage()._cdata: t.untyped_storage().nbytes() for t in tensors}
        empty_view = not x.numel() and x.untyped_storage().nbytes()
        if (kind == "resize_" and empty_view) or (kind == "set_" and not y.numel()):
            return None  # NumPy does not tell where a view without elements begins
        if kind == "new":
            tensors.append(lib.arange(b % 8, dtype=dtypes[a % 4]))
        elif kind == "view":
            made = [
                lambda: x[(b % 3) :],
                lambda: x.t() if x.dim() == 2 else x.view(-1),
                lambda: x.unsqueeze(0),
                x.detach,
                lambda: x[..., ::2],
            ][b % 5]()
            tensors.append(made)
        elif kind == "resize_":
            x.resize_(sizes)
        elif kind == "set_":
            if list(x.shape) == sizes:
                return None  # PyTorch lets no storage grow for a tensor that has the size already
            if r < 0.3:
                x.set_(y)
            elif r < 0.6:
                x.set_(y.untyped_storage(), (a >> 6) % 4, sizes)
            elif r < 0.9:
                x.set_(y, (a >> 6) % 4, sizes, [(b >> 6) % 3 + 1] * len(sizes))
            else:
                x.set_()
        elif kind == "storage":
            storage = x.untyped_storage()
            storage.resize_(storage.nbytes() + b % 9)
        elif r < 0.5 or overlaps(x):
            x.fill_(b % 100)
        else:
            x.add_(1)
        for t in tensors:
            storage = t.untyped_storage()
            zeroed(lib, storage, before.get(storage._cdata, storage.nbytes()))
        return None

    for kind, a, b, r in steps:
        said.append(outcome(lambda kind=kind, a=a, b=b, r=r: step(kind, a, b, r)))
        assert in_bounds(tensors)
        said.append([(x.tolist(), tuple(x.shape), steps_of(x), x._version) for x in tensors])
        said.append([x.untyped_storage().nbytes() for x in tensors])
        said.append(
            [
                [x.untyped_storage()._cdata == y.untyped_storage()._cdata for x in tensors]
                for y in tensors
            ]
        )
    return said


def disagree(steps: list[tuple[Any, ...]]) -> bool:
    return run(dovetail, steps) != run(torch, steps)


def test_random_programs_on_storages_give_what_they_give_on_pytorch() -> None:
    for seed in range(FIRST, FIRST + PROGRAMS):
        steps = random_steps(seed)
        if disagree(steps):
            steps = smaller(steps, disagree)
            for ours, theirs in zip(run(dovetail, steps), run(torch, steps), strict=True):
                assert ours == theirs, f"program {seed}: {steps}"
