"""The switch for TF32, by each of its names."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

import dovetail

cupy = pytest.importorskip("cupy")
pytestmark = pytest.mark.skipif(not dovetail.cuda.is_available(), reason="there is no CUDA here")
matmul = dovetail.backends.cuda.matmul


@pytest.fixture(autouse=True)
def _highest_afterwards():
    yield
    dovetail.set_float32_matmul_precision("highest")


def is_tf32():
    from cupy._core import _routines_linalg as products

    return products.get_compute_type(np.float32) == 7


def test_tf32_is_used_when_a_program_allows_it():
    x = dovetail.ones(3, 3, device="cuda")
    assert not matmul.allow_tf32 and not is_tf32()
    matmul.allow_tf32 = True
    assert is_tf32() and dovetail.get_float32_matmul_precision() == "high"
    assert (x @ x).tolist() == [[3.0] * 3] * 3
    matmul.allow_tf32 = False
    assert not is_tf32() and dovetail.get_float32_matmul_precision() == "highest"


@pytest.mark.parametrize(
    ("precision", "expected"), [("high", True), ("medium", True), ("highest", False)]
)
def test_the_precision_of_products_switches_it(precision, expected):
    dovetail.ones(1, device="cuda")
    dovetail.set_float32_matmul_precision(precision)
    assert (matmul.allow_tf32, is_tf32()) == (expected, expected)


def test_the_newer_name_switches_it():
    dovetail.ones(1, device="cuda")
    matmul.fp32_precision = "tf32"
    assert is_tf32() and matmul.fp32_precision == "tf32"
    matmul.fp32_precision = "ieee"
    assert not is_tf32()
    with pytest.raises(RuntimeError, match="Give 'ieee' or 'tf32'"):
        matmul.fp32_precision = "tf16"
    assert not is_tf32()


def test_what_is_said_before_cuda_is_loaded_holds():
    program = (
        "import dovetail; dovetail.set_float32_matmul_precision('high')\n"
        "dovetail.ones(1, device='cuda')\n"
        "from cupy._core import _routines_linalg as products\n"
        "print(products.get_compute_type('float32'))"
    )
    ran = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert ran.stdout.split() == ["7"]
