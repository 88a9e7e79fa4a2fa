"""Pieces of work on several threads, and kernels of large arrays against NumPy's."""

from __future__ import annotations

import _thread
import multiprocessing
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from dovetail_cpu.parallel import threads

BLOCK = 1 << 15


def exp_in_pieces(x: np.ndarray) -> np.ndarray:
    made = np.empty_like(x)

    def compute(start: int, stop: int) -> None:
        np.exp(x[start:stop], out=made[start:stop])

    threads.run_pieces(compute, x.size, x.size)
    return made


@pytest.fixture(autouse=True)
def number_of_threads() -> Iterator[None]:
    """Leave the number of threads as it was."""
    before = threads.get_num_threads()
    yield
    threads.set_num_threads(before)


@pytest.mark.parametrize("number", (1, 2, 3, 7))
@pytest.mark.parametrize("count", (1, 2, 5, 100))
def test_pieces_cover_everything_once(number, count):
    threads.set_num_threads(number)
    seen = np.zeros(count, int)

    def mark(start, stop):
        seen[start:stop] += 1

    threads.run_pieces(mark, count, threads.SHARED_FROM)
    assert (seen == 1).all()


def test_an_error_in_a_piece_is_raised_when_all_pieces_have_ended():
    threads.set_num_threads(3)
    ended = []

    def fail(start, stop):
        ended.append(start)
        raise ValueError(f"piece {start}")

    with pytest.raises(ValueError, match="piece"):
        threads.run_pieces(fail, 3, threads.SHARED_FROM)
    seen = sorted(ended)
    assert 0 in seen  # of the others those that had begun
    time.sleep(0.05)
    assert sorted(ended) == seen


def test_an_error_in_a_piece_of_another_thread_is_raised():
    threads.set_num_threads(2)
    begun = threading.Event()

    def fail(start, stop):
        if start:
            begun.set()
            raise ValueError(f"piece {start}")
        assert begun.wait(30)

    with pytest.raises(ValueError, match="piece 1"):
        threads.run_pieces(fail, 2, threads.SHARED_FROM)


def test_an_interrupt_is_raised_when_the_other_threads_are_done():
    threads.set_num_threads(2)
    begun, ended = threading.Event(), []

    def interrupt(start, stop):
        if not start:
            assert begun.wait(30)
            return
        begun.set()
        time.sleep(0.1)  # the caller waits for this piece by now
        _thread.interrupt_main()
        time.sleep(0.1)
        ended.append(start)

    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # may be ignored
    try:
        with pytest.raises(KeyboardInterrupt):
            threads.run_pieces(interrupt, 2, threads.SHARED_FROM)
    finally:
        signal.signal(signal.SIGINT, before)
    assert ended == [1]


def test_a_caller_computes_what_no_thread_has_time_for():
    threads.set_num_threads(2)
    busy, leave = threading.Event(), threading.Event()

    def block(start, stop):
        if start:
            busy.set()
        assert leave.wait(30)

    other = threading.Thread(target=threads.run_pieces, args=(block, 2, threads.SHARED_FROM))
    other.start()
    assert busy.wait(30)
    seen = []
    threads.run_pieces(
        lambda start, stop: seen.append(threading.current_thread()), 2, threads.SHARED_FROM
    )
    assert seen == [threading.current_thread()] * 2
    leave.set()
    other.join()


def test_another_number_of_threads_ends_those_there_were():
    threads.set_num_threads(3)
    threads.run_pieces(lambda start, stop: None, 3, threads.SHARED_FROM)
    before = [each for each in threading.enumerate() if each.name.startswith("dovetail_cpu")]
    threads.set_num_threads(1)
    for each in before:
        each.join(30)
        assert not each.is_alive()


