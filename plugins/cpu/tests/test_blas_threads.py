"""Small products stay in the calling thread: threads of a BLAS wait for each other by spinning."""

import os
import sys
import threading

import numpy as np
import pytest
import scipy.linalg
import scipy.special
from threadpoolctl import ThreadpoolController

from dovetail_cpu import CpuArrays
from dovetail_cpu.parallel import blas_threads, threads
from dovetail_cpu.parallel.blas_threads import OneThread, in_calling_thread, numpy_in_calling_thread


class Library:
    """What sets the number of threads of a BLAS, and notes it."""

    def __init__(self):
        self.number, self.set = 8, []

    def get_num_threads(self):
        return self.number

    def set_num_threads(self, number):
        self.number = number
        self.set.append(number)


@pytest.fixture
def library(monkeypatch):
    made = Library()
    limit = OneThread(made)
    monkeypatch.setattr(blas_threads, "_limit", lambda package: limit)
    return made


def test_a_small_matrix_is_computed_in_one_thread(library):
    seen = in_calling_thread(lambda matrix, *, lower: (library.number, lower))(
        np.ones((3, 3)), lower=1
    )
    assert seen == (1, 1)
    assert library.number == 8


@pytest.mark.parametrize(("size", "number"), [(7, 8), (8, 1), (1024, 8)])
def test_only_matrices_that_openblas_would_share_are_kept_from_its_threads(size, number, library):
    with blas_threads.scipy_in_calling_thread(np.broadcast_to(np.float32(0), (size, size))):
        assert library.number == number


def test_a_large_matrix_has_all_threads(library):
    large = np.broadcast_to(np.float32(0), (1024, 1024))
    assert in_calling_thread(lambda number, matrix: library.number)(2.0, large) == 8
    assert not library.set


def test_an_error_gives_the_threads_back(library):
    def fail(matrix):
        raise ValueError("not positive definite")

    with pytest.raises(ValueError, match="not positive definite"):
        in_calling_thread(fail)(np.ones((2, 2)))
    assert library.number == 8


def test_the_last_of_several_callers_gives_the_threads_back(library):
    entered, leave = threading.Event(), threading.Event()

    def wait(matrix):
        entered.set()
        assert leave.wait(30)

    other = threading.Thread(target=in_calling_thread(wait), args=(np.ones((2, 2)),))
    other.start()
    assert entered.wait(30)
    in_calling_thread(np.linalg.inv)(np.eye(2))
    assert library.number == 1
    leave.set()
    other.join()
    assert library.number == 8


def test_within_another_block_the_threads_stay_away(library):
    limit = OneThread(library)
    with limit:
        with limit:
            assert library.number == 1
        assert library.number == 1
    assert library.number == 8
    assert library.set == [1, 8]


@pytest.mark.parametrize("name", ["get_blas_funcs", "get_lapack_funcs", "expm"])
def test_every_function_of_linear_algebra_is_such_a_function(name, library, monkeypatch):
    seen = []

    def found(*args):
        seen.append(library.number)
        return args[0]

    monkeypatch.setattr(scipy.linalg, name, found if name == "expm" else lambda *_: [found])
    function = CpuArrays().scipy(f"linalg.{name}")
    if name != "expm":
        (function,) = function(("potrf",), (np.ones((2, 2)),))
    function(np.ones((2, 2)))
    assert seen == [1]


def test_functions_of_another_kind_are_scipy_s_own():
    assert CpuArrays().scipy("special.gammaln") is scipy.special.gammaln
    assert CpuArrays().scipy("linalg.no_such_function") is None


@pytest.mark.skipif(sys.platform != "linux", reason="Elsewhere the packages may share a BLAS.")
@pytest.mark.parametrize("package", ["numpy", "scipy"])
def test_what_is_limited_is_the_library_that_a_package_brought(package):
    blas = [each for each in ThreadpoolController().lib_controllers if each.user_api == "blas"]
    if len(blas) < 2:
        pytest.skip("NumPy and SciPy share a BLAS here")
    (one,) = [each for each in blas if package in each.filepath.split("/")[-2]]
    before = one.get_num_threads()
    one.set_num_threads(2)
    try:
        with blas_threads._limit(package):
            assert one.get_num_threads() == 1
        assert one.get_num_threads() == 2
    finally:
        one.set_num_threads(before)


@pytest.mark.parametrize(("count", "number", "expected"), [(9, 2, 1), (1 << 21, 2, 8), (9, 1, 8)])
def test_products_of_few_elements_are_computed_in_one_thread(count, number, expected, library):
    before = threads.get_num_threads()
    threads.set_num_threads(number)
    try:
        with numpy_in_calling_thread(count):
            assert library.number == expected
    finally:
        threads.set_num_threads(before)
    assert library.number == 8


def test_as_many_threads_as_processors_unless_the_environment_says(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "3,2")
    assert threads._number_at_first() == 3
    monkeypatch.setenv("OMP_NUM_THREADS", "many")
    assert threads._number_at_first() == threads.processors() > 0
    monkeypatch.delattr(os, "sched_getaffinity")
    assert threads.processors() == os.cpu_count()
