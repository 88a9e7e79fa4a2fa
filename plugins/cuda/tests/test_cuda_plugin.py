"""The cuda plugin on any machine: what it says where CUDA cannot be used, and that it covers every
operator.
"""

from __future__ import annotations

import subprocess
import sys
from importlib import import_module
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest

import dovetail_aten as aten
import dovetail_cuda
import dovetail_kernel as kernel
from dovetail_aten.array_kernels import array_kernel_table
from dovetail_dispatcher.table import registry
from dovetail_kernel import BackendSpec, DispatchKey

OWN_MODULES = ("arrays", "memory")


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
        cupyx, scipy, special = (
            ModuleType(name) for name in ("cupyx", "cupyx.scipy", "cupyx.scipy.special")
        )
        cupyx.scatter_add, cupyx.scipy, scipy.special = np.add.at, scipy, special
        special.erf = special.erfc = np.exp
        for module in (cupyx, scipy, special):
            monkeypatch.setitem(sys.modules, module.__name__, module)
        for name in OWN_MODULES:
            monkeypatch.delitem(sys.modules, f"dovetail_cuda.{name}", raising=False)
        return cupy

    yield put
    for name in OWN_MODULES:
        sys.modules.pop(f"dovetail_cuda.{name}", None)


@pytest.fixture
def capabilities(use):
    use(fake_cupy())
    return import_module("dovetail_cuda.arrays").CudaArrays()


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
    assert "dovetail-cuda[cuda12]" in reason
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


def test_every_base_operator_that_is_no_composite_has_a_kernel(capabilities):
    table = array_kernel_table(sys.modules["cupy"], capabilities)
    composites = (DispatchKey.CompositeImplicitAutograd, DispatchKey.CompositeExplicitAutograd)
    wanted = {
        f"{op.base_name}.{op.overload}" if op.overload else op.base_name
        for op in registry.all_operators()
        if op.namespace == "aten"
        and op.variant_of is None
        and not any(op.newest(key) for key in composites)
    }
    assert len(wanted) > 200
    assert wanted - set(table.kernels) == set()


def test_bfloat16_is_refused_with_a_way_out(capabilities):
    assert kernel.bfloat16 not in capabilities.native_dtypes
    with pytest.raises(
        TypeError, match=r"bfloat16 is not supported on cuda: cupy has no bfloat16\. Convert to"
    ):
        capabilities.native_dtypes[kernel.bfloat16]


@pytest.mark.parametrize(
    "dtype", [each for each in kernel.DTYPES if each is not kernel.bfloat16], ids=repr
)
def test_addition_at_repeated_places_wraps_as_the_dtype_does(capabilities, dtype):
    native = capabilities.native_dtypes[dtype]
    ones = np.ones(300, native)
    found = capabilities.index_add(np.zeros(2, native), 0, np.zeros(300, np.int64), ones)
    assert found.dtype == native
    assert found.tolist() == [np.array(300).astype(native).item(), 0]


def test_addition_at_a_mask_adds_where_it_is_true(capabilities):
    mask = np.array([[True, False], [False, True]])
    found = capabilities.index_put(np.zeros((2, 2)), (mask,), np.array([1.0, 2.0]), True)
    assert found.tolist() == [[1, 0], [0, 2]]


def test_scatter_leaves_its_argument_alone(capabilities):
    array = np.zeros((2, 3))
    found = capabilities.scatter(array, 1, np.array([[2], [0]]), np.array([[5.0], [6.0]]), False)
    assert found.tolist() == [[0, 0, 5], [6, 0, 0]]
    assert not array.any()


def test_an_integer_out_of_range_wraps(capabilities):
    assert capabilities.number(-1, np.dtype(np.uint8)) == 255


def test_a_device_array_casts_wraps_and_takes_real_parts(use):
    use(fake_cupy())
    arrays = import_module("dovetail_cuda.arrays").CudaArrays()
    made = np.zeros(2, np.float32)
    arrays.copy_into(made, np.array([1 + 2j, 3j]))
    assert made.tolist() == [1, 0]
    assert arrays.scalar(300, np.dtype(np.uint8)) == 44
    with pytest.raises(TypeError, match="cupy has no dtype object"):
        arrays.asarray(np.array([None]))


def test_the_devices_are_asked_by_index_or_the_current_one(use):
    calls = []

    class Device:
        def __init__(self, index=3):
            self.id = index

        def __enter__(self):
            calls.append(f"enter {self.id}")

        def __exit__(self, *error):
            calls.append(f"leave {self.id}")

        def use(self):
            calls.append(f"use {self.id}")

        def synchronize(self):
            calls.append(f"wait for {self.id}")

    cupy = use(fake_cupy())
    cupy.cuda.Device = Device
    cupy.cuda.runtime.getDeviceProperties = lambda index: {"name": f"GPU {index}".encode()}
    cupy.get_default_memory_pool = lambda: SimpleNamespace(
        used_bytes=lambda: 1024,
        total_bytes=lambda: 4096,
        free_all_blocks=lambda: calls.append("free"),
    )
    cupy.cuda.runtime.memGetInfo = lambda: (1 << 20, 1 << 30)
    devices = import_module("dovetail_cuda.devices")
    assert devices.current_device() == 3
    assert (devices.device_name(), devices.device_name(1)) == ("GPU 3", "GPU 1")
    assert devices.memory_statistics(1) == kernel.MemoryStatistics(1024, 4096)
    assert devices.memory_info(1) == (1 << 20, 1 << 30)
    devices.set_device(2)
    devices.synchronize()
    devices.empty_cache()
    assert calls == ["enter 1", "leave 1"] * 2 + ["use 2", "wait for 3", "free"]


@pytest.mark.parametrize("index", [[3], [-4], [0, 5]])
def test_an_index_out_of_range_is_found_though_cupy_wraps_it(use, index):
    cupy = use(fake_cupy())
    table = array_kernel_table(cupy, import_module("dovetail_cuda.arrays").CudaArrays())
    with pytest.raises(
        IndexError, match=r"index -?\d is out of bounds for dimension 0 with size 3"
    ):
        table.kernels["index.Tensor"].fn(np.zeros(3), [np.array(index)])
    with pytest.raises(
        IndexError, match=r"index -?\d is out of bounds for dimension 1 with size 3"
    ):
        table.kernels["index_put"].fn(np.zeros((2, 3)), [None, np.array(index)], np.zeros(1), False)
