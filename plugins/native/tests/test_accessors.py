"""Compiled attributes and methods of tensors, and compiled guards: they do what their text does."""

from __future__ import annotations

import inspect
import pickle
import random
import signal
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy
import pytest

core = pytest.importorskip("dovetail_native._core", reason="built without a C compiler")
dovetail = pytest.importorskip("dovetail", reason="the front end is not installed")

from dovetail_dispatcher import compiled_code  # noqa: E402 - after what may be missing
from dovetail_kernel.keys import StateGuard  # noqa: E402

from .recorder import Recorder  # noqa: E402

pytestmark = [
    pytest.mark.skipif(not compiled_code.is_in_force(), reason="it is switched off"),
    pytest.mark.cpu_only(reason="entries are the same on all devices"),
]

CALLABLE = ("size", "stride", "dim", "numel", "is_contiguous", "data_ptr", "tolist")
SETTING = ("requires_grad_", "set_requires_grad", "data", "__getitem__", "__enter__", "__exit__")
OF_DATA = ("tensor", "as_tensor", "from_numpy")


def attribute(name: str) -> Any:
    found = inspect.getattr_static(dovetail.Tensor, name)
    return found.fget if isinstance(found, property) else found


def outcome(call: Callable[..., Any], *args: Any) -> Any:
    try:
        return repr(call(*args))
    except Exception as error:
        return type(error), str(error)


class Sub(dovetail.Tensor):  # type: ignore[misc, name-defined]
    pass


def tensors_of_all_kinds() -> list[Any]:
    x = dovetail.arange(24.0).reshape(2, 3, 4)
    r = dovetail.ones(3, requires_grad=True)
    kept, known = r * 2, dovetail.ones(3, requires_grad=True)
    kept.retain_grad()
    (kept * known).sum().backward()
    with dovetail.inference_mode():
        inference = dovetail.ones(2)
    base = dovetail.ones(4)
    base[:2].mul_(dovetail.ones(2, requires_grad=True))
    return [
        x,
        x[0],
        x.permute(2, 0, 1),
        x[:, ::2],
        x.flip(0),
        x.expand(5, 2, 3, 4),
        x[..., :0],
        dovetail.tensor(1),
        dovetail.ones(2, dtype=dovetail.complex64).real,
        dovetail.ones(2, dtype=dovetail.complex64),
        dovetail.ones(2, dtype=dovetail.float16),
        dovetail.ones(2, dtype=dovetail.bfloat16),
        r,
        r * 2,
        r[1:],
        r.detach(),
        kept,
        known,
        base,
        base[2:],
        inference,
        x.as_subclass(Sub),
        x.to("meta"),
        dovetail.nn.Parameter(x),
        dovetail.nn.Parameter(x, requires_grad=False),
    ]


MODES: list[Callable[[], AbstractContextManager[Any]]] = [
    nullcontext,
    dovetail.no_grad,
    dovetail.inference_mode,
    Recorder,
]


@pytest.mark.parametrize(
    "name", [each for each in core.ACCESSORS if each not in (*SETTING, *OF_DATA)]
)
def test_attributes_are_those_of_the_text(name: str) -> None:
    entry = attribute(name)
    assert type(entry) is core.Entry
    for mode in MODES:
        for tensor in tensors_of_all_kinds():
            for args in [(), (0,), (-1,), (7,), (None,), ("0",)] if name in CALLABLE else [()]:
                with mode():
                    found = outcome(entry, tensor, *args)
                    assert found == outcome(entry.text, tensor, *args), (tensor.shape, args)
    for wrong in ((), (1,), (None,)):
        assert outcome(entry, *wrong) == outcome(entry.text, *wrong)


def test_attributes_are_seen_by_modes_and_transforms() -> None:
    x = dovetail.ones(2, 3)
    assert x.shape == x.size() == (2, 3)
    with Recorder() as mode:
        assert x.size(0) == 2
        assert x.shape == (2, 3)
        assert x.data.tolist() == x.tolist()
        assert x.requires_grad_() is x
    assert mode.seen[:2] == [dovetail.Tensor.size, dovetail.Tensor.shape.__get__]
    assert dovetail.Tensor.data.__get__ in mode.seen
    assert dovetail.Tensor.requires_grad_ in mode.seen
    shapes = []
    dovetail.func.vmap(lambda row: shapes.append(row.shape) or row)(x)
    assert shapes == [(3,)]
    assert pickle.loads(pickle.dumps(dovetail.Tensor.size)) is dovetail.Tensor.size


def test_shapes_are_told_apart_however_many_were_read() -> None:
    draw = random.Random(0)
    for _ in range(3000):
        sizes = tuple([draw.choice((0, 1, 2, 3, 64, 129)) for _ in range(draw.randint(0, 4))])
        shape = dovetail.empty(sizes).shape
        assert type(shape) is dovetail.Size
        assert tuple(shape) == sizes


def test_items_of_a_size_are_those_of_the_text() -> None:
    entry = dovetail.Size.__getitem__
    assert type(entry) is core.Entry
    keys = (0, -1, 2, 3, -3, -4, 2**70, True, numpy.int64(1), slice(1, None), "0", None, 1.0)
    for size in (dovetail.ones(2, 3, 4).shape, dovetail.Size(())):
        for key in keys:
            assert outcome(entry, size, key) == outcome(entry.text, size, key), key
    for wrong in ((), (dovetail.Size(()),), ([1], 0)):
        assert outcome(entry, *wrong) == outcome(entry.text, *wrong)


