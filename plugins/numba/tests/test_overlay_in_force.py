"""The overlay is put in force and taken out whole, leaves to the cpu's kernels what it does not
win, and runs on several threads and after a fork.
"""

from __future__ import annotations

import os
import signal
import threading
import time
import warnings
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import dovetail
from dovetail.library import Library
from dovetail.nn import functional as f
from dovetail_dispatcher.table import registry
from dovetail_kernel import plugin_manager
from dovetail_numba.registration import all_covers

LARGE = 1 << 17
THREADS = [1, 2, 4]


def state() -> list[Any]:
    """Return what the table holds, and what says which kernels run."""
    kernels = [(op.qualified_name, dict(op.kernels)) for op in registry.all_operators()]
    record = next(each for each in plugin_manager.list_plugins() if each.name == "numba")
    return [
        kernels,
        record,
        str(dovetail.explain(dovetail.ops.aten.gelu.default, dovetail.ones(2))),
    ]


def results() -> list[Any]:
    """Return what operators of every module of kernels return, forward and backward."""
    dovetail.manual_seed(0)
    x = dovetail.randn(512, 256).requires_grad_()
    images = dovetail.randn(4, 8, 64, 64).requires_grad_()
    weight = dovetail.randn(8, 1, 3, 3)
    index = dovetail.arange(512).flip(0)
    scale = dovetail.linspace(0.5, 1.5, 8)
    made = [
        f.gelu(x),
        x.softmax(1),
        f.layer_norm(x, (256,)),
        f.cross_entropy(x, index % 256),
        f.mse_loss(x, x.detach() * 0.5),
        x.cumsum(0),
        x.index_add(0, index, x.detach()),
        dovetail.addcmul(x, x, x, value=0.3),
        f.batch_norm(images, None, None, scale, scale, True),
        f.max_pool2d(images, 2),
        f.conv2d(images, weight, None, 1, 1, 1, 8),
        f.group_norm(images, 4),
    ]
    grads = [
        dovetail.autograd.grad((each * each.detach()).sum(), leaf)[0]
        for each, leaf in zip(made, [x] * 8 + [images] * 4, strict=True)
    ]
    return [each.detach().numpy() for each in made + grads]


def compare(found: list[Any], expected: list[Any]) -> None:
    for ours, theirs in zip(found, expected, strict=True):
        size = max(1.0, float(np.abs(theirs).max()))
        np.testing.assert_allclose(ours, theirs, 1e-4, 1e-5 * size)


def test_every_kernel_stands_over_one_of_the_cpu() -> None:
    with dovetail.use_overlay("numba"):
        record = next(each for each in plugin_manager.list_plugins() if each.name == "numba")
        assert record.state == "available"
        assert record.kernels == len([each for each in all_covers() if not each.is_helper])


def test_the_overlay_goes_without_a_trace() -> None:
    x = dovetail.randn(LARGE)
    before, plain = state(), f.gelu(x)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        overlay = dovetail.use_overlay("numba")
        assert repr(overlay) == "<overlay 'numba', in use>"
        compiled = f.gelu(x)
        overlay.remove()
        overlay.remove()
    assert [each.category for each in caught] == [FutureWarning]  # of the end of overlays
    assert repr(overlay) == "<overlay 'numba', removed>"
    assert state() == before
    assert not np.array_equal(compiled.numpy(), plain.numpy())  # another formula
    assert np.array_equal(f.gelu(x).numpy(), plain.numpy())


def test_a_block_leaves_an_overlay_that_was_in_force_before() -> None:
    outer = dovetail.use_overlay("numba")
    with dovetail.use_overlay("numba"):
        pass
    assert plugin_manager.overlays.names == ["numba"]
    outer.remove()
    assert plugin_manager.overlays.names == []


def test_explain_shows_the_kernel_and_the_one_beneath() -> None:
    with dovetail.use_overlay("numba"):
        text = str(dovetail.explain(dovetail.ops.aten.mish.default, dovetail.ones(2)))
    assert "CPU [kernel]: dovetail_numba.kernels.activations" in text
    assert "dense arrays of at least 256 elements by compiled loops, and hands other calls" in text
    assert "CPU [beneath the overlay]: dovetail_" in text


