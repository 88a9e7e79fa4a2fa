"""The compiled loop of the engine beside that in Python: gradients, versions, the order of nodes,
errors and references are the same.
"""

from __future__ import annotations

import gc
import itertools
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

core = pytest.importorskip("dovetail_native._core", reason="built without a C compiler")
dovetail = pytest.importorskip("dovetail", reason="the front end is not installed")
sockets = pytest.importorskip("dovetail_autograd.sockets", reason="autograd is not installed")

from dovetail_autograd.graph.accumulate import watch  # noqa: E402 - after what may be missing
from dovetail_dispatcher import compiled_code  # noqa: E402
from dovetail_kernel import backend  # noqa: E402

pytestmark = [
    pytest.mark.skipif(not compiled_code.is_in_force(), reason="it is switched off"),
    pytest.mark.cpu_only(reason="the compiled loop is for arrays of NumPy"),
]

PROGRAMS = int(os.environ.get("DOVETAIL_PROGRAMS", "60"))
FIRST = int(os.environ.get("DOVETAIL_FIRST_PROGRAM", "0"))


@pytest.fixture(autouse=True)
def _without_hooks_of_other_tests() -> Iterator[None]:
    """Let the loop be compiled though a test before had hooks on leaves."""
    (dovetail.ones(1, requires_grad=True) * 2).backward()
    before, watch.leaves = watch.leaves, False
    yield
    watch.leaves = before


@contextmanager
def in_python() -> Iterator[None]:
    compiled = sockets.COMPILED_LOOP.plug
    sockets.COMPILED_LOOP.fill(None)
    try:
        yield
    finally:
        sockets.COMPILED_LOOP.fill(compiled)


def both_ways(run: Callable[[], Any]) -> tuple[Any, Any]:
    """Return what `run` returns with the compiled loop, and with that in Python."""
    assert sockets.COMPILED_LOOP.plug is not None
    compiled = run()
    with in_python():
        return compiled, run()