# -- data and requires_grad_ -----------------------------------------------------------------------


def state_of(tensor: Any) -> Any:
    """Return what can be seen of a tensor: its slots, apart from what other tensors share."""
    return (
        type(tensor),
        tensor._signature,
        tensor.output_nr,
        type(tensor._counter),
        tensor._meta is None,
        tensor.is_leaf,
        tensor.requires_grad,
        tensor.tolist() if tensor.device.type == "cpu" else None,
    )


@pytest.mark.parametrize("mode", MODES)
def test_data_is_that_of_the_text(mode: Callable[[], AbstractContextManager[Any]]) -> None:
    entry = attribute("data")
    assert type(entry) is core.Entry
    for first, second in zip(tensors_of_all_kinds(), tensors_of_all_kinds(), strict=True):
        for _ in range(2):  # also where the storage is there already
            with mode():
                made, wanted = entry(first), entry.text(second)
            assert state_of(made) == state_of(wanted)
            assert made.untyped_storage() is first.untyped_storage()
            if made.device.type == "cpu":
                assert made.data_ptr() == first.data_ptr()


def test_data_has_a_version_of_its_own() -> None:
    x = dovetail.ones(3, requires_grad=True)
    y = x * x
    x.data.mul_(2)
    assert x.tolist() == [2, 2, 2]
    assert x._version == 0
    y.sum().backward()  # what was saved counts as unchanged
    assert x.grad.tolist() == [4, 4, 4]
    x.detach().mul_(2)
    assert x._version == 1


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("args", [(), (True,), (False,), (1,), (None,), (True, 1)])
def test_requires_grad_is_that_of_the_text(
    mode: Callable[[], AbstractContextManager[Any]], args: tuple[Any, ...]
) -> None:
    setter = inspect.getattr_static(dovetail.Tensor, "requires_grad")
    for entry in (attribute("requires_grad_"), setter.fset):
        assert type(entry) is core.Entry
        for first, second in zip(tensors_of_all_kinds(), tensors_of_all_kinds(), strict=True):
            with mode():
                found, wanted = outcome(entry, first, *args), outcome(entry.text, second, *args)
            assert found == wanted
            assert state_of(first) == state_of(second)


def test_older_graphs_of_a_leaf_that_no_longer_requires_grad_drop_what_comes() -> None:
    x = dovetail.ones(3, requires_grad=True)
    y = (x * x).sum()
    x.requires_grad_(False)
    y.backward(retain_graph=True)
    assert x.grad is None
    x.requires_grad_()
    y.backward()
    assert x.grad.tolist() == [2, 2, 2]


def test_requires_grad_is_refused_inside_of_transforms() -> None:
    x = dovetail.ones(3)
    with pytest.raises(RuntimeError, match="functorch transform"):
        dovetail.func.grad(lambda y: (x.requires_grad_() * y).sum())(dovetail.ones(3))
    assert not x.requires_grad


# -- guards ----------------------------------------------------------------------------------------

GUARDS: list[Callable[[], Any]] = [
    dovetail.no_grad,
    dovetail.enable_grad,
    dovetail.inference_mode,
    lambda: dovetail.inference_mode(False),
    lambda: dovetail.set_grad_enabled(True),
    dovetail._C.DisableTorchFunctionSubclass,
]


def seen() -> Any:
    return dovetail.is_grad_enabled(), dovetail.is_inference_mode_enabled()


def walk(calls: tuple[Any, Any], drawn: random.Random) -> list[Any]:
    """Enter and leave guards at random, also one within itself, and say what is in force."""
    enter, leave = calls
    found, entered = [], []
    guards = [make() for make in GUARDS if make is not GUARDS[4]]
    for _ in range(60):
        if entered and drawn.random() < 0.5:
            assert leave(entered.pop(), None, None, None) is None
        else:
            entered.append(drawn.choice(guards))
            assert enter(entered[-1]) is None
        found.append(seen())
    while entered:
        leave(entered.pop(), None, None, None)
    return [*found, seen()]


def test_guards_do_what_their_text_does() -> None:
    enter, leave = StateGuard.__dict__["__enter__"], StateGuard.__dict__["__exit__"]
    assert type(enter) is type(leave) is core.Entry
    for seed in range(20):
        compiled = walk((enter, leave), random.Random(seed))
        assert compiled == walk((enter.text, leave.text), random.Random(seed))
        assert compiled[-1] == (True, False)
    for wrong in ((), (1,), (dovetail.no_grad(),)):
        error = outcome(leave, *wrong, *wrong, None)
        assert error == outcome(leave.text, *wrong, *wrong, None)
        assert error[0] in (TypeError, AttributeError)


def test_guards_of_a_subclass_are_its_own() -> None:
    class Noted(dovetail.no_grad):  # type: ignore[misc, name-defined]
        entered = 0

        def __enter__(self) -> None:
            Noted.entered += 1
            super().__enter__()

    with Noted():
        assert not dovetail.is_grad_enabled()
    assert dovetail.is_grad_enabled()
    assert Noted.entered == 1


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs timers that send signals")
def test_no_signal_splits_a_block_from_its_guard() -> None:
    drawn = random.Random(0)
    previous = signal.signal(signal.SIGALRM, signal.default_int_handler)
    try:
        for at in range(200):
            guard = GUARDS[at % 4]
            try:
                signal.setitimer(signal.ITIMER_REAL, drawn.uniform(1e-5, 3e-4))
                while True:
                    with guard():
                        pass
            except KeyboardInterrupt:
                pass
            assert seen() == (True, False), at
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)