def test_threads_share_the_pool_and_pieces_are_not_shared_again():
    threads.set_num_threads(2)
    x = np.random.default_rng(0).standard_normal(threads.SHARED_FROM).astype(np.float32)
    expected = np.exp(x)
    with ThreadPoolExecutor(4) as callers:
        for found in callers.map(exp_in_pieces, [x] * 12):
            np.testing.assert_array_equal(found, expected)
    inner, begun = [], threading.Event()

    def share(start, stop):
        if start:
            begun.set()
        assert begun.wait(30)  # so that the second piece is not left to the caller
        threads.run_pieces(lambda a, b: inner.append((start, a, b)), 4, threads.SHARED_FROM)

    threads.run_pieces(share, 2, threads.SHARED_FROM)
    assert (1, 0, 4) in inner


def _in_child(answers, x, expected):
    answers.put(bool(np.array_equal(exp_in_pieces(x), expected)))


@pytest.mark.skipif(sys.platform == "win32", reason="Windows does not fork.")
@pytest.mark.filterwarnings("ignore:This process.*is multi-threaded:DeprecationWarning")
def test_a_child_makes_threads_of_its_own():
    threads.set_num_threads(2)
    x = np.random.default_rng(0).standard_normal(threads.SHARED_FROM).astype(np.float32)
    expected = exp_in_pieces(x)
    context = multiprocessing.get_context("fork")
    answers = context.SimpleQueue()
    child = context.Process(target=_in_child, args=(answers, x, expected))
    child.start()
    child.join(30)
    assert child.exitcode == 0
    assert answers.get()


@pytest.mark.parametrize("before", ("", "share()"))
def test_pieces_are_computed_when_the_interpreter_ends(before):
    program = f"""
import atexit, os
from dovetail_cpu.parallel import threads

def write(*piece):
    os.write(1, f"{{piece}}\\n".encode())  # whole, whatever the other thread writes

def share():
    threads.run_pieces(write, 2, threads.SHARED_FROM)

threads.set_num_threads(2)
{before}
atexit.register(share)
"""
    command = [sys.executable, "-c", program]
    ran = subprocess.run(command, check=False, capture_output=True, text=True)
    assert ran.stderr == ""
    assert sorted(set(ran.stdout.split("\n"))) == ["", "(0, 1)", "(1, 2)"]