class Doubled(dovetail.autograd.Function):
    """A node that takes tensors, between those that take arrays."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return x * 2

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        return grad.mul_(2) if grad.is_contiguous() else grad * 2


class Dropped(dovetail.autograd.Function):
    """A node that gives no gradient to its first argument, whose nodes run all the same."""

    @staticmethod
    def forward(ctx: Any, x: Any, y: Any) -> Any:
        return y * 1

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        return None, grad


def random_graph(seed: int) -> tuple[list[Any], Any]:
    """Return leaves and a scalar of a random graph: fans, broadcasts, views, several outputs,
    dtypes that promote, Functions, gradients that are undefined, and outputs that lead nowhere.
    """
    choose = random.Random(seed)
    numbers = np.random.default_rng(seed)
    made = [
        dovetail.tensor(numbers.normal(size=shape), dtype=dtype, requires_grad=True)
        for shape, dtype in [
            ((3, 4), dovetail.float32),
            ((4,), dovetail.float32),
            ((3, 1), dovetail.float64),
            ((), dovetail.float32),
        ]
    ]
    leaves = list(made)
    values = list(made)
    for _ in range(choose.randrange(3, 25)):
        x, y = choose.choice(values), choose.choice(values)
        kind = choose.randrange(10)
        if kind == 0 and x.dim() > 0:
            values += x.unbind(choose.randrange(x.dim()))[:2]
        elif kind == 1 and x.dim() > 0:
            top = x.max(0)
            values.append(top.values)
        elif kind == 2 and x.dim() > 0:
            values.append(x.sum(choose.randrange(x.dim())))
        elif kind == 3:
            values.append(Doubled.apply(x))
        elif kind == 9:
            values.append(Dropped.apply(x, y))
        elif kind == 4:
            values.append(x.tanh())
        elif kind == 5:
            values.append(x.t() if x.dim() == 2 else x.exp().clamp(max=3))
        elif kind == 6 and x.dim() > 0 and x.shape[0] > 1:
            _, rest = x.split([1, x.shape[0] - 1])
            values.append(rest)
        else:
            try:
                values.append(x * y if kind == 7 else x + y)
            except RuntimeError:
                values.append(x - 1)
    return leaves, sum([each.double().sum() for each in values[-4:]])


def seen(leaves: list[Any]) -> list[Any]:
    """Return what is seen of the gradients of leaves."""
    found = []
    for leaf in leaves:
        grad = leaf.grad
        if grad is None:
            found.append(None)
            continue
        array = grad.numpy()
        layout = grad.stride(), grad._version, grad.is_contiguous(), array.flags.writeable
        found.append((grad.dtype, array.tobytes(), *layout))
    return found


@pytest.mark.parametrize("seed", range(FIRST, FIRST + PROGRAMS))
def test_random_graphs_give_the_same_gradients(seed: int) -> None:
    def run() -> Any:
        leaves, loss = random_graph(seed)
        loss.backward(retain_graph=True)
        once = seen(leaves)
        loss.backward(retain_graph=True)
        asked = dovetail.autograd.grad(loss, leaves, retain_graph=True, allow_unused=True)
        loss.backward()
        got = [None if each is None else (each.dtype, each.numpy().tobytes()) for each in asked]
        return once, seen(leaves), got

    compiled, python = both_ways(run)
    assert compiled == python


@pytest.mark.parametrize("seed", range(FIRST, FIRST + PROGRAMS, 4))
def test_no_two_gradients_share_memory(seed: int) -> None:
    leaves, loss = random_graph(seed)
    loss.backward()
    arrays = [leaf.grad.numpy() for leaf in leaves if leaf.grad is not None]
    shown = [leaf.detach().numpy() for leaf in leaves]
    for index, array in enumerate(arrays):
        assert not any(np.shares_memory(array, each) for each in (*arrays[:index], *shown))


def test_first_gradient_is_taken_over_only_from_nobody() -> None:
    weights = dovetail.ones(2, 3)
    x = dovetail.ones(2, 3, requires_grad=True)
    y = dovetail.ones(2, 3, requires_grad=True)
    (x + y).backward(weights)
    weights.zero_()
    x.grad.fill_(7)
    assert x.grad.tolist() == [[7.0] * 3] * 2
    assert y.grad.tolist() == [[1.0] * 3] * 2


def test_nodes_run_in_the_same_order() -> None:
    def run() -> list[str]:
        order: list[str] = []

        class Noting(dovetail.autograd.Function):
            @staticmethod
            def forward(ctx: Any, x: Any, name: str) -> Any:
                ctx.name = name
                return x * 1

            @staticmethod
            def backward(ctx: Any, grad: Any) -> Any:
                order.append(ctx.name)
                return grad, None

        choose = random.Random(3)
        values = [dovetail.ones(2, requires_grad=True)]
        for number in range(60):
            x, y = choose.choice(values[-9:]), choose.choice(values[-9:])
            values.append(Noting.apply(x + y, str(number)))
        sum(values[-5:]).sum().backward()
        return order

    compiled, python = both_ways(run)
    assert compiled == python and len(compiled) > 20


def test_graph_that_was_freed_is_refused_with_the_same_words() -> None:
    def run() -> list[str]:
        x = dovetail.ones(2, requires_grad=True)
        loss = (x.exp() * x).sum()
        loss.backward()
        with pytest.raises(RuntimeError, match="a second time") as first:
            loss.backward()
        y = x.exp()
        loss = (y * y).sum()
        with dovetail.no_grad():
            y.add_(1)
        with pytest.raises(RuntimeError, match="modified by an inplace") as second:
            loss.backward()
        return [str(first.value), str(second.value)]

    compiled, python = both_ways(run)
    assert compiled == python


@pytest.mark.filterwarnings("ignore:Anomaly Detection")
def test_modes_anomaly_and_hooks_leave_the_compiled_loop() -> None:
    def run() -> list[Any]:
        noted: list[Any] = []
        x = dovetail.ones(2, requires_grad=True)
        y = x * 3
        y.register_hook(lambda grad: noted.append(grad.tolist()))
        y.grad_fn.register_hook(lambda inner, outer: noted.append(len(inner)))
        (y * y).sum().backward(retain_graph=True)
        (again,) = dovetail.autograd.grad((y * y).sum(), x, create_graph=True)
        again.sum().backward()
        with dovetail.autograd.detect_anomaly():
            (x.exp() * 2).sum().backward()
        return [*noted, x.grad.tolist()]

    compiled, python = both_ways(run)
    assert compiled == python


def test_references_are_balanced() -> None:
    leaves, loss = random_graph(5)

    def run() -> None:
        loss.backward(retain_graph=True)
        dovetail.autograd.grad(loss, leaves, retain_graph=True, allow_unused=True)
        for leaf in leaves:
            leaf.grad = None

    for _ in range(50):
        run()
    gc.collect()
    counted = [(sys.getrefcount(leaf), sys.getrefcount(leaf.dtype)) for leaf in leaves]
    blocks = sys.getallocatedblocks()
    for _ in range(400):
        run()
    gc.collect()
    assert [(sys.getrefcount(leaf), sys.getrefcount(leaf.dtype)) for leaf in leaves] == counted
    assert sys.getallocatedblocks() - blocks < 200


def test_failures_lose_no_references() -> None:
    class Failing(dovetail.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 1

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            raise ValueError("no gradient today")

    def run() -> None:
        x = dovetail.ones(3, requires_grad=True)
        y = x * x
        a, b = (Failing.apply(y) + y * 2).split([1, 2])
        with pytest.raises(ValueError, match="today"):
            (a.sum() * b.sum()).backward()

    for _ in range(20):
        run()
    gc.collect()
    blocks = sys.getallocatedblocks()
    for _ in range(500):
        run()
    gc.collect()
    assert sys.getallocatedblocks() - blocks < 200


def test_chain_of_many_nodes_needs_no_recursion() -> None:
    x = dovetail.ones(1, requires_grad=True)
    y = x
    for _ in range(200_000):
        y = y + x
    y.backward()
    assert x.grad.item() == 200_001


def test_signal_is_seen_at_once() -> None:
    x = dovetail.ones(1, requires_grad=True)
    y = x
    for _ in range(100_000):
        y = y + x
    came: list[float] = []

    def interrupt(*_: object) -> None:
        came.append(time.perf_counter())
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        with pytest.raises(KeyboardInterrupt):
            signal.setitimer(signal.ITIMER_REAL, 0.01)
            while True:
                y.backward(retain_graph=True)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert time.perf_counter() - came[0] < 1
    x.grad = None
    y.backward()
    assert x.grad.item() == 100_001


def test_threads_accumulate_into_one_leaf() -> None:
    x = dovetail.ones(8, requires_grad=True)
    (x * 1).sum().backward()

    def run() -> None:
        for _ in range(200):
            (x * 2).sum().backward()

    threads = [threading.Thread(target=run) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert x.grad.tolist() == [1.0 + 4 * 200 * 2] * 8


def test_a_node_describes_its_own_results_among_many_shapes_and_dtypes() -> None:
    """More of them than descriptions are kept of, each several times."""
    sizes = [*itertools.product((0, 1, 2, 3), repeat=2), (), (2,), (2, 1, 2), (2**33, 0)]
    dtypes = (dovetail.float32, dovetail.float64, dovetail.complex64)
    for size, dtype in [*itertools.product(sizes, dtypes)] * 2:
        leaf = dovetail.ones(size, dtype=dtype, requires_grad=True)
        for made in (leaf * 2, leaf + leaf):
            (metadata,) = made.grad_fn._input_metadata
            assert (metadata.shape, metadata.dtype) == (size, dtype)


@pytest.mark.parametrize("name", ["side", "captures", "keep_graph", "prunes", "kept"])
def test_an_interrupt_while_a_run_begins_comes_out_and_nothing_else_is_asked(name: str) -> None:
    asked = []
    answers = {"captures": None, "keep_graph": False, "prunes": True, "kept": set()}
    answers["side"] = SimpleNamespace(backend=backend("cpu"))

    class Task:
        def __getattr__(self, each: str) -> Any:
            asked.append(each)
            if each == name:
                raise KeyboardInterrupt(name)
            return answers[each]

    node = dovetail.ones(1, requires_grad=True).exp().grad_fn
    with pytest.raises(KeyboardInterrupt, match=name):
        core.run_backward(Task(), node, (), ())
    assert asked[-1] == name


@pytest.mark.parametrize(
    "leaf",
    [
        "dovetail.ones(2, requires_grad=True)",
        "dovetail.ones(2).requires_grad_()",
        "dovetail.nn.Parameter(dovetail.ones(2))",
    ],
)
def test_the_engine_is_imported_when_a_tensor_may_first_require_grad(leaf: str) -> None:
    program = (
        "import sys, dovetail\n"
        "def is_there(): return 'dovetail_native.engine_loop' in sys.modules\n"
        "x = dovetail.ones(2)\n"
        "seen = [(x + x).exp().sum().item() > 0 and is_there()]\n"
        f"x = {leaf}\n"
        "seen.append(is_there())\n"
        "(x * x).sum().backward()\n"
        "print(seen, x.grad.tolist())\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert done.stdout == "[False, True] [2.0, 2.0]\n", done.stderr
