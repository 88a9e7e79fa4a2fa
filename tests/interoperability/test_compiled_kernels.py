"""Functions that other tools compile as kernels: each tool's example, skipped without the tool."""

from __future__ import annotations

import ctypes
import importlib.util
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dovetail
from dovetail.library import Library
from dovetail.utils.compiled_kernels import DLTensor, kernel_with_out

pytestmark = pytest.mark.cpu_only(reason="the functions are compiled for the CPU")

DLPACK = """
#include <stdint.h>
typedef struct {
    void *data;
    int32_t device_type, device_id, ndim;
    uint8_t code, bits;
    uint16_t lanes;
    int64_t *shape, *strides;
    uint64_t byte_offset;
} DLTensor;
"""
MATRIX_LOOP = """
int softclip(const DLTensor *x, DLTensor *out) {
    if (x->ndim != 2 || x->bits != 32) return -1;
    for (int64_t i = 0; i < x->shape[0]; i++)
        for (int64_t j = 0; j < x->shape[1]; j++) {
            float a = ((float *)x->data)[i * x->strides[0] + j * x->strides[1]];
            ((float *)out->data)[i * out->strides[0] + j * out->strides[1]]
                = a / (1 + (a < 0 ? -a : a));
        }
    return 0;
}
"""


def compiled(folder: Path, source: str, *options: str, suffix: str = ".c") -> Path:
    """Compile a source into a library, and return its path."""
    compiler = shutil.which("c++" if suffix == ".cpp" else "cc")
    if compiler is None:
        pytest.skip("there is no compiler")
    written, built = folder / f"softclip{suffix}", folder / "softclip.so"
    written.write_text(source)
    words = [compiler, "-O2", "-shared", "-fPIC", str(written), "-o", str(built), *options]
    subprocess.run(words, check=True)
    return built


def module_at(path: Path, name: str) -> Any:
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def by_ctypes(folder: Path) -> Callable[..., Any]:
    function = ctypes.CDLL(str(compiled(folder, DLPACK + MATRIX_LOOP))).softclip
    function.argtypes = [ctypes.c_void_p, ctypes.c_void_p]
    return kernel_with_out(function, dtypes=["float32"], contiguous=False, dltensors=True)


def by_cffi(folder: Path) -> Callable[..., Any]:
    cffi = pytest.importorskip("cffi")
    ffi = cffi.FFI()
    ffi.cdef("int softclip(void *x, void *out);")
    library = ffi.dlopen(str(compiled(folder, DLPACK + MATRIX_LOOP)))

    def softclip(*addresses: int) -> None:
        library.softclip(*[ffi.cast("void *", each) for each in addresses])

    return kernel_with_out(softclip, dtypes=["float32"], contiguous=False, dltensors=True)


def by_numba(folder: Path) -> Callable[..., Any]:
    numba = pytest.importorskip("numba")

    @numba.njit(nogil=True)  # type: ignore[untyped-decorator, unused-ignore]
    def softclip(x: Any, out: Any) -> None:
        for i in range(x.shape[0]):
            for j in range(x.shape[1]):
                out[i, j] = x[i, j] / (1 + abs(x[i, j]))

    return kernel_with_out(softclip, contiguous=False)


def by_cython(folder: Path) -> Callable[..., Any]:
    pytest.importorskip("Cython")
    (folder / "softclip.pyx").write_text(
        "# cython: language_level=3\n"
        "def softclip(const float[:, :] x, float[:, :] out):\n"
        "    cdef Py_ssize_t i, j\n"
        "    for i in range(x.shape[0]):\n"
        "        for j in range(x.shape[1]):\n"
        "            out[i, j] = x[i, j] / (1 + abs(x[i, j]))\n"
    )
    translate = "import sys; from Cython.Compiler.Main import main; main(command_line=1)"
    environment = {"PYTHONPATH": ":".join(sys.path)}
    subprocess.run(
        [sys.executable, "-c", translate, "-3", str(folder / "softclip.pyx")],
        check=True,
        env=environment | {"PATH": ""},
    )
    include = f"-I{sysconfig.get_paths()['include']}"
    built = compiled(folder, (folder / "softclip.c").read_text(), include)
    return kernel_with_out(
        module_at(built, "softclip").softclip, dtypes=["float32"], contiguous=False
    )