def test_small_arrays_other_dtypes_and_arrays_with_gaps_run_the_kernel_beneath() -> None:
    wide = dovetail.randn(LARGE, 2)
    inputs = [dovetail.randn(8), wide[:, 0], wide.double()[:, 1], wide.half(), wide.bfloat16()]
    expected = [f.mish(x) for x in inputs]
    with dovetail.use_overlay("numba"):
        for x, wanted in zip(inputs, expected, strict=True):
            assert np.array_equal(f.mish(x).float().numpy(), wanted.float().numpy())


def test_errors_are_those_of_the_kernel_beneath() -> None:
    x, index = dovetail.randn(1024, 8), dovetail.full((1024, 8), 8)
    with dovetail.use_overlay("numba"):
        with pytest.raises(RuntimeError, match="out of bounds"):
            x.gather(1, index)
        with pytest.raises(RuntimeError, match="approximate argument must be either none or tanh"):
            f.gelu(x, approximate="sinus")
        with pytest.raises(RuntimeError, match="pad should be at most half"):
            f.max_pool2d(x[None], 2, 2, 3)


@pytest.mark.filterwarnings("ignore:Overriding")  # reported once in a process
def test_a_kernel_of_somebody_else_stays_in_force() -> None:
    library = Library("aten", "IMPL")
    library.array_impl("mish", lambda x: x * 0, "CPU")
    try:
        with dovetail.use_overlay("numba"):
            assert f.mish(dovetail.ones(LARGE)).sum().item() == 0
    finally:
        library._destroy()


@pytest.mark.parametrize("count", THREADS)
def test_results_do_not_depend_on_the_number_of_threads(count: int) -> None:
    expected, before = results(), dovetail.get_num_threads()
    try:
        dovetail.set_num_threads(count)
        with dovetail.use_overlay("numba"):
            compare(results(), expected)
    finally:
        dovetail.set_num_threads(before)


def test_several_threads_may_call_at_once() -> None:
    x = dovetail.randn(64, LARGE // 64)
    expected, before = f.gelu(x).softmax(1).numpy(), dovetail.get_num_threads()
    try:
        dovetail.set_num_threads(2)
        with dovetail.use_overlay("numba"), ThreadPoolExecutor(4) as pool:
            for made in pool.map(lambda _: f.gelu(x).softmax(1).numpy(), range(24)):
                np.testing.assert_allclose(made, expected, 1e-5, 1e-7)
    finally:
        dovetail.set_num_threads(before)


def test_an_overlay_may_come_and_go_while_other_threads_call() -> None:
    x, stop, errors = dovetail.randn(LARGE), threading.Event(), []
    expected = f.mish(x).numpy()

    def call() -> None:
        while not stop.is_set():
            try:
                np.testing.assert_allclose(f.mish(x).numpy(), expected, 1e-5, 1e-6)
            except BaseException as error:
                errors.append(error)
                return

    threads = [threading.Thread(target=call) for _ in range(2)]
    for each in threads:
        each.start()
    for _ in range(10):
        with dovetail.use_overlay("numba"):
            time.sleep(0.005)
    stop.set()
    for each in threads:
        each.join()
    assert not errors


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
@pytest.mark.filterwarnings("ignore:This process.*is multi-threaded:DeprecationWarning")
@pytest.mark.parametrize("count", [1, 2])
def test_the_child_of_a_fork_computes(count: int) -> None:
    """Also with threads, of which the child has none; and what the parent has not compiled."""
    before = dovetail.get_num_threads()
    try:
        dovetail.set_num_threads(count)
        with dovetail.use_overlay("numba"):
            expected = results()
            child = os.fork()
            if not child:
                status = 1
                try:
                    signal.alarm(120)
                    compare(results(), expected)
                    x = dovetail.randn(LARGE).double()
                    assert bool((f.mish(x) - x * f.softplus(x).tanh()).abs().max() < 1e-9)
                    status = 0
                finally:
                    os._exit(status)
            assert os.waitpid(child, 0)[1] == 0
    finally:
        dovetail.set_num_threads(before)
