"""The cuda plugin on any machine: what it says where CUDA cannot be used, and that it covers every
operator.
"""

from __future__ import annotations

import subprocess
import sys
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest

import dovetail_aten as aten
import dovetail_cuda
from dovetail_kernel import BackendSpec


class CUDARuntimeError(RuntimeError):
    """CuPy's error of that name."""


def fake_cupy(version="14.2.0", count=1):
    """Return a module with CuPy's names and NumPy's functions."""

    def get_device_count():
        if isinstance(count, Exception):
            raise count
        return count

    made = ModuleType("cupy")
    made.__dict__.update({name: getattr(np, name) for name in dir(np) if not name.startswith("__")})
    made.__version__ = version
    made.cuda = SimpleNamespace(
        runtime=SimpleNamespace(getDeviceCount=get_device_count, CUDARuntimeError=CUDARuntimeError)
    )
    return made


@pytest.fixture
def use(monkeypatch):
    """Put a fake in the place of CuPy."""

    def put(cupy):
        monkeypatch.setitem(sys.modules, "cupy", cupy)
        return cupy

    return put


def test_the_public_names_are_pinned():
    assert sorted(dovetail_cuda.__all__) == [
        "device_count",
        "dovetail_backend",
        "unavailable_because",
    ]


def test_the_plugin_describes_the_cuda_backend():
    spec = dovetail_cuda.dovetail_backend()
    assert isinstance(spec, BackendSpec)
    assert spec.name == "cuda"


def test_importing_the_plugin_does_not_import_cupy():
    code = (
        "import dovetail_cuda, sys; "
        "dovetail_cuda.dovetail_backend(); sys.exit('cupy' in "
        "sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_without_cupy_the_reason_names_what_to_install(monkeypatch):
    class Hidden:
        @staticmethod
        def find_spec(name, path=None, target=None):
            if name == "cupy":
                raise ModuleNotFoundError("No module named 'cupy'", name="cupy")

    monkeypatch.delitem(sys.modules, "cupy", raising=False)
    monkeypatch.setattr(sys, "meta_path", [Hidden, *sys.meta_path])
    reason = dovetail_cuda.unavailable_because()
    assert reason.startswith("CuPy is not installed")
    assert "pip install cupy-cuda12x" in reason
    assert dovetail_cuda.device_count() == 0


def test_an_old_cupy_is_refused(use):
    use(fake_cupy("13.6.0"))
    assert dovetail_cuda.unavailable_because().startswith("CuPy 13.6.0 is too old, 14 is needed")


def test_without_a_driver_the_reason_says_so(use):
    use(fake_cupy(count=CUDARuntimeError("cudaErrorInsufficientDriver")))
    reason = dovetail_cuda.unavailable_because()
    assert "driver does not answer (cudaErrorInsufficientDriver)" in reason
    assert "nvidia-smi" in reason


def test_without_a_device_the_reason_says_so(use):
    use(fake_cupy(count=0))
    assert "there is no CUDA device" in dovetail_cuda.unavailable_because()


def test_with_a_device_there_is_nothing_to_say(use):
    use(fake_cupy(count=2))
    assert dovetail_cuda.unavailable_because() is None
    assert dovetail_cuda.device_count() == 2


def test_moving_a_tensor_to_cuda_where_it_cannot_be_used_says_why():
    if dovetail_cuda.unavailable_because() is None:
        pytest.skip("CUDA can be used here")
    with pytest.raises(
        AssertionError, match=r"Torch not compiled with CUDA enabled: .* unavailable: "
    ) as error:
        aten.ones(2).to("cuda")
    assert dovetail_cuda.unavailable_because() in str(error.value)