@pytest.mark.parametrize("dtype", ("float32", "float64"))
@pytest.mark.parametrize("shape", ((3, 5000), (40_000,), (300, 257), (2, 30, 700), (70, 3, 301)))
@pytest.mark.parametrize("name", ("cumsum", "cumprod"))
def test_running_results_of_large_arrays_agree_with_numpy(name, shape, dtype, kernel):
    x = 1 + np.random.default_rng(0).standard_normal(shape).astype(dtype) / 100
    odd = x.copy()
    odd.reshape(-1)[odd.size // 2], odd.reshape(-1)[odd.size // 3] = np.inf, np.nan
    for given_ in (x, odd, x[::-1]):
        for dim in range(len(shape)):
            expected = getattr(np, name)(given_.astype(np.float64), dim)
            tolerance = 1e-3 if dtype == "float32" else 1e-10
            found = kernel(name, given_, dim)
            assert found.dtype == given_.dtype
            np.testing.assert_allclose(found, expected, tolerance)


@pytest.mark.parametrize("shape", ((3, 5000), (40_001,), (300, 57), (2, 30, 701), (70, 300, 1)))
def test_products_of_long_rows_agree_with_numpy(shape, kernel):
    x = 1 + np.random.default_rng(0).standard_normal(shape) / 100
    for keepdim in (False, True):
        found, expected = kernel("prod.dim_int", x, -1, keepdim), x.prod(-1, keepdims=keepdim)
        assert found.shape == expected.shape
        np.testing.assert_allclose(found, expected, 1e-10)
    np.testing.assert_allclose(kernel("prod", x), x.prod(), 1e-9)


@pytest.mark.parametrize("shape", ((300, 300), (2, 70, 1200), (1000, 90)))
@pytest.mark.parametrize("diagonal", (-2000, -500, -65, -1, 0, 1, 64, 400, 2000))
def test_large_triangles_are_numpys(shape, diagonal, kernel):
    x = np.random.default_rng(0).standard_normal(shape)
    x[..., 0, 0] = np.inf
    for name in ("tril", "triu"):
        np.testing.assert_array_equal(kernel(name, x, diagonal), getattr(np, name)(x, diagonal))


@pytest.mark.parametrize("shape", ((700, 300), (5, 200, 300), (1, 100_000)))
def test_a_transposed_array_is_copied_in_c_order(shape):
    import dovetail

    x = np.random.default_rng(0).standard_normal(shape).astype(np.float32)
    turned = dovetail.from_numpy(x).permute(tuple(reversed(range(len(shape)))))
    made = turned.contiguous()
    assert made.is_contiguous()
    assert made.data_ptr() != turned.data_ptr() or turned.is_contiguous()
    np.testing.assert_array_equal(made.numpy(), x.T)


@pytest.mark.parametrize("dtype", ("float32", "float64"))
@pytest.mark.parametrize("shape", ((200, 300), (3, 30_001), (90_000,), (2, 300, 50)))
@pytest.mark.parametrize("keepdim", (False, True))
def test_norms_and_logsumexp_of_large_arrays_agree_with_the_generic_kernels(
    keepdim, shape, dtype, table, generic_table
):
    x = np.random.default_rng(0).standard_normal(shape).astype(dtype)
    odd = x.copy()
    odd[0] = -np.inf
    odd.reshape(-1)[-1], odd.reshape(-1)[-2] = np.nan, np.inf
    every = (None, (-1,), (0,), tuple(range(len(shape))))
    with np.errstate(all="ignore"):
        for given_ in (x, odd):
            for dims in every:
                for name, args in (
                    ("linalg_vector_norm", (2, dims, keepdim)),
                    ("logsumexp", (dims or (0,), keepdim)),
                ):
                    found, expected = [
                        each.kernels[name].fn(given_, *args) for each in (table, generic_table)
                    ]
                    assert (found.shape, found.dtype) == (expected.shape, expected.dtype)
                    np.testing.assert_allclose(
                        found, expected, 1e-5 if dtype == "float32" else 1e-12
                    )


@pytest.mark.parametrize("dtype", ("float32", "float64"))
@pytest.mark.parametrize("alpha", (0.0, -0.5, 3, 1e-9))
def test_a_scaled_sum_in_place_is_that_of_new_arrays(alpha, dtype):
    import dovetail

    generator = np.random.default_rng(0)
    x, y = generator.standard_normal((2, 300, 400)).astype(dtype)
    y[0, 0] = np.inf
    with np.errstate(all="ignore"):
        sums = (x + alpha * y, x - alpha * y, 1.5 * x)
    for other, method, expected in (
        (y, "add_", sums[0]),
        (y, "sub_", sums[1]),
        (np.asfortranarray(y), "add_", sums[0]),
    ):
        tensor = dovetail.from_numpy(x.copy())
        assert getattr(tensor, method)(dovetail.from_numpy(other), alpha=alpha) is tensor
        np.testing.assert_allclose(tensor.numpy(), expected, 1e-6, 1e-6)
    tensor = dovetail.from_numpy(x.copy())
    tensor.add_(tensor, alpha=0.5)
    np.testing.assert_allclose(tensor.numpy(), sums[2], 1e-6, 1e-6)
    lines = dovetail.from_numpy(x.copy())
    lines[:, ::2].add_(dovetail.from_numpy(y[:, ::2].copy()), alpha=alpha)
    np.testing.assert_allclose(lines.numpy()[:, ::2], sums[0][:, ::2], 1e-6, 1e-6)
    np.testing.assert_array_equal(lines.numpy()[:, 1::2], x[:, 1::2])