def by_nanobind(folder: Path) -> Callable[..., Any]:
    nanobind = pytest.importorskip("nanobind")
    source = """
        #include <nanobind/nanobind.h>
        #include <nanobind/ndarray.h>
        namespace nb = nanobind;
        NB_MODULE(softclip, m) {
            m.def("softclip", [](nb::ndarray<const float, nb::ndim<2>> x,
                                 nb::ndarray<float, nb::ndim<2>> out) {
                for (size_t i = 0; i < x.shape(0); i++)
                    for (size_t j = 0; j < x.shape(1); j++) {
                        float a = x(i, j);
                        out(i, j) = a / (1 + (a < 0 ? -a : a));
                    }
            });
        }
    """
    root = Path(nanobind.include_dir()).parent
    built = compiled(
        folder,
        source + f'\n#include "{root / "src" / "nb_combined.cpp"}"\n',
        "-std=c++17",
        f"-I{sysconfig.get_paths()['include']}",
        f"-I{root / 'include'}",
        f"-I{root / 'ext' / 'robin_map' / 'include'}",
        suffix=".cpp",
    )
    return kernel_with_out(
        module_at(built, "softclip").softclip, dtypes=["float32"], contiguous=False
    )


TOOLS = [by_ctypes, by_cffi, by_numba, by_cython, by_nanobind]


@pytest.mark.parametrize("made_by", TOOLS)
def test_a_function_is_a_kernel_for_every_layout(
    made_by: Callable[[Path], Callable[..., Any]], tmp_path: Path
) -> None:
    library = Library("tools", "DEF")
    library.define("softclip(Tensor x) -> Tensor")
    library.array_impl("softclip", made_by(tmp_path), "CPU")
    x = dovetail.linspace(-3, 3, 24).reshape(4, 6)
    try:
        for view in (x, x.t(), x[::2, 1:4], x[:1].expand(3, 6), x[:0]):
            made = dovetail.ops.tools.softclip(view)
            assert made.is_contiguous()
            dovetail.testing.assert_close(made, view / (1 + view.abs()))
        with pytest.raises(TypeError, match=r"softclip\(\) was compiled for operands.*int64"):
            dovetail.ops.tools.softclip(x.long())
    finally:
        library._destroy()


def test_a_function_of_tvm_ffi_gets_tensors(tmp_path: Path) -> None:
    tvm_ffi = pytest.importorskip("tvm_ffi")
    seen: list[Any] = []

    def softclip(x: Any, out: Any) -> None:
        seen.append((type(x), tuple(x.strides)))
        dense = np.from_dlpack(x)
        np.from_dlpack(out)[...] = dense / (1 + np.abs(dense))

    function = tvm_ffi.convert(softclip)
    library = Library("tools", "DEF")
    library.define("softclip(Tensor x) -> Tensor")
    library.impl("softclip", kernel_with_out(function, contiguous=False), "CPU")
    try:
        x = dovetail.linspace(-3, 3, 24).reshape(4, 6).t()
        made = dovetail.ops.tools.softclip(x)
        dovetail.testing.assert_close(made, x / (1 + x.abs()))
        assert seen[0][1] == x.stride()
    finally:
        library._destroy()


def test_operands_are_broadcast_and_copied_where_the_function_needs_it() -> None:
    seen: list[Any] = []

    def subtract(a: Any, b: Any, out: Any) -> None:
        seen.append((a.flags.c_contiguous, b.flags.c_contiguous))
        np.subtract(a, b, out)

    kernel = kernel_with_out(subtract)
    a, b = np.arange(6.0).reshape(2, 3), np.arange(2.0).reshape(2, 1)
    assert np.array_equal(kernel(a, b), a - b)
    assert kernel(np.float64(3.0), np.array(1.0)).shape == ()
    assert seen == [(True, True)] * 2
    with pytest.raises(TypeError, match="float32, float64"):
        kernel(a, b.astype(np.float32))


def test_a_description_has_what_dlpack_says() -> None:
    array = np.arange(6, dtype=np.complex64).reshape(2, 3).T
    described = DLTensor.of_array(array)
    assert (described.ndim, described.code, described.bits) == (2, 5, 64)
    assert described.shape[:2] == [3, 2] and described.strides[:2] == [1, 3]
